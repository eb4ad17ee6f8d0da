"""Tests of what the prompt offers."""
