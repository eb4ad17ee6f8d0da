"""`shell`: how commands end, what they can see, and that nothing of them is left."""

import asyncio
import os
import re
import resource
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.rules import pattern_for
from cogency_tui.errors import ToolError
from cogency_tui.tools.bounded_output import HEAD, TAIL
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.command_execution import run_command
from cogency_tui.tools.shell.processes_tool import Processes
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.tools.shell.shell_tool import Shell
from tests.tools.conftest import Bench


@pytest.fixture
def quick(bench: Bench) -> Bench:
    """The shell, with little patience for processes that do not go."""
    bench.registry = Registry([Shell(grace=0.2)])
    return bench


@pytest.fixture
async def lasting(bench: Bench) -> AsyncIterator[Bench]:
    """The shell with background commands."""
    background = Background(grace=0.2)
    bench.registry = Registry([Shell(background=background), Processes(background)])
    yield bench
    await background.close()


async def test_output_and_status_of_a_success(bench: Bench) -> None:
    outcome = await bench.run("shell", command="echo out; echo err >&2")
    assert outcome.outcome == "exit 0"
    assert (outcome.content, outcome.failed) == ("exit 0\nout\nerr", False)
    assert "".join(bench.reported) == "out\nerr\n"


async def test_status_of_a_failure(bench: Bench) -> None:
    outcome = await bench.run("shell", command="echo no; exit 3")
    assert outcome.failed
    assert outcome.outcome == "exit 3"
    assert outcome.content == "exit 3\nno"


async def test_plan_shows_the_whole_command(bench: Bench) -> None:
    text = f"echo {'x' * 200}\necho 2"
    intent = await bench.plan("shell", command=text)
    assert (intent.effect, intent.detail, intent.everything) == ("command", text, True)
    assert len(intent.summary) < 100
    assert intent.protected == ""


@pytest.mark.parametrize("text", ["ls \u202e", "ls \x1b[2J", "ls \u200b"])
async def test_command_that_is_not_what_it_looks_like_is_protected(bench: Bench, text: str) -> None:
    assert "the command has" in (await bench.plan("shell", command=text)).protected


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


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "told"), [("a\0b", "NUL"), ("a\ud800", "surrogate"), ("#" + "x" * 140_000, "too long")]
)
async def test_command_that_cannot_be_started_is_told(bench: Bench, text: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        await bench.run("shell", command=text)


ASKING = [
    *("cat", "read -r line", "python3 -c 'input()'", "cat </dev/tty", "tty", "sudo -k true", "su nobody"),
    *("ssh nobody@127.0.0.1", "git clone https://127.0.0.1:1/x", "less /etc/passwd", "passwd"),
    "git init -q && git -c user.name=a -c user.email=b commit --allow-empty",
]


@pytest.mark.timeout(60)
async def test_commands_that_ask_end_at_once(bench: Bench) -> None:
    outcome = await bench.run("shell", command="\n".join([*ASKING, "echo all of them"]))
    assert outcome.content.endswith("\nall of them")


async def test_input_of_the_program_is_not_the_commands(bench: Bench) -> None:
    ours, theirs = os.pipe()
    before = os.dup(0)
    os.dup2(ours, 0)
    try:
        os.write(theirs, b"typed by the person\n")
        assert (await bench.run("shell", command="head -1", timeout=20)).content == "exit 0\n(no output)"
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
    await asyncio.wait_for(seen.wait(), 30)
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


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
async def test_time_out_stops_the_command_and_keeps_its_output(quick: Bench) -> None:
    outcome = await quick.run("shell", command="echo before; sleep 60; echo after", timeout=3)
    assert outcome.failed
    assert outcome.outcome == "timed out after 3 s and was stopped"
    assert outcome.content == (
        "timed out after 3 s and was stopped\nbefore\n[raise timeout (in seconds), or use background=true]"
    )


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
async def test_processes_that_ignore_the_signal_are_killed(quick: Bench) -> None:
    text = (
        "trap '' TERM; echo $$ >pid; (trap '' TERM; echo $BASHPID >child; while :; do sleep 1; done) & wait"
    )
    await quick.run("shell", command=text, timeout=3)
    assert await _gone(quick.root / "pid")
    assert await _gone(quick.root / "child")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["sleep 100 & disown", "sleep 100 & echo x", "nohup sleep 100 &"])
async def test_background_process_neither_holds_the_result_nor_stays(quick: Bench, text: str) -> None:
    outcome = await quick.run("shell", command=f"{text}\necho $! >pid")
    assert not outcome.failed
    assert "processes that it left were stopped; to keep a process, use background=true" in outcome.content
    assert await _gone(quick.root / "pid")


async def test_what_a_background_process_still_writes_is_waited_for(bench: Bench) -> None:
    outcome = await bench.run("shell", command="(sleep 0.1; echo late) & echo early")
    assert outcome.content == "exit 0\nearly\nlate"


@pytest.mark.timeout(60)
async def test_cancelled_command_leaves_no_process(quick: Bench) -> None:
    text = "echo $$ >pid; (trap '' TERM; echo $BASHPID >child; while :; do sleep 1; done) & wait"
    call = quick.registry.bind("shell", {"command": text}, quick.context)
    running = asyncio.create_task(call.run())
    await _until(lambda: _pid(quick.root / "pid") and _pid(quick.root / "child"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await _gone(quick.root / "pid")
    assert await _gone(quick.root / "child")


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
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


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
async def test_endless_output_is_cut_and_the_loop_stays_free(quick: Bench) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    outcome = await quick.run("shell", command="yes", timeout=1)
    ticking.cancel()
    assert len(outcome.content) < HEAD + TAIL + 200
    assert "bytes of output were cut here" in outcome.content
    assert sum(map(len, quick.reported)) < 2_000_000
    # In its second; next to none where reading holds the loop.
    assert ticks > 20


async def test_nobody_is_asked_in_an_editor_or_a_window(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EDITOR", "VISUAL", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS"):
        monkeypatch.setenv(name, "sleep 1000")
    text = 'git var GIT_EDITOR; echo "$EDITOR$VISUAL$GIT_ASKPASS$SSH_ASKPASS$SUDO_ASKPASS"'
    assert (await bench.run("shell", command=text)).content == "exit 0\ntrue\nfalsefalse"


async def test_there_is_no_terminal(bench: Bench) -> None:
    ways = ("tty", "(exec 3<>/dev/tty)", "python3 -c 'import os; os.ttyname(0)'")
    outcome = await bench.run("shell", command="; ".join(f"{way} && echo there is one" for way in ways))
    assert outcome.failed
    assert "there is one" not in outcome.content


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
async def test_one_line_of_3_megabytes_is_cut_with_both_ends_kept(bench: Bench) -> None:
    outcome = await bench.run(
        "shell", command="printf start; head -c 3000000 /dev/zero | tr '\\0' x; printf end"
    )
    head, cut, tail = outcome.content.partition("\n[… ")
    assert head.startswith("exit 0\nstartxxx")
    assert cut
    assert tail.startswith("2,000,008 bytes")
    assert tail.endswith("xxxend")


@pytest.mark.exhaustive
@pytest.mark.timeout(120)
async def test_much_output_comes_to_its_end_in_bounded_memory(bench: Bench) -> None:
    before = _memory()
    outcome = await bench.run("shell", command="head -c 60M /dev/zero; echo end", timeout=100)
    assert outcome.outcome.startswith("exit 0")
    assert outcome.content.endswith("\0end")
    assert _memory() - before < 20_000


async def test_keys_are_not_in_the_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.context.secrets = {"OUR_THING": "hidden-value"}
    monkeypatch.setenv("SOME_API_KEY", "k1")
    monkeypatch.setenv("OTHER", "hidden-value")
    monkeypatch.setenv("PLAIN", "seen")
    content = (await bench.run("shell", command="env")).content
    assert "PLAIN=seen" in content
    assert "SOME_API_KEY" not in content
    assert "OTHER=" not in content


async def test_our_keys_are_not_in_the_result(bench: Bench) -> None:
    bench.context.secrets = {"OPENAI_API_KEY": "sk-very-secret"}
    bench.put("leak", "it is sk-very-secret!\n")
    outcome = await bench.run("shell", command="cat leak")
    assert outcome.content == "exit 0\nit is [OPENAI_API_KEY is not shown]!"


async def test_our_keys_are_not_in_what_is_shown_live(bench: Bench) -> None:
    bench.context.secrets = {"OPENAI_API_KEY": "sk-very-secret"}
    await bench.run("shell", command="printf 'a sk-very-'; sleep 0.2; printf 'secret b sk-v'")
    assert "".join(bench.reported) == "a [OPENAI_API_KEY is not shown] b sk-v"


EVIL = "x\"; touch pwned; echo \"`touch pwned`$(touch pwned)\n$HOME \\ '; touch pwned; ' é\n"


@pytest.mark.parametrize(
    "text",
    [
        'printf %s "$evil"',
        'printf %s "${evil}"',
        "bash -c 'printf %s \"$evil\"'",
        "cat <<EOF | head -c -1\n$evil\nEOF",
    ],
)
async def test_a_value_is_text_whatever_stands_in_it(bench: Bench, text: str) -> None:
    bench.context.variables = {"evil": EVIL}
    bench.context.takes_value = True
    outcome = await bench.run("shell", command=text)
    assert outcome.produced == EVIL
    assert list(bench.root.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["$evil", 'eval "$evil"', 'bash -c "$evil"', 'echo "$evil" | sh', "python3 -c \"print('$evil')\""]
)
async def test_a_value_is_never_run(bench: Bench, text: str) -> None:
    bench.context.variables = {"evil": "touch pwned"}
    with pytest.raises(ToolError, match="A value cannot be run as a command") as caught:
        await bench.run("shell", command=text)
    assert '"$evil"' in caught.value.hint
    assert list(bench.root.iterdir()) == []


async def test_a_number_may_be_reckoned_with(bench: Bench) -> None:
    bench.context.variables = {"n": "20\n"}
    assert (await bench.run("shell", command="echo $(( $n + 1 )) $((n * 2))")).content == "exit 0\n21 40"


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "IFS", "BASH_ENV", "LD_PRELOAD", "X", "_", "_1", "here_now"),
        *("https_proxy", "npm_config_registry", "ld_preload", "histchars"),
    ],
)
async def test_a_name_that_means_something_already_is_refused(
    bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("here_now", "1")
    bench.context.variables = {name: "x"}
    with pytest.raises(ToolError, match=re.escape(f"${name} cannot be passed to a command")) as caught:
        await bench.plan("shell", command=f"echo ${name}")
    assert "another output_key" in caught.value.hint


async def test_the_longest_value_that_a_variable_can_have_is_one(bench: Bench) -> None:
    longest = (1 << 17) - len("name=") - 1
    bench.context.variables = {"name": "é" + "x" * (longest - 2)}
    outcome = await bench.run("shell", command='printf %s "$name" | wc -c')
    assert outcome.content == f"exit 0\n{longest}"


@pytest.mark.parametrize("value", ["é" + "x" * ((1 << 17) - 7), "a\0b"])
async def test_a_value_that_no_variable_can_have_is_a_file(bench: Bench, value: str) -> None:
    bench.context.variables = {"name": value}
    text = 'stat -c %a "$name"; cp "$name" copy; echo "$name" > place; printf end'
    outcome = await bench.run("shell", command=text)
    status, mode, end, note = outcome.content.split("\n")
    assert (status, mode, end) == ("exit 0", "600", "end")
    assert note.startswith("[$name ")
    assert note.endswith(": it was the name of a file with the value]")
    assert (bench.root / "copy").read_text() == value
    place = Path((bench.root / "place").read_text().strip())
    assert not place.exists()
    assert not place.parent.exists()


async def test_the_file_of_a_value_goes_with_a_command_that_is_cancelled(quick: Bench) -> None:
    quick.context.variables = {"name": "x" * 200_000}
    call = quick.registry.bind(
        "shell", {"command": 'echo "$name" > place; echo $$ > pid; while :; do :; done'}, quick.context
    )
    running = asyncio.create_task(call.run())
    await _until(lambda: _pid(quick.root / "pid"))
    place = Path((quick.root / "place").read_text().strip())
    assert place.exists()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not place.parent.exists()


@pytest.mark.exhaustive
async def test_values_that_are_too_long_together_are_told(bench: Bench) -> None:
    bench.context.variables = {f"name{number}": "x" * 120_000 for number in range(60)}
    with pytest.raises(ToolError, match="its values are too long"):
        await bench.run("shell", command="true")


async def test_a_value_with_half_a_character_is_told(bench: Bench) -> None:
    bench.context.variables = {"name": "\ud800"}
    with pytest.raises(ToolError, match="surrogate"):
        await bench.plan("shell", command='echo "$name"')


async def test_the_question_shows_the_values_and_tells_them_apart(bench: Bench) -> None:
    values = {"short": 'a"\nwith', "long": "x" * 1000 + "1"}
    bench.context.variables = values
    intent = await bench.plan("shell", command='echo "$short" "$long"')
    command, _, told = intent.detail.partition("\n\n")
    assert command == 'echo "$short" "$long"'
    _, short, long = told.split("\n")
    assert short == r'  short = "a\"\nwith"'
    assert long.startswith(f'  long = "{"x" * 200}" … (1,001 characters, SHA-256 ')
    bench.context.variables = values | {"long": "x" * 1000 + "2"}
    assert (await bench.plan("shell", command='echo "$short" "$long"')).detail != intent.detail
    assert pattern_for(intent, bench.root) == ""


async def test_what_a_command_with_values_would_destroy_is_asked_about(bench: Bench) -> None:
    bench.put("a", "1")
    bench.context.variables = {"name": "b"}
    (loss,) = (await bench.plan("shell", command='rm a; echo "$name"')).losses
    assert [path.name for path in loss.paths] == ["a"]
    assert (await bench.plan("shell", command='rm "$name"')).losses


async def test_what_a_command_produces_is_its_standard_output(bench: Bench) -> None:
    bench.context.takes_value = True
    outcome = await bench.run("shell", command="echo out; echo err >&2; printf 'more\n\n'")
    assert outcome.produced == "out\nmore\n\n"
    lines = [line for line in str(outcome.content).split("\n") if line]
    assert sorted(lines) == ["err", "exit 0", "more", "out"]
    assert "err\n" in "".join(bench.reported)
    assert (await bench.run("shell", command="true")).produced == ""


async def test_what_a_command_produces_is_whole(bench: Bench) -> None:
    bench.context.takes_value = True
    outcome = await bench.run("shell", command="head -c 1000000 /dev/zero | tr '\\0' x; echo err >&2")
    assert outcome.produced == "x" * 1_000_000
    assert "bytes of output were cut here" in outcome.content


@pytest.mark.exhaustive
async def test_more_than_a_value_can_hold_is_a_failure(bench: Bench) -> None:
    bench.context.takes_value = True
    outcome = await bench.run("shell", command="head -c 20000000 /dev/zero")
    assert outcome.failed
    assert outcome.content.endswith("too long for an output_key]")


async def test_our_keys_are_not_in_what_is_produced(bench: Bench) -> None:
    bench.context.secrets = {"OPENAI_API_KEY": "sk-very-secret"}
    bench.context.takes_value = True
    assert "very" not in (await bench.run("shell", command="echo sk-very-secret")).produced


async def test_background_command_has_values_but_no_files_of_them(lasting: Bench) -> None:
    lasting.context.variables = {"name": "it"}
    outcome = await lasting.run("shell", command='echo "$name"; sleep 1000', background=True)
    assert outcome.content.endswith("\nit")
    lasting.context.variables = {"name": "x" * 200_000}
    with pytest.raises(ToolError, match="such a long value"):
        await lasting.run("shell", command='echo "$name"; sleep 1000', background=True)


async def test_background_command_goes_on_after_the_call(lasting: Bench) -> None:
    outcome = await lasting.run("shell", command="echo one; sleep 1000; echo two", background=True)
    assert (outcome.outcome, outcome.failed) == ("p1 runs in the background", False)
    assert outcome.content == "started in the background as p1\none"
    assert "".join(lasting.reported) == "one\n"
    listed = await lasting.run("processes")
    assert listed.outcome == "1 running, 0 ended"


async def test_background_command_says_so_in_the_question(lasting: Bench) -> None:
    lasting.put("sub/x", "")
    intent = await lasting.plan("shell", command="make watch", cwd="sub", background=True)
    assert intent.keeps_running
    assert intent.summary == "Run make watch in sub in the background"


async def test_background_command_that_ends_at_once_is_told_as_ended(lasting: Bench) -> None:
    outcome = await lasting.run("shell", command="echo no such server; exit 3", background=True)
    assert outcome.failed
    assert outcome.outcome == "exit 3"
    assert outcome.content == "exit 3\nno such server"


async def test_background_command_whose_call_is_cancelled_is_ended(lasting: Bench) -> None:
    call = lasting.registry.bind(
        "shell", {"command": "echo $$ >pid; sleep 1000", "background": True}, lasting.context
    )
    running = asyncio.create_task(call.run())
    await _until(lambda: _pid(lasting.root / "pid"))
    if not running.cancel():
        pytest.skip("the machine is so slow that the call was over before it could be cancelled")
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await _gone(lasting.root / "pid")


async def test_background_without_a_place_for_it_is_refused(bench: Bench) -> None:
    bench.registry = Registry([Shell()])
    with pytest.raises(ToolError, match="background"):
        await bench.run("shell", command="true", background=True)


async def test_command_that_kills_what_watches_over_it_failed(quick: Bench) -> None:
    outcome = await quick.run("shell", command="echo $$ >pid; kill -9 $PPID; sleep 1000")
    assert outcome.failed
    assert "its supervisor process was killed" in outcome.outcome
    assert await _gone(quick.root / "pid")


async def test_required_sandbox_that_is_not_there_is_told(bench: Bench) -> None:
    bench.registry = Registry([Shell(sandbox=Sandbox("require", bwrap="/none/bwrap"))])
    with pytest.raises(ToolError, match="bwrap could not be started: No such file"):
        await bench.run("shell", command="touch it")
    assert not (bench.root / "it").exists()


async def test_no_handle_is_left_open(bench: Bench) -> None:
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("needs /proc")
    await bench.run("shell", command="true")
    before = len(list(handles.iterdir()))
    for _ in range(3):
        await bench.run("shell", command="true")
    assert len(list(handles.iterdir())) == before


async def test_no_handle_is_left_open_by_a_start_that_is_cancelled_twice(bench: Bench) -> None:
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("needs /proc")
    await bench.run("shell", command="true")
    before = len(list(handles.iterdir()))
    running = asyncio.create_task(
        run_command("sleep 60", bench.root, dict(os.environ), 60, bench.reported.append, 0.2)
    )
    await _until(lambda: len(list(handles.iterdir())) > before)
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(list(handles.iterdir())) == before


def _memory() -> int:
    """The most that this process has had, in KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)
