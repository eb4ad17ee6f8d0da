"""What commands change of protected files without consent is put back, whatever it was that changed it."""

import asyncio
import json
import shlex
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pytest

from cogency_tui.agent.edits.command_watch import CommandEdits
from cogency_tui.agent.edits.protected_file_restore import without_ordinary
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.shell.checkout_commands import bringing
from cogency_tui.tools.shell.git_transfers import destinations
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.conftest import MakeAgent
from tests.agent.journaling import Desk, desk_at, put, settle
from tests.agent.repositories import git, sign_commits
from tests.agent.templates import TEMPLATES
from tests.exhaustive import sampled

HOOK = ".git/hooks/pre-commit"


def _build(top: Path) -> None:
    root = top / "project"
    put(root, "a.py", "1\n")
    put(root, "AGENTS.md", "be kind\n")
    put(root, ".envrc", "export A=1\n")
    put(root, ".gitignore", ".envrc\n.vscode/\nbuild/\n")
    put(root, ".vscode/settings.json", "{}\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "switch", "-qc", "evil")
    put(root, "AGENTS.md", "be evil\n")
    put(root, ".mcp.json", "{}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "evil")
    git(root, "switch", "-q", "main")
    git(root, "repack", "-adq")
    put(root, "evil", "#!/bin/sh\n", 0o755)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    TEMPLATES.copy(_build, tmp_path)
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        settle()
        yield desk


async def watched(desk: Desk, command: str, *, keep: bool | None = False) -> tuple[CommandEdits, list[str]]:
    """What is found of a command that nobody agreed to, and what the user was asked."""
    asked: list[str] = []

    async def keeps(changed: Sequence[str], _diff: str) -> bool | None:
        asked.extend(changed)
        return keep

    consent = Consent(keeps, brings=bringing(command), destinations=destinations(command))
    async with desk.calls.around_command("call", "shell", consent=consent) as found:
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, cwd=desk.root, stderr=subprocess.DEVNULL
        )
        await process.wait()
    return found, asked


async def asked_about(desk: Desk, home: Path, command: str) -> list[str]:
    """The configurations of which the user is asked whether to keep what a script does to them; then they are as
    before."""
    places = [*map(desk.root.joinpath, (".git/config", ".git/config.worktree")), home / ".gitconfig"]
    blobs = await desk.journal.blobs()

    def version(place: Path) -> Version:
        if not place.exists():
            return ABSENT
        blob = blobs.put_bytes(place.read_bytes())
        return Version("file", blob.digest, blob.size, 0o644, blob.stored)

    before = {place: version(place) for place in places}
    kept = {place: place.read_bytes() for place in places if place.exists()}
    await in_thread(subprocess.run, ["bash", "-c", command], cwd=desk.root)
    names = {place: desk.workspace.name_of(place) for place in places}
    changes = [
        FileChange(names[place], before[place], after)
        for place in places
        if (after := version(place)) != before[place]
    ]
    protected = names.values()
    found = await in_thread(without_ordinary, changes, protected, protected, desk.workspace, blobs)
    for place in places:
        place.unlink(missing_ok=True)
        if place in kept:
            place.write_bytes(kept[place])
    return [each.path for each in found]


def protected_files(desk: Desk, home: Path) -> dict[str, tuple[int, bytes]]:
    """All that must be as before: the project without git's own work, and the home directory."""
    kept = {
        name: each
        for name, each in desk.tree().items()
        if (name.startswith((".git/hooks", ".vscode", ".cogency")) and not name.endswith((".sample", "/")))
        or name in ("AGENTS.md", ".envrc", ".mcp.json", ".git/config", "sub/.envrc", "sub/AGENTS.md")
    }
    for path in home.rglob("*"):
        if path.is_file():
            kept[str(path)] = (path.stat().st_mode, path.read_bytes())
    return kept


CONFIGURING = [
    "git config core.hooksPath /tmp/x",
    "git config alias.st '!sh'",
    "git config --file .git/config core.sshCommand sh",
    "git config branch.main.remote 'ext::sh -c x'",
    "git config remote.x.url 'ext::sh -c x'",
    "git config submodule.x.update '!sh'",
    "git config remote.origin.uploadpack $'touch X; : x.fetch\\ngit-upload-pack'",
    "git config remote.origin.receivepack $'sh\\nremote.origin.fetch\\nx'",
    "git config branch.x.remote $'ext::sh -c x\\n'",
    "git config --global core.editor evil",
    "git config include.path ../evil",
    "printf '[core]\\n\\tpager = sh\\n' >> .git/config",
    "git config --global alias.x '!sh'",
]
HOOKS = [
    f"cp evil {HOOK}",
    f"ln evil {HOOK}",
    f"ln -s ../../evil {HOOK}",
    f"mv evil {HOOK}",
    "python3 -c \"open('.git' + '/hooks/pre-commit', 'w').write('x')\"",
    "for hook in commit push; do cp evil .git/hooks/pre-$hook.sample; done; "
    "python3 -c \"import os; os.chmod('.git/hooks/pre-commit.sample', 0o644); os.rename('.git/hooks/pre-push.sample', '.git/hooks/pre-push')\"",
    f"mkdir -p .git/hooks; for i in {{1..1000}}; do : > .git/hooks/a$i.sample; done; cp evil {HOOK}",
    "rm -r .git/hooks; mkdir build; cp evil build/pre-commit; ln -s ../build .git/hooks",
    "tar -cf x.tar --transform 's,evil,.git/hooks/pre-push,' evil; tar -xf x.tar",
]
INSTRUCTIONS = [
    "echo evil > AGENTS.md",
    "rm AGENTS.md",
    "chmod 777 AGENTS.md",
    "cp a.py AGENTS.md; git -c user.name=a -c user.email=a@b commit -qam x; git status",
    "git show evil:AGENTS.md > AGENTS.md; git switch -q main",
    "git read-tree evil; git checkout -q .",
    "git checkout -q evil -- .",
    "git show evil:AGENTS.md > x; cat x > AGENTS.md",
    "printf 'evil' | sed 'w AGENTS.md'",
    "echo x | awk '{print > \"AGENTS.md\"}'",
    "cat <<X | sh\necho x > AGENTS.md\nX",
    "printf '%s' 'echo x > AGENTS.md' > s.sh; sh s.sh",
    "git mv -f a.py AGENTS.md",
]
OTHERS = {
    "echo evil >> .envrc; git config core.hooksPath /tmp/x": (".envrc", ".git/config"),
    "rm .envrc": (".envrc",),
    "rm -r .vscode": (".vscode/settings.json",),
    "echo '{1}' > .vscode/tasks.json": (".vscode/tasks.json",),
    "echo '{1}' > .vscode/settings.json": (".vscode/settings.json",),
    "mkdir -p sub; echo x > sub/.envrc": ("sub/.envrc",),
    "mkdir -p sub; echo x > sub/AGENTS.md": ("sub/AGENTS.md",),
    "mkdir -p .cogency; echo x > .cogency/config.toml": (".cogency/config.toml",),
    "echo x > ~/.bashrc; git config --global core.editor evil": (".bashrc", ".gitconfig"),
    "echo x >> ~/.profile": (".profile",),
    "mkdir -p ~/.ssh; echo x > ~/.ssh/authorized_keys": (".ssh/authorized_keys",),
    "mkdir -p ~/.local/bin; cp evil ~/.local/bin/ls": (".local/bin/ls",),
    "mkdir -p ~/.config/fish/conf.d; echo x > ~/.config/fish/conf.d/x.fish": ("conf.d/x.fish",),
    "mkdir -p ~/.local/bin; printf '[user]\\nname = $(evil)\\n' > ~/.local/bin/config": (
        ".local/bin/config",
    ),
    "printf '[core]\\n\\tpager = sh\\n' >> .git/config": (".git/config",),
}
CHANGING = [
    (
        "\n".join(each for each in (other, instructions, hook) if each),
        [*OTHERS[other], *(["AGENTS.md"] if instructions else []), *([".git/hooks"] if hook else [])],
    )
    for other, instructions, hook in zip_longest(OTHERS, INSTRUCTIONS, HOOKS, fillvalue="")
]
"""Commands that change several protected files, and these files."""


@pytest.mark.exhaustive
async def test_a_change_without_consent_is_put_back(desk: Desk, sealed_home: Path) -> None:
    (sealed_home / ".profile").write_text("here\n")
    before = protected_files(desk, sealed_home)
    for command, names in CHANGING:
        # A directory goes with the only file that was made in it.
        (desk.root / ".git/hooks").mkdir(exist_ok=True)
        desk.put("evil", "#!/bin/sh\n", 0o755)
        desk.put("a.py", "1\n")
        settle()
        found, asked = await watched(desk, command)
        for name in names:
            assert any(name in each for each in asked), (command, name)
            assert any(name in each for each in found.put_back), (command, name)
        assert protected_files(desk, sealed_home) == before, command
        assert any("Restored to its state" in note and "edit or write" in note for note in found.notes)


@pytest.mark.exhaustive
async def test_every_setting_that_starts_a_program_is_asked_about(desk: Desk, sealed_home: Path) -> None:
    commands = [*CONFIGURING, *(shlex.join(["git", "config", key, value]) for key, value in SETTINGS)]
    found = [len(await asked_about(desk, sealed_home, command)) for command in commands]
    assert [command for command, number in zip(commands, found, strict=True) if number != 1] == []


@pytest.mark.parametrize(("command", "names"), sampled(CHANGING[::3], quick=1))
async def test_what_the_user_keeps_stays(
    desk: Desk, sealed_home: Path, command: str, names: list[str]
) -> None:
    (sealed_home / ".profile").write_text("here\n")
    settle()
    before = protected_files(desk, sealed_home)
    found, asked = await watched(desk, command, keep=True)
    assert [name for name in names if not any(name in each for each in asked)] == []
    assert (found.put_back, protected_files(desk, sealed_home) == before) == ([], False)


ORDINARY = [
    "echo 2 > a.py; git add -A; git -c user.name=a -c user.email=a@b commit -qm y",
    "git switch -qc other",
    "git branch --set-upstream-to=evil main",
    "git remote add origin https://example.com/x.git",
    "git remote add origin git@example.com:x.git; git config branch.main.remote origin",
    "git config user.name b; git config user.email b@c",
    "git stash; git stash pop",
    "git gc -q",
    "git worktree add -q build/wt",
    "git worktree add -q --no-checkout wt2",
    "git worktree add -q --no-checkout wt2; git worktree move wt2 wt3",
    "git worktree add -q --no-checkout wt2; git worktree remove --force wt2",
    "git config --global user.name Dev; git config --global init.defaultBranch main",
    "git config alias.st 'status -sb'; git config alias.lg 'log --oneline --graph -20'; git config alias.co checkout",
    "git config color.ui always; git config log.date iso; git config merge.conflictStyle zdiff3",
    "git config diff.algorithm histogram; git config rebase.autoSquash true; git config rebase.autoStash true",
    "git config commit.verbose true; git config help.autocorrect 20; git config push.followTags true",
    "git config fetch.pruneTags true; git config branch.sort -committerdate; git config column.ui auto",
    "git config --global status.short true; git config --global advice.detachedHead false",
    "mkdir -p ~/.config/git; git config --file ~/.config/git/config user.email a@b",
    "git init -q build/new; git init -q new",
    "git clone -q . build/clone; git clone -q . clone && rm -rf clone",
    "mkdir -p node_modules/x; echo x > node_modules/x/AGENTS.md",
    "mkdir -p env/lib/site-packages; echo x > env/lib/site-packages/x.pth",
    "mkdir -p .idea; echo x > .idea/workspace.xml",
    "mkdir -p ~/.cache ~/.ssh; echo x > ~/.cache/x; echo x > ~/.ssh/known_hosts; echo x > ~/.bash_history",
    "mkdir d; echo x > d/x; rm -r d",
    "echo x > README.md; mkdir -p src; echo x > src/agents.py",
]


DAYS = 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("day", range(DAYS))
async def test_ordinary_work_is_not_asked_about(desk: Desk, day: int) -> None:
    found, asked = await watched(desk, "\n".join(ORDINARY[day::DAYS]))
    assert (asked, found.put_back) == ([], [])


BROUGHT = [
    "git merge -q evil",
    "git checkout -q evil && git status",
    "git reset -q --hard evil --",
    "git cherry-pick evil",
    "git rebase -q evil",
    "git pull -q . evil",
    "git stash -q; git switch -q evil; cat AGENTS.md | head -1",
    "git worktree add -q wt2 evil",
    "git -c core.pager=cat switch -q evil",
    "git switch -q evil; true > x",
]


@pytest.mark.parametrize("command", sampled(BROUGHT, quick=2))
async def test_what_comes_with_commits_stays_and_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    sign_commits(monkeypatch)
    found, asked = await watched(desk, command, keep=None)
    assert (asked, found.put_back) == ([], [])
    place = "wt2/" if "worktree" in command else ""
    assert (desk.root / f"{place}AGENTS.md").read_text() == "be evil\n"
    (note,) = [each for each in found.notes if "Came with the commits" in each]
    assert f"{place}AGENTS.md" in note
    assert f"{place}AGENTS.md" in [edit.path for edit in await desk.edits()]


@pytest.mark.exhaustive
async def test_a_branch_can_be_left_again(desk: Desk) -> None:
    for branch in ("evil", "main"):
        found, asked = await watched(desk, f"git switch -q {branch}", keep=None)
        assert (asked, found.put_back) == ([], [])
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n"
    assert not (desk.root / ".mcp.json").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "command",
    [
        "git checkout -q evil -- AGENTS.md",
        "git restore --source=evil AGENTS.md",
        "git checkout -q evil -- AGENTS.md; true > x",
        "git switch -q evil; echo x > AGENTS.md",
        "git switch -q evil && echo x > AGENTS.md && git commit -qam x",
        "git merge -q evil; sh -c 'cp a.py AGENTS.md'",
        "git -c core.pager=cat switch -q evil; cp a.py AGENTS.md; git commit -qam x",
        "git am x; git switch evil; mv a.py AGENTS.md",
        "git submodule foreach git switch evil; git rm -q AGENTS.md",
    ],
)
async def test_what_a_command_writes_by_itself_is_put_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    sign_commits(monkeypatch)
    found, _ = await watched(desk, command)
    assert bringing(command) is not None
    assert "AGENTS.md" in found.put_back
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n"


SETTINGS = [
    *(("alias.st", value) for value in ("!sh evil", "-c core.pager=evil log", "rebase -x evil", "evil")),
    *(("alias.st", value) for value in ("status; sh evil", "grep -Oevil", "log --ext-diff", "bisect run sh")),
    *(
        ("alias.st", value)
        for value in ("diff --output=x", "difftool", "config core.pager evil", "push evil")
    ),
    *((key, "evil") for key in ("core.pager", "core.editor", "core.fsmonitor", "core.sshCommand")),
    *((key, "evil") for key in ("core.hooksPath", "credential.helper", "gpg.program", "pager.log")),
    *((key, "evil") for key in ("diff.external", "diff.x.textconv", "diff.x.command", "merge.x.driver")),
    *((key, "evil") for key in ("filter.x.clean", "sequence.editor", "mergetool.x.cmd", "pull.twohead")),
    *((key, "evil") for key in ("help.browser", "init.templateDir", "commit.template", "fetch.bundleURI")),
    *((key, "evil") for key in ("http.proxy", "include.path", "remote.x.proxy", "remote.x.uploadpack")),
    ("protocol.ext.allow", "always"),
    ("safe.bareRepository", "all"),
    ("url.https://evil.example/.insteadOf", "https://github.com/"),
    ("log.showSignature", "true"),
    ("commit.gpgSign", "true"),
]


@pytest.mark.exhaustive
async def test_settings_that_start_programs_are_put_back(desk: Desk) -> None:
    configuration = desk.root / ".git/config"
    before = configuration.read_bytes()
    for key, value in SETTINGS[::9]:
        found, _asked = await watched(desk, shlex.join(["git", "config", key, value]))
        assert found.put_back == [".git/config"], (key, value)
        assert configuration.read_bytes() == before


POINTERS = {
    "mkdir s1; echo 'gitdir: ../evil' > s1/.git": "s1/.git",
    "mkdir s2; echo 'gitdir: ../.git/worktrees' > s2/.git": "s2/.git",
    "mkdir s3; echo 'gitdir: ../.git/worktrees/../../x' > s3/.git": "s3/.git",
    "mkdir s4; ln -s ../evil s4/.git": "s4/.git",
    "git worktree add -q --detach wt; echo /tmp > .git/worktrees/wt/commondir": ".git/worktrees/wt/commondir",
    "mkdir -p s5 .git/worktrees/x; echo 'gitdir: ../.git/worktrees/x' > s5/.git; "
    "printf '[core]\\npager = sh\\n' > .git/worktrees/x/config": ".git/worktrees/x/config",
}


@pytest.mark.exhaustive
async def test_what_leads_git_elsewhere_is_put_back(desk: Desk) -> None:
    found, _asked = await watched(desk, "\n".join(POINTERS))
    assert set(POINTERS.values()) <= set(found.put_back)
    assert [path for path in POINTERS.values() if (desk.root / path).is_file()] == []


@pytest.mark.exhaustive
async def test_a_working_tree_that_was_there_can_be_moved_and_removed(desk: Desk) -> None:
    git(desk.root, "worktree", "add", "-q", "--no-checkout", "wt2")
    settle()
    for command in ("git worktree move wt2 wt3", "git worktree remove --force wt3"):
        found, asked = await watched(desk, command)
        assert (asked, found.put_back) == ([], [])
    assert not (desk.root / "wt3").exists()


@pytest.mark.exhaustive
async def test_no_flood_of_files_hides_a_hook(desk: Desk) -> None:
    hooks = desk.root / ".git/hooks"
    for number in range(1500):
        (hooks / f"a{number}.sample").touch()
        (hooks / f"b{number}").touch()
    settle()
    found, asked = await watched(desk, "cp evil .git/hooks/pre-commit; cp evil .git/hooks/post-index-change")
    assert len(asked) == len(found.put_back) == 2
    assert not (hooks / "pre-commit").exists()


async def test_only_directories_that_the_command_made_are_removed(desk: Desk, sealed_home: Path) -> None:
    shutil.rmtree(sealed_home)
    shutil.rmtree(desk.root / ".git/hooks")
    places = sealed_home, desk.root / ".git/hooks", desk.root / ".vscode/empty"
    for place in places:
        place.mkdir(parents=True)
    settle()
    made = [desk.root / "sub", sealed_home / ".config", desk.root / ".vscode/new"]
    found, asked = await watched(
        desk,
        "cp evil .git/hooks/pre-commit; echo x > .vscode/empty/a; echo x > ~/.bashrc; mkdir -p sub .vscode/new;"
        " echo x > sub/AGENTS.md; echo x > .vscode/new/a; mkdir -p ~/.config/fish; echo x > ~/.config/fish/config.fish",
    )
    assert len(asked) == len(found.put_back) == 6
    assert [each for each in places if not each.is_dir()] == []
    assert [each for each in places if [*each.iterdir()]] == []
    assert [each for each in made if each.exists()] == []


async def test_what_is_put_back_is_not_lost(desk: Desk) -> None:
    found, _ = await watched(desk, "echo evil > AGENTS.md; echo 2 > a.py")
    assert found.put_back == ["AGENTS.md"]
    assert (desk.root / "a.py").read_text() == "2\n"
    edits = await desk.edits(path="AGENTS.md")
    assert [edit.tool for edit in edits] == ["shell", "guard"]
    plan = await desk.undo.restore(edits[:1])
    await desk.undo.apply(plan)
    assert (desk.root / "AGENTS.md").read_text() == "evil\n"


@pytest.mark.exhaustive
async def test_a_model_in_auto_is_told_what_was_put_back(make_agent: MakeAgent, project: Path) -> None:
    git(project, "init", "-q")
    call = '<execute>[{"name": "shell", "args": {"command": "python3 make.py"}}]</execute>'
    (project / "make.py").write_text("open('AGENTS' + '.md', 'w').write('evil')\n")
    agent = make_agent(call, "Done.")
    async with agent:
        results = [event async for event in agent("go") if event["type"] == "result"]
        gate = agent.gate(None)
    payload = results[-1]["payload"]
    assert not (project / "AGENTS.md").exists()
    assert payload["error"]
    assert payload["outcome"].endswith("restored: AGENTS.md")
    assert "Use edit or write" not in str(payload["content"])
    assert "No user is available to approve it" in str(payload["content"])
    assert gate is None


@pytest.mark.exhaustive
@pytest.mark.parametrize(("status", "cycles"), [(0, 5), (1, 3)])
async def test_a_command_that_did_its_work_is_no_failed_batch(
    make_agent: MakeAgent, project: Path, status: int, cycles: int
) -> None:
    script = f"open('AGENTS' + '.md', 'w').write('evil')\nraise SystemExit({status})\n"
    (project / "make.py").write_text(script)
    call = '<execute>[{"name": "shell", "args": {"command": "python3 make.py"}}]</execute>'
    async with make_agent(*[call] * 4, "Done.") as agent:
        events = [event async for event in agent("go")]
    # The engine warns before the last attempt, as a tool of its own.
    results = [event["payload"] for event in events if event["type"] == "result" and event["tool"] == "shell"]
    assert len(results) == min(cycles, 4)
    assert all(each["error"] and "restored: AGENTS.md" in each["outcome"] for each in results)
    assert all(each.get("put_back", []) == ([] if status else ["AGENTS.md"]) for each in results)
    assert [event["type"] for event in events].count("metric") == cycles


@pytest.mark.parametrize("allow", [True, False])
async def test_the_user_is_asked_after_a_command(make_agent: MakeAgent, project: Path, allow: bool) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow)

    call = '<execute>[{"name": "shell", "args": {"command": "python3 make.py"}}]</execute>'
    (project / "make.py").write_text("open('AGENTS' + '.md', 'w').write('evil')\n")
    agent = make_agent(call, "Done.", ask=ask)
    async with agent:
        async for _ in agent("go"):
            pass
    (question,) = asked
    assert "created AGENTS.md" in question.summary
    assert "+evil" in question.detail
    assert (project / "AGENTS.md").exists() is allow


async def test_what_the_user_agreed_to_before_stays(make_agent: MakeAgent, project: Path) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(True)

    call = (
        '<execute>[{"name": "shell", "args": {"command": "echo x > AGENTS.md; echo y > .envrc"}}]</execute>'
    )
    agent = make_agent(call, "Done.", ask=ask)
    async with agent:
        async for _ in agent("go"):
            pass
    assert len(asked) == 1
    assert (project / "AGENTS.md").read_text() == "x\n"
    assert (project / ".envrc").read_text() == "y\n"


@pytest.mark.exhaustive
async def test_a_command_in_the_background_is_watched_until_its_end(
    make_agent: MakeAgent, project: Path
) -> None:
    command = "until [ -e go ]; do sleep 0.01; done; python3 make.py; touch done"
    start = {"name": "shell", "args": {"command": command, "background": True}}
    wait = {"name": "shell", "args": {"command": "touch go; until [ -e done ]; do sleep 0.01; done"}}
    (project / "make.py").write_text("open('AGENTS' + '.md', 'w').write('evil')\n")
    calls = [f"<execute>{json.dumps([each])}</execute>" for each in (start, wait)]
    agent = make_agent(*calls, "Done.")
    async with agent:
        async for _ in agent("go"):
            pass
    assert not (project / "AGENTS.md").exists()
