"""The switcher: the open conversations of this program as a list, and in the status bar."""
