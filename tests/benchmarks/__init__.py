"""Measurements to run by hand; nothing here is collected as a test."""
