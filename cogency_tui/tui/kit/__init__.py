"""The components that features are made of: lines, lists, dialogs, diffs, Markdown. Imports no feature."""
