"""What a command names beyond the project."""

from pathlib import Path

import pytest

from cogency_tui.tools.reach import Reach, reach
from cogency_tui.workspace.paths import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    (root / ".git/hooks").mkdir(parents=True)
    (tmp_path / "beside.txt").write_text("x")
    (root / "out").symlink_to(tmp_path)
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cat src/a.py",
            "cat ./src/../src/a.py",
            "ls > /dev/null 2>&1",
            "cat /dev/stdin",
            "echo ../beside.txt",
            "ls $X/..",
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


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo x > .git/hooks/pre-commit", "git runs what is inside .git"),
        ("cp src/a.py .git/hooks/", "git runs what is inside .git"),
        ("rm -rf .git", "git runs what is inside .git"),
        ("sed -i s/a/b/ AGENTS.md", "agents take instructions from it"),
        ("mv src/a.py CLAUDE.md", "agents take instructions from it"),
        ("touch .bashrc", "a shell runs it when it starts"),
        ("install -m 755 a .cogency/config.toml", "this program's own configuration"),
        ("chmod +x .git/hooks/x", "git runs what is inside .git"),
        ("tee .envrc < a", "a shell runs it when it starts"),
        ("cogency-tui trust --yes", "the person's to say"),
        ("env X=1 .venv/bin/cogency-tui --debug permissions remove 1", "the person's to say"),
        ("sudo python3.12 -m cogency_tui config set permissions auto", "the person's to say"),
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
def test_guarded_files_that_it_may_write(project: Path, command: str, reason: str) -> None:
    assert reason in of(project, command).guarded
    assert bool(of(project, command).guarded) is bool(reason)


def test_what_is_only_written_brings_nothing(project: Path) -> None:
    assert of(project, "echo x > ../new.txt").brings == ""
    assert of(project, "cat ../beside.txt > x").brings == f"{project.parent}/beside.txt"
    assert of(project, "curl x.com").brings == "curl"
    assert of(project, "git push").brings == ""


def test_a_directory_that_was_added_is_inside(project: Path) -> None:
    workspace = Workspace(project, [project.parent])
    assert reach("cat ../beside.txt", project, workspace) == Reach()
