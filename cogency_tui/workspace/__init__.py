"""The project directory: paths that stay inside it, ignored files, diffs, atomic writes."""
