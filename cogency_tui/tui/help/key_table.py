"""The table of all bindings of the interface, and the problems of remapped keys.

Imports every module of the interface, which takes a moment: used only on request, or if `[keys]` is
configured.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import msgspec
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, Keys
from textual.screen import ModalScreen, Screen

from cogency_tui.config import toml_reader
from cogency_tui.config.schema import config_path
from cogency_tui.config.toml_reader import line_of_key
from cogency_tui.errors import ConfigError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.action_groups import GROUPS, group_of_id
from cogency_tui.tui.help.screen import HelpGroup, HelpRow
from cogency_tui.tui.kit.keys import spelled_key

_PACKAGE = "cogency_tui.tui"
_MODIFIERS = frozenset(("ctrl", "shift", "alt", "super", "hyper", "meta"))
_NAMED = frozenset(key.value for key in Keys)


class Key(msgspec.Struct, frozen=True):
    """One binding with an id. `keys` are its defaults; `owner` is the class that handles it."""

    id: str
    keys: tuple[str, ...]
    meaning: str
    owner: type[DOMNode]
    priority: bool = False

    def now(self, changed: Mapping[str, str]) -> tuple[str, ...]:
        """Its keys in force, given the user's `changed` ones."""
        given = changed.get(self.id)
        return self.keys if given is None else split_keys(given)


def split_keys(keys: str) -> tuple[str, ...]:
    """Split a list of keys into their long forms: `ctrl+x, ?` gives `ctrl+x` and `question_mark`."""
    return tuple(_long(key.strip()) for key in keys.split(",") if key.strip())


def key_table() -> list[Key]:
    """All bindings with an id, those of the app first."""
    found: dict[str, Key] = {}
    owners = sorted(set(_owners()), key=lambda owner: (_rank(owner), owner.__name__))
    for owner in owners:
        for binding in vars(owner).get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id and binding.id not in found:
                meaning = binding.tooltip or binding.description
                found[binding.id] = Key(
                    binding.id, split_keys(binding.key), meaning, owner, priority=bool(binding.priority)
                )
    return list(found.values())


def key_rows(changed: Mapping[str, str]) -> list[HelpGroup]:
    """The table as help rows, with the user's `changed` keys."""
    groups: dict[str, list[HelpRow]] = {}
    for key in key_table():
        names = " ".join(spelled_key(each) for each in key.now(changed)) or "none"
        groups.setdefault(_group(key), []).append(HelpRow(names, key.meaning, key.id))
    order = [*(group for group in GROUPS if group in groups), *groups]
    return [(group, groups[group]) for group in dict.fromkeys(order)]


def describe_problems(changed: Mapping[str, str]) -> list[str]:
    """Describe each problem of the user's `changed` keys with file, line and the next step."""
    if not changed:
        return []
    table = {key.id: key for key in key_table()}
    place = _Places()
    problems: list[str] = []
    for id, keys in changed.items():
        if id not in table:
            close = difflib.get_close_matches(id, table, n=1, cutoff=0.5)
            advice = f'Did you mean "{close[0]}"?' if close else "/keys lists them all."
            problems.append(f'{place.of(id)}: unknown key id "{one_line(id)}". {advice}')
        problems += [
            f'{place.of(id)}: "{one_line(key)}" is not a key. Examples: ctrl+r, shift+f6, alt+x, escape.'
            for key in split_keys(keys)
            if not _is_key(key)
        ]
    return problems + [
        f'{place.of(one.id if one.id in changed else other.id)}: "{one.id}" and "{other.id}" are both '
        f"bound to {spelled_key(key)}. Change one of them."
        for one, other, key in clashes(list(table.values()), changed)
    ]


def clashes(table: Sequence[Key], changed: Mapping[str, str]) -> Iterator[tuple[Key, Key, str]]:
    """Yield bindings with the same key that can both be active, at least one changed by the user."""
    for place, one in enumerate(table):
        for other in table[place + 1 :]:
            if (one.id in changed or other.id in changed) and _meet(one, other):
                for key in one.now(changed):
                    if key in other.now(changed):
                        yield one, other, key


def _meet(one: Key, other: Key) -> bool:
    """Return whether one binding would shadow the other: in the same owner, or with priority over it."""
    if one.owner is other.owner:
        return True
    ahead, behind = (one, other) if _rank(one.owner) <= _rank(other.owner) else (other, one)
    return ahead.priority and (
        _rank(ahead.owner) == 0 or (_rank(ahead.owner) == 1 and not issubclass(behind.owner, Screen))
    )


def _rank(owner: type[DOMNode]) -> int:
    """The reach of a binding: 0 everywhere (the app's), 1 nearly so (a full screen's), 2 only in place."""
    if issubclass(owner, App):
        return 0
    return 1 if issubclass(owner, Screen) and not issubclass(owner, ModalScreen) else 2


def _owners() -> Iterator[type[DOMNode]]:
    """Every class of the interface that has bindings of its own."""
    package = import_module(_PACKAGE)
    for info in walk_packages(package.__path__, f"{_PACKAGE}."):
        module = import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, DOMNode) and value.__module__ == info.name:
                yield value


def _group(key: Key) -> str:
    """The group of a key that works everywhere, or the title of the place where it works."""
    if key.owner.__name__ in ("CogencyApp", "MainScreen"):
        return group_of_id(key.id)
    return str(vars(key.owner).get("BINDING_GROUP_TITLE") or _words(key.owner))


def _words(owner: type[Any]) -> str:
    name = owner.__name__.lstrip("_").removesuffix("Screen").removesuffix("Dialog")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def _is_key(key: str) -> bool:
    *modifiers, last = key.split("+")
    if not last or not _MODIFIERS.issuperset(modifiers):
        return False
    if len(last) == 1 or last in _NAMED or last in KEY_NAME_REPLACEMENTS.values():
        return True
    try:
        unicodedata.lookup(last.replace("_", " ").upper())
    except KeyError:
        return False
    return True


def _long(key: str) -> str:
    """A key in the form that events have: `?` is `question_mark`."""
    if len(key) != 1 or key.isalnum():
        return key
    try:
        name = unicodedata.name(key).lower().replace("-", "_").replace(" ", "_")
    except ValueError:
        return key
    return KEY_NAME_REPLACEMENTS.get(name, name)


class _Places:
    """Locates keys in the configuration."""

    def __init__(self) -> None:
        self._path = config_path()
        try:
            self._text = toml_reader.read_text(self._path)
        except ConfigError:
            self._text = ""

    def of(self, id: str) -> str:
        line = line_of_key(self._text, ("keys", id))
        return f"{self._path}, line {line}" if line else str(self._path)
