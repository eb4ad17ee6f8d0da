"""A revert that is killed at each step, and the next opening in its turn while it settles that, each in a directory
of its own: named after the two steps."""

import random
import sys
from functools import partial
from itertools import count
from pathlib import Path

from tests.agent.faults import Faults, kill, prepare, revert, writing
from tests.agent.journaling import desk_at
from tests.agent.settling_faults import killed, settle_until
from tests.agent.templates import TEMPLATES

_SETTLING = 9
"""Steps that settling a revert takes, at most."""


async def _revert(base: Path, at: int) -> None:
    base.mkdir()
    async with desk_at(base / "project", base / "data") as desk:
        await prepare(desk, "revert")
        faults = Faults(at, kill, writing)
        faults.install()
        faults.armed = True
        await revert(desk, faults)


def _main(top: Path, seed: int) -> None:
    TEMPLATES.build_beside(top)
    chance = random.Random(seed)
    for at in count(1):
        settling = chance.randint(1, _SETTLING)
        base = top / f"{at}-{settling}"
        if not killed(partial(_revert, base, at)):
            return
        killed(partial(settle_until, base, settling))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
