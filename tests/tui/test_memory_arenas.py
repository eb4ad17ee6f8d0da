"""Threads of the app do not keep an arena each."""

import platform
import subprocess
import sys
from itertools import pairwise

import pytest

_ARENA = 64 << 20
_THREADS = """
import sys, threading
from cogency_tui.tui.memory_arenas import share_arena
if sys.argv[1] == "shared":
    share_arena()
together = threading.Barrier(4)
def work():
    together.wait()
    held = [bytes(10_000) for _ in range(50)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
print(open("/proc/self/maps").read())
"""


def _arenas(way: str) -> int:
    """How many arenas beside the main one there are after four threads have worked."""
    done = subprocess.run([sys.executable, "-c", _THREADS, way], check=True, capture_output=True, text=True)
    ranges = [line.split()[0].split("-") for line in done.stdout.splitlines() if line]
    spans = [(int(first, 16), int(last, 16)) for first, last in ranges]
    # What is used of an arena, and behind it what is reserved for it.
    pairs = pairwise(spans)
    return sum(
        not used[0] % _ARENA and used[1] == rest[0] and rest[1] - used[0] == _ARENA for used, rest in pairs
    )


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are those of glibc")
def test_threads_share_an_arena() -> None:
    assert _arenas("own") > 0
    assert _arenas("shared") == 0
