"""From settings to providers."""

import pytest

from cogency_tui.config import ProviderSettings, Settings
from cogency_tui.errors import AuthenticationError, ConfigError
from cogency_tui.providers.catalog import PRESETS, create_provider, known_providers, secrets
from cogency_tui.providers.offline import OfflineProvider
from tests.peers.chat import ChatPeer


def test_offline_is_the_default_whatever_model_is_named() -> None:
    provider = create_provider(Settings(model="gpt-x"), {"COGENCY_OFFLINE_DELAY": "0"})
    assert isinstance(provider, OfflineProvider)
    assert provider.model == "offline-1"


def test_openai_has_a_default_model_and_takes_another() -> None:
    assert create_provider(Settings(provider="openai"), {}).model == "gpt-5-mini"
    assert create_provider(Settings(provider="openai", model="other"), {}).model == "other"


async def test_the_environment_names_address_and_key() -> None:
    async with ChatPeer(key="sk-1") as peer:
        environ = {"OPENAI_API_KEY": " sk-1\n", "OPENAI_BASE_URL": peer.base_url}
        provider = create_provider(Settings(provider="openai"), environ)
        chunks = [chunk async for chunk in provider.stream([{"role": "user", "content": "hi"}])]
        await provider.close()
    assert chunks
    assert peer.requests[0].headers["authorization"] == "Bearer sk-1"


async def test_a_missing_key_is_reported_at_first_use() -> None:
    provider = create_provider(Settings(provider="openrouter", model="m"), {})
    with pytest.raises(AuthenticationError, match=r"\$OPENROUTER_API_KEY is not set") as caught:
        await anext(aiter(provider.stream([])))
    assert "Set OPENROUTER_API_KEY" in caught.value.hint


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_need_no_table(name: str) -> None:
    provider = create_provider(Settings(provider=name, model="m"), {})
    assert (provider.name, provider.model, provider.resumes) == (name, "m", False)


def test_a_table_overrides_a_preset_key_by_key() -> None:
    settings = Settings(
        provider="ollama", providers={"ollama": ProviderSettings(model="qwen", context_size=4096)}
    )
    provider = create_provider(settings, {})
    assert (provider.model, provider.context_size) == ("qwen", 4096)
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


@pytest.mark.parametrize(
    "address", ["", "localhost:8000", "ftp://x/v1", "http://", "http://[::1/v1", "http://x:99999/v1"]
)
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


def test_secrets_are_the_key_variables_that_are_set() -> None:
    settings = Settings(providers={"acme": ProviderSettings("https://acme.test/v1", "m", "ACME_KEY")})
    environ = {"ACME_KEY": "a", "OPENAI_API_KEY": "b", "OPENROUTER_API_KEY": "", "HOME": "/root"}
    assert secrets(settings, environ) == {"ACME_KEY": "a", "OPENAI_API_KEY": "b"}
