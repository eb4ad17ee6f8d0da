"""Vibe's calls as calls of our tools, and the results of them."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from cogency_tui.agent.importers.records import an_object, blocks, objects, renamed, text, text_of
from cogency_tui.protocol.events import CallState

_DENIED = frozenset({"tool_denied", "permission_denied"})

_OPENS, _BETWEEN, _CLOSES = "<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE"

_OWN: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "read_file": ("read", {"path": "file", "limit": "lines"}),
    "write_file": ("write", {"path": "file", "content": "content", "overwrite": "overwrite"}),
    "bash": ("shell", {"command": "command", "timeout": "timeout", "timeout_seconds": "timeout"}),
    "grep": ("find", {"pattern": "content", "path": "path"}),
    "web_fetch": ("fetch", {"url": "url"}),
    "web_search": ("search", {"query": "query"}),
    "skill": ("skill", {"name": "name"}),
}
"""Our tools by the names of Vibe's, with our names for the arguments."""


def own_call(name: str, given: dict[str, Any], project: str) -> tuple[str, dict[str, Any]]:
    """The name of a call with its arguments, ours where we have such a tool."""
    own_name = re.sub(r"^(?:file_system|vibe|self)\.", "", name)
    if own_name in _OWN:
        own, names = _OWN[own_name]
        args = renamed(given, names, project)
        if own == "read" and isinstance(offset := given.get("offset"), int) and offset > 0:
            args["start"] = offset + 1
        return own, args
    if own_name == "todo" and isinstance(given.get("todos"), list):
        return "plan", {"steps": [_step(each) for each in objects(given["todos"])]}
    if own_name == "search_replace" and len(changes := _changes(given.get("content"))) == 1:
        args = {"file": given["file_path"], "old": changes[0]["old_str"], "new": changes[0]["new_str"]}
        if changes[0].get("replace_all"):
            args["all"] = True
        return "edit", renamed(args, {name: name for name in ("file", "old", "new", "all")}, project)
    return own_name, given


def _changes(content: object) -> list[dict[str, Any]]:
    """The replacements in the argument of a call; older versions have them as text."""
    if not isinstance(content, str):
        return objects(content)
    block = content.strip()
    old, is_found, new = block.removeprefix(_OPENS).removesuffix(_CLOSES).partition(_BETWEEN)
    is_one = block.startswith(_OPENS) and block.endswith(_CLOSES) and block.count(_OPENS) == 1
    return [{"old_str": old, "new_str": new}] if is_one and is_found else []


def _step(todo: dict[str, Any]) -> dict[str, Any]:
    states = {"completed": "done", "in_progress": "active", "cancelled": "cancelled"}
    return {"text": text(todo["content"]), "state": states.get(text_of(todo.get("status")), "pending")}


def read_result(name: str, state: dict[str, Any]) -> tuple[CallState, str, str]:
    """The state of a call that ended, with its content for the model and its outcome for the user."""
    status = text(state["status"])
    if status == "cancelled":
        return "interrupted", text_of(state.get("reason")), "Interrupted."
    if status in ("failed", "skipped"):
        error = an_object(state.get("error") or {})
        is_declined = state.get("decision") == "skip" or error.get("code") in _DENIED
        reason = text_of(error.get("message")) or text_of(state.get("reason"))
        return ("declined" if is_declined else "skipped" if status == "skipped" else "failed"), reason, ""
    output = state.get("output")
    about = cast("dict[str, Any]", output) if isinstance(output, dict) else {}
    found = about.get("structured_content")
    structured = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if name == "shell" and isinstance(code := structured.get("returncode"), int):
        written = f"{text_of(structured.get('stdout'))}{text_of(structured.get('stderr'))}".rstrip("\n")
        outcome = "timed out" if structured.get("timed_out") else f"exit {code}"
        return "failed" if code else "done", f"{outcome}\n{written or '(no output)'}", outcome
    if name == "read" and isinstance(structured.get("content"), str):
        return "done", structured["content"], ""
    content = content_of(about.get("content") or []) or text_of(state.get("outputText"))
    return "done", content or (json.dumps(structured or output) if output else ""), ""


def replaced(before: str, changes: list[dict[str, Any]]) -> str | None:
    """Apply replacements of texts; None where one is not at exactly one place."""
    for change in changes:
        old, new = text(change["old_str"]), text(change["new_str"])
        if not old or (before.count(old) != 1 and not change.get("replace_all")):
            return None
        before = before.replace(old, new)
    return before


def content_of(content: object) -> str:
    """The text of a message; an image is only named."""
    parts = blocks(content)
    return "\n\n".join(
        "[image]" if part.get("type") == "image" else text_of(part.get("text")) for part in parts
    )
