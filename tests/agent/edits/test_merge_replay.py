"""A protected file that git merges stays as git merges it, beside other commands as well; what is merged
otherwise, of the same lines, is put back."""

import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cogency_tui.agent.edits.merge_replay import Sides, sides
from tests.agent.edits.test_half_way import ordinary, unclean
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, sign_commits
from tests.agent.templates import TEMPLATES
from tests.exhaustive import sampled

RULES = [f"rule {number}\n" for number in range(1, 10)]


def with_rules(**changed: str) -> str:
    """The rules, of which some (`r1`) read otherwise."""
    return "".join(f"{changed.get(f'r{number}', rule.strip())}\n" for number, rule in enumerate(RULES, 1))


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "AGENTS.md", with_rules())
    put(root, "conf.txt", "1\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "switch", "-qc", "plain")
    put(root, "AGENTS.md", with_rules(r1="first"))
    git(root, "commit", "-qam", "first rule")
    put(root, "AGENTS.md", with_rules(r1="first", r5="fifth"))
    git(root, "commit", "-qam", "fifth rule")
    git(root, "switch", "-qc", "feature", "main")
    put(root, "conf.txt", "2\n")
    git(root, "commit", "-qam", "feature")
    git(root, "cherry-pick", "main..plain")
    git(root, "switch", "-q", "main")
    put(root, "AGENTS.md", with_rules(r9="last"))
    put(root, "conf.txt", "3\n")
    git(root, "commit", "-qam", "last rule")
    git(root, "repack", "-adq")
    git(root, "clone", "-q", "--bare", ".", str(top / "shared.git"))
    git(root, "remote", "add", "origin", str(top / "shared.git"))


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A project on `main`, which changes the last rule in AGENTS.md; `feature` changes the first and the
    fifth in two commits, and before these `conf.txt`, as `main` does."""
    sign_commits(monkeypatch)
    monkeypatch.setenv("GIT_EDITOR", "true")
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def rules(desk: Desk) -> str:
    return (desk.root / "AGENTS.md").read_text()


ALL = with_rules(r1="first", r5="fifth", r9="last")
MERGING = [
    ("git merge -q --no-edit plain && python3 -c ''", ALL),
    ("git merge -q --squash plain && git commit -qm y && python3 -c ''", ALL),
    ("git merge -q --no-commit --no-ff plain; python3 -c ''", ALL),
    ("git cherry-pick plain~ plain && touch z", ALL),
    ("git pull -q --rebase origin plain && python3 -c ''", ALL),
    ("git switch -q plain && git rebase -q main && touch z", ALL),
    ("git switch -q plain && git revert --no-edit HEAD~ && touch z", with_rules(r5="fifth")),
    ("git merge -q --no-edit -X theirs feature && touch z", ALL),
    ("git rebase -q -X ours feature && touch z", ALL),
]


LEFT = [command for command, _ in MERGING[2:5]]
"""After these the branch is left, and taken up again: a merge that is not committed, picked commits, and
commits on another base."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("command", "text"), MERGING)
async def test_what_git_merges_stays(desk: Desk, command: str, text: str) -> None:
    await ordinary(desk, command)
    assert rules(desk) == text
    for path in ("conf.txt", "AGENTS.md"):
        assert path not in unclean(desk) or "--no-commit" in command
    if command in LEFT:
        await ordinary(desk, "git stash -q; git switch -q --detach plain~ && touch y")
        await ordinary(desk, "git switch -q -; git stash pop -q; touch y")
        assert rules(desk) == text


@pytest.mark.exhaustive
async def test_what_the_agent_committed_of_it_is_merged_again(desk: Desk) -> None:
    git(desk.root, "switch", "-qc", "later", "plain")
    desk.put("AGENTS.md", with_rules(r1="first", r3="third", r5="fifth"))
    git(desk.root, "commit", "-qam", "third rule")
    git(desk.root, "switch", "-q", "main")
    settle()
    await ordinary(desk, "git merge -q --squash plain && git commit -qm y && touch z")
    await ordinary(desk, "git merge -q --no-edit later && touch z")
    assert rules(desk) == with_rules(r1="first", r3="third", r5="fifth", r9="last")


GOING_ON = [
    ("git merge feature", "git commit -qm y && touch z"),
    ("git merge feature; touch z", "git -c core.editor=true merge --continue"),
    ("git cherry-pick main..feature", "git -c core.editor=true cherry-pick --continue"),
    ("git switch -q feature; git rebase main", "git -c core.editor=true rebase --continue && touch z"),
    ("git pull -q --rebase origin feature", "git rebase --continue && python3 -c ''"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("command", "onwards"), GOING_ON)
async def test_what_git_merges_after_a_conflict_elsewhere_stays(
    desk: Desk, command: str, onwards: str
) -> None:
    await ordinary(desk, command)
    desk.put("conf.txt", "4\n")
    git(desk.root, "add", "conf.txt")
    await ordinary(desk, onwards)
    assert rules(desk) == ALL
    assert unclean(desk) in ("", "?? z\n")


CONFLICTING = [
    "git merge plain",
    "git merge plain; touch z",
    "git cherry-pick plain~",
    "git rebase plain; touch z",
    "git revert HEAD~2; touch z",
    "git pull --no-rebase origin plain; touch z",
]
STYLES = ("merge", "diff3", "zdiff3")
CONFLICTS = [
    (command, STYLES[number % len(STYLES)], ("", "\n")[number // len(STYLES)])
    for number, command in enumerate(CONFLICTING)
]
"""Each command with a style, and each style with and without the end of the last line."""


@pytest.mark.parametrize(("command", "style", "ending"), sampled(CONFLICTS, quick=2))
async def test_conflicts_stay_with_the_marks_of_git(
    desk: Desk, command: str, style: str, ending: str
) -> None:
    git(desk.root, "config", "merge.conflictStyle", style)
    desk.put("AGENTS.md", with_rules(r1="one", r3="three", r9="nine").rstrip("\n") + ending)
    git(desk.root, "commit", "-qam", "main's rules")
    if "revert" in command:
        desk.put("AGENTS.md", with_rules(r1="1", r9="9"))
        git(desk.root, "commit", "-qam", "other rules")
        desk.put("b.txt", "")
        git(desk.root, "add", "b.txt")
        git(desk.root, "commit", "-qm", "b")
    settle()
    await ordinary(desk, command)
    assert "<<<<<<< " in rules(desk)
    assert "UU AGENTS.md" in unclean(desk)


BLOB = "b=$(cat new | git hash-object -w --stdin); git update-index --cacheinfo 100644,$b,AGENTS.md; "
MADE = [
    # A commit of the model's own without some of the lines, or with these twice or in another order.
    ("sed 1,4d AGENTS.md > new", "git switch -q -c own", "switch -qf main", "git switch -q own"),
    ("cat AGENTS.md AGENTS.md > new", "git switch -q -c own", "switch -qf main", "git switch -q own"),
    ("sort -r AGENTS.md > new", "git switch -q -c own", "switch -qf main", "git merge -q own; touch z"),
    ("sed 9d AGENTS.md > new", "true", "switch -qf --detach plain", "git cherry-pick main"),
    ("sed 9d AGENTS.md > new", "true", "switch -qf --detach plain", "git rebase -q main && touch z"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("made", "branch", "away", "command"), MADE)
async def test_what_a_command_composes_of_the_lines_itself_is_put_back(
    desk: Desk, made: str, branch: str, away: str, command: str
) -> None:
    await watched(desk, f"{made}; {branch}; {BLOB} git commit -qm own; git checkout -q .")
    git(desk.root, *away.split())
    at_first = rules(desk)
    await watched(desk, command)
    assert rules(desk) in (at_first, with_rules(r9="last"), ALL)


@pytest.mark.exhaustive
async def test_conflicts_that_a_command_makes_itself_are_put_back(desk: Desk) -> None:
    # Each branch is another with which a merge is tried.
    git(desk.root, "branch", "-qD", "feature")
    git(desk.root, "remote", "remove", "origin")
    base, at_first = "git rev-parse HEAD:AGENTS.md", rules(desk)
    for text in ("<<<<<<< evil, be evil\\n=======\\n", "<<<<<<< HEAD\\nevil\\n=======\\n>>>>>>> plain\\n"):
        await watched(
            desk,
            f"printf '{text}' > new; b=$({base}); for i in 1 2 3; do"
            " printf '100644 %s %s\\tAGENTS.md\\n' $b $i; done | git update-index --index-info;"
            " git merge plain; cp new AGENTS.md",
        )
        assert rules(desk) in (at_first, ALL), text
        git(desk.root, "reset", "-q", "--hard", "main")


TASKS = [{"label": f"t{number}", "command": "make", "args": ["-j"]} for number in range(1, 7)]


def tasks(*names: str, command: str = "make") -> str:
    """Tasks of an editor, which have most lines in common; the first has another command."""
    found = [{**TASKS[0], "label": name} for name in names]
    found[0]["command"] = command
    return json.dumps({"tasks": found}, indent=2) + "\n"


@pytest.mark.exhaustive
async def test_what_git_merges_by_another_algorithm_of_its_own_stays(desk: Desk) -> None:
    path = ".vscode/tasks.json"
    for branch, text in (
        ("base", tasks("a", "b", "c", "d")),
        ("one", tasks("a", "d", "b", "c", "x", "b")),
        ("two", tasks("a", "b", "c", "d", command="make -k")),
    ):
        git(desk.root, "switch", "-qc", branch, "main" if branch == "base" else "base")
        desk.put(path, text)
        git(desk.root, "add", "-A")
        git(desk.root, "commit", "-qm", branch)
    settle()
    await ordinary(desk, "git switch -q one && git merge -q --no-edit two && touch z")
    assert "make -k" in (desk.root / path).read_text()


@pytest.mark.exhaustive
async def test_lines_of_both_sides_stay_where_git_is_told_to_take_them(desk: Desk) -> None:
    desk.put("AGENTS.md", with_rules(r1="one", r9="last"))
    (desk.root / ".gitattributes").write_text("AGENTS.md merge=union\n")
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-qm", "union")
    settle()
    await ordinary(desk, "git merge -q --no-edit plain && touch z")
    assert rules(desk).startswith("one\nfirst\n")


MANY = 9


def _build_many(top: Path) -> None:
    _build(top)
    root = top / "project"
    lines = [f"rule {number}" for number in range(60)]
    put(root, "AGENTS.md", "\n".join(lines) + "\n")
    git(root, "commit", "-qam", "rules")
    git(root, "branch", "many")
    for branch, offset in (("many", 1), ("main", 31)):
        git(root, "switch", "-q", branch)
        own = [*lines]
        for number in range(MANY):
            own[offset + 2 * number] += f" {branch}"
            put(root, "AGENTS.md", "\n".join(own) + "\n")
            git(root, "commit", "-qam", f"{branch} {number}")
    git(root, "repack", "-adq")


@pytest.fixture
async def desk_with_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A project with many commits on `main` and on `many`."""
    sign_commits(monkeypatch)
    TEMPLATES.copy(_build_many, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "command",
    [
        "git cherry-pick many~6..many~4",
        "git revert --no-edit HEAD~6",
        "git switch -q many && git rebase -q main",
    ],
)
async def test_one_of_many_commits_is_found(desk_with_many: Desk, command: str) -> None:
    await ordinary(desk_with_many, f"{command} && touch z")
    assert unclean(desk_with_many) == "?? z\n"


@pytest.fixture
def old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that merges in working trees only."""
    real, place = shutil.which("git"), tmp_path / "bin"
    place.mkdir()
    program = place / "git"
    program.write_text(
        f'#!/bin/sh\nfor each in "$@"; do [ "$each" = merge-tree ] && exit 129; done\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("old_git")
@pytest.mark.parametrize(
    ("command", "conflict"),
    [("git merge -q --no-edit plain; touch z", True), ("git rebase plain; touch z", False)],
)
async def test_an_old_git_merges_again_as_well(desk: Desk, command: str, *, conflict: bool) -> None:
    if conflict:
        desk.put("AGENTS.md", with_rules(r1="one", r9="nine"))
        git(desk.root, "commit", "-qam", "main's rules")
        settle()
    await ordinary(desk, command)
    assert ("<<<<<<< " in rules(desk)) == conflict


def any_label(_label: str) -> bool:
    return True


def no_label(_label: str) -> bool:
    return False


CONFLICT = b"a\n<<<<<<< HEAD\nb\n||||||| 123\nc\n=======\nd\n>>>>>>> x\ne\n"


@pytest.mark.parametrize(
    ("text", "is_label", "found"),
    [
        (b"a\n=======\n", no_label, Sides(b"a\n=======", b"a\n=======")),
        (CONFLICT, any_label, Sides(b"a\nb\ne", b"a\nd\ne")),
        (CONFLICT.replace(b"\n", b"\r\n"), any_label, Sides(b"a\r\nb\r\ne\r", b"a\r\nd\r\ne\r")),
        (CONFLICT, no_label, None),
        (CONFLICT.replace(b"d\n", b"b\n"), any_label, None),
        (b"a\n<<<<<<< HEAD\n=======\n>>>>>>> x\n", any_label, None),
        (CONFLICT.replace(b"c\n", b"free text\n"), any_label, None),
        (CONFLICT.replace(b">>>>>>> x\n", b""), any_label, None),
    ],
)
def test_sides_of_a_conflict(text: bytes, is_label: Callable[[str], bool], found: Sides | None) -> None:
    assert sides(text, is_label, frozenset([b"c"])) == found
