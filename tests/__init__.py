"""Tests mirror the package; `peers` holds the loopback servers."""
