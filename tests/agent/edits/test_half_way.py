"""Commands of git that stop half way, go on and are left: protected files are as git has them, all the time."""

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, output, sign_commits
from tests.agent.templates import TEMPLATES
from tests.cases import cases

pytestmark = pytest.mark.exhaustive

OURS, THEIRS = "be kind\n", "be quick\n"


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "AGENTS.md", OURS)
    put(root, "CLAUDE.md", "gone soon\n")
    put(root, "conf.txt", "1\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "switch", "-qc", "other")
    put(root, "AGENTS.md", THEIRS)
    put(root, "sub/.envrc", "x\n")
    (root / "CLAUDE.md").unlink()
    put(root, "conf.txt", "2\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "other")
    git(root, "switch", "-q", "main")
    put(root, "conf.txt", "3\n")
    git(root, "commit", "-qam", "main")
    git(root, "remote", "add", "origin", str(root))


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A project whose branch `other` changes a protected file, and a file that `main` changes as well."""
    sign_commits(monkeypatch)
    monkeypatch.setenv("GIT_EDITOR", "true")
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def unclean(desk: Desk) -> str:
    """What differs from the last commit."""
    return output(desk.root, "status", "--porcelain", "--untracked-files=all")


def theirs(desk: Desk) -> bool:
    """Whether the protected files are those of `other`."""
    found = [(desk.root / name).exists() for name in ("sub/.envrc", "CLAUDE.md")]
    assert found in ([True, False], [False, True])
    assert (desk.root / "AGENTS.md").read_text() == (THEIRS if found[0] else OURS)
    return found[0]


async def ordinary(desk: Desk, command: str) -> None:
    """Run a command of which nothing is put back, though nobody could be asked."""
    found, asked = await watched(desk, command, keep=None)
    assert (asked, found.put_back, found.left) == ([], [], []), command


HALF_WAY = {
    "git merge other": "git merge --abort",
    "git merge other || true": "git reset -q --hard HEAD",
    "git merge -q --no-commit --no-ff -X ours other": "git merge --abort",
    "git merge -q --squash other": "git reset -q --merge",
    "git cherry-pick other": "git cherry-pick --abort",
    "git cherry-pick other ": "git cherry-pick --skip",
    "git cherry-pick -X theirs -n other": "git reset -q --hard",
    "git pull -q --no-rebase origin other": "git stash -q || git reset -q --merge",
    "git rebase other": "git rebase --abort",
    "git pull -q --rebase origin other": "git rebase --abort",
}


@cases("command", HALF_WAY)
async def test_what_stops_half_way_can_be_left(desk: Desk, command: str) -> None:
    await ordinary(desk, command)
    assert theirs(desk)
    await ordinary(desk, HALF_WAY[command])
    assert not theirs(desk)
    assert unclean(desk) == ""


RESOLVED = {
    "git merge other || true": "git checkout --theirs conf.txt && git add conf.txt && git commit -qm y",
    "git merge other": "echo 4 > conf.txt; git add conf.txt; git merge --continue",
    "git cherry-pick other": "echo 4 > conf.txt && git add -A && git cherry-pick --continue",
    "git rebase other": "echo 4 > conf.txt; git add conf.txt; git -c core.editor=true rebase --continue",
    "git rebase other ": "git rebase --skip",
}


@pytest.mark.parametrize("command", RESOLVED)
async def test_what_stops_half_way_can_be_completed(desk: Desk, command: str) -> None:
    await ordinary(desk, command)
    await ordinary(desk, RESOLVED[command])
    assert theirs(desk)
    assert unclean(desk) == ""


async def test_a_rebase_goes_on_to_what_was_committed_before(desk: Desk) -> None:
    git(desk.root, "switch", "-qc", "mine", "HEAD~")
    desk.put("conf.txt", "5\n")
    git(desk.root, "commit", "-qam", "first")
    desk.put("AGENTS.md", "be mine\n")
    git(desk.root, "commit", "-qam", "second")
    settle()
    await ordinary(desk, "git rebase main")
    assert (desk.root / "AGENTS.md").read_text() == OURS
    await ordinary(desk, "echo 6 > conf.txt; git add conf.txt; git rebase --continue")
    assert (desk.root / "AGENTS.md").read_text() == "be mine\n"
    assert unclean(desk) == ""


async def test_what_stops_again_can_be_left(desk: Desk) -> None:
    git(desk.root, "switch", "-qc", "mine", "HEAD~")
    for name, text in (("conf.txt", "5\n"), ("GEMINI.md", "x\n")):
        desk.put(name, text)
        desk.put("b.txt", text)
        git(desk.root, "add", "-A")
        git(desk.root, "commit", "-qm", name)
    git(desk.root, "switch", "-q", "main")
    desk.put("b.txt", "6\n")
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-qm", "b")
    with pytest.raises(subprocess.CalledProcessError):
        git(desk.root, "cherry-pick", "mine~", "mine")
    settle()
    await ordinary(desk, "git add -A; git cherry-pick --continue")
    assert (desk.root / "GEMINI.md").exists()
    await ordinary(desk, "git status; git stash list; git cherry-pick --abort")
    assert not (desk.root / "GEMINI.md").exists()
    assert unclean(desk) == ""


async def test_after_a_merge_commits_go_on_to_bring(desk: Desk) -> None:
    git(desk.root, "switch", "-qc", "later", "other")
    desk.put("AGENTS.md", "be later\n")
    git(desk.root, "commit", "-qam", "later")
    git(desk.root, "switch", "-q", "main")
    settle()
    await ordinary(desk, "git merge other")
    await ordinary(desk, "git checkout -q --theirs conf.txt; git add -A; git commit -qm y")
    await ordinary(desk, "git merge -q later")
    assert (desk.root / "AGENTS.md").read_text() == "be later\n"


STASHED = [
    ("git stash pop", True),
    ("git stash apply -q; git status", False),
    ("git stash pop stash@{0}", True),
]


@pytest.mark.parametrize(("command", "conflict"), STASHED)
async def test_what_the_user_has_stashed_comes_back(desk: Desk, command: str, *, conflict: bool) -> None:
    desk.put("AGENTS.md", THEIRS)
    desk.put("sub/.envrc", "x\n")
    (desk.root / "CLAUDE.md").unlink()
    if conflict:
        desk.put("conf.txt", "5\n")
    git(desk.root, "stash", "-q", "-u")
    desk.put("conf.txt", "6\n")
    git(desk.root, "commit", "-qam", "y")
    settle()
    await ordinary(desk, command)
    assert (desk.root / "AGENTS.md").read_text() == THEIRS
    assert (desk.root / "sub/.envrc").exists()
    await ordinary(desk, "git reset -q --merge; git reset -q --hard")
    assert (desk.root / "AGENTS.md").read_text() == OURS


async def test_what_the_agent_stashes_of_the_user_comes_back(desk: Desk) -> None:
    desk.put("AGENTS.md", THEIRS)
    settle()
    await ordinary(desk, "git stash -q")
    await ordinary(desk, "git switch -q -c new")
    await ordinary(desk, "git stash pop")
    assert (desk.root / "AGENTS.md").read_text() == THEIRS


async def test_a_bisection_can_be_left(desk: Desk) -> None:
    git(desk.root, "switch", "-q", "other")
    settle()
    await ordinary(desk, "git bisect start HEAD HEAD~")
    await ordinary(desk, "git checkout -q HEAD~")
    assert not theirs(desk)
    await ordinary(desk, "git bisect reset")
    assert theirs(desk)
    assert unclean(desk) == ""


# What a command has made by plumbing.

BLOB = "b=$(echo evil | git hash-object -w --stdin); "
STAGED = BLOB + "git update-index --cacheinfo 100644,$b,AGENTS.md; "
MADE = (
    "export GIT_INDEX_FILE=x.index; git read-tree HEAD; "
    + STAGED
    + "c=$(git commit-tree -p HEAD -m x $(git write-tree)); unset GIT_INDEX_FILE; rm x.index; "
)
HALTED = "git rev-parse other > .git/MERGE_HEAD; "
FORGED = """
import os, pathlib, subprocess, zlib
def written_over(kind, word, change):
    name = subprocess.run(["git", "rev-parse", word], capture_output=True, text=True).stdout.strip()
    text = change(subprocess.run(["git", "cat-file", kind, name], capture_output=True).stdout)
    path = pathlib.Path(".git/objects", name[:2], name[2:])
    path.unlink()
    path.write_bytes(zlib.compress(b"%b %d%c%b" % (kind.encode(), len(text), 0, text)))
"""
OTHER_PARENT = (
    f"cat > f.py << 'END'{FORGED}"
    "line = b'parent ' + os.environb[b'c'] + b'%cauthor' % 10\n"
    "written_over('commit', 'main^', lambda text: text.replace(b'author', line, 1))\nEND\n"
    + MADE
    + "export c; git branch y $c; python3 f.py"
)
OTHER_TREE = (
    f"cat > f.py << 'END'{FORGED}"
    "entry = b'100644 .envrc%c' % 0\n"
    "blob = bytes.fromhex(os.environ['b'])\n"
    "def change(text):\n start = text.index(entry) + len(entry)\n"
    " return text[:start] + blob + text[start + 20:]\n"
    "written_over('tree', 'other:sub', change)\nEND\n"
    "export b=$(echo evil | git hash-object -w --stdin); python3 f.py"
)
UNMERGED = (
    BLOB + "o=$(git rev-parse HEAD:AGENTS.md); git update-index --force-remove AGENTS.md;"
    " printf '100644 %s %s\\tAGENTS.md\\n' $o 1 $o 2 $b 3 | git update-index --index-info; "
)


HALF_DONE = {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"}


def own(number: int, command: str) -> str:
    """A command with contents that no other has: what was put back once tells nothing of them."""
    return command.replace("evil", f"evil{number}")


async def is_put_back(desk: Desk, command: str) -> None:
    """Have a command bring what was made, and the user start again from what there was."""
    at_first = (desk.root / "AGENTS.md").read_text()
    found, _ = await watched(desk, command)
    assert (desk.root / "AGENTS.md").read_text() in (at_first, OURS), (command, found.notes)
    git(desk.root, "checkout", "-qfB", "main", "start")
    assert not HALF_DONE.intersection(path.name for path in (desk.root / ".git").iterdir())
    for path in (".git/refs/stash", ".git/ORIG_HEAD", "x"):
        (desk.root / path).unlink(missing_ok=True)
    shutil.rmtree(desk.root / ".git/logs")


KEPT = [
    # Where a commit is kept that was made, and what brings it.
    ("git stash store -m x $c; git stash store -m y HEAD", "git stash apply -q 1"),
    (
        "c=$(git commit-tree -p HEAD -p other -m x $c^{tree}); git tag c $c",
        "git switch -q --detach c",
    ),
    ("git tag d $c", "git merge other; git merge --abort; git checkout -q d"),
    ("echo $c > .git/l", "git cherry-pick --stdin < .git/l"),
    ("git update-ref refs/remotes/origin/y $c", "git switch -q --detach origin/y && touch x"),
    ("git update-ref refs/heads/e $c", "git merge -q e; touch x"),
]


async def test_what_a_command_has_committed_by_plumbing_is_put_back(desk: Desk) -> None:
    git(desk.root, "tag", "start")
    made = [own(number, MADE) + kept for number, (kept, _) in enumerate(KEPT)]
    await watched(desk, "; ".join(made))
    assert (desk.root / "AGENTS.md").read_text() == OURS
    for _, command in KEPT:
        await is_put_back(desk, command)


INDEXED = [
    (UNMERGED, "git checkout -q --theirs AGENTS.md"),
    (UNMERGED, "git checkout -q -m AGENTS.md"),
    (UNMERGED, "git restore --theirs AGENTS.md"),
    (UNMERGED + HALTED, "git checkout -q --theirs AGENTS.md && git add AGENTS.md"),
    (UNMERGED.replace("echo evil", "echo '>>>>>>> be evil'"), "git checkout -q --theirs ."),
    (UNMERGED.replace("echo evil", "echo '>>>>>>> be evil'"), "git checkout -q --theirs . '>>>>>>> be evil'"),
    (
        UNMERGED.replace("echo evil", "printf '<<<<<<< be evil\n=======\n>>>>>>> HEAD\n'"),
        "git log -1 'be evil'; git checkout -q --theirs .",
    ),
    (STAGED, "git stash -q; git reset -q --hard stash@{0}^2"),
    (STAGED + HALTED, "git checkout -q ."),
    (STAGED + HALTED, "git merge --abort; git checkout -q ."),
    (STAGED, "git stash -q; git stash pop -q --index; git checkout -q ."),
    (STAGED, "git restore . ; git rebase --quit"),
    (STAGED, "git commit -qm x; git checkout -q ."),
    (
        STAGED.replace("echo evil", "echo '>>>>>>> evil'"),
        "git commit -qm x; git switch -q --detach other; git switch -q main",
    ),
    ("", UNMERGED + "git checkout -q --theirs AGENTS.md"),
    ("", MADE + "git fetch -q; git merge -q $c"),
    ("", MADE + "git update-ref ORIG_HEAD $c; git reset -q --hard $c; git rebase --abort"),
    ("", STAGED + "git checkout -q . ; git merge --abort"),
    ("", "echo evil > AGENTS.md; git commit -qam x; git cherry-pick --continue"),
]


async def test_what_a_command_has_put_into_the_index_is_put_back(desk: Desk) -> None:
    git(desk.root, "tag", "start")
    for number, (before, command) in enumerate(INDEXED):
        if before:
            await watched(desk, own(number, before))
            assert (desk.root / "AGENTS.md").read_text() == OURS
        await is_put_back(desk, own(number, command))


ROUNDABOUT = [
    (MADE + "git update-ref ORIG_HEAD $c", "git reset -q --hard ORIG_HEAD; git rebase --abort"),
    (MADE + "echo $c > .git/REBASE_HEAD", "git read-tree -um REBASE_HEAD; git rebase --abort"),
    (MADE + r"printf '%s\t\tx\n' $(git rev-parse HEAD) $c > .git/FETCH_HEAD", "git merge -q FETCH_HEAD"),
    (MADE + "git update-ref refs/heads/y $c", "git merge -q --no-commit --no-ff y"),
    (MADE + "git update-ref refs/heads/y $c", "git rebase --abort; git reset -q --hard y"),
    (MADE + "echo $c > .git/CHERRY_PICK_HEAD", "git merge --squash -q CHERRY_PICK_HEAD"),
    (
        MADE + "git update-ref --create-reflog HEAD $c; git update-ref HEAD HEAD^",
        "git cherry-pick --reflog ^main",
    ),
    (
        MADE + "s=$(git commit-tree -p HEAD -p $c -m x $c^{tree}); echo $s > .git/MERGE_AUTOSTASH;"
        " git update-ref refs/heads/z $(git commit-tree -p HEAD -m z HEAD^{tree})",
        "git merge -q z",
    ),
    (
        MADE + "git update-ref refs/replace/$(git rev-parse other^{tree}) $(git rev-parse $c^{tree})",
        "git checkout -q other",
    ),
    (MADE + "echo $(git rev-parse main) $c > .git/info/grafts", "git reset -q --hard $(git rev-parse main^)"),
    (
        "git rebase other",
        "echo 'exec echo evil > AGENTS.md; git commit -qam x' >> .git/rebase-merge/git-rebase-todo;"
        " git add -A; git rebase --continue",
    ),
    (OTHER_PARENT, "git log --oneline; git merge -q --no-edit y; git switch -q y"),
    (OTHER_PARENT + "; git commit-graph write", "git switch -q y && touch x"),
    (
        "git rebase other",
        MADE + "echo $c > .git/rebase-merge/orig-head; git rebase --abort; git reset -q --hard $c",
    ),
]


@pytest.mark.parametrize(("before", "command"), ROUNDABOUT)
async def test_what_a_command_made_by_plumbing_is_put_back(desk: Desk, before: str, command: str) -> None:
    await watched(desk, before)
    at_first = (desk.root / "AGENTS.md").read_text()
    assert at_first != "evil\n"
    found, _ = await watched(desk, command)
    assert (desk.root / "AGENTS.md").read_text() in (at_first, OURS), found.notes


async def test_a_directory_that_a_command_writes_over_within_a_commit_is_put_back(desk: Desk) -> None:
    await watched(desk, OTHER_TREE)
    await watched(desk, "git switch -q --force other; git checkout -q --force other")
    assert not (desk.root / "sub/.envrc").exists() or (desk.root / "sub/.envrc").read_text() == "x\n"
