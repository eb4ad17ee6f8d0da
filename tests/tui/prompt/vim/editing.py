"""Editing in the prompt of the real app with Vim's keys: texts in which `|` is before the cursor."""

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.config.schema import Settings
from cogency_tui.store.prompt_text import Written
from tests.tui.driving import prompt_of
from tests.tui.scripted import ScriptedAgent


def agent_in(project: Path, *scripts: Any) -> ScriptedAgent:
    return ScriptedAgent(project, *scripts, settings=Settings(provider="openai", vim=True))


async def begin(pilot: Pilot[Any], marked: str) -> None:
    """Enter normal mode in a text that has no past, with the cursor where it is marked."""
    if prompt_of(pilot).vim_mode == "insert":
        await pilot.press("escape")
    before, _, after = marked.partition("|")
    prompt = prompt_of(pilot)
    prompt.put(Written(before + after))
    prompt.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))


async def type_keys(pilot: Pilot[Any], text: str) -> None:
    """Press a key for each character; a name of a key is in `⟨⟩`."""
    for part in text.replace("⟨", "\0⟨").replace("⟩", "⟩\0").split("\0"):
        await pilot.press(*([part[1:-1]] if part.startswith("⟨") else part))


def marked(pilot: Pilot[Any]) -> str:
    """The text of the prompt with its cursor marked."""
    prompt = prompt_of(pilot)
    lines = prompt.text.split("\n")
    row, column = prompt.cursor_location
    lines[row] = f"{lines[row][:column]}|{lines[row][column:]}"
    return "\n".join(lines)
