"""Bundles: files with increments of conversations, compressed and encrypted by age, for a directory that
another program carries to other machines.

A bundle begins with a line that names its format, the tag of its key, and its id; all else is encrypted. Its
name is its id, and tells nothing of the content. The content is lines of text: the head, then increments,
each behind an empty line.

Invariant: a bundle is read whole, as it was written, or not at all: what was cut off or changed does not
decrypt. Whatever it contains, memory is bounded by its longest line.
"""

import errno
import os
import re
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import IO, Annotated, Any, cast

import msgspec
from msgspec import Meta

from cogency_tui import private_files
from cogency_tui.errors import UsageError
from cogency_tui.store.export_import import LONGEST_LINE, Key
from cogency_tui.store.origins import LONGEST_NAME, Origin

SUFFIX = ".cogency"
VERSION = 1

KEY_VARIABLE = "COGENCY_SYNC_KEY"
KEY_FILE = "sync.key"

LONGEST_AFTER = 64
"""Most earlier bundles that a bundle names."""

MOST_RETRACTED = 1_000
LARGEST = 1 << 30
"""Most bytes of a bundle."""

LONGEST_CONTENT, MOST_LINES = 1 << 28, 500_000
"""Bytes and lines of a content after which the next increment begins another bundle."""

_ALLOWED_CONTENT, _ALLOWED_LINES = 1 << 30, 8 * MOST_LINES
"""Most bytes and lines of a content that is read: an increment may go beyond what ends a bundle."""

_LARGEST_RATIO = 64
"""How often a larger content may be as large as its bundle."""

_CHUNK = 1 << 18
_IN_MEMORY = 32 << 20
"""Bytes of a content above which it is in a file."""

_LARGEST_KEY = 1 << 16
_HEADER = re.compile(rb"cogency-tui sync ([1-9]\d{0,3}) ([0-9a-f]{8}) ([0-9a-v]{16})\n")
_HEADER_SIZE = 64
_DAMAGED = "it is cut off or damaged"


class BrokenBundleError(Exception):
    """A bundle that cannot be read; the message is the reason, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class SyncKey:
    """The key of a user's bundles: an identity of age, which also encrypts."""

    secret: str

    @property
    def recipient(self) -> str:
        """The public half."""
        return str(self.identity.to_public())

    @property
    def tag(self) -> str:
        """Eight digits that tell this key from others."""
        return sha256(f"cogency-tui sync {self.recipient}".encode()).hexdigest()[:8]

    @property
    def identity(self) -> Any:
        return _age().x25519.Identity.from_str(self.secret)


def _age() -> Any:
    return cast("Any", import_module("pyrage"))


def new_key() -> SyncKey:
    """Create a key."""
    return SyncKey(str(_age().x25519.Identity.generate()))


def parsed_key(text: str, place: str) -> SyncKey:
    """Return the key of a text as `age-keygen` writes it.

    Raises:
        UsageError: it has none, or several.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    key = SyncKey(lines[0] if len(lines) == 1 else "")
    try:
        _ = key.tag
    except Exception as exc:
        raise UsageError(
            f"{place} is not a key for sync.",
            "It is the text of one key, a line that begins with AGE-SECRET-KEY-1, and not a path.",
        ) from exc
    return key


def read_key(path: Path) -> SyncKey:
    """Read a file with a key.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_KEY).decode("utf-8", "replace")
    except OSError as exc:
        raise UsageError(f"The key {path} cannot be read: {exc.strerror}.") from exc
    return parsed_key(text, str(path))


def write_key(path: Path, key: SyncKey) -> None:
    """Write a new file with a key, for the user alone.

    Raises:
        FileExistsError: there is one.
        OSError: it cannot be written.
    """
    private_files.make_directory(path.parent)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(f"# The key of `cogency-tui sync`.\n# public key: {key.recipient}\n{key.secret}\n")
        file.flush()
        os.fsync(handle)


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file that begins as a bundle."""

    path: Path
    id: str
    tag: str
    version: int
    size: int
    changed: int
    """Time of its last change, in nanoseconds."""


def identified(path: Path) -> BundleFile | None:
    """Return the bundle at `path`; None for any other file.

    Raises:
        BrokenBundleError: it has the name of a bundle, and does not begin as one.
        OSError: it cannot be read.
    """
    with _opened(path) as file:
        start = file.read(_HEADER_SIZE)
        status = os.fstat(file.fileno())
    found = _HEADER.match(start)
    if found is None:
        if path.name.lower().endswith(SUFFIX):
            raise BrokenBundleError(_DAMAGED)
        return None
    return BundleFile(
        path, found[3].decode(), found[2].decode(), int(found[1]), status.st_size, status.st_mtime_ns
    )


def has_bundles(directory: Path) -> bool:
    """Return whether a directory has any bundle, of whatever key.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        paths = sorted(directory.iterdir())
    except OSError as exc:
        raise UsageError(f"{directory} cannot be read: {exc.strerror}.") from exc
    for path in paths:
        if not path.name.startswith("."):
            try:
                if identified(path) is not None:
                    return True
            except BrokenBundleError:
                return True
            except OSError:
                continue
    return False


class Head(msgspec.Struct, frozen=True):
    """The first line of the content: the id of the bundle, and its owner.

    `proof` is that of the owner for the id (see `origins.proof`), and `after` has the ids of the owner's last
    bundles before it. `former` are the origins that a copied store had before, each
    with its proof for the new origin, and `retracted` the bundles that it has sent as those.
    """

    bundle: Key
    origin: Key
    name: Annotated[str, Meta(max_length=LONGEST_NAME)]
    proof: Key = ""
    after: Annotated[list[Key], Meta(max_length=LONGEST_AFTER)] = []
    former: dict[Key, Key] = {}
    retracted: Annotated[list[Key], Meta(max_length=MOST_RETRACTED)] = []


class Part:
    """An increment in a bundle."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._ended = False

    def lines(self) -> Iterator[str]:
        """Yield its lines, once."""
        for line in self._lines:
            if not line:
                self._ended = True
                return
            yield line
        self._ended = True

    def skip(self) -> None:
        """Read what is left of it."""
        if not self._ended:
            for _ in self.lines():
                pass


class Bundle:
    """An opened bundle."""

    def __init__(self, head: Head, lines: Iterator[str]) -> None:
        self.head = head
        self.origin = Origin(head.origin, head.name)
        self._lines = lines

    def parts(self) -> Iterator[Part]:
        """Yield its increments; each is read before the next one.

        Raises:
            BrokenBundleError: its content ends early, is too large, or has an increment without a line.
        """
        # The head ends with an empty line, if anything follows.
        separator = next(self._lines, None)
        while separator is not None:
            first = next(self._lines, None)
            if first is None:
                return
            if not first:
                raise BrokenBundleError("an increment of it is empty")
            part = Part(chain([first], self._lines))
            yield part
            part.skip()


@contextmanager
def opened_bundle(file: BundleFile, key: SyncKey, directory: Path) -> Generator[Bundle]:
    """Open a bundle; `directory` is for its decrypted content, while it is read.

    Raises:
        BrokenBundleError: it cannot be decrypted, or is none inside.
        OSError: it cannot be read.
    """
    if file.version != VERSION:
        raise BrokenBundleError("a newer version of cogency-tui wrote it")
    if file.size > LARGEST:
        raise BrokenBundleError(f"it is too large: at most {LARGEST >> 20:,} MiB are allowed")
    with tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(directory)) as content:
        with _opened(file.path) as source:
            source.seek(len(_header(file.version, file.tag, file.id)))
            try:
                _age().decrypt_io(source, content, [key.identity])
            except OSError as exc:
                if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise BrokenBundleError(_DAMAGED) from exc
            except Exception as exc:
                raise BrokenBundleError(_reason(exc)) from exc
        content.seek(0)
        lines = _lines(cast("IO[bytes]", content), max(_ALLOWED_CONTENT, _LARGEST_RATIO * file.size))
        try:
            head = msgspec.json.decode(next(lines, ""), type=Head)
        except msgspec.MsgspecError as exc:
            raise BrokenBundleError("its content has the wrong form") from exc
        if head.bundle != file.id:
            raise BrokenBundleError("it has the name of another bundle inside")
        yield Bundle(head, lines)


def _header(version: int, tag: str, id: str) -> bytes:
    return f"cogency-tui sync {version} {tag} {id}\n".encode()


def _reason(error: Exception) -> str:
    if "No matching keys" in str(error):
        return "it is encrypted with another key"
    return _DAMAGED


@contextmanager
def _opened(path: Path) -> Generator[IO[bytes]]:
    """Open a file that is not a link, a pipe or a device."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        yield file


def _lines(content: IO[bytes], most: int) -> Iterator[str]:
    """Yield the lines of a compressed content of at most `most` bytes.

    Raises:
        BrokenBundleError: it is not one, too large, or ends early.
    """
    begun: list[bytes] = []
    length = count = 0
    for piece in _unpacked(content, most):
        *ends, rest = piece.split(b"\n")
        count += len(ends)
        if count > _ALLOWED_LINES:
            raise BrokenBundleError("it has too many lines")
        for end in ends:
            line = b"".join([*begun, end])
            begun, length = [], 0
            yield line.decode("utf-8", "replace")
        begun.append(rest)
        length += len(rest)
        if length > LONGEST_LINE:
            raise BrokenBundleError("a line of it is too long")
    if length:
        raise BrokenBundleError("its content ends early")


def _unpacked(content: IO[bytes], most: int) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    total = 0
    try:
        while not unpacker.eof and (packed := content.read(_CHUNK)):
            while packed and not unpacker.eof:
                piece = unpacker.decompress(packed, _CHUNK)
                packed = unpacker.unconsumed_tail
                total += len(piece)
                if total > most:
                    raise BrokenBundleError("its content is too large")
                yield piece
        if not unpacker.eof:
            raise BrokenBundleError("its content ends early")
    except zlib.error as exc:
        raise BrokenBundleError("its content is damaged") from exc


class _Sink:
    """A file whose failures remain: age names them by their texts only."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.failure: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            return self._file.write(data)
        except OSError as exc:
            self.failure = exc
            raise

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as exc:
            self.failure = exc
            raise


class BundleWriter:
    """Collects the content of a new bundle; `directory` is for it while it is written."""

    def __init__(self, head: Head, directory: Path) -> None:
        self.id = head.bundle
        self._packer = zlib.compressobj()
        self._length = self._count = 0
        self._content = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(directory))  # noqa: SIM115 (closed by `close`)
        self.add(msgspec.json.encode(head).decode())

    @property
    def size(self) -> int:
        """Bytes so far, compressed."""
        return self._content.tell()

    @property
    def is_long(self) -> bool:
        """Whether the content is so long that no further increment belongs into it."""
        return self._length > LONGEST_CONTENT or self._count > MOST_LINES

    def begin(self) -> None:
        """Begin an increment."""
        self.add("")

    def add(self, line: str) -> None:
        """Add a line."""
        data = line.encode() + b"\n"
        self._length, self._count = self._length + len(data), self._count + 1
        self._content.write(self._packer.compress(data))

    def write(self, path: Path, key: SyncKey) -> int:
        """Write the bundle to a new file, and to the disk; return its size.

        Raises:
            OSError: it cannot be written.
        """
        self._content.write(self._packer.flush())
        self._content.seek(0)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_header(VERSION, key.tag, self.id))
                self._encrypt(file, key)
                file.flush()
                os.fsync(handle)
                return os.fstat(handle).st_size
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise

    def _encrypt(self, file: IO[bytes], key: SyncKey) -> None:
        recipient = _age().x25519.Recipient.from_str(key.recipient)
        sink = _Sink(file)
        try:
            _age().encrypt_io(self._content, sink, [recipient])
        except _age().EncryptError as exc:
            raise sink.failure or OSError(errno.EIO, str(exc)) from exc

    def close(self) -> None:
        """Discard the content."""
        self._content.close()
