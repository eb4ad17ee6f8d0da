"""What only git has of a file: a failure to copy it is reported, and made good later."""

import subprocess
import tempfile
from io import FileIO
from pathlib import Path

import pytest

from cogency_tui.agent.edits.prior_contents import JournalLimits
from tests.agent.journaling import Desk, desk_at, settle

OLD = "old" * 100


def _committed(desk: Desk) -> None:
    desk.put("a", OLD)
    for arguments in (
        ["init", "-q"],
        ["add", "a"],
        ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qmx"],
    ):
        subprocess.run(["git", *arguments], cwd=desk.root, check=True, capture_output=True)
    settle()


def _on_a_full_disk(**_options: object) -> FileIO:
    return FileIO("/dev/full", "r+b")


@pytest.mark.parametrize("full", [False, True])
async def test_a_copy_that_fails_is_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    limits = JournalLimits(small=10, beforehand=0)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        _committed(desk)
        with monkeypatch.context() as patch:
            async with desk.calls.around_command("call", "shell") as found:
                desk.put("a", "new")
                if full:
                    patch.setattr(tempfile, "TemporaryFile", _on_a_full_disk)
                else:
                    patch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        assert "could not be recorded" in found.unrecorded
        assert await desk.edits() == []
        await desk.journal.settle_unfinished()
        (edit,) = await desk.edits()
        assert edit.before.kept
        await desk.undo.apply(await desk.undo.of_edits([edit.id]))
        assert (desk.root / "a").read_text() == OLD


async def test_what_git_has_no_more_is_not_known(tmp_path: Path) -> None:
    limits = JournalLimits(small=10, beforehand=0)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        _committed(desk)
        (edit,) = [each for each in await desk.run("rm -rf .git; echo > a") if each.path == "a"]
        assert not edit.before.kept
