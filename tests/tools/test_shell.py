"""`shell`: how commands end, what they can see, and that nothing of them is left."""

import asyncio
import os
import signal
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools import command
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell import Shell, scrubbed
from tests.tools.conftest import Bench


@pytest.fixture
def quick(bench: Bench) -> Bench:
    """The shell, with little patience for processes that do not go."""
    bench.registry = Registry([Shell(grace=0.2)])
    return bench


async def test_output_and_status_of_a_success(bench: Bench) -> None:
    outcome = await bench.run("shell", command="echo out; echo err >&2")
    assert outcome.outcome.startswith("exit 0 after 0.")
    assert (outcome.content, outcome.failed) == ("exit 0\nout\nerr", False)
    assert "".join(bench.reported) == "out\nerr\n"


async def test_status_of_a_failure(bench: Bench) -> None:
    outcome = await bench.run("shell", command="echo no; exit 3")
    assert outcome.failed
    assert outcome.outcome.startswith("exit 3 after ")
    assert outcome.content == "exit 3\nno"


async def test_plan_shows_the_whole_command(bench: Bench) -> None:
    text = f"echo {'x' * 200}\necho 2"
    intent = await bench.plan("shell", command=text)
    assert (intent.effect, intent.detail, intent.everything) == ("command", text, True)
    assert len(intent.summary) < 100
    assert intent.guarded == ""


@pytest.mark.parametrize("text", ["ls \u202e", "ls \x1b[2J", "ls \u200b"])
async def test_command_that_is_not_what_it_looks_like_is_guarded(bench: Bench, text: str) -> None:
    assert "the command has" in (await bench.plan("shell", command=text)).guarded


async def test_command_runs_in_the_directory(bench: Bench) -> None:
    bench.put("sub/x", "")
    assert (await bench.run("shell", command="pwd", cwd="sub")).content == f"exit 0\n{bench.root}/sub"


@pytest.mark.parametrize(
    ("cwd", "told"), [("none", "no such"), ("file", "not a directory"), ("/", "outside"), ("..", "outside")]
)
async def test_directory_that_cannot_be_used_is_told(bench: Bench, cwd: str, told: str) -> None:
    bench.put("file", "")
    with pytest.raises(ToolError, match=told):
        await bench.plan("shell", command="true", cwd=cwd)


@pytest.mark.parametrize(
    ("text", "told"), [("a\0b", "NUL"), ("a\ud800", "surrogate"), ("#" + "x" * 3_000_000, "too long")]
)
async def test_command_that_cannot_be_started_is_told(bench: Bench, text: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        await bench.run("shell", command=text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["cat", "read -r line", "python3 -c 'input()'", "cat </dev/tty"])
async def test_command_that_asks_ends_at_once(bench: Bench, text: str) -> None:
    started = time.perf_counter()
    await bench.run("shell", command=text)
    assert time.perf_counter() - started < 2


async def test_input_of_the_program_is_not_the_commands(bench: Bench) -> None:
    ours, theirs = os.pipe()
    before = os.dup(0)
    os.dup2(ours, 0)
    try:
        os.write(theirs, b"typed by the person\n")
        assert (await bench.run("shell", command="head -1", timeout=2)).content == "exit 0\n(no output)"
    finally:
        os.dup2(before, 0)
        for handle in (ours, theirs, before):
            os.close(handle)


async def test_invalid_utf8_is_shown_as_such(bench: Bench) -> None:
    outcome = await bench.run("shell", command=r"printf 'a\xffb\xc3'; sleep 0.05; printf '\xa9'")
    assert outcome.content == "exit 0\na\ufffdbé"
    assert "".join(bench.reported) == "a\ufffdbé"


async def test_output_is_reported_while_the_command_runs(bench: Bench) -> None:
    bench.put("gate", "")
    call = bench.registry.bind("shell", {"command": "echo one; while [ -e gate ]; do :; done"}, bench.context)
    seen = asyncio.Event()

    def report(text: str) -> None:
        if "one" in text:
            seen.set()

    running = asyncio.create_task(call.run(report))
    await asyncio.wait_for(seen.wait(), 5)
    assert not running.done()
    (bench.root / "gate").unlink()
    assert (await running).content == "exit 0\none"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("kill -TERM $$", "killed by SIGTERM"),
        ("kill -KILL $$", "killed by SIGKILL"),
        ("sh -c 'kill -SEGV $$'; exit $?", "exit 139 (SIGSEGV)"),
        ("exit 255", "exit 255"),
        ("/none/such", "exit 127"),
    ],
)
async def test_end_is_told_apart(bench: Bench, text: str, status: str) -> None:
    outcome = await bench.run("shell", command=text)
    assert outcome.failed
    assert outcome.content.split("\n")[0] == status


@pytest.mark.timeout(10)
async def test_time_out_stops_the_command_and_keeps_its_output(quick: Bench) -> None:
    outcome = await quick.run("shell", command="echo before; sleep 60; echo after", timeout=1)
    assert outcome.failed
    assert outcome.outcome == "timed out after 1 s and was stopped"
    assert outcome.content == "timed out after 1 s and was stopped\nbefore"


@pytest.mark.timeout(10)
async def test_processes_that_ignore_the_signal_are_killed(quick: Bench) -> None:
    text = (
        "trap '' TERM; echo $$ >pid; (trap '' TERM; echo $BASHPID >child; while :; do sleep 1; done) & wait"
    )
    await quick.run("shell", command=text, timeout=1)
    assert await _gone(quick.root / "pid")
    assert await _gone(quick.root / "child")


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["sleep 100 & disown", "sleep 100 & echo x", "nohup sleep 100 &"])
async def test_background_process_neither_holds_the_result_nor_stays(quick: Bench, text: str) -> None:
    started = time.perf_counter()
    outcome = await quick.run("shell", command=f"{text}\necho $! >pid")
    assert time.perf_counter() - started < 2
    assert not outcome.failed
    assert "left in the background were stopped" in outcome.content
    assert await _gone(quick.root / "pid")


@pytest.mark.timeout(10)
async def test_process_that_left_the_group_does_not_hold_the_result(quick: Bench) -> None:
    started = time.perf_counter()
    await quick.run(
        "shell", command="setsid sh -c 'echo $$ >pid; exec sleep 100' & while [ ! -s pid ]; do :; done"
    )
    assert time.perf_counter() - started < 3
    os.kill(int((quick.root / "pid").read_text()), signal.SIGKILL)


async def test_what_a_background_process_still_writes_is_waited_for(bench: Bench) -> None:
    outcome = await bench.run("shell", command="(sleep 0.1; echo late) & echo early")
    assert outcome.content == "exit 0\nearly\nlate"


@pytest.mark.timeout(10)
async def test_cancelled_command_leaves_no_process(quick: Bench) -> None:
    text = "echo $$ >pid; (trap '' TERM; echo $BASHPID >child; while :; do sleep 1; done) & wait"
    call = quick.registry.bind("shell", {"command": text}, quick.context)
    running = asyncio.create_task(call.run())
    await _until(lambda: _pid(quick.root / "pid") and _pid(quick.root / "child"))
    started = time.perf_counter()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.perf_counter() - started < 1.5
    assert await _gone(quick.root / "pid")
    assert await _gone(quick.root / "child")


@pytest.mark.timeout(10)
async def test_command_cancelled_twice_leaves_no_process(quick: Bench) -> None:
    call = quick.registry.bind(
        "shell", {"command": "trap '' TERM; echo $$ >pid; while :; do :; done"}, quick.context
    )
    running = asyncio.create_task(call.run())
    await _until(lambda: _pid(quick.root / "pid"))
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await _gone(quick.root / "pid")


@pytest.mark.timeout(20)
async def test_endless_output_is_cut_and_the_loop_stays_free(quick: Bench) -> None:
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before)

    ticking = asyncio.create_task(tick())
    outcome = await quick.run("shell", command="yes", timeout=1)
    ticking.cancel()
    assert len(outcome.content) < command.HEAD + command.TAIL + 200
    assert "bytes of output were cut here" in outcome.content
    assert sum(map(len, quick.reported)) < 2_000_000
    assert longest < 0.5


@pytest.mark.timeout(20)
async def test_one_endless_line_is_cut_with_both_ends_kept(bench: Bench) -> None:
    outcome = await bench.run(
        "shell", command="printf start; head -c 50000000 /dev/zero | tr '\\0' x; printf end"
    )
    head, cut, tail = outcome.content.partition("\n[… ")
    assert head.startswith("exit 0\nstartxxx")
    assert cut
    assert tail.startswith("49,000,008 bytes")
    assert tail.endswith("xxxend")


async def test_kept_output_is_bounded_in_memory() -> None:
    tracemalloc.start()
    try:
        output = command.Output(lambda _text: None)
        for _ in range(500):
            output.feed(bytes(1 << 16))
        _, peak = tracemalloc.get_traced_memory()
        output.close()
    finally:
        tracemalloc.stop()
    assert peak < 4 * command.HEAD


def test_kept_output_is_exact_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "HEAD", 10)
    monkeypatch.setattr(command, "TAIL", 10)

    async def kept(data: bytes, step: int) -> str:
        output = command.Output(lambda _text: None)
        for start in range(0, len(data), step):
            output.feed(data[start : start + step])
        return output.close()

    for size in range(60):
        data = bytes(97 + number % 26 for number in range(size))
        for step in (1, 3, 7, 60):
            text = asyncio.run(kept(data, step))
            if size <= 20:
                assert text == data.decode()
            else:
                assert text == (
                    f"{data[:10].decode()}\n[… {size - 20} bytes of output were cut here …]\n{data[-10:].decode()}"
                )


async def test_keys_are_not_in_the_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.context.secrets = {"OUR_THING": "hidden-value"}
    monkeypatch.setenv("SOME_API_KEY", "k1")
    monkeypatch.setenv("OTHER", "hidden-value")
    monkeypatch.setenv("PLAIN", "seen")
    content = (await bench.run("shell", command="env")).content
    assert "PLAIN=seen" in content
    assert "SOME_API_KEY" not in content
    assert "OTHER=" not in content


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD"),
        *(
            "PGPASSWORD",
            "MY_SECRET",
            "SECRET_KEY_BASE",
            "GH_PAT",
            "npm_config_auth",
            "APIKEY",
            "token",
            "DB_PWD",
        ),
    ],
)
def test_variable_that_looks_like_a_key_is_removed(name: str) -> None:
    assert name not in scrubbed({name: "x"}, {})


@pytest.mark.parametrize(
    "name", ["PATH", "PWD", "HOME", "SSH_AUTH_SOCK", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "PATHS"]
)
def test_ordinary_variable_is_kept(name: str) -> None:
    assert scrubbed({name: "x"}, {})[name] == "x"


def test_variable_whose_value_is_a_key_is_removed() -> None:
    assert "X" not in scrubbed({"X": "ghp_" + "a" * 36}, {})
    assert "X" not in scrubbed({"X": "our own"}, {"name": "our own"})


async def test_our_keys_are_not_in_the_result(bench: Bench) -> None:
    bench.context.secrets = {"OPENAI_API_KEY": "sk-very-secret"}
    bench.put("leak", "it is sk-very-secret!\n")
    outcome = await bench.run("shell", command="cat leak")
    assert outcome.content == "exit 0\nit is [OPENAI_API_KEY is not shown]!"


async def test_no_handle_is_left_open(bench: Bench) -> None:
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("needs /proc")
    await bench.run("shell", command="true")
    before = len(list(handles.iterdir()))
    for _ in range(3):
        await bench.run("shell", command="true")
    assert len(list(handles.iterdir())) == before


def _pid(path: Path) -> int:
    text = path.read_text().strip() if path.exists() else ""
    return int(text) if text else 0


async def _gone(path: Path) -> bool:
    """Whether the process ends; one that nobody has waited for yet has ended."""
    pid = _pid(path)
    assert pid

    def ended() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True

    await _until(ended)
    return True


async def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)
