"""Tools of MCP servers beside ours.

The SDK, and with it whatever a server sends, stays in a process of its own for each server:

    our program ── guard ── supervisor ── host (the SDK's client) ── server of a command
                                               └── HTTP ── server at a URL

`servers` has all that are configured, `server` is one of them, `hosting` starts and ends its host; `host` is
what runs there, `content` what it passes on, `wire` what the two say to each other. `tool` is a tool of a
server as the registry wants it, `arguments` what it takes, `names` what it is called.
"""
