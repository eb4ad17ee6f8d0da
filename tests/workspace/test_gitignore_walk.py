"""What of a directory tree is seen, with git itself as the judge of its rules."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.gitignore_walk import WorkspaceTree
from cogency_tui.workspace.paths import Workspace
from tests.workspace.conftest import Fill


def _seen(workspace: Workspace, start: str = ".") -> list[str]:
    with closing(WorkspaceTree(workspace).walk(workspace.locate(start))) as levels:
        return sorted(entry.path for level in levels for entry in level.others)


def test_usual_directories_are_not_seen(workspace: Workspace, fill: Fill) -> None:
    fill(
        {".git/config": "", "node_modules/x/i.js": "", "a/__pycache__/x.pyc": "", ".venv/p": "", "a/b.py": ""}
    )
    assert _seen(workspace) == ["a/b.py"]


RULES = [
    {".gitignore": "*.log\n!keep.log\n", "a.log": "", "keep.log": "", "sub/b.log": "", "sub/keep.log": ""},
    {".gitignore": "/build\n", "build/x": "", "sub/build/x": ""},
    {".gitignore": "build/\n", "build/x": "", "sub/build": ""},
    {".gitignore": "foo/**\n!foo/keep.txt\n", "foo/keep.txt": "", "foo/drop.txt": "", "x/foo/y": ""},
    {".gitignore": "foo/*\n!foo/keep.txt\n", "foo/keep.txt": "", "foo/drop.txt": ""},
    {".gitignore": "dir/\n!dir/keep\n", "dir/keep": "", "dir/drop": ""},
    {".gitignore": "a/**/b\n", "a/b": "", "a/x/b": "", "a/x/y/b": "", "b": ""},
    {".gitignore": "a/**/b/**/c\n", "a/b/c": "", "a/x/b/y/z/c": "", "a/b/b/c": "", "a/c/b": "", "a/bc/c": ""},
    {".gitignore": "**/a/**/b/**/\n!**/c*e/**/f\n", "a/b/c": "", "x/a/b": "", "x/a/y/b/z/f": "", "ce/f": ""},
    {
        ".gitignore": "a/**/b/**/c/**/d/**/e/**/f\n",
        "a/b/c/d/e/f": "",
        "a/b/x/c/d/y/y/e/f": "",
        "a/b/c/d/f": "",
    },
    {".gitignore": "a**b/c\n*a*b*c*d*e\n", "axb/c": "", "a/b/c": "", "1a2b3c4d5e": "", "abdce": ""},
    {".gitignore": "**/z\n", "z": "", "a/z": "", "a/b/z": ""},
    {
        ".gitignore": "*.tmp\n",
        "sub/.gitignore": "!*.tmp\nlocal\n",
        "a.tmp": "",
        "sub/a.tmp": "",
        "sub/local": "",
    },
    {".gitignore": "# no\n\\#x\n  \n", "#x": "", "# no": "", "no": ""},
    {".gitignore": "a?c\n[xy]z\n", "abc": "", "ac": "", "xz": "", "zz": ""},
    {".gitignore": "*a*b*c\n", "1a2b3c": "", "abc": "", "abcd": "", "acb": "", "d/xaxbxc": "", "abab": ""},
    {".gitignore": "doc/*.txt\n", "doc/a.txt": "", "doc/sub/a.txt": "", "a.txt": ""},
    {".gitignore": "trail  \n", "trail": "", "trail2": ""},
    {".gitignore": "a/**/\n!a/keep\n", "a/keep": "", "a/b/c": ""},
    {".gitignore": "/*\n!/src\n", "src/a": "", "b": "", "src/sub/b": ""},
    {".gitignore": "[z-a]\n!\nreal\n", "real": "", "b": ""},
    {".gitignore": "x\r\ny\r\n", "x": "", "y": "", "z": ""},
    {".gitignore": "*\n!*/\n!*.py\n", "a.py": "", "b.txt": "", "s/c.py": "", "s/d.txt": ""},
]


@pytest.mark.parametrize("files", RULES, ids=lambda files: files[".gitignore"].split("\n")[0])
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_gitignore_means_what_git_makes_of_it(
    workspace: Workspace, fill: Fill, files: dict[str, str]
) -> None:
    fill(files)
    git = ["git", "-C", str(workspace.root)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(workspace.root), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run([*git, "init", "-q"], check=True, env=environ)
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"],
        check=True,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert _seen(workspace) == sorted(filter(None, listed.stdout.split("\0")))


def test_what_is_asked_for_by_name_is_seen(workspace: Workspace, fill: Fill) -> None:
    fill(
        {".gitignore": "out/\n", "out/a": "", "node_modules/x/i.js": "", "node_modules/x/node_modules/y": ""}
    )
    assert _seen(workspace, "out") == ["out/a"]
    assert _seen(workspace, "node_modules/x") == ["node_modules/x/i.js"]


def test_rules_from_above_end_where_what_they_ignore_is_asked_for(workspace: Workspace, fill: Fill) -> None:
    fill({".gitignore": "logs/\n*.log\n", "logs/a.log": "", "src/b.log": ""})
    assert _seen(workspace, "logs") == ["logs/a.log"]
    assert _seen(workspace, "src") == []


def test_rules_from_above_hold_in_a_directory_below(workspace: Workspace, fill: Fill) -> None:
    fill({".gitignore": "*.log\n/src/gen\n", "src/a.log": "", "src/gen/x": "", "src/b": ""})
    assert _seen(workspace, "src") == ["src/b"]


def test_children_are_directories_first_then_the_rest_by_name(workspace: Workspace, fill: Fill) -> None:
    fill({"b.py": "", "A.py": "", "z/x": "", "m/x": "", ".gitignore": "secret\n", "secret": ""})
    (workspace.root / "link").symlink_to("b.py")
    found = [(entry.name, entry.kind) for entry in WorkspaceTree(workspace).children()]
    assert found == [
        ("m", "directory"),
        ("z", "directory"),
        (".gitignore", "file"),
        ("A.py", "file"),
        ("b.py", "file"),
        ("link", "link"),
    ]
    assert [entry.path for entry in WorkspaceTree(workspace).children("z")] == ["z/x"]


def test_children_of_a_file_are_refused(workspace: Workspace, fill: Fill) -> None:
    fill({"a": ""})
    with pytest.raises(WorkspaceError):
        WorkspaceTree(workspace).children("a")
    with pytest.raises(WorkspaceError):
        WorkspaceTree(workspace).children("none")


def test_links_to_directories_are_not_entered(workspace: Workspace, fill: Fill, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("")
    fill({"a/x": ""})
    (workspace.root / "a" / "loop").symlink_to("..")
    (workspace.root / "out").symlink_to(tmp_path / "outside")
    assert _seen(workspace) == ["a/loop", "a/x", "out"]


@pytest.mark.timeout(60)
def test_gitignore_that_is_no_file_has_no_rules(workspace: Workspace, fill: Fill, tmp_path: Path) -> None:
    fill({"a/x": "", "b/x": ""})
    os.mkfifo(workspace.root / "a" / ".gitignore")
    (tmp_path / "rules").write_text("*\n")
    (workspace.root / "b" / ".gitignore").symlink_to(tmp_path / "rules")
    assert _seen(workspace) == ["a/.gitignore", "a/x", "b/.gitignore", "b/x"]


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A project in which the test is an ordinary user, for whom modes count."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o777)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield directory
    if root:
        os.seteuid(0)
    for path in directory.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)
    shutil.rmtree(directory)


def test_unreadable_directory_is_passed_over(unprivileged: Path) -> None:
    for name in ("closed", "open"):
        (unprivileged / name).mkdir()
        (unprivileged / name / "x").write_text("")
    (unprivileged / "closed").chmod(0)
    workspace = Workspace(unprivileged)
    assert _seen(workspace) == ["open/x"]
    assert [entry.name for entry in WorkspaceTree(workspace).children()] == ["closed", "open"]
    with pytest.raises(WorkspaceError, match="permission denied"):
        WorkspaceTree(workspace).children("closed")


def test_directory_that_may_only_be_entered_is_walked_through(unprivileged: Path) -> None:
    (unprivileged / "way").mkdir()
    (unprivileged / "way" / "x").write_text("x")
    (unprivileged / "way").chmod(0o311)
    workspace = Workspace(unprivileged)
    assert workspace.read_bytes(workspace.locate("way/x"), 10) == b"x"


def test_very_deep_tree_ends_the_walk_and_not_the_program(workspace: Workspace) -> None:
    handle = os.open(workspace.root, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    with closing(WorkspaceTree(workspace).walk(workspace.locate("."))) as levels:
        assert len(list(levels)) == 100


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
def test_hostile_rules_and_names_take_no_time(workspace: Workspace, fill: Fill) -> None:
    rules = "\n".join(["*a" * 40 + "b", "*a*a*ab", "**/a" * 40 + "b", "*" * 900 + "b"] * 50)
    fill({".gitignore": rules, **{f"{'a' * 240}{number}": "" for number in range(30)}})
    assert len(_seen(workspace)) == 31


def test_walk_that_is_given_up_leaves_no_handle_open(workspace: Workspace, fill: Fill) -> None:
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("needs /proc")
    fill({"a/b/c/d": ""})
    before = len(list(handles.iterdir()))
    with closing(WorkspaceTree(workspace).walk(workspace.locate("."))) as levels:
        next(levels)
        next(levels)
    assert len(list(handles.iterdir())) == before


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("a.py", False),
        ("a.log", True),
        ("src/a.log", True),
        ("src/kept.log", False),
        ("gone/deep/a.py", False),
        ("gone/deep/a.log", True),
        ("build", True),
        ("build/x", True),
        ("src/own", True),
        ("own", False),
        ("node_modules/x/y", True),
        (".git/index.lock", True),
        ("src/.cogency-0011.tmp", True),
    ],
)
def test_what_is_not_there_is_ignored_by_the_same_rules(
    workspace: Workspace, fill: Fill, path: str, ignored: bool
) -> None:
    fill({".gitignore": "*.log\nbuild/\n", "src/.gitignore": "!kept.log\nown\n"})
    assert WorkspaceTree(workspace).ignores(path) is ignored
