"""From a name in the settings to a provider, with its address, model and key.

A key is only ever read from the environment, by the variable's name; what is shown to a person is the
name and whether it was found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from cogency_tui.config import ProviderSettings, Settings
from cogency_tui.errors import ConfigError
from cogency_tui.providers.base import Provider
from cogency_tui.providers.offline import OfflineProvider, offline_delay

OFFLINE = "offline"

PRESETS: Mapping[str, ProviderSettings] = {
    "openai": ProviderSettings("https://api.openai.com/v1", "gpt-5-mini", "OPENAI_API_KEY"),
    "ollama": ProviderSettings("http://127.0.0.1:11434/v1"),
    "lmstudio": ProviderSettings("http://127.0.0.1:1234/v1"),
    "vllm": ProviderSettings("http://127.0.0.1:8000/v1"),
    "llamacpp": ProviderSettings("http://127.0.0.1:8080/v1", "default"),
    "openrouter": ProviderSettings("https://openrouter.ai/api/v1", "", "OPENROUTER_API_KEY"),
}
"""Providers that need no table. llama.cpp serves one model, whatever it is called."""


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """One provider as `doctor` and the model picker show it. `key_source` is a variable's name."""

    name: str
    base_url: str
    model: str
    key_found: bool
    key_source: str


def create_provider(settings: Settings, environ: Mapping[str, str]) -> Provider:
    """The provider that the settings name. Nothing is connected and no key is needed yet.

    Raises:
        ConfigError: there is no such provider, or it lacks an address or a model.
    """
    name = settings.provider
    if name == OFFLINE:
        return OfflineProvider(delay=offline_delay(environ))
    tables = _tables(settings, environ)
    if name not in tables:
        known = ", ".join([OFFLINE, *tables])
        raise ConfigError(
            f"There is no provider {name!r}; known are {known}.",
            f"To add it to the configuration:\n[providers.{name}]\n"
            'base_url = "http://127.0.0.1:8000/v1"\nmodel = "MODEL"',
        )
    table = tables[name]
    model = settings.model or table.model
    if not model:
        raise ConfigError(
            f"The provider {name} needs a model's name.",
            f'Give one with --model, or set model = "MODEL" under [providers.{name}] in the configuration.',
        )
    _check_address(name, table.base_url)
    from cogency_tui.providers.endpoint import Endpoint
    from cogency_tui.providers.openai import ChatProvider
    from cogency_tui.providers.transport import Timeouts

    key = environ.get(table.key_env, "").strip() if table.key_env else ""
    return ChatProvider(
        Endpoint(name, table.base_url, model, table.key_env, key),
        context_size=table.context_size,
        timeouts=Timeouts(first_byte=settings.first_byte_timeout, idle=settings.idle_timeout),
    )


def known_providers(settings: Settings, environ: Mapping[str, str]) -> list[KnownProvider]:
    """All providers by name, the embedded one first. One that needs no key counts as found."""
    known = [KnownProvider(OFFLINE, "", OfflineProvider.model, True, "")]
    for name, table in _tables(settings, environ).items():
        chosen = settings.model if name == settings.provider else ""
        found = not table.key_env or bool(environ.get(table.key_env, "").strip())
        known.append(KnownProvider(name, table.base_url, chosen or table.model, found, table.key_env))
    return known


def secrets(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """The key variables that are set, with their values: never for the environment of a command."""
    variables = {table.key_env for table in _tables(settings, environ).values()} - {""}
    return {name: environ[name] for name in sorted(variables) if environ.get(name)}


def _tables(settings: Settings, environ: Mapping[str, str]) -> dict[str, ProviderSettings]:
    """The presets under the person's tables under the environment."""
    tables = dict(PRESETS)
    for name, given in settings.providers.items():
        preset = PRESETS.get(name, ProviderSettings())
        tables[name] = ProviderSettings(
            given.base_url or preset.base_url,
            given.model or preset.model,
            given.key_env or preset.key_env,
            given.api,
            given.context_size or preset.context_size,
        )
    if address := environ.get("OPENAI_BASE_URL"):
        openai = tables["openai"]
        tables["openai"] = ProviderSettings(
            address, openai.model, openai.key_env, openai.api, openai.context_size
        )
    return tables


def _check_address(name: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"The provider {name} has no usable base_url.",
            f'Set base_url = "https://HOST/v1" under [providers.{name}] in the configuration.',
        )
