"""A second process for the store's tests: does one thing, says what it did a line at a time.

It waits for a line on its input where a test has to choose the moment.
"""

import asyncio
import sys
import time
from pathlib import Path

from cogency_tui.store.store import Store


def _say(what: object) -> None:
    print(what, flush=True)


def _wait() -> None:
    sys.stdin.readline()


async def append(directory: Path, conversation_id: str, name: str, count: str) -> None:
    """Append `count` events, saying the number of each once it is stored."""
    async with await Store.open(directory) as store:
        _say("ready")
        _wait()
        for number in range(int(count)):
            content = f"{name} {number}"
            _say(
                await store.append(
                    conversation_id, {"type": "user", "timestamp": time.time(), "content": content}
                )
            )


async def draft(directory: Path, conversation_id: str) -> None:
    """Draft two units, complete neither, and wait for the end."""
    async with await Store.open(directory) as store:
        await store.append_draft(conversation_id, "t1", "think", "Let me ")
        await store.append_draft(conversation_id, "t1", "think", "see")
        await store.append_draft(conversation_id, "r1", "respond", "It is\n")
        await store.append_draft(conversation_id, "r1", "respond", "that 🦜 \ud83d")
        _say("ready")
        _wait()


async def begin(directory: Path) -> None:
    """Open the store at the signal, and say what it noticed."""
    _say("ready")
    _wait()
    async with await Store.open(directory) as store:
        _say(store.notices)


async def crash(directory: Path) -> None:
    """Fail without closing the store."""
    store = await Store.open(directory)
    await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    _say("ready")
    sys.exit(3)


if __name__ == "__main__":
    command, directory, *arguments = sys.argv[1:]
    asyncio.run(
        {"append": append, "draft": draft, "begin": begin, "crash": crash}[command](
            Path(directory), *arguments
        )
    )
