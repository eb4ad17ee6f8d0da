"""Work for a process of its own that goes wrong, each way by its name."""

import json
import os
import time


def answer(request: bytes) -> bytes:
    match request:
        case b"sleep":
            time.sleep(600)
        case b"fill":
            bytearray(1 << 34)
        case b"abort":
            os.abort()
        case _:
            pass
    return json.dumps(dict(os.environ)).encode()
