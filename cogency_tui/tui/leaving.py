"""Errors that are none: a handler, timer or worker misses widgets because the app or the screen is left."""

from contextvars import ContextVar
from typing import Any, cast

from textual._context import NoActiveAppError, active_message_pump
from textual.app import ScreenError
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.widget import MountError
from textual.worker import Worker, WorkerFailed, active_worker  # pyright: ignore[reportUnknownVariableType]

_MISSING = (NoMatches, NoScreen, ScreenError, MountError, NoActiveAppError)


def is_of_leaving(error: Exception, *, app_left: bool) -> bool:
    """Whether `error`, which is being handled, says only that a widget is gone with what it belonged to."""
    cause = error.error if isinstance(error, WorkerFailed) else error
    return isinstance(cause, _MISSING) and (app_left or _is_removed(_node_of(error)))


def _node_of(error: Exception) -> object:
    """The node whose handler or worker failed."""
    # Textual leaves the parameter of `Worker` open.
    worker = cast("ContextVar[Worker[Any]]", active_worker)
    return worker.get().node if isinstance(error, WorkerFailed) else active_message_pump.get(None)


def _is_removed(node: object) -> bool:
    if not isinstance(node, DOMNode):
        return False
    # The one mark that Textual sets before it removes anything; `is_attached` comes too late.
    return any(each._pruning for each in node.ancestors_with_self)  # pyright: ignore[reportPrivateUsage]
