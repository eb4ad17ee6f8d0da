"""The values of a command's variables, passed in its environment and never as part of its text.

Invariant: a value is an argument at most. A call is refused where the command would run the value, or where
its name has a meaning for bash or for programs.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.errors import ToolError
from cogency_tui.temporary_files import make_directory
from cogency_tui.tools.worker_threads import in_thread

LONGEST = 1 << 17
"""Most bytes of a variable that the system allows, with its name and the final zero (Linux)."""

_SHOWN = 200
_NUMBER = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")
_RESERVED = re.compile(r"(?:ld|dyld|bash|npm_config)_.*|.*_proxy|histchars|auto_resume", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Given:
    """Variables for a command, and notes on them for its result."""

    environ: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])


def check(command: str, values: Mapping[str, str]) -> None:
    """Check that the values can be passed to the command.

    Raises:
        ToolError: one has a reserved name, or cannot be passed at all, or would be run.
    """
    for name, value in values.items():
        if name in os.environ or name == name.upper() or _RESERVED.fullmatch(name):
            raise ToolError(
                f"${name} cannot be passed to a command: a variable of that name may affect bash or "
                "programs.",
                "Choose another output_key, in lower case.",
            )
        try:
            os.fsencode(value)
        except UnicodeEncodeError:
            raise ToolError(
                f"The value of ${name} has a lone surrogate, which is half a character."
            ) from None
    # A number is no command, whatever evaluates it.
    names = [name for name, value in values.items() if not _NUMBER.fullmatch(value)]
    if not names:
        return
    from cogency_tui.tools.shell.dynamic_code import runs_unwritten

    if runner := runs_unwritten(command, names):
        raise ToolError(
            f"A value cannot be run as a command, and {runner} would run text that is not visible here.",
            "Write the value to a file and check it first. As an argument write it in double quotes: "
            f'"${names[0]}".',
        )


def described(command: str, values: Mapping[str, str]) -> str:
    """Return the command with its values, for a question; other values give another text."""
    if not values:
        return command
    lines = [f"  {name} = {_shown(value)}" for name, value in values.items()]
    return "\n".join([command, "", "with these values in its environment:", *lines])


@asynccontextmanager
async def given(values: Mapping[str, str], place: tuple[Path, Path]) -> AsyncGenerator[Given, None]:
    """Yield the variables of a command. Values that are too long are files below `place`, until it has
    ended.

    `place` is a directory, and its path as the command sees it.
    """
    found = Given()
    directory: Path | None = None
    try:
        for name, value in values.items():
            if "\0" not in value and len(os.fsencode(f"{name}={value}\0")) <= LONGEST:
                found.environ[name] = value
                continue
            if directory is None:
                directory = make_directory("values", place[0])
            await in_thread(_write, directory / name, value)
            found.environ[name] = str(place[1] / directory.name / name)
            why = "holds a NUL character" if "\0" in value else "is too long for a variable"
            found.notes.append(f"[${name} {why}: it was the name of a file with the value]")
        yield found
    finally:
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)


def _write(path: Path, value: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as file:  # noqa: PTH123 (a handle, not a path)
        file.write(os.fsencode(value))


def _shown(value: str) -> str:
    """Return the beginning of a value on one line; a longer one is identified by its digest."""
    text = json.dumps(value[:_SHOWN], ensure_ascii=False)
    if len(value) <= _SHOWN:
        return text
    digest = hashlib.sha256(os.fsencode(value)).hexdigest()[:32]
    return f"{text} … ({len(value):,} characters, SHA-256 {digest}…)"
