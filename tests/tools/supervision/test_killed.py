"""Whoever of the program, the guard and the supervisor is stopped or killed from outside: nothing of the
command outlives them, and nothing else is ended.

`COGENCY_CRASHES` sets how often each set of them is killed (once).
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations, cycle
from pathlib import Path

import pytest

from cogency_tui.tools.supervision.process_tree import children_of
from tests import ROOT
from tests.tools.shell.test_orphans import ESCAPES
from tests.tools.survivors import MARK, none_survives, until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets orphans be adopted"),
    pytest.mark.timeout(300),
]

ROUNDS = max(1, int(os.environ.get("COGENCY_CRASHES", "0")) // 8)
ROLES: tuple[str, ...] = ("program", "guard", "supervisor")
# Without a sandbox nobody is left to end what escaped when all three are killed.
VICTIMS: list[tuple[str, ...]] = [*((role,) for role in ROLES), *combinations(ROLES, 2)]

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.command_execution import run_command

async def main(how, text):
    if how == "foreground":
        ended = await run_command(text, Path.cwd(), os.environ, 600, lambda _text: None, 0.1)
    else:
        background = Background(grace=0.1)
        id = await background.start(text, Path.cwd(), os.environ)
        await background.over(id)
        ended = background.get(id).ended
    Path("stuck").write_text(repr(list(ended.stuck)))

asyncio.run(main(*sys.argv[1:]))
"""


async def _killed(how: str, stopped: Sequence[str], victims: Sequence[str], directory: Path) -> None:
    """Start a command that leaves processes everywhere, stop and kill, and see that all of it ends."""
    mark = str(random.randrange(10**14, 10**15))
    directory.mkdir()
    escapes = "\n".join(text for name, text in ESCAPES.items() if name != "moving")
    text = f"M={mark}; {escapes}\n: >there; trap '' TERM; sleep 1000.{mark}; sleep 1000.{mark}"
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, how, text),
        cwd=directory,
        env={**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)},
    )
    try:
        await until((directory / "there").exists)
        [guard] = children_of(program.pid)
        [supervisor] = children_of(guard)[:1]
        pids = dict(zip(ROLES, (program.pid, guard, supervisor), strict=True))
        for number, roles in ((signal.SIGSTOP, stopped), (signal.SIGKILL, victims)):
            for role in roles:
                # The end of one may have been the end of another already.
                with suppress(ProcessLookupError):
                    os.kill(pids[role], number)
        if "program" not in victims:
            await program.wait()
            assert (directory / "stuck").read_text() == "[]"
    finally:
        with suppress(ProcessLookupError):
            program.kill()
        await program.wait()
    await none_survives(mark)


@pytest.mark.exhaustive
async def test_nothing_of_a_command_outlives_those_that_watch_over_it(tmp_path: Path) -> None:
    # Each role is killed alone or with another in both ways.
    hows = cycle(["foreground", "background"])
    with subprocess.Popen(["sleep", "1000"]) as bystander:  # noqa: ASYNC220 (it is only looked at)
        try:
            for round in range(ROUNDS):
                stops = [random.choice([(), ("guard",), ("supervisor",), ROLES[1:]]) for _ in VICTIMS]
                async with asyncio.TaskGroup() as group:
                    for number, (stopped, victims) in enumerate(zip(stops, VICTIMS, strict=True)):
                        group.create_task(
                            _killed(next(hows), stopped, victims, tmp_path / f"{round}.{number}")
                        )
            assert bystander.poll() is None
        finally:
            bystander.kill()
