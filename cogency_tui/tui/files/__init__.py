"""The file tree, the preview of a file, and git's marks in the tree."""
