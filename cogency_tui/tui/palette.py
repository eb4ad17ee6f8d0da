"""The command palette: every command, one entry for each of its choices."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from cogency_tui.tui.commands import COMMANDS, SlashCommand
from cogency_tui.tui.kit.dialogs import AnsweringScreen


# Textual's own palette differs from its screens in the types of handlers.
class Palette(CommandPalette, AnsweringScreen[None]):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Textual's command palette, which runs one command."""

    CSS_PATH = Path(__file__).parent / "styles" / "palette.tcss"


class CommandSource(Provider):
    """Offers the commands, one entry for each choice, in the command palette."""

    async def discover(self) -> Hits:
        for title, summary, run in self._entries():
            yield DiscoveryHit(Content(title), run, text=title, help=_unread(summary))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, summary, run in self._entries():
            if (score := matcher.match(f"{title} {summary}")) > 0:
                yield Hit(score, Content(title), run, text=title, help=_unread(summary))

    def _entries(self) -> list[tuple[str, str, Callable[[], Any]]]:
        screen: Screen[Any] = self.screen
        entries: list[tuple[str, str, Callable[[], Any]]] = []
        for command in cast("Sequence[SlashCommand]", getattr(screen, "commands", COMMANDS)):
            for argument in command.choices() if command.choices else ("",):
                title = f"/{command.name} {argument}".rstrip()

                def run(action: str = command.action(argument)) -> Any:
                    return screen.run_action(action)

                entries.append((title, command.summary, run))
        return entries


def _unread(text: str) -> str:
    """Escape `text` so that the palette shows it unchanged: it would parse markup in a plain string."""
    return cast("str", Content(text))
