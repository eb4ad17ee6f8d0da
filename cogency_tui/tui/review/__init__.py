"""The review screen: every edit of the agent, hunk by hunk, and the user's decisions about it."""
