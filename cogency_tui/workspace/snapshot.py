"""Snapshots of the project at one moment, by file status alone, and their differences.

Invariant: a file counts as deleted only if it is really gone, and as created only if it was not merely hidden
before (by an ignore rule that has gone since, or in a directory that could not be read). Ignored files,
repositories and special files are left out, except for protected ones (see `protected_file_discovery`). The
calls block: run them in a thread.
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
from cogency_tui.workspace import protected_directories, protected_file_discovery
from cogency_tui.workspace.directory_listing import Listing
from cogency_tui.workspace.file_or_link import TICK, Stamp, located, stamp_of, status
from cogency_tui.workspace.gitignore_walk import Level, WorkspaceTree
from cogency_tui.workspace.paths import Identity, Workspace
from cogency_tui.workspace.protected_names import is_protected_name


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files and links of the project with their stamps, and its directories, by path.

    `closed` are directories that could not be listed. `began` is the start of the walk, in nanoseconds of
    Unix time. `protected` are the files that commands may not change unasked, some of them outside the
    project; those in `led` were found through a link or a reference. `rules` are those of the `.gitignore`
    files. `repositories` are the places of `.git`. `places` are the directories that lead to protected files,
    by absolute path; `unseen` those in which protected files could not be searched, as in a `Listing`.
    """

    files: dict[str, Stamp]
    directories: frozenset[str]
    closed: frozenset[str]
    began: int
    protected: frozenset[str] = frozenset()
    rules: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    led: frozenset[str] = frozenset()
    repositories: tuple[Path, ...] = ()
    unseen: frozenset[str] = frozenset()
    places: Mapping[str, Identity] = field(default_factory=dict[str, Identity])


@dataclass(frozen=True, slots=True)
class Difference:
    """A path whose stamp differs, None where there is no file; `old_path` where it was renamed.

    Whether the contents differ, too, only these can show. `made` is the topmost directory above a created
    file that did not exist before.
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
    """Record every file of the project and of the directories added to it.

    `also` are files that are recorded although they are ignored; nothing below `without` is. Protected files
    are also searched where the `rules` of an earlier snapshot ignore nothing, so that later rules hide
    none.
    """
    began = time.time_ns()
    files: dict[str, Stamp] = {}
    directories: set[str] = set()
    closed: set[str] = set()
    found = _Protected(workspace)
    tree = WorkspaceTree(workspace)
    roots = (workspace.root, *workspace.added)
    for root in roots:
        # It may be removed or closed to us: each of its files is checked separately.
        with suppress(WorkspaceError):
            _walk(workspace, root, tree, files, directories, closed, found)
    for root in roots if rules is not None and rules != tree.rules else ():
        with suppress(WorkspaceError):
            found.add_hidden_since(WorkspaceTree(workspace, rules), root, directories)
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
        protected_directories.places(workspace, watched, found.searched),
    )


def differences(
    workspace: Workspace, before: Snapshot, after: Snapshot, touched: Collection[str] = ()
) -> list[Difference]:
    """Return the differences between two snapshots, by path, and the paths that may differ though no stamp
    shows it: files written shortly before the first, and files known to have been `touched` since.

    A file that cannot be examined is assumed to be unchanged, and so is one that only a later link or
    reference leads to, unless it was known by another name.
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
    there = _directories(workspace, before) if come else set[str]()
    found += _renamed(gone, come, there)
    come = {
        path: new
        for path, new in come.items()
        if not (path in after.led and new.changed < before.began - TICK)
    }
    if before.closed or _rules_changed([*(each.path for each in found), *gone, *come]):
        come = {path: new for path, new in come.items() if new.changed >= before.began - TICK}
    found += [Difference(path, old, None) for path, old in gone.items()]
    found += [Difference(path, None, new, made=_made(path, there)) for path, new in come.items()]
    return sorted(found, key=lambda difference: difference.path)


def lost_from_view(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the directories in which protected files could be searched in the first snapshot only.

    A directory is not lost if its files are checked by name instead, or if only a later link or reference
    leads to it.
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
    """Adjust two snapshots between which git directories were moved as a whole, so that only changes inside
    them differ; and return the old paths of moved files by their present ones."""
    if not moves:
        return before, after, {}
    places = {workspace.name_of(old): new and workspace.name_of(new) for old, new in moves.items()}
    paths = {path: _moved(path, places) for path in (*before.files, *before.protected)}
    files = {paths[path]: stamp for path, stamp in before.files.items()}
    guards = frozenset(paths[path] for path in before.protected)
    listed = {
        workspace.name_of(path)
        for new in moves.values()
        if new is not None
        for path in protected_file_discovery.of_repository(new, Listing())
    }
    new_places = [new for new in places.values() if new]
    left = {
        path: stamp
        for path, stamp in after.files.items()
        if path in files or path in listed or not (path in places or _is_below(path, new_places))
    }
    earlier = {new: old for old, new in paths.items() if new != old}
    return replace(before, files=files, protected=guards), replace(after, files=left), earlier


def restamped(workspace: Workspace, found: Snapshot, paths: Iterable[str]) -> Snapshot:
    """Return a snapshot with the present stamps of these paths."""
    files = dict(found.files)
    for path in paths:
        if (old := files.pop(path, None)) is not None and (now := _stamp(workspace, path, unreadable=old)):
            files[path] = now
    return replace(found, files=files)


def passing(
    workspace: Workspace, touched: Iterable[str], before: Snapshot, after: Snapshot
) -> tuple[list[str], list[str]]:
    """Return those of the touched paths that are in neither of two snapshots, as they were created and
    removed in between, and those that are files in both. Ignored paths are in neither list."""
    gone: list[str] = []
    there: list[str] = []
    tree = WorkspaceTree(workspace)
    for path in sorted(touched):
        if path in after.files:
            if path in before.files:
                there.append(path)
        elif not any(path in each for each in (before.files, before.directories, after.directories)):
            with suppress(WorkspaceError):
                if status(workspace, located(workspace, path)) is None and not tree.ignores(path):
                    gone.append(path)
    return gone, there


class _Protected:
    """Collects the protected files during the walk of a project: `named` are those that the walk finds, too,
    `hidden` those that it does not; `led` are those that links or references lead to, and `placed` are
    those of them in places that are searched anyway."""

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
        """Directories that could not be listed."""
        return frozenset(map(self._named, self._listing.unseen | self._listing_led.unseen))

    def add(self, level: Level) -> None:
        """Collect the protected files in one directory."""
        inside = bool(level.path) and bool(protected_file_discovery.reason(level.path))
        candidates = (each for each in level.others if inside or is_protected_name(each.name))
        found = [each for each in candidates if protected_file_discovery.reason(each.path)]
        self.named += [each.path for each in found]
        leading = (each.name for each in found if each.kind == "link" or each.name == ".envrc")
        for name in leading:
            self._hide_led_to(Path(level.directory.path, name))
        for name in level.ignored if inside else filter(is_protected_name, level.ignored):
            self._hide_at(Path(level.directory.path), name, inside=inside)

    def add_hidden_since(self, earlier: WorkspaceTree, root: Path, walked: Collection[str]) -> None:
        """Collect protected files that the `earlier` rules do not ignore, and that were not walked.

        Raises:
            WorkspaceError: `root` is no directory, or cannot be read.
        """
        with closing(earlier.walk(self._workspace.locate(str(root)))) as levels:
            for level in levels:
                if level.path.rstrip("/") not in walked:
                    names = *(each.name for each in (*level.directories, *level.others)), *level.ignored
                    for name in filter(is_protected_name, names):
                        self._hide_at(Path(level.directory.path), name)

    @property
    def searched(self) -> set[str]:
        """The directories that were searched for protected files, other than by the walk."""
        return self._listing.listed

    def add_elsewhere(self) -> None:
        """Collect protected files outside the project's directories."""
        roots = (self._workspace.root, *self._workspace.added)
        for git in filter(None, map(protected_file_discovery.around, roots)):
            self._hide_at(git.parent, git.name)
        self._hide(
            protected_file_discovery.at_home(self._listing, roots),
            protected_file_discovery.led_to_from_home(),
        )
        self.led.update(map(self._named, self._listing_led.unseen))

    def _hide_at(self, directory: Path, name: str, *, inside: bool = False) -> None:
        place = f"{directory / name}"
        if name == ".git":
            self.repositories.append(directory / name)
        self._hide(
            protected_file_discovery.hidden(directory, name, self._listing, inside=inside),
            lambda path: str(path) != place and not str(path).startswith(f"{place}/"),
        )

    def _hide_led_to(self, path: Path) -> None:
        self._hide(protected_file_discovery.beside(path), lambda _path: False, follow=False)
        self._hide(protected_file_discovery.led_to(path, self._listing_led), lambda _path: True, follow=False)

    def _named(self, directory: str) -> str:
        """Return the name of a directory, with its final slash."""
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
    tree: WorkspaceTree,
    files: dict[str, Stamp],
    directories: set[str],
    closed: set[str],
    found: _Protected,
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
    """Return the stamp of one file or link; None where there is neither, `unreadable` where it cannot be
    read."""
    try:
        found = status(workspace, located(workspace, path))
    except WorkspaceError:
        return unreadable
    if found is None or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        return None
    return stamp_of(found)


def _renamed(gone: dict[str, Stamp], come: dict[str, Stamp], before: Collection[str]) -> list[Difference]:
    """Pair files that are the same under another name, and remove them from both; `before` are the former
    directories."""
    by_identity: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for path, old in gone.items():
        by_identity[_identity(old)].append(path)
    found: list[Difference] = []
    for path, new in list(come.items()):
        # One inode may be reused, but not with the size and the time of the old file.
        if old_paths := by_identity.get(_identity(new)):
            old_path = old_paths.pop(0)
            made = _made(path, before)
            found.append(Difference(path, gone.pop(old_path), come.pop(path), old_path, made))
    return found


def _was_unseen(path: str, before: Snapshot) -> bool:
    """Return whether a file may have existed before, in a directory that could not be listed."""
    return _above(path) not in before.directories and protected_file_discovery.was_unseen(path, before.unseen)


def _rules_changed(paths: Iterable[str]) -> bool:
    """Return whether a change of ignore rules may have revealed a file."""
    return any(path.endswith(".gitignore") for path in paths)


def _identity(stamp: Stamp) -> tuple[int, ...]:
    return stamp.device, stamp.inode, stamp.size, stamp.modified, stat.S_IFMT(stamp.mode)


def _made(path: str, before: Collection[str]) -> str:
    """Return the topmost directory above a new file that is not one of those `before`."""
    made = ""
    directory = _above(path)
    while directory not in ("", "/") and directory not in before:
        made = directory
        directory = _above(directory)
    return made


def _directories(workspace: Workspace, snapshot: Snapshot) -> set[str]:
    """Return all directories that a snapshot knows, and the user's home directory, which it need not."""
    others = (*map(Path, snapshot.places), *protected_file_discovery.home())
    return {*snapshot.directories, *map(workspace.name_of, others)}


def _moved(path: str, places: Mapping[str, str | None]) -> str:
    """Return the path of a file after its directory was moved."""
    for old, new in places.items():
        if new and path.startswith(f"{old}/"):
            return f"{new}{path[len(old) :]}"
    return path


def _is_below(path: str, directories: Iterable[str]) -> bool:
    return any(path.startswith(f"{each}/") for each in directories)


def _above(path: str) -> str:
    """Return the directory above; a path of the journal is text with slashes, and no path of the system."""
    return os.path.dirname(path)  # noqa: PTH120 (as said)
