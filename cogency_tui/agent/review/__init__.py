"""Review of the agent's edits: told apart as hunks, decided about, taken back, told to the model."""
