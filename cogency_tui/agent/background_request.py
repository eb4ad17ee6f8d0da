"""One short request to a model beside the turns: its answer as text, and its usage with the conversation."""

from collections.abc import Sequence
from contextlib import aclosing

from cogency_tui.agent.cycle_metrics import measure_usage
from cogency_tui.errors import ProviderProtocolError
from cogency_tui.protocol.events import Measure, Purpose
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import PLAIN, Options, Provider, TextDelta, Usage
from cogency_tui.providers.efforts import can_skip_reasoning
from cogency_tui.store.store import Store


async def ask_once(
    provider: Provider,
    messages: Sequence[Message],
    store: Store,
    conversation_id: str,
    longest: int,
    *,
    purpose: Purpose,
) -> str:
    """The answer to `messages`. The model is stopped after `longest` characters.

    Raises:
        ProviderError: the request failed, or the answer is empty.
        StoreError: the usage cannot be recorded.
    """
    pieces: list[str] = []
    usage: Usage | None = None
    # Such a task needs no thought. An unknown model may refuse the parameter.
    options = Options(effort="none") if can_skip_reasoning(provider.facts) else PLAIN
    async with aclosing(provider.stream(messages, options)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                pieces.append(chunk.text)
            elif isinstance(chunk, Usage):
                usage = chunk
            if sum(map(len, pieces)) > longest:
                break
    if usage is not None:
        await record_request(store, conversation_id, provider, usage, purpose)
    text = "".join(pieces)
    if not text.strip():
        raise ProviderProtocolError(f"{provider.model} returned nothing")
    return text


async def record_request(
    store: Store, conversation_id: str, provider: Provider, usage: Usage, purpose: Purpose
) -> None:
    """Record the usage of a request that belongs to no cycle with the conversation, whose total includes it.

    Raises:
        StoreError: it cannot be recorded.
    """
    spent = measure_usage(usage, provider.facts.prices)
    step: Measure = {**spent, "provider": provider.name, "model": provider.model, "purpose": purpose}
    await store.record_usage(conversation_id, step)
