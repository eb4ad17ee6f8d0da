"""The detail of a tool call: state and facts, arguments, then the diff or the output; of any length.

A `CallLayout` is made for one state of a call, one width and one theme; while the call progresses it only
adds new text.
"""

from collections.abc import Sequence
from typing import Any

from rich.segment import Segment

from cogency_tui.safe_text import clean, one_line, reveal
from cogency_tui.tui.kit.command_output import Output
from cogency_tui.tui.kit.diff import draw_diff
from cogency_tui.tui.kit.lazy_text_layout import Fixed, GrowingText, LayoutBlock, LazyLayout, Stack
from cogency_tui.tui.kit.lines import BLANK, Line, cells, chop, wrap
from cogency_tui.tui.kit.number_format import duration, plural, size
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import GLYPHS, ROLES, CallUnit

_LONGEST_DIFF = 200_000
"""Characters of a diff that is drawn with colors; a longer one is drawn as plain text."""

_LONGEST_COMMAND = 4000
_PIECE = 1 << 16
"""Characters of a result that are processed at once."""

_REPLACED_BY_DIFF = frozenset({"old", "new", "content"})
_STATUS_FIRST = frozenset({"shell"})
"""Tools whose result begins with a line that the outcome repeats."""


class CallLayout:
    """The lines of `call`; `waits` are the ids of the actions that it waits for, `cause` the reason why it
    was skipped.

    A long result is loaded at once; if `gradual`, only its beginning: `load` adds the rest.
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
    ) -> None:
        self.call = call
        self.width = width
        self.theme_styles = styles
        self._growing: GrowingText | None = None
        self._layout: LazyLayout | None = None
        self._facts_of_result, self._result, self._rest = "", call.output, ""
        if (text := _result_text(call)) is not None:
            self._result, self._rest = Output(), text
            if not call.diff():
                lines = plural(text.count("\n") + 1, "line")
                self._facts_of_result = (
                    f"{size(len(text.encode('utf-8', 'replace')))}, {lines}" if text else ""
                )
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
        self._stack.blocks[0] = Fixed(self._head(now, waits, cause))

    def _head(self, now: float, waits: Sequence[str], cause: str) -> list[Line]:
        call, styles = self.call, self.theme_styles
        elapsed = call.elapsed(now)
        timed = call.state != "declined" and (elapsed or call.state in ("done", "failed"))
        time = f" {duration(elapsed)}" if timed else ""
        head = [
            Segment(f"{one_line(call.name) or '…'}  ", styles("text", attributes="bold")),
            Segment(f"{GLYPHS[call.state]} {_word(call)}{time}", styles(ROLES[call.state])),
        ]
        lines = wrap(head, self.width)
        if facts := self._facts(waits, cause):
            lines += wrap([Segment(facts, styles("dim"))], self.width)
        return lines

    def _facts(self, waits: Sequence[str], cause: str) -> str:
        """The figures of a call, and its place among the others, in one line."""
        call = self.call
        facts = [f"waiting for {', '.join(map(one_line, waits))}"] if waits else []
        facts += [one_line(cause)] if cause else []
        if call.state in ("done", "failed") and call.name in _STATUS_FIRST and call.outcome:
            facts.append(one_line(call.outcome.partition(" after ")[0]))
        if self._facts_of_result:
            facts.append(self._facts_of_result)
        elif call.output and call.output.size:
            facts.append(f"{size(call.output.size)}, {plural(call.output.total, 'line')}")
        written = call.args.get("content")
        if isinstance(written, str) and call.name == "write":
            facts.append(f"{size(len(written.encode('utf-8', 'replace')))} to write")
        action = call.action
        facts += [f"id {one_line(action.id)}"] if action.id else []
        facts += [f"result ${one_line(action.output_key)}"] if action.output_key else []
        facts += [f"timeout {duration(action.timeout)}"] if action.timeout else []
        return " · ".join(facts)

    def _body(self) -> list[LayoutBlock]:
        above = self._arguments()
        below = self._outcome()
        return [*above, Fixed([BLANK]), *below] if above and below else [*above, *below]

    def _arguments(self) -> list[LayoutBlock]:
        call, width, styles = self.call, self.width, self.theme_styles
        blocks: list[LayoutBlock] = []
        command = call.args.get("command") or call.args.get("cmd")
        if isinstance(command, str):
            blocks.append(Fixed(_draw_command(command, width, styles)))
        diff = call.diff()
        for key, value in call.args.items():
            if key in ("command", "cmd") or (diff and key in _REPLACED_BY_DIFF):
                continue
            blocks += self._argument(key, value)
        return blocks

    def _argument(self, key: str, value: Any) -> list[LayoutBlock]:
        width, styles = self.width, self.theme_styles
        label = Segment(f"{one_line(key)}  ", styles("dim"))
        growing = key == self.call.growing
        text = value if isinstance(value, str) else repr(value)
        if not growing and len(text) <= width and "\n" not in text:
            shown = reveal(text)
            if cells(shown) + cells(label.text) <= width:
                return [Fixed([Line([label, Segment(shown, styles("text"))])])]
        grown = GrowingText(reveal)
        grown.take(text)
        role, on = {"old": ("bad", "removed"), "new": ("good", "added")}.get(key, ("text", "surface"))
        layout = LazyLayout(grown.lines, width, styles, role=role, on=on, indent=2)
        if growing:
            self._growing, self._layout = grown, layout
        count = "" if growing or grown.lines.total < 2 else plural(grown.lines.total, "line")
        return [Fixed([Line([label, Segment(count, styles("dim"))])]), layout]

    def _outcome(self) -> list[LayoutBlock]:
        call, width, styles = self.call, self.width, self.theme_styles
        blocks: list[LayoutBlock] = []
        if call.steps():
            blocks += [_StepLines(call, width, styles), Fixed([BLANK] if call.settled else [])]
        diff = call.diff()
        if diff and len(diff) <= _LONGEST_DIFF:
            blocks.append(Fixed(draw_diff(diff, width, styles)))
        elif self._result is not None and (call.settled or not call.steps()):
            if self._result.dropped:
                blocks.append(Fixed([_above(self._result.dropped, styles)]))
            layout = LazyLayout(self._result, width, styles)
            self._layout = layout
            blocks.append(layout)
        if call.settled and call.outcome and (call.state != "done" or not any(map(len, blocks))):
            blocks.insert(0, Fixed(wrap([Segment(call.outcome, styles(ROLES[call.state]))], width)))
        return blocks


def _above(lines: int, styles: ThemeStyles) -> Line:
    return Line([Segment(f"… {plural(lines, 'line')} above", styles("dim", attributes="italic"))])


def _word(call: CallUnit) -> str:
    return "waiting for approval" if call.state == "waiting" else call.state


def _stage(call: CallUnit) -> tuple[object, ...]:
    """The facts that a sheet is made for: while they stay the same, the sheet only adds text."""
    return call.state, call.outcome, tuple(call.args), call.growing, call.output is None, not call.steps()


def _result_text(call: CallUnit) -> str | None:
    """The text of the result, without what its outcome repeats; None while there is none."""
    text = call.result_text()
    if text is None:
        return None
    first, _, rest = text.partition("\n")
    if call.name in _STATUS_FIRST and first and call.outcome.startswith(clean(first)):
        text = rest
    return text.rstrip("\n")


def _draw_command(command: str, width: int, styles: ThemeStyles) -> list[Line]:
    shown = reveal(command[:_LONGEST_COMMAND])
    more = (
        f" … {len(command) - _LONGEST_COMMAND:,} more characters" if len(command) > _LONGEST_COMMAND else ""
    )
    return wrap([Segment(f"$ {shown}", styles("edit")), Segment(more, styles("dim"))], width)


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
        outcome = f"  {one_line(step.outcome)}" if step.outcome else ""
        segments = [
            Segment(f"{GLYPHS[step.state]} ", styles(ROLES[step.state])),
            Segment(one_line(step.text), styles("text")),
            Segment(outcome, styles("dim")),
        ]
        return chop(segments, self._width)[0]
