"""What a look at a project's files finds."""

import os
from pathlib import Path

import pytest

from cogency_tui.tools.language_servers import project_files
from cogency_tui.tools.language_servers.project_files import ProjectFiles


def changes(files: ProjectFiles, root: Path) -> list[str]:
    return sorted(f"{kind.name} {path.relative_to(root)}" for path, kind in files.changes())


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("one\n")


def python_files(root: Path) -> ProjectFiles:
    return ProjectFiles(root, lambda path: path.suffix == ".py")


def test_files_of_the_language_that_are_created_changed_and_deleted(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    files = python_files(root)
    put(root, "a.py", "b.py", "pkg/c.py", "notes.txt")
    assert changes(files, root) == ["Created a.py", "Created b.py", "Created pkg/c.py"]
    assert changes(files, root) == []
    (root / "a.py").write_text("one\ntwo\n")
    (root / "pkg").rename(root / "moved")
    assert changes(files, root) == ["Changed a.py", "Created moved/c.py", "Deleted pkg/c.py"]
    # A replacement of the same size and time.
    times = (root / "b.py").stat()
    put(root, "other")
    os.utime(root / "other", ns=(times.st_atime_ns, times.st_mtime_ns))
    (root / "other").replace(root / "b.py")
    assert changes(files, root) == ["Changed b.py"]


def test_ignored_files_and_links_are_left_out(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    put(root, "a.py", "build/b.py", "node_modules/c.py")
    (root / ".gitignore").write_text("build/\n")
    (root / "link.py").symlink_to("a.py")
    assert changes(python_files(root), root) == ["Created a.py"]


def test_files_beyond_the_limit_are_not_taken_for_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve()
    monkeypatch.setattr(project_files, "MOST_FILES", 1)
    files = python_files(root)
    put(root, "pkg/b.py")
    assert changes(files, root) == ["Created pkg/b.py"]
    put(root, "a.py")
    assert changes(files, root) == ["Created a.py"]


def test_a_directory_that_is_gone_has_no_files(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    files = python_files(root)
    assert changes(files, root) == []
