"""How editors are told which line to begin at. Pure."""

import shlex
from collections.abc import Mapping
from pathlib import PurePath

from cogency_tui.tui.outside_editor import editor_command

_PLUS = frozenset(
    [
        "vi",
        "vim",
        "nvim",
        "gvim",
        "view",
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "micro",
        "kak",
        "joe",
        "jed",
        "mg",
        "ne",
        "mcedit",
    ]
)
_COLON = frozenset(["hx", "helix", "subl", "zed"])
_GOTO = frozenset(["code", "codium", "code-insiders", "vscodium", "cursor", "windsurf"])


def at_line(environ: Mapping[str, str], path: str, line: int) -> tuple[dict[str, str], str]:
    """The environment and the path to open a file with at a line; an editor that we do not know opens it at
    its beginning.

    Raises:
        UsageError: there is no editor.
    """
    command = editor_command(environ)
    name = PurePath(command[0]).name.removesuffix(".exe")
    if name in _PLUS:
        command = [*command, f"+{line}"]
    elif name in _GOTO:
        command, path = [*command, "--goto"], f"{path}:{line}"
    elif name in _COLON:
        path = f"{path}:{line}"
    return {**environ, "VISUAL": shlex.join(command)}, path
