"""Native calls: pieces in, events out; and events as the parts of a vendor's messages."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.protocol import Dialect, render
from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import AnswerItem, AnswerItems, Message, Part
from cogency_tui.protocol.native_dialect import NativeParser

ARGUMENTS = '{"file": "a.py", "start": 3}'


def parser(limit: int = 10_000) -> NativeParser:
    numbers = count(1)
    return NativeParser(lambda: 0.0, lambda: f"id{next(numbers)}", limit)


def units(events: list[Event]) -> list[Event]:
    """The complete units of some events."""
    accumulator = Accumulator()
    return [*(unit for event in events for unit in accumulator.add(event)), *accumulator.close()]


def shapes(events: list[Event]) -> list[tuple[str, Any]]:
    """The types of units, each with what matters of it."""
    found: list[tuple[str, Any]] = []
    for event in units(events):
        if event["type"] == "call":
            found.append(("call", json.loads(event["content"])))
        elif event["type"] == "error":
            found.append(("error", event["payload"]["error"]))
        else:
            found.append((event["type"], event.get("content")))
    return found


def read(*pieces: str | tuple[int, str, str, bool], limit: int = 10_000) -> list[Event]:
    """The events of an answer: text, or (index, name, arguments, complete)."""
    machine = parser(limit)
    events: list[Event] = []
    for piece in pieces:
        if isinstance(piece, str):
            events += machine.feed(piece)
        else:
            index, name, arguments, complete = piece
            events += machine.call(
                index, id=f"call_{index}", name=name, arguments=arguments, complete=complete
            )
    return [*events, *machine.close()]


def test_parallel_calls_beside_text_are_one_batch() -> None:
    events = read(
        "I look.",
        (0, "read", ARGUMENTS, True),
        (1, "list", "", True),
        "And then?",
    )
    assert shapes(events) == [
        ("respond", "I look."),
        ("call", {"name": "read", "args": {"file": "a.py", "start": 3}}),
        ("call", {"name": "list", "args": {}}),
        ("respond", "And then?"),
        ("execute", None),
    ]


def test_an_answer_without_calls_has_no_batch() -> None:
    assert shapes(read("Done: `<execute>` is a tag.")) == [("respond", "Done: `<execute>` is a tag.")]


def test_interleaved_pieces_belong_to_their_calls() -> None:
    events = read(
        (0, "read", '{"fi', False), (1, "list", "{", False), (0, "", 'le": "a"}', False), (1, "", "}", False)
    )
    assert [each[1] for each in shapes(events) if each[0] == "call"] == [
        {"name": "read", "args": {"file": "a"}},
        {"name": "list", "args": {}},
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"file": "a",}', "Invalid JSON in the arguments of read at line 1, column 14"),
        ('{"file": "a"', "The arguments of read end too early (was the text cut off?)"),
        ('{"file": "a"}}', "There is text after the arguments of read"),
        ('{"file": "a"}, "x": 1', "There is text after the arguments of read"),
        ('["a"]', "The arguments of read are a list, not an object"),
        ('"a.py"', "The arguments of read are a string, not an object"),
        ("read a.py", "Invalid JSON in the arguments of read"),
        ('{"file": NaN}', "Invalid JSON in the arguments of read"),
    ],
)
def test_malformed_arguments_are_reported_and_hold_back_no_other_call(arguments: str, problem: str) -> None:
    events = read((0, "read", arguments, True), (1, "list", "{}", True))
    [(kind, words), call, boundary] = shapes(events)
    assert kind == "error"
    assert words.startswith(problem)
    assert call == ("call", {"name": "list", "args": {}})
    assert boundary == ("execute", None)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [("null", {}), ('"{\\"file\\": \\"a\\"}"', {"file": "a"}), ('""', {}), ("  ", {})],
)
def test_arguments_that_can_mean_one_thing_only_are_taken(arguments: str, meant: dict[str, str]) -> None:
    [call, _execute] = units(read((0, "read", arguments, True)))
    assert call["type"] == "call"
    assert json.loads(call["content"]) == {"name": "read", "args": meant}
    [answer, *_] = render([{**call, "cycle": "1"}], "native")
    assert [json.loads(part["arguments"]) for part in parts(answer) if part["type"] == "call"] == [meant]


def test_a_call_without_a_name_says_that_the_name_is_missing() -> None:
    [error, _execute] = units(read((0, "", "{}", True)))
    assert error["type"] == "error"
    assert error["payload"]["error"] == "A call has no name"
    assert "the name of a tool" in error["payload"].get("hint", "")


def test_a_raw_newline_in_a_string_stands_for_itself() -> None:
    [call, _execute] = units(read((0, "write", '{"content": "a\nb"}', True)))
    assert call["type"] == "call"
    assert json.loads(call["content"])["args"] == {"content": "a\nb"}
    assert call.get("raw") == '{"name": "write", "args": {"content": "a\nb"}}'


def test_arguments_over_the_limit_are_an_error_in_bounded_memory() -> None:
    [error, _execute] = units(
        read((0, "write", '{"content": "' + "x" * 5000, False), (0, "", "x" * 5000, False), limit=6000)
    )
    assert error["type"] == "error"
    assert "longer than 6,000 characters" in error["payload"]["error"]


def test_pieces_after_the_end_of_a_call_and_repeated_ids_count_for_nothing() -> None:
    machine = parser()
    events = machine.call(0, id="same", name="list", arguments="{}", complete=True)
    events += machine.call(0, arguments="{}")
    events += machine.call(1, id="same", name="list", arguments="{}", complete=True)
    events += machine.close()
    assert [kind for kind, _ in shapes(events)] == ["call", "call", "execute"]
    assert list(machine.call_ids.values()) == ["same"]


def test_a_thought_in_the_text_is_a_thought() -> None:
    assert shapes(read("<think>Hm.</think>", "Yes.")) == [("think", "Hm."), ("respond", "Yes.")]


@given(st.text('{}[]",:ab\\n1 \n', max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_any_cut_of_the_arguments_gives_the_same_events(arguments: str, cuts: list[int]) -> None:
    ends = sorted({cut for cut in cuts if cut < len(arguments)})
    pieces = [arguments[a:b] for a, b in zip([0, *ends], [*ends, len(arguments)], strict=True)]
    whole = read((0, "write", arguments, True))
    cut = read((0, "write", "", False), *((0, "", piece, False) for piece in pieces), (0, "", "", True))
    assert shapes(whole) == shapes(cut)


# Rendering


def event(kind: str, **fields: Any) -> Any:
    return {"type": kind, "timestamp": 0.0, **fields}


def result(id: str, tool: str, content: Any, *, error: bool = False, **payload: Any) -> Any:
    state = "failed" if error else "done"
    return event(
        "result",
        id=id,
        tool=tool,
        duration=0.0,
        payload={"outcome": "out", "content": content, "error": error, "state": state, **payload},
    )


def parts(message: Message) -> list[Part]:
    return message.get("parts", [])


HISTORY = [
    event("user", content="go"),
    event("think", id="t", content="Reasoned.", cycle="1", summary=True),
    event("respond", id="r", content="I look.", cycle="1"),
    event("call", id="c1", content='{"name": "read", "args": {"file": "a\\u0041"}}', cycle="1"),
    event("call", id="c2", content='{"name": "list", "args": {}}', cycle="1"),
    result("c2", "list", None, error=True),
    result("c1", "read", "1 x"),
    event("respond", id="r2", content="Done.", cycle="2"),
]


def test_a_native_answer_is_its_parts_and_its_results_are_in_the_order_of_the_calls() -> None:
    items = AnswerItems(
        [
            AnswerItem("r", "before", {"sealed": 1}),
            AnswerItem("c1", "id", {"id": "call_x"}),
        ]
    )
    _user, answer, results, last = render(HISTORY, "native", items)
    assert parts(answer) == [
        {"type": "reasoning", "item": {"sealed": 1}},
        {"type": "text", "text": "I look."},
        {"type": "call", "id": "call_x", "name": "read", "arguments": '{"file": "a\\u0041"}'},
        {"type": "call", "id": "c2", "name": "list", "arguments": "{}"},
    ]
    assert parts(results) == [
        {"type": "result", "id": "call_x", "name": "read", "text": "1 x", "error": False},
        {"type": "result", "id": "c2", "name": "list", "text": "out", "error": True},
    ]
    assert parts(last) == [{"type": "text", "text": "Done."}]
    assert "sealed" not in answer["content"]
    assert "Reasoned" not in answer["content"]


def test_reasoning_that_was_kept_takes_the_place_of_its_summary_in_a_text_dialect() -> None:
    _user, plain, *_rest = render(HISTORY, "xml")
    assert plain["content"].startswith("<think>Reasoned.</think>")
    _user, answer, *_rest = render(HISTORY, "xml", AnswerItems([AnswerItem("r", "before", {"sealed": 1})]))
    assert parts(answer) == [
        {"type": "reasoning", "item": {"sealed": 1}},
        {"type": "text", "text": answer["content"]},
    ]
    assert answer["content"].startswith("I look.\n\n<execute>")


def test_a_malformed_native_call_is_rendered_as_it_was_with_its_result() -> None:
    [error, *_] = units(read((0, "read", '{"file": "a",}', True)))
    assert error["type"] == "error"
    payload = error["payload"]
    failed = result(payload.get("call", ""), "read", None, error=True, raw=payload.get("raw"))
    failed["cycle"] = "1"
    answer, results = render([failed], "native")
    assert parts(answer) == [
        {"type": "call", "id": failed["id"], "name": "read", "arguments": '{"file": "a",}'}
    ]
    assert [each["type"] for each in parts(results)] == ["result"]


def test_a_note_of_the_engine_follows_the_text_of_its_result() -> None:
    noted = result("c", "fetch", "A page.", note="Fetch no more.")
    [text] = [part["text"] for part in parts(render([noted], "native")[-1]) if part["type"] == "text"]
    assert text == "[engine] A page.\n\n[engine] Fetch no more."
    assert '"content": "A page.", "note": "Fetch no more."' in render([noted], "xml")[-1]["content"]


def test_a_malformed_block_of_another_dialect_is_text_and_so_is_its_result() -> None:
    failed = result("x", "execute", None, error=True, raw="<execute>[nonsense]</execute>")
    failed["cycle"] = "1"
    answer, results = render([failed], "native")
    assert parts(answer) == [{"type": "text", "text": "<execute>[nonsense]</execute>"}]
    assert parts(results) == [{"type": "text", "text": "[engine] out"}]


def test_a_native_history_is_text_in_the_other_dialects() -> None:
    openings: dict[Dialect, str] = {"xml": "<execute>", "delimiter": "§call:", "action": "<action "}
    for dialect, opening in openings.items():
        answer = render(HISTORY, dialect)[1]
        assert "parts" not in answer
        assert opening in answer["content"]
