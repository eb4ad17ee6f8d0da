"""Tool calls as lines: the one-line card, and the detail of a call.

The right-hand facts of a row end in a column that stands still while numbers in it change; when room is
short they give way to what the call is about.
"""

from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style

from cogency_tui.text import one_line, reveal
from cogency_tui.tui.calls import GLYPHS, OPEN, ROLES, Call, Step
from cogency_tui.tui.drawing.cards import SPINNER
from cogency_tui.tui.drawing.diff import draw_diff
from cogency_tui.tui.drawing.figures import duration
from cogency_tui.tui.drawing.lines import Line, cells, chop, fit, fit_path, width_of, wrap
from cogency_tui.tui.theming import Inks

NAME_COLUMN = 8
TIME_COLUMN = 6
_PATH_ARGUMENTS = ("file", "path", "pattern")
_OUTPUT_LINES = 400
_KEPT = 0
_FIRST_DROPPED = 2


class Subject(NamedTuple):
    """What a row is about; a path is cut at its start, other text at its end."""

    text: str
    is_path: bool


def draw_call(call: Call, width: int, inks: Inks, *, expanded: bool, now: float, frame: int) -> list[Line]:
    """The card of a call: one line, or one a file that it changed; with `expanded` its detail."""
    lines: list[Line] = []
    for change in call.changes():
        head = [Segment("✎ ", inks("edit"))]
        subject = Subject(reveal(change.path), is_path=True)
        right = [_Fact(_KEPT, Segment(_counts(change.added, change.removed), inks("dim")))]
        right += _status(call, now, inks, "surface", word=False)
        lines.append(_row(head, subject, inks("text", attributes="bold"), right, width, inks()))
    if not lines:
        lines = [call_row(call, width, inks, now=now, frame=frame, facts=True), *_why(call, width, inks)]
    if expanded:
        indent = Segment("  ", inks())
        lines += [line.indented(indent) for line in draw_detail_body(call, width - 2, inks)]
    return lines


def call_row(
    call: Call, width: int, inks: Inks, *, now: float, frame: int, on: str = "surface", facts: bool = False
) -> Line:
    """A call on one line: glyph, tool, what it is about; on the right its state and time."""
    glyph = SPINNER[frame % len(SPINNER)] if call.state == "running" else GLYPHS[call.state]
    role = "dim" if call.state in ("queued", "skipped") else "text"
    name = fit(one_line(call.name) or "…", NAME_COLUMN * 2)
    head = [
        Segment(f"{glyph} ", inks(ROLES[call.state], on)),
        Segment(name.ljust(NAME_COLUMN - 1) + " ", inks(role, on, "bold")),
    ]
    right = _status(call, now, inks, on, word=not facts or call.state != "done")
    if facts and call.state == "done" and call.outcome:
        right = [_Fact(_FIRST_DROPPED, Segment(fit(one_line(call.outcome), 40), inks("dim", on))), *right]
    return _row(head, summarize(call), inks(role, on), right, width, inks("text", on))


def step_row(step: Step, width: int, inks: Inks, *, frame: int, on: str = "surface") -> Line:
    """A call within a call, on a line below it."""
    glyph = SPINNER[frame % len(SPINNER)] if step.state == "running" else GLYPHS[step.state]
    head = [Segment(f"  {glyph} ", inks(ROLES[step.state], on))]
    word = [] if step.state == "done" else [_Fact(_KEPT, Segment(step.state, inks(ROLES[step.state], on)))]
    subject = Subject(one_line(step.text), is_path=False)
    return _row(head, subject, inks("dim", on), word, width, inks("text", on))


def _why(call: Call, width: int, inks: Inks) -> list[Line]:
    """Why a call came to nothing, in at most two lines below it."""
    if call.state not in ("failed", "skipped") or not call.outcome:
        return []
    indent = 2 + NAME_COLUMN
    lines = wrap([Segment(fit(one_line(call.outcome), 2 * (width - indent)), inks("dim"))], width - indent)
    return [line.indented(Segment(" " * indent, inks())) for line in lines[:2]]


def summarize(call: Call) -> Subject:
    """What a call is about, in one line."""
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


def draw_detail(call: Call, width: int, inks: Inks, now: float) -> list[Line]:
    """The detail of a call under its name and state."""
    word = call.state if call.state != "waiting" else "waiting for permission"
    elapsed = call.elapsed(now)
    time = f" {duration(elapsed)}" if elapsed or call.settled else ""
    head = Line(
        [
            Segment(f"{one_line(call.name) or '…'}  ", inks("text", attributes="bold")),
            Segment(f"{GLYPHS[call.state]} {word}{time}", inks(ROLES[call.state])),
        ]
    )
    return [head, *draw_detail_body(call, width, inks)]


def draw_detail_body(call: Call, width: int, inks: Inks) -> list[Line]:
    """Arguments, then the diff or the output; a long output's end."""
    lines: list[Line] = []
    command = call.args.get("command") or call.args.get("cmd")
    if isinstance(command, str):
        lines += wrap([Segment(f"$ {reveal(command)}", inks("edit"))], width)
    for key, value in call.args.items():
        if key not in ("command", "cmd"):
            lines += _argument(key, value, width, inks)
    diff = call.diff()
    body = draw_diff(diff, width, inks) if diff else _output(call, width, inks)
    if call.settled and call.outcome and (call.state != "done" or not body):
        body = [*wrap([Segment(call.outcome, inks(ROLES[call.state]))], width), *body]
    return [*lines, Line([]), *body] if lines and body else lines + body


def _output(call: Call, width: int, inks: Inks) -> list[Line]:
    text = call.body().rstrip("\n")
    if not text:
        return []
    rows = text.split("\n")
    lines: list[Line] = []
    if len(rows) > _OUTPUT_LINES:
        hidden = len(rows) - _OUTPUT_LINES
        lines.append(Line([Segment(f"… {hidden} lines above", inks("dim", attributes="italic"))]))
    style = inks("text")
    for row in rows[-_OUTPUT_LINES:]:
        lines += chop([Segment(row.expandtabs(8), style)], width)
    return lines


def _argument(key: str, value: Any, width: int, inks: Inks) -> list[Line]:
    label = Segment(f"{one_line(key)}  ", inks("dim"))
    text = reveal(value if isinstance(value, str) else repr(value))
    if "\n" not in text and cells(text) + cells(label.text) <= width:
        return [Line([label, Segment(text, inks("text"))])]
    rows = text.rstrip("\n").split("\n")
    lines = [Line([label, Segment(f"{len(rows)} lines" if len(rows) > 1 else "", inks("dim"))])]
    for row in rows[-_OUTPUT_LINES:]:
        lines += [
            line.indented(Segment("  ", inks())) for line in chop([Segment(row, inks("text"))], width - 2)
        ]
    return lines


class _Fact(NamedTuple):
    """A right-hand column, and when it gives way: the highest rank first, `_KEPT` never."""

    rank: int
    segment: Segment


def _counts(added: int, removed: int) -> str:
    counts = [f"+{added}"] if added else []
    counts += [f"−{removed}"] if removed else []
    return " ".join(counts) or "no change"


def _status(call: Call, now: float, inks: Inks, on: str, *, word: bool) -> list[_Fact]:
    """State and time as right-hand columns."""
    elapsed = call.elapsed(now)
    style = inks("dim" if call.state in ("done", "skipped") else ROLES[call.state], on)
    state = _Fact(_KEPT, Segment(call.state, style))
    if call.state in OPEN and (not elapsed or call.state == "waiting"):
        return [state]
    clock = duration(elapsed).rjust(TIME_COLUMN)
    time = _Fact(1, Segment(clock, style if call.state == "running" else inks("dim", on)))
    return [state, time] if word else [time]


def _row(
    head: list[Segment], subject: Subject, style: Style, right: list[_Fact], width: int, ground: Style
) -> Line:
    """`head` and `subject`, cut as needed, and `right` flush right, two cells apart."""
    room = width - width_of(head)
    wanted = min(cells(subject.text), 24)
    while (
        room - _size(right) < wanted and (rank := max(fact.rank for fact in right)) > _KEPT and len(right) > 1
    ):
        right = [fact for fact in right if fact.rank != rank]
    room = max(0, room - _size(right))
    text = fit_path(subject.text, room) if subject.is_path else fit(subject.text, room)
    segments = [*head, Segment(text + " " * (room - cells(text)), style)]
    for fact in right:
        segments += [Segment("  ", ground), fact.segment]
    return Line(segments)


def _size(right: list[_Fact]) -> int:
    return sum(cells(fact.segment.text) + 2 for fact in right)
