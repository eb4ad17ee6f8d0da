"""The start of an empty conversation: the model, what to try, and recent conversations, picked or clicked."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.segment import Segment
from rich.style import Style

from cogency_tui.config.layers import Origin
from cogency_tui.config.schema import Permissions, config_path
from cogency_tui.providers.configured_providers import known_providers
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.kit.permission_badge import permission_badge
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
MOST_RECENT = 5
_LEAST_RECENT = 3
PICK = "pick"
"""The key of the action that a click runs, in the meta data of a style."""

_WORDMARK = (
    "▄▀▀ ▄▀▄ ▄▀█ ▄█▄ █▀▄ ▄▀▀ █ █",
    "▀▄▄ ▀▄▀ ▀▄█ ▀▄▄ █ █ ▀▄▄ ▀▄█",
    "        ▄▄▀             ▄▄▀",
)
_SPACIOUS = (18, 40)
"""Rows and columns from which there is room for the wordmark."""
_ROOMY = 14
"""Rows from which there is room for one more blank row."""

_WIDEST_ROW = 64
"""Cells between which the title of a conversation and its time still read as one row."""


class Situation(msgspec.Struct, frozen=True):
    """The model in force and where it was chosen; the variables that hold keys for other providers, and
    the path of the user's configuration."""

    provider: str
    model: str
    origin: Origin
    keys: tuple[str, ...]
    config: str
    permissions: Permissions = "ask"


class Recent(msgspec.Struct, frozen=True):
    """A past conversation, when it was last continued, and its first message where its title does not tell
    it from another one."""

    id: str
    title: str
    updated: str
    message: str = ""

    @property
    def detail(self) -> str:
        """The message on one line, unless the title says the same."""
        text = one_line(self.message)
        return "" if text.casefold() == one_line(self.title).casefold() else text


class Choice(msgspec.Struct, frozen=True):
    """A row that can be picked, and the command of the main screen that it runs."""

    text: str
    command: str
    argument: str
    aside: str = ""
    detail: str = ""

    @property
    def action(self) -> str:
        """The action of the main screen."""
        return f"command({self.command!r}, {self.argument!r})"


class Offer(msgspec.Struct, frozen=True):
    """A choice that is offered for a time, below a heading with an aside."""

    heading: str
    aside: str
    choice: Choice


class WelcomePicker:
    """Picks one of the choices from the empty prompt, while `is_shown`. `run` runs an action, `redraw` shows
    another selection. There are no choices until they are drawn."""

    def __init__(
        self, run: Callable[[str], object], redraw: Callable[[], object], is_shown: Callable[[], bool]
    ) -> None:
        self._run = run
        self._redraw = redraw
        self._is_shown = is_shown
        self._recent: Sequence[Recent] = ()
        self._choices: Sequence[Choice] = ()
        self.offers: dict[str, Offer] = {}
        """What is offered for a time, by command."""
        self.selected: int | None = None

    def know(self, recent: Sequence[Recent]) -> None:
        """Set the recent conversations, the newest first."""
        if recent != self._recent:
            self._recent = recent
            self._redraw()

    @property
    def least_recent(self) -> int:
        """The recent conversations that offers leave room for, and at least none."""
        return min(_LEAST_RECENT, len(self._recent))

    def make_offer(self, offer: Offer) -> None:
        """Offer what a command does, below the suggestions."""
        if self.offers.get(offer.choice.command) != offer:
            self.offers[offer.choice.command] = offer
            self._redraw()

    def withdraw_offer(self, command: str) -> None:
        """Offer a command no longer."""
        if self.offers.pop(command, None) is not None:
            self._redraw()

    def choices(self, situation: Situation, most_recent: int) -> tuple[list[Choice], list[Choice]]:
        """The suggestions and the recent conversations, which can be picked from now on."""
        tries = _TRY_OFFLINE if situation.provider == OFFLINE else _TRY
        suggested = [Choice(each, "suggest", each) for each in tries]
        recent = [
            Choice(one_line(each.title) or "Untitled", "resume", each.id, each.updated, each.detail)
            for each in self._recent[: max(0, most_recent)]
        ]
        picked = next(iter(self._choices[self.selected :]), None) if self.selected is not None else None
        self._choices = [*suggested, *(each.choice for each in self.offers.values()), *recent]
        # It stays selected where others come and go.
        self.selected = self._choices.index(picked) if picked in self._choices else None
        return suggested, recent

    def move(self, step: int) -> bool:
        """Move the selection; return whether there was anything to move to."""
        if not (self._choices and self._is_shown()) or (self.selected is None and step < 0):
            return False
        place = 0 if self.selected is None else self.selected + step
        self.selected = None if place < 0 else min(place, len(self._choices) - 1)
        self._redraw()
        return True

    def take(self) -> bool:
        """Run the selected choice; return whether there was one."""
        if self.selected is None or self.selected >= len(self._choices) or not self._is_shown():
            return False
        choice, self.selected = self._choices[self.selected], None
        self._redraw()
        self._run(choice.action)
        return True

    def leave(self) -> None:
        """Select nothing."""
        if self.selected is not None:
            self.selected = None
            self._redraw()


def draw_welcome(
    situation: Situation, picker: WelcomePicker, width: int, height: int, styles: ThemeStyles
) -> list[Line]:
    """The welcome text in `width` cells; in `height` rows at least what can be picked."""
    # Recent conversations are opened daily: what is offered beside them takes the room of the wordmark.
    beside = 3 * len(picker.offers) + picker.least_recent if picker.offers else 0
    spacious = height >= _SPACIOUS[0] + beside and width >= _SPACIOUS[1]
    lines = [*_head(spacious, width, height, styles), *_model(situation, spacious, width, styles)]
    lines += [BLANK, *([_heading("Try", "↓ and Enter, or click", styles)] if height >= _ROOMY else [])]
    room = height - len(lines) - len(_TRY) - 2
    left = room - 3 * len(picker.offers)
    is_tight = bool(picker.offers) and left < picker.least_recent
    left = room - 1 - len(picker.offers) if is_tight else left
    suggested, recent = picker.choices(situation, min(MOST_RECENT, left))
    lines += _rows(suggested, 0, picker.selected, width, styles)
    lines += _offers(picker, len(suggested), width, styles, is_tight=is_tight)
    place = len(suggested) + len(picker.offers)
    if recent:
        lines += [BLANK, _heading("Recent", "", styles)]
        lines += _rows(recent, place, picker.selected, width, styles)
    if situation.provider == OFFLINE:
        lines += _first_steps(situation, width, styles)
    return lines


def _offers(
    picker: WelcomePicker, place: int, width: int, styles: ThemeStyles, *, is_tight: bool
) -> list[Line]:
    """What is offered for a time: a row each below a heading, or where there is little room, alone."""
    lines: list[Line] = [BLANK] if is_tight else []
    for at, offer in enumerate(picker.offers.values(), place):
        choice = offer.choice
        if is_tight:
            choice = msgspec.structs.replace(choice, text=offer.heading, detail=offer.aside, aside="")
        else:
            lines += [BLANK, _heading(offer.heading, offer.aside, styles)]
        lines += _rows([choice], at, picker.selected, width, styles)
    return lines


def _head(spacious: bool, width: int, height: int, styles: ThemeStyles) -> list[Line]:
    dim, accent = styles("dim"), styles("accent", attributes="bold")
    about = "Your coding agent for this directory"
    if not spacious:
        tagline = [Segment("cogency", accent), Segment(f"  {about}", dim)]
        return [*wrap(tagline, width), *([BLANK] if height >= _ROOMY else [])]
    mark = [Line([Segment(row, styles("accent"))]) for row in _WORDMARK]
    return [BLANK, *mark, BLANK, *wrap([Segment(about, dim)], width), BLANK]


def _model(situation: Situation, spacious: bool, width: int, styles: ThemeStyles) -> list[Line]:
    """The model and the permission mode as buttons, and why it is this model."""
    name = f" {one_line(situation.provider)}/{one_line(situation.model)} "
    badge = permission_badge(situation.permissions, styles, "surface")
    chips = [
        _button(Segment(fit(name, width), styles("text", "raised")), "command('choose_model')"),
        Segment(" F2", styles("text")),
        Segment("   ", styles("dim")),
        _button(badge, "command('cycle_permissions')"),
        Segment(" Shift+Tab", styles("text")),
    ]
    while width_of(chips) > width and len(chips) > 1:
        chips.pop()
    why = _why(situation, spacious)
    return [Line(chips), *(wrap([Segment(why, styles("dim"))], width) if why else [])]


def _why(situation: Situation, spacious: bool) -> str:
    """Why it is this model; a choice of the user's needs no explanation where there is little room."""
    origin = situation.origin
    if origin.source == "default":
        offline = situation.provider == OFFLINE
        return "No model configured yet — using the built-in demo model." if offline else ""
    if not spacious:
        return ""
    match origin.source:
        case "environment":
            return f"Model set by ${origin.where}"
        case "flag":
            return f"Model set by {origin.where}"
        case _:
            return f"Model set in {one_line(short_path(Path(origin.where)))}"


def _button(segment: Segment, action: str) -> Segment:
    """A segment that runs an action of the screen on a click."""
    return Segment(segment.text, (segment.style or Style()) + Style(meta={PICK: action}))


def _heading(text: str, aside: str, styles: ThemeStyles) -> Line:
    strong, dim = styles("dim", attributes="bold"), styles("dim")
    return Line([Segment(text, strong), Segment(f"  {aside}" if aside else "", dim)])


def _rows(
    choices: Sequence[Choice], first: int, selected: int | None, width: int, styles: ThemeStyles
) -> list[Line]:
    return [_row(choice, at == selected, width, styles) for at, choice in enumerate(choices, first)]


def _row(choice: Choice, selected: bool, width: int, styles: ThemeStyles) -> Line:
    on = "cursor" if selected else "surface"
    width = min(width, _WIDEST_ROW)
    room = max(1, width - 3 - (cells(choice.aside) + 2 if choice.aside else 0))
    text = fit(choice.text, room)
    detail = fit(f"  {choice.detail}", room - cells(text)) if choice.detail else ""
    space = " " * max(0, width - 3 - cells(text) - cells(detail) - cells(choice.aside))
    segments = [
        Segment(" › ", styles("accent", on, "bold" if selected else "")),
        Segment(text, styles("text", on, "bold" if selected else "")),
        Segment(detail + space + choice.aside, styles("dim", on)),
    ]
    return Line([_button(segment, choice.action) for segment in segments])


def _first_steps(situation: Situation, width: int, styles: ThemeStyles) -> list[Line]:
    """How to connect a model, and the tour."""
    text, strong = styles("text"), styles("text", attributes="bold")
    tour = "Run cogency-tui --tour (a few minutes, in a scratch project)."
    return [
        *(BLANK, Line([Segment("Connect a model", strong)])),
        *_indent(wrap([Segment(_how(situation), text)], width - 3), styles),
        *(BLANK, Line([Segment("Take the tour", strong)])),
        *_indent(wrap([Segment(tour, text)], width - 3), styles),
    ]


def _how(situation: Situation) -> str:
    """The step that selects another model."""
    if situation.keys:
        found = " and ".join(map(one_line, situation.keys))
        return f"API key found in {found}. Press F2 to list its models, test one and save your choice."
    return (
        "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and restart, or run a local server "
        "(Ollama, llama.cpp). Press F2 to see what each provider needs, test it and save your choice in "
        f"{one_line(situation.config)}."
    )


def _indent(lines: list[Line], styles: ThemeStyles) -> list[Line]:
    return [line.indented(Segment("   ", styles())) for line in lines]


def situation_of(agent: "Agent") -> Situation:
    """The situation of `agent` now."""
    keys: list[str] = []
    if agent.provider.name == OFFLINE:
        known = known_providers(agent.settings, os.environ)
        keys = [each.key_source for each in known if each.key_source and each.key_found]
    chosen = agent.provider.name == agent.settings.provider
    origin = agent.configured.origin("provider") if chosen else Origin()
    path = short_path(config_path())
    provider = agent.provider
    return Situation(provider.name, provider.model, origin, tuple(keys), path, agent.permissions)
