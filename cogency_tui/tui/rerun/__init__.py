"""Runs a turn again in a scratch copy (`a` in the timeline, `/rerun`), and compares the two."""
