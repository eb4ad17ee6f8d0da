"""From settings to providers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.errors import AuthenticationError, ConfigError
from cogency_tui.providers.configured_providers import (
    ConfiguredModels,
    create_provider,
    known_providers,
    secrets,
)
from cogency_tui.providers.models import ModelFacts, load_models
from cogency_tui.providers.offline.provider import OfflineProvider
from cogency_tui.providers.presets import ADDRESS_VARIABLES, OTHER_KEYS, OWN_ADDRESSES, PRESETS
from tests.cases import cases
from tests.peers.responses import ResponsesPeer


def test_offline_is_the_default_whatever_model_is_named() -> None:
    provider = create_provider(Settings(model="gpt-x"), {"COGENCY_OFFLINE_DELAY": "0"})
    assert isinstance(provider, OfflineProvider)
    assert provider.model == "offline-1"


def test_openai_has_a_default_model_and_takes_another() -> None:
    assert create_provider(Settings(provider="openai"), {}).model == "gpt-6.1-sol"
    assert create_provider(Settings(provider="openai", model="other"), {}).model == "other"


async def test_the_environment_names_address_and_key() -> None:
    async with ResponsesPeer(key="sk-1", model="gpt-6.1-sol") as peer:
        environ = {"OPENAI_API_KEY": " sk-1\n", "OPENAI_BASE_URL": peer.base_url}
        provider = create_provider(Settings(provider="openai"), environ)
        chunks = [chunk async for chunk in provider.stream([{"role": "user", "content": "hi"}])]
        await provider.close()
    assert chunks
    assert peer.requests[0].headers["authorization"] == "Bearer sk-1"


def test_chat_completions_have_native_calls_at_every_server() -> None:
    settings = Settings(provider="ollama", model="m")
    assert create_provider(settings, {}).native


async def test_a_missing_key_is_reported_at_first_use() -> None:
    provider = create_provider(Settings(provider="openrouter", model="m"), {})
    with pytest.raises(AuthenticationError, match=r"\$OPENROUTER_API_KEY is not set") as caught:
        await anext(aiter(provider.stream([])))
    assert "Set OPENROUTER_API_KEY" in caught.value.hint


@cases("name", sorted(set(PRESETS) - set(OWN_ADDRESSES)))
def test_presets_need_no_table(name: str) -> None:
    provider = create_provider(Settings(provider=name, model="m"), {})
    resumes = name in ("openai", "gemini", "xai", "vercel", "lmstudio", "azure")
    assert (provider.name, provider.model, provider.resumes) == (name, "m", resumes)
    [known] = [each for each in known_providers(Settings(), {}) if each.name == name]
    assert known.resumes == (resumes or name == "anthropic")


@cases("name", sorted(OWN_ADDRESSES))
def test_a_cloud_needs_the_users_own_address(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} needs the address of your own account") as caught:
        create_provider(Settings(provider=name, model="m"), {})
    assert f'Set base_url = "{OWN_ADDRESSES[name]}" under [providers.{name}]' in caught.value.hint
    table = ProviderSettings(OWN_ADDRESSES[name], "m")
    provider = create_provider(Settings(provider=name, providers={name: table}), {})
    assert (provider.name, provider.model, provider.resumes) == (name, "m", name == "azure")


def test_what_the_presets_name_exists() -> None:
    assert ADDRESS_VARIABLES.keys() | OTHER_KEYS.keys() | OWN_ADDRESSES.keys() <= PRESETS.keys()


@cases("name", [name for name, preset in PRESETS.items() if preset.key_env and preset.model])
def test_a_default_model_is_known_and_does_not_end_soon(name: str) -> None:
    model = PRESETS[name].model
    assert model in load_models().of(name)
    ends = load_models().find(name, model).ends
    assert ends is None or ends - datetime.now(UTC).date() > timedelta(days=60)


@cases("api", ["chat", "responses", "anthropic", "gemini"])
@cases("resume", [None, False, True])
def test_any_other_provider_is_a_table(api: Any, resume: bool | None) -> None:
    table = ProviderSettings("https://acme.test/v1", "m", "ACME_KEY", api, resume)
    provider = create_provider(Settings(provider="acme", providers={"acme": table}), {"ACME_KEY": "k"})
    assert provider.resumes == (resume is True)


def test_a_table_of_another_wire_protocol_does_not_keep_the_presets_sessions() -> None:
    settings = Settings(provider="openai", providers={"openai": ProviderSettings(api="chat")})
    assert not create_provider(settings, {}).resumes


def test_what_is_known_of_a_model_is_its_providers() -> None:
    provider = create_provider(Settings(provider="anthropic", model="claude-sonnet-4-5-20250929"), {})
    assert provider.facts.context_size == 200_000
    assert provider.facts.prices is not None


def test_a_server_on_this_machine_does_not_ask_the_vendors_price() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9000/v1"}
    assert create_provider(Settings(provider="openai"), environ).facts.prices is None


def test_the_persons_own_file_of_models_counts(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('["acme/m"]\ncontext = 1234\n')
    table = ProviderSettings("https://acme.test/v1", "m")
    environ = {"COGENCY_CONFIG": str(tmp_path / "config.toml")}
    provider = create_provider(Settings(provider="acme", providers={"acme": table}), environ)
    assert provider.facts.context_size == 1234


def facts_of(name: str, model: str, **providers: ProviderSettings) -> ModelFacts:
    return ConfiguredModels(Settings(providers=providers), {}).facts(name, model)


def test_what_the_user_states_of_a_model_wins_over_the_table() -> None:
    stated = ProviderSettings(context_size=64_000, reasoning=False, images=True, dialect="xml")
    shipped = facts_of("anthropic", "claude-opus-5")
    facts = facts_of("anthropic", "claude-opus-5", anthropic=stated)
    assert (shipped.reasoning, shipped.dialect) == (True, "native")
    assert (facts.context_size, facts.reasoning, facts.images, facts.dialect) == (64_000, False, True, "xml")
    assert (facts.prices, facts.max_output) == (shipped.prices, shipped.max_output)


def test_the_user_states_the_facts_of_an_unknown_model() -> None:
    table = ProviderSettings("https://acme.test/v1", "m", reasoning=True, images=True, dialect="native")
    settings = Settings(provider="acme", providers={"acme": table})
    facts = create_provider(settings, {}).facts
    assert (facts.reasoning, facts.images, facts.dialect) == (True, True, "native")


def test_a_model_that_is_newer_than_the_table_takes_images_where_all_of_its_vendor_do() -> None:
    elsewhere = ProviderSettings("https://proxy.test/v1")
    assert facts_of("anthropic", "claude-opus-9").images
    assert facts_of("openai", "gpt-99").images
    assert not facts_of("openai", "gpt-99", openai=elsewhere).images
    assert not facts_of("openai", "gpt-99", openai=ProviderSettings(images=False)).images
    assert not facts_of("deepseek", "deepseek-v9").images
    assert not facts_of("acme", "m", acme=elsewhere).images
    assert facts_of("acme", "m", acme=ProviderSettings("https://acme.test/v1", images=True)).images


@cases("resume", [True, False])
def test_resume_means_message_threads_for_the_wire_of_anthropic(resume: bool) -> None:
    proxy = ProviderSettings("https://acme.test", "m", api="anthropic", resume=resume)
    assert facts_of("acme", "m", acme=proxy).threads == resume
    assert facts_of("anthropic", "claude-opus-5", anthropic=ProviderSettings(resume=resume)).threads == resume
    chat = ProviderSettings("https://acme.test", "m", api="responses", resume=resume)
    assert not facts_of("acme", "m", acme=chat).threads


@cases(
    ("line", "problem"),
    [
        ('reasoning = "yes"', '"reasoning": expected bool, got str.'),
        ("images = 1", '"images": expected bool, got int.'),
        ('dialect = "nativ"', '"dialect": must be one of native, xml, delimiter, action, not "nativ".'),
        ('api = "soap"', '"api": must be one of chat, responses, anthropic, gemini, not "soap".'),
        ("thinking = true", 'unknown key "thinking"'),
    ],
)
def test_an_invalid_statement_about_a_provider_names_file_line_and_key(
    tmp_path: Path, line: str, problem: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[providers.mine]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert str(caught.value).startswith(f'{path}, line 2: provider "mine": {problem}')


@pytest.mark.parametrize(
    ("environ", "source"),
    [
        ({}, "GEMINI_API_KEY"),
        ({"GOOGLE_API_KEY": "g"}, "GOOGLE_API_KEY"),
        ({"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "k"}, "GEMINI_API_KEY"),
    ],
)
def test_gemini_has_two_names_for_its_key(environ: dict[str, str], source: str) -> None:
    [gemini] = [each for each in known_providers(Settings(), environ) if each.name == "gemini"]
    assert (gemini.key_source, gemini.key_found) == (source, bool(environ))


def test_a_table_overrides_a_preset_key_by_key() -> None:
    settings = Settings(
        provider="ollama", providers={"ollama": ProviderSettings(model="qwen", context_size=4096)}
    )
    provider = create_provider(settings, {})
    assert (provider.model, provider.facts.context_size) == ("qwen", 4096)
    [ollama] = [each for each in known_providers(settings, {}) if each.name == "ollama"]
    assert ollama.base_url == "http://127.0.0.1:11434/v1"


def test_an_unknown_name_shows_the_known_ones_and_how_to_add_it() -> None:
    with pytest.raises(ConfigError, match=r"offline, openai, .*openrouter") as caught:
        create_provider(Settings(provider="acme"), {})
    assert caught.value.hint.splitlines()[1:] == [
        "[providers.acme]",
        'base_url = "http://127.0.0.1:8000/v1"',
        'model = "MODEL"',
    ]


def test_a_provider_without_a_model_says_how_to_give_one() -> None:
    with pytest.raises(ConfigError, match="needs a model") as caught:
        create_provider(Settings(provider="ollama"), {})
    assert "--model" in caught.value.hint


@cases("address", ["", "localhost:8000", "ftp://x/v1", "http://", "http://[::1/v1", "http://x:99999/v1"])
def test_an_address_that_cannot_be_is_refused(address: str) -> None:
    settings = Settings(provider="acme", providers={"acme": ProviderSettings(base_url=address, model="m")})
    with pytest.raises(ConfigError, match="no usable base_url"):
        create_provider(settings, {})


def test_known_providers_show_where_a_key_comes_from_but_never_the_key() -> None:
    settings = Settings(
        provider="acme",
        model="big",
        providers={"acme": ProviderSettings("https://acme.test/v1", "m", "ACME_KEY")},
    )
    known = {
        each.name: each
        for each in known_providers(settings, {"ACME_KEY": "sk-secret", "OPENAI_API_KEY": " "})
    }
    assert next(iter(known)) == "offline"
    assert (known["acme"].key_found, known["acme"].key_source, known["acme"].model) == (
        True,
        "ACME_KEY",
        "big",
    )
    assert not known["openai"].key_found
    assert known["ollama"].key_found
    assert "sk-secret" not in repr(known)


def test_the_providers_that_the_user_has_set_up_come_first() -> None:
    settings = Settings(providers={"acme": ProviderSettings("https://acme.test/v1", "m", "ACME_KEY")})
    names = [each.name for each in known_providers(settings, {"GROQ_API_KEY": "k"})]
    assert names[:4] == ["offline", "groq", "acme", "openai"]
    assert set(names) == {"offline", "acme", *PRESETS}


def test_secrets_are_the_key_variables_that_are_set() -> None:
    settings = Settings(providers={"acme": ProviderSettings("https://acme.test/v1", "m", "ACME_KEY")})
    environ = {"ACME_KEY": "a", "OPENAI_API_KEY": "b", "OPENROUTER_API_KEY": "", "HOME": "/root"}
    assert secrets(settings, environ) == {"ACME_KEY": "a", "OPENAI_API_KEY": "b"}
