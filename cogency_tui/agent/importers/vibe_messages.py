"""The sessions of Vibe before 2.26: a folder with `meta.json` and `messages.jsonl`, which holds no times."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.importers.records import (
    an_object,
    as_object,
    entries,
    file_stamp,
    number,
    objects,
    text,
    text_of,
    whole,
)
from cogency_tui.agent.importers.session import Session, SessionFile, json_lines, parsed
from cogency_tui.agent.importers.vibe_calls import content_of, own_call
from cogency_tui.protocol.events import CallState, Measure

_LONGEST = 64 << 20
"""Bytes of a file that is read at once."""


class Messages:
    """The events of the messages of older versions."""

    def __init__(self, session: Session, begun: object) -> None:
        self._session = session
        self._calls: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self._at = begun

    def read(self, path: Path) -> None:
        for place, message in json_lines(self._session, path):
            with self._session.at(place):
                self._message(place, message)

    def _message(self, place: str, message: dict[str, Any]) -> None:
        role, id = text(message["role"]), text_of(message.get("message_id")) or place
        content = "" if message.get("content") is None else content_of(message["content"])
        if role == "user":
            if not message.get("injected"):
                self._session.user(id, self._at, content)
        elif role == "assistant":
            if reasoning := message.get("reasoning_content"):
                key = text_of(message.get("reasoning_message_id")) or f"{id}/reasoning"
                self._session.think(key, self._at, text(reasoning), id)
            self._session.respond(id, self._at, content, id)
            for call in objects(message.get("tool_calls") or []):
                self._call(place, call, id)
        elif role == "tool":
            self._result(text(message["tool_call_id"]), content)
        elif role != "system":
            raise ValueError(f"role {role!r}")

    def _call(self, place: str, call: dict[str, Any], cycle: str) -> None:
        function, id = an_object(call["function"]), text(call.get("id") or place)
        key = f"{id} {place}" if self._session.has(id) else id
        name, raw = text(function["name"]), function.get("arguments") or "{}"
        given = parsed(text(raw))
        is_object = isinstance(given, dict)
        args = cast("dict[str, Any]", given) if is_object else {"arguments": raw}
        own, args = own_call(name, args, self._session.project) if is_object else (name, args)
        self._session.call_tool(key, self._at, own, args, cycle)
        self._calls[id] = key, name, cast("dict[str, Any]", given) if is_object else {}

    def _result(self, id: str, content: str) -> None:
        key, name, given = self._calls.pop(id)
        state: CallState = "done"
        for tag, means in (("tool_error", "failed"), ("user_cancellation", "declined")):
            if content.startswith(f"<{tag}>"):
                content = content.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
                state = cast("CallState", means)
        self._session.result(key, self._at, content, state=state)
        is_new = re.search(r"^file_existed: False$", content[:10_000], re.MULTILINE)
        if name == "write_file" and state == "done" and is_new:
            self._session.edited(key, self._at, text(given["path"]), None, text(given["content"]).encode())


def call_of_task(path: Path, child: Session) -> str:
    """The id of the only call in a session that gave a sub-agent the task that `child` begins with."""
    first = child.events[0].event if child.events else None
    if first is None or first["type"] != "user":
        return ""
    found: list[str] = []
    for _, message in json_lines(Session(""), path):
        with Session("").at(""):
            for call in objects(message.get("tool_calls") or []):
                given = as_object(parsed(text(an_object(call["function"]).get("arguments"))))
                if given.get("task") == first["content"]:
                    found.append(text(call["id"]))
    return found[0] if len(found) == 1 else ""


def legacy_files(folder: Path) -> Iterator[SessionFile]:
    """Yield the session in a folder of older versions, and those of its sub-agents."""
    for each in (folder, *(Path(entry.path) for entry in entries(folder / "agents"))):
        if found := marked(each / "messages.jsonl", each / "meta.json"):
            yield found


def marked(path: Path, *others: Path) -> SessionFile | None:
    """The session in a file, with a stamp that changes with other files of it too; None if it is no file."""
    stamps = [file_stamp(each) for each in (path, *others)]
    return SessionFile(path, " ".join(stamps)) if stamps[0] else None


def read_meta(session: Session, folder: Path) -> object:
    """Read what older versions say about a session, and return when it began."""
    meta = object_in(folder / "meta.json")
    session.id = text(meta["session_id"])
    session.title = text_of(meta.get("title"))
    read_place(session, meta)
    config = an_object(meta.get("config") or {})
    for model in objects(config.get("models") or []):
        if config.get("active_model") in (model.get("alias"), model.get("name")):
            session.model, session.provider = text_of(model.get("name")), text_of(model.get("provider"))
    if folder.parent.name == "agents":
        starter = object_in(folder.parent.parent / "meta.json")
        session.parent = text_of(starter.get("session_id"))
        for child in objects(starter.get("child_sessions") or []):
            if child.get("session_id") == session.id:
                session.call = text_of(child.get("tool_call_id"))
    stats = an_object(meta.get("stats") or {})
    measure: Measure = {
        "input": whole(stats, "session_prompt_tokens"),
        "output": whole(stats, "session_completion_tokens"),
        "model": session.model,
        "provider": session.provider,
    }
    if cost := number(stats.get("session_cost")):
        measure["cost"] = cost
    if measure["input"]:
        session.spent(session.id, meta.get("start_time"), measure)
    return meta.get("start_time")


def read_place(session: Session, meta: dict[str, Any]) -> None:
    session.project = text_of(an_object(meta["environment"]).get("working_directory"))
    session.branch = text_of(meta.get("git_branch"))


def value_in(path: Path) -> Any:
    """The JSON in a file; None where it has none.

    Raises:
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    with path.open("rb") as file:
        return parsed(file.read(_LONGEST))


def object_in(path: Path) -> dict[str, Any]:
    """The object in a file; empty where it has none.

    Raises:
        OSError: it cannot be read.
    """
    value = value_in(path)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
