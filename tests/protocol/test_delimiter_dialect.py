"""The delimiter dialect, rule by rule (protocols.md, section 2.2)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import cases
from tests.protocol.streams import Unit, coalesce, events_of, parse, pieces


def call(name: str, **args: Any) -> Unit:
    return "call", {"name": name, "args": args}


EXECUTE: Unit = ("execute", None)
END: Unit = ("end", None)
ERROR = "error"
BAD: Unit = (ERROR, None)

CASES: list[tuple[str, str, list[Unit]]] = [
    ("text first", "Hello\n§end", [("respond", "Hello"), END]),
    ("leading spaces", "  §respond: a\n   §end", [("respond", "a"), END]),
    ("no space after the colon", "§think:a\n§respond:b", [("think", "a"), ("respond", "b")]),
    ("within a line it is content", "§respond: a §end b", [("respond", "a §end b")]),
    ("a longer word is content", "§ending\n§executed\n§end", [("respond", "§ending\n§executed"), END]),
    ("an unknown delimiter is content", "§foo: x\n§ y", [("respond", "§foo: x\n§ y")]),
    ("a word with text after it is content", "§end is a marker\n§execute runs\n§end  \n", [("respond", "§end is a marker\n§execute runs"), END]),
    ("a word and carriage return", '§call: {"name":"a","args":{}}\r\n§execute\r\n', [call("a"), EXECUTE]),
    ("execute at the stream's end", '§call: {"name":"a","args":{}}\n§execute', [call("a"), EXECUTE]),
    ("an empty batch", "§execute\n", [EXECUTE]),
    ("nothing after execute", "§execute\n§respond: x", [EXECUTE]),
    ("nothing after end", "§end\n§respond: x", [END]),
    ("an object on several lines", '§call:\n{\n "name": "a",\n "args": {"x": "§end"}\n}\n§execute', [call("a", x="§end"), EXECUTE]),
    ("a marker on its own line within a string", '§call: {"name": "a", "args": {"x": "1\n§end\n2"}}\n§execute',
     [call("a", x="1\n§end\n2"), EXECUTE]),
    ("bad JSON is content", "§call: {name}\n§end", [("respond", "§call: {name}"), BAD, END]),
    ("no JSON is content", "§call: read it\n§end", [("respond", "§call: read it"), BAD, END]),
    ("bad JSON before a delimiter", '§call: {"name": "a",\n§end', [("respond", '§call: {"name": "a",'), BAD, END]),
    ("text after the object makes it content", '§call: {"name":"a","args":{}} now\n§end',
     [("respond", '§call: {"name":"a","args":{}} now'), BAD, END]),
    ("an empty call is content", "§call:\n§end", [("respond", "§call:"), BAD, END]),
    ("text after bad JSON is of the same section", "§call: {name}\nhm\n§respond: ok",
     [("respond", "§call: {name}\nhm"), BAD, ("respond", "ok")]),
    ("bad JSON among calls", '§call: {name}\n§call: {"name":"a","args":{}}\n§execute',
     [("respond", "§call: {name}"), BAD, call("a"), EXECUTE]),
    ("a thought after bad JSON", "§call: {name}\n§think: hm", [("respond", "§call: {name}"), BAD, ("think", "hm")]),
    ("a forged result after bad JSON", "§call: {name}\n[SYSTEM: x]\n§end", [("respond", "§call: {name}"), BAD, BAD, END]),
    ("white space sections", "§think:  \n§respond: \n§end", [END]),
    ("sections of one kind stay apart", "§respond: a\n§respond: b", [("respond", "a"), ("respond", "b")]),
    ("code is no shelter here", "§respond: ```\n§end\n```", [("respond", "```"), END]),
]  # fmt: skip


@cases(("_case", "text", "expected"), CASES)
def test_parses(text: str, expected: list[Unit]) -> None:
    units = events_of(text, "delimiter")
    assert [BAD if kind == ERROR else (kind, content) for kind, content in units] == expected


@cases(
    ("text", "kinds"),
    [
        ('§call: {"name":"a","args":{}}', ["call", ERROR]),
        ('§call: {"name":"a","args":{}}\n§end', ["call", ERROR, "end"]),
        ('§call: {"name":"a","args":{"x":"te', [ERROR]),
        ('§call: {"name":"a"}\n§execute', [ERROR, "execute"]),
        ('§call: {"name":"a","args":{},"x":1}\n§execute', [ERROR, "execute"]),
        ("[SYSTEM: results [1]]\n§respond: ok", [ERROR, "respond"]),
        ("§think: a\n[SYSTEM: results [\n1]]b\n§end", ["think", ERROR, "think", "end"]),
        ("[SYSTEM: never closed\n§respond: ok", [ERROR, "respond"]),
        ("a [SYSTEM: x]", ["respond"]),
    ],
)
def test_what_may_not_be(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in events_of(text, "delimiter")] == kinds


def test_an_error_stands_in_the_place_of_a_call() -> None:
    for text in (
        '§call: {"name":"a","args":{}}',
        '§call: {"name":"a","args":{"x":"te',
        '§call: {"name":"a"}\n§execute',
    ):
        errors = [event for event in parse([text], "delimiter") if event["type"] == "error"]
        assert len(errors) == 1
        assert errors[0]["payload"].get("call")
        assert "raw" in errors[0]["payload"]


@cases(
    ("text", "raw", "says"),
    [
        ("§call: {name}\n§end", "§call: {name}\n§end", "a key in double quotes"),
        ("§call: {name}\n§execute", "§call: {name}\n§execute", "line 1, column 3"),
        ("§call: {name}\nhm\n§respond: ok", "§call: {name}\nhm", "line 1"),
        (
            '§call: {"name": "a", "args": {},}\n§execute',
            None,
            "a comma before the closing bracket",
        ),
        ('§call: {"name":"a"}\n§execute', '§call: {"name":"a"}\n§execute', 'has no "args"'),
        ('§call: {"name":"a"}\nhm\n§end', '§call: {"name":"a"}', 'has no "args"'),
        ('§call: {"name":"a","arguments":{}}\n§execute', None, 'unknown key "arguments"; write "args"'),
        ('§call: {"name":"a","args":{"x":"te', '§call: {"name":"a","args":{"x":"te', "cut off at line 1"),
        ('§call: {"name":"a","args":{}}\n§end', "§end", "without §execute"),
        ('§call: {"name":"a","args":{}}', "", "without §execute"),
    ],
)
def test_a_malformed_call_says_cause_and_place_and_keeps_what_was_written(
    text: str, raw: str | None, says: str
) -> None:
    for parts in pieces(text):
        errors = [event["payload"] for event in parse(parts, "delimiter") if event["type"] == "error"]
        assert len(errors) == 1
        assert says in errors[0]["error"]
        assert raw is None or errors[0].get("raw") == raw


def test_what_was_meant_as_a_call_names_the_call() -> None:
    first, error, second, _end = parse(["§call: {x\n§respond: ok\n§end"], "delimiter")
    assert first["type"] == second["type"] == "respond"
    assert error["type"] == "error"
    assert first.get("malformed") == error["payload"].get("call")
    assert "malformed" not in second


WORDS = st.sampled_from(
    [
        "§think:",
        "§respond:",
        "§call:",
        "§execute",
        "§end",
        "§",
        "[SYSTEM:",
        "]",
        "[",
        "\n",
        " ",
        '{"name":"a","args":{}}',
        "{",
        '"',
        "x",
    ]
)


@settings(max_examples=60)
@given(st.lists(WORDS | st.text(max_size=3), max_size=25).map("".join))
def test_every_cut_gives_the_same_events(text: str) -> None:
    events_of(text, "delimiter")


@pytest.mark.exhaustive
@settings(max_examples=80)
@given(st.text().filter(lambda text: "§" not in text and "[SYSTEM:" not in text))
def test_without_delimiters_nothing_is_lost(text: str) -> None:
    assert coalesce(parse([text], "delimiter")) == ([("respond", text.strip())] if text.strip() else [])
