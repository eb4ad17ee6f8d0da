"""Finds the simple commands in a text for the shell.

Best effort: they are found inside lists, pipelines, blocks and substitutions too, but what variables stand
for is not known (`Word.known`). No text takes more than time proportional to its length.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.tools.shell_words import TOO_DEEP, Redirection, Simple, Word

LONGEST = 1 << 17
"""Characters: the system starts no longer command."""

DEEPEST = 10
"""Commands inside each other that are looked into."""

_SPACE = " \t\r"
_ORDINARY = re.compile(r"[A-Za-z0-9_./:=+@%,-]+")
_GLOB = "*?["
_EXPANSION = re.compile(r"\$[A-Za-z_]\w*|\$[0-9@*#?$!-]")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_REDIRECTION = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>")
_OPENING = frozenset(
    ("{", "}", "!", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "coproc")
)
"""Reserved words that a command may follow."""

_HEADERS = frozenset(("for", "select", "case", "esac"))
"""Reserved words whose line runs nothing itself."""


def scan(text: str, depth: int = 0) -> list[Simple]:
    """The simple commands of a text, what is substituted in one before it."""
    if depth > DEEPEST:
        return [TOO_DEEP]
    scanner = _Scanner(text[:LONGEST], depth)
    scanner.scan()
    return scanner.found


class _Scanner:
    """One pass over the text; what substitutions hold is added to `found` as it is met."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.found: list[Simple] = []
        self._depth = depth
        self._at: int = 0
        self._word: _Building | None = None
        self._words: list[Word] = []
        self._redirections: list[Redirection] = []
        self._operator = ""
        self._bodies: list[tuple[str, bool]] = []

    def scan(self) -> None:
        """Take the whole text apart."""
        text = self.text
        while self._at < len(text):
            character = text[self._at]
            if character in _SPACE:
                self._at += 1
                self._end_word()
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif character == "#" and self._word is None:
                self._at = self._line_end()
            elif character == "\n":
                self._at += 1
                self._end_command()
                self._skip_bodies()
            elif character in "<>" or text.startswith("&>", self._at):
                self._redirect()
            elif character in ";&|()":
                self._at += 1
                self._end_command()
            else:
                self._take()
        self._end_command()

    def _take(self) -> None:
        """The next piece of a word."""
        word = self._word = self._word or _Building()
        character = self.text[self._at]
        if character == "\\":
            word.add_quoted(self.text[self._at + 1 : self._at + 2])
            self._at += 2
        elif character == "'":
            end = self._find("'", self._at + 1)
            word.add_quoted(self.text[self._at + 1 : end])
            self._at = end + 1
        elif character == '"':
            self._at += 1
            self._double_quoted(word)
        elif character in "$`":
            self._expand(word, quoted=False)
        else:
            run = _ORDINARY.match(self.text, self._at)
            word.add(run[0] if run else character)
            self._at += len(run[0]) if run else 1

    def _double_quoted(self, word: "_Building") -> None:
        word.quoted = True
        while self._at < len(self.text):
            character = self.text[self._at]
            if character == '"':
                self._at += 1
                return
            if character == "\\":
                following = self.text[self._at + 1 : self._at + 2]
                self._at += 2
                if following != "\n":
                    word.add_quoted(following if following in '$`"\\' else f"\\{following}")
            elif character in "$`":
                self._expand(word, quoted=True)
            else:
                word.add_quoted(character)
                self._at += 1

    def _expand(self, word: "_Building", *, quoted: bool) -> None:
        text, at = self.text, self._at
        if text[at] == "`":
            end = at + 1
            while end < len(text) and text[end] != "`":
                end += 2 if text[end] == "\\" else 1
            self._nested(re.sub(r"\\([\\$`])", r"\1", text[at + 1 : end]))
            word.add_unknown(quoted=quoted)
            self._at = end + 1
        elif text.startswith("$(", at):
            end = self._closing(at + 2, "(", ")")
            self._nested(text[at + 2 : end])
            word.add_unknown(quoted=quoted)
            self._at = end + 1
        elif text.startswith("${", at):
            end = self._closing(at + 2, "{", "}")
            inside = text[at + 2 : end]
            self._expanded(word, inside, quoted=quoted)
            if "$(" in inside or "`" in inside:
                self._nested(inside)
            self._at = end + 1
        elif text.startswith("$'", at) and not quoted:
            end = at + 2
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            word.add_quoted(text[at + 2 : end])
            word.known = word.known and "\\" not in text[at + 2 : end]
            self._at = end + 1
        elif text.startswith('$"', at) and not quoted:
            self._at = at + 2
            self._double_quoted(word)
        elif name := _EXPANSION.match(text, at):
            self._expanded(word, name[0][1:], quoted=quoted)
            self._at = name.end()
        else:
            word.add_quoted("$")
            self._at += 1

    @staticmethod
    def _expanded(word: "_Building", name: str, *, quoted: bool) -> None:
        if name == "HOME":
            word.add_quoted(str(_home()))
            word.quoted = word.quoted or quoted
        else:
            word.add_unknown(quoted=quoted)

    def _redirect(self) -> None:
        for opening in ("<(", ">("):
            if self.text.startswith(opening, self._at):
                end = self._closing(self._at + 2, "(", ")")
                self._nested(self.text[self._at + 2 : end])
                self._word = self._word or _Building()
                self._word.known = False
                self._at = end + 1
                return
        if self._word is not None and self._word.text.isdecimal() and not self._word.quoted:
            self._word = None
        self._end_word()
        match = _REDIRECTION.match(self.text, self._at)
        self._operator = match[0] if match else ">"
        self._at += len(self._operator)

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        built = word.build()
        if not self._operator:
            self._words.append(built)
            return
        operator, self._operator = self._operator, ""
        if operator in ("<<", "<<-"):
            self._bodies.append((built.text, word.quoted))
            self._redirections.append(Redirection("<<", Word("", known=word.quoted)))
        else:
            self._redirections.append(Redirection(operator, built))

    def _end_command(self) -> None:
        self._end_word()
        self._operator = ""
        words = list(self._words)
        if words and words[0].text == "function":
            del words[:2]
        while words and words[0].known and words[0].text in _OPENING:
            words.pop(0)
        if words and words[0].text in _HEADERS:
            words.clear()
        while words and ASSIGNMENT.match(words[0].text):
            words.pop(0)
        if words or self._redirections:
            self.found.append(Simple(tuple(words), tuple(self._redirections)))
        self._words.clear()
        self._redirections.clear()

    def _skip_bodies(self) -> None:
        """Step over here-documents; the shell runs what it finds substituted in them."""
        for delimiter, quoted in self._bodies:
            body: list[str] = []
            while self._at < len(self.text):
                end = self._line_end()
                line = self.text[self._at : end]
                self._at = end + 1
                if line.lstrip("\t") == delimiter:
                    break
                body.append(line)
            if not quoted and any("$(" in line or "`" in line for line in body):
                self._nested('"' + "\n".join(body).replace('"', '\\"') + '"')
        self._bodies.clear()

    def _nested(self, text: str) -> None:
        self.found += scan(text, self._depth + 1)

    def _closing(self, start: int, opening: str, closing: str) -> int:
        """Where the bracket that was opened before `start` is closed; quotes are stepped over."""
        open_brackets = 1
        at = start
        while at < len(self.text):
            character = self.text[at]
            if character == "\\":
                at += 1
            elif character == "'":
                at = self._find("'", at + 1)
            elif character == opening:
                open_brackets += 1
            elif character == closing:
                open_brackets -= 1
                if not open_brackets:
                    return at
            at += 1
        return len(self.text)

    def _line_end(self) -> int:
        return self._find("\n", self._at)

    def _find(self, what: str, start: int) -> int:
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found


@dataclass(slots=True)
class _Building:
    """A word while it is read: its pieces, each with whether a quote protected it."""

    pieces: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    known: bool = True
    quoted: bool = False
    splits: bool = False

    @property
    def text(self) -> str:
        return "".join(piece for piece, _ in self.pieces)

    def add(self, text: str) -> None:
        self.pieces.append((text, False))

    def add_quoted(self, text: str) -> None:
        self.quoted = True
        self.pieces.append((text, True))

    def add_unknown(self, *, quoted: bool) -> None:
        self.known = False
        self.splits = self.splits or not quoted

    def build(self) -> Word:
        text = self.text
        if self.pieces[:1] == [("~", False)] and text[1:2] in ("", "/"):
            self.pieces[0] = (str(_home()), True)
            text = self.text
        bare = [piece for piece, quoted in self.pieces if not quoted]
        if not (any(piece in _GLOB for piece in bare) or {"{", "}"} <= set(bare)):
            return Word(text, self.known, splits=self.splits)
        pattern = "".join(
            re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", piece) if quoted else piece
            for piece, quoted in self.pieces
        )
        return Word(text, self.known, pattern, self.splits)


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
