"""What stands above the rows of a list."""

import msgspec


class Heading(msgspec.Struct, frozen=True):
    """A group's name, and what is said of it beside it."""

    text: str
    aside: str = ""
