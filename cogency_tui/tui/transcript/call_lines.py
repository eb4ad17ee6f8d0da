"""Tool calls as lines: the rows of the tool calls pane, and the cards of the conversation.

The right-hand facts of a row end in a fixed column while numbers in it change; where space is short they
give way to the subject of the call.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style

from cogency_tui.protocol.events import DECLINED
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.lines import Line, cells, fit, fit_path, width_of, wrap
from cogency_tui.tui.kit.number_format import duration, plural, whole_seconds
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import GLYPHS, OPEN, ROLES, CallStep, CallUnit, State
from cogency_tui.tui.transcript.messages_and_notices import SPINNER

NAME_COLUMN = 8
TIME_COLUMN = 6
_PATH_ARGUMENTS = ("file", "path", "pattern")
_ALWAYS = 0
_FIRST_DROPPED = 2


class Subject(NamedTuple):
    """The subject of a row; a path is cut at its start, other text at its end."""

    text: str
    is_path: bool


def draw_call(call: CallUnit, width: int, styles: ThemeStyles, *, now: float, frame: int) -> list[Line]:
    """Draw the card of a call: one line, or one for each changed file, and the reason of a failure."""
    lines: list[Line] = []
    for change in call.changes():
        head = [Segment("✎ ", styles("edit"))]
        subject = Subject(reveal(change.path), is_path=True)
        right = [_Fact(_ALWAYS, Segment(_counts(change.added, change.removed), styles("dim")))]
        right += _status(call, now, styles, "surface", word=False)
        lines.append(_row(head, subject, styles("text", attributes="bold"), right, width, styles()))
    return lines or [
        call_row(call, width, styles, now=now, frame=frame, facts=True),
        *_why(call, width, styles),
    ]


def call_row(
    call: CallUnit,
    width: int,
    styles: ThemeStyles,
    *,
    now: float,
    frame: int,
    on: str = "surface",
    facts: bool = False,
    fold: str = "",
    remark: str = "",
) -> Line:
    """Draw a call on one line: glyph, tool, subject; on the right its state and time.

    `fold` is the mark of one that has calls below it, `remark` a remark on its state.
    """
    role = "dim" if call.state in ("queued", "declined", "skipped") else "text"
    head = [
        Segment(f"{_glyph(call.state, frame)} ", styles(ROLES[call.state], on)),
        Segment(f"{_name(call)} ", styles(role, on, "bold")),
    ]
    if fold:
        head.append(Segment(f"{fold} ", styles("dim", on)))
    right = _status(call, now, styles, on, word=not facts or call.state != "done")
    if facts and call.state == "done" and call.outcome:
        remark = fit(one_line(call.outcome), 40)
    if remark:
        right = [_Fact(_FIRST_DROPPED, Segment(one_line(remark), styles("dim", on))), *right]
    return _row(head, summarize(call), styles(role, on), right, width, styles("text", on))


def waiting_row(
    call: CallUnit, waits: Sequence[str], width: int, styles: ThemeStyles, *, on: str = "surface"
) -> Line:
    """Draw a queued call that waits for others, with their ids as its state."""
    head = [
        Segment(f"{GLYPHS['queued']} ", styles("dim", on)),
        Segment(
            fit(one_line(call.name), NAME_COLUMN * 2).ljust(NAME_COLUMN - 1) + " ", styles("dim", on, "bold")
        ),
    ]
    remark = fit(f"waiting for {', '.join(map(one_line, waits))}", max(12, width - 16))
    right = [_Fact(_ALWAYS, Segment(remark, styles("dim", on)))]
    return _row(head, summarize(call), styles("dim", on), right, width, styles("text", on))


def step_row(step: CallStep, width: int, styles: ThemeStyles, *, frame: int, on: str = "surface") -> Line:
    """Draw a call within a call, on a line below it."""
    head = [Segment(f"  {_glyph(step.state, frame)} ", styles(ROLES[step.state], on))]
    word = (
        [] if step.state == "done" else [_Fact(_ALWAYS, Segment(step.state, styles(ROLES[step.state], on)))]
    )
    subject = Subject(one_line(step.text), is_path=False)
    return _row(head, subject, styles("dim", on), word, width, styles("text", on))


def hidden_row(count: int, width: int, styles: ThemeStyles, *, on: str = "surface") -> Line:
    """Draw a line for `count` hidden calls within a call."""
    head = [Segment("  ", styles("text", on))]
    subject = Subject(f"… {plural(count, 'earlier call')}", is_path=False)
    return _row(head, subject, styles("dim", on, "italic"), [], width, styles("text", on))


def command_row(
    command: str,
    seconds: float,
    state: State,
    width: int,
    styles: ThemeStyles,
    *,
    frame: int,
    on: str = "surface",
) -> Line:
    """Draw a background command with its running time in `seconds`."""
    head = [
        Segment(f"{_glyph(state, frame)} ", styles(ROLES[state], on)),
        Segment("$ ", styles("edit", on)),
    ]
    style = styles(ROLES[state] if state == "running" else "dim", on)
    time = whole_seconds(seconds) if state == "running" else duration(seconds)
    right = [_Fact(_ALWAYS, Segment(state, style)), _Fact(1, Segment(time.rjust(TIME_COLUMN), style))]
    subject = Subject(one_line(command), is_path=False)
    return _row(head, subject, styles("text", on), right, width, styles("text", on))


def heading_row(text: str, width: int, styles: ThemeStyles) -> Line:
    """Draw a dim line above rows of another kind."""
    return Line([Segment(fit(text, width), styles("dim", attributes="bold"))])


def _name(call: CallUnit) -> str:
    return fit(one_line(call.name) or "…", NAME_COLUMN * 2).ljust(NAME_COLUMN - 1)


def _glyph(state: State, frame: int) -> str:
    return SPINNER[frame % len(SPINNER)] if state == "running" else GLYPHS[state]


def _why(call: CallUnit, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the reason why a call failed, was declined or was skipped, in at most two lines below it."""
    if call.state not in ("failed", "declined", "skipped") or call.outcome in ("", DECLINED):
        return []
    indent = 2 + NAME_COLUMN
    lines = wrap([Segment(fit(one_line(call.outcome), 2 * (width - indent)), styles("dim"))], width - indent)
    return [line.indented(Segment(" " * indent, styles())) for line in lines[:2]]


def summarize(call: CallUnit) -> Subject:
    """Summarize the subject of a call in one line."""
    args = call.args
    if command := args.get("command") or args.get("cmd"):
        return Subject(one_line(str(command)), is_path=False)
    if call.name == "find" and args.get("content"):
        where = f" in {args['path']}" if args.get("path") not in (None, "", ".") else ""
        return Subject(one_line(f"“{args['content']}”{where}"), is_path=False)
    for key in _PATH_ARGUMENTS:
        if isinstance(args.get(key), str) and args[key]:
            return Subject(one_line(args[key]), is_path=True)
    for key in ("query", "url", "action"):
        if isinstance(args.get(key), str):
            return Subject(one_line(args[key]), is_path=False)
    if call.name == "list":
        return Subject(".", is_path=True)
    first: Any = next((value for value in args.values() if isinstance(value, str)), "")
    return Subject(one_line(str(first)[:400]), is_path=False)


class _Fact(NamedTuple):
    """A right-hand column, and its rank: the highest is dropped first, `_ALWAYS` never."""

    rank: int
    segment: Segment


def _counts(added: int, removed: int) -> str:
    counts = [f"+{added}"] if added else []
    counts += [f"−{removed}"] if removed else []
    return " ".join(counts) or "no change"


def _status(call: CallUnit, now: float, styles: ThemeStyles, on: str, *, word: bool) -> list[_Fact]:
    """State and time as right-hand columns."""
    elapsed = call.elapsed(now)
    style = styles("dim" if call.state == "done" else ROLES[call.state], on)
    state = _Fact(_ALWAYS, Segment(call.state, style))
    if (not elapsed and call.state in (*OPEN, "skipped")) or call.state in ("waiting", "declined"):
        return [state]
    clock = duration(elapsed).rjust(TIME_COLUMN)
    time = _Fact(1, Segment(clock, style if call.state == "running" else styles("dim", on)))
    return [state, time] if word else [time]


def _row(
    head: list[Segment], subject: Subject, style: Style, right: list[_Fact], width: int, ground: Style
) -> Line:
    """Join `head` and `subject`, cut as needed, and `right` flush right, two cells apart."""
    room = width - width_of(head)
    requested = min(cells(subject.text), 24)
    while room - _size(right) < requested and len(right) > 1:
        rank = max(fact.rank for fact in right)
        if rank == _ALWAYS:
            break
        right = [fact for fact in right if fact.rank != rank]
    room = max(0, room - _size(right))
    text = fit_path(subject.text, room) if subject.is_path else fit(subject.text, room)
    segments = [*head, Segment(text + " " * (room - cells(text)), style)]
    for fact in right:
        segments += [Segment("  ", ground), fact.segment]
    return Line(segments)


def _size(right: list[_Fact]) -> int:
    return sum(cells(fact.segment.text) + 2 for fact in right)
