"""Marks of what is open: there while their process lives, gone however it ends."""

import os
import subprocess
import sys
from pathlib import Path

from cogency_tui.store.open_locks import DIRECTORY, Presence
from tests import ROOT

_CHILD = """
import sys, time
from pathlib import Path
from cogency_tui.store.open_locks import Presence
presence = Presence(Path(sys.argv[1]))
print(presence.enter("theirs/é", 5.0), flush=True)
sys.stdin.readline()
"""


def start(directory: Path) -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(directory)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    return child


def test_a_mark_goes_with_the_process_that_was_killed(directory: Path) -> None:
    presence = Presence(directory)
    child = start(directory)

    [mark] = presence.elsewhere()
    assert (mark.conversation, mark.pid, mark.since) == ("theirs/é", child.pid, 5.0)
    assert not presence.enter("theirs/é", 1.0)

    child.kill()
    child.communicate()
    assert presence.elsewhere() == []
    assert list((directory / DIRECTORY).iterdir()) == []
    assert presence.enter("theirs/é", 1.0)
    presence.leave()


def test_ones_own_marks_are_not_those_of_others(directory: Path) -> None:
    presence, other = Presence(directory), Presence(directory)

    assert presence.enter("a", 1.0)
    assert presence.enter("a", 2.0)
    assert presence.enter("b", 1.0)
    assert presence.elsewhere() == []
    assert {mark.conversation for mark in other.elsewhere()} == {"a", "b"}
    presence.leave("a")
    assert [mark.conversation for mark in other.elsewhere()] == ["b"]
    presence.leave()
    assert other.elsewhere() == []


def test_what_is_no_mark_is_passed_over(directory: Path) -> None:
    assert Presence(directory).elsewhere() == []
    holder = Presence(directory)
    assert holder.enter("a", 1.0)
    [path] = (directory / DIRECTORY).iterdir()
    path.write_text("nonsense")

    assert Presence(directory).elsewhere() == []
    holder.leave()
    (directory / "file").write_text("")
    assert not Presence(directory / "file").enter("a", 1.0)
