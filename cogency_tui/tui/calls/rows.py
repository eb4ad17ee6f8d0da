"""The rows of the tool calls pane: calls, the calls within them, and background commands.

A row stores the identity of its subject, never the contents: progress of a call changes no row. Only a call
that is new, that gains or hides calls below it, or that newly matches the filter or no longer does, has its
rows, and those below, rebuilt.

The action dialect declares dependencies among the calls of a turn: a call waits for the actions that it
names in `depends_on`, and for those whose results its arguments refer to (`$name`). Of actions with the same
id, or the same name for their result, the last before the call counts.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from cogency_tui.agent.output_variables import names_in
from cogency_tui.tui.transcript.call_unit import CallUnit, State
from cogency_tui.tui.transcript.units import Transcript

HIDDEN = -2
"""The step of a row that represents hidden steps."""

HEADING = "Background processes"
"""The heading of those of the conversation that is shown; others have its title after it."""

_LATEST = 5
_NEAR = 100
"""Calls that another one may depend on: no turn writes more before it waits for one."""

_FAILED: frozenset[State] = frozenset({"failed", "skipped", "interrupted", "not run"})

Key = int | str
"""The key of a row: the number of a call's unit, or the id of a background command."""


class Row(NamedTuple):
    """A call (the number of its unit), one of its steps, or a background command; otherwise the heading of
    the commands from the one of number `heading` on."""

    call: int = -1
    step: int = -1
    command: int = -1
    heading: int = -1

    @property
    def is_heading(self) -> bool:
        return self.call < 0 and self.command < 0


class BackgroundCommand(msgspec.Struct, frozen=True):
    """A background command; `remark` describes how it ended, or for which lines it is watched, and `found`
    what of them has come. `started` is in Unix seconds; `conversation` is the title of the one that it
    belongs to, empty for the one that is shown."""

    id: str
    command: str
    started: float
    seconds: float
    state: State
    remark: str = ""
    found: str = ""
    conversation: str = ""

    def elapsed(self, now: float) -> float:
        """Its running time in seconds."""
        return max(self.seconds, now - self.started) if self.state == "running" else self.seconds


class CallFilter(msgspec.Struct, frozen=True):
    """Selects the calls that are shown: those with all words of `text` in their tool or subject; with
    `failures` only failed ones."""

    text: str = ""
    failures: bool = False

    def __bool__(self) -> bool:
        return bool(self.text.strip()) or self.failures

    def admits(self, call: CallUnit) -> bool:
        if self.failures and call.state not in _FAILED:
            return False
        if not self.text.strip():
            return True
        text = f"{call.name} {call.subject.text}".casefold()
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
        """The unsettled calls."""
        self._folded: dict[int, bool] = {}
        self._shapes: dict[int, range | None] = {}
        """The steps shown within each call; None where the call itself is hidden."""
        self._tops: dict[int, int] = {}
        self._shown = 0
        self.arrange()

    @property
    def shown(self) -> int:
        """The number of calls shown."""
        return self._shown

    @property
    def running(self) -> int:
        """The number of running calls."""
        return sum(self.transcript.call(index).state == "running" for index in self.open)

    def update(self, touched: Iterable[int]) -> None:
        """Update the rows of units that are new or changed."""
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
        """Rebuild all rows."""
        self.rows, self._shapes, self._tops, self._shown = [], {}, {}, 0
        self.open = {index for index in self.transcript.calls if not self.transcript.call(index).settled}
        self._arrange_from(0)

    def _arrange_from(self, place: int) -> None:
        """Rebuild the rows of the calls from the one at `place`, and those below them."""
        calls = self.transcript.calls[place:]
        top = next((self._tops[index] for index in calls if index in self._tops), len(self.rows))
        del self.rows[min(top, self._commands_top()) :]
        for index in calls:
            self._arrange_call(index, self.transcript.call(index))
        self._append_commands()

    def _arrange_call(self, index: int, call: CallUnit) -> None:
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
        """The row at which the background commands begin."""
        top = len(self.rows)
        while top and self.rows[top - 1].call < 0:
            top -= 1
        return top

    def show_commands(self, commands: Sequence[BackgroundCommand]) -> None:
        """Show the background commands, both running and ended."""
        same = _places(commands) == _places(self.commands)
        self.commands = commands
        if not same:
            self.arrange()

    def select(self, call_filter: CallFilter) -> None:
        """Show what another filter admits."""
        self.filter = call_filter
        self.arrange()

    def fold(self, index: int, folded: bool | None = None) -> None:
        """Show or hide the calls within one; toggle by default."""
        call = self.transcript.call(index)
        self._folded[index] = bool(self._steps(index, call)[1]) if folded is None else folded
        self.arrange()

    def mark_of(self, index: int) -> str:
        """The fold mark of a call; empty if it has no calls within it."""
        call = self.transcript.call(index)
        return ("▾" if self._steps(index, call)[1] else "▸") if call.steps() else ""

    def hidden(self, index: int) -> int:
        """The number of hidden calls within one."""
        return self._steps(index, self.transcript.call(index))[0]

    def place(self, key: Key) -> int | None:
        """The row with this key."""
        if isinstance(key, int):
            return self._tops.get(key)
        places = (y for y, row in enumerate(self.rows) if row.command >= 0 and self.key(y) == key)
        return next(places, None)

    def key(self, y: int) -> Key | None:
        """The key of row `y`; for a call within a call, the key of the outer call."""
        if not 0 <= y < len(self.rows) or self.rows[y].is_heading:
            return None
        row = self.rows[y]
        return self.commands[row.command].id if row.command >= 0 else row.call

    def command(self, key: Key | None) -> BackgroundCommand | None:
        """The background command with this id."""
        return next((each for each in self.commands if each.id == key), None)

    def newest(self) -> Key | None:
        """The last call that has begun; the last one if none has."""
        begun = (index for index in reversed(self._tops) if self.transcript.call(index).state != "queued")
        last = next(reversed(self._tops), self.commands[-1].id if self.commands else None)
        return next(begun, last)

    def before(self, index: int) -> list[CallUnit]:
        """The calls written before one, as far back as it can depend on them."""
        calls = self.transcript.calls
        place = bisect_left(calls, index)
        return [self.transcript.call(other) for other in calls[max(0, place - _NEAR) : place]]

    def _append_commands(self) -> None:
        if self.commands and not self.filter:
            before: str | None = None
            for number, command in enumerate(self.commands):
                if command.conversation != before:
                    self.rows.append(Row(heading=number))
                before = command.conversation
                self.rows.append(Row(command=number))

    def _shape(self, index: int, call: CallUnit) -> range | None:
        if self.filter and not self.filter.admits(call):
            return None
        return self._steps(index, call)[1]

    def _steps(self, index: int, call: CallUnit) -> tuple[int, range]:
        """The number of hidden calls within one, and the range of those shown."""
        count = len(call.steps())
        folded = self._folded.get(index)
        if folded is None:
            # A running call shows its latest calls; a settled one is a single line until opened.
            first = count if call.settled else max(0, count - _LATEST)
            first = 0 if first == 1 else first
        else:
            first = count if folded else 0
        return first, range(first, count)


_FAILED_MARK = {
    "failed": "failed",
    "declined": "was declined",
    "skipped": "was skipped",
    "interrupted": "was interrupted",
    "not run": "did not run",
}


def dependencies(call: CallUnit, before: Sequence[CallUnit]) -> dict[str, CallUnit | None]:
    """The actions that `call` depends on, by id; `before` are the calls written earlier.

    An action that does not exist (yet) is None.
    """
    if not call.action.id and not call.action.depends_on:
        return {}
    ids: dict[str, CallUnit] = {}
    keys: dict[str, CallUnit] = {}
    for other in before:
        ids[other.action.id or other.id] = other
        if other.action.output_key:
            keys[other.action.output_key] = other
    found: dict[str, CallUnit | None] = {each: ids.get(each) for each in call.action.depends_on}
    for name in sorted(names_in(call.args, keys)):
        other = keys[name]
        found.setdefault(other.action.id or other.id, other)
    return found


def waits_for(call: CallUnit, before: Sequence[CallUnit]) -> list[str]:
    """The ids of the actions that a queued call still waits for."""
    if call.state != "queued":
        return []
    return [each for each, other in dependencies(call, before).items() if other is None or not other.settled]


def cause_of_skip(call: CallUnit, before: Sequence[CallUnit]) -> str:
    """The reason why a call was skipped, in a few words: `a failed`; empty if no dependency is the cause."""
    if call.state != "skipped":
        return ""
    for each, other in dependencies(call, before).items():
        if other is not None and (remark := _FAILED_MARK.get(other.state)):
            return f"{each} {remark}"
    return ""


def _places(commands: Sequence[BackgroundCommand]) -> list[tuple[str, str]]:
    return [(each.id, each.conversation) for each in commands]
