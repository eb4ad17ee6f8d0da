"""Changes that a command merged from a remote: they belong to the authors of the commits, not to the agent.

Invariant: a file counts if it is as the last commit has it, or the commit of an unfinished merge, and if a
commit changed it that a remote has and the branch did not have before. A file with a content that the agent
itself gave it does not count. The calls block.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from cogency_tui.store.edit_records import Edit
from cogency_tui.tools.journal_protocol import Bringing
from cogency_tui.workspace.git.repository_queries import Repository

_PLACES = ("HEAD", "MERGE_HEAD")
"""The last commit, and the one whose merge has stopped for a conflict."""

_MERGING = frozenset(("merge", "pull", "rebase"))
_MOST = 1000
"""Commits and files for which git is queried; beyond that none counts."""

_MOST_TIPS = 8


class Merging:
    """One command that runs in the project of `root`."""

    def __init__(self, root: Path, brings: Bringing | None) -> None:
        self._root = root
        self._repository = Repository(root)
        brings = brings or Bringing()
        self._sends = "push" in brings.words
        self._commits_more = "commit" in brings.words and not brings.alone
        merges = not _MERGING.isdisjoint(brings.words)
        self._before = self._repository.named(_PLACES) if merges else None

    def has_moved(self) -> bool:
        """Return whether the command has merged anything, or has begun to."""
        return bool(self._before) and self._repository.named(_PLACES) != self._before

    def merged(self, edits: Sequence[Edit], recorded: Sequence[Edit]) -> list[Edit]:
        """The command's edits that it merged; `recorded` are all edits of the conversation."""
        repository, top = self._repository, self._repository.root
        after = repository.named(_PLACES)
        if not (after and top) or len(edits) > _MOST:
            return []
        # After a push the branches of the remote are also the agent's.
        known = () if self._sends else repository.remote_commits() or ()
        remote = {*known, *(repository.fetched() or ())}
        theirs = self._new(remote) & self._new(after)
        changed = repository.changed_in(sorted(theirs)) or set()
        ids = {edit.id for edit in edits}
        own = {
            (edit.path, edit.after.digest) for edit in recorded if edit.id not in ids and not edit.is_merged
        }
        names = {
            edit.id: [os.path.relpath(self._root / path, top) for path in (edit.path, edit.old_path) if path]
            for edit in edits
            if (edit.path, edit.after.digest) not in own
        }
        asked = {id: paths for id, paths in names.items() if changed.issuperset(paths)}
        commits = sorted(theirs & remote)[:_MOST_TIPS] if self._commits_more else after
        same = self._same({path for paths in asked.values() for path in paths}, top, commits)
        return [edit for edit in edits if edit.id in asked and same.issuperset(asked[edit.id])]

    def _new(self, tips: Collection[str]) -> set[str]:
        """The commits that the branch did not have before."""
        found = self._repository.commits_since(tips, self._before or (), _MOST) or []
        return set(found) if len(found) < _MOST else set()

    def _same(self, names: Collection[str], top: Path, commits: Sequence[str]) -> set[str]:
        """The files that match one of the commits, by their paths from the top."""
        files = [name for name in names if (top / name).is_file() and not (top / name).is_symlink()]
        objects = self._repository.names_of([top / name for name in files])
        if objects is None or not names:
            return set()
        found = dict(zip(files, objects, strict=True))
        there = {name for name in names if os.path.lexists(top / name)}
        same = set[str]()
        for commit in commits:
            committed = self._repository.committed(names, commit)
            if committed is not None:
                has = {name: name_of_object for name, (_, name_of_object) in committed.items()}
                same |= {
                    name
                    for name in names
                    if (found.get(name) == has[name] if name in has else name not in there)
                }
        return same
