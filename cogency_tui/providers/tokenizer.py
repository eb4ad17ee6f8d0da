"""The tokenizer of OpenAI's models, for counts that their endpoint has not reported yet.

It is the vendor's own `tiktoken` (the extra `tokenizer`), whose ranks are a file. The library downloads that
where its cache lacks it. Here this never happens: without the file there is no tokenizer, and counts stay
estimates by length. Other vendors publish none that is exact.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "o200k_base"

LONGEST = 1_000_000
"""Characters that are counted at most."""

_ADDRESS = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
_DIGEST = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_MODELS = re.compile(r"(?:.*/)?(?:(?:chat)?gpt-(?:4o|4\.[15]|[5-9]|\d\d|oss|realtime)|o[1-9](?:-|\Z)|codex-)")
"""Models with this encoding. One that the library does not know yet is taken to have its family's."""


def covers(model: str) -> bool:
    """Return whether this is the encoding of `model`."""
    return _MODELS.match(model) is not None


def is_installed() -> bool:
    """Return whether the library is installed."""
    return find_spec("tiktoken") is not None


def ranks_file() -> Path:
    """Return the path where the library caches its file."""
    names = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
    chosen = next((os.environ[name] for name in names if name in os.environ), None)
    folder = Path(tempfile.gettempdir(), "data-gym-cache") if chosen is None else Path(chosen)
    return folder / hashlib.sha1(_ADDRESS.encode()).hexdigest()


def has_ranks() -> bool:
    """Return whether the file is there, and what the library expects: another one is downloaded again."""
    try:
        return hashlib.sha256(ranks_file().read_bytes()).hexdigest() == _DIGEST
    except OSError:
        return False


def sample(texts: Iterable[str]) -> tuple[int, int]:
    """Count the characters of `texts`, as far as `LONGEST`, and their tokens; zeros without library and file.
    Blocks: for half a second when the file is read, then 15 ms for 100,000 characters."""
    try:
        encoding = _load()
    except (LookupError, OSError, ValueError):
        return 0, 0
    text = "\n".join(texts)[:LONGEST]
    return len(text), len(encoding.encode_ordinary(text))


@cache
def _load() -> "Encoding":
    """Load the ranks.

    Raises:
        LookupError: the library or its file is not there.
    """
    if not (is_installed() and has_ranks()):
        raise LookupError(ENCODING)
    from tiktoken import get_encoding

    return get_encoding(ENCODING)
