"""A Chat Completions server that streams Markdown at a steady rate: `python -m tests.benchmarks.stream_server RATE`.

It prints its port, and for each answer the moment (of the monotonic clock) at which its last byte was sent.
It is a process of its own, so that pacing and measuring do not disturb each other. The last message asks for
the number of tokens.
"""

import asyncio
import json
import re
import sys
import time
from typing import Any

TICK = 0.01
END = "The last line of it all."
_PIECE = 4
"""Characters in a token."""

_PROSE = """## Section {n}

The handler reads the request, checks its size against `limit`, and hands the items on. There are **two**
places where this can go wrong: a negative limit, and an *empty* list.

- First, the limit is checked too late; see `handler` in `app/server.py`.
- Second, nothing says what an empty answer means.

```python
def handler_{n}(request, *, limit=10):
    if request.size > limit:
        raise ValueError("too large")
    return [item for item in request.items]
```

"""


def text_of(tokens: int) -> str:
    """Markdown of about this many tokens, with a last line that is nowhere else."""
    sections = [_PROSE.replace("{n}", str(n)) for n in range(tokens * _PIECE // len(_PROSE) + 1)]
    return "".join([*sections, END, "\n"])


async def serve(rate: int) -> None:
    """Answer until killed."""
    server = await asyncio.start_server(lambda reader, writer: _answer(reader, writer, rate), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rate: int) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    assert length is not None
    asked: dict[str, Any] = json.loads(await reader.readexactly(int(length[1])))
    tokens = int(re.findall(r"\d+", asked["messages"][-1]["content"])[-1])
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    text = text_of(tokens)
    frames = [_frame({"content": text[at : at + _PIECE]}) for at in range(0, len(text), _PIECE)]
    began, sent = time.monotonic(), 0
    while sent < len(frames):
        due = min(len(frames), int((time.monotonic() - began) * rate) + 1)
        writer.write(b"".join(frames[sent:due]))
        sent = due
        await writer.drain()
        await asyncio.sleep(TICK)
    print(time.monotonic(), flush=True)
    usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": tokens + 100}
    writer.write(_frame({}, "stop") + _event({"choices": [], "usage": usage}) + b"data: [DONE]\n\n")
    await writer.drain()
    writer.close()


def _frame(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(fields: dict[str, object]) -> bytes:
    kind = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps(kind | fields).encode() + b"\n\n"


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
