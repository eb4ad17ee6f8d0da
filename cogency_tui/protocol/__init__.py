"""The wire protocol: text to events and back, in four dialects. Pure: no I/O, and only an injected clock."""

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from cogency_tui.protocol.dialects import Parser, create_parser, render

__all__ = ["DIALECTS", "TEXT_DIALECTS", "Dialect", "Parser", "create_parser", "render"]

Dialect = Literal["xml", "delimiter", "action", "native"]
DIALECTS: tuple[Dialect, ...] = ("xml", "delimiter", "action", "native")
TEXT_DIALECTS: tuple[Dialect, ...] = ("xml", "delimiter", "action")
"""Those in which the calls are part of the text."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        from cogency_tui.protocol import dialects

        return getattr(dialects, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
