"""Hostile repositories: whatever their configuration names as a program, nothing of it runs when git is asked,
or works for the program in worktrees."""

import os
import subprocess
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.worktrees import Worktrees
from cogency_tui.config.schema import Settings
from cogency_tui.errors import UsageError, WorkspaceError
from cogency_tui.workspace.git import safe_git
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.git.worktrees import WorkingTree
from tests.agent.templates import TEMPLATES
from tests.peers.scripted import ScriptedProvider

PROGRAMS = {
    "merge.evil.driver": "{}; cat %A",
    "merge.evil.name": "evil",
    "merge.evil.recursive": "evil",
    "merge.default": "evil",
    "merge.renormalize": "true",
    "merge.log": "true",
    "diff.evil.command": "{}",
    "diff.evil.textconv": "{}; cat",
    "diff.external": "{}",
    "diff.submodule": "log",
    "hook.evil.command": "{}",
    "hook.evil.event": "reference-transaction",
    "trailer.evil.command": "{}",
    "trailer.evil.cmd": "{}",
    "core.fsmonitor": "{}",
    "core.hooksPath": ".githooks",
    "core.sshCommand": "{}",
    "core.pager": "{}",
    "core.editor": "{}",
    "sequence.editor": "{}",
    "core.askPass": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "gpg.program": "{}",
    "gpg.ssh.program": "{}",
    "commit.gpgSign": "true",
    "commit.verbose": "true",
    "credential.helper": "!{}",
    "alias.status": "!{}",
    "alias.reset": "!{}",
    "branch.main.mergeOptions": "--no-commit --edit -s evil",
    "pull.twohead": "evil",
    "rerere.enabled": "true",
    "gc.auto": "1",
    "gc.recentObjectsHook": "{}",
    "status.submoduleSummary": "true",
    "submodule.recurse": "true",
    "submodule.nested.update": "!{}",
    "tar.evil.command": "{}",
    "pager.merge": "{}",
}
"""Settings of a repository; `{}` is a command that leaves a trace."""

HOOKS = (
    *("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-merge-commit", "post-merge", "pre-auto-gc", "fsmonitor-watchman"),
)
LINES = "".join(f"line {number}\n" for number in range(1, 21))


def git(directory: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=directory, check=True, capture_output=True, text=True
    ).stdout.strip()


def new_repository(directory: Path, files: Mapping[str, str]) -> Path:
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    git(directory, "config", "user.name", "Ada")
    git(directory, "config", "user.email", "ada@example.org")
    for name, text in files.items():
        (directory / name).write_text(text)
    commit(directory)
    return directory


def commit(directory: Path) -> None:
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "x")


class Traces:
    """What has run, by the names in the commands."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir()

    def command(self, name: str) -> str:
        return f"touch {self._directory}/{name}"

    @property
    def found(self) -> list[str]:
        return sorted(each.name for each in self._directory.iterdir())


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    return Traces(tmp_path / "ran")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "shop", {"a.txt": LINES, "b.txt": LINES})


@pytest.fixture
async def worktrees(tmp_path: Path, shop: Path) -> AsyncGenerator[Worktrees]:
    TEMPLATES.copy_store(tmp_path / "data")
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    made = Agent(
        ScriptedProvider(), project=shop, data=tmp_path / "data", settings=Settings(), environ=environ
    )
    async with made:
        yield Worktrees(made)


def configure(directory: Path, traces: Traces) -> None:
    """Let a repository name a program wherever git takes one, and have attributes select them."""
    for key, value in PROGRAMS.items():
        git(directory, "config", key, value.format(traces.command(key)))
    (directory / ".githooks").mkdir()
    for name in HOOKS:
        hook = directory / ".githooks" / name
        hook.write_text(f"#!/bin/sh\n{traces.command(name)}\n")
        hook.chmod(0o755)
    (directory / ".git/info/attributes").write_text("*.txt merge=evil diff=evil\n")


INCLUDES = {
    "direct": "",
    "branch": '[includeIf "onbranch:cogency/**"]',
    "directory": '[includeIf "gitdir:**/worktrees/**"]',
    "never": '[includeIf "onbranch:no-such-branch"]',
}
FILTERS = '[filter "evil"]\n\t{kind} = {command}; cat\n'


@pytest.mark.parametrize("include", INCLUDES)
@pytest.mark.parametrize("kind", ["smudge", "clean", "process"])
async def test_no_filter_runs_in_a_new_worktree_whenever_its_include_applies(
    worktrees: Worktrees, shop: Path, traces: Traces, include: str, kind: str
) -> None:
    (shop / ".git/info/attributes").write_text("* filter=evil\n")
    text = FILTERS.format(kind=kind, command=traces.command(kind))
    with (shop / ".git/config").open("a") as config:
        if INCLUDES[include]:
            # One more file on the way, and a quoted name.
            (shop / ".git/one.inc").write_text('[include]\n\tpath = "two\\tinc"\n')
            (shop / ".git/two\tinc").write_text(text)
            config.write(f"{INCLUDES[include]}\n\tpath = one.inc\n")
        else:
            config.write(text)
    with pytest.raises(UsageError, match="filters of its own"):
        await worktrees.make("foo")
    assert traces.found == []
    assert worktrees.names() == []
    assert git(shop, "branch", "--list", "cogency/*") == ""


@pytest.mark.parametrize("include", ["branch", "directory"])
def test_the_configuration_that_applies_in_the_worktree_counts_before_it_is_checked_out(
    shop: Path, tmp_path: Path, traces: Traces, include: str
) -> None:
    (shop / ".git/info/attributes").write_text("* filter=evil\n")
    (shop / ".git/evil.inc").write_text(FILTERS.format(kind="smudge", command=traces.command("smudge")))
    with (shop / ".git/config").open("a") as config:
        config.write(f"{INCLUDES[include]}\n\tpath = evil.inc\n")
    with pytest.raises(WorkspaceError, match="filters of its own"):
        WorkingTree(shop).add(tmp_path / "tree", "cogency/tree")
    assert traces.found == []
    assert not (tmp_path / "tree").exists()
    assert git(shop, "branch", "--list", "cogency/*") == ""
    assert len(git(shop, "worktree", "list").splitlines()) == 1


async def test_nothing_that_the_configuration_names_runs_in_a_worktree_s_life(
    worktrees: Worktrees, shop: Path, traces: Traces
) -> None:
    configure(shop, traces)
    root = (await worktrees.make("x")).root
    (root / "a.txt").write_text(LINES.replace("line 3\n", "theirs\n"))
    (root / "new.txt").write_text("new\n")
    (root / ".gitattributes").write_text("*.txt merge=evil diff=evil\n")
    await worktrees.state(root)
    assert (await worktrees.merge(root, "x")).files == 3
    assert (shop / "new.txt").read_text() == "new\n"
    assert Repository(shop).entries(untracked=True) is not None
    assert Repository(shop).cleaned(["-d"], ["."]) is not None
    await worktrees.remove(root)
    assert traces.found == []


async def test_what_a_driver_of_the_repository_would_merge_conflicts(
    worktrees: Worktrees, shop: Path, traces: Traces
) -> None:
    root = (await worktrees.make("x")).root
    (root / "a.txt").write_text(LINES.replace("line 3\n", "theirs\n"))
    (shop / "a.txt").write_text(LINES.replace("line 15\n", "ours\n"))
    git(shop, "commit", "-qam", "ours")
    configure(shop, traces)
    head = git(shop, "rev-parse", "HEAD")
    with pytest.raises(UsageError, match=r"a\.txt conflicts with main") as refused:
        await worktrees.merge(root, "x")
    assert "merge drivers are not run" in refused.value.advice
    assert git(shop, "rev-parse", "HEAD") == head
    (shop / ".git/info/attributes").unlink()
    git(shop, "config", "--unset", "merge.default")
    await worktrees.merge(root, "x")
    assert (shop / "a.txt").read_text().count("ours") == 1
    assert (shop / "a.txt").read_text().count("theirs") == 1
    assert git(shop, "log", "-1", "--format=%P").count(" ") == 1
    assert traces.found == []


async def test_nothing_runs_in_a_repository_inside_of_a_worktree(
    worktrees: Worktrees, shop: Path, traces: Traces
) -> None:
    recorded = {name: new_repository(shop / name, {"n.txt": LINES}) for name in ("still", "moved")}
    commit(shop)
    root = (await worktrees.make("x")).root
    for name, nested in recorded.items():
        git(root, "clone", "-q", str(nested), name)
    new_repository(root / "unrecorded", {"n.txt": LINES})
    for name in ("still", "moved", "unrecorded"):
        inner = root / name
        if name == "moved":
            git(inner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "y", "--allow-empty")
        for kind in ("process", "clean", "smudge"):
            git(inner, "config", f"filter.evil.{kind}", f"{traces.command(kind)}; cat")
        configure(inner, traces)
        (inner / ".git/info/attributes").write_text("* filter=evil\n")
        # Git compares the contents of a file with another time only, and filters them first.
        os.utime(inner / "n.txt", (1, 1))
    await worktrees.state(root)
    await worktrees.merge(root, "x")
    assert traces.found == []
    for name in ("still", "moved", "unrecorded"):
        mode, kind, commit_name = git(shop, "ls-tree", "HEAD", name).split()[:3]
        assert (mode, kind) == ("160000", "commit")
        assert commit_name == git(root / name, "rev-parse", "HEAD")


async def test_files_directories_and_links_that_replace_each_other_are_committed(
    worktrees: Worktrees, shop: Path
) -> None:
    (shop / "d").mkdir()
    (shop / "d/x").write_text("x\n")
    (shop / "e").mkdir()
    (shop / "e/x").write_text("x\n")
    (shop / "gone").write_text("x\n")
    commit(shop)
    root = (await worktrees.make("x")).root
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt/inner").write_text("x\n")
    for name in ("d", "e"):
        (root / name / "x").unlink()
        (root / name).rmdir()
    (root / "d").symlink_to("a.txt")
    (root / "e").write_text("a file\n")
    (root / "gone").unlink()
    (root / "with\nnewline ü").write_text("x\n")
    git(root, "rm", "-q", "--cached", "b.txt")
    await worktrees.merge(root, "x")
    names = git(shop, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    assert sorted(filter(None, names)) == ["a.txt/inner", "b.txt", "d", "e", "with\nnewline ü"]
    assert (shop / "d").is_symlink()
    assert (await worktrees.unmerged(root)).files == []


@pytest.mark.parametrize("setting", ["core.excludesFile", "core.attributesFile", "include.path"])
@pytest.mark.parametrize("place", ["main", "worktree"])
async def test_git_is_not_asked_where_its_configuration_names_a_fifo(
    worktrees: Worktrees, shop: Path, setting: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = (await worktrees.make("x")).root if place == "worktree" else shop
    os.mkfifo(root / "fifo" if place == "worktree" else shop / ".git/fifo")
    value = str(root / "fifo") if place == "worktree" else {"include.path": "fifo"}.get(setting, ".git/fifo")
    section, _, name = setting.partition(".")
    with (shop / ".git/config").open("a") as config:
        config.write(f"[{section}]\n\t{name} = {value}\n")
    asked: list[object] = []

    def ask(*given: object, **_named: object) -> tuple[int, bytes]:
        asked.append(given)
        return 1, b""

    monkeypatch.setattr(safe_git, "run_helper", ask)
    assert Repository(root).status() is None
    assert Repository(root).entries(untracked=True) is None
    assert Repository(root).commits([]) is None
    with pytest.raises(WorkspaceError):
        WorkingTree(root).changed()
    with pytest.raises((UsageError, WorkspaceError)):
        await worktrees.make("y")
    assert asked == []
