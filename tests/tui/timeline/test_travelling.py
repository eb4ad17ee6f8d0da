"""Travelling through a conversation: scrubbing, what is shown of a moment, forking and restoring."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.kit.dialogs import Confirmation, DialogBody
from cogency_tui.tui.timeline.files_view import FileRows
from cogency_tui.tui.timeline.screen import TimelineScreen
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView
from cogency_tui.tui.timeline.slider import Slider
from cogency_tui.tui.undo.screen import UndoScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import conversation_of, main_of, prompt_of, shown, told
from tests.tui.recall.past import agent_in, begin, open_recall, recalled, settled, small
from tests.tui.review.stage import agent_of, block, edit, shell, working, write
from tests.tui.timeline.stage import Traveller, here, travelling

pytestmark = pytest.mark.exhaustive

QUERIES = ("fix it", "and a note")


@pytest.fixture
def agent(project: Path) -> Agent:
    return working(
        project,
        block("read", file="src/app.py"),
        edit("src/app.py", "x = 1", "x = 2"),
        "It is **fixed**.",
        write("notes.md", "# Notes\n"),
        "Noted.",
    )


async def test_each_key_and_a_click_go_to_a_moment_with_what_it_knew(agent: Agent) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        assert "event 10 of 10" in timeline.facts
        assert "Noted." in timeline.then

        await timeline.press("left")
        assert "event 9 of 10" in timeline.facts
        assert "Noted." not in timeline.then

        await timeline.press("left_square_bracket")
        assert "event 7 of 10" in timeline.facts
        assert "and a note" in timeline.then.rstrip().splitlines()[-1]

        await timeline.press("shift+left", "right", "right")
        assert "event 3 of 10" in timeline.facts
        assert "turn 1 of 2" in timeline.facts
        assert "✓ read: " in timeline.facts

        # A call has no result before it came.
        assert "✓ read" in timeline.then
        await timeline.press("left")
        assert "◌ read" in timeline.then
        await timeline.press("right")
        assert "✓ read" in timeline.then

        await timeline.press("home")
        assert "event 1 of 10" in timeline.facts
        assert "fixed" not in timeline.then
        # Costs are those by then.
        await timeline.press("4")
        pane = timeline.screen.query_one("#timeline-costs")
        assert "No usage at this point yet" in shown(pane)

        await timeline.press("end")
        assert "Noted." in timeline.then
        assert "◌" not in timeline.then
        assert "scripted/scripted-1" in shown(pane)
        assert "This step  resume" in shown(pane)

        # Nothing came after.
        await timeline.press("r")
        await timeline.until(lambda: "Files already match this point" in told(timeline.pilot))

        assert await timeline.pilot.click(Slider, offset=(1, 0))
        await timeline.until(lambda: "event 1 of 10" in timeline.facts)


async def test_the_messages_are_those_that_were_sent_and_the_last_one_is_open(project: Path) -> None:
    model = ScriptedProvider(block("read", file="src/app.py"), "It is x.", "Bye.", "Three.", resumes=False)
    async with travelling(agent_of(project, model), "what is it?", "thanks") as timeline:
        await timeline.press("home", "2")
        assert "2 messages" in timeline.tabs
        assert "what is it?" in timeline.messages

        await timeline.press("end")
        assert "6 messages" in timeline.tabs
        await timeline.press("p", "p", "enter")
        assert "<results>" in timeline.messages
        assert model.sent[2][3]["content"].splitlines()[0] in timeline.messages
        await timeline.press("enter")
        assert "thanks" in timeline.messages

        # Whatever was opened and closed elsewhere.
        main_of(timeline.pilot).bridge.send(Written("third"))
        await timeline.until(lambda: "of 8" in timeline.facts)
        await timeline.press("home", "shift+right")
        assert "▾ user" in timeline.messages
        await timeline.press("enter")
        assert "▾" not in timeline.messages
        await timeline.press("end")
        assert [line.split()[:2] for line in timeline.messages.splitlines() if "▾" in line] == [["▾", "user"]]
        # Open: what was asked for then. That one is closed which was the last before.
        assert timeline.messages.count("▾") == 1
        await timeline.press("home", "shift+right")
        assert "▾ user" in timeline.messages


async def test_a_restore_of_half_a_turn_is_no_revert_of_it(project: Path) -> None:
    first, second = edit("src/app.py", "x = 1", "x = 2"), write("notes.md", "# Notes\n")
    agent = working(project, first, second, "Done.")
    async with travelling(agent, "fix it") as timeline:
        await timeline.press("end", "left", "left")
        assert "event 4 of 6" in timeline.facts
        await timeline.pilot.press("r")
        await timeline.until(lambda: isinstance(timeline.app.screen, UndoScreen))
        await timeline.press("y")
        await timeline.until(lambda: told(timeline.pilot) == "Restored 1 file to event 4 (u undo)")
        await timeline.settled()
        await timeline.press("escape")
        conversation = conversation_of(timeline.pilot)
        await timeline.until(lambda: "↶ Restored 1 file" in shown(conversation))
        assert (project / "src" / "app.py").read_text().startswith("x = 2")


async def test_r_restores_the_files_after_it_was_shown_and_u_takes_that_back(
    agent: Agent, project: Path
) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        await timeline.press("home")
        await timeline.pilot.press("r")
        await timeline.until(lambda: isinstance(timeline.app.screen, UndoScreen))
        await timeline.until(lambda: "event 1" in shown(timeline.app.screen.query_one("#undo-title")))
        assert here(project, "x = 2\n")
        await timeline.press("y")
        await timeline.until(lambda: here(project, "x = 1\n"))
        assert not (project / "notes.md").exists()
        await timeline.until(lambda: told(timeline.pilot) == "Restored 2 files to event 1 (u undo)")
        await timeline.settled()

        await timeline.pilot.press("u")
        await timeline.until(lambda: isinstance(timeline.app.screen, UndoScreen))
        await timeline.press("y")
        await timeline.until(lambda: here(project, "x = 2\n"))
        assert (project / "notes.md").exists()


async def test_r_agrees_with_the_files_about_a_change_from_outside(agent: Agent, project: Path) -> None:
    async with travelling(agent, *QUERIES, size=(160, 40)) as timeline:
        (project / "src/app.py").write_text("x = 1\n")
        await timeline.press("3")
        await timeline.until(lambda: "changed since" in timeline.files)
        await timeline.pilot.press("r")
        await timeline.until(lambda: isinstance(timeline.app.screen, UndoScreen))
        preview = timeline.app.screen
        await timeline.until(
            lambda: (
                "✗ src/app.py: changed outside this conversation since. Overwriting loses +1 −1."
                in " ".join(shown(preview.query_one(DialogBody)).split())
            )
        )
        await timeline.pilot.press("o")
        await timeline.until(lambda: isinstance(timeline.app.screen, Confirmation))
        await timeline.pilot.press("y")
        await timeline.until(lambda: here(project, "x = 2\n"))
        await timeline.until(lambda: "changed since" not in timeline.files)


async def test_files_are_shown_as_they_were_and_f_forks_from_a_moment(agent: Agent, project: Path) -> None:
    async with travelling(agent, *QUERIES, size=(160, 40)) as timeline:
        await timeline.press("3", "home")
        assert "0 files changed · 2 later" in timeline.tabs
        assert "notes.md" in timeline.files
        assert "did not exist yet" in timeline.files

        (project / "src" / "app.py").write_text("x = 3\n")
        await timeline.press("shift+right")
        assert "1 file changed · 1 later" in timeline.tabs
        assert "changed since" in timeline.files
        await timeline.press("up")
        assert "− x = 2" in timeline.text
        assert "+ x = 3" in timeline.text
        await timeline.press("enter")
        assert "x = 2" in timeline.text
        assert "x = 3" not in timeline.text

        before = main_of(timeline.pilot).bridge.conversation_id
        await timeline.press("end", "left_square_bracket")
        await timeline.pilot.press("f")
        bridge = main_of(timeline.pilot).bridge
        await timeline.until(lambda: bridge.conversation_id != before)
        await timeline.until(lambda: prompt_of(timeline.pilot).text == "and a note")
        await timeline.until(lambda: "fixed" in shown(conversation_of(timeline.pilot)))
        assert "Noted" not in shown(conversation_of(timeline.pilot))


async def test_a_turn_that_ends_meanwhile_is_there_and_one_stays_where_one_is(agent: Agent) -> None:
    async with travelling(agent, "fix it") as timeline:
        await timeline.press("left")
        assert "event 5 of 6" in timeline.facts
        main_of(timeline.pilot).bridge.send(Written("and a note"))
        await timeline.until(lambda: "event 5 of 10" in timeline.facts)
        await timeline.press("end")
        assert "Noted." in timeline.then

        # Who reads the messages goes on reading.
        await timeline.press("home", "2", "p")
        view = timeline.screen.query_one(ExchangeView)
        await timeline.press("enter")
        before = timeline.messages
        assert "▾ system" in before
        main_of(timeline.pilot).bridge.send(Written("and more"))
        await timeline.until(lambda: "event 1 of 12" in timeline.facts)
        await timeline.settled()
        assert timeline.messages == before
        assert view.has_focus


async def test_a_narrow_terminal_shows_one_pane_at_a_time_and_q_closes_it_at_once(agent: Agent) -> None:
    async with travelling(agent, *QUERIES, size=(60, 16)) as timeline:
        right = timeline.screen.query_one("#timeline-right")
        left = timeline.screen.query_one("#timeline-left")
        assert (left.region.width > 0, right.region.width) == (True, 0)
        await timeline.press("3")
        assert (left.region.width, right.region.width > 0) == (0, True)
        await timeline.press("escape")
        assert isinstance(timeline.app.screen, TimelineScreen)
        assert left.region.width > 0
        await timeline.pilot.press("escape")
        await timeline.until(lambda: not isinstance(timeline.app.screen, TimelineScreen))

        await timeline.open()
        await timeline.press("3")
        await timeline.pilot.press("q")
        await timeline.until(lambda: timeline.app.screen is main_of(timeline.pilot))

        # A conversation that has not begun has none.
        await timeline.pilot.press("ctrl+n")
        await timeline.until(lambda: main_of(timeline.pilot).bridge.conversation_id is None)
        await timeline.pilot.press("ctrl+t")
        await timeline.until(lambda: "This conversation is empty." in told(timeline.pilot))


async def test_the_timeline_of_a_past_conversation_opens_from_recall(project: Path) -> None:
    agent = agent_in(project)
    made = await begin(await agent.store(), project, small("Upgrade httpx", "It is **upgraded**."))
    async with recalled(agent, (120, 40)) as pilot:
        await pilot.press("down", "t")
        timeline = Traveller(pilot)
        await timeline.until(lambda: isinstance(timeline.app.screen, TimelineScreen))
        await timeline.until(lambda: "event 2 of 2" in timeline.facts)
        await timeline.press("left", "2")
        assert "The request was not recorded." in timeline.messages
        await timeline.pilot.press("o")
        await timeline.until(lambda: main_of(pilot).bridge.conversation_id == made.id)
        await settled(pilot)
        await open_recall(pilot, agent)


async def test_the_list_of_files_leaves_room_for_the_text_when_the_terminal_gets_lower(project: Path) -> None:
    nine = shell("for name in 1 2 3 4 5 6 7 8 9; do echo x > $name.txt; done")
    async with travelling(working(project, "One.", nine, "Done."), "hi") as timeline:
        await timeline.press("3")
        assert "No files changed in this conversation." in timeline.text

        main_of(timeline.pilot).bridge.send(Written("go"))
        await timeline.until(lambda: "of 6" in timeline.facts)
        await timeline.press("end")
        rows = timeline.screen.query_one(FileRows)
        assert rows.size.height == 9
        await timeline.pilot.resize_terminal(120, 20)
        await timeline.until(lambda: rows.size.height == 5)
        assert "9 files changed" in timeline.tabs
