"""Tool calls as lines: the rows of the tool calls pane, and the cards of the conversation.

The right-hand columns stand still while numbers in them change: the time, and before it a word for the state
of a call that is not simply done. Where space is short, facts and then the word give way to the subject.

A path is shortened for the width of the list alone, never for the columns of its row: one file has one form
in a list. The name of a file is cut only where it has no room by itself, without any columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style

from cogency_tui.agent.user_command import NAME
from cogency_tui.protocol.events import (
    DECLINED,
    Author,
    ChangedBy,
    Diagnostic,
    DiagnosticsChange,
    HookRun,
    summarize_diagnostics,
)
from cogency_tui.protocol.transcript import NO_OUTPUT
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path, fit_words
from cogency_tui.tui.kit.lines import Line, width_of, wrap
from cogency_tui.tui.kit.number_format import duration, plural, when, whole_seconds
from cogency_tui.tui.paste_chips import image_chips
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import (
    GLYPHS,
    IN_RERUN,
    OPEN,
    ROLES,
    CallStep,
    CallUnit,
    FileChange,
    State,
    Subject,
    is_refusal,
)
from cogency_tui.tui.transcript.messages_and_notices import chip_style, count_lines, review_link
from cogency_tui.tui.transcript.pen import SPINNER, TAIL, Pen

NAME_COLUMN = 8
TIME_COLUMN = 6
_GAP = 2
"""Cells before a column at the right."""

_WORDY = 44
"""Cells of a row from which a path leaves room for a word and a time, not just for one of them."""

_COLUMNS, _BOTH_COLUMNS = 10, 16
"""Cells of the columns beside a path."""

_LEAST_SUBJECT = 12
"""Cells of a subject for which the word beside it gives way."""

_LEAST_FACT = 10
"""Cells of a fact below which it is not cut, but left out."""

_NOT_HERE = ("reverted", "gone", IN_RERUN)
"""The decisions about changes that are not in the files."""

_MOST_RENAMED = 4
"""Files that the card of a renaming names."""

_LONGEST_TITLE = 32
"""Cells of the title of another conversation."""

_AUTHORS: Mapping[Author, str] = {
    "conversation": "in {}",
    "subagent": "by the sub-agent {}",
    "user": "by you",
    "command": "possibly by a command in {}",
    "background": "by you or a background command",
    "program": "outside this program",
}

_TIMED: frozenset[State] = frozenset({"running", "done", "failed", "interrupted"})
_QUIET: frozenset[State] = frozenset({"queued", "declined", "skipped", "not run"})
_OBVIOUS = OPEN | frozenset[State](("done", "interrupted", "not run"))
"""States that need no reason."""


def draw_call(call: CallUnit, pen: Pen, *, expanded: bool = False) -> list[Line]:
    """Draw the card of a call: one line, or one for each changed file. Unless it is `expanded`, the reason
    of a failure, that of a refusal for which the line has no room, the end of running output, the hooks that
    did something and the problems that language servers report follow."""
    below = (
        []
        if expanded
        else [*(_hook_row(run, call, pen) for run in call.notable_hooks), *_problem_lines(call, pen)]
    )
    return [*_card(call, pen, expanded=expanded), *below]


def _card(call: CallUnit, pen: Pen, *, expanded: bool) -> list[Line]:
    changes = call.changes()
    if changes and call.is_rename:
        return [_rename_row(call, changes, pen), *_changes_by_others(call, pen)]
    if changes:
        return [*(_change_row(call, change, pen) for change in changes), *_changes_by_others(call, pen)]
    row, images = _card_row(call, pen), [] if expanded else _image_lines(call, pen)
    if call.answers and not expanded:
        return [row, *_answer_lines(call, row, pen)]
    if call.mode and call.word not in row.text and not expanded:
        return [row, _below(Segment(call.word, pen.styles("dim")), pen)]
    return [row, *([] if expanded else _excerpt(call, pen)), *images, *_changes_by_others(call, pen)]


def _changes_by_others(call: CallUnit, pen: Pen) -> list[Line]:
    """Draw who else has changed the files of a call: `also changed in “fix parser” 14:05`."""
    files: dict[str, list[str]] = {}
    for change in call.changed_by:
        author = f"{_AUTHORS[change['by']].format(_named(change))} {when(change['at'], pen.now)}"
        files.setdefault(change["path"], []).append(author)
    is_one = len(files) == 1
    return [
        _below(
            Segment(
                f"{'' if is_one else f'{one_line(path)} '}also changed {', '.join(by)}", pen.styles("edit")
            ),
            pen,
        )
        for path, by in files.items()
    ]


def _named(change: ChangedBy) -> str:
    title = one_line(change["title"])
    return f"“{fit(title, _LONGEST_TITLE)}”" if title else ""


def run_row(calls: Sequence[CallUnit], pen: Pen, *, opened: bool) -> Line:
    """Draw the line of a run of calls: their numbers by kind, and the current one."""
    styles = pen.styles
    current = next((call for call in calls if not call.settled), None)
    state = "done" if current is None else current.state
    glyph = Segment(f"{_glyph(state, pen.frame)} ", styles(ROLES[state]))
    fold = Segment(" ▾" if opened else " ▸", styles("dim"))
    elapsed = sum(call.elapsed(pen.now) for call in calls)
    time = duration(elapsed) if state != "running" else whole_seconds(elapsed) if elapsed >= 1 else ""
    right = [Segment(time.rjust(TIME_COLUMN), styles("dim"))]
    room = pen.width - width_of([glyph, fold, *right]) - _GAP
    return pen.apart([glyph, *_run_text(calls, current, room, styles), fold], right)


def _run_text(
    calls: Sequence[CallUnit], current: CallUnit | None, room: int, styles: ThemeStyles
) -> list[Segment]:
    """The numbers of a run, and where there is room beside them, its current call."""
    tally = fit_words(_tally(calls), room)
    if current is None:
        return [Segment(tally, styles())]
    name = f" · {current.name} "
    room -= cells(tally + name)
    subject = current.subject.fit(max(0, room))
    beside = name + subject if room >= min(cells(current.subject.text), _LEAST_FACT) else ""
    return [Segment(tally, styles()), Segment(beside, styles("dim"))]


def _tally(calls: Sequence[CallUnit]) -> str:
    """`Read 6 files, searched 4 times`; the same file counts once."""
    subjects: dict[Any, set[str]] = {}
    for call in calls:
        subjects.setdefault(call.tally, set()).add(call.subject.text)
    text = ", ".join(tally.of(len(found)) for tally, found in subjects.items() if tally)
    return text[:1].upper() + text[1:]


def _link(call: CallUnit, pen: Pen) -> list[Segment]:
    """The link to the review of a call's changes; where none of them is in it, where they are."""
    if call.is_reviewable:
        return review_link(call.id, pen, word=call.decision)
    return [Segment(call.decision, pen.styles("dim"))]


def _change_row(call: CallUnit, change: FileChange, pen: Pen) -> Line:
    styles = pen.styles
    link = _link(call, pen)
    path = fit_path(reveal(change.path), _path_room(change.path, pen.width))
    name = styles("dim") if call.decision in _NOT_HERE else styles("text", attributes="bold")
    head = [Segment("✎ ", styles("dim" if call.decision else "edit")), Segment(path, name)]
    counts = fit(f"  {_counts(call, change)}".rstrip(), pen.width - width_of(head))
    left = [*head, Segment(counts, styles("dim"))]
    return pen.apart(left, link if width_of([*left, *link]) + _GAP <= pen.width else [])


def _rename_row(call: CallUnit, changes: Sequence[FileChange], pen: Pen) -> Line:
    """Draw a renaming: `total → subtotal  cart.py, use.py  +4 −4`. Where there is no room for all of it, the
    files give way."""
    styles = pen.styles
    link = _link(call, pen)
    counts = count_lines(sum(each.added for each in changes), sum(each.removed for each in changes))
    args = call.args
    renaming = one_line(f"{args.get('name', '')} → {args.get('new_name', '')}")
    paths = [reveal(each.path) for each in changes]
    if len(paths) > _MOST_RENAMED:
        paths[_MOST_RENAMED - 1 :] = [f"{len(paths) - _MOST_RENAMED + 1} more files"]
    room = pen.width - 2 - cells(counts) - 2
    room = room - width_of(link) - _GAP if room - width_of(link) - _GAP >= cells(renaming) else room
    renaming = fit(renaming, max(1, room))
    files = fit(", ".join(paths), max(0, room - cells(renaming) - 2))
    ink = styles("dim") if call.decision in _NOT_HERE else styles("text", attributes="bold")
    left = [
        Segment("✎ ", styles("dim" if call.decision else "edit")),
        Segment(renaming, ink),
        Segment(f"  {files}" if files else "", styles("text")),
        Segment(f"  {counts}", styles("dim")),
    ]
    return pen.apart(left, link if width_of([*left, *link]) + _GAP <= pen.width else [])


def _counts(call: CallUnit, change: FileChange) -> str:
    if not call.has_counts:
        return ""
    is_empty = call.name == "write" and not (call.args.get("content") or change.removed)
    return "empty file" if is_empty else count_lines(change.added, change.removed)


def _card_row(call: CallUnit, pen: Pen) -> Line:
    styles = pen.styles
    role = "dim" if call.state in _QUIET else "text"
    head = [
        Segment(f"{_glyph(call.state, pen.frame)} ", styles(ROLES[call.state])),
        Segment(f"{_verb(call)} ", styles("dim")),
    ]
    fact = Segment(_fact(call), styles("dim"))
    right = _state_columns(call, pen.now, styles, "surface")
    return _row(head, call.subject, styles(role), right, pen.width, styles(), fact)


def _verb(call: CallUnit) -> str:
    """The tool of a call, or `$` before a command of the agent."""
    if _is_command(call) and call.name != NAME:
        return "$"
    return fit(one_line(call.name) or "…", 2 * NAME_COLUMN)


def _fact(call: CallUnit) -> str:
    """What a call came to: its outcome, or how its command ended; its time is in a column."""
    if _is_failed_command(call):
        return one_line(call.outcome.partition(" after ")[0])
    if len(call.answers) > 1:
        return ""
    return one_line(call.outcome) if call.state == "done" else ""


def _is_command(call: CallUnit) -> bool:
    return bool(call.args.get("command"))


def _is_failed_command(call: CallUnit) -> bool:
    """True for a command that ran and failed; one that could not run has no output."""
    return call.state == "failed" and _is_command(call) and call.content is not None


def _excerpt(call: CallUnit, pen: Pen) -> list[Line]:
    """Draw the reason of a failure, or the end of the output of a command that runs or was interrupted."""
    if call.state in ("running", "interrupted") and call.output is not None:
        written = [line.text for line in call.output.lines[-2 * pen.tail :] if line.text.strip()]
        return [_below(Segment(text, pen.styles("dim")), pen) for text in written[-pen.tail :]]
    if _is_failed_command(call):
        return _error_output(call, pen)
    if call.state in _OBVIOUS or call.mode or call.outcome in ("", DECLINED, call.word):
        return []
    return _reason(call, pen)


def _error_output(call: CallUnit, pen: Pen) -> list[Line]:
    """Draw the last lines of a failed command's output, which have the reason, and the number above."""
    lines, styles = _error_lines(call), pen.styles
    *before, reason = [line.expandtabs(4) for line in lines[-TAIL:]] or [""]
    if _is_binary(lines[-TAIL:]):
        return [_below(Segment(_BINARY, styles("dim")), pen)]
    more = len(lines) - TAIL
    above = [f"… {plural(more, 'more line')}"] if more > 0 else []
    drawn = [_below(Segment(line, styles("dim")), pen) for line in (*above, *before)]
    # A command that was stopped did not write the reason.
    ink = "bad" if call.outcome.startswith("exit ") else "dim"
    return [*drawn, *([_below(Segment(reason, styles(ink)), pen)] if reason else [])]


def _is_binary(lines: Sequence[str]) -> bool:
    text = "".join(lines)
    return text.count(_NO_CHARACTER) * _BINARY_SHARE > len(text)


def _error_lines(call: CallUnit) -> list[str]:
    """The output of a command that has failed, without its status and our notes below it."""
    lines = call.body().split("\n")
    if call.outcome.startswith(lines[0]):
        del lines[0]
    while lines and (not lines[-1].strip() or (lines[-1].startswith("[") and lines[-1].endswith("]"))):
        lines.pop()
    return [] if lines == [NO_OUTPUT] else lines


def _reason(call: CallUnit, pen: Pen) -> list[Line]:
    text = Segment(one_line(call.outcome), pen.styles("dim"))
    lines = wrap([text], max(8, pen.width - 2))
    if len(lines) > TAIL:
        last = fit(f"{lines[TAIL - 1].text} {lines[TAIL].text}", pen.width - 2)
        lines = [*lines[: TAIL - 1], Line([Segment(last, text.style)], lines[TAIL - 1].joint)]
    return [line.indented(Segment("  ", pen.styles())) for line in lines]


def _answer_lines(call: CallUnit, row: Line, pen: Pen) -> list[Line]:
    """Draw the user's answers, unless the row of the call says all."""
    if len(call.answers) == 1 and one_line(call.outcome) in row.text and call.subject.text in row.text:
        return []
    from cogency_tui.tui.transcript.answer_lines import draw_answered

    lines = draw_answered(call.answers, max(8, pen.width - 2), pen.styles)
    return [line.indented(Segment("  ", pen.styles())) for line in lines]


def draw_problems(change: DiagnosticsChange, width: int, styles: ThemeStyles, most: int) -> list[Line]:
    """Draw what language servers report with a result: the counts, then at most so many problems."""
    severities = {one["severity"] for one in change["added"]}
    role = "bad" if "error" in severities else "edit" if severities else "good"
    lines = [Line([Segment(fit(summarize_diagnostics(change), width), styles(role))])]
    for one in change["added"][:most]:
        text = one_line(f"{_problem_place(one)}  {one['message']}")
        lines.append(Line([Segment(fit(text, width), styles("dim"))]))
    if (more := len(change["added"]) - most + change.get("more", 0)) > 0:
        lines.append(Line([Segment(fit(f"… {plural(more, 'more problem')}", width), styles("dim"))]))
    return lines


def _problem_place(one: Diagnostic) -> str:
    return f"{reveal(one['path'])}:{one['line']}"


def _problem_lines(call: CallUnit, pen: Pen) -> list[Line]:
    """Draw the problems that an edit added and fixed, below its card."""
    if call.diagnostics is None:
        return []
    indent = Segment("  ", pen.styles())
    drawn = draw_problems(call.diagnostics, pen.width - 2, pen.styles, TAIL)
    return [line.indented(indent) for line in drawn]


def _hook_row(run: HookRun, call: CallUnit, pen: Pen) -> Line:
    """Draw a run of a hook: what it changed, or why it blocked or failed, and its time."""
    styles = pen.styles
    time = [Segment(duration(run["duration"]).rjust(TIME_COLUMN), styles("dim"))]
    left = [Segment(f"  hook {one_line(run['name'])}", styles("dim"))]
    text = describe_hook(run, own_file(call))
    left.append(Segment(f"  {text}", styles("dim" if run["state"] == "done" else "edit")))
    room = pen.width - width_of(time) - _GAP
    if width_of(left) > room:
        left[-1] = Segment(fit(left[-1].text, max(1, room - width_of(left[:1]))), left[-1].style)
    return pen.apart(left, time if width_of([*left, *time]) + _GAP <= pen.width else [])


def own_file(call: CallUnit) -> str:
    """The file that a call names; empty if it names none."""
    file = call.args.get("file", "")
    return file if isinstance(file, str) else ""


def describe_hook(run: HookRun, file: str | None = None) -> str:
    """What a hook did, in a line: the lines that it changed, with the path of another file than `file`, the
    one of its call; and how it ended if it was not done."""
    changes = run["changes"]
    plus, minus = (sum(change[side] for change in changes) for side in ("added", "removed"))
    counts = count_lines(plus, minus) if changes else ""
    files = f" in {plural(len(changes), 'file')}" if len(changes) > 1 else ""
    if len(changes) == 1 and file is not None and not f"/{file}".endswith(f"/{changes[0]['path']}"):
        files = f" in {one_line(changes[0]['path'])}"
    outcome = one_line(run["outcome"])
    if run["state"] == "blocked":
        outcome = f"{'refused' if is_refusal(run) else 'reports'}: {outcome}"
    added = run.get("added", "")
    context = f"added {plural(added.count(chr(10)) + 1, 'line')} for the model" if added else ""
    return " · ".join(part for part in (f"{counts}{files}", outcome, context) if part)


def _image_lines(call: CallUnit, pen: Pen) -> list[Line]:
    """Draw the chips of the images in the result of a call."""
    dim = pen.styles("dim")
    return [_below(Segment(chip, chip_style(chip, dim)), pen) for chip in image_chips(call.images)]


def _below(segment: Segment, pen: Pen) -> Line:
    """A line below the row of a call, cut at the right."""
    text = Segment(fit(segment.text, pen.width - 2), segment.style)
    return Line([Segment("  ", pen.styles()), text], lead=2)


def call_row(
    call: CallUnit,
    width: int,
    styles: ThemeStyles,
    *,
    now: float,
    frame: int,
    on: str = "surface",
    fold: str = "",
    remark: str = "",
) -> Line:
    """Draw a call as a row of the tool calls pane.

    `fold` is the mark of one that has calls below it, `remark` a remark on its state.
    """
    role = "dim" if call.state in _QUIET else "text"
    head = [
        Segment(f"{_glyph(call.state, frame)} ", styles(ROLES[call.state], on)),
        Segment(f"{_name(call)} ", styles("dim", on)),
    ]
    if fold:
        head.append(Segment(f"{fold} ", styles("dim", on)))
    right, fact = _state_columns(call, now, styles, on), Segment(one_line(remark), styles("dim", on))
    return _row(head, call.subject, styles(role, on), right, width, styles("text", on), fact)


def waiting_row(
    call: CallUnit, waits: Sequence[str], width: int, styles: ThemeStyles, *, on: str = "surface"
) -> Line:
    """Draw a queued call that waits for others, with their ids as its state."""
    head = [
        Segment(f"{GLYPHS['queued']} ", styles("dim", on)),
        Segment(fit(one_line(call.name), NAME_COLUMN * 2).ljust(NAME_COLUMN - 1) + " ", styles("dim", on)),
    ]
    remark = fit(f"waiting for {', '.join(map(one_line, waits))}", max(12, width - 16))
    right = _Columns(Segment(remark, styles("dim", on)))
    return _row(head, call.subject, styles("dim", on), right, width, styles("text", on))


def step_row(
    call: CallUnit, step: CallStep, width: int, styles: ThemeStyles, *, frame: int, on: str = "surface"
) -> Line:
    """Draw a `step` of a call, on a line below it."""
    state, (tool, subject) = call.state_of(step), step.parts(call.root)
    head = [
        Segment(f"  {_glyph(state, frame)} ", styles(ROLES[state], on)),
        Segment(tool, styles("dim", on)),
    ]
    word = "" if state == "done" else state
    right = _Columns(Segment(word, styles(ROLES[state], on)))
    return _row(head, subject, styles("dim", on), right, width, styles("text", on))


def hidden_row(count: int, width: int, styles: ThemeStyles, *, on: str = "surface") -> Line:
    """Draw a line for `count` hidden calls within a call."""
    head = [Segment("  ", styles("text", on))]
    subject = Subject(f"… {plural(count, 'earlier call')}", is_path=False)
    return _row(head, subject, styles("dim", on, "italic"), _Columns(), width, styles("text", on))


def command_row(
    command: str,
    seconds: float,
    state: State,
    width: int,
    styles: ThemeStyles,
    *,
    frame: int,
    on: str = "surface",
    word: str = "",
    name: str = "",
) -> Line:
    """Draw a background command after its `name`, with its running time in `seconds`, and a `word` in place
    of its state."""
    head = [
        Segment(f"{_glyph(state, frame)} ", styles(ROLES[state], on)),
        *([Segment(f"{name} ", styles("dim", on))] if name else []),
        Segment("$ ", styles("edit", on)),
    ]
    style = styles(ROLES[state] if state == "running" else "dim", on)
    time = whole_seconds(seconds) if state == "running" else duration(seconds)
    word = word or ("" if state == "done" else state)
    right = _Columns(Segment(word, style), Segment(time.rjust(TIME_COLUMN), style))
    subject = Subject(one_line(command), is_path=False)
    return _row(head, subject, styles("text", on), right, width, styles("text", on))


def heading_row(text: str, width: int, styles: ThemeStyles) -> Line:
    """Draw a dim line above rows of another kind."""
    return Line([Segment(fit(text, width), styles("dim", attributes="bold"))])


def _name(call: CallUnit) -> str:
    return fit(one_line(call.name) or "…", NAME_COLUMN * 2).ljust(NAME_COLUMN - 1)


def _glyph(state: State, frame: int) -> str:
    return SPINNER[frame % len(SPINNER)] if state == "running" else GLYPHS[state]


_NOTHING = Segment("")

_NO_CHARACTER, _BINARY_SHARE = "\ufffd", 10
"""What stands for bytes that are no text; where more than a tenth are, nothing can be read."""

_BINARY = "(binary output)"


class _Columns(NamedTuple):
    """The columns at the right of a row, each with a gap before it; an empty one is left out."""

    word: Segment = _NOTHING
    time: Segment = _NOTHING

    def segments(self, ground: Style) -> Iterator[Segment]:
        for column in self:
            if column.text:
                yield Segment(" " * _GAP, ground)
                yield column

    @property
    def size(self) -> int:
        return sum(cells(column.text) + _GAP for column in self if column.text)

    def fitting(self, room: int) -> "_Columns":
        """As many columns as fit into `room` cells: the word is dropped first."""
        time = _Columns(time=Segment(self.time.text.lstrip(), self.time.style))
        return self if self.size <= room else time if time.size <= room else _Columns()


def _state_columns(call: CallUnit, now: float, styles: ThemeStyles, on: str) -> _Columns:
    """The state of a call, where it needs a word, and its time, once it has one."""
    style = styles(ROLES[call.state], on)
    word = Segment("" if _is_wordless(call) else call.word, style)
    if call.state not in _TIMED or not call.elapsed(now):
        return _Columns(word)
    ink = style if call.state == "running" else styles("dim", on)
    return _Columns(word, Segment(call.time(now).rjust(TIME_COLUMN), ink))


def _is_wordless(call: CallUnit) -> bool:
    """True if a call is done, or was interrupted with its turn, whose end says so."""
    is_with_turn = call.state == "interrupted" and call.duration > 0 and call.name != NAME
    return call.state == "done" or is_with_turn


def _path_room(path: str, width: int) -> int:
    """The cells of a path in any row of `width` cells: those beside all columns, or more for a long name."""
    room = width - 2 - NAME_COLUMN
    name = cells(path.rstrip("/").rpartition("/")[2])
    return max(room - (_BOTH_COLUMNS if width >= _WORDY else _COLUMNS), min(name, room), 1)


def _row(
    head: list[Segment],
    subject: Subject,
    style: Style,
    right: _Columns,
    width: int,
    ground: Style,
    fact: Segment = _NOTHING,
) -> Line:
    """Join `head`, `subject` and `fact`, cut as needed, and `right` flush right."""
    room = max(0, width - width_of(head))
    if subject.is_path:
        text = subject.fit(min(room, _path_room(subject.text, width)))
        right = right.fitting(room - cells(text))
    else:
        right = right.fitting(room - min(cells(subject.text), _LEAST_SUBJECT))
        text = subject.fit(room - right.size)
    left = room - right.size - cells(text)
    beside = _beside(fact.text, left, separated=bool(text))
    space = Segment(" " * (left - cells(beside)), ground)
    return Line([*head, Segment(text, style), Segment(beside, fact.style), space, *right.segments(ground)])


def _beside(fact: str, room: int, *, separated: bool) -> str:
    """`fact` after a subject, or nothing where there is no room for it."""
    joint = " · " if separated else ""
    if not fact or room < min(cells(fact), _LEAST_FACT) + cells(joint):
        return ""
    return joint + fit(fact, room - cells(joint))
