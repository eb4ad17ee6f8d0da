"""The rows of the settings screen: every option below the name of its group, then where the rest is set."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from cogency_tui.agent.preferences import Preference
from cogency_tui.tui.heading import Heading


class SettingRow(msgspec.Struct, frozen=True):
    """An option; `opens` names the command of the screen that it is set in, if it is set in another one."""

    preference: Preference
    opens: str = ""


class LinkRow(msgspec.Struct, frozen=True):
    """A screen for what is no option: its command, who carries that out, and what it is for."""

    name: str
    opens: str
    meaning: str


Row: TypeAlias = Heading | SettingRow | LinkRow

_OPENS = {"provider": "choose_model", "model": "choose_model", "keys": "show_keys"}

LINKS = (
    LinkRow("/permissions", "permissions", "the rules that let calls pass without a question"),
    LinkRow("/trust", "trust", "what this project brings, and whether it is used"),
    LinkRow("/theme", "set_theme", "every theme with its colours"),
)


def setting_rows(preferences: Sequence[Preference], words: str = "") -> list[Row]:
    """The rows of those in which all of `words` occur, in the key, the meaning, the value or the origin."""
    wanted = words.casefold().split()
    rows: list[Row] = []
    group = ""
    for preference in preferences:
        option = preference.option
        said = f"{option.key} {option.meaning} {preference.shown} {preference.origin.source}".casefold()
        if not all(word in said for word in wanted):
            continue
        if option.group != group:
            group = option.group
            rows.append(Heading(group))
        rows.append(SettingRow(preference, _OPENS.get(option.key, "")))
    links = [link for link in LINKS if all(word in f"{link.name} {link.meaning}" for word in wanted)]
    return [*rows, *([Heading("Elsewhere"), *links] if links else [])]
