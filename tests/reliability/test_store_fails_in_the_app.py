"""The store fails in the middle of a turn of the full-screen program: the call that runs ends, the turn says what
is wrong, the next message too, and once the store is whole again the one after is answered."""

import asyncio
import json
import re
import resource
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.store.store import Store
from tests.peers.server import Context
from tests.peers.ways import WAYS
from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

ENTER = "\r"
WAY = WAYS["Responses"]
Mend = Callable[[], object]


def outgrown(program: int, data: Path) -> Mend:
    """Let no file of the program grow, as a quota does."""
    soft, hard = resource.prlimit(program, resource.RLIMIT_FSIZE)
    resource.prlimit(program, resource.RLIMIT_FSIZE, (4096, hard))
    return lambda: resource.prlimit(program, resource.RLIMIT_FSIZE, (soft, hard))


def removed(_program: int, data: Path) -> Mend:
    aside = data / "aside"
    aside.mkdir()
    moved = [path.rename(aside / path.name) for path in data.glob("cogency.db*")]
    return lambda: [path.rename(data / path.name) for path in moved]


def moved_with_its_directory(_program: int, data: Path) -> Mend:
    away = data.rename(data.with_name("away"))

    def put_back() -> None:
        # The program makes the directory again for its other files.
        shutil.rmtree(data, ignore_errors=True)
        away.rename(data)

    return put_back


FAULTS: dict[str, tuple[Callable[[int, Path], Mend], str]] = {
    "outgrown": (outgrown, "cannot be read"),
    "removed": (removed, "was removed or"),
    "directory moved": (moved_with_its_directory, "was removed or"),
}
"""What happens to the store, with how the turn says it."""


class Model:
    """Runs a command that waits to be let go, writes a file, and says so."""

    def __call__(self, context: Context) -> str:
        last = context[-1]["content"]
        turn = re.findall(r"go (\d)", "".join(message["content"] for message in context))[-1]
        if "<results>" in last:
            return f"Done with {turn}."
        command = f"touch at{turn}; until [ -e open{turn} ]; do sleep 0.02; done; echo ran-{turn} >> ran.txt"
        calls = [
            {"name": "shell", "args": {"command": command}},
            {"name": "write", "args": {"file": f"new{turn}.txt", "content": "new\n" * 3000}},
        ]
        return f"I begin.\n<execute>\n{json.dumps(calls)}\n</execute>"


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.02)


def failures(text: str, said: str) -> int:
    """The number of failures on the screen; a turn may end with more than one."""
    return text.count(said) + sum(
        int(times) - 1 for times in re.findall(r"Failed again \((\d+) times\)", text)
    )


def drive(project: Path, data: Path, environ: dict[str, str], fault: str) -> None:
    fail, said = FAULTS[fault]
    arguments = ["--permissions", "auto", "--provider", WAY.provider, "--model", WAY.model]
    with Terminal(
        *arguments, "--mode", WAY.mode, cwd=project, data=data, environ=environ, columns=150, rows=60
    ) as terminal:
        terminal.wait_for("» auto")
        terminal.send("go 1" + ENTER)
        wait_for_file(project / "at1")
        mend = fail(terminal.process.pid, data)
        (project / "open1").touch()
        (project / "open3").touch()
        terminal.wait_for(lambda text: said in text and "to interrupt" not in text)
        seen = failures(terminal.wait_for("Not run: the turn failed"), said)
        assert (project / "ran.txt").read_text() == "ran-1\n"
        # The message could not be taken: it is said again, and the program goes on.
        terminal.send("go 2" + ENTER)
        terminal.wait_for(lambda text: failures(text, said) > seen and "to interrupt" not in text)
        mend()
        terminal.send("\x15go 3" + ENTER)
        terminal.wait_for("Done with 3.")
        assert terminal.leave() == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_turn_ends_with_what_is_wrong_and_the_program_goes_on(tmp_path: Path, fault: str) -> None:
    project, data, config = tmp_path / "project", tmp_path / "data", tmp_path / "config.toml"
    project.mkdir()
    config.write_text('sandbox = "off"\ntitles = false\n')
    async with WAY.peer(Model(), model=WAY.model) as peer:
        environ = {**WAY.environ(peer), "COGENCY_CONFIG": str(config)}
        await asyncio.to_thread(drive, project, data, environ, fault)
    assert (project / "ran.txt").read_text() == "ran-1\nran-3\n"
    async with await Store.open(data) as store:
        [conversation] = await store.conversations(limit=2)
        events = await store.events(conversation.id)
    calls, results = (
        Counter(event["id"] for event in events if event["type"] == kind) for kind in ("call", "result")
    )
    assert calls
    assert results <= calls
    assert set(calls.values()) == {1}
