"""Imports the sessions of other agents, as their readers find them: checked, and only what is new."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from stat import S_ISREG
from typing import Any, cast

import msgspec

from cogency_tui.agent.importers.records import in_words, note_unread
from cogency_tui.agent.importers.session import Reader, Session, SessionFile
from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.redaction import ConversationSecrets
from cogency_tui.store import foreign_sessions
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.export_import import checked_event, is_portable, require_amounts, require_project
from cogency_tui.store.foreign_sessions import AGENTS, ForeignConversation, Stored
from cogency_tui.store.store import Store

READERS: Mapping[str, tuple[str, str]] = {
    "claude-code": ("claude_code", "ClaudeCode"),
    "codex": ("codex", "Codex"),
    "opencode": ("opencode", "Opencode"),
    "gemini": ("gemini", "Gemini"),
    "vibe": ("vibe", "Vibe"),
    "pi": ("pi", "Pi"),
}
"""The modules and classes of the readers, by the names of their agents."""

_FILE_MODE = 0o644
_PERMISSIONS = 0o777
_LONGEST_KEY = 256
_LONGEST_LINE = 4_096
_MOST_NAMED = 100
_DEEPEST = 20
"""Levels of sub-agents that are told apart."""


@dataclass(slots=True)
class Tally:
    """What an import of the agent `name` has come to: sessions that were read or left as they are
    (`unchanged`), that could not be read at all (`unread`, as folders), or are of another project
    (`elsewhere`); new `conversations` and `events`; the counts of records that were not understood, and of
    texts that were `cut`; and the places of all these.
    """

    name: str
    sessions: int = 0
    unchanged: int = 0
    unread: int = 0
    elsewhere: int = 0
    conversations: int = 0
    events: int = 0
    unknown: int = 0
    cut: int = 0
    problems: list[str] = field(default_factory=list[str])

    @property
    def title(self) -> str:
        """The name of the agent for the user."""
        return AGENTS.get(self.name, self.name)


def create_reader(name: str) -> Reader:
    """Create the reader of an agent's sessions."""
    module, kind = READERS[name]
    reader: Reader = getattr(import_module(f"cogency_tui.agent.importers.{module}"), kind)()
    return reader


class Importer:
    """Imports sessions into a store, from where the agents keep them under `home`; of one `project` with its
    worktrees, or of all.
    """

    def __init__(
        self, store: Store, blobs: Blobs, home: Path, environment: Mapping[str, str], project: Path | None
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._home = home
        self._environment = environment
        self._project = project
        self._mains: dict[str, str] = {}

    async def run(self, name: str, *, dry: bool = False) -> AsyncIterator[Tally]:
        """Import the sessions of the agent `name`; yield the tally after each. A `dry` run stores nothing,
        and reads what was imported as well, so that all that is not understood is named.

        Raises:
            StoreError: the store cannot be read or written.
        """
        reader, tally = create_reader(name), Tally(name)
        known = await self._store.database.read(lambda connection: foreign_sessions.stamps(connection, name))
        files, unread = await asyncio.to_thread(self._files, reader)
        tally.unread += len(unread)
        tally.problems += unread
        below: list[tuple[SessionFile, Session]] = []
        for file in files:
            if not dry and known.get((str(file.path), file.id)) == file.stamp:
                tally.unchanged += 1
                continue
            session = await self._read(reader, file, tally)
            if session is None:
                continue
            if not await self._is_wanted(session):
                tally.elsewhere += 1
                continue
            if session.parent and session.call:
                # Stored after the conversation that started it.
                below.append((file, session))
                continue
            await self._take(name, file, session, tally, dry=dry)
            yield tally
        for file, session in _callers_first(below):
            await self._take(name, file, session, tally, dry=dry)
            yield tally
        yield tally

    def _files(self, reader: Reader) -> tuple[list[SessionFile], list[str]]:
        """Return the stored sessions, and the places that cannot be read. Blocks."""
        with note_unread() as unread:
            return [*reader.files(self._home, self._environment)], unread

    async def _read(self, reader: Reader, file: SessionFile, tally: Tally) -> Session | None:
        """Read a session; None for a file that holds none, or none that can be read."""
        try:
            session = await asyncio.to_thread(reader.read, file)
        except OSError as exc:
            problem = exc.strerror or str(exc)
        else:
            if session is None or session.events or not session.unknown:
                return session
            problem = session.unknown[0]
        tally.unread += 1
        tally.problems.append(f"{file.path}: {problem}")
        return None

    async def _is_wanted(self, session: Session) -> bool:
        if self._project is None:
            return True
        if not session.project:
            return False
        return await self._main_of(session.project) == await self._main_of(str(self._project))

    async def _main_of(self, project: str) -> str:
        if project not in self._mains:
            with suppress(ValueError, OSError):
                self._mains[project] = await self._store.main_project(str(Path(project).resolve()))
        return self._mains.get(project, project)

    async def _take(self, name: str, file: SessionFile, session: Session, tally: Tally, *, dry: bool) -> None:
        given = await asyncio.to_thread(self._checked, name, session, dry=dry)
        if given is not None:
            # Calls that still run have their results later, or none: the session is read again.
            stored = await self._stored(given, file, is_complete=not session.has_open_calls, dry=dry)
            tally.conversations += stored.is_new and not given.call
            tally.events += stored.events
        tally.sessions += 1
        tally.unknown += session.unknown_count
        tally.cut += session.cut_count
        room = max(0, _MOST_NAMED - len(tally.problems))
        tally.problems += [f"{file.path}: {problem}" for problem in session.unknown[:room]]

    async def _stored(
        self, given: ForeignConversation, file: SessionFile, *, is_complete: bool, dry: bool
    ) -> Stored:
        database = self._store.database
        if dry:

            def compare(connection: Any) -> Stored:
                compared = foreign_sessions.compare(connection, given)
                fresh = len(compared.fresh)
                return Stored("", compared.conversation is None and fresh > 0, fresh)

            return await database.read(compare)
        await asyncio.to_thread(self._blobs.sync)

        def work(connection: Any) -> Stored:
            stored = foreign_sessions.store(connection, given)
            if is_complete:
                foreign_sessions.note_stamp(connection, given.source, str(file.path), file.id, file.stamp)
            return stored

        return await database.write(work)

    def _checked(self, name: str, session: Session, *, dry: bool) -> ForeignConversation | None:
        """Convert a session to what can be stored of it; what cannot is counted in the session. Blocks."""
        now = time.time()
        project = session.project[: _LONGEST_LINE + 1]
        try:
            if len(project) > _LONGEST_LINE:
                raise ValueError("too long")
            require_project(project)
        except ValueError:
            # Such conversations are found in all projects.
            project = "/"
        if not dry:
            session.count_lines()
        events = [*_checked_events(session, now)]
        if not events or len(session.id) > _LONGEST_KEY or not session.id:
            return None
        usage = [*_checked_usage(session, now)]
        secrets = ConversationSecrets(() if dry else (event for _, event in events))
        edits = [] if dry else [*self._checked_edits(session, project, now, secrets)]
        return ForeignConversation(
            source=name,
            original=session.id,
            file=session.file,
            project=project,
            title=_short(session.title, _LONGEST_LINE),
            model=_short(session.model, _LONGEST_KEY),
            provider=_short(session.provider or name, _LONGEST_KEY),
            branch=_short(session.branch, _LONGEST_LINE),
            parent=session.parent,
            call=session.call,
            events=events,
            usage=usage,
            edits=edits,
            secrets=secrets,
        )

    def _checked_edits(
        self, session: Session, project: str, now: float, secrets: ConversationSecrets
    ) -> Iterator[tuple[str, str, float, FileChange]]:
        tools = {event["id"]: event["tool"] for _, event in _pairs(session) if event["type"] == "result"}
        for edit in session.edits:
            path = edit.path.removeprefix(f"{project.rstrip('/')}/")
            if not is_portable(path) or edit.call not in tools or not session.project:
                continue
            mode = _mode_of(Path(project, path))
            before, after = (
                self._version(content, mode, path, secrets) for content in (edit.before, edit.after)
            )
            yield (
                edit.call,
                tools[edit.call][:_LONGEST_KEY],
                min(edit.timestamp, now),
                FileChange(path, before, after),
            )

    def _version(self, content: bytes | None, mode: int, path: str, secrets: ConversationSecrets) -> Version:
        """Store a content of the file at `path`; of one with secrets, only its size is known."""
        if content is None:
            return ABSENT
        if secrets.are_in_file(content.decode("utf-8", "replace"), path):
            return Version("file", size=len(content), mode=mode)
        return self._blobs.version(content, mode)


def _mode_of(path: Path) -> int:
    """Return the present mode of a file, as no agent records that of its edits."""
    with suppress(OSError, ValueError):
        state = path.lstat()
        if S_ISREG(state.st_mode):
            return state.st_mode & _PERMISSIONS
    return _FILE_MODE


def _callers_first(below: Sequence[tuple[SessionFile, Session]]) -> list[tuple[SessionFile, Session]]:
    """Order sub-agents so that each comes after that whose call started it."""
    parents = {session.id: session.parent for _, session in below}

    def depth(session: Session) -> int:
        seen: set[str] = set()
        id = session.parent
        while id in parents and id not in seen and len(seen) < _DEEPEST:
            seen.add(id)
            id = parents[id]
        return len(seen)

    return sorted(below, key=lambda each: depth(each[1]))


def _pairs(session: Session) -> Iterable[tuple[str, Event]]:
    return ((each.key, each.event) for each in session.events)


def _checked_events(session: Session, now: float) -> Iterator[tuple[str, Event]]:
    """Yield the events that can be stored; each call with its result, or not at all."""
    left_out: set[str] = set()
    for key, event in _pairs(session):
        id = event.get("id", "")
        if event["type"] == "result" and id in left_out:
            continue
        try:
            if len(key) > _LONGEST_KEY:
                raise ValueError("its id is too long")
            yield key, checked_event(event, now)
        except (ValueError, TypeError, KeyError, RecursionError) as exc:
            session.skip(key[:80], in_words(exc))
            if event["type"] == "call":
                left_out.add(id)


def _checked_usage(session: Session, now: float) -> Iterator[tuple[str, float, Measure]]:
    for usage in session.usage:
        try:
            msgspec.convert(usage.measure, Measure)
            require_amounts(usage.measure)
            json.dumps(usage.measure)
        except (ValueError, TypeError) as exc:
            session.skip(usage.key[:80], in_words(exc))
        else:
            texts = {
                name: _short(value, _LONGEST_KEY)
                for name, value in usage.measure.items()
                if isinstance(value, str)
            }
            measure = cast("Measure", {**usage.measure, **texts})
            yield usage.key, min(usage.timestamp, now), measure


def _short(text: str, most: int) -> str:
    """A text on one line, without control characters, of at most so many characters."""
    return "".join(character if character.isprintable() else " " for character in text[:most]).strip()


async def survey(
    store: Store, blobs: Blobs, home: Path, environment: Mapping[str, str], names: Sequence[str]
) -> list[Tally]:
    """Return what there is to import of these agents, of all projects."""
    importer = Importer(store, blobs, home, environment, None)
    found: list[Tally] = []
    for name in names:
        tally = Tally(name)
        with suppress(StoreError):
            async for each in importer.run(name, dry=True):
                tally = each
        if tally.events:
            found.append(tally)
    return found
