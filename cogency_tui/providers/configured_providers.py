"""The configured providers: from a name in the settings to an address, a model and a key.

A key is only ever read from the environment, by the variable's name; the user is shown only the name and
whether it is set.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from cogency_tui.config.schema import ProviderSettings, Settings, config_path
from cogency_tui.errors import ConfigError
from cogency_tui.providers.base import Provider
from cogency_tui.providers.models import ModelFacts, load_models
from cogency_tui.providers.offline.provider import OfflineProvider, offline_delay

if TYPE_CHECKING:
    from cogency_tui.providers.endpoint import Endpoint
    from cogency_tui.providers.http_transport import Timeouts

OFFLINE = "offline"

PRESETS: Mapping[str, ProviderSettings] = {
    "openai": ProviderSettings(
        "https://api.openai.com/v1", "gpt-5-mini", "OPENAI_API_KEY", "responses", True
    ),
    "anthropic": ProviderSettings(
        "https://api.anthropic.com", "claude-sonnet-5", "ANTHROPIC_API_KEY", "anthropic"
    ),
    "gemini": ProviderSettings(
        "https://generativelanguage.googleapis.com", "gemini-3.5-flash", "GEMINI_API_KEY", "gemini", True
    ),
    "xai": ProviderSettings("https://api.x.ai/v1", "grok-4.5", "XAI_API_KEY", "responses", True),
    "openrouter": ProviderSettings("https://openrouter.ai/api/v1", "", "OPENROUTER_API_KEY", "chat"),
    "ollama": ProviderSettings("http://127.0.0.1:11434/v1", api="chat"),
    "lmstudio": ProviderSettings("http://127.0.0.1:1234/v1", api="chat"),
    "vllm": ProviderSettings("http://127.0.0.1:8000/v1", api="chat"),
    "llamacpp": ProviderSettings("http://127.0.0.1:8080/v1", "default", api="chat"),
}
"""Providers that need no table. llama.cpp serves one model under any name."""

_ADDRESSES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GEMINI_BASE_URL",
}
"""Variables for another address, as in the vendors' own clients."""

_OTHER_KEYS = {"gemini": "GOOGLE_API_KEY"}
"""Variables for a key when the first one is not set."""


class KnownProvider(msgspec.Struct, frozen=True):
    """A provider as `doctor` and the model picker show it. `key_source` is a variable's name."""

    name: str
    base_url: str
    model: str
    key_found: bool
    key_source: str
    resumes: bool


def create_provider(settings: Settings, environ: Mapping[str, str]) -> Provider:
    """Create the provider that the settings name. Nothing is connected and no key is needed yet.

    Raises:
        ConfigError: there is no such provider, or it lacks an address or a model; or the user's file of
            models cannot be used.
    """
    name = settings.provider
    if name == OFFLINE:
        return OfflineProvider(delay=offline_delay(environ))
    tables = _tables(settings, environ)
    if name not in tables:
        known = ", ".join([OFFLINE, *tables])
        raise ConfigError(
            f"Unknown provider {name!r}; known providers: {known}.",
            f"To add it to the configuration:\n[providers.{name}]\n"
            'base_url = "http://127.0.0.1:8000/v1"\nmodel = "MODEL"',
        )
    table = tables[name]
    model = settings.model or table.model
    if not model:
        raise ConfigError(
            f"The provider {name} needs a model name.",
            f'Choose one with --model, or set model = "MODEL" under [providers.{name}] in the configuration.',
        )
    _check_address(name, table.base_url)
    from cogency_tui.providers.endpoint import Endpoint
    from cogency_tui.providers.http_transport import Timeouts

    key = environ.get(table.key_env, "").strip() if table.key_env else ""
    endpoint = Endpoint(name, table.base_url, model, table.key_env, key)
    timeouts = Timeouts(first_byte=settings.first_byte_timeout, idle=settings.idle_timeout)
    return _assemble(endpoint, table, _facts(endpoint, table, environ), timeouts)


def known_providers(settings: Settings, environ: Mapping[str, str]) -> list[KnownProvider]:
    """List all providers by name, the embedded one first. One that needs no key counts as found."""
    known = [KnownProvider(OFFLINE, "", OfflineProvider.model, True, "", True)]
    for name, table in _tables(settings, environ).items():
        chosen = settings.model if name == settings.provider else ""
        found = not table.key_env or bool(environ.get(table.key_env, "").strip())
        resumes = bool(table.resume) and table.api in ("responses", "gemini")
        known.append(
            KnownProvider(name, table.base_url, chosen or table.model, found, table.key_env, resumes)
        )
    return known


def host_of(name: str, settings: Settings, environ: Mapping[str, str]) -> str:
    """Name the host beyond this machine that a provider contacts, with its port; empty where there is
    none."""
    from cogency_tui.providers.endpoint import Endpoint

    table = _tables(settings, environ).get(name)
    if table is None:
        return ""
    endpoint = Endpoint(name, table.base_url, table.model)
    return "" if endpoint.is_loopback else endpoint.host


def secrets(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the key variables that are set, with their values: never for the environment of a command."""
    variables = {table.key_env for table in _tables(settings, environ).values()} - {""}
    return {name: environ[name] for name in sorted(variables) if environ.get(name)}


def _assemble(
    endpoint: "Endpoint", table: ProviderSettings, facts: ModelFacts, timeouts: "Timeouts"
) -> Provider:
    """Create wire and sessions by the table's `api`; only what is used is imported."""
    from cogency_tui.providers.http_provider import HttpProvider, Opener
    from cogency_tui.providers.wire_protocol import Wire

    wire: Wire
    sessions: Opener | None = None
    native = False
    if table.api == "responses":
        from cogency_tui.providers.openai_responses import ResponsesWire

        diagnoses = facts.cache_diagnostics and is_vendors_own(endpoint, "openai")
        wire = ResponsesWire(endpoint, summaries=facts.reasoning, diagnoses=diagnoses)
        if facts.realtime:
            from cogency_tui.providers.openai_realtime import realtime_sessions

            sessions = realtime_sessions(endpoint, timeouts)
        elif table.resume:
            from cogency_tui.providers.openai_responses import responses_sessions

            sessions = responses_sessions(endpoint, timeouts, summaries=facts.reasoning, diagnoses=diagnoses)
    elif table.api == "anthropic":
        from cogency_tui.providers.anthropic import AnthropicWire

        wire = AnthropicWire(endpoint, facts.max_output, diagnoses=is_vendors_own(endpoint, "anthropic"))
    elif table.api == "gemini":
        from cogency_tui.providers.gemini import GeminiWire

        wire = GeminiWire(endpoint, facts)
        native = True
        if table.resume:
            from cogency_tui.providers.gemini_session_choice import gemini_sessions

            sessions = gemini_sessions(endpoint, timeouts, facts=facts)
    else:
        from cogency_tui.providers.openai_chat import ChatWire

        wire = ChatWire(endpoint)
    return HttpProvider(endpoint, wire, sessions=sessions, native=native, facts=facts, timeouts=timeouts)


def is_vendors_own(endpoint: "Endpoint", vendor: str) -> bool:
    """Return whether an endpoint is the vendor's, and no server that speaks its wire protocol."""
    return endpoint.host == urlsplit(PRESETS[vendor].base_url).netloc


def _facts(endpoint: "Endpoint", table: ProviderSettings, environ: Mapping[str, str]) -> ModelFacts:
    """Return the facts of the model; a server on this machine does not charge its vendor's price."""
    models = load_models(config_path(environ).with_name("models.toml"))
    facts = models.find(endpoint.name, endpoint.model)
    if table.context_size:
        facts = structs.replace(facts, context_size=table.context_size)
    return structs.replace(facts, prices=None) if endpoint.is_loopback else facts


def _tables(settings: Settings, environ: Mapping[str, str]) -> dict[str, ProviderSettings]:
    """Layer the presets, the user's tables and the environment, the last winning."""
    tables = dict(PRESETS)
    for name, given in settings.providers.items():
        preset = PRESETS.get(name, ProviderSettings(api="chat"))
        tables[name] = ProviderSettings(
            given.base_url or preset.base_url,
            given.model or preset.model,
            given.key_env or preset.key_env,
            given.api or preset.api,
            # A preset's session settings apply to its own wire protocol.
            preset.resume if given.resume is None and given.api in ("", preset.api) else given.resume,
            given.context_size or preset.context_size,
        )
    for name, variable in _ADDRESSES.items():
        if address := environ.get(variable):
            tables[name] = structs.replace(tables[name], base_url=address)
    for name, variable in _OTHER_KEYS.items():
        table = tables[name]
        if (
            table.key_env == PRESETS[name].key_env
            and not environ.get(table.key_env)
            and environ.get(variable)
        ):
            tables[name] = structs.replace(table, key_env=variable)
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
