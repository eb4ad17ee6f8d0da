"""The project directory: paths that stay inside it, what is ignored, differences, atomic writes."""
