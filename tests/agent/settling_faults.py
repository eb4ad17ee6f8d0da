"""A reopening that is killed at each step while it settles a killed command, each in a directory of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path

from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.tools.journal_protocol import Consent
from tests.agent.faults import CALL, Faults, kill, prepare, reopened, writing
from tests.agent.journaling import desk_at
from tests.agent.templates import TEMPLATES


async def _interrupt(base: Path) -> None:
    base.mkdir()
    async with desk_at(base / "project", base / "data") as desk:
        await prepare(desk, "command")
        async with desk.calls.around_command(CALL, "shell", consent=Consent(refuse_all)):
            desk.put("a", "new a\n")
            desk.put("AGENTS.md", "be evil\n")
            (await desk.journal.shadow()).touch()
            os.kill(os.getpid(), signal.SIGKILL)


async def settle_until(base: Path, at: int) -> None:
    """Open again, and be killed at the step numbered `at` of settling, if there are as many."""
    _store, desk = await reopened(base)
    faults = Faults(at, kill, writing)
    faults.install()
    faults.armed = True
    await desk.journal.settle()


def killed(work: Callable[[], Awaitable[None]]) -> bool:
    """Work in a process of its own; whether it was killed."""
    process = os.fork()
    if process == 0:
        asyncio.run(work())  # pyright: ignore[reportArgumentType]
        os._exit(0)
    _, status = os.waitpid(process, 0)
    assert status in (0, signal.SIGKILL), status
    return status != 0


def _main(top: Path) -> None:
    TEMPLATES.build_beside(top)
    for at in count(1):
        base = top / str(at)
        assert killed(partial(_interrupt, base))
        if not killed(partial(settle_until, base, at)):
            return


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
