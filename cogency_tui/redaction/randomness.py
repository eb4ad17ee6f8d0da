"""The measure by which a text looks random."""

import re
from itertools import pairwise

PLACEHOLDER = re.compile(
    r"[xX*]{5}|\.{3}|your|example|placeholder|redacted|dummy|changeme|my[_-]?(?:token|secret|key|password)",
    re.IGNORECASE,
)
_FEWEST_DISTINCT = 6
_SEPARATORS = str.maketrans("", "", "_-./+=")


def is_random(body: str) -> bool:
    """Whether it is no word, no counting and no placeholder: its letters are of both cases about as often, or
    it has digits all over."""
    characters = body.translate(_SEPARATORS)
    if len(set(characters)) < _FEWEST_DISTINCT or PLACEHOLDER.search(body):
        return False
    digits = sum(map(str.isdigit, characters))
    upper = sum(map(str.isupper, characters))
    letters = len(characters) - digits
    if 0.25 * letters <= upper <= 0.75 * letters and upper:
        return True
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(characters))
    return digits * 16 >= len(characters) and changes * 16 >= len(characters)
