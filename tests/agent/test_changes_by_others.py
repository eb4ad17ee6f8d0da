"""What others change in a file that a conversation has read: it is told by whom, when, and what."""

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.schema import AgentSettings, Settings
from cogency_tui.protocol.events import ResultEvent
from tests.agent.journaling import until
from tests.agent.templates import TEMPLATES
from tests.agent.test_turns import block, results, turn
from tests.peers.scripted import ScriptedProvider

LINES = "".join(f"line {number}\n" for number in range(1, 41))
Call = tuple[str, dict[str, Any]]
READ: Call = ("read", {"file": "app.py"})


def edit(old: str, new: str) -> Call:
    return "edit", {"file": "app.py", "old": f"{old}\n", "new": f"{new}\n"}


def write(content: str) -> Call:
    return "write", {"file": "app.py", "content": content, "overwrite": True}


def shell(command: str) -> Call:
    return "shell", {"command": command}


def replies(messages: tuple[Call | list[Call] | str, ...]) -> list[str]:
    """What the model writes: a call, several in one message, or words."""
    return [
        each if isinstance(each, str) else block(*(each if isinstance(each, list) else [each]))
        for each in (*messages, "Done.")
    ]


class Two:
    """Two conversations of one program: this one, and “fix parser”."""

    def __init__(self, agent: Agent, project: Path) -> None:
        self.agent, self.other = agent, agent.beside()
        self.other.permissions = "auto"
        self.path = project / "app.py"

    async def go(self, *messages: Call | list[Call] | str) -> list[ResultEvent]:
        """Have this conversation's model answer with these."""
        self.agent.provider = ScriptedProvider(*replies(messages), size=10_000)
        return results(await turn(self.agent, conversation_id="own"))

    async def other_goes(self, *messages: Call) -> None:
        self.other.provider = ScriptedProvider(*replies(messages), size=10_000)
        await turn(self.other, "fix parser", conversation_id="other")

    @property
    def text(self) -> str:
        return self.path.read_text()


@pytest.fixture
async def two(tmp_path: Path, project: Path) -> AsyncGenerator[Two]:
    TEMPLATES.copy_store(tmp_path / "data")
    (project / "app.py").write_text(LINES)
    async with agent_over(tmp_path) as agent:
        yield Two(agent, project)


def agent_over(tmp_path: Path) -> Agent:
    provider, settings = ScriptedProvider(), Settings(agents={"helper": AgentSettings(description="helps")})
    project, data = tmp_path / "project", tmp_path / "data"
    return Agent(provider, project=project, data=data, settings=settings, permissions="auto")


def outcome(result: ResultEvent) -> str:
    return re.sub(r"just now|\d+ s ago", "1 s ago", result["payload"]["outcome"])


def note(result: ResultEvent) -> str:
    return re.sub(r"just now|\d+ s ago", "1 s ago", result["payload"].get("note", ""))


async def test_a_whole_file_is_not_replaced_until_the_model_knows_the_others_lines(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(edit("line 3", "the other's"))
    first, second, third = await two.go([write("a\n"), write("b\n")], write("the other's\nc\n"))
    assert [each["payload"]["error"] for each in (first, second, third)] == [True, True, False]
    assert outcome(first) == (
        'app.py changed in "fix parser" 1 s ago, after you read it. These lines changed:\n'
        "@@ -2,3 +2,3 @@\n line 2\n-line 3\n+the other's\n line 4\n"
        "Repeat the call with them in content, or use edit."
    )
    assert first["payload"].get("brief") == 'app.py changed in "fix parser", after the agent read it.'
    assert outcome(second) == "app.py has changed since it was read. Read it again first."
    assert two.text == "the other's\nc\n"


async def test_what_was_refused_is_not_written_by_repeating_it(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(edit("line 3", "the other's"))
    first, second, _, third = await two.go(write("a\n"), write("a\n"), READ, write("a\n"))
    assert [each["payload"]["error"] for each in (first, second, third)] == [True, True, False]
    assert outcome(second) == (
        "This content still overwrites what others changed in app.py. "
        "Keep their changes, or read the file again before you replace it."
    )
    assert two.text == "a\n"


async def test_an_edit_elsewhere_is_made_and_says_what_the_other_has_changed(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(edit("line 3", "the other's"))
    first, second, third = await two.go([edit("line 20", "mine"), edit("line 30", "mine")], READ)
    assert note(first) == (
        'app.py changed in "fix parser" 1 s ago, after you read it. Your change leaves theirs as it is:\n'
        "@@ -2,3 +2,3 @@\n line 2\n-line 3\n+the other's\n line 4"
    )
    (by,) = first["payload"].get("changed_by", [])
    assert (by["path"], by["by"], by["title"]) == ("app.py", "conversation", "fix parser")
    assert [note(each) for each in (second, third)] == ["", ""]
    expected = (
        LINES.replace("line 3\n", "the other's\n").replace("line 20", "mine").replace("line 30", "mine")
    )
    assert two.text == expected


async def test_an_edit_of_lines_that_the_other_has_replaced_fails_and_says_so(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(edit("line 3", "the other's"))
    (failed, done) = await two.go(edit("line 3", "mine"), edit("the other's", "ours"))
    assert outcome(failed).startswith("old is not in app.py.")
    assert outcome(failed).endswith(
        'app.py changed in "fix parser" 1 s ago, after you read it.\n'
        "@@ -2,3 +2,3 @@\n line 2\n-line 3\n+the other's\n line 4"
    )
    assert note(done) == ""
    assert two.text == LINES.replace("line 3\n", "ours\n")


async def test_a_long_change_has_to_be_read(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(READ, write("".join(f"other {number}\n" for number in range(99)) + LINES))
    first, second, third, _, fourth = await two.go(
        write("mine\n"), edit("line 20", "mine"), write("mine\n"), READ, write("known\n")
    )
    assert outcome(first).endswith("after you read it. Read it again first.")
    assert note(second) == ""
    assert third["payload"]["error"]
    assert not fourth["payload"]["error"]
    assert two.text == "known\n"


async def test_an_edit_beside_a_long_change_asks_for_another_reading(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(READ, write("".join(f"other {number}\n" for number in range(99)) + LINES))
    first, second, third = await two.go(edit("line 20", "mine"), write("mine\n"), READ)
    assert note(first).endswith("leaves theirs as it is. Read the file again before you replace it.")
    assert second["payload"]["error"]
    assert note(third) == ""
    assert "other 98" in two.text


async def test_reading_again_says_who_has_changed_the_file(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(edit("line 3", "the other's"))
    (result,) = await two.go(READ)
    assert note(result) == 'app.py changed in "fix parser" 1 s ago, after you read it.'


async def test_a_command_of_another_conversation_is_named_like_its_edits(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(shell("sed -i s/line.3$/x/ app.py"))
    (result,) = await two.go(edit("line 20", "mine"))
    assert note(result).startswith('app.py changed in "fix parser" 1 s ago, after you read it.')


async def test_the_user_a_sub_agent_and_other_programs_are_named_too(two: Two) -> None:
    delegate: Call = ("agent", {"name": "helper", "task": "tidy up"})
    await two.go(READ, edit("line 5", "mine"))
    undo = await two.agent.undo("own")
    await undo.apply(await undo.of_turn())
    (by_user,) = await two.go(edit("line 20", "20"))
    assert note(by_user).startswith("app.py changed by the user 1 s ago, after you read it.")
    two.path.write_text(two.text.replace("line 7\n", "by hand\n"))
    (by_hand,) = await two.go(edit("line 21", "21"))
    assert note(by_hand).startswith("app.py changed by hand or by another program 1 s ago")
    _, by_helper = await two.go(delegate, edit("line 9", "helped"), "Tidy.", edit("line 22", "22"))
    assert note(by_helper).startswith('app.py changed by the sub-agent "tidy up" 1 s ago')


async def test_several_authors_are_all_named(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(edit("line 3", "the other's"))
    two.path.write_text(two.text.replace("line 7\n", "by hand\n"))
    (result,) = await two.go(edit("line 20", "mine"))
    assert note(result).startswith(
        'app.py changed in "fix parser" 1 s ago and by hand or by another program 1 s ago, after you read it.'
    )
    assert "-line 3\n+the other's" in note(result)
    assert "-line 7\n+by hand" in note(result)


async def test_its_own_commands_are_nothing_to_tell(two: Two) -> None:
    command = shell("sed -i s/line.3$/x/ app.py")
    _, _, result = await two.go(READ, command, edit("line 20", "mine"))
    assert "note" not in result["payload"]


async def test_the_lines_of_its_own_command_are_not_those_of_the_user_after_it(two: Two) -> None:
    await two.go(READ, shell("sed -i 's/line 7$/by command/' app.py"))
    two.path.write_text(two.text.replace("line 3\n", "by hand\n"))
    refused, made = await two.go(write("all new\n"), edit("line 20", "mine"))
    # What the command has made of the file the model has not read.
    assert outcome(refused) == (
        "app.py changed by hand or by another program 1 s ago, after you read it. Read it again first."
    )
    assert "by command" not in note(made)
    await two.go(READ, shell("sed -i 's/line 8$/by command/' app.py"))
    two.path.write_text(two.text.replace("line 4\n", "by hand\n"))
    (made,) = await two.go(edit("line 30", "mine"))
    assert note(made) == (
        "app.py changed by hand or by another program 1 s ago, after you read it. "
        "Your change leaves theirs as it is:\n"
        "@@ -3,3 +3,3 @@\n by hand\n-line 4\n+by hand\n line 5"
    )
    (refused,) = await two.go(write("all new\n"))
    assert refused["payload"]["error"]
    assert "by command" in two.text


async def test_a_file_that_is_gone_is_told_with_who_removed_it(two: Two) -> None:
    await two.go(READ)
    await two.other_goes(shell("mv app.py main.py"))
    (result,) = await two.go(edit("line 20", "mine"))
    assert outcome(result).endswith('app.py renamed to main.py in "fix parser" 1 s ago, after you read it.')


async def test_a_file_that_others_deleted_is_made_again_only_on_purpose(two: Two) -> None:
    async def agree(_question: Question) -> Answer:
        return Answer(allow=True)

    two.agent.ask = two.other.ask = agree
    await two.go(READ)
    await two.other_goes(shell("rm app.py"))
    first, second, third, own, last = await two.go(
        *([write("a\n")], write("a\n"), shell("rm app.py"), write("b\n"), write("c\n"))
    )
    assert [each["payload"]["error"] for each in (first, second, third, own, last)] == [True, *[False] * 4]
    assert outcome(first) == (
        'app.py deleted in "fix parser" 1 s ago, after you read it. To create it again, repeat the call.'
    )
    assert two.text == "c\n"


async def test_a_conversation_that_is_continued_later_knows_its_last_change(two: Two, tmp_path: Path) -> None:
    await two.go(edit("line 5", "mine"))
    await two.other_goes(edit("line 3", "the other's"))
    await two.agent.close()
    async with agent_over(tmp_path) as agent:
        later = Two(agent, two.path.parent)
        refused, made = await later.go(write("all new\n"), edit("line 20", "20"))
    assert outcome(refused).startswith('app.py changed in "fix parser" 1 s ago, after you last changed it.')
    assert note(made) == ""


async def test_an_edit_that_fails_names_the_other_though_the_file_was_read_in_the_same_turn(two: Two) -> None:
    go = two.path.with_name("go")
    waiting = shell(f"touch began; while [ ! -e {go.name} ]; do sleep 0.01; done")
    own = asyncio.create_task(two.go(READ, waiting, edit("line 3", "mine")))
    await until(two.path.with_name("began").exists)
    await two.other_goes(edit("line 3", "the other's"))
    go.touch()
    _read, _waited, failed = await own
    assert 'app.py changed in "fix parser" 1 s ago, after you read it.' in outcome(failed)
