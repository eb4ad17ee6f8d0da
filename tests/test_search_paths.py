"""The programs that this program needs itself: found where no command could have put them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.search_paths import (
    distrust,
    find_program,
    is_outside,
    require_program,
    with_own_search_paths,
)
from cogency_tui.workspace.git.repository_queries import Repository


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which each command could have written a `git`, and a system that has another."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    root = tmp_path.resolve() / "project"
    program(root / ".venv/bin/git")
    program(root.parent / "system/git")
    distrust([root])
    return root


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho ran >> '{path}.ran'\n")
    path.chmod(0o755)
    return path


def link(path: Path, target: Path | str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return str(path)


LEADING: dict[str, Callable[[Path], str]] = {
    "its environment": lambda root: f"{root}/.venv/bin",
    "with slashes": lambda root: f"//{root}//.venv/./bin/",
    "by its parent": lambda root: f"{root}/../project/.venv/bin",
    "out and in again": lambda root: f"{root.parent}/system/../project/.venv/bin",
    "a link to it": lambda root: link(root.parent / "one", root / ".venv/bin"),
    "a relative link": lambda root: link(root.parent / "one", "project/.venv/bin"),
    "a link to a link": lambda root: link(root.parent / "two", link(root.parent / "one", root / ".venv/bin")),
    "below a link": lambda root: link(root.parent / "one", root) + "/.venv/bin",
    "a link in it that leads out": lambda root: link(root / "out", root.parent / "system"),
    "through it to the system": lambda root: link(
        root.parent / "one", link(root / "out", root.parent / "system")
    ),
    "the program is a link": lambda root: os.path.dirname(  # noqa: PTH120 (text)
        link(root.parent / "bin/git", root / ".venv/bin/git")
    ),
    "through links of the program": lambda root: os.path.dirname(  # noqa: PTH120 (text)
        link(root.parent / "bin/git", link(root / "git", root.parent / "system/git"))
    ),
    "the parent of a link": lambda root: link(root.parent / "deep/one", root / ".venv/lib") + "/../bin",
    "a loop": lambda root: link(root.parent / "loop", root.parent / "loop"),
    "the directory of the start": lambda _root: ".",
    "nothing, which is the same": lambda _root: "",
    "relative": lambda _root: ".venv/bin",
    "by the home directory as it is written": lambda _root: "~/bin",
}


@pytest.mark.parametrize("entry", LEADING.values(), ids=LEADING.keys())
def test_entries_that_lead_through_the_project_are_passed_over(
    project: Path, monkeypatch: pytest.MonkeyPatch, entry: Callable[[Path], str]
) -> None:
    (project / ".venv/lib").mkdir()
    system = project.parent / "system"
    monkeypatch.chdir(project)
    leading = entry(project)
    assert find_program("git", {"PATH": f"{leading}{os.pathsep}{system}"}) == f"{system}/git"
    assert find_program("git", {"PATH": leading}) is None


def test_children_look_where_we_do_and_in_that_order(project: Path) -> None:
    places = [str(project.parent / name) for name in ("c", "a", "system", "b")]
    mixed = [f"{project}/.venv/bin", places[0], "", *places[1:3], ".", str(project), places[3]]
    own = os.pathsep.join(places)
    environ = {"PATH": os.pathsep.join(mixed), "LD_LIBRARY_PATH": f"{project};{places[1]}:", "OTHER": "."}
    assert with_own_search_paths(environ) == {"PATH": own, "LD_LIBRARY_PATH": places[1], "OTHER": "."}


@pytest.mark.parametrize("search", ["", ".", "bin:", "{}/.venv/bin"])
def test_a_search_path_of_nothing_is_not_the_directory_of_the_start(
    project: Path, monkeypatch: pytest.MonkeyPatch, search: str
) -> None:
    """An empty one is."""
    program(project / "git")
    monkeypatch.setenv("PATH", search.format(project))
    monkeypatch.chdir(project)
    assert Repository(project).root is None
    assert with_own_search_paths(os.environ)["PATH"] == os.devnull
    assert not list(project.rglob("*.ran"))


def test_what_is_not_there_is_not_installed(project: Path) -> None:
    environ = {"PATH": f"{project}/.venv/bin"}
    with pytest.raises(FileNotFoundError, match="git"):
        require_program("git", environ)
    assert require_program("/bin/sh", environ) == "/bin/sh"


def test_the_active_environment_is_written_without_being_watched(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = project.parent / "environment"
    program(environment / "bin/git")
    environ = {"PATH": f"{environment}/bin{os.pathsep}{project.parent}/system"}
    assert find_program("git", environ) == f"{environment}/bin/git"
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    assert find_program("git", environ) == f"{project.parent}/system/git"


def test_neighbours_of_the_project_are_outside(project: Path) -> None:
    assert is_outside(f"{project}-other/bin", [project])
    assert is_outside(str(project.parent), [project])
    assert not is_outside(str(project), [project])
    assert not is_outside("bin", [project])
