"""What lasts: conversations, events, drafts and usage in one SQLite file of the person's."""
