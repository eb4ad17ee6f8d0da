"""The detail of the selected call or background command, scrolling on its own below its head.

The view follows a running call at its end until the user scrolls away, and again once the user is back at
the end. A call that has ended is shown from its beginning; a failed command from its end, where the error is.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import reveal
from cogency_tui.tui.calls.rows import BackgroundCommand, cause_of_skip, waits_for
from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.command_output import Output
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LazyLayout, Stack
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import duration, plural, size, whole_seconds
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_detail import CallLayout, draw_command, draw_head
from cogency_tui.tui.transcript.call_unit import GLYPHS, ROLES, CallUnit


class CommandText:
    """The lines of a background command, `width` cells wide: its state, running time and output."""

    def __init__(self, width: int, styles: ThemeStyles) -> None:
        self.width = width
        self.theme_styles = styles
        self.command = BackgroundCommand("", "", 0.0, 0.0, "running")
        self._output = Output()
        self._fed = ""
        self._layout = LazyLayout(self._output, width, styles)
        self._stack = Stack([Fixed([]), self._layout])
        self.head: Sequence[Segment] = ()
        """The title, with the facts at its end where they have room."""
        self.subhead: Sequence[Segment] = ()
        """The command."""

    def __len__(self) -> int:
        return len(self._stack)

    def line(self, y: int) -> Line:
        return self._stack.line(y)

    def take(self, command: BackgroundCommand, output: str, now: float) -> None:
        """Update the sheet to the state at `now`, with all output still stored."""
        self.command = command
        if not output.startswith(self._fed):
            # The middle of a long output is dropped: the new output does not continue the old.
            self._output, self._fed = Output(), ""
            self._layout = LazyLayout(self._output, self.width, self.theme_styles)
        self._output.feed(output[len(self._fed) :])
        self._fed = output
        self._layout.grow()
        facts = [reveal(fact) for fact in (command.id, command.remark) if fact]
        sizes = [plural(self._output.total, "line"), size(self._output.size)]
        self.head, below = draw_head(self._title(now), facts, sizes, self.width, self.theme_styles)
        line = draw_command(command.command, self.width, self.theme_styles)
        self.subhead = line.segments
        more = wrap([Segment(f"$ {reveal(command.command)}", self.theme_styles("edit"))], self.width)
        shown = [] if len(more) == 1 else more
        self._stack = Stack([Fixed([*below, *shown, BLANK]), self._layout])

    def _title(self, now: float) -> list[Segment]:
        command, styles = self.command, self.theme_styles
        state, elapsed = command.state, command.elapsed(now)
        is_running = state == "running"
        glyph = "" if is_running else f"{GLYPHS[state]} "
        time = whole_seconds(elapsed) if is_running else duration(elapsed)
        return [
            Segment("background  ", styles("text", attributes="bold")),
            Segment(f"{glyph}{state} {time}", styles(ROLES[state])),
        ]


class DetailHead(Bar):
    """The head of the detail, which stays in view while the detail scrolls: its title, and a command."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Sequence[Segment]] = ()

    def show(self, *rows: Sequence[Segment]) -> None:
        """Show another head."""
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    def row(self, y: int, width: int) -> Sequence[Segment]:
        margin = Segment(" " * LineView.MARGIN, self.theme_styles())
        return [margin, *self._rows[y]] if y < len(self._rows) else ()


class CallDetail(LineView):
    """Shows one `CallLayout` or `CommandText`."""

    BINDING_GROUP_TITLE = "Call details"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="detail.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="detail.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="detail.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="detail.page_down"),
        Binding("home,g", "move(-100000000)", "Beginning", show=False, id="detail.home"),
        Binding("end,G", "move(100000000)", "Jump to end and follow output", show=False, id="detail.end"),
    ]

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._text_layout: CallLayout | CommandText | None = None
        self._following = True
        self._placing = False
        self._loading = False

    def show(self, call: CallUnit | None, before: Sequence[CallUnit] = ()) -> None:
        """Show a call; `before` are the calls that it may depend on."""
        shown = self._text_layout
        layout = shown if isinstance(shown, CallLayout) and shown.call is call else None
        was_live = layout is not None and layout.is_live
        if call is None:
            self._text_layout = None
        else:
            self._text_layout = self._laid_out(call, layout, before)
        settled = isinstance(self._text_layout, CallLayout) and not self._text_layout.is_live
        self._place(other=layout is None, ended=was_live and settled)

    def _laid_out(self, call: CallUnit, layout: CallLayout | None, before: Sequence[CallUnit]) -> CallLayout:
        """The present state of a call; `layout` is an earlier one."""
        now, waits, cause = self._clock(), waits_for(call, before), cause_of_skip(call, before)
        if layout is not None and not layout.stale and self._fits(layout):
            layout.refresh(now, waits=waits, cause=cause)
            return layout
        width, styles = self.text_width, self.theme_styles
        return CallLayout(call, width, styles, now, waits=waits, cause=cause, gradual=True, headed=True)

    def show_command(self, command: BackgroundCommand, output: str) -> None:
        """Show a background command and its output so far."""
        layout = self._text_layout if isinstance(self._text_layout, CommandText) else None
        other = layout is None or layout.command.id != command.id
        if layout is None or other or not self._fits(layout):
            layout = self._text_layout = CommandText(self.text_width, self.theme_styles)
        layout.take(command, output, self._clock())
        self._place(other=other)

    @property
    def head(self) -> Sequence[Segment]:
        """The head of what is shown."""
        return self._text_layout.head if self._text_layout else ()

    @property
    def subhead(self) -> Sequence[Segment]:
        """The command of what is shown; empty without one."""
        return self._text_layout.subhead if self._text_layout else ()

    def line_at(self, y: int) -> Line | None:
        return self._text_layout.line(y) if self._text_layout and y < len(self._text_layout) else None

    def on_resize(self) -> None:
        if self._following:
            self._place()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing:
            self._following = self.scroll_offset.y >= self.max_scroll_y

    def action_move(self, lines: int) -> None:
        self.jump(self.scroll_offset.y + lines)

    def action_page(self, direction: int) -> None:
        self.jump(self.scroll_offset.y + direction * max(1, self.page - 1))

    def _fits(self, layout: CallLayout | CommandText) -> bool:
        return layout.width == self.text_width and layout.theme_styles is self.theme_styles

    def _place(self, *, other: bool = False, ended: bool = False) -> None:
        """Show the lines at their proper place: `other` ones from where they begin to matter, and those of a
        call that has `ended` like them if the view was following it."""
        self._placing = True
        layout = self._text_layout
        self.resize_column(len(layout) if layout else 0)
        anew = other or (ended and self._following)
        if other:
            self._following = not isinstance(layout, CallLayout) or layout.is_live or layout.failed_command
        elif anew:
            self._following = isinstance(layout, CallLayout) and layout.is_command
        if self._following:
            self.jump(self.max_scroll_y)
        elif anew:
            self.jump(0)
        self._placing = False
        self.refresh()
        self._load_later()

    def _load_later(self) -> None:
        if isinstance(self._text_layout, CallLayout) and self._text_layout.loading and not self._loading:
            self._loading = True
            self.call_between(self._load)

    def _load(self) -> None:
        self._loading = False
        if isinstance(self._text_layout, CallLayout) and self._text_layout.loading:
            self._text_layout.load()
            self._place()
