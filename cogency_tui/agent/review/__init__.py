"""Review of the agent's edits: hunks, decisions about them, reverts, and the note to the model."""
