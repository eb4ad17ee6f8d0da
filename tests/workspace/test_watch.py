"""What is touched while it is watched is told, also what does not last; nothing else is, and nothing hangs."""

import asyncio
import gc
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from watchfiles._rust_notify import RustNotify

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace import watch as watch_module
from cogency_tui.workspace.watch import MOST_DIRECTORIES, Watch, follow_changes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    (root / "sub").mkdir(parents=True)
    (root / "a").write_text("1\n")
    return root


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("true", set[str]()),
        ("cat a; ls -R", set[str]()),
        ("echo > tmp; rm tmp", {"tmp"}),
        ("cp -p a ../as-it-was; echo 2 > a; echo 1 > a; touch -r ../as-it-was a", {"a"}),
        ("mv a b; mv b a", {"a", "b"}),
        ("touch sub/x", {"sub/x"}),
        ("chmod 600 a", {"a"}),
        ("mkdir d; rmdir d", {"d"}),
    ],
)
def test_what_is_touched_is_told(root: Path, command: str, expected: set[str]) -> None:
    watch = Watch([root, root / "sub"])
    subprocess.run(["bash", "-c", command], cwd=root, check=True)
    assert {str(Path(path).relative_to(root)) for path in watch.end()} == expected


@pytest.mark.exhaustive
def test_what_was_taken_over_is_told_at_the_end_too(root: Path) -> None:
    watch = Watch([root])
    (root / "tmp").touch()
    (root / "tmp").unlink()
    watch.collect()
    watch.collect()
    (root / "b").touch()
    assert watch.end() == {str(root / "tmp"), str(root / "b")}


@pytest.mark.exhaustive
def test_directories_that_were_not_named_are_not_watched(root: Path) -> None:
    watch = Watch([root])
    (root / "sub/x").touch()
    assert str(root / "sub/x") not in watch.end()


@pytest.mark.exhaustive
def test_a_directory_that_is_gone_does_not_keep_others_from_being_watched(root: Path) -> None:
    watch = Watch([root / "never there", root, root / "lone\udcff"])
    (root / "x").touch()
    assert watch.end() == {str(root / "x")}


@pytest.mark.exhaustive
def test_only_so_many_paths_are_remembered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1000
    monkeypatch.setattr(watch_module, "MOST_PATHS", most)
    watch = Watch([root])
    for number in range(most + 100):
        (root / f"{number}").touch()
        if number % 100 == 0:
            watch.collect()
    assert len(watch.end()) == most
    assert not watch.complete


class _Noting:
    """A watch of `watchfiles` that notes how its waits end."""

    def __init__(self, notify: RustNotify, ends: list[object]) -> None:
        self._notify, self._ends = notify, ends
        self.close = notify.close

    def watch(self, debounce: int, step: int, timeout: int, stop: None) -> object:
        self._ends.append(self._notify.watch(debounce, step, timeout, stop))
        return self._ends[-1]


def test_no_wait_runs_out_of_time_where_reports_would_be_lost(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[object] = []
    monkeypatch.setattr(watch_module, "_LATEST", 60.0)

    def noting(paths: list[str], *options: Any) -> _Noting:
        return _Noting(RustNotify(paths, *options), ends)

    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", noting)
    watch = Watch([root])
    watch.collect()
    (root / "x").touch()
    watch.collect()
    assert watch.end() == {str(root / "x")}
    assert watch.complete
    assert ends
    assert not any(isinstance(each, str) for each in ends)


@pytest.mark.parametrize("when", ["collecting", "at the end"])
def test_a_watch_is_not_complete_once_the_system_was_late(
    root: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    watch = Watch([root])
    with monkeypatch.context() as patch:
        patch.setattr(watch_module, "_LATEST", 0.0)
        if when == "collecting":
            watch.collect()
        else:
            watch.end()
    if when == "collecting":
        watch.end()
    assert not watch.complete


def test_a_watch_that_broke_off_is_not_complete(root: Path) -> None:
    watch = Watch([root])
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    assert watch.end() == set()
    assert not watch.complete


@pytest.mark.exhaustive
def test_only_so_many_directories_are_watched_the_topmost_first(root: Path) -> None:
    deep = root / "deep"
    deep.mkdir()
    many = [deep / str(number) for number in range(MOST_DIRECTORIES)]
    for directory in many:
        directory.mkdir()
    watch = Watch([*many, root])
    assert not watch.whole
    (root / "x").touch()
    (many[-1] / "y").touch()
    assert watch.end() == {str(root / "x")}


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="a watch takes no handle elsewhere")
def test_where_the_system_does_not_let_it_watch_it_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    Watch([root]).end()
    there = set(root.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 (names, not paths)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(highest, soft), hard))
    handles: list[int] = []
    try:
        while True:
            try:
                handles.append(os.dup(0))
            except OSError:
                break
        with pytest.raises(WorkspaceError, match="cannot be watched here"):
            Watch([root])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for handle in handles:
            os.close(handle)
    assert set(root.iterdir()) == there


async def test_changes_are_followed_until_it_is_stopped(root: Path) -> None:
    stop = threading.Event()
    seen: set[str] = set()
    with _touching(root / "x"):
        async for changes in follow_changes([str(root)], stop):
            seen |= changes
            stop.set()
    assert seen == {str(root / "x")}


@pytest.mark.skipif(sys.platform != "linux", reason="tells no watches elsewhere")
async def test_leaving_the_changes_ends_the_wait_and_the_watch(root: Path) -> None:
    """At once, not only with the garbage: a user has few watches."""
    changed, threads, watches = asyncio.Event(), set(threading.enumerate()), _watches()

    async def follow() -> None:
        async for _changes in follow_changes([str(root)], threading.Event()):
            changed.set()

    gc.disable()
    try:
        following = asyncio.create_task(follow())
        with _touching(root / "x"):
            await changed.wait()
            assert _watches() > watches
            following.cancel()
            await asyncio.wait([following])
        for thread in set(threading.enumerate()) - threads:
            thread.join()
        assert _watches() == watches
    finally:
        gc.enable()


def _watches() -> int:
    handles = (Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 (names, not paths)
    return sum("inotify" in str(handle.readlink()) for handle in handles if handle.is_symlink())


@contextmanager
def _touching(path: Path) -> Generator[None]:
    """Touch it again and again: a watch begins late, with its first wait."""
    over = threading.Event()

    def touch() -> None:
        while not over.wait(0.05):
            path.touch()

    toucher = threading.Thread(target=touch)
    toucher.start()
    yield
    over.set()
    toucher.join()
