"""The image in the clipboard, read by a program of the user's desktop.

Over SSH no program reaches the user's own desktop, and nothing is tried. (A terminal with kitty's clipboard
protocol, OSC 5522, could send it; the answer would arrive between the user's keys.)
"""

import base64
import binascii
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from cogency_tui.child_processes import output_of
from cogency_tui.errors import UsageError
from cogency_tui.safe_text import one_line
from cogency_tui.search_paths import find_program
from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.workspace.images import LARGEST_FILE

PATIENCE = 3.0
"""Seconds that a program may take."""

_SLOW = 15.0
"""Seconds that PowerShell and AppleScript may take, which start slowly."""

_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff")
"""The types to ask for, the best first: PNG has no losses, and every program offers it."""

_UNREACHED = re.compile(r"(?i)connect|open display|not (?:seem to )?support|permission|denied")
"""What programs write that do not reach the desktop. Where there is nothing to read they fail in other words,
such as `Nothing is copied` and `target image/png not available`."""

_LONGEST_ERROR = 120

_TYPE_LIST = 1 << 16
"""Most bytes of a list of types."""

_APPLE_SCRIPT = "get the clipboard as «class PNGf»"
_POWERSHELL = """
Add-Type -AssemblyName System.Windows.Forms, System.Drawing
$image = [System.Windows.Forms.Clipboard]::GetImage()
if ($image -ne $null) {
  $stream = New-Object System.IO.MemoryStream
  $image.Save($stream, [System.Drawing.Imaging.ImageFormat]::Png)
  [Convert]::ToBase64String($stream.ToArray())
}
"""

Reader: TypeAlias = Callable[[Mapping[str, str]], Awaitable[bytes]]
"""Reads the image in the environment of a program; empty if there is none."""


async def read_image(environ: Mapping[str, str]) -> bytes:
    """Return the image in the clipboard.

    Raises:
        UsageError: it has none, it is too large, or nothing can read it here.
    """
    if Terminal.of(environ).remote:
        raise UsageError(
            "Over SSH the clipboard cannot be read.", "Copy the image to this machine, and type @path."
        )
    readers = readers_for(environ, sys.platform)
    if not readers:
        raise UsageError(
            "No program found that reads the clipboard.", f"{_install(sys.platform)}, or type @path."
        )
    problem = ""
    for reader in readers:
        try:
            if content := await reader(environ):
                return content
        except (OSError, ValueError) as exc:
            problem = str(exc)
    if problem:
        raise UsageError(f"The clipboard cannot be read: {problem}.", "Save the image, and type @path.")
    raise UsageError("There is no image in the clipboard.", "Copy one, or type @path.")


def readers_for(environ: Mapping[str, str], platform: str) -> list[Reader]:
    """The ways to read an image on this `platform`, as `sys.platform` names it, the best first."""

    def has(name: str) -> bool:
        return find_program(name, environ) is not None

    if platform == "darwin":
        return [_pngpaste] if has("pngpaste") else [_osascript] if has("osascript") else []
    found: list[Reader] = [_wl_paste] if environ.get("WAYLAND_DISPLAY") and has("wl-paste") else []
    found += [_xclip] if environ.get("DISPLAY") and has("xclip") else []
    found += [_powershell] if environ.get("WSL_DISTRO_NAME") and has("powershell.exe") else []
    return found


async def _wl_paste(environ: Mapping[str, str]) -> bytes:
    types = await _output(["wl-paste", "--list-types"], environ, limit=_TYPE_LIST)
    kind = _best(types)
    return await _output(["wl-paste", "--no-newline", "--type", kind], environ) if kind else b""


async def _xclip(environ: Mapping[str, str]) -> bytes:
    command = ["xclip", "-selection", "clipboard", "-out", "-target"]
    kind = _best(await _output([*command, "TARGETS"], environ, limit=_TYPE_LIST))
    return await _output([*command, kind], environ) if kind else b""


async def _pngpaste(environ: Mapping[str, str]) -> bytes:
    return await _output(["pngpaste", "-"], environ)


async def _osascript(environ: Mapping[str, str]) -> bytes:
    """Read `«data PNGf89504E47…»`, the image in hexadecimal digits."""
    shown = await _output(["osascript", "-e", _APPLE_SCRIPT], environ, limit=3 * LARGEST_FILE, seconds=_SLOW)
    _, _, digits = shown.partition(b"PNGf")
    return binascii.unhexlify(digits.partition("»".encode())[0].strip())


async def _powershell(environ: Mapping[str, str]) -> bytes:
    command = ["powershell.exe", "-NoProfile", "-NonInteractive", "-Sta", "-Command", _POWERSHELL]
    return base64.b64decode(await _output(command, environ, limit=2 * LARGEST_FILE, seconds=_SLOW))


async def _output(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    limit: int = LARGEST_FILE,
    seconds: float = 0.0,
) -> bytes:
    """The output of a program, which may take so many `seconds` (0: as long as most); empty if it failed:
    these programs fail where there is nothing to read.

    Raises:
        OSError: it did not reach the desktop.
    """
    status, output, error = await output_of(command, environ, seconds=seconds or PATIENCE, limit=limit)
    if status and _UNREACHED.search(error):
        raise OSError(f"{command[0]}: {one_line(error)[:_LONGEST_ERROR].removesuffix('.')}")
    return output if status == 0 else b""


def _best(types: bytes) -> str:
    """The best of the offered types; empty if none is an image."""
    offered = types.decode("ascii", "replace").split()
    return next((each for each in _TYPES if each in offered), "")


def _install(platform: str) -> str:
    return "Install pngpaste" if platform == "darwin" else "Install wl-clipboard (Wayland) or xclip (X11)"
