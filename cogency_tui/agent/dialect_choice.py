"""The dialect of a model: the user's choice, or by the facts about the model where they leave it open."""

from cogency_tui.config.schema import DialectChoice
from cogency_tui.protocol import Dialect
from cogency_tui.providers.base import Provider

_FALLBACK: Dialect = "xml"


def dialect_for(choice: DialectChoice, provider: Provider) -> Dialect:
    """The dialect in which a conversation with this provider goes on: text where it cannot be sent tools."""
    chosen = (provider.facts.dialect or _FALLBACK) if choice == "auto" else choice
    return _FALLBACK if chosen == "native" and not provider.native else chosen


def reason_for(choice: DialectChoice, provider: Provider) -> str:
    """Why a conversation has its dialect, for the user."""
    if (chosen := provider.facts.dialect if choice == "auto" else choice) == "native" and not provider.native:
        return f"{provider.name} cannot be sent tools here"
    if choice != "auto":
        return "chosen"
    return f"auto: suits {provider.model}" if chosen else "auto"
