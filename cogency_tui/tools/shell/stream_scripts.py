"""Scripts of sed and awk: the files that they read and write, and the programs that they run.

Best effort, for permission questions: a script is parsed as its program does it. The time is proportional
to the text's length.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

from cogency_tui.tools.shell.programs import programs_with
from cogency_tui.tools.shell.simple_command import Simple, Word

_AWK = programs_with("awk")

_SED_VALUES = {"expression": "e", "file": "f", "line-length": "l"}
_AWK_VALUES = {
    "source": "e",
    "file": "f",
    "exec": "E",
    "assign": "v",
    "field-separator": "F",
    "include": "i",
    "load": "l",
}
"""Options that take a value: their long names and their letters."""

_SED_ADDRESS = re.compile(r"[\s;,{}!$~+\d]*")
_SED_LABEL = re.compile(r"[^;\n]*")
_SED_TEXT = re.compile(r"(?:\\.|[^\\\n])*", re.DOTALL)
_SED_FLAGS = re.compile(r"[gpiImM\d]*(?P<runs>e?)[gpiImM\d]*(?:w(?P<file>[^\n]*))?")
_SED_LINE = re.compile(r"[^\n]*")
_SED_PLAIN = frozenset("=dDFgGhHlLnNpPqQxzIM")
"""Commands that name no file, and flags of addresses."""

_AWK_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|#[^\n]*|[A-Za-z_]\w*|[\d.]+|>>?|\\\n|[^\S\n]+|.', re.DOTALL)
_AWK_REGEX = re.compile(r"/(?:\\.|[^\\/\n])*+/?")
_AWK_OPERAND = re.compile(r"[\w.\"$)\]]")
_AWK_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
_CONNECTION = "/inet"
_AWK_RUNNING = re.compile(r"system|@|\|&|\|\s*getline|\|\s*(?:[\"(]|\w++\s*(?:[;}]|$))")
_AWK_HARMLESS = frozenset(("NR", "FNR", "NF", "FILENAME"))
"""Variables whose values refer only to named files."""


@dataclass(frozen=True, slots=True)
class StreamScript:
    """`reads` and `writes` are files that a script names, `opens` marks a script that reads others too, and
    `computes` one that writes others; `runs`: it may start a program."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    computes: bool = False
    runs: bool = False
    opens: bool = False


def stream_script(simple: Simple) -> StreamScript:
    """Return the effects of the script of a sed or awk; none for another program."""
    if simple.program == "sed":
        given = _given(simple, _SED_VALUES)
        return _sed(given.text, given.known)
    if simple.program in _AWK:
        given = _given(simple, _AWK_VALUES)
        found = _awk(given.text, given.known, given.variables)
        return replace(found, runs=True) if _connects(simple) else found
    return StreamScript()


def _connects(simple: Simple) -> bool:
    """Return whether a file name in awk's arguments is that of a connection."""
    return any(_CONNECTION in word.text for word in simple.arguments)


@dataclass(frozen=True, slots=True)
class _Given:
    """A script, whether the shell expands nothing in it, and the variables that have values beforehand."""

    text: str
    known: bool
    variables: frozenset[str]


def _given(simple: Simple, values: Mapping[str, str]) -> _Given:
    """Return the scripts behind options, else the first operand; also the input where that is one."""
    scripts: list[Word] = []
    operands: list[Word] = []
    assigned: list[Word] = []
    separate = plain = False
    rest = iter(simple.arguments)
    for word in rest:
        if plain or not word.text.startswith("-") or word.text == "-":
            operands.append(word)
            continue
        plain = word.text == "--"
        letter, beginning = _option(word.text, values)
        if not letter:
            continue
        value = word.after(beginning) if len(word.text) > len(beginning) else next(rest, Word(""))
        separate = separate or letter in "efE"
        if letter == "e":
            scripts.append(value)
        elif letter in "fE" and value.text in ("-", "/dev/stdin"):
            scripts += _inputs(simple)
        elif letter == "v":
            assigned.append(value)
    if not separate:
        scripts += operands[:1]
    names = (word.text.partition("=")[0] for word in (*assigned, *operands) if "=" in word.text)
    return _Given(
        "\n".join(word.text for word in scripts), all(word.known for word in scripts), frozenset(names)
    )


def _inputs(simple: Simple) -> Iterator[Word]:
    for each in simple.redirections:
        if each.operator == "<<<":
            yield each.target
        elif each.body:
            yield Word("\n".join(each.body), each.target.known)


def _option(text: str, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the letter of the option in a word that takes a value, and the text before an attached value."""
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        letter = next((values[each] for each in values if name and each.startswith(name)), "")
        return letter, f"--{name}{equals}"
    for at, letter in enumerate(text[1:], 2):
        if letter in values.values():
            return letter, text[:at]
        if letter == "i":
            break
    return "", ""


@lru_cache(maxsize=8)
def _sed(text: str, known: bool) -> StreamScript:
    reads: list[str] = []
    writes: list[str] = []
    runs = is_odd = False
    at = 0
    while (at := _end(_SED_ADDRESS, text, at)) < len(text):
        command = text[at]
        at += 1
        if command == "/":
            at = _delimited(text, at, "/", pattern=True)
        elif command == "\\":
            at = _delimited(text, at + 1, text[at : at + 1], pattern=True)
        elif command in "sy":
            delimiter = text[at : at + 1]
            at = _delimited(text, at + 1, delimiter, pattern=command == "s")
            at = _delimited(text, at, delimiter)
            if command == "s" and (flags := _SED_FLAGS.match(text, at)):
                runs = runs or bool(flags["runs"])
                writes += [flags["file"].strip()] if flags["file"] is not None else []
                at = flags.end()
        elif command in "rRwW":
            end = _end(_SED_LINE, text, at)
            (reads if command in "rR" else writes).append(text[at:end].strip())
            at = end
        elif command in "aic":
            at = _end(_SED_TEXT, text, at)
        elif command in "btTv:":
            at = _end(_SED_LABEL, text, at)
        elif command not in _SED_PLAIN:
            runs, is_odd = runs or command == "e", is_odd or command != "e"
            at = _end(_SED_LINE, text, at)
    # Text that is no command begins with the shell's expansion.
    opens = not known and (bool(reads) or is_odd or not text.strip())
    return StreamScript(tuple(reads), tuple(writes), bool(writes) and not known, runs, opens)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _delimited(text: str, at: int, delimiter: str, *, pattern: bool = False) -> int:
    """Return the position behind the next delimiter that is not escaped, nor in the brackets of a
    `pattern`."""
    while at < len(text) and text[at] != delimiter:
        if text[at] == "[" and pattern:
            end = text.find("]", at + (3 if text[at + 1 : at + 2] == "^" else 2))
            # If one is not closed, none that follows is.
            pattern = end >= 0
            at = max(at, end)
        at += 2 if text[at] == "\\" else 1
    return at + 1


@lru_cache(maxsize=8)
def _awk(text: str, known: bool, variables: frozenset[str]) -> StreamScript:
    targets = list(_awk_targets(text))
    beginnings = [_beginning(target) for target in targets]
    computed = not all(
        _is_named(target, beginning, variables) for target, beginning in zip(targets, beginnings, strict=True)
    )
    writes = tuple(beginning for beginning in beginnings if beginning)
    computes = computed or (bool(targets) and not known)
    return StreamScript(writes=writes, computes=computes, runs=bool(_AWK_RUNNING.search(text)))


def _awk_targets(text: str) -> Iterator[list[str]]:
    """Yield the redirection of each `print`, in tokens without brackets."""
    target: list[str] | None = None
    printing = False
    depth = 0
    for token in _awk_tokens(text):
        if token in "()":
            depth += 1 if token == "(" else -1
        elif depth <= 0 and token in ";}\n|":
            if target is not None:
                yield target
            target, printing, depth = None, False, 0
        elif token in ("print", "printf"):
            printing, depth = True, 0
        elif target is not None:
            target.append(token)
        elif printing and depth == 0 and token in (">", ">>"):
            target = []
    if target is not None:
        yield target


def _beginning(target: Sequence[str]) -> str:
    """Return the literals that a target begins with, joined."""
    literals = takewhile(lambda token: token.startswith('"'), target)
    return "".join(_AWK_ESCAPE.sub(_unescaped, literal.strip('"')) for literal in literals)


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 8)) if escape[1] else escape[2]


def _is_named(target: Sequence[str], beginning: str, variables: frozenset[str]) -> bool:
    """Return whether a target is known: it is written out, or its beginning is, which is no directory."""
    if beginning:
        return beginning[-1] != "/"
    first = target[0] if target else ""
    return first in _AWK_HARMLESS or (len(target) == 1 and (first in variables or first.isdecimal()))


def _awk_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a program without blanks and comments."""
    at, before = 0, ""
    while at < len(text):
        regex = text[at] == "/" and not _AWK_OPERAND.match(before[-1:])
        found = (_AWK_REGEX if regex else _AWK_TOKEN).match(text, at)
        token = found[0] if found else text[at]
        at += len(token)
        if token[0] != "#" and token != "\\\n" and (token == "\n" or not token.isspace()):
            before = token
            yield token
