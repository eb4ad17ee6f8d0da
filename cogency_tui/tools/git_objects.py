"""Whether the objects of a repository are what their names stand for, which git does not check as it reads
them: written over, they give other parents or files to a commit that is known.

Invariant: nothing of the repository is changed. Blobs are not looked at: who compares a file has its bytes.
The calls block.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cogency_tui.tools.git_facts import Repository

_LOOSE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38,62}")
_INDEX = re.compile(r"pack/.+\.idx")
_SHA1 = 40
_LONGEST = 1 << 25
_LARGEST = 1 << 28
"""Bytes of an object and of a pack that is read; a larger one is not sound."""

_PATIENCE = 60.0
"""Seconds for a pack."""

_Stamp = tuple[int, ...]


class ObjectStore:
    """The objects of a repository in `directory`, of which those that are there at first count as sound."""

    def __init__(self, directory: Path) -> None:
        self._repository = Repository(directory, _PATIENCE)
        self._directory = (self._repository.common_directory() or directory) / "objects"
        self._sound = dict(self._found())
        self._others = self._alternates()

    def is_sound(self) -> bool:
        """Whether all that has come since is what its name stands for."""
        if self._others != self._alternates():
            return False
        for name, stamp in self._found():
            if self._sound.get(name) != stamp:
                if not (self._is_packed(name) if _INDEX.fullmatch(name) else self._is_named(name)):
                    return False
                self._sound[name] = stamp
        return True

    def _found(self) -> Iterator[tuple[str, _Stamp]]:
        """The loose objects and the indexes of packs, by their names below the directory, with what differs
        after each change."""
        for folder in _entries(self._directory):
            for each in _entries(self._directory / folder):
                name = f"{folder}/{each}"
                if _LOOSE.fullmatch(name):
                    yield name, _stamp(self._directory / name)
                elif _INDEX.fullmatch(name):
                    yield name, _stamp(self._directory / name, self._pack(name))

    def _pack(self, name: str) -> Path:
        return (self._directory / name).with_suffix(".pack")

    def _alternates(self) -> bytes:
        """What names directories with further objects."""
        try:
            return (self._directory / "info/alternates").read_bytes()
        except OSError:
            return b""

    def _is_named(self, name: str) -> bool:
        """Whether a loose object is a blob, or has the name of its content."""
        unpacker = zlib.decompressobj()
        try:
            with (self._directory / name).open("rb") as file:
                data = unpacker.decompress(file.read(_LONGEST), _LONGEST)
        except FileNotFoundError:
            return True
        except (OSError, zlib.error):
            return False
        if data.startswith(b"blob "):
            return True
        digits = name.replace("/", "")
        digest = hashlib.sha1 if len(digits) == _SHA1 else hashlib.sha256
        return unpacker.eof and digest(data, usedforsecurity=False).hexdigest() == digits

    def _is_packed(self, name: str) -> bool:
        """Whether the objects of a pack have the names that its index gives them."""
        try:
            size = self._pack(name).stat().st_size
        except FileNotFoundError:
            return True
        return size <= _LARGEST and self._repository.is_pack_sound(self._directory / name)


def _entries(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []


def _stamp(*paths: Path) -> _Stamp:
    found: list[int] = []
    for path in paths:
        with suppress(OSError):
            status = path.stat()
            found += status.st_ino, status.st_ctime_ns, status.st_size
    return tuple(found)
