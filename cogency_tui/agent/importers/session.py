"""A session of another agent, as a reader builds it from the program's own files.

Invariant: whatever a file holds, a session is complete: keys are unique, each call has exactly one result
behind it, and what cannot be understood is counted with its place (`Session.unknown`), neither guessed nor an
error.
"""

import json
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from cogency_tui.agent.importers.records import in_words
from cogency_tui.protocol.events import (
    CallEvent,
    CallState,
    Event,
    Measure,
    RespondEvent,
    ResultPayload,
    ThinkEvent,
    UserEvent,
)
from cogency_tui.protocol.plan import describe_plan
from cogency_tui.tools.plan import planned_steps
from cogency_tui.workspace import diff

LONGEST_LINE = 64 << 20
"""Bytes of a line that is read; a longer one is counted as unknown."""

MOST_NAMED = 1_000
"""Places of unknown data that are named; the rest are only counted."""

LONGEST_TEXT = 16 << 20
"""Characters of a text, beyond which it is cut."""

_OTHER_FORMS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a reader's code raises over values of another form than it expects."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A stored session: its `path`, the `id` within that where one file holds several, and a `stamp` that
    changes whenever the session does.

    `project` is the directory that it belongs to, where that is known without reading it.
    """

    path: Path
    stamp: str
    id: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """An event under the `key` that it has in each reading, unique within its session."""

    key: str
    event: Event


@dataclass(frozen=True, slots=True)
class ForeignUsage:
    """The figures of one answer, under a key as that of an event."""

    key: str
    timestamp: float
    measure: Measure


@dataclass(frozen=True, slots=True)
class ForeignEdit:
    """A change of the file at `path`, absolute or relative to the project, by the `call` of that key; None
    for the content of a file that did not exist.
    """

    call: str
    path: str
    before: bytes | None
    after: bytes | None
    timestamp: float


@dataclass(slots=True)
class Session:
    """A conversation of another agent, in the order in which it took place.

    `id` is the program's, `file` the name of its file where that is another; `parent` is the id of the
    session whose `call` (its key) started this one as a sub-agent's. `project` is the absolute directory.
    Timestamps are Unix seconds.
    """

    id: str
    project: str = ""
    title: str = ""
    model: str = ""
    provider: str = ""
    branch: str = ""
    parent: str = ""
    call: str = ""
    file: str = ""
    events: list[ForeignEvent] = field(default_factory=list[ForeignEvent])
    usage: list[ForeignUsage] = field(default_factory=list[ForeignUsage])
    edits: list[ForeignEdit] = field(default_factory=list[ForeignEdit])
    unknown: list[str] = field(default_factory=list[str])
    """The places of data that is not understood, and of texts that were cut."""

    unknown_count: int = 0
    cut_count: int = 0
    _keys: set[str] = field(default_factory=set[str])
    _open: dict[str, str] = field(default_factory=dict[str, str])
    """The tools of the calls without a result, by their keys."""

    _plans: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """The arguments of such calls that make a plan."""

    _last: float = 0.0

    def user(self, key: str, at: object, text: str, *, steered: bool = False) -> None:
        """Add a message of the user; an empty one is left out. A `steered` one was sent while the model
        worked, and reached it between two steps."""
        if text.strip():
            event: UserEvent = {"type": "user", "timestamp": self._time(at), "content": self._cut(key, text)}
            if steered:
                event["steered"] = True
            self._add(key, event)

    def user_ran(
        self,
        key: str,
        at: object,
        command: str,
        output: str,
        *,
        state: CallState = "done",
        outcome: str = "",
        duration: float = 0.0,
    ) -> None:
        """Add a command that the user ran, with what it wrote."""
        output = self._cut(key, output)
        event: UserEvent = {
            "type": "user",
            "timestamp": self._time(at),
            "content": f"! {command}",
            "ran": {
                "command": command,
                "state": state,
                "outcome": outcome.strip() or _first_line(output),
                "output": output,
                "duration": _duration(duration),
            },
        }
        self._add(key, event)

    def think(self, key: str, at: object, text: str, cycle: str = "", *, summary: bool = False) -> None:
        """Add reasoning; `cycle` is the id of the answer that it is part of."""
        if text.strip():
            event: ThinkEvent = {
                "type": "think",
                "timestamp": self._time(at),
                "id": key,
                "content": self._cut(key, text),
            }
            if summary:
                event["summary"] = True
            self._add_answer(key, event, cycle)

    def respond(self, key: str, at: object, text: str, cycle: str = "") -> None:
        """Add a text of the model's answer."""
        if text.strip():
            event: RespondEvent = {
                "type": "respond",
                "timestamp": self._time(at),
                "id": key,
                "content": self._cut(key, text),
            }
            self._add_answer(key, event, cycle)

    def call_tool(self, key: str, at: object, name: str, args: Mapping[str, Any], cycle: str = "") -> None:
        """Add a call of a tool, under our name for it and with our arguments where we have it."""
        content = json.dumps({"name": name, "args": args}, ensure_ascii=False, allow_nan=False)
        if f"{key}=" in self._keys:
            raise ValueError(f"the id {key!r} is taken")
        event: CallEvent = {"type": "call", "timestamp": self._time(at), "id": key, "content": content}
        self._add_answer(key, event, cycle)
        self._keys.add(f"{key}=")
        self._open[key] = name
        if name == "plan":
            self._plans[key] = args

    def result(
        self,
        key: str,
        at: object,
        content: object,
        *,
        state: CallState = "done",
        outcome: str = "",
        duration: float = 0.0,
    ) -> None:
        """Add the result of the call with this key.

        Raises:
            ValueError: there is no such call, or it has its result.
        """
        tool = self._open.pop(key, None)
        if tool is None:
            raise ValueError("a result without a call")
        if isinstance(content, str):
            content = self._cut(key, content)
        line = outcome.strip() or _first_line(content)
        payload: ResultPayload = {
            "outcome": line,
            "content": content,
            "error": state != "done",
            "state": state,
        }
        if (plan := self._plans.pop(key, None)) and state == "done" and (steps := planned_steps(plan)):
            payload["plan"] = steps
            payload["outcome"] = describe_plan(steps)
        event: Event = {
            "type": "result",
            "timestamp": self._time(at),
            "id": key,
            "tool": tool,
            "duration": _duration(duration),
            "payload": payload,
        }
        self.events.append(ForeignEvent(f"{key}=", event))

    def spent(self, key: str, at: object, measure: Measure) -> None:
        """Add the figures of an answer, once for each key."""
        if f"usage {key}" not in self._keys:
            self._keys.add(f"usage {key}")
            self.usage.append(ForeignUsage(key, self._time(at), measure))

    def edited(self, call: str, at: object, path: str, before: bytes | None, after: bytes | None) -> None:
        """Add a change of a file whose contents are known."""
        if before != after:
            self.edits.append(ForeignEdit(call, path, before, after, self._time(at)))

    def count_lines(self) -> None:
        """Add to the results the lines that calls changed in their file, where its contents are known."""
        edits: dict[str, list[ForeignEdit]] = {}
        for edit in self.edits:
            edits.setdefault(edit.call, []).append(edit)
        for event in (each.event for each in self.events):
            if event["type"] == "result" and (counts := _lines_of(edits.get(event["id"], ()))):
                event["payload"]["lines"] = {"added": counts.added, "removed": counts.removed}

    def skip(self, place: str, why: str) -> None:
        """Count something that is not understood."""
        self.unknown_count += 1
        self._name(place, why)

    def _name(self, place: str, why: str) -> None:
        if len(self.unknown) < MOST_NAMED:
            self.unknown.append(f"{place}: {why}"[:300])

    def _cut(self, key: str, text: str) -> str:
        """Cut a text that is too long, and count it."""
        if len(text) <= LONGEST_TEXT:
            return text
        self.cut_count += 1
        whole, part = len(text) / (1 << 20), LONGEST_TEXT >> 20
        self._name(key[:80], f"cut after {part} of {whole:.1f} Mi characters")
        return text[:LONGEST_TEXT] + "\n[cut]"

    @contextmanager
    def at(self, place: str) -> Generator[None]:
        """Count what is read in the block as unknown where it has another form than the reader expects."""
        try:
            yield
        except _OTHER_FORMS as exc:
            self.skip(place, in_words(exc))

    def has(self, key: str) -> bool:
        """Return whether there is an event with this key."""
        return key in self._keys

    def is_open(self, key: str) -> bool:
        """Return whether this call has no result yet."""
        return key in self._open

    @property
    def has_open_calls(self) -> bool:
        """True if a call has no result yet."""
        return bool(self._open)

    def close(self, *, is_running: bool = False) -> None:
        """Complete the session: calls without a result were interrupted, unless the program still runs."""
        for key in [] if is_running else [*self._open]:
            self.result(key, self._last, "", state="interrupted", outcome="Interrupted.")

    def _add_answer(self, key: str, event: ThinkEvent | RespondEvent | CallEvent, cycle: str) -> None:
        if cycle:
            event["cycle"] = cycle
        self._add(key, event)

    def _add(self, key: str, event: Event) -> None:
        if not key or key in self._keys:
            raise ValueError(f"the id {key!r} is missing or taken")
        self._keys.add(key)
        self.events.append(ForeignEvent(key, event))

    def _time(self, at: object) -> float:
        """The time of an event: that before it where its own is missing or impossible."""
        value = seconds(at)
        if value is not None:
            self._last = value
        return self._last


class Reader(Protocol):
    """The reader of one program's sessions; `name` is for the command line, `title` for the user."""

    name: str
    title: str

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        """Yield the stored sessions, also those of sub-agents; nothing where the program was never used.

        Quick: it lists directories and reads at most the first line of a file. Directories that cannot be
        read, and what is no file of the user's, are left out, and reported to `records.note_unread`.
        """
        ...

    def read(self, file: SessionFile) -> Session | None:
        """Read a session; None for a file that holds none.

        Raises:
            OSError: the file cannot be read.
        """
        ...


def seconds(value: object) -> float | None:
    """Convert a time in seconds or milliseconds, or in ISO 8601, to Unix seconds; None for anything else."""
    from datetime import UTC, datetime

    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1e14:
        return value / 1000 if value > 1e11 else float(value)
    return None


def json_lines(session: Session, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file with their places (`line 3`); a last line that is still being
    written is left out, and what is no object is counted as unknown.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            place = f"line {number}"
            if not line.endswith(b"\n"):
                if len(line) <= LONGEST_LINE and parsed(line) is None:
                    return
                if len(line) > LONGEST_LINE:
                    session.skip(place, f"longer than {LONGEST_LINE >> 20} MiB")
                    while line and not line.endswith(b"\n"):
                        line = file.readline(LONGEST_LINE)
                    continue
            if not line.strip():
                continue
            value = parsed(line)
            if isinstance(value, dict):
                yield place, cast("dict[str, Any]", value)
            else:
                session.skip(place, "not a JSON object")


def parsed(text: bytes | str) -> Any:
    """Parse JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines_of(edits: Sequence[ForeignEdit]) -> diff.LineCounts | None:
    """Count the lines that edits of one file change; None where they are of several, or their content is no
    text."""
    if len({edit.path for edit in edits}) != 1:
        return None
    added = removed = 0
    for edit in edits:
        try:
            before, after = ((each or b"").decode() for each in (edit.before, edit.after))
        except UnicodeDecodeError:
            return None
        counts = diff.count(diff.body(before, after))
        added, removed = added + counts.added, removed + counts.removed
    return diff.LineCounts(added, removed)


def _duration(value: float) -> float:
    return float(value) if math.isfinite(value) and value >= 0 else 0.0


def _first_line(content: object) -> str:
    if not isinstance(content, str):
        return "Done."
    lines = content.strip().splitlines()
    if not lines:
        return "Done."
    more = f" (+{len(lines) - 1:,} lines)" if len(lines) > 1 else ""
    return lines[0][:200] + more
