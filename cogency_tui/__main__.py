"""Runs `cogency-tui` as `python -m cogency_tui`.

Ctrl+C ends the program without a message, even while its modules are loading and after everything is
closed.
"""

import sys

if __name__ == "__main__" and __spec__ is not None and not sys.flags.safe_path:
    # With `-m` Python would import from the current directory first: from the project.
    del sys.path[0]

import gc
import signal


def main() -> int:
    """Run the command line; return the exit status."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # A program started in the background must survive Ctrl+C.
        return _run()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _run(interruptible=True)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run(*, interruptible: bool = False) -> int:
    # Modules live as long as the program: no collection while they load, nor of them later.
    gc.disable()
    from cogency_tui.cli.main import main as run

    gc.freeze()
    gc.enable()
    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
