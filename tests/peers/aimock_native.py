"""What aimock is told of native calls, and what arrives there natively, in one form whatever the wire."""

from collections.abc import Sequence
from typing import Any, cast

import httpx

from tests.peers.aimock import Aimock
from tests.peers.chat_answers import Call


def calls(match: dict[str, Any], *made: Call, text: str = "", reasoning: str = "") -> dict[str, Any]:
    """A fixture that answers with calls, behind `text` and `reasoning`."""
    tools = [{"id": each.id, "name": each.name, "arguments": each.arguments} for each in made]
    response: dict[str, Any] = {"toolCalls": tools}
    response |= {"content": text} if text else {}
    response |= {"reasoning": reasoning} if reasoning else {}
    return {"match": match, "response": response, "chunkSize": 3}


def bodies(server: Aimock, key: str) -> Sequence[dict[str, Any]]:
    """The requests that arrived, in order, with `messages` in the form of Chat Completions."""
    headers = {"authorization": f"Bearer {key}"}
    got = httpx.get(f"{server.origin}/__aimock/journal", headers=headers, trust_env=False)
    entries = cast("list[dict[str, Any]]", got.raise_for_status().json())
    return [entry["body"] for entry in entries]
