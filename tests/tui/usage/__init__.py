"""The usage report."""
