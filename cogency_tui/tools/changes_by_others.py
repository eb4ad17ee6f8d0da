"""Tells the model what others have changed in a file since it knew the content: who, when, and which lines.

Others are the user, other conversations, sub-agents, and programs outside of this one.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.protocol.events import ChangedBy
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import one_line
from cogency_tui.tools.journal_protocol import ByOthers
from cogency_tui.tools.seen_files import Seen, fingerprint
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.paths import Location
from cogency_tui.workspace.text_files import decode

if TYPE_CHECKING:
    from cogency_tui.tools.base import ToolContext

_MOST_LINES = 60
_MOST_CHARACTERS = 3_000
"""Those of a diff that is shown; a longer one is left out as a whole."""

_LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True)
class Report:
    """What others have changed in a file: a sentence for the model, one for the user, and the lines, if they
    are few. `whole`: with these lines the model knows the content."""

    location: Location
    changes: Sequence[ChangedBy]
    sentence: str
    brief: str
    lines: str
    whole: bool

    @property
    def text(self) -> str:
        """All that the model is sent."""
        return f"{self.sentence}\n{self.lines}" if self.lines else self.sentence


async def report_of(
    context: "ToolContext", location: Location, content: bytes | None, since: Seen | None = None
) -> Report | None:
    """Report what others have changed in a file of this `content` since the model knew it, or `since` that
    was there; None if nobody has, as far as it is known, or the model has been sent that report."""
    seen, digest = since or context.seen.get(location.path, context.cycle), fingerprint(content or b"")
    known = seen is not None and seen.digest == digest
    if context.journal is None or known or context.seen.is_reported(location.path, digest):
        return None
    try:
        found = await context.journal.changed_by_others(location.path, seen, content)
    except StoreError:
        found = ByOthers()
    if not found.changes:
        return None
    sentence = f"{location.relative} {_described(found, time.time())}, after you {_knew(seen)} it."
    brief = f"{location.relative} {_described(found)}, after the agent {_knew(seen)} it."
    lines = await in_thread(_lines, found.before, content, location.relative, context)
    # What its own commands have changed the model has not read.
    whole = bool(lines) and not found.after_own
    return Report(location, found.changes, sentence, brief, lines, whole)


def _knew(seen: Seen | None) -> str:
    return "read" if seen is not None else "last changed"


def _described(found: ByOthers, now: float | None = None) -> str:
    """Who has changed the file, and before `now` how long ago: `changed in "fix parser" 2 min ago`."""
    parts = [_author(each) + (f" {ago(now - each['at'])}" if now else "") for each in found.changes]
    return f"{found.verb} {' and '.join(parts)}"


def _author(change: ChangedBy) -> str:
    title = one_line(change["title"])
    title = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
    match change["by"]:
        case "conversation":
            return f'in "{title}"' if title else "in another conversation"
        case "subagent":
            return f'by the sub-agent "{title}"' if title else "by a sub-agent"
        case "command":
            return f'possibly by a command that runs in "{title}"'
        case "background":
            return "by the user or by a background command"
        case "user":
            return f'by the user in "{title}"' if title else "by the user"
        case _:
            return "by hand or by another program"


def ago(seconds: float) -> str:
    """`just now`, `20 s ago`, `2 min ago`, `3 h ago`, `2 days ago`."""
    if seconds < 1:
        return "just now"
    if seconds < 60:
        return f"{seconds:.0f} s ago"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    days = int(seconds // 86_400)
    return f"{seconds // 3600:.0f} h ago" if days < 2 else f"{days} days ago"


def _lines(before: bytes | None, now: bytes | None, name: str, context: "ToolContext") -> str:
    """The lines that were changed, with those beside them; empty if they are too many, or not known."""
    if before is None or now is None:
        return ""
    redact = partial(Redactor(context.secrets, context.known).text, file=name)
    try:
        body = diff.body(decode(before, name).plain, decode(now, name).plain, 1, shown=redact)
    except WorkspaceError:
        return ""
    is_short = len(body) <= _MOST_CHARACTERS and body.count("\n") <= _MOST_LINES
    return body if is_short else ""
