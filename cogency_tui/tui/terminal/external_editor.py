"""Edits text in the user's own editor, which has the terminal meanwhile; the agent continues to work."""

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from textual.app import App, SuspendNotSupported

from cogency_tui.child_processes import start_in_terminal
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import clean

_NONE = "Set VISUAL or EDITOR and restart, for example: export EDITOR=nano"


_USUAL = ("vi", "nano")
"""Editors to use where the user has chosen none, as git does."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The editor of the user's choice, with its options; without one the first usual one that is installed.

    Raises:
        UsageError: there is no editor, or its command cannot be parsed.
    """
    chosen = environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip()
    try:
        command = shlex.split(chosen)
    except ValueError as exc:
        raise UsageError(f"Cannot parse the editor command {chosen!r}: {exc}.", _NONE) from exc
    if not command:
        command = [name for name in _USUAL if shutil.which(name, path=environ.get("PATH", ""))][:1]
    if not command:
        raise UsageError("No editor found.", _NONE)
    return command


async def edit_outside(app: App[Any], text: str, environ: Mapping[str, str]) -> str:
    """Edit `text` in the user's editor, and return the result.

    Raises:
        UsageError: there is no editor, it cannot be started, or it failed; the text is unchanged.
    """
    command = editor_command(environ)
    handle, name = tempfile.mkstemp(prefix="prompt-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        status = await _run(app, [*command, name])
        if status:
            raise UsageError(f"{command[0]} exited with {status}.", "The text is unchanged.")
        edited = await asyncio.to_thread(path.read_bytes)
    except OSError as exc:
        raise UsageError(
            f"{command[0]}: {exc.strerror}.", "Set VISUAL or EDITOR to an installed editor."
        ) from exc
    finally:
        path.unlink(missing_ok=True)
    return clean(edited.decode("utf-8", "replace")).removesuffix("\n")


async def open_outside(app: App[Any], path: str, environ: Mapping[str, str]) -> None:
    """Open the file at `path` in the user's editor.

    Raises:
        UsageError: there is no editor, it cannot be started, or it failed.
    """
    command = editor_command(environ)
    try:
        status = await _run(app, [*command, path])
    except OSError as exc:
        raise UsageError(
            f"{command[0]}: {exc.strerror}.", "Set VISUAL or EDITOR to an installed editor."
        ) from exc
    if status:
        raise UsageError(f"{command[0]} exited with {status}.", "Check the file: it may be unchanged.")


async def _run(app: App[Any], command: list[str]) -> int:
    """Run a program in the terminal; return its exit status.

    Raises:
        OSError: the program cannot be started.
        UsageError: the terminal cannot be suspended.
    """
    # Ctrl+C belongs to the editor. A handler instead of SIG_IGN, which the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        # Nothing is drawn meanwhile, whatever the agent does.
        with app.batch_update(), app.suspend():
            process = await start_in_terminal(command, os.environ)
            return await process.wait()
    except SuspendNotSupported as exc:
        raise UsageError("Cannot start an editor in this terminal.") from exc
    finally:
        signal.signal(signal.SIGINT, before)


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
    """The environment and the path for opening a file at a line; an unknown editor opens the file at its
    beginning.

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
