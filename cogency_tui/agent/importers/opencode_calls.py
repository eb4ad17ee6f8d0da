"""opencode's tool calls: our names and arguments for them, and how they ended."""

import json
from typing import Any

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


def our_call(tool: str, given: Object, metadata: Object, project: str) -> tuple[str, Object]:
    """Return our name of a tool and our arguments; its own where there is nothing like it here."""
    file = {"file": relative(path_in(given), project)}
    if tool == "read":
        return "read", file | renamed(given, {"offset": "start", "limit": "lines"}, project)
    if tool == "write":
        overwrites = {"overwrite": True} if existed(metadata) else {}
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


def changes_anything(tool: str) -> bool:
    """Return whether a call of this tool of ours, or a foreign one, can have changed any file."""
    return tool not in _READING and tool not in _WRITING


def path_in(given: Object) -> str:
    return as_text(given.get("filePath")) or as_text(given.get("path"))


def existed(metadata: Object) -> Any:
    return metadata.get("exists", metadata.get("existed"))
