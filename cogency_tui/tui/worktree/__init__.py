"""Conversations in git worktrees of their own: made, merged and removed from the prompt."""
