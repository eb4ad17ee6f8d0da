"""A path looked at as it is: no link followed, nothing waited for."""

import os
from pathlib import Path

import pytest

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.file_or_link import content, located, missing_above, status
from cogency_tui.workspace.paths import Location, Workspace
from tests.cases import cases
from tests.workspace.conftest import Fill


def at(workspace: Workspace, path: str) -> Location:
    return located(workspace, path)


def read(workspace: Workspace, path: str) -> bytes | None:
    with content(workspace, at(workspace, path)) as found:
        return None if found is None else found[1].read()


def test_files_links_and_nothing_are_told_apart(workspace: Workspace, project: Path, fill: Fill) -> None:
    fill({"src/a": "text"})
    (project / "link").symlink_to("/etc/passwd")
    (project / "dir").symlink_to("src")
    assert read(workspace, "src/a") == b"text"
    assert read(workspace, "link") == b"/etc/passwd"
    assert [read(workspace, path) for path in ("none", "none/x", "src/a/x", "dir/a", "src")] == [None] * 5
    with content(workspace, at(workspace, "src/a")) as found:
        assert found is not None
        stamp = found[0]
    assert (stamp.size, stamp.permissions, stamp.is_link) == (4, 0o644, False)
    assert status(workspace, at(workspace, "dir/a")) is None


@pytest.mark.timeout(60)
def test_special_files_are_refused(workspace: Workspace, project: Path) -> None:
    os.mkfifo(project / "pipe")
    with pytest.raises(WorkspaceError, match="FIFO"):
        read(workspace, "pipe")
    with pytest.raises(WorkspaceError, match="device"):
        read(workspace, "/dev/zero")


@cases("path", ["", "..", "../x", "a/../../x", "a\0b", "/etc/../x"])
def test_a_path_that_no_change_can_have_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(WorkspaceError, match="not the path"):
        at(workspace, path)


def test_what_is_missing_above_a_path_is_told(workspace: Workspace, project: Path, fill: Fill) -> None:
    fill({"src/a": ""})
    assert missing_above(workspace, at(workspace, "src/x")) == (project / "src", "")
    assert missing_above(workspace, at(workspace, "src/new/deep/x")) == (project / "src", "src/new")
    assert missing_above(workspace, at(workspace, "x")) == (project, "")
    assert missing_above(workspace, at(workspace, "src/a/x")) == (project / "src", "src/a")
