"""`cogency-tui profile`, and `/profile` in plain lines: shows, turns on or off, and clears the profile."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from cogency_tui.agent.profile.profile import Profile, outcome_of, source_of
from cogency_tui.cli.standard_streams import print_json, print_text
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import one_line
from cogency_tui.store.profile import KINDS, Fact
from cogency_tui.store.profile_material import LearningState

ACTIONS = ("show", "on", "off", "clear")

_NOTHING = "Nothing remembered yet."
_STATES = {
    True: "The profile is on: it learns from your messages, and the model receives the facts.",
    False: (
        "The profile is off: nothing is learned or sent. `cogency-tui profile on`, or /profile on, learns "
        "from your own messages; the facts are stored on this machine and sent to the model in use."
    ),
}


async def run_profile(profile: Profile, action: str, *, as_json: bool = False) -> int:
    """Run one of `ACTIONS`; return the exit status.

    Raises:
        UsageError: there is no such action.
        ConfigError: the configuration cannot be changed.
        StoreError: the store cannot be used.
    """
    if action not in ACTIONS:
        raise UsageError(f"Unknown action {one_line(action)}.", f"Choose one of: {', '.join(ACTIONS)}.")
    if action == "clear":
        count = await profile.clear()
        message = f"{count} fact{'' if count == 1 else 's'} permanently forgotten." if count else _NOTHING
        if as_json:
            print_json({"forgotten": count})
        else:
            print_text(message)
        return 0
    if action == "on":
        await profile.turn_on()
    elif action == "off":
        await profile.turn_off()
    facts, state = await profile.facts(), await profile.state()
    if as_json:
        print_json(_as_json(profile, facts, state))
        return 0
    print_text(_STATES[profile.on])
    for line in _lines(facts, state) if action == "show" else ():
        print_text(line)
    return 0


def _lines(facts: Sequence[Fact], state: LearningState) -> list[str]:
    lines = [f"{fact.kind}: {one_line(fact.text)} ({one_line(source_of(fact))})" for fact in facts]
    lines = lines or [_NOTHING]
    if outcome := outcome_of(state):
        lines.append(f"Last learned on {_date(state.attempted)}: {one_line(outcome)}.")
    return lines


def _as_json(profile: Profile, facts: Sequence[Fact], state: LearningState) -> Mapping[str, Any]:
    attempt = {"at": state.attempted, "outcome": state.outcome, "failed": state.failed}
    return {
        "on": profile.on,
        "every": profile.every,
        **{kind: [_fact(fact) for fact in facts if fact.kind == kind] for kind in KINDS},
        "waiting": state.waiting,
        "last": attempt if state.attempted else None,
    }


def _fact(fact: Fact) -> Mapping[str, Any]:
    source = {"conversation": fact.conversation, "turn": fact.turn, "model": fact.model}
    return {
        "text": fact.text,
        "created": fact.created,
        "edited": fact.edited,
        "source": source if fact.conversation else None,
    }


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
