"""The commands that a person types after `/` or picks in the palette: names for actions of the main screen.

One registry for both, and the same actions as the keys.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from cogency_tui.config import DIALECTS, MODES, PERMISSIONS
from cogency_tui.errors import UsageError
from cogency_tui.tui.theming import theme_names


class Command(msgspec.Struct, frozen=True):
    """`action` is called with the argument; `choices` are what it may be, if it is not free."""

    name: str
    summary: str
    action: str
    choices: Callable[[], tuple[str, ...]] | None = None


COMMANDS = (
    Command("new", "Begin a new conversation", "screen.new_conversation"),
    Command("resume", "Go on with a past conversation", "screen.recall"),
    Command("mode", "How turns are run", "screen.set_mode", lambda: MODES),
    Command("dialect", "The language that the model writes calls in", "screen.set_dialect", lambda: DIALECTS),
    Command(
        "permissions", "What the agent may do without asking", "screen.set_permissions", lambda: PERMISSIONS
    ),
    Command("theme", "The colours of the screen", "app.set_theme", lambda: tuple(theme_names())),
    Command("help", "Keys and commands", "screen.help"),
    Command("quit", "Leave", "screen.leave"),
)


def parse_command(text: str) -> tuple[Command, str]:
    """The command that `text` (with its slash) names, and its argument.

    Raises:
        UsageError: there is none of that name, or it does not take that argument.
    """
    name, _space, argument = text.removeprefix("/").partition(" ")
    argument = argument.strip()
    command = next((command for command in COMMANDS if command.name == name), None)
    if command is None:
        names = " ".join(f"/{command.name}" for command in COMMANDS)
        raise UsageError(f"There is no command /{name}.", f"There are: {names}")
    choices = command.choices() if command.choices else ()
    if argument and argument not in choices:
        takes = f"one of: {', '.join(choices)}" if choices else "nothing after it"
        raise UsageError(f"/{name} does not take {argument!r}.", f"It takes {takes}.")
    return command, argument


def is_command(text: str) -> bool:
    """Whether a message is a command: one line, a slash and a word. A path (`/etc/hosts is …`) is none."""
    first = text.split(maxsplit=1)[0] if text else ""
    return first.startswith("/") and first[1:].isalpha() and "\n" not in text


class CommandSource(Provider):
    """Offers the commands, one entry for each choice, in the command palette."""

    async def discover(self) -> Hits:
        for title, summary, run in self._entries():
            yield DiscoveryHit(Content(title), run, text=title, help=summary)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, summary, run in self._entries():
            if (score := matcher.match(f"{title} {summary}")) > 0:
                yield Hit(score, Content(title), run, text=title, help=summary)

    def _entries(self) -> list[tuple[str, str, Callable[[], Any]]]:
        screen: Screen[Any] = self.screen
        entries: list[tuple[str, str, Callable[[], Any]]] = []
        for command in COMMANDS:
            for argument in command.choices() if command.choices else ("",):
                title = f"/{command.name} {argument}".rstrip()

                def run(action: str = f"{command.action}({argument!r})") -> Any:
                    return screen.run_action(action)

                entries.append((title, command.summary, run))
        return entries
