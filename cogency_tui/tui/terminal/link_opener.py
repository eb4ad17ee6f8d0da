"""Opens addresses of the web and of mail, and files, in the desktop's program for them."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from cogency_tui.child_processes import start_in_background
from cogency_tui.errors import UsageError
from cogency_tui.search_paths import find_program

_SCHEMES = ("https://", "http://", "mailto:")
_PATIENCE = 5.0
"""Seconds in which an opener may fail; one that still runs then has succeeded."""


def opener(environ: Mapping[str, str]) -> str | None:
    """The program that opens addresses and files; None without a desktop."""
    if sys.platform == "darwin":
        return find_program("open", environ)
    if "DISPLAY" not in environ and "WAYLAND_DISPLAY" not in environ:
        return None
    return find_program("xdg-open", environ)


async def open_address(address: str, environ: Mapping[str, str] | None = None) -> None:
    """Open `address`.

    Raises:
        UsageError: it is not an address of the web or of mail, there is no desktop, or its opener failed.
    """
    environ = os.environ if environ is None else environ
    if not address.startswith(_SCHEMES):
        raise UsageError(f"{address} is not a web or mail address.", "Copy it with y.")
    program = opener(environ)
    if program is None:
        raise UsageError("No browser available to open links.", "Copy it with y.")
    await _open(program, address, environ, "Copy the address with y.")


async def open_file(path: Path, environ: Mapping[str, str] | None = None) -> None:
    """Open the file at `path`.

    Raises:
        UsageError: there is no desktop, or its opener failed.
    """
    environ = os.environ if environ is None else environ
    program = opener(environ)
    if program is None:
        raise UsageError("There is no desktop here to open files.")
    await _open(program, str(path), environ, "Is there a program for such files?")


async def _open(program: str, what: str, environ: Mapping[str, str], hint: str) -> None:
    try:
        process = await start_in_background([program, what], environ)
    except OSError as exc:
        raise UsageError(f"Cannot start {program}: {exc}.", hint) from exc
    waiting = asyncio.ensure_future(process.wait())
    await asyncio.wait([waiting], timeout=_PATIENCE)
    if waiting.done() and waiting.result():
        raise UsageError(f"{program} failed to open {what} (status {waiting.result()}).", hint)
