"""Obstacles to using a file of the store, and their remedies.

The name belongs to something else than a file, the system denies access, or the file system is read-only.
"""

import errno
import os
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from cogency_tui.errors import StoreError
from cogency_tui.private_files import place_of

OTHER_DIRECTORY = "set COGENCY_DATA to a directory that you can write to"

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def find_obstacle(files: Iterable[Path]) -> StoreError | None:
    """Return an error that names what is in the place of one of these files and is no file."""
    for file in files:
        if what := _other_than_file(file):
            away = f"move it away: `mv {shlex.quote(str(file))} {shlex.quote(f'{file}.away')}`"
            act = f"restore its target, or {away}" if file.is_symlink() else away
            return StoreError(
                f"{file} is {what} instead of a file.",
                f"{act[0].upper()}{act[1:]}; or {OTHER_DIRECTORY}.",
            )
    return None


def find_refusal(files: Iterable[Path]) -> tuple[str, str] | None:
    """Return why the first inaccessible file of these cannot be read and written, and the remedy."""
    refused = next((file for file in files if place_of(file) and not _is_ours(file)), None)
    if refused is None:
        return None
    if os.statvfs(refused).f_flag & os.ST_RDONLY:
        return f"{refused} is on a read-only file system", f"Remount it, or {OTHER_DIRECTORY}."
    is_own = refused.stat().st_uid == os.geteuid()
    command = "chmod u+rwX" if is_own else f"sudo chown {os.geteuid()}"
    return (
        f"{refused} cannot be {'' if os.access(refused, os.R_OK) else 'read and '}written",
        f"Allow it with `{command} {shlex.quote(str(refused))}`, or {OTHER_DIRECTORY}.",
    )


def _is_ours(file: Path) -> bool:
    return os.access(file, os.R_OK | os.W_OK | (os.X_OK if file.is_dir() else 0))


def _other_than_file(file: Path) -> str:
    """Describe what is at `file`; empty for a file, and where there is nothing."""
    try:
        kind = stat.S_IFMT(file.stat().st_mode)
    except FileNotFoundError:
        return f"a link to {file.readlink()}, which does not exist" if file.is_symlink() else ""
    except OSError as exc:
        return "a link that leads to itself" if exc.errno == errno.ELOOP else ""
    return _KINDS.get(kind, "")
