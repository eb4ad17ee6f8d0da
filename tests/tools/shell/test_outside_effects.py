"""What a command names beyond the project."""

import subprocess
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
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (tmp_path / "beside.txt").write_text("x")
    (root / "out").symlink_to(tmp_path)
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


@cases(
    ("command", "program"),
    [
        ("curl x.com", "curl"),
        ("make && wget x.com", "wget"),
        ("sh -c 'ssh host ls'", "ssh"),
        ("git push", "git"),
        ("git -C src fetch", "git"),
        ("npm install x", "npm"),
        ("pip install x", "pip"),
        ("python -m pip install x", "python"),
        ("python3 -c 'import socket'", "python3"),
        ("node -e 'fetch(\"x\")'", "node"),
        ("echo x > /dev/tcp/1.2.3.4/80", "echo"),
        ("exec 3<>/dev/udp/1.2.3.4/53", "exec"),
        ("rsync -a src host:dst", "rsync"),
        ("go get x", "go"),
        ("docker pull x", "docker"),
        ("conda install x", "conda"),
        ("sudo snap install x", "snap"),
        ("dpkg -i x.deb", "dpkg"),
        ("nix-shell -p x", "nix-shell"),
        ("tofu apply", "tofu"),
        ("pulumi up", "pulumi"),
        ("pip3.11 install x", "pip3.11"),
        ("git --git-dir x fetch", "git"),
        ("git --work-tree=x push", "git"),
        ("npm --prefix x install", "npm"),
        ("cargo +nightly install x", "cargo"),
        ("docker -H x pull y", "docker"),
        ("yarn", "yarn"),
        ("yarn build", ""),
        ("git --no-pager log", ""),
        ("ls", ""),
        ("git status", ""),
        ("git log --grep push", ""),
        ("python -m pytest", ""),
        ("npm run build", ""),
        ("rsync -a src dst", ""),
        ("echo curl", ""),
        ("cargo test", ""),
    ],
)
def test_programs_that_go_to_the_network(project: Path, command: str, program: str) -> None:
    assert of(project, command).network == program


@cases(
    "command",
    [
        *(
            "cat ../beside.txt",
            "cat {0}/beside.txt",
            "cat out/beside.txt",
            "cd .. && cat beside.txt",
            "cd out; ls",
        ),
        *(
            "cat < ../beside.txt",
            "echo x > ../new.txt",
            "cp src/a.py ..",
            "grep x ../beside.txt",
            "tar -C.. -cf x src",
        ),
        *(
            "make --directory=..",
            "sort -o ../new.txt a",
            "find .. -name x",
            "cat ../*.txt",
            "cat src/../../beside.txt",
        ),
        *(
            "sudo cat ../beside.txt",
            "echo $(cat ../beside.txt)",
            "dd if=../beside.txt of=x",
            "diff src/a.py ../beside.txt",
        ),
    ],
)
def test_paths_outside_are_named(project: Path, command: str) -> None:
    found = of(project, command.format(project.parent))
    assert found.outside in (str(project.parent), f"{project.parent}/beside.txt", f"{project.parent}/new.txt")


@cases(
    "command",
    [
        *(
            "cat src/a.py",
            "cat ./src/../src/a.py",
            "ls > /dev/null 2>&1",
            "cat /dev/stdin",
            "echo ../beside.txt",
        ),
        *(
            "grep ../x src",
            "sed -n /etc/p src/a.py",
            "rg '/etc/passwd' src",
            "git commit -m 'see /etc/passwd'",
            "make /x/y/z",
        ),
        *(
            "curl http://x.com/etc/passwd",
            "/usr/bin/env ls",
            "git show HEAD:../x",
            "printf '/etc/passwd'",
            "cd {0}/proj && ls",
        ),
        *(
            "test -e /etc/passwd",
            "git diff ..main",
            "cat nothing/../src/a.py",
            "awk '/etc/ {{ print }}' src/a.py",
        ),
    ],
)
def test_what_only_looks_like_a_path_outside_is_none(project: Path, command: str) -> None:
    assert of(project, command.format(project.parent)).outside == ""


@cases(
    ("command", "reason"),
    [
        ("echo x > .git/hooks/pre-commit", "git runs what is inside .git"),
        ("cp src/a.py .git/hooks/", "git runs what is inside .git"),
        ("rm -rf .git", "git runs what is inside .git"),
        ("sed -i s/a/b/ AGENTS.md", "agents take instructions from it"),
        ("mv src/a.py CLAUDE.md", "agents take instructions from it"),
        ("touch .bashrc", "a shell runs it at startup"),
        ("install -m 755 a .cogency/config.toml", "this program's own configuration"),
        ("chmod +x .git/hooks/x", "git runs what is inside .git"),
        ("tee .envrc < a", "a shell runs it at startup"),
        ("cogency-tui trust --yes", "only the user decides"),
        ("env X=1 .venv/bin/cogency-tui --debug permissions remove 1", "only the user decides"),
        ("sudo python3.12 -m cogency_tui config set permissions auto", "only the user decides"),
        ("cogency-tui run 'look'", ""),
        ("python -m pytest trust", ""),
        ("grep cogency_tui config", ""),
        ("cat AGENTS.md", ""),
        ("ls .git", ""),
        ("sed -n 1p CLAUDE.md", ""),
        ("git add AGENTS.md", ""),
        ("cp AGENTS.md.txt x", ""),
    ],
)
def test_protected_files_that_it_may_write(project: Path, command: str, reason: str) -> None:
    assert reason in of(project, command).protected
    assert bool(of(project, command).protected) is bool(reason)


def test_what_is_only_written_brings_nothing(project: Path) -> None:
    assert of(project, "echo x > ../new.txt").brings == ""
    assert of(project, "cat ../beside.txt > x").brings == f"{project.parent}/beside.txt"
    assert of(project, "curl x.com").brings == "curl"
    assert of(project, "git push").brings == ""


def test_a_directory_that_was_added_is_inside(project: Path) -> None:
    workspace = Workspace(project, [project.parent])
    assert reach("cat ../beside.txt", project, workspace) == Reach()


OUTSIDE = [
    "mkdir -p ../new/sub",
    "touch ../new/sub/x",
    "cp src/a.py ../new/sub/x",
    "echo x > ../new/sub/x",
    "echo x >> /no-such-top/x",
    "python gen.py ../new/sub/x",
    "python gen.py --out=../new/sub/x",
    "make install DESTDIR=../new",
    "X=..; echo > $X/y",
    "X=/etc; echo > ${X}/y",
    'X=..\nmkdir -p "$X/new/y"',
    "X=.. && touch $X/new",
    "X=src; X=..; touch $X/y",
    "X=src; X+=/../..; touch $X/y",
    "true && X=src; false && X=..; touch $X/y",
    "false && X=src; touch $X/y",
    "if false; then X=src; fi; touch $X/y",
    "(X=src); touch $X/y",
    "X=src | true; touch $X/y",
    "X=src & touch $X/y",
    "X=src touch $X/y",
    "X=src; read X < a; touch $X/y",
    'X=src; eval "$(base64 -d a)"; touch $X/y',
    "X='src ../y'; touch $X",
    "X=src; : ${X:=..}; unset X; touch $X/y",
    "for d in src ..; do touch $d/y; done",
    "for d in src; do :; done; touch $d/y",
    "for d in $(cat a); do touch $d/y; done",
    "for d in {src,..}; do touch $d/y; done",
    "touch {/tmp,..}/x",
    "touch {src,{..,lib}}/new",
    "touch {src,..}/{a,b}",
    "tee {src,../new}/x",
    "env -C .. touch x",
    "env -C.. touch x",
    "env --chdir=.. touch x",
    "env --chdir .. touch x",
    "env -u A -C .. touch x",
    "env -S 'touch ../new/x'",
    "env -C $X touch x",
    "sudo -D .. touch x",
    "sudo --user me touch ../new/x",
    "time -o ../new/x ls",
    "flock ../new/x ls",
    "cd .. && touch x",
    "cd $X && touch x",
    "cd - && touch x",
    "cd && touch x",
    "cd; touch x",
    "pushd .. && touch x",
    "pushd +1; echo > x",
    "(cd ..; echo > x)",
    "git -C .. init",
    "git -C ../new init",
    "git --git-dir ../new/x gc",
    "git -C $X commit -m x",
    "GIT_DIR=../new/x git commit -m x",
    "HOME=../new pip list",
    "make -C ../new",
    "make -C $X",
    "tar -C ../new -xf a.tar",
    "tar -xf a.tar --directory=../new/x",
    "tar -xf a.tar --directory $X",
    "unzip a.zip -d ../new/x",
    "unzip a.zip -d $X",
    "sort a -o $X",
    "cp a $X/y",
    "cp -t $X a",
    "echo > ~root/x",
    "touch ~root/x",
    "echo > ~-/x",
    "touch ~nobody/new/x",
    "dd if=a of=~/x",
    "echo > $HOME/x",
    "touch $OLDPWD/x",
    'touch "$1/x"',
    "echo x > $X",
    "cat <<EOF > ../new/x\nx\nEOF",
    "cat <<EOF > $X/x\nx\nEOF",
    "echo /etc/x | xargs touch",
    "ls | sed s,^,/etc/, | xargs touch",
    "cat a | xargs rm",
    "xargs -a a touch",
    "find src -printf '/etc/%f' | xargs touch",
    "find .. -name x | xargs touch",
    "find src -exec touch {}/../../../new/x ;",
    "touch src/*/../../../new/x",
    "sed -i s/a/b/ $FILES",
    "sed -i s/a/b/ $(cat list)",
    "sed -i s/a/b/ out/*.txt",
    "chmod +x $X",
]

ORDINARY = [
    "mv a $(mktemp -d)/y",
    "pytest -q",
    "echo x > new.txt",
    "echo x > new/sub/x",
    "mkdir -p build/out && cd build && echo x > y",
    "touch src/{a,b}.py",
    "touch file{1..5}.txt",
    "mkdir -p src/{api,web}/{tests,lib}",
    "cp src/a.py{,.bak}",
    "X=src; echo > $X/y",
    'OUT=build\nmkdir -p $OUT && cp src/a.py "$OUT/a.py"',
    "set -e\nOUT=out2; make && cp a $OUT/b",
    "for f in src/*.py; do sed -i s/a/b/ $f; done",
    "for f in *.py; do sed -i 's/a/b/' \"$f\"; done",
    "for d in a b; do mkdir -p $d/x; (cd $d && touch y); done",
    "for d in s*/; do (cd $d && npm test > log); done",
    "for i in 1 2 3; do touch f$i; done",
    "for i in $(seq 5); do touch f$i; done",
    "for i in {1..5}; do touch f$i.txt; done",
    "grep -rl foo src | xargs sed -i s/foo/bar/",
    "find src -name '*.py' | xargs sed -i s/a/b/",
    "git ls-files '*.py' | head -5 | xargs sed -i s/a/b/",
    "git ls-files | grep py | sort | xargs touch",
    "find . -type f -name '*.pyc' -exec touch {} +",
    "find src -name '*.py' -exec sed -i s/a/b/ {} ;",
    "sed -i s/a/b/ $(git ls-files '*.py')",
    "sed -i s/a/b/ `grep -rl a src`",
    "mkdir out-$(date +%F)",
    "touch $PWD/x",
    'touch "$(pwd)/x"',
    "echo $$ > pid",
    "echo $X",
    "chmod +x run.sh",
    "chmod $MODE run.sh",
    "git commit -m 'see ../new and /etc/x'",
    "git diff ..main",
    "git log --format=%h",
    "git -C src status",
    "make -C src test",
    "tar -C src -cf a.tar .",
    "env -C src ls",
    "env A=1 B=2 pytest",
    "A=1 pytest",
    "HOME=src pytest",
    "time pytest",
    "timeout 10 pytest > log 2>&1",
    "pytest 2>&1 | tee log.txt",
    "pytest > /dev/null 2> /dev/null",
    "npm run build -- --base=/app/",
    "curl localhost:8000/api",
    "cmake -S . -B build -DX=ON",
    "sort -o a a",
    "python - <<EOF\nprint('../x')\nEOF",
    "cat > src/new.py <<'EOF'\nopen('/etc/passwd')\nEOF",
    "grep -rn '/usr/lib' src",
    "sed -i 's#/usr/lib#/opt/lib#' src/a.py",
    "sed -i -e 's/a/b/' src/a.py",
    "awk '{print $1}' src/a.py > out2",
    "jq '.a' x.json > y.json",
    "ls -la && git status",
    "while true; do echo x > log; break; done",
    "if [ -f a ]; then touch b; fi",
    "test -d build || mkdir build",
    "rm -f build/*.o",
    "mv a.txt b.txt",
    "ln -s a.txt b.txt",
    "tail -n +2 a > b",
    'x=$(cat a); echo "$x" > b',
    "export A=b; pytest",
    "bash -c 'echo x > y'",
    "diff <(ls src) <(ls lib) > d",
    "exec 3> log; echo x >&3",
    "python3 -m venv .venv",
    "go build -o bin/app ./...",
    "gcc -o app main.c",
]


@pytest.mark.exhaustive
@cases("command", OUTSIDE)
def test_nothing_may_be_written_outside_unasked(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or "known only at run time" in found.protected


@pytest.mark.exhaustive
@cases("command", ORDINARY)
def test_ordinary_commands_in_the_project_are_not_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


def test_what_a_wrapper_runs_elsewhere_is_seen(project: Path) -> None:
    assert of(project, "env --unset A touch .envrc").protected
    assert of(project, "env -C .git touch hooks/x").protected
    assert of(project, "env -S 'touch .envrc'").protected


def test_values_within_values_do_not_multiply(project: Path) -> None:
    lines = ["V0=" + "x" * 1000, *(f"V{n}=$V{n - 1}$V{n - 1}" for n in range(1, 60)), "touch $V59 src/$V0"]
    assert "known only at run time" in of(project, "\n".join(lines)).protected


@pytest.mark.parametrize("command", ["cd {}; ls", "mv .cogency {}", "cp .git/config {}"])
def test_a_name_that_is_too_long_is_no_directory(project: Path, command: str) -> None:
    assert not of(project, command.format("a" * 300)).network
