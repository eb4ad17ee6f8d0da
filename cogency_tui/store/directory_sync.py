"""The exchange of conversations with other stores through a directory of bundles, which another program
carries between machines.

What is in the directory decides what is sent: the position of a conversation is the end of its increments in
our bundles that are there, so a bundle that is lost or cut off is made up for by a new one, and each
directory has all. Nothing depends on clocks, on the order in which files arrive, or on their names.

Invariant: a bundle is noted before it appears under its name, and never changed or removed. A bundle is noted
as received once all of it is stored. So a process can be killed anywhere: the next one goes on, and stores
nothing twice.
"""

import errno
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

import msgspec

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.file_lock import file_lock
from cogency_tui.protocol.events import Event
from cogency_tui.store import copied_stores, increments, origins
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.bundles import (
    LONGEST_AFTER,
    MOST_RETRACTED,
    SUFFIX,
    BrokenBundleError,
    BundleFile,
    BundleWriter,
    Head,
    Part,
    SyncKey,
    identified,
    opened_bundle,
)
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import store_error
from cogency_tui.store.export_import import ConversationRecord, EventRecord, decoded_record, parsed_line
from cogency_tui.store.increments import (
    START,
    IncrementHead,
    Position,
    Taken,
    content_digest,
    outgoing,
    own_conversations,
)
from cogency_tui.store.origins import Origin
from cogency_tui.store.store import Store, new_conversation_id
from cogency_tui.temporary_files import is_abandoned, prefix

BUNDLE_SIZE = 16 << 20
"""Compressed bytes after which the next increment begins another bundle."""

_LOCK = "sync.lock"
AGAIN = "It is tried again next time. If it stays so, delete it: its owner then sends what it had."
"""The advice about a file that cannot be read."""

_FORGED = "it has the name of this machine, and neither this one nor a copy of it wrote it. Delete it."
_MOST_REFUSED = 100
"""Invalid increments of a bundle after which the rest of it is not read."""

_PATIENCE = 10.0
_FORGOTTEN = 3600.0
"""Seconds without a change after which the unfinished file of a process that is gone is removed. The process
may be one of another machine that shares the directory."""

Progress = Callable[[str], object]


@dataclass(slots=True)
class Exchange:
    """The result of a sync.

    `sent` and `received` count new events by the user's conversation; `owners` are the names of the stores
    that received ones are from. `problems` are sentences; `waiting` counts bundles that need another one
    which has not arrived, `foreign` those with another key. `copied` is set if the store was found to be a
    copy of another one, and got a new origin; `ceded` counts the conversations that belong to the other one
    since.
    """

    sent: dict[str, int] = field(default_factory=dict[str, int])
    received: dict[str, int] = field(default_factory=dict[str, int])
    owners: list[str] = field(default_factory=list[str])
    bundles: int = 0
    problems: list[str] = field(default_factory=list[str])
    waiting: int = 0
    foreign: int = 0
    copied: bool = False
    ceded: int = 0


class _CopiedStoreError(Exception):
    """A copy of our store has sent with our origin, and keeps it."""


class _RereadError(Exception):
    """Bundles of an origin that were received have what was not stored, and is needed now."""


class DirectorySync:
    """The exchange of a store with a directory.

    With `dry`, it only counts; `accept_other_key` allows bundles of our key beside those of another one.
    `progress` receives sentences from time to time.
    """

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        directory: Path,
        key: SyncKey,
        *,
        dry: bool = False,
        accept_other_key: bool = False,
        progress: Progress = lambda _: None,
    ) -> None:
        self._database = store.database
        self._data = store.database.path.parent
        self._blobs = blobs
        self._directory = directory
        self._key = key
        self._tag = key.tag
        self._dry = dry
        self._accept_other_key = accept_other_key
        self._progress = progress
        self._broken: dict[str, str] = {}
        """Sentences about files, by their names."""
        self._seen: dict[tuple[str, int, int], BundleFile | None] = {}
        """Files by their names, sizes and times."""
        self._heads: dict[BundleFile, Head] = {}
        self._failed: dict[BundleFile, str] = {}
        """Sentences about bundles that could not be read, and are not tried again until they change."""
        self._settled: object = None
        """The state of the store and the directory in which nothing was left to send."""
        self._reached: dict[tuple[str, str], int] = {}
        """Numbers of events that a dry run has counted, by origins and ids."""
        self._contents: dict[str, dict[str, dict[int, bytes | None]]] = {}
        """The digests of all that origins have sent, where they were needed in this run."""
        self._reread: set[tuple[str, str]] = set()
        """Origins and ids of conversations for which bundles were read again."""

    async def run(self, *, send: bool = True) -> Exchange:
        """Receive what is new, and then `send` what others lack.

        Raises:
            UsageError: the directory cannot be used, has bundles of another key only, or is in use.
        """
        found = Exchange()
        self._broken, self._contents = {}, {}
        with self._locked() as alone:
            if not alone:
                raise UsageError("Another `cogency-tui sync` is running.", "Wait until it ends.")
            files = self._listed()
            self._require_key(files)
            found.foreign = sum(file.tag != self._tag for file in files)
            ours = [file for file in files if file.tag == self._tag]
            await self._receive_all(ours, found)
            if send:
                await self._send_new(ours, found)
            for counts in (found.sent, found.received):
                await self._database.read(partial(_fold, counts))
        found.problems[:0] = self._broken.values()
        return found

    @contextmanager
    def _locked(self) -> Generator[bool]:
        with ExitStack() as held:
            try:
                alone = held.enter_context(file_lock(self._data / _LOCK, _PATIENCE))
            except OSError as exc:
                raise store_error(exc, self._data / _LOCK) from exc
            yield alone

    def _listed(self) -> list[BundleFile]:
        """Return the bundles in the directory, in an order in which few wait for another one."""
        found: list[BundleFile] = []
        try:
            with os.scandir(self._directory) as entries:
                stamps = [
                    (entry.name, status.st_size, status.st_mtime_ns)
                    for entry in entries
                    if entry.is_file(follow_symlinks=False)
                    and (status := _status(entry)) is not None
                    and not entry.name.startswith(".")
                ]
        except OSError as exc:
            hint = "Pass an existing directory."
            if isinstance(exc, PermissionError):
                hint = f"chmod u+rwx {self._directory}"
            raise UsageError(f"{self._directory} cannot be read: {exc.strerror}.", hint) from exc
        seen: dict[tuple[str, int, int], BundleFile | None] = {}
        for stamp in stamps:
            name = stamp[0]
            try:
                file = self._seen[stamp] if stamp in self._seen else identified(self._directory / name)
                seen[stamp] = file
            except FileNotFoundError:
                continue
            except (OSError, BrokenBundleError) as exc:
                why = exc.strerror if isinstance(exc, OSError) else exc
                self._broken[name] = f"{name}: {why}. {AGAIN}"
                continue
            if file is not None:
                found.append(file)
        self._seen = seen
        return sorted(found, key=lambda file: (file.id, file.path.name))

    def _require_key(self, files: Iterable[BundleFile]) -> None:
        tags = {file.tag for file in files}
        if tags and self._tag not in tags and not self._accept_other_key:
            raise UsageError(
                f"The bundles in {self._directory} are encrypted with another key than this one.",
                "Pass theirs with --key FILE. --new-key writes with this one all the same.",
            )

    # What comes in.

    async def _receive_all(self, files: list[BundleFile], found: Exchange) -> None:
        while True:
            try:
                await self._receive_new(files, found)
            except _CopiedStoreError:
                found.copied = True
                if self._dry:
                    return
                await self._renew(files, found)
                continue
            except _RereadError:
                continue
            break
        if not self._dry:
            await self._database.write(increments.link)

    async def _receive_new(self, files: list[BundleFile], found: Exchange) -> None:
        """Receive the bundles that are not ours and not known, again while any of them has brought one on
        which others have waited."""
        own = await self._database.write(origins.own)
        await self._read_heads(files, own)
        known = await self._database.read(partial(_known, own=own))
        # A copy under the name of a bundle whose content is here needs no care.
        for name in [name for name in self._broken if any(id and name.startswith(id) for id in known)]:
            del self._broken[name]
        pending = [file for file in files if file.id not in known]
        while pending:
            waiting: list[BundleFile] = []
            done: set[str] = set()
            for number, file in enumerate(pending, 1):
                if file.id in done:
                    continue
                state = await self._receive(file, files, own, found)
                if state == "whole":
                    done.add(file.id)
                    for each in files:
                        if each.id == file.id:
                            self._broken.pop(each.path.name, None)
                elif state == "waits":
                    waiting.append(file)
                self._progress(f"Received {number:,} of {len(pending):,} bundles.")
            waiting = [file for file in waiting if file.id not in done]
            found.waiting = len({file.id for file in waiting})
            # Without a new whole bundle nothing has changed for those that wait.
            pending = waiting if done and not self._dry else []

    async def _receive(
        self, file: BundleFile, files: Iterable[BundleFile], own: Origin, found: Exchange
    ) -> str:
        """Store what is new in a bundle; return whether it is `whole`, `waits` for another or is `broken`."""
        if file in self._failed:
            self._broken[file.path.name] = self._failed[file]
            return "broken"
        waits, refused = False, 0
        try:
            with opened_bundle(file, self._key, self._data) as bundle:
                if await self._database.read(partial(_copies, [bundle.head], own)):
                    # It is of a copy that gives our origin up.
                    return "whole"
                if bundle.origin.id == own.id:
                    self._broken[file.path.name] = self._failed[file] = f"{file.path.name}: {_FORGED}"
                    return "broken"
                for part in bundle.parts():
                    try:
                        taken = await self._take(bundle.origin, part, files)
                    except (UsageError, ValueError) as exc:
                        refused += 1
                        self._broken[file.path.name] = f"{file.path.name}: {exc}"
                        if refused == _MOST_REFUSED:
                            break
                        continue
                    waits = waits or bool(taken.waits)
                    self._count(file, bundle.origin, taken, found)
                if not (waits or refused or self._dry):
                    await self._database.write(partial(_note_received, file.id, bundle.origin))
        except FileNotFoundError:
            return "broken"
        except BrokenBundleError as exc:
            again = "" if "newer" in str(exc) else f" {AGAIN}"
            self._broken[file.path.name] = self._failed[file] = f"{file.path.name}: {exc}.{again}"
            return "broken"
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreError(f"{self._data} is full.", "Free some space there.") from exc
            self._broken[file.path.name] = f"{file.path.name}: {exc.strerror}. {AGAIN}"
            return "broken"
        if refused:
            return "broken"
        return "waits" if waits else "whole"

    async def _take(self, origin: Origin, part: Part, files: Iterable[BundleFile]) -> Taken:
        if self._dry:
            return await self._database.read(partial(self._counted, origin, part))
        lines = part.lines()
        first = next(lines, "")
        head = await self._database.read(partial(_contested, origin, first))
        if head is not None:
            await self._collect_all(origin, files)

        def work(connection: sqlite3.Connection) -> Taken:
            if head is not None:
                sent = self._contents[origin.id]
                settled = copied_stores.settle(connection, origin, head.id, sent)
                if settled or copied_stores.settle_import(connection, origin, head, sent):
                    part.skip()
                    return Taken("")
            taken = increments.take(connection, self._blobs, origin, chain([first], lines))
            self._blobs.sync()
            return taken

        try:
            taken = await self._database.write(work)
        except StoreError as exc:
            if isinstance(exc.__cause__, sqlite3.IntegrityError):
                raise ValueError("it contradicts what is here") from exc
            raise
        if head is not None and taken.waits and (origin.id, head.id) not in self._reread:
            self._reread.add((origin.id, head.id))
            await self._database.write(partial(_forget_received, origin))
            raise _RereadError
        return taken

    async def _collect_all(self, origin: Origin, files: Iterable[BundleFile]) -> None:
        """Collect the digests of all that an origin has sent."""
        if origin.id in self._contents:
            return
        others = await self._database.read(partial(_of_others, origin))
        self._contents[origin.id] = self._collected(
            file for file in files if self._origin_of(file) == origin.id and file.id not in others
        )

    def _origin_of(self, file: BundleFile) -> str:
        head = self._head_of(file)
        return "" if head is None else head.origin

    def _head_of(self, file: BundleFile) -> Head | None:
        """Return the head of a bundle; None of one that cannot be read."""
        if file not in self._heads:
            with suppress(BrokenBundleError, OSError), opened_bundle(file, self._key, self._data) as bundle:
                self._heads[file] = bundle.head
        return self._heads.get(file)

    def _collected(self, files: Iterable[BundleFile]) -> dict[str, dict[int, bytes | None]]:
        """Return the digests of the events of conversations in bundles."""
        contents: dict[str, dict[int, bytes | None]] = {}
        for file in files:
            with suppress(BrokenBundleError, OSError), opened_bundle(file, self._key, self._data) as bundle:
                for part in bundle.parts():
                    with suppress(ValueError, KeyError, TypeError, RecursionError):
                        _collect(part, contents)
        return contents

    def _counted(self, origin: Origin, part: Part, connection: sqlite3.Connection) -> Taken:
        """Count what is new in an increment."""
        original = ""
        events = 0
        reached = 0
        for line in part.lines():
            record = decoded_record(parsed_line(line), time.time())
            if isinstance(record, ConversationRecord):
                original = record.id
                reached = self._reached.get((origin.id, original), -1)
                if reached < 0:
                    reached = increments.reached(connection, origin, original).event
            elif isinstance(record, EventRecord) and record.number > reached:
                events += 1
                reached = record.number
        self._reached[origin.id, original] = reached
        return Taken(f"{origin.id}/{original}", False, events)

    def _count(self, file: BundleFile, origin: Origin, taken: Taken, found: Exchange) -> None:
        if taken.is_new or taken.events or taken.others:
            found.received[taken.id] = found.received.get(taken.id, 0) + taken.events
            if origin.name not in found.owners:
                found.owners.append(origin.name)
        if taken.conflicts:
            found.problems.append(
                f"{file.path.name}: {taken.conflicts:,} of its events have other contents than those that"
                f" arrived first from {origin.name}, and are not stored."
            )

    # A copied store.

    async def _read_heads(self, files: Iterable[BundleFile], own: Origin) -> None:
        """Note what the new bundles tell of the copies of stores.

        Raises:
            _CopiedStoreError: a copy of our store keeps our origin.
        """
        known = await self._database.read(partial(_known, own=own))
        heads = [head for file in files if file.id not in known and (head := self._head_of(file)) is not None]
        if heads and not self._dry:
            await self._database.write(partial(_note_heads, heads))
        copies = await self._database.read(partial(_copies, heads, own))
        if not copies:
            return
        if not copied_stores.keeps_origin(await self._database.read(partial(_all_sent, own)), copies):
            raise _CopiedStoreError
        if not self._dry:
            await self._database.write(partial(_note_all_received, [head.bundle for head in copies], ""))

    async def _renew(self, files: Iterable[BundleFile], found: Exchange) -> None:
        """Give our store a new origin, and the conversations that the other one continues to that."""
        own = await self._database.write(origins.own)
        sent = await self._database.read(partial(_all_sent, own))
        heads = [head for file in files if (head := self._head_of(file)) is not None]
        copies = await self._database.read(partial(_copies, heads, own))
        copies = [head for head in copies if head.bundle not in sent]
        ours = copied_stores.unshared(sent, copies)
        theirs = {*sent, *(head.bundle for head in copies)} - {*ours}
        contents = self._collected(file for file in files if file.id in theirs)

        def work(connection: sqlite3.Connection) -> int:
            renewed = origins.renew(connection)
            _note_all_received(ours, renewed.id, connection)
            is_continued = partial(increments.is_continued, connection)
            return len(increments.adopt(connection, own, lambda id: is_continued(id, contents.get(id))))

        found.ceded += await self._database.write(work, durable=True)

    # What goes out.

    async def _send_new(self, files: list[BundleFile], found: Exchange) -> None:
        """Send what is new, if the store or the directory has changed since."""
        state = (await self._database.read(_version), tuple(files))
        if state != self._settled:
            await self._send(files, found)
        self._settled = state if not (found.sent or found.problems or found.copied) else None

    async def _send(self, files: Iterable[BundleFile], found: Exchange) -> None:
        own = await self._database.write(origins.own)
        there = {(file.id, file.size) for file in files}
        sent = await self._database.read(partial(_sent, own=own, there=there))
        ids = await self._database.read(own_conversations)
        if not self._dry:
            self._sweep()
        bundle = _Outbox(own, self._data)
        try:
            for number, id in enumerate(ids, 1):
                position = sent.get(id, START)
                while True:
                    try:
                        after, events = await self._database.read(
                            partial(bundle.add, self._blobs, id, position, dry=self._dry)
                        )
                    except ValueError as exc:
                        found.problems.append(f"The conversation {id} cannot be sent: {exc}.")
                        break
                    if after == position:
                        break
                    position = after
                    found.sent[id] = found.sent.get(id, 0) + events
                    if bundle.is_full:
                        await self._publish(bundle, own, found)
                self._progress(f"Read {number:,} of {len(ids):,} conversations.")
            await self._publish(bundle, own, found)
        finally:
            bundle.close()

    async def _publish(self, outbox: "_Outbox", own: Origin, found: Exchange) -> None:
        """Write a bundle under a temporary name, note it, and give it its name."""
        writer = outbox.writer
        if writer is None:
            return
        temporary = self._directory / f".{prefix('sync')}{secrets.token_hex(8)}.tmp"
        try:
            size = writer.write(temporary, self._key)
            try:
                work = partial(_note_sent, writer.id, own, size, outbox.parts)
                await self._database.write(work, durable=True)
                temporary.rename(self._directory / f"{writer.id}{SUFFIX}")
            finally:
                temporary.unlink(missing_ok=True)
            with suppress(OSError):
                _sync_directory(self._directory)
        except OSError as exc:
            raise UsageError(
                f"{self._directory} cannot be written: {exc.strerror}.", "What others have sent is here."
            ) from exc
        found.bundles += 1
        outbox.close()

    def _sweep(self) -> None:
        """Remove the unfinished files of processes that are gone."""
        with suppress(OSError), os.scandir(self._directory) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    is_old = status.st_mtime < time.time() - _FORGOTTEN
                    if entry.name.startswith(".") and is_old and is_abandoned(entry.name, status):
                        Path(entry.path).unlink()


class _Outbox:
    """The bundle that is being written, with the first and the last position of each conversation in it."""

    def __init__(self, origin: Origin, data: Path) -> None:
        self.writer: BundleWriter | None = None
        self.parts: dict[str, tuple[Position, Position]] = {}
        self._origin = origin
        self._data = data

    @property
    def is_full(self) -> bool:
        """Whether the next increment begins another bundle."""
        return self.writer is not None and (self.writer.size > BUNDLE_SIZE or self.writer.is_long)

    def add(
        self, blobs: Blobs, id: str, since: Position, connection: sqlite3.Connection, *, dry: bool
    ) -> tuple[Position, int]:
        """Add what is new of a conversation; return its position, and the number of events."""
        lines, position = outgoing(connection, blobs, id, since, revision=self._revision(connection))
        events = 0
        if position == since:
            return since, 0
        if not dry:
            self.writer = self.writer or BundleWriter(_new_head(connection, self._origin), self._data)
            self.writer.begin()
        for line in lines:
            events += "event" in line
            if self.writer is not None:
                self.writer.add(increments.encoded(line))
        first, _ = self.parts.get(id, (since, position))
        self.parts[id] = first, position
        return position, events

    def _revision(self, connection: sqlite3.Connection) -> int:
        """Return the number that the bundle will have among ours."""
        sql = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'sent_bundles'"
        return connection.execute(sql).fetchone()[0]

    def close(self) -> None:
        """Discard what was collected."""
        if self.writer is not None:
            self.writer.close()
        self.writer = None
        self.parts = {}


def _version(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return numbers that differ once this or another connection has changed the database."""
    return connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _fold(counts: dict[str, int], connection: sqlite3.Connection) -> None:
    """Count the events of sub-agents in the conversations of the user."""
    sql = "SELECT parent FROM conversations WHERE id = ? AND call IS NOT NULL AND parent IS NOT NULL"
    for id in [*counts]:
        root, seen = id, {id}
        while (row := connection.execute(sql, (to_column(root),)).fetchone()) is not None:
            root = from_column(row[0])
            if root in seen:
                break
            seen.add(root)
        if root != id:
            counts[root] = counts.get(root, 0) + counts.pop(id)


def _known(connection: sqlite3.Connection, own: Origin) -> set[str]:
    """Return the ids of the bundles that need not be received."""
    sql = "SELECT id FROM received_bundles UNION SELECT id FROM sent_bundles WHERE origin = ?"
    return {id for (id,) in connection.execute(sql, (own.id,))}


def _new_head(connection: sqlite3.Connection, own: Origin) -> Head:
    """Return the head of a new bundle."""
    id = new_conversation_id()
    former = {each: origins.proof(connection, each, own.id) for each in origins.former(connection, own.id)}
    sql = "SELECT id FROM received_bundles WHERE origin = ? ORDER BY id DESC LIMIT ?"
    retracted = [each for (each,) in connection.execute(sql, (own.id, MOST_RETRACTED))]
    after = _all_sent(own, connection)[-LONGEST_AFTER:]
    return Head(id, own.id, own.name, origins.proof(connection, own.id, id), after, former, retracted)


def _all_sent(own: Origin, connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the bundles that were sent with our origin, in their order."""
    sql = "SELECT id FROM sent_bundles WHERE origin = ? ORDER BY number"
    return [id for (id,) in connection.execute(sql, (own.id,))]


def _copies(heads: Iterable[Head], own: Origin, connection: sqlite3.Connection) -> list[Head]:
    """Return the heads of bundles with our origin that this store or a copy of it has written."""
    return [head for head in heads if head.origin == own.id and copied_stores.is_proven(connection, head)]


def _note_heads(heads: Iterable[Head], connection: sqlite3.Connection) -> None:
    for head in heads:
        copied_stores.note_former(connection, head)
        # It has sent the same again, with its new origin.
        _note_all_received(head.retracted if head.former else (), head.origin, connection)


def _note_received(id: str, origin: Origin, connection: sqlite3.Connection) -> None:
    _note_all_received([id], origin.id, connection)


def _note_all_received(ids: Iterable[str], origin: str, connection: sqlite3.Connection) -> None:
    sql = "INSERT OR IGNORE INTO received_bundles (id, origin, received) VALUES (?, ?, ?)"
    connection.executemany(sql, [(id, origin, time.time()) for id in ids])


def _forget_received(origin: Origin, connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM received_bundles WHERE origin = ?", (origin.id,))


def _of_others(origin: Origin, connection: sqlite3.Connection) -> set[str]:
    """Return the ids of the bundles that are another one's, although an origin may be named in them."""
    sql = "SELECT id FROM received_bundles WHERE origin <> ?"
    return {id for (id,) in connection.execute(sql, (origin.id,))}


def _contested(
    origin: Origin, line: str, connection: sqlite3.Connection
) -> copied_stores.ImportedHead | None:
    """Return what the first line of an increment names, if another origin may have the same conversation
    here, and this one has not."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        given = parsed_line(line)
        record = decoded_record(given, time.time())
        import_of = msgspec.convert(given, IncrementHead).import_of
        if isinstance(record, ConversationRecord):
            head = copied_stores.ImportedHead(record.id, import_of)
            return head if copied_stores.is_contested(connection, origin, head) else None
    return None


def _note_sent(
    id: str,
    origin: Origin,
    size: int,
    parts: Mapping[str, tuple[Position, Position]],
    connection: sqlite3.Connection,
) -> None:
    sql = "INSERT INTO sent_bundles (id, origin, size, created) VALUES (?, ?, ?, ?)"
    connection.execute(sql, (id, origin.id, size, time.time()))
    connection.executemany(
        "INSERT INTO sent_parts (bundle, conversation, since, position) VALUES (?, ?, ?, ?)",
        [
            (id, to_column(conversation), *(msgspec.json.encode(each).decode() for each in ends))
            for conversation, ends in parts.items()
        ],
    )


def _sent(connection: sqlite3.Connection, own: Origin, there: Set[tuple[str, int]]) -> dict[str, Position]:
    """Return the positions of conversations in our bundles of these ids and sizes."""
    sql = (
        "SELECT id, size, conversation, since, position FROM sent_bundles JOIN sent_parts ON bundle = id"
        " WHERE origin = ? ORDER BY number"
    )
    found: dict[str, Position] = {}
    for id, size, conversation, *ends in connection.execute(sql, (own.id,)):
        since, position = (msgspec.json.decode(each, type=Position) for each in ends)
        # Behind a lost bundle, the first one that follows is the one that makes up for it.
        if (id, size) in there and since == found.get(from_column(conversation), START):
            found[from_column(conversation)] = position
    return found


def _collect(part: Part, contents: dict[str, dict[int, bytes | None]]) -> None:
    """Add the digests of the events of an increment."""
    events: dict[int, bytes | None] | None = None
    for line in part.lines():
        record = decoded_record(parsed_line(line), float("inf"))
        if isinstance(record, ConversationRecord):
            events = contents.setdefault(record.id, {})
        elif isinstance(record, EventRecord) and events is not None:
            event: Event = record.event
            digest = content_digest(event)
            events[record.number] = digest if events.get(record.number, digest) == digest else None


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
