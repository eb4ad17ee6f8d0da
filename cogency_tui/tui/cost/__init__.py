"""The cost of requests (`/cost`) and the contents of the context (`/context`)."""
