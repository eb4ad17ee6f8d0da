"""The transcript: a conversation as units, and units as lines on the screen."""
