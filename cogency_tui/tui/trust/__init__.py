"""The question whether to trust what a project brings."""
