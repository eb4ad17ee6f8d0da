"""Random-looking text.

The start needs this module; `secret_values` has the patterns that take longer to compile.
"""

import re
from itertools import pairwise

PLACEHOLDER = re.compile(
    r"[xX*]{5}|\.{3}|your|example|placeholder|redacted|dummy|changeme|my[_-]?(?:token|secret|key|password)",
    re.IGNORECASE,
)
FEWEST_DISTINCT = 6
SEPARATORS = str.maketrans("", "", "_-./+=")


def is_random(body: str) -> bool:
    """Return whether it is no word, no sequence and no placeholder: it has letters of both cases about as
    often, or digits throughout."""
    characters = body.translate(SEPARATORS)
    if len(set(characters)) < FEWEST_DISTINCT or PLACEHOLDER.search(body):
        return False
    digits = sum(map(str.isdigit, characters))
    upper = sum(map(str.isupper, characters))
    letters = len(characters) - digits
    if 0.25 * letters <= upper <= 0.75 * letters and upper:
        return True
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(characters))
    return digits * 16 >= len(characters) and changes * 16 >= len(characters)
