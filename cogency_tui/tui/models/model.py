"""The available providers and models, with their known facts.

Models are requested from an endpoint only when the user wants to see them; the built-in facts are shown
until then, and where the endpoint gives none.

Invariant: no key leaves this module.
"""

import os
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from cogency_tui.config.schema import Settings
from cogency_tui.errors import NetworkError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import ReasoningDelta, Retrying, TextDelta
from cogency_tui.providers.configured_providers import (
    ConfiguredModels,
    KnownProvider,
    create_provider,
    known_providers,
    list_models,
)
from cogency_tui.providers.models import Ending, ListedModel, ending_of, with_listed_end
from cogency_tui.tui.kit.number_format import duration

_TEST: list[Message] = [{"role": "user", "content": "Answer with the word ok."}]


class Chosen(NamedTuple):
    """A provider and one of its models, by name; an empty `model` means the provider's default."""

    provider: str
    model: str
    keep: bool = False
    """True if to write the choice into the configuration."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model. `context_size` in tokens, 0 if unknown; prices in USD per million tokens; `ending` if that
    is soon."""

    name: str
    context_size: int = 0
    input_price: float | None = None
    output_price: float | None = None
    resumes: bool = False
    ending: Ending | None = None


class ModelList:
    """Lists providers and models under the settings in force. The environment locates keys and overrides
    addresses.

    Raises:
        ConfigError: from every method, if the user's file of models cannot be used.
    """

    def __init__(self, settings: Settings, environ: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        self._models: ConfiguredModels | None = None

    def providers(self) -> list[KnownProvider]:
        """All providers, the embedded one first."""
        return known_providers(self._settings, self._environ)

    def find(self, name: str) -> KnownProvider | None:
        """The provider of this name."""
        return next((provider for provider in self.providers() if provider.name == name), None)

    def known(self, provider: KnownProvider) -> list[ModelRow]:
        """The models of this provider that are known without a request."""
        names = self._load().of(provider.name)
        if provider.model and provider.model not in names:
            names = [provider.model, *names]
        return [self.describe(provider, ListedModel(name)) for name in names]

    async def listed(self, provider: KnownProvider) -> list[ModelRow]:
        """Request the provider's list of models, those with known facts first; empty if the provider has no
        list.

        Raises:
            ConfigError: the provider's table in the configuration cannot be used.
            ProviderError: the provider refused or failed.
        """
        listed = await list_models(self._settings, self._environ, provider)
        rows = [self.describe(provider, model) for model in listed]
        return sorted(rows, key=lambda row: not row.context_size)

    def describe(self, provider: KnownProvider, model: ListedModel) -> ModelRow:
        """One model with its known facts."""
        facts = with_listed_end(self._load().facts(provider.name, model.name), model)
        prices = facts.prices
        return ModelRow(
            model.name,
            facts.context_size,
            prices.input if prices else None,
            prices.output if prices else None,
            provider.resumes,
            ending_of(facts),
        )

    async def test(self, provider: KnownProvider, model: str) -> str:
        """Ask a model for one word, or, without a name, for the list of models; return a description of the
        result.

        Raises:
            ConfigError: the provider's table in the configuration cannot be used.
            ProviderError: the provider refused or failed, in its own words.
        """
        if not model:
            count = len(await self.listed(provider))
            return f"{provider.name}: OK — {count} model{'' if count == 1 else 's'}"
        endpoint = create_provider(
            replace(self._settings, provider=provider.name, model=model), self._environ
        )
        started = monotonic()
        try:
            async with aclosing(endpoint.stream(_TEST)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Retrying):
                        raise NetworkError(chunk.cause)
                    if isinstance(chunk, TextDelta | ReasoningDelta):
                        break
        finally:
            await endpoint.close()
        return f"{provider.name}/{model}: OK — first token in {duration(monotonic() - started)}"

    def _load(self) -> ConfiguredModels:
        if self._models is None:
            self._models = ConfiguredModels(self._settings, self._environ)
        return self._models


def without_user(address: str) -> str:
    """`address` without its user name and password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "(invalid address)"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
