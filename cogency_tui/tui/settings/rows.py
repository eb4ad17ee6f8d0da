"""Options as rows under the names of their groups: key, value and origin; the selected one in full."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from rich.segment import Segment

from cogency_tui.agent.editable_options import APPLIED, Preference
from cogency_tui.config.layers import Origin
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.theme_styles import ThemeStyles


class SettingRow(msgspec.Struct, frozen=True):
    """An option; `opens` is the handler of the screen that sets it, if that is another one."""

    preference: Preference
    opens: str = ""


class LinkRow(msgspec.Struct, frozen=True):
    """A link to the screen of other settings: its command, the handler, and its meaning."""

    name: str
    opens: str
    meaning: str


Row: TypeAlias = Heading | SettingRow | LinkRow

_OPENS = {"provider": "choose_model", "model": "choose_model", "keys": "show_keys"}

LINKS = (
    LinkRow("/permissions", "permissions", "permission mode, and rules that allow calls without asking"),
    LinkRow("/trust", "trust", "review and trust this project's .cogency files"),
    LinkRow("/theme", "set_theme", "all themes with their colors"),
)


def setting_rows(preferences: Sequence[Preference], words: str = "") -> list[Row]:
    """The rows of the options with all of `words`, in the key, the meaning, the value or the origin."""
    requested = words.casefold().split()
    rows: list[Row] = []
    group = ""
    for preference in preferences:
        option = preference.option
        searched = f"{option.key} {option.meaning} {preference.shown} {preference.origin.source}".casefold()
        if not all(word in searched for word in requested):
            continue
        if option.group != group:
            group = option.group
            rows.append(Heading(group))
        rows.append(SettingRow(preference, _OPENS.get(option.key, "")))
    links = [link for link in LINKS if all(word in f"{link.name} {link.meaning}" for word in requested)]
    return [*rows, *([Heading("Elsewhere"), *links] if links else [])]


_KEY, _VALUE = 32, 20
_NARROW_KEY = 28


def draw_setting(row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list."""
    if isinstance(row, Heading):
        return Line([Segment(fit(row.text, width), styles("accent", on, "bold"))])
    if isinstance(row, LinkRow):
        return Line(
            [
                Segment(f"  {fit(row.name, _KEY):<{_KEY}}", styles("text", on)),
                Segment(fit(row.meaning, width - _KEY - 2), styles("dim", on)),
            ]
        )
    preference = row.preference
    own = preference.origin.source != "default"
    name = _KEY if width >= 2 + _KEY + _VALUE + 16 else _NARROW_KEY
    room = min(_VALUE, max(4, width - 2 - name))
    value = fit(one_line(preference.shown) or "—", room)
    where = fit(describe_briefly(preference.origin), max(0, width - 4 - name - room))
    return Line(
        [
            Segment("● " if own else "  ", styles("accent", on)),
            Segment(f"{fit(preference.option.key, name):<{name}}", styles("text", on)),
            Segment(value + " " * (room - cells(value)), styles("text", on, "bold" if own else "")),
            Segment(f"  {where}", styles("dim", on)),
        ]
    )


def draw_setting_note(
    row: Row | None, choices: tuple[str, ...], saved: str, problem: str, width: int, styles: ThemeStyles
) -> list[Line]:
    """Draw the selected row's meaning, its values, the time of a change's effect, and the value's origin."""
    if isinstance(row, LinkRow):
        return wrap([Segment(f"{row.meaning[0].upper()}{row.meaning[1:]}.", styles("text"))], width)
    if not isinstance(row, SettingRow):
        return []
    preference = row.preference
    lines = wrap(
        [Segment(f"{_sentence(preference)} Takes effect {_when(preference)}.", styles("text"))], width
    )
    if problem:
        return [*lines, *wrap([Segment(f"✗ {one_line(problem)}", styles("bad"))], width)]
    if saved:
        lines += wrap([Segment(f"✓ {one_line(saved)}", styles("good"))], width)
    if choices:
        lines += wrap([Segment(f"One of: {', '.join(map(one_line, choices))}", styles("dim"))], width)
    return [*lines, *wrap([Segment(f"{_describe_origin(preference.origin)}.", styles("dim"))], width)]


def describe_briefly(origin: Origin) -> str:
    """Describe an origin in the width of a column: a file by its name."""
    if origin.source == "environment":
        return f"${origin.where}"
    if origin.source in ("person", "project"):
        name = one_line(origin.where.rpartition("/")[2])
        return name if origin.source == "person" else f"project's {name}"
    return origin.where or "default"


def _sentence(preference: Preference) -> str:
    meaning = preference.option.meaning
    return meaning if meaning.endswith(".") else f"{meaning}."


def _when(preference: Preference) -> str:
    return APPLIED[preference.option.when]


def _describe_origin(origin: Origin) -> str:
    where = one_line(origin.where).replace(f"{Path.home()}/", "~/", 1)
    sentences = {
        "default": "Default",
        "person": f"Set in {where}",
        "project": f"From this project, which you trust: {where}",
        "environment": f"From the environment, {origin.where}; it overrides your file",
        "flag": f"From the command line, {origin.where}; it overrides your file until you quit",
    }
    return sentences[origin.source]
