"""What is not needed for the first frame is not loaded before it."""

import subprocess
import sys

LATE = (
    "httpx",
    "websockets",
    "aiosqlite",
    "pygments",
    "markdown_it",
    "watchfiles",
    "tomlkit",
    "textual.widgets._markdown",
)


def test_the_first_frame_needs_neither_network_nor_store_nor_highlighting() -> None:
    code = f"import sys, cogency_tui.tui.app; print([name for name in {LATE} if name in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"
