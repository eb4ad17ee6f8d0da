"""OpenAI's Responses wire protocol over HTTP. Nothing is stored at the endpoint.

A model that reasons returns its reasoning encrypted; requests return that to it, in place. Where the model
takes the reasoning of all turns, it is asked to: results of text dialects are messages of the user's, which
end a turn.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cogency_tui.config.schema import Effort
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import PLAIN, Options
from cogency_tui.providers.cache_lifetimes import OPENAI, lifetime_for
from cogency_tui.providers.efforts import effort_word
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.openai_responses_events import LABEL, ResponsesReader
from cogency_tui.providers.openai_responses_input import function_of, items_of
from cogency_tui.providers.refused_parameters import EFFORT, LIFETIME, RETURNED_REASONING
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import bearer, listed_models

_NESTING = ("openai", "azure")
"""Endpoints that are known to take images in the output of a function."""


class ResponsesWire:
    """`POST /responses` with one endpoint. What is asked for beside text follows from the `facts` about the
    model: another would refuse it, which costs a request each time the program runs. `diagnoses` requests the
    vendor's cache diagnostics, for models that have them."""

    label = LABEL
    path = "/responses"
    models_path = "/models"

    def __init__(
        self, endpoint: Endpoint, facts: ModelFacts | None = None, *, diagnoses: bool = False
    ) -> None:
        self._endpoint = endpoint
        self._facts = facts or ModelFacts()
        self._diagnoses = diagnoses

    def headers(self) -> Mapping[str, str]:
        """Return the key as a bearer token."""
        return bearer(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request."""
        system = [whole_text(each["content"]) for each in messages if each["role"] == "system"]
        rest = [each for each in messages if each["role"] != "system"]
        items = self.items(rest, options)
        instructions = {"instructions": "\n\n".join(system)} if system else {}
        return json.dumps({"stream": True, **instructions, **self.body(items, refused, options)}).encode()

    def items(self, messages: Iterable[Message], options: Options) -> list[dict[str, Any]]:
        """Convert messages to items of `input`."""
        nests = self._endpoint.name in _NESTING
        return [item for each in messages for item in items_of(each, options.read_image, nests=nests)]

    def body(
        self, items: Sequence[Mapping[str, Any]], refused: Iterable[str], options: Options
    ) -> dict[str, Any]:
        """Build the body of a request over either transport."""
        optional = {
            "include": ["reasoning.encrypted_content"] if self._facts.reasoning else [],
            "reasoning": self._reasoning(refused, options.effort),
            "prompt_cache_key": options.conversation,
            "prompt_cache_options": self._cache_options(refused, options),
            "service_tier": options.tier,
            "tools": [function_of(tool) for tool in options.tools],
        }
        given = {name: value for name, value in optional.items() if value and name not in refused}
        if RETURNED_REASONING in refused:
            items = [item for item in items if item["type"] != "reasoning"]
        # The input comes last: a longer history begins with the bytes of a shorter one.
        return {"model": self._endpoint.model, "store": False, **given, "input": items}

    def reader(self, options: Options = PLAIN) -> ResponsesReader:
        """Create a reader for one answer."""
        return ResponsesReader(self._endpoint, names_answers=self._diagnoses)

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the models in `data`."""
        return listed_models(body.get("data"))

    def _reasoning(self, refused: Iterable[str], effort: Effort | None) -> dict[str, str]:
        fields: dict[str, str] = {}
        if effort and EFFORT not in refused:
            fields["effort"] = effort_word(self._facts.efforts, effort)
        if self._facts.reasoning and "reasoning.summary" not in refused:
            fields["summary"] = "auto"
        if self._facts.all_turns and "reasoning.context" not in refused:
            fields["context"] = "all_turns"
        return fields

    def _cache_options(self, refused: Iterable[str], options: Options) -> dict[str, str]:
        """Return the comparison and the lifetime. The place of the entry is the vendor's choice, the end of
        the input: the next request begins with that."""
        if not self._diagnoses:
            # An older model, which has neither.
            return {}
        lifetime = "" if LIFETIME in refused else lifetime_for(options.pauses, OPENAI)
        fields = {"comparison_response_id": options.previous, "ttl": lifetime}
        return {name: value for name, value in fields.items() if value}
