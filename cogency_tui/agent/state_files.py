"""Small files of the user's that the program maintains beside the configuration. The calls block.

Invariant: a write replaces a file as a whole or not at all; other users of the machine cannot read it; a
file that cannot be parsed is never overwritten.
"""

import os
from pathlib import Path
from typing import Any

from cogency_tui import private_files
from cogency_tui.config import toml
from cogency_tui.config.toml import line_of
from cogency_tui.errors import ConfigError, ToolError
from cogency_tui.workspace.directory import Directory
from cogency_tui.workspace.journal_path import Place

LONGEST = 1 << 20
"""Bytes of such a file."""

_MODE = 0o600
_HINT = "Correct the file, or move it away."


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a file and its TOML table; both empty if there is no file.

    Raises:
        ConfigError: it cannot be read, or is no TOML.
    """
    # The file may be elsewhere, with a link to it here.
    target = Path(os.path.realpath(path))
    try:
        with Directory.open(target.parent) as directory:
            text = directory.read(target.name, LONGEST).decode("utf-8-sig")
        return text, toml.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except (OSError, UnicodeDecodeError, ToolError) as exc:
        raise ConfigError(f"{path} cannot be read: {exc}.", _HINT) from exc
    except (ValueError, RecursionError) as exc:
        # A number of very many digits is no TOMLDecodeError; neither is very deep nesting.
        raise ConfigError(f"{path} is not valid TOML: {exc}.", _HINT) from exc


def write(path: Path, heading: str, table: dict[str, Any]) -> None:
    """Replace the file's contents with a table in one step; `heading` precedes it as a comment.

    Raises:
        ConfigError: it cannot be written.
    """
    import tomli_w

    target = Path(os.path.realpath(path))
    comment = "".join(f"# {line}\n" for line in heading.splitlines())
    data = f"{comment}\n{tomli_w.dumps(table)}".encode()
    try:
        private_files.make_directory(target.parent)
        with Directory.open(target.parent) as directory:
            place = Place.within(directory)
            temporary = place.write_file([data], _MODE, None)
            try:
                place.rename(temporary, target.name)
            except OSError:
                place.remove(temporary)
                raise
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror or exc}.") from exc


def place_in(path: Path, text: str, table: str, index: int) -> str:
    """The place of the `index`-th element of an array of tables, for a message: `FILE, line 12`."""
    line = line_of(text, (table,), index)
    return f"{path}, line {line}" if line else str(path)
