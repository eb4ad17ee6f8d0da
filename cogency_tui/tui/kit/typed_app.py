"""The typed app of a widget: Textual leaves the parameter of `App` open."""

from typing import Any, cast

from textual.app import App
from textual.dom import DOMNode


def app_of(node: DOMNode) -> App[Any]:
    """The app of `node`."""
    # Textual's own type leaves a parameter open.
    return cast("App[Any]", node.app)  # pyright: ignore[reportUnknownMemberType]
