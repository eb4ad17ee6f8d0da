"""Conversations for reading elsewhere: Markdown, and HTML that needs nothing but itself."""
