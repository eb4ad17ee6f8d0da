"""The files, uncommitted changes and unreferenced commits that a command is about to destroy.

Best effort, by the programs that people lose work with: `rm`, `unlink`, `shred`, `truncate`, `dd`, `mv`,
`cp`, `install`, `ln -f`, `tee`, `rsync --delete`, `find -delete`, redirections, programs that create file
systems, and git. They are found anywhere in the command, also behind `sudo`, `xargs`, `sh -c` and in
substitutions. Not detected are the effects of another program's own code (a script, `make clean`,
`python -c …`), aliases, and values of variables in `mv`, `cp`, `tee` and redirections.

Git itself is asked about the effects of its commands, in the directory that the command would run in; where
it has no answer, the loss is reported without numbers. Git's aliases are not resolved.

Invariant: a file that git has in the same version counts as no loss, unless a whole directory is removed; a
file that git does not have is reported by its kind: changed, untracked, ignored, or in no repository at
all.
"""

import fnmatch
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from pathlib import Path

from cogency_tui.store.edit_records import Version
from cogency_tui.tools.loss import Loss, LossKind, LostPath
from cogency_tui.tools.shell.command_line import MOST as MOST_COMMANDS
from cogency_tui.tools.shell.command_line import is_found, option_values, parse
from cogency_tui.tools.shell.files_outside_project import is_own_temporary
from cogency_tui.tools.shell.find_expression import PRINTING, REMOVING, Expression
from cogency_tui.tools.shell.git_command import git_command
from cogency_tui.tools.shell.listing_commands import lists_names
from cogency_tui.tools.shell.moved_sole_copies import MovedFiles
from cogency_tui.tools.shell.names_from_listings import are_certain
from cogency_tui.tools.shell.programs import letters_of, programs_with
from cogency_tui.tools.shell.scanner import MOST_WORDS
from cogency_tui.tools.shell.shell_variables import is_new_temporary
from cogency_tui.tools.shell.simple_command import LISTED, TOO_DEEP, TOO_MANY, Simple, Word
from cogency_tui.tools.shell.unsafe_listed_names import Splitting, breaks
from cogency_tui.tools.shell.word_paths import MOST, Places, joined
from cogency_tui.workspace.git.cached_queries import CachedRepository, QueryCache
from cogency_tui.workspace.git.repository_queries import Repository, StatusEntry
from cogency_tui.workspace.gitignore_walk import ALWAYS
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.protected_names import shown

_NAMED = 5
_MOST_COUNTED = 10_000
_MOST_COUNTED_IN_ALL = 100_000
_MOST_PHRASES = 20
_MOST_MADE = 5000
_MOST_READ = 64 << 20
"""Bytes of files that are compared with the agent's version."""

_MOST_ASKED = 1000
"""Paths that git is asked about individually; for more it is asked about all."""


@dataclass(frozen=True, slots=True)
class AtStake:
    """`losses` are shown to the user, by kind; `paths` are the files and directories of the project among
    them, and others to be copied, with the links on the way to them resolved."""

    paths: tuple[Path, ...] = ()
    losses: tuple[Loss, ...] = ()


class Stakes:
    """Collects the losses of a command's parts; `made` are files that are no loss in these versions,
    `moved` those that are one wherever they are."""

    def __init__(
        self, workspace: Workspace, made: Mapping[Path, Version], moved: MovedFiles | None = None
    ) -> None:
        self.stashed = False
        """True if a part of the command stashes changes, which a later one may drop."""
        self.recurses = False
        """True if a part of the command has git work in submodules as well from then on."""
        self._workspace = workspace
        self._made = made
        self._moved = moved or MovedFiles()
        self._readable = _MOST_READ
        self._answers = QueryCache()
        self._targets: dict[Path, None] = {}
        self._countable = _MOST_COUNTED_IN_ALL
        self._kinds: dict[LossKind, dict[LostPath, None]] = {}
        self._phrases: dict[str, None] = {}
        self._paths: dict[Path, None] = {}

    def repository(self, directory: Path) -> Repository:
        """Return the repository around a directory."""
        return CachedRepository(directory, self._answers)

    def inside(self, path: Path) -> bool:
        """Return whether a path with its links resolved is in the project."""
        roots = (self._workspace.root, *self._workspace.added)
        return any(path.is_relative_to(root) for root in roots)

    def name_of(self, path: Path) -> str:
        """Return a path from the project's root, absolute outside."""
        return self._workspace.name_of(path)

    def is_temporary(self, path: Path) -> bool:
        """Return whether a path is a temporary file of the user's own, or may become one."""
        return is_own_temporary(path, self._workspace.root)

    def add(self, phrase: str, paths: Iterable[Path] = ()) -> None:
        """Add a loss, in words, and its paths."""
        self._phrases[phrase] = None
        self._paths.update(dict.fromkeys(path for path in paths if self.inside(path)))

    def add_copied(self, paths: Iterable[Path]) -> None:
        """Add paths to be copied, though their loss is not expected."""
        self._paths.update(dict.fromkeys(path for path in paths if self.inside(path)))

    def add_entries(self, entries: Iterable[StatusEntry]) -> None:
        """Add files of which git has another version, or none."""
        for entry in entries:
            if os.path.lexists(entry.path):
                self._note(_kind(entry), entry.path)

    def add_contents(self, paths: Iterable[Path]) -> None:
        """Add files whose contents would be lost: regular ones that are not empty."""
        self.add_files(path for path in paths if _holds_anything(path))

    def add_files(self, paths: Iterable[Path], *, whole: bool = False) -> None:
        """Add files that would be removed; with `whole` directories too, whatever git has of them."""
        for path in paths:
            if not (whole or not path.is_dir() or path.is_symlink()):
                continue
            if self.inside(path):
                self._targets[path] = None
            elif not self.is_temporary(path):
                self._phrases[f"{shown(str(path))}, outside the project"] = None

    def result(self) -> AtStake:
        """Return the whole loss. Git is asked about all files at once."""
        targets = list(self._targets)
        for root in (self._workspace.root, *self._workspace.added):
            here = [path for path in targets if path.is_relative_to(root)]
            targets = [path for path in targets if not path.is_relative_to(root)]
            if here:
                self._sort(here, root)
        paths = tuple(path for path in self._paths if self._paths.keys().isdisjoint(path.parents))
        losses = [Loss(kind, tuple(self._kinds[kind])) for kind in _ORDER if kind in self._kinds]
        losses += [Loss("other", text=self._other())] if self._phrases else []
        return AtStake(paths, tuple(losses))

    def _other(self) -> str:
        phrases = list(self._phrases)
        rest = len(phrases) - _MOST_PHRASES
        return "; ".join([*phrases[:_MOST_PHRASES], *([f"and {rest:,} more"] if rest > 0 else [])])

    def _sort(self, targets: Sequence[Path], root: Path) -> None:
        few = targets if len(targets) <= _MOST_ASKED else ()
        entries = Repository(root).entries(few, untracked=True)
        by_path = {} if entries is None else {entry.path: entry for entry in entries}
        below = _by_directory(entries or (), targets)
        for target in targets:
            directory = target.is_dir() and not target.is_symlink()
            if entries is None:
                self._note("unversioned", target)
                continue
            above = next((by_path[path] for path in (target, *target.parents) if path in by_path), None)
            if above is not None:
                self._note(_kind(above), target)
                continue
            if directory and not self._is_filled(target, below[target], root):
                self.add_entries(below[target])
                self._note("directory", target)

    def _is_filled(self, directory: Path, entries: Sequence[StatusEntry], root: Path) -> bool:
        """Return whether only programs have filled a directory that git neither has nor ignores."""
        untracked = bool(entries) and all(entry.index == "?" for entry in entries)
        if not untracked or not _is_remade("untracked", directory):
            return False
        if any(self._moved.below(directory)):
            return False
        if any((root / name).is_relative_to(directory) for name in Repository(root).staged()):
            return False
        self.add_copied([directory])
        return True

    def _note(self, kind: LossKind, path: Path) -> None:
        moved = list(islice(self._moved.below(path), _NAMED))
        for file, earlier in moved:
            name = shown(self._workspace.name_of(file))
            self.add(f"{name}, formerly {shown(earlier)}, which has no saved copy", [file])
        if not moved and self._is_made(path):
            self.add_copied([path])
            return
        lost = LostPath(shown(self._workspace.name_of(path)))
        if path.is_dir() and not path.is_symlink():
            lost = self._count(path, lost.name)
            if not (lost.files or lost.at_least):
                return
        if not _is_remade(kind, path):
            self._kinds.setdefault(kind, {})[lost] = None
        if self.inside(path):
            self._paths[path] = None

    def _is_made(self, path: Path) -> bool:
        """Return whether all files there are in the agent's version, except those that programs create."""
        if not self._made:
            return False
        if path.is_symlink() or not path.is_dir():
            return self._is_made_file(path)
        files = list(islice(_files_of_work(path), _MOST_MADE + 1))
        return 0 < len(files) <= _MOST_MADE and all(map(self._is_made_file, files))

    def _is_made_file(self, path: Path) -> bool:
        version = self._made.get(path)
        self._readable -= version.size if version else 0
        return version is not None and self._readable >= 0 and _holds(path, version)

    def _count(self, directory: Path, name: str) -> LostPath:
        """Count the files in a directory, up to a bound."""
        count = 0
        for _top, below, files in os.walk(directory):
            count += len(files)
            self._countable -= len(below) + len(files)
            if count >= _MOST_COUNTED or self._countable <= 0:
                return LostPath(name, min(count, _MOST_COUNTED), at_least=True)
        return LostPath(name, count)


_CACHES = ALWAYS - {".git", ".hg", ".svn", ".jj"}
"""Directories that only programs fill, whatever git's rules for them."""

_BUILT = frozenset(
    (".cache", ".coverage_html", ".turbo", "build", "coverage", "dist", "htmlcov", "out", "target")
    + ("DerivedData", "cmake-build-debug", "cmake-build-release", "venv")
)
"""Directories that builds and tests fill, where git ignores them."""

_OWN_WORK = (".git", ".hg", ".svn", ".jj", ".env")
"""Entries of such a directory that no build creates."""

_ORDER: Sequence[LossKind] = ("changed", "untracked", "ignored", "unversioned", "directory")


def _is_remade(kind: LossKind, path: Path) -> bool:
    """Return whether a build, a test or an installation creates a directory again, and git has nothing of
    it."""
    if path.suffix == ".pyc" and path.parent.name == "__pycache__" and path.is_file():
        return kind == "ignored"
    if path.is_symlink() or not path.is_dir() or any(os.path.lexists(path / name) for name in _OWN_WORK):
        return False
    remade = path.name in _CACHES or (kind == "ignored" and path.name in _BUILT)
    return remade and kind in ("unversioned", "ignored", "untracked")


def _files_of_work(directory: Path) -> Iterator[Path]:
    """Yield the files and links in a directory, except those in directories that only programs fill."""
    for top, below, files in os.walk(directory):
        links = [name for name in below if Path(top, name).is_symlink()]
        below[:] = [name for name in below if name not in _CACHES]
        yield from (Path(top, name) for name in (*files, *links))


def _holds(path: Path, version: Version) -> bool:
    """Return whether a file or link has the content of a version."""
    try:
        if version.kind == "link":
            return hashlib.sha256(os.fsencode(path.readlink())).hexdigest() == version.digest
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != version.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == version.digest
    except OSError:
        return False


def _kind(entry: StatusEntry) -> LossKind:
    return "untracked" if entry.index == "?" else "ignored" if entry.index == "!" else "changed"


def _by_directory(
    entries: Iterable[StatusEntry], directories: Iterable[Path]
) -> dict[Path, list[StatusEntry]]:
    """Group the entries by the directories that contain them."""
    found: dict[Path, list[StatusEntry]] = {directory: [] for directory in directories}
    for entry in entries:
        for above in entry.path.parents:
            if above in found:
                found[above].append(entry)
    return found


def _holds_anything(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


_ALL_CHANGES = "all uncommitted changes"
_RECURSION = "submodule.recurse"
_OFF = ("0", "false", "no", "off")
_LOSSY = ("checkout", "clean", "reset", "restore", "rm", "switch")
_MOST_SUBMODULES = 10
_BRANCHES = "refs/heads/"
_MOST_NAMED = 3
_LONGEST_NAME = 80


def examine_git(simple: Simple, places: Places, stakes: Stakes) -> None:
    """Add the losses of `simple`, a command of git."""
    git = git_command(simple)
    examine = _COMMANDS.get(git.words[0].text) if git and git.words else None
    if git is None or examine is None:
        return
    directories = places.directories
    for target in git.values("-C"):
        directories = [joined(place, target.text) for place in directories]
    command = Simple(git.words)
    if any(_names_recursion(value) for value in git.values("-c")):
        stakes.recurses = True
    for directory in directories:
        if directory.is_dir():
            examine(command, directory, stakes)


def _reset(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("", "hard", "merge"):
        _all_changes(command, directory, stakes)
    targets = command.operands()[:1]
    if targets and command.has("", "hard", "keep", "merge"):
        _commits("", targets[0], directory, stakes)


def _switch(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("f", "force", "discard-changes"):
        _all_changes(command, directory, stakes)
    if command.has("C", "force-create"):
        _moved_branch(command, directory, stakes)


def _checkout(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("B"):
        _moved_branch(command, directory, stakes)
    if command.has("f", "force"):
        _all_changes(command, directory, stakes)
        return
    texts = [word.text for word in command.arguments]
    if "--" in texts:
        before, paths = command.arguments[: texts.index("--")], command.arguments[texts.index("--") + 1 :]
        committed = any(not word.text.startswith("-") for word in before)
        _changes_at(list(paths), directory, stakes, staged=committed)
        if paths and _recurses(command, directory, stakes):
            _changes_in_submodules(directory, stakes)
        return
    words = command.operands("bBt")
    paths = [word for word in words if not word.known or word.pattern or _is_there(directory, word.text)]
    if paths:
        _changes_at(paths, directory, stakes, staged=len(paths) < len(words))
        if _recurses(command, directory, stakes):
            _changes_in_submodules(directory, stakes)


def _restore(command: Simple, directory: Path, stakes: Stakes) -> None:
    staged = command.has("S", "staged")
    if staged and not command.has("W", "worktree"):
        return
    source = command.has("s", "source")
    paths = [word for word in command.arguments if not word.text.startswith("-")]
    _changes_at(paths, directory, stakes, staged=staged or source)
    if paths and _recurses(command, directory, stakes):
        _changes_in_submodules(directory, stakes)


def _clean(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("n", "dry-run"):
        return
    options = [f"-{letter}" for letter in "dxX" if command.has(letter)]
    paths = command.operands("e")
    known = all(word.known for word in paths)
    before = takewhile(lambda word: word.text != "--", command.words)
    excluded = option_values(Simple(tuple(before)), ("-e", "--exclude"))
    options += [f"--exclude={word.text}" for word in excluded if word.known and not word.pattern]
    found = stakes.repository(directory).cleaned(options, [word.text for word in paths] if known else [])
    if found is None:
        stakes.add("untracked files")
    else:
        stakes.add_files(found, whole=True)


def _stash(command: Simple, directory: Path, stakes: Stakes) -> None:
    words = [word.text for word in command.operands()]
    if words[:1] not in (["drop"], ["clear"]):
        stakes.stashed = stakes.stashed or words[:1] in ([], ["push"], ["save"])
        return
    if stakes.stashed:
        _own_changes(directory, stakes)
    stashes = stakes.repository(directory).stashes()
    if stashes is None:
        stakes.add("stashed changes")
        return
    if words[0] == "drop":
        target = words[1] if len(words) > 1 else "stash@{0}"
        target = f"stash@{{{target}}}" if target.isdecimal() else target
        stashes = [each for each in stashes if each.startswith(f"{target}:")]
    if stashes:
        names = ", ".join(shown(each[:_LONGEST_NAME]) for each in stashes[:_MOST_NAMED])
        more = f" and {len(stashes) - _MOST_NAMED:,} more" if len(stashes) > _MOST_NAMED else ""
        stakes.add(f"{len(stashes):,} stash{'' if len(stashes) == 1 else 'es'} ({names}{more})")


def _branch(command: Simple, directory: Path, stakes: Stakes) -> None:
    forced = command.has("f", "force")
    if command.has("D") or (command.has("d", "delete") and forced):
        for word in command.operands():
            _deleted_branch(word, directory, stakes)
    elif forced:
        _moved_branch(command, directory, stakes)
    elif command.has("MC"):
        words = command.operands()
        source = words[0] if len(words) > 1 else Word("HEAD")
        for word in words[-1:]:
            _commits(word.text, source, directory, stakes)


def _update_ref(command: Simple, directory: Path, stakes: Stakes) -> None:
    refs = [word for word in command.operands("m") if word.text.startswith(_BRANCHES)]
    if command.has("d") and refs:
        _deleted_branch(refs[0].after(_BRANCHES), directory, stakes)


def _deleted_branch(word: Word, directory: Path, stakes: Stakes) -> None:
    name = shown(word.text[:_LONGEST_NAME])
    commits = stakes.repository(directory).commits_only_in(word.text) if word.known else None
    if not word.known:
        stakes.add("branches whose names are known only at run time")
    elif commits is None:
        stakes.add(f"the branch {name}")
    elif commits:
        stakes.add(f"the branch {name}: {_counted(commits)} in no other branch")


def _moved_branch(command: Simple, directory: Path, stakes: Stakes) -> None:
    """Add the commits that the first operand, a branch, loses when it is moved to the second."""
    words = [*command.operands("t"), Word("HEAD")]
    if len(words) > 1 and words[0].known:
        _commits(words[0].text, words[1], directory, stakes)


def _commits(branch: str, target: Word, directory: Path, stakes: Stakes) -> None:
    """Add the commits that a branch loses when it is moved; nothing where there is no such branch."""
    name = f"the branch {shown(branch[:_LONGEST_NAME])}" if branch else "the current branch"
    repository = stakes.repository(directory)
    if branch and repository.commits_only_in(branch) is None:
        return
    commits = repository.commits_only_in(branch, but=target.text) if target.known else None
    if commits is None:
        stakes.add(f"commits of {name} that may be in no other branch")
    elif commits:
        stakes.add(f"{_counted(commits)} of {name} in no other branch")


def _counted(commits: int) -> str:
    return f"{commits:,} commit{'' if commits == 1 else 's'}"


def _push(command: Simple, _directory: Path, stakes: Stakes) -> None:
    names = ("force", "force-with-lease", "mirror", "prune", "delete")
    refs = [word.text for word in command.operands("o")]
    if command.has("fd", *names) or any(ref.startswith(("+", ":")) for ref in refs):
        where = f"{shown(refs[0][:_LONGEST_NAME])} has" if refs else "the remote has"
        stakes.add(f"commits that {where} but that are not in the push")


def _remove_by_git(command: Simple, directory: Path, stakes: Stakes) -> None:
    if command.has("f", "force") and not command.has("", "cached"):
        _changes_at(command.operands(), directory, stakes, staged=True)


def _worktree(command: Simple, directory: Path, stakes: Stakes) -> None:
    words = command.operands()
    if [word.text for word in words[:1]] != ["remove"]:
        return
    forced = command.has("f", "force")
    for word in words[1:]:
        if not word.known:
            stakes.add("a worktree whose name is known only at run time")
            continue
        entries = stakes.repository(joined(directory, word.text)).entries(untracked=True)
        if entries is None:
            stakes.add(f"the worktree {shown(word.text[:_LONGEST_NAME])}")
        else:
            # Ignored files are removed without a question even without force.
            stakes.add_entries(entry for entry in entries if forced or entry.index == "!")


def _forget(command: Simple, _directory: Path, stakes: Stakes) -> None:
    words = [word.text for word in command.operands()]
    prunes = any(word.text.startswith("--prune=") for word in command.arguments)
    if command.program == "prune" or prunes or words[:1] in (["expire"], ["delete"]):
        stakes.add("commits that are no longer on any branch")


def _rewrite(_command: Simple, _directory: Path, stakes: Stakes) -> None:
    stakes.add("the current history of the repository: every commit is rewritten")


def _all_changes(command: Simple, directory: Path, stakes: Stakes) -> None:
    _own_changes(directory, stakes)
    if _recurses(command, directory, stakes):
        _changes_in_submodules(directory, stakes)


def _own_changes(directory: Path, stakes: Stakes) -> None:
    entries = stakes.repository(directory).entries()
    if entries is None:
        stakes.add(_ALL_CHANGES)
    else:
        stakes.add_entries(entries)


def _recurses(command: Simple, directory: Path, stakes: Stakes) -> bool:
    """Return whether a command works in submodules as well."""
    if command.has("", "recurse-submodules"):
        return True
    if command.has("", "no-recurse-submodules"):
        return False
    settings = stakes.repository(directory).settings() or ()
    given = next((value for _, key, value in reversed(settings) if key == _RECURSION), "false")
    return stakes.recurses or given.casefold() not in _OFF


def _changes_in_submodules(directory: Path, stakes: Stakes) -> None:
    pending, seen = [stakes.repository(directory)], 0
    while pending:
        nested = pending.pop().nested()
        if nested is None:
            stakes.add(f"{_ALL_CHANGES} of submodules")
            continue
        for path in nested:
            if not os.path.lexists(path / ".git"):
                continue
            seen += 1
            inner = stakes.repository(path)
            entries = inner.entries() if seen <= _MOST_SUBMODULES else None
            if entries is None:
                stakes.add(f"{_ALL_CHANGES} of {shown(stakes.name_of(path))}", [path])
            else:
                stakes.add_entries(entries)
                pending.append(inner)


def _submodule(command: Simple, directory: Path, stakes: Stakes) -> None:
    words = [word.text for word in command.operands()]
    match words[:1]:
        case ["update" | "deinit"]:
            is_lossy = command.has("f", "force")
        case ["foreach"]:
            is_lossy = any(each in _LOSSY for word in words[1:] for each in re.split(r"[^\w-]+", word))
        case _:
            is_lossy = False
    if is_lossy:
        _changes_in_submodules(directory, stakes)


def _configure(command: Simple, _directory: Path, stakes: Stakes) -> None:
    if any(map(_names_recursion, command.arguments)):
        stakes.recurses = True


def _names_recursion(word: Word) -> bool:
    return word.text.casefold().startswith(_RECURSION)


def _changes_at(words: list[Word], directory: Path, stakes: Stakes, *, staged: bool) -> None:
    """Add changes of tracked files at these paths; with `staged` also those in the index."""
    if not words:
        return
    repository: Repository = stakes.repository(directory)
    known = all(word.known for word in words)
    entries = repository.entries_at([word.text for word in words]) if known else repository.entries()
    if entries is None:
        stakes.add(_ALL_CHANGES)
    else:
        stakes.add_entries(entry for entry in entries if staged or entry.tree != " ")


def _is_there(directory: Path, text: str) -> bool:
    try:
        return joined(directory, text).exists()
    except (OSError, ValueError):
        return False


_COMMANDS: dict[str, Callable[[Simple, Path, Stakes], None]] = {
    "branch": _branch,
    "checkout": _checkout,
    "clean": _clean,
    "config": _configure,
    "filter-branch": _rewrite,
    "filter-repo": _rewrite,
    "gc": _forget,
    "prune": _forget,
    "push": _push,
    "reflog": _forget,
    "reset": _reset,
    "restore": _restore,
    "rm": _remove_by_git,
    "stash": _stash,
    "submodule": _submodule,
    "switch": _switch,
    "update-ref": _update_ref,
    "worktree": _worktree,
}


_ENTERING = programs_with("enters")
_FORMATTING = programs_with("formats")
_REMOVING = programs_with("removes")
_COPYING = programs_with("copies")
UNKNOWN = "files whose names are known only at run time"
_UNREADABLE = {
    TOO_DEEP: "unknown files: it is nested too deeply to analyze",
    TOO_MANY: (
        f"unknown files: only its first {MOST_COMMANDS:,} commands or {MOST_WORDS:,} words are analyzed"
    ),
}
_BRANCHING = re.compile(r"\|\||\b(?:case|for|if|until|while)\b")
"""Syntax that makes it uncertain whether a part of a command runs."""


def at_stake(
    command: str,
    cwd: Path,
    workspace: Workspace,
    made: Mapping[Path, Version] | None = None,
    moved: MovedFiles | None = None,
) -> AtStake:
    """Return the loss if `command` ran in `cwd` (resolved), in the present state. Blocks.

    `made` are files that the agent created, with their contents: they are no loss while these are
    unchanged. `moved` are files that are a loss in whatever directory they are now.
    """
    stakes = Stakes(workspace, made or {}, moved)
    commands = parse(command)
    places = Places(cwd, command, commands)
    moves = Moves()
    sure = not _BRANCHING.search(command)
    fills = any(map(_moves_unknown, commands))
    before: Simple | None = None
    certain = are_certain(command, commands)
    for simple in commands:
        if reason := _UNREADABLE.get(simple):
            stakes.add(reason)
        for redirection in simple.redirections:
            if redirection.overwrites:
                _overwritten(moves.there([redirection.target], places), stakes)
        if simple.program == "git":
            examine_git(simple, places, stakes)
        elif simple.program.startswith("mkfs") or simple.program in _FORMATTING:
            _format(simple, places, stakes)
        elif simple.program in _REMOVING:
            found = before if before is not None and (certain or not before.piped) else None
            if found is None or not _remove_found(found, simple, places, stakes):
                _remove(
                    simple if fills else _without_temporary(simple, places, stakes), places, stakes, moves
                )
        elif examine := _PROGRAMS.get(simple.program):
            examine(simple, places, stakes)
        elif simple.program in _COPYING:
            _copy(simple, places, stakes, moves, sure=sure)
        places.follow(simple)
        before = simple
    if places.lookups.used_up:
        stakes.add(UNKNOWN)
    return stakes.result()


class Moves:
    """The moves of earlier parts of the command: two files may change places."""

    def __init__(self) -> None:
        self._origins: dict[Path, Path | None] = {}

    def move(self, source: Path, target: Path) -> None:
        """Record that the entry at `source` by then moves to `target`."""
        self._origins |= {target: self.origin(source), source: None}

    def origin(self, path: Path) -> Path | None:
        """Return the present path of the entry at a path by then; None where there is none by then."""
        for above in (path, *path.parents):
            if above in self._origins:
                origin = self._origins[above]
                return None if origin is None else origin / path.relative_to(above)
        return path

    def there(self, words: Sequence[Word], places: Places, *, whole: bool = False) -> list[Path]:
        """Return the present paths of the entries that words name by then; with `whole` also those moved
        into them."""
        found = places.all_of(words)[0]
        for path in self._origins:
            names = (path, *path.parents) if whole else (path,)
            if any(_may_be(word, name, places) for word in words for name in names):
                found.append(path)
        return [origin for path in dict.fromkeys(found) if (origin := self.origin(path)) is not None]


def _may_be(word: Word, path: Path, places: Places) -> bool:
    """Return whether a word may expand to a path."""
    names = (str(joined(place, word.pattern or word.text)) for place in places.directories)
    return word.known and any(fnmatch.fnmatchcase(str(path), name) for name in names)


def _remove(simple: Simple, places: Places, stakes: Stakes, moves: Moves) -> None:
    whole = simple.has("rR", "recursive")
    stakes.add_files(moves.there(simple.operands(), places, whole=whole), whole=whole)
    if not places.all_of(simple.operands())[1]:
        stakes.add(UNKNOWN)


def _without_temporary(simple: Simple, places: Places, stakes: Stakes) -> Simple:
    """Drop words for a file that `mktemp` created for the command, or that the command itself names as a
    temporary file."""
    left = (
        word
        for word in simple.words
        if not (is_new_temporary(word) or _is_named_temporary(word, places, stakes))
    )
    return replace(simple, words=tuple(left))


def _is_named_temporary(word: Word, places: Places, stakes: Stakes) -> bool:
    """Return whether a word that only the shell knows surely names a temporary file: `/tmp/x.$$`."""
    begun = word.certain.startswith(("/tmp/", f"{tempfile.gettempdir()}/"))
    found = places.targets(word) if begun and not word.known else None
    return bool(found) and all(map(stakes.is_temporary, found or ()))


def _moves_unknown(simple: Simple) -> bool:
    """Return whether a part of a command may move something into a directory that is not known beforehand."""
    words = simple.arguments
    if any(word.text.startswith("--remove") for word in words):
        return True
    into = words if simple.has("t", "target-directory") else simple.operands()[-1:]
    moves = words if simple.program in _ENTERING else into if simple.program == "mv" else ()
    return not all(word.known and not word.pattern for word in moves)


def _remove_found(find: Simple, simple: Simple, places: Places, stakes: Stakes) -> bool:
    """Add the files that the preceding `find` finds; return whether the command removes no others."""
    operands = simple.operands()
    if find.program != "find" or len(operands) != 1 or not (operands[0] is LISTED or is_found(operands[0])):
        return False
    if operands[0] is not LISTED:
        _found(find, REMOVING, places, stakes)
        return True
    listing = lists_names(find, None) if find.piped else None
    if listing is None:
        return False
    way = "lines" if simple.splitting == "nul" and listing.ends != "\0" else simple.splitting
    _found(find, PRINTING, places, stakes, way)
    return True


def _shred(simple: Simple, places: Places, stakes: Stakes) -> None:
    _spoil(simple.operands(letters_of("value", simple.program)), places, stakes)


def _truncate(simple: Simple, places: Places, stakes: Stakes) -> None:
    _spoil(simple.operands(letters_of("value", "truncate")), places, stakes)


def _spoil(words: Iterable[Word], places: Places, stakes: Stakes) -> None:
    paths, known = places.all_of(words)
    _overwritten(paths, stakes)
    if not known:
        stakes.add(UNKNOWN)


def _tee(simple: Simple, places: Places, stakes: Stakes) -> None:
    if not simple.has("a", "append"):
        _overwritten(places.all_of(simple.operands())[0], stakes)


def _dd(simple: Simple, places: Places, stakes: Stakes) -> None:
    for word in simple.arguments:
        if word.text.startswith("of="):
            _spoil([Word(word.text[3:], word.known)], places, stakes)


def _copy(simple: Simple, places: Places, stakes: Stakes, moves: Moves, *, sure: bool) -> None:
    """Add overwritten files. A file that was moved away before is copied, should the move fail, but is no
    loss."""
    if simple.has("nb", "no-clobber", "backup") or (simple.program == "ln" and not simple.has("f", "force")):
        return
    operands = simple.operands(letters_of("copying", simple.program))
    into = _target_directory(simple)
    if into is None:
        if len(operands) < 2:
            return
        into = operands.pop()
    sources = places.all_of(operands)[0] or [
        joined(place, word.text) for place in places.directories for word in operands if word.known
    ]
    overwritten: list[Path] = []
    for place in places.directories if into.known else ():
        target = joined(place, into.text)
        overwritten += [target / source.name for source in sources] if target.is_dir() else [target]
    origins = {path: moves.origin(path) for path in overwritten if path not in sources}
    stakes.add_copied(path for path, origin in origins.items() if origin != path)
    _overwritten([origin for origin in origins.values() if origin is not None], stakes)
    certain = sure and places.known and len(places.directories) == len(sources) == len(overwritten) == 1
    plain = all(word.known and not word.pattern for word in (*operands, into))
    if simple.program == "mv" and certain and plain and overwritten[0].parent.is_dir():
        moves.move(sources[0], overwritten[0])


def _target_directory(simple: Simple) -> Word | None:
    for word, following in zip(simple.arguments, [*simple.arguments[1:], None], strict=True):
        if word.text in ("-t", "--target-directory"):
            return following
        if word.text.startswith("--target-directory="):
            return Word(word.text.partition("=")[2], word.known)
    return None


def _find(simple: Simple, places: Places, stakes: Stakes) -> None:
    expression = Expression(simple)
    actions = expression.actions if expression.known else {word.text for word in simple.arguments}
    if "-delete" in actions and not expression.removes_only_empty_directories():
        _found(simple, REMOVING, places, stakes)


def _found(
    simple: Simple, actions: Set[str], places: Places, stakes: Stakes, splitting: Splitting = "nul"
) -> None:
    """Add the files that these actions of `find` reach. `splitting` is how a list of them is split."""
    expression = Expression(simple)
    tops, known = places.all_of(expression.starts)
    if not (known and expression.known and expression.selects):
        stakes.add_files((top.resolve() if expression.follows else top for top in tops), whole=True)
        odd = (name for top in tops for name in places.lookups.trees.below(top).odd_names)
        if any(breaks(name, splitting) for name in odd):
            stakes.add(UNKNOWN)
        return
    walked = (
        (path, reached, path.relative_to(top))
        for start in expression.starts
        for top in places.paths(start) or ()
        for path, reached in expression.walk("" if start.pattern else start.text, top, actions)
    )
    examined = takewhile(lambda _each: places.lookups.entry(), walked)
    found = [(path, below) for path, reached, below in examined if reached]
    # With `-delete` directories are removed only once they are empty.
    whole = actions & (expression.actions or {"-print"}) != {"-delete"}
    stakes.add_files((path for path, _ in found[:MOST]), whole=whole)
    texts = (*(start.text for start in expression.starts), *(str(below) for _, below in found))
    if any(breaks(text, splitting) for text in texts):
        stakes.add(UNKNOWN)


def _rsync(simple: Simple, places: Places, stakes: Stakes) -> None:
    operands = simple.operands(letters_of("value", "rsync"))
    if len(operands) < 2 or not any(word.text.startswith("--del") for word in simple.arguments):
        return
    for path in places.paths(operands[-1]) or ():
        stakes.add(f"files in {shown(path.name)}/ that are not in the copied directory", [path])


def _format(simple: Simple, places: Places, stakes: Stakes) -> None:
    for path in places.all_of(simple.operands(letters_of("value", "mkfs")))[0]:
        if path.is_absolute() and path.is_block_device():
            stakes.add(f"everything on {shown(str(path))}")
        else:
            _overwritten([path], stakes)


def _overwritten(paths: Iterable[Path], stakes: Stakes) -> None:
    for path in paths:
        # The target of a link is written.
        target = Path(os.path.realpath(path))
        try:
            mode = target.stat().st_mode
        except OSError:
            continue
        if stat.S_ISBLK(mode):
            stakes.add(f"everything on {shown(str(target))}")
        else:
            stakes.add_contents([target])


_PROGRAMS: dict[str, Callable[[Simple, Places, Stakes], None]] = {
    "dd": _dd,
    "find": _find,
    "rsync": _rsync,
    "shred": _shred,
    "tee": _tee,
    "truncate": _truncate,
    "wipe": _shred,
}
