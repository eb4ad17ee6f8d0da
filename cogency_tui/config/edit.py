"""Changes the user's TOML files: one key of the configuration, or the whole of a file that only we write.

Invariant: a file is replaced as a whole or not at all. When one key changes, the rest is preserved,
including comments: the parsed contents of the new text differ from the old ones only in that key, otherwise
nothing is written.
"""

import json
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cogency_tui import private_files
from cogency_tui.config import toml_reader
from cogency_tui.config.own_writes import noted
from cogency_tui.errors import ConfigError
from cogency_tui.file_lock import file_lock

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_MODE = 0o600
LOCK = ".cogency.lock"
"""The lock file beside a file that is changed: one for the whole directory. It holds the log of the writes.
"""

_PATIENCE = 30.0
_BARE = re.compile(r"[A-Za-z0-9_-]+")

Value = str | bool | int | float | list[str]


def set_key(
    path: Path,
    key: str | tuple[str, ...],
    value: Value | None,
    check: Callable[[str], object] = lambda _text: None,
) -> bool:
    """Set `key` to this value in the file at `path`, which is created if missing; None removes the key.

    A key in a table is given with the names of its tables before it. `check` raises if the new text cannot
    be used. False if the text does not change. No other process changes the file meanwhile.

    Raises:
        ConfigError: the file cannot be read or written, or the key is written in a way that we cannot change.
    """
    with changing(path):
        text = toml_reader.read_text(path)
        changed = text_with(path, text, (key,) if isinstance(key, str) else key, value)
        check(changed)
        if changed != text:
            mode = path.stat().st_mode & 0o777 if path.exists() else _MODE
            _write(path, changed, mode)
        return changed != text


def put_back(path: Path, after: str, before: str | None) -> None:
    """Replace the text `after` of the file at `path` with an earlier one; None means that there was no file.

    Raises:
        ConfigError: the file has another text by now, or cannot be read or written.
    """
    with changing(path):
        if toml_reader.read_text(path) != after:
            raise ConfigError(f"{path} has changed since.", "Edit it to undo the change.")
        if before is None:
            Path(os.path.realpath(path)).unlink()
        else:
            _write(path, before, path.stat().st_mode & 0o777)


def write_table(path: Path, heading: str, table: dict[str, Any]) -> None:
    """Replace the contents of a file that only we write with a table; `heading` precedes it as a comment.

    Raises:
        ConfigError: it cannot be written.
    """
    import tomlkit

    comment = "".join(f"# {line}\n" for line in heading.splitlines())
    _write(path, f"{comment}\n{tomlkit.dumps(table)}", _MODE)  # pyright: ignore[reportUnknownMemberType] (tomlkit leaves it open)


@contextmanager
def changing(path: Path) -> Generator[None]:
    """Lock the file at `path` against other processes, to read, change and write it. It must not be nested.

    Raises:
        ConfigError: another process holds the lock for too long, or the directory cannot be written.
    """
    # The file may be elsewhere, with a link to it here.
    target = Path(os.path.realpath(path))
    try:
        private_files.make_directory(target.parent)
        with file_lock(target.with_name(LOCK), _PATIENCE) as alone:
            if not alone:
                raise ConfigError(f"Another process is changing {path}.", "Try again.")
            with noted(target, target.with_name(LOCK)):
                yield
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror or exc}.") from exc


def text_with(path: Path, text: str, keys: tuple[str, ...], value: Value | None) -> str:
    """The `text` of the file at `path` with this value of the key, or without the key.

    Raises:
        ConfigError: it is no TOML, or the key is written in a way that we cannot change.
    """
    expected = toml_reader.parse(path, text)
    if value is None and not _has(expected, keys):
        return text
    from tomlkit.exceptions import TOMLKitError

    with suppress(TOMLKitError, ValueError, TypeError, LookupError, RecursionError):
        changed = _changed(text, keys, value)
        parsed = toml_reader.loads(changed)
        _assign(expected, keys, value)
        if parsed == expected:
            return changed
    advice = f"Remove {dotted(keys)} from it."
    if value is not None:
        advice = f"Add {dotted(keys)} = {_literal(value)} to it."
    raise ConfigError(f"{path} has a form that cannot be edited automatically.", advice)


def dotted(keys: tuple[str, ...]) -> str:
    """A key as TOML writes it."""
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def _has(table: Any, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if not isinstance(table, dict) or key not in table:
            return False
        table = cast("dict[str, Any]", table)[key]
    return True


def _assign(table: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    *tables, name = keys
    for key in tables:
        table = table.setdefault(key, {})
    if value is None:
        del table[name]
    else:
        table[name] = value


def _changed(text: str, keys: tuple[str, ...], value: Value | None) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ValueError("tomlkit moves a table with an array of tables between its parts")
    if not _has(document, keys[:-1]):
        # tomlkit would insert a new table with no empty line before the next one.
        start = f"{text.rstrip()}\n\n" if text.strip() else ""
        return f"{start}[{dotted(keys[:-1])}]\n{dotted(keys[-1:])} = {_literal(cast('Value', value))}\n"
    item = None if value is None else tomlkit.item(value)
    if item is not None and keys[0] not in document and _has_comment_above_tables(document):
        item.trivia.indent = "\n"
    _assign(document, keys, item)
    return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType] (tomlkit leaves it open)


def _has_comment_above_tables(document: "TOMLDocument") -> bool:
    """Return whether a comment, which is about the file or a table, is the last entry before the first
    table."""
    from tomlkit.items import AoT, Comment, Table, Whitespace

    top = takewhile(lambda item: not isinstance(item, (AoT, Table)), (item for _key, item in document.body))
    return isinstance([None, *(item for item in top if not isinstance(item, Whitespace))][-1], Comment)


def _literal(value: Value) -> str:
    import tomlkit

    return tomlkit.item(value).as_string()


def _write(path: Path, text: str, mode: int) -> None:
    try:
        private_files.replace_file(Path(os.path.realpath(path)), text.encode(), mode)
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror or exc}.") from exc
