"""The header and the status bar."""
