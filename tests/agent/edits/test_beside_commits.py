"""Commands that bring commits and do something else, too: protected files are as the commits have them, and no
commit of the user or a colleague is reverted in the working tree."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.conftest import MakeAgent
from tests.agent.edits.test_half_way import MADE, OURS, THEIRS, ordinary, unclean
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, share, sign_commits
from tests.agent.templates import TEMPLATES


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "AGENTS.md", OURS)
    put(root, "packages/web/AGENTS.md", "be web\n")
    put(root, "packages/web/.envrc", "x\n")
    put(root, "packages/api/.envrc", "x\n")
    put(root, "conf.txt", "1\n")
    put(root, ".gitignore", "node_modules/\n")
    theirs = share(root)
    put(theirs, "AGENTS.md", THEIRS)
    put(theirs, ".vscode/tasks.json", "{}\n")
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "theirs")
    git(theirs, "push", "-q")
    git(theirs, "push", "-q", "origin", "HEAD:topic")
    for repository in (root, theirs, top / "shared.git"):
        git(repository, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A clone of a repository to which a colleague has pushed other protected files, and a branch."""
    sign_commits(monkeypatch)
    monkeypatch.setenv("GIT_EDITOR", "true")
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def has_theirs(desk: Desk) -> bool:
    return (desk.root / "AGENTS.md").read_text() == THEIRS and (desk.root / ".vscode/tasks.json").exists()


PULLED = [
    "git pull -q && touch x",
    "git pull -q --rebase --autostash && git tag v1 && git push -q --tags",
    "git fetch -q && git merge -q --squash origin/topic && git commit -qm y",
    "git fetch -q && git cherry-pick origin/topic && git push -q",
    "git checkout -q -b work && git pull -q origin topic && touch x",
    "cd packages && git pull -q && touch x",
    "git -C packages pull -q",
    "git fetch -q origin main:pr1 && python3 -c '' && git merge -q pr1",
    "git log HEAD@{9}; git log no@{upstream}.. ; git pull -q; git diff HEAD@{9} && touch x",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("command", "own"), [(each, number % 2 > 0) for number, each in enumerate(PULLED)])
async def test_what_a_colleague_pushed_stays(desk: Desk, command: str, *, own: bool) -> None:
    if own:
        await ordinary(desk, "echo 2 > conf.txt; git commit -qam own")
    await ordinary(desk, command)
    assert has_theirs(desk)
    assert unclean(desk) in ("", "?? x\n", "?? packages/x\n")


SWITCHED = [
    "git switch -q topic && touch x",
    "git checkout -q topic && sed -i s/1/2/ conf.txt && git commit -qam y",
    "git checkout -q -b work origin/topic && touch x && git add -A && git commit -qm y",
    "git merge -q --no-ff origin/topic; touch x",
    "git reset -q --hard origin/topic && touch x",
    "git rebase -q origin/topic && touch x && git push -q origin HEAD:y",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", SWITCHED)
async def test_what_was_fetched_before_stays(desk: Desk, command: str) -> None:
    git(desk.root, "fetch", "-q")
    await ordinary(desk, command)
    assert has_theirs(desk)
    if command in SWITCHED[::2]:
        await ordinary(desk, "git switch -q -c later HEAD~ && touch z")
        await ordinary(desk, "git switch -q -; touch z")
        assert has_theirs(desk)


async def test_links_and_line_ends_come_with_commits(desk: Desk, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "CLAUDE.md").symlink_to("AGENTS.md")
    (theirs / "packages/.gitattributes").write_text("*.md text eol=crlf\n")
    (theirs / "packages/GEMINI.md").write_text("a\nb\n")
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "links")
    git(theirs, "push", "-q")
    await ordinary(desk, "git pull -q && touch x")
    assert (desk.root / "CLAUDE.md").readlink() == Path("AGENTS.md")
    assert (desk.root / "packages/GEMINI.md").read_bytes() == b"a\r\nb\r\n"
    await ordinary(desk, "git switch -q --detach HEAD~ && touch x")
    await ordinary(desk, "git switch -q -; touch x")
    assert (desk.root / "CLAUDE.md").is_symlink()


@pytest.mark.exhaustive
@pytest.mark.parametrize("fetch", ["git fetch -q origin topic", "git pull -q origin topic"])
async def test_a_linked_working_tree_has_what_it_fetches(desk: Desk, tmp_path: Path, fetch: str) -> None:
    git(desk.root, "worktree", "add", "-q", str(tmp_path / "linked"))
    git(tmp_path / "linked", "config", "pull.rebase", "false")
    settle()
    async with desk_at(tmp_path / "linked", tmp_path / "data2") as linked:
        await ordinary(linked, fetch)
        await ordinary(linked, "git merge -q FETCH_HEAD")
        assert has_theirs(linked)


MADE_HERE = [
    "git fetch -q origin +$c; git merge -q FETCH_HEAD",
    "git fetch -q origin $c:refs/remotes/origin/zz; git merge -q origin/zz",
    "git pull -q origin $c:refs/heads/yy",
    "git pull -q origin +$c",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("command", "packed"), [(each, number % 2 > 0) for number, each in enumerate(MADE_HERE)]
)
async def test_what_was_here_before_does_not_come_with_a_fetch(
    desk: Desk, command: str, *, packed: bool
) -> None:
    pack = "git rev-list --objects $c | git pack-objects -q .git/objects/pack/pack; git prune-packed"
    await watched(desk, f"{MADE} echo $c > made" + (f"; {pack}" if packed else ""))
    made = (desk.root / "made").read_text().strip()
    await watched(desk, command.replace("$c", made))
    await watched(desk, "git switch -q zz; git switch -q yy")
    assert (desk.root / "AGENTS.md").read_text() in (OURS, THEIRS)


@pytest.mark.exhaustive
async def test_a_pipe_in_the_place_of_what_was_fetched_holds_nothing_up(desk: Desk) -> None:
    await watched(desk, "mkdir -p .git/objects/ab; mkfifo .git/objects/ab/" + 38 * "c")
    await watched(desk, f"{MADE} git branch y $c")
    await watched(desk, "git switch -q y")
    assert (desk.root / "AGENTS.md").read_text() == OURS


@pytest.mark.exhaustive
async def test_what_is_fetched_beside_other_things_can_be_merged_later(desk: Desk) -> None:
    await ordinary(desk, "git fetch -q && touch x")
    await ordinary(desk, "git merge -q origin/main")
    assert has_theirs(desk)


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", [".worktrees/x", "packages/x"])
async def test_a_new_working_tree_has_its_protected_files(desk: Desk, place: str) -> None:
    await ordinary(desk, f"git worktree add -q {place} -b x && cd {place} && touch y")
    assert (desk.root / place / "AGENTS.md").read_text() == OURS
    await ordinary(desk, f"cd {place} && echo 2 > conf.txt && git commit -qam y")
    await ordinary(desk, "git merge -q x && git push -q && touch z")
    assert (desk.root / "AGENTS.md").read_text() == OURS


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "back", ["git switch -q main", "git revert --no-edit HEAD", "git reset -q --hard HEAD~"]
)
async def test_directories_that_the_agent_moved_can_be_left_with_what_is_ignored(
    desk: Desk, back: str
) -> None:
    desk.put("packages/web/node_modules/a.js", "x\n")
    settle()
    await ordinary(desk, "git switch -q -c layout && git mv packages apps && git commit -qm apps")
    assert (desk.root / "apps/web/.envrc").exists()
    assert (desk.root / "apps/api/.envrc").exists()
    await ordinary(desk, back)
    assert (desk.root / "packages/web/AGENTS.md").read_text() == "be web\n"
    assert not (desk.root / "apps/web/AGENTS.md").exists()
    await ordinary(desk, "git merge -q layout || git merge -q --no-edit layout@{1}")
    assert unclean(desk) == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["git merge -q origin/topic", "git rebase -q origin/topic"])
async def test_a_conflict_in_a_protected_file_shows_both_sides(desk: Desk, command: str) -> None:
    desk.put("AGENTS.md", "be brief\n")
    git(desk.root, "commit", "-qam", "own")
    git(desk.root, "fetch", "-q")
    settle()
    await ordinary(desk, command)
    text = (desk.root / "AGENTS.md").read_text()
    assert THEIRS in text
    assert "be brief\n" in text
    taken, left = ("ours", "theirs") if "rebase" in command else ("theirs", "ours")
    ways = ("checkout -q -m", f"restore --{left}", "checkout -q --conflict=diff3", "restore -m")
    for again in ways[:2] if "rebase" in command else ways[2:]:
        await ordinary(desk, f"git {again} AGENTS.md")
    await ordinary(desk, f"git checkout -q --{left} AGENTS.md")
    await ordinary(desk, f"git checkout -q --{taken} AGENTS.md && git add AGENTS.md")
    assert has_theirs(desk)


@pytest.mark.exhaustive
async def test_a_conflict_is_settled_where_nobody_can_be_asked(
    make_agent: MakeAgent, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_commits(monkeypatch)
    (project / "AGENTS.md").write_text(OURS)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    git(project, "branch", "other")
    for branch, text in (("other", THEIRS), ("main", "be brief\n")):
        git(project, "switch", "-q", branch)
        (project / "AGENTS.md").write_text(text)
        git(project, "commit", "-qam", branch)
    settle()
    commands = "git merge -q other", "git checkout -q --theirs AGENTS.md && git add AGENTS.md"
    calls = [
        f"<execute>{json.dumps([{'name': 'shell', 'args': {'command': each}}])}</execute>"
        for each in commands
    ]
    async with make_agent(*calls, "Done.") as agent:
        events = [event async for event in agent("go")]
    _, settled = (event["payload"] for event in events if event["type"] == "result")
    assert not settled["error"], settled["content"]
    assert (project / "AGENTS.md").read_text() == THEIRS


@pytest.mark.exhaustive
async def test_what_a_hook_commits_does_not_come_with_commits(desk: Desk) -> None:
    hook = desk.root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsh post.sh\n")
    hook.chmod(0o755)
    desk.put("post.sh", "")
    settle()
    await watched(desk, "echo 'echo evil > AGENTS.md; git commit -qam evil' > post.sh")
    found, _ = await watched(desk, "git checkout -q -b work")
    assert found.put_back == ["AGENTS.md"]
    assert any("Git shows a difference now" in note and "AGENTS.md" in note for note in found.notes)
    desk.put("post.sh", "")
    await watched(desk, "git switch -q main")
    found, _ = await watched(desk, "git switch -q work")
    assert (desk.root / "AGENTS.md").read_text() == OURS, found.notes


REMOVED = {
    "git pull -q . topic; rm .envrc .vscode/tasks.json": [".envrc", ".vscode/tasks.json"],
    "rm .envrc; git switch -q topic": [".envrc"],
    "rm -r .vscode; git -c user.name=x merge -q -m y topic": [".vscode/tasks.json"],
    "git add -f .envrc; git commit -qm z; git reset -q --hard HEAD~": [".envrc"],
    "rm .vscode/tasks.json; git stash -q": [".vscode/tasks.json"],
}


@pytest.mark.parametrize("approved", [False, True])
async def test_what_no_commit_had_is_not_removed_by_commits(desk: Desk, *, approved: bool) -> None:
    git(desk.root, "branch", "topic", "HEAD")
    ignored = {".envrc": "export A=1\n", ".vscode/tasks.json": "[]\n"}
    desk.put(".git/info/exclude", "\n".join(ignored))
    if approved:
        await watched(
            desk, "mkdir .vscode; echo 'export A=1' > .envrc; echo '[]' > .vscode/tasks.json", keep=True
        )
    for name, text in ignored.items():
        desk.put(name, text)
    settle()
    for command, names in REMOVED.items():
        found, asked = await watched(desk, command)
        assert asked == [f"deleted {name}" for name in names], command
        assert sorted(found.put_back) == names
        assert {name: (desk.root / name).read_text() for name in ignored} == ignored


@pytest.mark.exhaustive
async def test_what_commits_had_is_removed_by_them(desk: Desk) -> None:
    git(desk.root, "rm", "-q", "AGENTS.md", "packages/web/.envrc")
    git(desk.root, "commit", "-qm", "fewer")
    git(desk.root, "branch", "fewer")
    git(desk.root, "reset", "-q", "--hard", "HEAD~")
    desk.put("GEMINI.md", "be new\n")
    settle()
    await ordinary(desk, "git stash -q -u")
    await ordinary(desk, "git stash pop -q")
    git(desk.root, "branch", "more")
    git(desk.root, "worktree", "add", "-q", "-b", "linked", ".worktrees/x")
    settle()
    for place, removes in ((".", "switch"), (".", "merge"), (".worktrees/x", "rebase")):
        await ordinary(desk, f"touch x; cd {place}; git {removes} -q fewer")
        assert not (desk.root / place / "AGENTS.md").exists()
        git(desk.root, "switch", "-q", "main")
        git(desk.root, "reset", "-q", "--hard", "more")
        settle()
