"""Commands that only print names of files below what they name.

Invariant: a program counts only with options and operands that are known to print only names; arguments are
parsed as the program itself does.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from cogency_tui.tools.shell.find_expression import Expression
from cogency_tui.tools.shell.options import Arguments, Table, is_listed, read_arguments, table
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word


@dataclass(frozen=True, slots=True)
class CommandListing:
    """The names that a command prints: of files below its `starts`, where it has any, or below its
    directory. `of_git`: git has them, in its index or in one of the `revisions`. `prefixed`: each begins
    with a start, so that none begins with a dash. `ends` is the terminator of each."""

    starts: tuple[Word, ...] = ()
    of_git: bool = False
    others: bool = False
    """True if files that git does not have may be among its names."""
    revisions: tuple[str, ...] = ()
    """As they are written, ranges among them, and paths that may be none."""
    prefixed: bool = False
    chosen: bool = False
    """True if they are some of the names listed before."""
    ends: str = "\n"


_SEPARATING = re.compile(r"\\n (?:\\0| )|\\0 \\n")
"""Arguments of `tr` that only change the separators of names."""

_FILTERS: Mapping[str, Table] = {
    "grep": table(
        "EFPaivwxz",
        "em",
        "extended-regexp fixed-strings ignore-case invert-match line-regexp null-data perl-regexp text"
        " word-regexp",
        "regexp",
    ),
    "head": table("qz", "n", "quiet silent zero-terminated", "lines", numbers=True),
    "sort": table(
        "Vbdfghinrsuz",
        "kt",
        "dictionary-order general-numeric-sort human-numeric-sort ignore-case ignore-leading-blanks"
        " numeric-sort reverse stable unique version-sort zero-terminated",
        "field-separator key",
    ),
    "tail": table("qz", "n", "quiet silent zero-terminated", "lines", numbers=True),
    "uniq": table("diuz", "fsw", "ignore-case repeated unique zero-terminated"),
}
"""Programs that print whole lines of their input, and their options with which they do no more. Only `grep`
may have an operand, its pattern."""

_FILTERING_NUL = frozenset(("z", "zero-terminated", "null-data"))

_LS = table(
    "1ABRSUXdprtv",
    "I",
    "almost-all directory group-directories-first ignore-backups recursive reverse zero",
    "hide ignore sort time",
)
_FD = table(
    "0FHIgipsu",
    "ESdet",
    "case-sensitive fixed-strings glob hidden ignore-case no-ignore no-ignore-vcs print0 regex"
    " strip-cwd-prefix unrestricted",
    "and changed-before changed-within exclude extension max-depth min-depth max-results type",
)
_GREP = table(
    "EFHILPRUZahilnrsvwxz",
    "ABCdefm",
    "dereference-recursive extended-regexp files-with-matches files-without-match fixed-strings ignore-case"
    " invert-match line-regexp no-messages null perl-regexp recursive text word-regexp",
    "exclude exclude-dir exclude-from include max-count regexp",
    "color colour",
)
_RG = table(
    "0.FIPSUFHNailsuvwxz",
    "Eefgjmt",
    "case-sensitive files files-with-matches files-without-match fixed-strings glob-case-insensitive hidden"
    " ignore-case invert-match line-regexp multiline no-ignore no-ignore-vcs no-messages null pcre2"
    " smart-case text unrestricted word-regexp",
    "glob iglob max-count max-depth max-filesize regexp sort sortr threads type type-not",
    "color",
)
_GIT_LS_FILES = table(
    "cdikmoz",
    "Xx",
    "cached deduplicate deleted directory error-unmatch exclude-standard full-name ignored killed modified"
    " no-empty-directory others",
    "exclude exclude-from exclude-per-directory",
)
_GIT_DIFF = table(
    "BCDMRabwz",
    "GS",
    "cached exit-code find-copies find-copies-harder find-renames ignore-all-space"
    " ignore-blank-lines ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-submodules"
    " minimal name-only no-color no-ext-diff no-renames no-textconv pickaxe-all pickaxe-regex"
    " relative staged",
    "diff-filter",
    "color find-copies find-renames ignore-submodules",
)
_GIT_GREP = table(
    "EFGHILPahilnrvwz",
    "ABCefm",
    "all-match and basic-regexp cached exclude-standard extended-regexp files-with-matches"
    " files-without-match fixed-strings full-name ignore-case invert-match name-only no-color no-recursive"
    " no-textconv not null or perl-regexp recursive text untracked word-regexp",
    "max-count max-depth",
    "color",
)

_WITH_MATCHES = frozenset(("l", "L", "files-with-matches", "files-without-match", "name-only"))
_NUL = frozenset(("0", "Z", "null", "print0", "z", "zero"))
_OTHERS = frozenset(("o", "others", "k", "killed", "untracked"))
_WITH_PATTERN = frozenset(("e", "f", "regexp"))
_PLAIN_FIND = frozenset(("-delete", "-print", "-print0"))
"""Actions of `find` that print only names."""

_PRINTING_NUL = frozenset(("-print0",))

_REMOVED = "/dev/null"
_LOCALES = re.compile(r"(?:LC_[A-Z]+|LANG)=")


def lists_names(simple: Simple, before: CommandListing | None) -> CommandListing | None:
    """Return the names that a command prints, where it prints nothing else. `before` are those on its
    input."""
    if simple.then == "|&" or any(each.target.text != _REMOVED for each in simple.redirections):
        return None
    if not all(_LOCALES.match(word.text) for word in simple.assignments):
        return None
    listing = (before and _filtered(simple, before)) or _listed(simple)
    # The input of `xargs` is known only if it consists of names.
    return None if before is None and any(word is LISTED for word in simple.words) else listing


def _listed(simple: Simple) -> CommandListing | None:
    match simple.program:
        case "find":
            return _found(simple)
        case "ls":
            return _below(read_arguments(simple.arguments, _LS), prefixed=False)
        case "fd" | "fdfind":
            return _below(read_arguments(simple.arguments, _FD), patterns=1)
        case "grep":
            given = read_arguments(simple.arguments, _GREP, unknown=True)
            return _below(given, patterns=_patterns(given)) if _has(given, _WITH_MATCHES) else None
        case "rg":
            given = read_arguments(simple.arguments, _RG)
            patterns = 0 if _has(given, {"files"}) else _patterns(given)
            return _below(given, patterns=patterns) if _has(given, _WITH_MATCHES | {"files"}) else None
        case "git" if simple.arguments and simple.arguments[0].known:
            return _listed_by_git(simple.arguments[0].text, simple.arguments[1:])
        case _:
            return None


def _has(given: Arguments | None, options: Set[str]) -> bool:
    return given is not None and not options.isdisjoint(given.options)


def _patterns(given: Arguments | None) -> int:
    """Count the operands of a searching program that are no files."""
    return 0 if _has(given, _WITH_PATTERN) else 1


def _below(given: Arguments | None, patterns: int = 0, *, prefixed: bool = True) -> CommandListing | None:
    """Return the names below the operands behind the patterns."""
    if given is None or not all(map(_is_place, given.operands[patterns:])):
        return None
    ends = "\0" if _has(given, _NUL) else "\n"
    starts = tuple(given.operands[patterns:])
    if any(map(is_listed, starts)):
        # The names in directories are others.
        chosen = all(map(is_listed, starts)) and _has(given, _WITH_MATCHES)
        return CommandListing(chosen=True, ends=ends) if chosen else None
    return CommandListing(starts, prefixed=prefixed and bool(starts) and _are_written(starts), ends=ends)


def _is_place(word: Word) -> bool:
    """Return whether the path of a word is known: it is written, or inserted by lists or `find`."""
    return word.known or is_listed(word) or (word.text == "{}" and word.sure)


def _are_written(starts: Sequence[Word]) -> bool:
    return all(word.known and not word.pattern for word in starts)


def _found(simple: Simple) -> CommandListing | None:
    expression = Expression(simple)
    if not expression.known or not expression.actions <= _PLAIN_FIND:
        return None
    ends = "\0" if expression.actions - {"-delete"} == _PRINTING_NUL else "\n"
    return CommandListing(tuple(expression.starts), prefixed=_are_written(expression.starts), ends=ends)


def _listed_by_git(command: str, words: Sequence[Word]) -> CommandListing | None:
    known = {"diff": _GIT_DIFF, "grep": _GIT_GREP, "ls-files": _GIT_LS_FILES}.get(command)
    given = read_arguments(words, known) if known else None
    if given is None or (command != "ls-files" and not _has(given, _WITH_MATCHES)):
        return None
    patterns = _patterns(given) if command == "grep" else 0
    texts = [word.text for word in given.operands]
    revisions = texts[patterns : given.before] if command != "ls-files" else []
    paths = texts[given.before if command == "diff" else patterns :]
    # A colon begins a syntax of git's that may mean any place of the repository.
    anywhere = any(text.startswith(":") and text[1:2] not in ("!", "^") for text in paths)
    if anywhere or not all(word.known for word in given.operands[patterns:]):
        return None
    compared = ["HEAD"] if _has(given, {"cached", "staged"}) else []
    return CommandListing(
        of_git=True,
        others=_has(given, _OTHERS),
        revisions=(*compared, *revisions),
        ends="\0" if _has(given, {"z", "null"}) else "\n",
    )


def _filtered(simple: Simple, before: CommandListing) -> CommandListing | None:
    """Return the names that a program prints of those on its input."""
    if simple.program == "tr":
        plain = all(word.known and not word.pattern for word in simple.arguments)
        texts = " ".join(word.text for word in simple.arguments)
        return replace(before, ends="\n") if plain and _SEPARATING.fullmatch(texts) else None
    known = _FILTERS.get(simple.program)
    given = read_arguments(simple.arguments, known) if known else None
    if given is None or len(given.operands) != (_patterns(given) if simple.program == "grep" else 0):
        return None
    # Lines are reordered, or left out: a name with several lines may become any part of it.
    whole = _has(given, _FILTERING_NUL) or before.ends == "\n"
    return replace(before, ends=before.ends if whole else "")
