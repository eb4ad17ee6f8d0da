"""The files of programs and modules that a name refers to.

A program of the project does whatever the author of a change to the project wants. The calls block.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from cogency_tui.search_paths import is_outside
from cogency_tui.workspace.paths import Workspace

_PYTHON_PATHS = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE")
_MODULES = (".py", ".pyc", ".so")


def is_of_system(program: str, workspace: Workspace) -> bool:
    """Return whether the name of a program leads to a file outside the project, wherever it is started."""
    return "/" not in program and _found_outside(program, workspace) is True


def are_replaced(programs: Iterable[str], workspace: Workspace) -> bool:
    """Return whether one of these names of programs may lead to a file of the project."""
    return any(_found_outside(program, workspace) is False for program in programs)


def searches_project(workspace: Workspace) -> bool:
    """Return whether the search path of programs includes the project."""
    return not all(_lies_outside(directory, workspace) for directory in os.get_exec_path())


def shadows_modules(directory: Path, workspace: Workspace) -> bool:
    """Return whether Python, run there, may load a file of the project in place of a module of its own."""
    for name in _PYTHON_PATHS:
        given = os.environ.get(name)
        if given and not all(_lies_outside(path, workspace) for path in given.split(os.pathsep)):
            return True
    return any(_shadows(entry) for entry in _names_in(directory))


def _found_outside(program: str, workspace: Workspace) -> bool | None:
    """Return whether the program of a name is certainly outside the project; None where there is none."""
    for entry in os.get_exec_path():
        if not Path(entry).is_absolute():
            return False
        if found := shutil.which(program, path=entry):
            return _lies_outside(found, workspace)
    return None


def _lies_outside(path: str, workspace: Workspace) -> bool:
    return is_outside(path, (workspace.root, *workspace.added))


def _shadows(name: str) -> bool:
    stem, dot, _rest = name.partition(".")
    return stem in sys.stdlib_module_names and (not dot or name.endswith(_MODULES))


def _names_in(directory: Path) -> Iterator[str]:
    return (entry.name for entry in directory.iterdir())
