"""The parsed command line: its simple commands, without the programs that wrap them.

Best effort, to decide what to ask about and what to copy. The decision whether a command may run without a
question is stricter: `agent/permissions/rules.py`.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from cogency_tui.tools.shell.find_expression import RUNNING, Expression
from cogency_tui.tools.shell.options import read_arguments, table
from cogency_tui.tools.shell.programs import (
    NETWORK_COMMANDS,
    facts,
    is_interpreter,
    is_known,
    is_path_of_system,
    letters_of,
    options_of,
    programs_with,
)
from cogency_tui.tools.shell.scanner import ASSIGNMENT, DEEPEST, scan
from cogency_tui.tools.shell.simple_command import (
    LISTED,
    SOME_NAME,
    TOO_DEEP,
    TOO_MANY,
    Redirection,
    Simple,
    Word,
)
from cogency_tui.tools.shell.unsafe_listed_names import Splitting

_WRAPPERS = programs_with("wrapper")
_LED = programs_with("led")
_SHELLS = programs_with("shell")
_SCRIPTS = programs_with("scripts")
_CODE = programs_with("joins", "runs-text") | {"eval"}

_OPTIONAL_VALUES = {"xargs": "eil"}
"""Letters of its options that take only an attached value."""

_XARGS = table(
    "0oprtx",
    "EILPadns",
    "interactive no-run-if-empty null open-tty verbose",
    "arg-file delimiter max-args max-chars max-procs process-slot-var",
)
_PARALLEL = table("0k", "Ijn", "bar keep-order null", "jobs max-args")
_OPTIONAL = re.compile(r"-(?:e|i|l\d*|i[^\s-]+)|--(?:replace|max-lines)(?:=.*)?")
_BELOW_FOUND = re.compile(r"\{\}\S*/")
"""A path through an entry that `find` has found, which may be a link."""

_DELIMITERS: Mapping[str, Splitting] = {"\n": "lines", r"\n": "lines", r"\0": "nul"}

_ATTACHED_PLACE = re.compile(r"(?:-i|--replace=)(.+)")
"""Options of `xargs`, besides `-I`, that set the placeholder of a name."""

_ESCAPED = re.compile(r"\\([nt\\])")
_EXPANDED = re.compile(r"[$`\\]")
_SPECIAL_ECHO = re.compile(r"\\|^-")
_SPECIAL_PRINTF = re.compile(r"%|\\[^nt\\]|^-")
_CHARACTERS = {"n": "\n", "t": "\t", "\\": "\\"}

MOST = 1000
"""Most simple commands of one text that are examined."""


def parse(command: str) -> list[Simple]:
    """Return every simple command in the order of writing.

    `sudo rm x` is found as `rm x`, `sh -c "rm x"` as that and as `rm x`, `xargs rm` as `rm` of unknown
    words. If there are more than `MOST`, the rest is `TOO_MANY`.
    """
    found = _parsed(command, 0)
    return [*found[:MOST], TOO_MANY] if len(found) > MOST else found


def _parsed(command: str, depth: int) -> list[Simple]:
    found: list[Simple] = []
    scripts: dict[str, str] = {}
    before: Simple | None = None
    for simple in scan(command, depth):
        found += _unwrapped(simple, depth)
        if len(found) > MOST:
            break
        text = _fed(simple, before, scripts)
        if text and depth < DEEPEST:
            found += _parsed(text, depth + 1)
        for each in simple.redirections:
            if each.writes:
                scripts[_plain(each.target)] = printed(_innermost(simple))
        before = simple if simple.piped else None
    return found


def _fed(simple: Simple, before: Simple | None, scripts: Mapping[str, str]) -> str:
    """Return the text that a shell reads from its input, or from a file that the same command writes; empty
    where that is not written out."""
    simple = _innermost(simple)
    if simple.program in (".", "source") or simple.program in _SHELLS:
        operand = next(iter(simple.operands()), None)
        if operand is not None and operand.text not in ("-", "/dev/stdin"):
            return scripts.get(_plain(operand), "")
        for each in simple.redirections:
            if each.operator in ("<<", "<<<"):
                return _given(each)
        return "" if before is None else printed(_innermost(before))
    # A file that is written and made executable is run by its path.
    path = simple.words[0] if simple.words else None
    return scripts.get(_plain(path), "") if path is not None and "/" in path.text else ""


def _innermost(simple: Simple) -> Simple:
    """Strip the wrappers of a command."""
    while simple.program in _WRAPPERS and (inner := inside(simple)) is not None:
        simple = inner
    return simple


def printed(simple: Simple) -> str:
    """Return a program's output if it is written in the command; empty for any other output."""
    if simple.program == "echo":
        return " ".join(word.text for word in simple.operands())
    if simple.program == "printf":
        texts = [_ESCAPED.sub(lambda found: _CHARACTERS[found[1]], word.text) for word in simple.arguments]
        return "\n".join(texts)
    if simple.program in ("cat", "tee"):
        return "\n".join(_given(each) for each in simple.redirections if each.operator in ("<<", "<<<"))
    return ""


def prints_as_written(simple: Simple) -> bool:
    """Return whether the result of `printed` is a program's whole output, to the letter."""
    words = simple.arguments
    if simple.program in ("echo", "printf"):
        plain = all(word.known and not word.pattern for word in words)
        special = _SPECIAL_ECHO if simple.program == "echo" else _SPECIAL_PRINTF
        joined = len(words) == 1 or simple.program == "echo"
        return plain and joined and not any(special.search(word.text) for word in words)
    reads = simple.program == "cat" and words
    return simple.program in ("cat", "tee") and not reads and reads_as_written(simple)


def reads_as_written(simple: Simple) -> bool:
    """Return whether a program's input is redirected to text that is written in the command to the letter."""
    given = [each for each in simple.redirections if each.operator.startswith("<")]
    if len(given) != 1 or given[0].operator == "<<<":
        return len(given) == 1 and given[0].target.known
    expands = not given[0].target.known and any(map(_EXPANDED.search, given[0].body))
    return given[0].operator == "<<" and not expands


def _given(redirection: Redirection) -> str:
    return "\n".join(redirection.body) if redirection.operator == "<<" else redirection.target.text


def _plain(word: Word) -> str:
    return word.text.removeprefix("./")


def _unwrapped(simple: Simple, depth: int) -> Iterator[Simple]:
    """Yield the command, and those that it runs."""
    for _ in range(DEEPEST):
        inner = inside(simple) if simple.program in _WRAPPERS else None
        yield from _aside(simple, depth)
        if inner is None:
            break
        simple = inner
    program = simple.program
    if (program in _WRAPPERS and inside(simple) is not None) or depth > DEEPEST:
        yield TOO_DEEP
        return
    yield simple
    if program in _SHELLS:
        for index, word in enumerate(simple.arguments[:-1]):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word.text):
                yield from _script([simple.arguments[index + 1]], depth)
                return
    elif program == "eval":
        yield from _script(list(simple.arguments), depth)
    elif simple.words and simple.words[0].known and " " in simple.words[0].text:
        # The wrapped command may be a text for a shell.
        yield from _script(list(simple.words), depth)
    elif program == "trap":
        # Its facts were found when it was met.
        yield from _script([word for word in simple.operands()[:1] if not word.known], depth)
    elif program == "alias":
        for word in simple.operands():
            yield from _script([word.after(word.text[: word.text.find("=") + 1])], depth)
    elif program not in _WRAPPERS and (launched := _launched(simple)) is not None:
        yield from _unwrapped(launched, depth + 1)
    elif program == "find":
        expression = Expression(simple)
        starts = [each for each in expression.starts if each.known]
        prints_alone = simple.piped and len(expression.commands) == 1 and expression.actions <= RUNNING
        for run in expression.commands:
            words = tuple(_found(each, starts) if "{}" in each.text else each for each in run)
            yield from _unwrapped(Simple(words, then=simple.then if prints_alone else ""), depth + 1)


def _launched(simple: Simple) -> Simple | None:
    """Return the command that another program starts: from the first of its arguments that names a known
    program."""
    texts = [word.text for word in simple.arguments if not word.text.startswith("-")]
    runs = texts[:1] in (["run"], ["exec"]) and simple.program not in _SCRIPTS
    if "launcher" not in facts(simple.program) and not runs:
        return None
    for index, word in enumerate(simple.words[1:], 1):
        name = word.text.rpartition("/")[2]
        is_program = is_known(name) or name in NETWORK_COMMANDS or is_interpreter(name)
        # The dot of `go run .` is a directory.
        if word.known and name != "." and is_program:
            return Simple(simple.words[index:], simple.redirections, simple.then, simple.assignments)
    return None


def _aside(simple: Simple, depth: int) -> Iterator[Simple]:
    """Yield a wrapper's other effects: changing to a directory, writing a file, splitting a command. A file
    of the project may have its name only."""
    program = simple.program
    if program in _WRAPPERS and "/" in simple.words[0].text and not is_path_of_system(simple.words[0].text):
        yield Simple(simple.words[:1])
    for word in option_values(simple, options_of("moving", program)):
        yield Simple((Word("cd"), Word("", known=False) if "{}" in word.text else word))
    logs = option_values(simple, options_of("logging", program))
    if program == "flock":
        logs = simple.operands(letters_of("wrapping", program))[:1]
    for word in logs:
        yield Simple((), (Redirection(">>", word),))
    if program == "env":
        for word in option_values(simple, ("-S", "--split-string")):
            operands = simple.operands(letters_of("wrapping", program))
            rest = (replace(each, text=shlex.quote(each.text)) for each in operands)
            yield from _script([word, *rest], depth)


def option_values(simple: Simple, names: Collection[str]) -> list[Word]:
    """Return the values of these options: the next word, or the attached one."""
    found: list[Word] = []
    for word, following in zip_longest(simple.arguments, simple.arguments[1:]):
        for name in names:
            if word.text == name and following is not None:
                found.append(following)
            elif word.text != name and word.text.startswith(f"{name}=" if name.startswith("--") else name):
                found.append(word.after(f"{name}=" if name.startswith("--") else name))
    return found


def _script(words: list[Word], depth: int) -> list[Simple]:
    found = _parsed(" ".join(word.text for word in words), depth + 1)
    return found if all(word.known for word in words) else [*found, Simple((Word("", known=False),))]


def _found(word: Word, starts: Sequence[Word]) -> Word:
    """Return a word in which `find` inserts a found path, below its starts."""
    if _BELOW_FOUND.search(word.text):
        return replace(word, known=False, resolved="")
    names = [start.pattern or start.text for start in starts] or ["."]
    place = f"{{{','.join(each for name in names for each in (name, f'{name}/0'))}}}"
    return replace(word, known=False, resolved=word.text.replace("{}", place) if word.known else "")


def is_found(word: Word) -> bool:
    """Return whether a word consists of a path that `find` inserts."""
    return not word.known and word.text == "{}" and bool(word.resolved) and "{}" not in word.resolved


def _place_of_names(simple: Simple) -> str:
    """Return the placeholder of a name in the command that `xargs` or `parallel` runs."""
    given = [word.text for word in option_values(simple, ("-I",)) if word.known]
    attached = (_ATTACHED_PLACE.fullmatch(word.text) for word in simple.arguments)
    return [*given, *(found[1] for found in attached if found), "{}"][0] or "{}"


def _with_name(word: Word, place: str, given: Word) -> Word:
    """Return a word with a name inserted; a script stays as it is."""
    if word.text == place:
        return given
    if not word.known or " " in word.text:
        return word
    return replace(word, known=False, resolved=word.text.replace(place, SOME_NAME))


def inside(simple: Simple) -> Simple | None:
    """Return the command that a wrapper runs; None where it runs nothing."""
    words = list(simple.arguments)
    assignments = list(simple.assignments)
    while words and (words[0].text.startswith("-") or ASSIGNMENT.match(words[0].text)):
        if ASSIGNMENT.match(words[0].text):
            assignments.append(words[0])
        option = words.pop(0).text
        if option == "--":
            break
        long = option.startswith("--") and any(
            name.startswith(option) for name in options_of("wrapping", simple.program)
        )
        if (long or _takes_next(option, simple.program)) and words:
            words.pop(0)
    del words[: int(simple.program in _LED)]
    if not words:
        return None
    if simple.program in ("xargs", "parallel"):
        own = replace(simple, words=simple.words[: len(simple.words) - len(words)])
        from_pipe = not own.has("a", "arg-file") and not simple.redirections
        splitting = _splitting(own)
        given = LISTED if from_pipe and splitting else Word("", known=False)
        place = _place_of_names(own)
        if any(place in word.text for word in words) and any(map(_runs_text, words)):
            splitting = "code"
        words = [_with_name(word, place, given) if place in word.text else word for word in words]
        words.append(given)
    else:
        splitting = simple.splitting
    # A separate shell does not affect later commands, except by its output.
    then = simple.then if simple.piped else ""
    return Simple(tuple(words), simple.redirections, then, tuple(assignments), splitting)


def _runs_text(word: Word) -> bool:
    """Return whether a word names a program that runs its arguments."""
    name = word.text.rpartition("/")[2]
    return name in _SHELLS or is_interpreter(name) or name in _CODE or " " in word.text


def _takes_next(option: str, program: str) -> bool:
    """Return whether the last of an option's letters takes the next word; text behind another is its
    value."""
    if option.startswith("--") or not option.startswith("-"):
        return False
    valued = letters_of("wrapping", program)
    ending = valued + _OPTIONAL_VALUES.get(program, "")
    at = next((at for at, letter in enumerate(option[1:], 2) if letter in ending), 0)
    return at == len(option) and option[-1] in valued


def _splitting(own: Simple) -> Splitting:
    """Return how `xargs` or `parallel` splits its input; empty where that is not known."""
    words = [word for word in own.arguments if not _OPTIONAL.fullmatch(word.text)]
    given = read_arguments(words, _XARGS if own.program == "xargs" else _PARALLEL)
    if given is None:
        return ""
    delimiters = {word.text for word in option_values(own, ("-d", "--delimiter"))}
    nul = not given.options.isdisjoint(("0", "null"))
    if delimiters or nul or own.program == "parallel":
        ways: set[Splitting] = {_DELIMITERS.get(each, "") for each in delimiters}
        ways |= {"nul"} if nul else set()
        return "lines" if not ways else ways.pop() if len(ways) == 1 else ""
    return "xargs"
