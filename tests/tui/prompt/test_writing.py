"""What was written lasts: the history of the project, drafts, and what comes back from an editor."""

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from cogency_tui.errors import UsageError
from cogency_tui.store.prompts_and_drafts import Draft, Prompts
from cogency_tui.tui.terminal.external_editor import editor_command
from tests.store.test_prompts_and_drafts import leave_a_draft
from tests.tui.driving import app_over, finished, prompt_of, send, told, until
from tests.tui.scripted import ScriptedAgent, paused, respond


def prompts_of(agent: ScriptedAgent) -> Prompts:
    return Prompts(agent.data, agent.project)


def saved(agent: ScriptedAgent) -> list[Draft]:
    """The drafts on disk, as another process sees them."""
    drafts: list[Draft] = []
    for path in prompts_of(agent).directory.glob("*.json"):
        # One that is sent meanwhile is gone.
        with suppress(FileNotFoundError):
            drafts.append(msgspec.json.decode(path.read_bytes(), type=Draft))
    return drafts


@pytest.mark.exhaustive
async def test_history_and_drafts_are_on_disk_for_the_next_session(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        # A draft is there soon, and gone when it is sent.
        prompt_of(pilot).insert("first")
        await until(pilot, lambda: [draft.written.text for draft in saved(agent)] == ["first"])
        await pilot.press("enter")
        await until(pilot, lambda: saved(agent) == [])
        for text in ("/mode resume", "two\nlines"):
            await finished(pilot)
            await send(pilot, text)
        await until(pilot, lambda: len(prompts_of(agent).history()) == 3)
        await finished(pilot)

        # A walk through the history leaves the draft there.
        prompt_of(pilot).insert("draft")
        await pilot.press("up")
        assert prompt_of(pilot).text == "two\nlines"
        await until(pilot, lambda: [draft.written.text for draft in saved(agent)] == ["draft"])
        await pilot.press("down", "down")
        prompt_of(pilot).replace_text("")
        await until(pilot, lambda: saved(agent) == [])
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        seen: list[str] = []
        await until(pilot, lambda: prompt_of(pilot).entries)
        for key in ("up", "up", "up", "up", "down"):
            await pilot.press(key)
            seen.append(prompt_of(pilot).text)
    assert seen == ["two\nlines", "two\nlines", "/mode resume", "first", "/mode resume"]


async def test_a_draft_of_a_process_that_is_gone_comes_back_once(project: Path) -> None:
    agent = ScriptedAgent(project)
    directory = prompts_of(agent).directory
    leave_a_draft(agent.data, "what I was about to say")
    Prompts(agent.data, Path("/project")).directory.rename(directory)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: prompt_of(pilot).text == "what I was about to say")
        await until(pilot, lambda: len(saved(agent)) == 1 and prompts_of(agent).claim("") == [])
        prompt_of(pilot).replace_text("")
        await until(pilot, lambda: saved(agent) == [])


@pytest.mark.exhaustive
async def test_messages_that_waited_are_saved_with_the_draft(project: Path) -> None:
    agent = ScriptedAgent(project, [paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        for text in ("go", "one", "two"):
            await send(pilot, text)
        await pilot.press("up")
        prompt_of(pilot).insert("!")
        await until(
            pilot,
            lambda: (
                [[message.text for message in draft.queue] for draft in saved(agent)] == [["one", "two!"]]
            ),
        )


async def test_what_is_written_is_saved_when_one_leaves(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).insert("later")
        pilot.app.exit()
    assert [draft.written.text for draft in saved(agent)] == ["later"]


@pytest.mark.exhaustive
async def test_a_directory_that_cannot_be_written_is_said_once(project: Path) -> None:
    agent = ScriptedAgent(project)
    agent.data.write_text("in the way")
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        prompt_of(pilot).insert("a")
        await until(pilot, lambda: "cannot be used" in told(pilot))
        prompt_of(pilot).insert("b")
        await asyncio.sleep(0.5)
        assert told(pilot).count("cannot be used") == 1


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({"EDITOR": "nano"}, ["nano"]),
        ({"EDITOR": "nano", "VISUAL": "code --wait"}, ["code", "--wait"]),
        ({"EDITOR": "'my editor' -x", "VISUAL": "  "}, ["my editor", "-x"]),
    ],
)
def test_the_editor_is_the_persons(environ: dict[str, str], command: list[str]) -> None:
    assert editor_command(environ) == command


@pytest.mark.parametrize("names", [("vi", "nano"), ("nano",)])
def test_without_a_choice_the_usual_editor_is_taken(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).touch(0o755)
    assert editor_command({"EDITOR": " ", "PATH": str(tmp_path)}) == [names[0]]


@pytest.mark.parametrize("environ", [{}, {"EDITOR": ""}, {"EDITOR": "'"}])
def test_without_an_editor_it_is_said_what_to_set(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        editor_command(environ)
    assert "VISUAL" in caught.value.hint


async def test_ctrl_g_without_an_editor_says_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("PATH", "")
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30), notifications=True) as pilot:
        prompt_of(pilot).insert("a")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "export EDITOR=nano" in told(pilot))
        assert prompt_of(pilot).text == "a"
