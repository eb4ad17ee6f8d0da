"""The command `/rerun`: asks how a turn is to be run again, runs it as another open conversation, and shows
the comparison when it has ended."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.store.prompt_text import Written, with_images
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.recall.recall import Branch, Comparison
    from cogency_tui.agent.rerun import Rerun, RerunChoice


class Scratch(Protocol):
    """The main screens of conversations with an agent of their own."""

    def run(
        self,
        agent: "Agent",
        conversation_id: str,
        message: Written,
        rested: Callable[[Screen[Any]], object],
        shown: Callable[[Screen[Any]], object],
        ended: Callable[[], Awaitable[None]],
    ) -> None:
        """Open the conversation of a rerun, and send a message in it."""
        ...

    def show_result(self) -> bool:
        """Show what came of a rerun, if this conversation is of one; return whether it is."""
        ...

    def is_free(self, conversation_id: str) -> bool:
        """Return whether the user sees this conversation, with nothing above it, and has typed nothing."""
        ...

    def close(self, conversation_id: str) -> None:
        """Close a conversation."""
        ...


class Finished:
    """The comparison of a rerun, once its turn has ended."""

    def __init__(self) -> None:
        self.comparison: Comparison | None = None


class RerunCommands(FeatureCommands):
    """Runs turns of the conversation of `bridge` again, on screens of `scratch`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, scratch: Scratch) -> None:
        super().__init__(screen, bridge)
        self._scratch = scratch

    def handlers(self) -> dict[str, Handler]:
        return {"rerun": self.run}

    async def run(self, argument: str = "") -> None:
        """Run the turn with the number `argument` again, or the last one; in a rerun show the comparison."""
        if self._scratch.show_result():
            return
        if (id := self.begun()) is None:
            return
        conversation = await (await self._bridge.agent.store()).conversation(id)
        last = conversation.turns if conversation else 0
        if argument and not (argument.isdecimal() and 1 <= int(argument) <= last):
            self.warn(f"This conversation has no turn {argument}. Its turns are 1 to {last}.")
        elif last:
            self.ask(id, int(argument) if argument else last)

    def ask(self, conversation_id: str, turn: int) -> None:
        """Ask how a turn is to be run again, and do so."""
        from cogency_tui.tui.rerun.dialog import RerunScreen

        def answered(choice: "RerunChoice | None") -> None:
            if choice is not None:
                self.say("Copying the project…")
                work = partial(self._begin, conversation_id, turn, choice)
                self._screen.run_worker(work, group="rerun", exclusive=True)

        app_of(self._screen).push_screen(RerunScreen(self._bridge.agent, turn), answered)

    async def _begin(self, conversation_id: str, turn: int, choice: "RerunChoice") -> None:
        from cogency_tui.agent.rerun import discard, prepare

        agent = self._bridge.agent
        if conversation_id != self._bridge.conversation_id:
            agent = agent.in_project
        try:
            rerun = await prepare(agent, conversation_id, turn, choice)
        except CogencyError as exc:
            self.complain(exc)
            return
        for remark in rerun.copy.remarks:
            app_of(self._screen).notify(remark, markup=False)
        finished = Finished()
        self._scratch.run(
            rerun.agent,
            rerun.id,
            with_images(rerun.turn.prompt, rerun.turn.images),
            partial(self._compare, rerun, finished),
            partial(self._show, rerun, finished),
            partial(discard, agent, rerun),
        )

    def _compare(self, rerun: "Rerun", finished: Finished, screen: Screen[Any]) -> None:
        """Compare the turns, and show that if the user is not at something else."""
        work = partial(self._finish, rerun, finished, screen)
        screen.run_worker(work, group="rerun-compare", exclusive=True)

    async def _finish(self, rerun: "Rerun", finished: Finished, screen: Screen[Any]) -> None:
        try:
            if finished.comparison is not None and await rerun.went_on():
                # The comparison is of the turn that was run again.
                return
            finished.comparison = None
            if rerun.choice.check:
                screen.notify(f"Running the check in both: {rerun.choice.check}", markup=False)
            finished.comparison = await rerun.compare()
        except CogencyError as exc:
            screen.notify(exc.advice, severity="error", markup=False)
            return
        if self._scratch.is_free(rerun.id):
            self._show(rerun, finished, screen)
        else:
            screen.notify("Rerun finished: /rerun shows the comparison.", markup=False)

    def _show(self, rerun: "Rerun", finished: Finished, screen: Screen[Any]) -> None:
        """Show the comparison over the screen of the turn that was run again."""
        from cogency_tui.tui.recall.branch_comparison import ComparisonScreen

        if finished.comparison is None:
            screen.notify("The rerun is not finished.", severity="warning", markup=False)
            return

        def closed(discarded: bool | None) -> None:
            if discarded:
                self._scratch.close(rerun.id)

        title = f"Turn {rerun.turn.number} again"
        found = finished.comparison
        names = (_name("original", found.left), _name("again", found.right))
        dialog = ComparisonScreen(found, title, names)
        app_of(screen).push_screen(dialog, closed)


def _name(side: str, branch: "Branch") -> str:
    return f"{side}, interrupted" if branch.interrupted else side
