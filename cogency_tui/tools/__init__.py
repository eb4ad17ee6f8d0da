"""What the agent can do: one module a family of tools, one registry that validates and runs them."""
