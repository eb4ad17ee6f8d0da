"""Opening, reading and writing files: never through a link, never for long, all or nothing."""

import os
import socket
import stat
from pathlib import Path

import pytest

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory
from cogency_tui.workspace.paths import Workspace

LIMIT = 1 << 20


@pytest.fixture(autouse=True)
def _umask() -> object:
    old = os.umask(0o022)
    yield
    os.umask(old)


def test_written_file_is_read_back_with_its_directories_made(workspace: Workspace) -> None:
    location = workspace.locate("new/deep/a.bin")
    workspace.write_bytes(location, b"\x00\xff")
    assert workspace.read_bytes(location, LIMIT) == b"\x00\xff"
    assert stat.S_IMODE(location.path.stat().st_mode) == 0o644


def test_new_file_respects_the_umask(workspace: Workspace) -> None:
    os.umask(0o077)
    workspace.write_bytes(workspace.locate("a"), b"")
    assert stat.S_IMODE((workspace.root / "a").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
def test_replaced_file_keeps_its_mode(workspace: Workspace, mode: int) -> None:
    path = workspace.root / "run.sh"
    path.write_text("old")
    path.chmod(mode)
    workspace.write_bytes(workspace.locate("run.sh"), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_writing_leaves_nothing_beside_the_file(workspace: Workspace) -> None:
    workspace.write_bytes(workspace.locate("a"), b"x")
    assert _names(workspace.root) == ["a"]


def test_failed_write_leaves_the_file_and_nothing_beside_it(workspace: Workspace) -> None:
    (workspace.root / "a").mkdir()
    with pytest.raises(WorkspaceError, match="directory"):
        workspace.write_bytes(workspace.locate("a"), b"x")
    assert _names(workspace.root) == ["a"]


def test_file_that_becomes_a_directory_half_way_is_refused(workspace: Workspace) -> None:
    staged = workspace.stage(workspace.locate("a"), b"x")
    (workspace.root / "a").mkdir()
    with pytest.raises(WorkspaceError):
        workspace.commit(staged)
    assert _names(workspace.root) == ["a"]


def test_staged_content_can_be_discarded(workspace: Workspace) -> None:
    (workspace.root / "a").write_text("old")
    workspace.discard(workspace.stage(workspace.locate("a"), b"new"))
    assert (workspace.root / "a").read_text() == "old"
    assert _names(workspace.root) == ["a"]


def test_read_only_file_is_not_replaced(workspace: Workspace) -> None:
    path = workspace.root / "a"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(WorkspaceError, match="read-only"):
        workspace.write_bytes(workspace.locate("a"), b"new")
    assert path.read_text() == "old"


def test_hard_link_to_outside_is_not_written_through(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("theirs")
    os.link(outside, workspace.root / "twin.txt")
    workspace.write_bytes(workspace.locate("twin.txt"), b"ours")
    assert outside.read_text() == "theirs"


def test_file_longer_than_the_limit_is_refused(workspace: Workspace) -> None:
    (workspace.root / "a").write_bytes(b"x" * 11)
    with pytest.raises(WorkspaceError, match="11 bytes"):
        workspace.read_bytes(workspace.locate("a"), 10)
    assert len(workspace.read_bytes(workspace.locate("a"), 11)) == 11


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_file_of_unknown_size_is_read_to_its_end(workspace: Workspace) -> None:
    assert b"Pid:" in workspace.read_bytes(workspace.locate("/proc/version_signature/../self/status"), LIMIT)


@pytest.mark.timeout(60)
def test_fifo_is_refused_without_waiting(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "pipe")
    with pytest.raises(WorkspaceError, match="FIFO"):
        workspace.read_bytes(workspace.locate("pipe"), LIMIT)
    with pytest.raises(WorkspaceError, match="FIFO"):
        workspace.write_bytes(workspace.locate("pipe"), b"x")
    with Directory.open(workspace.root) as directory, pytest.raises(WorkspaceError, match="FIFO"):
        # Even where nobody looked before opening.
        directory.read("pipe", LIMIT)


def test_socket_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(WorkspaceError, match="socket"):
            workspace.read_bytes(workspace.locate("s"), LIMIT)


@pytest.mark.timeout(60)
def test_device_is_refused(workspace: Workspace) -> None:
    with pytest.raises(WorkspaceError, match="device"):
        workspace.read_bytes(workspace.locate("/dev/zero"), LIMIT)


def test_device_behind_a_link_is_refused(workspace: Workspace) -> None:
    (workspace.root / "zero").symlink_to("/dev/zero")
    with pytest.raises(WorkspaceError, match="outside the project"):
        workspace.locate("zero")


def test_directory_in_place_of_a_file_is_refused(workspace: Workspace) -> None:
    (workspace.root / "src").mkdir()
    with pytest.raises(WorkspaceError, match="is a directory"):
        workspace.read_bytes(workspace.locate("src"), LIMIT)
    with pytest.raises(WorkspaceError, match="is a directory"):
        workspace.read_bytes(workspace.locate("."), LIMIT)


def test_file_in_place_of_a_directory_is_refused(workspace: Workspace) -> None:
    (workspace.root / "src").write_text("")
    with pytest.raises(WorkspaceError, match="not a directory"):
        workspace.write_bytes(workspace.locate("src/a.py"), b"")


def test_directory_swapped_for_a_link_after_the_check_is_not_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret")
    (workspace.root / "src").mkdir()
    (workspace.root / "src" / "a").write_text("harmless")
    location = workspace.locate("src/a")
    (workspace.root / "src").rename(workspace.root / "away")
    (workspace.root / "src").symlink_to(outside)
    with pytest.raises(WorkspaceError):
        workspace.read_bytes(location, LIMIT)
    with pytest.raises(WorkspaceError):
        workspace.write_bytes(location, b"planted")
    assert (outside / "a").read_text() == "secret"
    assert _names(outside) == ["a"]


def test_file_swapped_for_a_link_after_the_check_is_not_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "secret"
    outside.write_text("secret")
    location = workspace.locate("a")
    (workspace.root / "a").symlink_to(outside)
    with pytest.raises(WorkspaceError):
        workspace.read_bytes(location, LIMIT)
    with pytest.raises(WorkspaceError):
        workspace.write_bytes(location, b"planted")
    with Directory.open(workspace.root) as directory, pytest.raises(OSError, match="symbolic"):
        directory.read("a", LIMIT)
    assert outside.read_text() == "secret"


def test_directory_swapped_between_staging_and_committing_is_not_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace.root / "src").mkdir()
    staged = workspace.stage(workspace.locate("src/a"), b"x")
    (workspace.root / "src").rename(workspace.root / "away")
    (workspace.root / "src").symlink_to(outside)
    with pytest.raises(WorkspaceError):
        workspace.commit(staged)
    assert _names(outside) == []


def test_no_handle_is_left_open(workspace: Workspace) -> None:
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("needs /proc")
    before = len(list(handles.iterdir()))
    workspace.write_bytes(workspace.locate("a/b/c"), b"x")
    workspace.read_bytes(workspace.locate("a/b/c"), LIMIT)
    for missing in ("a/b/x", "a/x/c"):
        with pytest.raises(WorkspaceError):
            workspace.read_bytes(workspace.locate(missing), LIMIT)
    assert len(list(handles.iterdir())) == before


def test_without_directory_handles_the_same_is_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.workspace.nofollow_access._RELATIVE", False)
    workspace.write_bytes(workspace.locate("src/a"), b"x")
    location = workspace.locate("src/a")
    assert workspace.read_bytes(location, LIMIT) == b"x"
    (tmp_path / "outside").mkdir()
    (workspace.root / "src").rename(workspace.root / "away")
    (workspace.root / "src").symlink_to(tmp_path / "outside")
    with pytest.raises(WorkspaceError):
        workspace.write_bytes(location, b"planted")
    (workspace.root / "link").symlink_to(tmp_path / "outside")
    with Directory.open(workspace.root) as directory, pytest.raises(OSError, match="symbolic"):
        directory.read("link", LIMIT)


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
