"""Objects of a repository that are written over, in real repositories."""

import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.workspace.git import object_verification
from cogency_tui.workspace.git.object_verification import ObjectStore

Change = Callable[[Path], object]


def git(directory: Path, *arguments: str, said: bytes = b"") -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", *arguments]
    done = subprocess.run(command, cwd=directory, input=said, capture_output=True, check=True)
    return done.stdout.decode().strip()


def forge(directory: Path, name: str, kind: str, content: bytes) -> None:
    """Write an object under the name of another."""
    path = directory / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(b"%b %d\0%b" % (kind.encode(), len(content), content)))


@pytest.fixture(params=["sha1", pytest.param("sha256", marks=pytest.mark.exhaustive)])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main", f"--object-format={request.param}")
    (root / "src").mkdir()
    for text in ("1", "2"):
        (root / "src/a").write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-qm", text)
    return root


def test_what_git_writes_is_sound(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_verification, "_LONGEST", 1 << 16)
    objects = ObjectStore(project)
    (project / "large").write_bytes(bytes(1 << 17))
    git(project, "add", "-A")
    git(project, "commit", "-qm", "3")
    git(project, "tag", "-am", "x", "v1")
    assert objects.is_sound()
    git(project, "repack", "-qad")
    assert objects.is_sound()
    git(project, "commit", "-q", "--allow-empty", "-m", "4")
    git(project, "repack", "-qd")
    git(project, "prune-packed")
    assert objects.is_sound()
    assert git(project, "fsck", "--full") == ""


def other_parent(project: Path) -> None:
    name = git(project, "rev-parse", "HEAD^")
    content = subprocess.run(
        ["git", "cat-file", "commit", name], cwd=project, capture_output=True, check=True
    ).stdout
    tree, _, rest = content.partition(b"\n")
    forge(project, name, "commit", b"%b\nparent %b\n%b" % (tree, b"1" * len(name), rest))


def other_tree(project: Path) -> None:
    tree = subprocess.run(
        ["git", "cat-file", "tree", "HEAD:src"], cwd=project, capture_output=True, check=True
    ).stdout
    forge(project, git(project, "rev-parse", "HEAD:src"), "tree", tree.replace(b"a\0", b"b\0"))


def tree_in_the_place_of_a_packed_one(project: Path) -> None:
    git(project, "repack", "-qad")
    other_tree(project)


def other_content_of_a_pack(project: Path) -> None:
    git(project, "repack", "-qad")
    (index,) = (project / ".git/objects/pack").glob("*.idx")
    data = bytearray(index.read_bytes())
    # The names of two objects change their places.
    size = len(git(project, "rev-parse", "HEAD")) // 2
    start = 8 + 256 * 4
    data[start : start + 2 * size] = data[start + size : start + 2 * size] + data[start : start + size]
    index.chmod(0o644)
    index.write_bytes(data)


def other_directory(project: Path) -> None:
    name = git(project, "rev-parse", "HEAD^{tree}")
    folder = project / ".git/objects" / name[:2]
    moved = folder.rename(project / "moved")
    (moved / name[2:]).chmod(0o644)
    (moved / name[2:]).write_bytes(zlib.compress(b"tree 0\0"))
    folder.symlink_to(moved)


def alternate(project: Path) -> None:
    (project / ".git/objects/info").mkdir(exist_ok=True)
    (project / ".git/objects/info/alternates").write_text("/elsewhere\n")


def not_packed(project: Path) -> None:
    name = git(project, "rev-parse", "HEAD^{tree}")
    (project / ".git/objects" / name[:2] / name[2:]).chmod(0o644)
    (project / ".git/objects" / name[:2] / name[2:]).write_bytes(b"x")


FORGING = [
    other_parent,
    other_tree,
    tree_in_the_place_of_a_packed_one,
    other_content_of_a_pack,
    other_directory,
    alternate,
    not_packed,
]


@pytest.mark.parametrize("change", FORGING)
def test_what_is_written_over_is_found(project: Path, change: Change) -> None:
    objects = ObjectStore(project)
    assert objects.is_sound()
    change(project)
    assert not objects.is_sound()
    assert not objects.is_sound()


@pytest.mark.parametrize("change", FORGING)
def test_what_was_there_before_counts_as_sound(project: Path, change: Change) -> None:
    change(project)
    assert ObjectStore(project).is_sound()


def test_objects_that_are_gone_are_not_looked_at(project: Path) -> None:
    objects = ObjectStore(project)
    git(project, "repack", "-qad")
    (pack,) = (project / ".git/objects/pack").glob("*.pack")
    pack.unlink()
    assert objects.is_sound()


def test_what_another_repository_shares_is_looked_at(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(project), "clone")
    objects = ObjectStore(tmp_path / "clone")
    assert objects.is_sound()
    other_tree(project)
    assert not objects.is_sound()


def test_what_was_made_since_is_looked_at_from_the_start(project: Path) -> None:
    assert ObjectStore(project, made=True).is_sound()
    other_parent(project)
    assert not ObjectStore(project, made=True).is_sound()


def test_what_was_there_is_known_packed_or_not(project: Path) -> None:
    objects = ObjectStore(project)
    git(project, "repack", "-qad")
    (project / "src/a").write_text("3")
    git(project, "commit", "-qam", "3")
    objects.note()
    before = {git(project, "rev-parse", each) for each in ("HEAD", "HEAD~", "HEAD:src")}
    git(project, "commit", "-q", "--allow-empty", "-m", "4")
    assert objects.noted({*before, git(project, "rev-parse", "HEAD")}) == before


def test_a_pipe_is_no_object(project: Path) -> None:
    objects = ObjectStore(project)
    (project / ".git/objects/ab").mkdir(exist_ok=True)
    os.mkfifo(project / ".git/objects/ab" / ("c" * 38))
    assert not objects.is_sound()


def test_no_repository_has_no_objects(tmp_path: Path) -> None:
    assert ObjectStore(tmp_path).is_sound()
