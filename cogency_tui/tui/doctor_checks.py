"""Checks of the interface for the doctor: theme, keys and clipboard."""

import os

from cogency_tui.agent.doctor import Finding
from cogency_tui.config.schema import Settings
from cogency_tui.config.themes import load_palette
from cogency_tui.errors import ConfigError
from cogency_tui.search_paths import find_program
from cogency_tui.tui.help.key_table import describe_problems
from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.tui.terminal.clipboard import ways


def examine_interface(settings: Settings) -> list[Finding]:
    """Check theme, keys and clipboard."""
    complaints: list[Finding] = [
        Finding("keys", "bad", problem) for problem in describe_problems(settings.keys)
    ]
    try:
        load_palette(settings.theme)
    except ConfigError as exc:
        complaints.append(Finding("theme", "bad", str(exc), exc.hint))
    if not complaints:
        changed = len(settings.keys)
        keys = f"{changed} key{'' if changed == 1 else 's'} remapped"
        complaints.append(Finding("interface", "ok", f"theme {settings.theme}, {keys}"))
    return [*complaints, _clipboard()]


def _clipboard() -> Finding:
    found = ways(os.environ, lambda name: find_program(name) is not None)
    if found:
        return Finding("clipboard", "ok", f"copying uses {found[0].name}")
    if Terminal.of(os.environ).has_osc52:
        advice = "If copying fails, enable OSC 52 in the terminal, or install xclip or wl-clipboard."
        return Finding(
            "clipboard", "note", "copying uses the terminal (OSC 52), which does not confirm it", advice
        )
    advice = "Install xclip or wl-clipboard, or use a terminal with OSC 52."
    return Finding("clipboard", "note", "no system clipboard: copies stay in cogency", advice)
