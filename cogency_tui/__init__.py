"""cogency-tui: a full-screen terminal coding agent over the Cogency engine.

Importing this package imports nothing heavy: `Agent` is resolved when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

__version__ = "0.1.0"
__all__ = ["Agent", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Agent":
        from cogency_tui.agent.agent import Agent

        return Agent
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
