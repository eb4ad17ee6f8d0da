"""The welcome text of an empty conversation: the program, the model and its origin, and suggestions."""

import os
from typing import TYPE_CHECKING

import msgspec
from rich.segment import Segment

from cogency_tui.config.layers import Origin
from cogency_tui.config.schema import config_path
from cogency_tui.providers.configured_providers import known_providers
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


OFFLINE = "offline"
_TRY = (
    "explain what this project does",
    "find where settings are loaded",
    "add a missing test",
)
_TRY_OFFLINE = (
    "list the files",
    "explain README.md",
    "create notes.txt then run the tests",
)
_WAY_COLUMN = 15
_WAYS = (
    ("F2", "choose a model"),
    ("/mode", "how history is sent"),
    ("/permissions", "what runs without asking"),
    ("F1", "all keys and commands"),
)


class Situation(msgspec.Struct, frozen=True):
    """The model in force and where it was chosen; the variables that hold keys for other providers, and
    the path of the user's configuration."""

    provider: str
    model: str
    origin: Origin
    keys: tuple[str, ...]
    config: str


def draw_welcome(situation: Situation, width: int, styles: ThemeStyles) -> list[Line]:
    """The welcome text in `width` cells."""
    text, dim, strong = styles("text"), styles("dim"), styles("text", attributes="bold")
    lines = wrap([Segment("Your coding agent for this directory", strong)], width)
    about = "It reads, searches and edits files, and runs commands. You see every step and approve changes."
    lines += wrap([Segment(about, dim)], width)
    before, after = _around_model(situation)
    model = f"{one_line(situation.provider)}/{one_line(situation.model)}"
    segments = [Segment(before, text), Segment(model, styles("accent")), Segment(after, text)]
    lines += [BLANK, *wrap(segments, width)]
    tries = _TRY_OFFLINE if situation.provider == OFFLINE else _TRY
    lines += [BLANK, Line([Segment("Try", strong)])]
    lines += [
        line.indented(Segment("  › ", styles("accent")))
        for line in (Line([Segment(each, text)]) for each in tries)
    ]
    if situation.provider == OFFLINE:
        lines += [BLANK, Line([Segment("Connect a model", strong)])]
        lines += _indent(wrap([Segment(_how(situation), text)], width - 2), styles)
        lines += [BLANK, Line([Segment("Take the tour", strong)])]
        tour = "cogency-tui --tour takes a few minutes, in a scratch project."
        lines += _indent(wrap([Segment(tour, text)], width - 2), styles)
    lines.append(BLANK)
    for key, meaning in _WAYS:
        lines.append(Line([Segment(key.ljust(_WAY_COLUMN), styles("accent")), Segment(meaning, dim)]))
    return lines


def _around_model(situation: Situation) -> tuple[str, str]:
    """The text before and after the model's name: where it was chosen, and whether it is the demo model."""
    origin, offline = situation.origin, situation.provider == OFFLINE
    built_in = " Built in: no key, no network, no real model." if offline else ""
    if origin.source == "default":
        if offline:
            return "No model configured yet — using the built-in demo model ", f".{built_in}"
        return "Model: ", " (configuration)"
    where = f"${origin.where}" if origin.source == "environment" else one_line(origin.where)
    return "Model: ", f" ({where}){'.' if offline else ''}{built_in}"


def _how(situation: Situation) -> str:
    """The step that selects another model."""
    if situation.keys:
        found = " and ".join(map(one_line, situation.keys))
        return f"API key found in {found}. Press F2 to list its models, test one and save your choice."
    return (
        "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and restart, or run a local server "
        "(Ollama, llama.cpp). F2 shows what each one needs, tests it and saves your choice in "
        f"{one_line(situation.config)}."
    )


def _indent(lines: list[Line], styles: ThemeStyles) -> list[Line]:
    return [line.indented(Segment("  ", styles())) for line in lines]


def situation_of(agent: "Agent") -> Situation:
    """The situation of `agent` now."""
    keys: list[str] = []
    if agent.provider.name == OFFLINE:
        known = known_providers(agent.settings, os.environ)
        keys = [each.key_source for each in known if each.key_source and each.key_found]
    chosen = agent.provider.name == agent.settings.provider
    origin = agent.configured.origin("provider") if chosen else Origin()
    path = short_path(config_path())
    return Situation(agent.provider.name, agent.provider.model, origin, tuple(keys), path)
