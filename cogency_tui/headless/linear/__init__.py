"""The interface as plain lines: for screen readers, for pipes, for terminals that can do nothing else."""
