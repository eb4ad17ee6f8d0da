"""Small files of the person's that the program keeps by itself, beside the configuration. The calls block.

Invariant: a file is there whole or as it was before; who else may use the machine cannot read it; and one
that cannot be read as meant is never overwritten.
"""

import os
from pathlib import Path
from typing import Any

from cogency_tui import own_files, toml_text
from cogency_tui.errors import ConfigError, ToolError
from cogency_tui.toml_lines import line_of
from cogency_tui.workspace.directory import Directory
from cogency_tui.workspace.place import Place

LONGEST = 1 << 20
"""Bytes of such a file."""

_MODE = 0o600
_HINT = "Correct the file, or move it away."


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a file and what it says in TOML; nothing where there is none.

    Raises:
        ConfigError: it cannot be read, or is no TOML.
    """
    # A person may keep the file elsewhere and put a link here.
    target = Path(os.path.realpath(path))
    try:
        with Directory.open(target.parent) as directory:
            text = directory.read(target.name, LONGEST).decode("utf-8-sig")
        return text, toml_text.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except (OSError, UnicodeDecodeError, ToolError) as exc:
        raise ConfigError(f"{path} cannot be read: {exc}.", _HINT) from exc
    except (ValueError, RecursionError) as exc:
        # A number of very many digits is no TOMLDecodeError, nor is what is nested too deeply.
        raise ConfigError(f"{path} is not valid TOML: {exc}.", _HINT) from exc


def write(path: Path, heading: str, table: dict[str, Any]) -> None:
    """Put a table in place of what the file says, in one step; `heading` stands above it as a comment.

    Raises:
        ConfigError: it cannot be written.
    """
    import tomli_w

    target = Path(os.path.realpath(path))
    comment = "".join(f"# {line}\n" for line in heading.splitlines())
    data = f"{comment}\n{tomli_w.dumps(table)}".encode()
    try:
        own_files.make_directory(target.parent)
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
    """Where the `index`-th of an array of tables begins, for a message: `FILE, line 12`."""
    line = line_of(text, (table,), index)
    return f"{path}, line {line}" if line else str(path)
