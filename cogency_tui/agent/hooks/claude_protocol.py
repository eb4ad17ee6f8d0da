"""What hooks of Claude Code receive on their input, and what they may write: JSON in its names.

Of the answers those count that mean the same here. No answer allows a call: permissions decide about that.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cogency_tui.agent.hooks.process import ProcessEnd

if TYPE_CHECKING:
    from cogency_tui.agent.hooks.hook import Hook

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "read": ("Read",),
    "write": ("Write",),
    "edit": ("Edit", "MultiEdit"),
    "replace": ("Edit", "MultiEdit"),
    "list": ("LS",),
    "shell": ("Bash",),
    "processes": ("BashOutput", "KillShell"),
    "fetch": ("WebFetch",),
    "search": ("WebSearch",),
    "agent": ("Task", "Agent"),
}
"""Names of our tools, the first of which a hook is given."""

_MODES = {"plan": "plan", "ask": "default", "edits": "acceptEdits", "auto": "auto"}


def tool_names(tool: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that a matcher may use for a call of one of our tools."""
    if tool == "find":
        return ("Grep",) if args.get("content") else ("Glob",)
    if tool in _TOOLS:
        return _TOOLS[tool]
    server, dot, name = tool.partition(".")
    return (f"mcp__{server}__{name}",) if dot else (tool,)


def given(hook: "Hook", project: Path, fields: Mapping[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    """The event as a hook of Claude Code receives it."""
    event: dict[str, Any] = {
        "session_id": fields["conversation"],
        # There is no file of this kind.
        "transcript_path": "",
        "cwd": str(project),
        "permission_mode": _MODES.get(fields.get("mode", ""), "default"),
        "hook_event_name": hook.claude_event,
    }
    match hook.claude_event:
        case "PreToolUse" | "PostToolUse" | "PostToolUseFailure":
            tool, args = fields["tool"], fields["args"]
            event |= {"tool_use_id": fields["call"], **_tool(hook, tool, args, files)}
            if hook.claude_event == "PostToolUse":
                event["tool_response"] = _response(tool, event["tool_input"], fields["result"])
            elif hook.claude_event == "PostToolUseFailure":
                event |= {"error": fields["result"]["outcome"], "is_interrupt": False}
        case "UserPromptSubmit":
            event["prompt"] = fields["message"]
        case "Stop":
            event["stop_hook_active"] = fields["continued"]
            event["last_assistant_message"] = fields["message"]
        case "SessionStart":
            event["source"] = fields["source"]
        case "SessionEnd":
            event["reason"] = "other"
        case _:
            pass
    return event


def _tool(hook: "Hook", tool: str, args: Mapping[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    file = str(files[0]) if files else str(args.get("file", ""))
    names = tool_names(tool, args)
    name = next((each for each in names if hook.matches(each)), names[0])
    # What it is given is not the input of a MultiEdit.
    name = "Edit" if tool in ("edit", "replace") else name
    return {"tool_name": name, "tool_input": _input(tool, args, file)}


def _input(tool: str, args: Mapping[str, Any], file: str) -> dict[str, Any]:
    match tool:
        case "read":
            limits = {"offset": args.get("start"), "limit": args.get("lines")}
            return {"file_path": file, **{key: value for key, value in limits.items() if value is not None}}
        case "write":
            return {"file_path": file, "content": args.get("content", "")}
        case "edit" | "replace":
            return {
                "file_path": file,
                "old_string": args.get("old", ""),
                "new_string": args.get("new", ""),
                "replace_all": bool(args.get("all", tool == "replace")),
            }
        case "shell":
            return {
                "command": args.get("command", ""),
                "description": "",
                "timeout": int(args.get("timeout", 120)) * 1000,
                "run_in_background": bool(args.get("background")),
            }
        case "find":
            content = args.get("content")
            wanted = {"pattern": content, "glob": args.get("pattern")} if content else dict(args)
            return {"path": file or str(args.get("path", ".")), **wanted}
        case "fetch":
            return {"url": args.get("url", ""), "prompt": ""}
        case "agent":
            return {
                "subagent_type": args.get("name", ""),
                "prompt": str(args.get("task", "")),
                "description": "",
            }
        case _:
            return dict(args)


def _response(tool: str, given: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    content = result["content"]
    text = content if isinstance(content, str) else "" if content is None else json.dumps(content)
    if tool == "shell":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    if "file_path" in given:
        return {"filePath": given["file_path"], "success": True, "content": text}
    return {"success": True, "content": text}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a hook has decided by its output: a `reason` to block, `context` for the model, a question to the
    user (`asks`), a `message` to them, or the end of the turn (`stops`).
    """

    reason: str = ""
    context: str = ""
    asks: str = ""
    message: str = ""
    stops: str = ""
    is_quiet: bool = False


_NO_REASON = "no reason given"
_TAKES_TEXT = frozenset({"UserPromptSubmit", "SessionStart"})
"""Events whose hooks give the model what they print."""


def read_output(hook: "Hook", end: ProcessEnd) -> Decision:
    """The decision of a hook that has ended with status 0."""
    text = end.output.strip()
    if not text.startswith("{"):
        return Decision(context=text if hook.claude_event in _TAKES_TEXT else "")
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return Decision(context=text if hook.claude_event in _TAKES_TEXT else "")
    if not isinstance(value, dict):
        return Decision()
    answer = cast("dict[str, Any]", value)
    inner: Any = answer.get("hookSpecificOutput")
    specific = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    reason = asks = ""
    if answer.get("decision") == "block":
        reason = _text(answer.get("reason")) or _NO_REASON
    if hook.claude_event == "PreToolUse":
        why = _text(specific.get("permissionDecisionReason")) or _NO_REASON
        match specific.get("permissionDecision"):
            case "deny":
                reason = why
            case "ask" | "defer":
                asks = why
            case _:
                pass
        if not reason and specific.get("updatedInput") not in (None, {}):
            reason = "it would change the arguments of the call (updatedInput), which is not supported here"
    stops = _text(answer.get("stopReason")) or _NO_REASON if answer.get("continue") is False else ""
    return Decision(
        reason,
        _text(specific.get("additionalContext")),
        asks,
        _text(answer.get("systemMessage")),
        stops,
        is_quiet=answer.get("suppressOutput") is True,
    )


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
