"""Detects parts of a command that run text which is not written out in it.

Best effort, for commands with values from elsewhere: in such a command all code has to be written out,
whatever variable it comes from. A value may be an argument and nothing more.
"""

import re
from collections.abc import Collection, Iterator
from itertools import dropwhile, pairwise

from cogency_tui.tools.shell.command_line import inside
from cogency_tui.tools.shell.programs import is_interpreter, letters_of, programs_with
from cogency_tui.tools.shell.scanner import ASSIGNMENT, DEEPEST, scan
from cogency_tui.tools.shell.simple_command import TOO_DEEP, Simple, Word

_SHELLS = programs_with("shell")
_WRAPPERS = programs_with("wrapper")
_CODE = programs_with("evaluates")
_NAMING = programs_with("names")
_JOINING = programs_with("joins") | (programs_with("runs-text") - programs_with("builtin"))
_WITH_CODE = programs_with("shell", "takes-code")
_EDITORS = programs_with("awk") | {"sed"}
_SPLIT = programs_with("starts")
_CONDITIONS = programs_with("subscripts") - _NAMING

_CODE_OPTION = re.compile(r"-[A-Za-z0-9]*[ceErp]|--(?:eval|print|run)")
_SCRIPT_OPTION = re.compile(r"-[a-z]*c[a-z]*|--command")
_RUNNING = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_WITH_VALUE = frozenset(
    ("-I", "-O", "-W", "-X", "-o", "-r", "--import", "--init-file", "--rcfile", "--require")
)
"""Options of interpreters whose next word is not the script."""

_ARITHMETIC = r"\(\(|\$\{\w+\[|(?:^|[\s;])\w+\[|\$\{\w+:(?![-=+?])"
"""Beginnings of an expression in which the shell evaluates subscripts, including commands in them."""

_LONGEST_EXPRESSION = 200

_INPUT = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")
_NUMERIC = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"))


def runs_unwritten(command: str, names: Collection[str]) -> str:
    """Describe what would run text that is not written out; empty where nothing does.

    `names` are the variables whose values come from elsewhere.
    """
    name = f"(?:{'|'.join(map(re.escape, names))})\\b"
    if re.search(rf"\$\{{(?:!{name}|{name}@)", command):
        return "an expansion that evaluates the value"
    if re.search(rf"(?:{_ARITHMETIC})[^\n;)}}\]]{{0,{_LONGEST_EXPRESSION}}}(?<!\w)\$?\{{?{name}", command):
        return "an arithmetic expression"
    return next(_all_runners(command, 0), "")


def _all_runners(text: str, depth: int) -> Iterator[str]:
    for simple in scan(text, depth):
        yield from _runners(simple, depth)


def _runners(simple: Simple, depth: int) -> Iterator[str]:
    if simple == TOO_DEEP or depth > DEEPEST:
        yield "deeply nested code"
        return
    if not simple.words:
        return
    program = simple.program
    if not simple.words[0].known:
        yield "the command's own name"
    elif program in _CODE:
        yield from _builtin_runners(simple, depth)
    elif program in _NAMING:
        unknown = [word for word in simple.arguments if not word.known]
        if (simple.has("i") and unknown) or not all(ASSIGNMENT.match(word.text) for word in unknown):
            yield program
    elif program in _JOINING:
        if not all(word.known for word in simple.arguments) or not simple.arguments[1:]:
            yield program
    elif program in _SHELLS or is_interpreter(program):
        yield from _interpreter_runners(simple, depth)
    elif program in _EDITORS:
        yield from _editor_runners(simple)
    elif program in _WRAPPERS:
        yield from _wrapper_runners(simple, depth)
    elif program in _CONDITIONS or program in _SPLIT:
        yield from _argument_runners(simple)
    yield from _shells_within(simple)


def _builtin_runners(simple: Simple, depth: int) -> Iterator[str]:
    program, words = simple.program, simple.arguments
    written = all(word.known and not _INPUT.fullmatch(word.text) for word in words)
    if program == "let" or not written:
        yield program
    elif program == "eval":
        yield from _all_runners(" ".join(word.text for word in words), depth + 1)
    elif program not in (".", "source"):
        for word in words:
            yield from _all_runners(word.text.removeprefix("-"), depth + 1)


def _interpreter_runners(simple: Simple, depth: int) -> Iterator[str]:
    """Yield text behind an option, a file, or the input, which a shell or an interpreter runs."""
    program, words = simple.program, simple.arguments
    has_code = False
    for option, word in pairwise((Word(""), *words)):
        is_code = bool(_CODE_OPTION.fullmatch(option.text)) and not (word.known and word.text[:1] == "-")
        if not word.known and (is_code or not has_code):
            yield program
            return
        if is_code and program in _SHELLS:
            yield from _all_runners(word.text, depth + 1)
            return
        has_code = has_code or is_code
        if option.text == "-m" or _INPUT.fullmatch(word.text):
            break
        if not has_code and word.text[:1] not in ("-", "+") and option.text not in _WITH_VALUE:
            return
    else:
        option = Word("")
    inputs = [each.target for each in simple.redirections if each.operator.startswith("<")]
    if not has_code and option.text != "-m" and (not inputs or not inputs[-1].known):
        yield f"{program}, from its input,"


def _editor_runners(simple: Simple) -> Iterator[str]:
    words = simple.arguments
    separate = False
    for previous, word in pairwise((Word(""), *words)):
        is_script = previous.text in ("-e", "-f") or word.text.startswith(("-e", "--expression", "-f"))
        separate = separate or is_script
        if not word.known and (is_script or word.splits):
            yield simple.program
            return
    script = next(iter(simple.operands(letters_of("value", simple.program))), None)
    if not separate and script is not None and not script.known:
        yield simple.program


def _wrapper_runners(simple: Simple, depth: int) -> Iterator[str]:
    inner = inside(simple)
    if inner is None:
        if any(word.splits for word in simple.arguments):
            yield simple.program
        return
    # xargs has one more word, which it reads.
    count = len(inner.words) - (simple.program == "xargs")
    before = simple.arguments[: len(simple.arguments) - count]
    if any(not word.known and (word.splits or not ASSIGNMENT.match(word.text)) for word in before):
        yield simple.program
    if simple.program == "xargs" and (inner.program in _SHELLS or is_interpreter(inner.program)):
        yield f"xargs {inner.program}"
    yield from _runners(inner, depth + 1)


def _argument_runners(simple: Simple) -> Iterator[str]:
    words = simple.arguments
    if simple.program in _SPLIT:
        dangerous = any(word.splits for word in words) or any(
            option.text in _RUNNING and not word.known for option, word in pairwise(words)
        )
    elif simple.program == "printf":
        dangerous = words[:1] == (Word("-v"),) and not all(word.known for word in words[:2])
    else:
        texts = {word.text for word in words if word.known}
        evaluates = {"-v"} if simple.program != "[[" else _NUMERIC
        dangerous = bool(texts & evaluates) and not all(word.known for word in words)
    if dangerous:
        yield simple.program


def _shells_within(simple: Simple) -> Iterator[str]:
    """Yield shells that another program starts: `docker exec it sh -c "$x"`."""
    words = dropwhile(lambda word: word.text.rpartition("/")[2] not in _WITH_CODE, simple.words)
    if any(_SCRIPT_OPTION.fullmatch(option.text) and not code.known for option, code in pairwise(words)):
        yield "a shell"
