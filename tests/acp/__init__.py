"""The Agent Client Protocol, with editors that real clients play."""
