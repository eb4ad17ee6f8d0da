"""Work for a process of its own that goes wrong, each way by its name."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from cogency_tui.errors import ToolError


def answer(request: bytes) -> bytes:
    match request.split():
        case [b"sleep"]:
            time.sleep(600)
        case [b"fill"]:
            bytearray(1 << 34)
        case [b"abort"]:
            os.abort()
        case [b"refuse"]:
            raise ToolError("It cannot be.", "Try another.")
        case [b"flood"]:
            while True:
                sys.stdout.buffer.write(b"x" * 100_000)
        case [b"chatter"]:
            sys.stderr.write("x" * 1_000_000 + "\nthe end\n")
            raise SystemExit(4)
        case [b"leave", name]:
            # With our output, in our group, and still there when we have ended.
            left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with open(name, "w") as file:  # noqa: PTH123
                file.write(str(left.pid))
            os._exit(0)
        case _:
            pass
    return json.dumps({**os.environ, "nice": str(os.nice(0))}).encode()


def lines(*arguments: str) -> Iterator[str]:
    yield f"{os.getpid()} {os.nice(0)}"
    yield from arguments
    time.sleep(600)
