"""The action dialect, rule by rule (protocols.md, section 2.3)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.protocol import create_parser
from tests.cases import cases
from tests.protocol.streams import Unit, events_of, parse


def action(body: str, tag: str = ' id="a"') -> str:
    return f"<action{tag}>{body}</action>"


BODY = '{"name": "list", "parameters": {}}'


def content(**extra: Any) -> dict[str, Any]:
    return {"name": "list", "args": {}, "id": "a", "type": "tool", "mode": "sync", **extra}


ACCEPTED: list[tuple[str, str, dict[str, Any]]] = [
    ("defaults", action(BODY), content()),
    ("quotes of both kinds", action(BODY, """ mode='async'\n id = "a" type='llm' """), content(mode="async", type="llm")),
    ("a quote of the other kind", action(BODY, """ id='a"b'"""), content(id='a"b')),
    ("a closing bracket in quotes", action(BODY, ' id="a>b"'), content(id="a>b")),
    ("dependencies in the tag", action(BODY, ' id="a" depends_on=["x", "y"]'), content(depends_on=["x", "y"])),
    ("dependencies in quotes", action(BODY, ' id="a" depends_on="x, y"'), content(depends_on=["x", "y"])),
    ("a list in quotes", action(BODY, """ id="a" depends_on='["x"]'"""), content(depends_on=["x"])),
    ("dependencies in both", action('{"name":"list","parameters":{},"depends_on":["y","x"]}', ' id="a" depends_on=["x"]'),
     content(depends_on=["x", "y"])),
    ("everything", action('{"name":"list","parameters":{},"output_key":"k","timeout":30,"retry":2,"on_error":"fail"}'),
     content(output_key="k", timeout=30, retry=2, on_error="fail")),
    ("white space everywhere", "<action\n\tid='a'\n>\n " + BODY + " \r\n</action>", content()),
]  # fmt: skip


@cases(("_case", "text", "expected"), ACCEPTED)
def test_reads_an_action(text: str, expected: dict[str, Any]) -> None:
    assert events_of(text, "action") == [("call", expected)]


REJECTED = [
    ("an unknown attribute", action(BODY, ' when="now"'), 'unknown attribute "when"'),
    ("an unknown mode", action(BODY, ' mode="later"'), "later"),
    ("an unknown type", action(BODY, ' type="magic"'), "magic"),
    ("an attribute twice", action(BODY, ' id="a" id="b"'), "occurs twice"),
    ("no attribute", action(BODY, " 17"), "not an attribute"),
    ("an empty id", action(BODY, ' id=""'), "id"),
    ("no name", action('{"parameters": {}}'), "`name`"),
    ("no parameters", action('{"name": "a"}'), "`parameters`"),
    ("an unknown key", action('{"name": "a", "parameters": {}, "args": {}}'), "`args`"),
    ("a wrong type", action('{"name": "a", "parameters": {}, "retry": "3"}'), "$.retry"),
    ("a time-out of none", action('{"name": "a", "parameters": {}, "timeout": 0}'), "$.timeout"),
    ("bad JSON", action('{"name": }'), "expected a value"),
    ("no object", action("[]"), "an object"),
    ("text after the object", action(BODY + " go"), 'found "g"'),
]


@pytest.mark.exhaustive
@cases(
    ("body", "says"),
    [
        ('```json\n{"name": "read", "parameters": {}}\n```', "leave a Markdown fence out; to mention"),
        ('<invoke name="read"></invoke>', "write the object, not XML; to mention"),
        ('[{"name": "read", "parameters": {}}]', "write one object in each action; to mention"),
        ("blocks run in order.", 'found "b"; to mention the tag, put it in backticks'),
    ],
)
def test_what_begins_a_body_instead_of_an_object_is_named(body: str, says: str) -> None:
    [error, *_] = [unit for unit in events_of(f"<action>{body}</action>", "action") if unit[0] == "error"]
    assert says in error[1]


@cases(("_case", "text", "says"), REJECTED)
def test_a_bad_action_is_one_error_and_parsing_goes_on(text: str, says: str) -> None:
    units = events_of(text + "<response>ok</response>", "action")
    assert [kind for kind, _ in units] == ["error", "respond"]
    assert says in units[0][1]


def test_an_id_counts_once_in_a_turn() -> None:
    units = events_of(action(BODY) + action(BODY), "action")
    assert [kind for kind, _ in units] == ["call", "error"]
    assert '"a" was used before' in units[1][1]


def test_an_error_names_the_action_for_those_that_depend_on_it() -> None:
    event = parse([action('{"name": }')], "action")[0]
    assert event["type"] == "error"
    assert event["payload"].get("action") == "a"


def test_an_action_without_an_id_gets_one() -> None:
    units = events_of(action(BODY, "") + action(BODY, ""), "action")
    assert len({unit[1]["id"] for unit in units}) == 2


def test_a_call_is_given_with_its_closing_tag_while_text_goes_on() -> None:
    parser = create_parser("action")
    assert [e["type"] for e in parser.feed(action(BODY))] == ["call"]
    assert not parser.finished
    assert [e["type"] for e in parser.feed("<response>a")] == ["respond"]


TEXTS: list[tuple[str, str, list[Unit]]] = [
    ("a thought", "<thought> <action> </thought>", [("think", "<action>")]),
    ("a response", "<response> a </response> b", [("respond", "a"), ("respond", "b")]),
    (
        "a thought within the response does not end it",
        "<response>a <thought>b</thought> c</response> d </response>",
        [("respond", "a"), ("think", "b"), ("respond", "c"), ("respond", "d </response>")],
    ),
    (
        "nor does an action",
        f"<response>a {action(BODY)} b</response>",
        [("respond", "a"), ("call", content()), ("respond", "b")],
    ),
    ("code is content", f"<response>`{action(BODY)}`</response>", [("respond", f"`{action(BODY)}`")]),
    (
        "tags of the other dialect are content",
        "<think>a</think><end>",
        [("respond", "<think>a</think><end>")],
    ),
    ("almost an action", "<actions> <action-x> </action>", [("respond", "<actions> <action-x> </action>")]),
]


@cases(("_case", "text", "expected"), TEXTS)
def test_reads_text(text: str, expected: list[Unit]) -> None:
    assert events_of(text, "action") == expected


@cases(
    ("text", "kinds"),
    [
        ("<action", ["respond"]),
        ("<action id='a", ["error"]),
        ("<action id='a'>", ["error"]),
        (f"<action id='a'>{BODY}</act", ["error"]),
        ("<response>a</response><response>b</response>", ["respond", "error", "respond"]),
        ("<results>[]</results>a", ["error", "respond"]),
        ("<action x>{}", ["error"]),
        ("<thought>a", ["think"]),
    ],
)
def test_what_may_not_be(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in events_of(text, "action")] == kinds


WORDS = st.sampled_from(
    [
        "<thought>",
        "</thought>",
        "<action",
        "<action>",
        "</action>",
        "<response>",
        "</response>",
        "<results>",
        "</results>",
    ]
    + [
        ' id="a"',
        " mode='async'",
        " depends_on=[",
        "]",
        ">",
        "<",
        '"',
        "'",
        BODY,
        "{",
        "}",
        "`",
        "```\n",
        "\n",
        " ",
        "x",
    ]
)


@settings(max_examples=50)
@given(st.lists(WORDS | st.text(max_size=3), max_size=25).map("".join))
def test_every_cut_gives_the_same_events(text: str) -> None:
    events_of(text, "action")
