"""cogency-tui: a full-screen terminal coding agent over the Cogency engine.

Importing this package imports nothing heavy: each public name is resolved on first use.
"""

from importlib import import_module

TYPE_CHECKING = False
"""Not imported: this runs before the current directory is removed from the search path (`__main__`)."""

if TYPE_CHECKING:
    from typing import Any

    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.permissions.gate import Answer, Inquiry, InquiryAnswer, Question
    from cogency_tui.agent.until import Until

__version__ = "0.1.0"
__all__ = ["Agent", "Answer", "Inquiry", "InquiryAnswer", "Question", "Until", "__version__"]

_GATE = "agent.permissions.gate"
_MODULES = {
    "Agent": "agent.agent",
    "Answer": _GATE,
    "Inquiry": _GATE,
    "InquiryAnswer": _GATE,
    "Question": _GATE,
    "Until": "agent.until",
}


def __getattr__(name: str) -> "Any":
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
