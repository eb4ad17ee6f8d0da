"""The Anthropic Messages wire protocol, with native calls, thinking and prompt caching."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cogency_tui.protocol.messages import Message, ToolSpec
from cogency_tui.providers.anthropic_content import THINKING_BLOCKS, Arrangement, Block, Turn, mark
from cogency_tui.providers.anthropic_reader import LABEL, MessagesReader
from cogency_tui.providers.anthropic_thinking import Thinking
from cogency_tui.providers.base import PLAIN, Options
from cogency_tui.providers.cache_lifetimes import ANTHROPIC, lifetime_for
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.refused_parameters import (
    EAGER_INPUT,
    EFFORT,
    LIFETIME,
    RETURNED_REASONING,
    THINKING,
)
from cogency_tui.providers.wire_protocol import listed_models

DEFAULT_OUTPUT = 32_000
"""Tokens of an answer where the model's own limit is not known: every model that the vendor still serves
can write so many. Models that reason by default spend them on that, too, and a file is written in one
answer."""

_VERSION = "2026-10-21"
_OLD_VERSION = "2023-06-01"
"""Version that every server of this wire accepts. The fields that are sent and read here are the same."""

_VERSION_HEADER = "anthropic-version"
_BETA_HEADER = "anthropic-beta"

_MOST_MODELS = 1000
"""Models on a page of the list; 20 by default."""

_FIELDS = {EFFORT: "output_config", THINKING: "thinking"}
"""Fields with another name in `refused`."""


class AnthropicWire:
    """`POST /v1/messages` with one endpoint. `own` marks the vendor's own: other servers of this wire may
    refuse its newer features, such as the diagnostics of its cache."""

    label = LABEL

    def __init__(self, endpoint: Endpoint, facts: ModelFacts | None = None, *, own: bool = False) -> None:
        facts = facts or ModelFacts()
        self._endpoint = endpoint
        self._own = own
        self._max_output = facts.max_output or DEFAULT_OUTPUT
        self._thinking = Thinking(endpoint.model, facts, self._max_output, own)
        # The vendor's own address has no version, but some tools want one there, and users copy it.
        root = "" if endpoint.base_url.rstrip("/").endswith("/v1") else "/v1"
        self.path = f"{root}/messages"
        self.models_path = f"{root}/models?limit={_MOST_MODELS}"
        key = {"x-api-key": endpoint.key} if endpoint.key else {}
        betas = {_BETA_HEADER: ",".join(self.betas)} if self.betas else {}
        self._headers = {_VERSION_HEADER: _VERSION if own else _OLD_VERSION} | betas | key

    @property
    def betas(self) -> list[str]:
        """The vendor's names of the features in beta that the requests use."""
        return self._thinking.betas

    def headers(self) -> Mapping[str, str]:
        """Return the key, the version of the protocol, and its features in beta. The mapping changes once the
        endpoint has refused one of them."""
        return self._headers

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request, without what the vendor would refuse: messages of white space only,
        and an assistant's message at either end of the history."""
        refused = set(refused)
        history = Arrangement(options, thinks=RETURNED_REASONING not in refused)
        history.arrange(messages)
        # The last request ended with the user's turn before the last one, so the cache has an entry there.
        # From each mark, the vendor looks at 20 blocks back, and at the next mark then.
        for turn in [turn for turn in history.turns if turn.role == "user"][-2:]:
            mark(turn.blocks[-1], cache_lifetime(refused, options))
        return json.dumps(self.body(history, refused, options)).encode()

    def body(self, history: Arrangement, refused: Collection[str], options: Options) -> dict[str, Any]:
        """Build the body of a request with these turns."""
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": self._max_output,
            "stream": True,
        }
        body |= self._optional(history, options)
        self._withdraw(refused, body)
        lifetime = cache_lifetime(refused, options)
        if history.system:
            mark(history.system[-1], lifetime)
            body["system"] = history.system
        if options.tools:
            body["tools"] = _tools(options.tools, eager=self._own and EAGER_INPUT not in refused)
            mark(body["tools"][-1], lifetime)
        body["messages"] = [{"role": turn.role, "content": turn.blocks} for turn in history.turns]
        for param in refused:
            body.pop(_FIELDS.get(param, param), None)
        return body

    def reader(self, options: Options = PLAIN) -> MessagesReader:
        """Create a reader for one answer."""
        return MessagesReader(self._endpoint, names_answers=self._own)

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the models in `data`."""
        return listed_models(body.get("data"))

    def _optional(self, history: Arrangement, options: Options) -> dict[str, Any]:
        fields = self._thinking.fields(options.effort)
        if "budget_tokens" in fields.get("thinking", {}) and _acts_unthinking(history.turns):
            del fields["thinking"]
        if self._own and options.previous is not None:
            # The vendor compares only requests that have this field, so the first has it too.
            fields["diagnostics"] = {"previous_message_id": options.previous or None}
        if options.tier:
            fields["service_tier"] = options.tier
        return fields

    def _withdraw(self, refused: Collection[str], body: dict[str, Any]) -> None:
        """Leave out the headers that were refused, and what needs them."""
        if _VERSION_HEADER in refused:
            self._headers[_VERSION_HEADER] = _OLD_VERSION
        if _BETA_HEADER in refused:
            self._headers.pop(_BETA_HEADER, None)
            body.get("thinking", {}).pop("block_binding", None)


def cache_lifetime(refused: Collection[str], options: Options) -> str:
    """Return the vendor's word for the lifetime of the entries that a request writes to its cache; empty for
    the usual one."""
    return "" if LIFETIME in refused else lifetime_for(options.pauses, ANTHROPIC)


def _tools(specs: Iterable[ToolSpec], *, eager: bool) -> list[Block]:
    """Convert tools. Without `eager`, the vendor holds each argument of a call back until it is complete:
    a whole file."""
    extra = {EAGER_INPUT: True} if eager else {}
    return [
        {"name": spec["name"], "description": spec["description"], "input_schema": spec["parameters"]} | extra
        for spec in specs
    ]


def _acts_unthinking(turns: Sequence[Turn]) -> bool:
    """Return whether the last answer called tools without thinking, as another model's does. With a budget,
    the vendor requires thinking before the calls whose results it is sent."""
    if len(turns) < 2 or turns[-1].blocks[0]["type"] != "tool_result":
        return False
    return turns[-2].blocks[0]["type"] not in THINKING_BLOCKS
