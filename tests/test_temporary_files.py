"""Temporary files: those of a process that is gone are removed, and nothing else is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui import temporary_files
from cogency_tui.workspace.atomic_changes import sweep
from cogency_tui.workspace.nofollow_access import unused_name
from cogency_tui.workspace.paths import Workspace

GONE = "999999999-0123456789ab"


def test_directories_of_processes_that_are_gone_are_removed_and_nothing_else(tmp_path: Path) -> None:
    own = temporary_files.make_directory("watch", tmp_path)
    names = [
        f"cogency-watch-{GONE}-abc_1234",
        f"cogency-sandbox-{GONE}-abcd1234",
        # Ours only by half: another owner, none, another program's, a file.
        f"cogency-watch-{GONE}",
        "cogency-watch-abcd1234",
        f"other-{GONE}-abcd1234",
        f"cogency-{GONE}-abcd1234 (copy)",
    ]
    for name in names:
        (tmp_path / name / "deep").mkdir(parents=True)
    file = tmp_path / f"cogency-prompt-{GONE}-abcd1234"
    file.touch()
    link = tmp_path / f"cogency-watch-{GONE}-aaaa"
    link.symlink_to(own)

    temporary_files.sweep(tmp_path)

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {own.name, file.name, link.name, *names[2:]}
    assert own.is_dir()


@pytest.mark.skipif(os.getuid() != 0, reason="gives a directory away")
def test_what_belongs_to_another_user_is_left(tmp_path: Path) -> None:
    path = tmp_path / f"cogency-watch-{GONE}-abcd1234"
    path.mkdir()
    os.chown(path, 4321, 4321)
    temporary_files.sweep(tmp_path)
    assert path.is_dir()


def test_a_killed_watch_leaves_nothing_that_stays(tmp_path: Path) -> None:
    work = (
        "import os, signal; from pathlib import Path; from cogency_tui.workspace.watch import Watch;"
        f"watch = Watch([Path({str(tmp_path)!r})]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", work], env=environ, check=False)
    assert [path.name.split("-")[:2] for path in tmp_path.iterdir()] == [["cogency", "watch"]]
    temporary_files.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_in_a_project_goes_but_never_the_only_copy_of_a_file(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "src").mkdir()
    (root / "src/linked").write_text("there\n")
    names = {
        "new": f".cogency-{GONE}-aa.tmp",
        "linked": f".cogency-{GONE}-bb.old",
        "alone": f".cogency-{GONE}-cc.old",
        "large": f".cogency-{GONE}-dd.old",
        "own": unused_name(),
        "old": ".cogency-0123456789abcdef.tmp",
    }
    for name in names.values():
        (root / "src" / name).write_text(name)
    (root / "src" / names["linked"]).unlink()
    os.link(root / "src/linked", root / "src" / names["linked"])
    large = names["large"].encode()

    left = sweep(Workspace(root), ["src/deep/gone", "src/a"], lambda source: source.read() != large)

    assert left == [f"src/{names['large']}"]
    assert {path.name for path in (root / "src").iterdir()} == {
        "linked",
        names["large"],
        names["own"],
        names["old"],
    }
