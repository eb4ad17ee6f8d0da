"""The values that a command of the shell is given: variables of its environment, never part of its text.

Invariant: a value is an argument at most. Where the command would run it, and where its name means something
to bash or to programs, the call is refused.
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
from cogency_tui.temporary import make_directory
from cogency_tui.tools.blocking import in_thread
from cogency_tui.tools.shell_code import runs_unwritten

LONGEST = 1 << 17
"""Bytes of a variable that the system allows, with its name and the zero at its end (Linux)."""

_SHOWN = 200
_NUMBER = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")
_RESERVED = re.compile(r"(?:ld|dyld|bash|npm_config)_.*|.*_proxy|histchars|auto_resume", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Given:
    """What a command is given: variables, and what its result says of them."""

    environ: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])


def check(command: str, values: Mapping[str, str]) -> None:
    """See that the values can be given to the command.

    Raises:
        ToolError: one has a name that is taken, or cannot be given at all, or would be run.
    """
    for name, value in values.items():
        if name in os.environ or name == name.upper() or _RESERVED.fullmatch(name):
            raise ToolError(
                f"${name} cannot be given to a command: bash or programs may act on a variable of that name.",
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
    if names and (runner := runs_unwritten(command, names)):
        raise ToolError(
            f"A value cannot be run as a command, and {runner} would run what is not written out here.",
            "Write the value to a file and look at it first. As an argument it stands in double quotes: "
            f'"${names[0]}".',
        )


def shown(command: str, values: Mapping[str, str]) -> str:
    """The command with the values that it is given, for a question; other values are another text."""
    if not values:
        return command
    lines = [f"  {name} = {_shown(value)}" for name, value in values.items()]
    return "\n".join([command, "", "with these values in its environment:", *lines])


@asynccontextmanager
async def given(values: Mapping[str, str], place: tuple[Path, Path]) -> AsyncGenerator[Given, None]:
    """The variables of a command. Those that are too long are files below `place`, until it has ended.

    `place` is a directory, and where the command sees it.
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
    """The beginning of a value on one line; a longer one is told apart by its digest."""
    text = json.dumps(value[:_SHOWN], ensure_ascii=False)
    if len(value) <= _SHOWN:
        return text
    digest = hashlib.sha256(os.fsencode(value)).hexdigest()[:32]
    return f"{text} … ({len(value):,} characters, SHA-256 {digest}…)"
