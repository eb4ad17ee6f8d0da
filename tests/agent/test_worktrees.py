"""Conversations in git worktrees: made, worked in, merged and removed, with the rules of their project."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.agent.project.trust import TrustState
from cogency_tui.agent.worktrees import ConflictMarkersError, Worktrees
from cogency_tui.config.schema import Settings
from cogency_tui.errors import UsageError, WorkspaceError
from cogency_tui.temporary_files import make_directory
from tests import ROOT
from tests.agent.templates import TEMPLATES
from tests.agent.test_turns import block, results, turn
from tests.peers.scripted import ScriptedProvider

LINES = "".join(f"line {number}\n" for number in range(1, 21))


def git(directory: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=directory, check=True, capture_output=True, text=True
    ).stdout.strip()


def attempt(directory: Path, *arguments: str) -> None:
    """Run git, which may end in a conflict."""
    subprocess.run(["git", *arguments], cwd=directory, check=False, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a commit."""
    project = tmp_path / "shop"
    project.mkdir()
    (project / "app.py").write_text(LINES)
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.org")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    return project


@pytest.fixture
async def agent(tmp_path: Path, shop: Path) -> AsyncGenerator[Agent]:
    TEMPLATES.copy_store(tmp_path / "data")
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    made = Agent(
        ScriptedProvider(),
        project=shop,
        data=tmp_path / "data",
        settings=Settings(),
        permissions="auto",
        environ=environ,
    )
    async with made:
        yield made


def edit(old: str, new: str) -> str:
    return block(("edit", {"file": "app.py", "old": f"{old}\n", "new": f"{new}\n"}))


async def work(agent: Agent, conversation: str, *replies: str) -> None:
    agent.permissions = "auto"
    agent.provider = ScriptedProvider(*replies, "Done.", size=10_000)
    await turn(agent, f"work in {conversation}", conversation_id=conversation)


async def test_a_conversation_works_in_a_worktree_of_its_own_and_is_merged(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    made = await worktrees.make("parser")
    assert (made.branch, made.head, list(made.left)) == ("cogency/parser", "main", [])
    assert worktrees.names() == ["parser"]
    inside = agent.beside_in(made.root)
    assert (inside.worktree, inside.home, inside.project) == ("parser", agent, made.root)
    await work(inside, "c", edit("line 3", "parsed"))
    assert (shop / "app.py").read_text() == LINES
    assert (await worktrees.unmerged(made.root)).files == ["app.py"]
    await work(agent, "m", edit("line 15", "main"), block(("shell", {"command": "git commit -qam main"})))

    merged = await worktrees.merge(made.root, "fix\nparser")

    assert (merged.head, merged.files, merged.committed) == ("main", 1, True)
    assert (shop / "app.py").read_text() == LINES.replace("line 3\n", "parsed\n").replace("line 15", "main")
    assert git(shop, "log", "-1", "--format=%s", "cogency/parser") == "fix⏎parser"
    with pytest.raises(UsageError, match="Nothing to merge"):
        await worktrees.merge(made.root, "again")
    await worktrees.remove(made.root)
    assert not made.root.exists()
    assert git(shop, "branch", "--list", "cogency/*") == ""
    assert worktrees.names() == []


async def test_a_conflict_or_an_uncommitted_file_leaves_the_project_as_it_is(
    agent: Agent, shop: Path
) -> None:
    worktrees = Worktrees(agent)
    made = await worktrees.make("")
    assert made.root.name == "tree-1"
    await work(agent.beside_in(made.root), "c", edit("line 3", "theirs"))
    (shop / "app.py").write_text(LINES.replace("line 15", "uncommitted"))
    assert (await worktrees.make("other")).left == ["app.py"]
    with pytest.raises(UsageError, match=r"app\.py has uncommitted changes in shop"):
        await worktrees.merge(made.root, "x")
    (shop / "app.py").write_text(LINES.replace("line 3\n", "ours\n"))
    git(shop, "commit", "-qam", "ours")
    with pytest.raises(UsageError, match=r"app\.py conflicts with main"):
        await worktrees.merge(made.root, "x")
    assert git(shop, "status", "--porcelain") == ""
    assert "ours" in (shop / "app.py").read_text()
    left = await worktrees.unmerged(made.root)
    assert (left.files, left.commits) == (["app.py"], 0)


@pytest.mark.parametrize("ignored", [False, True])
async def test_a_file_that_git_does_not_track_is_not_overwritten(
    agent: Agent, shop: Path, ignored: bool
) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    (root / "new.txt").write_text("theirs\n")
    (shop / "new.txt").write_text("mine\n")
    if ignored:
        (shop / ".git/info/exclude").write_text("new.txt\n")
        git(root, "add", "-f", "new.txt")
    with pytest.raises(UsageError) as refused:
        await worktrees.merge(root, "x")
    assert refused.value.advice == (
        "Nothing was merged: new.txt is untracked in shop and would be overwritten. Move or delete it first."
    )
    assert (shop / "new.txt").read_text() == "mine\n"
    (shop / "new.txt").unlink()
    assert (await worktrees.merge(root, "x")).files == 1


async def test_a_directory_and_a_file_in_the_place_of_each_other_are_not_overwritten(
    agent: Agent, shop: Path
) -> None:
    worktrees = Worktrees(agent)
    (shop / ".git/info/exclude").write_text("/data\n/cache\n")
    root = (await worktrees.make("x")).root
    (shop / "data").mkdir()
    (shop / "data/one").write_text("mine\n")
    (shop / "cache").write_text("mine\n")
    (root / "data").write_text("theirs\n")
    (root / "cache").mkdir()
    (root / "cache/two").write_text("theirs\n")
    git(root, "add", "-f", "data", "cache")
    with pytest.raises(UsageError) as refused:
        await worktrees.merge(root, "x")
    assert refused.value.advice == (
        "Nothing was merged: cache and data/one are untracked in shop and would be overwritten. "
        "Move or delete them first."
    )
    assert [(shop / name).read_text() for name in ("data/one", "cache")] == ["mine\n"] * 2


async def test_a_local_copy_of_a_file_that_both_have_removed_is_not_in_the_way(
    agent: Agent, shop: Path
) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    for directory in (shop, root):
        git(directory, "rm", "-q", "--cached", "app.py")
        git(directory, "commit", "-qm", f"untrack in {directory.name}")
    (shop / ".git/info/exclude").write_text("app.py\n")
    (root / "new.txt").write_text("theirs\n")
    assert (await worktrees.merge(root, "x")).files == 2
    assert (shop / "app.py").read_text() == LINES


async def test_the_reason_of_git_is_given(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    (root / "new.py").write_text("theirs\n")
    lock = shop / ".git/index.lock"
    lock.touch()
    with pytest.raises(WorkspaceError) as failed:
        await worktrees.merge(root, "x")
    assert re.fullmatch(
        r"Git could not merge cogency/x: Unable to create '\S+index.lock': File exists. .*"
        r" Its files are committed in cogency/x\.",
        failed.value.advice,
    )
    lock.unlink()
    lock = shop / ".git/refs/heads/cogency/y.lock"
    lock.touch()
    with pytest.raises(
        WorkspaceError, match=r"Git could not make a worktree at .*/y: .*y\.lock': File exists"
    ):
        await worktrees.make("y")


async def test_a_repository_with_filters_says_so_of_a_merge(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    (root / "new.py").write_text("new\n")
    git(shop, "config", "filter.crypt.clean", "cat")
    with pytest.raises(UsageError) as refused:
        await Worktrees(agent).merge(root, "x")
    assert refused.value.advice == (
        "This repository configures filters of its own, which are not run: its worktrees are neither made nor "
        "merged. Commit the files of x, and run `git merge cogency/x` in shop."
    )


_OTHER = """
import sys
from pathlib import Path
from cogency_tui.store.open_locks import Presence, command_key
presence = Presence(Path(sys.argv[1]))
print(presence.enter("c", 5.0), presence.enter("c", 5.0, "work"), flush=True)
sys.stdin.readline()
presence.enter(command_key("c", "npm start"), 5.0)
presence.leave("c", "work")
print("serving", flush=True)
sys.stdin.readline()
presence.leave(command_key("c", "npm start"))
print("idle", flush=True)
sys.stdin.readline()
"""


async def test_conversations_of_another_process_in_a_worktree_are_named(agent: Agent) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("parser")).root
    await work(agent.beside_in(root), "c", edit("line 3", "parsed"))
    words = [sys.executable, "-c", _OTHER, str(agent.data)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as other:  # noqa: ASYNC220
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "True True\n"
        working = f"“work in c” is working in it, in process {other.pid}"
        assert [each.described for each in await worktrees.occupants(root)] == [working]
        with pytest.raises(UsageError, match=f"Nothing was removed: {working}"):
            await worktrees.losses(root)
        with pytest.raises(UsageError, match=f"Nothing was merged: {working}"):
            await worktrees.merge(root, "x")
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "serving\n"
        runs = f"Nothing was removed: `npm start` of “work in c” runs in it, in process {other.pid}."
        with pytest.raises(UsageError, match=runs):
            await worktrees.losses(root)
        with pytest.raises(UsageError, match=runs):
            await worktrees.remove(root)
        assert root.is_dir()
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "idle\n"
        idle = f"“work in c” is open in it, in process {other.pid}"
        assert [each.described for each in (await worktrees.losses(root)).occupants] == [idle]
        other.kill()
    assert (await worktrees.losses(root)).occupants == ()
    assert (await worktrees.merge(root, "x")).files == 1


async def test_a_background_command_of_another_program_keeps_its_worktree(agent: Agent, shop: Path) -> None:
    root = (await Worktrees(agent).make("parser")).root
    serve = block(("shell", {"command": "until [ -e go ]; do sleep 0.05; done", "background": True}))
    async with Agent(
        ScriptedProvider(), project=shop, data=agent.data, settings=Settings(), environ={}
    ) as other:
        inside = other.beside_in(root)
        await work(inside, "c", serve)
        runs = (
            "Nothing was removed: `until [ -e go ]; do sleep 0.05; done` of “work in c” runs in it, "
            f"in process {os.getpid()}."
        )
        with pytest.raises(UsageError, match=re.escape(runs)):
            await Worktrees(agent).remove(root)
        assert list((await Worktrees(other).losses(root)).commands) == [
            "until [ -e go ]; do sleep 0.05; done"
        ]
        there = runs.replace("removed", "merged")
        for asked, said in ((agent, there), (other, "Nothing was merged: `until [ -e go ]; do sleep")):
            with pytest.raises(UsageError, match=re.escape(said)) as caught:
                await Worktrees(asked).merge(root, "x")
            assert caught.value.hint == "Stop it, or wait until it ends."
        assert inside.background is not None
        (root / "go").touch()
        await inside.background.over("p1")
        assert [each.described for each in await Worktrees(agent).occupants(root)] == []
        await Worktrees(agent).remove(root)
    assert not root.exists()


async def test_a_worktree_in_which_a_conversation_works_here_is_not_merged(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("parser")).root
    (root / "more.py").write_text("more\n")
    inside = agent.beside_in(root)
    asked, answered = asyncio.Event(), asyncio.Event()

    async def ask(_question: Question) -> Answer:
        asked.set()
        await answered.wait()
        return Answer(allow=True)

    inside.ask, inside.permissions = ask, "ask"
    inside.provider = ScriptedProvider(edit("line 3", "parsed"), "Done.", size=10_000)
    running = asyncio.create_task(turn(inside, "work", conversation_id="c"))
    await asked.wait()
    before = await worktrees.losses(root)
    assert [each.described for each in before.occupants] == ["“work” is waiting for an answer in it"]
    with pytest.raises(UsageError, match="“work” is waiting for an answer in it"):
        await worktrees.merge(root, "x")
    async with Agent(
        ScriptedProvider(), project=shop, data=agent.data, settings=Settings(), environ={}
    ) as other:
        waits = f"Nothing was removed: “work” is waiting for an answer in it, in process {os.getpid()}."
        with pytest.raises(UsageError, match=waits):
            await Worktrees(other).remove(root)
    answered.set()
    await running
    now = await worktrees.losses(root)
    assert now.occupants == ()
    assert before.changes(now) == ["app.py"]
    assert (await worktrees.merge(root, "x")).files == 2


async def test_a_conversation_whose_worktree_was_removed_is_told_what_to_do(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("parser")).root
    inside = agent.beside_in(root)
    await work(inside, "c")
    git(shop, "worktree", "remove", str(root))
    with pytest.raises(UsageError, match="Worktree parser was removed") as caught:
        await turn(inside, "go on", conversation_id="c")
    assert caught.value.hint == "/new begins a conversation in shop, /worktree NAME one in a new worktree."
    assert not root.exists()


async def test_a_worktree_that_is_removed_during_the_turn_is_named_in_the_result(
    agent: Agent, shop: Path
) -> None:
    inside = agent.beside_in((await Worktrees(agent).make("parser")).root)
    inside.permissions = "auto"
    gone = block(("shell", {"command": f"cd {shop} && git worktree remove --force {inside.project}"}))
    make = block(("write", {"file": "new.py", "content": "new\n"}), ("list", {}))
    inside.provider = ScriptedProvider(gone, make, "It is gone.", size=10_000)

    async def agree(_question: Question) -> Answer:
        return Answer(allow=True)

    inside.ask = agree
    _removed, *later = results(await turn(inside))
    assert len(later) == 2
    for each in later:
        assert each["payload"]["outcome"].endswith(
            "The project directory no longer exists: no call can read or change its files. Tell the user, and "
            "end."
        )
    assert not inside.project.exists()


async def test_the_model_is_told_that_the_worktree_of_its_conversation_was_removed(
    agent: Agent, shop: Path
) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("parser")).root
    await work(agent.beside_in(root), "c")
    await worktrees.remove(root)
    await work(agent, "c")
    await work(agent, "c")
    first, moved, last = (each for each in await (await agent.store()).events("c") if each["type"] == "user")
    assert f"\nProject directory: {root}\n" in first.get("environment", "")
    assert (
        f"\n[engine] The git worktree {root} was removed: this conversation continues in {shop}, without what "
        "was not merged.\n"
    ) in moved.get("environment", "")
    assert "environment" not in last


async def test_with_another_branch_checked_out_the_advice_works(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("parser")).root
    (root / "more.py").write_text("more\n")
    git(shop, "switch", "-qc", "feature")
    with pytest.raises(UsageError, match="made from main, but feature is checked out in shop") as caught:
        await worktrees.merge(root, "x")
    assert caught.value.hint == (
        "Run `git switch main` in shop first. To merge into feature, commit the files of worktree parser and "
        "run `git merge cogency/parser` in shop."
    )
    git(shop, "branch", "-m", "main", "trunk")
    with pytest.raises(UsageError, match="Nothing was merged") as caught:
        await worktrees.merge(root, "x")
    assert caught.value.hint.startswith("There is no branch main any more. To merge into feature, commit")


async def diverged(worktrees: Worktrees, shop: Path) -> Path:
    """A worktree whose commit conflicts with that of the project."""
    root = (await worktrees.make("x")).root
    (root / "app.py").write_text(LINES.replace("line 3\n", "theirs\n"))
    git(root, "commit", "-qam", "theirs")
    (shop / "app.py").write_text(LINES.replace("line 3\n", "ours\n"))
    git(shop, "commit", "-qam", "ours")
    return root


async def test_a_merge_that_has_not_ended_in_the_worktree_is_never_committed(
    agent: Agent, shop: Path
) -> None:
    worktrees = Worktrees(agent)
    root = await diverged(worktrees, shop)
    head = git(root, "rev-parse", "HEAD")
    attempt(root, "merge", "main")
    with pytest.raises(UsageError, match=r"app\.py in worktree x has unresolved conflicts of a merge"):
        await worktrees.merge(root, "x")
    git(root, "add", "app.py")
    with pytest.raises(UsageError, match="a merge is in progress in worktree x"):
        await worktrees.merge(root, "x")
    assert git(root, "rev-parse", "HEAD") == head
    (root / "app.py").write_text(LINES.replace("line 3\n", "both\n"))
    git(root, "commit", "-qam", "resolved")
    await worktrees.merge(root, "x")
    assert "both" in (shop / "app.py").read_text()


async def test_other_work_of_git_in_the_worktree_is_named(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = await diverged(worktrees, shop)
    for words, what in ((["rebase", "main"], "rebase"), (["cherry-pick", "main"], "cherry-pick")):
        attempt(root, *words)
        with pytest.raises(UsageError, match=f"unresolved conflicts of a {what}"):
            await worktrees.merge(root, "x")
        git(root, words[0], "--abort")


async def test_conflict_markers_that_the_last_commit_lacks_are_refused(agent: Agent, shop: Path) -> None:
    marked = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n"
    (shop / "about.md").write_text(marked)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "about conflicts")
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    (root / "new.py").write_text(marked)
    (root / "about.md").write_text(f"Markers:\n{marked}")
    with pytest.raises(UsageError, match=r"new\.py in worktree x has conflict markers"):
        await worktrees.merge(root, "x")
    (root / "new.py").write_text("<<<<<<< alone\n")
    assert (await worktrees.merge(root, "x")).files == 2


async def test_conflict_markers_in_a_commit_of_the_worktree_are_named_before_it_is_merged(
    agent: Agent, shop: Path
) -> None:
    marked = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n"
    (shop / "about.md").write_text(marked)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "about conflicts")
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    (root / "lib").mkdir()
    (root / "lib" / "näw.py").write_text(marked)
    (root / "about.md").write_text(f"Markers:\n{marked}")
    (root / "half.py").write_text("<<<<<<< alone\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "resolved?")
    (root / "later.py").write_text("later\n")
    before = git(shop, "rev-parse", "HEAD")
    with pytest.raises(ConflictMarkersError, match=r"lib/näw\.py in the commits of worktree x has") as raised:
        await worktrees.merge(root, "x")
    assert raised.value.files == ["lib/näw.py"]
    assert git(shop, "rev-parse", "HEAD") == before
    assert git(root, "status", "--porcelain") == "?? later.py"

    (root / "more.py").write_text(marked)
    git(root, "add", "more.py")
    git(root, "commit", "-qm", "and more")
    with pytest.raises(ConflictMarkersError) as raised:
        await worktrees.merge(root, "x", ["lib/näw.py"])
    assert raised.value.files == ["lib/näw.py", "more.py"]
    assert (await worktrees.merge(root, "x", raised.value.files)).files == 5
    assert (shop / "more.py").read_text() == marked


async def test_conflict_markers_that_a_later_commit_resolved_are_merged(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    for text in ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n", "a\n"):
        (root / "new.py").write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "x")
    assert (await worktrees.merge(root, "x")).files == 1


async def test_it_is_merged_only_into_the_branch_that_it_was_made_from(agent: Agent, shop: Path) -> None:
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    (root / "new.py").write_text("new\n")
    git(shop, "checkout", "-qb", "feature")
    with pytest.raises(UsageError, match=r"x was made from main, but feature is checked out in shop"):
        await worktrees.merge(root, "x")
    assert git(root, "status", "--porcelain") == "?? new.py"
    git(shop, "checkout", "-q", "main")
    assert (await worktrees.state(root)).origin == "main"
    assert (await worktrees.merge(root, "x")).head == "main"


async def test_ignored_files_that_only_a_worktree_has_are_named(agent: Agent, shop: Path) -> None:
    (shop / ".gitignore").write_text("*.env\n/build/\n/same/\n__pycache__/\nnode_modules/\n")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "ignore")
    worktrees = Worktrees(agent)
    root = (await worktrees.make("x")).root
    for directory in (shop, root):
        for name in ("same/a.txt", "same.env", "other.env"):
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text("same")
    (root / "other.env").write_text("diff")
    for name in ("secret.env", "build/deep/out.bin", "__pycache__/a.pyc", "node_modules/x/index.js"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    lost = await worktrees.unmerged(root)
    assert sorted(lost.ignored) == ["build/", "other.env", "secret.env"]
    assert sorted(lost.caches) == ["__pycache__/", "node_modules/"]
    assert list(lost.files) == []


async def test_the_scratch_copy_of_a_rerun_has_no_worktrees(agent: Agent, tmp_path: Path) -> None:
    copy = make_directory("rerun", tmp_path) / "shop"
    copy.mkdir()
    async with Agent(ScriptedProvider(), project=copy, data=tmp_path / "data", settings=Settings()) as other:
        with pytest.raises(UsageError, match="scratch copy"):
            await Worktrees(other).make("x")
    del agent


async def test_hooks_of_the_repository_do_not_run(agent: Agent, shop: Path, tmp_path: Path) -> None:
    for name in ("post-checkout", "pre-commit", "post-commit", "post-merge", "reference-transaction"):
        hook = shop / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    worktrees = Worktrees(agent)
    made = await worktrees.make("x")
    (made.root / "app.py").write_text("new\n")
    await worktrees.merge(made.root, "x")
    await worktrees.remove(made.root)
    assert (shop / "app.py").read_text() == "new\n"
    assert not (tmp_path / "ran").exists()


async def test_there_is_none_without_a_repository_a_commit_or_its_own_filters(
    agent: Agent, shop: Path, tmp_path: Path
) -> None:
    worktrees = Worktrees(agent)
    for name in ("../x", "a b", "-x", "x" * 50):
        with pytest.raises(UsageError, match="cannot be named"):
            await worktrees.make(name)
    await worktrees.make("x")
    with pytest.raises(UsageError, match="There is a worktree x already"):
        await worktrees.make("x")
    git(shop, "branch", "cogency/left")
    with pytest.raises(UsageError, match="There is a branch cogency/left already"):
        await worktrees.make("left")
    git(shop, "config", "filter.crypt.clean", "cat")
    with pytest.raises(UsageError, match="filters of its own") as refused:
        await Worktrees(agent).make("y")
    assert refused.value.advice == str(refused.value)
    git(shop, "config", "--remove-section", "filter.crypt")
    (shop / ".git").rename(tmp_path / "away")
    with pytest.raises(UsageError, match="not in a git repository"):
        await Worktrees(agent).make("y")


async def test_git_takes_your_name_from_the_variables_for_it(
    agent: Agent, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("user.name", "user.email"):
        git(shop, "config", "--unset", key)
    git(shop, "config", "user.useConfigOnly", "true")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Grace")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "grace@example.org")
    worktrees = Worktrees(agent)
    made = await worktrees.make("x")
    (made.root / "new.txt").write_text("new\n")
    await worktrees.merge(made.root, "A new file")
    assert git(shop, "log", "-1", "--format=%an <%ae>", "--", "new.txt") == "Grace <grace@example.org>"


async def test_where_git_does_not_know_your_name_it_says_how_to_set_it(agent: Agent, shop: Path) -> None:
    for key in ("user.name", "user.email"):
        git(shop, "config", "--unset", key)
    git(shop, "config", "user.useConfigOnly", "true")
    worktrees = Worktrees(agent)
    made = await worktrees.make("x")
    (made.root / "new.txt").write_text("new\n")
    with pytest.raises(WorkspaceError) as failed:
        await worktrees.merge(made.root, "A new file")
    assert failed.value.advice.startswith(
        "Git could not commit the files: Author identity unknown; Please tell me"
    )
    assert failed.value.hint == "Run `git config user.name NAME` and `git config user.email ADDRESS`."


async def test_its_conversations_rules_and_trust_are_those_of_the_project(
    agent: Agent, shop: Path, tmp_path: Path
) -> None:
    (shop / ".cogency").mkdir()
    (shop / ".cogency/config.toml").write_text('[agents.helper]\ndescription = "helps"\n')
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "config")
    agent.project_settings.accept(agent.project_settings.survey())
    agent.rules.add("write", "*.py")
    made = await Worktrees(agent).make("parser")
    inside = agent.beside_in(made.root)
    inside.provider = ScriptedProvider(edit("line 3", "x"), "Done.", size=10_000)
    inside.permissions = "ask"
    asked: list[str] = []

    async def decline(question: Question) -> Answer:
        asked.append(question.summary)
        return Answer(False)

    inside.ask = decline
    await turn(inside, "go", conversation_id="c")
    assert asked == []
    assert "x" in (made.root / "app.py").read_text().split("\n")
    store = await agent.store()
    assert [each.id for each in await store.conversations(str(shop), limit=9)] == ["c"]
    assert (await store.latest(str(shop))) is not None
    assert [each.conversation.id for each in (await agent.recall.page("go")).listed] == ["c"]

    assert inside.project_settings.survey().state is TrustState.TRUSTED
    assert "helper" in inside.project_settings.now.agents
    (made.root / ".cogency/config.toml").write_text('[agents.helper]\ndescription = "harms"\n')
    assert inside.project_settings.survey().state is TrustState.CHANGED
    inside.project_settings.refresh()
    assert "helper" not in inside.project_settings.now.agents
    assert agent.project_settings.survey().state is TrustState.TRUSTED


async def test_each_has_its_own_files_undo_and_review(agent: Agent, shop: Path) -> None:
    made = await Worktrees(agent).make("parser")
    inside = agent.beside_in(made.root)
    await work(agent, "m", edit("line 3", "main"))
    await work(inside, "c", edit("line 3", "parsed"))
    (file,) = (await inside.review("c").overview()).groups[0].files
    assert file.path == "app.py"
    undo = await inside.undo("c")
    await undo.apply(await undo.of_turn())
    assert (made.root / "app.py").read_text() == LINES
    assert "main" in (shop / "app.py").read_text()


async def test_the_models_recall_in_a_worktree_has_the_main_project_and_the_other_way_round(
    agent: Agent,
) -> None:
    worktrees = Worktrees(agent)
    made, other = await worktrees.make("parser"), await worktrees.make("lexer")
    inside, beside = agent.beside_in(made.root), agent.beside_in(other.root)
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(False)

    await work(agent, "main", edit("line 1", "line one"))
    await work(inside, "parser", edit("line 2", "line two"))
    for asking in (agent, inside, beside):
        asking.ask = ask
        for conversation, line in (("main", "line one"), ("parser", "line two")):
            if (asking, conversation) in ((agent, "main"), (inside, "parser")):
                continue
            search = block(("recall", {"query": "work"}))
            read = block(("recall", {"conversation": conversation}))
            asking.permissions = "ask"
            asking.provider = ScriptedProvider(search, read, "Done.", size=10_000)
            found, text = results(
                await turn(asking, conversation_id=f"asks-{asking.worktree}-{conversation}")
            )
            assert conversation in str(found["payload"]["content"])
            assert line in str(text["payload"]["content"])
    assert asked == []
    assert (
        (await inside.recall.statistics()).conversations
        == (await agent.recall.statistics()).conversations
        > 2
    )
