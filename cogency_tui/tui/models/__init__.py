"""The model picker (`/model`)."""
