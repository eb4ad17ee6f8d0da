"""The tools that there are, by name, and calls checked against them.

Invariant: a call that was bound has a tool and valid arguments; every other one is a ToolError that tells
a model what to write instead. The description is the same bytes for the same tools.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from cogency_tui.errors import ToolError
from cogency_tui.tools import schema
from cogency_tui.tools.background import Background
from cogency_tui.tools.base import BoundCall, Environed, SelfDescribed, Tool, ToolContext, Touch, Touching
from cogency_tui.tools.edit import Edit, Replace
from cogency_tui.tools.fetch import Fetch
from cogency_tui.tools.files import List, Read, Write
from cogency_tui.tools.processes import Processes
from cogency_tui.tools.sandbox import Sandbox
from cogency_tui.tools.search import Find
from cogency_tui.tools.shell import Shell
from cogency_tui.tools.web_search import Search
from cogency_tui.workspace.names import shown

_OLDER_NAMES = {
    "file_read": "read",
    "file_write": "write",
    "file_edit": "edit",
    "file_list": "list",
    "file_search": "find",
    "web_search": "search",
    "web_scrape": "fetch",
    "scrape": "fetch",
}


class Registry:
    """Tools by name, in order; a later tool takes the place of an earlier one of the same name."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools: dict[str, Tool[Any]] = {tool.name: tool for tool in tools}

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool[Any]:
        """The tool of this name, or of the older protocol's name for it.

        Raises:
            ToolError: there is none; the text names those that there are.
        """
        tool = self._tools.get(name) or self._tools.get(_OLDER_NAMES.get(name, ""))
        if tool is not None:
            return tool
        from difflib import get_close_matches

        names = sorted(self._tools)
        near = get_close_matches(name.casefold(), names, n=3)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ToolError(f'There is no tool "{shown(name[:80])}".{meant}', f"Tools: {', '.join(names)}.")

    def environment_of(self, name: str) -> frozenset[str]:
        """The arguments of a tool whose `$names` are its environment, under every name they are accepted by;
        none for a tool that there is not."""
        try:
            tool = self.get(name)
        except ToolError:
            return frozenset()
        if not isinstance(tool, Environed):
            return frozenset()
        aliases = (alias for alias, meant in tool.aliases.items() if meant in tool.environment)
        return frozenset((*tool.environment, *aliases))

    def bind(self, name: str, args: Any, context: ToolContext) -> BoundCall:
        """Check a call: `args` is decoded JSON, whatever the model wrote.

        Raises:
            ToolError: no such tool, or arguments that it does not take.
        """
        tool = self.get(name)
        if isinstance(tool, SelfDescribed):
            converted = tool.convert(args)
        else:
            converted = schema.convert(tool.name, args, tool.args, tool.aliases)
        touch = Touch()
        if isinstance(tool, Touching):
            touch = tool.touch(converted, context)
        return BoundCall(tool, converted, context, touch)

    def describe(self) -> str:
        """The tools as a system prompt presents them."""
        return "\n\n".join(_described(tool) for tool in self)


def default_tools(background: Background | None = None, sandbox: Sandbox | None = None) -> list[Tool[Any]]:
    """The tools that every conversation has. Without `background` there are no background commands, and
    without a `sandbox` none is used."""
    tools: list[Tool[Any]] = [Read(), Write(), Edit(), List(), Find(), Replace()]
    tools.append(Shell(background=background, sandbox=sandbox))
    if background is not None:
        tools.append(Processes(background))
    return [*tools, Fetch(), Search()]


def default_registry() -> Registry:
    """A registry of the default tools."""
    return Registry(default_tools())


def _described(tool: Tool[Any]) -> str:
    arguments = tool.described_arguments() if isinstance(tool, SelfDescribed) else schema.described(tool.args)
    return f"{tool.name}: {tool.description}{chr(10) if arguments else ''}{arguments}"
