"""Every wire protocol in every mode that it has: what the engine is tested and measured over."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from cogency_tui.config.schema import Mode, ProviderSettings, Settings
from cogency_tui.providers.base import Provider
from cogency_tui.providers.configured_providers import create_provider
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import load_models
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_session import responses_sessions
from tests.peers.anthropic import AnthropicPeer
from tests.peers.chat import ChatPeer
from tests.peers.gemini import GeminiPeer
from tests.peers.realtime import RealtimePeer
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Peer

KEY = "sk-test-1234567890"


class Server(Protocol):
    """Something that listens on this machine."""

    @property
    def origin(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Way:
    """One wire protocol in one mode. `other` names the way with which the same vendor goes on in the
    other mode."""

    name: str
    mode: Mode
    peer: Callable[..., Peer]
    provider: str
    model: str
    other: str
    api: Literal["", "chat"] = ""
    resume: bool | None = None

    @property
    def settings(self) -> Settings:
        """The settings that choose it."""
        providers = {self.provider: ProviderSettings(api=self.api, resume=self.resume)}
        return Settings(
            provider=self.provider, model=self.model, mode=self.mode, dialect="xml", providers=providers
        )

    def environ(self, peer: Server, key: str = KEY) -> dict[str, str]:
        """The environment that points it at a peer."""
        name = self.provider.upper()
        address = f"{peer.origin}/v1" if self.provider == "openai" else peer.origin
        return {f"{name}_API_KEY": key, f"{name}_BASE_URL": address}

    def connect(self, peer: Server, key: str = KEY) -> Provider:
        """A provider that speaks it with a peer."""
        return create_provider(self.settings, self.environ(peer, key))


def connect_lanes(peer: Server) -> Provider:
    """A provider with sessions over Responses that share connections, as they do at the vendor's own address."""
    model = WAYS["Responses WebSocket"].model
    endpoint = Endpoint("openai", f"{peer.origin}/v1", model, "OPENAI_API_KEY", KEY)
    facts = load_models().find("openai", model)
    sessions = responses_sessions(endpoint, facts, lanes=True)
    return HttpProvider(endpoint, ResponsesWire(endpoint, facts), sessions=sessions, native=True, facts=facts)


_ROBOTICS = "gemini-robotics-er-2-streaming-preview"
_WAYS = (
    Way("Chat Completions", "replay", ChatPeer, "openai", "gpt-6.1-sol", "Chat Completions", "chat"),
    Way("Responses", "replay", ResponsesPeer, "openai", "gpt-6.1-sol", "Responses WebSocket"),
    Way("Responses WebSocket", "resume", ResponsesPeer, "openai", "gpt-6.1-sol", "Responses"),
    Way("Realtime", "resume", RealtimePeer, "openai", "gpt-realtime-1.5", "Responses"),
    Way("Anthropic Messages", "replay", AnthropicPeer, "anthropic", "claude-sonnet-5-5", "Anthropic threads"),
    Way(
        "Anthropic threads",
        "resume",
        AnthropicPeer,
        "anthropic",
        "claude-sonnet-5-5",
        "Anthropic Messages",
        resume=True,
    ),
    Way("Gemini", "replay", GeminiPeer, "gemini", "gemini-4-argon", "Gemini Interactions"),
    Way("Gemini Interactions", "resume", GeminiPeer, "gemini", "gemini-4-argon", "Gemini"),
    Way("Gemini Live", "resume", GeminiPeer, "gemini", _ROBOTICS, "Gemini"),
)
WAYS = {way.name: way for way in _WAYS}
