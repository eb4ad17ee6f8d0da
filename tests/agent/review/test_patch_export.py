"""A patch that `git apply` takes: files that come, go and move, odd names, and what no patch can carry."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from cogency_tui.agent.review.model import Target
from tests.agent.journaling import Desk, settle
from tests.agent.review.conftest import LINES, review_of, swapped

ODD = 'tab\t"quoted" back\\slash\nline.txt'


async def applied(desk: Desk, copy: Path, **before: str) -> tuple[str, ...]:
    """Apply the patch of what is kept to a directory with only these files; what was left out of it."""
    copy.mkdir()
    for name, text in before.items():
        (copy / name).write_text(text)
    patch = await review_of(desk).patch()
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    await asyncio.to_thread(
        subprocess.run, command, cwd=copy, input=patch.data, check=True, capture_output=True
    )
    return patch.left_out


def texts(directory: Path) -> dict[str, str]:
    return {path.relative_to(directory).as_posix(): path.read_text() for path in directory.rglob("*.txt")}


@pytest.mark.parametrize("name", ["new.txt", "with space.txt", "über.txt", "deep/er.txt", ODD])
async def test_a_new_file_comes_under_its_own_name(desk: Desk, tmp_path: Path, name: str) -> None:
    if "/" in name:
        (desk.root / name).parent.mkdir()
    await desk.write((name, LINES))
    assert await applied(desk, tmp_path / "copy") == ()
    assert texts(tmp_path / "copy") == {name: LINES}


async def test_a_program_stays_one_and_an_empty_file_is_made(desk: Desk, tmp_path: Path) -> None:
    await desk.run("printf '#!/bin/sh\\n' > run.txt; chmod 755 run.txt; : > empty.txt")
    assert await applied(desk, tmp_path / "copy") == ()
    assert texts(tmp_path / "copy") == texts(desk.root)
    assert (tmp_path / "copy" / "run.txt").stat().st_mode & 0o100


async def test_a_file_goes_and_one_is_renamed_and_changed(desk: Desk, tmp_path: Path) -> None:
    desk.put("gone.txt", "gone\n")
    desk.put("old.txt", LINES)
    settle()
    await desk.run("rm gone.txt; mv old.txt 'a \"new\" one.txt'")
    await desk.write(('a "new" one.txt', swapped((3, "line three\n"))))
    before = {"gone.txt": "gone\n", "old.txt": LINES}
    assert await applied(desk, tmp_path / "copy", **before) == ()
    assert texts(tmp_path / "copy") == {'a "new" one.txt': swapped((3, "line three\n"))}


async def test_decisions_about_one_turn_are_in_the_patch_of_all_turns(desk: Desk, tmp_path: Path) -> None:
    desk.put("a.txt", "one\n")
    desk.put("b.txt", "here\n")
    await desk.write(("a.txt", "one\ntwo\n"))
    await desk.run("mv b.txt c.txt")
    await desk.say()
    await desk.write(("a.txt", "one\ntwo\nthree\n"))
    await desk.run("mv c.txt b.txt")
    review = review_of(desk)
    await review.revert(Target(2))
    left = {"a.txt": "one\ntwo\n", "c.txt": "here\n"}
    await applied(desk, tmp_path / "copy", **{"a.txt": "one\n", "b.txt": "here\n"})
    assert texts(desk.root) == texts(tmp_path / "copy") == left
    assert (await review.patch(2)).files == ()


async def test_the_lines_of_others_are_never_in_it(desk: Desk) -> None:
    desk.put("a.txt", LINES)
    await desk.write(("a.txt", swapped((3, "agent\n"))))
    desk.put("a.txt", swapped((3, "person\nagent\n")))
    review = review_of(desk)
    patch = (await review.patch()).data
    assert b"+agent" in patch
    await review.revert(Target(1))
    assert (await review.patch()).data == b""
    await desk.undo.apply(await desk.undo.redo())
    assert (await review.patch()).data == patch
    # They have reverted it themselves: there is nothing left to do.
    desk.put("a.txt", LINES)
    await desk.undo.apply(await desk.undo.of_turn())
    assert (await review.patch()).data == b""


async def test_what_no_patch_of_lines_can_carry_is_named(desk: Desk, tmp_path: Path) -> None:
    settle()
    await desk.run("ln -s text.txt link; printf 'a\\0b' > data.bin; echo text > text.txt")
    left_out = await applied(desk, tmp_path / "copy")
    assert sorted(left_out) == ["data.bin: binary", "link: a symbolic link"]
    assert texts(tmp_path / "copy") == {"text.txt": "text\n"}
