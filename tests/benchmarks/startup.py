"""How soon the app paints and takes a key, beside a bare Textual app in turn: `python -m tests.benchmarks.startup`.

Seconds from the start of the process to the first painted frame, and to a typed key's echo. The ratio of
the medians is what counts: machines are noisy.
"""

import statistics
import tempfile
import time
from pathlib import Path

from tests.tui.terminal import Terminal

RUNS = 7
MODULES = {"bare textual": "tests.benchmarks.bare", "cogency-tui": "cogency_tui"}


def main() -> None:
    first: dict[str, list[float]] = {name: [] for name in MODULES}
    ready: dict[str, list[float]] = {name: [] for name in MODULES}
    with tempfile.TemporaryDirectory() as scratch:
        for run in range(RUNS + 1):
            for name, module in MODULES.items():
                painted, echoed = _start(module, Path(scratch))
                if run:
                    first[name].append(painted)
                    ready[name].append(echoed)
    print(f"{'':14}{'first s':>10}{'ready s':>10}   median of {RUNS}")
    for name in MODULES:
        print(f"{name:14}{statistics.median(first[name]):>10.3f}{statistics.median(ready[name]):>10.3f}")
    bare, ours = (statistics.median(ready[name]) for name in MODULES)
    print(f"ready, ours to bare: {ours / bare:.2f}")


def _start(module: str, scratch: Path) -> tuple[float, float]:
    started = time.monotonic()
    root = str(Path(__file__).resolve().parents[2])
    with Terminal(
        cwd=scratch, data=scratch / "data", environ={"PYTHONPATH": root}, module=module
    ) as terminal:
        terminal.wait_for(lambda text: bool(text.strip()))
        painted = time.monotonic() - started
        terminal.send("§")
        terminal.wait_for("§")
        return painted, time.monotonic() - started


if __name__ == "__main__":
    main()
