"""The sessions of Gemini CLI, which are JSON Lines, or in older versions one JSON file each.

Invariant: a message keeps its place and its parts however often it is written again. The program repeats
messages where it resumes, compresses or restores a conversation, as lists or under new ids: these copies, its
own words in them, and what it makes of the context are left out; what the user has rewound is too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cogency_tui.agent.importers.gemini_calls import ended, our_call
from cogency_tui.agent.importers.gemini_files import caller, project_of, stored_sessions
from cogency_tui.agent.importers.records import (
    an_object,
    as_list,
    as_object,
    as_text,
    objects,
    text,
    whole,
)
from cogency_tui.agent.importers.session import (
    LONGEST_LINE,
    Session,
    SessionFile,
    json_lines,
    parsed,
    seconds,
)
from cogency_tui.protocol.events import Measure

_PROVIDER = "gemini"
_CONTEXT = "<session_context>"
_WRITTEN_BY_PROGRAM = (_CONTEXT, "<hook_context>", "<state_snapshot>")
_SLASH_COMMAND = re.compile(r"/[\w:-]+(\s|$)|\?\s*$")
_RAN = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n\n"
    r"This produced the following result:\n```\n(.*)\n```",
    re.DOTALL,
)
_COMMAND_FAILED = re.compile(r"Command exited with code [1-9]")
_BATCH = 0.03
"""Seconds between the ends of calls, beyond which they are of different answers: older versions store those
of several in one message."""


class Gemini:
    """Reads the sessions of Gemini CLI."""

    name = "gemini"
    title = "Gemini CLI"

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        """Yield the stored sessions."""
        yield from stored_sessions(Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini")

    def read(self, file: SessionFile) -> Session | None:
        """Read a session; None for a file that holds none."""
        if not file.path.is_file():
            raise FileNotFoundError(f"{file.path} is not a file")
        session = Session("", project=file.project or project_of(file.path), provider=_PROVIDER)
        records = _Records(session)
        if file.path.suffix == ".json":
            records.add_whole(file.path)
        else:
            for place, record in json_lines(session, file.path):
                with session.at(place):
                    records.add(record)
        if not session.id and not session.unknown:
            return None
        if records.facts.get("kind") == "subagent":
            session.parent, session.call = caller(file.path, session.id)
        else:
            session.title = as_text(records.facts.get("summary"))
        for id, message in records.messages.items():
            with session.at(id):
                _add_message(session, id, message)
        session.close()
        return session if session.events or session.unknown else None


@dataclass(slots=True)
class _Records:
    """The messages of a session as its records leave them, by their ids, and `facts` about it."""

    session: Session
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    messages: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    _prompts: set[str] = field(default_factory=set[str])
    _is_copying: bool = False
    """The program writes its context anew, and behind that copies of messages until the list of them."""

    def add_whole(self, path: Path) -> None:
        """Add the messages of a file of older versions."""
        if path.stat().st_size > LONGEST_LINE:
            self.session.skip(path.name, f"longer than {LONGEST_LINE >> 20} MiB")
            return
        with self.session.at(path.name):
            self.add(an_object(parsed(path.read_bytes())))

    def add(self, record: dict[str, Any]) -> None:
        if "$rewindTo" in record:
            self._rewind(text(record["$rewindTo"]))
        elif "id" in record:
            self._add_message(record)
        elif "$set" in record or "sessionId" in record:
            given = an_object(record.get("$set", record))
            self.facts |= {name: value for name, value in given.items() if name != "messages"}
            self.session.id = self.session.id or as_text(given.get("sessionId"))
            if "messages" not in given:
                return
            self._is_copying = False
            if not self.messages:
                for message in objects(given["messages"]):
                    with self.session.at(as_text(message.get("id"))):
                        self._add_message(message)
        else:
            raise ValueError("a record without an id")

    def _rewind(self, id: str) -> None:
        if id in self.messages:
            while self.messages.popitem()[0] != id:
                pass

    def _add_message(self, message: dict[str, Any]) -> None:
        id, content = text(message["id"]), message.get("content")
        if message.get("type") == "user":
            shown = _shown(content)
            if shown.startswith(_CONTEXT):
                self._is_copying = bool(self.messages)
                return
            if self._is_copying and any(
                _shown(each.get("content")) == shown for each in self.messages.values()
            ):
                return
        elif message.get("type") == "gemini":
            if isinstance(content, list) and not message.get("tokens"):
                if not message.get("toolCalls"):
                    return
                message = {**message, "content": ""}
            self._is_copying = False
        self.messages[id] = message


def _add_message(session: Session, id: str, message: dict[str, Any]) -> None:
    kind, at = message.get("type"), message.get("timestamp")
    if kind == "user":
        content = _shown(message.get("displayContent") or message.get("content"))
        if ran := _RAN.match(_shown(message.get("content"))):
            command, output = (re.sub(r"\\([\\`])", r"\1", each) for each in ran.groups())
            failed = _COMMAND_FAILED.match(output)
            session.user_ran(id, at, command, output, state="failed" if failed else "done")
        elif not content.startswith(_WRITTEN_BY_PROGRAM) and not _SLASH_COMMAND.match(content):
            session.user(id, at, content)
    elif kind == "gemini":
        _add_answer(session, id, at, message)
    elif kind not in ("info", "error", "warning"):
        raise ValueError(f"type {kind!r}")


def _add_answer(session: Session, id: str, at: object, message: dict[str, Any]) -> None:
    session.model = as_text(message.get("model")) or session.model
    for number, thought in enumerate(objects(message.get("thoughts") or [])):
        key = f"{id}/thought{number}"
        with session.at(key):
            subject, words = as_text(thought.get("subject")), as_text(thought.get("description"))
            content = f"**{subject}**\n\n{words}" if subject else words
            session.think(key, thought.get("timestamp"), content.strip(), id, summary=True)
    session.respond(id, at, _shown(message.get("content")), id)
    cycle, before, batch = id, None, 0
    for call in objects(message.get("toolCalls") or []):
        ended = seconds(call.get("timestamp"))
        if before is not None and ended is not None and abs(ended - before) > _BATCH:
            batch += 1
            cycle = f"{id}/{batch}"
        before = ended
        with session.at(id):
            _add_call(session, call, at, cycle)
    _add_usage(session, id, at, message)


def _add_call(session: Session, call: dict[str, Any], at: object, cycle: str) -> None:
    key, tool, given = text(call["id"]), text(call["name"]), as_object(call.get("args"))
    name, args = our_call(tool, given, session.project)
    shown = as_object(call.get("resultDisplay"))
    if name == "write" and shown.get("isNewFile") is False:
        args["overwrite"] = True
    state, content, line = ended(call)
    session.call_tool(key, at, name, args, cycle)
    session.result(key, call.get("timestamp"), content, state=state, outcome=line)
    before, after, is_new = shown.get("originalContent"), shown.get("newContent"), shown.get("isNewFile")
    if state != "done" or not isinstance(after, str) or not (is_new is True or isinstance(before, str)):
        return
    path = as_text(shown.get("filePath")) or as_text(given.get("file_path"))
    was = before.encode() if isinstance(before, str) and is_new is not True else None
    session.edited(key, call.get("timestamp"), path, was, after.encode())


def _add_usage(session: Session, id: str, at: object, message: dict[str, Any]) -> None:
    tokens = as_object(message.get("tokens"))
    if not tokens:
        return
    measure: Measure = {
        "input": whole(tokens, "input") + whole(tokens, "tool"),
        "cached": whole(tokens, "cached"),
        "output": whole(tokens, "output") + whole(tokens, "thoughts"),
        "provider": _PROVIDER,
    }
    if model := as_text(message.get("model")):
        measure["model"] = model
    session.spent(id, at, measure)


def _shown(content: object) -> str:
    """The text of a message: its parts, without the model's thoughts and without calls and results."""
    if isinstance(content, str):
        return content
    pieces: list[str] = []
    for each in as_list(content) or [content]:
        part = as_object(each)
        if isinstance(each, str):
            pieces.append(each)
        elif not part.get("thought"):
            pieces.append(as_text(part.get("text")))
            file = as_object(part.get("inlineData") or part.get("fileData"))
            pieces += [f"\n[attached: {as_text(file.get('mimeType')) or 'a file'}]"] if file else []
    return "".join(pieces)
