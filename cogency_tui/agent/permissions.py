"""Who may do what: reads run, the rest runs, asks or is refused by the mode in force (interface.md).

A call that touches what is outside the project, or what is guarded, asks in every mode. Without
anyone to ask, it is refused; nothing is ever assumed to be allowed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from cogency_tui.config import PERMISSIONS, Permissions
from cogency_tui.errors import ToolError
from cogency_tui.tools.base import Effect, Intent


@dataclass(frozen=True, slots=True)
class Question:
    """What a call would do, and why it is asked. `detail` is the whole diff or command."""

    call_id: str
    tool: str
    effect: Effect
    summary: str
    detail: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """`reason` goes to the model with a refusal."""

    allow: bool
    scope: Literal["once", "conversation"] = "once"
    reason: str = ""


Ask = Callable[[Question], Awaitable[Answer]]


class Gate:
    """Decides about the calls of one conversation, asking one question at a time."""

    def __init__(self, mode: Callable[[], Permissions], ask: Callable[[], Ask | None]) -> None:
        self._mode = mode
        self._ask = ask
        self._granted: set[tuple[str, str]] = set()
        self._asking = asyncio.Lock()
        self._call_id = ""
        self._asker = ""

    def narrowed(self, most: Permissions, *, call_id: str, asker: str) -> "Gate":
        """A gate for `asker`, whom `call_id` of this conversation started: it lets pass what both allow.

        The person is asked in the same place, one question at a time, and what they grant counts for both.
        """

        def mode() -> Permissions:
            return PERMISSIONS[min(PERMISSIONS.index(most), PERMISSIONS.index(self._mode()))]

        gate = Gate(mode, self._ask)
        gate._granted = self._granted
        gate._asking = self._asking
        gate._call_id = self._call_id or call_id
        gate._asker = asker
        return gate

    async def check(self, call_id: str, tool: str, intent: Intent) -> None:
        """Return when the call may run.

        Raises:
            ToolError: it may not; the text tells the model why.
        """
        reason = self._why_ask(intent)
        if not reason:
            return
        async with self._asking:
            # The answer to the question before may have settled this one.
            if not self._why_ask(intent):
                return
            ask = self._ask()
            if ask is None:
                raise ToolError(f"Refused: {reason}, and there is nobody to ask.")
            if self._asker:
                reason = f"{reason} ({self._asker} asks for it)"
            call_id = self._call_id or call_id
            question = Question(call_id, tool, intent.effect, intent.summary, intent.detail, reason)
            answer = await ask(question)
        if not answer.allow:
            told = f" They said: {answer.reason}" if answer.reason else ""
            raise ToolError(f"Refused by the person: {intent.summary}.{told}")
        if answer.scope == "conversation":
            self._granted.add(self._grant(intent))

    def _why_ask(self, intent: Intent) -> str:
        mode = self._mode()
        if intent.effect != "read" and mode == "plan":
            raise ToolError(
                f"Refused: in plan mode nothing is changed or run ({intent.summary}). "
                "Describe what you would do instead."
            )
        if self._grant(intent) in self._granted:
            return ""
        if intent.outside:
            return f"{intent.outside} is outside the project"
        if intent.guarded:
            return intent.guarded
        if intent.effect == "read" or mode == "auto":
            return ""
        if intent.effect == "write":
            return "" if mode == "edits" else "it changes files"
        return "it runs a command"

    @staticmethod
    def _grant(intent: Intent) -> tuple[str, str]:
        # A grant holds for the same command, the same place outside or guarded, or for all changes
        # of files inside the project: never for more than the question showed the kind of.
        if intent.effect == "command":
            return "command", intent.detail
        if intent.outside or intent.guarded:
            return intent.effect, intent.outside or intent.summary
        return intent.effect, ""
