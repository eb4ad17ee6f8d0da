"""Sanitizes text: all untrusted text passes through here before it reaches the terminal.

Invariant: the output of this module contains no C0 control but newline and tab, no C1 control, no escape
sequence (CSI, OSC, DCS and related), no lone surrogate and no bidirectional override, however the input was
cut into chunks. `clean` strips them from prose and output; `reveal` shows them, for commands and paths that
the user is about to judge. `disarm` is the last barrier, for text that is already laid out in cells.
"""

import re
import unicodedata
from collections.abc import Iterator

_STRING_LIMIT = 4096
_CSI = "(?:\x1b\\[|\x9b)[0-?]{0,256}[ -/]{0,16}"
_STRING = f"(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{{0,{_STRING_LIMIT}}}"

# Patterns that few texts need are compiled on first use: all together they would delay the start.
_SEQUENCE = f"{_CSI}[@-~]|{_STRING}(?:\x07|\x1b\\\\|\x9c)|\x1b[ -/]{{1,16}}[0-~]|\x1b[0-OQ-WYZ\\\\`-~]"
_UNFINISHED = f"(?:{_CSI}|{_STRING}\x1b?|\x1b[ -/]{{0,16}}|\r)\\Z"
_DROPPED = "(?:\x1b[\\[\\]PX^_])|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_BIDI = "\u202a-\u202e\u2066-\u2069"
_SUSPECT = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ud800-\udfff]")
_BIDI_CHARACTER = f"[{_BIDI}]"
_SEPARATOR = "\r\n?|[\u2028\u2029]"
_SURROGATE = re.compile("[\ud800-\udfff]")
_JOINERS = re.compile("[\u200d\ufe0e\ufe0f]")
_ACTED_ON = re.compile(f"[\x00-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\u200d\ufe0e\ufe0f]")
_BLANKS = r"\n(?:[^\S\n]*\n){3,}|[^\S\n]{40,}"
_MOST_MARKS = 30
"""Marks on one character: more than any script needs (Unicode's stream-safe format has the same limit)."""

_BLANK_LOOKALIKES = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_WIDTHLESS = frozenset(("Mn", "Me", "Cf"))


class Sanitizer:
    """Cleans a stream of text whose control sequences may be cut anywhere.

    An unfinished sequence at the end is held back until the next piece completes it; one that never ends is
    dropped without the text after it.
    """

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, text: str) -> str:
        """The part of `text`, and of the text held back, that is safe to show now."""
        if not self._pending and not _SUSPECT.search(text):
            return text
        text = self._pending + text
        self._pending = ""
        if held := re.search(_UNFINISHED, text):
            text, self._pending = text[: held.start()], held[0]
        return _strip(text)

    def close(self) -> str:
        """The text held back that turned out to be no sequence."""
        text, self._pending = self._pending, ""
        return _strip(text) if text else ""


def clean(text: str) -> str:
    """`text` without anything that a terminal would act on; for prose, code and output."""
    if not _SUSPECT.search(text):
        return text
    return _strip(text)


def without_escapes(text: str) -> str:
    """`text` without escape sequences (CSI, OSC and related), the rest unchanged."""
    return re.sub(_SEQUENCE, "", text)


def _strip(text: str) -> str:
    text = re.sub(_SEPARATOR, "\n", text)
    text = re.sub(_SEQUENCE, "", text)
    text = re.sub(_DROPPED, "", text)
    text = _SURROGATE.sub("\ufffd", text)
    return re.sub(_BIDI_CHARACTER, _name, text)


def reveal(text: str) -> str:
    """`text` with every invisible character shown; for commands and paths.

    Newlines stay. Controls become their pictures (`␛`), other invisible characters their code points
    (`⟨U+202E⟩`).
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_PICTURES)


def one_line(text: str) -> str:
    """`text` revealed and on one line, newlines shown as `⏎`."""
    return reveal(text.strip()).replace("\n", "⏎").replace("\t", " ")


def visible(text: str) -> str:
    """`text` without characters that are not seen and could hide orders to a model."""
    return text if text.isascii() else "".join(filter(_is_visible, text))


def _is_visible(character: str) -> bool:
    code = ord(character)
    selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    return not selector and unicodedata.category(character) != "Cf"


def separate(text: str) -> str:
    """`text` without characters that join others into one, or select their form.

    Terminals disagree on the width of such characters: measured as one character, a text of any length
    would overwrite what is beside it.
    """
    return text if text.isascii() else _JOINERS.sub("", text)


def disarm(text: str) -> str:
    """`text` without the characters that a terminal acts on, newlines and joiners among them.

    A lone surrogate becomes U+FFFD, and of very many marks on one character some remain.
    """
    if text.isascii():
        return text if text.isprintable() else _ACTED_ON.sub("", text)
    text = _SURROGATE.sub("\ufffd", _ACTED_ON.sub("", text))
    return text if len(text) <= _MOST_MARKS else _thin_out(text)


def _thin_out(text: str) -> str:
    safe: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in _WIDTHLESS else 0
        if marks <= _MOST_MARKS:
            safe.append(character)
    return "".join(safe)


class _Pictures(dict[int, str]):
    """The revealed form of each code point, computed on first use."""

    def __missing__(self, code: int) -> str:
        picture = self[code] = _picture(code)
        return picture


_PICTURES = _Pictures({ord(character): character for character in " \n\t"})


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    character = chr(code)
    category = unicodedata.category(character)
    hidden = category[0] == "C" or category[0] == "Z" or character in _BLANK_LOOKALIKES
    if hidden or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return _code_point(code)
    return character


def _name(match: re.Match[str]) -> str:
    return _code_point(ord(match[0]))


def _code_point(code: int) -> str:
    return f"⟨U+{code:04X}⟩"


def fold_blanks(text: str) -> Iterator[tuple[str, bool]]:
    """`text` in parts, each with whether it is a note of ours.

    A note replaces many empty lines or spaces, behind which the rest would be out of sight.
    """
    at = 0
    for match in re.finditer(_BLANKS, text):
        yield text[at : match.start()], False
        lines = match[0].count("\n") - 1
        yield f"\n… {lines} empty lines …\n" if lines > 0 else f"⟨{len(match[0])} spaces⟩", True
        at = match.end()
    yield text[at:], False
