"""Gemini CLI's tool calls: our names and arguments for them, and how they ended."""

import json
import re
from typing import Any

from cogency_tui.agent.importers.records import (
    as_list,
    as_object,
    as_text,
    objects,
    relative,
    renamed,
    whole,
)
from cogency_tui.protocol.events import CallState

_EXIT_CODE = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE)
_DECLINED = re.compile(r"User (denied|did not allow|rejected|declined)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s\"'<>)\]]+")
_PLAN_STATES = {"completed": "done", "in_progress": "active", "cancelled": "cancelled"}
_PLACE = {"dir_path": "path", "path": "path"}
_FILE = {"file_path": "file", "absolute_path": "file"}
_QUESTION = {"question": "question", "header": "header", "options": "choices", "multiSelect": "several"}
_GREP = ("find", {"pattern": "content", "include_pattern": "pattern", "include": "pattern", **_PLACE})
_TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("read", {**_FILE, "start_line": "start", "limit": "lines"}),
    "write_file": ("write", {**_FILE, "content": "content"}),
    "replace": ("edit", {**_FILE, "old_string": "old", "new_string": "new", "allow_multiple": "all"}),
    "run_shell_command": (
        "shell",
        {"command": "command", "dir_path": "cwd", "directory": "cwd", "is_background": "background"},
    ),
    "glob": ("find", {"pattern": "pattern", **_PLACE}),
    "grep_search": _GREP,
    "search_file_content": _GREP,
    "list_directory": ("list", _PLACE),
    "google_web_search": ("search", {"query": "query"}),
    "activate_skill": ("skill", {"name": "name"}),
    "invoke_agent": ("agent", {"agent_name": "name", "prompt": "task"}),
}


def our_call(tool: str, given: dict[str, Any], project: str) -> tuple[str, dict[str, Any]]:
    """Return our name of a tool and our arguments; its own where there is nothing like it here."""
    if tool == "write_todos":
        steps = objects(given["todos"])
        states = [_PLAN_STATES.get(as_text(each.get("status")), "pending") for each in steps]
        words = [as_text(each.get("description")) for each in steps]
        return "plan", {"steps": [{"text": a, "state": b} for a, b in zip(words, states, strict=True)]}
    if tool == "ask_user":
        return "ask", {"questions": [renamed(each, _QUESTION, "") for each in objects(given["questions"])]}
    if tool == "web_fetch" and (address := _ADDRESS.search(as_text(given.get("prompt")))):
        return "fetch", {"url": address.group()}
    if tool not in _TOOLS:
        return tool, given
    name, names = _TOOLS[tool]
    args = renamed(given, names, project)
    if name == "shell" and "cwd" in args:
        args["cwd"] = relative(as_text(args["cwd"]), project)
    if name == "read" and "offset" in given:
        args["start"] = whole(given, "offset") + 1
    if name == "read" and "end_line" in given:
        args["lines"] = max(1, whole(given, "end_line") - max(1, whole(args, "start")) + 1)
    return name, args


def ended(call: dict[str, Any]) -> tuple[CallState, str, str]:
    """Return how a call ended, what the model has received, and the line for the user, if there is one."""
    content, status, shown = _received(call.get("result")), call.get("status"), call.get("resultDisplay")
    line = shown.strip().partition("\n")[0][:200] if isinstance(shown, str) else ""
    if status == "success":
        code = _EXIT_CODE.findall(content) if call.get("name") == "run_shell_command" else []
        if code and int(code[-1][:9]):
            return "failed", content, f"exit {code[-1][:9]}"
        return "done", content, line
    if status == "cancelled":
        declined = _DECLINED.search(content)
        return ("declined", content, "") if declined else ("interrupted", content, "Interrupted.")
    if status != "error":
        raise ValueError(f"status {status!r}")
    return "failed", content, line


def _received(result: object) -> str:
    pieces: list[str] = []
    for each in as_list(result) or [result]:
        part = as_object(each)
        response = as_object(as_object(part.get("functionResponse")).get("response"))
        found = next((response[name] for name in ("output", "error") if name in response), response or None)
        if found is None:
            found = each if isinstance(each, str) else as_text(part.get("text"))
        pieces.append(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
    return "\n".join(piece for piece in pieces if piece)
