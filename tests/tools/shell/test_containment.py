"""Nothing that a command starts outlives it or the program, whatever it does to get away."""

import asyncio
import ctypes
import errno
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from cogency_tui.tools.shell import supervised_process
from cogency_tui.tools.shell.command_execution import Ended, run_command, shell_path
from cogency_tui.tools.supervision.process_tree import children_by_parent, descendants, listed_children
from cogency_tui.tools.supervision.supervisor import command_line, packed
from tests import ROOT
from tests.tools.survivors import MARK, none_survives, survivors, until

PR_SET_CHILD_SUBREAPER = 36

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets orphans be adopted"),
    pytest.mark.timeout(60),
]

ESCAPES = {
    "disown": "sleep 1000.$TEST_MARK & disown",
    "nohup": "nohup sleep 1000.$TEST_MARK >/dev/null 2>&1 &",
    "setsid": "setsid sleep 1000.$TEST_MARK &",
    "empty environment": "env -i setsid sleep 1000.$TEST_MARK &",
    "double fork": "(setsid bash -c '(sleep 1000.$TEST_MARK &) ; exit' &)",
    "deaf": "setsid bash -c \"trap '' TERM HUP INT; while :; do sleep 1000.$TEST_MARK; done\" &",
    "stopped": "setsid bash -c 'kill -STOP $$; sleep 1000.$TEST_MARK' &",
    "moving": "setsid bash -c 'f() { (f &); exit; }; f' $TEST_MARK &",
    "many": "for i in $(seq 100); do sleep 1000.$TEST_MARK & done",
    "grandchildren": "bash -c 'bash -c \"sleep 1000.$TEST_MARK & sleep 1000.$TEST_MARK & wait\" & wait' &",
    "exec": "setsid sleep 1000.$TEST_MARK & exec -a other true",
    "closed output": "exec >&- 2>&-; setsid sleep 1000.$TEST_MARK &",
    "few processes": "ulimit -n 10 -t 5; setsid sleep 1000.$TEST_MARK &",
}


GROUPS = {
    "end when asked": set(ESCAPES) - {"deaf", "stopped", "moving", "many"},
    "have to be killed": {"deaf", "stopped", "moving", "many"},
}
"""Where one command tries several at once. Each by itself is tried with a command that ends."""


def _all_of(group: str) -> str:
    return "\n".join(f"({ESCAPES[name]})" for name in sorted(GROUPS[group]))


@pytest.fixture
def adopts_nothing(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Where orphans cannot be adopted, by this process neither."""
    monkeypatch.setattr(supervised_process, "TREE", False)
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 1)


@pytest.fixture
async def mark() -> AsyncIterator[str]:
    """A mark for the test's processes, none of which may be there after it."""
    mark = str(random.randrange(10**14, 10**15))
    yield mark
    await none_survives(mark)


async def _run(
    text: str,
    mark: str,
    tmp_path: Path,
    *,
    timeout: float = 20,
    grace: float = 0.2,
    wrapper: Sequence[str] = (),
    tree: bool = True,
) -> Ended:
    environ = {**os.environ, MARK: mark}
    return await run_command(text, tmp_path, environ, timeout, lambda _text: None, grace, wrapper, tree=tree)


@pytest.mark.parametrize("name", ESCAPES)
async def test_nothing_is_left_when_the_command_ends(name: str, mark: str, tmp_path: Path) -> None:
    ended = await _run(f"{ESCAPES[name]}\ntrue", mark, tmp_path)
    assert (ended.status, ended.left_behind, ended.stuck) == (0, True, [])
    assert not survivors(mark)


@pytest.mark.parametrize("group", GROUPS)
async def test_nothing_is_left_after_a_time_out(group: str, mark: str, tmp_path: Path) -> None:
    text = f"{_all_of(group)}\nsleep 1000.$TEST_MARK"
    ended = await _run(text, mark, tmp_path, timeout=0.5)
    assert (ended.timed_out, ended.stuck) == (True, [])
    assert not survivors(mark)


@pytest.mark.exhaustive
@pytest.mark.parametrize("group", GROUPS)
async def test_nothing_is_left_after_a_cancellation(group: str, mark: str, tmp_path: Path) -> None:
    text = f"{_all_of(group)}\ntouch there; sleep 1000.$TEST_MARK"
    running = asyncio.create_task(_run(text, mark, tmp_path))
    await until((tmp_path / "there").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not survivors(mark)


PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.command_execution import run_command

async def main(how, text):
    if how == "background":
        background = Background()
        await background.start(text, Path.cwd(), os.environ)
        os._exit(0)
    tree = how != "group"
    running = asyncio.create_task(
        run_command(text, Path.cwd(), os.environ, 600, lambda _text: None, tree=tree)
    )
    if how == "returns":
        while not Path("there").exists():
            await asyncio.sleep(0.01)
        return
    await running

asyncio.run(main(*sys.argv[1:]))
"""


@contextmanager
def _program(how: str, text: str, mark: str, tmp_path: Path) -> Generator["subprocess.Popen[bytes]"]:
    root = str(ROOT)
    environ = {**os.environ, MARK: mark, "PYTHONPATH": root}
    command = [sys.executable, "-c", PROGRAM, how, text]
    with subprocess.Popen(command, cwd=tmp_path, env=environ) as program:
        try:
            yield program
        finally:
            # A test that fails must not wait for it for ever.
            program.kill()


@pytest.mark.exhaustive
async def test_nothing_is_left_when_the_program_is_killed(mark: str, tmp_path: Path) -> None:
    await _ends_with_the_program("\n".join(map(_all_of, GROUPS)), signal.SIGKILL, mark, tmp_path)


@pytest.mark.exhaustive
async def test_nothing_is_left_when_the_program_ends_by_a_signal(mark: str, tmp_path: Path) -> None:
    async def end(number: signal.Signals) -> None:
        directory = tmp_path / number.name
        directory.mkdir()
        await _ends_with_the_program(ESCAPES["deaf"], number, f"{mark}{number:d}", directory)

    # By one that ends it at once, and by one that it cancels the command for.
    await asyncio.gather(*map(end, (signal.SIGTERM, signal.SIGINT)))


@pytest.mark.exhaustive
async def test_nothing_is_left_when_the_supervisors_were_stopped_and_the_program_killed(
    mark: str, tmp_path: Path
) -> None:
    text = f"{ESCAPES['setsid']} kill -STOP $(ps -o ppid= -p $PPID) $PPID"
    await _ends_with_the_program(text, signal.SIGKILL, mark, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("adopts_nothing")
async def test_group_is_ended_when_the_program_is_killed(mark: str, tmp_path: Path) -> None:
    await _ends_with_the_program(ESCAPES["nohup"], signal.SIGKILL, mark, tmp_path, how="group")


async def _ends_with_the_program(
    text: str, number: signal.Signals, mark: str, tmp_path: Path, how: str = "tree"
) -> None:
    text = f"( {text} )\ntouch there; trap '' HUP; sleep 1000.$TEST_MARK; sleep 1000.$TEST_MARK"
    with _program(how, text, mark, tmp_path) as program:
        await until((tmp_path / "there").exists)
        assert len(survivors(mark)) > 1
        program.send_signal(number)
        await asyncio.to_thread(program.wait)
        await none_survives(mark)


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["returns", "background"])
async def test_nothing_is_left_when_the_program_just_ends(how: str, mark: str, tmp_path: Path) -> None:
    text = f"{ESCAPES['setsid']} touch there; sleep 1000.$TEST_MARK"
    with _program(how, text, mark, tmp_path) as program:
        await asyncio.to_thread(program.wait)
        await none_survives(mark)
    assert program.returncode == 0


SUPERVISOR = "$PPID"
GUARD = "$(ps -o ppid= -p $PPID)"


@pytest.mark.parametrize(
    ("text", "escape"),
    [
        (f"kill -9 {SUPERVISOR}", ESCAPES["empty environment"]),
        (f"kill -9 {SUPERVISOR}", ESCAPES["deaf"]),
        # What then is left can only be found by its mark.
        (f"kill -9 {GUARD} {SUPERVISOR}", ESCAPES["setsid"]),
        (f"kill -9 {GUARD} {SUPERVISOR}", ESCAPES["deaf"]),
    ],
)
async def test_command_that_kills_its_supervision_is_a_clear_failure(
    text: str, escape: str, mark: str, tmp_path: Path
) -> None:
    ended = await _run(f"{escape} echo out; {text}; sleep 1000.$TEST_MARK", mark, tmp_path)
    # A shell of its own may still say that what it waited for was killed before it was itself.
    assert (ended.output.partition("\n")[0], ended.started, ended.timed_out) == ("out", True, False)
    # It may also be that the supervisor saw the end of the guard before its own, and ended the command.
    if ended.status != -signal.SIGTERM:
        assert ended.described == "its result is unknown: its supervisor process was killed"
    assert not survivors(mark)


async def test_command_that_kills_the_guard_is_ended_by_the_supervisor(mark: str, tmp_path: Path) -> None:
    text = f"{ESCAPES['empty environment']} kill -9 {GUARD}; sleep 1000.$TEST_MARK"
    ended = await _run(text, mark, tmp_path)
    assert ended.described == "killed by SIGTERM"
    assert not survivors(mark)


STOPS = (
    f"kill -STOP {SUPERVISOR}",
    f"kill -STOP {GUARD}",
    f"kill -STOP {GUARD} {SUPERVISOR}",
)


@pytest.mark.exhaustive
async def test_command_that_stops_its_supervision_ends_all_the_same(mark: str, tmp_path: Path) -> None:
    # At once, as all of them take as long as a supervision is waited for that does not answer.
    texts = [f"{ESCAPES['setsid']} {stops}; sleep 1000.$TEST_MARK" for stops in STOPS]
    ended = await asyncio.gather(*(_run(text, mark, tmp_path, timeout=0.5, grace=0) for text in texts))
    assert [each.timed_out for each in ended] == [True] * len(STOPS)
    assert not survivors(mark)


@pytest.mark.exhaustive
async def test_end_of_the_supervisor_is_noticed_while_the_guard_is_stopped(mark: str, tmp_path: Path) -> None:
    end = f"kill -STOP {GUARD}; kill -9 {SUPERVISOR}; sleep 1000.$TEST_MARK"
    # Nothing but the end of the supervisor ends them before the test does. At once, as they wait for the same.
    texts = [f"{ESCAPES[escape]} {end}" for escape in ("setsid", "deaf")]
    for ended in await asyncio.gather(*(_run(text, mark, tmp_path, timeout=1000) for text in texts)):
        assert (ended.status, ended.timed_out, ended.stuck) == (None, False, [])
    assert not survivors(mark)


async def test_signals_to_the_supervision_do_nothing(mark: str, tmp_path: Path) -> None:
    text = f"for s in TERM INT HUP CHLD CONT; do kill -$s {SUPERVISOR} {GUARD}; done; exit 3"
    ended = await _run(text, mark, tmp_path)
    assert (ended.status, ended.output) == (3, "")


async def test_handles_of_the_supervision_are_of_no_use_to_the_command(mark: str, tmp_path: Path) -> None:
    text = (
        f"for pid in {SUPERVISOR} {GUARD}; do for fd in /proc/$pid/fd/*; do "
        '{ echo "exited 0"; echo "over 0"; } >$fd; done; done 2>/dev/null; ls /proc/$$/fd | wc -l; exit 3'
    )
    ended = await _run(text, mark, tmp_path)
    assert ended.status == 3
    # The output itself may be written to; of its own handles the command has three and what it opens.
    assert set(ended.output.split("\n")[:-2]) <= {"exited 0", "over 0"}
    assert int(ended.output.split("\n")[-2]) <= 4


STARTS = pytest.mark.parametrize(
    ("wrapper", "tree"),
    [([], True), (["/usr/bin/env"], True), ([], False)],
    ids=["protected", "wrapped", "group"],
)
"""The ways in which a supervisor is started."""


async def _until_it_sleeps(mark: str) -> None:
    await until(lambda: any(f": sleep 1000.{mark}" in line for line in survivors(mark)))


@pytest.mark.exhaustive
@STARTS
async def test_only_the_shell_shows_the_command(
    wrapper: list[str], tree: bool, mark: str, tmp_path: Path
) -> None:
    text = f": secret{mark}; sleep 1000.$TEST_MARK; true"
    running = asyncio.create_task(_run(text, mark, tmp_path, wrapper=wrapper, tree=tree))
    await _until_it_sleeps(mark)
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(os.getpid())]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sum(b"supervision.supervisor" in line for line in lines) == (2 if tree else 1)
    shell = b"\0".join((shell_path().encode(), b"-c", text.encode(), b""))
    assert [line for line in lines if f"secret{mark}".encode() in line] == [shell]


async def test_command_that_kills_by_a_command_line_hits_no_supervision(mark: str, tmp_path: Path) -> None:
    text = f": server{mark}; setsid bash -c 'sleep 1000.$TEST_MARK; true' & wait"
    running = asyncio.create_task(_run(text, mark, tmp_path))
    await _until_it_sleeps(mark)
    found = await _run(f"pgrep -af '[s]erver{mark}'", mark, tmp_path)
    assert found.output.partition(" ")[2] == f"{shell_path()} -c {text}\n"
    assert (await _run(f"pkill -KILL -f '[s]erver{mark}'", mark, tmp_path)).status == 0
    ended = await running
    assert (ended.described, ended.left_behind) == ("killed by SIGKILL", True)
    assert not survivors(mark)


@STARTS
async def test_long_command_comes_through(wrapper: list[str], tree: bool, mark: str, tmp_path: Path) -> None:
    text = f"value={'x' * 130_000}; echo ${{#value}}; printf %s 'ä\udcff' | od -An -tx1; exit 4"
    ended = await _run(text, mark, tmp_path, wrapper=wrapper, tree=tree)
    assert (ended.status, ended.output.split()) == (4, ["130000", "c3", "a4", "ff"])


def test_command_is_not_started_when_the_program_ends_before_all_of_it_is_sent(tmp_path: Path) -> None:
    line = packed([shell_path(), "-c", "touch there; true"])
    ours, theirs = socket.socketpair()
    with theirs:
        arguments = command_line("group", [theirs.fileno(), theirs.fileno()])
        supervisor = subprocess.Popen(arguments, cwd=tmp_path, pass_fds=(theirs.fileno(),))
    with ours:
        ours.sendall(line[:-6])
        ours.shutdown(socket.SHUT_WR)
        assert ours.makefile("rb").read() == b"here\n"
    assert supervisor.wait() == 0
    assert not (tmp_path / "there").exists()


@STARTS
@pytest.mark.parametrize("size", [200_000, 3_000_000])
async def test_command_that_is_too_long_is_told(
    size: int, wrapper: list[str], tree: bool, mark: str, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match="too long") as raised:
        await _run("#" + "x" * size, mark, tmp_path, wrapper=wrapper, tree=tree)
    assert raised.value.errno == errno.E2BIG


async def test_nul_does_not_divide_a_command(mark: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="null byte"):
        await _run("touch there\0", mark, tmp_path)
    assert not (tmp_path / "there").exists()


ENDS = {
    "exit 0": 0,
    "exit 7": 7,
    "exit 143": 143,
    "kill -TERM $$": -signal.SIGTERM,
    "kill -KILL $$": -signal.SIGKILL,
    "kill -SEGV $$": -signal.SIGSEGV,
    "kill -RTMAX $$": -signal.SIGRTMAX,
    "exec bash -c 'exit 9'": 9,
    "exec sh -c 'kill -INT $$'": -signal.SIGINT,
    "exec >&- 2>&-; sleep 0.2; exit 5": 5,
    "ulimit -f 0; echo x >file": -signal.SIGXFSZ,
    "ulimit -n 0; exit 6": 6,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("tree", [True, False])
async def test_end_comes_through_exactly(tree: bool, mark: str, tmp_path: Path) -> None:
    ended = await asyncio.gather(*(_run(text, mark, tmp_path, tree=tree) for text in ENDS))
    assert {text: each.status for text, each in zip(ENDS, ended, strict=True)} == ENDS


async def test_signal_that_python_ignores_is_not_ignored_in_commands(mark: str, tmp_path: Path) -> None:
    ended = await _run("set -o pipefail; yes | head -1 >/dev/null", mark, tmp_path)
    assert ended.described == "exit 141 (SIGPIPE)"


@pytest.mark.exhaustive
@pytest.mark.usefixtures("adopts_nothing")
async def test_group_is_ended_where_orphans_cannot_be_adopted(mark: str, tmp_path: Path) -> None:
    text = "sleep 1000.$TEST_MARK & (sleep 1000.$TEST_MARK & wait) & disown"
    ended = await _run(text, mark, tmp_path, tree=False)
    assert (ended.status, ended.left_behind) == (0, True)
    assert not survivors(mark)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("adopts_nothing")
async def test_deaf_group_is_killed_after_the_grace(mark: str, tmp_path: Path) -> None:
    text = "trap '' TERM; while :; do sleep 1000.$TEST_MARK; done"
    ended = await _run(text, mark, tmp_path, timeout=4, tree=False)
    assert (ended.timed_out, ended.status) == (True, -signal.SIGKILL)
    assert not survivors(mark)


async def test_descendants_are_the_same_by_both_ways(tmp_path: Path) -> None:
    text = "sleep 100 & (sleep 100 & sleep 100 & wait) & touch there; wait"
    process = await asyncio.create_subprocess_exec("bash", "-c", text, cwd=tmp_path, start_new_session=True)
    try:
        await until(lambda: (tmp_path / "there").exists() and len(descendants(process.pid)) == 4)
        listed, by_parent = set[int](), set[int]()
        for found, children in ((listed, listed_children), (by_parent, children_by_parent())):
            waiting = [process.pid]
            while waiting:
                below = children(waiting.pop())
                found.update(below)
                waiting += below
        assert listed == by_parent == set(descendants(process.pid))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def test_unknown_program_is_told_as_it_is(tmp_path: Path, mark: str) -> None:
    with pytest.raises(FileNotFoundError):
        await run_command("true", tmp_path, os.environ, 5, lambda _text: None, wrapper=["/none/such"])


async def test_environment_is_what_was_given(mark: str, tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C", MARK: mark, "ODD": "a\udcffb\n"}
    text = f"exec {sys.executable} -I -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    ended = await run_command(text, tmp_path, environ, 10, lambda _text: None)
    seen = json.loads(ended.output)
    assert {name: seen[name] for name in environ} == environ
    assert set(seen) - set(environ) <= {"PWD", "SHLVL", "_", "COGENCY_COMMAND"}
