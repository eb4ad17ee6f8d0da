"""Reads one JSON object from a stream as it arrives: strict, in linear time, without looking back.

RFC 8259 with one allowance: a raw newline, carriage return or tab inside a string is literal. Duplicate
keys are errors, and an error names the mistake where it is a known one. The value is built while it is
read, so that the text arguments of a call can be shown while the model still writes them.
"""

import json
import re
from io import StringIO
from typing import Any

MAX_DEPTH = 256

_SPACE = re.compile(r"[ \t\r\n]*")
_SPECIAL = re.compile(r'["\\\x00-\x08\x0b\x0c\x0e-\x1f]')
_RAW_SPACE = re.compile(r"[\t\n\r]")
_NUMBER_RUN = re.compile(r"[-+.0-9eE]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD_RUN = re.compile(r"[A-Za-z]*")
_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONTROLS = {"n": "a newline", "t": "a tab", "r": "a carriage return", "b": "a backspace", "f": "a form feed"}
_LONGEST_PATH = 200
_PATH_END = re.compile(r"(?<!\w)[A-Za-z]:[\w .\x08\t\n\f\r-]+\Z")
"""The end of a string that reads as a Windows path with unescaped backslashes."""
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_LONGEST_NUMBER = 4000
_LONGEST_WORD = 9

# Tokens that may follow outside strings, numbers and words.
_OPENING, _FIRST_KEY, _KEY, _COLON, _VALUE, _FIRST_ITEM, _AFTER_VALUE = range(7)
_EXPECTED = {
    _OPENING: 'an object, beginning with "{"',
    _FIRST_KEY: 'a key in double quotes or "}"',
    _KEY: "a key in double quotes",
    _COLON: '":" after the key',
    _VALUE: "a value",
    _FIRST_ITEM: 'a value or "]"',
    _AFTER_VALUE: '"," or the closing bracket',
}
_FOREIGN_WORDS = {
    "True": "true",
    "False": "false",
    "None": "null",
    "undefined": "null",
    "NaN": "null",
    "Infinity": "null",
}
# Tokens that are being read.
_BETWEEN, _STRING, _ESCAPE, _UNICODE, _NUMBER_TOKEN, _WORD = range(6)


class JsonError(ValueError):
    """The text is not the expected JSON; `index` is the position in the piece last fed, and `width` the
    number of wrong characters from there: 0 where they come before it."""

    def __init__(self, message: str, index: int, width: int = 1) -> None:
        super().__init__(message)
        self.index = index
        self.width = width


class JsonObjectReader:
    """A JSON object, fed in pieces. `value` is complete once `done`; `strict` until the allowance was used.

    `watch` names a key of the object whose own value is an object: its content can be taken while the
    object is still being read, for previews.
    """

    def __init__(self, watch: str, max_depth: int = MAX_DEPTH) -> None:
        self.value: dict[str, Any] = {}
        self.done = False
        self.strict = True
        self._watch = watch
        self._max_depth = max_depth
        self._reading = _BETWEEN
        self._next = _OPENING
        self._stack: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str] = []
        self._is_key = False
        self._watched = False
        self._fresh: dict[str, Any] = {}
        self._fresh_text = StringIO()
        self._text = StringIO()
        self._token = ""
        self._high = ""
        self._after_string = False

    def take_fresh(self) -> dict[str, Any]:
        """Return the content of the watched object since the last call: of text what is new, else values."""
        if self._watched:
            self._store_fresh_text()
        fresh, self._fresh = self._fresh, {}
        return fresh

    def _store_fresh_text(self) -> None:
        if self._fresh_text.tell():
            self._fresh[self._keys[-1]] = self._fresh.get(self._keys[-1], "") + self._fresh_text.getvalue()
            self._fresh_text = StringIO()

    def feed(self, text: str, index: int) -> int:
        """Read from `index` to the object's end or that of `text`; return where reading stopped.

        Raises:
            JsonError: the text is not JSON, or is nested too deeply.
        """
        end = len(text)
        while index < end and not self.done:
            reading = self._reading
            if reading == _STRING:
                index = self._read_string(text, index)
            elif reading == _BETWEEN:
                index = self._read_between(text, index)
            elif reading == _ESCAPE:
                index = self._read_escape(text, index)
            elif reading == _UNICODE:
                index = self._read_unicode(text, index)
            elif reading == _NUMBER_TOKEN:
                index = self._read_number(text, index)
            else:
                index = self._read_word(text, index)
        return index

    def _read_between(self, text: str, index: int) -> int:
        space = _SPACE.match(text, index)
        index = space.end() if space else index
        if index == len(text):
            return index
        char = text[index]
        expected = self._next
        if char == '"' and expected in (_FIRST_KEY, _KEY, _VALUE, _FIRST_ITEM):
            self._is_key = expected in (_FIRST_KEY, _KEY)
            self._watched = not self._is_key and len(self._stack) == 2 and self._keys[:1] == [self._watch]
            self._reading = _STRING
        elif char == ":" and expected == _COLON:
            self._next = _VALUE
        elif char == "," and expected == _AFTER_VALUE:
            self._next = _KEY if isinstance(self._stack[-1], dict) else _VALUE
        elif char == "{" and expected in (_OPENING, _VALUE, _FIRST_ITEM):
            self._open({}, _FIRST_KEY, index)
        elif char == "[" and expected in (_VALUE, _FIRST_ITEM):
            self._open([], _FIRST_ITEM, index)
        elif char == "}" and expected in (_FIRST_KEY, _AFTER_VALUE) and isinstance(self._stack[-1], dict):
            self._close()
        elif char == "]" and expected in (_FIRST_ITEM, _AFTER_VALUE) and isinstance(self._stack[-1], list):
            self._close()
        elif expected in (_VALUE, _FIRST_ITEM) and char in "-0123456789":
            self._token = ""
            self._reading = _NUMBER_TOKEN
            return index
        elif expected in (_VALUE, _FIRST_ITEM) and char.isalpha() and char.isascii():
            self._token = ""
            self._reading = _WORD
            return index
        else:
            raise JsonError(self._unexpected(char), index)
        return index + 1

    def _unexpected(self, char: str) -> str:
        """Describe the mistake that put `char` here, where it is one that models make."""
        expected = self._next
        due = expected == _VALUE and isinstance(self._stack[-1], dict)
        if char in "}]" and expected in (_KEY, _VALUE) and not due:
            return "a comma before the closing bracket"
        message = f"expected {_EXPECTED[expected]}, found {_show(char)}"
        if char in "'`“”‘’" and expected != _AFTER_VALUE:
            return f"{message}; strings and keys need double quotes"
        if char in "/#":
            return f"{message}; JSON has no comments"
        if expected == _AFTER_VALUE and self._after_string:
            return f"{message}; a quote inside a string needs a backslash before it"
        return message

    def _open(self, container: dict[str, Any] | list[Any], expected: int, index: int) -> None:
        if len(self._stack) >= self._max_depth:
            raise JsonError(f"nested deeper than {MAX_DEPTH} levels", index)
        self._stack.append(container)
        self._next = expected

    def _close(self) -> None:
        container = self._stack.pop()
        if self._stack:
            self._add(container)
        elif isinstance(container, dict):
            self.value = container
            self.done = True

    def _add(self, value: Any) -> None:
        self._after_string = isinstance(value, str)
        container = self._stack[-1]
        if isinstance(container, dict):
            key = self._keys.pop()
            container[key] = value
            if len(self._stack) == 2 and not self._watched and self._keys[:1] == [self._watch]:
                self._fresh[key] = value
            if len(self._stack) == 1:
                self.value = container
        else:
            container.append(value)
        self._watched = False
        self._next = _AFTER_VALUE

    def _read_string(self, text: str, index: int) -> int:
        special = _SPECIAL.search(text, index)
        stop = special.start() if special else len(text)
        if stop > index:
            piece = text[index:stop]
            if self.strict and _RAW_SPACE.search(piece):
                self.strict = False
            self._write(piece)
        if special is None:
            return stop
        char = text[stop]
        if char == '"':
            self._end_string(stop)
        elif char == "\\":
            self._reading = _ESCAPE
            if stop + 1 < len(text):
                return self._read_escape(text, stop + 1)
        else:
            raise JsonError(f"the control character U+{ord(char):04X} must be escaped in a string", stop)
        return stop + 1

    def _write(self, piece: str) -> None:
        if self._high:
            piece, self._high = self._high + piece, ""
        self._text.write(piece)
        if self._watched:
            self._fresh_text.write(piece)

    def _end_string(self, index: int) -> None:
        if self._high:
            self._write("")
        content = self._text.getvalue()
        self._text = StringIO()
        self._reading = _BETWEEN
        if self._watched:
            self._store_fresh_text()
        if not self._is_key:
            self._add(content)
            return
        container = self._stack[-1]
        if content in container:
            raise JsonError(f"the key {_show(content)} occurs twice in one object", index)
        self._keys.append(content)
        self._next = _COLON

    def _read_escape(self, text: str, index: int) -> int:
        char = text[index]
        if char == "u":
            self._token = ""
            self._reading = _UNICODE
        elif char in _ESCAPES:
            self._write(_ESCAPES[char])
            self._reading = _STRING
        else:
            problem = f"a backslash cannot be followed by {_show(char)} in a string"
            raise JsonError(f"{problem}; {self._escape_cure(char)}", index)
        return index + 1

    def _escape_cure(self, char: str) -> str:
        if char == "'":
            return "a single quote needs no backslash"
        cure = "write two backslashes for a literal one"
        path = _PATH_END.search(self._text.getvalue()[-_LONGEST_PATH:])
        written = path.group() if path else ""
        controls = [f"\\{each} is {name}" for each, name in _CONTROLS.items() if _ESCAPES[each] in written]
        return f"{cure}, before it too: {', '.join(controls)}" if controls else cure

    def _read_unicode(self, text: str, index: int) -> int:
        char = text[index]
        if char not in _HEX:
            raise JsonError(f"\\u needs four hexadecimal digits, found {_show(char)}", index)
        self._token += char
        if len(self._token) == 4:
            self._add_code_unit(int(self._token, 16))
            self._reading = _STRING
        return index + 1

    def _add_code_unit(self, code: int) -> None:
        # The two halves of a surrogate pair are two escapes; a lone one stays as it is.
        if self._high and 0xDC00 <= code < 0xE000:
            high, self._high = self._high, ""
            self._write(chr(0x10000 + ((ord(high) - 0xD800) << 10) + (code - 0xDC00)))
            return
        if self._high:
            self._write("")
        if 0xD800 <= code < 0xDC00:
            self._high = chr(code)
        else:
            self._write(chr(code))

    def _read_number(self, text: str, index: int) -> int:
        stop = self._extend_token(_NUMBER_RUN, _LONGEST_NUMBER, text, index)
        if stop == len(text) and len(self._token) <= _LONGEST_NUMBER:
            return stop
        number = _NUMBER.fullmatch(self._token)
        if number is None or len(self._token) > _LONGEST_NUMBER:
            raise JsonError(f"{_show(self._token)} is not a JSON number", stop, 0)
        value = float(self._token) if number.group(1) or number.group(2) else int(self._token)
        if value in (float("inf"), float("-inf")):
            raise JsonError(f"the number {_show(self._token)} is out of range", stop, 0)
        self._reading = _BETWEEN
        self._add(value)
        return stop

    def _read_word(self, text: str, index: int) -> int:
        stop = self._extend_token(_WORD_RUN, _LONGEST_WORD, text, index)
        if stop == len(text) and len(self._token) <= _LONGEST_WORD:
            return stop
        if self._token not in _WORDS:
            correct = _FOREIGN_WORDS.get(self._token)
            hint = f"; write {correct}" if correct else ""
            raise JsonError(f"{_show(self._token)} is not a JSON value{hint}", stop, 0)
        self._reading = _BETWEEN
        self._add(_WORDS[self._token])
        return stop

    def _extend_token(self, run: re.Pattern[str], longest: int, text: str, index: int) -> int:
        # One character more than the longest suffices to decide, and the same for every way of cutting.
        found = run.match(text, index, index + longest + 1 - len(self._token))
        stop = found.end() if found else index
        self._token += text[index:stop]
        return stop


def _show(text: str) -> str:
    shown = text if len(text) <= 40 else text[:40] + "…"
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
