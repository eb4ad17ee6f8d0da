"""Edits of tools and commands: the journal that records them, and their reversal."""
