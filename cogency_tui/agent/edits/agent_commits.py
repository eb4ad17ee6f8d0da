"""Commits of the project's repository and of its submodules that commands have made since the first
command, by whatever means.

Invariant: a commit is known if it existed before the first command, was fetched while no other command ran,
or is recorded for a submodule by the repository above. A commit that a command finds and that is not known
counts as made by a command. The calls block.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path

from cogency_tui.tools.journal_protocol import Bringing
from cogency_tui.workspace.git.cached_queries import CachedRepository, QueryCache
from cogency_tui.workspace.git.object_verification import ObjectStore
from cogency_tui.workspace.git.repository_queries import Repository

_PARTS = re.compile(r"\.{2,3}|[=:+]|^\^")
"""The separators around the names of commits in a word: `a..b`, `--onto=a`, `+a:b`."""

_MOST = 1000
"""Commits that are examined; beyond that all paths are in doubt."""

_LEFT = ("ORIG_HEAD", "HEAD@{1}")
"""Names of the commits that an interrupted command may have left."""

_MOST_NAMED = 40
_MOST_STASHES = 40
_MOST_SUBMODULES = 24
_SUBMODULES = "modules"


class Doubted:
    """The paths from the top of a repository that commands have changed by commits; all paths if `paths` is
    None.
    """

    def __init__(self, paths: Iterable[str] | None) -> None:
        self._paths = None if paths is None else frozenset(paths)

    def __contains__(self, path: object) -> bool:
        return self._paths is None or path in self._paths


class History:
    """The commits of one repository, given those that are `known` at first; the repository may be `made`
    since the first command.
    """

    def __init__(self, repository: Repository, known: Collection[str], *, made: bool = False) -> None:
        self._repository = repository
        self._first = self._known = self._before = frozenset(known)
        self._made: frozenset[str] = frozenset()
        self._any_made = False
        """True if any commit may be one that a command has made."""
        self._sources: Sequence[str] = ()
        self.stashes: Sequence[str] = ()
        """The commits that the last command with a `Bringing` may take out of the stash."""
        self._left: Mapping[Path | None, Collection[str]] | None = None
        """The commits that the last command may leave, by the tops of working trees; None before the first
        command."""
        self._staged_before: frozenset[str] = frozenset()
        self._stashed_before: frozenset[str] = frozenset()
        self._fetched_before: object = None
        self._brought: frozenset[str] | None = None
        """The commits that remotes have sent to the last command, once they are known."""
        self._objects = ObjectStore(repository.directory, made=made)

    def begin(self, brings: Bringing) -> None:
        """Begin a command, which can bring what the repository has and what its words name."""
        words = [part for word in brings.words for part in _PARTS.split(word)]
        parents = [f"{each}^" for each in words]
        repository = CachedRepository(self._repository.directory, QueryCache.unlimited())
        repository.prefetch([*words, *parents])
        tips = repository.commits(words)
        if tips is None or not self._known.issuperset(tips):
            self._note_made(tips)
        self._before = self._known
        stashes = repository.stash_commits() if "stash" in brings.words else ()
        self.stashes = (stashes or ())[:_MOST_STASHES]
        self._stashed_before = frozenset(stashes or ())
        named = repository.named([*words, *parents])
        half_way = repository.half_way() or ()
        # A resumed operation continues what an earlier command began.
        is_half_way = repository.is_half_way()
        begun = self._sources if is_half_way else ()
        left = half_way if is_half_way else repository.named(["HEAD"]) or ()
        others = {tree: [head] for tree, head in repository.heads().items()}
        self._left = {**others, repository.root: left}
        self._staged_before = frozenset(repository.changed_in_index() or ())
        self._sources = [*dict.fromkeys((*(named or ())[:_MOST_NAMED], *half_way, *begun))][:_MOST_NAMED]
        self._fetched_before = _stamp(repository)
        self._brought = None
        if brings.fetches:
            self._objects.note()

    def end(self, brings: Bringing) -> None:
        """End a command beside which no other ran: what it fetched is known."""
        self._known |= self._fetched(brings)

    def sources(self, tree: Repository, brings: Bringing) -> list[str]:
        """The commits from which a command may make another: those that its words name, those of an
        unfinished git operation before and after it, those that it fetches, and those that it takes out of
        the stash.
        """
        fetched = self._repository.fetched() if brings.asks_remotes else ()
        remote = tree.named(_remote_names(brings)) if brings.fetches else ()
        now = *(tree.half_way() or ()), *(fetched or ())[:_MOST_NAMED], *(remote or ())
        return [*dict.fromkeys((*self._sources, *now, *self.stashes))]

    def may_remove(
        self, names: Collection[str], absent: Collection[str], tree: Repository, brings: Bringing
    ) -> set[str]:
        """The files that git may have removed from a working tree: those in a commit that the command left or
        in a stash that it created, and those that were staged before and had been `absent` earlier, as git
        composes them. `names` are paths from the top.
        """
        known = self._left
        left = (tree.named(_LEFT) or ()) if known is None else known.get(tree.directory, ())
        stashes = (tree.stash_commits() or ()) if "stash" in brings.words else ()
        commits = {*left, *({*stashes} - self._stashed_before)}
        staged = {*self._staged_before.intersection(absent)}
        return staged.union(*(tree.committed(names, each) or () for each in commits))

    def doubted(self, commit: str, brings: Bringing, tree: Repository) -> Doubted:
        """The paths that a commit, as a working tree names it, has from commits that are not known, or that
        commands have made.
        """
        if self._any_made or not self._objects.is_sound():
            return Doubted(None)
        unknown = tree.commits_since([commit], self._before | self._fetched(brings), _MOST)
        if unknown is None or len(unknown) >= _MOST:
            return Doubted(None)
        made = self._made
        later = tree.commits_since([commit], self._first, _MOST) if made else None
        if later is not None and len(later) < _MOST:
            made = made.intersection(later)
        return Doubted(self._repository.changed_in([*made, *unknown]))

    def _fetched(self, brings: Bringing) -> frozenset[str]:
        """The commits that remotes have sent, less those that were here before without a name."""
        if not brings.fetches:
            return frozenset()
        if self._brought is None:
            is_new = brings.asks_remotes and _stamp(self._repository) != self._fetched_before
            fetched = self._repository.fetched() if is_new else ()
            found = {*(self._repository.remote_commits() or ()), *(fetched or ())} - self._before
            self._brought = frozenset(found - self._objects.noted(found))
        return self._brought

    def _note_made(self, tips: Collection[str] | None) -> None:
        made = None if tips is None else self._repository.commits_since(tips, self._known, _MOST)
        if made is None or len(made) >= _MOST or not self._objects.is_sound():
            self._any_made = True
        else:
            self._made |= frozenset(made)
            self._known |= frozenset(tips or ())


class KnownCommits:
    """The histories of the repository around `directory` and of its submodules."""

    def __init__(self, directory: Path) -> None:
        self._repository = Repository(directory)
        self._histories: dict[Path, History] | None = None

    def begin(self, brings: Bringing | None) -> None:
        """Begin a command."""
        histories = self._started()
        if brings is not None:
            for history in histories.values():
                history.begin(brings)

    def end(self, brings: Bringing | None) -> None:
        """End a command beside which no other ran."""
        if brings is None:
            return
        for history in self._started().values():
            history.end(brings)
        if brings.alone and "submodule" in brings.words:
            for directory in self._nested():
                self._note_clone(directory)

    def of(self, tree: Path) -> History | None:
        """The history of the repository of a working tree; None for one that is neither the project's nor a
        submodule's.
        """
        common = common_directory(tree)
        is_own = tree == self._repository.directory
        own = common if is_own else common_directory(self._repository.directory)
        if common is None or own is None:
            return None
        histories = self._started()
        if common not in histories and own / _SUBMODULES in common.parents:
            # It did not exist before the first command.
            histories[common] = History(Repository(tree), self._recorded(tree), made=True)
        return histories.get(common)

    def _started(self) -> dict[Path, History]:
        """The histories by the directories that `common_directory` returns."""
        if self._histories is None:
            self._histories = {}
            submodules = map(Repository, self._nested())
            for repository in (self._repository, *submodules):
                if common := common_directory(repository.directory):
                    self._histories[common] = History(repository, repository.commits(()) or ())
        return self._histories

    def _nested(self) -> Iterator[Path]:
        nested = (each for each in self._repository.nested() or () if (each / ".git").exists())
        return islice(nested, _MOST_SUBMODULES)

    def _note_clone(self, tree: Path) -> None:
        """Record the commits that a remote has sent for a new submodule as known."""
        common, repository = common_directory(tree), Repository(tree)
        if common is not None and common not in self._started() and self.of(tree):
            known = [*self._recorded(tree), *(repository.remote_commits() or ())]
            self._started()[common] = History(repository, known, made=True)

    def _recorded(self, tree: Path) -> list[str]:
        """The commit that the repository above records for a submodule, unless a command has made up the
        record.
        """
        above = Repository(tree.parent)
        history = self.of(above.root) if above.root else None
        if above.root is None or history is None:
            return []
        name = os.path.relpath(tree, above.root)
        mode, commit = (above.committed([name]) or {}).get(name, ("", ""))
        doubted = name in history.doubted("HEAD", Bringing(), above)
        return [commit] if mode == "160000" and not doubted else []


def _remote_names(brings: Bringing) -> list[str]:
    """The remote-tracking branches that a fetching command may merge."""
    words = [*brings.words, *(f"{remote}/{branch}" for remote, branch in pairwise(brings.words))]
    return ["@{upstream}", *(f"refs/remotes/{each}" for each in words[:_MOST_NAMED])]


def common_directory(directory: Path) -> Path | None:
    """The git directory that all working trees of the repository share, resolved."""
    found = Repository(directory).common_directory()
    return None if found is None else Path(os.path.realpath(found))


def _stamp(repository: Repository) -> object:
    """A value that differs after each fetch."""
    try:
        status = repository.fetch_head().stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino
