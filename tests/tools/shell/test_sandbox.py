"""The sandbox: what commands in it can see, change and reach; and what is said where there is none."""

import asyncio
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import ToolContext
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.command_execution import Ended, run_command
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.tools.shell.shell_tool import Shell
from cogency_tui.workspace.paths import Workspace
from tests import ROOT
from tests.tools.conftest import Bench
from tests.tools.survivors import MARK, none_survives, survivors, until

pytestmark = pytest.mark.timeout(60)


def _why_not() -> str:
    """Why there is no sandbox on this machine; empty where there is."""
    with tempfile.TemporaryDirectory() as directory:
        sandbox = Sandbox("auto")

        async def tried() -> bool:
            try:
                return await sandbox.probe(Workspace(Path(directory)))
            finally:
                await sandbox.close()

        return "" if asyncio.run(tried()) else sandbox.state


_WHY_NOT = _why_not()
sandboxed = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "there is a sandbox")


class Box:
    """A project in a home directory, and commands in a sandbox of it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "proj"
        self.root.mkdir()
        self.hidden = home / "data"
        self.hidden.mkdir()
        self.sandbox = Sandbox("require", [self.hidden, home / "config.toml"])
        self.workspace = Workspace(self.root)

    async def run(self, text: str, **environ: str) -> Ended:
        return await run_command(
            text,
            self.root,
            self.sandbox.environment({**os.environ, **environ}),
            20,
            lambda _text: None,
            0.2,
            await self.sandbox.wrapper(self.workspace, self.root),
        )

    async def fails(self, text: str) -> str:
        ended = await self.run(text)
        assert ended.status, ended
        return ended.output


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home that is not below /tmp, where the sandbox has something else."""
    home = Path(tempfile.mkdtemp(prefix="cogency-test-", dir="/var/tmp"))
    monkeypatch.setenv("HOME", str(home))
    yield home
    shutil.rmtree(home)


@pytest.fixture
async def box(home: Path) -> AsyncIterator[Box]:
    box = Box(home)
    yield box
    await box.sandbox.close()


@sandboxed
async def test_state_says_that_there_is_one(box: Box) -> None:
    assert box.sandbox.state == "not sandboxed: not tried yet"
    assert await box.sandbox.probe(box.workspace)
    assert box.sandbox.state == "sandboxed"


@sandboxed
async def test_project_can_be_written_and_nothing_else(box: Box) -> None:
    assert (await box.run("echo in >file && mkdir d && rm -r d")).status == 0
    assert (box.root / "file").read_text() == "in\n"
    for place in (box.home, "/", "/etc", "/usr", "/var/tmp", "/sys", "/root"):
        assert await box.fails(f"echo x >{place}/x") != ""
    assert "Read-only" in await box.fails("rm -rf ../proj/../data/* && touch ../x")


@sandboxed
async def test_system_cannot_be_set(box: Box) -> None:
    for name in ("sys/kernel/hostname", "sys/kernel/core_pattern", "sys/vm/drop_caches", "sysrq-trigger"):
        assert await box.fails(f"echo x >/proc/{name}") != ""


@sandboxed
async def test_links_out_of_the_project_lead_to_nothing_that_can_be_written(box: Box) -> None:
    outside = box.home / "outside"
    outside.write_text("before")
    (box.root / "link").symlink_to(outside)
    assert "Read-only" in await box.fails("echo after >link")
    assert outside.read_text() == "before"


@sandboxed
async def test_temporary_files_are_private_and_stay_for_the_next_command(box: Box) -> None:
    with tempfile.NamedTemporaryFile(prefix="cogency-test-", dir="/tmp") as other:
        assert (await box.run(f"test ! -e {other.name} && echo mine >/tmp/mine && mktemp")).status == 0
    assert (await box.run("cat /tmp/mine")).output == "mine\n"
    assert not Path("/tmp/mine").exists()


@sandboxed
async def test_private_temporary_directory_goes_with_the_sandbox(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = Sandbox("auto")
    await sandbox.probe(box.workspace)
    (own,) = tmp_path.glob("cogency-sandbox-*")
    assert own.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(own)
    assert await sandbox.wrapper(box.workspace, box.root)
    (again,) = tmp_path.glob("cogency-sandbox-*")
    await sandbox.close()
    assert not again.exists()


@sandboxed
async def test_long_values_are_files_in_the_private_temporary_directory(box: Box, bench: Bench) -> None:
    value = "x" * 200_000
    bench.registry = Registry([Shell(sandbox=box.sandbox)])
    bench.context = ToolContext(box.workspace, variables={"name": value})
    outcome = await bench.run("shell", command='cp "$name" copy; echo "$name"')
    place = outcome.content.split("\n")[1]
    assert (box.root / "copy").read_text() == value
    assert place.startswith("/tmp/")
    assert "No such file" in await box.fails(f"cat {place}")


@sandboxed
async def test_secrets_are_hidden(box: Box) -> None:
    for name in (".ssh/id", ".gnupg/x", ".aws/credentials", ".config/gcloud/x", "data/store.db"):
        path = box.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
    for name in (".netrc", ".git-credentials", "config.toml", ".bash_history"):
        (box.home / name).write_text("secret")
    (box.home / "ordinary").write_text("seen")
    ended = await box.run("cd .. && cat ordinary; grep -rl secret . ; ls .ssh .aws data")
    assert ended.output.startswith("seen")
    assert "secret" not in (await box.run("cat ../.netrc ../config.toml ../.git-credentials")).output
    assert ".ssh/id" not in ended.output
    assert ended.output.rstrip().endswith(".aws:\n\n.ssh:\n\ndata:")


@sandboxed
async def test_hidden_place_that_is_a_link_is_hidden_where_it_leads(box: Box) -> None:
    keys = box.home / "keys"
    keys.mkdir()
    (keys / "id").write_text("secret")
    (box.home / ".ssh").symlink_to(keys)
    assert (await box.run("cat ~/.ssh/id ../keys/id")).status != 0


@sandboxed
async def test_secrets_are_hidden_where_the_project_is_the_home(box: Box) -> None:
    (box.home / ".ssh").mkdir()
    (box.home / ".ssh/id").write_text("secret")
    workspace = Workspace(box.home)
    wrapper = await box.sandbox.wrapper(workspace, box.home)
    text = "touch here && ! cat .ssh/id && ! ls data/*"
    ended = await run_command(text, box.home, os.environ, 20, lambda _text: None, wrapper=wrapper)
    assert ended.status == 0
    assert (box.home / "here").exists()


@sandboxed
async def test_project_in_a_hidden_place_is_there(box: Box) -> None:
    (box.hidden / "store.db").write_text("secret")
    root = box.hidden / "proj"
    root.mkdir()
    wrapper = await box.sandbox.wrapper(Workspace(root), root)
    text = "touch here && ls -A .."
    ended = await run_command(text, root, os.environ, 20, lambda _text: None, wrapper=wrapper)
    assert (ended.status, ended.output) == (0, "proj\n")


@sandboxed
async def test_directories_that_the_person_added_can_be_written(box: Box) -> None:
    added = box.home / "added"
    added.mkdir()
    wrapper = await box.sandbox.wrapper(Workspace(box.root, [added]), added)
    ended = await run_command("touch x", added, os.environ, 20, lambda _text: None, wrapper=wrapper)
    assert ended.status == 0
    assert (added / "x").exists()


@sandboxed
async def test_there_is_no_network(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert await box.fails(f"exec 3<>/dev/tcp/127.0.0.1/{port}") != ""
    interfaces = (await box.run("tail -n +3 /proc/net/dev | cut -d: -f1")).output.split()
    assert interfaces == ["lo"]


@sandboxed
async def test_programs_that_listen_outside_are_not_reached(box: Box) -> None:
    abstract = f"\0cogency-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(abstract)
        server.listen()
        text = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{abstract[1:]}')"
        (box.root / "connect.py").write_text(text)
        assert "refused" in await box.fails("python3 connect.py")
    ended = await box.run(
        "ls -A /run; echo $DBUS_SESSION_BUS_ADDRESS$SSH_AUTH_SOCK$XDG_RUNTIME_DIR",
        **dict.fromkeys(("DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"), "unix:path=/x"),
    )
    assert ended.output == "\n"


@sandboxed
async def test_key_agent_is_hidden_wherever_it_listens(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = box.home / "agent.sock"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(agent))
        server.listen()
        text = "import socket; socket.socket(socket.AF_UNIX).connect('../agent.sock')"
        (box.root / "connect.py").write_text(text)
        assert await box.fails("python3 connect.py") != ""


@sandboxed
async def test_devices_and_terminal_are_not_there(box: Box) -> None:
    seen = (await box.run("ls /dev")).output.split()
    known = {
        "fd",
        "full",
        "null",
        "ptmx",
        "pts",
        "random",
        "shm",
        "stderr",
        "stdin",
        "stdout",
        "tty",
        "urandom",
    }
    assert known <= set(seen) <= known | {"core", "zero", "console"}
    assert await box.fails("cat </dev/tty") != ""
    assert (await box.run("ls /dev/pts | grep -v ptmx; echo x >/dev/shm/x")).output == ""


@sandboxed
async def test_other_processes_are_not_seen(box: Box) -> None:
    ended = await box.run(f"ls /proc | grep -c '^[0-9]'; kill -0 {os.getpid()} && test {os.getpid()} -gt 50")
    assert ended.status
    assert int(ended.output.split()[0]) < 10
    assert (await box.run("kill -9 -1; exit 3")).status in (3, None, -signal.SIGKILL)


@sandboxed
async def test_what_is_hidden_or_read_only_cannot_be_uncovered(box: Box) -> None:
    (box.home / ".ssh").mkdir()
    (box.home / ".ssh/id").write_text("secret")
    for inside in ("", "unshare -Urm "):
        for text in (
            "umount ~/.ssh && cat ~/.ssh/id",
            "mount -o remount,rw,bind / && touch /etc/x",
            "mount -o remount,rw / && touch /etc/x",
        ):
            assert "secret" not in await box.fails(f"{inside}sh -c '{text}'")
    assert (await box.run("grep CapEff /proc/self/status")).output.split()[1] == "0" * 16


@sandboxed
async def test_commits_work_but_what_git_runs_cannot_be_changed(box: Box) -> None:
    await run_command("git init -q && mkdir -p .git/hooks", box.root, os.environ, 20, lambda _text: None)
    commit = "git -c user.name=a -c user.email=b"
    ended = await box.run(f"echo x >file && git add . && {commit} commit -qm one && git checkout -qb other")
    assert (ended.status, ended.output) == (0, "")
    for text in (
        "echo evil >.git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "echo evil >>.git/config",
        "mv .git old",
        "mv .git/hooks old",
        "rm -r .git",
    ):
        await box.fails(text)
    assert "evil" not in (box.root / ".git/config").read_text()
    assert not (box.root / ".git/hooks/pre-commit").exists()


@sandboxed
async def test_configuration_in_the_project_cannot_be_changed(box: Box) -> None:
    (box.root / ".cogency").mkdir()
    assert "Read-only" in await box.fails("touch .cogency/x")


@sandboxed
@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("exit 0", 0),
        ("exit 143", 143),
        ("kill -TERM $$", -signal.SIGTERM),
        ("kill -KILL $$", -signal.SIGKILL),
        ("exec >&- 2>&-; sleep 0.2; exit 5", 5),
    ],
)
async def test_end_comes_through_exactly(box: Box, text: str, status: int) -> None:
    assert (await box.run(text)).status == status


@sandboxed
async def test_nothing_is_left_and_the_shell_may_end_properly(box: Box) -> None:
    mark = str(random.randrange(10**14, 10**15))
    ended = await box.run(f"setsid sleep 1000.{mark} & echo x", **{MARK: mark})
    assert (ended.status, ended.left_behind) == (0, True)
    assert not survivors(mark)
    text = "trap 'echo bye; exit 4' TERM; echo on; while :; do sleep 0.01; done"
    background = Background(grace=5)
    wrapper = await box.sandbox.wrapper(box.workspace, box.root)
    id = await background.start(text, box.root, {**os.environ, MARK: mark}, wrapper)
    await until(lambda: background.output(id) == "on\n")
    assert (await background.stop(id)).described.startswith("exit 4 after ")
    assert background.output(id).endswith("bye\n")
    await none_survives(mark)


_PROGRAM = """
import asyncio, os
from pathlib import Path
from cogency_tui.tools.shell.command_execution import run_command
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.workspace.paths import Workspace

async def main():
    here = Path.cwd()
    wrapper = await Sandbox("auto").wrapper(Workspace(here), here)
    text = "setsid sleep 1000 & touch there; trap '' TERM; while :; do sleep 1000; done"
    await run_command(text, here, os.environ, 600, lambda _text: None, wrapper=wrapper)

asyncio.run(main())
"""


@sandboxed
async def test_nothing_is_left_in_the_sandbox_when_the_program_is_killed(bench: Bench) -> None:
    mark = str(random.randrange(10**14, 10**15))
    environ = {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)}
    temporary = bench.root.parent / "temporary"
    temporary.mkdir()
    environ["TMPDIR"] = str(temporary)
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, cwd=bench.root, env=environ
    )
    await until((bench.root / "there").exists)
    program.kill()
    await program.wait()
    assert survivors(mark)
    await none_survives(mark)


@sandboxed
async def test_killing_the_supervisor_in_the_sandbox_ends_everything(box: Box) -> None:
    mark = str(random.randrange(10**14, 10**15))
    text = f"setsid sleep 1000.{mark} & kill -9 $PPID; sleep 1000.{mark}"
    ended = await box.run(text, **{MARK: mark})
    assert (ended.status, ended.started) == (None, True)
    assert not survivors(mark)


@sandboxed
async def test_shell_says_why_a_command_may_have_failed(bench: Bench, home: Path) -> None:
    sandbox = Sandbox("auto")
    bench.registry = Registry([Shell(sandbox=sandbox)])
    assert (await bench.plan("shell", command="touch x")).confined
    outcome = await bench.run("shell", command="touch /etc/x")
    assert "it ran in a sandbox: no network" in outcome.content
    assert "sandbox" not in (await bench.run("shell", command="touch x")).content
    await sandbox.close()


def _broken(directory: Path, script: str) -> str:
    program = directory / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


_REFUSED = "echo 'bwrap: No permissions to create new namespace, ask your administrator' >&2; exit 1"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (_REFUSED, "bwrap: No permissions to create new namespace, ask your administrator"),
        ("exit 1", "bwrap failed"),
        ("kill -9 $$", "bwrap failed"),
        ("printf 'odd\\033[2J\\nmore'; exit 1", "odd␛[2J"),
    ],
)
async def test_without_a_working_sandbox_auto_goes_on_and_says_why(
    bench: Bench, tmp_path: Path, script: str, reason: str
) -> None:
    sandbox = Sandbox("auto", bwrap=_broken(tmp_path, script))
    bench.registry = Registry([Shell(sandbox=sandbox)])
    assert (await bench.run("shell", command="echo fine")).content == "exit 0\nfine"
    assert not (await bench.plan("shell", command="make")).confined
    assert sandbox.state == f"not sandboxed: {reason}"
    await sandbox.close()


async def test_without_a_working_sandbox_require_refuses(bench: Bench, tmp_path: Path) -> None:
    sandbox = Sandbox("require", bwrap=_broken(tmp_path, _REFUSED))
    bench.registry = Registry([Shell(sandbox=sandbox)])
    with pytest.raises(ToolError, match="there is none here: bwrap: No permissions") as raised:
        await bench.run("shell", command="touch it")
    assert "sandbox" in raised.value.hint
    assert not (bench.root / "it").exists()
    await sandbox.close()


async def test_sandbox_that_breaks_later_is_told(bench: Bench, tmp_path: Path) -> None:
    wrapper = [_broken(tmp_path, "echo bwrap: no more >&2; exit 1")]
    ended = await run_command("true", bench.root, os.environ, 10, lambda _text: None, wrapper=wrapper)
    assert (ended.described, ended.status, ended.output) == ("could not be started", None, "bwrap: no more\n")


async def test_sandbox_is_tried_once(bench: Bench, tmp_path: Path) -> None:
    sandbox = Sandbox("auto", bwrap=_broken(tmp_path, f"echo x >>{tmp_path}/tries; exit 1"))
    workspace = Workspace(bench.root)
    assert await asyncio.gather(*(sandbox.probe(workspace) for _ in range(5))) == [False] * 5
    assert (tmp_path / "tries").read_text() == "x\n"
    await sandbox.close()


async def test_sandbox_that_is_not_installed_is_told(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:relative")
    sandbox = Sandbox("auto")
    assert not await sandbox.probe(Workspace(bench.root))
    assert sandbox.state == "not sandboxed: bwrap is not installed"


async def test_program_that_the_project_could_have_put_there_is_not_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _broken(bench.root, "touch used; exit 1")
    monkeypatch.setenv("PATH", f"{bench.root}:.")
    sandbox = Sandbox("auto")
    assert not await sandbox.probe(Workspace(bench.root))
    assert sandbox.state == "not sandboxed: bwrap is not installed"


async def test_off_is_off(bench: Bench) -> None:
    sandbox = Sandbox("off")
    assert await sandbox.wrapper(Workspace(bench.root), bench.root) == []
    assert sandbox.state == "not sandboxed: switched off"


_NESTED = """
import asyncio, sys
from pathlib import Path
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.workspace.paths import Workspace

async def main():
    sandbox = Sandbox("auto")
    await sandbox.probe(Workspace(Path.cwd()))
    await sandbox.close()
    print(sandbox.state)

asyncio.run(main())
"""


@sandboxed
async def test_where_user_namespaces_are_not_allowed_there_is_none(bench: Bench) -> None:
    outer = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/"]
    trial = await asyncio.create_subprocess_exec(*outer, "true", stderr=subprocess.DEVNULL)
    if await trial.wait():
        pytest.skip("this bwrap cannot forbid them")
    process = await asyncio.create_subprocess_exec(
        *(*outer, sys.executable, "-c", _NESTED),
        cwd=bench.root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    state, _ = await process.communicate()
    assert state.startswith(b"not sandboxed: bwrap: ")
