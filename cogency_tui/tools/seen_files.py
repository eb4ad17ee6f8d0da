"""The contents of files that a conversation's model knows: read, written, or shown as a diff.

Invariant: a content counts as known only in the requests after the one whose call revealed it. A call that
was written before is no answer to what its neighbour in the same message reports.
"""

import hashlib
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path


def fingerprint(data: bytes) -> bytes:
    """Hash a file's bytes, to detect later changes."""
    return hashlib.sha256(data).digest()


@dataclass(frozen=True, slots=True)
class Seen:
    """The fingerprint of a content, and when it was seen, in Unix seconds."""

    digest: bytes
    at: float


@dataclass(frozen=True, slots=True)
class _Reported:
    """The content that a report of others' changes was about; `whole`: the report had all of their lines.
    `cycle` is the request whose call got it."""

    digest: bytes
    whole: bool
    cycle: object


class SeenFiles:
    """What the model of one conversation knows, by the resolved path of the file."""

    def __init__(self) -> None:
        self._seen: dict[Path, Seen] = {}
        self._reported: dict[Path, _Reported] = {}
        self._refused: dict[Path, tuple[bytes, bytes]] = {}
        """The content that was not replaced, since others had changed it, and the one that was to replace it.
        """

    @property
    def paths(self) -> Collection[Path]:
        """The files of which the model has seen anything."""
        return self._seen.keys()

    def follow(self, path: Path, before: str, after: str) -> None:
        """Note that the model is told how one content has become another, both by their digests in
        hexadecimal; what it did not know of the one, it does not know of the other."""
        seen, reported = self._seen.get(path), self._reported.get(path)
        if seen is not None and seen.digest.hex() == before:
            self._seen[path] = replace(seen, digest=bytes.fromhex(after))
        if reported is not None and reported.digest.hex() == before:
            self._reported[path] = replace(reported, digest=bytes.fromhex(after))

    def get(self, path: Path, cycle: object) -> Seen | None:
        """Return the content that calls in this cycle are written with in mind, as a whole or in part; None
        if the model has seen none."""
        reported = self._reported.get(path)
        if reported is not None and reported.whole and reported.cycle is not cycle:
            self._know(path, reported.digest)
        return self._seen.get(path)

    def knows(self, path: Path, digest: bytes, cycle: object) -> bool:
        """Return whether this is that content."""
        seen = self.get(path, cycle)
        return seen is not None and seen.digest == digest

    def is_reported(self, path: Path, digest: bytes) -> bool:
        """Return whether the model has a report of how the file came to this content."""
        reported = self._reported.get(path)
        return reported is not None and reported.digest == digest

    def read(self, path: Path, digest: bytes) -> None:
        """Note that the model is sent this content."""
        self._know(path, digest)
        self._refused.pop(path, None)

    def report(self, path: Path, digest: bytes, cycle: object, *, whole: bool) -> None:
        """Note that the model is sent what others have changed to make this content."""
        self._reported[path] = _Reported(digest, whole, cycle)

    def refuse(self, path: Path, content: bytes, other: bytes) -> None:
        """Note that a content that the model did not know was not replaced by another one, both by their
        fingerprints."""
        self._refused[path] = content, other

    def has_refused(self, path: Path, content: bytes, other: bytes) -> bool:
        """Return whether that was refused, and the model has not read the file since."""
        return self._refused.get(path) == (content, other)

    def wrote(self, path: Path, before: bytes | None, after: bytes, cycle: object) -> None:
        """Note that the model has made one content of another. What it did not know of that, it still does
        not."""
        reported = self._reported.get(path)
        is_known = before is None or self.knows(path, before, cycle)
        if reported is not None and reported.digest == before and not is_known:
            self._reported[path] = replace(reported, digest=after)
        else:
            self.read(path, after)

    def _know(self, path: Path, digest: bytes) -> None:
        self._seen[path] = Seen(digest, time.time())
        self._reported.pop(path, None)
