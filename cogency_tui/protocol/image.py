"""An image of a message or a result. It is apart from the events, which load after the prompt: a draft has
images, too.
"""

from typing import TypedDict


class Image(TypedDict):
    """Its name for the user, and its content in the store by `digest`.

    `width` and `height` are in pixels, `size` is in bytes.
    """

    name: str
    digest: str
    media_type: str
    width: int
    height: int
    size: int
