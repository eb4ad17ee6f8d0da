"""The line under the conversation: the current activity and its duration, and new units below the view; for a
while after an answer that allows something for longer than the turn, what that is."""

import math
from collections.abc import Sequence

import msgspec
from rich.segment import Segment
from textual.message import Message
from textual.timer import Timer

from cogency_tui.agent.user_command import NAME
from cogency_tui.protocol.events import describe_attempt
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Bar, end_to_end
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.keys import draw_key
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.number_format import plural, tokens, whole_seconds
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.pen import SPINNER
from cogency_tui.tui.transcript.units import Notice, Prose, Transcript, Unit


class Activity(msgspec.Struct, frozen=True):
    """One line: `Running pytest`, `Waiting for openai/…`. A countdown includes its own time. `tokens` says
    how many the model has written in this turn; empty where that is nothing. `seconds` are its duration, if
    that is not the turn's."""

    text: str
    counts_down: bool = False
    tokens: str = ""
    seconds: float | None = None


def live_units(transcript: Transcript) -> list[int]:
    """The units of this turn that show a running time."""
    return [
        index
        for index in range(transcript.turn_start, len(transcript.units))
        if _is_live(transcript.units[index])
    ]


def seconds_to_retry(transcript: Transcript, now: float) -> int:
    """The seconds until the request of this turn is repeated; 0 if none is about to be."""
    last = transcript.units[-1] if len(transcript.units) > transcript.turn_start else None
    return math.ceil(last.due - now) if isinstance(last, Notice) and last.due > now else 0


def describe_activity(
    transcript: Transcript, model: str, now: float, *, asked: float | None = None, hook: str = ""
) -> Activity:
    """Describe the activity of this turn at `now`, in Unix seconds, from the transcript. A question that
    belongs to no call was `asked` then; the `hook` of this name runs."""
    units = transcript.units[transcript.turn_start :]
    last = units[-1] if units else None
    if isinstance(last, Notice) and (seconds := seconds_to_retry(transcript, now)):
        left = whole_seconds(seconds)
        number = describe_attempt(last.attempt, last.attempts)
        return Activity(f"Retrying in {left} ({number})", counts_down=True)
    waiting = [unit.asked for unit in units if isinstance(unit, CallUnit) and unit.state == "waiting"]
    since = min(waiting, default=asked)
    if since is not None:
        return Activity("Waiting for your answer", seconds=max(0.0, now - since))
    if hook:
        return Activity(f"Running hook {one_line(hook)}")
    if any(_is_of_user(unit) for unit in units[-1:]):
        # No model writes.
        return Activity(_describe_work(units, model))
    return Activity(_describe_work(units, model), tokens=_describe_tokens(*transcript.written))


def _is_of_user(unit: Unit) -> bool:
    """True for a command of the user's that runs."""
    return isinstance(unit, CallUnit) and unit.name == NAME and not unit.settled


def _describe_tokens(count: int, estimated: bool) -> str:
    if not count:
        return ""
    return f"{'~' if estimated else ''}{tokens(count)} token{'' if count == 1 else 's'}"


def _describe_work(units: list[Unit], model: str) -> str:
    calls = [unit for unit in units if isinstance(unit, CallUnit) and not unit.settled]
    if running := [call for call in calls if call.state == "running"]:
        return (
            f"Running {_name_of(running[0])}"
            if len(running) == 1
            else f"Running {plural(len(running), 'call')}"
        )
    if writing := [call for call in calls if call.state == "writing"]:
        return f"Preparing {one_line(writing[-1].name)}" if writing[-1].name else "Preparing a call"
    last = units[-1] if units else None
    if isinstance(last, Prose) and last.open:
        return "Thinking" if last.thinking else "Writing"
    if isinstance(last, Notice) and last.due:
        return f"Waiting for {one_line(model)} ({describe_attempt(last.attempt, last.attempts)})"
    return f"Waiting for {one_line(model)}"


def _name_of(call: CallUnit) -> str:
    """The name of a tool, or the command of the user's."""
    return call.subject.text if call.name == NAME else one_line(call.name)


def _is_live(unit: object) -> bool:
    return isinstance(unit, CallUnit) and unit.state == "running"


PATIENCE = 0.5
"""Seconds after which activity is shown."""


CONFIRMED = 8.0
"""Seconds for which the line shows what was allowed."""


class LiveLine(Bar):
    """Shows the activity; empty while idle."""

    SURFACE = "surface"

    class Pressed(Message):
        """The user asks to go to the end."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._activity: Activity | None = None
        self._elapsed = 0.0
        self._frame = 0
        self._following = True
        self._new = 0
        self._queued = 0
        self._key = "Esc"
        self._grant: Sequence[str] = ()
        """What was just allowed, from long to short."""
        self._confirmed: Timer | None = None

    def work(
        self, activity: Activity | None, elapsed: float, frame: int, queued: int, *, key: str = "Esc"
    ) -> None:
        """Show the activity (or none), its duration in seconds, the number of queued messages, and the `key`
        that interrupts.
        """
        if (queued, key) != (self._queued, self._key):
            self._queued, self._key = queued, key
            self.refresh()
        shown = activity if elapsed > PATIENCE else None
        if shown or self._activity:
            self._activity, self._elapsed, self._frame = shown, elapsed, frame
            self.refresh()

    def follow(self, following: bool, new: int) -> None:
        """Show whether the view follows the end, and how many units came in below."""
        if (following, new) != (self._following, self._new):
            self._following, self._new = following, new
            self.refresh()

    def confirm(self, grant: Sequence[str]) -> None:
        """Show for a while what was allowed, in the first of these texts that fits."""
        if self._confirmed is not None:
            self._confirmed.stop()
        self._grant = grant
        self._confirmed = self.set_timer(CONFIRMED, self._end_confirmation) if grant else None
        self.refresh()

    def _end_confirmation(self) -> None:
        self.confirm(())

    def segments(self, width: int) -> list[Segment]:
        if self._grant:
            return self._confirmation(width)
        styles = self.theme_styles
        left = [Segment("  ", styles())]
        right: list[Segment] = []
        if not self._following:
            label = f"↓ {self._new} new" if self._new else "↓ end"
            right = [Segment(f"{label}  ", styles("accent", attributes="bold"))]
        if self._queued:
            left.append(Segment(f"{self._queued} queued   ", styles("accent", attributes="bold")))
        if self._activity is not None:
            left += self._progress(self._activity, width - width_of(left) - width_of(right) - 1)
        return end_to_end(left, right, width, styles, "surface")

    def _confirmation(self, width: int) -> list[Segment]:
        """What was allowed, and how to revoke it, which is never cut."""
        styles = self.theme_styles
        hint = [Segment("   ", styles()), *draw_key("/permissions", "to revoke", styles)]
        mark = Segment("  ✓ ", styles("good"))
        room = width - width_of([mark, *hint])
        text = next((each for each in self._grant if cells(each) <= room), fit(self._grant[-1], room))
        return [mark, Segment(text, styles("text")), *hint]

    def _progress(self, activity: Activity, width: int) -> list[Segment]:
        """The activity in `width` cells; where they are few, without the tokens, then without the key."""
        styles = self.theme_styles
        elapsed = self._elapsed if activity.seconds is None else activity.seconds
        time = "" if activity.counts_down else f"  {whole_seconds(elapsed)}"
        shown = [
            Segment(SPINNER[self._frame % len(SPINNER)], styles("running")),
            Segment(f" {fit(activity.text, width - len(time) - 2)}{time}", styles("dim")),
        ]
        written = [Segment(f" · {activity.tokens}", styles("dim"))] if activity.tokens else []
        hint = [Segment("   ", styles()), *draw_key(self._key, "to interrupt", styles)]
        for part in ([*written, *hint], hint):
            if width_of(shown) + width_of(part) <= width:
                return [*shown, *part]
        return shown

    def on_click(self) -> None:
        if not self._following:
            self.post_message(self.Pressed())
