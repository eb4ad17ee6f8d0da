"""Hooks around the sessions, turns and messages of a user's conversation."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cogency_tui.agent.hooks.hook import Hook
from cogency_tui.agent.hooks.runner import HookRunner, Occasion, Verdict, first_line, quoted
from cogency_tui.config.hooks import HookEvent
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.dialects import new_id
from cogency_tui.protocol.events import HookAddition

if TYPE_CHECKING:
    from cogency_tui.agent.conversation import Conversation

MOST_CONTINUATIONS = 5
"""Times in one turn that hooks may have the model continue after its answer."""

LONGEST_END = 10.0
"""Seconds of a hook at the end of a session, which the user may be waiting for."""

TurnState = Literal["done", "failed", "interrupted"]
Say = Callable[[str], Awaitable[None]]
"""Reports a notice to the user."""


@dataclass(slots=True)
class HookContext:
    """What hooks have for the model before a turn, as one `text`, and how much of it each `added`."""

    text: str = ""
    added: list[HookAddition] = field(default_factory=list[HookAddition])

    def add(self, hook: Hook, verdict: Verdict) -> None:
        """Add what a hook has, with its name."""
        if verdict.context:
            block = f"[The hook {hook.name} adds, not the user:]\n{quoted(verdict.context)}"
            self.text = f"{self.text}\n\n{block}" if self.text else block
            self.added.append({"name": hook.name, "lines": verdict.context.count("\n") + 1})


class HookBlockedError(CogencyError):
    """A hook does not let a message be sent, or a turn begin."""

    kind = "hook"


class TurnHooks:
    """Runs the hooks of `conversation` on events that are no calls."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._runner = HookRunner(conversation.engine, conversation.gate.keeps_changes)
        self._in_session = False
        self._of_session: HookContext | None = None
        """What the hooks before the session have for its first message, until that is sent."""

    async def begin(self, query: str | None, *, is_new: bool) -> HookContext:
        """Run the hooks before a session, which begins with the first turn here, a turn and its message.
        Return what they have for the model.

        Raises:
            HookBlockedError: one of them blocks the message or the turn.
        """
        is_next = query is not None
        if not self._in_session:
            begun = HookContext()
            source = {"source": "startup" if is_new else "resume"}
            async for hook, verdict in self._run("before_session", source, is_next=is_next):
                self._note(hook, verdict)
                begun.add(hook, verdict)
            self._in_session, self._of_session = True, begun
        of_session = self._of_session or HookContext()
        context = HookContext(of_session.text, [*of_session.added])
        async for hook, verdict in self._run("before_turn", {"message": query or ""}, is_next=is_next):
            self._require(hook, verdict, "The turn did not begin")
            context.add(hook, verdict)
        if query is not None:
            async for hook, verdict in self._run("before_message", {"message": query}, is_next=True):
                self._require(hook, verdict, "The message was not sent")
                context.add(hook, verdict)
        self._of_session = None
        return context

    async def after_message(self, text: str, say: Say) -> list[str]:
        """Run the hooks after a message of the model; return the reasons of those that block."""
        fields = {"message": text}
        return [reason async for reason in self._reasons("after_message", fields, say)]

    async def after_turn(self, state: TurnState, text: str, count: int, say: Say) -> list[str]:
        """Run the hooks after a turn that ended in this state, with the model's last `text`; return the
        reasons of those that have it continue, which happened `count` times so far."""
        fields = {"state": state, "message": text, "continued": count > 0}
        # One that was stopped may have been so because the program ends.
        seconds = None if state == "done" else LONGEST_END
        may_continue = count < MOST_CONTINUATIONS
        reasons = [
            reason
            async for reason in self._reasons("after_turn", fields, say, seconds, may_continue=may_continue)
        ]
        if reasons and not may_continue:
            await say(f"Not continued: hooks have continued this turn {count} times.")
            return []
        return reasons

    async def end(self) -> None:
        """Run the hooks after the session, if it has begun."""
        if self._in_session:
            self._in_session = False
            async for _ in self._run("after_session", {}, LONGEST_END):
                pass

    @property
    def precede_messages(self) -> bool:
        """True if there are hooks to run before a message is sent."""
        events: tuple[HookEvent, ...] = ("before_session", "before_turn", "before_message")
        return any(True for event in events for _ in self._due(event, {}))

    @property
    def sees_messages(self) -> bool:
        """True if there are hooks on the user's messages: none may be sent before they have run."""
        return any(True for _ in self._due("before_message", {}))

    async def _reasons(
        self,
        event: HookEvent,
        fields: Mapping[str, Any],
        say: Say,
        seconds: float | None = None,
        *,
        may_continue: bool = True,
    ) -> AsyncGenerator[str]:
        """Run the hooks after an event; yield what they have for the model, which continues if it may."""
        async for hook, verdict in self._run(event, fields, seconds):
            notice = _notice(hook, verdict)
            if notice and (may_continue or not verdict.blocks):
                await say(notice)
            if verdict.blocks:
                yield f"[The hook {hook.name}, not the user, asks you to continue:]\n{quoted(verdict.reason)}"
            if verdict.context and hook.claude_event:
                yield f"[The hook {hook.name} adds, not the user:]\n{quoted(verdict.context)}"

    def _require(self, hook: Hook, verdict: Verdict, what: str) -> None:
        """Note what a hook has for the user.

        Raises:
            HookBlockedError: it blocks.
        """
        if verdict.blocks:
            raise HookBlockedError(f"{what}: the hook {hook.name} blocked it: {verdict.reason}")
        self._note(hook, verdict)

    def _note(self, hook: Hook, verdict: Verdict) -> None:
        given = bool(verdict.context)
        if notice := _notice(hook, verdict, is_context=given):
            self._conversation.pending_notices.append(notice)

    async def _run(
        self,
        event: HookEvent,
        fields: Mapping[str, Any],
        seconds: float | None = None,
        *,
        is_next: bool = False,
    ) -> AsyncGenerator[tuple[Hook, Verdict]]:
        """Run the hooks on an event, in their order; with `is_next` they belong to the turn that follows."""
        conversation = self._conversation
        due = [*self._due(event, fields)]
        if any(hook.owner == "project" for hook in due):
            now = await conversation.current_hooks()
            due = [hook for hook in due if hook in now]
        about = {"mode": conversation.gate.mode, **fields}
        for hook in due:
            limit = None if seconds is None else min(seconds, hook.timeout)
            occasion = Occasion(event, conversation.id, f"hook-{new_id()}", about, is_next=is_next)
            verdict = await self._runner.run(hook, occasion, limit)
            if verdict.stops:
                conversation.stop_for_hook(hook.name, verdict.stops)
            yield hook, verdict

    def _due(self, event: HookEvent, fields: Mapping[str, Any]) -> Iterator[Hook]:
        for hook in self._conversation.hooks:
            if not hook.can_run or event not in hook.events:
                continue
            if hook.claude_event == "Stop" and fields.get("state", "done") != "done":
                continue
            if hook.claude_event == "SessionStart" and not hook.matches(fields.get("source", "startup")):
                continue
            yield hook


def _notice(hook: Hook, verdict: Verdict, *, is_context: bool = False) -> str:
    """What the user is told of a run; empty if it says nothing."""
    run = verdict.run
    changed = ", ".join(f"{each['path']} (+{each['added']} −{each['removed']})" for each in run["changes"])
    said = verdict.message or ("" if is_context or verdict.is_json else first_line(run["output"]))
    failed = run["outcome"] if verdict.is_declined else f"failed: {run['outcome']}"
    said = {"done": said, "failed": failed, "blocked": ""}[run["state"]]
    parts = [f"changed {changed}" if changed else "", said]
    text = "; ".join(part for part in parts if part)
    notice = f"Hook {hook.name} ({run['on']}): {text}" if text else ""
    if verdict.blocks and run["on"].startswith("after_"):
        return f"Hook {hook.name} ({run['on']}) continues the turn: {first_line(verdict.reason)}"
    return notice
