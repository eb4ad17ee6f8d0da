"""The texts of units and of their blocks, for copying, opening and searching, as written."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cogency_tui.protocol.events import AnsweredQuestion, answers_shown
from cogency_tui.protocol.plan import describe_progress, plan_as_text
from cogency_tui.safe_text import reveal
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.messages_and_notices import describe_summarized, describe_turn_end
from cogency_tui.tui.transcript.units import (
    Notice,
    PendingMessage,
    Problem,
    Prose,
    Summarized,
    Transcript,
    TurnEnd,
    Unit,
    UserMessage,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

_ADDRESS = re.compile(r"(?:https?://|mailto:)[^\s<>\"'`|\\^{}]+")
_UNLIKELY_ENDS = ".,;:!?*_~)]"


def text_of(unit: Unit) -> str:
    """A unit as text: an answer's Markdown, a call with its result."""
    match unit:
        case UserMessage(text=text) | Prose(text=text) | Notice(text=text):
            return text
        case PendingMessage(message=message):
            return message.text
        case Problem():
            where = f"{unit.tool}: " if unit.tool else ""
            return "\n".join(part for part in (where + unit.error, unit.hint) if part)
        case CallUnit():
            return "\n".join(part for part in (describe_call(unit), outcome_of(unit)) if part)
        case Summarized():
            return describe_summarized(unit)
        case TurnEnd():
            return describe_turn_end(unit)


def describe_call(call: CallUnit) -> str:
    """The tool and its arguments; a command as it was run."""
    if call.plan is not None:
        return f"plan {describe_progress(call.plan)}\n{plan_as_text(call.plan)}"
    if call.answers:
        return "\n".join(["ask", *(answered_as_text(each) for each in call.answers)])
    args = call.args
    command = args.get("command") or args.get("cmd")
    head = f"$ {reveal(command)}" if isinstance(command, str) else call.name
    rest = [f"{key}: {value}" for key, value in args.items() if key not in ("command", "cmd")]
    return "\n".join([head, *rest])


def answered_as_text(answered: AnsweredQuestion) -> str:
    """A question, and the answers to it."""
    return "\n".join([answered["question"], *(f"→ {answer}" for answer in answers_shown(answered))])


def outcome_of(call: CallUnit) -> str:
    """The result of a call: its diff or its output; else its outcome."""
    if call.plan is not None or call.answers:
        return ""
    return (call.diff() or call.body() or call.outcome).rstrip("\n")


def answers_of_turn(transcript: Transcript, index: int) -> str:
    """All answers of the turn that unit `index` belongs to."""
    units = transcript.units
    first = next((i for i in range(index, -1, -1) if isinstance(units[i], UserMessage)), 0)
    last = next((i for i in range(index + 1, len(units)) if isinstance(units[i], UserMessage)), len(units))
    answers = [
        unit.text.strip("\n") for unit in units[first:last] if isinstance(unit, Prose) and not unit.thinking
    ]
    return "\n\n".join(answer for answer in answers if answer)


def code_in(source: str) -> list[str]:
    """The contents of each code block in Markdown `source`."""
    from cogency_tui.tui.kit.markdown import parse

    return [
        token.content.removesuffix("\n") for token in parse(source) if token.type in ("fence", "code_block")
    ]


def links_in(source: str) -> list[str]:
    """The web and mail addresses in Markdown `source`, each once."""
    from cogency_tui.tui.kit.markdown import parse

    found: list[str] = []
    for token in parse(source):
        found += [
            str(child.attrGet("href") or child.attrGet("src") or "")
            for child in token.children or ()
            if child.type in ("link_open", "image")
        ]
        found += [match.rstrip(_UNLIKELY_ENDS) for match in _ADDRESS.findall(_text_of(token.children or ()))]
    return list(dict.fromkeys(each for each in found if _ADDRESS.match(each)))


def as_it_reads(source: str) -> str:
    """Markdown `source` without its marks: approximately the text as drawn."""
    from cogency_tui.tui.kit.markdown import parse

    parts = [
        _text_of(token.children) if token.children is not None else token.content
        for token in parse(source)
        if token.children is not None or token.content
    ]
    return "\n".join(parts)


def _text_of(children: "Sequence[Token]") -> str:
    return "".join(
        " " if child.type == "softbreak" else "\n" if child.type == "hardbreak" else child.content
        for child in children
    )
