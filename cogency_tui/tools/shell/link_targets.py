"""Targets of the links that `ln -s` creates, which are relative to the directory of the link."""

import os
from collections.abc import Mapping, Sequence

from cogency_tui.tools.shell.programs import letters_of, programs_with
from cogency_tui.tools.shell.simple_command import Simple, Word

_MOVING = programs_with("moves-links")


def moves_links(simple: Simple) -> bool:
    """Return whether a command may move a link after creating it."""
    if simple.program == "git":
        return any(word.text in ("mv", "stash") for word in simple.arguments)
    return simple.program in _MOVING or (simple.program == "ln" and not _is_symbolic(simple))


def link_targets(simple: Simple) -> Mapping[int, Sequence[Word]]:
    """Return the targets of links, by the identity of the word for each, relative to the command's
    directory."""
    operands = simple.operands(letters_of("copying", "ln"))
    plain = all(word.known and not word.pattern for word in operands)
    elsewhere = simple.has("rt", "relative", "target-directory")
    if simple.program != "ln" or not _is_symbolic(simple) or elsewhere or not plain or len(operands) < 2:
        return {}
    *targets, link = operands
    in_directory = len(targets) > 1 or link.text.endswith("/")
    beside = os.path.dirname(link.text) or "."  # noqa: PTH120 (as text)
    # A present directory may be none by then, and vice versa.
    places = [link.text] if in_directory else [beside, link.text] if _may_be_above(link.text) else [beside]
    return {
        id(target): [Word(f"{place}/{target.text}") for place in places]
        for target in targets
        if not target.text.startswith("/")
    }


def _may_be_above(link: str) -> bool:
    """Return whether a name for a link may be that of a directory further up."""
    return link.rpartition("/")[2] in ("", ".", "..")


def _is_symbolic(simple: Simple) -> bool:
    return simple.has("s", "symbolic")
