"""Commands that print names of files below what they name, and nothing else."""

import re
from collections.abc import Iterator, Sequence

from cogency_tui.tools.shell_words import Simple, Word

_FILTERS = frozenset(("head", "sort", "tail", "uniq"))
_SEPARATING = re.compile(r"\\n (?:\\0| )")
"""Arguments of `tr` that only change what stands between names."""

_ODD_OPTION = re.compile(
    r"-.*(?:format|printf|label|prefix|exec|replace|hyperlink|only-matching|time-style|no-index).*|-f?ls"
)
"""Options by which what lists names may print something else."""

_ODD_LETTER = re.compile(r"-[a-zA-Z]*[or]")
_LISTING = frozenset(("l", "L", "--files-with-matches", "--files-without-match", "--name-only", "--files"))
_FLAGS = frozenset(("--fixed-strings", "--ignore-case", "--null", "--recursive", "--untracked", "--hidden"))
"""Long options that take no value."""

_VALUED = {"git": "ABCefmO", "grep": "ABCDdefm", "rg": "ABCEefgjmMrtT"}
"""Letters of options that take a value."""


def lists_names(simple: Simple, *, piped: bool) -> bool:
    """Whether a command prints names of files below what it names, and nothing else. `piped`: it is given
    such names."""
    return (piped and _filters(simple)) or _lists(simple)


def _lists(simple: Simple) -> bool:
    texts = [word.text for word in simple.arguments]
    if simple.redirections or any(map(_ODD_OPTION.fullmatch, texts)):
        return False
    match simple.program:
        case "ls" if simple.has("af", "all"):
            # `..` is among them.
            return False
        case "find":
            return all(word.known for word in simple.arguments)
        case "fd" | "fdfind" | "ls":
            odd = simple.program != "ls" and simple.has("xX")
            return not (odd or any(map(_is_odd, texts))) and all(word.known for word in simple.arguments)
        case "git" if texts[:1] == ["grep"]:
            options = set(_options(simple.arguments[1:], _VALUED["git"]))
            return bool(options & _LISTING) and not options & {"O", "--open-files-in-pager"}
        case "git":
            return texts[:1] == ["ls-files"] or (texts[:1] == ["diff"] and "--name-only" in texts)
        case "grep":
            return not _LISTING.isdisjoint(_options(simple.arguments, _VALUED["grep"]))
        case "rg":
            options = set(_options(simple.arguments, _VALUED["rg"]))
            return bool(options & (_LISTING - {"L"})) and not any(map(_is_odd, texts))
        case _:
            return False


def _is_odd(text: str) -> bool:
    return text != "-r" and bool(_ODD_LETTER.fullmatch(text))


def _options(arguments: Sequence[Word], valued: str) -> Iterator[str]:
    """The letters and long names of options, without their values, as far as they surely are options."""
    rest = iter(arguments)
    for word in rest:
        text = word.text
        if text == "--" or not word.known:
            return
        if text.startswith("--"):
            name, equals, _value = text.partition("=")
            yield name
            if not equals and name not in _FLAGS | _LISTING:
                next(rest, None)
        elif text.startswith("-"):
            yield from _letters(text, rest, valued)


def _letters(text: str, rest: Iterator[Word], valued: str) -> Iterator[str]:
    for at, letter in enumerate(text[1:], 2):
        yield letter
        if letter in valued:
            if at == len(text):
                next(rest, None)
            return


def _filters(simple: Simple) -> bool:
    if simple.program == "tr":
        plain = all(word.known and not word.pattern for word in simple.arguments)
        return plain and bool(_SEPARATING.fullmatch(" ".join(word.text for word in simple.arguments)))
    # Pieces of names may be any.
    plain = not simple.redirections and not simple.has("o", "output", "only-matching")
    if simple.program in ("head", "tail") and simple.has("c", "bytes"):
        return False
    if simple.program == "grep":
        return plain and len(simple.operands()) == 1
    return plain and simple.program in _FILTERS and all(word.text.isdecimal() for word in simple.operands())
