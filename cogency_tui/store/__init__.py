"""Persistent data: conversations, events, drafts and usage in one SQLite file of the user's."""
