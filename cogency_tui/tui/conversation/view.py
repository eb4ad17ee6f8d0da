"""The view of the conversation pane: a transcript with a cursor, selected lines and a search, and the keys
for them."""

from collections.abc import Callable, Iterable, Sequence
from time import time
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.selection import Selection

from cogency_tui.protocol.image import Image
from cogency_tui.tui.conversation.welcome import PICK
from cogency_tui.tui.kit.bar import ButtonBar
from cogency_tui.tui.kit.footer import Hints
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.paste_chips import image_chips
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.cursor import BlockCursor, BlockPlace
from cogency_tui.tui.transcript.document import LinePosition
from cogency_tui.tui.transcript.find import Find
from cogency_tui.tui.transcript.keyboard_selection import LineSelection
from cogency_tui.tui.transcript.messages_and_notices import IMAGE, REVIEW
from cogency_tui.tui.transcript.pin_marks import PinMarks
from cogency_tui.tui.transcript.unit_text import answers_of_turn, code_in, links_in, outcome_of, text_of
from cogency_tui.tui.transcript.units import (
    Problem,
    Prose,
    Summarized,
    Transcript,
    TurnEnd,
    Unit,
    UserMessage,
    is_stored,
)
from cogency_tui.tui.transcript.view import TranscriptView, no_review


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = False
) -> Binding:
    return Binding(key, action, description, show=show, id=f"conversation.{id}", tooltip=tooltip)


class Conversation(TranscriptView):
    """A view of a transcript whose blocks can be copied, opened, searched and forked from."""

    BINDING_GROUP_TITLE = "Conversation"

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("y", "copy", "Copy", "copy", "Copy the selection or the block", show=True),
        _key(
            "Y",
            "copy_code",
            "Copy code",
            "copy_code",
            "Copy the code in the block or the answer",
            show=True,
        ),
        _key("a", "copy_answer", "Copy answer", "copy_answer", "Copy this turn's whole answer"),
        _key(
            "enter,space",
            "expand",
            "Expand",
            "expand",
            "Expand or collapse the block; view what a summary replaced",
            show=True,
        ),
        _key("slash", "find", "Find", "find", "Find in the conversation", show=True),
        _key("n", "find_next(1)", "Next match", "find_next"),
        _key("N", "find_next(-1)", "Previous match", "find_previous"),
        _key("v", "select_lines", "Select", "select", "Select lines, starting with this block", show=True),
        _key("shift+down", "extend(1)", "Extend the selection by a line", "extend_down"),
        _key("shift+up", "extend(-1)", "Extend the selection up by a line", "extend_up"),
        _key("f", "fork", "Fork", "fork", "Fork the conversation here", show=True),
        _key("e", "edit", "Edit", "edit", "Edit your message and send it again, in a fork", show=True),
        _key("r", "review", "Review", "review", "Review the call's changes", show=True),
        _key("A", "agent", "Sub-agent", "agent", "Show the call's sub-agent", show=True),
        _key(
            "p",
            "pin",
            "Pin",
            "pin",
            "Pin or unpin: pinned parts stay verbatim when the conversation is summarized",
            show=True,
        ),
        _key("R", "retry", "Retry", "retry", "Retry the turn that failed", show=True),
        _key("o", "links", "Open", "links", "View the images of the block, or open a link in it"),
        _key("left_square_bracket", "block(-1)", "Previous block", "previous"),
        _key("right_square_bracket", "block(1)", "Next block", "next"),
        _key(
            "left_curly_bracket,ctrl+up",
            "message(-1)",
            "Previous message",
            "previous_message",
            "Scroll to your previous message",
        ),
        _key(
            "right_curly_bracket,ctrl+down",
            "message(1)",
            "Next message",
            "next_message",
            "Scroll to your next message",
        ),
        _key("up,k", "line(-1)", "Up", "up"),
        _key("down,j", "line(1)", "Down", "down"),
        _key("pageup", "page_up", "Page up", "page_up"),
        _key("pagedown", "page_down", "Page down", "page_down"),
        _key("home,g", "first", "Beginning", "home"),
        _key("end,G", "last", "Jump to end and follow output", "end"),
        _key("escape", "leave", "Clear", "leave", "Clear the selection, or end the search"),
    ]

    class FindRequested(Message):
        """The user asks to find text."""

    class CallClicked(Message):
        """The user clicked the card of the call that is unit `unit`."""

        def __init__(self, unit: int) -> None:
            self.unit = unit
            super().__init__()

    class ForkRequested(Message):
        """The user asks to continue from unit `unit` in a fork, with the key `letter` if that is one."""

        def __init__(self, unit: int, letter: str = "") -> None:
            self.unit = unit
            self.letter = letter
            super().__init__()

    class ReviewRequested(Message):
        """The user asks for the changes made by the call with this id."""

        def __init__(self, call: str) -> None:
            self.call = call
            super().__init__()

    class AgentRequested(Message):
        """The user asks for the sub-agent that the call with this id started."""

        def __init__(self, call: str) -> None:
            self.call = call
            super().__init__()

    class PinRequested(Message):
        """The user asks to pin unit `unit`, or to pin it no longer."""

        def __init__(self, unit: int) -> None:
            self.unit = unit
            super().__init__()

    class CompactionRequested(Message):
        """The user asks for the `summary` with this id, and what it replaced."""

        def __init__(self, summary: int) -> None:
            self.summary = summary
            super().__init__()

    class RetryRequested(Message):
        """The user asks to retry the turn that failed."""

    class ImagesRequested(Message):
        """The user asks to view these images."""

        def __init__(self, images: Sequence[Image]) -> None:
            self.images = images
            super().__init__()

    class LinksRequested(Message):
        """The user asks to open one of these addresses."""

        def __init__(self, addresses: list[str]) -> None:
            self.addresses = addresses
            super().__init__()

    def __init__(
        self,
        welcome: Callable[[int], list[Line]],
        *,
        review_key: Callable[[], str | None] = no_review,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(welcome, review_key=review_key, clock=clock, id=id)
        self.cursor = BlockCursor(self, self._follow_cursor)
        self.find = Find(self, self.cursor, self._follow_cursor)
        self._lines = LineSelection(self, self.cursor)
        self.overlays = (self.cursor, self.find.highlights, PinMarks(self))
        self._offered: object = None
        self._is_clicked = False
        """True from a click up to a key: who points and then types "/" begins a command at the prompt."""

    def show(self, transcript: Transcript) -> None:
        self.find.forget()
        self.cursor.put(None)
        self._lines.forget()
        super().show(transcript)

    def update_units(self, touched: Iterable[int]) -> None:
        touched = list(touched)
        super().update_units(touched)
        self.find.update_units(touched)

    def reflow(self) -> None:
        super().reflow()
        self._lines.follow_reflow()
        self.find.follow_reflow()

    def toggle(self, index: int, block: int = 0) -> None:
        super().toggle(index, block)
        self._follow_cursor()

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is None:
            self._lines.forget()
        super().selection_updated(selection)
        self._follow_cursor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.has_focus:
            self._follow_cursor()

    def on_focus(self) -> None:
        self._is_clicked = False
        self.refresh()

    def on_key(self) -> None:
        self._is_clicked = False

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        self._is_clicked = True
        if not self.transcript.units and (action := event.style.meta.get(PICK)):
            self.post_message(ButtonBar.Pressed(action))
        if not self.transcript.units or self.text_selection is not None:
            return
        y = self.scroll_offset.y + event.y
        if y >= self.document.height:
            return
        place = self.document.place(y)
        self.cursor.put(BlockPlace(place.unit, place.block))
        if (image := image_chips(self._images()).get(event.style.meta.get(IMAGE, ""))) is not None:
            self.post_message(self.ImagesRequested([image]))
            self._follow_cursor()
            return
        if (call := event.style.meta.get(REVIEW)) is not None:
            self.post_message(self.ReviewRequested(call))
        elif self.document.is_expandable(place.unit) and (
            place.line <= 0 or place.unit not in self.document.expanded
        ):
            self.toggle(place.unit, place.block)
        unit = self.transcript.units[place.unit]
        if isinstance(unit, CallUnit):
            self.post_message(self.CallClicked(place.unit))
        elif isinstance(unit, Summarized):
            self.action_expand()
        elif _offers_retry(unit) and place.line == self.document.block_height(place.unit, 0) - 1:
            self.action_retry()
        self._follow_cursor()

    def go_to_unit(self, index: int) -> None:
        """Move the cursor to the beginning of unit `index`."""
        self.document.unfold(index)
        self.cursor.move_to(BlockPlace(index, self.document.own_block(index)))

    def go_to_top(self, index: int) -> None:
        """Move the cursor to unit `index`, and put that at the top of the view, as far as possible."""
        self.set_following(False)
        self.start_at(LinePosition(index, 0, 0))
        self.settle()
        self.set_following(self.scroll_offset.y >= self.max_scroll_y)
        self.cursor.put(BlockPlace(index, 0))
        self._follow_cursor()

    def action_message(self, step: int) -> None:
        """Put the user's previous or next message at the top; go to an end where there is none."""
        units, here = self.transcript.units, self.document.place(self.scroll_offset.y)
        messages = (index for index, unit in enumerate(units) if isinstance(unit, UserMessage))
        if step > 0:
            target = next((index for index in messages if index > here.unit), None)
        else:
            above = [index for index in messages if LinePosition(index, 0, 0) < here]
            target = above[-1] if above else None
        if target is not None:
            self.go_to_top(target)
        else:
            (self.action_first if step < 0 else self.action_last)()

    def action_block(self, step: int) -> None:
        """Move the cursor by a block; while lines are selected, extend or shrink the selection by one."""
        if self._lines.is_active:
            self._lines.extend_by_block(step)
        else:
            self.cursor.move(step)

    def action_expand(self) -> None:
        """Open or close the unit at the cursor, or keep open what the search has opened; request the view of
        a summary."""
        if (block := self.cursor.place) is None or self.find.keep(block.unit):
            return
        unit = self.transcript.units[block.unit]
        if isinstance(unit, Summarized):
            self.post_message(self.CompactionRequested(unit.summary))
        elif self.document.is_expandable(block.unit):
            self.cursor.put(block)
            self.toggle(*block)

    def action_select_lines(self) -> None:
        self._lines.toggle()

    def action_extend(self, step: int) -> None:
        self._lines.extend(step)

    def action_copy(self) -> None:
        """Copy the selection, else the source of the block."""
        text = self.screen.get_selected_text() if self.text_selection is not None else None
        if text:
            self.screen.clear_selection()
        self._copy(text or self._block_text())

    def action_copy_code(self) -> None:
        """Copy the code of the block; if it has none, the whole answer that it belongs to."""
        if (cursor := self.cursor.place) is None:
            return
        unit = self.transcript.units[cursor.unit]
        if isinstance(unit, CallUnit):
            self._copy(outcome_of(unit))
            return
        code = code_in(self._block_text())
        if not code and isinstance(unit, Prose):
            code = code_in(unit.text)
        self._copy("\n\n".join(code), "No code to copy here.")

    def action_copy_answer(self) -> None:
        """Copy all answers of the turn that the block belongs to."""
        if (cursor := self.cursor.place) is not None:
            self._copy(answers_of_turn(self.transcript, cursor.unit), "No answer to copy yet.")

    def action_fork(self) -> None:
        """Request a fork that ends with the unit of the block."""
        self._request_fork("fork")

    def action_edit(self) -> None:
        """Request a fork before the user's message at the cursor, with its text in the prompt."""
        self._request_fork("edit")

    def _request_fork(self, action: str) -> None:
        if (cursor := self.cursor.place) is None:
            return
        bound = self.screen.active_bindings.items()
        keys = (key for key, each in bound if each.node is self and each.binding.action == action)
        letter = next((key for key in keys if len(key) == 1), "")
        self.post_message(self.ForkRequested(self.document.shown_in(*cursor)[-1], letter))

    def action_review(self) -> None:
        """Request the review of the changes made by the call of the block."""
        if (cursor := self.cursor.place) is None:
            return
        match self.transcript.units[cursor.unit]:
            case CallUnit(id=call) | TurnEnd(changing_call=call):
                self.post_message(self.ReviewRequested(call))
            case _:
                return

    def action_agent(self) -> None:
        """Request the sub-agent of the call at the cursor."""
        if (cursor := self.cursor.place) is not None:
            unit = self.transcript.units[cursor.unit]
            if isinstance(unit, CallUnit):
                self.post_message(self.AgentRequested(unit.id))

    def action_pin(self) -> None:
        """Request that the unit of the block be pinned, or no longer be."""
        if (unit := self._pinnable()) is not None:
            self.post_message(self.PinRequested(unit))

    def action_retry(self) -> None:
        """Request that the turn that failed be retried."""
        self.post_message(self.RetryRequested())

    def action_links(self) -> None:
        """Request the images of the block; without any, the list of its addresses, to open one."""
        if images := self._images():
            self.post_message(self.ImagesRequested(images))
            return
        addresses = links_in(self._block_text())
        if addresses:
            self.post_message(self.LinksRequested(addresses))
        else:
            self.notify("No images or links here.", markup=False)

    def action_find(self) -> None:
        """Request the find field."""
        self.post_message(self.FindRequested())

    def action_find_next(self, step: int) -> None:
        self.find.step(step)

    def action_leave(self) -> None:
        """Clear the selection; without one end the search."""
        if self.text_selection is not None:
            self.screen.clear_selection()
        else:
            self.find.end()

    def key_hints(self) -> Hints:
        """The visible keys, after the one for the images of a block that has some."""
        shown = [each.action for each in self.BINDINGS if isinstance(each, Binding) and each.show]
        return Hints(["links", *shown] if self._images() else shown)

    def key_label(self, action: str) -> str:
        if action == "links":
            return "image" if self._images() else ""
        cursor = self.cursor.place
        is_open = action == "expand" and cursor is not None and self.document.is_open(*cursor)
        return "collapse" if is_open else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        cursor = self.cursor.place
        if action == "leave":
            return self.text_selection is not None or self.find.is_active
        if action == "find_next":
            return self.find.is_active
        if action == "review":
            return cursor is not None and _may_have_changed(self.transcript.units[cursor.unit])
        if action == "edit":
            return cursor is not None and isinstance(self.transcript.units[cursor.unit], UserMessage)
        if action == "agent":
            return cursor is not None and _is_delegated(self.transcript.units[cursor.unit])
        if action == "pin":
            return self._pinnable() is not None
        if action == "retry":
            return cursor is not None and _offers_retry(self.transcript.units[cursor.unit])
        if action == "expand":
            return cursor is not None and self._opens(cursor.unit)
        if action in ("copy", "copy_code", "copy_answer", "fork", "links", "select_lines", "extend"):
            return cursor is not None
        if action == "find":
            return cursor is not None and not self._is_clicked
        return super().check_action(action, parameters)

    def action_line(self, step: int) -> None:
        """Scroll by a line; while lines are selected, extend or shrink the selection by one."""
        if self._lines.is_active:
            self._lines.extend(step)
        else:
            self.scroll_lines(step)

    def action_page_up(self) -> None:
        self.scroll_page(-1)

    def action_page_down(self) -> None:
        self.scroll_page(1)

    def action_first(self) -> None:
        self.jump(0)

    def action_last(self) -> None:
        self.follow()

    def _follow_cursor(self) -> None:
        """Refresh after the cursor or its block changed, with the available actions."""
        self.refresh()
        place = self.cursor.place
        unit = place and self.transcript.units[place.unit]
        offered = (
            type(unit),
            self._lines.is_active,
            place and self.document.is_expandable(place.unit),
            place and self.document.is_open(*place),
            _offers_retry(unit),
            _is_delegated(unit),
            bool(self._images()),
        )
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def _opens(self, unit: int) -> bool:
        """Return whether unit `unit` has more than its lines show."""
        is_summary = isinstance(self.transcript.units[unit], Summarized)
        return is_summary or self.document.is_expandable(unit)

    def _pinnable(self) -> int | None:
        """The unit of the block, if it can be pinned: alone in its lines, and stored."""
        cursor = self.cursor.place
        shown = self.document.shown_in(*cursor) if cursor else ()
        return shown[0] if len(shown) == 1 and is_stored(self.transcript.units[shown[0]]) else None

    def _images(self) -> list[Image]:
        """The images of the block."""
        if (cursor := self.cursor.place) is None:
            return []
        units = (self.transcript.units[index] for index in self.document.shown_in(*cursor))
        return [image for unit in units if isinstance(unit, UserMessage | CallUnit) for image in unit.images]

    def _block_text(self) -> str:
        """The source of the block."""
        if (cursor := self.cursor.place) is None:
            return ""
        units, source = self.transcript.units, self.document.source(*cursor)
        text = "\n\n".join(text_of(units[index]) for index in self.document.shown_in(*cursor))
        return text if source is None else text[slice(*source)]

    def _copy(self, text: str, otherwise: str = "Nothing to copy here.") -> None:
        if text:
            app_of(self).copy_to_clipboard(text)
        else:
            self.notify(otherwise, markup=False)


def _is_delegated(unit: object) -> bool:
    return isinstance(unit, CallUnit) and unit.is_delegated


def _offers_retry(unit: object) -> bool:
    return isinstance(unit, Problem | TurnEnd) and bool(unit.retry)


def _may_have_changed(unit: Unit) -> bool:
    """Return whether the unit may have edits: a command does not report the files that it changed."""
    if isinstance(unit, TurnEnd):
        return unit.is_reviewable
    if not isinstance(unit, CallUnit) or not unit.is_reviewable:
        return False
    return unit.settled and (bool(unit.changes()) or unit.name == "shell")
