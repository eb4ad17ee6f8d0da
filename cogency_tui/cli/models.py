"""`cogency-tui models`: lists the known models with what they cost, take and can do, by provider."""

import os
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import EFFORTS, Settings
from cogency_tui.errors import UsageError
from cogency_tui.providers.configured_providers import (
    OFFLINE,
    ConfiguredModels,
    KnownProvider,
    known_providers,
    list_models,
)
from cogency_tui.providers.models import ListedModel, ModelFacts, Prices, with_listed_end
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.number_format import tokens

_WIDTH = 80
"""Cells that the table takes at most."""

_TITLES = ("model", "context", "in/cached/out", "dialect", "retires", "effort")


class _Model(NamedTuple):
    name: str
    facts: ModelFacts
    is_default: bool


async def show_models(name: str, *, live: bool, as_json: bool) -> int:
    """Print the models of the provider `name`, or of all; `live` asks its endpoint for them.

    Raises:
        ConfigError: the configuration, or the user's file of models, cannot be used.
        UsageError: there is no such provider, or none is named for `live`.
        ProviderError: the endpoint refused or failed.
    """
    settings = load_settings()
    if live and not name:
        raise UsageError("--live needs a provider.", "Use `cogency-tui models PROVIDER --live`.")
    models = ConfiguredModels(settings, os.environ)
    shown = 0
    for provider in _providers(settings, name):
        listed = await list_models(settings, os.environ, provider) if live else _known(models, provider)
        _print(provider, _with_facts(models, provider, listed), as_json=as_json, first=not shown)
        shown += bool(listed)
    if not shown:
        talk(f"{name} does not list its models." if live else f"No known models of {name}.")
    elif not as_json:
        talk("* is the default model. Prices (in/cached/out) are in USD per million tokens.")
    if not live and not as_json:
        talk(f"`cogency-tui models {name or 'PROVIDER'} --live` asks the endpoint for its own list.")
    return 0


def _providers(settings: Settings, name: str) -> list[KnownProvider]:
    """Return the provider of this name; without one, all but the embedded one."""
    known = known_providers(settings, os.environ)
    if not name:
        return [each for each in known if each.name != OFFLINE]
    found = [each for each in known if each.name == name]
    if not found:
        names = ", ".join(each.name for each in known)
        raise UsageError(f"Unknown provider {name!r}.", f"Known providers: {names}.")
    return found


def _known(models: ConfiguredModels, provider: KnownProvider) -> list[ListedModel]:
    """Return the known models, and the configured one; llama.cpp's placeholder is none."""
    names = models.of(provider.name)
    is_known = not provider.model or provider.model in names or provider.model == "default"
    return [ListedModel(name) for name in (names if is_known else [provider.model, *names])]


def _with_facts(
    models: ConfiguredModels, provider: KnownProvider, listed: Sequence[ListedModel]
) -> list[_Model]:
    """Add the facts to the models, those with known facts first."""
    found = [
        _Model(
            each.name,
            with_listed_end(models.facts(provider.name, each.name), each),
            is_default=each.name == provider.model,
        )
        for each in listed
    ]
    return sorted(found, key=lambda model: not model.facts.context_size)


def _print(provider: KnownProvider, models: Sequence[_Model], *, as_json: bool, first: bool) -> None:
    if as_json:
        for model in models:
            print_json(_as_json(provider, model))
    elif models:
        print_text(f"{'' if first else chr(10)}{one_line(provider.name)}  {_key(provider)}")
        for line in _table(models):
            print_text(line)


def _key(provider: KnownProvider) -> str:
    source = one_line(provider.key_source)
    if not source:
        return "no key needed"
    return f"✓ key in {source}" if provider.key_found else f"✗ {source} not set"


def _table(models: Sequence[_Model]) -> list[str]:
    """Return the rows, with columns no wider than they need; a long name stands in a line of its own. Where
    the columns do not fit, each model is a short list."""
    rows = [_TITLES, *map(_cells, models)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)
    # Two cells for the mark, and two before each column but the first.
    room = width - 2 * len(_TITLES) - sum(widths[1:])
    if room < len(_TITLES[0]) and width < _WIDTH:
        return [line for model in models for line in _listed(model, width)]
    widths[0] = min(widths[0], max(room, len(_TITLES[0])))
    marks = ["", *("*" * model.is_default for model in models)]
    return [line for mark, row in zip(marks, rows, strict=True) for line in _lines(mark, row, widths)]


def _listed(model: _Model, width: int) -> list[str]:
    """Return the name, and below it the facts, in as many lines as they need."""
    name, *facts = _cells(model)
    titles = ("", "", "", "retires ", "effort ")
    shown = [f"{title}{fact}" for title, fact in zip(titles, facts, strict=True) if fact]
    lines = [f"{'*' if model.is_default else '':<2}{name}"]
    for fact in shown:
        joined = f"{lines[-1]} · {fact}"
        if len(lines) > 1 and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(f"    {fact}")
    return lines


def _lines(mark: str, row: Sequence[str], widths: Sequence[int]) -> list[str]:
    name, *facts = row
    columns = [text.ljust(width) for text, width in zip(facts, widths[1:], strict=True)]
    if len(name) <= widths[0]:
        return ["  ".join([f"{mark:<2}{name.ljust(widths[0])}", *columns]).rstrip()]
    return [f"{mark:<2}{name}", "  ".join([" " * (widths[0] + 2), *columns]).rstrip()]


def _cells(model: _Model) -> tuple[str, ...]:
    facts = model.facts
    return (
        one_line(model.name),
        tokens(facts.context_size) if facts.context_size else "",
        _prices(facts.prices) if facts.prices else "",
        _dialect(facts),
        facts.ends.isoformat() if facts.ends else "",
        _efforts(facts),
    )


def _dialect(facts: ModelFacts) -> str:
    """Return the dialect that `auto` takes."""
    return facts.dialect or "xml"


def _prices(prices: Prices) -> str:
    return "/".join(f"{price:.10g}" for price in (prices.input, prices.cached, prices.output))


def _efforts(facts: ModelFacts) -> str:
    """Return the levels of effort, as a range where none between is missing: `low–max`."""
    levels = [level for level in EFFORTS if level in facts.efforts]
    if len(levels) < 3:
        return ",".join(levels)
    first, last = EFFORTS.index(levels[0]), EFFORTS.index(levels[-1])
    return f"{levels[0]}–{levels[-1]}" if last - first == len(levels) - 1 else ",".join(levels)


def _as_json(provider: KnownProvider, model: _Model) -> dict[str, object]:
    facts = model.facts
    return {
        "provider": provider.name,
        "model": model.name,
        "default": model.is_default,
        "key_found": provider.key_found,
        "key_source": provider.key_source,
        "context": facts.context_size or None,
        "max_output": facts.max_output or None,
        "prices": _prices_as_json(facts.prices) if facts.prices else None,
        "dialect": _dialect(facts),
        "reasoning": facts.reasoning,
        "efforts": dict(facts.efforts),
        "images": facts.images,
        "ends": facts.ends.isoformat() if facts.ends else None,
    }


def _prices_as_json(prices: Prices) -> dict[str, object]:
    """Return the prices in USD per million tokens; `long` are those of more than `above` tokens of input."""
    shown: dict[str, object] = {
        "input": prices.input,
        "cached": prices.cached,
        "cache_write": prices.cache_write,
        "output": prices.output,
    }
    return shown | {"above": prices.above, "long": _prices_as_json(prices.long)} if prices.long else shown
