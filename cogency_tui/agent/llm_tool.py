"""`llm`: one question to a model, without tools and without the conversation.

Only the conversation's own model and those that the user has configured can be asked.
"""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cogency_tui.agent.background_request import record_request
from cogency_tui.agent.call_by_name import PARAMETERS, NamedArgs, choose, errors_as_results
from cogency_tui.agent.conversation import Conversation
from cogency_tui.agent.cycle_metrics import Calibration, characters_in
from cogency_tui.errors import ProviderError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import CutOff, Provider, Retrying, TextDelta, Usage
from cogency_tui.redaction import Redactor
from cogency_tui.tools import argument_schema
from cogency_tui.tools.base import Aliases, Intent, Outcome, Spellings, ToolContext, ToolKind

ANSWER_LIMIT = 200_000
"""Characters of an answer after which the model is stopped."""

OWN = "default"


def asking(parent: Conversation, provider: Provider, summary: str, detail: str) -> Intent:
    """The intent to ask `provider`. It is a network access, since the prompt leaves this machine, unless
    the host is this machine or that of the conversation's own provider.
    """
    host = parent.engine.host_of(provider.name)
    if host in ("", parent.engine.host_of(parent.provider().name)):
        return Intent("read", summary)
    return Intent("network", summary, detail=detail, network=host, configured=True)


class _Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prompt: Annotated[str, Meta(min_length=1)]
    system: str = ""


def _prompt_read(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read a prompt that is given beside the name."""
    return {"parameters": {"prompt": value}}


class Llm:
    """Asks the model of the conversation `parent`, or another one by its provider's name."""

    name = "llm"
    kind: ToolKind = "think"
    brief = True
    args = NamedArgs
    aliases = Aliases(
        Spellings(implied={"name": OWN}, read={"prompt": _prompt_read}).over(PARAMETERS),
    )

    def __init__(self, parent: Conversation, answer_limit: int = ANSWER_LIMIT) -> None:
        self._parent = parent
        self._answer_limit = answer_limit
        self._names = dict.fromkeys((OWN, *parent.engine.settings.providers))
        self.description = (
            "Ask a model one question; it has no tools and cannot see this conversation. "
            f'parameters {{"prompt", ["system"]}}. Names: {", ".join(self._names)}.'
        )

    async def plan(self, args: NamedArgs, context: ToolContext) -> Intent:
        question = self._read(args)
        with errors_as_results():
            provider = self._provider(args.name)
        asked = f"{question.system}\n\n{question.prompt}".strip()
        return asking(self._parent, provider, f"Ask the model {args.name}", asked)

    async def run(self, args: NamedArgs, context: ToolContext) -> Outcome:
        question = self._read(args)
        redact = Redactor(context.secrets).text
        messages: list[Message] = [{"role": "user", "content": redact(question.prompt)}]
        if question.system:
            messages.insert(0, {"role": "system", "content": redact(question.system)})
        with errors_as_results():
            provider = self._provider(args.name)

        async def note(text: str) -> None:
            context.report(f"[{text}]\n")

        with errors_as_results():
            await self._parent.budget.check(provider, characters_in(messages), Calibration(), note)
            return await self._ask(provider, messages, context)

    async def _ask(self, provider: Provider, messages: list[Message], context: ToolContext) -> Outcome:
        pieces: list[str] = []
        length = 0
        problem = ""
        limited = False
        usage: Usage | None = None
        try:
            async with aclosing(provider.stream(messages)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta):
                        piece = chunk.text[: self._answer_limit - length]
                        pieces.append(piece)
                        length += len(piece)
                        context.report(piece)
                        if length == self._answer_limit:
                            break
                    elif isinstance(chunk, Usage):
                        usage = chunk
                    elif isinstance(chunk, CutOff):
                        limited = True
                    elif isinstance(chunk, Retrying):
                        context.report(f"[{chunk.cause} Retrying in {chunk.wait:.0f} s.]\n")
        except ProviderError as exc:
            problem = exc.advice
        if usage is not None:
            store = await self._parent.engine.store()
            await record_request(store, self._parent.id, provider, usage, "llm")
        text = "".join(pieces)
        if problem:
            return Outcome(
                problem, f"{text}\n\n[The answer was cut off: {problem}]" if text else None, failed=True
            )
        if not text.strip():
            return Outcome(f"{provider.model} gave no answer", failed=True)
        cut = " (cut there)" if limited or length == self._answer_limit else ""
        return Outcome(f"{provider.model} answered in {length:,} characters{cut}", text)

    def _read(self, args: NamedArgs) -> _Question:
        choose(self.name, args.name, {**self._names, self._parent.provider().name: None})
        return argument_schema.convert(f"{self.name} {args.name}", args.parameters, _Question)

    def _provider(self, name: str) -> Provider:
        own = self._parent.provider()
        return own if name in (OWN, own.name) else self._parent.engine.named(name, "")
