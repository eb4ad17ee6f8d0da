"""What works beside the screens, and begins no more once they are being closed."""

from typing import Any

from textual.app import App
from textual.worker import Worker
from textual.worker_manager import WorkerManager


class Workers(WorkerManager):
    """The workers of an app. One that is closing has cancelled those it had, and begins none: a timer or a
    message may still ask for one, which would look for widgets that are gone already.
    """

    def __init__(self, app: App[Any]) -> None:
        # Textual leaves the parameters of `App` and `Worker` open.
        manager: Any = super()
        manager.__init__(app)
        self._of = app

    def add_worker(self, worker: Worker[Any], start: bool = True, exclusive: bool = True) -> None:
        manager: Any = super()
        manager.add_worker(worker, start=start and self._of.is_running, exclusive=exclusive)
