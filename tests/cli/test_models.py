"""`cogency-tui models`: the known models with their facts, or what an endpoint lists."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.providers.models import load_models
from cogency_tui.providers.presets import PRESETS
from tests.cli.conftest import Run
from tests.peers.chat import ChatPeer

KEY = "sk-very-secret-1234"


def listed(run: Run, *arguments: str, **environment: str) -> dict[str, dict[str, Any]]:
    """The models by `provider/model`."""
    done = run("models", *arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    models = map(json.loads, done.stdout.splitlines())
    return {f"{model['provider']}/{model['model']}": model for model in models}


def test_the_models_of_all_providers_are_listed_with_their_facts(run: Run) -> None:
    models = listed(run, OPENAI_API_KEY=KEY)
    for name, preset in PRESETS.items():
        own = [key.removeprefix(f"{name}/") for key in models if key.startswith(f"{name}/")]
        assert own == load_models().of(name)
        defaults = [model for model in own if models[f"{name}/{model}"]["default"]]
        assert defaults == [model for model in own if model == preset.model]
    assert models["openai/gpt-6.1-sol"] == {
        "provider": "openai",
        "model": "gpt-6.1-sol",
        "default": True,
        "key_found": True,
        "key_source": "OPENAI_API_KEY",
        "context": 1_050_000,
        "max_output": 128_000,
        "prices": {
            "input": 2,
            "cached": 0.1,
            "cache_write": 2.5,
            "output": 10,
            "above": 272_000,
            "long": {"input": 4, "cached": 0.2, "cache_write": 5, "output": 15},
        },
        "dialect": "xml",
        "reasoning": True,
        "efforts": {"low": "low", "medium": "medium", "high": "high", "max": "max"},
        "images": True,
        "ends": None,
    }
    assert models["anthropic/claude-sonnet-4-5"]["ends"] == "2026-11-30"
    assert models["anthropic/claude-sonnet-4-5"]["dialect"] == "native"
    assert not models["anthropic/claude-sonnet-4-5"]["key_found"]
    assert models["deepseek/deepseek-v4-pro"]["prices"] is None


def test_the_table_is_readable_at_80_columns_and_shows_no_key(run: Run) -> None:
    done = run("models", OPENAI_API_KEY=KEY)
    assert done.returncode == 0
    assert max(map(len, (done.stdout + done.stderr).splitlines())) <= 80
    assert KEY not in done.stdout + done.stderr
    assert "openai  ✓ key in OPENAI_API_KEY" in done.stdout
    assert "anthropic  ✗ ANTHROPIC_API_KEY not set" in done.stdout
    assert "ollama  no key needed" in done.stdout
    assert "USD per million tokens" in done.stderr


def test_on_a_narrow_terminal_the_facts_stand_below_the_name(run: Run) -> None:
    done = run("models", COLUMNS="60")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    below = {name[2:]: facts.strip() for name, facts in pairwise(lines)}
    assert below["gpt-6.1-sol"] == "1.05M · 2/0.1/10 · xml · effort low–max"
    assert below["gpt-5-mini"] == "400k · 0.25/0.025/2 · xml · retires 2026-12-11"
    assert lines[lines.index("  gpt-5-mini") + 2] == "    effort low–high"
    table = "  model  context  in/cached/out  dialect  retires  effort"
    assert lines[lines.index("xai  ✗ XAI_API_KEY not set") + 1] == table, "one that fits remains"


def test_a_row_names_context_prices_dialect_end_and_effort(run: Run) -> None:
    done = run("models", "openai")
    rows = {line[2:].split()[0]: line for line in done.stdout.splitlines()}
    assert rows["gpt-6.1-sol"].split() == ["*", "gpt-6.1-sol", "1.05M", "2/0.1/10", "xml", "low–max"]
    assert rows["gpt-5-mini"].split()[1:] == ["400k", "0.25/0.025/2", "xml", "2026-12-11", "low–high"]
    assert rows["gpt-5-pro"].split()[-1] == "high"
    assert "low,high,max" in run("models", "moonshot").stdout
    assert "anthropic" not in done.stdout


def test_the_users_own_models_and_providers_are_listed(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "house"\ndialect = "action"\n'
        '[providers.openai]\nmodel = "gpt-6-luna"\n'
    )
    (tmp_path / "models.toml").write_text('["mine/other"]\ncontext = 9000\nends = 2027-03-04\n')
    models = listed(run, COGENCY_CONFIG=str(config))
    mine = [name for name in models if name.startswith("mine/")]
    # The models with known facts come first.
    assert mine == ["mine/other", "mine/house"]
    assert (models["mine/house"]["dialect"], models["mine/house"]["default"]) == ("action", True)
    assert (models["mine/other"]["context"], models["mine/other"]["ends"]) == (9000, "2027-03-04")
    assert models["openai/gpt-6-luna"]["default"]
    assert not models["openai/gpt-6.1-sol"]["default"]


async def test_live_asks_the_endpoint(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(model="house", key=KEY) as peer:
        (tmp_path / "config.toml").write_text(
            f'[providers.mine]\nbase_url = "{peer.base_url}"\nkey_env = "MINE_KEY"\ncontext_size = 5000\n'
        )
        environment = {"COGENCY_CONFIG": str(tmp_path / "config.toml"), "MINE_KEY": KEY}
        models = await asyncio.to_thread(listed, run, "mine", "--live", **environment)
        refused = await asyncio.to_thread(run, "models", "mine", "--live", **environment | {"MINE_KEY": "no"})
    assert models["mine/house"]["context"] == 5000
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "mine rejected the API key" in refused.stderr


async def test_live_shows_the_end_that_the_endpoint_states(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(model="house", key=KEY) as peer:
        (tmp_path / "config.toml").write_text(f'[providers.mine]\nbase_url = "{peer.base_url}"\n')
        (tmp_path / "models.toml").write_text('["mine/house"]\ncontext = 9000\nends = 2027-03-04\n')
        environment = {"COGENCY_CONFIG": str(tmp_path / "config.toml")}
        peer.key = ""
        ours = await asyncio.to_thread(listed, run, "mine", "--live", **environment)
        peer.shutdown_date = "2027-01-31"
        theirs = await asyncio.to_thread(listed, run, "mine", "--live", **environment)
        peer.shutdown_date = "soon"
        unclear = await asyncio.to_thread(listed, run, "mine", "--live", **environment)
    ends = [models["mine/house"]["ends"] for models in (ours, theirs, unclear)]
    assert ends == ["2027-03-04", "2027-01-31", "2027-03-04"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("acme",), "Unknown provider 'acme'. Known providers: offline, openai, anthropic,"),
        (("acme", "--live"), "Unknown provider 'acme'."),
        (("--live",), "--live needs a provider. Use `cogency-tui models PROVIDER --live`."),
        (("azure", "--live"), 'Set base_url = "https://RESOURCE.openai.azure.com/openai/v1"'),
    ],
)
def test_a_request_that_cannot_be_met_names_the_reason(
    run: Run, arguments: tuple[str, ...], problem: str
) -> None:
    done = run("models", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr


def test_a_provider_without_known_models_names_the_way_to_its_list(run: Run) -> None:
    done = run("models", "azure")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No known models of azure." in done.stderr
    assert "`cogency-tui models azure --live`" in done.stderr
