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
from cogency_tui.errors import ConfigError, StoreError
from cogency_tui.store.store import StoredConversation

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

Form: TypeAlias = Literal["md", "html", "jsonl"]

FORMS: Mapping[Form, tuple[str, str]] = {
    "md": ("Markdown", "readable, tool calls collapsed"),
    "html": ("HTML", "one self-contained page in the colors of the theme"),
    "jsonl": ("JSON Lines", "everything, for `cogency-tui import`"),
}
"""The name of each format, and its purpose."""

_NAME_LENGTH = 50


def directory_of(agent: "Agent") -> Path:
    """The directory of exports: beside the store, so that none enters a repository by accident."""
    return agent.data / "exports"


async def export(agent: "Agent", conversation: StoredConversation, form: Form, theme: str) -> Path:
    """Write a conversation into a new file; return its path.

    Raises:
        CogencyError: the conversation cannot be read, or the file cannot be written.
    """
    if form == "jsonl":
        text = "".join(f"{line}\n" for line in await agent.recall.export_lines(conversation.id))
    else:
        store = await agent.store()
        events = await store.events(conversation.id)
        if form == "md":
            from cogency_tui.agent.export import as_markdown

            text = await asyncio.to_thread(as_markdown, conversation, events)
        else:
            from cogency_tui.agent.export import as_page

            text = await asyncio.to_thread(as_page, conversation, events, _theme_of_page(theme))
    name = f"{_name_of(conversation.title)}-{conversation.id[:8]}"
    return await asyncio.to_thread(_write, directory_of(agent), name, form, text)


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
    try:
        private_files.make_directory(directory)
        number = 1
        while True:
            path = directory / (f"{name}.{form}" if number == 1 else f"{name}-{number}.{form}")
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                number += 1
                continue
            try:
                with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                    file.write(text)
            except OSError:
                # An incomplete file could be mistaken for a complete one.
                with suppress(OSError):
                    path.unlink()
                raise
            return path
    except OSError as exc:
        full = exc.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StoreError(
            f"Cannot write the export to {directory}: {exc.strerror or exc}.",
            "Free some space there." if full else "Choose a directory that you can write to.",
        ) from exc
