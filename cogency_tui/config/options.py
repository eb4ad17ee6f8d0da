"""The options as a table: those that `Settings` declares, by dotted keys, with their descriptions.

`config show`, the settings screen, the environment and the limits for projects are all derived from it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo, fields

from cogency_tui.config.schema import Applied, Giver, Settings
from cogency_tui.config.workflows import problem_of

Kind = Literal["switch", "choice", "number", "text", "table"]

_FLAGS: Mapping[str, str] = {"budget.turn.hard": "--max-cost"}
"""Flags whose names differ from their options."""

_SWITCH: Mapping[str, bool] = {
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}


class Option(msgspec.Struct, frozen=True):
    """One option; `key` is dotted, as `budget.turn.hard`. The group of a `rare` one is seldom changed.

    A number is in `unit`, and one of those that are `allowed`, in words; `unset` is the effect of zero or an
    empty value, `means` that of each choice.
    """

    key: str
    label: str
    meaning: str
    group: str
    rare: bool
    kind: Kind
    when: Applied
    project: Giver
    unit: str
    unset: str
    allowed: str
    default: Any
    choices: tuple[str, ...]
    means: Mapping[str, str]
    owner: type[msgspec.Struct]
    base: type[Any]

    @property
    def path(self) -> tuple[str, ...]:
        """The tables and the key in them."""
        return tuple(self.key.split("."))

    @property
    def variable(self) -> str:
        """The environment variable that sets it; none for a table."""
        return "" if self.kind == "table" else f"COGENCY_{self.key.upper().replace('.', '_')}"

    @property
    def flag(self) -> str:
        """The spelling of its flag, if it has one."""
        return _FLAGS.get(self.key) or f"--{self.key.replace('_', '-')}"

    def read(self, text: str) -> Any:
        """Parse the text that a user has written.

        Raises:
            ValueError: it is invalid; the message gives the reason.
        """
        value: Any = text
        if self.kind == "switch":
            value = _SWITCH.get(text.strip().lower())
            if value is None:
                raise ValueError(f"must be on or off, not {text!r}")
        elif self.kind == "number":
            value = _number(text, self.base)
            if self.problem(value):
                raise ValueError(f"must be {self.allowed}")
        if problem := self.problem(value):
            raise ValueError(problem)
        return value

    def problem(self, value: Any) -> str:
        """The problem with a value, in words; empty if there is none."""
        if isinstance(value, float) and not math.isfinite(value):
            return "must be a number"
        name = self.path[-1]
        return problem_of({name: value}, self.owner).removeprefix(f'"{name}": ')

    def narrows(self, value: Any, current: Any) -> bool:
        """Return whether a project may replace `current` with `value`."""
        if self.project == "any":
            return True
        if self.project == "less":
            return 0 < value < current or (value > 0 and not current)
        if self.project in ("earlier", "later"):
            step = self.choices.index(value) - self.choices.index(current)
            return step < 0 if self.project == "earlier" else step > 0
        return False

    def widens(self, value: Any, current: Any) -> bool:
        """Return whether `value` takes away a protection that `current` gives."""
        return self.project in ("earlier", "later") and value != current and not self.narrows(value, current)

    def value_in(self, settings: Settings) -> Any:
        """Its value in these settings."""
        value: Any = settings
        for name in self.path:
            value = getattr(value, name)
        return value


@cache
def options() -> Mapping[str, Option]:
    """All options by key, in the order in which they are shown."""
    found: dict[str, Option] = {}
    group, rare = "", False
    for option in _declared(Settings):
        if option.group:
            group, rare = option.group, option.rare
        found[option.key] = msgspec.structs.replace(option, group=group, rare=rare)
    return found


def find_option(key: str) -> Option:
    """The option with this key.

    Raises:
        KeyError: there is none; its argument is the message, with the nearest key.
    """
    from difflib import get_close_matches

    known = options()
    if key in known:
        return known[key]
    near = get_close_matches(key, [*known, *(each.rpartition(".")[2] for each in known)], n=1)
    full = next((each for each in known if near and near[0] in (each, each.rpartition(".")[2])), "")
    suggestion = f'Did you mean "{full}"?' if full else "List all options with `cogency-tui config show`."
    raise KeyError(f'unknown option "{key}". {suggestion}')


def flattened(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of options in a table of a file, by their keys; other keys are left out."""
    known = options()

    def walk(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in values.items():
            key = f"{prefix}{name}"
            if key in known:
                yield key, value
            elif isinstance(value, dict):
                yield from walk(cast("dict[str, Any]", value), f"{key}.")

    return walk(table, "")


def placed(values: dict[str, Any], key: str, value: Any) -> None:
    """Set the value of an option at its place in a table of a file."""
    *tables, name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
    values[name] = value


def _declared(owner: type[msgspec.Struct], prefix: str = "", span: str = "") -> Iterator[Option]:
    for field in fields(owner):
        assert get_origin(field.type) is Annotated
        base, *metas = get_args(field.type)
        metadata = next(meta for meta in metas if isinstance(meta, Meta) and meta.extra)
        allowed = _describe_numbers(base, metas)
        key = f"{prefix}{field.name}"
        if not (isinstance(base, type) and issubclass(base, msgspec.Struct)):
            yield _option(key, field, owner, base, metadata, span, allowed)
            continue
        extra = metadata.extra or {}
        for number, option in enumerate(_declared(base, f"{key}.", metadata.description or "")):
            group, rare = option.group, option.rare
            if not group and not number:
                group, rare = extra["group"], extra["rare"]
            yield msgspec.structs.replace(option, group=group, rare=rare)


def _option(
    key: str,
    field: FieldInfo,
    owner: type[msgspec.Struct],
    base: Any,
    metadata: Meta,
    span: str,
    allowed: str,
) -> Option:
    extra = metadata.extra or {}
    choices: tuple[str, ...] = get_args(base) if get_origin(base) is Literal else ()
    kind: Kind = "choice" if choices else "table"
    if base is bool:
        kind = "switch"
    elif base in (int, float):
        kind = "number"
    elif base is str:
        kind = "text"
    return Option(
        key=key,
        label=extra["label"].format(span=span.partition(" (")[0]),
        meaning=(metadata.description or "").format(span=span),
        group=extra["group"],
        rare=extra["rare"],
        kind=kind,
        when=extra["when"],
        project=extra["project"],
        unit=extra["unit"],
        unset=extra["unset"],
        allowed=allowed,
        default=field.default_factory() if kind == "table" else field.default,
        choices=choices,
        means=extra["means"],
        owner=owner,
        base=base if isinstance(base, type) else NoneType,
    )


def _describe_numbers(base: Any, metas: Iterable[Meta]) -> str:
    """The numbers between the limits in `metas`, in words."""
    number = "a whole number" if base is int else "a number"
    for meta in metas:
        if meta.gt is not None:
            return f"{number} greater than {meta.gt:,}"
        if meta.ge is not None:
            upper = meta.le is not None
            return (
                f"{number} from {meta.ge:,} to {meta.le:,}" if upper else f"{number} of at least {meta.ge:,}"
            )
    return number


def _number(text: str, base: type[Any]) -> Any:
    plain = text.strip().replace("_", "").replace(",", "")
    for kind in (int, float) if base is float else (int,):
        try:
            return kind(plain)
        except ValueError:
            continue
    return text
