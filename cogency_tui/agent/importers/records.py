"""What readers need for the records of other programs: values of the expected type, or an
`UnexpectedValueError`, which `Session.at` counts."""

import os
import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Any, cast

_RUNNING = 3600.0
"""Seconds since the last change of a file, after which its program no longer works at the session."""


_KINDS = {
    "str": "text",
    "string": "text",
    "list": "a list",
    "dict": "an object",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "NoneType": "nothing",
}
"""Types of JSON for the user, by their names in Python and in its errors."""

_USED_AS_ANOTHER = re.compile(r"'(\w+)' object|(\w+) (?:indices|object)\b")


class UnexpectedValueError(TypeError):
    """A value has another type than the reader expects; the message says so in words."""


def in_words(error: Exception) -> str:
    """Say what a record has that its reader does not expect, given the error."""
    match error:
        case KeyError(args=(name, *_)):
            return f"{name!r} is missing"
        case IndexError():
            return "an item of a list is missing"
        case RecursionError():
            return "it is nested too deeply"
        case ArithmeticError():
            return "a number is out of range"
        case UnexpectedValueError():
            return str(error)
        case TypeError() | AttributeError():
            found = _USED_AS_ANOTHER.search(str(error))
            kind = _KINDS.get((found[1] or found[2]) if found else "", "a value")
            # Readers look up fields, and go through items.
            return f"{kind} in place of {'a list' if 'iter' in str(error) else 'an object'}"
        case _:
            return str(error)


def _kind(value: object) -> str:
    return _KINDS.get(type(value).__name__, "a value")


def text(value: object) -> str:
    if not isinstance(value, str):
        raise UnexpectedValueError(f"{_kind(value)} in place of text")
    return value


def text_of(value: object) -> str:
    """A text; an empty one in place of anything else."""
    return value if isinstance(value, str) else ""


def an_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnexpectedValueError(f"{_kind(value)} in place of an object")
    return cast("dict[str, Any]", value)


def objects(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise UnexpectedValueError(f"{_kind(value)} in place of a list")
    return [an_object(each) for each in cast("list[Any]", value)]


def as_object(value: object) -> dict[str, Any]:
    """The object; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The list; an empty one for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def blocks(content: object) -> list[dict[str, Any]]:
    """The blocks of a message's content, which may be a text alone."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def whole(figures: Mapping[str, Any], name: str) -> int:
    """A count of tokens; 0 where it is missing or impossible."""
    value = figures.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def number(value: object) -> float | None:
    """A number that is neither negative nor absurd; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    return None


def renamed(given: Mapping[str, Any], names: Mapping[str, str], project: str) -> dict[str, Any]:
    """The arguments of a call under our names for them, with paths as ours; others are left out."""
    args = {names[key]: value for key, value in given.items() if key in names and value is not None}
    for key in ("file", "path"):
        if isinstance(path := args.get(key), str):
            args[key] = relative(path, project)
    return args


def relative(path: str, project: str) -> str:
    """A path from the project's root, if it is in the project."""
    root = project.rstrip("/")
    if root and (path == root or path.startswith(f"{root}/")):
        return path[len(root) :].strip("/") or "."
    return path


def between(content: str, tag: str) -> str | None:
    """The text of the first element with this tag."""
    start = content.find(f"<{tag}>")
    end = content.find(f"</{tag}>", start)
    return content[start + len(tag) + 2 : end] if 0 <= start < end else None


def without(content: str, tags: Sequence[str]) -> str:
    """A text without the elements with these tags."""
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        pieces: list[str] = []
        at = 0
        while (start := content.find(opening, at)) >= 0 and (end := content.find(closing, start)) >= 0:
            pieces.append(content[at:start])
            at = end + len(closing)
        if at:
            content = "".join([*pieces, content[at:]]).strip("\n")
    return content


_unread: ContextVar[list[str] | None] = ContextVar("unread", default=None)


@contextmanager
def note_unread() -> Generator[list[str]]:
    """Collect what cannot be read in the block, each path with the reason."""
    found: list[str] = []
    token = _unread.set(found)
    try:
        yield found
    finally:
        _unread.reset(token)


def cannot_read(path: Path | str, why: str) -> None:
    """Report a path that cannot be read, once in a block of `note_unread`."""
    found = _unread.get()
    if found is not None and (problem := f"{path}: {why}") not in found:
        found.append(problem)


def entries(directory: Path | str) -> list[os.DirEntry[str]]:
    """The entries of a directory by name; none where there is none, or where it cannot be read."""
    try:
        with os.scandir(directory) as found:
            return sorted(found, key=lambda entry: entry.name)
    except PermissionError as exc:
        cannot_read(directory, exc.strerror or "it cannot be read")
    except (OSError, ValueError):
        pass
    return []


def file_stamp(path: Path | str) -> str:
    """A mark of the state of a regular file, or of the user's that a link leads to; empty for anything else,
    which is reported, unless it is missing or a directory."""
    try:
        is_link = S_ISLNK(Path(path).lstat().st_mode)
    except (OSError, ValueError):
        return ""
    with suppress(OSError):
        state = Path(path).stat()
        if S_ISREG(state.st_mode) and (not is_link or state.st_uid == os.geteuid()):
            return f"{state.st_size}-{state.st_mtime_ns}"
        if not is_link and S_ISDIR(state.st_mode):
            return ""
    cannot_read(path, "a link that leads to no file of yours" if is_link else "not a regular file")
    return ""


def is_in_use(path: Path) -> bool:
    """Return whether a session's file was changed so lately that its program may still run.

    Raises:
        OSError: it is no file, or cannot be read.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    return abs(time.time() - path.stat().st_mtime) < _RUNNING
