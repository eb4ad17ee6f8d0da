"""Mistral Vibe's sessions, below `~/.vibe/logs/session`.

Since 2.26 (at the latest) a session is a folder in `unified/`: `CURRENT` names a generation, whose manifest
names the chunks that hold the entries of its history; what has changed since is in the journal. Before, it
was a folder with `meta.json` and `messages.jsonl`, which holds no times: all is as old as the session. A
session that was resumed then went on in a folder of its own, with all that it had.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.records import (
    an_object,
    entries,
    file_stamp,
    is_in_use,
    number,
    objects,
    text,
    text_of,
    whole,
)
from cogency_tui.agent.importers.session import Session, SessionFile, json_lines, seconds
from cogency_tui.agent.importers.vibe_calls import content_of, own_call, read_result, replaced
from cogency_tui.agent.importers.vibe_messages import (
    Messages,
    call_of_task,
    legacy_files,
    marked,
    object_in,
    read_meta,
    read_place,
    value_in,
)
from cogency_tui.protocol.events import CallState, Measure

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_JOURNAL = re.compile(r"journal/\d{1,32}\.jsonl")
_SILENT = frozenset({"checkpoint", "notice", "callback"})


class Vibe:
    """The reader of the sessions of Mistral Vibe."""

    name = "vibe"
    title = "Vibe"

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        given = environment.get("VIBE_HOME", "")
        root = Path(given).expanduser() if given else home / ".vibe"
        for folder in dict.fromkeys((root / "logs" / "session", *_configured(root))):
            for entry in entries(folder / "unified"):
                journal = [Path(each.path) for each in entries(Path(entry.path, "journal"))]
                if found := marked(Path(entry.path, "CURRENT"), Path(entry.path, "meta.json"), *journal):
                    yield found
            for entry in entries(folder):
                yield from legacy_files(Path(entry.path))

    def read(self, file: SessionFile) -> Session | None:
        folder = file.path.parent
        is_running = is_in_use(file.path)
        if file.path.name == "CURRENT":
            session = Session(folder.name)
            history = _History(session, folder)
            if not history.read():
                return session if session.unknown else None
            _Entries(session).add(history.entries)
            is_running = is_running or any(is_in_use(path) for path in history.journal)
        else:
            session = Session("")
            begun: object = None
            with session.at("meta.json"):
                begun = read_meta(session, folder)
            if not session.id:
                return session if session.unknown else None
            Messages(session, begun).read(file.path)
            starter = folder.parent.parent / "messages.jsonl"
            if session.parent and not session.call and starter.is_file():
                session.call = call_of_task(starter, session)
        session.close(is_running=is_running)
        return session


class _History:
    """The entries of a session of the unified store, as its last generation and the journal have them."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.entries: list[dict[str, Any]] = []
        self.journal: list[Path] = []
        """The file of what has changed since the last generation, if there is one."""
        self._session = session
        self._folder = folder
        self._at: dict[str, int] = {}
        self._spent: tuple[dict[str, Any], object] | None = None
        """The figures of the whole session: those of an answer are soon gone."""

    def read(self) -> bool:
        """Read the entries and what there is about them; False where there is no session."""
        if not self.read_entries():
            return False
        self._about()
        return True

    def read_entries(self) -> bool:
        """Read the entries; False where there are none."""
        current = object_in(self._folder / "CURRENT")
        name = current.get("generation")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return False
        generation = self._folder / "generations" / name
        manifest = object_in(generation / "manifest.json")
        projection = manifest.get("projection_state")
        if not isinstance(projection, dict):
            return False
        with self._session.at("projection-state.json"):
            self._state(object_in(generation / "projection-state.json")["snapshot"])
        with self._session.at("manifest.json"):
            for chunk in dict.fromkeys(cast("dict[str, Any]", projection)["chunks"]):
                self._chunk(_named(chunk))
        segment = manifest.get("recovery_journal_segment")
        path = cast("dict[str, Any]", segment).get("path") if isinstance(segment, dict) else None
        if isinstance(path, str) and _JOURNAL.fullmatch(path) and (self._folder / path).is_file():
            self.journal = [self._folder / path]
            for place, record in json_lines(self._session, self._folder / path):
                with self._session.at(f"{path} {place}"):
                    self._journaled(record)
        return True

    def _chunk(self, name: str) -> None:
        """Add the entries of a chunk."""
        for number_, entry in enumerate(objects(value_in(self._folder / "chunks" / f"{name}.json"))):
            with self._session.at(f"chunk {name[:8]}, entry {number_ + 1}"):
                self._put(text(entry["id"]), entry)

    def _journaled(self, record: dict[str, Any]) -> None:
        if record["type"] != "projection_delta":
            return
        for change in objects(an_object(record["payload"])["delta"]):
            if change["op"] in ("append_entry", "replace_entry"):
                entry = an_object(change["entry"])
                self._put(text(change.get("id", entry["id"])), entry)
            elif change["op"] == "set_envelope":
                self._state(change["state"])
            else:
                raise ValueError(f"op {change['op']!r}")

    def _put(self, id: str, entry: dict[str, Any]) -> None:
        if id in self._at:
            self.entries[self._at[id]] = entry
        else:
            self._at[id] = len(self.entries)
            self.entries.append(entry)

    def _state(self, snapshot: object) -> None:
        about = an_object(an_object(snapshot)["session"])
        self._session.title = text_of(about.get("title"))
        self._session.parent = text_of(about.get("parentSessionId"))
        if isinstance(spent := about.get("tokenUsage"), dict):
            self._spent = cast("dict[str, Any]", spent), about.get("updatedAt")

    def _about(self) -> None:
        """Read where the session took place; of a sub-agent, in the folder of the one that started it."""
        parent, session = self._session.parent, self._session
        with session.at("meta.json"):
            known = self._folder
            if parent and not (known / "meta.json").is_file():
                known = self._folder.parent / _named(parent)
            if (known / "meta.json").is_file():
                meta = object_in(known / "meta.json")
                read_place(session, meta)
                session.model = text_of(an_object(meta.get("config") or {}).get("model_name"))
        if self._spent:
            spent, at = self._spent
            measure: Measure = {
                "input": whole(spent, "inputTokens"),
                "cached": whole(spent, "cachedInputTokens"),
                "output": whole(spent, "outputTokens"),
                "model": session.model,
            }
            session.spent(session.id, at, measure)
        if parent and _NAME.fullmatch(parent):
            session.call = _call_that_started(self._folder.parent / parent, session.id)


class _Entries:
    """The events of a history's entries. The result of a call comes after what began before its end."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ended: list[tuple[float, int, dict[str, Any]]] = []
        """A heap of the calls whose results are not added yet, each with its end and its place."""
        self._cycle = ""

    def add(self, history: list[dict[str, Any]]) -> None:
        for place, entry in enumerate(history):
            with self._session.at(f"entry {str(entry.get('id'))[:80]}"):
                self._end_calls(seconds(entry["createdAt"]) or 0.0)
                self._entry(place, entry)
        self._end_calls(math.inf)

    def _entry(self, place: int, entry: dict[str, Any]) -> None:
        kind, id, at = text(entry["type"]), text(entry["id"]), entry["createdAt"]
        outcome = entry.get("outcome")
        is_discarded = (
            isinstance(outcome, dict) and cast("dict[str, Any]", outcome).get("type") == "discarded"
        )
        is_partial = entry.get("generationStatus") == "in_progress" and kind != "effect"
        if kind in _SILENT or is_discarded or is_partial:
            return
        if kind == "message":
            self._message(id, at, entry)
        elif kind == "reasoning":
            written = text(entry["text"])
            summary = cast("list[Any]", entry.get("summary") or [])
            content = written or "\n\n".join(text(each) for each in summary)
            self._session.think(id, at, content, self._in_cycle(id), summary=not written)
        elif kind == "effect":
            self._effect(place, id, at, entry)
        else:
            raise ValueError(f"type {kind!r}")

    def _message(self, id: str, at: object, entry: dict[str, Any]) -> None:
        role, content = text(entry["role"]), content_of(entry["content"])
        if role == "assistant":
            self._session.respond(id, at, content, self._in_cycle(id))
        elif role == "user" and entry.get("source") != "harness":
            self._cycle = ""
            self._session.user(id, at, content, steered=entry.get("source") == "turn_steer")
        elif role not in ("user", "system"):
            raise ValueError(f"role {role!r}")

    def _effect(self, place: int, id: str, at: object, entry: dict[str, Any]) -> None:
        detail, state = an_object(entry["detail"]), an_object(entry["state"])
        name, given = text(detail["toolName"]), an_object(detail.get("input") or {})
        if detail.get("kind") == "shell":
            if state["status"] not in ("pending", "running", "blocked"):
                _add_user_command(self._session, id, at, given, state)
            return
        own, args = own_call(name, given, self._session.project)
        self._session.call_tool(id, at, own, args, self._in_cycle(id))
        if state["status"] not in ("pending", "running", "blocked"):
            heappush(self._ended, (seconds(entry.get("updatedAt")) or 0.0, place, {**entry, "own": own}))

    def _end_calls(self, until: float) -> None:
        """Add the results of the calls that ended before `until`."""
        while self._ended and self._ended[0][0] <= until:
            entry = heappop(self._ended)[2]
            id: str = entry["id"]
            self._cycle = ""
            with self._session.at(f"entry {id[:80]}"):
                state, content, outcome = read_result(entry["own"], entry["state"])
                duration = (number(entry["state"].get("durationMs")) or 0.0) / 1000
                self._session.result(
                    id, entry.get("updatedAt"), content, state=state, outcome=outcome, duration=duration
                )
                if state == "done":
                    self._edit(id, entry)

    def _edit(self, id: str, entry: dict[str, Any]) -> None:
        """Add the change of a file, of which the record has the content before."""
        given, output = an_object(entry["detail"]["input"]), an_object(entry["state"]["output"])
        name = text(entry["detail"]["toolName"]).rpartition(".")[2]
        if name not in ("write_file", "search_replace"):
            return
        about = an_object(output.get("_meta") or {}).get(f"mistralai.vibe.sdk.{name}")
        before = an_object(about).get("previous_content") if about else None
        path = text(given["path" if name == "write_file" else "file_path"])
        after = given.get("content")
        if name == "search_replace":
            after = replaced(text(before), objects(given["content"]))
        elif before is None and an_object(output["structured_content"]).get("file_existed") is not False:
            return
        if isinstance(after, str) and "\ufffd" not in f"{before}{after}":
            given_before = None if before is None else text(before).encode()
            self._session.edited(id, entry.get("updatedAt"), path, given_before, after.encode())

    def _in_cycle(self, id: str) -> str:
        self._cycle = self._cycle or id
        return self._cycle


def _add_user_command(
    session: Session, id: str, at: object, given: dict[str, Any], state: dict[str, Any]
) -> None:
    states: dict[str, CallState] = {"completed": "done", "cancelled": "interrupted"}
    session.user_ran(
        id,
        at,
        text(given["command"]),
        text_of(state.get("outputText")),
        state=states.get(text(state["status"]), "failed"),
        duration=(number(state.get("durationMs")) or 0.0) / 1000,
    )


def _named(value: object) -> str:
    """A name of a file or folder.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError("no name")
    return value


def _configured(root: Path) -> Iterator[Path]:
    """Yield the folder that the user has set for sessions."""
    path = root / "config.toml"
    try:
        if not file_stamp(path):
            return
        with path.open("rb") as file:
            logging = tomllib.loads(file.read(1 << 20).decode())["session_logging"]
        yield Path(text(an_object(logging)["save_dir"]) or root / "logs" / "session").expanduser()
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, RecursionError):
        return


def _call_that_started(folder: Path, child: str) -> str:
    """The id of the call in the session of `folder` that started the sub-agent with the session `child`."""
    history = _History(Session(""), folder)
    try:
        history.read_entries()
    except OSError:
        return ""
    for entry in history.entries:
        detail = entry.get("detail")
        if isinstance(detail, dict) and cast("dict[str, Any]", detail).get("childSessionId") == child:
            return text_of(entry.get("id"))
    return ""
