"""Where the links lead that `ln -s` makes: their targets are seen from the directory of the link."""

import os
from collections.abc import Mapping, Sequence

from cogency_tui.tools.shell_words import Simple, Word

_MOVING = frozenset(
    ("bsdtar", "cp", "cpio", "install", "mv", "pax", "prename", "rename", "rsync", "tar", "zip")
)
"""Programs that may put a link into another directory as it is."""


def moves_links(simple: Simple) -> bool:
    """Whether a command may have a link stand elsewhere than where it was made."""
    if simple.program == "git":
        return any(word.text in ("mv", "stash") for word in simple.arguments)
    return simple.program in _MOVING or (simple.program == "ln" and not _is_symbolic(simple))


def link_targets(simple: Simple) -> Mapping[int, Sequence[Word]]:
    """The targets of links, by the identity of the word for each, as seen from where the command is."""
    operands = simple.operands("St")
    plain = all(word.known and not word.pattern for word in operands)
    elsewhere = simple.has("rt", "relative", "target-directory")
    if simple.program != "ln" or not _is_symbolic(simple) or elsewhere or not plain or len(operands) < 2:
        return {}
    *targets, link = operands
    in_directory = len(targets) > 1 or link.text.endswith("/")
    beside = os.path.dirname(link.text) or "."  # noqa: PTH120 (as text)
    # What is a directory now may be none by then, and the other way round.
    places = [link.text] if in_directory else [beside, link.text] if _may_be_above(link.text) else [beside]
    return {
        id(target): [Word(f"{place}/{target.text}") for place in places]
        for target in targets
        if not target.text.startswith("/")
    }


def _may_be_above(link: str) -> bool:
    """Whether a name for a link may be one of a directory further up."""
    return link.rpartition("/")[2] in ("", ".", "..")


def _is_symbolic(simple: Simple) -> bool:
    return simple.has("s", "symbolic")
