"""The guarded files that a command may change without naming them, whether they are ignored or not.

The walk of a snapshot finds the guarded files of the project by their names. Here are those that it does not
find: the hooks and the configuration of repositories, what `.gitignore` hides, what guarded files lead to
(targets of links, hooks and included files that git's configuration names, what direnv reads beside
`.envrc`), this program's own configuration, and what in the user's home directory runs without being named
(see `names`), or stands in a directory where shells look for programs. Files that hold passwords are left
out: a copy is kept of each that is listed. So is what other programs write all the time (`.claude.json`).

Invariant: the lists are bounded, whatever a stranger puts into these directories, and none is cut off: a
directory is listed whole or not at all (see `listing`). Nothing is opened but the small files by which git
names a directory. The calls block.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from cogency_tui.config import config_path
from cogency_tui.workspace import git_configuration, home_places
from cogency_tui.workspace.listing import MOST_ENTRIES, Listing, is_unseen
from cogency_tui.workspace.names import NAMES, is_guarded_name, protected

_MOST_LINKING = 5000
"""Entries of one directory that are looked through for a link which leads to one path."""

_MOST_LINKED = 50
"""Directories that are."""

_MOST_LINKS = 500
"""Links that are followed."""

_DEEPEST = 4
_MOST_LINKED_REPOSITORIES = 500
"""Repositories of submodules and other working trees that are looked at."""

_LONGEST_POINTER = 4096

_REPOSITORY = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "info/grafts")
"""What in a git directory leads to programs, other directories and other commits, beside the hooks."""

_REMOTES = ("remotes", "branches")
"""Where git had remotes before its configuration did; it still reads them, and writes none."""

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

_PYTHON = ".local/lib"
_PYTHON_VERSION = re.compile(r"python3\.\d\d?t?")
_PYTHON_STARTS = ("usercustomize.py", "sitecustomize.py", ".pth")
"""Where the user's own packages of Python are, and how the names end that each start of Python runs."""

_OWN = ("permissions.toml", "trusted.toml", "models.toml", "AGENTS.md")
_OWN_FOLDERS = ("commands", "agents", "workflows", "themes")
"""This program's configuration, beside the user's configuration file."""

_BESIDE_ENVRC = ("flake.nix", "shell.nix", "default.nix", "devenv.nix", "devbox.json")
"""What direnv evaluates with an `.envrc` beside it."""

_NOT_AT_HOME = frozenset(
    (".netrc", ".npmrc", ".yarnrc.yml", ".my.cnf", ".mongorc.js", ".mongoshrc.js", ".curlrc")
    + (".wgetrc", "head")
)
"""Guarded names that may hold passwords, or mean nothing there."""

_BY_NAME = NAMES.union(_HOOKS)
"""Names of files that are looked for where too many are to be listed."""

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


def hidden(directory: Path, name: str, listing: Listing, *, inside: bool = False) -> Iterator[Path]:
    """What is guarded of an entry that a walk passes over; all where it is `inside` a guarded directory."""
    path = directory / name
    if name == ".git":
        yield from of_repository(path, listing)
    elif name in _OTHERS:
        yield from (path / each for each in _OTHERS[name])
    elif (inside or is_guarded_name(name)) and not _STATE.search(f"{path}/"):
        yield from listing.files(path, _DEEPEST)


def was_unseen(path: str, unseen: Collection[str]) -> bool:
    """Whether a file was not looked for where these directories were unseen (see `Listing`)."""
    return is_unseen(path, unseen, _BY_NAME)


def around(root: Path) -> Path | None:
    """The `.git` of the repository that the directory `root` lies in, if it is not its top."""
    return next((above / ".git" for above in root.parents if os.path.lexists(above / ".git")), None)


def of_repository(git: Path, listing: Listing) -> Iterator[Path]:
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
    yield from _of_git_directory(own, listing)
    if common is not None:
        yield from _of_git_directory(common, listing)
    for linked in _linked_in(common or own, listing):
        yield from _of_git_directory(linked, listing)


def directories_of_repository(git: Path) -> Iterator[Path]:
    """The directories of git that a `.git` leads to, which only move as a whole, and what is of no use apart
    from them."""
    own = git_directory(git)
    if own is None:
        return
    common = _named(own / "commondir", "")
    modules = [each for each in _linked_in(common or own, Listing()) if _is_whole(each)]
    for directory in (own, *([common] if common else []), *modules):
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


def at_home(listing: Listing, projects: Collection[Path] = ()) -> Iterator[Path]:
    """What starts programs from the user's home directory, and this program's own configuration; directories
    of the `projects` are searched for programs, too, and are left out."""
    with suppress(RuntimeError):
        real = lru_cache(os.path.realpath)
        for path in _at_home(Path.home(), listing, projects):
            yield Path(real(path.parent), path.name)
        yield from _named_by_git(None)
    for path in _own_configuration(listing):
        yield Path(os.path.realpath(path.parent), path.name)


def home() -> list[Path]:
    """The user's home directory, with links resolved; empty where it is not known."""
    try:
        return [Path(os.path.realpath(Path.home()))]
    except RuntimeError:
        return []


def directories(projects: Collection[Path]) -> Iterator[str]:
    """The directories, there or not, in which guarded files of the user are looked for; links in the paths
    are not resolved, but for those to the home directory."""
    places = _places_of_user(projects)
    yield from dict.fromkeys(
        path if is_directory else path.rpartition("/")[0] for path, is_directory in places
    )


def led_to_from_home() -> Callable[[Path], bool]:
    """Says of a path of `at_home` whether it is none there by itself: a link leads to it, or git's
    configuration."""
    home, starts = "", [f"{_PYTHON}/python3"]
    with suppress(RuntimeError):
        home = os.path.realpath(Path.home())
        starts += [each.rstrip("*") for each in home_places.at_home(Path.home(), ())]
    places = *(f"{home}/{each}" for each in starts), f"{os.path.realpath(config_path().parent)}/"
    return lambda path: str(path.parent) != home and not str(path).startswith(places)


def own_files() -> list[Path]:
    """The files of the user's configuration that this program itself writes, with links resolved."""
    path = config_path()
    return [Path(os.path.realpath(each)) for each in (path, *map(path.with_name, _OWN[:2]))]


def beside(path: Path) -> Iterator[Path]:
    """The files beside a guarded file that are evaluated with it."""
    if path.name == ".envrc":
        yield from (there for name in _BESIDE_ENVRC if os.path.lexists(there := path.with_name(name)))


def led_to(path: Path, listing: Listing) -> Iterator[Path]:
    """The files that a guarded file leads to: the target of a link, or the files in it."""
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if target not in path.parents:
            yield from listing.files(target, _DEEPEST)


def leading(root: Path | None, path: Path) -> str:
    """The guarded file or directory that leads to a path, below `root` where that is given; empty where there
    is none.

    Links are looked for in the directories above it, in guarded directories there, and among the user's.
    """
    if (of_user := _leading_of_user(path, () if root is None else (root,))) or root is None:
        return of_user
    above = [each for each in path.parents if each.is_relative_to(root)]
    for link in islice((link for each in above for link in _links_in(each)), _MOST_LINKS):
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


def _at_home(home: Path, listing: Listing, projects: Collection[Path]) -> Iterator[Path]:
    entries = listing.entries_unless_named(home)
    yield from _names_at(home) if entries is None else _guarded_in(entries)
    for packages in _python_packages(home, listing):
        entries_there = listing.entries(packages)
        yield from (Path(entry.path) for entry in entries_there if entry.name.endswith(_PYTHON_STARTS))
    there = None if entries is None else {entry.name for entry in entries}
    for place in home_places.at_home(home, projects):
        folder, is_there = place.rstrip("*"), there is None or place.partition("/")[0] in there
        if is_there and os.path.lexists(path := f"{home}/{folder}"):
            depth = _DEEPEST if place.endswith("**") else 1
            found = (Path(path),) if folder == place else listing.files(Path(os.path.realpath(path)), depth)
            yield from (each for each in found if not _STATE_AT_HOME.fullmatch(str(each)))


def _guarded_in(entries: Iterable[os.DirEntry[str]]) -> Iterator[Path]:
    """The guarded files among the entries of the home directory."""
    for entry in entries:
        if is_guarded_name(entry.name) and entry.name not in _NOT_AT_HOME and _is_file(entry):
            yield Path(entry.path)


def _names_at(home: Path) -> Iterator[Path]:
    """The guarded files of a home directory that cannot be listed, as far as their names are fixed."""
    for path in (home / name for name in NAMES if name not in _NOT_AT_HOME):
        if os.path.lexists(path) and not path.is_dir():
            yield path


def _python_packages(home: Path, listing: Listing) -> Iterator[Path]:
    for entry in listing.entries(home / _PYTHON):
        if _PYTHON_VERSION.fullmatch(entry.name):
            yield Path(entry.path, "site-packages")


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link that leads to one or to nothing."""
    return entry.is_file(follow_symlinks=False) or (entry.is_symlink() and not Path(entry.path).is_dir())


def _places_of_user(projects: Collection[Path]) -> Iterator[tuple[str, bool]]:
    """Where guarded files of the user are looked for, there or not, and whether it is a directory, in which
    any is."""
    own = config_path().absolute()
    for top in home():
        for place in home_places.at_home(Path.home(), projects):
            folder = place.rstrip("*")
            yield f"{top}/{folder.rstrip('/')}", folder != place
        yield from ((str(packages), True) for packages in _python_packages(top, Listing()))
        with suppress(ValueError):
            own = top / own.relative_to(Path.home())
    yield from ((str(own.with_name(name)), False) for name in (own.name, *_OWN))
    yield from ((str(own.with_name(folder)), True) for folder in _OWN_FOLDERS)


def _leading_of_user(path: Path, projects: Collection[Path]) -> str:
    """The guarded file or directory of the user that leads through a link to a path; empty where none
    does."""
    real = _resolver()
    for top in home():
        links = _guarded_entries_of(top, inside=False)[0]
        if found := next((each for each in links if _leads(each, path)), None):
            return str(found)
    for place, is_directory in _places_of_user(projects):
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


def _own_configuration(listing: Listing) -> Iterator[Path]:
    path = config_path()
    for place in (path, *map(path.with_name, _OWN)):
        if os.path.lexists(place):
            yield place
    for folder in _OWN_FOLDERS:
        yield from listing.files(Path(os.path.realpath(path.with_name(folder))), 1)


@lru_cache(maxsize=1024)
def _guarded_entries(directory: str, _inside: bool, *_stamp: int) -> tuple[list[Path], list[Path]]:
    """The guarded links of a directory with its `.envrc`, and its guarded directories."""
    links: list[Path] = []
    directories: list[Path] = []
    for entry in _first_entries(directory):
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
    for _ in range(_MOST_LINKED):
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


def _of_git_directory(directory: Path, listing: Listing) -> Iterator[Path]:
    hooks = directory / "hooks"
    if hooks.is_symlink():
        yield hooks
        hooks = hooks.resolve()
    yield from _hooks_in(hooks, listing)
    for name in _REMOTES:
        yield from listing.files(directory / name, _DEEPEST)
    yield from (directory / name for name in _REPOSITORY if os.path.lexists(directory / name))


def _hooks_in(directory: Path, listing: Listing) -> Iterator[Path]:
    """The hooks that git runs, however many other files are there, and what may belong to them."""
    # Git makes samples of hooks, and runs none.
    others = {
        entry.path
        for entry in listing.entries_unless_named(directory) or ()
        if not entry.name.endswith(".sample") and not entry.is_dir(follow_symlinks=False)
    }
    hooks = {path for name in _HOOKS if os.path.lexists(path := str(directory / name))}
    yield from map(Path, sorted(hooks | others))


def _linked_in(directory: Path, listing: Listing) -> list[Path]:
    """The directories of git of submodules, whose names may have slashes, and of other working trees, and
    those in them, whether anything is missing there for git or not."""
    return [linked for name in LINKED for linked in _linked_below(directory / name, listing)]


def _linked_below(top: Path, listing: Listing) -> list[Path]:
    left = [(top, _DEEPEST)]
    found: list[Path] = []
    count = 0
    while left:
        above, depth = left.pop()
        entries = listing.entries(above)
        count += len(entries)
        for path in (Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)):
            if any(os.path.lexists(path / name) for name in _OF_GIT):
                found.append(path)
                left += [(path / name, _DEEPEST) for name in LINKED]
            elif depth > 1:
                left.append((path, depth - 1))
        if count > MOST_ENTRIES or len(found) > _MOST_LINKED_REPOSITORIES:
            listing.unseen.add(str(top))
            return []
    return found


def _is_whole(directory: Path) -> bool:
    return _has_head(directory) and all((directory / name).is_dir() for name in _DIRECTORIES)


def _has_head(directory: Path) -> bool:
    """Whether it has a `HEAD` that git takes: a link may lead to a branch that has no commit yet."""
    head = directory / "HEAD"
    return head.is_file() or head.is_symlink()


def _first_entries(directory: str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(directory) as entries:
        yield from islice(entries, _MOST_LINKING)


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
