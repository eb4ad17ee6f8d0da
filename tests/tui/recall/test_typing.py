"""What is typed while the list or the preview has the focus: commands there, or a text for the search field."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.tui.recall.rename_export_dialogs import RenameScreen
from cogency_tui.tui.recall.search_bar import SearchField
from cogency_tui.tui.terminal import pane_letters
from tests.tui.driving import until
from tests.tui.recall.past import agent_in, is_open, list_of, preview_of, recalled, screen_of, settled, usual

NAMES = {" ": "space", "?": "question_mark", "\r": "enter"}
PANES = {"list": list_of, "preview": preview_of}


def type_at_once(pilot: Pilot[Any], text: str) -> None:
    """Type `text` as a paste does in a terminal that does not mark pastes."""
    for character in text:
        pilot.app.post_message(events.Key(NAMES.get(character, character), character))


def field_of(pilot: Pilot[Any]) -> SearchField:
    return screen_of(pilot).query_one(SearchField)


@pytest.mark.usefixtures("long_hold")
@pytest.mark.parametrize("pane", PANES)
@pytest.mark.parametrize("text", ["drop it", "docs", "retry", "just", "go on", "us", "1999", "x?"])
async def test_a_text_goes_to_the_search_field_whole_and_runs_no_command(
    project: Path, pane: str, text: str
) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent) as pilot:
        PANES[pane](pilot).focus()
        await until(pilot, lambda: PANES[pane](pilot).has_focus)
        type_at_once(pilot, text)
        await until(pilot, lambda: field_of(pilot).value == text)
        await settled(pilot)
        assert is_open(pilot)
        assert field_of(pilot).has_focus
        assert await trashed(agent, made) == []


@pytest.mark.usefixtures("long_hold")
async def test_a_text_with_enter_in_one_burst_changes_no_conversation(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down")
        type_at_once(pilot, "drop it\r")
        await until(pilot, lambda: field_of(pilot).value == "drop it")
        await settled(pilot)
        store = await agent.store()
        assert await trashed(agent, made) == []
        for each in made.values():
            found = await store.conversation(each.id)
            assert found is not None
            assert found.title == each.title


async def trashed(agent: Any, made: dict[str, Any]) -> list[str]:
    """Return the names of the conversations that are in the trash."""
    store = await agent.store()
    found = {name: await store.conversation(each.id) for name, each in made.items()}
    return [name for name, each in found.items() if each is not None and each.trashed is not None]


@pytest.mark.usefixtures("long_hold")
async def test_a_text_replaces_the_search_before_as_after_a_slash(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent, query="needle") as pilot:
        await pilot.press("down")
        type_at_once(pilot, "retry")
        await until(pilot, lambda: field_of(pilot).value == "retry")


@pytest.mark.usefixtures("long_hold")
@pytest.mark.parametrize("before", ["", "r"])
async def test_a_paste_goes_to_the_search_field(project: Path, before: str) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down")
        type_at_once(pilot, before)
        pilot.app.post_message(events.Paste("etry loop"))
        await until(pilot, lambda: field_of(pilot).value == f"{before}etry loop")


async def test_the_letter_of_a_command_alone_is_that_command(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down")
        type_at_once(pilot, "r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RenameScreen))


@pytest.mark.usefixtures("long_hold")
async def test_motions_run_at_once_after_the_first_and_so_do_those_from_match_to_match(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_letters, "SERIES", 60.0)
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down")
        type_at_once(pilot, "jj")
        await until(pilot, lambda: list_of(pilot).catalogue.beside(-1, 3) == list_of(pilot).selected)
        type_at_once(pilot, "k")
        await until(pilot, lambda: list_of(pilot).catalogue.beside(-1, 2) == list_of(pilot).selected)
        assert field_of(pilot).value == ""
