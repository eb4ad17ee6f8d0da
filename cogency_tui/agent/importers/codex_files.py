"""The contents of files that Codex's records allow to know.

Invariant: a content is known only from a record of the whole file, and only until something else may have
changed that file.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_EXPANDED = re.compile(r"^-|[*?\[\]{}~$<>|;&`()!]")
"""What makes an argument of a shell other than a path."""

_LONGEST_READ = 100_000
"""Characters of a command's output, beyond which Codex may have shortened it."""


class KnownFiles:
    """The contents of files at a point of a session."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def forget(self) -> None:
        """Forget all: something may have changed any file."""
        self._texts.clear()

    def learn(self, ran: Mapping[str, Any]) -> None:
        """Learn from a command that has run: a file that it showed whole, or that it may have changed any."""
        parsed = ran.get("parsed_cmd")
        steps = cast("list[Any]", parsed) if isinstance(parsed, list) else []
        kinds = [_field(step, "type") for step in steps]
        if not kinds or any(kind not in ("read", "list_files", "search") for kind in kinds):
            self.forget()
            return
        command, text, cwd = ran.get("command"), ran.get("aggregated_output"), ran.get("cwd")
        if len(steps) != 1 or not (
            isinstance(command, list) and isinstance(text, str) and isinstance(cwd, str)
        ):
            return
        shown = _shown_file(cast("list[Any]", command)[-1:], cwd.removeprefix("file://"))
        if shown and ran.get("exit_code") == 0 and len(text) < _LONGEST_READ and "\ufffd" not in text:
            self._texts[shown] = text

    def change(
        self, path: str, change: Mapping[str, Any]
    ) -> Iterator[tuple[str, bytes | None, bytes | None]]:
        """Yield the changes, each a path with the content before and after, whose contents are all known."""
        kind, before = change["type"], self._texts.pop(path, None)
        if kind == "add":
            self._texts[path] = change["content"]
            yield path, _bytes(before), _bytes(change["content"])
        elif kind == "delete":
            yield path, _bytes(change["content"]), None
        elif kind == "update":
            moved: str = change.get("move_path") or path
            self._texts.pop(moved, None)
            after = None if before is None else _patched(before, change["unified_diff"])
            if before is None or after is None:
                return
            self._texts[moved] = after
            if moved == path:
                yield path, _bytes(before), _bytes(after)
            else:
                yield moved, None, _bytes(after)
                yield path, _bytes(before), None
        else:
            raise ValueError(f"change {kind!r}")


def _field(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _shown_file(command: list[Any], cwd: str) -> str:
    """The absolute path of the file that a command shows whole; empty for any other command."""
    try:
        words = shlex.split(command[0]) if command and isinstance(command[0], str) else []
    except ValueError:
        return ""
    if len(words) != 2 or words[0] != "cat" or _EXPANDED.search(words[1]):
        return ""
    path = words[1] if words[1].startswith("/") else f"{cwd}/{words[1].removeprefix('./')}"
    return "" if "/../" in path or "/./" in path else path


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _patched(before: str, diff: str) -> str | None:
    """Apply a unified diff at exactly its lines; None where it does not fit."""
    lines, made, at, left = _LINES.findall(before), list[str](), 0, 0
    changes = diff.split("\n")
    for number, line in enumerate(changes):
        if hunk := _HUNK.match(line):
            count = int(hunk[2]) if hunk[2] is not None else 1
            start = int(hunk[1]) - (count > 0)
            if left or not at <= start <= len(lines):
                return None
            made += lines[at:start]
            at, left = start, count
            continue
        if line[:1] not in (" ", "-", "+"):
            continue
        is_last = changes[number + 1 : number + 2] == ["\\ No newline at end of file"]
        text = line[1:] if is_last else f"{line[1:]}\n"
        if line[0] != "+":
            if not left or lines[at : at + 1] != [text]:
                return None
            at, left = at + 1, left - 1
        if line[0] != "-":
            made.append(text)
    return None if left else "".join([*made, *lines[at:]])
