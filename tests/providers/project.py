"""A project in memory with the tools that the embedded model uses, in the words of the real ones."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from cogency_tui.protocol import Dialect
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.offline.message_reader import PlannedCall, read_calls
from cogency_tui.providers.offline.model import next_text

MOST_CYCLES = 12


@dataclass
class Project:
    """Files by path, and what commands print, by command."""

    files: dict[str, str]
    commands: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    refused: frozenset[str] = frozenset()
    made: list[PlannedCall] = field(default_factory=list[PlannedCall])

    def run(self, call: PlannedCall) -> tuple[bool, str]:
        self.made.append(call)
        if call.name in self.refused:
            return False, "The person said no."
        ran: tuple[bool, str] = getattr(self, f"_{call.name}")(**call.args)
        return ran

    def _read(self, file: str, start: int = 1, lines: int = 2000) -> tuple[bool, str]:
        if file not in self.files:
            return False, f"{file}: there is no such file or directory. See what is there with `list`."
        content = self.files[file].removesuffix("\n").split("\n") if self.files[file] else []
        if not content:
            return True, "[the file is empty]"
        shown = [f"{number}\t{line}" for number, line in enumerate(content, 1)][start - 1 : start - 1 + lines]
        notes = [f"[lines 1 to {start - 1} are not shown]"] if start > 1 else []
        last = start + len(shown) - 1
        notes += [f"[lines {last + 1} to {len(content)} are not shown]"] if last < len(content) else []
        return True, "\n".join([*shown, *notes])

    def _write(self, file: str, content: str, overwrite: bool = False) -> tuple[bool, str]:
        if file in self.files and not overwrite:
            return False, f"{file} already exists ({len(self.files[file])} bytes). Change it with edit."
        self.files[file] = content
        return True, f"created {file}: {content.count(chr(10))} lines"

    def _edit(self, file: str, old: str, new: str, all: bool = False) -> tuple[bool, str]:
        count = self.files.get(file, "").count(old)
        if not count or (count > 1 and not all):
            return False, f"old occurs {count} times in {file}."
        self.files[file] = self.files[file].replace(old, new)
        return True, f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{old}\n+{new}\n"

    def _list(self, path: str = ".", pattern: str = "*", depth: int = 3) -> tuple[bool, str]:
        lines: list[str] = []
        for file in sorted(self.files):
            *directories, name = file.split("/")
            lines += [f"{'  ' * level}{one}/" for level, one in enumerate(directories)]
            lines += [f"{'  ' * len(directories)}{name}  1 B"] if fnmatch(name, pattern) else []
        return True, "\n".join(dict.fromkeys(lines)) or "[nothing matches]"

    def _find(
        self, pattern: str = "*", content: str = "", path: str = ".", context: int = 0
    ) -> tuple[bool, str]:
        files = [file for file in sorted(self.files) if fnmatch(file.rsplit("/", 1)[-1], pattern)]
        if not content:
            return True, "\n".join(files) or f'[no file is called "{pattern}"]'
        lines: list[str] = []
        for file in files:
            numbered = enumerate(self.files[file].split("\n"), 1)
            hits = [f"{number}: {line}" for number, line in numbered if re.search(content, line)]
            lines += [f"{file}:{hits[0]}"] if len(hits) == 1 else [file, *hits] if hits else []
        return True, "\n".join(lines) or f'[no line matches "{content}" in the {len(files)} files]'

    def _replace(self, pattern: str, old: str, new: str) -> tuple[bool, str]:
        suffix = pattern.rpartition("*")[2]
        changed = [file for file, text in self.files.items() if file.endswith(suffix) and old in text]
        if not changed:
            return False, f"old is not in the files that match {pattern}."
        for file in changed:
            self.files[file] = self.files[file].replace(old, new)
        return True, "\n".join(f"{file} +1 −1" for file in changed)

    def _shell(self, command: str) -> tuple[bool, str]:
        status, output = self.commands.get(command, (127, f"bash: {command}: command not found"))
        return status == 0, f"exit {status}\n{output or '(no output)'}"

    def _recall(self, query: str) -> tuple[bool, str]:
        return True, f"2026-01-02 c7: we spoke about {query}"


def system(dialect: Dialect = "xml", *, recall: bool = False) -> Message:
    """A system prompt as the engine writes it, in short."""
    tools = "read: Show a text file.\nshell: Run a command." + ("\nrecall: Search." if recall else "")
    return {"role": "system", "content": f"You are an agent.\n\nProtocol: {dialect}\n\nTools:\n{tools}\n"}


def results(dialect: Dialect, records: Sequence[dict[str, Any]]) -> Message:
    """Results as the engine hands them back."""
    text = json.dumps(records)
    content = f"[SYSTEM: results {text}]" if dialect == "delimiter" else f"<results>\n{text}\n</results>"
    return {"role": "user", "content": content}


def converse(
    project: Project, *requests: str, dialect: Dialect = "xml", recall: bool = False
) -> list[Message]:
    """Run requests to their end as the engine would, and give all messages, the last answer at the end."""
    messages = [system(dialect, recall=recall)]
    for request in requests:
        messages.append({"role": "user", "content": request})
        for _cycle in range(MOST_CYCLES):
            text = next_text(messages)
            messages.append({"role": "assistant", "content": text})
            calls = read_calls(text, dialect)
            if not calls:
                break
            messages.append(results(dialect, [_record(project, call) for call in calls]))
        else:
            raise AssertionError(f"{request!r} does not come to an end")
    return messages


def answer(project: Project, *requests: str, dialect: Dialect = "xml", recall: bool = False) -> str:
    """The answer to the last of `requests`."""
    return converse(project, *requests, dialect=dialect, recall=recall)[-1]["content"]


def _record(project: Project, call: PlannedCall) -> dict[str, Any]:
    ok, content = project.run(call)
    return {"tool": call.name, "status": "success" if ok else "failure", "content": content}
