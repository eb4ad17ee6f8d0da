"""The offer to import other agents' histories: made once, to users who have any."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cogency_tui import private_files

PLACES: Mapping[str, tuple[str, ...]] = {
    "claude-code": (".claude/projects",),
    "codex": (".codex/sessions",),
    "opencode": (".local/share/opencode",),
    "gemini": (".gemini/tmp",),
    "vibe": (".vibe/logs",),
    "pi": (".pi/agent/sessions",),
}
"""Directories below the home that an agent makes when it is first used."""

_OFFERED = "import-offered"


def is_offered(directory: Path) -> bool:
    """Return whether an import was offered before, by the data directory."""
    return (directory / _OFFERED).exists()


def note_offer(directory: Path) -> None:
    """Note that an import was offered, as far as the disk permits."""
    with suppress(OSError):
        private_files.write_file(directory / _OFFERED, b"")


def agents_used(home: Path) -> list[str]:
    """Return the agents that were used by this user. Blocks."""
    return [name for name, places in PLACES.items() if any((home / place).is_dir() for place in places)]
