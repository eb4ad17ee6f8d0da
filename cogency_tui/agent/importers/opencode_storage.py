"""opencode's storage: rows of its database, or JSON files below `storage` in versions before 1.2.

Invariant: the database is opened for reading only; the program that has it open neither waits for that nor
notices it.
"""

import sqlite3
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from cogency_tui.agent.importers.records import as_list, as_object, as_text, file_stamp, whole
from cogency_tui.agent.importers.session import LONGEST_LINE, SessionFile, parsed, seconds

Object: TypeAlias = dict[str, Any]

COMMAND_OF_USER = "The following tool was executed by the user"
"""The text of a message in front of a command that the user ran."""

RECENT = 600.0
"""Seconds after a change, in which the last message may still be written."""

_PATIENCE = 60.0
"""Seconds for the answers of a database, which may be anybody's."""

_SHORT = f"CASE WHEN length(data) <= {LONGEST_LINE} THEN data END AS data"


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its parts, each with its id; None for what is no object."""

    id: str
    fields: Object | None
    parts: Sequence[tuple[str, Object | None]]


@dataclass(frozen=True, slots=True)
class StoredSession:
    """What is stored of a session; `call` is the id of the part that started it as a sub-agent's, `snapshots`
    the directory of the project's snapshots."""

    info: Object
    call: str
    snapshots: Path
    messages: Iterator[Message]


def stored_sessions(home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
    """Yield the sessions of the databases, then those that are only in files of older versions."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share") / "opencode"
    seen: set[str] = set()
    for file in _everything(data, environment.get("OPENCODE_DB", "")):
        if file.id not in seen:
            seen.add(file.id)
            yield file


@contextmanager
def stored_session(file: SessionFile) -> Generator[StoredSession | None]:
    """Open a session; None if it is gone.

    Raises:
        OSError: it cannot be read.
    """
    if file.path.suffix == ".json":
        yield _in_files(file)
        return
    with _connected(file.path) as database:
        yield _in_database(database, file)


def _everything(data: Path, named: str) -> Iterator[SessionFile]:
    own = [data / named] if named and named != ":memory:" else []
    found = sorted(_within(data, "opencode*.db"), key=lambda path: path.name != "opencode.db")
    for path in dict.fromkeys([*own, *found]):
        try:
            if file_stamp(path):
                yield from _listed(path)
        except OSError:
            continue
    for path in filter(file_stamp, _within(data / "storage/session", "*/*.json")):
        related = (path, data / "storage/message" / path.stem, data / "storage/session_diff" / path.name)
        times = [_changed(each) for each in related]
        yield SessionFile(path, _stamp("-".join(times), int(times[0] or 0) / 1e9), path.stem)


def _stamp(text: str, updated: float | None) -> str:
    """Return a stamp that also changes as soon as the session's last message is no longer new."""
    return f"{text}+" if time.time() - (updated or 0.0) < RECENT else text


def _changed(path: Path) -> str:
    try:
        return str(path.stat().st_mtime_ns)
    except OSError:
        return ""


@contextmanager
def _connected(path: Path) -> Generator[sqlite3.Connection]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    # Without its log, no program has the database open; with it, the log's index may be that of one.
    log = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro&{'readonly_shm=1' if log else 'immutable=1'}"
    database: sqlite3.Connection | None = None
    try:
        database = sqlite3.connect(uri, uri=True, timeout=2.0)
        database.row_factory = sqlite3.Row
        database.text_factory = _decoded
        end = time.monotonic() + _PATIENCE
        database.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        if "session" not in _tables(database):
            raise OSError(f"{path} has no sessions")
        yield database
    except sqlite3.Error as exc:
        raise OSError(f"{path}: {exc}") from exc
    finally:
        if database is not None:
            database.close()


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _tables(database: sqlite3.Connection) -> set[str]:
    return {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _listed(path: Path) -> list[SessionFile]:
    """List the sessions of a database. A stamp has the number of the last change too: not every change
    touches a session's time."""
    with _connected(path) as database:
        counted = "event_sequence" in _tables(database)
        seq = "(SELECT seq FROM event_sequence WHERE aggregate_id = session.id)" if counted else "0"
        columns = f"id, directory, time_updated, {seq} AS seq"
        found: list[SessionFile] = []
        for row in database.execute(f"SELECT {columns} FROM session ORDER BY time_created, id"):
            stamp = _stamp(f"{row['time_updated']}-{row['seq']}", seconds(row["time_updated"]))
            if isinstance(row["id"], str):
                found.append(SessionFile(path, stamp, row["id"], as_text(row["directory"])))
        return found


def _in_database(database: sqlite3.Connection, file: SessionFile) -> StoredSession | None:
    session = file.id
    row = database.execute("SELECT * FROM session WHERE id = ?", (session,)).fetchone()
    if row is None:
        return None
    fields = dict(row)
    parent = as_text(fields.get("parent_id"))
    info = {
        **fields,
        "parentID": parent,
        "time": {"updated": fields.get("time_updated")},
        "model": _parsed(fields.get("model")),
        "revert": _parsed(fields.get("revert")),
    }
    call = ""
    if parent and "part" in _tables(database):
        query = f"SELECT id, {_SHORT} FROM part WHERE session_id = ? AND instr(data, ?) ORDER BY id"
        call = _call_of(_read(database, query, parent, session), session)
    snapshots = _snapshots(file.path.parent, fields.get("project_id"))
    return StoredSession(info, call, snapshots, _messages(database, session))


def _snapshots(data: Path, project: object) -> Path:
    return data / "snapshot" / (Path(as_text(project)).name or "global")


def _read(database: sqlite3.Connection, query: str, *values: str) -> Iterator[tuple[str, Object | None]]:
    for row in database.execute(query, values):
        yield str(row["id"]), _parsed(row["data"])


def _messages(database: sqlite3.Connection, session: str) -> Iterator[Message]:
    tables = _tables(database)
    found: set[str] = set()
    if {"message", "part"} <= tables:
        query = f"SELECT id, {_SHORT} FROM message WHERE session_id = ? ORDER BY time_created, id"
        parts: dict[str, list[tuple[str, Object | None]]] = {}
        each = f"SELECT id, message_id, {_SHORT} FROM part WHERE session_id = ? ORDER BY id"
        for row in database.execute(each, (session,)):
            parts.setdefault(str(row["message_id"]), []).append((str(row["id"]), _parsed(row["data"])))
        for id, fields in _read(database, query, session):
            found.add(id)
            yield Message(id, fields, parts.pop(id, []))
    if "session_message" in tables:
        query = f"SELECT id, type, {_SHORT} FROM session_message WHERE session_id = ? ORDER BY seq"
        for row in database.execute(query, (session,)):
            if str(row["id"]) not in found:
                yield from _converted(str(row["id"]), as_text(row["type"]), _parsed(row["data"]))


def _converted(id: str, kind: str, data: Object | None) -> Iterator[Message]:
    """Convert a message of the program's new engine, which has its parts in it."""
    fields = data or {}
    if kind == "user":
        files = [{"type": "file", **as_object(each)} for each in as_list(fields.get("files"))]
        parts: list[Object] = [{"type": "text", "text": fields.get("text")}, *files]
        own = [(f"{id}/{at}", part) for at, part in enumerate(parts)]
        yield Message(id, data and {**data, "role": "user"}, own)
    elif kind == "shell":
        told = {"type": "text", "synthetic": True, "text": COMMAND_OF_USER}
        yield Message(id, {"role": "user"}, [(f"{id}/text", told)])
        state = {"status": "completed", "output": fields.get("output"), "input": fields}
        answer = {**fields, "role": "assistant", "parentID": id}
        yield Message(f"{id}/ran", answer, [(f"{id}/ran", {"type": "tool", "state": state})])
    elif kind == "compaction":
        text = {"type": "text", "text": fields.get("summary")}
        yield Message(id, {**fields, "role": "assistant", "summary": True}, [(f"{id}/text", text)])
    elif kind == "assistant":
        model = as_object(fields.get("model"))
        tokens = as_object(fields.get("tokens"))
        total = sum(whole(each, name) for each in (tokens, as_object(tokens.get("cache"))) for name in each)
        named: Object = {
            "tokens": tokens | {"total": total},
            "role": "assistant",
            "modelID": model.get("id"),
            "providerID": model.get("providerID"),
        }
        content = [as_object(each) for each in as_list(fields.get("content"))]
        parts_of = [(f"{id}/{each.get('id')}", _converted_part(each)) for each in content]
        yield Message(id, data and {**data, **named}, parts_of)
    elif kind not in ("synthetic", "system", "agent-switched", "model-switched"):
        yield Message(id, {"role": kind}, [])


def _converted_part(part: Object) -> Object:
    times = as_object(part.get("time"))
    spans = {"start": times.get("ran") or times.get("created")}
    spans |= {"end": times["completed"]} if "completed" in times else {}
    if part.get("type") != "tool":
        return part | ({"time": spans} if times else {})
    state = as_object(part.get("state"))
    structured = as_object(state.get("structured"))
    files = as_list(structured.get("files"))
    metadata = structured | ({"filediff": files[0]} if len(files) == 1 else {})
    contents = [as_text(as_object(each).get("text")) for each in as_list(state.get("content"))]
    texts = [each.removesuffix("\n") for each in contents]
    output = "\n".join(texts) if texts else as_text(structured.get("content"))
    error = as_object(state.get("error")).get("message")
    whole = state | {"output": output, "error": error, "metadata": metadata, "time": spans}
    return {"type": "tool", "tool": part.get("name"), "state": whole}


def _in_files(file: SessionFile) -> StoredSession | None:
    info = _loaded(file.path)
    if info is None:
        if file_stamp(file.path):
            raise OSError("it holds no JSON object, or one that is too long")
        return None
    storage = file.path.parents[2]
    parent, call = as_text(info.get("parentID")), ""
    if parent and parent == Path(parent).name:
        parts = (part for message in _stored_messages(storage, parent) for part in message.parts)
        call = _call_of(parts, file.id)
    snapshots = _snapshots(storage.parent, info.get("projectID"))
    return StoredSession(info, call, snapshots, _stored_messages(storage, file.id))


def _stored_messages(storage: Path, session: str) -> Iterator[Message]:
    for path in _within(storage / "message" / session, "*.json"):
        parts = [(each.stem, _loaded(each)) for each in _within(storage / "part" / path.stem, "*.json")]
        yield Message(path.stem, _loaded(path), parts)


def _call_of(parts: Iterable[tuple[str, Object | None]], session: str) -> str:
    for id, part in parts:
        if as_object(as_object((part or {}).get("state")).get("metadata")).get("sessionId") == session:
            return id
    return ""


def _within(directory: Path, pattern: str) -> list[Path]:
    try:
        return sorted(directory.glob(pattern), key=lambda path: path.name)
    except OSError:
        return []


def _loaded(path: Path) -> Object | None:
    """Load the object in a file; None for anything else."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST_LINE:
            return None
        return _parsed(path.read_bytes())
    except OSError:
        return None


def _parsed(text: object) -> Object | None:
    """Parse the JSON of an object; None for anything else."""
    value = parsed(text) if isinstance(text, str | bytes) else None
    return cast("Object", value) if isinstance(value, dict) else None
