"""Exports of past conversations into new files of the user's."""

import asyncio
import errno
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from cogency_tui import private_files
from cogency_tui.config.themes import DEFAULT, load_palette
from cogency_tui.errors import ConfigError, StoreError, UsageError
from cogency_tui.store.store import StoredConversation
from cogency_tui.workspace.protected_names import short_path

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

Form: TypeAlias = Literal["md", "html", "jsonl"]

FORMS: Mapping[Form, tuple[str, str]] = {
    "md": ("Markdown", "readable, tool calls collapsed"),
    "html": ("HTML", "one self-contained page, themed"),
    "jsonl": ("JSON Lines", "everything, for `cogency-tui import`"),
}
"""The name of each format, and its purpose."""

_NAME_LENGTH = 50


def read_destination(argument: str, directory: Path) -> tuple[Form, Path | None] | None:
    """The format and the file, relative to `directory`, of `[md|html|jsonl] [FILE]`; None if it is empty.

    Raises:
        UsageError: the name of the file implies no format.
    """
    first, _space, rest = argument.partition(" ")
    form, name = _form(first), rest.strip()
    if form is None:
        name = argument
        form = _form(Path(name).suffix.removeprefix("."))
    if not argument:
        return None
    if form is None:
        raise UsageError(
            f"Unknown format: {name}.", f"Use one of {', '.join(FORMS)}, then a file if you like."
        )
    return form, directory / Path(name).expanduser() if name else None


def _form(name: str) -> Form | None:
    return next((form for form in FORMS if form == name), None)


def directory_of(agent: "Agent") -> Path:
    """The directory of exports: beside the store, so that none enters a repository by accident."""
    return agent.data / "exports"


async def export(
    agent: "Agent", conversation: StoredConversation, form: Form, theme: str, path: Path | None = None
) -> Path:
    """Write a conversation into a new file, at `path` or else in the directory of exports; return its path.

    Raises:
        CogencyError: the conversation cannot be read, or the file exists or cannot be written.
    """
    text = await _text_of(agent, conversation, form, theme)
    if path is not None:
        return await asyncio.to_thread(_write_new, path, text)
    name = f"{_name_of(conversation.title)}-{conversation.id[:8]}"
    return await asyncio.to_thread(_write, directory_of(agent), name, form, text)


async def _text_of(agent: "Agent", conversation: StoredConversation, form: Form, theme: str) -> str:
    if form == "jsonl":
        return "".join(f"{line}\n" for line in await agent.recall.export_lines(conversation.id))
    from cogency_tui.agent.export import as_markdown, as_page

    events = await (await agent.store()).events(conversation.id)
    if form == "md":
        return await asyncio.to_thread(as_markdown, conversation, events)
    return await asyncio.to_thread(as_page, conversation, events, _theme_of_page(theme))


def _theme_of_page(theme: str) -> str:
    """A theme with colors of its own: a page has no access to those of a terminal."""
    try:
        return DEFAULT if load_palette(theme).ansi else theme
    except ConfigError:
        return DEFAULT


def _name_of(title: str) -> str:
    words = re.sub(r"[^\w]+", "-", title.casefold()[: 4 * _NAME_LENGTH]).strip("-_")
    return words[:_NAME_LENGTH].rstrip("-") or "conversation"


def _write(directory: Path, name: str, form: Form, text: str) -> Path:
    """Write into a file of `directory` that does not exist yet."""
    try:
        private_files.make_directory(directory)
        number = 1
        while (path := directory / (f"{name}.{form}" if number == 1 else f"{name}-{number}.{form}")).exists():
            number += 1
        _create(path, text)
        return path
    except OSError as exc:
        raise _cannot_write(directory, exc) from exc


def _write_new(path: Path, text: str) -> Path:
    """Write into the file at `path`, which must not exist."""
    try:
        _create(path, text)
    except FileExistsError as exc:
        raise StoreError(f"{short_path(path)} exists already.", "Choose another name.") from exc
    except OSError as exc:
        raise _cannot_write(path.parent, exc) from exc
    return path


def _create(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        # An incomplete file could be mistaken for a complete one.
        with suppress(OSError):
            path.unlink()
        raise


def _cannot_write(directory: Path, exc: OSError) -> StoreError:
    full = exc.errno in (errno.ENOSPC, errno.EDQUOT)
    return StoreError(
        f"Cannot write the export to {short_path(directory)}: {exc.strerror or exc}.",
        "Free some space there." if full else "Choose a directory that you can write to.",
    )
