"""A program on stdio that is no MCP server, in the way that its argument names.

It does without the SDK, which loads slowly.
"""

import sys
import time


def be_bad(how: str) -> None:
    if how == "silent":
        time.sleep(3600)
    if how == "gone":
        print("cannot find my \x1b[31mdatabase", file=sys.stderr, flush=True)
        sys.exit(7)
    while how == "garbage":
        print("Listening on port 8000 …")
    while how == "line":
        sys.stdout.write("x" * 65536)
    while how == "chatter":
        print('{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}')


if __name__ == "__main__":
    be_bad(sys.argv[1])
