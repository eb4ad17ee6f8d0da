"""The timeline: a conversation at any of its events, what the model was sent, the files, what it had cost."""
