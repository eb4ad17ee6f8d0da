"""The skills of a conversation, for its model: which it may use, and their instructions with arguments."""

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from cogency_tui.agent.call_by_name import choose
from cogency_tui.agent.project.skills import Skill, requested_arguments
from cogency_tui.errors import ToolError
from cogency_tui.tools.skill import SkillTool

LAST_MESSAGES = 5
"""Messages of the user of which one may ask for a skill: its files are read in later turns, too."""

_PLACEHOLDER = re.compile(r"\$\{CLAUDE_SKILL_DIR\}|\$ARGUMENTS\[(\d{1,3})\]|\$ARGUMENTS\b|\$(\d{1,3})\b")


class SkillsForModel:
    """The skills that the model was told of as `known`, as far as they still count: `current` reads them
    again. `messages` are the last ones of the user, the newest at the end: skills for the user alone to start
    are found if one of them asks for them.
    """

    def __init__(
        self,
        known: Mapping[str, Skill],
        current: Callable[[], Awaitable[Mapping[str, Skill]]],
        messages: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        self._known = known
        self._current = current
        self._messages = messages

    async def find(self, name: str) -> Skill:
        current = await self._current()
        name = name.strip().removeprefix("/")
        if name not in current:
            if name in self._known:
                raise ToolError(
                    f"The skill {name} no longer counts: it changed since it was trusted, or was removed.",
                    "The user has to review it (/trust).",
                )
            open_ones = {key: each for key, each in current.items() if not each.file.hidden}
            return choose(SkillTool.name, name, open_ones)
        skill, arguments = current[name], await self._arguments(name)
        if skill.file.hidden and arguments is None:
            raise ToolError(
                f"The skill {name} is for the user to start, not for you.",
                f"Ask them to send /{name}, or do the task without it.",
            )
        return StartedSkill(skill.file, skill.place, skill.root, skill.own, skill.digests, arguments)

    async def _arguments(self, name: str) -> str | None:
        """The arguments with which the user has asked for a skill; None if they have not."""
        found = (requested_arguments(name, message) for message in reversed(await self._messages()))
        return next((each for each in found if each is not None), None)


class StartedSkill(Skill, frozen=True):
    """A skill whose instructions have the `arguments` that the user gave in their places; with None the user
    did not start it, and these places remain."""

    arguments: str | None = None

    def instructions(self) -> str:
        place = Path(self.place) if self.own else Path(self.root) / self.place
        return fill_in(super().instructions(), self.arguments, place)


def fill_in(text: str, arguments: str | None, place: Path) -> str:
    """Put arguments and the directory of a skill into its text, as Claude Code does.

    `$ARGUMENTS` are all, `$ARGUMENTS[0]` or `$0` is the first one; a text without these counts from `$1`, as
    commands did. One that is not given stays as it is.
    """
    words = _split(arguments or "")
    numbers = [int(found[1] or found[2]) for found in _PLACEHOLDER.finditer(text) if found[1] or found[2]]
    first = 0 if not numbers or min(numbers) == 0 else 1

    def filled(found: re.Match[str]) -> str:
        if found[0].startswith("${"):
            return str(place)
        number = found[1] or found[2]
        if arguments is None:
            return found[0]
        if number is None:
            return arguments
        at = int(number) - first
        return words[at] if 0 <= at < len(words) else found[0]

    return _PLACEHOLDER.sub(filled, text)


def _split(arguments: str) -> list[str]:
    """The words of arguments, as a shell reads them."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
