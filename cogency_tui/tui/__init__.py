"""The full-screen interface: it draws events, and asks the agent for nothing but turns."""
