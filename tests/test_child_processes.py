"""Every start of a process: through one door, without keys, importing nothing of the project."""

import ast
import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import cogency_tui
from cogency_tui.child_environment import withhold_from_children, without_secrets
from cogency_tui.child_processes import (
    MARK,
    Job,
    helper_environment,
    interpreter,
    output_of,
)
from cogency_tui.errors import ToolError
from cogency_tui.process_identity import start_of
from tests.cases import cases

ROOT = Path(cogency_tui.__file__).parent
STARTERS = frozenset(
    {
        *(
            "Popen",
            "create_subprocess_exec",
            "create_subprocess_shell",
            "subprocess_exec",
            "subprocess_shell",
        ),
        *("check_call", "check_output", "getoutput", "getstatusoutput", "open_process", "run_process"),
        *("ProcessPoolExecutor", "fork_exec", "stdio_client"),
    }
)
OF_OS = ("system", "popen", "fork", "posix_spawn", "startfile", "exec", "spawn")
STARTING_MODULES = frozenset({"subprocess", "multiprocessing", "pty", "webbrowser", "_posixsubprocess"})
DOORS = {
    "child_processes.py": {"Popen", "create_subprocess_exec", "run", "sys.executable"},
    # Under what ends commands; what they are given comes from `shell`, `background` and `mcp`.
    "tools/shell/orphans.py": {"Popen"},
    "tools/supervision/supervisor.py": {"fork", "execv", "sys.executable"},
    "tools/supervision/system_calls.py": {"fork", "execv"},
    # Only shows it.
    "agent/doctor.py": {"sys.executable"},
    # In the host of an MCP server, with what the user configured.
    "tools/mcp/stdio.py": {"create_subprocess_exec"},
}


NAMES = re.compile(
    rf"\b({'|'.join((*STARTERS, *STARTING_MODULES))})\b|\bsys\.executable\b|\bos\.({'|'.join(OF_OS)})"
)
"""One of these is in the text of all that starts a process."""


def spelled(node: ast.expr) -> str:
    """A name as it is written, with what it is taken from as far as that is a name."""
    if isinstance(node, ast.Attribute):
        return f"{spelled(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def starts_in(path: Path) -> set[str]:
    """What a module calls that starts processes, and whether it names our interpreter."""
    found: set[str] = set()
    text = path.read_text()
    if not NAMES.search(text):
        return found
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "executable"
            and ast.unparse(node) == "sys.executable"
        ):
            found.add("sys.executable")
        if not isinstance(node, ast.Call):
            continue
        called = spelled(node.func)
        module, _, name = called.rpartition(".")
        of_os = module == "os" and name.startswith(OF_OS)
        if module in STARTING_MODULES or name in STARTERS or of_os:
            found.add(name)
    return found


@pytest.mark.exhaustive
def test_no_other_module_starts_processes() -> None:
    found = {str(path.relative_to(ROOT)): starts_in(path) for path in ROOT.rglob("*.py")}
    assert {name: starts for name, starts in found.items() if starts} == DOORS


def test_every_start_names_its_environment() -> None:
    """One without would pass on ours."""
    for name in ("child_processes.py", "tools/shell/orphans.py"):
        calls = [
            node for node in ast.walk(ast.parse((ROOT / name).read_text())) if isinstance(node, ast.Call)
        ]
        starts = [
            call
            for call in calls
            if spelled(call.func) in ("subprocess.run", "subprocess.Popen", "asyncio.create_subprocess_exec")
        ]
        assert starts
        assert all("env" in {each.arg for each in call.keywords} for call in starts)


SHADOWED = ("argparse", "sqlite3", "json", "asyncio", "ctypes", "msgspec", "sitecustomize", "usercustomize")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A project whose modules, and programs, say so when they run."""
    project = tmp_path / "project"
    trap = f"open({str(tmp_path / 'canary')!r}, 'a').write(__name__ + chr(10))\n"
    for name in (*(f"{each}.py" for each in SHADOWED), "cogency_tui/__init__.py", "cogency_tui/cli/main.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(trap)
    places = project / ".venv" / "bin"
    places.mkdir(parents=True)
    for name in ("git", "bash", "python", "python3", "xdg-open", "xclip", "our-editor", "bwrap", "ps"):
        for program in (project / name, places / name):
            program.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/canary\n")
            program.chmod(0o755)
    (tmp_path / "linked").symlink_to(places)
    (project / "pyvenv.cfg").write_text("home = .\n")
    return project


def test_nothing_of_the_project_is_imported(hostile: Path) -> None:
    command = interpreter(
        "import argparse, sqlite3, json, ctypes, cogency_tui.cli.main; print(cogency_tui.__file__)"
    )
    hints = {"PYTHONPATH": f".:{hostile}", "PYTHONSTARTUP": "json.py", "PYTHONINSPECT": "1"}
    hints |= {"PYTHONHOME": str(hostile), "PYTHONPLATLIBDIR": str(hostile), "PYTHONUSERBASE": str(hostile)}
    done = subprocess.run(
        command,
        cwd=hostile,
        env={**os.environ, **hints},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == ROOT / "__init__.py"
    assert not hostile.with_name("canary").exists()


KEY = "canary-of-no-known-form-77"
"""Looks like nothing: only its variable is known to hold a key."""

PROGRAM = """
import asyncio, json, os, sys
starts = []
def heard(event, args):
    if event == "subprocess.Popen":
        starts.append((args[1], args[3]))
    elif event in ("os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.fork"):
        starts.append(([event], None))
sys.addaudithook(heard)

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from cogency_tui.agent.agent import Agent
from cogency_tui.agent.environment import describe
from cogency_tui.config.mcp import McpSettings
from cogency_tui.store.search.index_process import lines as _  # it is there
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.shell.background import Background
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.tools.mcp.server import Surroundings
from cogency_tui.tools.mcp.servers import Servers
from cogency_tui.tools.registry import Registry, default_tools
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.tools.web.parser_process import in_child
from cogency_tui.tui.terminal import external_editor
from cogency_tui.tui.terminal.clipboard import copy
from cogency_tui.tui.terminal.link_opener import open_address
from cogency_tui.workspace.paths import Workspace

async def main(server):
    project = Path.cwd()
    agent = Agent(llm="offline", project=project)
    secrets = {"ODD_ONE": os.environ["ODD_ONE"]}
    workspace = Workspace(project)
    context = ToolContext(workspace, secrets=secrets)
    async def call(tool, **args):
        return await Registry(default_tools()).bind(tool, args, context).run()
    await call("find", content="x+")
    await call("replace", pattern="*.txt", old="a", new="b")
    said = await call("shell", command="env; cat /proc/$PPID/environ")
    await in_child("tests.tools.children", b"environ", 20, "Reading it")
    Repository(project).status()
    describe(workspace, "ask", can_ask=True)
    await Sandbox("auto").probe(workspace)
    async for _progress in agent.recall.update_index(least=0):
        pass
    servers = Servers(Surroundings(project, os.environ, secrets))
    servers.configure({"peer": McpSettings(command=sys.executable, args=["-P", server, "plain"])})
    await servers.settle(None)
    ready = servers.listed()[0].state.value
    await servers.close()
    await copy("text", os.environ, lambda _text: None)
    with suppress(Exception):
        await open_address("https://example.org")
    app = SimpleNamespace(batch_update=Nothing, suspend=Nothing)
    with suppress(Exception):
        await external_editor.open_outside(app, "a.txt", os.environ)
    await agent.close()
    print(json.dumps({"starts": starts, "said": said.content, "ready": ready}))

class Nothing:
    def __enter__(self): pass
    def __exit__(self, *_): pass

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def walked(hostile: Path, tmp_path: Path) -> dict[str, Any]:
    """All that our program starts in a hostile project, with a key and a search path that leads into it."""
    (hostile / "a.txt").write_text("a\n")
    subprocess.run(["git", "init", "-q"], cwd=hostile, check=True)
    config = tmp_path / "config.toml"
    config.write_text(
        '[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nkey_env = "ODD_ONE"\n'
    )
    places = tmp_path / "bin"
    places.mkdir()
    for name in ("xclip", "xdg-open", "our-editor"):
        (places / name).write_text("#!/bin/sh\ncat > /dev/null\n")
        (places / name).chmod(0o755)
    environ = {
        **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
        "PATH": f".::{hostile}/.venv/bin:{tmp_path}/linked:{places}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{hostile}:",
        "ODD_ONE": KEY,
        "SOME_API_KEY": "short",
        "DISPLAY": ":0",
        "EDITOR": "our-editor",
        "COGENCY_CONFIG": str(config),
        "COGENCY_DATA": str(tmp_path / "data"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Joe",
    }
    server = Path(__file__).parent / "peers" / "mcp_server.py"
    done = subprocess.run(
        [*interpreter(PROGRAM), str(server)],
        cwd=hostile,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/PID/environ")
def test_every_start_is_without_keys_and_imports_nothing_of_the_project(
    walked: dict[str, Any], tmp_path: Path
) -> None:
    starts: list[tuple[list[str], dict[str, str] | None]] = walked["starts"]
    lines = [" ".join(argv) for argv, _environ in starts]
    for what in (
        *(
            "workspace.search_worker",
            "tests.tools.children",
            "search.index_process",
            "supervision.supervisor",
            "git -c",
            "--version",
        ),
        *("/bin/xclip", "/bin/xdg-open", "/bin/our-editor a.txt"),
    ):
        assert any(what in line for line in lines), (what, lines)
    assert walked["ready"] == "ready"
    for argv, environ in starts:
        assert environ is not None, argv
        assert KEY not in environ.values(), argv
        assert not {"ODD_ONE", "SOME_API_KEY"} & environ.keys(), argv
        settings = [environ[f"GIT_CONFIG_KEY_{n}"] for n in range(int(environ["GIT_CONFIG_COUNT"]))]
        assert "safe.bareRepository" in settings, argv
        if argv[0] == sys.executable:
            assert argv[1] in ("-P", "-I"), argv
        assert Path(argv[0]).is_absolute(), argv
        assert not Path(argv[0]).is_relative_to(tmp_path / "project"), argv
        if MARK[0] in environ:
            assert not {".", "", f"{tmp_path}/linked"} & {*environ["PATH"].split(os.pathsep)}, argv
            assert str(tmp_path / "project") not in environ["PATH"], argv
            assert "LD_LIBRARY_PATH" not in environ, argv
    assert KEY not in walked["said"]
    assert "SOME_API_KEY=short" not in walked["said"]
    assert not (tmp_path / "canary").exists()


def test_settings_of_git_that_the_user_has_stay() -> None:
    given = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    given |= {"GIT_CONFIG_KEY_1": "http.extraHeader", "GIT_CONFIG_VALUE_1": "ghp_" + "aB3dE5gH7" * 4}
    environ = without_secrets(given)
    # Half of a pair would have git refuse everything.
    assert environ == {
        **{"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"},
        **{"GIT_CONFIG_KEY_1": "safe.bareRepository", "GIT_CONFIG_VALUE_1": "explicit"},
    }
    assert without_secrets(environ) == environ


@cases("count", ["", "x", "-1", "9" * 30, "²"])
def test_a_count_of_settings_that_is_none_is_no_harm(count: str) -> None:
    assert without_secrets({"GIT_CONFIG_COUNT": count})["GIT_CONFIG_KEY_0"] == "safe.bareRepository"


def test_git_takes_no_directory_for_a_bare_repository(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    command = ["git", "rev-parse", "--git-dir"]
    for environ in (without_secrets(os.environ), helper_environment()):
        assert subprocess.run(command, cwd=bare, env=environ, capture_output=True, check=False).returncode


def test_a_variable_that_was_named_is_in_no_environment() -> None:
    environ = {"NAMED_BEFORE": "some value", "OTHER": "some value", "PLAIN": "x"}
    withhold_from_children(["NAMED_BEFORE"])
    assert {"PLAIN"} == {name for name in without_secrets(environ) if not name.startswith("GIT_")}


def test_a_search_path_has_no_relative_entry() -> None:
    assert helper_environment(environ={"PATH": ".:/usr/bin::bin:/bin"})["PATH"] == "/usr/bin:/bin"


JOB = Job("tests.tools.children", most=1 << 20, nice=5)


def wait_for_end(pid: int) -> None:
    while start_of(pid) is not None:
        time.sleep(0.01)


async def test_a_job_gives_its_answer_at_its_priority() -> None:
    answer = json.loads(await JOB.answer(b"x", seconds=60, name="It"))
    assert answer["nice"] == str(os.nice(0) + 5)
    assert answer[MARK[0]] == MARK[1]


async def test_a_job_that_refuses_gives_its_words() -> None:
    with pytest.raises(ToolError, match="It cannot be") as caught:
        await JOB.answer(b"refuse", seconds=60, name="It")
    assert caught.value.hint == "Try another."


async def test_a_job_that_gives_too_much_is_stopped() -> None:
    with pytest.raises(ToolError, match="It gave more than 1,048,576 bytes and was stopped"):
        await JOB.answer(b"flood", seconds=60, name="It")


@pytest.mark.exhaustive
async def test_a_flood_that_nobody_reads_holds_nothing_up() -> None:
    patient = Job(JOB.module, most=1 << 40)
    with pytest.raises(ToolError, match=r"It took longer than 0\.5 s"):
        await patient.answer(b"flood", seconds=0.5, name="It")


async def test_a_job_that_fails_gives_the_last_line_of_its_errors() -> None:
    with pytest.raises(ToolError, match=r"It failed \(status 4\): the end"):
        await JOB.answer(b"chatter", seconds=60, name="It")


async def test_a_request_that_is_not_read_is_no_error_of_its_own() -> None:
    with pytest.raises(ToolError, match=r"It failed \(status 1\): ModuleNotFoundError"):
        await Job("tests.nothing").answer(b"x" * (8 << 20), seconds=60, name="It")


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows whether it runs")
async def test_what_a_job_started_ends_with_it(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"longer than 2 s"):
        await JOB.answer(b"leave %s" % bytes(tmp_path / "pid"), seconds=2, name="It")
    wait_for_end(int((tmp_path / "pid").read_text()))


async def test_lines_come_as_they_are_written_and_end_with_their_consumer() -> None:
    async with aclosing(JOB.lines("a", "b")) as lines:
        pid, nice = (await anext(lines)).split()
        assert [await anext(lines), await anext(lines)] == ["a", "b"]
        assert int(nice) == os.nice(0) + 5
        assert start_of(int(pid)) is not None
    assert start_of(int(pid)) is None


async def test_lines_end_with_a_cancelled_consumer() -> None:
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def consume() -> None:
        async with aclosing(JOB.lines()) as lines:
            async for line in lines:
                heard.set_result(line)

    task = asyncio.create_task(consume())
    pid = int((await heard).split()[0])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert start_of(pid) is None


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pids of what is started."""
    pids: list[int] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            pids.append(self.pid)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return pids


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the garbage collector complains of, such as a pipe that was not closed."""
    found: list[str] = []

    def note(failure: Any) -> None:
        found.append(repr(failure.exc_value))

    monkeypatch.setattr(sys, "unraisablehook", note)
    return found


Use = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""Uses a job, and sets the event when it has begun to work."""


async def listen(begun: asyncio.Event) -> None:
    async with aclosing(JOB.lines()) as lines:
        async for _ in lines:
            begun.set()


async def ask(_begun: asyncio.Event) -> None:
    await JOB.answer(b"sleep", seconds=600, name="It")


async def run_command(_begun: asyncio.Event) -> None:
    await output_of(["sleep", "600"], os.environ, seconds=600, limit=1)


async def turns(count: int) -> None:
    """Have the event loop call `count` times what is ready."""
    for _ in range(count):
        await asyncio.sleep(0)


async def cancel_and_leave(use: Use, pauses: Sequence[int], *, at_work: bool) -> None:
    """Cancel a use of a job after each pause but the last, after which the event loop closes and cancels it once
    more; the first one begins when the job is `at_work`, or else with the use."""
    begun = asyncio.Event()
    task = asyncio.create_task(use(begun))
    if at_work:
        await begun.wait()
    for pause in pauses[:-1]:
        await turns(pause)
        task.cancel()
    await turns(pauses[-1])


MOMENTS = range(16)
"""Turns of the event loop: after the last one the pipes of a process are connected."""


@pytest.mark.timeout(120)
@cases(
    "use, pauses, at_work",
    [
        *((use, (moment,), False) for use in (listen, ask, run_command) for moment in MOMENTS),
        *(
            (use, (moment, last), False)
            for use in (listen, ask, run_command)
            for moment in MOMENTS
            for last in (0, 1, 3)
        ),
        *((listen, pauses, True) for pauses in ((0,), (0, 0), (0, 1), (0, 2), (1, 1, 0), (1, 1, 1, 1, 1))),
    ],
)
def test_a_process_whose_user_is_cancelled_again_and_again_has_ended_when_the_loop_closes(
    use: Use, pauses: Sequence[int], at_work: bool, started: list[int], unraisable: list[str]
) -> None:
    started.clear()
    asyncio.run(cancel_and_leave(use, pauses, at_work=at_work))
    gc.collect()
    complaints, unraisable[:] = [*unraisable], []
    assert complaints == []
    for pid in started:
        with pytest.raises(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


PARENT = """
import asyncio
from cogency_tui.child_processes import Job
async def main():
    async for line in Job("tests.tools.children").lines():
        print(line, flush=True)
asyncio.run(main())
"""


@pytest.mark.timeout(60)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends at its next step")
def test_lines_end_with_a_program_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline().split()[0])
        parent.kill()
    wait_for_end(pid)
