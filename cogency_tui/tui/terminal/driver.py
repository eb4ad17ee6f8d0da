"""The driver of the terminal: Textual's, without waiting for the terminal, and restoring it in the end."""

import os
import select
import selectors
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual import constants, events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.message import Message

from cogency_tui.tui.terminal.input import TerminalInput
from cogency_tui.tui.terminal.output import TerminalOutput

if TYPE_CHECKING:
    from cogency_tui.tui.terminal.graphics import Graphics

_TICK = 0.1
"""Seconds without input after which an incomplete sequence ends."""

_CHUNK = 4096
"""Bytes of input read at once."""

CLEAR_SCREEN = "\x1b[2J"
_BLANK = f"\x1b[m\x1b[H{CLEAR_SCREEN}"
"""Clears the alternate screen: after a resize, tmux moves what is on it into the shell's scrollback."""


class TerminalDriver(LinuxDriver):
    """Writes through a `TerminalOutput`, and restores the terminal however the program leaves it.

    `greeting` is sent when the terminal is taken over; `farewell` returns the sequence that undoes the app's
    own changes to it. `escape_delay` are the seconds after which an ESC without a sequence is the key.
    """

    class ReadAgain(Message):
        """The terminal is being read again, after frames were dropped."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        # Textual leaves the parameter of `App` open.
        driver: Any = super()
        driver.__init__(app, **options)
        self.greeting = ""
        self.escape_delay = constants.ESCAPE_DELAY
        self.farewell: Callable[[], str] = str
        self.graphics: Graphics | None = None
        """The pictures that the terminal draws, once there were any."""
        self._output: TerminalOutput | None = None

    @property
    def lent(self) -> bool:
        """True if another program, such as an editor, has the terminal."""
        return not self._auto_restart

    def takes_frame(self) -> bool:
        """Return whether a frame may be written; if not, `ReadAgain` follows."""
        return self._output is not None and self._output.takes_frame()

    @property
    def is_read(self) -> bool:
        """True if the terminal has taken all frames."""
        return self._output is not None and self._output.is_read

    def write(self, data: str) -> None:
        if self._output is not None:
            self._output.write(data)

    def write_between_frames(self, sequence: str) -> bool:
        """Write `sequence`, unless the terminal is not being read. Return whether that was done; if not,
        `ReadAgain` follows."""
        if not self.takes_frame():
            return False
        self.write(sequence)
        return True

    def start_application_mode(self) -> None:
        handle = self._file.fileno() if self._file is not None else self.fileno
        self._output = TerminalOutput(handle, lambda: self.send_message(self.ReadAgain()))
        self.write(self.greeting)
        super().start_application_mode()
        if self._writer_thread is None:
            # The program is in the background, and was stopped again.
            self._end_output()
        else:
            # Textual's thread is unused: `write` bypasses it.
            self._writer_thread.stop()
            self._writer_thread = None
            self.follow_size()

    def follow_size(self) -> None:
        """Have the app know each new size of the terminal from now on.

        The size is read in the event loop. Textual reads it in the handler of the signal: a second signal
        that comes between reading and sending interrupts the first, and the older size is sent last.
        """
        signal.signal(signal.SIGWINCH, self._sigwinch)

    def stop_application_mode(self) -> None:
        if self._output is None:
            return
        self._output.settle()
        pictures = self.graphics.end() if self.graphics else ""
        self.write(pictures + self.farewell() + _BLANK)
        if self._mouse_pixels:
            # Textual does not reset this mode.
            self._mouse_pixels = False
            self.write("\x1b[?1016l")
        super().stop_application_mode()
        self._end_output()

    def close(self) -> None:
        """Restore the default actions for stopping and continuing, which no longer concern the terminal."""
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def suspend_application_mode(self) -> None:
        self.stop_application_mode()

    def run_input_thread(self) -> None:
        """Forward input until the app exits, or the terminal is gone, which `when_hung_up` reports."""
        source = TerminalInput(escape_delay=lambda: self.escape_delay)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                data = b""
                if selector.select(self.escape_delay if source.may_be_key else _TICK):
                    try:
                        data = os.read(self.fileno, _CHUNK)
                    except OSError:
                        return
                    if not data:
                        return
                for message in (*source.feed(data), *source.tick()):
                    self.process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except Exception as error:
            # Textual's own handling exits with status 0.
            fail = self._app._handle_exception  # pyright: ignore[reportPrivateUsage] (there is no other)
            self._loop.call_soon_threadsafe(fail, error)

    def _sigwinch(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._send_size)

    def _send_size(self) -> None:
        if not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self.send_message(events.Resize(size, size))

    def _end_output(self) -> None:
        output, self._output = self._output, None
        if output is not None:
            output.close()

    def _sigtstp_application(self, *_: object) -> None:
        if self._auto_restart:
            # The event loop may be writing to the terminal at this moment.
            self._loop.call_soon_threadsafe(self._stop)
        else:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _stop(self) -> None:
        if self._output is not None:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart:
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        if self._output is not None:
            # SIGSTOP left no time to restore the terminal, which the shell has changed since.
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._must_signal_resume:
            self.resume_application_mode()


def is_read(app: App[Any]) -> bool:
    """Return whether the terminal has taken all that `app` has drawn; always true without a terminal."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] (Textual has no other way to it)
    return not isinstance(driver, TerminalDriver) or driver.is_read


def when_hung_up(handle: int, then: Callable[[], object]) -> None:
    """Call `then`, once and from a thread, when the terminal at `handle`, or the other end of a pipe, is
    gone.

    This covers ends that the system sends no signal for: to a program outside the terminal's session, or
    started with `nohup`; and the end of the process that serves the interface to a browser. Textual
    would read from it in a busy loop. The wait here is idle.
    """
    poll = select.poll()
    # No event is requested: a hang-up is reported all the same.
    poll.register(handle, 0)

    def wait() -> None:
        if any(event & (select.POLLHUP | select.POLLERR) for _handle, event in poll.poll()):
            # The event loop may have ended in the meantime.
            with suppress(RuntimeError):
                then()

    threading.Thread(target=wait, name="hang-up", daemon=True).start()
