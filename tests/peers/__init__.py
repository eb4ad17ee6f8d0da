"""Loopback servers that speak the vendors' wire formats."""
