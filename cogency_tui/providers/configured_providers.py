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
from cogency_tui.providers.models import ListedModel, ModelFacts, load_models
from cogency_tui.providers.offline.provider import OfflineProvider, offline_delay
from cogency_tui.providers.presets import ADDRESS_VARIABLES, OTHER_KEYS, OWN_ADDRESSES, PRESETS

if TYPE_CHECKING:
    from cogency_tui.providers.endpoint import Endpoint
    from cogency_tui.providers.http_transport import Timeouts

OFFLINE = "offline"

_SEEING = ("openai", "anthropic", "gemini")
"""Vendors whose models take images, even those that the table does not know."""


class KnownProvider(msgspec.Struct, frozen=True):
    """A provider as `doctor` and the model picker show it. `key_source` is a variable's name."""

    name: str
    base_url: str
    model: str
    key_found: bool
    key_source: str
    resumes: bool


class ConfiguredModels:
    """The models of the configured providers, with their facts: what the user's tables state of a provider's
    models wins over the table of models.

    Raises:
        ConfigError: on creation, if the user's file of models cannot be used.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._tables = _tables(settings, environ)
        self._models = load_models(config_path(environ).with_name("models.toml"))

    def of(self, provider: str) -> list[str]:
        """Return the names of a provider's known models."""
        return self._models.of(provider)

    def facts(self, provider: str, model: str) -> ModelFacts:
        """Return the facts about a model; a server on this machine does not charge its vendor's price. Of a
        model that is newer than the table: whether it takes images, as all others of its vendor do."""
        from cogency_tui.providers.endpoint import Endpoint

        table = self._tables.get(provider, ProviderSettings())
        facts, endpoint = self._models.find(provider, model), Endpoint(provider, table.base_url, model)
        if facts == ModelFacts() and provider in _SEEING and is_vendors_own(endpoint, provider):
            facts = structs.replace(facts, images=True)
        facts, local = _stated(facts, table), endpoint.is_loopback
        return structs.replace(facts, prices=None) if local else facts


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
    facts = ConfiguredModels(settings, environ).facts(name, model)
    return _assemble(endpoint, table, facts, timeouts)


def known_providers(settings: Settings, environ: Mapping[str, str]) -> list[KnownProvider]:
    """List all providers: the embedded one, then those that the user has set up, then the other presets. One
    that needs no key counts as found."""
    known: list[KnownProvider] = []
    for name, table in _tables(settings, environ).items():
        chosen = settings.model if name == settings.provider else ""
        found = not table.key_env or bool(environ.get(table.key_env, "").strip())
        model = chosen or table.model
        resumes = table.resume
        if resumes is None and table.api == "anthropic":
            # It depends on the model; the user's own file of models may be unusable.
            resumes = load_models().find(name, model).threads
        known.append(KnownProvider(name, table.base_url, model, found, table.key_env, bool(resumes)))
    known.sort(key=lambda each: not (each.name in settings.providers or (each.key_source and each.key_found)))
    return [KnownProvider(OFFLINE, "", OfflineProvider.model, True, "", True), *known]


async def list_models(
    settings: Settings, environ: Mapping[str, str], provider: KnownProvider
) -> list[ListedModel]:
    """Ask the endpoint of a provider for its models; empty if it has no list.

    Raises:
        ConfigError: the provider's table in the configuration cannot be used.
        ProviderError: the provider refused or failed.
    """
    # The list does not depend on a model, and a provider has one.
    chosen = structs.replace(settings, provider=provider.name, model=provider.model or "any")
    endpoint = create_provider(chosen, environ)
    try:
        return await endpoint.models()
    finally:
        await endpoint.close()


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
    """Return the key variables that are set, with their values: never for the environment of a command. The
    password of a team's database is one."""
    variables = {table.key_env for table in _tables(settings, environ).values()}
    variables = {*variables, settings.history.password_env} - {""}
    if settings.history.url:
        variables.add("PGPASSWORD")
    return {name: environ[name] for name in sorted(variables) if environ.get(name)}


def _assemble(
    endpoint: "Endpoint", table: ProviderSettings, facts: ModelFacts, timeouts: "Timeouts"
) -> Provider:
    """Create wire and sessions by the table's `api`; only what is used is imported."""
    from cogency_tui.providers.http_provider import HttpProvider, Opener
    from cogency_tui.providers.wire_protocol import Wire

    wire: Wire
    sessions: Opener | None = None
    if table.api == "responses":
        from cogency_tui.providers.openai_responses import ResponsesWire

        diagnoses = facts.cache_diagnostics and is_vendors_own(endpoint, "openai")
        nests = nests_images(endpoint)
        wire = ResponsesWire(endpoint, facts, diagnoses=diagnoses, nests=nests)
        if facts.realtime:
            from cogency_tui.providers.openai_realtime import realtime_sessions

            sessions = realtime_sessions(endpoint, timeouts)
        elif table.resume:
            from cogency_tui.providers.openai_responses_session import responses_sessions

            own = is_vendors_own(endpoint, "openai")
            sessions = responses_sessions(
                endpoint, facts, timeouts, diagnoses=diagnoses, nests=nests, lanes=own, steers=own
            )
    elif table.api == "anthropic":
        from cogency_tui.providers.anthropic import AnthropicWire

        own = is_vendors_own(endpoint, "anthropic")
        wire = AnthropicWire(endpoint, facts, own=own)
        if facts.threads:
            from cogency_tui.providers.anthropic_threads import thread_sessions

            sessions = thread_sessions(endpoint, facts, timeouts, own=own)
    elif table.api == "gemini":
        from cogency_tui.providers.gemini import GeminiWire

        wire = GeminiWire(endpoint, facts)
        if table.resume:
            from cogency_tui.providers.gemini_session_choice import gemini_sessions

            sessions = gemini_sessions(endpoint, timeouts, facts=facts)
    else:
        from cogency_tui.providers.openai_chat import ChatWire

        wire = ChatWire(endpoint, facts)
        if table.resume:
            from cogency_tui.providers.openai_responses_stored import stored_responses_sessions

            sessions = stored_responses_sessions(endpoint, facts, timeouts)
    # Realtime models are spoken to in text alone.
    native = not facts.realtime
    return HttpProvider(endpoint, wire, sessions=sessions, native=native, facts=facts, timeouts=timeouts)


def nests_images(endpoint: "Endpoint") -> bool:
    """Return whether an endpoint of Responses is known to take images in the output of a function."""
    return endpoint.name == "azure" or is_vendors_own(endpoint, "openai")


def is_vendors_own(endpoint: "Endpoint", vendor: str) -> bool:
    """Return whether an endpoint is the vendor's, and no server that speaks its wire protocol."""
    return endpoint.host == urlsplit(PRESETS[vendor].base_url).netloc


def _stated(facts: ModelFacts, table: ProviderSettings) -> ModelFacts:
    """Replace the facts that the user's table states itself."""
    stated = {
        "context_size": table.context_size or None,
        "reasoning": table.reasoning,
        "images": table.images,
        "dialect": table.dialect or None,
        "threads": table.resume if table.api == "anthropic" else None,
    }
    return structs.replace(facts, **{name: value for name, value in stated.items() if value is not None})


def _tables(settings: Settings, environ: Mapping[str, str]) -> dict[str, ProviderSettings]:
    """Layer the presets, the user's tables and the environment, the last winning."""
    tables = dict(PRESETS)
    for name, given in settings.providers.items():
        tables[name] = _overlay(PRESETS.get(name, ProviderSettings(api="chat")), given)
    for name, variable in ADDRESS_VARIABLES.items():
        if address := environ.get(variable):
            tables[name] = structs.replace(tables[name], base_url=address)
    for name, variable in OTHER_KEYS.items():
        table = tables[name]
        if (
            table.key_env == PRESETS[name].key_env
            and not environ.get(table.key_env)
            and environ.get(variable)
        ):
            tables[name] = structs.replace(table, key_env=variable)
    return tables


def _overlay(preset: ProviderSettings, given: ProviderSettings) -> ProviderSettings:
    """Replace the keys of a preset that the user's table gives."""
    unset = structs.asdict(ProviderSettings())
    stated = {key: value for key, value in structs.asdict(given).items() if value != unset[key]}
    if given.api not in ("", preset.api):
        # A preset's session settings apply to its own wire protocol.
        preset = structs.replace(preset, resume=None)
    return structs.replace(preset, **stated)


def _check_address(name: str, address: str) -> None:
    if _is_usable(address):
        return
    own = name in OWN_ADDRESSES and not address
    problem = "needs the address of your own account" if own else "has no usable base_url"
    raise ConfigError(f"The provider {name} {problem}.", address_advice(name))


def address_advice(name: str) -> str:
    """How to set the address of a provider that has none."""
    example = OWN_ADDRESSES.get(name, "https://HOST/v1")
    return f'Set base_url = "{example}" under [providers.{name}] in the configuration.'


def _is_usable(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
