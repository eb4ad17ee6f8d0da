"""The guarded files that a command may change without naming them, whether they are ignored or not.

The walk of a snapshot finds the guarded files of the project by their names. Here are those that it does not
find: the hooks and the configuration of repositories, what `.gitignore` hides, what guarded files lead to
(targets of links, hooks and included files that git's configuration names, what direnv reads beside
`.envrc`), this program's own configuration, and what in the user's home directory runs without being named
(see `names`), or stands in a directory where shells look for programs. Files that hold passwords are left
out: a copy is kept of each that is listed. So is what other programs write all the time (`.claude.json`).

Invariant: the lists are bounded, whatever a stranger puts into these directories, and nothing is opened but
the small files by which git names a directory. The calls block.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from cogency_tui.config import config_path
from cogency_tui.workspace import git_configuration
from cogency_tui.workspace.home_places import AT_HOME
from cogency_tui.workspace.names import is_guarded_name, protected

_MOST_ENTRIES = 500
"""Entries of one directory that are looked at."""

_MOST_AT_HOME = 5000
"""Entries of the home directory that are."""

_DEEPEST = 4
_MOST_MODULES = 50
_MOST_LINKED = 500
"""Directories that are looked at for those of submodules and of other working trees."""

_LONGEST_POINTER = 4096

_REPOSITORY = ("config", "config.worktree", "commondir", "gitdir", "info/attributes")
"""What in a git directory leads to programs and to other directories, beside the hooks."""

_DIRECTORIES = ("objects", "refs")
"""What every repository has, beside its `HEAD`."""

_OF_GIT = ("HEAD", "hooks", *_DIRECTORIES, *_REPOSITORY)
LINKED = ("modules", "worktrees")
"""Where a repository has the directories of its submodules and of its other working trees."""

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

_PLACES = [
    (
        place.partition("/")[0],
        place.rstrip("*"),
        _DEEPEST if place.endswith("**") else 1 if place.endswith("*") else 0,
    )
    for place in AT_HOME
]
"""Each with the entry of the home directory that it is in, and for a directory how deep it is looked into."""

_PYTHON = ".local/lib"
_PYTHON_STARTS = ("usercustomize.py", "sitecustomize.py", ".pth")
"""Where the user's own packages of Python are, and how the names end that each start of Python runs."""

_STARTS_AT_HOME = (*(place.rstrip("*") for place in AT_HOME), ".local/lib/python3")

_OWN = ("permissions.toml", "trusted.toml", "models.toml", "AGENTS.md")
_OWN_FOLDERS = ("commands", "agents", "workflows", "themes")
"""This program's configuration, beside the user's configuration file."""

_BESIDE_ENVRC = ("flake.nix", "shell.nix", "default.nix", "devenv.nix", "devbox.json")
"""What direnv evaluates with an `.envrc` beside it."""

_MOST_LED = 500
"""Files that one link leads to, and links that are followed at once."""

_NOT_AT_HOME = frozenset(
    (".netrc", ".npmrc", ".yarnrc.yml", ".my.cnf", ".mongorc.js", ".mongoshrc.js", ".curlrc")
    + (".wgetrc", "head")
)
"""Guarded names that may hold passwords, or mean nothing there."""

_STATE = re.compile(
    r"(?:^|/)(?:\.idea/(?:workspace\.xml|shelf/|usage\.statistics\.xml|dataSources)|\.vs/"
    r"|fish/fish_variables|site-packages/|dist-packages/)"
)
"""What editors and installers write all the time; a path of it is not guarded against commands."""

_STATE_AT_HOME = re.compile(
    r".*/(?:\.?(?:\w+_)?history(?:\.txt|\.sqlite3[^/]*)?|\.?zcompdump[^/]*|vifminfo[^/]*"
    r"|\.(?:config/)?zsh/\.?cache/.*"
    r"|\.config/emacs/(?:recentf|places|(?:\.cache|auto-save-list|eln-cache|transient|tramp|url)/.*))",
    re.DOTALL,
)
"""What shells and editors write there whenever they run."""


def reason(path: str) -> str:
    """Why a command may not change what is at a path of the journal unasked; empty where it may.

    Of a git directory only what is listed here is meant.
    """
    return "" if _STATE.search(path) else protected(path.strip("/").split("/"))


def hidden(directory: Path, name: str, *, inside: bool = False) -> Iterator[Path]:
    """What is guarded of an entry that a walk passes over; all where it is `inside` a guarded directory."""
    path = directory / name
    if name == ".git":
        yield from of_repository(path)
    elif name in _OTHERS:
        yield from (path / each for each in _OTHERS[name])
    elif (inside or is_guarded_name(name)) and not _STATE.search(f"{path}/"):
        yield from _files_at(path, _DEEPEST)


def around(root: Path) -> Path | None:
    """The `.git` of the repository that the directory `root` lies in, if it is not its top."""
    return next((above / ".git" for above in root.parents if os.path.lexists(above / ".git")), None)


def of_repository(git: Path) -> Iterator[Path]:
    """What is guarded of a `.git`: a directory, or the file that names one."""
    try:
        found = git.lstat()
    except OSError:
        return
    if not stat.S_ISDIR(found.st_mode):
        yield git
    own = _own_directory(git)
    if own is None:
        return
    common = _named(own / "commondir", "")
    yield from _named_by_git(git)
    yield from _of_git_directory(own)
    if common is not None:
        yield from _of_git_directory(common)
    for linked in _linked_in(common or own):
        yield from _of_git_directory(linked)


def directories_of_repository(git: Path) -> Iterator[Path]:
    """The directories of git that a `.git` leads to, which only move as a whole, and what is of no use apart
    from them."""
    own = git_directory(git)
    if own is None:
        return
    common = _named(own / "commondir", "")
    modules = (each for each in _linked_in(common or own) if _is_whole(each))
    for directory in (own, *([common] if common else []), *islice(modules, _MOST_MODULES)):
        yield from (directory, directory / "hooks", *(directory / name for name in _DIRECTORIES))


def git_directory(git: Path) -> Path | None:
    """The directory that a `.git` is, or names, with links resolved; None where there is none."""
    own = _own_directory(git)
    return None if own is None else Path(os.path.realpath(own))


def repository_at(git: Path) -> Path | None:
    """The directory of the repository that a `.git` is, or leads to; None where there is none."""
    own = git_directory(git)
    return own if own is not None and is_repository(own) else None


def is_repository(directory: Path) -> bool:
    """Whether git finds a repository in a directory, or what another working tree has of one."""
    return _is_whole(directory) or (_has_head(directory) and (directory / "commondir").is_file())


def at_home() -> Iterator[Path]:
    """What starts programs from the user's home directory, and this program's own configuration."""
    with suppress(RuntimeError):
        for path in _at_home(Path.home()):
            yield Path(os.path.realpath(path.parent), path.name)
        yield from _named_by_git(None)
    for path in _own_configuration():
        yield Path(os.path.realpath(path.parent), path.name)


def home() -> list[Path]:
    """The user's home directory, with links resolved; empty where it is not known."""
    try:
        return [Path(os.path.realpath(Path.home()))]
    except RuntimeError:
        return []


def directories() -> Iterator[str]:
    """The directories, there or not, in which guarded files of the user are looked for; links in the paths
    are not resolved, but for those to the home directory."""
    places = _places_of_user()
    yield from dict.fromkeys(
        path if is_directory else path.rpartition("/")[0] for path, is_directory in places
    )


def led_to_from_home() -> Callable[[Path], bool]:
    """Says of a path of `at_home` whether it is none there by itself: a link leads to it, or git's
    configuration."""
    home = ""
    with suppress(RuntimeError):
        home = os.path.realpath(Path.home())
    places = *(f"{home}/{each}" for each in _STARTS_AT_HOME), f"{os.path.realpath(config_path().parent)}/"
    return lambda path: str(path.parent) != home and not str(path).startswith(places)


def own_files() -> list[Path]:
    """The files of the user's configuration that this program itself writes, with links resolved."""
    path = config_path()
    return [Path(os.path.realpath(each)) for each in (path, *map(path.with_name, _OWN[:2]))]


def beside(path: Path) -> Iterator[Path]:
    """The files beside a guarded file that are evaluated with it."""
    if path.name == ".envrc":
        yield from (there for name in _BESIDE_ENVRC if os.path.lexists(there := path.with_name(name)))


def led_to(path: Path) -> Iterator[Path]:
    """The files that a guarded file leads to: the target of a link, or the files in it."""
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if target not in path.parents:
            yield from islice(_files_at(target, _DEEPEST), _MOST_LED)


def leading(root: Path | None, path: Path) -> str:
    """The guarded file or directory that leads to a path, below `root` where that is given; empty where there
    is none.

    Links are looked for in the directories above it, in guarded directories there, and among the user's.
    """
    if (of_user := _leading_of_user(path)) or root is None:
        return of_user
    above = [each for each in path.parents if each.is_relative_to(root)]
    for link in islice((link for each in above for link in _links_in(each)), _MOST_LED):
        if link.name == ".envrc" and link.parent == path.parent and path.name in _BESIDE_ENVRC:
            return link.name
        if _leads(link, path):
            return link.relative_to(root).as_posix()
    git = next((each / ".git" for each in above if os.path.lexists(each / ".git")), None)
    return ".git/config" if git is not None and _is_named_by_git(git, path) else ""


def user_configurations() -> set[Path]:
    """The files of the user's own configuration of git, and those that links there lead to."""
    places = _user_places()
    real = {Path(os.path.realpath(place)) for place in places}
    return real.union(Path(os.path.realpath(place.parent), place.name) for place in places)


def _user_places() -> list[Path]:
    try:
        return [Path.home() / each for each in _USER_CONFIGURATIONS]
    except RuntimeError:
        return []


def _at_home(home: Path) -> Iterator[Path]:
    there: set[str] = set()
    for entry in _entries(home, _MOST_AT_HOME):
        there.add(entry.name)
        if is_guarded_name(entry.name) and entry.name not in _NOT_AT_HOME and _is_file(entry):
            yield Path(entry.path)
    for packages in _python_packages(home):
        entries = _entries(packages, _MOST_AT_HOME)
        yield from (Path(entry.path) for entry in entries if entry.name.endswith(_PYTHON_STARTS))
    for top, place, depth in _PLACES:
        if (top in there or len(there) == _MOST_AT_HOME) and os.path.lexists(path := f"{home}/{place}"):
            found = _files_at(Path(os.path.realpath(path)), depth) if depth else (Path(path),)
            yield from (each for each in found if not _STATE_AT_HOME.fullmatch(str(each)))


def _python_packages(home: Path) -> Iterator[Path]:
    versions = (each.path for each in _entries(home / _PYTHON) if each.name.startswith("python3"))
    yield from (Path(each, "site-packages") for each in islice(versions, _DEEPEST))


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link that leads to one or to nothing."""
    return entry.is_file(follow_symlinks=False) or (entry.is_symlink() and not Path(entry.path).is_dir())


def _places_of_user() -> Iterator[tuple[str, bool]]:
    """Where guarded files of the user are looked for, there or not, and whether it is a directory, in which
    any is."""
    own = config_path().absolute()
    for top in home():
        for place in AT_HOME:
            folder = place.rstrip("*")
            yield f"{top}/{folder.rstrip('/')}", folder != place
        yield from ((str(packages), True) for packages in _python_packages(top))
        with suppress(ValueError):
            own = top / own.relative_to(Path.home())
    yield from ((str(own.with_name(name)), False) for name in (own.name, *_OWN))
    yield from ((str(own.with_name(folder)), True) for folder in _OWN_FOLDERS)


def _leading_of_user(path: Path) -> str:
    """The guarded file or directory of the user that leads through a link to a path; empty where none
    does."""
    real = _resolver()
    for top in home():
        links = _guarded_entries_of(top, inside=False)[0]
        if found := next((each for each in links if _leads(each, path)), None):
            return str(found)
    for place, is_directory in _places_of_user():
        target, is_there = real(place)
        if target != place and (str(path) == target or (is_directory and path.is_relative_to(target))):
            return place
        links = _links_in(Path(target), is_guarded=True) if is_directory and is_there else ()
        if found := next((each for each in links if _leads(each, path)), None):
            return str(found)
    return ""


def _leads(link: Path, path: Path) -> bool:
    """Whether a link leads to a path, or to a directory above it that is not above the link."""
    target = Path(os.path.realpath(link))
    return link.is_symlink() and (target == path or (target in path.parents and target not in link.parents))


def _resolver() -> Callable[[str], tuple[str, bool]]:
    """Tells what paths are without links, and whether anything is there; looks at no component twice."""
    known = {"": ("", True)}

    def look(path: str) -> tuple[str, bool]:
        if path not in known:
            above, _, name = path.rpartition("/")
            real, is_there = look(above)
            path_there = f"{real}/{name}"
            mode = _mode(path_there) if is_there else 0
            known[path] = os.path.realpath(path_there) if stat.S_ISLNK(mode) else path_there, bool(mode)
        return known[path]

    return look


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _own_configuration() -> Iterator[Path]:
    path = config_path()
    for place in (path, *map(path.with_name, _OWN)):
        if os.path.lexists(place):
            yield place
    for folder in _OWN_FOLDERS:
        yield from _files_at(Path(os.path.realpath(path.with_name(folder))), 1)


@lru_cache(maxsize=1024)
def _guarded_entries(directory: str, _inside: bool, *_stamp: int) -> tuple[list[Path], list[Path]]:
    """The guarded links of a directory with its `.envrc`, and its guarded directories."""
    links: list[Path] = []
    directories: list[Path] = []
    for entry in _entries(Path(directory), _MOST_AT_HOME):
        if entry.name != ".git" and (_inside or is_guarded_name(entry.name)):
            if entry.is_symlink() or entry.name == ".envrc":
                links.append(Path(entry.path))
            elif entry.is_dir():
                directories.append(Path(entry.path))
    return links, directories


def _links_in(directory: Path, *, is_guarded: bool = False) -> Iterator[Path]:
    """The guarded links in a directory and in its guarded directories, and its `.envrc`; all links where it
    `is_guarded` itself."""
    left = [(directory, is_guarded)]
    for _ in range(_MOST_MODULES):
        if not left:
            return
        above, inside = left.pop()
        links, below = _guarded_entries_of(above, inside=inside)
        yield from links
        left += [(each, True) for each in below]


def _guarded_entries_of(directory: Path, *, inside: bool) -> tuple[list[Path], list[Path]]:
    try:
        found = directory.stat()
    except OSError:
        return [], []
    return _guarded_entries(str(directory), inside, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def _configurations_of(git: Path | None) -> git_configuration.Named:
    """What the configurations name that hold for a repository, or for all where none is given."""
    own = None if git is None else _own_directory(git)
    common = None if own is None else _named(own / "commondir", "")
    places = [each / name for each in (own, common) if each is not None for name in _REPOSITORY[:2]]
    return git_configuration.named([*places, *_user_places()])


def _hooks_named(names: git_configuration.Named, git: Path | None) -> Iterator[Path]:
    for name in names.hooks:
        path = Path(os.path.expanduser(name))  # noqa: PTH111 (text of git's)
        if path.is_absolute() or git is not None:
            yield Path(os.path.realpath(path if git is None else git.parent / path))


def _named_by_git(git: Path | None) -> Iterator[Path]:
    """The hooks and the included files that are named by git's configuration."""
    names = _configurations_of(git)
    yield from (path for path in names.includes if os.path.lexists(path))
    for directory in _hooks_named(names, git):
        yield from (path for name in _HOOKS if os.path.lexists(path := directory / name))


def _is_named_by_git(git: Path, path: Path) -> bool:
    names = _configurations_of(git)
    return path in names.includes or (path.name in _HOOKS and path.parent in _hooks_named(names, git))


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


def _linked_in(directory: Path) -> Iterator[Path]:
    """The directories of git of submodules, whose names may have slashes, and of other working trees, and
    those in them, whether anything is missing there for git or not."""
    left = [(directory / name, _DEEPEST) for name in LINKED]
    count = 0
    while left:
        above, depth = left.pop()
        for entry in _entries(above):
            if not entry.is_dir(follow_symlinks=False):
                continue
            if count == _MOST_LINKED:
                return
            count += 1
            path = Path(entry.path)
            if any(os.path.lexists(path / name) for name in _OF_GIT):
                yield path
                left += [(path / name, _DEEPEST) for name in LINKED]
            elif depth > 1:
                left.append((path, depth - 1))


def _is_whole(directory: Path) -> bool:
    return _has_head(directory) and all((directory / name).is_dir() for name in _DIRECTORIES)


def _has_head(directory: Path) -> bool:
    """Whether it has a `HEAD` that git takes: a link may lead to a branch that has no commit yet."""
    head = directory / "HEAD"
    return head.is_file() or head.is_symlink()


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
            text = os.fsdecode(file.read(_LONGEST_POINTER)).rstrip("\r\n")
        found = Path(os.path.realpath(pointer.parent / text.removeprefix(beginning)))
        return found if text.startswith(beginning) and found.is_dir() else None
    except (OSError, ValueError):
        return None


def _own_directory(git: Path) -> Path | None:
    """The directory that a `.git` is, or names."""
    return git if git.is_dir() else _named(git, "gitdir: ")
