"""`edits show --patch` and `edits blame`: a patch of the agent's edits that are not reverted, and the
origin of each line.
"""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.blame import Blame, Blamed, blame_of
from cogency_tui.agent.review.patch_export import Patch
from cogency_tui.agent.review.review import Review
from cogency_tui.cli.edits_output import name_of
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import reveal
from cogency_tui.store.events import title_of
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.workspace.paths import Workspace

_PROMPT = 32
"""Characters of a prompt beside each line."""


async def print_patch(store: Store, project: Path, named: str | None, turn: int | None) -> int:
    """Print a patch of a conversation's edits, or of a turn's, that are not reverted; by default of the
    latest conversation here.

    Raises:
        UsageError: there is no such conversation, or nothing was changed.
    """
    conversation = await _conversation(store, project, named)
    journal = _journal(store, Path(conversation.project))
    patch = await Review(journal, _opened(store), conversation.id).patch(turn)
    _write(patch)
    for each in patch.left_out:
        talk(f"Not in the patch: {reveal(each)}.")
    if not patch.files:
        talk("No kept changes can be expressed as a patch.")
    return 0


async def print_blame(store: Store, project: Path, file: str, *, as_json: bool) -> int:
    """Print the lines of a file, or one line, with the agent's edit that each came from.

    Raises:
        UsageError: it has no such line.
        WorkspaceError: there is no such text file.
    """
    name, line = _split(project, file)
    workspace = Workspace(project)
    path = workspace.name_of(Path(os.path.realpath(project / name)))
    blame = await blame_of(_journal(store, project), store, path)
    if line is not None and not 0 < line <= len(blame.lines):
        raise UsageError(f"{name_of(path)} has {len(blame.lines):,} lines; there is no line {line}.")
    for each in blame.lines if line is None else [blame.lines[line - 1]]:
        if as_json:
            print_json(_value(each, blame))
        else:
            print_text(_line(each, blame))
    return 0


def _split(project: Path, file: str) -> tuple[str, int | None]:
    """A file, and the line number after its last colon, unless that is part of its name."""
    name, colon, number = file.rpartition(":")
    if colon and name and number.isdecimal() and not (project / file).exists():
        return name, int(number)
    return file, None


def _value(line: Blamed, blame: Blame) -> Mapping[str, Any]:
    edit = line.edit
    if edit is None:
        return {"line": line.line, "text": line.text, "edit": None}
    return {
        "line": line.line,
        "text": line.text,
        "edit": edit.id,
        "conversation": edit.origin.conversation,
        "turn": edit.origin.turn,
        "prompt": blame.prompts.get((edit.origin.conversation, edit.origin.turn), ""),
        "caller": edit.origin.caller,
        "call": edit.call,
        "tool": edit.tool,
        "timestamp": edit.timestamp,
        "possibly_users": edit.is_possibly_users,
    }


def _line(line: Blamed, blame: Blame) -> str:
    edit = line.edit
    if edit is None:
        origin = ""
    else:
        prompt = title_of(blame.prompts.get((edit.origin.conversation, edit.origin.turn), ""))
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(edit.timestamp))
        what = f"edit {edit.id}  turn {edit.origin.turn}  {edit.tool}{'?' * edit.is_possibly_users}"
        origin = f"{when}  {what:<26}  {reveal(prompt)[:_PROMPT]}"
    return f"{line.line:>6}  {origin:<{_PROMPT + 46}}  {reveal(line.text)}"


def _write(patch: Patch) -> None:
    """Write the patch as its very bytes; on a terminal, as revealed text."""
    if sys.stdout.isatty():
        print_text(reveal(patch.data.decode("utf-8", "replace")))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(patch.data)
    sys.stdout.buffer.flush()


async def _conversation(store: Store, project: Path, named: str | None) -> StoredConversation:
    found = await (store.latest(str(project)) if named is None else store.resolve(named))
    if found is None:
        raise UsageError(f"No conversation in {name_of(str(project))}.", "Specify one with --conversation.")
    return found


def _journal(store: Store, project: Path) -> Journal:
    return Journal(Workspace(project), _opened(store))


def _opened(store: Store) -> Callable[[], Awaitable[Store]]:
    async def opened() -> Store:
        return store

    return opened
