"""The list of calls that run without a question (`/permissions`)."""
