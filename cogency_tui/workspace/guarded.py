"""The guarded files that a command may change without naming them, whether they are ignored or not.

The walk of a snapshot finds the guarded files of the project by their names. Here are those that it does not
enter: the hooks and the configuration of repositories, what `.gitignore` hides, and what starts programs from
the user's home directory. Files that hold passwords are left out: a copy is kept of each that is listed.

Invariant: the lists are bounded, whatever a stranger puts into these directories, and nothing is opened but
the small files by which git names a directory. The calls block.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from cogency_tui.workspace.names import is_guarded_name, protected

_MOST_ENTRIES = 500
"""Entries of one directory that are looked at."""

_MOST_AT_HOME = 5000
"""Entries of the home directory that are."""

_DEEPEST = 4
_MOST_MODULES = 50
_LONGEST_POINTER = 4096

_REPOSITORY = ("config", "config.worktree", "commondir", "info/attributes")
"""What in a git directory leads to programs, beside the hooks."""

_HOOKS = (
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist", "p4-post-changelist"),
    *("p4-pre-submit", "p4-prepare-changelist", "post-applypatch", "post-checkout", "post-commit"),
    *("post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch"),
    *("pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive"),
    *("prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction"),
    *("sendemail-validate", "update"),
)
"""The hooks that git knows."""

_USER_CONFIGURATIONS = (".gitconfig", ".config/git/config")
"""Where git has the user's own configuration."""

_OTHERS = {".hg": ("hgrc",), ".jj": ("repo/config.toml",), ".svn": ()}
"""What does in those of other version control systems."""

_AT_HOME = (
    *(".ssh/authorized_keys", ".ssh/authorized_keys2", ".ssh/config", ".ssh/environment", ".ssh/rc"),
    *(".config/git/config", ".config/git/attributes", ".config/fish/config.fish", ".config/fish/conf.d/*"),
    *(".config/fish/functions/*", ".config/zsh/*", ".config/nushell/*", ".config/mise/*", ".config/direnv/*"),
    *(".config/nvim/*", ".config/helix/*", ".config/emacs/*", ".config/doom/*", ".config/tmux/*"),
    *(".config/autostart/*", ".config/environment.d/*", ".config/systemd/user/*"),
    *(".local/share/systemd/user/*", ".local/bin/*", ".cargo/bin/*", ".cargo/config", ".cargo/config.toml"),
    *(".cargo/env", ".ipython/profile_default/startup/*", ".emacs.d/init.el", ".emacs.d/early-init.el"),
    *(".vim/vimrc", ".vim/plugin/*", ".vim/after/plugin/*", "Library/LaunchAgents/*"),
)

_NOT_AT_HOME = frozenset(
    (".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".my.cnf", ".mongorc.js", ".mongoshrc.js", ".curlrc")
    + (".wgetrc", "head")
)
"""Guarded names that may hold passwords, or mean nothing there."""

_STATE = re.compile(
    r"(?:^|/)(?:\.idea/(?:workspace\.xml|shelf/|usage\.statistics\.xml|dataSources)|\.vs/"
    r"|fish/fish_variables|site-packages/|dist-packages/)"
)
"""What editors and installers write all the time; a path of it is not guarded against commands."""


def reason(path: str) -> str:
    """Why a command may not change what is at a path of the journal unasked; empty where it may.

    Of a git directory only what is listed here is meant.
    """
    return "" if _STATE.search(path) else protected(path.strip("/").split("/"))


def hidden(directory: Path, name: str) -> Iterator[Path]:
    """What is guarded of an entry that a walk passes over."""
    path = directory / name
    if name == ".git":
        yield from of_repository(path)
    elif name in _OTHERS:
        yield from (path / each for each in _OTHERS[name])
    elif is_guarded_name(name) and not _STATE.search(f"{path}/"):
        yield from _files_at(path, _DEEPEST)


def around(root: Path) -> Iterator[Path]:
    """What is guarded of the repository that the directory `root` lies in, if it is not its top."""
    for above in root.parents:
        git = above / ".git"
        if os.path.lexists(git):
            yield from of_repository(git)
            return


def of_repository(git: Path) -> Iterator[Path]:
    """What is guarded of a `.git`: a directory, or the file that names one."""
    try:
        found = git.lstat()
    except OSError:
        return
    if not stat.S_ISDIR(found.st_mode):
        yield git
    own = git if git.is_dir() else _named(git, "gitdir: ")
    if own is None:
        return
    common = _named(own / "commondir", "")
    yield from _of_git_directory(own)
    if common is not None:
        yield from _of_git_directory(common)
    yield from _of_modules(common or own)


def at_home() -> Iterator[Path]:
    """What starts programs from the user's home directory, and the files that links there lead to."""
    try:
        home = Path.home()
    except RuntimeError:
        return
    for path in _at_home(home):
        target = Path(os.path.realpath(path))
        yield Path(os.path.realpath(path.parent), path.name)
        if path.is_symlink() and target.is_file():
            yield target


def user_configurations() -> set[Path]:
    """The files of the user's own configuration of git, and those that links there lead to."""
    try:
        places = [Path.home() / each for each in _USER_CONFIGURATIONS]
    except RuntimeError:
        return set()
    real = {Path(os.path.realpath(place)) for place in places}
    return real.union(Path(os.path.realpath(place.parent), place.name) for place in places)


def _at_home(home: Path) -> Iterator[Path]:
    for entry in _entries(home, _MOST_AT_HOME):
        if is_guarded_name(entry.name) and entry.name not in _NOT_AT_HOME and entry.is_file():
            yield Path(entry.path)
    for place in _AT_HOME:
        if place.endswith("/*"):
            yield from _files_at(Path(os.path.realpath(home / place[:-2])), 1)
        elif os.path.lexists(home / place):
            yield home / place


def _of_git_directory(directory: Path) -> Iterator[Path]:
    hooks = directory / "hooks"
    if hooks.is_symlink():
        yield hooks
        hooks = hooks.resolve()
    yield from _hooks_in(hooks)
    yield from (directory / name for name in _REPOSITORY if os.path.lexists(directory / name))


def _hooks_in(directory: Path) -> Iterator[Path]:
    """The hooks that git runs, however many other files are there, and what may belong to them."""
    # Git makes samples of hooks, and runs none.
    others = (
        entry.path
        for entry in _entries(directory, _MOST_AT_HOME)
        if not entry.name.endswith(".sample") and not entry.is_dir(follow_symlinks=False)
    )
    hooks = {path for name in _HOOKS if os.path.lexists(path := str(directory / name))}
    yield from map(Path, sorted(hooks.union(islice(others, _MOST_ENTRIES))))


def _of_modules(directory: Path) -> Iterator[Path]:
    """What is guarded of the repositories of submodules, whose names may have slashes."""
    left = [(directory / "modules", _DEEPEST)]
    count = 0
    while left and count < _MOST_MODULES:
        above, depth = left.pop()
        for entry in _entries(above):
            if not entry.is_dir(follow_symlinks=False):
                continue
            path = Path(entry.path)
            if (path / "HEAD").is_file():
                yield from _of_git_directory(path)
                count += 1
            elif depth > 1:
                left.append((path, depth - 1))


def _files_at(path: Path, depth: int) -> Iterator[Path]:
    """The file or link at a path, or the files in a directory and `depth` levels of it."""
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            yield path
            return
    except OSError:
        return
    left = [(path, depth)]
    count = 0
    while left and count < _MOST_ENTRIES:
        above, levels = left.pop()
        for entry in _entries(above):
            count += 1
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
            elif levels > 1:
                left.append((Path(entry.path), levels - 1))


def _entries(directory: Path, most: int = _MOST_ENTRIES) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(directory) as entries:
        yield from islice(entries, most)


def _named(pointer: Path, beginning: str) -> Path | None:
    """The directory that a small file of git's names; None where it names none."""
    try:
        if not stat.S_ISREG(pointer.lstat().st_mode):
            return None
        with pointer.open("rb") as file:
            text = os.fsdecode(file.read(_LONGEST_POINTER)).rstrip("\n")
        found = Path(os.path.realpath(pointer.parent / text.removeprefix(beginning)))
        return found if text.startswith(beginning) and found.is_dir() else None
    except (OSError, ValueError):
        return None
