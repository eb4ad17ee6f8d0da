"""A worker with short pauses, as a process: `worker_process.py DATA URL`."""

import asyncio
import os
import sys
from pathlib import Path

from cogency_tui.config.schema import HistorySettings
from cogency_tui.team.worker import Pace, parent_is_gone, work

if __name__ == "__main__":
    data, url = sys.argv[1:]
    over = parent_is_gone(os.getppid())
    asyncio.run(work(Path(data), HistorySettings(url=url), {}, over, Pace(0.01, 1.0, 0.05, 0.4)))
