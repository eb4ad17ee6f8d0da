"""Trust in the project's own configuration: the user's decision, and reports of what cannot be used.

A line above the prompt asks; sending the next message withdraws it, which means "not now".
"""

import asyncio
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.trust.bar import TrustBar

if TYPE_CHECKING:
    from cogency_tui.agent.project.settings import ProjectSettings
    from cogency_tui.agent.project.trust import Survey
    from cogency_tui.tui.trust.screen import Decision


class TrustCommands(FeatureCommands):
    """Asks on `screen` about the project of the agent behind `bridge`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        super().__init__(screen, bridge)
        self._asked = ""
        """The digest or problem of the last survey."""
        self._dismissed = ""
        """The digest or problem that the user put off."""
        self._reported: set[str] = set()

    def handlers(self) -> dict[str, Handler]:
        return {"trust": self.decide}

    def refresh(self) -> None:
        """Survey the project, and ask if a decision is needed."""
        self._screen.run_worker(self._survey, group="trust-refresh", exclusive=True)

    def put_off(self) -> None:
        """Put the question off: do not ask again about the same contents."""
        for bar in self._screen.query(TrustBar):
            if bar.asking:
                bar.withdraw()
                self._dismissed = self._asked

    def report_problems(self) -> None:
        """Report once each unreadable instruction file of the project or the user."""
        for problem in self._bridge.agent.instructions(self._bridge.conversation_id).problems:
            if problem not in self._reported:
                self._reported.add(problem)
                self.warn(f"Instructions not loaded: {problem}")

    async def decide(self, answer: str = "") -> None:
        """Show the survey and carry out the decision; `later` and `never` skip the survey."""
        if answer == "later":
            self.put_off()
        elif answer == "never":
            await self._carry_out("refuse")
        else:
            # Only a worker may wait for the result of a screen.
            self._screen.run_worker(self._show, group="trust")

    @property
    def _project(self) -> "ProjectSettings":
        return self._bridge.agent.project_settings

    async def _survey(self) -> None:
        from cogency_tui.agent.project.trust import TrustState

        survey = await asyncio.to_thread(self._project.survey)
        self._asked = survey.digest or survey.problem
        undecided = survey.state in (TrustState.UNKNOWN, TrustState.CHANGED)
        asks = bool(undecided and self._asked and self._asked != self._dismissed)
        # The program may have ended meanwhile: then there is no bar.
        for bar in self._screen.query(TrustBar):
            if asks:
                bar.ask(*_question(survey))
            else:
                bar.withdraw()
        await self._refresh()

    async def _refresh(self) -> None:
        """Reload the trusted configuration, and report a new problem once."""
        project = self._project
        await asyncio.to_thread(project.refresh)
        if problem := project.take_problem():
            self.warn(problem)

    async def _show(self) -> None:
        from cogency_tui.agent.project.trust import TrustState
        from cogency_tui.tui.trust.screen import TrustScreen

        survey = await asyncio.to_thread(self._project.survey)
        if survey.state is TrustState.NOTHING:
            self.say("Nothing to trust: this project has no .cogency/ files, skills or hooks.")
            return
        screen = TrustScreen(survey, self._project.project, self._project.problem)
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
                if problem := project.take_problem():
                    self.warn(problem)
                elif not project.problem:
                    self.say("Trusted. Its files take effect with the next message.")
            elif decision == "refuse":
                seen = survey or await asyncio.to_thread(project.survey)
                await asyncio.to_thread(project.decline, seen)
                self.say(_describe_refusal(seen))
            else:
                await asyncio.to_thread(project.withdraw)
                self.say("Trust revoked. Takes effect at the next message.")
                self._dismissed = (await asyncio.to_thread(project.survey)).digest
        except CogencyError as exc:
            self.complain(exc)
        await self._survey()


def _describe_refusal(survey: "Survey") -> str:
    """What it means that the user is not to be asked again."""
    from cogency_tui.agent.project.trust import TrustState, name_parts

    if survey.state is not TrustState.CHANGED:
        return "It stays inactive; you will not be asked again (/trust to review)."
    off = name_parts(survey.inactive)
    return f"Off until it changes again: {off}. The rest stays trusted (/trust to review)."


def _question(survey: "Survey") -> tuple[str, str]:
    """The question, and a short one."""
    from cogency_tui.agent.project.trust import describe_inactive, name_parts

    if survey.problem:
        return "This project's .cogency/ cannot be used.", ".cogency/ unusable"
    return describe_inactive(survey), f"{name_parts(survey.inactive)} inactive"
