"""Wire text to events and back."""
