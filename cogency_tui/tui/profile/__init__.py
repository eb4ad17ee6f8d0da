"""The list of what the agent has learned about the user (`/profile`)."""
