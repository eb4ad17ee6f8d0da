"""A loop of native calls as the engine has it: a request, its calls, their results, until nothing is called."""

from collections.abc import Sequence

from cogency_tui.protocol.messages import CallPart, Message, Part, ToolSpec
from cogency_tui.providers.base import CallDelta, Notice, Options, Provider, ReasoningItem, TextDelta
from tests.providers.asked import MESSAGES

READ: ToolSpec = {
    "name": "read",
    "description": "Show a file.",
    "parameters": {"type": "object", "properties": {"file": {"type": "string"}}},
}


class Loop:
    """One conversation. `messages` is all of it, `notices` what its provider said."""

    def __init__(self, provider: Provider, messages: Sequence[Message] = MESSAGES) -> None:
        self.messages: list[Message] = list(messages)
        self.notices: list[str] = []
        self._provider = provider

    async def ask(self, options: Options) -> list[CallPart]:
        """Ask for the next answer, and return its calls. One without an id gets one of ours."""
        parts: list[Part] = []
        calls: dict[int, CallPart] = {}
        async for chunk in self._provider.stream(self.messages, options):
            match chunk:
                case TextDelta(text):
                    parts.append({"type": "text", "text": text})
                case ReasoningItem(item):
                    parts.append({"type": "reasoning", "item": item})
                case CallDelta(index, id, name, arguments):
                    if index not in calls:
                        made = id or f"{index:016x}"
                        calls[index] = {"type": "call", "id": made, "name": name, "arguments": ""}
                        parts.append(calls[index])
                    calls[index]["arguments"] += arguments
                case Notice(text):
                    self.notices.append(text)
                case _:
                    pass
        self.messages.append({"role": "assistant", "content": "", "parts": parts})
        return list(calls.values())

    def give(self, calls: Sequence[CallPart], text: str = "1\tone") -> None:
        """Add the results of calls."""
        results: list[Part] = [
            {"type": "result", "id": each["id"], "name": each["name"], "text": text, "error": False}
            for each in calls
        ]
        self.messages.append({"role": "user", "content": "", "parts": results})

    async def run(self, options: Options) -> list[CallPart]:
        """Give results until the model calls nothing more, and return all its calls."""
        made: list[CallPart] = []
        try:
            while calls := await self.ask(options):
                made += calls
                self.give(calls)
        finally:
            await self._provider.close()
        return made
