"""The exact request that the model was sent: a line for the tools and for each message, which unfolds to the
whole text."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message as EventMessage

from cogency_tui.agent.prompt import TOOLS
from cogency_tui.agent.timeline.model import Exchange
from cogency_tui.protocol.image import Image
from cogency_tui.protocol.messages import ImagePart, Message, Part, ToolSpec, images_in, parts_of
from cogency_tui.providers.image_tokens import tokens_of_images
from cogency_tui.providers.token_counting import estimate_tokens
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.command_output import OutputLines
from cogency_tui.tui.kit.lazy_text_layout import Heights, LazyLayout
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.kit.number_format import plural, tokens
from cogency_tui.tui.paste_chips import image_chip
from cogency_tui.tui.timeline.keys import Read

_ROLES = {"tools": "branch", "system": "branch", "user": "accent", "assistant": "edit"}
_WORDY = 60
"""Cells from which a line has room for words."""

_HEAD = 300
"""Characters of a message that its line is made from."""


class Entry(NamedTuple):
    """A message of a request, or its tools; `known` marks one that was in the session already."""

    role: str
    summary: str
    text: str
    known: bool
    images: tuple[ImagePart, ...] = ()


class ExchangeView(Read):
    """Shows an `Exchange`; its last message is open."""

    BINDING_GROUP_TITLE = "Messages"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter,space",
            "fold",
            "Show",
            id="timeline.messages.fold",
            tooltip="Expand or collapse the message",
        ),
        Binding(
            "i", "images", "Images", id="timeline.messages.images", tooltip="View the images of the message"
        ),
        Binding("p", "message(-1)", "Previous", show=False, id="timeline.messages.previous"),
        Binding("n", "message(1)", "Next", show=False, id="timeline.messages.next"),
    ]

    class ImagesRequested(EventMessage):
        """The user asks to view the `images` of a message."""

        def __init__(self, images: Sequence[Image]) -> None:
            self.images = images
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._exchange: Exchange | None = None
        self._entries: list[Entry] = []
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
        entries = [] if exchange is None else list(_entries(exchange))
        self._toggled -= {len(self._entries) - 1, len(entries) - 1}
        self._exchange, self._entries = exchange, entries
        self._laid_for = None
        self._layouts.clear()
        self._lay()
        self.jump(0)
        if exchange is not None:
            self._select(len(entries) - 1)
        self._follow_cursor()

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
            self._follow_cursor()

    def action_line(self, step: int) -> None:
        last = self.virtual_size.height - 1
        self._cursor = max(0, min(self._cursor + step, last))
        self.reveal(self._cursor)
        self._follow_cursor()

    def action_page(self, direction: int) -> None:
        step = direction * max(1, self.page - 2)
        self.scroll_lines(step)
        self.action_line(step)

    def action_message(self, step: int) -> None:
        """Go to the next message, or with -1 to the previous one."""
        index = self._index(self._cursor)
        if self._exchange is not None:
            last = len(self._entries) - 1
            self._select(0 if index is None else max(0, min(index + step, last)))
            self._follow_cursor()

    def action_images(self) -> None:
        """Request the images of the message at the cursor."""
        self.post_message(self.ImagesRequested([*map(_image, self._images())]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._images()) if action == "images" else super().check_action(action, parameters)

    def _follow_cursor(self) -> None:
        """Refresh after a move of the cursor, with the available actions."""
        self.refresh()
        self.refresh_bindings()

    def _images(self) -> Sequence[ImagePart]:
        """The images of the message at the cursor."""
        index = self._index(self._cursor)
        return () if index is None else self._entries[index].images

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
        self._follow_cursor()

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
        return (index == len(self._entries) - 1) != (index in self._toggled)

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
        self._heights = Heights(self._height(index) for index in range(len(self._entries)))
        self.resize_column(len(self._remarks) + self._heights.total)

    def _layout(self, index: int) -> LazyLayout:
        layout = self._layouts.get(index)
        if layout is None:
            lines = OutputLines()
            lines.write(reveal(self._entries[index].text))
            layout = self._layouts[index] = LazyLayout(lines, self.text_width, self.theme_styles, indent=2)
        return layout

    def _head(self, index: int, on: str) -> Line:
        assert self._exchange is not None
        styles, width = self.theme_styles, self.text_width
        entry, opened = self._entries[index], self._is_open(index)
        known, size = entry.known, _tokens([entry], _model_of(self._exchange))
        size = f"{size}{'in the session' if known else 'sent':>16}" if width >= _WORDY else size
        mark = "" if known or width >= _WORDY else "↑ "
        right = Segment(f"  {mark}{size}", styles("dim", on))
        left = [
            Segment("▾ " if opened else "▸ ", styles("dim", on)),
            Segment(f"{entry.role:<10}", styles(_ROLES[entry.role], on, "bold")),
        ]
        room = max(0, width - width_of([*left, right]))
        text = fit("" if opened else entry.summary, room)
        return Line([*left, Segment(text + " " * (room - cells(text)), styles("text", on)), right])


def _entries(exchange: Exchange) -> Iterator[Entry]:
    if exchange.tools:
        names = ", ".join(tool["name"] for tool in exchange.tools)
        yield Entry("tools", one_line(names), "\n\n".join(map(_tool, exchange.tools)), exchange.fresh > 0)
    for index, message in enumerate(exchange.messages):
        summary = _summarize_message(message, exchange)
        text, images = _text_of(message), tuple(images_in([message]))
        yield Entry(message["role"], summary, text, index < exchange.fresh, images)


def _tool(tool: ToolSpec) -> str:
    schema = json.dumps(tool["parameters"], ensure_ascii=False, indent=2)
    return f"{tool['name']}: {tool['description']}\n{schema}"


def _text_of(message: Message) -> str:
    """The text of a message, with its calls and results as such."""
    return "\n\n".join(map(_part, _shown_parts(message)))


def _shown_parts(message: Message) -> Iterator[Part]:
    """The parts of a message, without images whose chips its text has."""
    for part in parts_of(message):
        if part["type"] != "image" or _chip(part) not in message["content"]:
            yield part


def _part(part: Part) -> str:
    match part["type"]:
        case "text":
            return part["text"]
        case "call":
            return f"call {part['name']}  {part['id']}\n{part['arguments'] or '{}'}"
        case "result":
            failed = "  failed" if part["error"] else ""
            return f"result {part['name']}  {part['id']}{failed}\n{part['text']}"
        case "image":
            return _chip(part)
        case "reasoning":
            return "reasoning  sealed by the provider"


def _brief(part: Part) -> str:
    """A part as its line shows it: without the provider's id of a call, which would hide its subject."""
    match part["type"]:
        case "call":
            return f"call {part['name']}  {_subject(part['arguments'])}"
        case "result":
            failed = "  failed" if part["error"] else ""
            return f"result {part['name']}{failed}  {part['text'][:_HEAD]}"
        case _:
            return _part(part)


def _subject(arguments: str) -> str:
    """The beginning of the first text among the arguments of a call; without one, of all of them."""
    values: list[Any] = []
    with suppress(ValueError, RecursionError, AttributeError):
        found: dict[str, Any] = json.loads(arguments)
        values += found.values()
    return next((value for value in values if isinstance(value, str)), arguments)[:_HEAD]


def _summarize_message(message: Message, exchange: Exchange) -> str:
    """Summarize a message in a line."""
    if message["role"] == "system":
        return ", ".join(name for name, _text in exchange.parts if not (exchange.tools and name == TOOLS))
    written = (part for part in _shown_parts(message) if part["type"] != "reasoning")
    text = "\n\n".join(map(_brief, written))
    for environment in exchange.environments:
        if text.startswith(environment):
            return f"environment, {one_line(text[len(environment) :].lstrip()[:_HEAD])}"
    return one_line(text[:_HEAD])


def _image(part: ImagePart) -> Image:
    return Image(
        name=part.get("name", part["media_type"]),
        digest=part["digest"],
        media_type=part["media_type"],
        width=part["width"],
        height=part["height"],
        size=part["size"],
    )


def _chip(image: ImagePart) -> str:
    return image_chip(_image(image))


def _tokens(entries: Iterable[Entry], model: str) -> str:
    entries = tuple(entries)
    images = tokens_of_images(model, (image for entry in entries for image in entry.images))
    return f"~{tokens(estimate_tokens(entry.text for entry in entries) + images)} tokens"


def _model_of(exchange: Exchange) -> str:
    return exchange.asked.request.frame.model if exchange.asked else ""


def describe_exchange(exchange: Exchange) -> str:
    """Summarize the exchange in a line."""
    count, fresh = plural(len(exchange.messages), "message"), len(exchange.messages) - exchange.fresh
    facts = [f"{fresh} of {count} sent" if exchange.fresh else count]
    facts.append(_tokens((entry for entry in _entries(exchange) if not entry.known), _model_of(exchange)))
    mode = exchange.asked.request.mode if exchange.asked else ""
    return " · ".join([*facts, *([mode] if mode else [])])
