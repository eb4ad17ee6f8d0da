"""What is known of models: which name means which model, what a request costs, the person's file over ours."""

import subprocess
import sys
import tomllib
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cogency_tui.errors import ConfigError
from cogency_tui.providers.efforts import substitute
from cogency_tui.providers.models import (
    ModelFacts,
    Models,
    Prices,
    describe_ending,
    ending_of,
    load_models,
)
from tests.cases import cases

TODAY = date(2026, 11, 22)
PACKAGED = files("cogency_tui.providers").joinpath("models.toml").read_text("utf-8")
SHIPPED: dict[str, dict[str, Any]] = tomllib.loads(PACKAGED)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "models.toml"


def load(path: Path | None = None, text: str = "") -> Models:
    if path is not None:
        path.write_text(text, "utf-8")
    return load_models(path, TODAY)


@cases(
    ("provider", "model", "family"),
    [
        ("openai", "gpt-5-2025-08-07", "gpt-5"),
        ("openai", "gpt-5-mini-2026-01-01", "gpt-5-mini"),
        ("openai", "gpt-5-latest", "gpt-5"),
        ("openai", "gpt-realtime-mini-2025-12-15", "gpt-realtime-mini"),
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("anthropic", "claude-opus-5-latest", "claude-opus-5"),
        ("gemini", "gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("gemini", "gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini", "gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gemini", "gemini-3-flash-preview-2026-01-02", "gemini-3-flash-preview"),
        ("gemini", "models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("openrouter", "moonshotai/kimi-k3:latest", "moonshotai/kimi-k3"),
    ],
)
def test_a_snapshot_has_the_facts_of_its_model(provider: str, model: str, family: str) -> None:
    models = load()
    assert family in models.of(provider)
    assert model not in models.of(provider)
    assert models.find(provider, model) is models.find(provider, family)


@cases(
    ("provider", "model"),
    [
        ("openai", "gpt-5-tiny"),
        ("openai", "gpt-5-mini-high"),
        ("openai", "gpt-5.9"),
        ("openai", "gpt-50"),
        ("openai", "gpt-5-"),
        ("openai", "gpt-5-2025"),
        ("openai", "gpt-5-0807"),
        ("openai", "gpt-5-chat-latest"),
        ("openai", "gpt-5-2025-08-07-tiny"),
        ("openai", "gpt-5-preview-tts"),
        ("openai", "my-gpt-5"),
        ("openai", "ft:gpt-4.1-2025-04-14:me::x1"),
        ("openai", ""),
        ("anthropic", "claude-opus-5-9"),
        ("anthropic", "claude-opus"),
        ("openrouter", "z-ai/glm-5.3:free"),
        ("openrouter", "openai/gpt-5:batch"),
        ("openrouter", "anthropic/claude-9.9"),
        ("openrouter", "gpt-5"),
        ("openrouter", "acme/gpt-5"),
        ("ollama", "gpt-oss:20b"),
        ("acme", "gpt-5"),
        ("", "gpt-5"),
        ("azure", "my-deployment"),
        ("bedrock", "gpt-5"),
        ("bedrock", "meta.llama4-maverick-17b-instruct-v1:0"),
        ("vercel", "alibaba/qwen3.8-max"),
    ],
)
def test_another_model_takes_no_facts_from_one_of_a_like_name(provider: str, model: str) -> None:
    assert load().find(provider, model) == ModelFacts()


def test_an_unknown_model_has_safe_defaults() -> None:
    facts = ModelFacts()
    assert (facts.context_size, facts.max_output, facts.prices) == (0, 0, None)
    assert (facts.realtime, facts.live_text, facts.reasoning) == (False, False, False)


def test_the_longest_name_wins(own: Path) -> None:
    models = load(own, '["acme/m"]\ncontext = 1\n["acme/m-preview"]\ncontext = 2\n')
    assert models.find("acme", "m-preview-2026-01-01").context_size == 2
    assert models.find("acme", "m-2026-01-01").context_size == 1


@cases(
    ("routed", "vendor", "model"),
    [
        ("anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("anthropic/claude-opus-5", "anthropic", "claude-opus-5"),
        ("openai/gpt-5.6-sol", "openai", "gpt-5.6-sol"),
        ("google/gemini-3.1-pro-preview", "gemini", "gemini-3.1-pro-preview"),
        ("x-ai/grok-4.7", "xai", "grok-4.7"),
    ],
)
def test_openrouter_passes_the_vendors_prices_through(routed: str, vendor: str, model: str) -> None:
    models = load()
    facts = models.find("openrouter", routed)
    assert facts.prices is not None
    assert facts == replace(models.find(vendor, model), threads=False)


@cases(
    ("provider", "served", "vendor", "model"),
    [
        ("vercel", "anthropic/claude-sonnet-4.6", "anthropic", "claude-sonnet-4-6"),
        ("vercel", "xai/grok-4.7", "xai", "grok-4.7"),
        ("vercel", "anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("azure", "gpt-6.1-sol", "openai", "gpt-6.1-sol"),
        ("azure", "gpt-6.1-sol-2026-09-29", "openai", "gpt-6.1-sol"),
        ("bedrock", "openai.gpt-6.1-sol", "openai", "gpt-6.1-sol"),
        ("bedrock", "us.anthropic.claude-opus-4-6-v1:0", "anthropic", "claude-opus-4-6"),
        ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic", "claude-sonnet-4-5"),
    ],
)
def test_a_cloud_serves_the_vendors_models_without_its_sessions(
    provider: str, served: str, vendor: str, model: str
) -> None:
    models = load()
    facts, own = models.find(provider, served), models.find(vendor, model)
    assert facts.context_size == own.context_size > 0
    assert (facts.efforts, facts.dialect, facts.threads) == (own.efforts, own.dialect, False)
    assert (facts.prices, facts.ends) == ((own.prices, own.ends) if provider == "vercel" else (None, None))


def test_openrouter_has_no_sessions() -> None:
    models = load()
    assert models.find("openai", "gpt-realtime-2.1").realtime
    assert not models.find("openrouter", "openai/gpt-realtime-2.1").realtime


def test_openrouters_own_table_goes_before_the_vendors(own: Path) -> None:
    models = load(own, '["openrouter/openai/gpt-5"]\ncontext = 7\n')
    assert models.find("openrouter", "openai/gpt-5") == ModelFacts(context_size=7)


def test_local_servers_have_no_price() -> None:
    models = load()
    for provider in ("ollama", "lmstudio", "vllm", "llamacpp"):
        assert all(models.find(provider, name).prices is None for name in models.of(provider))
    assert models.find("ollama", "llama3.3:70b").prices is None


def test_abilities_are_told_apart() -> None:
    models = load()
    assert models.find("openai", "gpt-5-mini").reasoning
    assert not models.find("openai", "gpt-4.1").reasoning
    assert [name for name in models.of("gemini") if models.find("gemini", name).live_text] == [
        "gemini-robotics-er-2-streaming-preview"
    ]
    assert all(models.find("openai", n).realtime == ("realtime" in n) for n in models.of("openai"))
    assert models.find("anthropic", "claude-opus-5-5").reasoning
    assert not models.find("openai", "gpt-4o").reasoning


def test_a_request_costs_what_its_parts_cost() -> None:
    prices = Prices(input=3, cached=0.3, cache_write=3.75, output=15)
    # 1000 fresh x 3 + 8000 cached x 0.3 + 1000 written x 3.75 + 500 x 15, in millionths.
    cost = prices.cost(input=10_000, cached=8_000, cache_written=1_000, output=500)
    assert cost == pytest.approx(0.01665)
    assert prices.cost(input=0, cached=0, cache_written=0, output=0) == 0
    assert prices.cost(input=1_000_000, cached=0, cache_written=0, output=0) == pytest.approx(3.0)
    assert prices.cost(input=1_000_000, cached=1_000_000, cache_written=0, output=0) == pytest.approx(0.3)
    assert prices.cost(input=1_000_000, cached=0, cache_written=1_000_000, output=0) == pytest.approx(3.75)


def test_parts_that_exceed_their_whole_are_not_paid_back() -> None:
    prices = Prices(input=3, cached=0.3, cache_write=3.75, output=15)
    assert prices.cost(input=10, cached=1_000_000, cache_written=0, output=0) == pytest.approx(0.3)


@cases(
    ("model", "tokens", "dollars"),
    [
        ("gpt-5-mini", {"input": 1_000_000, "cached": 400_000, "output": 100_000}, 0.15 + 0.01 + 0.2),
        # Not billed apart: what is written to the cache costs what input costs.
        ("gpt-5-mini", {"input": 1_000_000, "cache_written": 1_000_000}, 0.25),
        ("gpt-5-pro", {"input": 1_000_000, "cached": 1_000_000}, 15.0),
        ("gpt-6-sol", {"input": 272_000, "output": 1_000}, 0.544 + 0.01),
        # Above the limit the whole request is dearer, not what is above it.
        ("gpt-6-sol", {"input": 272_001, "output": 1_000}, 1.088004 + 0.015),
        ("gpt-6-sol", {"input": 300_000, "cached": 200_000, "cache_written": 100_000}, 0.08 + 0.5),
    ],
)
def test_worked_examples(model: str, tokens: dict[str, int], dollars: float) -> None:
    prices = load().find("openai", model).prices
    assert prices is not None
    counts: dict[str, Any] = {"input": 0, "cached": 0, "cache_written": 0, "output": 0, **tokens}
    assert prices.cost(**counts) == pytest.approx(dollars)


def test_announced_prices_hold_from_their_day_on(own: Path) -> None:
    own.write_text(
        '["acme/m"]\nprices = { input = 1, output = 2 }\n'
        "long = { above = 10, input = 5, output = 6 }\n"
        "later = { since = 2027-01-01, input = 3, output = 4 }\n"
    )
    before = load_models(own, date(2026, 12, 31)).find("acme", "m").prices
    after = load_models(own, date(2027, 1, 1)).find("acme", "m").prices
    assert before == Prices(1, 1, 1, 2, above=10, long=Prices(5, 5, 5, 6))
    assert after == Prices(3, 3, 3, 4)


def test_without_a_day_today_holds(own: Path) -> None:
    own.write_text(
        '["acme/past"]\nprices = { input = 1, output = 1 }\n'
        "later = { since = 2020-01-01, input = 2, output = 2 }\n"
        '["acme/future"]\nprices = { input = 1, output = 1 }\n'
        "later = { since = 9999-01-01, input = 2, output = 2 }\n"
    )
    models = load_models(own)
    assert models.find("acme", "past").prices == Prices(2, 2, 2, 2)
    assert models.find("acme", "future").prices == Prices(1, 1, 1, 1)


def test_a_missing_file_adds_nothing(own: Path) -> None:
    models = load_models(own, TODAY)
    assert models.of("openai") == load().of("openai")


def test_a_person_adds_models_and_providers(own: Path) -> None:
    models = load(
        own,
        '["acme/m-1"]\ncontext = 32_000\nmax_output = 4_000\nreasoning = true\n'
        'prices = { input = 1, output = 2 }\n["openai/next"]\ncontext = 9\n',
    )
    assert models.of("acme") == ["m-1"]
    assert models.find("acme", "m-1") == ModelFacts(32_000, 4_000, Prices(1, 1, 1, 2), reasoning=True)
    assert models.of("openai") == ["next", *load().of("openai")]


def test_the_users_file_states_each_fact(own: Path) -> None:
    facts = load(
        own,
        '["acme/m"]\nends = 2027-01-31\ndialect = "native"\nefforts = { low = "minimal", max = "xhigh" }\n'
        "all_turns = true\nreturns_reasoning = true\nimages = true\nthreads = true\n",
    ).find("acme", "m")
    assert facts.ends == date(2027, 1, 31)
    assert facts.efforts == {"low": "minimal", "max": "xhigh"}
    assert (facts.dialect, facts.images, facts.threads) == ("native", True, True)
    assert (facts.all_turns, facts.returns_reasoning) == (True, True)


def test_the_users_efforts_replace_ours_as_a_whole(own: Path) -> None:
    own.write_text('["openai/gpt-6-sol"]\nefforts = { low = "low" }\n')
    assert load_models(own).find("openai", "gpt-6-sol").efforts == {"low": "low"}


def test_openrouter_has_no_message_threads(own: Path) -> None:
    models = load(own, '["anthropic/claude-opus-5"]\nthreads = true\n')
    assert models.find("anthropic", "claude-opus-5").threads
    assert not models.find("openrouter", "anthropic/claude-opus-5").threads


@cases(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-5-5"),
        ("gemini", "gemini-4-argon"),
        ("deepseek", "deepseek-v4-pro"),
        ("moonshot", "kimi-k3.1-pro"),
        ("zai", "glm-5.3"),
        ("minimax", "MiniMax-M3"),
        ("openrouter", "deepseek/deepseek-v4-pro"),
        ("openrouter", "moonshotai/kimi-k3"),
        ("openrouter", "z-ai/glm-5.3"),
        ("openrouter", "minimax/minimax-m3"),
        ("openrouter", "anthropic/claude-sonnet-5.5"),
    ],
)
def test_models_whose_reasoning_lives_in_a_native_tool_loop_take_native_calls(
    provider: str, model: str
) -> None:
    assert load().find(provider, model).dialect == "native"


def test_other_models_have_no_dialect_of_their_own() -> None:
    models = load()
    assert {models.find("openai", name).dialect for name in models.of("openai")} == {""}
    assert models.find("ollama", "llama3.3:70b").dialect == ""


def test_a_persons_key_replaces_ours_and_leaves_the_others(own: Path) -> None:
    shipped = load().find("openai", "gpt-6-sol")
    facts = load(own, '["openai/gpt-6-sol"]\ncontext = 200_000\n').find("openai", "gpt-6-sol")
    assert facts.context_size == 200_000
    assert (facts.prices, facts.max_output) == (shipped.prices, shipped.max_output)


def test_a_persons_prices_are_not_mixed_with_ours(own: Path) -> None:
    facts = load(own, '["openai/gpt-6-sol"]\nprices = { input = 1, output = 2 }\n').find(
        "openai", "gpt-6-sol"
    )
    assert facts.prices == Prices(1, 1, 1, 2)
    assert facts.context_size == 1_050_000


def test_a_byte_order_mark_is_no_part_of_the_file(own: Path) -> None:
    own.write_bytes('\ufeff["acme/m"]\r\ncontext = 5\r\n'.encode())
    assert load_models(own).find("acme", "m").context_size == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context = 1", 'model "context": its header must be ["PROVIDER/MODEL"], with the quotes.'),
        ("[openai]", ', line 1: model "openai": its header must be ["PROVIDER/MODEL"]'),
        ("#\n[openai.gpt-5]\nreasoning = true", ', line 2: model "openai": its header must be'),
        ('["openai/"]', ', line 1: model "openai/": its header must be'),
        ('["/m"]', ', line 1: model "/m": its header must be'),
        ('"a/b" = 3', ': model "a/b": it must be a table.'),
        ('["a/b"]\ncontex = 1', ', line 1: model "a/b": unknown key "contex" (did you mean "context"?).'),
        ('["a/b"]\ncontext = 0', 'model "a/b": "context": expected int >= 1.'),
        ('["a/b"]\ncontext = "big"', 'model "a/b": "context": expected int, got str.'),
        ('["a/b"]\nmax_output = 1.5', 'model "a/b": "max_output": expected int, got float.'),
        ('["a/b"]\nreasoning = "no"', 'model "a/b": "reasoning": expected bool, got str.'),
        ('["a/b"]\nprices = 3', 'model "a/b": "prices": it must be a table.'),
        ('["a/b"]\nprices = { input = 1 }', 'model "a/b": "prices": "output" is missing.'),
        ('["a/b"]\nprices = { input = -1, output = 1 }', '"prices": "input": expected float >= 0.0.'),
        ('["a/b"]\nprices = { input = nan, output = 1 }', '"prices": "input": expected float'),
        ('["a/b"]\nprices = { input = inf, output = 1 }', '"prices": "input": expected float'),
        (
            '["a/b"]\nprices = { input = 1, output = 1, cache = 1 }',
            'unknown key "cache" (did you mean "cached"?)',
        ),
        ('["a/b"]\nlong = { above = 1, input = 1, output = 1 }', '"long" needs "prices" beside it.'),
        (
            '["a/b"]\nlater = { since = 2027-01-01, input = 1, output = 1 }',
            '"later" needs "prices" beside it.',
        ),
        (
            '["a/b"]\nprices = { input = 1, output = 1 }\nlong = { input = 1, output = 1 }',
            '"long": "above" is missing.',
        ),
        (
            '["a/b"]\nprices = { input = 1, output = 1 }\nlater = { since = 3, input = 1, output = 1 }',
            '"later": "since": expected date, got int.',
        ),
        ('["a/b"]\nends = "soon"', '"ends": expected a date such as 2027-01-31.'),
        ('["a/b"]\nends = 2027-01-01T00:00:00', '"ends": expected date'),
        (
            '["a/b"]\ndialect = "nativ"',
            '"dialect": must be one of native, xml, delimiter, action, not "nativ".',
        ),
        ('["a/b"]\nefforts = "high"', '"efforts": it must be a table.'),
        ('["a/b"]\nefforts = { hgh = "high" }', '"efforts": unknown key "hgh" (did you mean "high"?).'),
        ('["a/b"]\nefforts = { high = "" }', '"efforts": "high": expected str of length >= 1.'),
        ('["a/b"]\nthreads = 1', '"threads": expected bool, got int.'),
        ('["a/b"]\n["a/c"]\n\n["a/d"]\nkind = 1', ', line 4: model "a/d": unknown key "kind"'),
    ],
)
def test_what_cannot_be_is_named_with_file_model_and_key(own: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(own, text)
    assert str(caught.value).startswith(str(own))
    assert message in str(caught.value)
    assert caught.value.hint == "Correct it, or remove it."


def test_a_file_that_is_no_toml_is_named_with_the_line(own: Path) -> None:
    with pytest.raises(ConfigError, match=r"models\.toml is not valid TOML: .*line 2") as caught:
        load(own, '["a/b"]\ncontext = \n')
    assert "move the file away" in caught.value.hint


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_named(own: Path, content: bytes | None) -> None:
    if content is None:
        own.mkdir()
    else:
        own.write_bytes(content)
    with pytest.raises(ConfigError, match=r"models\.toml cannot be read: .") as caught:
        load_models(own)
    assert caught.value.hint


def test_what_is_shipped_is_accepted_as_a_persons_file(own: Path) -> None:
    load(own, PACKAGED)


def test_all_that_is_shipped_is_found() -> None:
    models = load()
    named = [name.partition("/")[::2] for name in SHIPPED]
    for provider in {provider for provider, _ in named}:
        assert models.of(provider) == [model for other, model in named if other == provider]
    assert {"openai", "anthropic", "gemini", "xai", "openrouter"} <= {provider for provider, _ in named}


@pytest.mark.exhaustive
@cases("name", SHIPPED)
def test_what_is_shipped_is_sane(name: str) -> None:
    provider, _, model = name.partition("/")
    facts = load().find(provider, model)
    assert facts.context_size >= 16_000
    assert facts.max_output <= facts.context_size
    assert not (facts.realtime and facts.live_text)
    if facts.prices is not None:
        _check(facts.prices)


@cases("name", [name for name, table in SHIPPED.items() if "later" in table])
def test_what_is_announced_is_sane(name: str) -> None:
    provider, _, model = name.partition("/")
    facts = load_models(today=date.max).find(provider, model)
    assert facts.prices is not None
    _check(facts.prices)
    assert facts.prices != load_models(today=date.min).find(provider, model).prices


def _check(prices: Prices) -> None:
    assert 0 < prices.input < prices.output
    assert 0 < prices.cached <= prices.input <= prices.cache_write
    if prices.long is not None:
        assert prices.above > 0
        assert prices.long.input > prices.input
        assert prices.long.output > prices.output
        assert prices.long.long is None
        _check(prices.long)


@cases(
    ("ends", "ending"),
    [
        (None, None),
        (date(2027, 1, 22), None),
        (date(2027, 1, 21), (False, date(2027, 1, 21))),
        (date(2026, 11, 22), (False, date(2026, 11, 22))),
        (date(2026, 11, 21), (True, date(2026, 11, 21))),
    ],
)
def test_an_end_is_reported_from_60_days_before_it_on(
    ends: date | None, ending: tuple[str, date] | None
) -> None:
    assert ending_of(ModelFacts(ends=ends), TODAY) == ending


def test_an_ending_is_described_with_advice() -> None:
    facts = ModelFacts(ends=date(2020, 1, 2))
    assert describe_ending("m", facts, "choose another.") == "m was retired on 2020-01-02: choose another."
    assert describe_ending("m", ModelFacts(), "choose another.") == ""


@cases(
    ("model", "ends"),
    [
        ("anthropic/claude-sonnet-4-5", date(2026, 11, 30)),
        ("gemini/gemini-2.5-pro", date(2026, 12, 1)),
        ("openai/gpt-5-mini", date(2026, 12, 11)),
        ("openai/gpt-4.1-mini", date(2027, 1, 14)),
        ("openai/gpt-realtime", date(2027, 1, 20)),
        ("openai/gpt-5.4-nano", date(2027, 4, 1)),
        ("gemini/gemini-3.1-flash-lite", date(2027, 5, 7)),
    ],
)
def test_announced_ends_are_known(model: str, ends: date) -> None:
    provider, _, name = model.partition("/")
    assert load().find(provider, name).ends == ends


@cases(
    ("model", "efforts"),
    [
        ("openai/gpt-6.1-sol", {"low": "low", "medium": "medium", "high": "high", "max": "max"}),
        (
            "openai/gpt-5.5",
            {"none": "none", "low": "low", "medium": "medium", "high": "high", "max": "xhigh"},
        ),
        ("anthropic/claude-opus-4-5", {"low": "low", "medium": "medium", "high": "high"}),
        ("gemini/gemini-4-hydrogen", {"low": "low", "medium": "medium", "high": "high", "max": "xhigh"}),
        ("deepseek/deepseek-v4-pro", {"none": "none", "low": "low", "high": "high", "max": "max"}),
        ("openai/gpt-4.1", {}),
    ],
)
def test_a_model_has_the_efforts_that_its_vendor_names(model: str, efforts: dict[str, str]) -> None:
    provider, _, name = model.partition("/")
    assert load().find(provider, name).efforts == efforts


def test_abilities_belong_to_the_wires_that_ask_for_them() -> None:
    models = load()

    def marked(fact: str) -> set[str]:
        found = (name.partition("/")[::2] for name in SHIPPED)
        return {provider for provider, model in found if getattr(models.find(provider, model), fact)}

    assert marked("threads") == {"anthropic"}
    assert marked("all_turns") == {"openai"}
    assert marked("returns_reasoning") == {"deepseek", "moonshot", "zai", "minimax"}


def test_nothing_is_read_before_it_is_asked_for() -> None:
    code = (
        "import sys; sys.addaudithook(lambda event, args: "
        "print(args[0]) if event == 'open' and str(args[0]).endswith('.toml') else None); "
        "from cogency_tui.providers import models; print('imported'); models.load_models(); print('loaded')"
    )
    lines = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0] == "imported"
    assert lines[1].endswith("models.toml")
    assert lines[-1] == "loaded"


def test_a_tier_multiplies_all_prices_those_of_long_inputs_too() -> None:
    tiers = {"flex": 0.5, "priority": 2.0}
    prices = Prices(2, 0.2, 2.5, 10, above=100, long=Prices(4, 0.4, 5, 15), tiers=tiers)
    short: dict[str, Any] = {"input": 100, "cached": 50, "cache_written": 10, "output": 20}
    long: dict[str, Any] = {**short, "input": 200}
    for counts in (short, long):
        usual = prices.cost(**counts)
        assert prices.cost(**counts, tier="Flex") == usual / 2
        assert prices.cost(**counts, tier="priority") == usual * 2
        assert prices.cost(**counts, tier="default") == prices.cost(**counts, tier="scale") == usual
    assert [prices.has(tier) for tier in ("", "default", "STANDARD", "flex", "scale")] == [
        *(True, True, True, True, False)
    ]


def test_the_users_file_states_the_prices_of_tiers(own: Path) -> None:
    own.write_text(
        '["acme/m"]\nprices = { input = 2, cache_write = 3, output = 4 }\nlong_write = 2\n'
        "later = { since = 2027-01-01, input = 4, cache_write = 6, output = 8 }\ntiers = { Flex = 0.5 }\n"
        '["openai/gpt-6-sol"]\nprices = { input = 1, output = 2 }\n'
    )
    now, later = load_models(own, date(2026, 12, 31)), load_models(own, date(2027, 1, 1))
    assert now.find("acme", "m").prices == Prices(2, 2, 3, 4, long_write=2, tiers={"flex": 0.5})
    assert later.find("acme", "m").prices == Prices(4, 4, 6, 8, long_write=2, tiers={"flex": 0.5})
    # A user's price is not mixed with a vendor's factors.
    assert now.find("openai", "gpt-6-sol").prices == Prices(1, 1, 1, 2)


def test_vendors_tiers_have_prices_where_these_are_published() -> None:
    models = load()
    for provider, model, tier, dollars in (
        ("openai", "gpt-6.1-sol", "flex", 1.0),
        ("openai", "gpt-6.1-sol", "ultrafast", 12.0),
        ("openai", "gpt-5.5", "priority", 12.5),
        ("gemini", "gemini-3.5-flash", "priority", 2.7),
        ("openrouter", "openai/gpt-6.1-sol", "priority", 4.0),
    ):
        prices = models.find(provider, model).prices
        assert prices is not None
        assert prices.has(tier)
        cost = prices.cost(input=100_000, cached=0, cache_written=0, output=0, tier=tier)
        assert cost == pytest.approx(dollars / 10)
    assert not (models.find("anthropic", "claude-sonnet-5-5").prices or Prices(1, 1, 1, 1)).has("priority")


def test_a_switch_gives_a_model_with_levels_one_without_reasoning() -> None:
    models = load_models()
    assert list(models.find("deepseek", "deepseek-v4-pro").efforts) == ["none", "low", "high", "max"]
    assert models.find("vercel", "deepseek/deepseek-v4-pro").reasoning_switch == ""
    assert models.find("moonshot", "kimi-k2.6").efforts == {}, "it has a switch and no levels"
    assert models.find("qwen", "qwen3.8-max").reasoning_switch == "enable_thinking"
    assert substitute(models.find("deepseek", "deepseek-v4-pro").efforts, "none") == ""
