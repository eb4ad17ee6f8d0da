"""The agent's tools: a module for each family of tools, and the registry that validates and runs calls."""
