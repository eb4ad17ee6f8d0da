"""Checks of configuration and terminal for the doctor; the running interface uses none of them."""

import os
from typing import Literal

from cogency_tui.config.schema import Settings
from cogency_tui.config.themes import load_palette
from cogency_tui.errors import ConfigError
from cogency_tui.search_paths import find_program
from cogency_tui.tui.help.key_table import describe_problems
from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.tui.terminal.clipboard import ways

Answer = tuple[str, Literal["ok", "note", "bad"], str, str]
"""A name, a state, its description, and the next step."""


def examine_interface(settings: Settings) -> list[Answer]:
    """Check theme, keys and clipboard."""
    complaints: list[Answer] = [("keys", "bad", problem, "") for problem in describe_problems(settings.keys)]
    try:
        load_palette(settings.theme)
    except ConfigError as exc:
        complaints.append(("theme", "bad", str(exc), exc.hint))
    if not complaints:
        changed = len(settings.keys)
        keys = f"{changed} key{'' if changed == 1 else 's'} remapped"
        complaints.append(("interface", "ok", f"theme {settings.theme}, {keys}", ""))
    return [*complaints, _clipboard()]


def _clipboard() -> Answer:
    found = ways(os.environ, lambda name: find_program(name) is not None)
    if found:
        return ("clipboard", "ok", f"copying uses {found[0].name}", "")
    if Terminal.of(os.environ).has_osc52:
        advice = "If nothing is copied, enable it in the terminal, or install xclip or wl-clipboard."
        return ("clipboard", "note", "copying uses the terminal (OSC 52), which does not confirm it", advice)
    advice = "Install xclip or wl-clipboard, or use a terminal with OSC 52."
    return ("clipboard", "note", "copied text stays in the program", advice)
