"""Images: attached to messages from files and the clipboard, and viewed."""
