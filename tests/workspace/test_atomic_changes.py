"""Several paths changed together: all of them or none, through no link, and back again."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.workspace.atomic_changes import Batch
from cogency_tui.workspace.file_or_link import content, located
from cogency_tui.workspace.paths import Location, Workspace
from tests.workspace.conftest import Fill


@pytest.fixture
def batch(workspace: Workspace) -> Batch:
    return Batch(workspace)


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below: mode and content of files, what links say, directories."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = (0, os.fsencode(path.readlink()))
        elif path.is_dir():
            found[f"{name}/"] = (0, b"")
        else:
            found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


def at(workspace: Workspace, path: str) -> Location:
    return located(workspace, path)


def test_changes_are_made_together(workspace: Workspace, project: Path, fill: Fill, batch: Batch) -> None:
    fill({"a": "old", "gone/deep/b": "x", "gone/stays": "", "moved": "same", "tool": "#!"})
    (project / "a").chmod(0o444)
    inode = (project / "moved").stat().st_ino
    batch.put_file(at(workspace, "a"), [b"n", b"ew"], 0o755)
    batch.put_file(at(workspace, "new/dir/c"), [], 0o600)
    batch.put_link(at(workspace, "link"), b"a")
    batch.remove(at(workspace, "gone/deep/b"), "gone/deep")
    batch.move(at(workspace, "moved"), at(workspace, "to/moved"))
    batch.set_mode(at(workspace, "tool"), 0o700)
    assert (project / "a").read_text() == "old"

    made = batch.commit()
    batch.finish()

    assert {path.relative_to(project).as_posix(): top for path, top in made.items()} == {
        "a": "",
        "new/dir/c": "new",
        "link": "",
        "to/moved": "to",
    }
    assert tree(project) == {
        "a": (0o755, b"new"),
        "gone/": (0, b""),
        "gone/stays": (0o644, b""),
        "link": (0, b"a"),
        "new/": (0, b""),
        "new/dir/": (0, b""),
        "new/dir/c": (0o600, b""),
        "to/": (0, b""),
        "to/moved": (0o644, b"same"),
        "tool": (0o700, b"#!"),
    }
    assert (project / "to/moved").stat().st_ino == inode


def test_a_file_takes_the_place_of_a_directory_and_back(
    workspace: Workspace, project: Path, fill: Fill
) -> None:
    fill({"a/x": "inner", "a/y/z": "deep"})
    batch = Batch(workspace)
    batch.remove(at(workspace, "a/x"), "a")
    batch.remove(at(workspace, "a/y/z"), "a")
    batch.put_file(at(workspace, "a"), [b"file"], 0o644)
    batch.commit()
    batch.finish()
    assert tree(project) == {"a": (0o644, b"file")}

    batch = Batch(workspace)
    batch.remove(at(workspace, "a"))
    batch.put_file(at(workspace, "a/x"), [b"inner"], 0o644)
    assert list(batch.commit().values()) == ["a"]
    batch.finish()
    assert tree(project) == {"a/": (0, b""), "a/x": (0o644, b"inner")}


def test_one_change_that_fails_leaves_everything_as_it_was(
    workspace: Workspace, project: Path, fill: Fill, batch: Batch
) -> None:
    fill({"a": "old", "gone/deep/b": "x", "moved": "same", "tool": "#!", "twin": "t"})
    (project / "a").chmod(0o555)
    (project / "link").symlink_to("a")
    (project / "other").hardlink_to(project / "twin")
    before = tree(project)
    inodes = {path.name: path.lstat().st_ino for path in project.iterdir() if path.name != "gone"}
    batch.put_file(at(workspace, "a"), [b"new"], 0o644)
    batch.put_file(at(workspace, "new/dir/c"), [b"new"], 0o644)
    batch.put_file(at(workspace, "link"), [b"new"], 0o644)
    batch.put_file(at(workspace, "twin"), [b"new"], 0o644)
    batch.remove(at(workspace, "gone/deep/b"), "gone")
    batch.move(at(workspace, "moved"), at(workspace, "to/moved"))
    batch.set_mode(at(workspace, "tool"), 0o700)
    batch.put_file(at(workspace, "in/the/way"), [b"new"], 0o644)
    (project / "in/the/way").mkdir(parents=True)
    before |= {"in/": (0, b""), "in/the/": (0, b""), "in/the/way/": (0, b"")}

    with pytest.raises(WorkspaceError, match="in/the/way is neither"):
        batch.commit()

    assert tree(project) == before
    assert {name: (project / name).lstat().st_ino for name in inodes} == inodes
    assert (project / "twin").stat().st_nlink == 2


def test_what_was_made_can_be_taken_back(
    workspace: Workspace, project: Path, fill: Fill, batch: Batch
) -> None:
    fill({"a": "old", "gone/b": "x", "tool": "#!"})
    before = tree(project)
    batch.put_file(at(workspace, "a"), [b"new"], 0o755)
    batch.put_file(at(workspace, "new/c"), [b"new"], 0o644)
    batch.remove(at(workspace, "gone/b"), "gone")
    batch.set_mode(at(workspace, "tool"), 0o700)
    batch.commit()
    assert tree(project) != before
    batch.roll_back()
    assert tree(project) == before


def test_a_content_that_turns_out_damaged_leaves_nothing(
    workspace: Workspace, project: Path, fill: Fill, batch: Batch
) -> None:
    fill({"a": "old"})

    def damaged() -> Iterator[bytes]:
        yield b"half"
        raise StoreError("damaged")

    batch.put_file(at(workspace, "b"), [b"whole"], 0o644)
    with pytest.raises(StoreError, match="damaged"):
        batch.put_file(at(workspace, "a"), damaged(), 0o644)
    batch.roll_back()
    assert tree(project) == {"a": (0o644, b"old")}


def test_a_directory_swapped_for_a_link_is_not_written_through(
    workspace: Workspace, project: Path, tmp_path: Path, fill: Fill, batch: Batch
) -> None:
    fill({"src/a": "old", "b": "old"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("theirs")
    batch.put_file(at(workspace, "b"), [b"new"], 0o644)
    batch.put_file(at(workspace, "src/a"), [b"new"], 0o644)
    (project / "src").rename(project / "away")
    (project / "src").symlink_to(outside)
    with pytest.raises(WorkspaceError):
        batch.commit()
    assert tree(outside) == {"a": (0o644, b"theirs")}
    assert (project / "b").read_text() == "old"


def test_something_at_the_new_name_is_not_replaced_by_a_move(
    workspace: Workspace, project: Path, fill: Fill, batch: Batch
) -> None:
    fill({"a": "1", "b": "2"})
    batch.move(at(workspace, "a"), at(workspace, "b"))
    with pytest.raises(WorkspaceError, match="already exists"):
        batch.commit()
    assert tree(project) == {"a": (0o644, b"1"), "b": (0o644, b"2")}


def test_no_handle_is_left_open(workspace: Workspace, project: Path, fill: Fill, batch: Batch) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    fill({"a": "1", "gone/b": "2"})
    before = _handles_in(project)
    batch.put_file(at(workspace, "new/a"), [b"x"], 0o644)
    batch.remove(at(workspace, "gone/b"), "gone")
    batch.commit()
    batch.finish()
    for path in ("new/a", "none/a"):
        with content(workspace, at(workspace, path)) as found:
            assert (found is not None) == (path == "new/a")
    assert _handles_in(project) == before


def _handles_in(project: Path) -> list[str]:
    """The files and directories of the project that are open: others may be closed at any time, as garbage."""
    # Names, not paths: the handle of the listing itself is gone when it is read.
    names = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return sorted(path for path in map(os.path.realpath, names) if Path(path).is_relative_to(project))
