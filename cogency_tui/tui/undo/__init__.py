"""The dialog that undoes edits (`/undo`)."""
