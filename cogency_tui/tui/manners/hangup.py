"""The end of a terminal that the system sends no signal for: to a program that is not of its session, or that
was started with `nohup`; and the end of what serves us to a browser. Textual would go on reading nothing from
it, as fast as it can."""

import select
import threading
from collections.abc import Callable
from contextlib import suppress


def when_hung_up(handle: int, then: Callable[[], object]) -> None:
    """Call `then`, once and from a thread, when the terminal at `handle`, or the other end of a pipe, is
    gone; costs nothing till then."""
    poll = select.poll()
    # Nothing is asked for: that it was hung up is told all the same.
    poll.register(handle, 0)

    def wait() -> None:
        if any(event & (select.POLLHUP | select.POLLERR) for _handle, event in poll.poll()):
            # The event loop may have ended by itself.
            with suppress(RuntimeError):
                then()

    threading.Thread(target=wait, name="hang-up", daemon=True).start()
