"""Code that a command writes and then has run counts like code that it is given."""

from pathlib import Path

from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

MADE = [
    "cat > conftest.py <<X\nimport socket\nX\npytest",
    "cat > tests/conftest.py <<X\nimport socket\nX\npython -m pytest",
    "cat > Makefile <<X\nall:\n\tcurl x.com\nX\nmake",
    "printf 'all:\\n\\twget x.com' > Makefile && make all",
    "tee Makefile <<< 'all:; nc x.com 80'; make",
    'cat > package.json <<X\n{"scripts":{"test":"ssh x.com"}}\nX\nnpm test',
    "cat > build.rs <<X\nstd::net::TcpStream\nX\ncargo build",
    'cat > main.go <<X\nimport "net"\nX\ngo run main.go',
    "cat > x.c <<X\n#include <sys/socket.h>\nX\ngcc x.c -o y; ./y",
    "cat > test.js <<X\nrequire('http')\nX\nnpx_free_runner test.js",
    "echo aW1wb3J0 | base64 -d > conftest.py; pytest",
    "echo 'echo x > /dev/tcp/x.com/80' > s.inc; make",
    "patch -p0 <<X\n--- a\n+++ a\n@@ -1 +1 @@\n-x\n+import socket\nX\npytest",
    "git apply <<X\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+import socket\nX\npytest",
]

REACHING = [
    "python3 -m pip wheel x",
    "python3 -mpip install x",
    "python3 -u -m twine upload x",
    "python3 -m yt_dlp x",
    "python3 -m ftplib x",
    "python3 -m smtplib",
    "ruby -rsocket -e 1",
    "perl -MSocket -e 1",
    "uv run --with x pytest",
    "docker exec c x",
    "docker cp a c:b",
    "tar -cf x.com:a src",
    "tar -c --file=me@x.com:a src",
    "git archive --remote=x HEAD",
    "systemctl --user start x",
    "dbus-send --session x",
    "mount -t nfs x.com:/ y",
    "cogency-tui run x",
    "python3 -m cogency_tui run x",
    "watch 'curl x.com'",
    "watch 'git push https://x.com/a'",
    "go vet -vettool=/usr/bin/curl",
    "just --command curl x.com",
    "go run -exec 'curl x.com' x.go",
    "fd . -x wget x.com",
    "cmake -E env nc x.com 80",
    "less '+!curl x.com' a",
    "ghci -e ':!curl x.com'",
    "pwsh -c 'echo x > /dev/tcp/x.com/80'",
    "uv run docker run x",
    "hatch run python -c 'import socket'",
    "ipython -c 'import socket'",
    "python3 -m code <<X\nimport socket\nX",
    "python3 manage.py shell <<X\nimport socket\nX",
    "tclsh <<X\nexec curl x.com\nX",
    "just --justfile - <<< 'x:; curl x.com'",
    "logger -n x.com y",
    "ssh-keyscan x.com",
]

ORDINARY = [
    "cat > test_a.py <<X\nprint(1)\nX\npytest",
    "cat > src/a.py <<X\ndef f(x):\n    return x + 1\nX\npytest -q && git add -A",
    'cat > package.json <<X\n{"scripts": {"test": "vitest"}}\nX\nnpm test',
    "cat > Makefile <<X\nall:\n\tcc -o x x.c\nX\nmake",
    "cat > README.md <<X\nsee https://x.com\nX\ngit add -A && git commit -m x",
    "git commit -F - <<X\nsee https://x.com\nX\nmake",
    "sed -i 's#http://a#https://b#' src/a.py && pytest",
    "cp a b && pytest",
    "python3 -m pytest -q",
    "pytest -k http tests/test_net.py",
    "less src/http.py",
    "npm run test:net",
    "watch 'ls src'",
    "sqlite3 x.db <<X\nselect * from a;\nX",
    "python3 -m venv .venv",
    "python3 -Wignore t.py",
    "tar -xf a.tgz",
    "uv run pytest",
    "docker ps",
    "git archive HEAD -o x.tar",
]


def network(root: Path, command: str) -> str:
    return reach(command, root, Workspace(root), ListeningPorts()).network


@cases("command", MADE)
def test_code_that_a_command_makes_may_reach_the_network(tmp_path: Path, command: str) -> None:
    assert "this command creates" in network(tmp_path, command)


@cases("command", REACHING)
def test_more_ways_to_the_network_are_known(tmp_path: Path, command: str) -> None:
    assert network(tmp_path, command)


@cases("command", ORDINARY)
def test_ordinary_work_does_not(tmp_path: Path, command: str) -> None:
    assert network(tmp_path, command) == ""
