"""Facts about models: sizes, prices, abilities. The data is in models.toml, overlaid by the user's own.

An unknown model has safe defaults and no price: a cost is shown only where the price is known. Prices are
in USD per million tokens, sizes in tokens.
"""

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cogency_tui.config import toml_reader
from cogency_tui.config.schema import EFFORTS, Effort, ModelDialect
from cogency_tui.config.workflows import problem_of
from cogency_tui.errors import ConfigError

_PACKAGED = Path(__file__).with_name("models.toml")

_SOON = timedelta(days=60)
"""The time before its end for which users of a model are warned."""

_MILLION = 1_000_000
_MEND = "Correct it, or remove it."

_SNAPSHOT = re.compile(
    r"(?:[-:@](?:\d{4}-\d\d-\d\d|\d{8}|00\d|latest|preview(?:-\d\d-(?:\d{4}|\d\d))?))+", re.ASCII
)
"""Suffix of a model's name that does not make it another model. Four digits alone are not a date: makers
use them for a release that has its own price (kimi-k2-0905, qwen3-235b-a22b-2507)."""

_GATEWAYS = ("openrouter", "vercel")
"""Providers that pass the vendors' prices on."""

_VENDORS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini", "x-ai": "xai", "xai": "xai"}
"""The gateways' names of vendors, and ours."""

_ON_BEDROCK = re.compile(r"(?:[a-z]+\.)?(openai|anthropic)\.(.+?)(?:-v\d+:\d+)?", re.ASCII)
"""A model's name on Bedrock: perhaps a region, its vendor, the vendor's name of it, perhaps a version."""

_VERSION_DOT = re.compile(r"(?<=\d)\.(?=\d)")


_STANDARD_TIERS = frozenset({"", "auto", "default", "standard", "on_demand"})
"""The vendors' names of the class of service that the prices are for."""


class Prices(msgspec.Struct, frozen=True):
    """USD per million tokens. `long` are the prices of a request with more than `above` tokens of input.

    `long_write` is the factor of `cache_write` for entries of the longer lifetime, `tiers` the factors of all
    prices for classes of service, by the vendor's names.
    """

    input: float
    cached: float
    cache_write: float
    output: float
    above: int = 0
    long: "Prices | None" = None
    long_write: float = 1.0
    tiers: Mapping[str, float] = {}

    def cost(
        self,
        *,
        input: int,
        cached: int,
        cache_written: int,
        output: int,
        long_written: int = 0,
        tier: str = "",
    ) -> float:
        """Return the cost of one request in USD, from its counts of tokens.

        `input` is the whole billed input; `cached` and `cache_written` are the parts of it that were read
        from and written to the provider's cache, and `long_written` is the part of the latter with the longer
        lifetime. `output` includes reasoning. A `tier` without a known price costs as the standard one.
        """
        rates = self.long if self.long is not None and input > self.above else self
        fresh = max(0, input - cached - cache_written)
        written = cache_written + long_written * (self.long_write - 1)
        dollars = fresh * rates.input + cached * rates.cached + written * rates.cache_write
        return (dollars + output * rates.output) * self.tiers.get(tier.lower(), 1.0) / _MILLION

    def has(self, tier: str) -> bool:
        """Return whether the price of a class of service is known."""
        return tier.lower() in self.tiers or tier.lower() in _STANDARD_TIERS


ReasoningSwitch = Literal["", "thinking", "enable_thinking"]


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a model can do and takes, as its vendor documents it; the defaults are those of an unknown one.

    `realtime` marks a model of OpenAI's Realtime API, `live_text` a model of Gemini's Live API that can write
    text, `threads` one that Anthropic's message threads accept. `reasoning`: it reasons before it answers.
    `all_turns`: OpenAI's Responses accept the reasoning of all turns. `returns_reasoning`: its Chat
    Completions want `reasoning_content` back. `images`: it takes images. `dialect` is the one that suits it.
    `cache_diagnostics`: OpenAI states why its prompt cache missed. `reasoning_switch` is the field of its
    Chat Completions that turns reasoning off, where no effort does.
    """

    realtime: bool = False
    live_text: bool = False
    threads: bool = False
    reasoning: bool = False
    all_turns: bool = False
    returns_reasoning: bool = False
    images: bool = False
    dialect: ModelDialect = ""
    cache_diagnostics: bool = False
    reasoning_switch: ReasoningSwitch = ""


class ModelFacts(Capabilities, frozen=True):
    """Facts about one model.

    `context_size` counts input and output together, 0 where unknown, as is `max_output`. `ends` is the last
    day that the vendor has announced for it. `efforts` maps the levels of effort that it has to the vendor's
    words for them; empty where that is not known.
    """

    context_size: int = 0
    max_output: int = 0
    prices: Prices | None = None
    ends: date | None = None
    efforts: Mapping[Effort, str] = {}


class ListedModel(NamedTuple):
    """A model in an endpoint's list; `ends` is the day of its end, if the endpoint states one."""

    name: str
    ends: date | None = None


def with_listed_end(facts: ModelFacts, listed: ListedModel) -> ModelFacts:
    """Return the facts with the end that the endpoint states, if it does: it knows best."""
    return replace(facts, ends=listed.ends) if listed.ends else facts


class Ending(NamedTuple):
    """The end of a model: the day, and whether that is over."""

    is_past: bool
    day: date

    def __str__(self) -> str:
        return f"{'was' if self.is_past else 'is'} retired on {self.day}"


def ending_of(facts: ModelFacts, today: date | None = None) -> Ending | None:
    """Return the end of a model that ends within 60 days, or has ended; None for others."""
    today = today or _today()
    if facts.ends is None or facts.ends - today > _SOON:
        return None
    return Ending(facts.ends < today, facts.ends)


def describe_ending(model: str, facts: ModelFacts, advice: str) -> str:
    """`claude-sonnet-4-5 is retired on 2026-11-30: ADVICE` for a model that ends within 60 days; else
    empty."""
    ending = ending_of(facts)
    return f"{model} {ending}: {advice}" if ending else ""


class Models:
    """All known models: of the `packaged` text, overlaid by the user's `own` tables. A provider's tables are
    read on first use; `today` determines which announced prices apply."""

    def __init__(self, packaged: str, own: Mapping[str, dict[str, Any]], today: date) -> None:
        self._packaged = packaged
        self._own = own
        self._today = today
        self._read: dict[str, dict[str, ModelFacts]] = {}

    def find(self, provider: str, model: str) -> ModelFacts:
        """Return the facts of a model, or of the one that it is a snapshot of; safe defaults for an unknown
        one."""
        return self._match(provider, model) or self._match_served(provider, model) or ModelFacts()

    def _match_served(self, provider: str, model: str) -> ModelFacts | None:
        """Return the vendor's facts of a model that a gateway or a cloud serves: without the vendor's
        sessions and fields, and without its prices and its end where a cloud sets its own."""
        facts = self._match(*_vendors_name(provider, model))
        if facts is None:
            return None
        if provider not in _GATEWAYS:
            facts = replace(facts, prices=None, ends=None)
        return replace(facts, realtime=False, live_text=False, threads=False, reasoning_switch="")

    def of(self, provider: str) -> list[str]:
        """Return the names of a provider's known models: the user's own, then ours, newest first."""
        return list(self._models(provider))

    def _match(self, provider: str, model: str) -> ModelFacts | None:
        models = self._models(provider)
        # Gemini lists its models as `models/NAME`.
        model = model.removeprefix("models/")
        if model in models:
            return models[model]
        families = [name for name in models if _is_snapshot(model, name)]
        return models[max(families, key=len)] if families else None

    def _models(self, provider: str) -> dict[str, ModelFacts]:
        if provider not in self._read:
            start = f"{provider}/"
            own = {name: table for name, table in self._own.items() if name.startswith(start)}
            packaged = _tables_of(self._packaged, start)
            merged = {name: _overlay(packaged.get(name, {}), own.get(name, {})) for name in own | packaged}
            self._read[provider] = {
                name.removeprefix(start): _facts(table, self._today) for name, table in merged.items()
            }
        return self._read[provider]


def load_models(path: Path | None = None, today: date | None = None) -> Models:
    """Load the models of this program, overlaid by those of the user's file at `path`, if it exists.

    `today` determines which of a model's announced prices apply; default: the current day.

    Raises:
        ConfigError: the user's file cannot be read, is no TOML, or has an invalid table or key.
    """
    packaged = _PACKAGED.read_text("utf-8")
    own = {} if path is None else _read_own(path)
    return Models(packaged, own, today or _today())


def _today() -> date:
    return datetime.now(UTC).date()


_Price = Annotated[float, Meta(ge=0, le=_MILLION)]
_Tokens = Annotated[int, Meta(gt=0)]
_Factor = Annotated[float, Meta(gt=0, le=1000)]


class _Tariff(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    input: _Price
    output: _Price
    cached: _Price | None = None
    cache_write: _Price | None = None


class _Long(_Tariff, frozen=True, forbid_unknown_fields=True, kw_only=True):
    above: _Tokens


class _Later(_Tariff, frozen=True, forbid_unknown_fields=True, kw_only=True):
    since: date


_TARIFFS: Mapping[str, type[_Tariff]] = {"prices": _Tariff, "long": _Long, "later": _Later}


_PRICING = (*_TARIFFS, "long_write", "tiers")
"""The keys of prices."""

_Word = Annotated[str, Meta(min_length=1)]


class _Efforts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    none: _Word | None = None
    low: _Word | None = None
    medium: _Word | None = None
    high: _Word | None = None
    max: _Word | None = None


_NESTED: Mapping[str, type[msgspec.Struct]] = {**_TARIFFS, "efforts": _Efforts}


class _Table(Capabilities, frozen=True, forbid_unknown_fields=True):
    """One table of the file."""

    context: _Tokens = 0
    max_output: _Tokens = 0
    prices: _Tariff | None = None
    long: _Long | None = None
    later: _Later | None = None
    long_write: _Factor = 1.0
    tiers: dict[str, _Factor] = {}
    ends: date | None = None
    efforts: _Efforts | None = None


def _vendors_name(provider: str, model: str) -> tuple[str, str]:
    """Return the vendor of a model that `provider` serves and the vendor's name of it; empty if unknown."""
    if provider == "azure":
        return "openai", model
    if provider == "bedrock" and (found := _ON_BEDROCK.fullmatch(model)):
        return found[1], found[2]
    vendor, _, name = model.partition("/") if provider in _GATEWAYS else ("", "", "")
    return _VENDORS.get(vendor, ""), _VERSION_DOT.sub("-", name) if vendor == "anthropic" else name


def _is_snapshot(model: str, family: str) -> bool:
    return model.startswith(family) and _SNAPSHOT.fullmatch(model, len(family)) is not None


def _tables_of(text: str, start: str) -> dict[str, dict[str, Any]]:
    """Return the tables of our own file whose name begins with `start`.

    Reading all of it would take longer than everything else here, and only a provider or two is needed.
    """
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    requested = "".join(table for table in tables if table.startswith(f'["{start}'))
    return tomllib.loads(requested)


def _overlay(packaged: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Merge key by key, but prices as a whole: a user's price must not be mixed with a vendor's."""
    if "prices" in own:
        packaged = {key: value for key, value in packaged.items() if key not in _PRICING}
    return packaged | own


def _facts(given: dict[str, Any], today: date) -> ModelFacts:
    table = msgspec.convert(given, _Table)
    capabilities = {name: getattr(table, name) for name in Capabilities.__struct_fields__}
    prices = _prices_on(today, table)
    efforts = _words(table.efforts or _Efforts(), table.reasoning_switch)
    return ModelFacts(table.context, table.max_output, prices, table.ends, efforts, **capabilities)


def _words(efforts: _Efforts, switch: ReasoningSwitch) -> Mapping[Effort, str]:
    words: dict[Effort, str | None] = {level: getattr(efforts, level) for level in EFFORTS}
    if switch and any(words.values()):
        words["none"] = "none"
    return {level: word for level, word in words.items() if word}


def _prices_on(today: date, table: _Table) -> Prices | None:
    if table.prices is None:
        return None
    is_later = table.later is not None and table.later.since <= today
    prices = _prices(table.later if table.later and is_later else table.prices)
    if table.long is not None and not is_later:
        prices = replace(prices, above=table.long.above, long=_prices(table.long))
    tiers = {name.lower(): factor for name, factor in table.tiers.items()}
    return replace(prices, long_write=table.long_write, tiers=tiers)


def _prices(tariff: _Tariff) -> Prices:
    return Prices(
        input=tariff.input,
        cached=tariff.input if tariff.cached is None else tariff.cached,
        cache_write=tariff.input if tariff.cache_write is None else tariff.cache_write,
        output=tariff.output,
    )


def _read_own(path: Path) -> dict[str, dict[str, Any]]:
    text = toml_reader.read_text(path)
    tables: dict[str, Any] = toml_reader.parse(path, text)
    for name, table in tables.items():
        if problem := _problem_of(name, table):
            # The first key locates a header whose quotes were forgotten, [openai.gpt-5].
            first = list(cast("dict[str, Any]", table))[:1] if isinstance(table, dict) else []
            place = toml_reader.place(path, toml_reader.line_of(text, (name, *first)))
            raise ConfigError(f'{place}: model "{name}": {problem}.', _MEND)
    return tables


def _problem_of(name: str, table: object) -> str:
    provider, _, model = name.partition("/")
    if not provider or not model:
        return 'its header must be ["PROVIDER/MODEL"], with the quotes'
    if not isinstance(table, dict):
        return "it must be a table"
    keys = cast("dict[str, Any]", table)
    # A key of earlier versions: whether an endpoint accepts stop sequences.
    keys.pop("stop", None)
    for key, kind in _NESTED.items():
        if key in keys and (problem := problem_of(keys[key], kind)):
            return f'"{key}": {problem}'
        if key in keys and key in _TARIFFS and "prices" not in keys:
            return f'"{key}" needs "prices" beside it'
    return problem_of(keys, _Table)
