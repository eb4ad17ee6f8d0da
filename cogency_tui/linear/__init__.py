"""The interface as plain lines: for screen readers, for pipes, for minimal terminals."""
