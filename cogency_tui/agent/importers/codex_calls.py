"""Codex's calls as calls of our tools, and the results of them."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, cast

from cogency_tui.agent.importers.records import an_object, between, blocks, relative, text, text_of
from cogency_tui.agent.importers.session import parsed
from cogency_tui.protocol.events import CallState

_HEADING = re.compile(
    r"(?:Chunk ID: \w+|(?:Wall time:?|Duration:) (?P<seconds>[\d.]+) seconds"
    r"|(?:Process exited with|Exit) code:? (?P<exit>-?\d+)"
    r"|Original token count: \d+|Total output lines: \d+"
    r"|Script (?:completed|running.*|(?P<failed>failed|terminated)))"
)
_MOST_HEADINGS = 9
_FAILED = re.compile(
    r"apply_patch verification failed|unsupported call|unknown |failed to |exec_command failed"
    r"|execution error|err(?:or)?: |invalid |write_stdin failed|tool call error|aborted"
)
_DECLINED = re.compile(r"(?:exec command )?rejected by user|.{0,200}\bRejected\(\"", re.DOTALL)


_MOST_PARTS = 50
"""Parts of a patch that become calls of their own."""

PatchCall = tuple[str, str, dict[str, str]]
"""A path with a tool and its arguments."""


def patch_calls(patch: str) -> list[PatchCall]:
    """Convert a patch to calls of `write` and `edit`; none if it removes or moves a file, or is wrong."""
    calls: list[PatchCall] = []
    lines = patch.strip().split("\n")
    if len(lines) < 2 or (lines[0].rstrip(), lines[-1].rstrip()) != ("*** Begin Patch", "*** End Patch"):
        return []
    for heading, body in _sections(lines[1:-1]):
        verb, _, path = heading.partition(" File: ")
        if verb == "*** Add" and path and all(line.startswith("+") for line in body):
            content = "".join(f"{line[1:]}\n" for line in body)
            calls.append((path, "write", {"file": path, "content": content}))
            continue
        edits = list(_edits(body)) if verb == "*** Update" and path else []
        if not edits or any(not old for old, _ in edits):
            return []
        calls += [(path, "edit", {"file": path, "old": old, "new": new}) for old, new in edits]
    return calls if len(calls) <= _MOST_PARTS else []


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    heading, body = "", list[str]()
    for line in lines:
        if line.startswith("*** ") and line.rstrip() != "*** End of File":
            if heading or body:
                yield heading, body
            heading, body = line.strip(), []
        elif not line.startswith("***"):
            body.append(line)
    yield heading, body


def _edits(body: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the text that each hunk replaces, and its replacement; an empty text for one that is wrong."""
    old, new = list[str](), list[str]()
    for line in [*body, "@@"]:
        if line.startswith("@@"):
            if old or new:
                yield "\n".join(old), "\n".join(new)
            old, new = [], []
        elif line[:1] in ("", " ", "-", "+"):
            old += [line[1:]] if line[:1] != "+" else []
            new += [line[1:]] if line[:1] != "-" else []
        else:
            yield "", ""


def texts_in(content: object, between: str = "") -> str:
    """Join the texts of a content."""
    parts = blocks([] if content is None else content)
    return between.join(one for one in map(_part_text, parts) if one)


def _part_text(part: dict[str, Any]) -> str:
    if part.get("type") == "input_image":
        return "[image]"
    return text_of(part.get("text")) or text_of(part.get("refusal"))


def named_call(item: dict[str, Any], project: str) -> tuple[str, dict[str, Any]]:
    """The name of a call with its arguments, ours where we have such a tool."""
    kind = item["type"]
    if kind == "local_shell_call":
        action = an_object(item["action"])
        return "shell", _shell({**action, "workdir": action.get("working_directory")}, project)
    if kind == "tool_search_call":
        args = item.get("arguments")
        return "tool_search", cast("dict[str, Any]", args) if isinstance(args, dict) else {"query": args}
    name, space = text(item["name"]), text_of(item.get("namespace"))
    if kind == "custom_tool_call":
        return name, {"patch" if name == "apply_patch" else "input": text(item["input"])}
    raw = text(item["arguments"])
    given: Any = parsed(raw) if raw.strip() else {}
    if not isinstance(given, dict):
        return name, {"arguments": raw}
    args = cast("dict[str, Any]", given)
    if space.startswith("mcp__"):
        return f"{space.removeprefix('mcp__').rstrip('_')}.{name}", args
    if name.startswith("mcp__"):
        return name.removeprefix("mcp__").replace("__", ".", 1), args
    if name in ("exec_command", "shell", "shell_command", "container.exec"):
        return _patch_in(args) or ("shell", _shell(args, project))
    if name == "apply_patch" and isinstance(args.get("input"), str):
        return name, {"patch": args["input"]}
    if name == "update_plan" and isinstance(args.get("plan"), list):
        return "plan", {"steps": [_step(step) for step in cast("list[Any]", args["plan"])]}
    if name == "view_image" and isinstance(args.get("path"), str):
        return "read", {"file": relative(args["path"], project)}
    if name == "request_user_input" and isinstance(args.get("questions"), list):
        return "ask", {"questions": [_question(each) for each in cast("list[Any]", args["questions"])]}
    return name, args


def _shell(args: dict[str, Any], project: str) -> dict[str, Any]:
    command = args.get("cmd", args.get("command"))
    if isinstance(command, list):
        words = [text(word) for word in cast("list[Any]", command)]
        is_script = len(words) == 3 and words[1] in ("-lc", "-c") and words[0].endswith("sh")
        command = words[2] if is_script else shlex.join(words)
    own: dict[str, Any] = {"command": text(command)}
    if (cwd := args.get("workdir")) and text(cwd) not in (project, "."):
        own["cwd"] = relative(cwd, project)
    if isinstance(limit := args.get("timeout_ms"), int) and 0 < limit <= 600_000:
        own["timeout"] = max(1, limit // 1000)
    return own


def _patch_in(args: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """A patch that was given to the shell, as older models do."""
    command = args.get("command")
    words = cast("list[Any]", command) if isinstance(command, list) else []
    if len(words) == 2 and words[0] in ("apply_patch", "applypatch") and isinstance(words[1], str):
        return "apply_patch", {"patch": words[1]}
    return None


def _step(step: Any) -> dict[str, Any]:
    states = {"completed": "done", "in_progress": "active"}
    given = an_object(step)
    return {"text": text(given["step"]), "state": states.get(text_of(given.get("status")), "pending")}


def _question(question: Any) -> dict[str, Any]:
    given = an_object(question)
    choices = [an_object(option) for option in blocks(given.get("options") or [])]
    return {
        "question": text(given["question"]),
        **({"header": given["header"]} if text_of(given.get("header")) else {}),
        "choices": [{name: one[name] for name in ("label", "description") if name in one} for one in choices],
    }


def read_output(given: object) -> tuple[str, CallState, int | None, float]:
    """The text, state, exit code and duration of a result."""
    success: object = None
    if isinstance(given, dict):
        whole = cast("dict[str, Any]", given)
        given, success = whole.get("content"), whole.get("success")
    whole_text = given if isinstance(given, str) else texts_in(given)
    body, code, seconds, failed = _old_output(whole_text) or _headed_output(whole_text)
    if code is None and re.match(r"aborted(?: by user.*)?$", body.strip()):
        return body, "interrupted", None, seconds
    if code is None and _DECLINED.match(body):
        return body, "declined", None, seconds
    return body, "failed" if failed or code or success is False else "done", code, seconds


def user_command(message: str) -> tuple[str, str, CallState, float] | None:
    """The command that the user ran, with its output, state and duration; None for any other message."""
    if not message.lstrip().startswith("<user_shell_command>"):
        return None
    command, result = between(message, "command"), between(message, "result")
    if command is None or result is None:
        return None
    output, state, _, duration = read_output(result.strip("\n"))
    return command.strip("\n"), output, state, duration


_Output = tuple[str, int | None, float, bool]
"""A text with the exit code, the duration, and whether the call failed."""


def _old_output(output: str) -> _Output | None:
    """Read the JSON that older versions gave the model."""
    whole: Any = parsed(output) if output.startswith('{"output"') else None
    if not isinstance(whole, dict) or "metadata" not in whole:
        return None
    given = cast("dict[str, Any]", whole)
    about = an_object(given["metadata"])
    code, given_seconds = about.get("exit_code"), about.get("duration_seconds")
    seconds: float = given_seconds if isinstance(given_seconds, (int, float)) else 0.0
    return text_of(given["output"]), code if isinstance(code, int) else None, seconds, False


def _headed_output(output: str) -> _Output:
    """Read a text below lines about the call; below a command's that still runs, these are part of it."""
    code, seconds, failed = None, 0.0, False
    lines = output.split("\n", _MOST_HEADINGS)
    for number, line in enumerate(lines[:_MOST_HEADINGS]):
        if line == "Output:" and number:
            return "\n".join(lines[number + 1 :]), code, seconds, failed
        if line.startswith("Process running with session ID "):
            return output, None, seconds, False
        if not (match := _HEADING.fullmatch(line)):
            rest = "\n".join(lines[number:])
            return rest, code, seconds, failed or bool(_FAILED.match(rest))
        seconds = float(match["seconds"]) if match["seconds"] else seconds
        code = int(match["exit"]) if match["exit"] else code
        failed = failed or bool(match["failed"])
    return output, code, seconds, failed
