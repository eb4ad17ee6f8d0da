"""Where a command is by the time that it names a path: after `cd a &&` it is there, and nowhere else."""

import os
from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for directory in ("src/shop/deep", "tests", "docs"):
        (project / directory).mkdir(parents=True)
    for file in ("README.md", "src/a.py", "src/shop/b.py", "docs/x"):
        (project / file).write_text("x\n")
    (tmp_path / "README.md").write_text("outside\n")
    (tmp_path / "x").write_text("outside\n")
    (project / "link").symlink_to("src/shop/deep")
    return project


@cases(
    "command",
    [
        "cd src && cat ../README.md",
        "cd src && ls && cd .. && cat README.md",
        "cd src/shop && ls | head -1 && cd ../.. && cat README.md",
        "(cd src && cat ../README.md)",
        "cd src; cat ../README.md",
        "cd src || exit 1\ncat ../README.md",
        "cd src\nls ..\ncat ../README.md",
        "mkdir build && cd build && cat ../README.md",
        "mkdir -p build/x && cd build/x && cat ../../README.md",
        "cd src && ls; cat ../README.md",
        "cd src && ls || cat ../README.md",
        "cd tests && cat ../src/a.py && cat ../README.md; ls",
    ],
)
def test_what_lies_beside_the_directory_is_inside(command: str, project: Path) -> None:
    found = reach(command, project, Workspace(project))
    assert (found.outside, found.protected) == ("", "")


@cases(
    "command",
    [
        "cd src && cd .. && cat ../README.md",
        "ls && cd src && ls; cat ../README.md",
        "ls && cd src && ls || cat ../README.md",
        "cd absent; cat ../README.md",
        "cd absent || cat ../README.md",
        "(cd src && ls); cat ../README.md",
        "(cd src) && cat ../README.md",
        "echo | cd src && cat ../README.md",
        "cd src | true && cat ../README.md",
        "cd src & cat ../README.md",
        "! cd src && cat ../README.md",
        "! cd src || cat ../README.md",
        "rmdir docs; cd docs; cat ../README.md",
        "ls; cd src; cat ../README.md",
        "sh -c 'cd src; ls'; cat ../README.md",
        "sh -c 'cd src && ls' && cat ../README.md",
        "env -C src ls && cat ../README.md",
        "time -o t cd src && cat ../README.md",
        "x=$(cd src && pwd) && cat ../README.md",
        "cd link && cd .. && cat ../README.md",
        "cd src/shop/deep && for i in 1 2 3 4; do cd .. && cat x; done",
        "f() { cd .. && cat x; }; cd src/shop && f; f; f",
        "cd src/shop/deep && mv ../../../src/shop/deep ../../../moved && cat ../../README.md",
        "CDPATH=/ cd src && cat ../README.md",
        "export CDPATH=..; cd src && cat ../README.md",
        "ln -s ../../.. build && mkdir -p build && cd build && cat ../README.md",
        "ls && mkdir build && cd build && cat ../README.md",
        "mkdir build; cd build && cat ../README.md",
        "cd src -- && cat ../../README.md",
        "cd && cat README.md",
        "cd - && cat README.md",
        "cd src && eval 'cd ..; cd ..' && cat README.md",
        "trap 'cat ../README.md' EXIT; cd src && ls",
    ],
)
def test_what_may_be_outside_is_outside(command: str, project: Path) -> None:
    found = reach(command, project, Workspace(project))
    assert found.outside or found.protected


def test_a_path_for_directories_of_the_environment_is_none_that_is_known(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "CDPATH", "/")
    assert reach("cd src && cat ../README.md", project, Workspace(project)).outside


@cases("lister", ["find src -name '*.py'", "git ls-files", "ls src", "grep -rl x src"])
@cases("body", ['echo "$f"', 'sed -i s/a/b/ "$f"', 'mv "$f" "$f.bak"; chmod +x "$f"; rm "$f"'])
def test_a_loop_over_names_ends(lister: str, body: str, project: Path) -> None:
    found = reach(f"{lister} | while read -r f; do {body}; done", project, Workspace(project))
    assert found.outside == ""


@cases(
    "command",
    [
        "awk -F/ '{print $NF}' docs/x",
        "awk -F / '{print $NF}' docs/x",
        "cut -d/ -f2 docs/x",
        "sort -t/ -k2 docs/x",
        "IFS=/ read -r a b < docs/x",
        "sed -i -e :a -e '/./,$!d;N;ba' README.md",
        "grep -n -e / README.md",
    ],
)
def test_a_slash_between_fields_is_no_path(command: str, project: Path) -> None:
    assert reach(command, project, Workspace(project)).outside == ""


@cases("command", ["cut -f2 /etc/shadow", "find / -F/", "sed -e p /etc/shadow", "ls -F /"])
def test_a_path_beside_it_is_one(command: str, project: Path) -> None:
    assert reach(command, project, Workspace(project)).outside
