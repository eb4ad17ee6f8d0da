"""The list of keys and commands (`/help`)."""
