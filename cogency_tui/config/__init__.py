"""Configuration: the options, the files that set them, and how these are read, layered and edited."""
