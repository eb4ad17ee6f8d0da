"""Interceptors of tool calls: what runs around each call, within its one result.

Invariant: a defect of an interceptor costs a log entry; it changes neither the call nor its outcome.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import HookRun
from cogency_tui.redaction import Redactor
from cogency_tui.tools.base import Intent, Outcome, ToolContext

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InterceptedCall:
    """A call with its plan.

    `id` is that of the conversation's call, which a step of a workflow shares with it. `tool` is the tool's
    own name; `context` is what the tool runs in. `hooks` are the runs of hooks for it so far, `asks`
    the reasons for which the user must be asked about it. `to_be_written` returns the files that calls which
    wait or run are yet to write.
    """

    id: str
    tool: str
    args: msgspec.Struct
    intent: Intent
    context: ToolContext
    hooks: list[HookRun] = field(default_factory=list[HookRun])
    asks: list[str] = field(default_factory=list[str])
    to_be_written: Callable[[], Collection[Path]] = frozenset[Path]

    def asked(self, intent: Intent) -> Intent:
        """The intent with those reasons."""
        reasons = [*([intent.protected] if intent.protected else []), *self.asks]
        return replace(intent, protected="; ".join(reasons)) if self.asks else intent


class CallInterceptor(Protocol):
    """Runs before and after each call of a conversation and its workflows."""

    async def before(self, call: InterceptedCall) -> None:
        """Prepare for a call that is planned, before the user is asked about it.

        Raises:
            ToolError: the call must not run; the text is for the model.
        """
        ...

    async def after(self, call: InterceptedCall, outcome: Outcome) -> Outcome:
        """Complete the outcome of a call that has run, failed ones included. What the model should read in
        addition goes to `Outcome.note`."""
        ...


async def intercept_before(interceptors: Sequence[CallInterceptor], call: InterceptedCall) -> None:
    """Let each interceptor prepare for the call, in order.

    Raises:
        ToolError: one of them refused it.
    """
    for interceptor in interceptors:
        try:
            await interceptor.before(call)
        except ToolError:
            raise
        except Exception:
            # A defect of an interceptor must not stop the call.
            _log.exception("An interceptor broke before %s", call.tool)


async def intercept_after(
    interceptors: Sequence[CallInterceptor], call: InterceptedCall, outcome: Outcome
) -> Outcome:
    """Let each interceptor complete the outcome, in order; the notes they add are redacted."""
    redact = Redactor(call.context.secrets, call.context.known)
    for interceptor in interceptors:
        try:
            completed = await interceptor.after(call, outcome)
        except Exception:
            # The call has run: its outcome must reach the model.
            _log.exception("An interceptor broke after %s", call.tool)
            continue
        if completed.note != outcome.note:
            completed = replace(completed, note=redact.text(completed.note))
        outcome = completed
    return outcome


def join_notes(*notes: str) -> str:
    """Join the notes for the model, each on lines of its own."""
    return "\n".join(note for note in notes if note)
