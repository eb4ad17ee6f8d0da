"""The tool `shell`: commands, their effects, the sandbox around them, and processes in the background."""
