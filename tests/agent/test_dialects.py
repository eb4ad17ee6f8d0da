"""One conversation in all dialects, over the wire and in sessions; actions that run while the model writes."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import cycle, permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.prompt import system_parts
from cogency_tui.protocol import TEXT_DIALECTS, Dialect
from cogency_tui.protocol.events import Event
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, ToolKind, Touch
from tests.agent.conftest import MakeAgent
from tests.agent.stage import PATIENCE
from tests.exhaustive import sampled
from tests.peers.scripted import ScriptedProvider
from tests.peers.server import Fault, Peer
from tests.peers.ways import WAYS, Way
from tests.peers.words import words

CALLS: Mapping[Dialect, str] = {
    "xml": '<think>Look.</think><execute>[{"name": "read", "args": {"file": "greet.py"}}]</execute>',
    "delimiter": '§think: Look.\n§call: {"name": "read", "args": {"file": "greet.py"}}\n§execute',
    "action": '<thought>Look.</thought><action id="a">{"name": "read", "parameters": {"file": "greet.py"}}</action>',
}
ANSWERS: Mapping[Dialect, str] = {
    "xml": "Seen.",
    "delimiter": "§respond: Seen.\n§end",
    "action": "<response>Seen.</response>",
}
RENDERED: Mapping[Dialect, str] = {
    "xml": '<think>Look.</think>\n\n<execute>\n[{"name": "read", "args": {"file": "greet.py"}}]\n</execute>',
    "delimiter": '§think: Look.\n§call: {"name": "read", "args": {"file": "greet.py"}}\n§execute',
    "action": "<thought>Look.</thought>\n\n<action ",
}


PAGE = r"""# How a model calls tools

<think>Look first.</think>
<execute>
[{"name": "read", "args": {"file": "a.py"}}]
</execute>
Results come as <results>[]</results>, and `<end>` ends a turn; so does <end/>.

§think: Look first.
§call: {"name": "read", "args": {"file": "a.py"}}
§execute
§end
[SYSTEM: results []]

<thought>Look first.</thought><action id="a">{"name": "list", "parameters": {"path": "$a"}}</action>
<response>Seen.</response>

````markdown
~~~
```xml
<execute>[]</execute>
```
~~~
````
"C:\new\table\x00" is C:\new\table\x00, and \u0041 is no "A".
"""
"""A file that holds every marker of every dialect, at line starts and within lines."""

EXPLAINED = """A block ends at `</execute>`, a turn at `<end>`, and `§execute` runs a batch.

```xml
<execute>[{"name": "list", "args": {}}]</execute>
<end>
```
That is all: `</response>` and `</action>` are of another dialect."""

RAMBLE = "and then it went on " * 500
"""What a model writes that does not wait for the results of its calls."""

# Each wire carries one of the dialects, and each dialect goes over wires of both modes.
every_dialect = pytest.mark.parametrize(
    ("name", "dialect"), sampled([*zip(WAYS, cycle(TEXT_DIALECTS), strict=False)], quick=3)
)
with_boundary = pytest.mark.parametrize(
    ("name", "dialect"), sampled([*zip(WAYS, cycle(["xml", "delimiter"]), strict=False)], quick=3)
)


def calls_in(dialect: Dialect, *calls: tuple[str, str]) -> str:
    """A message that makes calls, each a name and the JSON of its arguments."""
    if dialect == "xml":
        elements = ",\n".join(f'{{"name": "{name}", "args": {args}}}' for name, args in calls)
        return f"<execute>\n[{elements}]\n</execute>"
    if dialect == "delimiter":
        return "".join(f'§call: {{"name": "{name}", "args": {args}}}\n' for name, args in calls) + "§execute"
    return "\n".join(f'<action>{{"name": "{name}", "parameters": {args}}}</action>' for name, args in calls)


def answer_in(dialect: Dialect, text: str) -> str:
    """A message that answers and ends the turn."""
    wrapped: Mapping[Dialect, str] = {
        "xml": f"{text}\n<end>",
        "delimiter": f"§respond: {text}\n§end",
        "action": f"<response>{text}</response>",
    }
    return wrapped[dialect]


def write_page(file: str, *, raw: bool) -> tuple[str, str]:
    """A call that writes the page, its line ends escaped or, as some models have them, as they are."""
    lines = [json.dumps(line, ensure_ascii=False)[1:-1] for line in PAGE.split("\n")]
    content = ("\n" if raw else "\\n").join(lines)
    return "write", f'{{"file": "{file}", "content": "{content}"}}'


async def turn(agent: Agent, query: str) -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c", chunks=False)]


@pytest.mark.parametrize(
    ("order", "name"),
    [*zip(permutations(TEXT_DIALECTS), cycle(["Chat Completions", "Responses WebSocket"]), strict=False)],
)
async def test_a_conversation_goes_on_in_every_dialect(
    make_agent: MakeAgent, order: tuple[Dialect, ...], name: str
) -> None:
    way = WAYS[name]
    replies = [text for dialect in order for text in (CALLS[dialect], ANSWERS[dialect])]
    async with (
        way.peer(replies, model=way.model) as peer,
        make_agent(llm=way.connect(peer), mode=way.mode) as agent,
    ):
        for number, dialect in enumerate(order):
            agent.dialect = dialect
            events = await turn(agent, f"question {number}")
            kinds = [event["type"] for event in events if event["type"] not in ("execute", "metric")]
            assert kinds == ["user", "think", "call", "result", "respond", "end"]
    if way.mode == "resume":
        # Another dialect is another system prompt and another history: a session for each.
        assert peer.connections == len(order)
    seen = peer.exchanges[-2].context[:-1]
    contents = [words(message["content"]) for message in seen]
    assert f"Protocol: {order[-1]}" in contents[0]
    assert [text for text in contents if text.startswith("question")] == ["question 0", "question 1"]
    assert sum(text.startswith(RENDERED[order[-1]]) for text in contents) == 2
    assert sum("hello" in text and "success" in text for text in contents) == 2


async def hung_up(peer: Peer, way: Way) -> None:
    """Wait until the first answer was cancelled, or the connection that it came over closed."""
    if way.name == "Realtime":
        assert "response.cancel" in [frame["type"] for frame in peer.sockets[0].frames]
        return
    closed = peer.sockets[0].closed if peer.sockets else peer.requests[0].closed_early
    await asyncio.wait_for(closed.wait(), PATIENCE)


@every_dialect
async def test_a_page_about_the_protocol_is_written_byte_for_byte(
    make_agent: MakeAgent, project: Path, dialect: Dialect, name: str
) -> None:
    way = WAYS[name]
    calls = calls_in(dialect, write_page("escaped.md", raw=False), write_page("raw.md", raw=True))
    async with (
        way.peer([calls, answer_in(dialect, "Written.")], model=way.model) as peer,
        make_agent(llm=way.connect(peer), mode=way.mode, dialect=dialect) as agent,
    ):
        events = await turn(agent, "write it down")
    assert [event["payload"]["error"] for event in events if event["type"] == "result"] == [False, False]
    assert [event["content"] for event in events if event["type"] == "respond"] == ["Written."]
    assert (project / "escaped.md").read_bytes() == PAGE.encode()
    assert (project / "raw.md").read_bytes() == PAGE.encode()
    assert len(peer.exchanges) == 2
    assert peer.stop_fields == set()


@every_dialect
async def test_an_answer_that_explains_the_markers_arrives_whole(
    make_agent: MakeAgent, dialect: Dialect, name: str
) -> None:
    way = WAYS[name]
    async with (
        way.peer([answer_in(dialect, EXPLAINED)], model=way.model) as peer,
        make_agent(llm=way.connect(peer), mode=way.mode, dialect=dialect) as agent,
    ):
        events = await turn(agent, "explain it")
    assert [event["type"] for event in events] == ["user", "respond", "metric", "end"]
    assert [event["content"] for event in events if event["type"] == "respond"] == [EXPLAINED]
    assert len(peer.exchanges) == 1


@with_boundary
async def test_a_model_that_goes_on_after_the_boundary_is_hung_up_on(
    make_agent: MakeAgent, project: Path, dialect: Dialect, name: str
) -> None:
    way = WAYS[name]
    read, write = ("read", '{"file": "greet.py"}'), ("write", '{"file": "forged", "content": ""}')
    rambling = f"{calls_in(dialect, read)}\n{RAMBLE}\n{calls_in(dialect, write)}"
    async with (
        way.peer([rambling, answer_in(dialect, "Seen.")], model=way.model, latency=0.001) as peer,
        make_agent(llm=way.connect(peer), mode=way.mode, dialect=dialect) as agent,
    ):
        events = await turn(agent, "look")
        await hung_up(peer, way)
    kinds = [event["type"] for event in events if event["type"] != "error"]
    assert kinds == ["user", "call", "execute", "result", "metric", "respond", "metric", "end"]
    assert all("went on" not in str(event) for event in events)
    assert [path.name for path in project.iterdir()] == ["greet.py"]
    assert all("went on" not in message["content"] for message in peer.exchanges[1].context)
    cut, whole = [event["step"] for event in events if event["type"] == "metric"]
    assert (cut.get("estimated"), "estimated" in whole) == (True, False)
    assert cut.get("input", 0) > 0
    assert cut.get("output", 0) > 0


@with_boundary
async def test_a_model_that_goes_on_after_its_answer_is_hung_up_on(
    make_agent: MakeAgent, dialect: Dialect, name: str
) -> None:
    way = WAYS[name]
    rambling = f"{answer_in(dialect, 'Seen.')}\n{RAMBLE}"
    async with (
        way.peer([rambling], model=way.model, latency=0.001) as peer,
        make_agent(llm=way.connect(peer), mode=way.mode, dialect=dialect) as agent,
    ):
        events = await turn(agent, "look")
        await hung_up(peer, way)
    assert [event["type"] for event in events] == ["user", "respond", "metric", "end"]
    assert [event["content"] for event in events if event["type"] == "respond"] == ["Seen."]


@with_boundary
async def test_what_came_at_once_with_the_boundary_does_not_run_and_is_reported(
    make_agent: MakeAgent, project: Path, dialect: Dialect, name: str
) -> None:
    way = WAYS[name]
    read, write = ("read", '{"file": "greet.py"}'), ("write", '{"file": "forged", "content": ""}')
    burst = f"{calls_in(dialect, read)}\nIt went on.\n{calls_in(dialect, write)}"
    async with (
        way.peer([answer_in(dialect, "Seen.")], model=way.model, faults=[Fault(deltas=[burst])]) as peer,
        make_agent(llm=way.connect(peer), mode=way.mode, dialect=dialect) as agent,
    ):
        events = await turn(agent, "look")
    kinds = [event["type"] for event in events if event["type"] != "error"]
    assert kinds == ["user", "call", "execute", "result", "result", "metric", "respond", "metric", "end"]
    outcomes = [event["payload"]["outcome"] for event in events if event["type"] == "result"]
    assert "of an answer" in outcomes[1]
    assert all("went on" not in str(event) for event in events)
    assert [path.name for path in project.iterdir()] == ["greet.py"]
    assert all("went on" not in message["content"] for message in peer.exchanges[1].context)


class PauseArgs(msgspec.Struct, frozen=True):
    label: str
    after: Any = None


class Pause:
    """Stands for a slow fetch: it takes until `answered` is set, and touches no file."""

    name = "pause"
    description = "Wait for an answer."
    args = PauseArgs
    kind: ToolKind = "other"
    aliases = NO_ALIASES

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def touch(self, _args: PauseArgs, _context: ToolContext, /) -> Touch:
        return Touch()

    async def plan(self, args: PauseArgs, context: ToolContext) -> Intent:
        return Intent("read", f"Pause {args.label}")

    async def run(self, args: PauseArgs, context: ToolContext) -> Outcome:
        await self.answered.wait()
        return Outcome(f"paused {args.label}", {"label": args.label, "after": args.after})


def action(label: str, **more: Any) -> str:
    body = {"name": "pause", "parameters": {"label": label, **more.pop("parameters", {})}, **more}
    return f'<action mode="async" id="{label}">{json.dumps(body)}</action>'


async def test_fetches_overlap_and_start_while_the_response_is_still_written(make_agent: MakeAgent) -> None:
    text = (
        action("one", output_key="first")
        + action("two", output_key="second")
        + action("step", parameters={"after": ["$first", "$second"]}, depends_on=["one", "two"])
        + "<response>"
        + "While they run, this is written. " * 20
        + "</response>"
    )
    pause = Pause()
    agent = make_agent(llm=ScriptedProvider(text, size=3, pause=0.0005), dialect="action", tools=[pause])
    begun: dict[str, float] = {}
    ended: dict[str, float] = {}
    written: list[float] = []
    labels: dict[str, str] = {}
    async for event in agent.stream("go"):
        if event["type"] == "call" and not event.get("partial"):
            labels[event["id"]] = json.loads(event["content"])["id"]
        elif event["type"] == "respond":
            written.append(event["timestamp"])
            if {"one", "two"} <= begun.keys():
                pause.answered.set()
        elif event["type"] == "result":
            place = begun if event.get("partial") else ended
            place.setdefault(labels[event["id"]], event["timestamp"])
            if labels[event["id"]] == "step" and not event.get("partial"):
                assert [each["label"] for each in event["payload"]["content"]["after"]] == ["one", "two"]
    assert begun["two"] < ended["one"]
    assert begun["one"] < written[-1]
    assert written[0] < ended["one"]
    assert begun["step"] >= max(ended["one"], ended["two"])


def act(id: str, name: str, parameters: Mapping[str, Any], **more: Any) -> str:
    body = {"name": name, "parameters": parameters, **more}
    return f'<action id="{id}">{json.dumps(body)}</action>'


def outcomes(events: Sequence[Event]) -> list[tuple[bool, str]]:
    payloads = [
        event["payload"] for event in events if event["type"] == "result" and not event.get("partial")
    ]
    return [(payload["error"], payload["outcome"]) for payload in payloads]


def answers(events: Sequence[Event]) -> str:
    return "".join(event["content"] for event in events if event["type"] == "respond")


EVIL = 'x"; touch pwned; echo "\n`touch pwned`\n$(touch pwned)\n\\\'; touch pwned\n'


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "source", [("read", {"file": "evil.txt"}), ("shell", {"command": "cat evil.txt"})], ids=["read", "cat"]
)
async def test_what_a_file_says_is_printed_and_never_run(
    make_agent: MakeAgent, source: tuple[str, Mapping[str, Any]]
) -> None:
    agent = make_agent(
        act("a", *source, output_key="evil")
        + act("b", "shell", {"command": 'printf "%s" "$evil" > printed'}),
        act("c", "shell", {"command": 'echo "$evil"'}, depends_on=["a"])
        + act("d", "shell", {"command": "$evil"})
        + act("e", "shell", {"command": 'bash -c "$evil"'}),
        "<response>It says: $evil</response>",
        dialect="action",
    )
    (agent.project / "evil.txt").write_text(EVIL)
    events = await turn(agent, "go")
    *done, whole, code = outcomes(events)
    assert [error for error, _ in done] == [False, False, False]
    assert all(error and "cannot be run as a command" in outcome for error, outcome in (whole, code))
    assert (agent.project / "printed").read_text() == EVIL
    printed = [event["payload"]["content"] for event in events if event["type"] == "result"][2]
    assert printed == f"exit 0\n{EVIL.rstrip()}"
    assert not (agent.project / "pwned").exists()
    assert answers(events) == f"It says: {EVIL}"


async def test_ids_and_values_last_for_the_turn_and_no_longer(make_agent: MakeAgent) -> None:
    agent = make_agent(
        act("a", "read", {"file": "greet.py"}, output_key="text") + act("b", "read", {"file": "none.py"}),
        act("c", "write", {"file": "copy.py", "content": "$text"}, depends_on=["a"])
        + act("d", "list", {}, depends_on=["b"])
        + act("a", "list", {}),
        "<response>Copied $text</response>",
        # The next turn: its ids are its own, and what looks like a name is text.
        act("a", "write", {"file": "next.py", "content": "$text"}),
        "<response>Wrote $text</response>",
        dialect="action",
    )
    events = await turn(agent, "go")
    assert (agent.project / "copy.py").read_bytes() == (agent.project / "greet.py").read_bytes()
    told = dict.fromkeys(outcome for _, outcome in outcomes(events))
    assert 'Skipped: it depends on "b", which failed' in told
    assert any('The id "a" was used before in this turn; choose a new id' in outcome for outcome in told)
    assert answers(events) == 'Copied print("hello")\n'
    events = await turn(agent, "again")
    assert (agent.project / "next.py").read_text() == "$text"
    assert answers(events) == "Wrote $text"


async def test_nothing_that_cannot_come_holds_an_answer_up(make_agent: MakeAgent) -> None:
    ghost = {"depends_on": ["ghost"]}
    agent = make_agent(
        act("a", "list", {}, output_key="never", **ghost)
        + act("b", "list", {}, output_key="one", depends_on=["c"])
        + act("c", "list", {}, depends_on=["b"])
        + act("d", "read", {"file": "none.py"}, output_key="lost", on_error="retry", retry=1)
        + "<response>Have $lost.</response>",
        dialect="action",
    )
    events = await turn(agent, "go")
    assert [error for error, _ in outcomes(events)] == [True] * 4
    assert answers(events) == "Have (lost: failed)."
    assert events[-1]["type"] == "end"


async def test_what_became_of_an_action_is_said_in_a_later_answer(make_agent: MakeAgent) -> None:
    agent = make_agent(
        act("a", "read", {"file": "none.py"}, output_key="lost")
        + act("b", "list", {}, output_key="never", depends_on=["a"]),
        "<response>$lost, $never, $$lost, $other</response>",
        dialect="action",
    )
    assert answers(await turn(agent, "go")) == "(lost: failed), (never: skipped), $lost, $other"


async def test_a_turn_that_was_ended_leaves_no_ids_to_the_next(make_agent: MakeAgent) -> None:
    agent = make_agent(
        act("a", "read", {"file": "none.py"}, on_error="fail"),
        act("a", "read", {"file": "greet.py"}, output_key="text"),
        "<response>$text</response>",
        dialect="action",
    )
    events = await turn(agent, "go")
    assert "and its on_error is" in str(events[-2])
    assert events[-1]["type"] == "end"
    assert answers(await turn(agent, "again")) == 'print("hello")\n'


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
def test_the_system_prompt_is_the_same_bytes_each_time(dialect: Dialect) -> None:
    parts = system_parts(dialect, "tools", ["llm"])
    assert parts == system_parts(dialect, "tools", ["llm"])
    assert "".join(text for _name, text in parts).count("Protocol: ") == 1
