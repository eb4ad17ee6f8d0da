"""Claude Code's calls in our form: names and arguments, the plan that they make, the files they change."""

from collections.abc import Mapping
from typing import Any

from cogency_tui.agent.importers.records import number, objects, renamed, text

_OURS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Read": ("read", {"file_path": "file", "offset": "start", "limit": "lines"}),
    "Write": ("write", {"file_path": "file", "content": "content"}),
    "Edit": ("edit", {"file_path": "file", "old_string": "old", "new_string": "new", "replace_all": "all"}),
    "Bash": ("shell", {"command": "command", "timeout": "timeout", "run_in_background": "background"}),
    "Glob": ("find", {"pattern": "pattern", "path": "path"}),
    "Grep": ("find", {"pattern": "content", "glob": "pattern", "path": "path", "-C": "context"}),
    "LS": ("list", {"path": "path"}),
    "WebFetch": ("fetch", {"url": "url"}),
    "WebSearch": ("search", {"query": "query"}),
    "TodoWrite": ("plan", {"todos": "steps"}),
    "AskUserQuestion": ("ask", {"questions": "questions"}),
    "Skill": ("skill", {"skill": "name", "command": "name"}),
    "Agent": ("agent", {"subagent_type": "name", "prompt": "task"}),
    "Task": ("agent", {"subagent_type": "name", "prompt": "task"}),
}
"""Our names for tools and their arguments."""

_STATES = {"pending": "pending", "in_progress": "active", "completed": "done", "deleted": "cancelled"}


class Tasks:
    """The tasks of a session: calls that create or update one are our `plan`, which each repeats whole."""

    def __init__(self) -> None:
        self._steps: dict[str, dict[str, str]] = {}
        """Steps by the ids of their tasks, or of their calls before these have a result."""

    def translated(self, key: str, name: str, given: dict[str, Any]) -> dict[str, Any] | None:
        """The plan after a call; None if it makes none."""
        if name == "TaskCreate":
            self._steps[f"call {key}"] = {"text": text(given["subject"]), "state": "pending"}
        elif name == "TaskUpdate" and (step := self._steps.get(text(given["taskId"]))):
            step["text"] = text(given.get("subject", step["text"]))
            step["state"] = _STATES.get(text(given.get("status", "")), step["state"])
        else:
            return None
        return {"steps": [dict(step) for step in self._steps.values()]}

    def end(self, key: str, facts: dict[str, Any]) -> None:
        """Note the id of the task that a call has created; without one it has created none."""
        match facts:
            case {"task": {"id": str(id)}}:
                ids = {f"call {key}": id}
                self._steps = {ids.get(each, each): step for each, step in self._steps.items()}
            case _:
                self._steps.pop(f"call {key}", None)


def translated(name: str, given: dict[str, Any], project: str) -> tuple[str, dict[str, Any]]:
    """The name and arguments of a call in our form, if we have such a tool."""
    if name.startswith("mcp__") and name.count("__") > 1:
        return ".".join(name.split("__", 2)[1:]), given
    if name not in _OURS:
        return name, given
    ours, names = _OURS[name]
    args = renamed(given, names, project)
    if ours == "shell" and (limit := number(args.get("timeout"))) is not None:
        args["timeout"] = min(max(int(limit / 1000), 1), 600)
    if name == "Grep" and given.get("-i") is True:
        args["content"] = f"(?i){text(args['content'])}"
    if ours == "plan":
        states = [
            (each["content"], _STATES.get(text(each["status"]), "pending")) for each in objects(args["steps"])
        ]
        args["steps"] = [{"text": step, "state": state} for step, state in states]
    if ours == "ask":
        args["questions"] = [_question(each) for each in objects(args["questions"])]
    return ours, args


def _question(given: dict[str, Any]) -> dict[str, Any]:
    names = {"question": "question", "header": "header", "options": "choices", "multiSelect": "several"}
    return {ours: given[key] for key, ours in names.items() if given.get(key)}


def change(name: str, facts: dict[str, Any]) -> tuple[str, bytes | None, bytes] | None:
    """The file that a call changed, with its whole contents before and after; None where they are unknown."""
    match name, facts:
        case "Write", {"type": "create", "filePath": str(path), "content": str(after)}:
            return path, None, after.encode()
        case "Write", {"filePath": str(path), "content": str(after), "originalFile": str(before)}:
            pass
        case "NotebookEdit", {
            "notebook_path": str(path),
            "original_file": str(before),
            "updated_file": str(after),
        }:
            pass
        case "Edit", {
            "filePath": str(path),
            "originalFile": str(before),
            "oldString": str(),
            "newString": str(),
        }:
            after = _edited(before, facts)
        case _:
            return None
    return None if after is None else (path, before.encode(), after.encode())


def _edited(before: str, facts: dict[str, Any]) -> str | None:
    """Make an edit, and check what comes of it by the recorded patch; None where they do not agree."""
    old, new = facts["oldString"], facts["newString"]
    if not new and not old.endswith("\n") and f"{old}\n" in before:
        # Claude Code removes the end of the line with it.
        old = f"{old}\n"
    if not old or old not in before or (facts.get("replaceAll") is not True and before.count(old) > 1):
        return None
    after = before.replace(old, new)
    lines = after.split("\n")
    for hunk in objects(facts["structuredPatch"]):
        start, expected = hunk["newStart"], [line[1:] for line in hunk["lines"] if line[:1] in (" ", "+")]
        found = lines[max(start - 1, 0) : max(start - 1, 0) + len(expected)]
        if found != expected:
            return None
    return after


def outcome(name: str, facts: dict[str, Any]) -> str:
    """The outcome of a call in a few words; empty where its result says it best."""
    match name, facts:
        case "Read", {"file": {"content": str(content), "startLine": int(start), "totalLines": int(total)}}:
            lines = len(content.splitlines())
            # An empty last line is one for Claude Code.
            is_whole = start == 1 and lines >= total - 1
            return _count(lines) if is_whole else f"lines {start:,} to {start + lines - 1:,}"
        case "Write", {"type": "create", "content": str(content)}:
            return f"created, {_count(len(content.splitlines()))}"
        case "Edit" | "Write", {"structuredPatch": list()}:
            lines = [text(line) for hunk in objects(facts["structuredPatch"]) for line in hunk["lines"]]
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            return f"+{added} −{removed}"
        case _:
            return ""


def _count(lines: int) -> str:
    return f"{lines:,} line{'' if lines == 1 else 's'}"
