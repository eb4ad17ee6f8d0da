"""Whose a port is: real sockets, of the test and of processes that it starts."""

import os
import socket
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.port_owners import STRANGER, ListeningPorts, inodes_in
from cogency_tui.workspace.paths import Workspace
from tests.tools.survivors import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no owner of a port is known")

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
   3: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4714 1
   4: cut short
"""

SERVER = """\
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(1000)
"""


def test_the_table_of_sockets() -> None:
    assert inodes_in(TABLE, 8080) == {4711, 4714}
    assert inodes_in(TABLE, 22) == {4713}
    assert inodes_in(TABLE, 80) == set()
    assert inodes_in("", 80) == set()


@pytest.fixture
def ours() -> Iterator[int]:
    """A port that this very process listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
async def background() -> AsyncGenerator[Background, None]:
    background = Background(grace=0.2)
    yield background
    await background.close()


async def started(background: Background, command: str, cwd: Path) -> tuple[str, int]:
    """The id of a background command that prints the port which it listens on, and that port."""
    id = await background.start(command, cwd, dict(os.environ))
    await until(lambda: background.output(id).endswith("\n"))
    return id, int(background.output(id))


def test_a_port_of_a_process_that_was_not_started_here_is_a_stranger_s(ours: int) -> None:
    name = Path("/proc/self/comm").read_text().strip()
    assert ListeningPorts().stranger(ours) == f"{name}, {STRANGER}"
    assert ListeningPorts(lambda: [os.getpid()]).stranger(ours) == ""


def test_a_port_that_nobody_listens_on_is_nobody_s() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert ListeningPorts().stranger(port) == ""


@pytest.mark.exhaustive
async def test_a_conversation_knows_its_own_servers(background: Background, tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(SERVER)
    mine, other = background.of("mine"), background.of("other")
    # Behind a shell, and one that has left its parent and its session.
    plain = f"{sys.executable} serve.py; true"
    apart = f"setsid {sys.executable} serve.py & sleep 1000"
    for command in (plain, apart):
        id, port = await started(mine, command, tmp_path)
        assert ListeningPorts(mine.pids).stranger(port) == ""
        assert STRANGER in ListeningPorts(other.pids).stranger(port)
        await mine.stop(id)
        assert ListeningPorts(other.pids).stranger(port) == ""
    assert mine.pids() == []


@pytest.mark.exhaustive
async def test_a_server_that_works_in_the_project_is_known_as_such(
    background: Background, tmp_path: Path, ours: int
) -> None:
    (tmp_path / "serve.py").write_text(SERVER)
    _id, port = await started(background, f"{sys.executable} serve.py", tmp_path)
    ports = ListeningPorts()
    assert ports.are_of(port, [tmp_path / "x", tmp_path])
    assert not ports.are_of(port, [tmp_path / "x"])
    assert not ports.are_of(ours, [Path.cwd()])
    root = Workspace(tmp_path)
    own = reach(f"curl -s localhost:{port}", tmp_path, root, ports)
    assert (own.brings, own.could_bring) == ("", f"localhost:{port}")
    assert own.neighbour
    both = reach(f"curl -s localhost:{port} localhost:{ours}", tmp_path, root, ports)
    assert both.brings == f"localhost:{port}"


async def test_a_tunnel_is_none_of_the_project_s(background: Background, tmp_path: Path) -> None:
    (tmp_path / "ssh").symlink_to(sys.executable)
    (tmp_path / "serve.py").write_text(SERVER)
    _id, port = await started(background, "./ssh serve.py", tmp_path)
    assert STRANGER in ListeningPorts().stranger(port)
    assert not ListeningPorts().are_of(port, [tmp_path])


async def test_a_port_that_is_shared_with_a_stranger_is_the_stranger_s(
    background: Background, tmp_path: Path, ours: int
) -> None:
    code = f'import socket, time; s = socket.create_server(("127.0.0.2", {ours})); print(1, flush=True); time.sleep(1000)'
    await started(background, f"{sys.executable} -c '{code}'", tmp_path)
    assert STRANGER in ListeningPorts(background.pids).stranger(ours)


def test_elsewhere_whoever_listens_is_a_stranger(ours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    ports = ListeningPorts(lambda: [os.getpid()])
    assert ports.stranger(ours) == ""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert ports.stranger(free) == ""
    assert ports.stranger(ours).endswith(STRANGER)
