"""Values with a secret's name, such as a password: ordinary ones, and ones that look random."""

import re
from itertools import pairwise

from cogency_tui.redaction.randomness import FEWEST_DISTINCT, PLACEHOLDER, SEPARATORS

ORDINARY_PASSWORDS = frozenset(
    ("password", "passwd", "passphrase", "pass", "pwd", "pw", "user", "username", "secret", "token")
    + ("postgres", "root", "admin", "test", "guest", "none", "null")
)
"""Placeholders for a password, and well-known ones."""

_ORDINARY = re.compile(
    r"[\W\d_]+|true|false|none|null|undefined|disabled|enabled"
    r"|[a-z][a-z\d+.-]*://[^@]*|arn:.*|ssh-.*|ecdsa-.*|(?:sha|md)\d.*|\d{4}-\d\d-\d\d.*"
    r"|(?:~|\.{1,2}|[a-z]:)[\\/].*|/(?:[\w.@-]+/)*[\w@-]*[a-z]\.\w{1,5}|(?:/[a-z]{2,}){2}.*",
    re.IGNORECASE,
)
"""Numbers, truth values, addresses, algorithms, times, paths."""

_NAMES = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\.?[\w-]+(?:\.[A-Za-z]{2,10})+|(?:[\w.@-]+/)*[\w.@-]*\.[A-Za-z]\w{1,4}"
)
"""Addresses of mail, hosts, files and members of modules."""

_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_UNPRONOUNCEABLE = re.compile(r"[b-df-hj-np-tv-xz]{4}", re.IGNORECASE)
_NAMING = re.compile(r"(?:key|token|secret|password|credential)s?\Z", re.IGNORECASE)
_MOST_IN_WORDS = 0.6
_MOST_IN_SHORT_WORDS = 0.45
_SHORT = 12
_FEWEST_CHANGES = 0.2
_FEWEST_CHANGES_OF_LETTERS = 0.4


def is_ordinary(value: str) -> bool:
    """Return whether no secret has this value: a placeholder, a number, an address, a path, a common word."""
    return (
        value.lower() in ORDINARY_PASSWORDS
        or len(set(value)) == 1
        or PLACEHOLDER.search(value) is not None
        or _ORDINARY.fullmatch(value) is not None
    )


def is_random_value(value: str) -> bool:
    """Return whether a value with a secret's name looks random.

    Its characters change often between digits and letters of both cases, and only few of them are in
    possible words: three letters of one case or more, with a vowel and no four consonants in a row.
    """
    characters = value.translate(SEPARATORS)
    if len(set(characters)) < FEWEST_DISTINCT or is_ordinary(value):
        return False
    if _NAMES.fullmatch(value) or _NAMING.search(value):
        return False
    in_words = sum(len(found[0]) for found in _WORD.finditer(value) if _is_pronounceable(found[0]))
    changes = sum(_kind(one) != _kind(other) for one, other in pairwise(characters))
    fewest = _FEWEST_CHANGES_OF_LETTERS if characters.isalpha() else _FEWEST_CHANGES
    most = _MOST_IN_SHORT_WORDS if len(characters) < _SHORT else _MOST_IN_WORDS
    return in_words < most * len(characters) and changes >= fewest * len(characters)


def _is_pronounceable(letters: str) -> bool:
    return len(letters) > 2 and bool(_VOWEL.search(letters)) and not _UNPRONOUNCEABLE.search(letters)


def _kind(character: str) -> int:
    return character.isdigit() + 2 * character.isupper() + 4 * character.islower()
