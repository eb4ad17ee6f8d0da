"""The sessions of opencode, as `opencode_storage` finds them.

Invariant: of the message that is still being written, only what is final is read: no key, no content and no
order changes when the session is read again.

Messages that the user has reverted are left out, as the program does. The summary of a compaction is an
answer, a command of the user (`!command`) is one of theirs.
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.agent.importers.opencode_calls import changes_anything, ended, is_unfinished, our_call
from cogency_tui.agent.importers.opencode_edits import Call, Edits, Trees, steps_of
from cogency_tui.agent.importers.opencode_storage import (
    COMMAND_OF_USER,
    RECENT,
    Message,
    Object,
    StoredSession,
    stored_session,
    stored_sessions,
)
from cogency_tui.agent.importers.records import an_object, as_object, as_text, number, text, whole
from cogency_tui.agent.importers.session import Session, SessionFile, seconds
from cogency_tui.protocol.events import Measure

_UNTITLED = re.compile(r"(New|Child) session - \d{4}-")
_SILENT = frozenset({"step-start", "patch", "snapshot", "retry", "agent", "compaction", "file"})


class Opencode:
    """Reads the sessions of opencode."""

    name = "opencode"
    title = "opencode"

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        """Yield the stored sessions."""
        yield from stored_sessions(home, environment)

    def read(self, file: SessionFile) -> Session | None:
        """Read a session; None if it is gone, or has no messages."""
        with stored_session(file) as stored:
            return None if stored is None else _Reading(file.id, stored).session()


@dataclass(slots=True)
class _Reading:
    """Adds the messages of a session in turn."""

    id: str
    stored: StoredSession
    _session: Session = field(init=False)
    _edits: Edits = field(init=False)
    _is_running: bool = False
    _commands: set[str] = field(default_factory=set[str])
    """The messages in front of a command of the user."""

    _calls: list[Call] = field(default_factory=list[Call])
    """Those whose results come behind the model's part of the answer."""

    def __post_init__(self) -> None:
        info = self.stored.info
        title, model = as_text(info.get("title")), as_object(info.get("model"))
        self._session = Session(
            self.id,
            project=as_text(info.get("directory")),
            title="" if _UNTITLED.match(title) else title,
            model=as_text(model.get("id")),
            provider=as_text(model.get("providerID")),
            parent=as_text(info.get("parentID")),
            call=self.stored.call,
        )
        self._edits = Edits(self._session)

    def session(self) -> Session | None:
        messages = [*self.stored.messages]
        self._edits.look_up(messages, self.stored.snapshots)
        revert = as_object(self.stored.info.get("revert"))
        end, end_part = as_text(revert.get("messageID")), as_text(revert.get("partID"))
        before: Message | None = None
        for message in messages:
            if before is not None:
                self._add(before, is_last=False)
                if self._is_running:
                    break
            before = message
            if end and message.id == end:
                before = _until(message, end_part) if end_part else None
                break
        if before is not None and not self._is_running:
            self._add(before, is_last=True)
        self._session.close(is_running=self._is_running)
        return self._session if self._session.events or self._session.unknown_count else None

    def _add(self, message: Message, *, is_last: bool) -> None:
        count = self._session.unknown_count
        with self._session.at(message.id):
            fields = an_object(message.fields)
            is_open = not as_object(fields.get("time")).get("completed") and not fields.get("error")
            is_new = (is_last or is_open) and self._is_recent(message)
            if fields.get("role") == "assistant":
                self._add_answer(message, fields, is_new=is_new)
            elif fields.get("role") != "user":
                raise ValueError(f"role {fields.get('role')!r}")
            elif is_new and is_last:
                # Its parts are stored one by one.
                self._is_running = True
            else:
                self._add_prompt(message, fields)
        if self._session.unknown_count > count:
            self._edits.forget()

    def _add_prompt(self, message: Message, fields: Object) -> None:
        self._edits.forget()
        texts: list[str] = []
        files: list[str] = []
        for key, stored in message.parts:
            with self._session.at(key):
                part = an_object(stored)
                kind = part.get("type")
                if kind == "text" and _is_written_by_hand(part):
                    texts.append(text(part["text"]))
                elif kind == "text" and part["text"] == COMMAND_OF_USER:
                    self._commands.add(message.id)
                elif kind == "subtask":
                    texts.append(text(part["prompt"]))
                elif kind == "file" and not part.get("source"):
                    name = as_text(part.get("filename")) or as_text(part.get("name")) or "a file"
                    files.append(f"[attached: {name}]")
                elif kind != "text" and kind not in _SILENT:
                    raise ValueError(f"type {kind!r}")
        self._session.user(
            message.id, as_object(fields.get("time")).get("created"), "\n\n".join(texts + files)
        )

    def _add_answer(self, message: Message, fields: Object, *, is_new: bool) -> None:
        times = as_object(fields.get("time"))
        if not self._session.model:
            self._session.model = as_text(fields.get("modelID"))
            self._session.provider = as_text(fields.get("providerID"))
        self._is_running = is_new and not times.get("completed") and not fields.get("error")
        steps = 0
        trees = [trees for _, trees in steps_of(message, self._session.project)]
        for key, part in message.parts:
            if is_new and part is not None and is_unfinished(part):
                self._is_running = True
                break
            with self._session.at(key):
                cycle = f"{message.id}/{steps}" if steps else message.id
                self._add_part(fields, key, an_object(part), cycle, times.get("created"))
            if part is not None and part.get("type") == "step-finish":
                self._add_results(trees[steps])
                steps += 1
        if self._is_running:
            return
        self._add_results(trees[-1])
        if not steps:
            self._add_usage(message.id, times.get("completed"), fields, fields)

    def _is_recent(self, message: Message) -> bool:
        """Return whether the program may still be writing this message."""
        places = [as_object(self.stored.info), as_object(message.fields)]
        for _, part in message.parts:
            places += [as_object(part), as_object(as_object(part).get("state"))]
        times = [seconds(value) or 0.0 for each in places for value in as_object(each.get("time")).values()]
        return time.time() - max(times, default=0.0) < RECENT

    def _add_part(self, fields: Object, key: str, part: Object, cycle: str, at: object) -> None:
        kind = part.get("type")
        began = as_object(part.get("time")).get("start") or at
        if kind == "text" and _is_written_by_hand(part):
            self._session.respond(key, began, text(part["text"]), cycle)
        elif kind == "reasoning":
            self._session.think(key, began, text(part["text"]), cycle)
        elif kind == "tool" and as_text(fields.get("parentID")) in self._commands:
            state = an_object(part["state"])
            command = text(as_object(state.get("input"))["command"])
            how, output, _ = ended("bash", state)
            self._session.user_ran(key, at, command, output, state=how)
        elif kind == "tool":
            self._add_call(key, text(part["tool"]), an_object(part["state"]), cycle, at)
        elif kind == "step-finish":
            self._add_usage(key, None, part, fields)
        elif kind != "text" and kind not in _SILENT:
            raise ValueError(f"type {kind!r}")

    def _add_call(self, key: str, tool: str, state: Object, cycle: str, at: object) -> None:
        given, metadata = as_object(state.get("input")), as_object(state.get("metadata"))
        name, args = our_call(tool, given, metadata, self._session.project)
        began = as_object(state.get("time")).get("start") or at
        self._session.call_tool(key, began, name, args, cycle)
        self._calls.append(Call(key, name, tool, state))

    def _add_results(self, trees: Trees) -> None:
        """Add the results of the calls of a step, which ran side by side."""
        calls, self._calls = self._calls, []
        done: list[Call] = []
        for call in calls:
            with self._session.at(call.key):
                state, content, line = ended(call.foreign, call.stored)
                times = as_object(call.stored.get("time"))
                began, end = seconds(times.get("start")), seconds(times.get("end"))
                took = end - began if began and end else 0.0
                self._session.result(call.key, end, content, state=state, outcome=line, duration=took)
                if state == "done":
                    done.append(call)
        is_alone = not any(changes_anything(call.tool) for call in calls if call.foreign != "invalid")
        self._edits.add(done, trees, is_alone=is_alone)

    def _add_usage(self, key: str, at: object, part: Object, fields: Object) -> None:
        tokens = as_object(part.get("tokens"))
        cache = as_object(tokens.get("cache"))
        read, written = whole(cache, "read"), whole(cache, "write")
        sent, output = whole(tokens, "input") + read + written, whole(tokens, "output")
        # In older versions the output contains the reasoning, in newer ones it does not.
        output = max(output, whole(tokens, "total") - sent)
        if not sent and not output:
            return
        measure: Measure = {"input": sent, "cached": read, "cache_written": written, "output": output}
        if cost := number(part.get("cost")):
            measure["cost"] = cost
        if model := as_text(fields.get("modelID")):
            measure["model"] = model
        if provider := as_text(fields.get("providerID")):
            measure["provider"] = provider
        if fields.get("summary") is True:
            measure["purpose"] = "summary"
        self._session.spent(key, at, measure)


def _until(message: Message, part: str) -> Message:
    ids = [id for id, _ in message.parts]
    return Message(message.id, message.fields, message.parts[: ids.index(part) if part in ids else None])


def _is_written_by_hand(part: Object) -> bool:
    """Return whether the user or the model wrote a text, not the program."""
    return not part.get("synthetic") and not part.get("ignored")
