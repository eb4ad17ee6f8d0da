"""Options as rows: key, value and origin in columns; the selected one in full below."""

from pathlib import Path

from rich.segment import Segment

from cogency_tui.agent.preferences import APPLIED, Preference
from cogency_tui.config_sources import Origin
from cogency_tui.text import one_line
from cogency_tui.tui.drawing.lines import Line, cells, fit, wrap
from cogency_tui.tui.heading import Heading
from cogency_tui.tui.setting_rows import LinkRow, Row, SettingRow
from cogency_tui.tui.theming import Inks

_KEY, _VALUE = 32, 20
_NARROW_KEY = 28


def draw_setting(row: Row, width: int, inks: Inks, on: str) -> Line:
    """One line of the list."""
    if isinstance(row, Heading):
        return Line([Segment(fit(row.text, width), inks("accent", on, "bold"))])
    if isinstance(row, LinkRow):
        return Line(
            [
                Segment(f"  {fit(row.name, _KEY):<{_KEY}}", inks("text", on)),
                Segment(fit(row.meaning, width - _KEY - 2), inks("dim", on)),
            ]
        )
    preference = row.preference
    own = preference.origin.source != "default"
    name = _KEY if width >= 2 + _KEY + _VALUE + 16 else _NARROW_KEY
    room = min(_VALUE, max(4, width - 2 - name))
    value = fit(one_line(preference.shown) or "—", room)
    where = fit(tell_briefly(preference.origin), max(0, width - 4 - name - room))
    return Line(
        [
            Segment("● " if own else "  ", inks("accent", on)),
            Segment(f"{fit(preference.option.key, name):<{name}}", inks("text", on)),
            Segment(value + " " * (room - cells(value)), inks("text", on, "bold" if own else "")),
            Segment(f"  {where}", inks("dim", on)),
        ]
    )


def draw_setting_note(
    row: Row | None, choices: tuple[str, ...], said: str, problem: str, width: int, inks: Inks
) -> list[Line]:
    """What the selected row means, what it may be, when a change counts, and where its value is from."""
    if isinstance(row, LinkRow):
        return wrap([Segment(f"{row.meaning[0].upper()}{row.meaning[1:]}.", inks("text"))], width)
    if not isinstance(row, SettingRow):
        return []
    preference = row.preference
    lines = wrap([Segment(f"{_sentence(preference)} Counts {_when(preference)}.", inks("text"))], width)
    if problem:
        return [*lines, *wrap([Segment(f"✗ {one_line(problem)}", inks("bad"))], width)]
    if said:
        lines += wrap([Segment(f"✓ {one_line(said)}", inks("good"))], width)
    if choices:
        lines += wrap([Segment(f"One of: {', '.join(map(one_line, choices))}", inks("dim"))], width)
    return [*lines, *wrap([Segment(f"From {_tell(preference.origin)}.", inks("dim"))], width)]


def tell_briefly(origin: Origin) -> str:
    """An origin as a column has room for it: of a file its name and line."""
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


def _tell(origin: Origin) -> str:
    where = one_line(origin.where).replace(f"{Path.home()}/", "~/", 1)
    told = {
        "default": "the program: nothing else says so",
        "person": f"your file, {where}",
        "project": f"this project, which you trust: {where}",
        "environment": f"the environment, {origin.where}; it goes before your file",
        "flag": f"the command line, {origin.where}; it goes before your file until the program ends",
    }
    return told[origin.source]
