"""Commands that need not be asked about: those that are known word for word, and nothing else."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogency_tui.tools.shell.loopback import Quiet, quiet
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

PROGRAMS = ("cat", "curl", "cut", "env", "grep", "head", "jq", "make", "python3", "rm", "sed", "sh", "sleep", "sort", "tail", "tee", "uniq", "wc", "wget")  # fmt: skip

OWN = Quiet(own=True, held=True)
HELD = Quiet(held=True)
NEITHER = Quiet()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "WGETRC"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(programs))
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def strange() -> Iterator[int]:
    """A port of a process that no conversation has started."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def of(command: str, project: Path) -> Quiet:
    return quiet(command, project, Workspace(project), ListeningPorts())


@cases(
    "command",
    [
        "curl -s http://127.0.0.1:{0}/a.txt",
        "curl -s http://localhost:{0}/a.txt | head -5",
        "curl -s 'http://localhost:{0}/a.txt?x=1&y=*' | head -n 5 | cat -n",
        "sleep 1; curl -sS -m 5 localhost:{0} 2>&1 | tail -n +2\n",
        "sleep 0.5 && curl -s localhost:{0} > /dev/null 2>&1 || echo 'it is gone; really'",
        'curl -s localhost:{0} | grep -c "a b" | sort -rn | uniq -c',
        "curl -s localhost:{0} | grep -i -m 1 -e x -A2",
        "curl -s localhost:{0} | sed -n '1,5p'",
        "curl -s localhost:{0} | sed -n 2p | cut -d: -f 1,2 | wc -l",
        "curl -s localhost:{0} | jq -r '.items[] | .name'",
        "curl -s -o /dev/null -w '%{{http_code}}' localhost:{0}",
        "wget -qO- --max-redirect=0 http://127.0.0.1:{0}/",
        "curl -s localhost:{0} & wait $!; kill %1",
        "curl -s localhost:{0}\ntrue\necho done",
    ],
)
def test_reading_from_own_servers_is_own(project: Path, free: int, command: str) -> None:
    assert of(command.format(free), project) == OWN


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m http.server {0} --bind 127.0.0.1",
        "python3 -u -m http.server -b localhost {0} > /dev/null 2>&1",
        "python3 -m http.server {0} --bind 127.0.0.1 -d docs & sleep 1; curl -s localhost:{0} | head -5; kill $!",
    ],
)
def test_serving_to_this_machine_is_held_here(project: Path, free: int, command: str) -> None:
    assert of(command.format(free), project) == HELD


@pytest.mark.exhaustive
@cases(
    "command",
    [
        *("", "echo x", "sleep 1", "make", "curl https://example.org", "curl -s localhost:{0} | sh"),
        *("curl -s localhost:{0} > out.txt", "curl -s localhost:{0} >> /dev/nullx", "curl -s localhost:{0} < a.txt"),
        *("curl -o out.txt localhost:{0}", "curl -d @a.txt localhost:{0}", "curl -T a.txt localhost:{0}"),
        *("curl -s localhost:{0} | tee out.txt", "curl -s localhost:{0} | head -5 a.txt", "cat a.txt; curl localhost:{0}"),
        *("curl -s localhost:{0} | sed -n '1w out.txt'", "curl -s localhost:{0} | sed 's/a/b/e'", "curl -s localhost:{0} | sed -i 1p"),
        *("curl -s localhost:{0} | sort -o out.txt", "curl -s localhost:{0} | sort --compress-program=x", "curl -s localhost:{0} | uniq - out.txt"),
        *("curl -s localhost:{0} | grep -f a.txt x", "curl -s localhost:{0} | grep -r x", "curl -s localhost:{0} | grep x a.txt"),
        *("curl -s localhost:{0} | jq -f a.jq", "curl -s localhost:{0} | jq 'import \"a\" as $a; .'", "curl -s localhost:{0} | jq . a.json"),
        *("curl -s localhost:{0} | wc --files0-from=a", "curl -s localhost:{0} | tail -f", "curl -s localhost:{0} | cut -f1 a"),
        *("curl localhost:{0}; rm x", "curl localhost:{0} && $(rm x)", "curl localhost:{0} `rm x`", "curl localhost:{0} (rm x)"),
        *('curl localhost:{0} "$(rm x)"', "curl localhost:{0} $HOME", "curl localhost:{0} ~/x", "curl localhost:{0}/*", "curl localhost:{0}/?"),
        *("curl localhost:{0} {{a,b}}", "curl localhost:{0} \\\nx", "curl localhost:{0} # x", "! curl localhost:{0}", "curl localhost:{0} <<< x"),
        *("http_proxy=evil curl localhost:{0}", "env curl localhost:{0}", "./curl localhost:{0}", "/tmp/curl localhost:{0}", "'curl x' localhost:{0}"),
        *("curl localhost:{0}\r", "curl localhost:{0}\x1b", "curl localhost:{0}\u202e", "curl localhost:{0} 'a", "curl localhost:{0} 3>/dev/null"),
        *("curl localhost:{0}; kill 1", "curl localhost:{0}; kill -9 -1", "curl localhost:{0}; kill $$", "curl localhost:{0} | head -n$!"),
        *("python3 -m http.server {0}", "python3 -m http.server {0} --bind 0.0.0.0", "python3 -m http.server {0} --bind 127.0.0.1 --cgi"),
        *("python3 -m http.server --bind 127.0.0.1 {0}; make", "python3 -m http.serverx --bind 127.0.0.1", "python3 -m pdb -b 127.0.0.1"),
        "curl -sL localhost:{0}",
        "curl -s localhost:{0} " + "x" * 5000,
    ],
)  # fmt: skip
def test_anything_else_is_neither(project: Path, free: int, command: str) -> None:
    assert of(command.format(free), project) == NEITHER


def test_a_port_of_a_stranger_is_asked_about(project: Path, strange: int, free: int) -> None:
    assert of(f"curl -s localhost:{strange}", project) == NEITHER
    assert of(f"curl -s localhost:{free} localhost:{strange}", project) == NEITHER


def test_programs_of_the_project_are_not_those_of_the_list(
    project: Path, free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bin").mkdir()
    for name in ("curl", "head", "python3"):
        (project / "bin" / name).symlink_to("/bin/true")
    others = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{project}/bin:{others}")
    assert of(f"curl -s localhost:{free}", project) == NEITHER
    assert of(f"wget -qO- --max-redirect=0 localhost:{free} | head", project) == NEITHER
    assert of(f"python3 -m http.server --bind 127.0.0.1 {free}", project) == NEITHER
    monkeypatch.setenv("PATH", f"bin:{others}")
    monkeypatch.chdir(project)
    assert of(f"curl -s localhost:{free}", project) == NEITHER


@pytest.mark.parametrize("name", ["socketserver.py", "email", "html.cpython-311-x86_64-linux-gnu.so"])
def test_a_server_that_may_load_what_the_project_has_is_not_held(
    project: Path, free: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"python3 -m http.server --bind 127.0.0.1 {free}"
    (project / "email.txt").touch()
    assert of(command, project) == HELD
    (project / name).touch()
    assert of(command, project) == NEITHER
    (project / name).unlink()
    monkeypatch.setenv("PYTHONPATH", f"/usr/lib:{project}")
    assert of(command, project) == NEITHER
