"""Names of tools in the vendors' native tool calling.

Invariant: a name begins with a letter or `_`, has at most 64 letters, digits, `_` and `-` (the strictest of
the vendors' rules), and is that of one tool. A tool whose own name is of this form keeps it.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import count

_LONGEST = 64
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{_LONGEST - 1}}}")
_DIGEST = 8


def spec_names(own: Iterable[str]) -> dict[str, str]:
    """Map the own names of tools to their names for vendors: `github.create_issue` to `github__create_issue`.

    A name that would be another tool's, or too long, ends with a digest of the tool's own name.
    """
    names = {name: name if _NAME.fullmatch(name) else "" for name in own}
    taken = set(names.values())
    for name in (name for name, found in names.items() if not found):
        names[name] = next(each for each in _candidates(name) if each not in taken)
        taken.add(names[name])
    return names


def _candidates(name: str) -> Iterator[str]:
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(".", "__"))
    if not _NAME.match(plain):
        plain = f"_{plain}"
    if len(plain) <= _LONGEST:
        yield plain
    for number in count():
        digest = sha256(f"{number}{name}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
        yield f"{plain[: _LONGEST - _DIGEST - 1]}_{digest}"
