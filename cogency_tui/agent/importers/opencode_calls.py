"""opencode's tool calls: our names and arguments for them, how they ended, and what they changed in files."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cogency_tui.agent.importers.opencode_storage import Object
from cogency_tui.agent.importers.records import as_list, as_object, as_text, relative, renamed, text, whole
from cogency_tui.protocol.events import CallState

_DECLINED = ("The user rejected permission", "The user dismissed", "The user has specified a rule")
_READING = frozenset({"read", "list", "find", "plan", "ask", "fetch", "search", "skill"})
_WRITING = frozenset({"write", "edit", "apply_patch"})
_PLAN_STATES = {"completed": "done", "in_progress": "active", "cancelled": "cancelled"}
_EDIT = {"oldString": "old", "newString": "new", "replaceAll": "all"}
_QUESTION = {"question": "question", "header": "header", "options": "choices", "multiple": "several"}
_RENAMED: dict[str, tuple[str, dict[str, str]]] = {
    "bash": ("shell", {"command": "command", "workdir": "cwd"}),
    "glob": ("find", {"pattern": "pattern", "path": "path"}),
    "grep": ("find", {"pattern": "content", "path": "path", "include": "pattern"}),
    "list": ("list", {"path": "path"}),
    "webfetch": ("fetch", {"url": "url"}),
    "websearch": ("search", {"query": "query", "numResults": "limit"}),
    "task": ("agent", {"subagent_type": "name", "prompt": "task"}),
    "skill": ("skill", {"name": "name"}),
}

Change: TypeAlias = tuple[str, bytes | None, bytes | None]
"""A path with its contents before and after."""


def our_call(tool: str, given: Object, metadata: Object, project: str) -> tuple[str, Object]:
    """Return our name of a tool and our arguments; its own where there is nothing like it here."""
    file = {"file": relative(_path_in(given), project)}
    if tool == "read":
        return "read", file | renamed(given, {"offset": "start", "limit": "lines"}, project)
    if tool == "write":
        overwrites = {"overwrite": True} if _existed(metadata) else {}
        return "write", file | renamed(given, {"content": "content"}, project) | overwrites
    if tool == "edit":
        return "edit", file | renamed(given, _EDIT, project)
    if tool == "todowrite":
        steps = [as_object(each) for each in as_list(given.get("todos"))]
        state = [_PLAN_STATES.get(as_text(each.get("status")), "pending") for each in steps]
        texts = [as_text(each.get("content")) for each in steps]
        return "plan", {"steps": [{"text": a, "state": b} for a, b in zip(texts, state, strict=True)]}
    if tool == "question":
        asked = [as_object(each) for each in as_list(given.get("questions"))]
        return "ask", {"questions": [renamed(each, _QUESTION, project) for each in asked]}
    if tool == "invalid":
        return as_text(given.get("tool")) or tool, {}
    if tool not in _RENAMED:
        return tool, given
    name, names = _RENAMED[tool]
    args = renamed(given, names, project)
    if tool == "bash":
        args |= {"cwd": relative(as_text(args["cwd"]), project)} if "cwd" in args else {}
        limit = whole(given, "timeout") // 1000
        args |= {"timeout": min(max(limit, 1), 600)} if "timeout" in given else {}
    return name, args


def ended(tool: str, stored: Object) -> tuple[CallState, str, str]:
    """Return how a call (`tool` is the program's name) ended, what the model has received, and the line for
    the user; the line is empty where the first one of the content will do."""
    metadata, status = as_object(stored.get("metadata")), stored.get("status")
    shown = as_text(metadata.get("output"))
    if status == "completed":
        output = stored.get("output")
        content = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        if tool == "bash" and "User aborted the command" in content[-100:]:
            return "interrupted", content, "Interrupted."
        code = metadata.get("exit")
        if tool == "bash" and isinstance(code, int) and code:
            return "failed", content, f"exit {code}"
        line = as_text(stored.get("title")) if tool in ("read", "task") else ""
        if tool == "todowrite":
            count = len(as_list(as_object(stored.get("input")).get("todos")))
            line = f"{count} step{'' if count == 1 else 's'}"
        return ("failed" if tool == "invalid" else "done"), content, line
    if status != "error":
        return "interrupted", shown, "Interrupted."
    error = text(stored["error"]).removeprefix("Error: ")
    content = f"{shown}\n\n{error}" if shown else error
    if error.startswith(_DECLINED):
        return "declined", content, error.partition("\n")[0][:200]
    if metadata.get("interrupted") is True or error == "Tool execution aborted":
        return "interrupted", content, "Interrupted."
    return "failed", content, error.partition("\n")[0][:200]


def is_unfinished(part: Object) -> bool:
    """Return whether a part of an answer is still being written."""
    if part.get("type") == "tool":
        return as_object(part.get("state")).get("status") not in ("completed", "error")
    times = part.get("time")
    return isinstance(times, dict) and "end" not in times


@dataclass(slots=True)
class FileContents:
    """What is in the files of `project`, as far as only these calls can have changed them since."""

    project: str
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def forget(self) -> None:
        """Forget everything: another may have changed files."""
        self._known.clear()

    def forget_after(self, tool: str) -> None:
        """Forget everything if a call of this tool of ours, or a foreign one, can have changed any file."""
        if tool not in _READING and tool not in _WRITING:
            self.forget()

    def changes(self, tool: str, stored: Object) -> list[Change]:
        """Return the changes by a call that was done, as far as the whole contents are known."""
        given, metadata = as_object(stored.get("input")), as_object(stored.get("metadata"))
        if tool == "apply_patch":
            self.forget()
            return [one for each in as_list(metadata.get("files")) for one in _patched(as_object(each))]
        if tool not in ("write", "edit"):
            return []
        path = os.path.normpath(Path(self.project) / _path_in(given))
        before = self._known.pop(path, None)
        if tool == "write":
            after: str | None = text(given["content"])
            is_known = before is not None or _existed(metadata) is False
        else:
            before, after = _edited(before, given, metadata)
            is_known = before is not None
        if after is None:
            return []
        self._known[path] = after
        return [(path, None if before is None else before.encode(), after.encode())] if is_known else []


def _path_in(given: Object) -> str:
    return as_text(given.get("filePath")) or as_text(given.get("path"))


def _existed(metadata: Object) -> Any:
    return metadata.get("exists", metadata.get("existed"))


def _edited(before: str | None, given: Object, metadata: Object) -> tuple[str | None, str | None]:
    """Return a file's contents before and after an edit; None if they are not known.

    Older versions store both. Newer ones store a diff without the common indentation: it shows whether what
    follows from the arguments is what took place, also where the program formats what it writes.
    """
    diff = as_object(metadata.get("filediff"))
    if isinstance(diff.get("before"), str) and isinstance(diff.get("after"), str):
        return diff["before"], diff["after"]
    old, new = as_text(given.get("oldString")), as_text(given.get("newString"))
    count = (before or "").count(old) if old else 0
    if before is None or not count or (count > 1 and given.get("replaceAll") is not True):
        return None, None
    after = before.replace(old, new)
    start, _, body = as_text(diff.get("patch")).partition("\n@@")
    grown = whole(diff, "additions") - whole(diff, "deletions")
    is_shown = _has_lines(before, body, "-") and _has_lines(after, body, "+")
    if start and is_shown and after.count("\n") - before.count("\n") == grown:
        return before, after
    return None, None


def _has_lines(content: str, diff: str, sign: str) -> bool:
    """Return whether a text has the lines with this sign of a diff, whatever their indentation."""
    lines = {line.strip() for line in content.split("\n")}
    return all(line[1:].strip() in lines for line in diff.split("\n") if line.startswith(sign))


def _patched(file: Object) -> list[Change]:
    before, after, kind = file.get("before"), file.get("after"), file.get("type")
    if not isinstance(before, str) or not isinstance(after, str):
        return []
    path = text(file["filePath"])
    if kind == "move":
        return [(path, before.encode(), None), (text(file["movePath"]), None, after.encode())]
    return [(path, None if kind == "add" else before.encode(), None if kind == "delete" else after.encode())]
