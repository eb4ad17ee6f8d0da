"""The detail of a tool call: its head, arguments, then the diff or the output; of any length.

A `CallLayout` is made for one state of a call, one width and one theme; while the call progresses it only
adds new text. Its head is drawn apart from its lines, so that it can stay in view.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from rich.segment import Segment

from cogency_tui.protocol.events import HookRun, PlannedStep
from cogency_tui.protocol.transcript import NO_OUTPUT
from cogency_tui.safe_text import clean, one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.command_output import Output, OutputLines
from cogency_tui.tui.kit.lazy_text_layout import Fixed, GrowingText, LayoutBlock, LazyLayout, Stack
from cogency_tui.tui.kit.lines import BLANK, CONTINUATION, Line, fold, width_of, wrap
from cogency_tui.tui.kit.number_format import duration, plural, size
from cogency_tui.tui.paste_chips import image_chips
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_lines import describe_hook, own_file
from cogency_tui.tui.transcript.call_unit import GLYPHS, ROLES, CallUnit
from cogency_tui.tui.transcript.pen import Pen

_LONGEST_VALUE = 2_000
"""Characters of an argument on one line up to which it is shown beside its key."""

_WIDEST_KEY = 12
_NARROWEST_VALUE = 16
"""Cells below which a long value is shown below its key."""

_PIECE = 1 << 14
"""Characters of a result that are processed at once."""

_COMMANDS = frozenset({"shell"})
"""Tools whose result begins with a line that the outcome repeats, with the time."""

_NUMBERED = re.compile(r" *(\d{1,9})\t")
"""What the tool that reads files puts before each line."""


class CallLayout:
    """The lines of `call`; `waits` are the ids of the actions that it waits for, `cause` the reason why it
    was skipped.

    A long result is loaded at once; if `gradual`, only its beginning: `load` adds the rest. What `row` says,
    the line above, is not repeated; if `headed`, nor is a command that the line below the head has whole.
    """

    def __init__(
        self,
        call: CallUnit,
        width: int,
        styles: ThemeStyles,
        now: float,
        *,
        waits: Sequence[str] = (),
        cause: str = "",
        gradual: bool = False,
        row: str = "",
        headed: bool = False,
    ) -> None:
        self.call = call
        self._row = row
        self._headed = headed
        self.width = width
        self.theme_styles = styles
        self.is_live = not call.settled
        self.head: Sequence[Segment] = ()
        """The title, with the facts at its end where they have room."""
        self.subhead: Sequence[Segment] = ()
        """The command, as far as it has room in a line."""
        self._growing: GrowingText | None = None
        self._layout: LazyLayout | None = None
        self._status, self._text = _result_of(call)
        self._result, self._rest = call.output, ""
        self._diff = call.diff()
        if self._written and call.state == "done":
            # The outcome is its result.
            self._text = ""
        self._source = _numbered(self._text) if call.name == "read" and self._text else None
        if self._text is not None and self._source is None:
            self._result, self._rest = Output(), self._text
            self.load()
            while self._rest and not gradual:
                self.load()
        self._of = _stage(call)
        self._stack = Stack([Fixed([]), *self._body()])
        self.refresh(now, waits=waits, cause=cause)

    def __len__(self) -> int:
        return len(self._stack)

    def line(self, y: int) -> Line:
        return self._stack.line(y)

    @property
    def stale(self) -> bool:
        """True if the call has progressed to a state that needs another sheet."""
        return self._of != _stage(self.call)

    @property
    def is_command(self) -> bool:
        """True for a command, whose last lines matter most."""
        return self.call.name in _COMMANDS

    @property
    def failed_command(self) -> bool:
        """True for a command that failed, probably for a reason in its last lines."""
        return self.is_command and self.call.state == "failed"

    @property
    def blocks(self) -> Sequence[LayoutBlock]:
        """The blocks below the head."""
        return self._stack.blocks[1:]

    @property
    def loading(self) -> bool:
        """True if part of a long result is not loaded yet."""
        return bool(self._rest)

    def load(self) -> None:
        """Load a piece of the result: processing a megabyte at once would cause a noticeable delay."""
        assert self._result is not None
        piece, self._rest = self._rest[:_PIECE], self._rest[_PIECE:]
        self._result.feed(piece)
        if not self._rest:
            self._result.close()
        if self._layout is not None:
            self._layout.grow()

    def refresh(self, now: float, *, waits: Sequence[str] = (), cause: str = "") -> None:
        """Add new text; `now` is in Unix seconds."""
        if self._growing:
            self._growing.take(str(self.call.args.get(self.call.growing, "")))
        if self._layout is not None:
            self._layout.grow()
        facts, sizes = self._facts(waits, cause), self._size_of_result()
        self.head, below = draw_head(self._title(now), facts, sizes, self.width, self.theme_styles)
        self._stack.blocks[0] = Fixed(below)
        if command := self._command:
            self.subhead = draw_command(command, self.width, self.theme_styles).segments

    def _title(self, now: float) -> list[Segment]:
        call, styles = self.call, self.theme_styles
        timed = call.state != "declined" and (call.elapsed(now) or call.state in ("done", "failed"))
        time = f" {call.time(now)}" if timed else ""
        # A spinner is beside the call in the list; here it would stand still.
        glyph = "" if call.state == "running" else f"{GLYPHS[call.state]} "
        return [
            Segment(f"{one_line(call.name) or '…'}  ", styles("text", attributes="bold")),
            Segment(f"{glyph}{_word(call)}{time}".rstrip(), styles(ROLES[call.state])),
        ]

    def _facts(self, waits: Sequence[str], cause: str) -> list[str]:
        """The figures of a call, and its place among the others; the most important ones first."""
        call = self.call
        facts = [f"waiting for {', '.join(map(one_line, waits))}"] if waits else []
        facts += [one_line(cause)] if cause else []
        facts += [one_line(self._status)] if self._status else []
        if self._written and call.state != "done":
            facts.append(f"{_bytes(self._written)} to write")
        action = call.action
        facts += [f"id {one_line(action.id)}"] if action.id else []
        facts += [f"result ${one_line(action.output_key)}"] if action.output_key else []
        facts += [f"timeout {duration(action.timeout)}"] if action.timeout else []
        return facts

    def _size_of_result(self) -> list[str]:
        text, output = self._text, self.call.output
        if self._source is not None:
            return [plural(sum(number > 0 for number in self._source[1]), "line")]
        if text and not self._diff:
            return [plural(text.count("\n") + 1, "line"), _bytes(text)]
        if text is None and output and output.size:
            return [plural(output.total, "line"), size(output.size)]
        return ["no output"] if self._status and not text else []

    def _body(self) -> list[LayoutBlock]:
        below = self._outcome()
        groups = (
            *(self._reason(shown=any(map(len, below))), self._arguments(), below, self._sent()),
            self._hooks(),
        )
        blocks: list[LayoutBlock] = []
        for group in groups:
            # The output of a call that has not ended may still come.
            if any(map(len, group)) or (group and not self.call.settled):
                blocks += [*([Fixed([BLANK])] if blocks else []), *group]
        return [Fixed([BLANK]), *blocks] if self._headed and self._command else blocks

    def _reason(self, *, shown: bool) -> list[LayoutBlock]:
        """Why a call did not do what it was to do; or what it did, if nothing else is `shown`."""
        call = self.call
        if not call.settled or not call.outcome or self._status or (call.state == "done" and shown):
            return []
        if (
            call.mode
            or call.outcome in (call.state, call.word)
            or f" · {one_line(call.outcome)}" in self._row
        ):
            # The head, or the line above, says it.
            return []
        style = self.theme_styles("dim" if call.state == "done" else ROLES[call.state])
        return [Fixed(wrap([Segment(call.outcome, style)], self.width))]

    def _arguments(self) -> list[LayoutBlock]:
        args, blocks = self.call.args, list[LayoutBlock]()
        if self.call.name == "ask" and (asked := self._asked()) is not None:
            return asked
        if call_plan := self._planned():
            return [self._plan_block(call_plan)]
        if (command := self._command) and not self._is_shown(command):
            blocks.append(self._draw_command(command))
        replaced = self._replacement()
        hidden = {"command", "cmd", *(("old", "new") if self._diff or replaced else ())}
        hidden |= {"content"} if self._diff else set()
        hidden |= {"steps"} if self.call.plan is not None else set()
        shown = [key for key in args if key not in hidden]
        column = min(_WIDEST_KEY, max((cells(one_line(key)) for key in shown), default=0)) + 2
        for key in shown:
            blocks += self._argument(key, self.call.argument(key), column)
        return [*blocks, *([Fixed([BLANK]), replaced] if replaced else [])]

    def _asked(self) -> list[LayoutBlock] | None:
        """The questions to the user, until the answers are shown with them; None if they are wrong."""
        call = self.call
        if call.answers or call.state == "writing":
            return []
        from cogency_tui.tui.transcript.answer_lines import draw_questions, questions_of

        questions = questions_of(call.args)
        return [Fixed(draw_questions(questions, self.width, self.theme_styles))] if questions else None

    def _planned(self) -> Sequence[PlannedStep]:
        """The steps of a plan that is not shown yet; none of another call, or if they are wrong."""
        call = self.call
        if not call.is_plan or call.plan is not None or call.state == "writing":
            return ()
        from cogency_tui.tools.plan import planned_steps

        return planned_steps(call.args)

    @property
    def _written(self) -> str:
        """The text that a call writes, unless a diff shows it."""
        written = self.call.args.get("content")
        return written if isinstance(written, str) and self.call.name == "write" and not self._diff else ""

    @property
    def _command(self) -> str:
        args = self.call.args
        command = args.get("command") or args.get("cmd")
        return command if isinstance(command, str) else ""

    def _is_shown(self, command: str) -> bool:
        """Return whether a line above says all of a command."""
        if self._headed:
            return draw_command(command, self.width, self.theme_styles).text == f"$ {command}"
        return bool(self._row) and "\n" not in command and one_line(command) in self._row

    def _replacement(self) -> LayoutBlock | None:
        """The text that an edit replaces, and the one in its place, before there is a diff of the file."""
        args = self.call.args
        old, new = args.get("old"), args.get("new")
        if self._diff or self.call.growing or not isinstance(old, str) or not isinstance(new, str):
            return None
        signed = [f"{sign}{line}" for sign, text in (("-", old), ("+", new)) for line in _lines(text)]
        return self._diff_block("\n".join(signed), bare=True)

    def _argument(self, key: str, value: Any, column: int) -> list[LayoutBlock]:
        width, styles = self.width, self.theme_styles
        label = Segment(f"{fit(one_line(key), column - 2).ljust(column - 2)}  ", styles("dim"))
        growing = key == self.call.growing
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if not growing and "\n" not in text and len(text) <= _LONGEST_VALUE:
            shown = reveal(text.expandtabs(4))
            if cells(shown) + column <= width or width - column >= _NARROWEST_VALUE:
                return [Fixed(_hanging(label, Segment(shown, styles("text")), width, styles))]
        grown = GrowingText(reveal)
        grown.take(text)
        count = "" if growing or grown.lines.total < 2 else plural(grown.lines.total, "line")
        head = Fixed([Line([label, Segment(count, styles("dim"))])])
        if key == "content" and not growing:
            return [head, self._source_block(grown.lines)]
        role, on = {"old": ("bad", "removed"), "new": ("good", "added")}.get(key, ("text", "surface"))
        layout = LazyLayout(grown.lines, width, styles, role=role, on=on, indent=2)
        if growing:
            self._growing, self._layout = grown, layout
        return [head, layout]

    def _outcome(self) -> list[LayoutBlock]:
        call, width, styles = self.call, self.width, self.theme_styles
        blocks: list[LayoutBlock] = [self._plan_block(call.plan)] if call.plan else []
        if call.answers:
            from cogency_tui.tui.transcript.answer_lines import draw_answered

            return [Fixed(draw_answered(call.answers, width, styles))]
        if call.steps():
            blocks += [_StepLines(call, width, styles), Fixed([BLANK] if call.settled else [])]
        if self._diff:
            blocks.append(self._diff_block(self._diff))
        elif self._source is not None:
            blocks.append(self._source_block(*self._source))
        elif self._result is not None and (call.settled or not call.steps()):
            blocks += self._output(self._result)
        chips = [Line([Segment(fit(chip, width), styles("accent"))]) for chip in image_chips(call.images)]
        if call.diagnostics is not None:
            # The module of the cards is loaded before.
            from cogency_tui.tui.transcript.call_lines import draw_problems

            problems = draw_problems(call.diagnostics, width, styles, len(call.diagnostics["added"]))
            blocks += [*([Fixed([BLANK])] if blocks else []), Fixed(problems)]
        return [*blocks, Fixed(chips)] if chips else blocks

    def _plan_block(self, plan: Sequence[PlannedStep]) -> LayoutBlock:
        from cogency_tui.tui.transcript.plan_lines import draw_steps

        return Fixed(draw_steps(plan, Pen(self.width + 2, self.theme_styles), expanded=True))

    def _sent(self) -> list[LayoutBlock]:
        """The text that the model was sent, where the user is shown a shorter one."""
        if not self.call.sent:
            return []
        lines, styles = OutputLines(), self.theme_styles
        lines.write(reveal(self.call.sent))
        label = Fixed([Line([Segment("Sent to the model", styles("dim"))])])
        return [label, LazyLayout(lines, self.width, styles, indent=2)]

    def _hooks(self) -> list[LayoutBlock]:
        """The hooks that ran for the call, each with what it wrote."""
        blocks: list[LayoutBlock] = []
        for run in self.call.hooks:
            line = draw_hook(run, own_file(self.call), self.width, self.theme_styles)
            blocks.append(Fixed([line]))
            # What a hook adds is a part of what it wrote, or that is JSON for the program.
            if text := run.get("added") or run["output"]:
                lines = OutputLines()
                lines.write(reveal(clean(text)))
                blocks.append(LazyLayout(lines, self.width, self.theme_styles, role="dim", indent=2))
        return blocks

    def _output(self, result: Output) -> list[LayoutBlock]:
        if (self._status and not self._text) or (self._row and self._text == NO_OUTPUT):
            return []
        layout = self._layout = LazyLayout(result, self.width, self.theme_styles)
        above = [_above(result.dropped, self.theme_styles)] if result.dropped else []
        return [Fixed(above), layout]

    def _diff_block(self, diff: str, *, bare: bool = False) -> LayoutBlock:
        # Many conversations show no diff, and its modules take memory.
        from cogency_tui.tui.kit.diff import DiffLayout

        return DiffLayout(diff, self.width, self.theme_styles, path=self._path, bare=bare)

    def _source_block(self, lines: OutputLines, numbers: Sequence[int] = ()) -> LayoutBlock:
        from cogency_tui.tui.kit.code import SourceLayout

        # Imports pygments.
        from cogency_tui.tui.kit.file_text import language_of

        return SourceLayout(lines, language_of(self._path), self.width, self.theme_styles, numbers=numbers)

    def _draw_command(self, command: str) -> LazyLayout:
        lines = OutputLines()
        lines.write(f"$ {reveal(command)}")
        return LazyLayout(lines, self.width, self.theme_styles, role="edit")

    @property
    def _path(self) -> str:
        return str(self.call.args.get("file", ""))


def draw_command(command: str, width: int, styles: ThemeStyles) -> Line:
    """Draw a command in a line, its end cut with `…`."""
    first, newline, _more = command.strip("\n").partition("\n")
    # A longer line has no room, and would be measured at each tick of the clock.
    shown = reveal(first[:_LONGEST_VALUE].expandtabs(4))
    return Line([Segment(fit(f"$ {shown}{' …' if newline else ''}", width), styles("edit"))])


def draw_hook(run: HookRun, file: str, width: int, styles: ThemeStyles) -> Line:
    """Draw a run of a hook in a line: its event, what it did, and its time; `file` is that of its call."""
    head = Segment(f"hook {one_line(run['name'])}", styles("text", attributes="bold"))
    did = describe_hook(run, file)
    facts = f"  {run['on']}{f' · {did}' if did else ''} · {duration(run['duration'])}"
    style = styles("dim" if run["state"] == "done" else "edit")
    return Line([head, Segment(fit(facts, max(1, width - width_of([head]))), style)])


def draw_head(
    title: Sequence[Segment], facts: Sequence[str], minor: Sequence[str], width: int, styles: ThemeStyles
) -> tuple[Sequence[Segment], list[Line]]:
    """Draw a title with facts at the end of its line; those that have no room there, as lines below it, but
    for `minor` ones."""
    room = width - width_of(title) - 2
    shown, everything = list[str](), [*facts, *minor]
    while len(shown) < len(everything) and cells(" · ".join(everything[: len(shown) + 1])) <= room:
        shown = everything[: len(shown) + 1]
    beside, below = " · ".join(shown), " · ".join(facts[len(shown) :])
    space = Segment(" " * (room + 2 - cells(beside)), styles())
    head = [*title, space, Segment(beside, styles("dim"))] if beside else title
    return head, wrap([Segment(below, styles("dim"))], width) if below else []


def _hanging(label: Segment, value: Segment, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw a value beside its label, and its continuation below it."""
    column = cells(label.text)
    first, *more = fold([value], max(1, width - column))
    mark = Segment(f"{CONTINUATION} ".rjust(column), styles("dim"))
    return [Line([label, *first.segments]), *(line.indented(mark) for line in more)]


def _above(lines: int, styles: ThemeStyles) -> Line:
    return Line([Segment(f"… {plural(lines, 'line')} above", styles("dim", attributes="italic"))])


def _word(call: CallUnit) -> str:
    waiting = "waiting for your answer" if call.name == "ask" else "waiting for approval"
    return waiting if call.state == "waiting" else call.word


def _stage(call: CallUnit) -> tuple[object, ...]:
    """The facts that a sheet is made for: while they stay the same, the sheet only adds text."""
    live = not call.settled
    return (
        live,
        call.state,
        call.outcome,
        tuple(call.args),
        call.growing,
        call.output is None,
        not call.steps(),
    )


def _result_of(call: CallUnit) -> tuple[str, str | None]:
    """The status of a command that has ended, which its outcome repeats; and the text of the result without
    it, None while there is none."""
    text = call.result_text()
    if text is None:
        return "", None
    first, _, rest = text.partition("\n")
    if call.name not in _COMMANDS or not first or not call.outcome.startswith(clean(first)):
        return "", text.rstrip("\n")
    rest = rest.rstrip("\n")
    return clean(first), "" if rest == NO_OUTPUT else rest


def _numbered(text: str) -> tuple[OutputLines, list[int]] | None:
    """Separate the lines of a file from the numbers before them, 0 for a remark without; None if the text
    does not begin with one."""
    rows = text.split("\n")
    if not _NUMBERED.match(rows[0]):
        return None
    numbers: list[int] = []
    lines: list[str] = []
    for row in rows:
        match = _NUMBERED.match(row)
        numbers.append(int(match[1]) if match else 0)
        lines.append(row[match.end() :] if match else row)
    shown = OutputLines()
    shown.write(reveal("\n".join(lines)))
    return shown, numbers


def _bytes(text: str) -> str:
    return size(len(text.encode("utf-8", "replace")))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


class _StepLines:
    """The calls within a call, in their present state."""

    def __init__(self, call: CallUnit, width: int, styles: ThemeStyles) -> None:
        self._call = call
        self._width = width
        self._theme_styles = styles

    def __len__(self) -> int:
        return len(self._call.steps())

    def line(self, y: int) -> Line:
        step, styles = self._call.steps()[y], self._theme_styles
        state, outcome = self._call.state_of(step), f"  {one_line(step.outcome)}" if step.outcome else ""
        tool, subject = step.parts(self._call.root)
        text = tool + subject.fit(self._width - 2 - cells(tool))
        outcome = fit(outcome, self._width - 2 - cells(text)).rstrip(" ")
        segments = [
            Segment(f"{GLYPHS[state]} ", styles(ROLES[state])),
            Segment(text, styles("text")),
            Segment(outcome, styles("dim")),
        ]
        return Line(segments)
