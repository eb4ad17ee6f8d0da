"""Messages as the model reads them, without what the engine puts before the user's words."""


def words(content: str) -> str:
    """A message without the environment block that the first one of a conversation begins with."""
    return content.partition("\n\n")[2] if content.startswith("[engine] Environment") else content
