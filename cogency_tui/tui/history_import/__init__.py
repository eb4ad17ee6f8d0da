"""The import of other agents' histories: offered once on the start screen, and run by `/import`."""
