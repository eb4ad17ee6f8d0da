"""Tools of MCP servers.

The SDK, and with it whatever a server sends, is confined to a process of its own for each server:

    our program ── guard ── supervisor ── host (the SDK's client) ── server of a command
                                              └── HTTP ── server at a URL

`servers` holds all configured servers; `server` is one of them, and starts and ends its host. `host_process`
is the program of that process, and bounds what it passes on; `host_protocol` is the protocol between the two.
`mcp_tool` adapts a server's tool and its arguments to the registry; `names` builds its full name.
"""
