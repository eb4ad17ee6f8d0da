"""The search paths for programs and libraries that this program itself needs.

Invariant: none is found where commands write unwatched: in a project or a directory added to it, in the
active virtual environment, or through a link there. Entries that depend on the start directory are not
searched. The calls block.
"""

import errno
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

_LISTS = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""Variables that name directories in which programs or libraries are searched for."""

_NOWHERE = os.devnull
"""A search path that finds nothing; an empty one means the start directory."""

_MOST_LINKS = 40
"""Links of one path that a system follows."""

_written = set[Path]()
"""The directories of projects, resolved."""


def distrust(directories: Iterable[Path]) -> None:
    """Search for none of our programs in these directories (resolved) from now on."""
    _written.update(directories)


def is_outside(path: str, directories: Collection[Path]) -> bool:
    """Return whether a path is absolute, and neither it nor a link on its way is in these directories
    (resolved)."""
    if not path.startswith("/"):
        return False
    tops = tuple(f"{str(each).rstrip('/')}/" for each in directories)
    return not any(f"{step}/".startswith(tops) for step in _steps(path))


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The absolute path of the program with this name."""
    distrusted = _distrusted()
    found = (shutil.which(name, path=entry) for entry in _entries(environ.get("PATH", os.defpath)))
    return next((path for path in found if path and is_outside(path, distrusted)), None)


def require_program(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """The path of a program given by its path or its name.

    Raises:
        FileNotFoundError: there is no program with this name.
    """
    path = name if "/" in name else find_program(name, environ)
    if path is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return path


def with_own_search_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program of ours, which searches only our search paths."""
    found = {name: value for name, value in environ.items() if name not in _LISTS}
    distrusted = _distrusted()
    for name in _LISTS:
        # The loader accepts both separators.
        search = environ.get(name, "") if name == "PATH" else environ.get(name, "").replace(";", os.pathsep)
        entries = [each for each in _entries(search) if is_outside(each, distrusted)]
        if entries:
            found[name] = os.pathsep.join(entries)
    return {"PATH": _NOWHERE} | found if "PATH" in environ else found


def _entries(search: str) -> list[str]:
    """The entries that do not depend on the start directory."""
    return [entry for entry in search.split(os.pathsep) if entry.startswith("/")]


def _distrusted() -> set[Path]:
    environment = os.environ.get("VIRTUAL_ENV")
    return _written | ({Path(os.path.realpath(environment))} if environment else set())


def _steps(path: str) -> Iterator[str]:
    """Each file, directory and link through which the system resolves an absolute path."""
    there, links = "", 0
    left = _parts(path)
    while left:
        part = left.pop()
        if part == os.pardir:
            there = there.rpartition("/")[0]
            continue
        above, there = there, f"{there}/{part}"
        yield there
        try:
            target = os.readlink(there)  # noqa: PTH115 (as it is written)
        except OSError:
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        there = "" if target.startswith("/") else above
        left += _parts(target)


def _parts(path: str) -> list[str]:
    """The components of a path, the last first."""
    return [part for part in path.split("/")[::-1] if part not in ("", ".")]
