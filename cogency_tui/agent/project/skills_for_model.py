"""The skills of a conversation, for its model."""

from collections.abc import Awaitable, Callable, Mapping

from cogency_tui.agent.call_by_name import choose
from cogency_tui.agent.project.skills import Skill
from cogency_tui.errors import ToolError
from cogency_tui.tools.skill import SkillTool


class SkillsForModel:
    """The skills that the model was told of as `known`, as far as they still count: `current` reads them
    again.
    """

    def __init__(
        self, known: Mapping[str, Skill], current: Callable[[], Awaitable[Mapping[str, Skill]]]
    ) -> None:
        self._known = known
        self._current = current

    async def find(self, name: str) -> Skill:
        current = await self._current()
        name = name.strip().removeprefix("/")
        if name in current:
            return current[name]
        if name in self._known:
            raise ToolError(
                f"The skill {name} no longer counts: it has changed since it was trusted, or was removed.",
                "The user has to review it (/trust).",
            )
        return choose(SkillTool.name, name, current)
