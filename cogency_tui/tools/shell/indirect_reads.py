"""Files that a command reads without naming them: through links, and by names from elsewhere.

Links are followed as the program follows them, so that one that leads out of the project counts like a path
that the command names. Files that cannot be known before the command runs need a question, and are a source
of untrusted content. The calls block.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from cogency_tui.tools.shell.command_line import option_values
from cogency_tui.tools.shell.find_expression import RUNNING, Expression
from cogency_tui.tools.shell.git_command import git_name
from cogency_tui.tools.shell.interpreter_code import script
from cogency_tui.tools.shell.named_paths import only_reads, runs_files
from cogency_tui.tools.shell.names_from_listings import ListedNames
from cogency_tui.tools.shell.paths_in_arguments import is_listed, names_more
from cogency_tui.tools.shell.programs import facts, git_with, letters_of, options_of, programs_with
from cogency_tui.tools.shell.shell_variables import before_name, is_name
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word
from cogency_tui.tools.shell.stream_scripts import stream_script
from cogency_tui.tools.shell.word_paths import Places

_READING = programs_with("reads")
_FILES_ONLY = programs_with("files-only")
_ENTERING = programs_with("enters")
_GOING = _ENTERING | programs_with("lists")
_PATTERN_FIRST = programs_with("pattern-first")
_NOT_FOLLOWING = programs_with("entry", "text")
_GIT_NOT_FOLLOWING = git_with("keeps-links")
_AWK = programs_with("awk")

_OLD_BUNDLE = re.compile(r"[A-Za-z]*h[A-Za-z]*")
"""The options of `tar` without their dash."""

_RECURSIVE = re.compile(r"-[A-Za-z]{0,3}[rR]|--(?:recursive|dereference-recursive)")
_JQ_NAMING = ("--rawfile", "--slurpfile")
_JQ_IMPORT = re.compile(r"\b(?:import|include)\b")
_AWK_READ = re.compile(r"getline|ARGV|@include|@load")
_AWK_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*+)"?')
_OPEN_ENDED = re.compile(
    r"getline\s*(?:[A-Za-z_]\w*\s*)?<\s*(?!\s*\"[^\"\\]*\"\s*(?:[;)}>]|$))|ARGV|@include|@load"
)


@dataclass(frozen=True, slots=True)
class IndirectReads:
    """`paths` are outside files that links lead to, `words` other files that a script of the program names.
    `unknown` describes files that cannot be known before it runs, and `many` an excess of files; empty
    where there are none."""

    paths: tuple[Path, ...] = ()
    words: tuple[Word, ...] = ()
    unknown: str = ""
    many: str = ""


def indirect_reads(
    simple: Simple, places: Places, roots: tuple[Path, ...], names: ListedNames, *, listed: bool
) -> IndirectReads:
    """Return the files that a command reads without naming them. `names` are those that the parts before
    list, and `listed` states whether such are piped into it."""
    unknown = f"files whose names {simple.program or 'the shell'} receives only at run time"
    takes_names = _takes_names(simple, listed=listed) or _names_files_of(simple, places)
    if _reads_unknown(simple, places, listed=listed) or takes_names:
        return IndirectReads(unknown=unknown)
    words, open_ended = _of_scripts(simple)
    if open_ended:
        return IndirectReads(words=words, unknown=f"files named only in the script of {simple.program}")
    given = [word for word in _given_names(simple) if listed or word is not LISTED]
    follows = _follows(simple) or (simple.program == "find" and _runs_with_links(simple))
    trees, starts = places.lookups.trees, list(_starts(simple, places)) if follows else []
    among = names.outward(given, places, roots, below=simple.program in _ENTERING) if given else ()
    if among is None:
        return IndirectReads(words=words, unknown=unknown)
    kinds = _kinds(simple, given)
    links = chain(among, *(trees.outward(start, roots) for start in starts))
    paths = dict.fromkeys(link.path for link in links if link.kind in kinds)
    complete = all(trees.below(start).complete for start in starts)
    many = "" if complete else f"links that {simple.program} follows, too many to check"
    return IndirectReads(tuple(paths), words, many=many)


def _reads_unknown(simple: Simple, places: Places, *, listed: bool) -> bool:
    """Return whether it reads a file whose name only the shell knows."""
    inputs = [each.target for each in simple.redirections if each.operator == "<"]
    words = [*inputs, *_operands(simple)]
    return any(
        not (word is LISTED and listed)
        and places.targets(word) is None
        and not word.text.startswith("/dev/fd/")
        and not places.lookups.used_up
        for word in words
    )


def _operands(simple: Simple) -> list[Word]:
    """Return the operands of a program that it may read."""
    if simple.program not in _READING and simple.program not in _GOING:
        return _run_file(simple)
    if simple.program == "dd":
        return option_values(simple, ("if=",))
    if simple.program == "find":
        return Expression(simple).starts
    if simple.program == "jq":
        return _jq_files(simple)
    words = simple.operands(letters_of("value", simple.program) + letters_of("selecting", simple.program))
    has_script = simple.program in _PATTERN_FIRST and not simple.has("ef", "regexp", "file", "expression")
    return words[has_script:]


def _run_file(simple: Simple) -> list[Word]:
    """Return the file that a shell or an interpreter runs."""
    if not runs_files(simple):
        return []
    words = (word for word in simple.arguments if word.text == "-" or not word.text.startswith(("-", "+")))
    operand = next(words, None)
    return [] if operand is None or script(simple) is not None else [operand]


def _jq_files(simple: Simple) -> list[Word]:
    """Return the files of `jq`, whose options take up to two words; of some the second is a file."""
    taking = {"--arg": 2, "--argjson": 2, "--indent": 1, **dict.fromkeys(_JQ_NAMING, 2)}
    words, found = simple.arguments, list[Word]()
    skip = 0
    for word in words:
        if skip:
            skip -= 1
        elif word.text.startswith("-") and word.text != "-":
            if word.text in ("--args", "--jsonargs"):
                break
            skip = taking.get(word.text, 0)
        else:
            found.append(word)
    named = [words[at + 2] for at, word in enumerate(words[:-2]) if word.text in _JQ_NAMING]
    return [*named, *found[not simple.has("f", "from-file") :]]


def _takes_names(simple: Simple, *, listed: bool) -> bool:
    from_pipe = simple.program in ("cpio", "pax") and listed
    if simple.program == "find":
        return any(word.text == "-files0-from" for word in simple.arguments)
    if is_listed(simple):
        return names_more(simple, listed=listed)
    return simple.gives(options_of("naming", simple.program)) and not from_pipe


def _names_files_of(simple: Simple, places: Places) -> bool:
    """Return whether an argument is a file with more arguments, as compilers and linters take it."""
    if is_listed(simple):
        return False
    responses = [word.after("@") for word in simple.arguments if word.known and word.text.startswith("@")]
    return any(path.is_file() for word in responses if word.text for path in places.targets(word) or ())


def _of_scripts(simple: Simple) -> tuple[tuple[Word, ...], bool]:
    """Return the files that a program of `awk`, `jq` or `sed` reads, and whether it may read others."""
    text = "\n".join(word.text for word in simple.arguments)
    match simple.program:
        case "jq":
            return (), bool(_JQ_IMPORT.search(text))
        case "sed":
            found = stream_script(simple)
            return tuple(map(Word, found.reads)), found.opens
        case program if program in _AWK and _AWK_READ.search(text):
            texts = tuple(Word(found[1]) for found in _AWK_TEXT.finditer(text))
            known = all(word.known for word in simple.arguments)
            return texts, not known or bool(_OPEN_ENDED.search(text))
        case _:
            return (), False


def _given_names(simple: Simple) -> list[Word]:
    """Return the names out of a list in a command's arguments, where it follows those that are links."""
    written = [each.target for each in simple.redirections]
    words = simple.arguments
    if simple.program == "git":
        command = git_name(simple)
        words = () if command in _GIT_NOT_FOLLOWING and words[0].text == command else words
    elif simple.program == "mv" and not simple.has("t", "target-directory"):
        words = simple.operands(letters_of("copying", simple.program))[-1:]
    elif simple.program in _NOT_FOLLOWING or "words" in facts(simple.program):
        words = ()
    return [word for word in (*words, *written) if is_name(word)]


def _kinds(simple: Simple, given: Sequence[Word]) -> frozenset[str]:
    """Return the kinds of link targets that a program may read or write."""
    if simple.program in _ENTERING:
        return frozenset(("directory", "file", "nothing"))
    recursive = _follows(simple) or any(_RECURSIVE.fullmatch(each.text) for each in simple.words)
    writes = not only_reads(simple) or any(each.writes for each in simple.redirections)
    below = any(before_name(word) is not None for word in given)
    directories = recursive or below or simple.program not in _FILES_ONLY
    files = simple.program not in _GOING or below
    kinds = {"directory": directories, "file": files, "nothing": writes}
    return frozenset(kind for kind, counts in kinds.items() if counts)


def _runs_with_links(simple: Simple) -> bool:
    """Return whether `find` runs a program, on links, that may follow them."""
    expression = Expression(simple)
    programs = {command[0].text for command in expression.commands if command}
    follow = any(each not in _NOT_FOLLOWING and "words" not in facts(each) for each in programs)
    return follow and expression.may_reach_links(RUNNING)


def _follows(simple: Simple) -> bool:
    """Return whether a program follows links that it finds on its way."""
    texts = [word.text for word in simple.arguments]
    match simple.program:
        case "ls":
            return simple.has("R", "recursive") and simple.has("LH", "dereference")
        case "diff" if simple.has("", "no-dereference"):
            return False
        case "zip" if simple.has("y", "symlinks"):
            return False
        case "find":
            return Expression(simple).follows or "-follow" in texts
        case "bsdtar" | "tar" if texts and _OLD_BUNDLE.fullmatch(texts[0]):
            return True
        case _:
            return simple.gives(options_of("following", simple.program))


def _starts(simple: Simple, places: Places) -> Iterator[Path]:
    """Yield the directories from which a program walks: those that it names, or else its own."""
    found = (path for word in _operands(simple) for path in places.targets(word) or ())
    named = [path for path in dict.fromkeys(found) if path.is_dir()]
    yield from named or places.directories
