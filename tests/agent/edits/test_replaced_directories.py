"""Directories that lead to protected files, and names of such: what a command puts in their place is removed, what
it moved away comes back."""

import asyncio
import os
import re
import stat
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from cogency_tui.agent.edits.command_watch import CommandEdits, StoredCopies
from cogency_tui.agent.edits.prior_contents import JournalLimits
from cogency_tui.agent.edits.protected_file_restore import Settled, refuse_all
from cogency_tui.errors import WorkspaceError
from cogency_tui.tools.base import Outcome, with_protected
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.shell.checkout_commands import bringing
from cogency_tui.workspace import atomic_changes, protected_directories
from cogency_tui.workspace.file_or_link import OpenDirectory
from cogency_tui.workspace.paths import Location
from cogency_tui.workspace.protected_directories import MOST_HELD, ProtectedDirectories
from tests.agent.conftest import MakeAgent
from tests.agent.journaling import Desk, desk_at, settle, until
from tests.agent.repositories import git
from tests.exhaustive import sampled

OWN = ".config/cogency-tui"
FILES = {
    ".bashrc": "here\n",
    f"{OWN}/config.toml": 'theme = "a"\n',
    f"{OWN}/notes": "mine\n",
    f"{OWN}/commands/good.md": "good\n",
    ".config/other/settings": "other\n",
    ".ssh/config": "Host a\n",
    ".ssh/id_rsa": "key\n",
    ".local/bin/tool": "#!/bin/sh\n",
    ".local/share/data": "data\n",
    ".config/nvim/lua/x.lua": "x\n",
}
PROJECT = {
    "a.py": "1\n",
    "scripts/ls": "#!/bin/sh\nevil\n",
    "AGENTS.md": "be kind\n",
    ".claude/settings.json": "{}\n",
    ".claude/large/none/deep/er/and/deeper": "1\n",
    "sub/AGENTS.md": "sub\n",
    "sub/b.py": "2\n",
}

State = dict[str, tuple[int, bytes]]


@pytest.fixture
async def desk(tmp_path: Path, sealed_home: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        for name, text in PROJECT.items():
            desk.put(name, text)
        for name, text in FILES.items():
            path = sealed_home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (sealed_home / ".ssh").chmod(0o700)
        settle()
        yield desk


def state(top: Path) -> State:
    """Everything below a directory, with modes; links not followed."""
    found: State = {}
    for path in sorted(top.rglob("*")):
        mode = path.lstat().st_mode
        content = os.fsencode(path.readlink()) if path.is_symlink() else b""
        if stat.S_ISREG(mode):
            content = path.read_bytes()
        found[str(path.relative_to(top))] = mode, content
    return found


async def watched(desk: Desk, command: str, keep: bool | None = None) -> tuple[CommandEdits, list[str]]:
    """What is found of a command that nobody agreed to, and what the user was asked."""
    asked: list[str] = []

    async def keeps(changed: Sequence[str], _diff: str) -> bool | None:
        asked.extend(changed)
        return keep

    async with desk.calls.around_command("call", "shell", consent=Consent(keeps)) as found:
        process = await asyncio.create_subprocess_exec("bash", "-c", command, cwd=desk.root)
        assert await process.wait() == 0
    return found, asked


SERVER = "printf '[mcp.x]\\ncommand = \"sh\"\\n' >>"
C = f"~/{OWN}"

RENAMED = (
    f"mv {C} cd; {SERVER} cd/config.toml; echo x > cd/AGENTS.md; echo x > cd/commands/x.md; ln -s $PWD/cd {C}",
    f"mv ~/.config cfg; {SERVER} cfg/cogency-tui/config.toml; ln -s $PWD/cfg ~/.config",
    "mkdir deep; mv ~/.config deep/a; mv deep/a deep/b; mv deep deeper; ln -s $PWD/deeper/b ~/.config",
    "mv ~/.config cfg; mv cfg/cogency-tui own; ln -s $PWD/own cfg/cogency-tui; ln -s $PWD/cfg ~/.config",
    f"mv {C} ~/.config/old",
    f"mv {C} ~/.config/cogency-tux; ln -s cogency-tux {C}",
    f"mv {C} cd; ln -s $PWD/cd cd2; ln -s $PWD/cd2 {C}",
    f"mv {C}/commands x; ln -s $PWD/x {C}/commands; echo x > x/x.md",
    "mv ~/.ssh ssh; ln -s $PWD/ssh ~/.ssh; echo 'ProxyCommand sh' >> ssh/config",
    "mv ~/.local l; ln -s $PWD/l ~/.local",
    "mv ~/.local/bin b; ln -s $PWD/scripts ~/.local/bin",
    "mv ~/.config/nvim/lua l; ln -s $PWD/l ~/.config/nvim/lua; echo x >> l/x.lua",
    "mv ~/.config/nvim l; ln -s $PWD/l ~/.config/nvim; mv l/lua l2; ln -s $PWD/l2 l/lua",
    "mv .claude c; ln -s c .claude; echo x >> c/settings.json",
    "mv .claude c",
    "mv sub s; ln -s s sub; echo x >> s/AGENTS.md",
    "mv sub s; ln -s s sub",
)


@pytest.mark.parametrize("command", sampled(RENAMED, quick=3))
async def test_what_was_moved_away_comes_back(desk: Desk, sealed_home: Path, command: str) -> None:
    before = state(sealed_home), desk.tree()
    inode = (sealed_home / OWN).stat().st_ino
    found, asked = await watched(desk, command)
    assert state(sealed_home) == before[0]
    assert {name: each for name, each in desk.tree().items() if name in before[1]} == before[1]
    assert (sealed_home / OWN).stat().st_ino == inode
    assert asked
    assert found.put_back
    assert found.left == []


LINKED = (
    # No two of one command in the same place.
    [
        "ln -s $PWD/later.sh ~/.profile",
        "ln -s $PWD/later.sh ~/.zshrc; echo evil > later.sh",
        f"mkdir c; ln -s $PWD/c {C}/agents; echo x > c/x.md",
        "ln -s $PWD/g ~/.config/git",
        "ln -s $PWD/b ~/bin",
        "mkdir -p ~/.cargo; ln -s $PWD/scripts ~/.cargo/bin",
        "ln -s $PWD/scripts ~/.pyenv",
        "ln -s $PWD/x ~/go",
        "ln -s $PWD/x ~/.local/share/systemd",
        "mkdir -p ~/.local/lib; ln -s $PWD/x ~/.local/lib/python3.11",
        "ln -s $PWD/x ~/.gitconfig",
        "ln -s $PWD/x ~/.ssh/rc",
        "ln -s x ~/.claude",
        "ln -s $PWD/x ~/.local/bin/ls",
    ],
    [
        "ln -s .profile ~/.profile",
        f"ln -s $PWD/c {C}/agents",
        "mkdir g; printf '[core]\\npager = sh\\n' > g/config; ln -s $PWD/g ~/.config/git",
        "ln -s $PWD/scripts ~/bin",
        "ln -s $PWD/scripts ~/.cargo",
        "mkdir -p ~/.local/lib/python3.11; ln -s $PWD/x ~/.local/lib/python3.11/site-packages",
    ],
    [
        "mkdir -p ~/.local/lib/python3.11/site-packages;"
        " ln -s $PWD/x ~/.local/lib/python3.11/site-packages/x.pth",
    ],
)


@pytest.mark.parametrize("commands", sampled(LINKED, quick=1))
async def test_new_links_are_removed(desk: Desk, sealed_home: Path, commands: list[str]) -> None:
    before = {name: each for name, each in state(sealed_home).items() if not stat.S_ISDIR(each[0])}
    found, asked = await watched(desk, "; ".join(commands))
    after = {name: each for name, each in state(sealed_home).items() if not stat.S_ISDIR(each[0])}
    assert after == before
    assert len([each for each in asked if each.startswith(("linked", "created"))]) >= len(commands), asked
    assert len(found.put_back) == len(asked)
    assert found.left == []


# What stands in the place of what is put back is not removed.

ASIDE = (
    (f"mv {C} ~/.config/old; mkdir {C}; {SERVER} {C}/config.toml", f"{OWN}/config.toml"),
    (f"mv {C} ~/.config/old; mkdir {C}; ln -s $PWD/scripts {C}/commands", f"{OWN}/commands"),
    (f"mv {C} ~/.config/old; echo x > {C}", OWN),
    (f"mv {C} ~/.config/old; mkfifo {C}", OWN),
    (f"mv {C} x; mkdir {C}; mv x {C}/old; touch {C}/y", f"{OWN}/y"),
    (f"rm {C}/config.toml; mkdir {C}/config.toml; echo x > {C}/config.toml/y", f"{OWN}/config.toml/y"),
    (f"mv {C}/config.toml x; mkdir -p {C}/config.toml/a/b; touch x", f"{OWN}/config.toml/a/b"),
    ("rm ~/.bashrc; mv ~/.config/other ~/.bashrc", ".bashrc/settings"),
    ("rm ~/.bashrc; mkfifo ~/.bashrc", ".bashrc"),
    ("rm ~/.local/bin/tool; mkdir -p ~/.local/bin/tool/x", ".local/bin/tool/x"),
    ("rm ~/.ssh/config; mkdir ~/.ssh/config; touch ~/.ssh/config/x", ".ssh/config/x"),
)


@pytest.mark.parametrize(("command", "name"), sampled(ASIDE, quick=3))
async def test_what_is_in_the_way_is_moved_aside(
    desk: Desk, sealed_home: Path, command: str, name: str
) -> None:
    before = {name: each for name, each in state(sealed_home).items() if not name.startswith(".config/other")}
    found, _ = await watched(desk, command)
    after = state(sealed_home)
    assert {name: after.get(name) for name in before} == before
    (moved,) = [
        each for each in after.keys() - before.keys() if name in re.sub(r"\.aside-[0-9a-f]+", "", each)
    ]
    assert re.sub(r"\.aside-[0-9a-f]+", "", moved) == name
    aside = re.sub(r"(\.aside-[0-9a-f]+).*", r"\1", moved)
    assert f"is now {sealed_home / aside}]" in "".join(found.notes)
    assert found.left == []


async def test_what_is_in_the_way_in_the_project_is_moved_aside(desk: Desk) -> None:
    before = desk.tree()
    found, _ = await watched(desk, "rm AGENTS.md; mkdir AGENTS.md; touch AGENTS.md/x")
    assert {name: desk.tree()[name] for name in before} == before
    assert (found.put_back, found.left) == (["AGENTS.md"], [])
    assert [name for name in desk.tree() if ".aside-" in name and name.endswith("/x")]


async def test_an_empty_directory_in_the_way_is_removed(desk: Desk, sealed_home: Path) -> None:
    before = state(sealed_home)
    found, _ = await watched(desk, f"rm {C}/config.toml ~/.bashrc; mkdir {C}/config.toml ~/.bashrc")
    assert state(sealed_home) == before
    assert len(found.put_back) == 2


@pytest.mark.parametrize(
    "command",
    [
        f"{SERVER} {C}/config.toml; chmod 500 {C}",
        f"{SERVER} {C}/config.toml; chmod 0 {C}",
        f"{SERVER} {C}/config.toml; chmod 0 {C} ~/.config",
        f"{SERVER} {C}/config.toml; chmod 500 ~",
        "echo x >> ~/.bashrc; chmod 100 ~",
        "mv ~/.config c; ln -s $PWD/c ~/.config; chmod 0 c/nvim/lua c ~",
        "echo x >> sub/AGENTS.md; chmod 500 sub",
        "echo x >> AGENTS.md; chmod 500 .",
        "echo x >> .claude/settings.json; chmod 0 .claude",
    ],
)
async def test_a_directory_that_is_closed_is_opened_again(
    desk: Desk, sealed_home: Path, command: str
) -> None:
    before = state(sealed_home), desk.tree()
    modes = [path.stat().st_mode for path in (sealed_home, desk.root, desk.root / "sub")]
    found, _ = await watched(desk, command)
    assert [path.stat().st_mode for path in (sealed_home, desk.root, desk.root / "sub")] == modes
    assert (state(sealed_home), desk.tree()) == before
    assert (len(found.put_back) > 1, found.left) == (True, [])


async def test_a_new_directory_that_is_closed_holds_nothing_up(desk: Desk, sealed_home: Path) -> None:
    new = "~/.config/fish/functions"
    command = f"mkdir -p {new}; echo x > {new}/f.fish; chmod 500 {new}; echo x >> ~/.bashrc; {SERVER} {C}/config.toml"
    before = state(sealed_home)
    found, _ = await watched(desk, command)
    after = state(sealed_home)
    assert {name: after[name] for name in before} == before
    assert f"{new}/f.fish" not in after
    assert (len(found.put_back), found.left) == (3, [])


async def test_what_is_in_a_closed_directory_of_the_user_is_put_back(desk: Desk, sealed_home: Path) -> None:
    (sealed_home / ".local/bin").chmod(0o500)
    before = state(sealed_home)
    found, _ = await watched(
        desk, "chmod 700 ~/.local/bin; cp scripts/ls ~/.local/bin; chmod 500 ~/.local/bin"
    )
    assert state(sealed_home) == before
    assert found.put_back == [f"{sealed_home}/.local/bin/ls"]


async def test_one_that_cannot_be_put_back_holds_up_no_other(
    desk: Desk, sealed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What root cannot remove either: the name of a file in whose place something else stands by then.
    def apart(_place: OpenDirectory, location: Location) -> None:
        if location.path.name == "bad":
            raise WorkspaceError("bad is neither a file nor a link.")

    monkeypatch.setattr(atomic_changes, "_require_movable", apart)
    before = state(sealed_home)
    command = f"touch ~/.local/bin/bad; echo x >> ~/.bashrc; {SERVER} {C}/config.toml; echo x >> AGENTS.md"
    found, _ = await watched(desk, command)
    after = state(sealed_home)
    assert {name: after[name] for name in before} == before
    assert (desk.root / "AGENTS.md").read_text() == "be kind\n"
    assert (len(found.put_back), found.left) == (3, [f"{sealed_home}/.local/bin/bad"])


# A directory that is gone: what was kept of it is there again, and what else is missing is said.

GONE = (
    f"cp -r {C} cd; {SERVER} cd/config.toml; rm -r {C}; ln -s $PWD/cd {C}",
    "cp -r ~/.config cfg; rm -r ~/.config; ln -s $PWD/cfg ~/.config",
    "cp -r ~/.ssh s; rm -r ~/.ssh; ln -s $PWD/s ~/.ssh; echo 'ProxyCommand sh' >> s/config",
    "cp -r ~/.local/bin b; rm -r ~/.local/bin; ln -s $PWD/b ~/.local/bin; cp scripts/ls b",
    "cp -r ~/.config/nvim/lua l; rm -r ~/.config/nvim/lua; ln -s $PWD/l ~/.config/nvim/lua; echo x >> l/x.lua",
)
UNPROTECTED = (f"{OWN}/notes", ".config/other", ".ssh/id_rsa")


@pytest.mark.parametrize("command", GONE)
async def test_a_link_to_a_copy_is_removed(desk: Desk, sealed_home: Path, command: str) -> None:
    before = state(sealed_home)
    found, _ = await watched(desk, command)
    after = state(sealed_home)
    assert after.items() <= before.items()
    assert all(name.startswith(UNPROTECTED) for name in before.keys() - after.keys())
    assert found.put_back
    assert before.keys() == after.keys() or found.left
    assert not found.left or f"look for the others in {desk.root}" in "".join(found.notes)


@pytest.mark.parametrize(
    "command",
    [
        "cp -r sub s; rm -r sub; ln -s s sub; echo x >> s/AGENTS.md",
        "rm -r sub; ln -s scripts sub",
        "cp -r .claude c; rm -r .claude; ln -s c .claude; echo x >> c/settings.json",
    ],
)
async def test_a_link_in_the_project_makes_way(desk: Desk, command: str) -> None:
    found, _ = await watched(desk, command)
    assert (desk.root / "sub/AGENTS.md").read_text() == "sub\n"
    assert not (desk.root / "sub").is_symlink()
    assert not (desk.root / ".claude").is_symlink()
    assert (desk.root / ".claude/settings.json").read_text() == "{}\n"
    assert found.left == []


# Links of the user.


@pytest.fixture
def dotfiles(desk: Desk, sealed_home: Path) -> Path:
    """Where the user has some of the configuration."""
    path = sealed_home / "dotfiles"
    (path / "all").mkdir(parents=True)
    for name in (".config/nvim", OWN, ".ssh"):
        (sealed_home / name).rename(path / Path(name).name)
        (sealed_home / name).symlink_to(path / Path(name).name)
    (sealed_home / ".local").rename(path / "all/local")
    (sealed_home / ".local").symlink_to("dotfiles/link/local")
    (path / "link").symlink_to("../dotfiles/all")
    (sealed_home / ".bashrc").rename(path / "bashrc")
    (sealed_home / ".bashrc").symlink_to("dotfiles/bashrc")
    settle()
    return path


@pytest.mark.parametrize(
    "command",
    [
        f"ln -sfn $PWD/scripts {C}",
        f"rm {C}; mkdir {C}; rmdir {C}",
        f"rm {C}",
        f"mv {C} x; ln -s $PWD/x {C}",
        "ln -sfn $PWD/scripts ~/.local",
        "ln -sfn $PWD/scripts ~/dotfiles/link",
        "mv ~/dotfiles/all x; ln -s $PWD/x ~/dotfiles/all",
        "mv ~/dotfiles/all/local x; ln -s $PWD/x ~/dotfiles/all/local",
        "mv ~/dotfiles x; ln -s $PWD/x ~/dotfiles; echo x >> x/bashrc",
        "mv ~/dotfiles/nvim x; ln -s $PWD/x ~/dotfiles/nvim",
        "rm -r ~/.config/nvim; mv ~/dotfiles/nvim ~/.config/nvim",
        "ln -sfn $PWD/a.py ~/.bashrc",
        "rm ~/.bashrc; mv ~/dotfiles/bashrc ~/.bashrc",
    ],
)
async def test_links_of_the_user_lead_where_they_led(
    desk: Desk, sealed_home: Path, dotfiles: Path, command: str
) -> None:
    assert dotfiles.is_dir()
    before = state(sealed_home)
    found, asked = await watched(desk, command)
    assert state(sealed_home) == before
    assert asked
    assert (bool(found.put_back), found.left) == (True, [])


# What is asked about, and what is not.

ORDINARY = (
    "mkdir -p ~/bin ~/.cargo/bin ~/.config/git ~/.config/fish/conf.d ~/.local/lib/python3.11/site-packages",
    "mv ~/.config/other ~/.config/o; ln -s o ~/.config/other",
    "rm -r ~/.config/other; ln -s $PWD ~/.config/other; ln -s $PWD ~/project",
    "mv ~/.local/share ~/.local/s; ln -s s ~/.local/share; rm ~/.local/share; mv ~/.local/s ~/.local/share",
    "mv ~/.config ~/c; mv ~/c ~/.config",
    "mkdir x1; mv scripts x1; ln -s x1/scripts scripts",
    "mkdir -p x/y; mv x z; ln -s z x",
    "chmod 700 ~ ~/.config ~/.local sub .claude; chmod 755 ~/.ssh",
)


async def test_ordinary_work_is_not_asked_about(desk: Desk) -> None:
    found, asked = await watched(desk, "set -e; " + "; ".join(ORDINARY))
    assert (asked, found.put_back, found.left) == ([], [], [])


@pytest.mark.parametrize(("command", "place"), [("mv sub s", "s"), ("mkdir x; mv sub x/sub", "x/sub")])
async def test_a_directory_of_the_project_may_be_moved(desk: Desk, command: str, place: str) -> None:
    found, asked = await watched(desk, command)
    assert (asked, found.put_back, found.left) == ([], [], [])
    assert (desk.root / place / "AGENTS.md").exists()
    assert not (desk.root / "sub").exists()


async def test_what_the_user_keeps_stays(desk: Desk, sealed_home: Path) -> None:
    command = (
        "mv ~/.config/nvim vim; ln -s $PWD/vim ~/.config/nvim; echo x >> vim/lua/x.lua; ln -s $PWD/b ~/bin"
    )
    found, asked = await watched(desk, command, keep=True)
    assert (sealed_home / ".config/nvim").resolve() == desk.root / "vim"
    assert (found.put_back, found.left) == ([], [])
    assert len(asked) == 2
    assert asked[1].startswith(f"replaced {sealed_home}/.config/nvim, which is now vim, by a link to ")
    settle()
    found, asked = await watched(desk, "true")
    assert asked == []
    found, _ = await watched(desk, "rm ~/.config/nvim; mv vim ~/.config/nvim; mkdir b; cp scripts/ls b")
    assert (sealed_home / ".config/nvim").readlink() == desk.root / "vim"
    assert (desk.root / "vim/lua/x.lua").exists()
    assert not (desk.root / "b/ls").exists()


async def test_what_was_agreed_to_before_stays(desk: Desk, sealed_home: Path) -> None:
    async def keeps(_changed: Sequence[str], _diff: str) -> bool:
        return False

    consent = Consent(keeps, covers=[sealed_home / ".local/bin"])
    async with desk.calls.around_command("call", "shell", consent=consent) as found:
        (sealed_home / ".local/bin").rename(desk.root / "b")
        (sealed_home / ".local/bin").symlink_to(desk.root / "b")
        (sealed_home / ".pyenv").symlink_to(desk.root / "b")
    assert (sealed_home / ".local/bin").is_symlink()
    assert found.put_back == [str(sealed_home / ".pyenv")]


async def test_what_is_agreed_to_of_one_command_is_not_asked_of_another(
    desk: Desk, sealed_home: Path
) -> None:
    async def keeps(_changed: Sequence[str], _diff: str) -> bool:
        return False

    consents = Consent(keeps), Consent(keeps, covers=[sealed_home / ".pyenv"])
    async with desk.calls.around_command("first", "shell", consent=consents[0]) as first:
        async with desk.calls.around_command("second", "shell", consent=consents[1]) as second:
            (sealed_home / ".pyenv").symlink_to(desk.root / "b")
        (sealed_home / "bin").symlink_to(desk.root / "b")
    assert (sealed_home / ".pyenv").is_symlink()
    assert (first.put_back, second.put_back) == ([str(sealed_home / "bin")], [])


def replace_local(desk: Desk, home: Path) -> None:
    """What a command does to `~/.local`."""
    (home / ".local").rename(desk.root / "l")
    (home / ".local").symlink_to(desk.root / "l")


async def test_a_command_that_is_broken_off_keeps_nothing(desk: Desk, sealed_home: Path) -> None:
    before = state(sealed_home)

    async def keeps(_changed: Sequence[str], _diff: str) -> bool:
        return True

    async def break_off() -> None:
        async with desk.calls.around_command("call", "shell", consent=Consent(keeps)):
            replace_local(desk, sealed_home)
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await break_off()
    assert state(sealed_home) == before


async def test_a_question_that_is_broken_off_keeps_nothing(desk: Desk, sealed_home: Path) -> None:
    before = state(sealed_home)

    async def keeps(_changed: Sequence[str], _diff: str) -> bool:
        raise asyncio.CancelledError

    async def ask() -> None:
        async with desk.calls.around_command("call", "shell", consent=Consent(keeps)):
            replace_local(desk, sealed_home)

    with pytest.raises(asyncio.CancelledError):
        await ask()
    assert state(sealed_home) == before


async def test_a_command_in_the_background_is_watched(desk: Desk, sealed_home: Path) -> None:
    before = state(sealed_home)
    over = asyncio.Event()

    async def keeps(_changed: Sequence[str], _diff: str) -> None:
        return None

    async with desk.calls.around_command("call", "shell", consent=Consent(keeps)) as found:
        found.goes_on(over.wait)
    replace_local(desk, sealed_home)
    await desk.journal.scan()
    assert state(sealed_home) == before
    (sealed_home / "bin").symlink_to(desk.root / "l")
    over.set()
    await until(lambda: not (sealed_home / "bin").is_symlink())
    found, _ = await watched(desk, "true")
    assert all(note.startswith("[A command in the background: ") for note in found.notes)
    assert f"replaced {sealed_home}/.local, which is now l, by a link" in found.notes[0]
    await desk.journal.close()


async def test_at_the_end_the_user_hears_of_a_command_in_the_background(
    desk: Desk, sealed_home: Path
) -> None:
    over = asyncio.Event()

    async def keeps(_changed: Sequence[str], _diff: str) -> bool:
        return False

    async with desk.calls.around_command("call", "shell", consent=Consent(keeps)) as found:
        found.goes_on(over.wait)
    (sealed_home / "bin").symlink_to(desk.root / "scripts")
    over.set()
    await desk.journal.close()
    assert any(f"linked {sealed_home}/bin to {desk.root}/scripts" in each for each in desk.store.notices)


@pytest.mark.exhaustive
async def test_what_comes_with_commits_stays(desk: Desk) -> None:
    git(desk.root, "init", "-q", "-b", "main")
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-qm", "x")
    git(desk.root, "switch", "-qc", "other")
    git(desk.root, "rm", "-qr", ".claude", "sub")
    git(desk.root, "commit", "-qm", "y")
    git(desk.root, "switch", "-q", "main")
    settle()
    for branch, is_there in (("other", False), ("main", True)):
        consent = Consent(refuse_all, brings=bringing(f"git switch -q {branch}"))
        async with desk.calls.around_command("call", "shell", consent=consent) as found:
            git(desk.root, "switch", "-q", branch)
        assert (found.put_back, found.left) == ([], [])
        assert (desk.root / ".claude").exists() is (desk.root / "sub").exists() is is_there


# What cannot be put back.


@pytest.fixture
async def small_desk(tmp_path: Path, sealed_home: Path) -> AsyncIterator[Desk]:
    """A desk that keeps nothing longer than a few bytes."""
    limits = JournalLimits(largest=10, small=10, at_once=10)
    async with desk_at(tmp_path / "project", tmp_path / "data", limits) as desk:
        (sealed_home / ".bashrc").write_text("a long line\n")
        desk.put("AGENTS.md", "a long line\n")
        settle()
        yield desk


@pytest.mark.parametrize("name", ["~/.bashrc", "AGENTS.md"])
async def test_what_stays_is_said(small_desk: Desk, sealed_home: Path, name: str) -> None:
    found, _ = await watched(small_desk, f"echo evil > {name}")
    assert found.put_back == []
    (left,) = found.left
    assert left == name.replace("~", str(sealed_home))
    (note,) = found.notes
    assert f"could not be restored: {left}: its earlier content is unknown" in note
    assert "report it to the user, who must check it" in note


@pytest.mark.exhaustive
async def test_a_call_that_leaves_something_is_a_failure(make_agent: MakeAgent, project: Path) -> None:
    (project / "AGENTS.md").write_bytes(b"x" * (JournalLimits().largest + 1))
    (project / "make.py").write_text("open('AGENTS' + '.md', 'w').write('evil')\n")
    settle()
    call = '<execute>[{"name": "shell", "args": {"command": "python3 make.py"}}]</execute>'
    async with make_agent(call, "Done.") as agent:
        payloads = [event["payload"] async for event in agent("go") if event["type"] == "result"]
    assert payloads[0]["error"]
    assert payloads[0]["outcome"].endswith("could not be restored: AGENTS.md")
    assert "put_back" not in payloads[0]


def test_what_an_mcp_server_leaves_is_a_failure() -> None:
    outcome = Outcome("x answered", "text")
    assert with_protected(outcome, None) is outcome
    assert with_protected(outcome, CommandEdits(StoredCopies())) is outcome
    found = CommandEdits(StoredCopies(), settled=Settled(put_back=["a"], left=["b"]))
    failed = with_protected(outcome, found)
    assert (failed.failed, failed.put_back) == (True, ())
    assert failed.outcome == "x answered; restored: a; could not be restored: b"


# What the file tools ask about.

LEADING = {
    "later.sh": "ln -s $PWD/later.sh ~/.profile",
    "b/ls": "ln -s $PWD/b ~/bin",
    "scripts/ls": "ln -s $PWD/scripts ~/bin",
    "bin/x": "ln -s $PWD ~/.cargo",
    "g/config": "ln -s $PWD/g ~/.config/git",
    "c/x.md": f"ln -s $PWD/c {C}/agents",
    "c/agents.d/x": f"rm -r {C}/commands; ln -s $PWD/c/agents.d {C}/commands",
    "t.toml": f"ln -s $PWD/t.toml {C}/permissions.toml",
    "cfg/git/config": "rm -r ~/.config; ln -s $PWD/cfg ~/.config",
    "one/two": "ln -s $PWD/x ~/bin; ln -s one x",
    "tool.sh": "ln -s $PWD/tool.sh ~/.local/bin/tool.sh",
    "l/plugin/x.lua": "ln -s $PWD/l ~/.config/nvim/after",
    "p/x.py": "mkdir -p ~/.local/lib/python3.11; ln -s $PWD/p ~/.local/lib/python3.11/site-packages",
    "s/known_hosts": "rm -r ~/.ssh; ln -s $PWD/s ~/.ssh",
    "s/config": "rm -r ~/.ssh; ln -s $PWD/s ~/.ssh",
    "rules.md": "ln -s rules.md CLAUDE.md",
    "cl/x": "ln -s cl .cursor",
    "env": "ln -s env .envrc",
    "hook": "mkdir .husky; ln -s ../hook .husky/pre-commit",
}
NOT_LEADING = {
    "cfg/other/x": "rm -r ~/.config; ln -s $PWD/cfg ~/.config",
    "cfg/x": "ln -s $PWD/cfg ~/.config/x",
    "d/e": "ln -s $PWD ~/project; ln -s $PWD/d ~/d",
    "toml": f"ln -s $PWD/toml {C}/notes.toml",
}


@pytest.mark.parametrize("name", [*LEADING, *NOT_LEADING])
def test_what_a_protected_link_leads_to_is_asked_about(desk: Desk, name: str) -> None:
    assert desk.workspace.guard(desk.workspace.locate(name)) == ""
    command = LEADING.get(name) or NOT_LEADING[name]
    subprocess.run(["bash", "-c", command], cwd=desk.root, check=True)
    asked = desk.workspace.guard(desk.workspace.locate(name))
    assert asked.endswith(" leads to it") is (name in LEADING)
    assert bool(asked) is (name in LEADING)


# Costs.


def looks(desk: Desk, number: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is looked at in the project with so many directories that have protected files."""
    names = [f"sub/{index}/AGENTS.md" for index in range(number)]
    for name in names:
        desk.put(name, "x")
    held = ProtectedDirectories(desk.workspace)
    held.hold(names)
    looked: list[str] = []
    look = os.lstat

    def counted(path: str) -> os.stat_result:
        looked.extend([path] if path.startswith(str(desk.root)) else [])
        return look(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", counted)
        assert held.changes() == []
    held.close()
    return looked


def test_each_component_is_looked_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.root / "sub/AGENTS.md").unlink()
    few, many = (looks(desk, number, monkeypatch) for number in (50, 200))
    assert len(few) == len(set(few))
    assert len(many) == len(few) + 150


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.exhaustive
async def test_no_directory_stays_open(desk: Desk) -> None:
    names = [f"x/{number}/AGENTS.md" for number in range(2 * MOST_HELD)]
    for name in names:
        desk.put(name, "x")
    await watched(desk, "true")
    before = _open_files()
    held = ProtectedDirectories(desk.workspace)
    held.hold(names)
    assert _open_files() <= before + MOST_HELD
    held.close()
    await watched(desk, "true")
    assert _open_files() == before


async def test_beyond_those_that_are_open_a_directory_is_found_by_the_link(
    desk: Desk, sealed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protected_directories, "MOST_HELD", 0)
    before = state(sealed_home)
    await watched(desk, f"mv {C} cd; ln -s $PWD/cd x; ln -s $PWD/x {C}")
    assert state(sealed_home) == before
