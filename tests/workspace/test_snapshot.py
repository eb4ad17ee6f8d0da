"""Snapshots: what a command did to the files, told by status alone, and nothing that it did not do."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.snapshot import Difference, differences, passing, take
from tests.workspace.conftest import Fill

Told = list[tuple[str, str]]


def settle() -> None:
    """Let the files of the project be older than the clock of the file system can tell apart."""
    time.sleep(0.06)


def told(found: list[Difference]) -> Told:
    """Kinds and paths; a file whose stamp cannot tell whether it was written is left out."""
    return [(_kind(each), each.path) for each in found if each.old_path or each.before != each.after]


def _kind(one: Difference) -> str:
    if one.old_path:
        return f"renamed from {one.old_path}"
    return "created" if one.before is None else "deleted" if one.after is None else "changed"


@pytest.fixture
def sweep(workspace: Workspace) -> Callable[[Callable[[], object]], Told]:
    """What differs after something was done."""

    def run(action: Callable[[], object]) -> Told:
        settle()
        before = take(workspace)
        action()
        return told(differences(workspace, before, take(workspace)))

    return run


Sweep = Callable[[Callable[[], object]], Told]


def shell(project: Path, command: str) -> Callable[[], object]:
    return lambda: subprocess.run(["bash", "-c", command], cwd=project, check=True)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("true", []),
        ("cat a src/b.py", []),
        ("echo more >> a", [("changed", "a")]),
        ("printf 'A\\n' > a", [("changed", "a")]),
        ("sed -i s/b/x/ src/b.py", [("changed", "src/b.py")]),
        ("chmod +x a", [("changed", "a")]),
        ("touch -d 2001-01-01 a", [("changed", "a")]),
        (
            "echo 1 > new; mkdir -p deep/er; echo 2 > deep/er/x",
            [("created", "deep/er/x"), ("created", "new")],
        ),
        ("rm a", [("deleted", "a")]),
        ("rm -r src", [("deleted", "src/b.py")]),
        ("mv a z", [("renamed from a", "z")]),
        ("mv src lib", [("renamed from src/b.py", "lib/b.py")]),
        ("mv a src/b.py", [("deleted", "a"), ("changed", "src/b.py")]),
        ("cp -p a z; rm a", [("deleted", "a"), ("created", "z")]),
        ("ln -s a link", [("created", "link")]),
        ("rm a; ln -s src/b.py a", [("changed", "a")]),
        ("rm a; mkdir a; echo > a/x", [("deleted", "a"), ("created", "a/x")]),
        ("rm -r src; echo > src", [("created", "src"), ("deleted", "src/b.py")]),
        ("rm a; mkfifo a", [("deleted", "a")]),
        ("mkdir empty; mkfifo pipe", []),
        ("mkdir node_modules; echo > node_modules/x; echo > x.log; echo > .git/x", []),
        ("echo > new; rm new", []),
    ],
)
def test_what_a_command_did_is_told(
    project: Path, fill: Fill, sweep: Sweep, command: str, expected: Told
) -> None:
    fill({"a": "a\n", "src/b.py": "b\n", ".gitignore": "*.log\n", "old.log": "", ".git/HEAD": ""})
    assert sweep(shell(project, command)) == sorted(expected, key=lambda each: each[1])


def test_files_that_come_to_sight_are_not_created_and_hidden_ones_not_deleted(
    project: Path, fill: Fill, sweep: Sweep
) -> None:
    fill({".gitignore": "build/\n", "build/out": "x", "a.log": "y", "b": "z"})
    assert sweep(shell(project, "echo '*.log' > .gitignore; echo > build/new")) == [
        ("changed", ".gitignore"),
        ("created", "build/new"),
    ]


def test_a_directory_that_was_hidden_by_its_name_comes_with_its_files(
    project: Path, fill: Fill, sweep: Sweep
) -> None:
    fill({"node_modules/x.js": "x"})
    assert sweep(lambda: (project / "node_modules").rename(project / "lib")) == [("created", "lib/x.js")]


def test_what_is_moved_to_where_it_is_ignored_is_not_there_any_more(
    project: Path, fill: Fill, sweep: Sweep
) -> None:
    fill({"x.js": "x", "node_modules/y.js": ""})
    assert sweep(lambda: (project / "x.js").rename(project / "node_modules/x.js")) == [("deleted", "x.js")]


def test_a_write_in_the_same_tick_is_looked_at(project: Path, workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1"})
    before = take(workspace)
    stamp = before.files["a"]
    (project / "a").write_text("2")
    os.utime(project / "a", ns=(stamp.modified, stamp.modified))
    found = differences(workspace, before, take(workspace))
    assert [each.path for each in found] == ["a"]


def test_a_file_that_was_not_touched_is_not_looked_at(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1"})
    settle()
    assert differences(workspace, take(workspace), take(workspace)) == []


def test_the_topmost_directory_that_was_made_is_told(project: Path, workspace: Workspace, fill: Fill) -> None:
    fill({"src/a": ""})
    before = take(workspace)
    fill({"src/new/deep/x": "", "src/y": "", "z/w": ""})
    found = differences(workspace, before, take(workspace))
    assert {each.path: each.made for each in found if each.before is None} == {
        "src/new/deep/x": "src/new",
        "src/y": "",
        "z/w": "z",
    }


def test_an_unreadable_directory_loses_and_gains_nothing(project: Path, fill: Fill, sweep: Sweep) -> None:
    fill({"open/a": "", "shut/b": ""})
    (project / "shut").chmod(0)
    if os.access(project / "shut", os.R_OK):
        pytest.skip("nothing is unreadable for root")
    try:
        assert sweep(shell(project, "chmod 0 open; chmod 700 shut")) == []
    finally:
        for name in ("open", "shut"):
            (project / name).chmod(0o700)


def test_a_directory_swapped_for_a_link_is_not_followed(
    project: Path, tmp_path: Path, fill: Fill, sweep: Sweep
) -> None:
    fill({"src/a": "theirs"})

    def swap() -> None:
        (project / "src").rename(tmp_path / "outside")
        (project / "src").symlink_to(tmp_path / "outside")

    assert sweep(swap) == [("created", "src"), ("deleted", "src/a")]


def test_special_files_and_odd_names_are_no_trouble(
    project: Path, fill: Fill, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill({"a": ""})
    os.mkfifo(project / "pipe")
    (project / "loop").symlink_to("loop")
    monkeypatch.chdir(project)
    (project / "new\nline").write_text("")
    Path(os.fsdecode(os.fsencode(project) + b"/latin-\xff")).write_text("")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        found = sweep(shell(project, "rm pipe s loop; echo x >> $'new\\nline'; echo x >> $'latin-\\xff'"))
    assert found == [("changed", "latin-\udcff"), ("deleted", "loop"), ("changed", "new\nline")]


def test_added_directories_are_looked_at_and_our_own_data_is_not(project: Path, tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    (project / "data").mkdir()
    workspace = Workspace(project, [added])
    before = take(workspace, without=project / "data")
    for directory in (project, project / "data", added):
        (directory / "x").write_text("")
    found = differences(workspace, before, take(workspace, without=project / "data"))
    assert told(found) == [("created", f"{os.path.realpath(added)}/x"), ("created", "x")]


def test_files_that_are_asked_for_are_looked_at_though_ignored(
    project: Path, workspace: Workspace, fill: Fill
) -> None:
    fill({"node_modules/x": "1", "node_modules/y": "2"})
    settle()
    also = ["node_modules/x", "node_modules/none"]
    before = take(workspace, also)
    shutil.rmtree(project / "node_modules")
    assert told(differences(workspace, before, take(workspace, also))) == [("deleted", "node_modules/x")]


@pytest.mark.exhaustive
def test_a_tree_that_changes_under_the_walk_is_no_trouble(project: Path, workspace: Workspace) -> None:
    churn = subprocess.Popen(
        ["bash", "-c", "while :; do mkdir -p d/e; echo > d/e/f; rm -rf d; done"], cwd=project
    )
    try:
        for _ in range(30):
            before = take(workspace)
            assert {each.path for each in differences(workspace, before, take(workspace))} <= {"d/e/f"}
    finally:
        churn.kill()
        churn.wait()


@pytest.mark.exhaustive
def test_many_files_are_swept(project: Path, workspace: Workspace, fill: Fill) -> None:
    directories = 50
    fill({"7/x.py": "x\n", "0/0.py": ""})
    for number in range(directories):
        directory = project / f"{number % 20}" / f"{number}"
        directory.mkdir(parents=True, exist_ok=True)
        for file in range(100):
            # Names are made much faster than files.
            (directory / f"{file}.py").hardlink_to(project / "0/0.py")
    settle()
    before = take(workspace)
    (project / "7/x.py").write_bytes(b"y\n")
    assert len(before.files) == 100 * directories + 2
    assert told(differences(workspace, before, take(workspace))) == [("changed", "7/x.py")]


def test_what_was_touched_is_looked_at_though_its_stamp_is_the_same(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1", "b": "1"})
    settle()
    before = take(workspace)
    found = differences(workspace, before, before, {"a", "not there"})
    assert [(each.path, each.before == each.after) for each in found] == [("a", True)]


def test_what_does_not_last_is_told_from_what_does(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1", "gone": "1", ".gitignore": "*.log\n", "sub/x": "1", "x.log": "1"})
    before = take(workspace)
    (workspace.root / "gone").unlink()
    os.mkfifo(workspace.root / "fifo")
    fill({"new": "1", "made/deep": "1"})
    after = take(workspace)
    touched = {"a", "gone", "new", "made", "sub", "tmp", "sub/tmp", "x.log", "y.log", "fifo", ".git/lock"}
    assert passing(workspace, touched, before, after) == (["sub/tmp", "tmp"], ["a"])


def test_our_own_data_in_the_project_is_no_part_of_it(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1", "data/blobs/x": "1"})
    found = take(workspace, without=workspace.root / "data")
    assert (set(found.files), found.directories) == ({"a"}, {""})
