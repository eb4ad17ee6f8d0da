"""Pasted paths of images: terminals paste the path of a file that is dropped on them.

Most quote or escape it for a shell, some paste it as it is, and some an address (`file://`).
"""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cogency_tui.workspace.images import is_image_name

_BEGINNING = re.compile(r"\s*['\"]?(?:/|~/|file://)")


def image_paths(text: str) -> list[Path]:
    """The paths that a paste consists of, if all of them are images that exist; else none. Blocks."""
    if not _BEGINNING.match(text):
        return []
    readings = ([text.strip()], text.strip().splitlines(), _words(text))
    none: list[Path] = []
    return next((paths for words in readings if (paths := _existing(words))), none)


def unquoted(path: str) -> str:
    """A path as a terminal inserts it: quoted for a shell, or as an address; any other stays as it is."""
    words = _words(path)
    return _without_scheme(words[0]) if len(words) == 1 else path


def _words(text: str) -> list[str]:
    """The words of a text that is quoted for a shell; none if it is not."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _existing(words: Iterable[str]) -> list[Path]:
    """The words as paths, if all of them are those of images."""
    try:
        paths = [_path(word) for each in words if (word := each.strip())]
        return paths if all(map(_is_image, paths)) else []
    except (OSError, RuntimeError, ValueError):
        return []


def _path(word: str) -> Path:
    """The path that a word names."""
    return Path(_without_scheme(word)).expanduser()


def _without_scheme(word: str) -> str:
    return unquote(urlsplit(word).path) if word.startswith("file://") else word


def _is_image(path: Path) -> bool:
    return path.is_absolute() and is_image_name(path.name) and path.is_file()
