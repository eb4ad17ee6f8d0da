"""A tool of an MCP server as the registry wants it.

What a server says of its tools is not relied on: each is asked for, whatever it claims to do, and what it
answers is content of a stranger.
"""

import json
from contextlib import nullcontext
from typing import Any

from cogency_tui.errors import ToolError
from cogency_tui.text import clean
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, Touch, with_guarded
from cogency_tui.tools.mcp.arguments import Given, Schema
from cogency_tui.tools.mcp.names import full_name, source_of
from cogency_tui.tools.mcp.server import Server
from cogency_tui.tools.mcp.wire import Offer


class McpTool:
    """What `server` offers, under the server's name and its own."""

    args = Given
    aliases = NO_ALIASES

    def __init__(self, server: Server, offer: Offer) -> None:
        self.name = full_name(server.name, offer.name)
        said = " ".join(clean(offer.description).split())
        self.description = f"(a tool of the MCP server {server.name}) {said}".rstrip()
        self._server = server
        self._offer = offer
        self._schema = Schema(offer.schema)

    def described_arguments(self) -> str:
        """A line for each argument."""
        return self._schema.described()

    def convert(self, args: Any) -> Given:
        """The arguments as the server is given them.

        Raises:
            ToolError: they are not what it says that it takes.
        """
        return self._schema.check(self.name, args)

    def touch(self, _args: Given, _context: ToolContext, /) -> Touch:
        """A command may touch any file, a server elsewhere none."""
        return Touch() if self._server.settings.url else Touch(everything=True, writes=True)

    async def plan(self, args: Given, context: ToolContext) -> Intent:
        del context
        settings = self._server.settings
        return Intent(
            "tool",
            f"Call {self._offer.name} of the MCP server {self._server.name} ({settings.told})",
            detail=f"{self.name} {json.dumps(args.values, ensure_ascii=False, indent=2)}",
            everything=not settings.url,
            network=settings.host,
            brings=source_of(self.name),
            tool=self.name,
        )

    async def run(self, args: Given, context: ToolContext) -> Outcome:
        recorded = nullcontext(None)
        if context.journal is not None and not self._server.settings.url:
            recorded = context.journal.around_command(context.call_id, self.name, consent=context.consent)
        async with recorded as found:
            if found is not None:
                found.stays()
            done = await self._server.call(self._offer.name, args.values, context.report)
        notes = [] if found is None else list(found.notes)
        text = "\n".join([done.text, *notes])
        if done.failed and not text.strip():
            raise ToolError(f"{self.name} failed, and did not say why.")
        said = f"{len(done.text):,} characters"
        how = "failed" if done.failed else f"answered, {said}"
        return with_guarded(Outcome(f"{self.name} {how}", text, failed=done.failed), found)
