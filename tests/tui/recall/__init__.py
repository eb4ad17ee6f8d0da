"""Tests of the recall screen, over real stores."""
