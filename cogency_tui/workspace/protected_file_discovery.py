"""Protected files that a command may change without naming them, ignored ones included.

The walk of a snapshot finds the protected files of the project by their names. This module finds the others:
the hooks and the configuration of repositories, files hidden by `.gitignore`, files that protected files lead
to (targets of links, hooks and included files that git's configuration names, files that direnv reads
beside `.envrc`), this program's own configuration, and files in the user's home directory that run without
being named (see `protected_names`), or are in a directory where shells look for programs. Files that hold
passwords are left out, because each listed file is copied, and so are files that other programs write all
the time (`.claude.json`).

Invariant: the lists are bounded, whatever an attacker puts into these directories, and none is truncated: a
directory is listed whole or not at all (see `listing`). Only the small files by which git names a directory
are opened. The calls block.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from cogency_tui.config.schema import config_path
from cogency_tui.workspace import protected_home_files
from cogency_tui.workspace.directory_listing import MOST_ENTRIES, Listing, is_unseen
from cogency_tui.workspace.git import configured_paths
from cogency_tui.workspace.protected_names import NAMES, is_protected_name, protected

_MOST_LINKING = 5000
"""Entries of one directory that are searched for a link to a given path."""

_MOST_LINKED = 50
"""Directories that are searched so."""

_MOST_LINKS = 500
"""Links that are followed."""

_DEEPEST = 4
_MOST_LINKED_REPOSITORIES = 500
"""Repositories of submodules and other working trees that are examined."""

_LONGEST_POINTER = 4096

_REPOSITORY = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "info/grafts")
"""Files of a git directory that lead to programs, other directories and other commits, beside the hooks."""

_REMOTES = ("remotes", "branches")
"""Former places of remotes, before git's configuration; git still reads them, and writes none."""

_DIRECTORIES = ("objects", "refs")
"""Directories of every repository, beside its `HEAD`."""

_OF_GIT = ("HEAD", "hooks", *_DIRECTORIES, *_REPOSITORY)
LINKED = ("modules", "worktrees")
"""Places of a repository's submodules and of its other working trees."""

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
"""Places of the user's own git configuration."""

_OTHERS = {".hg": ("hgrc",), ".jj": ("repo/config.toml",), ".svn": ()}
"""Files of other version control systems' directories that start programs."""

_PYTHON = ".local/lib"
_PYTHON_VERSION = re.compile(r"python3\.\d\d?t?")
_PYTHON_STARTS = ("usercustomize.py", "sitecustomize.py", ".pth")
"""Suffixes of files in the user's own Python packages that each start of Python runs."""

_OWN = ("permissions.toml", "trusted.toml", "language_servers.toml", "models.toml", "AGENTS.md")
_OWN_FOLDERS = {"commands": 1, "agents": 1, "workflows": 1, "themes": 1, "skills": 4}
"""Directories of this program's configuration, beside the user's configuration file, each with its levels."""

_BESIDE_ENVRC = ("flake.nix", "shell.nix", "default.nix", "devenv.nix", "devbox.json")
"""Files that direnv evaluates with an `.envrc` beside them."""

_NOT_AT_HOME = frozenset(
    (".netrc", ".npmrc", ".yarnrc.yml", ".my.cnf", ".mongorc.js", ".mongoshrc.js", ".curlrc")
    + (".wgetrc", "head")
)
"""Protected names that may hold passwords, or mean nothing in the home directory."""

_BY_NAME = NAMES.union(_HOOKS)
"""Names of files that are checked where a directory has too many to list."""

_STATE = re.compile(
    r"(?:^|/)(?:\.idea/(?:workspace\.xml|shelf/|usage\.statistics\.xml|dataSources)|\.vs/"
    r"|fish/fish_variables|site-packages/|dist-packages/)"
)
"""Files that editors and installers write all the time; such a path is not protected against commands."""

_STATE_AT_HOME = re.compile(
    r".*/(?:\.?(?:\w+_)?history(?:\.txt|\.sqlite3[^/]*)?|\.?zcompdump[^/]*|vifminfo[^/]*"
    r"|\.(?:config/)?zsh/\.?cache/.*"
    r"|\.config/emacs/(?:recentf|places|(?:\.cache|auto-save-list|eln-cache|transient|tramp|url)/.*))",
    re.DOTALL,
)
"""Files there that shells and editors write whenever they run."""


def reason(path: str) -> str:
    """Return the reason why a command may not change a path of the journal unasked; empty where it may.

    In a git directory only the paths listed here are protected.
    """
    return "" if _STATE.search(path) else protected(path.strip("/").split("/"))


def hidden(directory: Path, name: str, listing: Listing, *, inside: bool = False) -> Iterator[Path]:
    """Yield the protected files of an entry that a walk skips; all if `inside` a protected directory."""
    path = directory / name
    if name == ".git":
        yield from of_repository(path, listing)
    elif name in _OTHERS:
        yield from (path / each for each in _OTHERS[name])
    elif (inside or is_protected_name(name)) and not _STATE.search(f"{path}/"):
        # The rest is data (`.claude/logs/a.json`).
        yield from (file for file in listing.files(path, _DEEPEST) if protected(file.parts))


def was_unseen(path: str, unseen: Collection[str]) -> bool:
    """Return whether a file was not searched for where these directories were unseen (see `Listing`)."""
    return is_unseen(path, unseen, _BY_NAME)


def around(root: Path) -> Path | None:
    """Return the `.git` of the repository that contains the directory `root`, unless `root` is its top."""
    return next((above / ".git" for above in root.parents if os.path.lexists(above / ".git")), None)


def of_repository(git: Path, listing: Listing) -> Iterator[Path]:
    """Yield the protected files of a `.git`: a directory, or the file that names one."""
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
    """Yield the git directories that a `.git` leads to, which only move as a whole, and the files that are
    useless without them."""
    own = git_directory(git)
    if own is None:
        return
    common = _named(own / "commondir", "")
    modules = [each for each in _linked_in(common or own, Listing()) if _is_whole(each)]
    for directory in (own, *([common] if common else []), *modules):
        yield from (directory, directory / "hooks", *(directory / name for name in _DIRECTORIES))


def git_directory(git: Path) -> Path | None:
    """Return the directory that a `.git` is, or names, with links resolved; None where there is none."""
    own = _own_directory(git)
    return None if own is None else Path(os.path.realpath(own))


def repository_at(git: Path) -> Path | None:
    """Return the directory of the repository that a `.git` is, or leads to; None where there is none."""
    own = git_directory(git)
    return own if own is not None and is_repository(own) else None


def is_repository(directory: Path) -> bool:
    """Return whether git finds a repository in a directory, or another working tree's part of one."""
    return _is_whole(directory) or (_has_head(directory) and (directory / "commondir").is_file())


def at_home(listing: Listing, projects: Collection[Path] = ()) -> Iterator[Path]:
    """Yield the files in the user's home directory that start programs, and this program's own
    configuration; directories of the `projects` that are searched for programs are left out."""
    with suppress(RuntimeError):
        real = lru_cache(os.path.realpath)
        for path in _at_home(Path.home(), listing, projects):
            yield Path(real(path.parent), path.name)
        yield from _named_by_git(None)
    for path in _own_configuration(listing):
        yield Path(os.path.realpath(path.parent), path.name)


def home() -> list[Path]:
    """Return the user's home directory, with links resolved; empty where it is not known."""
    try:
        return [Path(os.path.realpath(Path.home()))]
    except RuntimeError:
        return []


def directories(projects: Collection[Path]) -> Iterator[str]:
    """Yield the directories, existing or not, in which protected files of the user are searched; only links
    to the home directory are resolved in the paths."""
    places = _places_of_user(projects)
    yield from dict.fromkeys(
        path if is_directory else path.rpartition("/")[0] for path, is_directory in places
    )


def led_to_from_home() -> Callable[[Path], bool]:
    """Return a predicate for paths of `at_home` that are found only through a link or git's configuration."""
    home, starts = "", [f"{_PYTHON}/python3"]
    with suppress(RuntimeError):
        home = os.path.realpath(Path.home())
        starts += [each.rstrip("*") for each in protected_home_files.at_home(Path.home(), ())]
    places = *(f"{home}/{each}" for each in starts), f"{os.path.realpath(config_path().parent)}/"
    return lambda path: str(path.parent) != home and not str(path).startswith(places)


def own_files() -> list[Path]:
    """Return the files of the user's configuration that this program itself writes, with links resolved."""
    path = config_path()
    return [Path(os.path.realpath(each)) for each in (path, *map(path.with_name, _OWN[:2]))]


def beside(path: Path) -> Iterator[Path]:
    """Yield the files beside a protected file that are evaluated with it."""
    if path.name == ".envrc":
        yield from (there for name in _BESIDE_ENVRC if os.path.lexists(there := path.with_name(name)))


def led_to(path: Path, listing: Listing) -> Iterator[Path]:
    """Yield the files that a protected file leads to: the target of a link, or the files in it."""
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if target not in path.parents:
            yield from listing.files(target, _DEEPEST)


class Leading:
    """Finds the protected file or directory that leads to a path.

    Reads the user's links once, for the paths of one command or change.
    """

    def __init__(self) -> None:
        self._of_user: dict[Path | None, list[_Link]] = {}

    def to(self, path: Path, root: Path | None) -> str:
        """Return the protected file or directory that leads to a path, below `root` if given; or "".

        Links are searched in the directories above it, in protected directories there, and among the user's.
        """
        if root not in self._of_user:
            self._of_user[root] = list(_links_of_user(() if root is None else (root,)))
        of_user = next((link.name for link in self._of_user[root] if link.leads_to(str(path))), "")
        return of_user if of_user or root is None else _leading_below(root, path)


def _leading_below(root: Path, path: Path) -> str:
    above = [each for each in path.parents if each.is_relative_to(root)]
    for link in islice((link for each in above for link in _links_in(each)), _MOST_LINKS):
        if link.name == ".envrc" and link.parent == path.parent and path.name in _BESIDE_ENVRC:
            return link.name
        if link.is_symlink() and _link(link).leads_to(str(path)):
            return link.relative_to(root).as_posix()
    git = next((each / ".git" for each in above if os.path.lexists(each / ".git")), None)
    return ".git/config" if git is not None and _is_named_by_git(git, path) else ""


def user_configurations() -> set[Path]:
    """Return the files of the user's own git configuration, and the targets of links there."""
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
    yield from _names_at(home) if entries is None else _protected_in(entries)
    for packages in _python_packages(home, listing):
        entries_there = listing.entries(packages)
        yield from (Path(entry.path) for entry in entries_there if entry.name.endswith(_PYTHON_STARTS))
    there = None if entries is None else {entry.name for entry in entries}
    for place in protected_home_files.at_home(home, projects):
        folder, is_there = place.rstrip("*"), there is None or place.partition("/")[0] in there
        if is_there and os.path.lexists(path := f"{home}/{folder}"):
            depth = _DEEPEST if place.endswith("**") else 1
            found = (Path(path),) if folder == place else listing.files(Path(os.path.realpath(path)), depth)
            yield from (each for each in found if not _STATE_AT_HOME.fullmatch(str(each)))


def _protected_in(entries: Iterable[os.DirEntry[str]]) -> Iterator[Path]:
    """Yield the protected files among the entries of the home directory."""
    for entry in entries:
        if is_protected_name(entry.name) and entry.name not in _NOT_AT_HOME and _is_file(entry):
            yield Path(entry.path)


def _names_at(home: Path) -> Iterator[Path]:
    """Yield the protected files of a home directory that cannot be listed, if their names are fixed."""
    for path in (home / name for name in NAMES if name not in _NOT_AT_HOME):
        if os.path.lexists(path) and not path.is_dir():
            yield path


def _python_packages(home: Path, listing: Listing) -> Iterator[Path]:
    for entry in listing.entries(home / _PYTHON):
        if _PYTHON_VERSION.fullmatch(entry.name):
            yield Path(entry.path, "site-packages")


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether it is a file, or a link that leads to one or to nothing."""
    return entry.is_file(follow_symlinks=False) or (entry.is_symlink() and not Path(entry.path).is_dir())


def _places_of_user(projects: Collection[Path]) -> Iterator[tuple[str, bool]]:
    """Yield the places of the user's protected files, existing or not, and whether each is a directory whose
    files are all protected."""
    own = config_path().absolute()
    for top in home():
        for place in protected_home_files.at_home(Path.home(), projects):
            folder = place.rstrip("*")
            yield f"{top}/{folder.rstrip('/')}", folder != place
        yield from ((str(packages), True) for packages in _python_packages(top, Listing()))
        with suppress(ValueError):
            own = top / own.relative_to(Path.home())
    yield from ((str(own.with_name(name)), False) for name in (own.name, *_OWN))
    yield from ((str(own.with_name(folder)), True) for folder in _OWN_FOLDERS)


@dataclass(frozen=True, slots=True)
class _Link:
    """A protected file or directory that is elsewhere than its name says."""

    name: str
    target: str
    is_directory: bool
    """True if it leads to what is below the target, too."""

    def leads_to(self, path: str) -> bool:
        below = self.is_directory and path.startswith(f"{self.target.rstrip('/')}/")
        return below or path == self.target


def _link(path: Path) -> _Link:
    """A symbolic link; one that leads to a directory above itself does not lead to all of that."""
    target = os.path.realpath(path)
    return _Link(str(path), target, Path(target) not in path.parents)


def _links_of_user(projects: Collection[Path]) -> Iterator[_Link]:
    """The user's protected files and directories that are, or are reached through, links."""
    real = _resolver()
    for top in home():
        yield from _symbolic(_protected_entries_of(top, inside=False)[0])
    for place, is_directory in _places_of_user(projects):
        target, is_there = real(place)
        if target != place:
            yield _Link(place, target, is_directory)
        if is_directory and is_there:
            yield from _symbolic(_links_in(Path(target), is_protected=True))


def _symbolic(paths: Iterable[Path]) -> Iterator[_Link]:
    return (_link(path) for path in paths if path.is_symlink())


def _resolver() -> Callable[[str], tuple[str, bool]]:
    """Return a function that resolves links in paths, and states whether the path exists; it checks each
    component once."""
    known = {"": ("", True)}

    def read(path: str) -> tuple[str, bool]:
        if path not in known:
            above, _, name = path.rpartition("/")
            real, is_there = read(above)
            path_there = f"{real}/{name}"
            mode = _mode(path_there) if is_there else 0
            known[path] = os.path.realpath(path_there) if stat.S_ISLNK(mode) else path_there, bool(mode)
        return known[path]

    return read


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
    for folder, levels in _OWN_FOLDERS.items():
        yield from listing.files(Path(os.path.realpath(path.with_name(folder))), levels)


@lru_cache(maxsize=1024)
def _protected_entries(directory: str, _inside: bool, *_stamp: int) -> tuple[list[Path], list[Path]]:
    """Return the protected links of a directory with its `.envrc`, and its protected directories."""
    links: list[Path] = []
    directories: list[Path] = []
    for entry in _first_entries(directory):
        if entry.name != ".git" and (_inside or is_protected_name(entry.name)):
            if entry.is_symlink() or entry.name == ".envrc":
                links.append(Path(entry.path))
            elif entry.is_dir():
                directories.append(Path(entry.path))
    return links, directories


def _links_in(directory: Path, *, is_protected: bool = False) -> Iterator[Path]:
    """Yield the protected links in a directory and in its protected directories, and its `.envrc`; all links
    where it `is_protected` itself."""
    left = [(directory, is_protected)]
    for _ in range(_MOST_LINKED):
        if not left:
            return
        above, inside = left.pop()
        links, below = _protected_entries_of(above, inside=inside)
        yield from links
        left += [(each, True) for each in below]


def _protected_entries_of(directory: Path, *, inside: bool) -> tuple[list[Path], list[Path]]:
    try:
        found = directory.stat()
    except OSError:
        return [], []
    return _protected_entries(str(directory), inside, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def _configurations_of(git: Path | None) -> configured_paths.Named:
    """Return the names in the configurations of a repository, or in the user's where none is given."""
    places = [] if git is None else configured_paths.configurations(git)
    return configured_paths.named([*places, *_user_places()])


def _hooks_named(names: configured_paths.Named, git: Path | None) -> Iterator[Path]:
    for name in names.hooks:
        path = Path(os.path.expanduser(name))  # noqa: PTH111 (text of git's)
        if path.is_absolute() or git is not None:
            yield Path(os.path.realpath(path if git is None else git.parent / path))


def _named_by_git(git: Path | None) -> Iterator[Path]:
    """Yield the hooks and the included files that git's configuration names."""
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
    """Yield the hooks that git runs, however many other files there are, and files that may belong to
    them."""
    # Git creates samples of hooks, and runs none.
    others = {
        entry.path
        for entry in listing.entries_unless_named(directory) or ()
        if not entry.name.endswith(".sample") and not entry.is_dir(follow_symlinks=False)
    }
    hooks = {path for name in _HOOKS if os.path.lexists(path := str(directory / name))}
    yield from map(Path, sorted(hooks | others))


def _linked_in(directory: Path, listing: Listing) -> list[Path]:
    """Return the git directories of submodules, whose names may have slashes, and of other working trees,
    and those in them, complete or not."""
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
    """Return whether it has a `HEAD` that git accepts: a link may lead to a branch that has no commit yet."""
    head = directory / "HEAD"
    return head.is_file() or head.is_symlink()


def _first_entries(directory: str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(directory) as entries:
        yield from islice(entries, _MOST_LINKING)


def _named(pointer: Path, beginning: str) -> Path | None:
    """Return the directory that a small file of git's names; None where it names none."""
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
    """Return the directory that a `.git` is, or names."""
    return git if git.is_dir() else _named(git, "gitdir: ")
