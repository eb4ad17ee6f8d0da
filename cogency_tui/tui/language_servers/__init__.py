"""The list of language servers (`/lsp`)."""
