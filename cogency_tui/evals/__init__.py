"""Small tasks that compare models and dialects; `cogency-tui eval` runs them.

Invariant: a program decides whether an attempt succeeded, and an attempt leaves nothing behind: its project
and its store are temporary, and the user's files are only read.
"""
