"""The list of MCP servers (`/mcp`)."""
