"""Search over past conversations, for the user and for the model."""
