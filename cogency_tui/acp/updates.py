"""Updates for an editor: renders a conversation's events, and the changes of its calls as diffs."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import acp
from acp import tool_diff_content
from acp.schema import FileEditToolCallContent, PlanEntry, PlanEntryStatus, ToolCallLocation

from cogency_tui.acp.prompt_blocks import fenced
from cogency_tui.agent.llm_tool import Llm
from cogency_tui.agent.relic_tool import Relic
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.protocol.events import (
    CallEvent,
    Event,
    PlannedStep,
    PlanState,
    ResultEvent,
    ResultPayload,
    describe_diagnostic,
    error_text,
    outcome_shown,
    summarize_diagnostics,
)
from cogency_tui.protocol.transcript import as_tool_call, call_record, shown_text
from cogency_tui.safe_text import one_line
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store
from cogency_tui.tools.base import ToolKind
from cogency_tui.tools.recall import RecallTool
from cogency_tui.tools.registry import OWN_TOOLS, own_arguments, own_tool
from cogency_tui.tools.skill import SkillTool
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.text_files import decode

_LARGEST = 1 << 20
"""Bytes of a file that is shown."""

_MOST = 50
"""Files of one call that are shown."""


class Changes:
    """The edits in `store` of conversations in `project` (resolved), as they are recorded."""

    def __init__(self, store: Store, project: Path) -> None:
        self._edits = Edits(store.database)
        self._blobs = Blobs(store.database.path.parent / BLOBS)
        self._project = project
        self._last = 0
        self._found: dict[str, list[Edit]] = {}
        """The edits of calls whose results are pending: calls run at the same time."""

    async def begin(self) -> None:
        """Ignore the edits recorded so far.

        Raises:
            StoreError: the edits cannot be read.
        """
        self._last = await self._edits.last()

    async def of_call(self, conversation: str, call: str) -> list[FileEditToolCallContent]:
        """The files that a call has changed, its sub-agents' included; none if that cannot be determined.
        To be called once for each call.
        """
        try:
            for edit in await self._edits.since(str(self._project), self._last):
                self._last = edit.id
                if edit.origin.conversation == conversation:
                    self._found.setdefault(edit.call, []).append(edit)
            return await in_thread(self._shown, self._found.pop(call, []))
        except StoreError:
            return []

    def _shown(self, edits: Sequence[Edit]) -> list[FileEditToolCallContent]:
        found: list[FileEditToolCallContent] = []
        for edit in edits[:_MOST]:
            before, after = self._text(edit.path, edit.before), self._text(edit.path, edit.after)
            if edit.kind == "snapshot" or after is None or (before is None and edit.before.kind != "absent"):
                continue
            path = str(self._project / edit.path)
            found.append(tool_diff_content(path, after, before))
        return found

    def _text(self, path: str, version: Version) -> str | None:
        """A version of a file as text; None if it is none, too large or not stored."""
        if version.kind == "absent":
            return ""
        if version.kind != "file" or not version.kept or version.size > _LARGEST:
            return None
        try:
            return decode(self._blobs.read(version.digest, version.size), path).plain
        except (StoreError, WorkspaceError):
            return None


_KINDS: Mapping[str, ToolKind] = {tool.name: tool.kind for tool in (*OWN_TOOLS, RecallTool, Relic, Llm)}
_LONGEST_TITLE = 120
_LONGEST_OUTPUT = 50_000
"""Characters of an output that an editor receives, from its beginning and its end; of live output, from its
end.
"""


class Updates:
    """Renders the events of one conversation in `project` (resolved) as updates, as they arrive."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._titles: dict[str, str] = {}
        """The titles of the calls that the editor knows, by id."""
        self._live: dict[str, str] = {}

    def of(self, event: Event, diffs: Sequence[Any] = ()) -> list[Any]:
        """The updates for an event; `diffs` are the changes of a result's call."""
        match event["type"]:
            case "think":
                return [acp.update_agent_thought_text(_sound(event["content"]))]
            case "respond":
                return [acp.update_agent_message_text(_sound(event["content"]))]
            case "user":
                return [acp.update_user_message_text(_sound(shown_text(event)))]
            case "call":
                return list(self._call(event))
            case "result":
                return list(self._result(event, diffs))
            case "error":
                # An error that ends the turn is the answer to the prompt; a stored one has had its prompt.
                payload = event["payload"]
                is_shown = payload.get("notice") or "failure" in payload
                message = f"\n{_sound(error_text(payload))}\n"
                return [acp.update_agent_thought_text(message)] if is_shown else []
            case _:
                return []

    def replay(self, events: Iterable[Event]) -> Iterator[Any]:
        """All updates of a past conversation."""
        for event in events:
            yield from self.of(event)

    def _call(self, event: CallEvent) -> Iterator[Any]:
        id = event["id"]
        if event.get("partial"):
            name = json.loads(event["content"]).get("name")
            if isinstance(name, str) and id not in self._titles:
                self._titles[id] = _title(name)
                yield acp.start_tool_call(
                    id, self._titles[id], kind=kind_of(own_tool(name)), status="pending"
                )
            return
        call = as_tool_call(call_record(event))
        name, args = str(call["name"]), call["args"]
        tool = own_tool(name)
        shown: dict[str, Any] = {
            "title": _title(name, args),
            "kind": kind_of(tool),
            "status": "pending",
            "locations": self._locations(tool, own_arguments(name, tool, _table(args))),
            "raw_input": _clean(args),
        }
        start = acp.update_tool_call if id in self._titles else acp.start_tool_call
        self._titles[id] = shown["title"]
        yield start(id, **shown)

    def _result(self, event: ResultEvent, diffs: Sequence[Any]) -> Iterator[Any]:
        id, payload = event["id"], event["payload"]
        if id not in self._titles:
            self._titles[id] = title = _title(event["tool"])
            yield acp.start_tool_call(id, title, kind=kind_of(event["tool"]), status="pending")
        if event.get("partial"):
            content = payload["content"]
            text = self._live.get(id, "") + (content if isinstance(content, str) else "")
            self._live[id] = text = text[-_LONGEST_OUTPUT:]
            shown = [_text(text)] if text.strip() else None
            yield acp.update_tool_call(id, status="in_progress", content=shown)
            return
        self._live.pop(id, None)
        text = _output(outcome_shown(payload), payload["content"])
        content = [*diffs, *([_text(text)] if text else [])]
        if change := payload.get("diagnostics"):
            problems = [summarize_diagnostics(change), *map(describe_diagnostic, change["added"])]
            content.append(_text("\n".join(problems)))
        yield acp.update_tool_call(id, content=content, **self._end(id, payload))
        if "plan" in payload:
            steps = [step for step in payload["plan"] if step["state"] != "cancelled"]
            yield acp.update_plan([_plan_entry(step) for step in steps])

    def _end(self, id: str, payload: ResultPayload) -> dict[str, Any]:
        """The status of a call that has ended. The protocol has none for a declined one, which is therefore
        `failed` with a title and a raw output that say `declined`."""
        if payload["state"] != "declined":
            return {"status": "failed" if payload["error"] else "completed"}
        title = _shortened(f"{_declined(payload)}: {self._titles[id]}")
        return {"status": "failed", "title": title, "raw_output": {"state": "declined"}}

    def _locations(self, tool: str, args: Mapping[str, Any]) -> list[ToolCallLocation] | None:
        """The file that a call names, if it is in the project; one of a skill is below the skill."""
        file = args.get("file") if tool != SkillTool.name else None
        if not isinstance(file, str) or not file or "\0" in file:
            return None
        path = Path(os.path.normpath(self._project / file))
        inside = path.is_relative_to(self._project) and _sound(file) == file
        return [ToolCallLocation(path=str(path))] if inside else None


def kind_of(tool: str) -> ToolKind:
    """The editor's kind of a tool."""
    return _KINDS.get(tool, "other")


_PLAN_STATUS: Mapping[PlanState, PlanEntryStatus] = {
    "pending": "pending",
    "active": "in_progress",
    "done": "completed",
}


def _plan_entry(step: PlannedStep) -> PlanEntry:
    """A step for the editor, which wants a priority; the plan has none."""
    return acp.plan_entry(_sound(step["text"]), status=_PLAN_STATUS[step["state"]])


def _table(args: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", args) if isinstance(args, dict) else {}


def _title(name: str, args: Any = None) -> str:
    first = next((value for value in _table(args).values() if isinstance(value, str) and value.strip()), "")
    return _shortened(one_line(f"{name} {first}".strip()))


def _shortened(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _declined(payload: ResultPayload) -> str:
    """The label of a call that the user has declined, or that their permission mode does not allow."""
    mode = payload.get("mode")
    return f"Blocked by {mode} mode" if mode else "Declined"


def _output(outcome: str, content: Any) -> str:
    text = content if isinstance(content, str) else "" if content is None else _json(content)
    text = f"{outcome}\n{text}".strip()
    if len(text) <= _LONGEST_OUTPUT:
        return text
    half = _LONGEST_OUTPUT // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters …]\n{text[-half:]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _text(text: str) -> Any:
    return acp.tool_content(acp.text_block(fenced(_sound(text))))


def _sound(text: str) -> str:
    """Text that can be sent: lone surrogates have no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _clean(value: Any) -> Any:
    return json.loads(_sound(json.dumps(value, ensure_ascii=False)))
