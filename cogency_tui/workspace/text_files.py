"""Text files, decoded such that they can be changed and encoded again.

Invariant: `decode(data).encode() == data` for every text file, and a change affects only what it replaces:
encoding, byte-order mark, each line's ending and a missing final newline stay as they were.
"""

import codecs
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from cogency_tui.errors import ToolError, WorkspaceError

_SAMPLE = 8192
_NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a byte order mark",
    "utf-16-le": "UTF-16 (little endian)",
    "utf-16-be": "UTF-16 (big endian)",
    "latin-1": "ISO-8859-1",
}
_MARKS = {
    "utf-8-sig": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\b\x1b")


@dataclass(frozen=True)
class Text:
    """The content of a text file: `raw` with its original line endings, and its encoding."""

    raw: str
    encoding: str = "utf-8"

    @cached_property
    def plain(self) -> str:
        """Content with every line ending as a newline."""
        return self.raw.replace("\r\n", "\n") if "\r" in self.raw else self.raw

    @cached_property
    def newline(self) -> str:
        """Most frequent line ending."""
        windows = self.raw.count("\r\n")
        return "\r\n" if windows > self.raw.count("\n") - windows else "\n"

    @property
    def encoding_name(self) -> str:
        """Name of the encoding for the user."""
        return _NAMES[self.encoding]

    @property
    def mixed(self) -> bool:
        """True if some lines end in CRLF and others in LF."""
        windows = self.raw.count("\r\n")
        return 0 < windows < self.raw.count("\n")

    def lines(self, start: int, count: int | None = None) -> str:
        """Return lines of `raw`, endings included: from the one numbered `start`, to the end without a
        `count`."""
        pieces = self.raw.split("\n")
        stop = len(pieces) if count is None else min(len(pieces), start - 1 + count)
        return "\n".join(pieces[start - 1 : stop]) + ("\n" if stop < len(pieces) else "")

    def with_changes(self, changes: Iterable[tuple[int, int, str]]) -> "Text":
        """Replace spans of `plain`, given in order and without overlap as (start, end, new text)."""
        if self.plain is self.raw or len(self.plain) == len(self.raw):
            returns: list[int] = []
        else:
            returns = _returns(self.raw)
        pieces: list[str] = []
        done = 0
        for start, end, new in changes:
            first = start + bisect_left(returns, start)
            last = end + bisect_left(returns, end)
            pieces.append(self.raw[done:first])
            pieces.append(self._ended(new, self.raw[first:last]))
            done = last
        pieces.append(self.raw[done:])
        return Text("".join(pieces), self.encoding)

    def replaced_by(self, content: str) -> "Text":
        """Replace the whole content, in this file's encoding; plain newlines become its line ending."""
        return Text(content if "\r\n" in content else self._ended(content, ""), self.encoding)

    def encode(self) -> bytes:
        """The bytes of the file.

        Raises:
            ToolError: the encoding cannot represent a character, or it is a lone surrogate.
        """
        try:
            return _MARKS.get(self.encoding, b"") + self.raw.encode(self.encoding.removesuffix("-sig"))
        except UnicodeEncodeError as error:
            character = self.raw[error.start]
            line = self.raw.count("\n", 0, error.start) + 1
            if "\ud800" <= character <= "\udfff":
                raise ToolError(
                    f"The new content has a lone surrogate (U+{ord(character):04X}) in line {line}, "
                    "which is half a character and cannot be written.",
                    "Write the whole character.",
                ) from None
            raise ToolError(
                f"{character!r} (U+{ord(character):04X}) in line {line} cannot be written in the file's "
                f"encoding, {self.encoding_name}.",
                "Use other characters, or `write` the whole file with overwrite=true, as UTF-8.",
            ) from None

    def _ended(self, new: str, replaced: str) -> str:
        """Return `new` with the line ending of the replaced text, or of the file."""
        plain = new.replace("\r\n", "\n")
        if "\n" in replaced:
            ending = "\r\n" if "\r\n" in replaced else "\n"
        elif "\n" in self.raw:
            ending = self.newline
        else:
            return new
        return plain.replace("\n", "\r\n") if ending == "\r\n" else plain


def decode(data: bytes, name: str) -> Text:
    """Read bytes as text: UTF-8, UTF-16 by its mark, else ISO-8859-1, which accepts any byte.

    Raises:
        WorkspaceError: the bytes are binary.
    """
    encoding = next((encoding for encoding, mark in _MARKS.items() if data.startswith(mark)), "")
    if encoding.startswith("utf-16"):
        text = _decoded(data[2:], encoding)
        if text is not None and "\0" not in text[:_SAMPLE]:
            return Text(text, encoding)
        raise _binary(name, data)
    if b"\0" in data[:_SAMPLE]:
        raise _binary(name, data)
    content = data[3:] if encoding else data
    text = _decoded(content, "utf-8")
    if text is not None:
        return Text(text, encoding or "utf-8")
    sample = data[:_SAMPLE]
    if len(sample) - len(sample.translate(None, _CONTROL)) > len(sample) // 20:
        raise _binary(name, data)
    return Text(data.decode("latin-1"), "latin-1")


def lines_of(plain: str) -> list[str]:
    """Split into lines without their endings; a final newline begins no further line."""
    lines = plain.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _binary(name: str, data: bytes) -> WorkspaceError:
    return WorkspaceError(
        f"{name} is not text ({len(data):,} bytes, binary).", "Inspect it with `shell` (file, xxd, strings)."
    )


def _returns(raw: str) -> list[int]:
    """Return the positions in the plain content where a carriage return was removed, ascending."""
    found: list[int] = []
    position = raw.find("\r\n")
    while position != -1:
        found.append(position - len(found))
        position = raw.find("\r\n", position + 2)
    return found
