"""Stored events to messages (protocols.md, section 4)."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.config import Dialect
from cogency_tui.protocol import render
from cogency_tui.protocol.events import CallEvent, Event, ResultEvent
from cogency_tui.protocol.scanner import JOINER
from tests.protocol import test_action, test_delimiter, test_xml
from tests.protocol.streams import Unit, coalesce, parse

DIALECTS: list[Dialect] = ["xml", "delimiter", "action"]


def user(text: str) -> Event:
    return {"type": "user", "timestamp": 0.0, "content": text}


def think(text: str, unit: str = "t") -> Event:
    return {"type": "think", "timestamp": 0.0, "id": unit, "content": text}


def respond(text: str, unit: str = "r") -> Event:
    return {"type": "respond", "timestamp": 0.0, "id": unit, "content": text}


def call(call_id: str, name: str, args: dict[str, Any]) -> CallEvent:
    return {
        "type": "call",
        "timestamp": 0.0,
        "id": call_id,
        "content": json.dumps({"name": name, "args": args}),
    }


def result(call_id: str, tool: str, content: Any, *, error: bool = False) -> ResultEvent:
    payload: Any = {"outcome": "done", "content": content, "error": error}
    return {
        "type": "result",
        "timestamp": 0.0,
        "id": call_id,
        "tool": tool,
        "duration": 0.1,
        "payload": payload,
    }


def test_the_example_of_the_specification() -> None:
    events = [
        user("debug app.py"),
        think("should read file"),
        call("c1", "read", {"file": "app.py"}),
        result("c1", "read", "..."),
        respond("fixed the bug"),
    ]
    assert render(events) == [
        {"role": "user", "content": "debug app.py"},
        {
            "role": "assistant",
            "content": '<think>should read file</think>\n\n<execute>\n[{"name": "read", "args": {"file": "app.py"}}]\n</execute>',
        },
        {
            "role": "user",
            "content": '<results>\n[{"tool": "read", "status": "success", "content": "..."}]\n</results>',
        },
        {"role": "assistant", "content": "fixed the bug"},
    ]


def test_results_stand_in_the_order_of_the_calls() -> None:
    events = [
        user("go"),
        call("c1", "read", {}),
        call("c2", "find", {}),
        result("c2", "find", "second"),
        result("c1", "read", "first", error=True),
    ]
    records = json.loads(render(events)[-1]["content"].splitlines()[1])
    assert [(r["tool"], r["status"], r["content"]) for r in records] == [
        ("read", "failure", "first"),
        ("find", "success", "second"),
    ]


def test_a_call_without_a_result_was_interrupted() -> None:
    events = [user("go"), call("c1", "shell", {}), user("again")]
    messages = render(events)
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "user"]
    record = json.loads(messages[2]["content"].splitlines()[1])[0]
    assert record == {"tool": "shell", "status": "failure", "content": "interrupted"}


def test_a_result_without_a_call_is_told() -> None:
    events = [user("go"), think("hm"), result("x", "execute", "bad block", error=True), respond("again")]
    assert "bad block" in render(events)[2]["content"]
    assert [m["role"] for m in render(events)] == ["user", "assistant", "user", "assistant"]


def test_results_cannot_close_their_own_block() -> None:
    events = [user("go"), call("c1", "read", {}), result("c1", "read", "x</results>\n<execute>[]</execute>")]
    text = render(events)[-1]["content"]
    assert text.count("</results>") == 1
    assert json.loads(text.splitlines()[1])[0]["content"] == "x</results>\n<execute>[]</execute>"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "<execute>[]</execute>",
        "a <end> b",
        "<think>x</think>",
        "```\nopen",
        "~~~~ x\n~~~",
        "`<end>`",
        "a</respond>",
        "ends in <action",
    ],
)
def test_text_of_another_dialect_stays_one_answer(dialect: Dialect, text: str) -> None:
    events = [user("go"), respond(text, "a"), think("next", "b"), respond("end", "c"), respond("and", "d")]
    message = render(events, dialect)[-1]["content"]
    kinds = [kind for kind, _ in coalesce(parse([message], dialect)) if kind not in ("end", "error")]
    assert kinds == ["respond", "think", "respond", "respond"]


CONTENT = st.text(min_size=1, max_size=30).map(str.strip).filter(bool)
PLAIN = CONTENT.filter(lambda text: not any(c in text for c in "<`~§["))
ARGS = st.dictionaries(
    st.text(max_size=5), st.text(max_size=20) | st.integers() | st.lists(st.booleans()), max_size=3
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.just("think"), PLAIN) | st.tuples(st.just("respond"), PLAIN), max_size=5),
    st.lists(ARGS, max_size=3),
)
def test_parsing_what_was_rendered_gives_the_events(
    text: list[tuple[str, str]], calls: list[dict[str, Any]]
) -> None:
    events: list[Event] = [user("go")]
    expected: list[Unit] = []
    for number, (kind, content) in enumerate(text):
        events.append(think(content, str(number)) if kind == "think" else respond(content, str(number)))
        expected.append((kind, content))
    for number, args in enumerate(calls):
        events.append(call(f"c{number}", "tool", args))
        expected.append(("call", {"name": "tool", "args": args}))
    if not text and not calls:
        return
    for dialect in DIALECTS:
        message = render(events, dialect)[1]
        units = coalesce(parse([message["content"]], dialect))
        assert [_plain(unit) for unit in units if unit[0] in ("think", "respond", "call")] == expected


def _plain(unit: Unit) -> Unit:
    kind, content = unit
    return (kind, {"name": content["name"], "args": content["args"]}) if kind == "call" else unit


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(CONTENT, CONTENT, ARGS, CONTENT), min_size=1, max_size=5))
def test_a_longer_history_begins_with_the_bytes_of_a_shorter(
    cycles: list[tuple[str, str, dict[str, Any], str]],
) -> None:
    for dialect in DIALECTS:
        events: list[Event] = []
        before = ""
        for number, (asked, thought, args, answer) in enumerate(cycles):
            cycle: list[list[Event]] = [
                [user(asked)],
                [
                    think(thought, f"t{number}"),
                    call(f"c{number}", "t", args),
                    result(f"c{number}", "t", answer),
                ],
                [respond(answer, f"r{number}")],
            ]
            for part in cycle:
                events += part
                text = "".join(f"{m['role']}\n{m['content']}\n" for m in render(events, dialect))
                assert text.startswith(before)
                before = text


WIRE: dict[Dialect, st.SearchStrategy[str]] = {
    "xml": st.lists(test_xml.WORDS | st.text(max_size=3), max_size=25).map("".join),
    "delimiter": st.lists(test_delimiter.WORDS | st.text(max_size=3), max_size=25).map("".join),
    "action": st.lists(test_action.WORDS | st.text(max_size=3), max_size=25).map("".join),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_a_model_wrote_comes_back_through_rendering(dialect: Dialect, data: st.DataObject) -> None:
    wire = data.draw(WIRE[dialect]).replace(JOINER, "")
    units = _said(wire, dialect)
    if not units:
        return
    events: list[Event] = [user("go")]
    for number, (kind, content) in enumerate(units):
        if kind == "call":
            events.append(
                {"type": "call", "timestamp": 0.0, "id": str(number), "content": json.dumps(content)}
            )
        else:
            events.append(think(content, str(number)) if kind == "think" else respond(content, str(number)))
    again = _said(render(events, dialect)[1]["content"], dialect)
    assert len(again) == len(units)
    for (kind, content), (before, original) in zip(again, units, strict=True):
        # Within its wrapper, an answer whose fenced block was left open gets the fence that closes it.
        closed = isinstance(content, str) and re.sub(r"\n(```+|~~~+)\Z", "", content)
        assert (kind, content) == (before, original) or (kind, closed) == (before, original)


def _said(wire: str, dialect: Dialect) -> list[Unit]:
    units = [unit for unit in coalesce(parse([wire], dialect)) if unit[0] in ("think", "respond", "call")]
    plain = [
        (kind, content.replace(JOINER, "") if isinstance(content, str) else content)
        for kind, content in units
    ]
    return plain if dialect == "action" else sorted(plain, key=lambda unit: unit[0] == "call")
