"""Dialogs: modal screens that return a typed answer and change nothing themselves.

Invariant: a screen answers once, and closes no screen but itself.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.keys import draw_key, key_name
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LayoutBlock
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line, width_of, wrap
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.partial_screen import PartialScreen
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

Result = TypeVar("Result")


class AnsweringScreen(PartialScreen[Result]):
    """Accepts the first answer, and ignores all input after it.

    Textual's `dismiss` closes the topmost screen, whichever it is: an answer given beneath another screen
    waits until that one is closed.
    """

    class Resumed(Message):
        """The screen is on top: it was opened, or what covered it was closed."""

    _answered = False
    _is_closed_by_answer = False
    _answer: Result | None = None

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        if self._answered:
            return AwaitComplete.nothing()
        self._answered, self._answer = True, result
        return self._close() if self.is_active else AwaitComplete.nothing()

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        # A screen answered just as it reached the top receives this event after its answer has closed it.
        if self._answered and not self._is_closed_by_answer:
            self._close()
        else:
            app_of(self).post_message(self.Resumed())

    async def _dispatch_message(self, message: Message) -> None:
        # Only user input, and messages that widgets derive from it, bubble.
        if not (self._answered and message.bubble):
            await super()._dispatch_message(message)

    def _close(self) -> AwaitComplete:
        self._is_closed_by_answer = True
        for callback in self._result_callbacks[-1:]:
            if callback.future is not None and callback.future.cancelled():
                # The worker that waited for the answer was cancelled.
                callback.future = None
        return super().dismiss(self._answer)


STYLES = Path(__file__).parent.parent / "styles" / "dialogs.tcss"
"""Loaded when the first dialog is shown."""

SHORT, LOW = 24, 30
"""Lines of a screen below which a dialog takes all of it, and below which its foot is one line."""

SLIM, NARROW_FOR_WIDE = 112, 156
"""Columns of a screen below which a dialog, and a wide one, has its full width: beside it would be less than
eight."""

_GAP = 3
"""Cells between two answers; one less where they are many."""

Choice: TypeAlias = tuple[str, str, str]
"""A key as it is bound (or symbols for several), the label of its answer, and its action."""


class Choices(Bar):
    """The possible answers, selected by key or click."""

    SURFACE = "raised"

    class Chosen(Message):
        """The answer with this action was clicked."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self, choices: list[Choice], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._choices = choices
        self._spans: list[tuple[int, int, str]] = []

    def offer(self, choices: list[Choice]) -> None:
        """Offer other answers."""
        self._choices = choices
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        shown: list[Segment] = []
        self._spans = []
        answers, gap = self._fitting(width)
        for action, answer in answers:
            shown += [Segment(" " * gap, self.theme_styles("dim", "raised"))] if shown else []
            start = width_of(shown)
            shown += answer
            self._spans.append((start, width_of(shown), action))
        return shown

    def _fitting(self, width: int) -> tuple[list[tuple[str, list[Segment]]], int]:
        """The actions with their drawn keys that fit into `width` cells, and the gap between them. The last
        one, which closes the dialog, is always there; those before it are dropped from the right."""
        answers = [
            (action, draw_key(self._name_of(key, action), label, self.theme_styles, "raised"))
            for key, label, action in self._choices
        ]
        while len(answers) > 1 and _width_of(answers, _GAP - 1) > width:
            del answers[-2]
        return answers, _GAP if _width_of(answers, _GAP) <= width else _GAP - 1

    def _name_of(self, key: str, action: str) -> str:
        """The key for the action in force: the user may have remapped it."""
        bound = self.screen.active_bindings
        if key.isascii() and (key not in bound or bound[key].binding.action != action):
            key = next((other for other, each in bound.items() if each.binding.action == action), key)
        return key_name(key)

    def on_click(self, event: events.Click) -> None:
        for start, end, action in self._spans:
            if start <= event.x < end:
                self.post_message(self.Chosen(action))


def _width_of(answers: Sequence[tuple[str, list[Segment]]], gap: int) -> int:
    return sum(width_of(answer) for _action, answer in answers) + gap * (len(answers) - 1)


class DialogTitle(PaneTitle):
    """The title of a dialog, with a rule below it where there is room."""

    def render_line(self, y: int) -> Strip:
        if y != 1:
            return super().render_line(y)
        styles, width = self.theme_styles, self.size.width
        rule = [Segment("  ", styles()), Segment("─" * max(0, width - 4), styles("rule"))]
        return Line(rule).strip(width, styles())

    @property
    def label_role(self) -> str:
        return "text"


class DialogBox(Vertical):
    """A title, the parts of a dialog and its keys. As high as its contents: where these are higher than the
    screen, the part whose height is a fraction scrolls, so that the keys are always there."""

    def __init__(self, *parts: Widget, keys: Widget, id: str, classes: str = "") -> None:
        foot = Vertical(keys, classes="dialog-foot")
        super().__init__(*parts, foot, id=id, classes=f"dialog {classes}")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        height = super().get_content_height(container, viewport, width)
        # In a height that depends on its contents, a fraction has only its minimum.
        return height + sum(
            max(0, _own_height(part, container, viewport, width) - part_height)
            for part, part_height in self._scrolling_parts(width)
        )

    @property
    def _has_relative_children_height(self) -> bool:
        # Else Textual makes the box as high as the screen.
        return False

    def _scrolling_parts(self, width: int) -> list[tuple[Widget, int]]:
        """The parts whose height is a fraction, each with its minimum."""
        placements = self.arrange(Size(width, 0)).placements
        return [
            (place.widget, place.region.height)
            for place in placements
            if (height := place.widget.styles.height) is not None and height.is_fraction
        ]


def _own_height(part: Widget, container: Size, viewport: Size, width: int) -> int:
    return part.get_content_height(container, viewport, width) + part.gutter.height


class Dialog(ModalScreen[Result], AnsweringScreen[Result]):
    """An `AnsweringScreen` over the screen that it belongs to. Its `Choices` run its actions."""

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < SHORT, "-short")
        self.set_class(event.size.height < LOW, "-low")
        self.set_class(event.size.width < SLIM, "-slim")
        self.set_class(event.size.width < NARROW_FOR_WIDE, "-slim-for-wide")

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def action_close(self) -> None:
        self.dismiss(None)


class DialogBody(LineView):
    """Scrolling lines, drawn for the present width; those of a block when they are rendered."""

    def __init__(
        self, draw: Callable[[int, ThemeStyles], list[Line] | LayoutBlock], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._lines: LayoutBlock = Fixed([])

    def line_at(self, y: int) -> Line | None:
        return self._lines.line(y) if y < len(self._lines) else None

    def surface_at(self, y: int) -> str:
        return "surface"

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        self._draw_lines(max(8, width - 2 * self.MARGIN))
        return len(self._lines)

    def _draw_lines(self, width: int) -> None:
        drawn = self._draw(width, self.theme_styles)
        self._lines = Fixed(drawn) if isinstance(drawn, list) else drawn

    def prepare(self, width: int) -> int:
        """Draw the lines anew for `width` cells of text, and return their number."""
        self._draw_lines(width)
        self.resize_column(len(self._lines))
        self.refresh()
        return len(self._lines)

    def redraw(self) -> None:
        """Redraw after the contents changed."""
        self.refresh(layout=True)
        # Where the height stays the same, no resize event follows.
        self.call_after_refresh(self.on_resize)

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, lambda _theme: self.on_resize())

    def on_resize(self) -> None:
        self.prepare(self.text_width)


class Drawing(NamedTuple):
    """A question as lines; `subject` are those that state what a yes would allow."""

    lines: list[Line]
    subject: range


class QuestionBody(DialogBody):
    """A question, and whether the window has shown all of its subject."""

    class SubjectSeen(Message):
        """The whole subject has been rendered."""

    def __init__(self, draw: Callable[[int, ThemeStyles], Drawing], *, id: str | None = None) -> None:
        super().__init__(self._lines_of, id=id)
        self._draw_question = draw
        self._drawn: tuple[int, range, list[str]] = (0, range(0), [])
        """The width, and the subject that was drawn for it: another one is to be seen anew."""
        self._subject = range(0)
        self._seen: set[int] = set()

    @property
    def is_seen(self) -> bool:
        """True if each line of the subject has been visible in the window at its present size."""
        return bool(self._subject) and self._seen.issuperset(self._subject)

    def has_shown(self, line: int) -> bool:
        """Return whether a line has been visible in the window at its present size."""
        return line in self._seen

    @property
    def first_unseen(self) -> int:
        """The first line of the subject that has not been visible."""
        return next((line for line in self._subject if line not in self._seen), 0)

    @property
    def is_unseen_above(self) -> bool:
        """True if a line of the subject above the window has not been visible."""
        above = range(self._subject.start, min(self._subject.stop, self.scroll_offset.y))
        return not self._seen.issuperset(above)

    def forget(self) -> None:
        """Start over, since the window has changed."""
        self._seen.clear()
        self.redraw()

    def render_lines(self, crop: Region) -> list[Strip]:
        # The compositor renders only what is in the window, but also what a dialog dims and covers.
        is_wide = (
            crop.column_span == (0, self.size.width) and self.size.width >= self.text_width + self.MARGIN
        )
        if is_wide and self.screen.is_active:
            self._note(range(self.scroll_offset.y + crop.y, self.scroll_offset.y + crop.bottom))
        return super().render_lines(crop)

    def _note(self, lines: range) -> None:
        seen = self.is_seen
        self._seen.update(lines)
        if self.is_seen and not seen:
            self.post_message(self.SubjectSeen())

    def _lines_of(self, width: int, styles: ThemeStyles) -> list[Line]:
        lines, self._subject = self._draw_question(width, styles)
        drawn = (width, self._subject, [lines[at].text for at in self._subject if at < len(lines)])
        if drawn != self._drawn:
            self._drawn = drawn
            self._seen.clear()
        return lines


class Confirmation(Dialog[bool]):
    """One question with yes and no. Enter is no answer: it may belong to a text typed ahead, and a yes cannot
    always be undone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="confirm.yes"),
        Binding("n,escape", "answer(False)", "No", id="confirm.no"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="confirm.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="confirm.down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(self, text: str, *, yes: str = "yes", no: str = "no") -> None:
        super().__init__()
        self._text = text
        self._labels = yes, no

    def compose(self) -> ComposeResult:
        yes, no = self._labels
        keys = Choices([("y", yes, "answer(True)"), ("n", no, "answer(False)")])
        body = QuestionBody(self._draw, id="confirmation-body")
        yield DialogBox(body, keys=keys, id="confirmation", classes="-question")

    def on_resize(self, event: events.Resize) -> None:
        del event
        self.query_one(QuestionBody).forget()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow a yes only once the whole text was visible in the window."""
        return parameters != (True,) or self.query_one(QuestionBody).is_seen

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(QuestionBody)
        body.jump(body.scroll_offset.y + lines)

    def _draw(self, width: int, styles: ThemeStyles) -> Drawing:
        lines = wrap([Segment(self._text, styles("text"))], width)
        return Drawing(lines, range(len(lines)))


def discard(node: DOMNode, unsaved: str, then: Callable[[], object]) -> None:
    """Call `then`; ask first if that loses an `unsaved` text, as the user knows it."""

    def answered(yes: bool | None) -> None:
        if yes:
            then()

    if unsaved:
        app_of(node).push_screen(Confirmation(f"Discard {unsaved}?"), answered)
    else:
        then()


class ReadingScreen(Dialog[Result | None], Generic[Result]):
    """A dialog with one scrolling `DialogBody`, and its choices at the foot. Closed, it returns None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="dialog.close"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="dialog.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="dialog.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="dialog.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="dialog.page_down"),
        Binding("home,g", "scroll(-1_000_000)", "First", show=False, id="dialog.first"),
        Binding("end,G", "scroll(1_000_000)", "Last", show=False, id="dialog.last"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)

    def action_page(self, direction: int) -> None:
        """Scroll by the visible lines, of which one stays."""
        self.action_scroll(direction * max(1, self.query_one(DialogBody).page - 1))
