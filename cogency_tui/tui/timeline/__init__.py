"""The timeline: a conversation at any of its events: messages sent, files, and the cost so far."""
