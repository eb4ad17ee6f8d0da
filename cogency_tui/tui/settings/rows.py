"""Options as rows under the names of their groups: label, value and key; the selected one in full."""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from rich.segment import Segment

from cogency_tui.agent.editable_options import APPLIED, Preference, shown_value
from cogency_tui.config.layers import Origin
from cogency_tui.config.options import Option
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path


class SettingRow(msgspec.Struct, frozen=True):
    """An option; `opens` is the handler of the screen that sets it, if that is another one."""

    preference: Preference
    opens: str = ""


class GroupRow(msgspec.Struct, frozen=True):
    """A group that few users need: folded, unless it is `open`."""

    name: str
    count: int
    changed: int
    open: bool


class LinkRow(msgspec.Struct, frozen=True):
    """A link to the screen of other settings: its command, the handler, and its meaning."""

    name: str
    opens: str
    meaning: str


Row: TypeAlias = Heading | SettingRow | GroupRow | LinkRow

_OPENS = {"provider": "choose_model", "model": "choose_model", "keys": "show_keys"}

LINKS = (
    LinkRow("/permissions", "permissions", "permission mode and rules for calls that run without asking"),
    LinkRow("/trust", "trust", "review and trust this project's .cogency files"),
    LinkRow("/theme", "set_theme", "preview all themes"),
)


def setting_rows(
    preferences: Sequence[Preference], words: str = "", unfolded: Collection[str] = ()
) -> list[Row]:
    """The rows of the options with all of `words`, in what is shown of them, below the names of their groups.
    Without `words`, rare groups fold, and are folded unless they are `unfolded`."""
    requested = words.casefold().split()
    found = [each for each in preferences if _has(requested, each)]
    rows: list[Row] = []
    for group, members in groupby(found, lambda each: each.option.group):
        rows += _group_rows(group, list(members), rows, is_open=group in unfolded, folds=not requested)
    links = [link for link in LINKS if all(word in f"{link.name} {link.meaning}" for word in requested)]
    return [*rows, *([Heading(""), Heading("More settings"), *links] if links else [])]


def _has(words: Sequence[str], preference: Preference) -> bool:
    option = preference.option
    texts = [option.label, option.key, option.meaning, value_of(preference), preference.origin.source]
    texts += [_SESSION] if preference.session else []
    searched = " ".join(texts).casefold()
    return all(word in searched for word in words)


def _group_rows(
    group: str, members: Sequence[Preference], before: Sequence[Row], *, is_open: bool, folds: bool
) -> Iterator[Row]:
    """The rows of one group, after those `before`: a blank line, the name, and the options unless folded."""
    is_foldable = folds and members[0].option.rare
    if before and (is_open or not is_foldable or not isinstance(before[-1], GroupRow)):
        yield Heading("")
    if is_foldable:
        changed = sum(each.origin.source != "default" for each in members)
        yield GroupRow(group, len(members), changed, is_open)
    else:
        yield Heading(group)
    if is_open or not is_foldable:
        yield from (SettingRow(each, _OPENS.get(each.option.key, "")) for each in members)


def value_of(preference: Preference) -> str:
    """The value in force as a user reads it."""
    return _read(preference.option, preference.present)


def _read(option: Option, value: Any) -> str:
    """A value as a user reads it: with its unit, or the effect of an empty one."""
    if not value and option.unset:
        return option.unset
    is_count = isinstance(value, int) and option.kind == "number"
    return f"{f'{value:,}' if is_count else shown_value(value)} {option.unit}".rstrip()


_SESSION = "until you quit"
_VALUE, _KEY = 21, 33
_ROOMY = 84
"""Cells of a line from which on it shows the key too."""

_LINK = 14


def draw_setting(row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list."""
    match row:
        case Heading(text=text):
            return Line([Segment(fit(text, width), styles("text", on, "bold"))])
        case GroupRow():
            return _draw_group(row, width, styles, on)
        case LinkRow(name=name, meaning=meaning):
            head = Segment(f"  {name:<{_LINK}}  ", styles("text", on))
            return Line([head, Segment(fit(meaning, width - _LINK - 4), styles("dim", on))])
        case SettingRow(preference=preference):
            return _draw_option(preference, width, styles, on)


def _draw_group(row: GroupRow, width: int, styles: ThemeStyles, on: str) -> Line:
    changed = f", {row.changed} changed" if row.changed else ""
    aside = "" if row.open else f"  {plural(row.count, 'setting')}{changed}"
    return Line(
        [
            Segment("▾ " if row.open else "▸ ", styles("accent", on)),
            Segment(row.name, styles("text", on, "bold")),
            Segment(fit(aside, width - cells(row.name) - 2), styles("dim", on)),
        ]
    )


def _draw_option(preference: Preference, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw label and value, and where there is room the key at the right end."""
    own, aside = preference.origin.source != "default", _SESSION if preference.session else ""
    weight = "bold" if own or aside else ""
    key_width = _KEY if width >= _ROOMY else 0
    label_width = max(8, width - 4 - _VALUE - key_width - len(aside))
    key = fit(preference.option.key, key_width - 2) if key_width else ""
    room = _VALUE + max(0, key_width - cells(key) - 2)
    value = fit(one_line(value_of(preference)) or "—", room)
    return Line(
        [
            Segment("● " if own else "  ", styles("accent", on)),
            Segment(f"{fit(preference.option.label, label_width - 1):<{label_width}}", styles("text", on)),
            Segment(f"{aside}  ", styles("accent", on)),
            Segment(value, styles("text", on, weight)),
            Segment(key.rjust(_VALUE + key_width - cells(value)), styles("dim", on)),
        ]
    )


def draw_setting_note(
    row: Row | None, saved: str, problem: str, width: int, styles: ThemeStyles
) -> list[Line]:
    """Draw the selected row's meaning, the time of a change's effect, and the value's origin."""
    match row:
        case LinkRow(meaning=meaning):
            return wrap([Segment(f"{meaning[0].upper()}{meaning[1:]}.", styles("text"))], width)
        case SettingRow(preference=preference):
            return _draw_option_note(preference, saved, problem, width, styles)
        case _:
            return []


def _draw_option_note(
    preference: Preference, saved: str, problem: str, width: int, styles: ThemeStyles
) -> list[Line]:
    text = f"{_sentence(preference)} Takes effect {_when(preference)}."
    lines = wrap([Segment(text, styles("text"))], width)
    if problem:
        return [*lines, *wrap([Segment(f"✗ {one_line(problem)}", styles("bad"))], width)]
    if saved:
        lines += wrap([Segment(f"✓ {one_line(saved)}", styles("good"))], width)
    if preference.option.kind == "table" and not _OPENS.get(preference.option.key):
        lines += wrap([Segment(_describe_table(preference.option), styles("dim"))], width)
    return [*lines, *wrap([Segment(f"{_describe_source(preference)}.", styles("dim"))], width)]


def _describe_table(option: Option) -> str:
    """Describe where to change an option that has no single value."""
    if not isinstance(option.default, list):
        return f"Edit the [{option.key}.NAME] tables in the file."
    table, _, name = option.key.rpartition(".")
    return f'Edit the list in the file: {name} = ["…"]' + (f" in the table [{table}]." if table else ".")


def describe_widening(option: Option, before: Any, value: Any) -> str:
    """Ask whether to give an option a value that takes a protection away, which `before` gives."""
    means = option.means.get(value, "")
    effect = f"{means[:1].upper()}{means[1:]}.\n\n" if means else ""
    return f"{option.label}: {shown_value(before)} → {value}\n\n{effect}Save this for all conversations?"


def _sentence(preference: Preference) -> str:
    meaning = preference.option.meaning
    return meaning if meaning.endswith(".") else f"{meaning}."


def _when(preference: Preference) -> str:
    return APPLIED[preference.option.when]


def _describe_source(preference: Preference) -> str:
    origin = _describe_origin(preference.origin)
    if preference.session is None:
        return origin
    configured = one_line(_read(preference.option, preference.value))
    return f"In use until you quit. Configured: {configured} ({origin[0].lower()}{origin[1:]})"


def _describe_origin(origin: Origin) -> str:
    where = one_line(short_path(Path(origin.where)))
    sentences = {
        "default": "Default",
        "user": f"Set in {where}",
        "project": f"Set by this trusted project: {where}",
        "environment": f"Set by {origin.where} in the environment, overriding your file",
        "flag": f"Set by {origin.where} on the command line, overriding your file until you quit",
    }
    return sentences[origin.source]
