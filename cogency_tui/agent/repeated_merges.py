"""What git makes of the versions of a file that commits have: it merges what changed between two of them into
a third, and goes on from there, as a rebase does.

Where both sides changed the same lines, git leaves both of them in the file, between marks. The calls block.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from cogency_tui.tools.git_facts import Repository

_MOST = 100
"""Merges that are tried."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MARK = re.compile(rb"(<{7}|\|{7}|={7}|>{7})(?: ([^\r\n]{1,300}))?\r?\n?")
_TURNS = {b"<": (b"",), b"|": (b"<",), b"=": (b"<", b"|"), b">": (b"=",)}
"""Between the sides of a conflict: each mark, and those that may come before it; none outside of one."""


@dataclass(frozen=True, slots=True)
class Sides:
    """A file with each of its conflicts resolved to one side, and to the other."""

    ours: bytes
    theirs: bytes

    @classmethod
    def of(cls, ours: bytes, theirs: bytes | None = None) -> "Sides":
        """Without the end of the last line, which git adds within a conflict."""
        return cls(*(each.removesuffix(b"\n") for each in (ours, ours if theirs is None else theirs)))


def sides(text: bytes, is_label: Callable[[str], bool], base: frozenset[bytes]) -> Sides | None:
    """Both sides of a file; None where something other than the lines of a `base` or a label that git gives
    is in its marks."""
    ours, theirs = list[bytes](), list[bytes]()
    place = b""
    for line in _LINE.findall(text):
        mark = _MARK.fullmatch(line)
        if mark and place in _TURNS[mark[1][:1]]:
            if mark[2] and not is_label(mark[2].decode(errors="replace")):
                return None
            place = b"" if mark[1][:1] == b">" else mark[1][:1]
        elif place == b"|" and line.rstrip(b"\r\n") not in base:
            return None
        elif place != b"|":
            ours += [line] * (place != b"=")
            theirs += [line] * (place != b"<")
    return None if place else Sides.of(b"".join(ours), b"".join(theirs))


def is_merged(
    repository: Repository,
    wanted: Sides,
    tips: Sequence[bytes],
    versions: Sequence[bytes],
    *,
    favors: bool,
) -> bool:
    """Whether git makes this of the texts of `tips` and what changed from one to another of the `versions`,
    which come one after the other; where it `favors` a side, it leaves no conflict."""
    reached = [*dict.fromkeys(tips)]
    changes = [*dict.fromkeys(each for each in combinations(versions, 2) if each[0] != each[1])]
    tried = 0
    for ours in reached:
        for base, theirs in changes:
            resolved = (theirs, theirs)
            if ours not in resolved and ours != base:
                if tried == _MOST:
                    return False
                tried += 1
                resolved = _merged(repository, ours, base, theirs)
            made = [(each, each) for each in resolved] if favors else [resolved]
            if any(Sides.of(*each) == wanted for each in made):
                return True
            reached += [one for one, other in made if one == other and one not in reached]
    return False


def _merged(repository: Repository, ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, bytes]:
    """With conflicts resolved to `ours`, and to `theirs`; as they were where git cannot say."""
    texts = [repository.merged(ours, base, theirs, favor=side) for side in ("ours", "theirs")]
    return (ours if texts[0] is None else texts[0], ours if texts[1] is None else texts[1])
