"""Providers and models to choose from: what is known, what an endpoint says, and never a key."""

from datetime import date
from pathlib import Path

import pytest

from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.errors import AuthenticationError, ConfigError, NetworkError
from cogency_tui.providers.configured_providers import KnownProvider
from cogency_tui.providers.models import Ending, load_models
from cogency_tui.tui.models.model import ModelList, ModelRow, without_user
from tests.peers.chat import ChatPeer

KEY = "sk-very-secret-1234"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"COGENCY_CONFIG": str(tmp_path / "config.toml")}


def provider(models: ModelList, name: str) -> KnownProvider:
    found = models.find(name)
    assert found is not None
    return found


def test_providers_say_where_their_key_is_and_never_what_it_is(environ: dict[str, str]) -> None:
    models = ModelList(Settings(), {**environ, "OPENAI_API_KEY": KEY})

    openai, anthropic = provider(models, "openai"), provider(models, "anthropic")

    assert (openai.key_found, openai.key_source) == (True, "OPENAI_API_KEY")
    assert (anthropic.key_found, anthropic.key_source) == (False, "ANTHROPIC_API_KEY")
    assert KEY not in repr(models.providers())
    assert models.find("nobody") is None


def test_what_is_known_of_models_has_sizes_and_prices(environ: dict[str, str]) -> None:
    models = ModelList(Settings(), environ)

    rows = {row.name: row for row in models.known(provider(models, "openai"))}

    facts = load_models().find("openai", "gpt-6-sol")
    assert facts.prices is not None
    assert rows["gpt-6-sol"] == ModelRow(
        "gpt-6-sol", facts.context_size, facts.prices.input, facts.prices.output, resumes=True
    )


def test_a_model_of_the_configuration_is_there_though_nothing_is_known_of_it(environ: dict[str, str]) -> None:
    table = ProviderSettings("http://127.0.0.1:9/v1", "house-model", context_size=9000)
    models = ModelList(Settings(providers={"mine": table}), environ)

    assert models.known(provider(models, "mine")) == [ModelRow("house-model", 9000)]


async def test_an_endpoint_lists_its_models(environ: dict[str, str]) -> None:
    async with ChatPeer(model="gpt-5-mini") as peer:
        table = ProviderSettings(peer.base_url, "gpt-5-mini")
        models = ModelList(Settings(providers={"mine": table}), environ)

        assert await models.listed(provider(models, "mine")) == [ModelRow("gpt-5-mini")]


async def test_the_list_of_an_endpoint_states_the_ends_of_its_models(environ: dict[str, str]) -> None:
    async with ChatPeer(model="house") as peer:
        peer.shutdown_date = "2020-01-02"
        models = ModelList(Settings(providers={"mine": ProviderSettings(peer.base_url, "house")}), environ)

        [row] = await models.listed(provider(models, "mine"))
    assert row == ModelRow("house", ending=Ending(True, date(2020, 1, 2)))


async def test_a_provider_without_a_model_can_be_asked(environ: dict[str, str]) -> None:
    async with ChatPeer(model="qwen") as peer:
        settings = Settings(providers={"ollama": ProviderSettings(peer.base_url)})
        models = ModelList(settings, environ)

        assert [row.name for row in await models.listed(provider(models, "ollama"))] == ["qwen"]


async def test_a_server_on_this_machine_has_no_price(environ: dict[str, str]) -> None:
    async with ChatPeer(model="gpt-5-mini", key=KEY) as peer:
        environ |= {"OPENAI_BASE_URL": peer.base_url, "OPENAI_API_KEY": KEY}
        models = ModelList(Settings(providers={"openai": ProviderSettings(api="chat")}), environ)

        [row] = await models.listed(provider(models, "openai"))

    assert (row.context_size, row.input_price) == (400_000, None)


async def test_no_key_and_no_server_are_errors_with_a_next_step(environ: dict[str, str]) -> None:
    table = ProviderSettings("http://127.0.0.1:9/v1", "m")
    models = ModelList(Settings(providers={"mine": table}), environ)

    with pytest.raises(AuthenticationError, match="OPENAI_API_KEY"):
        await models.listed(provider(models, "openai"))
    with pytest.raises(NetworkError):
        await models.listed(provider(models, "mine"))


async def test_the_offline_model_is_listed(environ: dict[str, str]) -> None:
    models = ModelList(Settings(), environ)

    assert await models.listed(provider(models, "offline")) == [ModelRow("offline-1", resumes=True)]


def test_a_broken_file_of_models_names_the_place(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "models.toml").write_text('["openai/x"]\ncontext = "big"\n')
    models = ModelList(Settings(), environ)

    with pytest.raises(ConfigError, match="line 1"):
        models.known(provider(models, "openai"))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (KEY, "mine/m: OK — first token in"),
        ("sk-wrong", "mine rejected the API key (HTTP 401): Incorrect API key provided: [key]"),
        ("", "needs an API key, and $MY_KEY is not set"),
    ],
)
async def test_an_endpoint_is_tested_with_the_key_that_there_is(
    environ: dict[str, str], key: str, told: str
) -> None:
    environ["MY_KEY"] = key
    async with ChatPeer(key=KEY) as peer:
        table = ProviderSettings(peer.base_url, "m", "MY_KEY")
        models = ModelList(Settings(providers={"mine": table}), environ)
        try:
            said = await models.test(provider(models, "mine"), "m")
        except AuthenticationError as exc:
            said = exc.advice
    assert told in said
    assert not key or key not in said


async def test_a_test_of_nothing_fails_at_once_and_one_without_a_model_lists(environ: dict[str, str]) -> None:
    settings = Settings(providers={"mine": ProviderSettings("http://127.0.0.1:9/v1", "m")})
    models = ModelList(settings, environ)
    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:9"):
        await models.test(provider(models, "mine"), "m")
    async with ChatPeer(model="qwen") as peer:
        models = ModelList(Settings(providers={"ollama": ProviderSettings(peer.base_url)}), environ)
        assert await models.test(provider(models, "ollama"), "") == "ollama: OK — 1 model"


def test_an_address_is_shown_without_what_stands_before_the_host() -> None:
    assert without_user("http://me:secret@host:8/v1") == "http://host:8/v1"
