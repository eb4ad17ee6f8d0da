"""What was planned is what is opened, whatever is put in its place between the question and the run."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import BoundCall, ToolContext
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.workspace.nofollow_access import TEMPORARY_PREFIX
from cogency_tui.workspace.paths import Workspace

_HERE = -100
_EXCHANGE = 2
"""`AT_FDCWD` and `RENAME_EXCHANGE`."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "project"
    (root / ".git/hooks").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src/a").write_text("old\n")
    (root / ".git/hooks/a").write_text("old\n")
    (root.parent / "secret").mkdir()
    (root.parent / "secret/a").write_text("old secret\n")
    return root


def bound(project: Path, tool: str, args: dict[str, Any]) -> BoundCall:
    return Registry(default_tools()).bind(tool, args, ToolContext(Workspace(project)))


def tree(project: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(project.parent.rglob("*")) if path.is_file()}


def by_link(project: Path) -> None:
    (project / "src").rename(project / "away")
    (project / "src").symlink_to(".git/hooks")


def by_directory(project: Path) -> None:
    (project / "src").rename(project / "away")
    (project / ".git/hooks").rename(project / "src")


def by_link_outside(project: Path) -> None:
    (project / "src").rename(project / "away")
    (project / "src").symlink_to(project.parent / "secret")


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "write a new file": ("write", {"file": "src/new", "content": "x"}),
    "write over": ("write", {"file": "src/a", "content": "x", "overwrite": True}),
    "edit": ("edit", {"file": "src/a", "old": "old", "new": "new"}),
    "replace": ("replace", {"pattern": "src/*", "old": "old", "new": "new"}),
    "read": ("read", {"file": "src/a"}),
}


@pytest.mark.usefixtures("searches_here")
@pytest.mark.parametrize("swap", [by_link, by_directory, by_link_outside])
@pytest.mark.parametrize("name", CALLS)
async def test_what_was_swapped_since_the_question_is_not_opened(
    name: str, swap: Callable[[Path], None], project: Path
) -> None:
    call = bound(project, *CALLS[name])
    intent = await call.plan()
    assert not intent.protected
    assert not intent.outside
    swap(project)
    before = tree(project)
    with pytest.raises(ToolError):
        await call.run()
    assert tree(project) == before


@pytest.mark.parametrize("swap", [by_link, by_directory, by_link_outside])
async def test_a_command_does_not_run_in_what_was_swapped_since(
    swap: Callable[[Path], None], project: Path
) -> None:
    call = bound(project, "shell", {"command": "touch here", "cwd": "src"})
    await call.plan()
    swap(project)
    before = tree(project)
    with pytest.raises(ToolError):
        await call.run()
    assert tree(project) == before


async def test_a_link_that_was_asked_about_leads_where_it_led_then(project: Path) -> None:
    outside, link = project.parent / "secret/a", project.parent / "link"
    (project.parent / "harmless").write_text("harmless\n")
    link.symlink_to(project.parent / "harmless")
    call = bound(project, "read", {"file": str(link)})
    assert (await call.plan()).outside == str(project.parent / "harmless")
    link.unlink()
    link.symlink_to(outside)
    assert "harmless" in str((await call.run()).content)


@pytest.mark.exhaustive
async def test_no_file_is_replaced_in_that_came_after_the_question(project: Path) -> None:
    call = bound(project, "replace", {"pattern": "*.md", "old": "old", "new": "new"})
    (project / "a.md").write_text("old\n")
    await call.plan()
    (project / "AGENTS.md").write_text("old\n")
    with pytest.raises(ToolError, match=r"AGENTS\.md did not exist when this was checked"):
        await call.run()
    assert (project / "AGENTS.md").read_text() == (project / "a.md").read_text() == "old\n"


async def test_a_call_can_be_planned_anew(project: Path) -> None:
    call = bound(project, "write", {"file": "src/new", "content": "x"})
    await call.plan()
    by_link(project)
    assert (await call.plan()).protected


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="two names are exchanged in one step")
async def test_no_race_gets_a_file_in_among_the_hooks(project: Path) -> None:
    over = threading.Event()
    (project / "other").symlink_to(".git/hooks")
    exchange = ctypes.CDLL(None).renameat2

    def swap() -> None:
        while not over.is_set():
            exchange(_HERE, bytes(project / "src"), _HERE, bytes(project / "other"), _EXCHANGE)

    written = unprotected = 0
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for number in range(150):
            try:
                call = bound(project, "write", {"file": f"src/{number}", "content": "x"})
                if (await call.plan()).protected:
                    continue
                unprotected += 1
                await call.run()
                written += 1
            except ToolError:
                continue
    finally:
        over.set()
        thread.join()
    real = next(project / name for name in ("src", "other") if not (project / name).is_symlink())
    assert unprotected
    assert [path.name for path in (project / ".git/hooks").iterdir()] == ["a"]
    # What is on its way when its directory is swapped away stays behind, to be swept later.
    names = [path.name for path in real.iterdir() if not path.name.startswith(TEMPORARY_PREFIX)]
    assert len(names) == written + 1
