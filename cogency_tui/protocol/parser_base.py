"""The parser of every dialect: a state machine over text, one step after the other, without I/O.

A step takes a piece of text and an index, consumes from there, and returns the next index; a dialect adds
its own steps to the common ones.
"""

from collections.abc import Callable
from typing import Any

from cogency_tui.protocol.event_emitter import AnswerMarks, Clock, Emitter, NewId
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.scanner import LiteralScanner, MarkerScanner

Step = Callable[[Any, str, int], int]


class Machine:
    """`feed` any number of times, `close` once; `finished` when nothing more can count."""

    def __init__(self, clock: Clock, new_id: NewId, first: Step) -> None:
        self.finished = False
        self.forged = False
        self.forged_to_end = False
        self.unclosed = False
        self.rest = ""
        self._emitter = Emitter(clock, new_id)
        self._step = first

    def feed(self, text: str) -> list[Event]:
        """Parse the next piece of the stream."""
        index, end = 0, len(text)
        while index < end and not self.finished:
            index = self._step(self, text, index)
        self.rest = text[index:]
        return self._emitter.take()

    def part(self) -> None:
        """Continue open text as another unit, because another event came in between."""
        self._emitter.part()

    def close(self) -> list[Event]:
        """End the stream: deliver text that was held back, and report what was cut off."""
        if not self.finished:
            self._end()
            self.finished = True
        return self._emitter.take()

    def _end(self) -> None:
        """Close open text when the stream ends."""
        raise NotImplementedError


class TagMachine(Machine):
    """The dialects whose markers are tags: text outside them is answer text.

    `opening` are the tags that begin something, `answer_end` ends a wrapper around an answer and counts
    only within one.
    """

    def __init__(self, clock: Clock, new_id: NewId, opening: tuple[str, ...], answer_end: str) -> None:
        super().__init__(clock, new_id, TagMachine._text)
        self._outside = MarkerScanner(opening)
        self._within = MarkerScanner((*opening, answer_end))
        self._markers = self._outside
        self._closing = LiteralScanner(answer_end)

    def _open(self, marker: str) -> None:
        """Process a marker in answer text."""
        raise NotImplementedError

    def _text(self, text: str, index: int) -> int:
        plain, index, marker = self._markers.scan(text, index)
        if plain:
            self._emitter.text(plain)
        if marker:
            self._open(marker)
        return index

    def _begin_answer(self, *, wrapped: bool) -> None:
        """Begin another unit of answer text, from now on in its wrapper or outside."""
        self._markers = self._within if wrapped else self._outside
        self._resume_answer()

    def _resume_answer(self) -> None:
        """Begin another unit of answer text, in the same place as before."""
        self._markers.restart()
        self._emitter.begin_unit("respond", self._answer_marks())
        self._step = TagMachine._text

    def _answer_marks(self) -> AnswerMarks:
        """Return the marks of answer text that begins here."""
        return {}

    def _begin_thought(self, closing: str) -> None:
        self._emitter.begin_unit("think")
        self._closing = LiteralScanner(closing)
        self._step = TagMachine._thought

    def _thought(self, text: str, index: int) -> int:
        plain, index, closed = self._closing.scan(text, index)
        if plain:
            self._emitter.text(plain)
        if closed:
            self._resume_answer()
        return index

    def _begin_forged_results(self) -> None:
        self._resume_answer()
        self.forged = True
        self._emitter.error(
            "The model wrote a <results> block itself; it was discarded: only the engine reports results"
        )
        self._closing = LiteralScanner("</results>")
        self._step = TagMachine._forged_results

    def _forged_results(self, text: str, index: int) -> int:
        _, index, closed = self._closing.scan(text, index)
        if closed:
            self._resume_answer()
        return index

    def _end(self) -> None:
        if self._step is TagMachine._text:
            self._emitter.text(self._markers.flush())
        elif self._step is TagMachine._thought:
            self._emitter.text(self._closing.flush())
            self.unclosed = True
        elif self._step is TagMachine._forged_results:
            self.forged_to_end = True
        else:
            self._cut_off()

    def _cut_off(self) -> None:
        """Report that the stream ended within a call."""
        raise NotImplementedError
