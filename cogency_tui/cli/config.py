"""`cogency-tui config`: shows every option with its value and origin, and changes it without an editor."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cogency_tui.agent.editable_options import APPLIED, Preference, Preferences, preferences, shown_value
from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.cli.trust import print_unused
from cogency_tui.config.edit import dotted
from cogency_tui.config.layers import Origin, configure
from cogency_tui.config.options import options
from cogency_tui.config.schema import config_path
from cogency_tui.safe_text import one_line

_KEY, _VALUE = 32, 14


def print_path() -> int:
    """Print the path of the user's file, whether it exists or not."""
    print_text(str(config_path()))
    return 0


def show_config(project: Path, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Print every option as it would be in `project` (resolved) with these flags.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    brought = project_settings_of(project)
    brought.refresh()
    configured = configure(flags=flags, project=brought.layer)
    group = ""
    for preference in preferences(configured):
        if as_json:
            print_json(_as_json(preference))
            continue
        if preference.option.group != group:
            group = preference.option.group
            print_text(f"\n{group}" if preference.option.key != "provider" else group)
        print_text(_line(preference))
    print_unused(brought, before_turn=False)
    return 0


def set_option(key: str, value: str) -> int:
    """Write a value into the user's file.

    Raises:
        UsageError: there is no such key.
        ConfigError: it cannot be written.
    """
    own = Preferences()
    keys, written = own.set(key, value)
    when = options()[key].when if key in options() else "start"
    print_text(f"{dotted(keys)} = {shown_value(written)}, in {one_line(str(own.path))}.")
    if when == "conversation":
        talk("It applies to new conversations.")
    return 0


def unset_option(key: str) -> int:
    """Remove a key from the user's file.

    Raises:
        UsageError: there is no such key.
        ConfigError: the file cannot be changed.
    """
    own = Preferences()
    if own.unset(key):
        print_text(f"Removed {key} from {one_line(str(own.path))}: the default applies.")
        return 0
    talk(f"{key} is not set in {one_line(str(own.path))}.")
    return 0


def print_origin(origin: Origin) -> str:
    """The origin of a value, in a few words."""
    if origin.source == "environment":
        return f"${origin.where}"
    return one_line(origin.where) or "default"


def _line(preference: Preference) -> str:
    option = preference.option
    value = one_line(preference.shown) or '""'
    where = print_origin(preference.origin)
    meaning = option.meaning + (f": {', '.join(option.choices)}" if option.choices else "")
    return f"  {option.key:<{_KEY}}  {value:<{_VALUE}}  {where}\n  {'':<{_KEY}}  {meaning}"


def _as_json(preference: Preference) -> dict[str, object]:
    option, origin = preference.option, preference.origin
    return {
        "key": option.key,
        "value": list(preference.value) if option.kind == "table" else preference.value,
        "source": origin.source,
        "where": origin.where,
        "default": [] if option.kind == "table" else option.default,
        "choices": list(option.choices),
        "meaning": option.meaning,
        "variable": option.variable,
        "project": option.project != "",
        "applied": APPLIED[option.when],
    }
