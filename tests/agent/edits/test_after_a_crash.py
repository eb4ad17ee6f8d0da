"""What a user does after the program was killed stays, whatever an interrupted command may have changed."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.worker_threads import in_thread
from tests.agent.faults import reopened
from tests.agent.journaling import Desk, desk_at, orphan, settle, until
from tests.agent.repositories import git
from tests.exhaustive import sampled

Act = Callable[[Desk, Path], object]

_OF_GIT = (".git/config", ".git/hooks/")

_FILES = {
    ".bashrc": "old\n",
    ".config/fish/config.fish": "old\n",
    ".config/nvim/init.lua": "old\n",
    ".local/bin/tool": "old\n",
    "bin/other": "old\n",
}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _commit(desk: Desk) -> None:
    git(desk.root, "add", "-A")
    git(desk.root, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m")


def _tree(top: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in top.rglob("*"):
        name = path.relative_to(top).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file() and (name.startswith(_OF_GIT) or not name.startswith(".git/")):
            found[name] = path.read_text()
    return found


def _stow(_desk: Desk, home: Path) -> None:
    (home / "dot").mkdir()
    for name in (".config/fish", ".bashrc", ".local/bin"):
        target = home / "dot" / name.rpartition("/")[2]
        (home / name).rename(target)
        (home / name).symlink_to(target)


def _commit_removal(desk: Desk, _home: Path) -> None:
    (desk.root / "AGENTS.md").unlink()
    _commit(desk)


def _commit_change(desk: Desk, _home: Path) -> None:
    desk.put("AGENTS.md", "be careful\n")
    desk.put(".githooks/pre-commit", "mine\n", 0o755)
    _commit(desk)
    git(desk.root, "config", "core.hooksPath", ".githooks")
    git(desk.root, "config", "alias.x", "!mine")


def _exchange_directories(_desk: Desk, home: Path) -> None:
    _write(home / "new/config.fish", "mine\n")
    settle()
    (home / ".config/fish").rename(home / "old-fish")
    (home / "new").rename(home / ".config/fish")


def _replace_by_directory(_desk: Desk, home: Path) -> None:
    (home / ".bashrc").unlink()
    _write(home / ".bashrc/mine", "mine\n")


LATER: dict[str, Act] = {
    "an edit": lambda _desk, home: _write(home / ".bashrc", "mine\n"),
    "a new file": lambda _desk, home: _write(home / ".local/bin/mine", "mine\n"),
    "a new directory": lambda _desk, home: _write(home / ".config/fish/conf.d/a.fish", "mine\n"),
    "a removal": lambda _desk, home: (home / ".local/bin/tool").unlink(),
    "a removal at the top": lambda _desk, home: (home / ".bashrc").unlink(),
    "a directory that is gone": lambda _desk, home: subprocess.run(["rm", "-r", home / ".config/nvim"]),
    "a directory under another name": lambda _desk, home: (home / "bin").rename(home / "programs"),
    "a file under another name": lambda _desk, home: (home / ".bashrc").rename(home / ".profile"),
    "a mode": lambda _desk, home: (home / ".local/bin/tool").chmod(0o755),
    "links as by stow": _stow,
    "a committed change": _commit_change,
    "a committed removal": _commit_removal,
    "another directory": _exchange_directories,
    "a directory in place of a file": _replace_by_directory,
    "instructions": lambda desk, _home: desk.put("AGENTS.md", "mine\n"),
    "a task": lambda desk, _home: desk.put(".vscode/tasks.json", "mine\n"),
    "a hook": lambda desk, _home: desk.put(".git/hooks/pre-commit", "mine\n", 0o755),
    "our own configuration": lambda _desk, home: _write(
        home / ".config/cogency-tui/config.toml", "footer = true\n"
    ),
}


TOGETHER = {
    "files": [
        *("an edit", "a new file", "a new directory", "a directory that is gone"),
        *("a directory under another name", "a committed change"),
    ],
    "removals": ["a removal at the top", "a removal", "another directory", "a committed removal", "a task"],
    "others": [
        *("a file under another name", "a mode", "instructions", "a hook", "our own configuration"),
    ],
    "links": ["links as by stow"],
    "a directory": ["a directory in place of a file"],
}
"""What one user can do after one kill."""

SAID = {
    "an edit": ".bashrc",
    "a new file": ".local/bin/mine",
    "a new directory": ".config/fish/conf.d/a.fish",
    "a directory that is gone": ".config/nvim",
    "a directory under another name": "bin",
    "a committed change": "AGENTS.md",
    "a removal at the top": ".bashrc",
    "a removal": ".local/bin/tool",
    "another directory": ".config/fish",
    "a committed removal": "AGENTS.md",
    "a task": ".vscode/tasks.json",
    "a file under another name": ".profile",
    "a mode": ".local/bin/tool",
    "instructions": "AGENTS.md",
    "a hook": ".git/hooks/pre-commit",
    "our own configuration": "config.toml",
    "links as by stow": ".bashrc",
    "a directory in place of a file": ".bashrc",
}


def _nothing(_desk: Desk, _home: Path) -> None:
    pass


def _evil(desk: Desk, home: Path) -> None:
    """Change what the user changes later, too."""
    _write(home / ".bashrc", "evil\n")
    _write(home / ".config/fish/config.fish", "evil\n")
    _write(home / ".local/bin/tool", "evil\n")
    desk.put("AGENTS.md", "be evil\n")


async def _crashed(tmp_path: Path, home: Path, act: Act, later: Act) -> tuple[list[str], dict[str, str]]:
    """What the opening says after a command that did `act` was killed, and the user did `later`; and the files of
    the user and the project then, by their paths there."""
    for name, text in _FILES.items():
        _write(home / name, text)
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        desk.put("AGENTS.md", "be kind\n")
        git(desk.root, "init", "-q", "-b", "main")
        _commit(desk)
        settle()
        async with desk.calls.around_command("call", "shell", consent=Consent(refuse_all)):
            act(desk, home)
            settle()
            await orphan(desk, data)
            settle()
            later(desk, home)
            wanted = _tree(home) | _tree(desk.root)
            store, other = await reopened(tmp_path)
            async with store:
                notices = await other.journal.settle()
            found = _tree(home) | _tree(desk.root)
            if act is _nothing:
                assert found == wanted
            return notices, found


def test_what_users_do_is_all_tried() -> None:
    assert sorted(each for acts in TOGETHER.values() for each in acts) == sorted(LATER)


@pytest.mark.parametrize("acts", sampled(TOGETHER, quick=1))
async def test_what_the_user_did_later_stays(tmp_path: Path, sealed_home: Path, acts: str) -> None:
    def later(desk: Desk, home: Path) -> None:
        for each in TOGETHER[acts]:
            LATER[each](desk, home)

    notices, _ = await _crashed(tmp_path, sealed_home, _nothing, later)
    assert not any("Reverted an unapproved change" in notice for notice in notices)
    told = " ".join(notice for notice in notices if "Check these files" in notice)
    assert [SAID[each] for each in TOGETHER[acts] if SAID[each] not in told] == []


@pytest.mark.parametrize("later", sampled(["an edit", "links as by stow", "a committed change"], quick=1))
async def test_what_the_command_did_is_put_back_around_it(
    tmp_path: Path, sealed_home: Path, later: str
) -> None:
    def act(_desk: Desk, home: Path) -> None:
        _write(home / ".config/nvim/init.lua", "evil\n")
        _write(home / "bin/ls", "evil\n")

    notices, found = await _crashed(tmp_path, sealed_home, act, LATER[later])
    assert any("Reverted an unapproved change" in notice for notice in notices)
    assert found[".config/nvim/init.lua"] == "old\n"
    assert "bin/ls" not in found


async def test_of_files_that_both_changed_the_users_stay(tmp_path: Path, sealed_home: Path) -> None:
    def later(desk: Desk, home: Path) -> None:
        _stow(desk, home)
        _write(home / "dot/.bashrc", "mine\n")
        desk.put("AGENTS.md", "mine\n")

    (notice,), found = await _crashed(tmp_path, sealed_home, _evil, later)
    assert "Reverted an unapproved change" not in notice
    assert found["dot/.bashrc"] == "mine\n"
    assert found["dot/fish/config.fish"] == "evil\n"
    assert found["AGENTS.md"] == "mine\n"
    assert all(name in notice for name in ("fish/config.fish", ".bashrc", "AGENTS.md"))


@pytest.mark.exhaustive
async def test_what_was_committed_since_stays(tmp_path: Path, sealed_home: Path) -> None:
    notices, found = await _crashed(tmp_path, sealed_home, _evil, lambda desk, _home: _commit(desk))
    assert found["AGENTS.md"] == "be evil\n"
    assert found[".bashrc"] == "old\n"
    assert any("Check these files" in notice and "AGENTS.md" in notice for notice in notices)


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.tools.shell.command_execution import run_command
from cogency_tui.tools.journal_protocol import Consent
from tests.agent.journaling import desk_at, settle

async def main(base, command):
    async with desk_at(base / "project", base / "data") as desk:
        settle()
        async with desk.calls.around_command("call", "shell", consent=Consent(refuse_all)) as found:
            environ = {**os.environ, "PROGRAM": str(os.getpid())}
            await run_command(command, desk.root, environ, 60, print, signs=found.signs)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.exhaustive
async def test_what_a_command_does_after_it_has_killed_the_program_is_put_back(
    tmp_path: Path, sealed_home: Path
) -> None:
    path = sealed_home / ".bashrc"
    _write(path, "old\n")
    command = f"trap '' TERM; kill -9 $PROGRAM; sleep 0.2; echo evil > {path}; sleep 60"
    done = await in_thread(
        lambda: subprocess.run([sys.executable, "-c", _KILLED, tmp_path, command], check=False).returncode
    )
    assert done == -signal.SIGKILL
    (shadow,) = (tmp_path / "data/shadows").iterdir()
    await until(lambda: path.read_text() == "evil\n" and shadow.stat().st_mtime_ns >= path.stat().st_ctime_ns)
    store, desk = await reopened(tmp_path)
    async with store:
        notices = await desk.journal.settle()
    assert path.read_text() == "old\n"
    assert any("Reverted an unapproved change" in notice and ".bashrc" in notice for notice in notices)
