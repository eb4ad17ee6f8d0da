"""The store, over real SQLite files and real second processes."""
