"""Changes one key in the user's configuration file, and preserves the rest of it, including comments.

Invariant: the parsed contents of the new text differ from the old ones only in that key; otherwise nothing
is written.
"""

import json
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from cogency_tui import private_files
from cogency_tui.config import toml
from cogency_tui.config.toml import headers
from cogency_tui.config.written_by_us import noted
from cogency_tui.errors import ConfigError
from cogency_tui.file_lock import file_lock

_MODE = 0o600
LOCK = ".cogency.lock"
"""The lock file beside a file that is changed: one for the whole directory. It holds the log of the writes.
"""

_PATIENCE = 30.0
_VALUE = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|true|false|[+-]?[\w.+-]+)"""
_BARE = re.compile(r"[A-Za-z0-9_-]+")

Value = str | bool | int | float


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
    # The file may be elsewhere, with a link to it here.
    target = Path(os.path.realpath(path))
    with changing(target):
        try:
            text = toml.read(target) if target.exists() else ""
        except (OSError, ValueError) as exc:
            raise ConfigError(f"{path} cannot be read: {exc}.", "Correct the file, or move it away.") from exc
        changed = text_with(path, text, (key,) if isinstance(key, str) else key, value)
        check(changed)
        if changed != text:
            _write(target, changed)
        return changed != text


@contextmanager
def changing(path: Path) -> Generator[None]:
    """Lock the file at `path` against other processes, to read, change and write it. It must not be nested.

    Raises:
        ConfigError: another process holds the lock for too long, or the directory cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        private_files.make_directory(target.parent)
        with file_lock(target.with_name(LOCK), _PATIENCE) as alone:
            if not alone:
                raise ConfigError(f"{path} is being changed by another process.", "Try again.")
            with noted(target, target.with_name(LOCK)):
                yield
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror or exc}.") from exc


def text_with(path: Path, text: str, keys: tuple[str, ...], value: Value | None) -> str:
    """The `text` of the file at `path` with this value of the key, or without the key.

    Raises:
        ConfigError: it is no TOML, or the key is written in a way that we cannot change.
    """
    try:
        wanted = deepcopy(toml.loads(text))
    except (ValueError, RecursionError) as exc:
        # A number of very many digits is no TOMLDecodeError; neither is very deep nesting.
        raise ConfigError(f"{path} cannot be read: {exc}.", "Correct the file, or move it away.") from exc
    if not _give(wanted, keys, value):
        return text
    for changed in _candidates(text, keys, value):
        if _is_as_meant(changed, wanted):
            return changed
    advice = f"Take {dotted(keys)} out of it."
    if value is not None:
        advice = f"Write {dotted(keys)} = {_literal(value)} in it."
    raise ConfigError(f"{path} is written in a way that we do not change.", advice)


def dotted(keys: tuple[str, ...]) -> str:
    """A key as TOML writes it."""
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def _give(table: dict[str, Any], keys: tuple[str, ...], value: Value | None) -> bool:
    """Change the table; False if there is nothing to remove."""
    *above, name = keys
    for key in above:
        inner = table.get(key)
        if inner is None and value is None:
            return False
        table = table.setdefault(key, {}) if not isinstance(inner, dict) else cast("dict[str, Any]", inner)
    if value is None:
        return table.pop(name, None) is not None
    table[name] = value
    return True


def _candidates(text: str, keys: tuple[str, ...], value: Value | None) -> Iterator[str]:
    """Candidate texts, one of which may have the intended meaning, the nicest first."""
    name = rf"""(?:{re.escape(keys[-1])}|"{re.escape(keys[-1])}"|'{re.escape(keys[-1])}')"""
    written = re.compile(
        rf"^(?P<key>[ \t]*(?:[\w-]+[ \t]*\.[ \t]*)*{name})[ \t]*=[ \t]*{_VALUE}(?P<rest>[ \t]*(?:#.*)?)$",
        re.MULTILINE,
    )
    for found in written.finditer(text):
        if value is None:
            yield text[: found.start()] + text[found.end() + 1 :]
        else:
            line = f"{found['key']} = {_literal(value)}"
            yield text[: found.start()] + line + found["rest"] + text[found.end() :]
    if value is None:
        return
    line = f"{dotted(keys[-1:])} = {_literal(value)}\n"
    places = headers(text)
    if len(keys) == 1:
        top = places[0][1] if places else len(text)
        written = text[:top].rstrip().rpartition("\n")[2]
        yield _inserted(text, top, line, bool(places), gap=bool(written) and not written.startswith("#"))
        return
    for at, (path, _start) in enumerate(places):
        if path == keys[:-1]:
            end = places[at + 1][1] if at + 1 < len(places) else len(text)
            yield _inserted(text, end, line, at + 1 < len(places), gap=True)
    start = f"{text.rstrip()}\n\n" if text.strip() else ""
    yield f"{start}[{dotted(keys[:-1])}]\n{line}"
    top = places[0][1] if places else len(text)
    yield _inserted(text, top, f"{dotted(keys)} = {_literal(value)}\n", bool(places))


def _inserted(text: str, at: int, line: str, more: bool, *, gap: bool = False) -> str:
    """`text` with a line inserted at `at`; with a `gap`, before the empty lines that end there."""
    head, tail = text[:at], text[at:]
    if gap:
        head = f"{head.rstrip()}\n"
    elif head and not head.endswith("\n"):
        head += "\n"
    return f"{head}{line}{chr(10) if more else ''}{tail}"


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value).lower()


def _is_as_meant(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return toml.loads(text) == wanted
    except (ValueError, RecursionError):
        return False


def _write(target: Path, text: str) -> None:
    """Replace the file's text in one step."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        private_files.make_directory(target.parent)
        mode = target.stat().st_mode & 0o777 if target.exists() else _MODE
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as exc:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise ConfigError(f"{target} cannot be written: {exc.strerror or exc}.") from exc
