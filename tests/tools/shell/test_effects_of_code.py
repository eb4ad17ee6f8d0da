"""What code names that a command is given: scripts of sed and awk, text for an interpreter, files of its own."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    (tmp_path / "out").mkdir()
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


SED_AND_AWK = [
    "sed 'w ../out/N' a",
    "sed 'w../out/N' a",
    "sed -n '/x/w ../N' a",
    "sed -n 's/x/y/w ../out/N' a",
    "sed -n 's#x#y#gw ../out/N' a",
    "sed -n 's/[/]/y/w ../out/N' a",
    "sed -e 's/x/y/' -e '$!w ../out/N' a",
    "sed --expr='1W ../out/N' a",
    "sed -ne '/a/{p;w ../out/N' -e '}' a",
    "sed '\\,x,w ../out/N' a",
    "sed 'a text\\\nmore\nw ../out/N' a",
    "sed -f - a <<< 'w ../out/N'",
    "sed -f - a <<X\nw ../out/N\nX",
    'sed "w $f" a',
    "sed 'e touch ../out/N' a",
    "awk '{print > \"../out/x\"}' a",
    "awk '{print >> \"../out/x\"}' a",
    'awk \'{printf "%s", $1 > (".." "/x")}\' a',
    'awk \'/"/ {print > "../x"}\' a',
    "awk '{print > \"\\056\\056/x\"}' a",
    'awk \'BEGIN{f="../out" "/x"; print 1 > f}\'',
    "awk '{print > $1 \".csv\"}' a",
    "awk '{print > \"out/\" $1}' a",
    "awk '{print | \"tee ../out/x\"}' a",
    "awk -e '{print > \"../x\"}' a",
    "gawk --source='{print > \"../x\"}' a",
    "gawk -f - a <<< '{print > \"../x\"}'",
]

CODE = [
    "make -f - <<<'all:; touch ../out/x'",
    "make -f - <<X\nall:\n\ttouch ../out/x\nX",
    'python3 -c \'open("../out/x","w")\'',
    'python3 -c \'open("/etc/x","w")\'',
    "python3 -c 'print(open(\"/etc/passwd\").read())'",
    "python3 -c \"from pathlib import Path; Path('../out/x').write_text('')\"",
    "python3 -c \"import os; os.makedirs('../new')\"",
    "python3 -c \"import shutil; shutil.copy('a', '..')\"",
    "python3 -c \"import shutil; shutil.copy('a', 'src/../../x')\"",
    "python3 -c \"open('\\x2e\\x2e/x', 'w')\"",
    "python3 -Ic \"open('../x', 'w')\"",
    "python3 -c\"open('../x', 'w')\"",
    "python3 -c \"import os; os.system('touch ../x')\"",
    "python3 -c \"from pathlib import Path; (Path.home() / 'x').write_text('')\"",
    "python3 -c \"import os; open(os.environ['HOME'] + '/x', 'w')\"",
    "python3 -c \"import os; open(os.path.join(os.pardir, 'x'), 'w')\"",
    "perl -e 'open F, \">../out/x\"'",
    "perl -e 'open F, \"> /etc/x\"'",
    "perl -i -pe 's/a/b/; open F, \">../x\"' a",
    'node -e \'fs.writeFileSync("../out/x", "")\'',
    'node --eval=\'fs.writeFileSync("../out/x", "")\'',
    "ruby -e 'File.write(\"../out/x\", 1)'",
    "php -r 'file_put_contents(\"../out/x\", 1);'",
    'lua -e \'io.open("../out/x","w")\'',
    'deno eval \'Deno.writeTextFileSync("../out/x", "")\'',
    "python3 - <<X\nopen('../out/x','w')\nX",
    "python3 <<< \"open('../out/x','w')\"",
    "echo \"open('../out/x','w')\" | python3",
    "cat <<X | python3 -\nopen('../out/x','w')\nX",
    "cat > t.py <<X\nopen('../out/x','w')\nX\npython3 t.py",
    "printf \"open('../out/x','w')\" | tee src/t.py; python3 src/t.py",
    "sqlite3 x.db '.output ../out/x'",
    "sqlite3 x.db \"attach '../out/x' as y\"",
    "ex -s a <<< 'w ../out/x'",
    "ed -s a <<< 'w ../out/x'",
    "vim -es -c 'w! ../out/x' a",
    "gnuplot -e 'set output \"../out/x\"'",
    "unknown-program <<X\nsave ../out/x\nX",
    "for d in ..; do python3 -c \"open('$d/x', 'w')\"; done",
    "vim -c 'w $HOME/x' a",
    "sqlite3 x.db '.output //etc/x'",
]

MADE = [
    "cat > t <<X\n#!/usr/bin/env python3\nopen('../x', 'w')\nX\nchmod +x t; ./t",
    "cat > tt.py <<X\nopen('../x', 'w')\nX\npython3 -m tt",
    "cat > tt.py <<X\nopen('../x', 'w')\nX\npython3 -c 'import tt'",
    "mkdir d; cat > d/__main__.py <<X\nopen('../x', 'w')\nX\npython3 d",
    "cat > t.txt <<X\nopen('../x', 'w')\nX\npython3 < t.txt",
    "python3 <(echo \"open('../x', 'w')\")",
    "echo \"open('../x', 'w')\" | xargs -0 python3 -c",
    "c=\"open('../x', 'w')\"; python3 -c \"$c\"",
]

WRAPPED = [
    "env -S 'python3 -c' \"open('../x', 'w')\"",
    "hatch run python -c \"open('../x', 'w')\"",
    "python3 -m timeit \"open('../x', 'w')\"",
    'gdb -batch -ex \'python open("../x", "w")\'',
    "uv run python -c \"open('../x', 'w')\"",
    "poetry run sed -n 'w ../x' a",
    "bundle exec ruby -e 'File.write(\"../x\", 1)'",
    "unshare -r awk '{print > \"../x\"}' a",
    "taskset -c 0 python3 -c \"open('../x', 'w')\"",
    "xvfb-run -a node -e 'fs.writeFileSync(\"../x\", 1)'",
    "sudo echo 'touch ../x' > s.sh; sh s.sh",
    "env A=1 printf 'touch ../x' | sh",
]

ORDINARY = [
    "sed -i 's/a/b/' src/a.py",
    "sed -i 's#/usr/lib#/opt/w ../x#' src/a.py",
    "sed -i '/w ..\\/x/d' src/a.py",
    "sed -n '1,5p;/x/w src/N' src/a.py",
    "sed ':a;N;$!ba;s/\\n/ /g' src/a.py",
    "sed 's/x/y/w /dev/stdout' src/a.py",
    'sed "s/x/$y/" src/a.py',
    "sed '1i see ../x' src/a.py",
    "awk '{print $1}' src/a.py",
    "awk '$1 > 5 {print $2, \"/etc/x\"}' src/a.py",
    'awk \'{if ($1 > "../a") print ($1 > 5), "b"}\' src/a.py',
    "awk '{printf \"%s > ../%s\", $1, $2}' src/a.py",
    'awk \'{print > "src/part" NR ".txt"}\' src/a.py',
    'awk \'{print "a" > "/dev/stderr"}\' src/a.py',
    "awk '{print > FILENAME \".bak\"}' src/a.py",
    "awk -v out=src/b '{print > out}' src/a.py",
    "python3 -c 'print(1)'",
    'python3 -c \'print("../x", "/etc/x")\'',
    'python3 -c \'import json; print(json.load(open("src/a.json"))["a"])\'',
    "python3 -c \"import re; print(re.sub('etc/', '', open('src/a.py').read()))\"",
    "python3 -c \"print('/'.join(open('src/a.py')), 7/2)\"",
    "python3 -c \"open('out.txt', 'w').write('https://example.org/etc/x')\"",
    "python3 -c \"import requests; requests.get('http://localhost:8000/etc/passwd'); open('a')\"",
    "node -e 'const f = (...args) => args; console.log(f(1) > 0, require(\"./src/a\"))'",
    'node -e \'console.log(/etc/.test(require("fs").readFileSync("a")))\'',
    'node -p \'"a/b".replace(/etc/g, "x")\'',
    "ruby -e 'puts (1..5).to_a; File.write(\"x\", 1)'",
    "perl -pi -e 's/etc/x/' src/a.py",
    "python3 - <<X\nprint('../x')\nX",
    "cat > src/new.py <<'EOF'\nopen('/etc/passwd')\nEOF",
    "cat > src/new.py <<'EOF'\nopen('/etc/passwd')\nEOF\npytest -q",
    "cat > t.sh <<'EOF'\n#!/usr/bin/env bash\nls src\nEOF\nbash t.sh",
    "git commit -F - <<X\nWrite ../x, and read /etc/passwd\nX",
    "git apply <<X\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-open('../x', 'w')\n+open('/etc/x')\nX",
    "sqlite3 x.db 'select * from a'",
    "make -f - <<X\nall:\n\tls src\nX",
    "bash -c 'echo see ../x'",
    "uv run python -c 'print(1)'",
    "poetry run pytest -q",
    "taskset -c 0 make",
    "cat > t.sh <<X\n#!/bin/bash\n# see ../x\nls src\nX\nchmod +x t.sh; ./t.sh",
    'python3 -c "print($n * 2)"',
]


@pytest.mark.exhaustive
@cases("command", SED_AND_AWK + CODE + MADE + WRAPPED)
def test_code_that_names_a_path_outside_is_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or "known only at run time" in found.protected


@cases("command", ORDINARY)
def test_ordinary_code_is_not(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


@cases(
    "command",
    [
        "cat > t.py <<X\nopen('.envrc', 'w')\nX\npython3 t.py",
        "echo \"open('.envrc', 'w')\" | python3",
        "sed -n 's#a#b#w .envrc' a",
        'awk \'{print > (".en" "vrc")}\' a',
        "gawk -i inplace '{print 1}' .envrc",
    ],
)
def test_code_that_writes_a_protected_file_is_asked_about(project: Path, command: str) -> None:
    assert of(project, command).protected


def test_what_code_only_reads_outside_is_brought(project: Path) -> None:
    (project.parent / "out/x").write_text("x")
    found = of(project, "python3 -c 'print(open(\"../out/x\").read())'")
    assert found.brings == f"{project.parent}/out/x"
