"""The text of a file that is not trusted: read as it is, and through no link."""

import os
from pathlib import Path

import pytest

from cogency_tui.agent.project.file_review import LARGEST, read_for_review
from cogency_tui.errors import WorkspaceError


def test_text_is_read_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.md").write_bytes(b"caf\xe9\r\n")
    assert read_for_review(tmp_path, "a/b.md").startswith("café")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "path", ["link", "linked/x", "pipe", "folder", "none", "../x", "folder/../../x", "binary", "large"]
)
def test_anything_else_is_refused(tmp_path: Path, path: str) -> None:
    project = tmp_path / "project"
    (project / "folder").mkdir(parents=True)
    (tmp_path / "x").write_text("secret")
    (project / "link").symlink_to(tmp_path / "x")
    (project / "linked").symlink_to(tmp_path)
    os.mkfifo(project / "pipe")
    (project / "binary").write_bytes(b"a\0b")
    with (project / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(WorkspaceError):
        read_for_review(project, path)
