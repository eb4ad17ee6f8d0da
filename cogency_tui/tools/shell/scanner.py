"""The scanner of simple commands in a text for the shell.

Best effort: they are found inside lists, pipelines, blocks and substitutions too, but values of variables
are not known (`Word.known`). The time is proportional to the text's length.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cogency_tui.tools.shell.shell_variables import Value, Variables, substituted
from cogency_tui.tools.shell.simple_command import TOO_DEEP, TOO_MANY, Redirection, Simple, Word

LONGEST = 1 << 17
"""Characters of the longest command that the system starts."""

MOST_WORDS = 4000
"""Most words of one text that are examined."""

DEEPEST = 10
"""Depth of nested commands that are examined."""

_SPACE = " \t\r"
_PIPE = "/dev/fd/0"
_ORDINARY = re.compile(r"[A-Za-z0-9_./:=+@%,-]+")
_GLOB = "*?["
_EXPANSION = re.compile(r"\$[A-Za-z_]\w*|\$[0-9@*#?$!-]")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_PLACES = re.compile(r"GIT_DIR|GIT_WORK_TREE|CDPATH")
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8})|(.))", re.DOTALL
)
_LETTERS = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_EVALUATED = re.compile(r"\[\s*(?:\$\(|`)")
_OPERATOR = re.compile(r"&&|\|\||\|&|[;&|()]")
_SUM = re.compile(r"\$\(\(((?:[\w\s+*/%<>=!&|^~?:,.\[\]$-]|\([\w\s+*/%<>=!&|^~?:,.\[\]$-]*+\))*+)\)\)")
"""Arithmetic, as far as it is surely not a nested command that looks like it."""

_BRANCH_END = re.compile(r";;&?|;&")
_REDIRECTION = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>")
_OPENING = frozenset(
    ("{", "}", "!", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "coproc")
)
"""Reserved words that a command may follow."""

_HEADERS = frozenset(("for", "select", "case", "esac"))
"""Reserved words whose line runs nothing itself."""


def scan(text: str, depth: int = 0) -> list[Simple]:
    """Return the simple commands of a text, each after those substituted in it; of a long text the first
    ones."""
    return _scanned(text, depth).found


def _scanned(text: str, depth: int, outer: Variables | None = None) -> "_Scanner":
    """Return the finished scanner of a text; with `outer`, of one that is substituted in another."""
    scanner = _Scanner(text[:LONGEST], depth, outer)
    if depth > DEEPEST:
        end = [TOO_DEEP]
    else:
        scanner.scan()
        end = [TOO_MANY] if scanner.too_long or len(text) > LONGEST else []
    scanner.found += end
    scanner.own += end
    return scanner


class _Scanner:
    """One pass over the text; the commands of substitutions are added to `found` as they are met."""

    def __init__(self, text: str, depth: int, outer: Variables | None = None) -> None:
        self.text = text
        self.found: list[Simple] = []
        self.own: list[Simple] = []
        """Commands outside substitutions."""
        self._depth = depth
        self._at: int = 0
        self._word: _Building | None = None
        self._words: list[Word] = []
        self._count = 0
        self._redirections: list[Redirection] = []
        self._operator = ""
        self._reserved = 0
        """Reserved words with which the command begins."""
        self._is_case = False
        """True if the command begins with `case`, not in quotes."""
        self._cases = 0
        self._in_pattern = False
        """True if a pattern of `case` is next."""
        self._bodies: list[tuple[str, bool, list[str]]] = []
        self._variables = Variables(text, outer)

    @property
    def too_long(self) -> bool:
        """True if it has more words than are examined."""
        return self._count > MOST_WORDS

    def scan(self) -> None:
        """Scan the whole text."""
        text = self.text
        while self._at < len(text) and not self.too_long:
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
                self._end_command("\n")
                self._skip_bodies()
            elif character in "<>" or text.startswith("&>", self._at):
                self._redirect()
            elif self._cases and (end := _BRANCH_END.match(text, self._at)):
                self._at = end.end()
                self._end_command(";")
                self._in_pattern = True
            elif operator := _OPERATOR.match(text, self._at):
                self._at = operator.end()
                self._end_command(operator[0])
            else:
                self._take()
        self._end_command()

    def _take(self) -> None:
        """Read the next piece of a word."""
        word = self._word = self._word or _Building()
        character = self.text[self._at]
        if character == "\\":
            word.add_quoted(self.text[self._at + 1 : self._at + 2])
            self._at += 2
        elif character == "'":
            end = self._find("'", self._at + 1)
            quoted = self.text[self._at + 1 : end]
            if _EVALUATED.search(quoted) or ("$(" in quoted and "PS4=" in word.text):
                # The shell expands a subscript, and the prompt of `set -x`, even in quotes.
                self._nested(f'"{quoted}"')
            word.add_quoted(quoted)
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
            value = self._nested(re.sub(r"\\([\\$`])", r"\1", text[at + 1 : end]))
            word.add_unknown(value, quoted=quoted)
            self._at = end + 1
        elif sum_ := _SUM.match(text, at):
            # It runs its substitutions, and nothing else.
            self._nested(f': "{sum_[1]}"')
            word.add_unknown(Value("0"), quoted=quoted)
            self._at = sum_.end()
        elif text.startswith("$(", at):
            end = self._closing(at + 2, "(", ")")
            value = self._nested(text[at + 2 : end])
            word.add_unknown(Value("0") if text.startswith("((", at + 1) else value, quoted=quoted)
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
            word.add_quoted(_ESCAPE.sub(_unescaped, text[at + 2 : end]).partition("\0")[0])
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

    def _expanded(self, word: "_Building", name: str, *, quoted: bool) -> None:
        if name == "HOME":
            word.add_quoted(str(_home()))
            word.quoted = word.quoted or quoted
        else:
            word.add_unknown(self._variables.value(name), quoted=quoted, variable=name)

    def _redirect(self) -> None:
        for opening in ("<(", ">("):
            if self.text.startswith(opening, self._at):
                end = self._closing(self._at + 2, "(", ")")
                self._nested(self.text[self._at + 2 : end])
                if opening == "<(" and self.found:
                    self.found[-1] = replace(self.found[-1], then="|")
                self._word = self._word or _Building()
                self._word.add_unknown(Value(_PIPE), quoted=True)
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
            if self._reserved == len(self._words) and built.known and built.text in _OPENING:
                # The rest of the same command is expanded after it.
                self._variables.reserved(built.text)
                self._reserved += 1
            elif self._reserved == len(self._words):
                self._is_case = built.text == "case" and not word.quoted
            self._words.append(built)
            self._count += 1
            return
        operator, self._operator = self._operator, ""
        if operator in ("<<", "<<-"):
            body: list[str] = []
            self._bodies.append((built.text, word.quoted, body))
            self._redirections.append(Redirection("<<", Word("", known=word.quoted), body))
        else:
            self._redirections.append(Redirection(operator, built))

    def _end_command(self, operator: str = "") -> None:
        self._end_word()
        self._operator = ""
        words = list(self._words)
        variables = self._variables
        assignments: list[Word] = []
        if self._ends_pattern(operator):
            return
        del words[: self._reserved]
        self._reserved = 0
        if words and words[0].text == "function":
            del words[:2]
        while words and words[0].known and words[0].text in _OPENING:
            variables.reserved(words.pop(0).text)
        if words and words[0].text in _HEADERS:
            variables.reserved(words[0].text)
            if words[0].text in ("for", "select"):
                variables.loop(words)
                assignments += [Word(f"{word.text}=") for word in words[1:2]]
            elif words[0].text == "esac":
                self._cases = max(self._cases - 1, 0)
            elif self._is_case:
                self._cases += 1
                self._in_pattern = operator != ")"
            words.clear()
        self._is_case = False
        if words and all(ASSIGNMENT.match(word.text) for word in words):
            variables.assigned(words, operator)
        while words and ASSIGNMENT.match(words[0].text):
            self._move(words[0])
            assignments.append(words.pop(0))
        if words and words[0].text == "trap":
            self._nested(next((word.text for word in words[1:] if word.known and word.text[:1] != "-"), ""))
        if words or assignments or operator != "\n":
            variables.ended(operator)
        variables.reserved(operator)
        if words or self._redirections or assignments:
            simple = Simple(tuple(words), tuple(self._redirections), operator, tuple(assignments))
            self.found.append(simple)
            self.own.append(simple)
        self._words.clear()
        self._redirections.clear()

    def _ends_pattern(self, operator: str) -> bool:
        """Return whether the present word is a part of a pattern of `case`, which runs nothing."""
        words = self._words
        if not self._in_pattern or (words and words[0].text == "esac"):
            self._in_pattern = False
            return False
        if words and operator not in ("|", "|&", ")"):
            # It is none: a line may not end in one.
            self._in_pattern = False
            return False
        self._in_pattern = operator != ")"
        self._reserved = 0
        words.clear()
        return True

    def _move(self, assignment: Word) -> None:
        """Treat a variable that sets git's directory, or that of `cd`, as a `cd`."""
        name = assignment.text.partition("=")[0]
        if _PLACES.fullmatch(name) and assignment.sure:
            value = assignment.after(f"{name}=")
            pieces = [Word(piece) for piece in value.text.split(":")] if value.known else [value]
            self.found += (Simple((Word("cd"), piece)) for piece in pieces if piece.sure and piece.text)

    def _skip_bodies(self) -> None:
        """Skip here-documents, except for their substitutions, which the shell runs."""
        for delimiter, quoted, body in self._bodies:
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

    def _nested(self, text: str) -> Value | None:
        """Scan a substitution; return its value, where that is known."""
        scanner = _scanned(text, self._depth + 1, self._variables)
        self.found += scanner.found
        return substituted(scanner.own)

    def _closing(self, start: int, opening: str, closing: str) -> int:
        """Return the position where the bracket that was opened before `start` is closed; quotes are
        skipped."""
        text, at = self.text, start
        awaited = [closing]
        while at < len(text):
            character, last = text[at], awaited[-1]
            if character == "\\":
                at += 1
            elif character == last:
                awaited.pop()
                if not awaited:
                    return at
            elif text.startswith(("$(", "${"), at):
                awaited.append(")" if text[at + 1] == "(" else "}")
                at += 1
            elif last != '"' and character == "'":
                at = self._find("'", at + 1)
            elif last != '"' and character == '"':
                awaited.append('"')
            elif last == closing and character == opening:
                awaited.append(closing)
            at += 1
        return len(text)

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
    lead: str = ""
    certain: str = ""
    exact: bool = True
    resolved: list[tuple[str, bool]] | None = field(default_factory=list[tuple[str, bool]])
    variables: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "".join(piece for piece, _ in self.pieces)

    def add(self, text: str) -> None:
        self._append(text, quoted=False)

    def add_quoted(self, text: str) -> None:
        self.quoted = True
        self._append(text, quoted=True)

    def add_unknown(self, value: Value | None = None, *, quoted: bool, variable: str = "") -> None:
        """Add an expansion of the shell; `value` is its value, as far as the command shows it."""
        self.lead = self.text if self.known else self.lead
        self.known = False
        self.splits = self.splits or not quoted
        self.variables.append(variable)
        self.certain += value.certain if value is not None and self.exact else ""
        self.exact = self.exact and value is not None and value.certain == value.pattern
        if value is None:
            self.resolved = None
        elif self.resolved is not None:
            self.resolved.append((value.pattern, False))

    def _append(self, text: str, *, quoted: bool) -> None:
        self.pieces.append((text, quoted))
        self.certain += text if self.exact else ""
        if self.resolved is not None:
            self.resolved.append((text, quoted))

    def build(self) -> Word:
        self._expand_tilde()
        text = self.text
        resolved = _pattern(self.resolved) if self.resolved and not self.known else ""
        alone = len(self.variables) == 1 and not (self.pieces or self.splits)
        variable = self.variables[0] if alone else ""
        bare = [piece for piece, quoted in self.pieces if not quoted]
        if not (any(piece in _GLOB for piece in bare) or {"{", "}"} <= set(bare)):
            pattern = ""
        else:
            pattern = _pattern(self.pieces)
        certain = "" if self.known else self.certain
        return Word(text, self.known, pattern, self.splits, resolved, self.lead, certain, variable)

    def _expand_tilde(self) -> None:
        """Insert the directory of `~` or `~user`; `~+` and `~-` only the shell knows."""
        if self.pieces[:1] != [("~", False)]:
            return
        user, slash, rest = ("", "", "") if len(self.pieces) == 1 else self.pieces[1][0].partition("/")
        home = None if user in ("+", "-") else _home_of(user)
        if home is None:
            self.known, self.resolved = False, None
            return
        # Before a value it is a plain character.
        starts_alike = bool(self.resolved) and self.resolved[:2] == self.pieces[:2]
        for pieces in (self.pieces, *([self.resolved] if self.resolved and starts_alike else [])):
            pieces[:2] = [(home, True), *([(slash + rest, pieces[1][1])] if slash else [])]


def _unescaped(escape: re.Match[str]) -> str:
    """Decode an escape in `$'…'`."""
    code, letter = escape[1], escape[2]
    if letter is not None:
        return _LETTERS.get(letter, letter if letter in "\\'\"?" else escape[0])
    number = int(code, 8) if code.isdecimal() else int(code[1:], 16)
    return chr(number) if number < sys.maxunicode else escape[0]


def _pattern(pieces: Sequence[tuple[str, bool]]) -> str:
    return "".join(
        re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", piece) if quoted else piece
        for piece, quoted in pieces
    )


def _home_of(user: str) -> str | None:
    """The home directory of a user, or of this one; None for what cannot be a name."""
    try:
        return os.path.expanduser(f"~{user}") if user else str(_home())  # noqa: PTH111 (of any user)
    except ValueError:
        return None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
