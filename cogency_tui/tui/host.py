"""The app that a widget is in, with its type: Textual leaves the parameter of `App` open."""

from typing import Any, cast

from textual.app import App
from textual.dom import DOMNode


def app_of(node: DOMNode) -> App[Any]:
    """The app of `node`."""
    # Textual's own type of it has a parameter that it leaves open.
    return cast("App[Any]", node.app)  # pyright: ignore[reportUnknownMemberType]
