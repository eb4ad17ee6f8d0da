"""Ways round the watch over protected files: what leads to them, what hides them, and who was asked for what."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.schema import Permissions
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.shell.checkout_commands import bringing
from cogency_tui.workspace import snapshot
from tests.agent.conftest import MakeAgent
from tests.agent.edits.test_protected_file_restore import watched
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, sign_commits
from tests.agent.templates import TEMPLATES
from tests.cases import cases
from tests.exhaustive import sampled


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "a.py", "1\n")
    put(root, "evil", "be evil\n")
    put(root, "AGENTS.md", "be kind\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "repack", "-adq")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    sign_commits(monkeypatch)
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


def run(root: Path, command: str) -> None:
    """What the user runs."""
    subprocess.run(["bash", "-c", command], cwd=root, check=True)


# What protected files lead to.

LEADING = {
    "ln -s docs/a.md CLAUDE.md": "docs/a.md",
    "mkdir -p .cursor; ln -s ../docs .cursor/rules": "docs/a.md",
    "mkdir -p sub; ln -s ../docs/a.md docs/GEMINI.md": "docs/a.md",
    "echo 'use flake' > .envrc": "flake.nix",
    "echo 'use nix' > .envrc": "shell.nix",
    "git config core.hooksPath docs": "docs/pre-commit",
    "git config core.hooksPath ./docs/": "docs/commit-msg",
    "printf '[CORE]\\n\\thooksPath = \"do\\\\\\ncs\" ; x\\n' >> .git/config": "docs/post-merge",
    "git config --global core.hooksPath docs": "docs/pre-push",
    "git config include.path ../docs/a.md": "docs/a.md",
    "git config includeIf.onbranch:x.path ../docs/a.md": "docs/a.md",
    "printf '[include] path = b\\n' > docs/b.cfg; git config --global include.path ~/x; "
    "echo '[include] path=project/docs/b.cfg' > ~/x; ln -s $PWD ~/project": "docs/b.cfg",
}


@pytest.mark.parametrize("setting", sampled(LEADING, quick=3))
async def test_what_a_protected_file_leads_to_is_protected(desk: Desk, setting: str) -> None:
    target = desk.root / LEADING[setting]
    desk.put("docs/a.md", "[core]\n")
    run(desk.root, setting)
    settle()
    assert desk.workspace.guard(desk.workspace.locate(LEADING[setting]))
    before = target.read_bytes() if target.exists() else None
    found, asked = await watched(desk, f"cat evil >> {LEADING[setting]}")
    assert (len(asked), found.put_back) == (1, [LEADING[setting]])
    assert (target.read_bytes() if target.exists() else None) == before


NOT_LEADING = ("docs/b.md", "a.py", "docs/script.sh", "sub/flake.nix", "x/pre-commit")


async def test_what_lies_beside_it_is_not(desk: Desk) -> None:
    desk.put(".envrc", "")
    desk.put("docs/a.md", "")
    (desk.root / "CLAUDE.md").symlink_to("docs/a.md")
    (desk.root / ".vscode").symlink_to(".")
    git(desk.root, "config", "core.hooksPath", "docs")
    settle()
    assert [name for name in NOT_LEADING if desk.workspace.guard(desk.workspace.locate(name))] == []
    command = "; ".join(f"mkdir -p $(dirname {name}); cat evil >> {name}" for name in NOT_LEADING)
    found, asked = await watched(desk, command)
    assert (asked, found.put_back) == ([], [])


# What runs, or steers agents, without being named.

UNNAMED = (
    *(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/x", ".codex/config.toml"),
    *(".gemini/settings.json", ".cursor/hooks.json", "CRUSH.md", ".crush/x", "sub/crush.json"),
    *(".devcontainer/devcontainer.json", ".vscode/tasks.json", ".idea/runConfigurations/x.xml"),
    *("lefthook.yml", "lefthook-local.yaml", ".lefthook.toml", ".lefthook/pre-commit/x", ".husky/pre-commit"),
    *(".pre-commit-config.yaml", ".overcommit.yml", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs"),
    *(".tool-versions", "mise.toml", ".envrc", ".config/lefthook.yml", "AGENTS.override.md", "sub/GROK.md"),
)
NAMED = (
    *("Makefile", "package.json", "CONVENTIONS.md", "flake.nix", "devbox.json", ".sdkmanrc", ".nvmrc"),
    *(".github/workflows/x.yml", "README.md", "lefthook.md", ".python-version", "Dockerfile", "conftest.py"),
    *("lint-staged.config.js", "tox.ini", ".editorconfig", "crush.txt", "src/agents.py", "docs/claude/x.md"),
)


@pytest.mark.exhaustive
async def test_what_runs_without_being_named_is_protected(desk: Desk) -> None:
    assert [name for name in UNNAMED if not desk.workspace.guard(desk.workspace.locate(name))] == []
    command = "; ".join(f"mkdir -p $(dirname {name}); cp evil {name}" for name in UNNAMED)
    found, _ = await watched(desk, command)
    assert sorted(found.put_back) == sorted(UNNAMED)


@pytest.mark.exhaustive
async def test_what_runs_because_it_is_named_is_not(desk: Desk) -> None:
    assert [name for name in NAMED if desk.workspace.guard(desk.workspace.locate(name))] == []
    command = "; ".join(f"mkdir -p $(dirname {name}); cp evil {name}" for name in NAMED)
    found, asked = await watched(desk, command)
    assert (asked, found.put_back) == ([], [])


AT_HOME = (
    *("bin/git", ".local/bin/x", ".pyenv/shims/python", ".cargo/bin/x", "go/bin/x", ".ssh/config.d/x"),
    *(
        ".local/lib/python3.11/site-packages/usercustomize.py",
        ".gnupg/gpg-agent.conf",
        ".ssh/authorized_keys",
    ),
    *(".local/lib/python3.11/site-packages/x.pth", ".config/systemd/user/x.service", ".config/autostart/x"),
    *(".config/systemd/user/default.target.wants/x.service", ".claude/settings.json", ".claude/CLAUDE.md"),
    *(".claude/skills/x/SKILL.md", ".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json"),
    *(".config/opencode/opencode.json", ".config/nvim/lua/x.lua", ".aider.conf.yml", ".xprofile"),
)
ORDINARY_AT_HOME = (
    *(".claude/projects/x.jsonl", ".claude.json", ".codex/sessions/x", ".ssh/known_hosts", ".npmrc"),
    *(".local/lib/python3.11/site-packages/x/y.py", ".local/share/x", ".cache/x", ".config/x/y", "notes/bin"),
)


@pytest.mark.exhaustive
async def test_what_runs_from_the_home_directory_is_watched(desk: Desk, sealed_home: Path) -> None:
    names = [str(sealed_home / name) for name in AT_HOME]
    command = "; ".join(f"mkdir -p $(dirname {name}); cp evil {name}" for name in names)
    found, _ = await watched(desk, command)
    assert sorted(found.put_back) == sorted(names)
    assert not any(Path(name).exists() for name in names)


async def test_what_programs_write_there_all_the_time_is_not(desk: Desk) -> None:
    command = "; ".join(f"mkdir -p $(dirname ~/{name}); cp evil ~/{name}" for name in ORDINARY_AT_HOME)
    found, asked = await watched(desk, command)
    assert (asked, found.put_back) == ([], [])


# Rules of .gitignore that a command writes.


HIDING = (
    ("sub/", "sub/AGENTS.md"),
    ("/sub", "sub/deep/er/.envrc"),
    ("sub/*", "sub/.vscode/tasks.json"),
    ("*.json", ".vscode/tasks.json"),
    ("AGENTS.md", "sub/AGENTS.md"),
    ("*", "sub/.mcp.json"),
)


@pytest.mark.exhaustive
async def test_new_rules_hide_no_protected_file(desk: Desk) -> None:
    for number, (rules, name) in enumerate(HIDING):
        commands = [f"echo '{rules}' > .gitignore", f"mkdir -p $(dirname {name}); cp evil {name}"]
        # Some are made by the command that writes the rules, others by the next.
        *first, last = [" ; ".join(commands)] if number % 2 else commands
        for command in first:
            await watched(desk, command)
        found, _ = await watched(desk, last)
        assert found.put_back == [name]
        assert not (desk.root / name).exists()
        (desk.root / ".gitignore").unlink()


async def test_rules_in_the_directory_itself_hide_none(desk: Desk) -> None:
    found, _ = await watched(desk, "mkdir sub; echo '*' > sub/.gitignore; cp evil sub/AGENTS.md")
    assert found.put_back == ["sub/AGENTS.md"]


async def test_what_was_ignored_before_stays_out_of_sight(desk: Desk) -> None:
    desk.put(".gitignore", "vendor/\n")
    await watched(desk, "true")
    found, asked = await watched(
        desk, "echo x >> .gitignore; mkdir -p vendor/a node_modules/b; cp evil vendor/a/AGENTS.md"
    )
    assert (asked, found.put_back) == ([], [])


async def test_without_new_rules_the_project_is_walked_once(desk: Desk) -> None:
    desk.put("sub/.gitignore", "x\n")
    first = snapshot.take(desk.workspace)
    assert first.rules == {"sub/": b"x\n"}
    assert snapshot.take(desk.workspace, rules=first.rules).protected == first.protected


# Commits that a command has made.

PLUMBED = (
    "export GIT_INDEX_FILE=x.index; git read-tree HEAD;"
    " git update-index --add --cacheinfo 100644,$(git hash-object -w evil),AGENTS.md;"
    " c=$(git commit-tree -p HEAD -m x $(git write-tree)); rm x.index; "
)
BRINGING = {
    "git update-ref refs/heads/y $c": "git switch -q y",
    "git update-ref refs/heads/y  $c": "git merge -q y",
    "git update-ref refs/heads/y   $c": "git cherry-pick y",
    "git update-ref refs/heads/y    $c": "git rebase -q y",
    "git update-ref refs/remotes/origin/y $c": "git switch -q --detach origin/y",
    "git update-ref refs/hidden/y $c": "git checkout -q refs/hidden/y",
    "git tag y $c": "git reset -q --hard y",
    "git update-ref HEAD $c": "git reset -q --hard",
    "git update-ref HEAD  $c": "git stash -q",
    "git worktree add -q --detach ../wt $c": "git merge -q y",
    "git update-ref refs/heads/y $c; git pack-refs --all; git repack -qad": "git switch -q y",
    "git update-ref refs/heads/y      $c": "git pull -q . y",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("made", BRINGING)
async def test_a_commit_that_a_command_made_brings_nothing(desk: Desk, made: str) -> None:
    made_so = made.replace("../wt $c", "../wt $c; git update-ref refs/heads/y $c")
    await watched(desk, PLUMBED + made_so)
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n"
    assert bringing(BRINGING[made])
    found, asked = await watched(desk, BRINGING[made])
    assert (len(asked), found.put_back) == (1, ["AGENTS.md"])
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n"


@pytest.mark.exhaustive
async def test_a_commit_named_by_its_id_brings_nothing(desk: Desk) -> None:
    await watched(desk, PLUMBED + "echo $c > id")
    found, _ = await watched(desk, f"git switch -q --detach {(desk.root / 'id').read_text().strip()}")
    assert found.put_back == ["AGENTS.md"]


@pytest.mark.parametrize("command", ["git rebase --edit-todo", "git bisect replay x", "git bisect view"])
def test_what_files_of_git_say_is_not_only_brought(command: str) -> None:
    found = bringing(command)
    assert found is not None
    assert not found.alone


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["-", "@{-1}", "HEAD@{1}", "ORIG_HEAD"])
async def test_a_commit_that_was_left_brings_nothing(desk: Desk, name: str) -> None:
    await watched(
        desk,
        PLUMBED + "git symbolic-ref HEAD refs/heads/y; git update-ref -m 'checkout: x' refs/heads/y $c;"
        " git update-ref ORIG_HEAD $c; git update-ref -m 'checkout: moving from z to y' HEAD $c;"
        ' git update-ref --no-deref -m "checkout: moving from $c to main" HEAD main;'
        " git symbolic-ref HEAD refs/heads/main; git update-ref -d refs/heads/y",
    )
    found, _ = await watched(desk, f"git checkout -q '{name}'")
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n", found.notes


@pytest.mark.exhaustive
async def test_it_stays_in_doubt_whatever_is_run_between(desk: Desk) -> None:
    await watched(desk, PLUMBED + "git update-ref refs/heads/y $c")
    await watched(desk, "git fetch -q .")
    await watched(desk, "git switch -qc z")
    found, _ = await watched(desk, "git switch -q y")
    assert found.put_back == ["AGENTS.md"]


@pytest.fixture
def upstream(desk: Desk, tmp_path: Path) -> Path:
    """Where a colleague pushes."""
    path = tmp_path / "upstream"
    git(tmp_path, "clone", "-q", str(desk.root), str(path))
    git(desk.root, "remote", "add", "origin", str(path))
    git(desk.root, "fetch", "-q")
    git(desk.root, "branch", "-q", "--set-upstream-to=origin/main")
    settle()
    return path


@pytest.mark.parametrize(
    "commands",
    sampled(
        [
            ["git pull -q"],
            ["git fetch -q", "git merge -q origin/main"],
            ["git switch -qc mine", "git pull -q origin main", "git switch -q main", "git switch -q mine"],
            ["git switch -qc mine", "echo 2 > a.py; git commit -qam y", "git pull -q --rebase origin main"],
        ],
        quick=1,
    ),
)
async def test_what_a_colleague_committed_stays(desk: Desk, upstream: Path, commands: list[str]) -> None:
    await watched(desk, "true")
    (upstream / "AGENTS.md").write_text("be quick\n")
    git(upstream, "commit", "-qam", "quick")
    for command in commands:
        found, asked = await watched(desk, command, keep=None)
        assert (asked, found.put_back) == ([], [])
    assert (desk.root / "AGENTS.md").read_text() == "be quick\n"


@pytest.mark.exhaustive
async def test_what_the_user_has_kept_may_be_committed_and_come_back(desk: Desk) -> None:
    _, asked = await watched(desk, "cp evil AGENTS.md", keep=True)
    assert asked
    await watched(desk, "git switch -qc mine; git commit -qam mine")
    for branch in ("main", "mine"):
        found, asked = await watched(desk, f"git switch -q {branch}", keep=None)
        assert (asked, found.put_back) == ([], [])
    assert (desk.root / "AGENTS.md").read_text() == "be evil\n"


@pytest.mark.exhaustive
async def test_what_was_put_back_does_not_come_back_with_a_commit(desk: Desk) -> None:
    await watched(desk, "git switch -qc mine; cp evil AGENTS.md; git commit -qam mine")
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n"
    await watched(desk, "git stash -q; git switch -q main")
    found, _ = await watched(desk, "git switch -q mine")
    assert found.put_back == ["AGENTS.md"]


@pytest.mark.parametrize(("command", "stays"), [("git switch -q evil", True), ("sh evil", False)])
async def test_a_command_in_the_background_may_bring_commits(desk: Desk, command: str, stays: bool) -> None:
    git(desk.root, "switch", "-qc", "evil")
    desk.put("AGENTS.md", "be evil\n")
    git(desk.root, "commit", "-qam", "evil")
    git(desk.root, "switch", "-q", "main")
    desk.put("evil", "git switch -q evil")
    settle()
    asked: list[str] = []
    over = asyncio.Event()

    async def keeps(changed: Sequence[str], _diff: str) -> None:
        asked.extend(changed)

    consent = Consent(keeps, brings=bringing(command))
    async with desk.calls.around_command("call", "shell", consent=consent) as found:
        found.goes_on(over.wait)
    run(desk.root, "git restore evil; git switch -q evil")
    await desk.journal.scan()
    assert asked == ([] if stays else ["changed AGENTS.md"])
    assert (desk.root / "AGENTS.md").read_text() == ("be evil\n" if stays else "be kind\n")
    over.set()
    await desk.journal.close()


@pytest.mark.exhaustive
@cases("url", ["/tmp/x", "../x", "x/y.git", "~/x", "file:///x", "FILE:///x"])
async def test_a_remote_on_this_machine_is_asked_about(desk: Desk, url: str) -> None:
    found, _ = await watched(desk, f"git config remote.origin.url '{url}'")
    assert found.put_back == [".git/config"]


@pytest.mark.parametrize("address", ["../x", "/tmp/x main", "~/x", "file:///x", ".."])
@pytest.mark.parametrize("command", ["pull", "fetch"])
def test_what_comes_from_this_machine_is_not_only_brought(command: str, address: str) -> None:
    found = bringing(f"git {command} {address}")
    assert found is not None
    assert not found.alone


# What a yes covers.


async def _asked(
    make_agent: MakeAgent, command: str, then: str = "", mode: Permissions = "auto"
) -> list[Question]:
    """What the user is asked, who says yes to the first question: about a command, or about one in the
    background and what is run `then`."""
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(len(asked) == 1)

    first = {"name": "shell", "args": {"command": command, "background": bool(then)}}
    calls = [first, {"name": "shell", "args": {"command": then}}] if then else [first]
    blocks = [f"<execute>{json.dumps([call])}</execute>" for call in calls]
    agent = make_agent(*blocks, "Done.", ask=ask, permissions=mode)
    async with agent:
        async for _ in agent("go"):
            pass
    return asked


MAKE = "open('AGENTS' + '.md', 'w').write('evil')\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "command",
    [
        "echo x > .envrc; python3 make.py",
        "rm -r .vscode; python3 make.py",
        "python3 make.py > /dev/null; echo x > ../outside-of-it; rm ../outside-of-it",
        "echo x > sub/AGENTS.md; python3 make.py",
        "cp .vscode/x sub; python3 make.py",
    ],
)
async def test_a_yes_covers_what_the_question_named(
    make_agent: MakeAgent, project: Path, command: str
) -> None:
    (project / "make.py").write_text(MAKE)
    (project / ".vscode").mkdir()
    (project / ".vscode/x").touch()
    (project / "sub").mkdir()
    settle()
    asked = await _asked(make_agent, command)
    assert "AGENTS.md" in asked[-1].summary
    assert ".envrc" not in asked[-1].summary
    assert len(asked) == 2
    assert not (project / "AGENTS.md").exists()


@pytest.mark.parametrize(
    "command",
    sampled(
        [
            "echo x > AGENTS.md; echo y > .envrc; mkdir sub; cp AGENTS.md sub",
            "mkdir -p .vscode/a; echo x > .vscode/a/b; cp -r .vscode sub",
            "python3 -c \"open('AGENTS.md', 'w').write('x'); open('.envrc', 'w').write('x')\"",
            "sed -i s/a/b/ sub/AGENTS.md; mv sub/AGENTS.md .",
            "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
            "cd sub; echo x > .envrc",
            "printf x | tee AGENTS.md sub/CLAUDE.md",
        ],
        quick=2,
    ),
)
async def test_nobody_is_asked_twice(make_agent: MakeAgent, project: Path, command: str) -> None:
    (project / "sub").mkdir()
    (project / "sub/AGENTS.md").write_text("a\n")
    settle()
    assert len(await _asked(make_agent, command)) == 1


async def test_a_question_names_all_that_it_is_about(make_agent: MakeAgent) -> None:
    asked = await _asked(make_agent, "echo x > AGENTS.md; echo y > .envrc")
    assert "AGENTS.md: " in asked[0].reason
    assert ".envrc: " in asked[0].reason


@pytest.mark.exhaustive
async def test_a_yes_that_named_no_protected_file_covers_none(make_agent: MakeAgent, project: Path) -> None:
    (project / "make.py").write_text(MAKE)
    settle()
    asked = await _asked(make_agent, "python3 make.py", mode="ask")
    assert [question.effect for question in asked] == ["command", "changed"]
    assert not (project / "AGENTS.md").exists()


@pytest.mark.exhaustive
async def test_a_yes_in_the_background_covers_no_more(make_agent: MakeAgent, project: Path) -> None:
    (project / "make.py").write_text(MAKE)
    settle()
    start = "echo x > .envrc; until [ -e go ]; do sleep 0.01; done; python3 make.py; touch done; sleep 60"
    asked = await _asked(make_agent, start, "touch go; until [ -e done ]; do sleep 0.01; done")
    assert len(asked) == 2
    assert "AGENTS.md" in asked[-1].summary
    assert (project / ".envrc").exists()
    assert not (project / "AGENTS.md").exists()
