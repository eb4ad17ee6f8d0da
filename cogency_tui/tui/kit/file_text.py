"""The preview of a project file: its text, or the reason why it cannot be shown."""

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from cogency_tui.errors import WorkspaceError
from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.command_output import OutputLines

if TYPE_CHECKING:
    from cogency_tui.workspace.paths import Workspace

LONGEST = 2_000_000
"""Bytes above which a file is not shown."""

_NAMES = 256
"""The size of the cache of languages by name."""


class Preview(msgspec.Struct):
    """`lines` of the file at `path`, with invisible characters escaped; else `problem` is the reason."""

    path: str
    lines: OutputLines
    language: str = ""
    size: int = 0
    encoding: str = ""
    problem: str = ""


def read_preview(workspace: "Workspace", path: str) -> Preview:
    """Read the file at `path` as tools do: only inside the project, and through no link. Blocks."""
    from cogency_tui.workspace.text_files import decode

    lines = OutputLines()
    try:
        location = workspace.locate(path)
        data = workspace.read_bytes(location, LONGEST)
        text = decode(data, location.relative)
    except WorkspaceError as exc:
        return Preview(path, lines, problem=exc.advice)
    lines.write(reveal(text.plain.removesuffix("\n")))
    encoding = "" if text.encoding == "utf-8" else text.encoding_name
    return Preview(path, lines, language_of(path), len(data), encoding)


@lru_cache(_NAMES)
def language_of(path: str) -> str:
    """Pygments' language for a file name; empty if it knows none."""
    from pygments.lexers import find_lexer_class_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = find_lexer_class_for_filename(path.rpartition("/")[2])
    except ClassNotFound:
        return ""
    return lexer.aliases[0] if lexer and lexer.aliases else ""
