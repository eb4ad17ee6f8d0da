"""The slider over all events, and the facts about the present one."""

from collections.abc import Sequence
from datetime import datetime

from rich.segment import Segment
from textual import events
from textual.message import Message

from cogency_tui.agent.timeline.model import Past
from cogency_tui.protocol.events import Event, mark_of, outcome_shown
from cogency_tui.protocol.transcript import user_text
from cogency_tui.safe_text import one_line
from cogency_tui.tui.cost.usage_totals import Cost
from cogency_tui.tui.kit.bar import Bar, end_to_end
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.number_format import dollars, tokens
from cogency_tui.tui.transcript.call_unit import summarize_call

_LONGEST = 400
_SPARSE = 3
"""Average cells that a mark needs, for all of them to be distinguishable."""


class Slider(Bar):
    """Each cell represents one or more events. `turns` and `edits` are marked where they fit."""

    class Moved(Message):
        """The user asks to go to the event with this index."""

        def __init__(self, index: int) -> None:
            self.index = index
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._count = 0
        self._index = 0
        self._turns: Sequence[int] = ()
        self._edits: Sequence[int] = ()
        self._marks: tuple[int, frozenset[int], frozenset[int]] | None = None
        self._dragged = False

    def show(self, past: Past) -> None:
        """Show another past."""
        self._count = len(past.points)
        self._turns = past.turn_starts
        self._edits = sorted({each.at for each in past.edits})
        self._marks = None
        self.refresh()

    def show_point(self, index: int) -> None:
        """Move to the event with this index."""
        self._index = index
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        styles, on, room = self.theme_styles, "background", max(1, width - 2)
        if not self._count:
            return [Segment(" " + "─" * room, styles("rule", on))]
        if self._marks is None or self._marks[0] != room:
            self._marks = (room, self._cells(self._turns, room), self._cells(self._edits, room))
        _room, turns, edits = self._marks
        here = self._cell(self._index, room)
        found = [Segment(" ", styles("text", on))]
        for cell in range(room):
            past = cell <= here
            if cell == here:
                found.append(Segment("●", styles("accent", on, "bold")))
            elif cell in edits:
                found.append(Segment("✎", styles("edit" if past else "dim", on)))
            elif cell in turns:
                found.append(Segment("┃" if past else "│", styles("accent" if past else "dim", on)))
            else:
                found.append(Segment("━" if past else "─", styles("accent" if past else "rule", on)))
        return found

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = True
        self.capture_mouse()
        self._request(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged:
            self._request(event.x)

    def on_mouse_up(self) -> None:
        self._dragged = False
        self.release_mouse()

    def _request(self, x: int) -> None:
        room = max(1, self.size.width - 2)
        if self._count:
            share = max(0, min(x - 1, room - 1)) / max(1, room - 1)
            self.post_message(self.Moved(round(share * (self._count - 1))))

    def _cells(self, indices: Sequence[int], room: int) -> frozenset[int]:
        found = frozenset(self._cell(index, room) for index in indices)
        return found if len(found) * _SPARSE <= room or len(found) == len(indices) else frozenset()

    def _cell(self, index: int, room: int) -> int:
        return round(index * (room - 1) / max(1, self._count - 1))


class FactLine(Bar):
    """The event's number, turn, time and description; and the usage so far."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._facts: list[str] = []
        self._description = ""
        self._taken: Cost | None = None

    def show(self, past: Past, index: int, taken: Cost | None) -> None:
        """Show another event."""
        point = past.points[index]
        asked = past.asked_at(index)
        turn = f"turn {point.turn} of {past.turns}" if point.turn else "before the first turn"
        if asked is not None and asked.turn == point.turn and asked.cycle > 1:
            turn += f", step {asked.cycle}"
        moment = datetime.fromtimestamp(point.event["timestamp"]).astimezone()
        self._facts = [f"event {index + 1:,} of {len(past.points):,}", turn, f"{moment:%d %b %Y %H:%M:%S}"]
        self._description = describe(point.event, past.conversation.project)
        self._taken = taken
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        styles, on = self.theme_styles, "background"
        first, *rest = self._facts or ["Loading…"]
        right = [Segment(f"{_taken(self._taken)} ", styles("dim", on))] if self._taken else []
        left = [Segment(f" {first}", styles("text", on, "bold"))]
        for fact in rest:
            left.append(Segment(f"  {fact}", styles("dim", on)))
            if width_of([*left, *right]) + 2 > width:
                left.pop()
                break
        room = width - width_of([*left, *right]) - 4
        if room >= 12:
            left.append(Segment(f"   {fit(self._description, room)}", styles("text", on)))
        return end_to_end(left, right, width, styles, on)


def describe(event: Event, root: str) -> str:
    """Describe an event in a few words; files in `root` are named relative to it."""
    match event["type"]:
        case "user":
            return f"You: {one_line(user_text(event)[:_LONGEST])}"
        case "think":
            return f"Thought: {one_line(event['content'][:_LONGEST])}"
        case "respond":
            return f"Answer: {one_line(event['content'][:_LONGEST])}"
        case "call":
            return f"Call: {summarize_call(event, root)}"
        case "result":
            outcome = one_line(outcome_shown(event["payload"])[:_LONGEST])
            return f"{mark_of(event['payload'])} {one_line(event['tool'])}: {outcome}"
        case "error":
            return f"✗ Turn failed: {one_line(event['payload']['error'][:_LONGEST])}"
        case _:
            return event["type"]


def _taken(cost: Cost) -> str:
    about = "~" if cost.estimated else ""
    facts = f"↑ {about}{tokens(cost.sent)}  ↓ {about}{tokens(cost.generated)}"
    return facts if cost.dollars is None else f"{facts}  {about}{dollars(cost.dollars)}"
