"""The paths that a command names, and whether it may read or write them.

An unknown program may write each path in its arguments. The calls block.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

from cogency_tui.tools.base import WRITES_UNKNOWN
from cogency_tui.tools.shell.command_line import option_values
from cogency_tui.tools.shell.files_outside_project import is_public
from cogency_tui.tools.shell.find_expression import Expression
from cogency_tui.tools.shell.git_command import git_command, git_name
from cogency_tui.tools.shell.interpreter_code import inline_code
from cogency_tui.tools.shell.paths_in_arguments import addressed, files_in_arguments
from cogency_tui.tools.shell.programs import (
    base_name,
    facts,
    git_with,
    is_interpreter,
    letters_of,
    options_of,
    programs_with,
)
from cogency_tui.tools.shell.shell_variables import TOPMOST
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word, all_alternatives
from cogency_tui.tools.shell.stream_scripts import stream_script
from cogency_tui.tools.shell.taint_free_commands import formats_json
from cogency_tui.tools.shell.word_paths import LONGEST_PATH, Places, joined
from cogency_tui.workspace.paths import Location, Workspace
from cogency_tui.workspace.protected_names import protected, shown

_OPTION = "--separate-git-dir"
_SHORTEST = "--se"
"""Git accepts every unambiguous beginning of an option."""


def moved_by_git(simple: Simple) -> Iterator[Word]:
    """Yield the places of `.git` from which a command moves the repository, or that it makes lead
    elsewhere, without naming them."""
    command = git_command(simple)
    if command is None or command.name not in ("clone", "init"):
        return
    values = [
        value for option, value in pairwise(simple.arguments) if _separates(option) and "=" not in option.text
    ]
    if not any(map(_separates, simple.arguments)):
        return
    start = "".join(f"{value.text}/" for value in command.values("-C"))
    here = [Word(".")] if command.name == "init" else []
    for word in (*here, *Simple(command.words).operands()):
        if "://" not in word.text and not any(word is value for value in values):
            yield Word(f"{start}{word.text}/.git", known=word.known)


def _separates(word: Word) -> bool:
    name = word.text.partition("=")[0]
    return _OPTION.startswith(name) and name.startswith(_SHORTEST)


_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd(?:/\d+)?)|/proc/self/fd/\d+"
)

_OPTION_PATH = re.compile(r"-[A-Za-z]+((?:/|~|\.\.).*)|(?:--?)?[\w.-]+=(.*)")
_BUNDLE = re.compile(r"-[A-Za-z]")
_MOST_LETTERS = 8

_SHELLS = programs_with("posix")
_AWK = programs_with("awk")
_COPYING = programs_with("copies")
_MODE_FIRST = programs_with("mode-first")
_DECLARING = programs_with("declares")
_PATTERN_FIRST = programs_with("pattern-first")
_PATTERN_OPTION = programs_with("pattern-option")
_GIT_READING = git_with("reading")

_KNOWN_BY_NAME = "stat"
"""A program that reads no contents, as stand-in: variables may name programs of the system."""

_OUTPUT = "--output"

_EXCLUDING = re.compile(r"--?(?:extend-|force-)?(?:exclude|ignore|i?glob|prune|not|skip)[\w-]*|-[EIx]")
"""Options whose values are names to exclude."""

_REQUESTED = re.compile(r"\+?(?:refs/)?(?:pull|merge-requests)/\d+/head(?::[\w./-]+)?")
"""A requested pull, as `git fetch` names it."""

_SEPARATOR = re.compile(r"[,:;=@<]")
_NAME_SEPARATOR = re.compile(r"[,:;=>|#%\]]")
_BLANK = re.compile(r"\s")
_OUTWARD = ("/", "../", "~/")
_LONGEST_BUNDLE = 64
_BUNDLED_OUTPUT = re.compile(r"-[A-Za-z]+?o")

_SCRIPT_OPTION = re.compile(r"-[EHIinoqrsuvwz]*e|--expression|--regexp")
"""Options of these programs before a pattern or a script."""


class Named(NamedTuple):
    """A path that a command names, whether the command may read it, and whether it may write it."""

    location: Location
    reads: bool
    writes: bool


def named_paths(
    simple: Simple, places: Places, workspace: Workspace, targets: Mapping[int, Sequence[Word]]
) -> Iterator[Named]:
    """Return the paths that a command names. `targets` are those of links that it creates."""
    for named, reads, writes in _named(simple):
        for word in targets.get(id(named), (named,)):
            for each in located(word, places, workspace, written=not reads):
                yield Named(each, reads, writes)


def _named(simple: Simple) -> Iterator[tuple[Word, bool, bool]]:
    """Yield the words of a command that may be paths, each with whether it may be read, and written."""
    for word in _assigned(simple):
        yield word, True, False
    for redirection in simple.redirections:
        yield redirection.target, not redirection.writes, redirection.writes
    if "words" in facts(simple.program):
        return
    for word in chain(placed(simple), map(Word, stream_script(simple).writes), moved_by_git(simple)):
        yield word, False, True
    reads, can_write = not _writes(simple), not only_reads(simple)
    script = next(iter(simple.operands()), None) if runs_files(simple) else None
    takes_commits = _takes_commits(simple)
    for word in _path_words(simple):
        if takes_commits and word.text == "HEAD":
            continue
        yield word, reads, can_write and word is not script
        if address := addressed(word):
            yield address, True, False
    for word in files_in_arguments(simple):
        yield addressed(word) or word, True, False
    if can_write:
        for word in _bundled(simple):
            yield word, False, True
        for word in chain(_pieces(simple), _protected_pieces(simple)):
            yield word, reads, True


def _assigned(simple: Simple) -> Iterator[Word]:
    """Yield the paths in the values of variables: a program may read and write them, whatever their names."""
    declared = simple.arguments if simple.program in _DECLARING else ()
    for assignment in (*simple.assignments, *declared):
        name, equals, _ = assignment.text.partition("=")
        if not equals or not assignment.sure or name == "IFS":
            continue
        value = assignment.after(f"{name}=")
        text = value.text if value.known else value.resolved
        if text.startswith("-"):
            yield from _path_words(Simple((Word(name), *map(Word, text.split()))))
            continue
        for piece in text.split(":"):
            word = Word(piece).after("") if value.known else Word(piece, known=False, resolved=piece)
            public = TOPMOST not in piece and is_public(Path(os.path.realpath(word.text)), _KNOWN_BY_NAME)
            if ("/" in piece or piece == "..") and not public:
                yield word


def _takes_commits(simple: Simple) -> bool:
    """Return whether `HEAD` is a commit for a program, though a file of a repository has the same name."""
    return simple.program == "git" and git_name(simple) != "mv"


def only_reads(simple: Simple) -> bool:
    """Return whether a program is known to write none of the files that its arguments name."""
    program = base_name(simple.program)
    if program == "git":
        return git_name(simple) in _GIT_READING
    if program in ("uniq", "xxd"):
        return len(simple.operands(letters_of("value", program))) <= 1
    if program == "sed":
        return not _writes(simple)
    if formats_json(simple):
        return True
    if program in _AWK:
        return not simple.has("i", "include")
    return "prints" in facts(simple.program)


def _bundled(simple: Simple) -> Iterator[Word]:
    """Yield protected names that are attached to the letters of options: `-rt.git/hooks`."""
    for word in simple.arguments:
        text = word.text[:_LONGEST_BUNDLE]
        if word.known and re.match(r"-[A-Za-z]", text) and "=" not in text:
            ends = (text[start:] for start in range(2, len(text)))
            yield from (Word(each) for each in ends if protected(each.split("/")))


def _pieces(simple: Simple) -> Iterator[Word]:
    """Yield paths behind other text in an argument: `--map=a:../x`."""
    if _is_code(simple):
        return
    for word in simple.arguments:
        if word.known and "://" not in word.text and not _BLANK.search(word.text):
            pieces = _SEPARATOR.split(word.text)[1:]
            yield from (Word(each).after("") for each in pieces if each == ".." or each.startswith(_OUTWARD))


def _protected_pieces(simple: Simple) -> Iterator[Word]:
    """Yield protected names beside other text in an argument: `100644,<object>,AGENTS.md`."""
    if _is_code(simple) or simple.program in _DECLARING:
        return
    for word in _unexcluded(_without_patterns(simple)):
        if not _BLANK.search(word.text) and "://" not in word.text:
            pattern = word.resolved or word.pattern
            texts = (all_alternatives(pattern) or ()) if pattern else (word.text,)
            pieces = {piece: None for text in texts for piece in _NAME_SEPARATOR.split(text) if piece != text}
            # A bare `HEAD` is a commit.
            found = (piece for piece in pieces if "." in piece or "/" in piece)
            # An unknown part may precede a slash.
            names = (piece if word.known else piece.lstrip("/") for piece in found)
            yield from (Word(name) for name in names if protected(name.split("/")))


def _is_code(simple: Simple) -> bool:
    return simple.program == "sed" or simple.program in _AWK or bool(inline_code(simple))


def _writes(simple: Simple) -> bool:
    """Return whether a program writes files that its arguments name."""
    in_place = simple.program != "sed" or simple.has("i", "in-place")
    return in_place and "writer" in facts(simple.program)


def placed(simple: Simple) -> list[Word]:
    """Return the values of options that select where a program works or writes."""
    names = options_of("place", base_name(simple.program))
    found = option_values(simple, names)
    for word in simple.arguments:
        name, equals, _ = word.text.partition("=")
        # A long option may be abbreviated, a short one may follow others.
        if equals and name not in names and name.startswith("--o") and _OUTPUT.startswith(name):
            found.append(word.after(f"{name}="))
    if "-o" in names:
        for word, following in zip_longest(simple.arguments, simple.arguments[1:]):
            if bundle := _BUNDLED_OUTPUT.match(word.text):
                value = word.after(bundle[0])
                found += [value] if value.text or following is None else [following]
    return found


def unsure_writing(simple: Simple, places: Places, *, listed: bool) -> str:
    """Explain the question about a command that writes to places which are unknown before it runs; empty
    where it does not.

    `listed` marks names of files in the project that are piped into it.
    """
    written = [each.target for each in simple.redirections if each.writes] + placed(simple)
    if _writes(simple):
        operands = simple.operands()
        first = -1 if simple.program in _COPYING else int(simple.program in _MODE_FIRST)
        written += operands[first:]
    for word in written:
        if places.targets(word) is None and not (word is LISTED and listed):
            return "" if places.lookups.used_up else WRITES_UNKNOWN
    return WRITES_UNKNOWN if stream_script(simple).computes else ""


def _path_words(simple: Simple) -> Iterator[Word]:
    """Yield the arguments that may be paths, also those behind an option's `=`."""
    arguments: Iterable[Word] = _without_patterns(simple)
    if simple.program in _PATTERN_FIRST and not simple.has("ef", "regexp", "file", "expression"):
        pattern = next(iter(simple.operands(letters_of("value", simple.program))), None)
        arguments = [word for word in arguments if word is not pattern]
    for word in _unexcluded(arguments):
        if found := _OPTION_PATH.fullmatch(word.text):
            yield word.after(word.text[: found.start(1 if found[1] else 2)])
        if _BUNDLE.match(word.text):
            # Any of the letters may be the option that takes the rest.
            yield from (word.after(word.text[:at]) for at in range(2, min(len(word.text), _MOST_LETTERS)))
        elif not word.text.startswith("-"):
            yield word


def _unexcluded(arguments: Iterable[Word]) -> Iterator[Word]:
    """Yield the arguments without options that exclude names, and without their values."""
    excluding = False
    for word in arguments:
        excludes, excluding = excluding, bool(_EXCLUDING.fullmatch(word.text))
        if not excludes and not _EXCLUDING.fullmatch(word.text.partition("=")[0]):
            yield word


def _without_patterns(simple: Simple) -> Iterator[Word]:
    """Yield the arguments without slashes between fields, and without the values of options for patterns."""
    passed_over = Expression(simple).passed_over() if simple.program == "find" else []
    separating = next(iter(options_of("separator", simple.program)), "")
    before = ""
    for word in simple.arguments:
        is_pattern = simple.program in _PATTERN_OPTION and _SCRIPT_OPTION.fullmatch(before)
        is_slash = separating and (word.text == f"{separating}/" or (before, word.text) == (separating, "/"))
        before = word.text
        is_branch = _REQUESTED.fullmatch(word.text) and simple.program == "git"
        if not (is_pattern or is_slash or is_branch or any(word is each for each in passed_over)):
            yield word


def located(word: Word, places: Places, workspace: Workspace, *, written: bool) -> Iterator[Location]:
    """Yield the possible locations of a word."""
    text = word.resolved or word.text
    if not text or "\0" in word.text or _HARMLESS.fullmatch(text) or ("://" in text and not written):
        return
    if len(text) > LONGEST_PATH and not (word.pattern or word.resolved):
        return
    found = places.targets(word)
    if places.lookups.used_up:
        return
    if found is None and word.known and not word.pattern:
        found = [joined(place, word.text) for place in places.directories]
    for path in found or ():
        target = path.resolve()
        inside = any(target.is_relative_to(root) for root in (workspace.root, *workspace.added))
        if not _HARMLESS.fullmatch(str(target)) and (inside or written or _may_be(target, text)):
            yield Location(target, shown(workspace.name_of(target)), inside, path)


def _may_be(path: Path, text: str) -> bool:
    """Return whether a path outside is one, rather than a word with a slash: its beginning exists, or shows
    that."""
    chain = (path, *path.parents)
    above = next(each for each in chain if os.path.exists(each))  # noqa: PTH110 (it may be forbidden)
    return above != Path(path.anchor) or text.startswith(("../", "~/")) or text == path.anchor


def runs_files(simple: Simple) -> bool:
    """Return whether a program runs the file that is its first operand."""
    return simple.program in _SHELLS or is_interpreter(simple.program)
