"""The exact messages that the model was sent: a line each, which unfolds to the whole text."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType

from cogency_tui.agent.timeline.model import Exchange
from cogency_tui.protocol.messages import Message, images_in
from cogency_tui.providers.image_tokens import tokens_of_images
from cogency_tui.providers.token_counting import estimate_tokens
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.command_output import OutputLines
from cogency_tui.tui.kit.lazy_text_layout import Heights, LazyLayout
from cogency_tui.tui.kit.lines import BLANK, Line, cells, fit, width_of, wrap
from cogency_tui.tui.kit.number_format import plural, tokens
from cogency_tui.tui.paste_chips import size_of_image
from cogency_tui.tui.timeline.keys import Read

_ROLES = {"system": "branch", "user": "accent", "assistant": "edit"}
_WORDY = 60
"""Cells from which a line has room for words."""

_HEAD = 300
"""Characters of a message that its line is made from."""


class ExchangeView(Read):
    """Shows an `Exchange`; its last message is open."""

    BINDING_GROUP_TITLE = "Messages"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter,space",
            "fold",
            "Expand",
            id="timeline.messages.fold",
            tooltip="Expand or collapse the message",
        ),
        Binding("p", "message(-1)", "Previous", show=False, id="timeline.messages.previous"),
        Binding("n", "message(1)", "Next", show=False, id="timeline.messages.next"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._exchange: Exchange | None = None
        self._toggled: set[int] = set()
        self._layouts: dict[int, LazyLayout] = {}
        self._remarks: list[Line] = []
        self._heights = Heights()
        self._laid_for: object = None
        self._cursor = 0

    def show(self, exchange: Exchange | None) -> None:
        """Show another exchange, with its last message in view; the same one stays unchanged."""
        if exchange == self._exchange:
            return
        # The last message is open by default, which is no choice of the user's.
        for each in (self._exchange, exchange):
            self._toggled -= {len(each.messages) - 1} if each is not None else set()
        self._exchange = exchange
        self._laid_for = None
        self._layouts.clear()
        self._lay()
        self.jump(0)
        if exchange is not None:
            self._select(len(exchange.messages) - 1)
        self.refresh()

    def line_at(self, y: int) -> Line | None:
        self._lay()
        if y < len(self._remarks):
            return self._remarks[y]
        if self._exchange is None or y - len(self._remarks) >= self._heights.total:
            return None
        index, offset = self._heights.locate(y - len(self._remarks))
        if offset == 0:
            return self._head(index, self.surface_at(y))
        layout = self._layout(index)
        return layout.line(offset - 1) if offset - 1 < len(layout) else BLANK

    def surface_at(self, y: int) -> str:
        return "cursor" if y == self._cursor and self.has_focus else "surface"

    def on_resize(self) -> None:
        index = self._index(self._cursor)
        self._lay()
        if index is not None:
            self._select(index)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        index = self._index(y)
        if index is not None:
            self._cursor = y
            if y == self._top(index):
                self.action_fold()
            self.refresh()

    def action_line(self, step: int) -> None:
        last = self.virtual_size.height - 1
        self._cursor = max(0, min(self._cursor + step, last))
        self.reveal(self._cursor)
        self.refresh()

    def action_page(self, direction: int) -> None:
        step = direction * max(1, self.page - 2)
        self.scroll_lines(step)
        self.action_line(step)

    def action_message(self, step: int) -> None:
        """Go to the next message, or with -1 to the previous one."""
        index = self._index(self._cursor)
        if self._exchange is not None:
            last = len(self._exchange.messages) - 1
            self._select(0 if index is None else max(0, min(index + step, last)))
            self.refresh()

    def action_fold(self) -> None:
        """Open or close the message at the cursor."""
        index = self._index(self._cursor)
        if index is None:
            return
        self._toggled ^= {index}
        self._heights.set(index, self._height(index))
        self.resize_column(len(self._remarks) + self._heights.total)
        self._cursor = self._top(index)
        self.reveal(self._cursor)
        self.refresh()

    def _select(self, index: int) -> None:
        """Move to a message, and scroll to it: all of it where it fits."""
        self._cursor = self._top(index)
        self.reveal(self._cursor + min(self._heights[index], max(1, self.page)) - 1)
        self.reveal(self._cursor)
        if index == 0:
            self.jump(0)

    def _index(self, y: int) -> int | None:
        """The message that line `y` belongs to."""
        y -= len(self._remarks)
        return self._heights.locate(y)[0] if 0 <= y < self._heights.total else None

    def _top(self, index: int) -> int:
        return len(self._remarks) + self._heights.before(index)

    def _is_open(self, index: int) -> bool:
        assert self._exchange is not None
        return (index == len(self._exchange.messages) - 1) != (index in self._toggled)

    def _height(self, index: int) -> int:
        return 2 + len(self._layout(index)) if self._is_open(index) else 1

    def _lay(self) -> None:
        exchange, target = self._exchange, (self.text_width, self.theme_styles)
        if self._laid_for == target:
            return
        self._laid_for = target
        self._layouts.clear()
        self._remarks = []
        for remark in exchange.remarks if exchange else ():
            self._remarks += [*wrap([Segment(remark, self.theme_styles("edit"))], self.text_width), BLANK]
        count = len(exchange.messages) if exchange else 0
        self._heights = Heights(self._height(index) for index in range(count))
        self.resize_column(len(self._remarks) + self._heights.total)

    def _layout(self, index: int) -> LazyLayout:
        assert self._exchange is not None
        layout = self._layouts.get(index)
        if layout is None:
            lines = OutputLines()
            lines.write(reveal(_text_of(self._exchange.messages[index])))
            layout = self._layouts[index] = LazyLayout(lines, self.text_width, self.theme_styles, indent=2)
        return layout

    def _head(self, index: int, on: str) -> Line:
        assert self._exchange is not None
        exchange, styles, width = self._exchange, self.theme_styles, self.text_width
        message, opened = exchange.messages[index], self._is_open(index)
        known, size = index < exchange.fresh, _tokens([message], exchange)
        size = f"{size}{'in the session' if known else 'sent':>16}" if width >= _WORDY else size
        mark = "" if known or width >= _WORDY else "↑ "
        right = Segment(f"  {mark}{size}", styles("dim", on))
        left = [
            Segment("▾ " if opened else "▸ ", styles("dim", on)),
            Segment(f"{message['role']:<10}", styles(_ROLES[message["role"]], on, "bold")),
        ]
        room = max(0, width - width_of([*left, right]))
        text = fit("" if opened else _summarize_message(message, exchange), room)
        return Line([*left, Segment(text + " " * (room - cells(text)), styles("text", on)), right])


def _summarize_message(message: Message, exchange: Exchange) -> str:
    """Summarize a message in a line."""
    if message["role"] == "system":
        return ", ".join(name for name, _text in exchange.parts)
    content, chips = message["content"], " ".join(_chips_beside(message))
    for environment in exchange.environments:
        if content.startswith(environment):
            return f"environment, {one_line(content[len(environment) :].lstrip()[:_HEAD])} {chips}".rstrip()
    return f"{one_line(content[:_HEAD])} {chips}".rstrip()


def _text_of(message: Message) -> str:
    """The text of a message, and a line for each of its images that the text does not have."""
    return "\n\n".join([message["content"], *_chips_beside(message)])


def _chips_beside(message: Message) -> list[str]:
    """The chips of the images of a message that its text does not have."""
    chips = (
        f"[image {one_line(image.get('name', image['media_type']))} {size_of_image(image)}]"
        for image in images_in([message])
    )
    return [chip for chip in chips if chip not in message["content"]]


def _tokens(messages: Sequence[Message], exchange: Exchange) -> str:
    model = exchange.asked.request.frame.model if exchange.asked else ""
    count = estimate_tokens(message["content"] for message in messages)
    return f"~{tokens(count + tokens_of_images(model, images_in(messages)))} tokens"


def describe_exchange(exchange: Exchange) -> str:
    """Summarize the exchange in a line."""
    count, fresh = plural(len(exchange.messages), "message"), len(exchange.messages) - exchange.fresh
    facts = [f"{fresh} of {count} sent" if exchange.fresh else count]
    facts.append(_tokens(exchange.messages[exchange.fresh :], exchange))
    mode = exchange.asked.request.mode if exchange.asked else ""
    return " · ".join([*facts, *([mode] if mode else [])])
