"""pi's sessions (the coding agent of `@mariozechner/pi-coding-agent`): JSON Lines, one file for each session.

Entries form a tree by `parentId`; all of it is read, in the order of the file: what the user left for another
branch was said and paid for too, and a file that has grown continues what was imported from it before.

pi records no contents of files. Those of an edit are known where the session itself shows them: after the
model has read or written the whole file, until a command, another tool or the user may have changed it.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from os import DirEntry
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.records import (
    an_object,
    blocks,
    entries,
    file_stamp,
    is_in_use,
    number,
    objects,
    relative,
    renamed,
    text,
    whole,
)
from cogency_tui.agent.importers.session import Session, SessionFile, json_lines, parsed, seconds
from cogency_tui.protocol.events import CallState, Measure

_LONGEST_HEADER = 1 << 16
_MOST_CHANGES = 100
"""Passages of one edit beyond which its outcome is not worked out."""

_SILENT = {"branch_summary", "compaction", "custom", "custom_message", "label"} | {
    "model_change",
    "thinking_level_change",
}
"""Types of entries that hold nothing of the conversation."""

_NOT_THE_USERS = ("branchSummary", "compactionSummary", "custom", "hookMessage")
"""Roles of messages that extensions or pi itself wrote."""

_OURS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "read": ("read", {"path": "file", "offset": "start", "limit": "lines"}),
    "write": ("write", {"path": "file", "content": "content"}),
    "edit": ("edit", {"path": "file", "oldText": "old", "newText": "new"}),
    "bash": ("shell", {"command": "command", "timeout": "timeout"}),
    "grep": ("find", {"pattern": "content", "path": "path", "glob": "pattern", "context": "context"}),
    "find": ("find", {"pattern": "pattern", "path": "path"}),
    "ls": ("list", {"path": "path"}),
}
"""Our names for tools and their arguments."""

_HARMLESS = frozenset({"read", "grep", "find", "ls", "write", "edit"})
"""Tools that change no file, or none but that in their arguments."""

_ABORTED = ("Command aborted", "Operation aborted")
_DIFF_LINE = re.compile(r"([ +-]) *(\d{1,9}) (.*)", re.DOTALL)


class Pi:
    """Reads the sessions of pi, in all versions of their format."""

    name = "pi"
    title = "pi"

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        agent = _path(environment.get("PI_CODING_AGENT_DIR"), home) or home / ".pi" / "agent"
        own = _path(environment.get("PI_CODING_AGENT_SESSION_DIR"), home) or _configured(agent, home)
        for place in [agent / "sessions", *([own] if own else [])]:
            for entry in entries(place):
                yield from _session_files(entry)

    def read(self, file: SessionFile) -> Session | None:
        is_running = is_in_use(file.path)
        reading = _Reading(file.path)
        session = reading.session
        for place, entry in json_lines(session, file.path):
            with session.at(place):
                reading.entry(place, entry)
        session.close(is_running=is_running)
        return session if session.events or session.unknown_count else None


def _session_files(entry: DirEntry[str], *, is_inner: bool = False) -> Iterator[SessionFile]:
    """The file of a session, or those in the directory of a project."""
    try:
        if entry.is_dir(follow_symlinks=False):
            for each in [] if is_inner else entries(entry.path):
                yield from _session_files(each, is_inner=True)
        elif entry.name.endswith(".jsonl") and (stamp := file_stamp(entry.path)):
            project = _header(Path(entry.path)).get("cwd")
            yield SessionFile(Path(entry.path), stamp, project=project if isinstance(project, str) else "")
    except OSError:
        return


def _path(value: object, home: Path) -> Path | None:
    if not isinstance(value, str) or not value:
        return None
    return home / value[1:].lstrip("/") if value == "~" or value.startswith("~/") else Path(value)


def _configured(agent: Path, home: Path) -> Path | None:
    """The directory of sessions in the user's settings."""
    found = _path(_header(agent / "settings.json", is_whole=True).get("sessionDir"), home)
    return found if found and found.is_absolute() else None


def _header(path: Path, *, is_whole: bool = False) -> dict[str, Any]:
    """The object in the first line of a file, or in the file."""
    try:
        if not path.is_file():
            return {}
        with path.open("rb") as file:
            found = parsed(file.read(_LONGEST_HEADER) if is_whole else file.readline(_LONGEST_HEADER))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


class _Reading:
    """The session that the entries read so far make."""

    def __init__(self, path: Path) -> None:
        self.session = Session(path.stem.rpartition("_")[2])
        self._seen: set[str] = set()
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        """The calls without a result, as they were made."""
        self._contents: dict[str, str | None] = {}
        """The contents of files that are known; None if there is no such file."""
        self._after_result: float | None = None
        """The time of the last entry, if that is a result."""
        self._forked = 0.0
        """The time at which the session was copied from another."""

    def entry(self, place: str, entry: dict[str, Any]) -> None:
        kind = entry.get("type")
        if kind == "session":
            self._start(entry)
        elif kind == "session_info":
            name = entry.get("name")
            self.session.title = text(name) if name is not None else ""
        elif kind == "message":
            # Entries of the first version of the format have no id.
            key = text(entry.get("id", place))
            if key not in self._seen:
                self._message(place, key, entry.get("timestamp"), entry["message"])
                self._seen.add(key)
        elif kind not in _SILENT:
            self.session.skip(place, f"type {kind!r}")

    def _start(self, header: dict[str, Any]) -> None:
        self.session.id = text(header["id"])
        self.session.project = text(header["cwd"])
        if isinstance(header.get("parentSession"), str):
            self._forked = seconds(header.get("timestamp")) or 0.0

    def _message(self, place: str, key: str, at: object, message: dict[str, Any]) -> None:
        role, sent, previous = message["role"], seconds(message.get("timestamp")), self._after_result
        at = at if seconds(at) is not None else sent
        self._after_result = seconds(at) if role == "toolResult" else None
        if role == "user":
            self._contents = {}
            # A message that waited for the result before it was sent while the model worked.
            steered = previous is not None and sent is not None and sent < previous
            said = "\n".join(
                text(each["text"]) for each in blocks(message["content"]) if each["type"] == "text"
            )
            self.session.user(key, at, said, steered=steered)
        elif role == "assistant":
            self._answer(place, key, at, message)
        elif role == "toolResult":
            self._result(at, message)
        elif role == "bashExecution":
            self._contents = {}
            self._ran(key, at, message)
        elif role not in _NOT_THE_USERS:
            self.session.skip(place, f"role {role!r}")

    def _ran(self, key: str, at: object, message: dict[str, Any]) -> None:
        command, output, status = text(message["command"]), text(message["output"]), message.get("exitCode")
        if message.get("cancelled") is True:
            self.session.user_ran(key, at, command, output, state="interrupted", outcome="Interrupted.")
        elif status in (0, None):
            self.session.user_ran(key, at, command, output)
        else:
            self.session.user_ran(key, at, command, output, state="failed", outcome=f"exit {status}")

    def _answer(self, place: str, key: str, at: object, message: dict[str, Any]) -> None:
        for index, block in enumerate(blocks(message["content"])):
            with self.session.at(place):
                self._block(place, f"{key}/{index}" if index else key, at, block, key)
        self.session.model, self.session.provider = text(message["model"]), text(message["provider"])
        usage = an_object(message["usage"])
        cached, written = whole(usage, "cacheRead"), whole(usage, "cacheWrite")
        measure: Measure = {
            "input": whole(usage, "input") + cached + written,
            "output": whole(usage, "output"),
            "cached": cached,
            "cache_written": written,
            "model": self.session.model,
            "provider": self.session.provider,
        }
        if (cost := number(an_object(usage.get("cost", {})).get("total"))) is not None:
            measure["cost"] = cost
        # Entries that were copied are counted in the session that they are from.
        if (measure["input"] or measure["output"]) and (seconds(at) or 0.0) >= self._forked:
            self.session.spent(f"{self.session.id}/{key}", at, measure)

    def _block(self, place: str, key: str, at: object, block: dict[str, Any], cycle: str) -> None:
        kind = block["type"]
        if kind == "thinking":
            self.session.think(key, at, text(block["thinking"]), cycle)
        elif kind == "text":
            self.session.respond(key, at, text(block["text"]), cycle)
        elif kind == "toolCall":
            self._call(text(block["id"]), at, text(block["name"]), an_object(block["arguments"]), cycle)
        elif kind != "image":
            self.session.skip(place, f"block {kind!r}")

    def _call(self, key: str, at: object, name: str, given: dict[str, Any], cycle: str) -> None:
        try:
            ours, args = _translated(name, given, self.session.project)
        except (KeyError, TypeError):
            # The model's mistake, which the result reports.
            ours, args = name, given
        if ours == "write" and self._contents.get(self._file(given)) is not None:
            args["overwrite"] = True
        self.session.call_tool(key, at, ours, args, cycle)
        self._calls[key] = (name, given)
        if name not in _HARMLESS:
            self._contents = {}

    def _result(self, at: object, message: dict[str, Any]) -> None:
        key, found = text(message["toolCallId"]), blocks(message["content"])
        content = "\n".join(
            text(each["text"]) if each["type"] == "text" else f"[{each['type']}]" for each in found
        )
        state: CallState = "done"
        if message.get("isError") is True:
            ending = content.rstrip().rpartition("\n")[2]
            state = "interrupted" if ending in _ABORTED else "failed"
            state = "declined" if content == "Blocked by user" else state
        self.session.result(key, at, content, state=state)
        name, given = self._calls.pop(key, ("", {}))
        if name not in _HARMLESS:
            self._contents = {}
        elif isinstance(given.get("path"), str):
            details: Any = message.get("details")
            facts = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
            is_text = len(found) == 1 and found[0]["type"] == "text"
            self._learn(key, at, name, given, state, content if is_text else "\ufffd", facts)

    def _learn(
        self,
        key: str,
        at: object,
        name: str,
        given: dict[str, Any],
        state: CallState,
        content: str,
        details: dict[str, Any],
    ) -> None:
        """Note the contents of the file that a call has read or written."""
        file = self._file(given)
        if name == "read":
            is_part = not {"offset", "limit"}.isdisjoint(given) or "truncation" in details
            if state == "done" and not is_part and "\ufffd" not in content:
                self._contents[file] = content
            elif state == "failed" and content.startswith("ENOENT: no such file"):
                self._contents[file] = None
        elif name in ("write", "edit"):
            if state == "failed":
                return
            is_known, before = file in self._contents, self._contents.pop(file, None)
            if state != "done":
                return
            after = text(given["content"]) if name == "write" else _edited(before, given, details)
            if after is not None:
                if is_known:
                    old = None if before is None else before.encode()
                    self.session.edited(key, at, file, old, after.encode())
                self._contents[file] = after

    def _file(self, given: dict[str, Any]) -> str:
        path = given.get("path")
        return posixpath.normpath(relative(path, self.session.project)) if isinstance(path, str) else ""


def _translated(name: str, given: dict[str, Any], project: str) -> tuple[str, dict[str, Any]]:
    """The name and arguments of a call in our form, if we have such a tool."""
    if name not in _OURS:
        return name, given
    ours, names = _OURS[name]
    if name == "edit" and "edits" in given:
        changes = objects(given["edits"])
        if len(changes) != 1:
            passages = [{"old": each["oldText"], "new": each["newText"]} for each in changes]
            return ours, {**renamed(given, names, project), "edits": passages}
        given = {**given, **changes[0]}
    args = renamed(given, names, project)
    if name == "grep":
        pattern = text(given["pattern"])
        pattern = re.escape(pattern) if given.get("literal") is True else pattern
        args["content"] = f"(?i){pattern}" if given.get("ignoreCase") is True else pattern
    return ours, args


def _edited(before: str | None, given: dict[str, Any], details: dict[str, Any]) -> str | None:
    """Make an edit, and check what comes of it by the recorded diff; None where they do not agree.

    All passages are those of the text before.
    """
    diff = details.get("diff")
    if before is None or "\r" in before or not isinstance(diff, str):
        return None
    changes = objects(given["edits"]) if "edits" in given else [given]
    if len(changes) > _MOST_CHANGES:
        return None
    found: list[tuple[int, str, str]] = []
    for change in changes:
        old, new = text(change["oldText"]), text(change["newText"])
        if not old or before.count(old) != 1:
            return None
        found.append((before.index(old), old, new))
    after = before
    for at, old, new in sorted(found, reverse=True):
        if not after.startswith(old, at):
            return None
        after = f"{after[:at]}{new}{after[at + len(old) :]}"
    lines = {"+": after.split("\n"), "-": before.split("\n"), " ": before.split("\n")}
    for line in diff.split("\n"):
        if parts := _DIFF_LINE.fullmatch(line):
            sign, place, content = parts.groups()
            if lines[sign][int(place) - 1 : int(place)] != [content]:
                return None
    return after
