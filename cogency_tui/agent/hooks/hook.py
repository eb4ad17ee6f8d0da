"""A configured hook: where it comes from, what it runs on, and which calls it is for."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cogency_tui.config.hooks import FILE, FILES, PROJECT, HookEvent, HookSettings, as_list
from cogency_tui.errors import ToolError
from cogency_tui.tools.registry import own_tool
from cogency_tui.tools.shell.command_execution import shell_path
from cogency_tui.workspace.globs import compiled

Owner = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook `name`, from the file and line at `place`.

    `words` are its program and arguments; `tools` our names of tools, and `files` patterns of paths, that it
    is for: empty for all. One of Claude Code's settings has the name of its event there (`claude_event`), and
    the `matcher` in place of tools. `problem` is why it cannot run.
    """

    name: str
    events: tuple[HookEvent, ...]
    words: tuple[str, ...]
    owner: Owner
    place: str
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    timeout: float = 60.0
    enabled: bool = True
    claude_event: str = ""
    matcher: str = ""
    problem: str = ""

    @property
    def command(self) -> str:
        """Its command on one line, to read: it is not quoted for a shell."""
        if self.claude_event and len(self.words) == 3 and self.words[:2] == (shell_path(), "-c"):
            return " ".join(self.words[2].split())
        return " ".join(word if word and not _BLANK.search(word) else f"'{word}'" for word in self.words)

    @property
    def line(self) -> str:
        """Its command as a line for a shell."""
        if self.claude_event and self.words[1:2] == ("-c",):
            return self.words[2]
        return shlex.join(self.words)

    @property
    def can_run(self) -> bool:
        """True if it is switched on, and nothing prevents it from running."""
        return self.enabled and not self.problem

    @property
    def is_for_each(self) -> str:
        """What it is for, in a few words: tools and patterns of files; empty for everything."""
        tools = (self.matcher,) if self.matcher not in ("", "*") else self.tools
        return " ".join(part for part in (", ".join(tools), ", ".join(self.files)) if part)

    @property
    def takes_each_file(self) -> bool:
        """True if it runs once for each file."""
        return any(FILE in word for word in self.words)

    @property
    def takes_files(self) -> bool:
        """True if it cannot run without a file."""
        return self.takes_each_file or FILES in self.words

    def is_for(self, tool: str, args: Mapping[str, Any]) -> bool:
        """Return whether it is for calls of a tool, by our names of it and of its arguments."""
        if self.claude_event:
            from cogency_tui.agent.hooks.claude_protocol import tool_names

            return any(self.matches(name) for name in tool_names(tool, args))
        return not self.tools or tool in self.tools

    def matches(self, name: str) -> bool:
        """Return whether the matcher of Claude Code's settings is for a name."""
        if self.matcher in ("", "*"):
            return True
        if _NAMES.fullmatch(self.matcher):
            return name in (each.strip() for each in re.split(r"[|,]", self.matcher))
        return re.search(self.matcher, name) is not None

    def matching(self, files: Sequence[Path], project: Path) -> list[Path]:
        """Those of the files that it is for."""
        return [file for file in files if not self.files or self._matches(file, project)]

    def _matches(self, file: Path, project: Path) -> bool:
        name = file.relative_to(project) if file.is_relative_to(project) else file
        return any(compiled(pattern).fullmatch(name.as_posix()) for pattern in self.files)

    def filled_in(self, files: Sequence[Path], project: Path) -> list[str]:
        """Its words with the paths: a path is never more, or less, than a part of one word. They are
        absolute, so that none is taken for an option."""
        words: list[str] = []
        for word in self.words:
            if word == FILES:
                words += map(str, files)
            else:
                # In one pass: a path may itself contain what stands for another.
                values = {FILE: str(files[0]) if files else FILE, PROJECT: str(project)}
                words.append(_PLACES.sub(lambda found: values[found[0]], word))  # noqa: B023 (used at once)
        return words


_BLANK = re.compile(r"\s")
_NAMES = re.compile(r"[\w|, -]+", re.ASCII)
_PLACES = re.compile(f"{re.escape(FILE)}|{re.escape(PROJECT)}")


def configured_hook(name: str, settings: HookSettings, owner: Owner, place: str) -> Hook:
    """The hook that a table describes.

    Raises:
        ToolError: a pattern of files cannot be used.
    """
    files = as_list(settings.files)
    for pattern in files:
        compiled(pattern)
    tools = tuple(dict.fromkeys(own_tool(tool) for tool in as_list(settings.tools)))
    return Hook(
        *(name, settings.events, settings.words, owner, place, tools, files),
        settings.timeout,
        settings.enabled,
    )


def configured_hooks(
    tables: Mapping[str, HookSettings], owner: Owner, places: Mapping[str, str]
) -> tuple[list[Hook], list[str]]:
    """The hooks that tables describe, and the problems with those that cannot be used."""
    hooks: list[Hook] = []
    problems: list[str] = []
    for name, settings in tables.items():
        try:
            hooks.append(configured_hook(name, settings, owner, places.get(name, "")))
        except ToolError as exc:
            problems.append(f'{places.get(name, "")}: hook "{name}": {exc} Hook ignored.'.removeprefix(": "))
    return hooks, problems
