"""The prompt: drafts, completion, pastes and queued messages."""
