"""What waits for what among the calls of a turn, as the action dialect declares it (protocols.md 3.2).

A call waits for the actions that it names in `depends_on`, and for those whose results its arguments stand
for (`$name`). Of actions with the same id, or the same name for their result, the last before it counts.
"""

from collections.abc import Sequence

from cogency_tui.agent.variables import names_in
from cogency_tui.tui.calls import Call

_FAILED = {"failed": "failed", "skipped": "was skipped", "interrupted": "was interrupted"}


def dependencies(call: Call, before: Sequence[Call]) -> dict[str, Call | None]:
    """The actions that `call` depends on, by their ids; `before` are the calls that were written earlier.

    One that is not there (yet) is None.
    """
    if not call.action.id and not call.action.depends_on:
        return {}
    ids: dict[str, Call] = {}
    keys: dict[str, Call] = {}
    for other in before:
        ids[other.action.id or other.id] = other
        if other.action.output_key:
            keys[other.action.output_key] = other
    found: dict[str, Call | None] = {each: ids.get(each) for each in call.action.depends_on}
    for name in sorted(names_in(call.args, keys)):
        other = keys[name]
        found.setdefault(other.action.id or other.id, other)
    return found


def waits_for(call: Call, before: Sequence[Call]) -> list[str]:
    """The ids of the actions that a call which has not begun is still waiting for."""
    if call.state != "queued":
        return []
    return [each for each, other in dependencies(call, before).items() if other is None or not other.settled]


def cause_of_skip(call: Call, before: Sequence[Call]) -> str:
    """Why a call was skipped, in a few words: `a failed`; empty where no dependency is to blame."""
    if call.state != "skipped":
        return ""
    for each, other in dependencies(call, before).items():
        if other is not None and (told := _FAILED.get(other.state)):
            return f"{each} {told}"
    return ""
