"""A command that does away with its supervision is ended all the same, and nothing else is."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import cycle
from pathlib import Path

import pytest

from cogency_tui.child_processes import run_helper, start_in_background, start_in_terminal
from cogency_tui.process_identity import start_of
from cogency_tui.tools.shell import orphans, supervised_process
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.command_execution import Ended, RunningCommand, run_command
from cogency_tui.tools.shell.supervised_process import Supervised
from cogency_tui.tools.supervision.process_tree import children_of, descendants
from tests.tools.survivors import MARK, none_survives, survivors, until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets orphans be adopted"),
    pytest.mark.timeout(60),
]

NAMES = "S=$PPID; G=$(ps -o ppid= -p $PPID)"
ATTACKS = {
    "guard": "kill -9 $G",
    "supervisor": "kill -9 $S",
    "both": "kill -9 $G $S",
    "both, stopped": "kill -STOP $G $S; kill -9 $G $S",
    "both, guard stopped": "kill -STOP $G; kill -9 $G $S",
    "both, one by one": 'setsid bash -c "kill -STOP $G; kill -9 $S; kill -9 $G"',
}
# Each becomes ours only when the one above has ended.
NESTED = """
import ctypes, os, signal, sys
for _ in range(40):
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    if os.fork():
        os.kill(os.getpid(), signal.SIGSTOP)
os.execlp('sleep', 'sleep', '1000.' + sys.argv[1])
"""
# None has the mark by which the processes of a command are known.
ESCAPES = {
    "session": "env -i setsid sleep 1000.$M &",
    "double fork": '(env -i setsid bash -c "(sleep 1000.$M &) ; exit" &)',
    "deaf": "env -i setsid bash -c \"trap '' TERM HUP INT; while :; do sleep 1000.$M; done\" &",
    "stopped": 'env -i setsid bash -c "kill -STOP \\$\\$; sleep 1000.$M" &',
    "nested": f'env -i setsid {sys.executable} -c "{NESTED}" "$M" & sleep 0.5',
    # It moves for a second or two: one that gets away does not take the time of all later tests.
    "moving": 'env -i setsid bash -c "f() { ((++n < 1500)) || exit; (f &); exit; }; f" $M &',
}
Run = Callable[[str, Path, str], Awaitable[Ended]]


async def _in_foreground(text: str, directory: Path, mark: str) -> Ended:
    environ = {**os.environ, MARK: mark}
    return await run_command(text, directory, environ, 60, lambda _text: None, 0.2)


async def _in_background(text: str, directory: Path, mark: str) -> Ended:
    background = Background(grace=0.2)
    id = await background.start(text, directory, {**os.environ, MARK: mark})
    await background.over(id)
    ended = background.get(id).ended
    assert ended is not None
    return ended


RUNS = (_in_foreground, _in_background)


@pytest.fixture
async def mark() -> AsyncIterator[str]:
    mark = str(random.randrange(10**14, 10**15))
    yield mark
    await none_survives(mark)


def _sleeping(mark: str) -> list[int]:
    """The processes that sleep with this mark."""
    return [int(line.partition(":")[0]) for line in survivors(mark) if f": sleep 1000.{mark}" in line]


def _text(escape: str, attack: str, mark: str) -> str:
    # The mark is in the arguments alone.
    return f"M={mark}; {NAMES}; {ESCAPES[escape]}\n{ATTACKS[attack]}; sleep 1000.{mark}"


# Each escape and each attack is run in both ways, each pair of them in one.
@pytest.mark.exhaustive
@pytest.mark.parametrize(("escape", "runs"), [*zip(ESCAPES, cycle([RUNS, RUNS[::-1]]), strict=False)])
async def test_nothing_is_left_of_a_command_without_supervision(
    escape: str, runs: tuple[Run, Run], mark: str, tmp_path: Path
) -> None:
    commands = [(run, _text(escape, attack, mark)) for attack, run in zip(ATTACKS, cycle(runs), strict=False)]
    # Each that moves keeps a processor busy, and with all at once there is none left for those that look for them:
    # a few do, one after the other.
    at_once = len(commands)
    if escape == "moving":
        commands, at_once = commands[:3], 1
    for start in range(0, len(commands), at_once):
        some = commands[start : start + at_once]
        ended = await asyncio.gather(*(run(text, tmp_path, mark) for run, text in some))
        assert [list(each.stuck) for each in ended] == [[]] * at_once
    assert not survivors(mark)


@pytest.mark.exhaustive
async def test_nothing_is_left_when_the_program_goes_with_the_supervision_stopped(
    mark: str, tmp_path: Path
) -> None:
    program = """
import asyncio, os, sys
from pathlib import Path
from cogency_tui.tools.shell.background import Background

async def main(texts):
    background = Background()
    for text in texts:
        await background.start(text, Path.cwd(), os.environ)
    await asyncio.Event().wait()

asyncio.run(main(sys.argv[1:]))
"""
    names = [name for name in ESCAPES if name != "moving"]
    texts = [
        f"M={mark}; {NAMES}; {ESCAPES[name]}\n{stop}; : >'there.{index}.{name}'; sleep 1000.{mark}"
        for name in names
        for index, stop in enumerate(("kill -STOP $G", "kill -STOP $S", "kill -STOP $G $S"))
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, *texts, cwd=tmp_path)
    try:
        await until(lambda: len(list(tmp_path.glob("there.*"))) == len(texts))
    finally:
        process.kill()
        await process.wait()
    await none_survives(mark)


@pytest.mark.exhaustive
async def test_what_cannot_be_ended_is_named_in_the_result(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = os.kill

    def kill_but_none_of_theirs(pid: int, number: int) -> None:
        if number == signal.SIGKILL and pid in _sleeping(mark):
            raise PermissionError
        kill(pid, number)

    with monkeypatch.context() as patch:
        patch.setattr(orphans.os, "kill", kill_but_none_of_theirs)
        asleep = f"until pgrep -xf 'sleep 1000.{mark}' >/dev/null; do command sleep 0.05; done"
        # Stopped, and the supervisor first: else what is left of the two may end the escaped one by itself.
        attack = "kill -STOP $G $S; kill -9 $S $G"
        text = f"M={mark}; {NAMES}; {ESCAPES['session']}\n{asleep}; {attack}; :"
        ended = await _in_foreground(text, tmp_path, mark)
    [pid] = _sleeping(mark)
    assert ended.notes == [f"[1 process could not be ended: {pid} sleep]"]
    kill(pid, signal.SIGKILL)


def test_many_that_cannot_be_ended_are_counted() -> None:
    ended = Ended(0, "", 0.0, stuck=[f"{pid} node" for pid in range(1, 8)])
    named = "1 node, 2 node, 3 node, 4 node, 5 node"
    assert ended.notes == [f"[7 processes could not be ended: {named} and 2 more]"]


@pytest.mark.exhaustive
async def test_sweep_leaves_alone_what_is_none_of_a_command(mark: str, tmp_path: Path) -> None:
    orphans.adopt()
    since = orphans.started_at(os.getpid())
    daemon = f"sleep 1000.{mark} & setsid sleep 1000.{mark} & :"
    # As an editor, a program of the desktop, and git leave one behind.
    await (await start_in_terminal(["bash", "-c", daemon], os.environ)).wait()
    await (await start_in_background(["bash", "-c", daemon], os.environ)).wait()
    quiet = f"exec >/dev/null; {daemon}"
    await asyncio.to_thread(run_helper, ["bash", "-c", quiet], seconds=60, environ={})
    # Another command, whose supervision is as it should be.
    other = await RunningCommand.start(f"sleep 1000.{mark}", tmp_path, os.environ, lambda _data: None)
    try:
        await until(lambda: len(_sleeping(mark)) == 7)
        assert orphans.sweep(since, "none") == []
        assert len(_sleeping(mark)) == 7
    finally:
        await other.stop(0)
        other.close()
        for pid in _sleeping(mark):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.exhaustive
async def test_sweep_takes_nothing_that_was_there_before_the_command(mark: str, tmp_path: Path) -> None:
    orphans.adopt()
    daemon = await asyncio.create_subprocess_exec("bash", "-c", f"setsid sleep 1000.{mark} & :")
    await daemon.wait()
    await until(lambda: _sleeping(mark))
    [pid] = _sleeping(mark)
    await until(lambda: pid in children_of(os.getpid()))
    assert orphans.sweep(orphans.started_at(pid) + 1, "none") == []
    assert survivors(mark)
    assert orphans.sweep(orphans.started_at(pid), "none") == []
    assert not survivors(mark)


def test_sweep_finds_the_child_of_one_that_ends_before_it_is_examined(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphans.adopt()
    command = ["bash", "-c", f"read; sleep 1000.{mark} &"]
    parent = subprocess.Popen(
        command, stdin=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, start_new_session=True
    )
    since = orphans.started_at(parent.pid)

    def listed_too_early(pid: int) -> list[int]:
        children = children_of(pid)
        if parent.stdin and not parent.stdin.closed:
            parent.stdin.close()
            os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
        return children

    monkeypatch.setattr(orphans, "children_of", listed_too_early)
    assert orphans.sweep(since, "none") == []
    assert not survivors(mark)
    parent.wait()


def test_what_outlasts_the_search_is_named(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def spare(_pid: int, _number: int) -> None:
        pass

    orphans.adopt()
    with subprocess.Popen(["sleep", f"1000.{mark}"], start_new_session=True) as stray:
        with monkeypatch.context() as patch:
            patch.setattr(orphans, "_PATIENCE", 0.05)
            patch.setattr(orphans.os, "kill", spare)
            assert orphans.sweep(orphans.started_at(stray.pid), "none") == [f"{stray.pid} sleep"]
        stray.kill()


# It takes long to end, and shows no memory from the start of that.
LARGE = "import subprocess; held = b'x' * (1 << 28); subprocess.Popen(['sleep', '1000.' + mark]); print()"
# The system call `exit`, by its number on ARM or x86-64, ends only the thread that calls it.
FIRST_THREAD_ENDS = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
threading.Thread(target=libc.sleep, args=[1000]).start()
print(flush=True)
libc.syscall(93 if os.uname().machine == "aarch64" else 60, 0)
"""


@pytest.mark.parametrize("code", [f"{LARGE}; input()", FIRST_THREAD_ENDS], ids=["large", "first thread ends"])
def test_sweep_waits_for_the_end_of_what_seems_to_have_ended(mark: str, code: str) -> None:
    orphans.adopt()
    stray = subprocess.Popen(
        [sys.executable, "-uc", f"mark = '{mark}'\n{code}"],
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with stray:
        assert stray.stdout is not None
        stray.stdout.readline()
        try:
            assert orphans.sweep(orphans.started_at(stray.pid), "none") == []
            assert not survivors(mark)
            assert not Path(f"/proc/{stray.pid}").exists()
        finally:
            stray.kill()


@pytest.mark.exhaustive
def test_adopted_child_is_buried_once_nobody_can_be_waiting_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    orphans.adopt()
    # What ended in our session may be a child that somebody waits for; in another, it is none.
    orphan = "cat <&0 >/dev/null & echo $!"
    source, sink = os.pipe()
    said = subprocess.check_output(["bash", "-c", f"{orphan}; setsid bash -c '{orphan}'"], stdin=source)
    adopted, elsewhere = map(int, said.split())
    own = subprocess.Popen(["bash", "-c", "exit 7"])
    for handle in (source, sink):
        os.close(handle)
    for pid in (adopted, elsewhere, own.pid):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    _release_one()
    assert [pid in _ended_children() for pid in (adopted, own.pid, elsewhere)] == [True, True, False]
    assert own.wait() == 7
    monkeypatch.setattr(orphans, "UNCLAIMED", 0.0)
    _release_one()
    assert adopted not in _ended_children()


def _ended_children() -> list[int]:
    return [pid for pid in children_of(os.getpid()) if start_of(pid) is None]


def _release_one() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    orphans.release(
        orphans.start_guard(
            ["true"], source=null, sink=null, errors=null, cwd=Path.cwd(), environ=os.environ, handles=()
        )
    )
    os.close(null)


async def test_group_without_a_supervisor_is_ended_where_orphans_cannot_be_adopted(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised_process, "TREE", False)
    environ = {**os.environ, MARK: mark}
    text = f"env -i sleep 1000.{mark} & kill -9 $PPID; sleep 1000.{mark}"
    ended = await run_command(text, tmp_path, environ, 60, lambda _text: None, 0.2, tree=False)
    assert ended.status is None
    await none_survives(mark)


async def test_supervision_that_ends_as_it_should_has_no_strays_to_look_for(
    mark: str, tmp_path: Path
) -> None:
    source, sink = os.pipe()
    os.close(source)
    shell = Supervised.start(["/bin/sh", "-c", "exit 3"], tmp_path, {**os.environ, MARK: mark}, sink)
    os.close(sink)
    await shell.over()
    await shell.stop(0)
    shell.close()
    assert (shell.status, shell.stuck, descendants(shell.pid)) == (3 << 8, [], [])
