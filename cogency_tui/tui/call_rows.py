"""The rows of the tool calls pane: calls, the calls within them, and the commands in the background.

What a row stands for is kept, never what it shows: a call that goes on changes no row. Only a call that is
new, that gets or hides calls below it, or that a filter admits or not, has its rows, and those below, made
again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from cogency_tui.tui.calls import Call, State
from cogency_tui.tui.drawing.calls import summarize
from cogency_tui.tui.transcript import Transcript

HIDDEN = -2
"""As a row's step: those that are not shown."""

HEADING = "In the background"
_LATEST = 5
_NEAR = 100
"""Calls that another one may depend on: no turn writes more before it waits for one."""

_FAILED: frozenset[State] = frozenset({"failed", "skipped", "interrupted"})

Key = int | str
"""What a row can be selected by: the number of a call's unit, or the id of a background command."""


class Row(NamedTuple):
    """A call (the number of its unit) or one of its steps, or a background command; else a heading."""

    call: int = -1
    step: int = -1
    command: int = -1

    @property
    def is_heading(self) -> bool:
        return self.call < 0 and self.command < 0


class BackgroundCommand(msgspec.Struct, frozen=True):
    """A command that goes on by itself; `told` says how it ended. Times are Unix seconds and seconds."""

    id: str
    command: str
    started: float
    seconds: float
    state: State
    told: str = ""

    def elapsed(self, now: float) -> float:
        """Seconds that it has run for."""
        return max(self.seconds, now - self.started) if self.state == "running" else self.seconds


class CallFilter(msgspec.Struct, frozen=True):
    """Which calls are shown: those with all `words` in their tool or subject; with `failures` no others."""

    text: str = ""
    failures: bool = False

    def __bool__(self) -> bool:
        return bool(self.text.strip()) or self.failures

    def admits(self, call: Call) -> bool:
        if self.failures and call.state not in _FAILED:
            return False
        if not self.text.strip():
            return True
        text = f"{call.name} {summarize(call).text}".casefold()
        return all(word in text for word in self.text.casefold().split())


ALL_CALLS = CallFilter()


class CallRows:
    """The rows of one transcript's calls."""

    def __init__(
        self,
        transcript: Transcript,
        call_filter: CallFilter = ALL_CALLS,
        commands: Sequence[BackgroundCommand] = (),
    ) -> None:
        self.transcript = transcript
        self.rows: list[Row] = []
        self.filter = call_filter
        self.commands = commands
        self.open: set[int] = set()
        """The calls that have not come to their end."""
        self._folded: dict[int, bool] = {}
        self._shapes: dict[int, range | None] = {}
        """Which calls within each call are shown; None where it is not shown itself."""
        self._tops: dict[int, int] = {}
        self._shown = 0
        self.arrange()

    @property
    def shown(self) -> int:
        """How many calls are shown."""
        return self._shown

    @property
    def running(self) -> int:
        """How many calls run."""
        return sum(self.transcript.call(index).state == "running" for index in self.open)

    def update(self, touched: Iterable[int]) -> None:
        """These units are new or have changed."""
        calls = self.transcript.calls
        first = len(calls)
        for index in touched:
            place = bisect_left(calls, index)
            if place == len(calls) or calls[place] != index:
                continue
            call = self.transcript.call(index)
            (self.open.discard if call.settled else self.open.add)(index)
            if index not in self._shapes or self._shapes[index] != self._shape(index, call):
                first = min(first, place)
        if first < len(calls):
            self._arrange_from(first)

    def arrange(self) -> None:
        """Make all rows again."""
        self.rows, self._shapes, self._tops, self._shown = [], {}, {}, 0
        self.open = {index for index in self.transcript.calls if not self.transcript.call(index).settled}
        self._arrange_from(0)

    def _arrange_from(self, place: int) -> None:
        """Make the rows of the calls from the one at `place` on again, and what stands below them."""
        calls = self.transcript.calls[place:]
        top = next((self._tops[index] for index in calls if index in self._tops), len(self.rows))
        del self.rows[min(top, self._commands_top()) :]
        for index in calls:
            self._arrange_call(index, self.transcript.call(index))
        self._append_commands()

    def _arrange_call(self, index: int, call: Call) -> None:
        self._shown -= self._tops.pop(index, None) is not None
        shown = self._shapes[index] = self._shape(index, call)
        if shown is None:
            return
        self._shown += 1
        self._tops[index] = len(self.rows)
        self.rows.append(Row(index))
        if shown and shown.start:
            self.rows.append(Row(index, HIDDEN))
        self.rows += [Row(index, step) for step in shown]

    def _commands_top(self) -> int:
        """The row at which the commands in the background begin."""
        top = len(self.rows)
        while top and self.rows[top - 1].call < 0:
            top -= 1
        return top

    def show_commands(self, commands: Sequence[BackgroundCommand]) -> None:
        """These run in the background, or have run."""
        same = [each.id for each in commands] == [each.id for each in self.commands]
        self.commands = commands
        if not same:
            self.arrange()

    def select(self, call_filter: CallFilter) -> None:
        """Show what another filter admits."""
        self.filter = call_filter
        self.arrange()

    def fold(self, index: int, folded: bool | None = None) -> None:
        """Show or hide the calls within one; the other way round where it is not said."""
        call = self.transcript.call(index)
        self._folded[index] = bool(self._steps(index, call)[1]) if folded is None else folded
        self.arrange()

    def mark_of(self, index: int) -> str:
        """Whether a call has calls within it, and whether they are shown."""
        call = self.transcript.call(index)
        return ("▾" if self._steps(index, call)[1] else "▸") if call.steps() else ""

    def hidden(self, index: int) -> int:
        """How many calls within one are not shown."""
        return self._steps(index, self.transcript.call(index))[0]

    def place(self, key: Key) -> int | None:
        """The row that is selected by `key`."""
        if isinstance(key, int):
            return self._tops.get(key)
        places = (y for y, row in enumerate(self.rows) if row.command >= 0 and self.key(y) == key)
        return next(places, None)

    def key(self, y: int) -> Key | None:
        """What row `y` is selected by; one within a call by that call."""
        if not 0 <= y < len(self.rows) or self.rows[y].is_heading:
            return None
        row = self.rows[y]
        return self.commands[row.command].id if row.command >= 0 else row.call

    def command(self, key: Key | None) -> BackgroundCommand | None:
        """The background command with this id."""
        return next((each for each in self.commands if each.id == key), None)

    def newest(self) -> Key | None:
        """The last call that something has come of, or is coming; the last one where there is none."""
        begun = (index for index in reversed(self._tops) if self.transcript.call(index).state != "queued")
        last = next(reversed(self._tops), self.commands[-1].id if self.commands else None)
        return next(begun, last)

    def before(self, index: int) -> list[Call]:
        """The calls that were written before one, as far as it can depend on them."""
        calls = self.transcript.calls
        place = bisect_left(calls, index)
        return [self.transcript.call(other) for other in calls[max(0, place - _NEAR) : place]]

    def _append_commands(self) -> None:
        if self.commands and not self.filter:
            self.rows.append(Row())
            self.rows += [Row(command=number) for number in range(len(self.commands))]

    def _shape(self, index: int, call: Call) -> range | None:
        if self.filter and not self.filter.admits(call):
            return None
        return self._steps(index, call)[1]

    def _steps(self, index: int, call: Call) -> tuple[int, range]:
        """How many calls within one are hidden, and which are shown."""
        count = len(call.steps())
        folded = self._folded.get(index)
        if folded is None:
            # While it works one sees the last ones; what has ended is one line until it is opened.
            first = count if call.settled else max(0, count - _LATEST)
            first = 0 if first == 1 else first
        else:
            first = count if folded else 0
        return first, range(first, count)
