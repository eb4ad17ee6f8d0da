"""The registry of tools by name, which validates calls.

Invariant: a bound call has a tool and valid arguments; every other call raises a `ToolError`, whose text
instructs the model what to write instead. Description and specs are the same bytes for the same tools.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.tools import argument_schema
from cogency_tui.tools.ask import Ask
from cogency_tui.tools.base import (
    PLAIN,
    Aliases,
    BoundCall,
    Brief,
    Environed,
    Places,
    SelfDescribed,
    Spellings,
    Tallied,
    Tally,
    Tool,
    ToolContext,
    Touch,
    Touching,
)
from cogency_tui.tools.edit import NO_PATCHES, Edit, Replace
from cogency_tui.tools.files import List, Read, Write
from cogency_tui.tools.find import Find
from cogency_tui.tools.plan import Plan
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.processes_tool import Processes
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.tools.shell.shell_tool import Shell
from cogency_tui.tools.skill import SkillTool
from cogency_tui.tools.spec_names import spec_names
from cogency_tui.tools.web.fetch import Fetch
from cogency_tui.tools.web.search import Search, installed, missing
from cogency_tui.workspace.protected_names import shown

_ELSEWHERE = {
    "multi_edit": ("edit", "MultiEdit is edit here, one call for each change."),
    "apply_patch": ("edit", NO_PATCHES),
    "insert": ("edit", "insert is edit here: old is a line, new is that line and the inserted text."),
    "notebook_edit": ("edit", "NotebookEdit is edit here: a notebook is a JSON file."),
    "notebook_read": ("read", "NotebookRead is read here: a notebook is a JSON file."),
    "codebase_search": ("find", "Use find: content is a regular expression, pattern a file name."),
    "semantic_search": ("find", "Use find: content is a regular expression, pattern a file name."),
    "delete_file": ("shell", "delete_file is shell here, with rm."),
    "move_file": ("shell", "move_file is shell here, with mv."),
    "create_directory": (
        "write",
        "write makes the directories that a file needs; for an empty one use shell.",
    ),
    "python": ("shell", "python is shell here: python3 -c, or a script."),
    "execute_python": ("shell", "execute_python is shell here: python3 -c, or a script."),
    "code_interpreter": ("shell", "code_interpreter is shell here: python3 -c, or a script."),
    "todo_read": ("plan", "The task list is what you last wrote with plan."),
    "task": ("", "There are no sub-agents here: do the task yourself."),
    **dict.fromkeys(
        ("task_create", "task_update"), ("plan", "Use plan: each call gives the whole list of steps.")
    ),
    **dict.fromkeys(("task_list", "task_get"), ("plan", "The task list is what you last wrote with plan.")),
    "sleep": ("shell", "Sleep is shell here, with sleep."),
    "view_image": ("read", "view_image is read here."),
    "write_stdin": ("shell", "Commands take no input after their start: pass it in the command."),
    "task_output": ("processes", "TaskOutput is processes here, with action read or wait."),
    "lsp": ("symbol", "LSP is symbol here."),
    "monitor": (
        "processes",
        "Monitor is shell with background=true here, then processes with action watch and a pattern.",
    ),
    **dict.fromkeys(
        (SkillTool.name, *SkillTool.aliases.tools),
        ("", "No skill can be used here (a project's need the user's trust): do the task yourself."),
    ),
    "exit_plan_mode": ("", "Give the plan as your answer."),
    "attempt_completion": ("", "Give the result as your answer."),
}
"""Tools of other agents without an equivalent: the tool that does the same here, if any, and advice to the
model."""

_IN_SHORT = "In short, as name(arguments):"


class Registry:
    """Tools by name, in order; a later tool replaces an earlier one of the same name."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools: dict[str, Tool[Any]] = {tool.name: tool for tool in tools}
        self._others: dict[str, tuple[Tool[Any], Spellings]] = {}
        for tool in self._tools.values():
            self._others.setdefault(_folded(tool.name), (tool, PLAIN))
        for tool in self._tools.values():
            for name, spellings in tool.aliases.tools.items():
                self._others.setdefault(_folded(name), (tool, spellings))
        self._spec_names = spec_names(self._tools)
        self._by_spec_name = {self._spec_names[name]: tool for name, tool in self._tools.items()}

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._tools.values())

    @property
    def names(self) -> frozenset[str]:
        """Names that a call may use, in their usual spellings: `web_fetch`, `WebFetch`."""
        names = {*self._tools, *self._by_spec_name, *(name for tool in self for name in tool.aliases.tools)}
        return frozenset(names | {name.title().replace("_", "") for name in names})

    def get(self, name: str) -> Tool[Any]:
        """Return the tool of this name, or of an alias.

        Raises:
            ToolError: there is none; the text lists the tools.
        """
        return self._resolve(name)[0]

    def own_name(self, name: str) -> str:
        """Return the tool's own name for an alias; an unknown name unchanged."""
        try:
            return self.get(name).name
        except ToolError:
            return name

    def spec_name(self, name: str) -> str:
        """Return the name that a tool has in `specs`; an unknown name unchanged."""
        return self._spec_names.get(self.own_name(name), name)

    def environment_of(self, name: str) -> frozenset[str]:
        """Return the arguments of a tool whose `$names` are its environment, under every accepted name;
        none for an unknown tool."""
        try:
            tool, spellings = self._resolve(name)
        except ToolError:
            return frozenset()
        if not isinstance(tool, Environed):
            return frozenset()
        others = spellings.over(tool.aliases.arguments).names
        spelt = (other for other, native in others.items() if native in tool.environment)
        return frozenset((*tool.environment, *spelt))

    def bind(self, name: str, args: Any, context: ToolContext) -> BoundCall:
        """Validate a call: `args` is decoded JSON, whatever the model wrote.

        Raises:
            ToolError: no such tool, or arguments that it does not take.
        """
        tool, spellings = self._resolve(name)
        if isinstance(tool, SelfDescribed):
            converted = tool.convert(args)
        else:
            ours = _folded(name) == _folded(tool.name)
            label = tool.name if ours else f"{shown(name[:80])} is {tool.name} here"
            converted = argument_schema.convert(
                label, args, tool.args, spellings.over(tool.aliases.arguments)
            )
        context = replace(context, places=Places(context.workspace))
        touch = Touch()
        if isinstance(tool, Touching):
            touch = tool.touch(converted, context)
        return BoundCall(tool, converted, context, touch)

    def _resolve(self, name: str) -> tuple[Tool[Any], Spellings]:
        """Return a tool, and the spellings of its arguments under this name."""
        if tool := self._tools.get(name) or self._by_spec_name.get(name):
            return tool, PLAIN
        if found := self._others.get(_folded(_bare(name))):
            return found
        if own_tool(name) == Search.name and not installed():
            raise missing()
        raise self._unknown(name)

    def _unknown(self, name: str) -> ToolError:
        from difflib import get_close_matches

        names = sorted(self._tools)
        near = get_close_matches(name.casefold(), names, n=3)
        suggestion = f" Did you mean {' or '.join(near)}?" if near else ""
        for other, (tool, text) in _ELSEWHERE.items():
            if _folded(other) == _folded(name) and (not tool or tool in self._tools):
                suggestion = f" {text}"
        return ToolError(f'There is no tool "{shown(name[:80])}".{suggestion}', f"Tools: {', '.join(names)}.")

    def describe(self) -> str:
        """Describe the tools for a system prompt, those that take one line at the end."""
        brief = [_in_a_line(tool) for tool in self if _is_brief(tool)]
        parts = [_described(tool) for tool in self if not _is_brief(tool)]
        return "\n\n".join([*parts, "\n".join([_IN_SHORT, *brief])] if brief else parts)

    def specs(self) -> list[dict[str, Any]]:
        """Describe the tools for a vendor's native tool calling: each has a `name` that every vendor accepts,
        a `description`, and `parameters`, a JSON Schema in the subset that every vendor accepts."""
        return [self._spec(tool) for tool in self]

    def _spec(self, tool: Tool[Any]) -> dict[str, Any]:
        parameters = _schema_of(tool)
        # A model may be shown the properties of a schema alone.
        about = filter(None, (tool.description, parameters.pop("description", "")))
        return {
            "name": self._spec_names[tool.name],
            "description": "\n".join(about),
            "parameters": parameters,
        }


def default_tools(background: Background | None = None, sandbox: Sandbox | None = None) -> list[Tool[Any]]:
    """Create the tools of every conversation; `search` only where its library is installed. Without
    `background` there are no background commands, and without `sandbox` commands run outside one."""
    tools: list[Tool[Any]] = [Read(), Write(), Edit(), List(), Find(), Replace()]
    tools.append(Shell(background=background, sandbox=sandbox))
    if background is not None:
        tools.append(Processes(background))
    return [*tools, Fetch(), *([Search()] if installed() else []), Plan(), Ask()]


@cache
def own_tool(called: str) -> str:
    """Return our tool's name for another agent's; any other name unchanged."""
    if called in _OWN:
        return called
    names = (
        tool
        for tool, (_, aliases) in _OWN.items()
        if _folded(called) in {_folded(tool), *map(_folded, aliases.tools)}
    )
    return next(names, called)


def own_arguments(called: str, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the arguments of a call to `called` to those of our `tool`."""
    if tool not in _OWN:
        return dict(args)
    fields, aliases = _OWN[tool]
    others = {_folded(name): spellings for name, spellings in aliases.tools.items()}
    spellings = others.get(_folded(called), PLAIN).over(aliases.arguments)
    return argument_schema.own_names(args, fields, spellings)


@cache
def tally_of(called: str) -> Tally | None:
    """Return the way to count calls of one of our tools under any of its names; None if it does more than
    read."""
    tool = _TALLIED.get(own_tool(called))
    return None if tool is None else tool.tally


OWN_TOOLS = (Read, Write, Edit, List, Find, Replace, Shell, Processes, Fetch, Search, Plan, Ask, SkillTool)
_OWN: Mapping[str, tuple[type[msgspec.Struct], Aliases]] = {
    tool.name: (tool.args, tool.aliases) for tool in OWN_TOOLS
}
_TALLIED: Mapping[str, Tallied] = {tool.name: tool for tool in OWN_TOOLS if isinstance(tool, Tallied)}


_NAMESPACES = ("functions.", "functions:", "default_api.", "default_api:", "tools.")
"""Prefixes that models put before the name of a tool of theirs."""


def _bare(name: str) -> str:
    """Drop a vendor's namespace, and white space, from the name of a tool."""
    name = name.strip()
    return next((name.removeprefix(each) for each in _NAMESPACES if name.startswith(each)), name)


def _folded(name: str) -> str:
    """Normalise a name for comparison: `WebFetch`, `web_fetch` and `web-fetch` are equal."""
    return name.casefold().replace("_", "").replace("-", "")


def _is_brief(tool: Tool[Any]) -> bool:
    return isinstance(tool, Brief) and tool.brief


def _in_a_line(tool: Tool[Any]) -> str:
    return f"{tool.name}({argument_schema.usage(tool.args)}): {tool.description}"


def _described(tool: Tool[Any]) -> str:
    own = (
        tool.described_arguments()
        if isinstance(tool, SelfDescribed)
        else argument_schema.described(tool.args)
    )
    return f"{tool.name}: {tool.description}{chr(10) if own else ''}{own}"


def _schema_of(tool: Tool[Any]) -> dict[str, Any]:
    if isinstance(tool, SelfDescribed):
        return tool.arguments_schema()
    return argument_schema.json_schema(tool.args)
