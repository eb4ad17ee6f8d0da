"""Hooks: commands of the user's and of trusted projects that run on events of a conversation.

Invariant: a hook runs with the environment of commands (no keys, no terminal), is stopped with all of its
processes at its time limit, and what it changes in the project is journaled as its own. A hook of a project
runs only while the project is trusted with the very files that the hook is started from. Without hooks
nothing of this package is imported.
"""
