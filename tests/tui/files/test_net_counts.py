"""The counts of the file tree are what is left of the agent's edits, also after changes from outside."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    answer,
    asked,
    at_work,
    conversation_of,
    files_of,
    finished,
    main_of,
    send,
    shown,
    until,
)
from tests.tui.review.stage import app_over, edit, working


@pytest.mark.exhaustive
async def test_the_tree_counts_what_is_there_now(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\nthree\n")
    replies = [edit("notes.txt", "two", "TWO"), "Done.", edit("notes.txt", "TWO", "2"), "Done."]
    agent = working(project, *replies)
    async with app_over(agent).run_test(size=(120, 36)) as pilot:
        tree, title = files_of(pilot), main_of(pilot).query_one("#files-title")

        def row() -> str:
            lines = [line for line in shown(tree).splitlines() if "notes.txt" in line]
            return " ".join(lines[0].split()) if lines else ""

        for _ in range(2):
            await send(pilot, "go")
            await finished(pilot)
            await until(pilot, lambda: row() == "● notes.txt +1 −1")

        (project / "notes.txt").write_text("one\n2\nand mine\nthree\nmine\n")
        await until(pilot, lambda: row() == "● notes.txt +1 −1")
        (project / "notes.txt").write_text("one\n2 of mine\nthree\n2\n")
        await until(pilot, lambda: row() == "● notes.txt +1 −1")
        # As by `git checkout`.
        (project / "notes.txt").write_text("one\ntwo\nthree\n")
        await until(pilot, lambda: row() == "notes.txt" and "changed" not in shown(title))
        (project / "notes.txt").write_text("one\n2\nthree\n")
        await until(pilot, lambda: row() == "● notes.txt +1 −1" and "1 changed" in shown(title))
    await agent.close()


def git(project: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=project,
        check=True,
        capture_output=True,
    )


def committed(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")


def row_of(pilot: Pilot[Any], name: str = "notes.txt") -> str:
    """The row of a file in the tree."""
    lines = [line for line in shown(files_of(pilot)).splitlines() if name in line]
    return " ".join(lines[0].split()) if lines else ""


def asking(project: Path, *replies: str) -> Agent:
    provider = ScriptedProvider(*replies, size=10_000)
    data = project.parent / "data"
    return Agent(provider, project=project, data=data, permissions="ask", settings=Settings())


async def test_a_change_from_outside_counts_while_a_question_waits(project: Path) -> None:
    committed(project)
    first, second = edit("notes.txt", "two", "TWO"), edit("notes.txt", "six", "SIX")
    async with at_work(asking(project, first, second, "Done.")) as pilot:
        await send(pilot, "go")
        await answer(pilot, "y")
        await asked(pilot)
        await until(pilot, lambda: row_of(pilot) == "● notes.txt +1 −1")
        git(project, "checkout", ".")
        await until(pilot, lambda: row_of(pilot) == "notes.txt")
        await answer(pilot, "n")
        await finished(pilot)


async def test_a_turn_begun_at_once_after_a_checkout_counts_only_what_is_there(project: Path) -> None:
    committed(project)
    first, second = edit("notes.txt", "two", "TWO"), edit("notes.txt", "six", "SIX")
    async with at_work(asking(project, first, "Done.", first, second, "Done.")) as pilot:
        await send(pilot, "go")
        await answer(pilot, "y")
        await finished(pilot)
        await until(pilot, lambda: row_of(pilot) == "● notes.txt +1 −1")
        git(project, "checkout", ".")
        await send(pilot, "again")
        await answer(pilot, "y")
        await asked(pilot)
        await until(pilot, lambda: row_of(pilot) == "● notes.txt +1 −1")
        main_of(pilot).bridge.interrupt()
        await finished(pilot)


async def test_lines_of_the_user_that_are_gone_with_the_edits_do_not_count(project: Path) -> None:
    committed(project)
    notes = project / "notes.txt"
    notes.write_text(notes.read_text() + "mine\n")
    agent = working(project, edit("notes.txt", "two", "TWO"), "Done.")
    async with app_over(agent).run_test(size=(120, 36)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: row_of(pilot) == "● notes.txt +1 −1")
        git(project, "checkout", ".")
        await until(pilot, lambda: row_of(pilot) == "notes.txt")
    await agent.close()


async def test_a_card_says_that_its_edit_is_gone_until_it_is_there_again(project: Path) -> None:
    committed(project)
    notes = project / "notes.txt"
    agent = working(project, edit("notes.txt", "two", "TWO"), edit("notes.txt", "six", "SIX"), "Done.")
    async with app_over(agent).run_test(size=(120, 36)) as pilot:

        def words() -> list[str]:
            """The last words of the cards, and of the footer of the turn."""
            lines = shown(conversation_of(pilot)).splitlines()
            return [line.split()[-1] for line in lines if "notes.txt" in line or "1 file" in line]

        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: words() == ["review", "review", "review"])
        edited = notes.read_text()
        notes.write_text(edited.replace("SIX", "six"))
        await until(pilot, lambda: words() == ["review", "gone", "review"])
        git(project, "checkout", ".")
        await until(pilot, lambda: words() == ["gone", "gone", "gone"])
        notes.write_text(edited)
        await until(pilot, lambda: words() == ["review", "review", "review"])
    await agent.close()


async def test_a_card_says_while_the_turn_is_open_that_its_edit_is_gone(project: Path) -> None:
    committed(project)
    first, second = edit("notes.txt", "two", "TWO"), edit("notes.txt", "six", "SIX")
    async with at_work(asking(project, first, second, "Done.")) as pilot:
        await send(pilot, "go")
        await answer(pilot, "y")
        await asked(pilot)
        await until(pilot, lambda: row_of(pilot) == "● notes.txt +1 −1")
        git(project, "checkout", ".")
        await until(pilot, lambda: "+1 −1" in (text := shown(conversation_of(pilot))) and "gone" in text)
        main_of(pilot).bridge.interrupt()
        await finished(pilot)
