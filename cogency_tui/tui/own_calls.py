"""A command of the person's on the screen: the same card that a call of the agent's has.

While it runs it is previewed as a call. Its message then settles that card; read from the store, where there
are no previews, the message alone makes one that looks the same.
"""

import json
import re

from cogency_tui.agent.own_command import NAME, Ran
from cogency_tui.protocol.events import CallEvent, ResultEvent
from cogency_tui.tui.calls import Call

_SECONDS = re.compile(r" after ([\d.]+) s$")


def as_call(ran: Ran, call_id: str, timestamp: float) -> tuple[CallEvent, ResultEvent]:
    """The call and the result that show what was run."""
    took = _SECONDS.search(ran.outcome)
    call: CallEvent = {
        "type": "call",
        "timestamp": timestamp,
        "id": call_id,
        "content": json.dumps({"name": NAME, "args": {"command": ran.command}}),
    }
    result: ResultEvent = {
        "type": "result",
        "timestamp": timestamp,
        "id": call_id,
        "tool": NAME,
        "duration": float(took[1]) if took else 0.0,
        "payload": {"outcome": ran.outcome, "content": ran.output, "error": ran.failed},
    }
    return call, result


def is_own(unit: object) -> bool:
    """Whether a unit is a command of the person's: who asked for it wants to see what it wrote."""
    return isinstance(unit, Call) and unit.name == NAME
