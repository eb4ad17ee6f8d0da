"""What tools of MCP servers are called: the server, a dot, and what the server calls them.

No other tool has a dot in its name.
"""

_SEPARATOR = "."


def full_name(server: str, tool: str) -> str:
    """What the model calls a tool."""
    return f"{server}{_SEPARATOR}{tool}"


def source_of(tool: str) -> str:
    """Whose content the results of a tool of this name are: that of a server; empty where it is none's."""
    server, separator, _rest = tool.partition(_SEPARATOR)
    return f"the MCP server {server}" if separator and server else ""


def described_by(tool: str) -> str:
    """Whose words describe a tool of this name in the system prompt; empty where they are no server's."""
    server = source_of(tool)
    return f"what {server} says of its tools" if server else ""
