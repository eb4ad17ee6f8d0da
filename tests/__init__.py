"""Tests mirror the package; `peers` holds the loopback servers."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""
