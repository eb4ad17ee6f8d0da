"""The embedded model as a function: all messages in, the text of the next reply out.

The plan of a turn runs again from its start each time, on the results in the messages; the first calls
without a result are the next ones to make. So a history and a session cannot differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from cogency_tui.protocol.messages import Message
from cogency_tui.providers.offline.message_reader import (
    CompletedCall,
    KnownConversation,
    PlannedCall,
    Turn,
    read_conversation,
)
from cogency_tui.providers.offline.plan_choice import plan_for
from cogency_tui.providers.offline.plan_steps import Past, Plan, PlanResult
from cogency_tui.providers.offline.profile_notes import is_profile_task, write_profile
from cogency_tui.providers.offline.request_grammar import read_requests
from cogency_tui.providers.offline.title_words import is_title_task, write_title
from cogency_tui.providers.offline.wire import Reply, code, write_reply

MOST_CYCLES = 40
"""Batches in one turn after which the model gives up, whatever is left."""

_TOO_LONG = (
    "I have made {cycles} batches of calls in this turn, and stop here to avoid going round in circles."
)
_CUT_SHORT = "The engine asked me to conclude here."


def next_text(messages: Sequence[Message]) -> str:
    """Return the wire text of the reply to `messages`, never empty."""
    if is_profile_task(messages):
        return write_profile(messages)
    if is_title_task(messages):
        return write_title(messages)
    conversation = read_conversation(messages)
    reply = next_reply(conversation)
    earlier = len(conversation.turns[-1].steps) if conversation.turns else 0
    return write_reply(reply, conversation.dialect, earlier)


def next_reply(conversation: KnownConversation) -> Reply:
    """Decide the next reply in the last turn."""
    turn = conversation.turns[-1] if conversation.turns else Turn("")
    earlier = [step for each in conversation.turns[:-1] for step in each.steps]
    record = _Record(list(turn.steps))
    requests = read_requests(turn.request, conversation.last_file)
    answers: list[str] = []
    for index, request in enumerate(requests):
        past = Past([*earlier, *record.used], conversation.has_tool("recall"))
        outcome = record.advance(plan_for(request, past))
        if isinstance(outcome, Reply):
            if not (conversation.is_last or turn.cycles >= MOST_CYCLES):
                return outcome
            report = _CUT_SHORT if conversation.is_last else _TOO_LONG.format(cycles=turn.cycles)
            answers.append(f"{report} The next step would have been: {code(outcome.thought)}")
            break
        answers.append(outcome.text)
        if not outcome.ok and index + 1 < len(requests):
            answers.append(_not_done(len(requests) - index - 1))
            break
    return Reply(answer="\n\n".join(answers))


@dataclass(slots=True)
class _Record:
    """The steps of a turn, without those that its plans have used."""

    left: list[CompletedCall]
    used: list[CompletedCall] = field(default_factory=list[CompletedCall])

    def advance(self, plan: Plan) -> Reply | PlanResult:
        """Run a plan on the existing results, up to the first calls without one."""
        try:
            batch = next(plan)
            while True:
                steps = [self._take(call) for call in batch.calls]
                missing = [call for call, step in zip(batch.calls, steps, strict=True) if step is None]
                if missing:
                    return Reply(batch.thought, missing)
                batch = plan.send([step.result for step in steps if step is not None])
        except StopIteration as stop:
            return cast("PlanResult", stop.value)

    def _take(self, call: PlannedCall) -> CompletedCall | None:
        for index, step in enumerate(self.left):
            if step.call == call:
                self.used.append(self.left.pop(index))
                return step
        return None


def _not_done(count: int) -> str:
    rest = "request" if count == 1 else f"{count} requests"
    return f"Because of that I did not continue with the {rest} after it."
