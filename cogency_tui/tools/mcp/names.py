"""Names of MCP tools: the server, a dot, and the server's name for the tool.

No other tool has a dot in its name. Where vendors accept no dot, the tool has another name (`spec_names`).
"""

_SEPARATOR = "."


def full_name(server: str, tool: str) -> str:
    """Build the name under which the model calls a tool."""
    return f"{server}{_SEPARATOR}{tool}"


def source_of(tool: str) -> str:
    """Name the source of the results of a tool: its server; empty for a tool of no server."""
    server, separator, _rest = tool.partition(_SEPARATOR)
    return f"the MCP server {server}" if separator and server else ""


def described_by(tool: str) -> str:
    """Name the source of a tool's description in the system prompt; empty for a tool of no server."""
    server = source_of(tool)
    return f"the tool descriptions of {server}" if server else ""
