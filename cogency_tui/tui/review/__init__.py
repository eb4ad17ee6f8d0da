"""The review screen: every edit that the agent made, hunk by hunk, and what the person decides about it."""
