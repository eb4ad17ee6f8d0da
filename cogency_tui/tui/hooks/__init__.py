"""The hooks of the user and the project (`/hooks`)."""
