"""What the braces of the shell make of a pattern."""

import re
from itertools import islice, product

_MOST_ALTERNATIVES = 64
_DEEPEST_BRACES = 5

_BRACES = re.compile(r"\{([^{}]*)\}")
_ROW = re.compile(r"\{(?:-?\d+|[A-Za-z])\.\.(?:-?\d+|[A-Za-z])(?:\.\.-?\d+)?\}")


def alternatives(pattern: str) -> list[str] | None:
    """What braces make of a pattern; None where they count, stand in each other, or make too many words."""
    found = _innermost(pattern)
    return None if found is None or any(map(_may_expand, found)) else found


def all_alternatives(pattern: str) -> list[str] | None:
    """The alternatives of braces, within braces too; a row of numbers or letters counts as one name. None
    where they are nested too deeply, or make too many words."""
    names = [_ROW.sub("0", pattern)]
    for _ in range(_DEEPEST_BRACES):
        if not any(map(_may_expand, names)):
            return names
        found = [_innermost(name) for name in names]
        names = [name for each in found for name in each or ()]
        if None in found or len(names) > _MOST_ALTERNATIVES:
            return None
    return None


def _innermost(pattern: str) -> list[str] | None:
    """What braces within no others make of a pattern; None where they count, or make too many words."""
    pieces = _BRACES.split(pattern)
    if any(".." in piece and "," not in piece for piece in pieces[1::2]):
        return None
    choices = [
        [piece] if index % 2 == 0 else piece.split(",") if "," in piece else [f"{{{piece}}}"]
        for index, piece in enumerate(pieces)
    ]
    found = ["".join(parts) for parts in islice(product(*choices), _MOST_ALTERNATIVES + 1)]
    return found if len(found) <= _MOST_ALTERNATIVES else None


def _may_expand(name: str) -> bool:
    """Whether the shell may take braces in it for alternatives or for a row."""
    start, end = name.find("{"), name.rfind("}")
    return 0 <= start < end and ("," in name[start:end] or ".." in name[start:end])
