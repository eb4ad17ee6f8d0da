"""Verifies the hashes of a repository's objects, which git does not do on reading: overwritten objects give
a known commit other parents or files.

Invariant: nothing of the repository is changed. Blobs are not checked: a comparison of a file uses its
bytes. The calls block.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from cogency_tui.workspace.git.blocking_files import read_regular
from cogency_tui.workspace.git.repository_queries import Repository

_LOOSE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38,62}")
_SUFFIX = ".idx"
_INDEX = re.compile(r"pack/.+\.idx")
_SHA1 = 40
_LONGEST = 1 << 25
"""Most bytes of a commit or a tree that is read; a larger one is not sound."""

_HEADER = 64
"""Most bytes of an object's header."""

_MOST_ALTERNATES = 20
_PATIENCE = 60.0
"""Seconds for a pack."""

_Stamp = tuple[int, ...]


class ObjectStore:
    """The objects of a repository in `directory`. Those that exist at first count as sound, unless the
    repository was `made` since the first command."""

    def __init__(self, directory: Path, *, made: bool = False) -> None:
        self._repository = Repository(directory, _PATIENCE)
        self._own = (self._repository.common_directory() or directory) / "objects"
        self._directories = _with_alternates(self._own)
        self._sound = {} if made else dict(self._found())
        self._loose: frozenset[str] = frozenset()
        self._packs: Sequence[Path] = ()

    def is_sound(self) -> bool:
        """Return whether all objects that were added since have the hash of their name."""
        if self._directories != _with_alternates(self._own):
            return False
        for path, stamp in self._found():
            if self._sound.get(path) != stamp:
                if not (self._is_packed(path) if path.suffix == _SUFFIX else self._is_named(path)):
                    return False
                self._sound[path] = stamp
        return True

    def note(self) -> None:
        """Remember the present objects."""
        paths = [path for path, _ in self._found()]
        self._packs = [path for path in paths if path.suffix == _SUFFIX]
        self._loose = frozenset(_name(path) for path in paths if path.suffix != _SUFFIX)

    def noted(self, names: Collection[str]) -> set[str]:
        """Return those of the objects that were remembered; all where git has no answer."""
        found = {*self._loose.intersection(names)}
        with TemporaryDirectory() as directory:
            packs = Path(directory, "pack")
            packs.mkdir()
            for at, index in enumerate(self._packs):
                for path in (index, index.with_suffix(".pack")):
                    (packs / f"pack-{at}{path.suffix}").symlink_to(path)
            before = Repository(self._repository.directory, _PATIENCE, objects=Path(directory))
            packed = before.named(sorted(set(names) - found))
        return set(names) if packed is None else found.union(packed)

    def _found(self) -> Iterator[tuple[Path, _Stamp]]:
        """Yield the loose objects and the indexes of packs, with a stamp that differs after each change."""
        for directory in self._directories:
            for folder in _entries(directory):
                for each in _entries(directory / folder):
                    path = directory / folder / each
                    if _LOOSE.fullmatch(f"{folder}/{each}"):
                        yield path, _stamp(path)
                    elif _INDEX.fullmatch(f"{folder}/{each}"):
                        yield path, _stamp(path, path.with_suffix(".pack"))

    def _is_named(self, path: Path) -> bool:
        """Return whether a loose object is a blob, or has the hash of its content as its name."""
        unpacker = zlib.decompressobj()
        packed = read_regular(path, _LONGEST)
        try:
            data = unpacker.decompress(packed, _HEADER)
            if data.startswith(b"blob ") or not os.path.lexists(path):
                return True
            data += unpacker.decompress(unpacker.unconsumed_tail, _LONGEST)
        except zlib.error:
            return False
        digits = _name(path)
        digest = hashlib.sha1 if len(digits) == _SHA1 else hashlib.sha256
        return unpacker.eof and digest(data, usedforsecurity=False).hexdigest() == digits

    def _is_packed(self, index: Path) -> bool:
        """Return whether the objects of a pack have the names that its index gives them."""
        pack = index.with_suffix(".pack")
        return not os.path.lexists(pack) or self._repository.is_pack_sound(index)


def _name(path: Path) -> str:
    return path.parent.name + path.name


def _with_alternates(directory: Path) -> list[Path]:
    """Return a directory of objects, and the further ones that it names."""
    found = [directory]
    for each in found:
        text = os.fsdecode(read_regular(each / "info/alternates", _LONGEST))
        named = (each / line for line in text.split("\n") if line and not line.startswith("#"))
        found += [path for path in named if path not in found][: _MOST_ALTERNATES - len(found)]
    return found


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
