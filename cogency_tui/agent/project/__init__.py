"""A project's own configuration: instructions, settings, servers, custom files; and its trust."""
