"""The keys and the states of the main screen."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.config.schema import Settings
from cogency_tui.config.themes import load_palette
from cogency_tui.errors import NetworkError, StoreError
from cogency_tui.store.store import StoredConversation
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog
from cogency_tui.tui.kit.dialogs import Confirmation
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    files_of,
    finished,
    header_of,
    live_line_of,
    main_of,
    opened,
    prompt_of,
    send,
    shown,
    status_of,
    told,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, execute, paused, respond, result, user


def past(agent: ScriptedAgent, *titles: str) -> None:
    for number, title in enumerate(titles):
        id = f"id{number}"
        agent.past.listed.append(
            StoredConversation(
                id, str(agent.project), title, "xml", "openai", "gpt", 0.0, 1e9 - number, 3, 1200, 0.31, None
            )
        )
        agent.past.past[id] = [user(title), respond(f"about {title}")]


@pytest.mark.exhaustive
async def test_panes_fold_away_on_narrow_screens_where_one_takes_the_whole(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 45)) as pilot:
        for size, files, calls in (
            ((160, 45), True, False),
            ((111, 30), True, False),
            ((100, 30), False, False),
            ((79, 24), False, False),
            ((60, 16), False, False),
        ):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: main_of(pilot).size == size)
            await pilot.pause()
            assert main_of(pilot).query_one("#files").display is files
            assert main_of(pilot).query_one("#calls").display is calls
            assert conversation_of(pilot).size.height >= 8
            assert prompt_of(pilot).size.height >= 1

        await pilot.press("f4")
        assert calls_of(pilot).size.width > 50
        assert not main_of(pilot).query_one("#middle").display
        await pilot.press("f4")
        assert main_of(pilot).query_one("#middle").display


@pytest.mark.exhaustive
async def test_keys_go_through_panes_modes_and_permissions(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        seen: list[str] = [agent.mode]
        for _ in range(3):
            await pilot.press("ctrl+o")
            seen.append(agent.mode)
            assert shown(status_of(pilot)).endswith("" if agent.mode == "auto" else agent.mode)
        assert seen == ["auto", "resume", "replay", "auto"]

        seen.clear()
        for _ in range(4):
            await pilot.press("shift+tab")
            seen.append(agent.permissions)
            assert agent.permissions in shown(status_of(pilot))
        assert seen == ["edits", "auto", "plan", "ask"]

        await pilot.hover(status_of(pilot), offset=(2, 0))
        assert "Shift+Tab" in str(status_of(pilot).tooltip)

        places: list[str | None] = []
        await pilot.press("f4")
        for _ in range(4):
            await pilot.press("f6")
            places.append(pilot.app.focused.id if pilot.app.focused else None)
        assert places == ["file-tree", "conversation", "calls-list", "prompt"]
        await pilot.press("shift+f6")
        assert pilot.app.focused is calls_of(pilot)

        files, calls = main_of(pilot).query_one("#files"), main_of(pilot).query_one("#calls")
        await pilot.press("f3", "f4")
        assert (files.display, calls.display) == (False, False)
        await pilot.press("f3", "f4")
        assert (files.display, calls.display) == (True, True)


@pytest.mark.exhaustive
async def test_a_message_is_queued_while_the_agent_works_and_escape_gives_it_back(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "first")
        await send(pilot, "second")
        await until(pilot, lambda: "1 queued" in shown(live_line_of(pilot)))
        assert agent.asked == ["first"]
        await pilot.press("escape")
        await finished(pilot)
        assert agent.asked == ["first"]
        assert prompt_of(pilot).text == "second"

        await send(pilot, "third")
        await send(pilot, "fourth")
        agent.gate.set()
        await until(pilot, lambda: agent.asked == ["first", "third", "fourth"])
        await finished(pilot)


async def test_escape_and_ctrl_c_clear_the_prompt_and_copy_what_is_selected(project: Path) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test(size=(120, 30)) as pilot:
        for key in ("escape", "ctrl+c"):
            prompt_of(pilot).replace_text("never mind")
            await pilot.press(key)
            assert prompt_of(pilot).text == ""
            await pilot.press("up")
            assert prompt_of(pilot).text == "never mind"

        prompt_of(pilot).replace_text("take this")
        prompt_of(pilot).select_all()
        await pilot.press("ctrl+c")
        assert (app.clipboard, prompt_of(pilot).text) == ("take this", "take this")


async def test_ctrl_c_interrupts_again_and_again_and_leaves_when_pressed_twice_at_rest(project: Path) -> None:
    app = app_over(ScriptedAgent(project, [paused], [paused]))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        for message in ("go", "go on"):
            await send(pilot, message)
            await pilot.press("ctrl+c")
            await finished(pilot)
        assert "again to quit" not in told(pilot)

        prompt_of(pilot).replace_text("wait")
        await pilot.press("ctrl+c")
        assert "again to quit" not in told(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "again to quit" in told(pilot))
        assert app.is_running
        await pilot.press("ctrl+c")
    assert not app.is_running


async def test_another_key_takes_back_a_first_ctrl_c_to_quit(project: Path) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("ctrl+c", "escape", "ctrl+c")
        assert app.is_running
        await pilot.press("ctrl+c")
    assert not app.is_running


async def test_interrupting_takes_back_a_first_ctrl_c_to_quit(project: Path) -> None:
    app = app_over(ScriptedAgent(project, [paused]))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("ctrl+c")
        await send(pilot, "go")
        await pilot.press("ctrl+c")
        await finished(pilot)
        await pilot.press("ctrl+c")
        assert app.is_running


@pytest.mark.exhaustive
async def test_ctrl_q_asks_while_the_agent_works(project: Path) -> None:
    app = app_over(ScriptedAgent(project, [paused]))
    async with app.run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirmation))
        await pilot.press("n")
        assert app.is_running
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirmation))
        await pilot.press("y")
    assert not app.is_running


@pytest.mark.exhaustive
@pytest.mark.parametrize("dialog", ["", "f1", "ctrl+p"])
async def test_ctrl_q_asks_over_any_dialog_and_pressed_again_leaves(project: Path, dialog: str) -> None:
    app = app_over(ScriptedAgent(project, [paused]))
    async with app.run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        if dialog:
            await pilot.press(dialog)
            await until(pilot, lambda: app.screen is not main_of(pilot))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirmation))
        assert app.is_running
        await pilot.press("ctrl+q")
    assert not app.is_running


@pytest.mark.exhaustive
async def test_ctrl_n_begins_a_new_conversation(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("hello")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        first = main_of(pilot).bridge.conversation_id
        await pilot.press("ctrl+n")
        assert "Your coding agent" in shown(conversation_of(pilot))
        await send(pilot, "again")
        await finished(pilot)

        assert main_of(pilot).bridge.conversation_id not in (None, first)


@pytest.mark.exhaustive
async def test_keys_are_those_of_the_configuration_and_f1_shows_them(project: Path) -> None:
    keys = {"recall": "ctrl+g", "cycle_mode": "f10"}
    agent = ScriptedAgent(project, settings=Settings(provider="openai", keys=keys))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await pilot.press("ctrl+o")
        assert agent.mode == "auto"
        await pilot.press("f10")
        assert agent.mode == "resume"

        await pilot.resize_terminal(120, 140)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = shown(pilot.app.screen.query_one("#help-body"))
    for part in (
        "F10",
        "Shift+Tab",
        "Esc",
        "/permissions",
        "plan, ask, edits, auto",
        "Shift+Enter Ctrl+J",
        "Ctrl+G",
    ):
        assert part in text
    assert "Ctrl+R " not in text
    assert "Ctrl+O" not in text


async def test_ctrl_q_leaves_at_once_when_nothing_runs(project: Path) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("ctrl+q")
    assert not app.is_running


@pytest.mark.exhaustive
async def test_palette_and_slash_commands_do_what_they_say(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"permission mode", "enter")
        await until(pilot, lambda: agent.permissions != "ask")
        await send(pilot, "/permissions plan")
        await until(pilot, lambda: agent.permissions == "plan")

        for command, mode, permissions, theme in (
            ("/mode sideways", "auto", "plan", "night"),
            ("/nonsense", "auto", "plan", "night"),
            ("/mode replay", "replay", "plan", "night"),
            ("/permissions auto", "replay", "auto", "night"),
            ("/theme day", "replay", "auto", "day"),
        ):
            await send(pilot, command)
            await pilot.pause()
            assert (agent.mode, agent.permissions, pilot.app.theme) == (mode, permissions, theme)
        await send(pilot, "/dialect")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert agent.dialect is None
        await send(pilot, "/dialect action")
        await until(pilot, lambda: agent.dialect == "action")
        assert agent.asked == []

        # A message that begins with a path is no command.
        await send(pilot, "/etc/hosts is wrong")
        await finished(pilot)
        assert agent.asked == ["/etc/hosts is wrong"]


@pytest.mark.exhaustive
async def test_an_error_of_the_endpoint_is_shown_with_its_next_step(project: Path) -> None:
    async def fail(agent: ScriptedAgent) -> None:
        raise NetworkError("No connection to api.openai.com.", "Check the network.")

    async with app_over(ScriptedAgent(project, [fail])).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "No connection" in shown(conversation_of(pilot)))
        assert "→ Check the network." in shown(conversation_of(pilot))


@pytest.mark.exhaustive
async def test_the_header_says_where_one_is_and_what_goes_on_is_said_after_half_a_second(
    project: Path,
) -> None:
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    agent = ScriptedAgent(project, [paused])
    past(agent, "one", "two")
    async with app_over(agent).run_test(size=(160, 30)) as pilot:
        await until(pilot, lambda: "README.md" in shown(files_of(pilot)))
        await until(pilot, lambda: "2 conversations" in shown(header_of(pilot)))
        assert "feature/x" in shown(header_of(pilot))
        await send(pilot, "Fix the test\nand more")
        assert "Waiting" not in shown(live_line_of(pilot))
        await until(pilot, lambda: "Fix the test" in shown(header_of(pilot)))
        assert "and more" not in shown(header_of(pilot))
        await until(pilot, lambda: "Waiting for openai/gpt-5.6-sol" in shown(live_line_of(pilot)))
        assert "Esc to interrupt" in shown(live_line_of(pilot))

        # Below a dialog the times stop: each would draw the whole screen again.
        await pilot.press("ctrl+p")
        await until(pilot, lambda: not main_of(pilot).is_active)
        stopped = shown(live_line_of(pilot))
        tick(pilot)
        assert shown(live_line_of(pilot)) == stopped
        await pilot.press("escape")
        tick(pilot)
        assert shown(live_line_of(pilot)) != stopped


def tick(pilot: Pilot[Any]) -> None:
    """Let the next tick of the clock come."""
    main_of(pilot)._display.tick()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.exhaustive
async def test_an_unknown_theme_is_the_default_and_changing_it_redraws_every_line(project: Path) -> None:
    settings = Settings(provider="openai", theme="neon")
    agent = ScriptedAgent(project, [respond("a\n\nb")], settings=settings)
    async with app_over(agent, prompt="do it").run_test(size=(120, 30)) as pilot:
        assert pilot.app.theme == "night"
        await until(pilot, lambda: agent.asked == ["do it"])
        await finished(pilot)
        await send(pilot, "/theme day")
        await until(pilot, lambda: pilot.app.theme == "day")
        await pilot.pause()
        view = conversation_of(pilot)
        strips = view.render_lines(view.size.region)

        grounds = {
            segment.style.bgcolor.name
            for strip in strips
            for segment in strip
            if segment.style and segment.style.bgcolor
        }
        colors = load_palette("day").colors
        # The surface, and the raised one of the user's message.
        assert grounds == {colors.surface, colors.raised}


async def test_a_message_that_cannot_be_taken_is_given_back(project: Path) -> None:
    class Broken(ScriptedAgent):
        async def run_turn(self, *_arguments: Any, **_options: Any) -> None:
            raise StoreError("The disk is full.", "Free some space.")

    async with app_over(Broken(project)).run_test(size=(120, 30)) as pilot:
        await send(pilot, "an important message")
        await until(pilot, lambda: "Free some space." in shown(conversation_of(pilot)))
        await until(pilot, lambda: prompt_of(pilot).text == "an important message")


async def test_text_typed_in_a_pane_goes_to_the_prompt_and_the_keys_of_the_pane_stay_its_own(
    project: Path,
) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await opened(pilot)
        tree, prompt = files_of(pilot), prompt_of(pilot)
        tree.focus()
        await pilot.press("j", "k")
        assert (tree.has_focus, prompt.text) == (True, "")

        pilot.app.post_message(events.Key("s", "s"))
        for key in "hort":
            pilot.app.post_message(events.Key(key, key))
        pilot.app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: agent.asked == ["short"])
        await finished(pilot)
        assert prompt.has_focus

        conversation_of(pilot).focus()
        await pilot.press("n", "r")
        assert conversation_of(pilot).has_focus, "keys of the pane, though there is nothing to do for them"
        pilot.app.screen.post_message(events.Paste("pasted"))
        await until(pilot, lambda: prompt.text == "pasted")
        assert prompt.has_focus


@pytest.mark.parametrize("command", ["ctrl+n", "shift+tab"])
async def test_a_command_returns_to_the_prompt(project: Path, command: str) -> None:
    async with app_over(ScriptedAgent(project, [respond("ok")])).run_test(size=(120, 30)) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        files_of(pilot).focus()
        await pilot.press(command, *"next")
        assert prompt_of(pilot).text == "next"


async def test_a_resumed_conversation_begins_at_the_prompt(project: Path) -> None:
    agent = ScriptedAgent(project)
    past(agent, "one")
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        files_of(pilot).focus()
        main_of(pilot)._features.conversations.open("id0")  # pyright: ignore[reportPrivateUsage]
        await until(pilot, lambda: "about one" in shown(conversation_of(pilot)))
        await until(pilot, lambda: prompt_of(pilot).has_focus)


async def test_a_start_with_a_past_conversation_begins_at_the_prompt(project: Path) -> None:
    agent = ScriptedAgent(project)
    past(agent, "one")
    async with app_over(agent, conversation_id="id0").run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "about one" in shown(conversation_of(pilot)))
        await pilot.press(*"next")
        await until(pilot, lambda: prompt_of(pilot).text == "next")


@pytest.mark.parametrize("pane", [files_of, calls_of, conversation_of])
async def test_resume_from_a_pane_begins_at_the_prompt(project: Path, pane: Any) -> None:
    agent = ScriptedAgent(project)
    past(agent, "one")
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        main_of(pilot).action_toggle_pane("calls")
        pane(pilot).focus()
        await until(pilot, lambda: pane(pilot).has_focus)
        await main_of(pilot).run_action("command('resume', 'id0')")
        await until(pilot, lambda: "about one" in shown(conversation_of(pilot)))
        await until(pilot, lambda: prompt_of(pilot).has_focus)


async def test_a_dialog_from_a_pane_returns_to_it_and_one_from_a_command_to_the_prompt(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [respond("ok")])).run_test(size=(120, 30)) as pilot:
        for key, stays in (("f1", True), ("f2", False)):
            files_of(pilot).focus()
            await pilot.press(key)
            await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_of(pilot))
            assert files_of(pilot).has_focus == stays


async def test_a_click_on_a_card_selects_its_call(project: Path) -> None:
    calls = [call(name, "write", file=f"{name}.py") for name in "abc"]
    results = [result(name, "write", f"Wrote {name}") for name in "abc"]
    agent = ScriptedAgent(project, [*calls, execute(), *results, respond("ok")])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        view = conversation_of(pilot)
        await until(pilot, lambda: "b.py" in shown(view))
        row = next(row for row, line in enumerate(shown(view).split("\n")) if "b.py" in line)
        await pilot.click(view, offset=(10, row))
        await until(pilot, lambda: (found := calls_of(pilot).call) is not None and found.id == "b")
        assert view.has_focus
        rows = calls_of(pilot)
        assert [rows.surface_at(y) for y in range(3)] == ["surface", "raised", "surface"]
