"""The detail of the selected call or background command, scrolling on its own.

The view follows a running call at its end until the user scrolls away, and again once the user is back at
the end.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import reveal
from cogency_tui.tui.calls.rows import BackgroundCommand, cause_of_skip, waits_for
from cogency_tui.tui.kit.command_output import Output
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LazyLayout, Stack
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import duration, plural, size
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_detail import CallLayout
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
        self._stack = Stack([Fixed(self._head(now)), self._layout])

    def _head(self, now: float) -> list[Line]:
        command, styles, width = self.command, self.theme_styles, self.width
        state = command.state
        head = [
            Segment("in the background  ", styles("text", attributes="bold")),
            Segment(f"{GLYPHS[state]} {state} {duration(command.elapsed(now))}", styles(ROLES[state])),
        ]
        facts = [command.id, *([command.remark] if command.remark else [])]
        facts.append(f"{size(self._output.size)}, {plural(self._output.total, 'line')}")
        return [
            *wrap(head, width),
            *wrap([Segment(reveal(" · ".join(facts)), styles("dim"))], width),
            *wrap([Segment(f"$ {reveal(command.command)}", styles("edit"))], width),
            BLANK,
        ]


class CallDetail(LineView):
    """Shows one `CallLayout` or `CommandText`."""

    BINDING_GROUP_TITLE = "Call details"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="detail.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="detail.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="detail.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="detail.page_down"),
        Binding("home,g", "move(-100000000)", "Beginning", show=False, id="detail.home"),
        Binding("end,G", "move(100000000)", "End, and follow output", show=False, id="detail.end"),
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
        layout = (
            self._text_layout
            if isinstance(self._text_layout, CallLayout) and self._text_layout.call is call
            else None
        )
        if call is None:
            self._text_layout = None
        else:
            waits, cause = waits_for(call, before), cause_of_skip(call, before)
            now = self._clock()
            if layout is None or layout.stale or not self._fits(layout):
                self._text_layout = CallLayout(
                    call, self.text_width, self.theme_styles, now, waits=waits, cause=cause, gradual=True
                )
            else:
                layout.refresh(now, waits=waits, cause=cause)
        self._place(live=call is not None and not call.settled, other=layout is None)

    def show_command(self, command: BackgroundCommand, output: str) -> None:
        """Show a background command and its output so far."""
        layout = self._text_layout if isinstance(self._text_layout, CommandText) else None
        other = layout is None or layout.command.id != command.id
        if layout is None or other or not self._fits(layout):
            layout = self._text_layout = CommandText(self.text_width, self.theme_styles)
        layout.take(command, output, self._clock())
        self._place(live=command.state == "running", other=other)

    def line_at(self, y: int) -> Line | None:
        return self._text_layout.line(y) if self._text_layout and y < len(self._text_layout) else None

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

    def _place(self, *, live: bool, other: bool) -> None:
        self._placing = True
        self.resize_column(len(self._text_layout) if self._text_layout else 0)
        if other:
            self._following = True
        if live and self._following:
            self.jump(self.max_scroll_y)
        elif other:
            self.jump(0)
        self._placing = False
        self.refresh()
        self._load_later()

    def _load_later(self) -> None:
        if isinstance(self._text_layout, CallLayout) and self._text_layout.loading and not self._loading:
            self._loading = True
            self.call_later(self._load)

    def _load(self) -> None:
        self._loading = False
        if isinstance(self._text_layout, CallLayout) and self._text_layout.loading:
            self._text_layout.load()
            self._place(live=not self._text_layout.call.settled, other=False)
