"""Runs a command of the user's and yields its events."""

import asyncio
from collections.abc import AsyncGenerator

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.protocol.events import Event


async def command_events(agent: Agent, command: str, *, conversation_id: str) -> AsyncGenerator[Event, None]:
    """The events of `command`, as they come; a consumer that leaves early interrupts it."""
    queue = EventQueue()
    running = asyncio.create_task(agent.run_command(command, queue, conversation_id=conversation_id))
    try:
        async for event in queue:
            yield event
    finally:
        if not queue.closed:
            running.cancel()
        await asyncio.wait([running])
    running.result()
