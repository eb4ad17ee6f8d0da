"""Git repositories: branch, status, configuration, objects, merges."""
