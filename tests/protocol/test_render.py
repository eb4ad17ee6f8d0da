"""Stored events to messages (protocols.md, section 4)."""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.protocol import TEXT_DIALECTS, Dialect, render
from cogency_tui.protocol.events import CallEvent, Event, ResultEvent
from cogency_tui.protocol.messages import Message
from cogency_tui.protocol.scanner import JOINER
from tests.cases import cases
from tests.protocol import test_action_dialect, test_delimiter_dialect, test_xml_dialect
from tests.protocol.streams import Unit, coalesce, parse


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
    payload: Any = {
        "outcome": "done",
        "content": content,
        "error": error,
        "state": "failed" if error else "done",
    }
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


@cases("dialect", TEXT_DIALECTS)
@cases(
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


@settings(max_examples=40)
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
    for dialect in TEXT_DIALECTS:
        message = render(events, dialect)[1]
        units = coalesce(parse([message["content"]], dialect))
        assert [_plain(unit) for unit in units if unit[0] in ("think", "respond", "call")] == expected


def _plain(unit: Unit) -> Unit:
    kind, content = unit
    return (kind, {"name": content["name"], "args": content["args"]}) if kind == "call" else unit


@pytest.mark.exhaustive
@settings(max_examples=25)
@given(st.lists(st.tuples(CONTENT, CONTENT, ARGS, CONTENT), min_size=1, max_size=5))
def test_a_longer_history_begins_with_the_bytes_of_a_shorter(
    cycles: list[tuple[str, str, dict[str, Any], str]],
) -> None:
    for dialect in TEXT_DIALECTS:
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
    "xml": st.lists(test_xml_dialect.WORDS | st.text(max_size=3), max_size=25).map("".join),
    "delimiter": st.lists(test_delimiter_dialect.WORDS | st.text(max_size=3), max_size=25).map("".join),
    "action": st.lists(test_action_dialect.WORDS | st.text(max_size=3), max_size=25).map("".join),
}


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
@settings(max_examples=50)
@given(st.data())
def test_what_a_model_wrote_comes_back_through_rendering(dialect: Dialect, data: st.DataObject) -> None:
    wire = data.draw(WIRE[dialect]).replace(JOINER, "")
    events = stored(wire, dialect, "c")
    if not events:
        return
    message = render([user("go"), *events], dialect)[1]["content"]
    before, again = _said(events, dialect), _said(stored(message, dialect, "d"), dialect)
    assert len(again) == len(before)
    for (kind, content), (kind_before, original) in zip(again, before, strict=True):
        assert kind == kind_before
        # Within its wrapper, an answer whose fenced block was left open gets the fence that closes it.
        assert content == original or re.sub(r"\n(```+|~~~+)\Z", "", content) == original


def test_a_tag_that_was_not_finished_takes_none_after_it_with_it() -> None:
    events = stored("<action><action<action><action>", "action", "c")
    message = render([user("go"), *events], "action")[1]["content"]
    assert _said(stored(message, "action", "d"), "action") == [
        ("malformed", "<action><action"),
        ("malformed", "<action>"),
        ("malformed", "<action>"),
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
@settings(max_examples=50)
@given(st.data())
def test_calls_and_malformed_calls_are_rendered_byte_for_byte(dialect: Dialect, data: st.DataObject) -> None:
    wire = data.draw(WIRE[dialect]).replace(JOINER, "")
    events = stored(wire, dialect, "c")
    for event in events:
        message = render(events, dialect)[0]["content"]
        if event["type"] == "call":
            assert event.get("raw", event["content"]) in wire
            assert event.get("raw", event["content"]) in message
        elif event["type"] == "result":
            assert event["payload"].get("raw", "") in message
            assert all(line in wire for line in event["payload"].get("raw", "").split("\n"))


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
@settings(max_examples=25)
@given(st.data())
def test_malformed_and_foreign_text_keeps_the_prefix_and_the_roles(
    dialect: Dialect, data: st.DataObject
) -> None:
    events: list[Event] = []
    before: list[Message] = []
    for number in range(data.draw(st.integers(1, 4))):
        wire = data.draw(WIRE[dialect]).replace(JOINER, "")
        cycle = stored(wire, dialect, f"c{number}")
        if not cycle:
            continue
        calls = [event for event in cycle if event["type"] == "call"]
        events += [user(f"go {number}"), *cycle]
        events += [result(event["id"], "t", "…", error=True) for event in reversed(calls)]
        failed = not calls and all(event["type"] != "result" for event in cycle)
        if failed:
            # What was written where nothing runs it is answered without a call (protocols.md 8.2).
            events.append(result(f"slip{number}", "execute", "Nothing ran", error=True))
        messages = render(events, dialect)
        assert messages[: len(before)] == before
        assert [m["role"] for m in messages[len(before) :]] == ["user", "assistant", "user"]
        before = messages


@cases("dialect", TEXT_DIALECTS)
@cases("origin", TEXT_DIALECTS)
def test_a_malformed_call_is_never_shown_as_valid(origin: Dialect, dialect: Dialect) -> None:
    wire = {
        "xml": 'I look. <execute>[{"name": "read", "args": {"file": "a"}}, {"name": "read" "args"',
        "delimiter": '§call: {"name": "read" "args": {}}\n§execute',
        "action": '<action id="a">{"name": "read" "parameters": {}}</action> and then',
    }[origin]
    message = render([user("go"), *stored(wire, origin, "c")], dialect)[1]["content"]
    assert '"name": "read" "' in message
    again = stored(message, dialect, "d")
    assert [json.loads(e["content"])["args"] for e in again if e["type"] == "call"] in ([], [{"file": "a"}])


def test_one_answer_of_actions_is_one_message_whenever_its_results_come() -> None:
    written = stored(
        '<thought>look</thought>I read both.<action id="a">{"name": "read", "parameters": {"file": "a"}}</action>'
        '<action id="x">{"name": "read", "parameters"}</action>'
        '<action id="b">{"name": "read", "parameters": {"file": "b"}, "output_key": "b"}</action>and wait.',
        "action",
        "c",
    )
    calls = [event["id"] for event in written if event["type"] == "call"]
    late = [*written, result(calls[1], "read", "B"), result(calls[0], "read", "A")]
    early = [*written[:3], result(calls[0], "read", "A"), *written[3:], result(calls[1], "read", "B")]
    messages = render([user("go"), *late], "action")
    assert messages == render([user("go"), *early], "action")
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"].endswith("</action>\n\nand wait.")
    records = json.loads(messages[2]["content"].removeprefix("<results>").removesuffix("</results>"))
    assert [record["id"] for record in records] == ["a", "x", "b"]
    assert [record.get("output_key") for record in records] == [None, None, "b"]
    assert [record["status"] for record in records] == ["success", "failure", "success"]


def test_results_escape_nothing_but_the_end_of_their_block() -> None:
    text = "<b>é</b> </execute> </results> </Results > </resultset> \\u2028"
    events = [user("go"), call("c1", "read", {}), result("c1", "read", text)]
    assert render(events)[-1]["content"] == (
        '<results>\n[{"tool": "read", "status": "success", "content": "<b>é</b> </execute> '
        '<\\/results> <\\/Results > </resultset> \\\\u2028"}]\n</results>'
    )
    assert "<b>é</b> </execute> </results>" in render(events, "delimiter")[-1]["content"]


def test_a_closing_wrapper_outside_one_is_rendered_as_written() -> None:
    wire = "<think>hm</think>\n\nso </respond> it is"
    assert render(stored(wire, "xml", "c"))[0]["content"] == wire


def test_a_call_is_rendered_with_the_escapes_that_the_model_wrote() -> None:
    wire = '<execute>\n[{ "name":"write","args":{"file":"a","content":"caf\\u00e9 <\\/b> \\u0022"} }]\n</execute>'
    assert render(stored(wire, "xml", "c"))[0]["content"] == wire
    raw = '<execute>\n[{"name": "write", "args": {"file": "a", "content": "one\n\ttwo"}}]\n</execute>'
    assert render(stored(raw, "xml", "c"))[0]["content"] == raw


def stored(wire: str, dialect: Dialect, cycle: str) -> list[Event]:
    """What the store has of an answer: whole units, calls, and the failed results of malformed calls."""
    events: list[Event] = []
    for event in parse([wire], dialect):
        if event.get("partial"):
            continue
        if event["type"] == "error" and "call" in event["payload"]:
            payload = event["payload"]
            failed = result(
                f"{cycle}{payload.get('call')}", payload.get("tool", ""), payload["error"], error=True
            )
            failed["payload"]["raw"] = payload.get("raw", "")
            if "action" in payload:
                failed["payload"]["action"] = payload["action"]
            events.append({**failed, "cycle": cycle})
        elif event["type"] == "call":
            events.append({**event, "id": f"{cycle}{event['id']}", "cycle": cycle})
        elif event["type"] == "think" or event["type"] == "respond":
            last = events[-1] if events else None
            if last is not None and last["type"] == event["type"] and last["id"] == f"{cycle}{event['id']}":
                last["content"] += event["content"]
                continue
            unit = {**event, "id": f"{cycle}{event['id']}", "cycle": cycle}
            if "malformed" in event:
                unit["malformed"] = f"{cycle}{event['malformed']}"
            events.append(cast("Event", unit))
    return events


def _said(events: Sequence[Event], dialect: Dialect) -> list[tuple[str, str]]:
    """What the model wrote, as far as a dialect can say it in one message."""
    units: list[tuple[str, str]] = []
    aside = False
    for event in events:
        if event["type"] == "call":
            record = json.loads(event["content"])
            units.append(("call", json.dumps([record["name"], record["args"]])))
        elif event["type"] == "result":
            units.append(("malformed", event["payload"].get("raw", "").replace(JOINER, "").strip()))
        elif event["type"] == "think" or (event["type"] == "respond" and "malformed" not in event):
            text = event["content"].replace(JOINER, "")
            if aside and event.get("aside") and units[-1][0] == "respond":
                # Between them was what is discarded: nothing tells them apart any more.
                units[-1] = ("respond", f"{units[-1][1]}\n\n{text}")
            else:
                units.append((event["type"], text))
            aside = bool(event.get("aside"))
    return units if dialect == "action" else sorted(units, key=lambda unit: unit[0] in ("call", "malformed"))
