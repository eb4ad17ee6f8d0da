"""What the project itself brings: whether the person trusts it, and what of it cannot be used as it is.

Asked by a line above the prompt, which goes with the next message: that is "not now".
"""

import asyncio
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.widgets.trust_bar import TrustBar

if TYPE_CHECKING:
    from cogency_tui.agent.project_settings import ProjectSettings
    from cogency_tui.agent.trust import Survey
    from cogency_tui.tui.screens.trust import Decision


class Trusting(Collaborator):
    """Asks on `screen` about the project of the agent behind `bridge`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        super().__init__(screen, bridge)
        self._asked = ""
        """What was there when it was last looked at."""
        self._dismissed = ""
        """What was there when the person did not want to be asked."""
        self._told: set[str] = set()

    def handlers(self) -> dict[str, Handler]:
        return {"trust": self.decide}

    def look(self) -> None:
        """See how the project stands, and ask where it is to be asked about."""
        self._screen.run_worker(self._look, group="look-trust", exclusive=True)

    def put_off(self) -> None:
        """Not now: do not ask again about what is there."""
        for bar in self._screen.query(TrustBar):
            if bar.asking:
                bar.withdraw()
                self._dismissed = self._asked

    def tell(self) -> None:
        """Tell once what of the project's or the person's instructions could not be read."""
        for problem in self._bridge.agent.instructions(self._bridge.conversation_id).problems:
            if problem not in self._told:
                self._told.add(problem)
                self.warn(f"Instructions are not read: {problem}")

    async def decide(self, answer: str = "") -> None:
        """Show what there is and do what is decided; or `later` and `never` without looking."""
        if answer == "later":
            self.put_off()
        elif answer == "never":
            await self._carry_out("refuse")
        else:
            # A worker may wait for what a screen returns.
            self._screen.run_worker(self._show, group="trust")

    @property
    def _project(self) -> "ProjectSettings":
        return self._bridge.agent.project_settings

    async def _look(self) -> None:
        from cogency_tui.agent.trust import Standing

        survey = await asyncio.to_thread(self._project.survey)
        self._asked = survey.digest or survey.problem
        asks = survey.standing in (Standing.UNKNOWN, Standing.CHANGED) and self._asked != self._dismissed
        # The program may have ended meanwhile: then there is no line any more.
        for bar in self._screen.query(TrustBar):
            if asks:
                bar.ask(_question(survey))
            else:
                bar.withdraw()
        await self._refresh()

    async def _refresh(self) -> None:
        """Read what is trusted, and tell once what is wrong with it."""
        project = self._project
        before = project.problem
        await asyncio.to_thread(project.refresh)
        if project.problem and project.problem != before:
            self.warn(project.problem)

    async def _show(self) -> None:
        from cogency_tui.agent.trust import Standing
        from cogency_tui.tui.screens.trust import TrustScreen

        survey = await asyncio.to_thread(self._project.survey)
        if survey.standing is Standing.NOTHING:
            self.say("This project brings nothing to trust: there is no .cogency/ with files in it.")
            return
        screen = TrustScreen(survey, self._project.problem)
        decision = await app_of(self._screen).push_screen_wait(screen)
        if decision is None:
            self.put_off()
        else:
            await self._carry_out(decision, survey)

    async def _carry_out(self, decision: "Decision", survey: "Survey | None" = None) -> None:
        project = self._project
        try:
            if decision == "trust" and survey is not None:
                await asyncio.to_thread(project.accept, survey)
                if project.problem:
                    self.warn(project.problem)
                else:
                    self.say("What the project brings counts from the next message on.")
            elif decision == "refuse":
                await asyncio.to_thread(project.refuse)
                self.say("Nothing of it is used, and it is not asked about again. /trust shows it.")
            else:
                await asyncio.to_thread(project.withdraw)
                self.say("Nothing of it is used from the next message on.")
                self._dismissed = (await asyncio.to_thread(project.survey)).digest
        except CogencyError as exc:
            self.complain(exc)
        await self._look()


def _question(survey: "Survey") -> str:
    from cogency_tui.agent.trust import Standing

    if survey.problem:
        return "This project's .cogency/ cannot be used."
    if survey.standing is Standing.CHANGED:
        return "This project's .cogency/ has changed: it is not used until you trust it again."
    return "This project brings .cogency/: it is not used until you trust it."
