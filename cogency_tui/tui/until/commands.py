"""The command `/until`: works until a shell command succeeds, shows how far that is, or ends it."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import UsageError
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler

_USAGE = (
    "/until CMD runs CMD, and works until it succeeds. Lines below CMD are the first message. Before CMD: "
    "--max-turns N, --max-cost USD, --timeout SECONDS."
)


class UntilCommands(FeatureCommands):
    """Runs `/until` on `screen`; `begins` is called when work begins, and `give_back` puts a text that cannot
    be run into the prompt again."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        begins: Callable[[], None],
        give_back: Callable[[str], None],
    ) -> None:
        super().__init__(screen, bridge)
        self._begins = begins
        self._give_back = give_back

    def handlers(self) -> dict[str, Handler]:
        return {"until": self.work_until}

    def work_until(self, argument: str = "") -> None:
        """Work until the command in `argument` succeeds; without one show how far that is, or how to begin;
        `off` ends it after what runs."""
        running = self._bridge.until
        if argument == "off" or (running is None and not argument):
            self._end() if argument else self.say(_USAGE)
        elif running is not None and argument:
            self.warn(f"One is already running (`{running.name}`). /until off ends it.")
            self._give_back(f"/until {argument}")
        elif running is not None:
            self.say(
                f"Until `{running.name}` succeeds: {running.progress}. Esc stops, /until off ends it after "
                "this turn."
            )
        else:
            self._begin(argument)

    def _begin(self, argument: str) -> None:
        from cogency_tui.agent.until import read_until

        try:
            until, message = read_until(argument)
        except UsageError as error:
            self.complain(error)
            self._give_back(f"/until {argument}")
            return
        until.note_provider(self._bridge.agent.provider)
        self._begins()
        self._bridge.work_until(until, Written(message) if message else None)

    def _end(self) -> None:
        if (running := self._bridge.until) is None:
            self.warn("No /until is running.")
            return
        running.stop("switched off")
        self.say(f"`{running.name}` does not run again. What runs now goes on; Esc stops it.")
