"""`python -m cogency_tui` is `cogency-tui`.

Ctrl+C ends the program without a word, also while its modules are loaded and after all is closed.
"""

import signal
import sys


def main() -> int:
    """Run the command line; the exit status."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # Whoever started it in the background wants it to live on.
        return _run()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _run(interruptible=True)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run(*, interruptible: bool = False) -> int:
    from cogency_tui.cli import main as run

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
