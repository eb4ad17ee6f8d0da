"""The full-screen interface: draws events and asks the agent only for turns."""
