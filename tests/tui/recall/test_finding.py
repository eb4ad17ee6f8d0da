"""Listing and searching on the recall screen: what is found, where one stands, what the keys do."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.recall.results import Indexed
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.recall import background_search
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.panes import RecallPanes
from cogency_tui.tui.recall.preview import PreviewView
from cogency_tui.tui.recall.search_bar import ChipLine, SearchField
from tests.tui.driving import app_over, main_of, opened, send, shown, told, type_text, until
from tests.tui.recall.past import (
    agent_in,
    begin,
    fork,
    head,
    is_open,
    list_of,
    listed,
    open_recall,
    preview_of,
    previewed,
    recalled,
    screen_of,
    search,
    select,
    settled,
    small,
    usual,
)
from tests.tui.scripted import call, result, user


async def test_conversations_are_listed_the_newest_first_and_each_key_searches_them(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        titles = ["Fix the flaky", "Rename the cart", "Add pagination", "Upgrade httpx"]
        places = [listed(pilot).index(title) for title in titles]
        assert places == sorted(places)
        assert "Write about" not in listed(pilot)
        assert all(fact in listed(pilot) for fact in ("2 turns", "$0.31", "main", "pages"))
        assert "4 conversations" in head(pilot)

        await type_text(pilot, "needle")
        await settled(pilot)
        assert "1 conversation" in head(pilot)
        assert "the needle in the output" in listed(pilot)
        line = list_of(pilot).line_at(2)
        assert line is not None
        assert [each.text for each in line.segments if each.style and each.style.underline] == ["needle"]


@pytest.mark.exhaustive
async def test_letters_are_text_in_the_field_and_keys_in_the_list(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        await type_text(pilot, "drx")
        assert pilot.app.screen.query_one(Input).value == "drx"
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert pilot.app.screen.query_one(Input).value == ""
        await pilot.press("tab")
        assert isinstance(pilot.app.focused, RecallList)
        await help_has_the_keys_of_where_one_is(pilot)
        await pilot.press("slash")
        assert isinstance(pilot.app.focused, SearchField)

        # An index that is being made shows how far it is.
        screen = screen_of(pilot)
        screen.show_index(Indexed(400, 1600))
        assert "indexing: 25% of 1,600 events" in head(pilot)
        assert "4 conversations" in head(pilot)
        screen.show_index(None)
        assert "indexing" not in head(pilot)

        await pilot.press("escape")
        await until(pilot, lambda: not is_open(pilot))
        await open_recall(pilot, agent)
        assert "4 conversations" in head(pilot)


async def help_has_the_keys_of_where_one_is(pilot: Pilot[Any]) -> None:
    """In the list; then in the field, and back."""
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    body = shown(pilot.app.screen.query_one("#help-body"))
    assert "Conversations" in body
    assert "Markdown, HTML or JSON Lines" in body
    await pilot.press("escape")
    assert is_open(pilot)
    await pilot.press("slash", "f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    assert "Search field" in shown(pilot.app.screen.query_one("#help-body"))
    await pilot.press("escape", "down")
    assert isinstance(pilot.app.focused, RecallList)


@pytest.mark.exhaustive
async def test_all_words_are_searched_for_filters_are_chips_and_hits_are_gone_through(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent, (120, 30), query="retry needle") as pilot:
        assert "Fix the flaky" in listed(pilot)
        assert "Upgrade httpx" not in listed(pilot)

        await search(pilot, "retry tool:read since:whenever")
        assert "tool:read ✕" in head(pilot)
        assert "since:whenever" in head(pilot)
        assert "expected" in head(pilot)
        place = shown(screen_of(pilot).query_one(ChipLine)).index("tool:read")
        await pilot.click(ChipLine, offset=(place, 0))
        await settled(pilot)
        assert pilot.app.screen.query_one(Input).value == "retry since:whenever"

        await search(pilot, "no such thing")
        assert "No matches. F2 searches all projects." in listed(pilot)
        assert previewed(pilot).strip() == ""
        await pilot.press("enter")
        await pilot.pause()
        assert is_open(pilot)

        await search(pilot, "retry")
        await hits_are_gone_through(pilot)
        await a_hit_that_is_asked_for_before_the_hits_are_known_is_gone_to(pilot)
        await f3_puts_the_best_first_without_days(pilot)


async def hits_are_gone_through(pilot: Pilot[Any]) -> None:
    await pilot.press("down")
    seen: set[str] = set()
    for _ in range(3):
        await pilot.press("n")
        await settled(pilot)
        seen.add(head(pilot).split("match ")[1].split(" ·")[0])
    assert seen == {"1 of 3", "2 of 3", "3 of 3"}
    last = int(head(pilot).split("match ")[1].split(" of 3")[0])
    await pilot.press("N")
    await settled(pilot)
    assert f"match {(last - 2) % 3 + 1} of 3" in head(pilot)


async def a_hit_that_is_asked_for_before_the_hits_are_known_is_gone_to(pilot: Pilot[Any]) -> None:
    await pilot.press("end")
    await settled(pilot)
    assert "Nothing to retry." in previewed(pilot)
    # As fast as keys can be: what was selected is not read yet.
    list_of(pilot).action_move(-1)
    screen_of(pilot).query_one(RecallPanes).show_selected()
    await settled(pilot)
    number = int(head(pilot).split("match ")[1].split(" of 3")[0])
    await pilot.press("end")
    await settled(pilot)
    list_of(pilot).action_move(-1)
    screen_of(pilot).query_one(RecallPanes).show_selected()
    await asyncio.sleep(0)
    screen_of(pilot).action_hit(1)
    await settled(pilot)
    assert f"match {number % 3 + 1} of 3" in head(pilot)
    assert "Nothing to retry." not in previewed(pilot)


async def f3_puts_the_best_first_without_days(pilot: Pilot[Any]) -> None:
    assert isinstance(list_of(pilot).catalogue.rows[0], Heading)
    await pilot.press("f3")
    await settled(pilot)
    assert "best first ✕" in head(pilot)
    assert not any(isinstance(row, Heading) for row in list_of(pilot).catalogue.rows)
    assert "Fix the flaky" in listed(pilot)


@pytest.mark.exhaustive
async def test_the_cursor_takes_the_preview_along_and_scopes_are_chips(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        await pilot.press("down")
        assert isinstance(pilot.app.focused, RecallList)
        for key, title in (("down", "Rename the cart"), ("j", "Add pagination"), ("k", "Rename the cart")):
            await pilot.press(key)
            await settled(pilot)
            assert title in previewed(pilot)
        await pilot.press("end")
        await settled(pilot)
        assert "Upgrade httpx" in previewed(pilot)
        await pilot.press("home", "up")
        assert isinstance(pilot.app.focused, SearchField)

        await pilot.press("f2")
        await settled(pilot)
        assert "Write about the retry loop" in listed(pilot)
        assert "all projects" in head(pilot)
        assert "blog" in listed(pilot)
        await pilot.press("f2")
        await settled(pilot)
        assert "The trash is empty." in listed(pilot)
        # A key or a click takes them away.
        await pilot.click(ChipLine, offset=(3, 0))
        await settled(pilot)
        assert "this project ✕" in head(pilot)
        await pilot.press("backspace")
        await settled(pilot)
        assert "5 conversations" in head(pilot)


async def test_a_fork_that_was_not_continued_shows_where_it_begins(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    await agent.recall.fork(made["week"].id, None)
    async with recalled(agent, (120, 45)) as pilot:
        rows = [row for row in listed(pilot).split("\n") if "Add pagination" in row]
        assert ["⑂ after turn 1" in row for row in rows] == [False, True]


@pytest.mark.exhaustive
async def test_forks_fold_below_what_they_come_from_and_what_is_open_is_marked(project: Path) -> None:
    agent, other = agent_in(project), agent_in(project)
    made = await usual(agent)
    await fork(agent, made["week"], None, "try it another way", "Other pages.")
    await other.recall.enter(made["yesterday"].id, 0.0)
    async with recalled(agent, (200, 45)) as pilot:
        rows = listed(pilot).split("\n")
        parent = next(at for at, row in enumerate(rows) if "Add pagination" in row)
        assert ["▾" in rows[parent], "└ try it another way" in rows[parent + 1]] == [True, True]
        await pilot.press("down", "space")
        await settled(pilot)
        assert "1 fork" in listed(pilot)
        assert "└" not in listed(pilot)
        await pilot.press("right", "down")
        await settled(pilot)
        assert "Other pages." in previewed(pilot)
        await pilot.press("left", "left")
        assert "1 fork" in listed(pilot)

        # What is open in another process.
        assert listed(pilot).count("● open") == 1
        await select(pilot, made["yesterday"])
        assert f"open in process {os.getpid()}" in head(pilot)

        # What is open here is marked for others.
        await pilot.press("home")
        await select(pilot, made["flaky"])
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id == made["flaky"].id)
        await settled(pilot)
        await pilot.pause(0.05)
        assert [mark.conversation for mark in await other.recall.open_elsewhere()] == [made["flaky"].id]
    assert await other.recall.open_elsewhere() == []
    await other.close()


@pytest.mark.exhaustive
async def test_a_preview_takes_the_place_of_the_list_where_there_is_no_room(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent, (60, 16), query="needle") as pilot:
        assert not preview_of(pilot).is_on_screen
        await pilot.press("down", "f4")
        await settled(pilot)
        assert isinstance(pilot.app.focused, PreviewView)
        assert "the needle in the output" in previewed(pilot)
        await pilot.press("escape")
        assert isinstance(pilot.app.focused, RecallList)
        assert "Fix the flaky" in listed(pilot)

        # One that was looked at is there in a wide terminal.
        assert not preview_of(pilot).is_on_screen
        await pilot.resize_terminal(160, 45)
        await until(pilot, lambda: preview_of(pilot).is_on_screen)
        await pilot.press("f4")
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert not preview_of(pilot).is_on_screen


@pytest.mark.exhaustive
async def test_a_preview_stands_at_the_hit_with_what_is_folded_and_scrolls_by_its_own_keys(
    project: Path,
) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent, (100, 24), query="needle") as pilot:
        assert "the needle in the output" in previewed(pilot)
        assert "match 1 of 1" in head(pilot)

        await search(pilot, "")
        await pilot.press("tab", "tab")
        assert isinstance(pilot.app.focused, PreviewView)
        await pilot.press("home")
        assert "Fix the flaky checkout test" in previewed(pilot)
        for key in ("pagedown", "down", "end"):
            before = previewed(pilot)
            await pilot.press(key)
            assert previewed(pilot) != before
        assert "no failure" in previewed(pilot)
        await pilot.press("up", "pageup")
        assert "no failure" not in previewed(pilot)


async def test_files_are_named_as_in_their_conversation_in_hits_and_preview(project: Path) -> None:
    agent = agent_in(project)
    other = project.with_name("blog")
    events = [
        user("Read it"),
        call("c1", "read", file=str(other / "src" / "retry.py")),
        result("c1", "read", content="for attempt in range(3):"),
    ]
    await begin(await agent.store(), other, events)
    async with recalled(agent, query="retry.py") as pilot:
        await pilot.press("f2")
        await settled(pilot)
        assert "src/retry.py" in listed(pilot)
        assert "read src/retry.py" in previewed(pilot)
        assert str(other) not in listed(pilot) + previewed(pilot)


@pytest.mark.exhaustive
async def test_the_command_takes_what_to_look_for_and_enter_opens_what_was_just_typed(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await opened(pilot)
        for command in ("/recall needle", "/resume needle"):
            await send(pilot, command)
            await until(pilot, lambda: is_open(pilot))
            await settled(pilot)
            assert "1 conversation" in head(pilot)
            await pilot.press("ctrl+r")
            await until(pilot, lambda: not is_open(pilot))
        await open_recall(pilot, agent)
        await pilot.press(*"httpx", "enter")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id == made["old"].id)
    await agent.close()


@pytest.mark.exhaustive
async def test_pages_come_in_as_one_goes_down_and_all_are_counted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three pages, of 50, 30 and 30.
    monkeypatch.setattr(background_search, "_NEXT", 30)
    agent = agent_in(project)
    store = await agent.store()
    for number in range(110):
        await begin(store, project, small(f"number {number:03}"), days=number / 400)
    async with recalled(agent, (100, 30), close=False) as pilot:
        assert "110 conversations" in head(pilot)
        assert len(list_of(pilot).catalogue.entries) == 50
        # What goes to the trash is counted no longer.
        await pilot.press("down", "d")
        await until(pilot, lambda: "number 000" not in listed(pilot))
        assert "109 conversations" in head(pilot)
        for _ in range(4):
            await pilot.press("pagedown", "pagedown", "end")
            await settled(pilot)
        assert "number 109" in listed(pilot)
        assert len(list_of(pilot).catalogue.entries) == 109
        assert "number 109" in previewed(pilot)
    # All are there where the first page fills no screen.
    async with recalled(agent, (100, 90)) as pilot:
        await until(pilot, lambda: "number 069" in listed(pilot))


@pytest.mark.exhaustive
async def test_hostile_texts_are_shown_and_not_obeyed_and_an_unknown_cost_not_as_nothing(
    project: Path,
) -> None:
    agent = agent_in(project)
    store = await agent.store()
    evil = "\x1b]0;owned\x07[red]bold[/red]\u202e\x9b31m \u2028 needle"
    made = await begin(store, project, small("harmless", f"{evil} \x1b[2J\ud800 end"))
    await store.rename(made.id, evil)
    async with recalled(agent) as pilot:
        assert "1 turn" in listed(pilot)
        assert "$" not in listed(pilot)
        await search(pilot, "needle")
        seen = listed(pilot) + head(pilot) + previewed(pilot)
        assert "[red]bold[/red]" in seen
        assert not set(seen) & set("\x1b\x07\x9b\u202e\u2028\ud800")
        await pilot.press("down", "d")
        await settled(pilot)
        assert "[red]bold" in told(pilot) or "␛" in told(pilot)


@pytest.mark.exhaustive
async def test_an_empty_store_says_what_to_do_and_no_key_does_anything_but_go_up(project: Path) -> None:
    agent = agent_in(project)
    async with recalled(agent, (80, 24)) as pilot:
        assert "No conversations in this project yet." in listed(pilot)
        await pilot.press("down")
        assert isinstance(pilot.app.focused, RecallList)
        await pilot.press("d", "r", "x", "b", "f", "n", "enter")
        assert is_open(pilot)
        assert isinstance(pilot.app.focused, RecallList)
        await pilot.press("up")
        assert isinstance(pilot.app.focused, SearchField)


@pytest.mark.exhaustive
async def test_what_cannot_be_read_is_told_and_does_not_look_like_another_one(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent, (100, 30)) as pilot:
        assert "It passes" in previewed(pilot)
        await drop_table(agent, "events")
        await pilot.press("down", "down")
        await until(pilot, lambda: "no such table: events" in told(pilot))
        assert "Rename the cart model" in head(pilot)
        assert previewed(pilot).strip() == ""

        pilot.app.clear_notifications()
        await drop_table(agent, "edits")
        await pilot.press("ctrl+r", "ctrl+r")
        await settled(pilot)
        assert "refused" in listed(pilot)
        assert "refused" in told(pilot)


async def drop_table(agent: Agent, name: str) -> None:
    store = await agent.store()
    await store.database.write(lambda connection: connection.execute(f"DROP TABLE {name}"))
