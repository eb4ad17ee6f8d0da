"""What is in the project at one moment, by status alone, and what differs from it later.

Invariant: a file counts as deleted only if it is really gone, and as created only if it was not merely
hidden before (by an ignore rule that has gone since, or in a directory that could not be read). Ignored
files, repositories and special files are left out, but for those that are guarded (see `guarded`). The calls
block: run them in a thread.
"""

import os
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace import guarded, guarded_directories
from cogency_tui.workspace.ignore import Level, Tree
from cogency_tui.workspace.listing import Listing
from cogency_tui.workspace.names import is_guarded_name
from cogency_tui.workspace.paths import Identity, Workspace
from cogency_tui.workspace.place import TICK, Stamp, located, stamp_of, status


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files and links of the project with their stamps, and its directories, by path.

    `closed` are directories that could not be looked into. `began` is when the walk began, in nanoseconds
    of Unix time. `guarded` are the files that commands may not change unasked, some of them outside; of these
    `led` are where something else leads to. `rules` are those of the `.gitignore` files. `repositories` are
    the places of `.git`. `places` are the directories that lead to guarded files, by absolute path; `unseen`
    those in which guarded files could not be looked for, as in a `Listing`.
    """

    files: dict[str, Stamp]
    directories: frozenset[str]
    closed: frozenset[str]
    began: int
    guarded: frozenset[str] = frozenset()
    rules: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    led: frozenset[str] = frozenset()
    repositories: tuple[Path, ...] = ()
    unseen: frozenset[str] = frozenset()
    places: Mapping[str, Identity] = field(default_factory=dict[str, Identity])


@dataclass(frozen=True, slots=True)
class Difference:
    """A path whose stamp differs, None where there is no file; `old_path` where it was renamed.

    Only what the files hold tells whether they differ, too. `made` is the topmost directory that was not
    there before, of those above a file that was created.
    """

    path: str
    before: Stamp | None
    after: Stamp | None
    old_path: str = ""
    made: str = ""


def take(
    workspace: Workspace,
    also: Iterable[str] = (),
    without: Path | None = None,
    rules: Mapping[str, bytes] | None = None,
) -> Snapshot:
    """Look at every file of the project and of the directories added to it.

    `also` are files that are looked at although they are ignored; below `without` nothing is. Guarded files
    are looked for, too, where the `rules` of an earlier snapshot ignore nothing: rules that came since hide
    none.
    """
    began = time.time_ns()
    files: dict[str, Stamp] = {}
    directories: set[str] = set()
    closed: set[str] = set()
    found = _Guarded(workspace)
    tree = Tree(workspace)
    roots = (workspace.root, *workspace.added)
    for root in roots:
        # It may be removed or closed to us: whether its files are gone is asked one by one.
        with suppress(WorkspaceError):
            _walk(workspace, root, tree, files, directories, closed, found)
    for root in roots if rules is not None and rules != tree.rules else ():
        with suppress(WorkspaceError):
            found.add_hidden_since(Tree(workspace, rules), root, directories)
    found.add_elsewhere()
    for path in also:
        if path not in files and (stamp := _stamp(workspace, path)):
            files[path] = stamp
    files |= found.hidden
    if without is not None and (hidden := workspace.name_of(Path(os.path.realpath(without)))):
        files = {path: stamp for path, stamp in files.items() if not path.startswith(f"{hidden}/")}
        directories = {path for path in directories if not f"{path}/".startswith(f"{hidden}/")}
    watched = frozenset(path for path in (*found.named, *found.hidden) if path in files)
    return Snapshot(
        *(files, frozenset(directories), frozenset(closed), began, watched, tree.rules),
        *(frozenset(found.led - found.placed), tuple(found.repositories), found.unseen),
        guarded_directories.places(workspace, watched),
    )


def differences(
    workspace: Workspace, before: Snapshot, after: Snapshot, touched: Collection[str] = ()
) -> list[Difference]:
    """What differs between two snapshots, by path, and what may differ where no stamp can tell: what was
    written shortly before the first, and what is known to have been `touched` since.

    What cannot be looked at is taken to be as it was, and what something leads to since, too, unless it was
    known by another name.
    """
    found: list[Difference] = []
    gone: dict[str, Stamp] = {}
    for path, old in before.files.items():
        new = after.files.get(path)
        if new is None:
            new = _stamp(workspace, path, unreadable=old)
        if new is None:
            gone[path] = old
        elif new != old or path in touched or not old.settled(before.began):
            found.append(Difference(path, old, new))
    come = {
        path: new
        for path, new in after.files.items()
        if path not in before.files and not _was_unseen(path, before)
    }
    found += _renamed(gone, come, before)
    come = {
        path: new
        for path, new in come.items()
        if not (path in after.led and new.changed < before.began - TICK)
    }
    if before.closed or _rules_changed([*(each.path for each in found), *gone, *come]):
        come = {path: new for path, new in come.items() if new.changed >= before.began - TICK}
    found += [Difference(path, old, None) for path, old in gone.items()]
    found += [Difference(path, None, new, made=_made(path, before)) for path, new in come.items()]
    return sorted(found, key=lambda difference: difference.path)


def lost_from_view(before: Snapshot, after: Snapshot) -> list[str]:
    """The directories in which guarded files could be looked for in the first snapshot only.

    Not lost is one in which they are looked for by name instead, or one that something leads to since.
    """
    return sorted(
        path
        for path in after.unseen - before.unseen
        if not path.endswith("/")
        and (path not in after.led or any(_is_below(each, [path]) for each in before.led))
    )


def relocated(
    before: Snapshot, after: Snapshot, workspace: Workspace, moves: Mapping[Path, Path | None]
) -> tuple[Snapshot, Snapshot, dict[str, str]]:
    """Two snapshots between which directories of git were moved as a whole, so that only what changed in them
    differs; and which paths there were of what is now where."""
    if not moves:
        return before, after, {}
    places = {workspace.name_of(old): new and workspace.name_of(new) for old, new in moves.items()}
    paths = {path: _moved(path, places) for path in (*before.files, *before.guarded)}
    files = {paths[path]: stamp for path, stamp in before.files.items()}
    guards = frozenset(paths[path] for path in before.guarded)
    listed = {
        workspace.name_of(path)
        for new in moves.values()
        if new is not None
        for path in guarded.of_repository(new, Listing())
    }
    new_places = [new for new in places.values() if new]
    left = {
        path: stamp
        for path, stamp in after.files.items()
        if path in files or path in listed or not (path in places or _is_below(path, new_places))
    }
    earlier = {new: old for old, new in paths.items() if new != old}
    return replace(before, files=files, guarded=guards), replace(after, files=left), earlier


def passing(
    workspace: Workspace, touched: Iterable[str], before: Snapshot, after: Snapshot
) -> tuple[list[str], list[str]]:
    """Of the paths that were touched between two snapshots, those that are in neither, as they were made and
    removed again, and those that are files in both. What is ignored is in none of the two."""
    gone: list[str] = []
    there: list[str] = []
    tree = Tree(workspace)
    for path in sorted(touched):
        if path in after.files:
            if path in before.files:
                there.append(path)
        elif not any(path in each for each in (before.files, before.directories, after.directories)):
            with suppress(WorkspaceError):
                if status(workspace, located(workspace, path)) is None and not tree.ignores(path):
                    gone.append(path)
    return gone, there


class _Guarded:
    """Collects the guarded files while the project is walked: `named` are those that the walk finds, too,
    `hidden` those that it does not; something leads to those that are `led`, and some of these are `placed`
    where guarded files are looked for, too."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.named: list[str] = []
        self.hidden: dict[str, Stamp] = {}
        self.led: set[str] = set()
        self.placed: set[str] = set()
        self.repositories: list[Path] = []
        self._listing, self._listing_led = Listing(), Listing()

    @property
    def unseen(self) -> frozenset[str]:
        """The directories that could not be looked into."""
        return frozenset(map(self._named, self._listing.unseen | self._listing_led.unseen))

    def add(self, level: Level) -> None:
        """Take note of the guarded files in one directory."""
        inside = bool(level.path) and bool(guarded.reason(level.path))
        candidates = (each for each in level.others if inside or is_guarded_name(each.name))
        found = [each for each in candidates if guarded.reason(each.path)]
        self.named += [each.path for each in found]
        leading = (each.name for each in found if each.kind == "link" or each.name == ".envrc")
        for name in leading:
            self._hide_led_to(Path(level.directory.path, name))
        for name in level.ignored if inside else filter(is_guarded_name, level.ignored):
            self._hide_at(Path(level.directory.path), name, inside=inside)

    def add_hidden_since(self, earlier: Tree, root: Path, walked: Collection[str]) -> None:
        """Take note of those in what the `earlier` rules do not ignore, and was not walked.

        Raises:
            WorkspaceError: `root` is no directory, or cannot be read.
        """
        with closing(earlier.walk(self._workspace.locate(str(root)))) as levels:
            for level in levels:
                if level.path.rstrip("/") not in walked:
                    names = *(each.name for each in (*level.directories, *level.others)), *level.ignored
                    for name in filter(is_guarded_name, names):
                        self._hide_at(Path(level.directory.path), name)

    def add_elsewhere(self) -> None:
        """Take note of those that are in no directory of the project."""
        roots = (self._workspace.root, *self._workspace.added)
        for git in filter(None, map(guarded.around, roots)):
            self._hide_at(git.parent, git.name)
        self._hide(guarded.at_home(self._listing, roots), guarded.led_to_from_home())
        self.led.update(map(self._named, self._listing_led.unseen))

    def _hide_at(self, directory: Path, name: str, *, inside: bool = False) -> None:
        place = f"{directory / name}"
        if name == ".git":
            self.repositories.append(directory / name)
        self._hide(
            guarded.hidden(directory, name, self._listing, inside=inside),
            lambda path: str(path) != place and not str(path).startswith(f"{place}/"),
        )

    def _hide_led_to(self, path: Path) -> None:
        self._hide(guarded.beside(path), lambda _path: False, follow=False)
        self._hide(guarded.led_to(path, self._listing_led), lambda _path: True, follow=False)

    def _named(self, directory: str) -> str:
        """The name of a directory, with the slash that it ends with."""
        return self._workspace.name_of(Path(directory)) + "/" * directory.endswith("/")

    def _hide(self, paths: Iterable[Path], is_led: Callable[[Path], bool], *, follow: bool = True) -> None:
        for path in paths:
            with suppress(OSError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
                    name = self._workspace.name_of(path)
                    self.hidden[name] = stamp_of(found)
                    (self.led if is_led(path) else self.placed).add(name)
                if follow and (stat.S_ISLNK(found.st_mode) or path.name == ".envrc"):
                    self._hide_led_to(path)


def _walk(
    workspace: Workspace,
    root: Path,
    tree: Tree,
    files: dict[str, Stamp],
    directories: set[str],
    closed: set[str],
    found: _Guarded,
) -> None:
    start = workspace.locate(str(root))
    with closing(tree.walk(start)) as levels:
        for level in levels:
            path = level.path.rstrip("/")
            directories.add(path)
            closed.discard(path)
            found.add(level)
            closed.update(entry.path for entry in level.directories)
            for entry in level.others:
                if entry.kind == "other":
                    continue
                try:
                    files[entry.path] = stamp_of(level.directory.status(entry.name))
                except OSError:
                    # It vanished since the directory was listed.
                    continue


def _stamp(workspace: Workspace, path: str, unreadable: Stamp | None = None) -> Stamp | None:
    """The stamp of one file or link; None where there is neither, `unreadable` where nobody can tell."""
    try:
        found = status(workspace, located(workspace, path))
    except WorkspaceError:
        return unreadable
    if found is None or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        return None
    return stamp_of(found)


def _renamed(gone: dict[str, Stamp], come: dict[str, Stamp], before: Snapshot) -> list[Difference]:
    """Files that are the same under another name; they are taken out of both."""
    by_identity: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for path, old in gone.items():
        by_identity[_identity(old)].append(path)
    found: list[Difference] = []
    for path, new in list(come.items()):
        # One inode may be given out again, but not with the size and the time of the old file.
        if old_paths := by_identity.get(_identity(new)):
            old_path = old_paths.pop(0)
            made = _made(path, before)
            found.append(Difference(path, gone.pop(old_path), come.pop(path), old_path, made))
    return found


def _was_unseen(path: str, before: Snapshot) -> bool:
    """Whether a file may have been there before, in a directory that could not be looked into."""
    return _above(path) not in before.directories and guarded.was_unseen(path, before.unseen)


def _rules_changed(paths: Iterable[str]) -> bool:
    """Whether a file may have come to sight by a change of what is ignored."""
    return any(path.endswith(".gitignore") for path in paths)


def _identity(stamp: Stamp) -> tuple[int, ...]:
    return stamp.device, stamp.inode, stamp.size, stamp.modified, stat.S_IFMT(stamp.mode)


def _made(path: str, before: Snapshot) -> str:
    """The topmost directory above a new file that was not there before."""
    made = ""
    directory = _above(path)
    while directory not in ("", "/") and directory not in before.directories:
        made = directory
        directory = _above(directory)
    return made


def _moved(path: str, places: Mapping[str, str | None]) -> str:
    """Where a file is after its directory was moved."""
    for old, new in places.items():
        if new and path.startswith(f"{old}/"):
            return f"{new}{path[len(old) :]}"
    return path


def _is_below(path: str, directories: Iterable[str]) -> bool:
    return any(path.startswith(f"{each}/") for each in directories)


def _above(path: str) -> str:
    """The directory above; a path of the journal is text with slashes, and no path of the system."""
    return os.path.dirname(path)  # noqa: PTH120 (as said)
