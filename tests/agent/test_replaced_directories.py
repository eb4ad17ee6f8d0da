"""Directories that lead to guarded files, and names of such: what a command puts in their place is removed, what
it moved away comes back."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from cogency_tui.agent.command_edits import CommandEdits
from cogency_tui.tools.journaling import Consent
from tests.agent.journaling import Desk, desk_at, settle

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
    f"mv {C} ~/.config/old; mkdir {C}; {SERVER} {C}/config.toml",
    f"mv {C} ~/.config/old; mkdir {C}; ln -s $PWD/scripts {C}/commands",
    f"mv {C} ~/.config/old; echo x > {C}",
    f"mv {C} ~/.config/old; mkfifo {C}",
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


@pytest.mark.parametrize("command", RENAMED)
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
    "ln -s $PWD/later.sh ~/.profile",
    "ln -s $PWD/later.sh ~/.zshrc; echo evil > later.sh",
    "ln -s .profile ~/.profile",
    f"mkdir c; ln -s $PWD/c {C}/agents; echo x > c/x.md",
    f"ln -s $PWD/c {C}/agents",
    f"rm -r {C}/commands; ln -s $PWD/c {C}/commands; mkdir c; echo x > c/x.md",
    "ln -s $PWD/g ~/.config/git",
    "mkdir g; printf '[core]\\npager = sh\\n' > g/config; ln -s $PWD/g ~/.config/git",
    "ln -s $PWD/b ~/bin",
    "ln -s $PWD/scripts ~/bin",
    "mkdir -p ~/.cargo; ln -s $PWD/scripts ~/.cargo/bin",
    "ln -s $PWD/scripts ~/.cargo",
    "ln -s $PWD/scripts ~/.pyenv",
    "ln -s $PWD/x ~/go",
    "ln -s $PWD/x ~/.local/share/systemd",
    "mkdir -p ~/.local/lib; ln -s $PWD/x ~/.local/lib/python3.11",
    "mkdir -p ~/.local/lib/python3.11; ln -s $PWD/x ~/.local/lib/python3.11/site-packages",
    "mkdir -p ~/.local/lib/python3.11/site-packages; ln -s $PWD/x ~/.local/lib/python3.11/site-packages/x.pth",
    "ln -s $PWD/x ~/.gitconfig",
    "ln -s $PWD/x ~/.ssh/rc",
    "ln -s x ~/.claude",
    "ln -s $PWD/x ~/.local/bin/ls",
)


@pytest.mark.parametrize("command", LINKED)
async def test_a_new_link_is_removed(desk: Desk, sealed_home: Path, command: str) -> None:
    before = {name: each for name, each in state(sealed_home).items() if not stat.S_ISDIR(each[0])}
    found, asked = await watched(desk, command)
    after = {name: each for name, each in state(sealed_home).items() if not stat.S_ISDIR(each[0])}
    assert after == before
    assert asked
    assert found.put_back
    assert found.left == []
