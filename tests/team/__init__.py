"""The team's history, in a real PostgreSQL."""
