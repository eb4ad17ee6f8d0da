"""Input of a terminal: any bytes, converted to Textual's messages.

Textual's parser expects valid input, and fails on anything else: bytes that are not UTF-8, numbers that are
not characters, releases of keys. It receives only text, and sequences in forms that it knows, each complete
and with numbers in bounds. All other sequences are dropped, including endless ones.
"""

import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterator
from enum import Enum, auto
from time import monotonic
from typing import TypeAlias

from rich.color_triplet import ColorTriplet
from textual import constants, events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

LONGEST_PASTE = 16 * 1024 * 1024
"""Bytes of a paste; the rest is dropped."""

STALL = 1.0
"""Seconds without a byte of a paste after which Ctrl+C ends it."""

QUICK_ESCAPE = 0.025
"""Seconds within which a sequence follows its ESC, and a key that is typed after Esc does not."""

_LONGEST = 64
"""Bytes of a sequence; a longer one is dropped."""

_MOST_TEXTS = 16
"""Characters that one key may produce."""

_ESCAPE = b"\x1b"
_CTRL_C = b"\x03"
_PASTE_END = b"\x1b[201~"
_FOCUS = ("\x1b[I", "\x1b[O")

ASK_BACKGROUND = "\x1b]11;?\x1b\\"
"""Asks the terminal for its background, which it reports or ignores."""

_REPORT = b"\x1b]11;"
_BACKGROUND = re.compile(rb"\x1b\]11;rgba?:" + rb"/".join([rb"([0-9A-Fa-f]{1,4})"] * 3) + rb"(?:/.*)?")
_LIGHT = 0.5

_PARAMETERS = re.compile(rb"[ -?]*")
_STRING = re.compile(rb"[^\x07\x18\x1a\x1b]*")

_KNOWN = (
    "\x1b\\[(?:"
    r"<\d{1,3};-?\d{1,5};-?\d{1,5}[Mm]"  # the mouse
    r"|\?\d{1,5};\d\$y"  # whether the terminal has a mode
    r"|\d{1,5};\d{1,5}R"  # where the cursor is
    ")"
)
_SIZE = "\x1b\\[48" + r";(\d{1,5})(?::\d*)?" * 4 + "t"
_KEY = (
    "\x1b\\["
    r"(?P<code>\d{0,7})(?::[\d:]*)?"
    r"(?:;(?P<modifiers>\d{0,3})(?::(?P<event>\d))?(?:;(?P<texts>[\d:]*))?)?"
    r"(?P<final>[u~ABCDEFHPQRS])"
)
_RELEASED = "3"


class _State(Enum):
    """The kind of input that the next byte belongs to."""

    TEXT = auto()
    ESCAPE = auto()
    SEQUENCE = auto()
    SHIFTED = auto()
    """The single character after ESC O."""
    STRING = auto()
    STRING_END = auto()
    """The character after an ESC in a string: a backslash, which ends it, or the start of something else."""
    MOUSE = auto()
    """The three bytes of a legacy mouse report."""
    PASTE = auto()


_INTRODUCED = {
    b"[": _State.SEQUENCE,
    b"O": _State.SHIFTED,
    **dict.fromkeys((b"]", b"P", b"X", b"^", b"_"), _State.STRING),
}


class AltKey(events.Key):
    """A key of Alt that the terminal reports as ESC and a character, as it does Esc with `typed` right after.

    It has no text, unless keyboards have a character of their own there.
    """

    __slots__ = ["typed"]

    def __init__(self, key: str, character: str | None, typed: str) -> None:
        super().__init__(key, character)
        self.typed = typed


# Widgets handle it as any key.
AltKey.handler_name = events.Key.handler_name


class BackgroundReport(Message):
    """The terminal's answer to `ASK_BACKGROUND`."""

    def __init__(self, color: ColorTriplet) -> None:
        super().__init__()
        red, green, blue = color.normalized
        self.light = 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT


class TerminalInput:
    """Converts the bytes of one terminal to messages.

    `escape_delay` returns the seconds after which an ESC without a sequence is the key.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        escape_delay: Callable[[], float] = lambda: constants.ESCAPE_DELAY,
    ) -> None:
        self._parser = XTermParser()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._clock = clock
        self._escape_delay = escape_delay
        self._fed_at = clock()
        self._state = _State.TEXT
        self._sequence = b""
        """The sequence so far; of one that is too long, its beginning."""
        self._due = 0
        """The remaining bytes of a legacy mouse report."""
        self._pasted = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Process the next bytes, which may end anywhere; empty input changes nothing."""
        if not data:
            return
        now = self._clock()
        if self._state is _State.PASTE and data == _CTRL_C and now - self._fed_at >= STALL:
            yield from self._end_paste()
        self._fed_at = now
        while data:
            data = yield from self._read(data)

    def tick(self) -> Iterator[Message]:
        """End an incomplete sequence after a delay; a lone ESC is the key."""
        if self._state in (_State.TEXT, _State.PASTE):
            return
        if self._clock() - self._fed_at < self._delay:
            return
        if self._state is _State.ESCAPE:
            yield events.Key("escape", "\x1b")
        elif self._state in _INTRODUCED.values() and len(self._sequence) == len(_ESCAPE) + 1:
            yield from self._with_alt(self._sequence[1:].decode())
        self._state = _State.TEXT

    @property
    def may_be_key(self) -> bool:
        """True after an ESC, which begins a sequence unless it is the key."""
        return self._state is _State.ESCAPE

    @property
    def _delay(self) -> float:
        """Seconds after which what is incomplete ends."""
        if self.may_be_key:
            return self._escape_delay()
        # The rest of a report that a slow connection cuts in two is not typed text.
        reported = self._state in (_State.STRING, _State.STRING_END) and self._sequence.startswith(_REPORT)
        return STALL if reported else constants.ESCAPE_DELAY

    def _read(self, data: bytes) -> "_Reading":
        """Read the first element; return the remaining bytes."""
        match self._state:
            case _State.TEXT:
                return self._read_text(data)
            case _State.ESCAPE:
                return self._read_escape(data)
            case _State.SEQUENCE:
                return self._read_sequence(data)
            case _State.SHIFTED:
                return self._read_shifted(data)
            case _State.STRING:
                return self._read_string(data)
            case _State.STRING_END:
                return self._read_string_end(data)
            case _State.MOUSE:
                return self._read_mouse(data)
            case _State.PASTE:
                return self._read_paste(data)

    def _read_text(self, data: bytes) -> "_Reading":
        text, escape, rest = data.partition(_ESCAPE)
        # Feeding an empty text would end the parser.
        if decoded := self._decoder.decode(text, final=bool(escape)):
            yield from self._parser.feed(decoded)
        if escape:
            self._state = _State.ESCAPE
        return rest

    def _read_escape(self, data: bytes) -> "_Reading":
        first, rest = data[:1], data[1:]
        if first == _ESCAPE:
            yield events.Key("escape", "\x1b")
        elif first in _INTRODUCED:
            self._state, self._sequence = _INTRODUCED[first], _ESCAPE + first
        else:
            self._state = _State.TEXT
            if not first.isascii():
                return data
            # ESC \ is the end of a string.
            if first != b"\\":
                yield from self._with_alt(first.decode())
        return rest

    def _with_alt(self, character: str) -> Iterator[Message]:
        known = f"\x1b{character}"
        is_known = known in ANSI_SEQUENCES_KEYS
        for event in self._parser.feed(known if is_known else character):
            if not isinstance(event, events.Key) or not (character.isprintable() or character == "\r"):
                yield event
            elif is_known:
                yield AltKey(event.key, event.character, character)
            else:
                shift = "shift+" if character.isupper() else ""
                yield AltKey(f"alt+{shift}{event.key.lower()}", None, character)

    def _read_sequence(self, data: bytes) -> "_Reading":
        end = _end(_PARAMETERS, data)
        self._sequence = (self._sequence + data[: min(end, _LONGEST)])[:_LONGEST]
        final, rest = data[end : end + 1], data[end + 1 :]
        if final == b"[" and self._sequence == b"\x1b[":
            # A function key of the Linux console.
            self._sequence += final
        elif final:
            self._state = _State.TEXT
            if not b"@" <= final <= b"~":
                # The byte belongs to no sequence: the sequence was interrupted.
                return final + rest
            yield from self._end_sequence(self._sequence + final)
        return rest

    def _end_sequence(self, sequence: bytes) -> Iterator[Message]:
        if sequence == b"\x1b[M":
            self._state, self._due = _State.MOUSE, 3
        elif sequence == b"\x1b[200~":
            self._state = _State.PASTE
        elif len(sequence) <= _LONGEST and (known := _known(sequence.decode())):
            yield from self._parser.feed(known)

    def _read_shifted(self, data: bytes) -> "_Reading":
        self._state = _State.TEXT
        sequence = (self._sequence + data[:1]).decode("ascii", "replace")
        if sequence not in ANSI_SEQUENCES_KEYS:
            yield from self._with_alt("O")
            return data
        yield from self._parser.feed(sequence)
        return data[1:]

    def _read_string(self, data: bytes) -> "_Reading":
        end = _end(_STRING, data)
        self._sequence = (self._sequence + data[: min(end, _LONGEST)])[:_LONGEST]
        if last := data[end : end + 1]:
            self._state = _State.STRING_END if last == _ESCAPE else _State.TEXT
            if found := _BACKGROUND.fullmatch(self._sequence):
                yield BackgroundReport(ColorTriplet(*map(_byte, found.groups())))
        return data[end + 1 :]

    def _read_string_end(self, data: bytes) -> "_Reading":
        yield from ()
        ended = data[:1] == b"\\"
        self._state = _State.TEXT if ended else _State.ESCAPE
        return data[1:] if ended else data

    def _read_mouse(self, data: bytes) -> "_Reading":
        yield from ()
        taken = min(self._due, len(data))
        self._due -= taken
        if not self._due:
            self._state = _State.TEXT
        return data[taken:]

    def _read_paste(self, data: bytes) -> "_Reading":
        # The end marker may have arrived in two pieces.
        before = max(0, len(self._pasted) - len(_PASTE_END))
        self._pasted += data
        end = self._pasted.find(_PASTE_END, before)
        if end < 0:
            self._drop_middle()
            return b""
        rest = bytes(self._pasted[end + len(_PASTE_END) :])
        del self._pasted[end:]
        yield from self._end_paste()
        return rest

    def _drop_middle(self) -> None:
        """Keep a paste within its bound, with the possible beginning of its end marker."""
        del self._pasted[LONGEST_PASTE : -len(_PASTE_END)]

    def _end_paste(self) -> Iterator[Message]:
        text = self._pasted[:LONGEST_PASTE].decode("utf-8", "replace")
        self._pasted = bytearray()
        self._state = _State.TEXT
        yield events.Paste(text.replace("\x00", ""))


_Reading: TypeAlias = Generator[Message, None, bytes]


def _byte(digits: bytes) -> int:
    """A part of a color of one to four hexadecimal digits as one of two."""
    return int(digits, 16) * 255 // (16 ** len(digits) - 1)


def _end(pattern: re.Pattern[bytes], data: bytes) -> int:
    """The end of the longest run of `pattern` at the beginning of `data`."""
    found = pattern.match(data)
    return found.end() if found else 0


def _known(sequence: str) -> str:
    """Convert `sequence` to a form that Textual's parser accepts; empty if it is to be dropped."""
    if sequence in ANSI_SEQUENCES_KEYS or sequence in _FOCUS or re.fullmatch(_KNOWN, sequence):
        return sequence
    if size := re.fullmatch(_SIZE, sequence):
        return _known_size(*map(int, size.groups()))
    if key := re.fullmatch(_KEY, sequence):
        return _known_key(key)
    return ""


def _known_size(rows: int, columns: int, height: int, width: int) -> str:
    """The report of a window's size; without pixels, each cell counts as one."""
    if not (rows and columns):
        return ""
    return f"\x1b[48;{rows};{columns};{height or rows};{width or columns}t"


def _known_key(key: re.Match[str]) -> str:
    """The press of a key, without fields that Textual cannot parse: alternate layouts, and the event type."""
    texts = (key["texts"] or "").split(":")
    if key["event"] == _RELEASED or not _is_character(key["code"] or "1"):
        return ""
    text = ":".join(text for text in texts[:_MOST_TEXTS] if _is_printable(text))
    modifiers = key["modifiers"] or ""
    fields = [key["code"], modifiers, text] if text else [key["code"], modifiers]
    return f"\x1b[{';'.join(fields).rstrip(';')}{key['final']}"


def _is_character(number: str) -> bool:
    return int(number) <= sys.maxunicode and not 0xD800 <= int(number) <= 0xDFFF


def _is_printable(number: str) -> bool:
    return number != "" and _is_character(number) and chr(int(number)).isprintable()
