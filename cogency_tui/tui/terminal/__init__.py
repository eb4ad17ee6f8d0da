"""The terminal: input, output, clipboard, capabilities, and programs beside it."""
