"""The skills of the user and the project."""
