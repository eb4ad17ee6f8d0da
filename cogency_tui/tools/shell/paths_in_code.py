"""Paths in the code of a command: in an argument, on its input, or in a file that it creates itself.

Best effort, as for the words of a command: a name that is written out is found, one that is built when the
code runs is not. The time is proportional to the text's length.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from cogency_tui.tools.base import WRITES_UNKNOWN
from cogency_tui.tools.shell.created_file_contents import MadeFiles, is_patching
from cogency_tui.tools.shell.interpreter_code import has_unknown_code, inline_code, script
from cogency_tui.tools.shell.named_paths import only_reads, runs_files
from cogency_tui.tools.shell.programs import facts, is_interpreter, programs_with
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word
from cogency_tui.tools.shell.stream_scripts import stream_script
from cogency_tui.tools.shell.word_paths import LONGEST_PATH
from cogency_tui.workspace.protected_names import protected

_NAME = re.compile(r"[\w.~@+/-]++")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|([0-3][0-7]{2}))")
_FILE_ADDRESS = re.compile(r"\bfile:(?://[\w.-]*)?(?=/)", re.IGNORECASE)
_QUOTES = "\"'`"
_BEFORE_ABSOLUTE = frozenset(f"{_QUOTES}<>")
_BEFORE_DEEP = frozenset("= \t\n") | _BEFORE_ABSOLUTE
"""Characters before an absolute path, and not before a regular expression or in an address."""

_WRITING = re.compile(
    r"writ|open\([^)]*[\"'][rbt]*[wax][bt]*\+?[\"']|unlink|remove|rename|replace\(|copy|move|mkdir|link|chmod"
    r"|append|trunc|>|dump|save|makedirs|rmtree|extract|system|popen|subprocess|spawn|exec|\bw\b|touch",
    re.IGNORECASE,
)
"""Code that writes files."""

_READING = re.compile(r"open|read|file|path|load|require|exists|glob|walk|stat\(|dir\b", re.IGNORECASE)
"""Code that reads files."""

_COMPUTING = re.compile(
    r"\bhome\(|homedir|expanduser|pardir|\bHOME\b|(?:cwd|resolve|absolute)\(\)\.parent|dirname\((?:os\.)?getcwd"
)
"""Code that reaches directories outside without naming them."""

_FOREIGN = re.compile(r"^#!(?!.*\b(?:ba|da|k|z)?sh\b)", re.MULTILINE)
"""The first line of a script that is for no shell."""

_SHELLS = programs_with("posix")
_AWK = programs_with("awk")
_PATCHING = programs_with("patches")
_SIDE = re.compile(r"^[ab]/")
"""Prefix of file names in a patch."""


def protected_in_code(simple: Simple, made: MadeFiles) -> Iterator[tuple[str, str]]:
    """Yield the protected files that code names and may write, each with the reason why it is protected."""
    patching = simple.program in _PATCHING
    for text in _code(simple, made):
        if _writes(text) or patching:
            for name, reason in _protected_in(text):
                yield _SIDE.sub("", name) if patching else name, reason


def unsure_code(simple: Simple, made: MadeFiles) -> str:
    """Explain the question about code that writes to places which are unknown before it runs; empty where
    it does not."""
    if is_interpreter(simple.program) and has_unknown_code(simple):
        return WRITES_UNKNOWN
    writing = (_writes(text) and _computes(text) for text in _code(simple, made))
    return WRITES_UNKNOWN if simple.program not in _SHELLS and any(writing) else ""


def paths_in_code(simple: Simple, made: MadeFiles) -> Iterator[tuple[Word, bool]]:
    """Yield the paths outside that code names, each with whether the code may write it."""
    if simple.program in _SHELLS or simple.program in _PATCHING:
        return
    for text in _code(simple, made):
        writes = _writes(text)
        if writes or not is_interpreter(simple.program) or _reads(text):
            yield from ((word, writes) for word in _outward(text))


@lru_cache(maxsize=8)
def _writes(text: str) -> bool:
    return bool(_WRITING.search(text))


@lru_cache(maxsize=8)
def _reads(text: str) -> bool:
    return bool(_READING.search(text))


@lru_cache(maxsize=8)
def _computes(text: str) -> bool:
    return bool(_COMPUTING.search(text))


@lru_cache(maxsize=8)
def _protected_in(text: str) -> tuple[tuple[str, str], ...]:
    names = (name for name in dict.fromkeys(_NAME.findall(text)) if "/" in name or "." in name)
    return tuple((name, reason) for name in names if (reason := protected(name.split("/"))))


@lru_cache(maxsize=8)
def _outward(text: str) -> tuple[Word, ...]:
    """Return the names in a text that begin outside, or go up."""
    text = _FILE_ADDRESS.sub(_QUOTES[0], _ESCAPE.sub(_unescaped, text))
    names = (found[0] for found in _NAME.finditer(text) if _leads_out(found))
    return tuple(Word(name).after("") for name in dict.fromkeys(names))


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16) if escape[1] else int(escape[2], 8))


def _leads_out(found: re.Match[str]) -> bool:
    name, text = found[0], found.string
    before, after = text[found.start() - 1 : found.start()] or "\n", text[found.end() : found.end() + 1]
    if len(name) > LONGEST_PATH:
        return False
    if name == "..":
        return before in _QUOTES and after != "" and after in _QUOTES
    parts = name.split("/")
    if ".." in parts[:-1] or parts[-2:] == ["..", ""]:
        return True
    if name.startswith("~"):
        return before in _BEFORE_DEEP
    deep = sum(map(bool, parts)) > 1
    return name.startswith("/") and any(parts) and before in (_BEFORE_DEEP if deep else _BEFORE_ABSOLUTE)


def _code(simple: Simple, made: MadeFiles) -> Iterator[str]:
    """Yield the texts that a program runs as code."""
    program = simple.program
    if program == "sed" or program in _AWK:
        # The files of their scripts are known.
        if stream_script(simple).runs:
            yield "\n".join(word.text for word in simple.arguments)
        return
    if is_interpreter(program):
        yield from inline_code(simple)
        yield made.text
        yield made.piped if script(simple) is None or LISTED in simple.words else ""
    elif program in made and "/" in simple.words[0].text and _FOREIGN.search(made.text):
        yield made.text
    elif runs_files(simple) or "interpreter" in facts(program):
        yield from (
            word.resolved or word.text
            for word in simple.arguments
            if not word.text.startswith("-") or " " in word.text
        )
    written = bool({"words", "writer"} & facts(program))
    if only_reads(simple) or (written and program not in _PATCHING):
        return
    if is_patching(simple):
        yield made.gives(simple)
    for redirection in simple.redirections:
        if redirection.operator == "<<<":
            yield redirection.target.resolved or redirection.target.text
        yield "\n".join(redirection.body)
