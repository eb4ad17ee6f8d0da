"""Secrets of the files that a command names, which are redacted in its output.

The calls block.
"""

import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cogency_tui.redaction import KnownSecrets, is_secret_file, secrets_of
from cogency_tui.tools.shell.scanner import scan
from cogency_tui.tools.shell.word_paths import Places

_MOST_FILES = 48
_LARGEST_FILE = 1 << 20
_MOST_READ = 2 << 20
_MOST_WORDS = 256
_MOST_ENTRIES = 500
_MOST_DIRECTORIES = 16

_WORD = re.compile(r"[\w@%+.,~/-]{1,512}")
_KEY_FILE = re.compile(r".*\.(?:pem|key|p8|asc|ppk)|id_[a-z0-9_]+", re.IGNORECASE)


def learn_named_files(command: str, cwd: Path, known: KnownSecrets) -> None:
    """Learn the secrets of the files that a command names, in words of the shell or anywhere in its text;
    of directories, those of their secret files."""
    room = _MOST_READ
    for path in islice(dict.fromkeys(_files(command, cwd)), _MOST_FILES):
        data = _new_content(path, known)
        room -= len(data)
        if room < 0:
            return
        text = data.decode("utf-8", "replace")
        known.learn(text, secrets_of(text, file=str(path)))


def _files(command: str, cwd: Path) -> Iterator[Path]:
    directories: list[Path] = []
    for path in _paths(command, cwd):
        if path.is_dir():
            directories.append(path)
        else:
            yield path
    for directory in islice(dict.fromkeys(directories), _MOST_DIRECTORIES):
        yield from _secret_files(directory)


def _paths(command: str, cwd: Path) -> Iterator[Path]:
    places = Places(cwd)
    for simple in scan(command):
        places.follow(simple)
        for word in (*simple.words, *(each.target for each in simple.redirections)):
            yield from places.paths(word) or ()
    for word in islice(_WORD.finditer(command), _MOST_WORDS):
        for place in places.directories:
            path = place / os.path.expanduser(word[0])  # noqa: PTH111 (a user that is not there is no error)
            if os.path.lexists(path):
                yield path


def _secret_files(directory: Path) -> Iterator[Path]:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES)]
    except OSError:
        return
    yield from (directory / name for name in names if is_secret_file(name) or _KEY_FILE.fullmatch(name))


def _new_content(path: Path, known: KnownSecrets) -> bytes:
    """Return the bytes of a regular file that is not too large and was not read in this state; none
    otherwise."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
            return b""
        if not known.is_new((path, status.st_ino, status.st_size, status.st_mtime_ns)):
            return b""
        # Not before it is known to be a file: a directory has no file object.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST_FILE)
    finally:
        os.close(descriptor)
