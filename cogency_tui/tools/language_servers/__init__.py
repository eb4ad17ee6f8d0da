"""Language servers: the errors of an edit, and the definition, uses and renaming of a symbol."""
