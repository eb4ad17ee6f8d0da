"""Time travel: a conversation at any of its events."""
