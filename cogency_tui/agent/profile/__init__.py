"""The user's profile: facts that the agent has learned about the user."""
