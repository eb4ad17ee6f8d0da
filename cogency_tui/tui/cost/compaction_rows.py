"""The rows of the parts that a summary has replaced or would replace, and the note about one of them."""

from collections.abc import Hashable, Sequence

import msgspec
from rich.segment import Segment

from cogency_tui.agent.compaction import Compaction, Fate, Part
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import plural, tokens, when
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import summarize_call
from cogency_tui.tui.transcript.pin_marks import PIN

_FATE, _TOKENS = 12, 8
_HEAD = 300
"""Characters of a text that its line is made from."""

_RECALL = "The agent can still find it with recall."


class PartRow(msgspec.Struct, frozen=True):
    """A part of the compaction number `index`, of which 0 is the newest."""

    index: int
    part: Part


Row = Heading | PartRow


def compaction_rows(compactions: Sequence[Compaction], fate: Fate | None, now: float) -> list[Row]:
    """The parts of each compaction below its time and figures; only those of a `fate`, if one is given."""
    rows: list[Row] = []
    for index, each in enumerate(compactions):
        parts = [PartRow(index, part) for part in each.parts if fate in (None, part.fate)]
        if parts:
            rows += [*([Heading("")] if rows else []), Heading(_heading(each, now)), *parts]
    return rows


def key_of(row: Row) -> Hashable:
    return row.text if isinstance(row, Heading) else row.part.number


def draw_row(row: Row, width: int, styles: ThemeStyles, on: str, *, root: str) -> Line:
    """Draw one line: the part, its fate, its tokens, and a mark if it is pinned. Files in `root` are named
    relative to it."""
    if isinstance(row, Heading):
        return Line([Segment(fit(row.text, width), styles("text", on, "bold"))])
    part = row.part
    figures = f"{'~' + tokens(part.tokens):>{_TOKENS}}"
    fate = f"  {part.fate:<{_FATE - 2}}"
    room = max(4, width - 2 - cells(fate) - cells(figures))
    label = fit(_label_of(part, root), room)
    return Line(
        [
            Segment(f"{PIN if part.pinned else ' '} ", styles("accent", on)),
            Segment(
                label + " " * (room - cells(label)), styles("text" if part.fate == "verbatim" else "dim", on)
            ),
            Segment(fate, styles("edit" if part.fate == "dropped" else "dim", on)),
            Segment(figures, styles("dim", on)),
        ]
    )


def _label_of(part: Part, root: str) -> str:
    """The part in one line: who wrote it, or the call."""
    event = part.event
    if event["type"] == "call":
        return summarize_call(event, root)
    text = _head(str(event.get("content", "")))
    match event["type"]:
        case "user":
            return text if "ran" in event else f"You: {text}"
        case "think":
            return f"Thought: {text}"
        case "result":
            return f"Malformed call: {_head(event['payload'].get('raw', ''))}"
        case _:
            return f"Answer: {text}"


def _head(text: str) -> str:
    return one_line(" ".join(text[:_HEAD].split()))


def draw_note(part: Part, width: int, styles: ThemeStyles) -> list[Line]:
    """Explain the fate of a part."""
    return wrap([Segment(_explain(part), styles("dim"))], width)


def _heading(compaction: Compaction, now: float) -> str:
    summary, count = compaction.summary, len(compaction.parts)
    figures = ""
    if summary.tokens_after:
        figures = f" · {tokens(summary.tokens_before)} → {tokens(summary.tokens_after)} tokens"
    return f"{when(summary.created, now)} · {plural(count, 'message')}{figures}"


def _explain(part: Part) -> str:
    if part.fate == "verbatim":
        cut = f", without {part.omitted:,} characters from its middle" if part.omitted else ""
        return f"{'Pinned' if part.pinned else 'Your message'}: verbatim in the context{cut}."
    if part.fate == "dropped":
        return f"Not in the summary: it was beyond the message limit. {_RECALL}"
    cut = f" It was summarized without {part.omitted:,} characters of its result." if part.omitted else ""
    return f"In the context only as part of the summary.{cut} {_RECALL}"
