"""Slips of models that call natively, over HTTP: what runs, what the model learns, what the next request shows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event
from tests.agent.test_turns import results
from tests.peers.chat import ChatPeer
from tests.peers.chat_answers import Answer, Call
from tests.peers.ways import KEY, WAYS

WAY = WAYS["Chat Completions"]


@dataclass(frozen=True, slots=True)
class Played:
    """A turn as it was played: its events, and the messages of each request."""

    events: Sequence[Event]
    requests: Sequence[Sequence[dict[str, Any]]]

    @property
    def states(self) -> list[str]:
        return [each["payload"]["state"] for each in results(self.events)]

    @property
    def reported(self) -> str:
        """What the model learned of its first answer."""
        messages = self.requests[1]
        answer = max(at for at, each in enumerate(messages) if each["role"] == "assistant")
        return "\n".join(str(each["content"]) for each in messages[answer + 1 :])

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The calls of the first answer, as the next request has them."""
        answer = next(each for each in self.requests[1] if each["role"] == "assistant")
        return [each["function"] for each in answer["tool_calls"]]


class Stage:
    """A project with one file of ten lines, and an agent with its own tools in it."""

    def __init__(self, tmp_path: Path) -> None:
        self.project = tmp_path / "project"
        self.project.mkdir()
        (self.project / "ten.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
        self._data = tmp_path / "data"

    async def play(self, *answers: str) -> Played:
        """Play a turn in which the model answers with these, and then is done."""
        async with ChatPeer([*answers, "Done."], model=WAY.model, key=KEY) as peer:
            async with Agent(
                WAY.connect(peer),
                project=self.project,
                data=self._data,
                settings=WAY.settings,
                dialect="native",
                permissions="auto",
            ) as agent:
                events = [event async for event in agent("go")]
            return Played(events, [each.body["messages"] for each in peer.requests])

    async def call(self, name: str, arguments: str) -> Played:
        """Play a turn whose first answer is this call."""
        return await self.play(Answer("", Call("call_1", name, arguments)))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


READ = Call("call_1", "read", '{"file": "ten.txt"}')
LEAKED = '<tool_call>\n{"name": "list", "arguments": {}}\n</tool_call>'


@pytest.mark.parametrize(
    "answer", [Answer(f"I look.\n{LEAKED}", READ), Answer("I look.", READ, after=LEAKED)]
)
async def test_a_call_in_the_text_beside_native_calls_is_reported_with_their_results(
    stage: Stage, answer: Answer
) -> None:
    played = await stage.play(answer)
    assert played.states == ["done", "failed"]
    assert "a <tool_call> block, which did not run; your tool calls did" in played.reported


async def test_text_beside_native_calls_is_no_slip(stage: Stage) -> None:
    played = await stage.play(Answer(f"Such a call looks so:\n\n{LEAKED}\n\nI read the file now.", READ))
    assert played.states == ["done"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"file": "a.txt", "content": "one\ntwo\t"}', {"file": "a.txt", "content": "one\ntwo\t"}),
        (json.dumps('{"file": "a.txt", "content": "x"}'), {"file": "a.txt", "content": "x"}),
    ],
)
async def test_the_history_shows_arguments_as_they_were_read(
    stage: Stage, arguments: str, shown: dict[str, Any]
) -> None:
    played = await stage.call("write", arguments)
    assert played.states == ["done"]
    assert [json.loads(each["arguments"]) for each in played.shown] == [shown]


async def test_a_model_that_imitates_malformed_arguments_is_understood_where_they_are_valid(
    stage: Stage,
) -> None:
    assert (await stage.call("read", '{"malformed": "{\\"file\\": \\"ten.txt\\"}"}')).states == ["done"]
    played = await stage.call("read", '{"malformed": "{file}"}')
    assert "write the arguments themselves, as valid JSON" in played.reported


async def test_a_call_without_a_name_is_reported_as_one(stage: Stage) -> None:
    played = await stage.call("", '{"file": "ten.txt"}')
    assert "A call has no name" in played.reported
    assert "with the name of a tool" in played.reported


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ('{"file": "ten.txt"}{"file": "b"}', "There is text after the arguments of read"),
        ('{"file": "ten.txt"} // the file', "There is text after the arguments of read"),
        ('{"file": "ten.txt"}}', "There is text after the arguments of read"),
        ('```json\n{"file": "ten.txt"}\n```', "without the fence"),
        ('{"file": "ten.txt", "start": NaN}', "write a number"),
        ('{"file": "ten.txt",}', "the other calls were not affected"),
    ],
)
async def test_invalid_json_is_reported_with_its_cause(stage: Stage, arguments: str, says: str) -> None:
    played = await stage.call("read", arguments)
    assert played.states == ["failed"]
    assert says in played.reported


@pytest.mark.parametrize(
    ("name", "arguments", "shows"),
    [
        ("read", '{"file": "ten.txt", "start": null, "lines": null}', "line 10"),
        ("list", "[]", "ten.txt"),
        ("list", '""', "ten.txt"),
        ("read", '{"arguments": {"file": "ten.txt"}}', "line 10"),
        ("read", '{"input": "{\\"file\\": \\"ten.txt\\"}"}', "line 10"),
        ("view", '{"path": "ten.txt", "view_range": [4, 5]}', "4\tline 4\n5\tline 5"),
        ("view", '{"path": "ten.txt", "view_range": [9, -1]}', "9\tline 9\n10\tline 10"),
        ("read_file", '{"file": "ten.txt", "start_line": 3, "end_line": 4}', "3\tline 3\n4\tline 4"),
        ("find", '{"query": "line 7"}', "line 7"),
        ("shell", '{"command": "sleep 60", "timeout_ms": 900}', "1 s"),
    ],
)
async def test_arguments_that_can_mean_one_thing_only_are_understood(
    stage: Stage, name: str, arguments: str, shows: str
) -> None:
    assert shows in (await stage.call(name, arguments)).reported


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("read", '{"file": "ten.txt", "view_range": [5, 4]}', "use start for the first line"),
        ("read", '{"file": "ten.txt", "view_range": [1, 2], "start": 3}', 'both mean "start"'),
        ("find", '{"content": "x", "-i": true}', "begin content with (?i)"),
        ("Grep", '{"pattern": "x", "-A": 2}', "pattern is content here, and glob is pattern"),
        ("find", '{"content": "x", "exclude": "*.md"}', "narrow the search with path or pattern"),
        ("str_replace_editor", '{"path": "ten.txt", "insert_line": 3}', "new is that line and the inserted"),
        ("read", '{"file": null}', "must be a string, not null"),
        (
            "shell",
            '{"command": ["apply_patch", "*** Begin Patch\\n*** End Patch"]}',
            "apply_patch is edit here",
        ),
        ("shell", '{"command": "apply_patch <<E\\n*** End Patch\\nE"}', "apply_patch is edit here"),
        ("shell", '{"command": "ls", "timeout_ms": "soon"}', "timeout is in seconds"),
    ],
)
async def test_arguments_that_are_not_understood_name_the_cure(
    stage: Stage, name: str, arguments: str, says: str
) -> None:
    assert says in (await stage.call(name, arguments)).reported


async def test_an_answer_of_reasoning_alone_is_no_empty_message(stage: Stage) -> None:
    thought = Answer("", reasoning="I should look.")
    played = await stage.play(thought, thought)
    assert all(each["content"] for messages in played.requests for each in messages)
    # The reports of both are the same, and are one.
    assert str(played.requests[2][-1]["content"]).count("You wrote only a thought") == 1


MENTION = "Put it between <think> and </think>, then go on."


async def test_a_tag_that_is_mentioned_within_a_line_opens_no_thought(stage: Stage) -> None:
    played = await stage.play(Answer(MENTION, READ))
    assert [each["content"] for each in played.events if each["type"] == "respond"] == [MENTION, "Done."]
    assert played.requests[1][2]["content"] == MENTION


async def test_a_tag_at_the_start_of_a_line_opens_a_thought(stage: Stage) -> None:
    played = await stage.play(Answer("<think>Hm.</think>\nI look.\n  <think>So.</think>", READ))
    assert [each["content"] for each in played.events if each["type"] == "think"] == ["Hm.", "So."]


async def test_a_file_that_is_in_the_project_is_suggested(stage: Stage) -> None:
    played = await stage.call("read", '{"file": "/ten.txt"}')
    assert "/ten.txt: there is no such file. Did you mean ten.txt?" in " ".join(played.reported.split())


async def test_a_refusal_outside_names_what_is_allowed_in_the_temporary_directory(stage: Stage) -> None:
    played = await stage.call("write", '{"file": "/tmp/x/none.txt", "content": "x"}')
    assert "shell commands with files of their own in /tmp" in played.reported
    assert "shell may use files of its own in /tmp" in str(played.requests[0])


async def test_files_that_are_known_only_at_run_time_are_to_be_named(stage: Stage) -> None:
    played = await stage.call("shell", json.dumps({"command": "wc -l < $(cat names.txt)"}))
    assert "Name the files in the command." in played.reported


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("I look.\n<think>Then I am done", "</think> is missing"),
        (f"<think>I look.\n{LEAKED}", "Your thought (<think> was never closed) contains a <tool_call> block"),
    ],
)
async def test_a_thought_that_is_left_open_does_not_end_the_turn(
    stage: Stage, answer: str, says: str
) -> None:
    assert says in (await stage.play(answer)).reported


async def test_a_tool_that_is_called_as_code_does_not_end_the_turn(stage: Stage) -> None:
    played = await stage.play('I\'ll check.\n\n```python\nfind(content="line 7")\n```')
    assert "as code in a Markdown fence, which nothing runs" in played.reported


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("The width is wrong.\n\nNow let me fix it.", "announces a step"),
        ("Let me read it.\n\n<think>Now I have to call read.</think>", "announces a step"),
        (f"{LEAKED}\n\nThis will show the files.", "a <tool_call> block"),
    ],
)
async def test_a_step_that_is_only_announced_does_not_end_the_turn(
    stage: Stage, answer: str, says: str
) -> None:
    assert says in (await stage.play(answer)).reported


async def test_the_warning_before_the_end_of_the_turn_names_calls_where_there_were_some(stage: Stage) -> None:
    malformed = Answer("", Call("call_1", "read", '{"file": "ten.txt"'))
    played = await stage.play(malformed, malformed)
    assert "the calls of the next answer all fail in this way" in str(played.requests[2])
