"""The git worktrees of a repository: made, described, merged into its working tree, and removed.

Invariant: as with every other question to git, nothing runs that the repository's own configuration names.
Where it names filters, files would be checked out and committed without them: nothing is done. Files that it
has merged by a program of its own conflict. Nothing is asked within another repository. The calls block.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from filecmp import cmp
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path, PurePosixPath
from shutil import copy2, rmtree

from cogency_tui.errors import WorkspaceError, in_words
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import clean, one_line
from cogency_tui.temporary_files import make_directory
from cogency_tui.workspace.file_or_link import files_below
from cogency_tui.workspace.git.blocking_files import blocked
from cogency_tui.workspace.git.branch import branch_of
from cogency_tui.workspace.git.safe_git import SafeGit
from cogency_tui.workspace.protected_names import shown

BRANCHES = "cogency/"
"""The beginning of the branches of worktrees."""

_IDENTITY = ("EMAIL", *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")))
"""Variables that tell git who commits."""

_PATIENCE = 120.0
_CONFLICT = (1,)
_NO_MATCH = (1,)
_MOST_NAMED = 5
_MOST_IN_PLACE = 1_000
"""Files of a directory that are looked at."""
_MOST_COMPARED = 2000
"""Files of an ignored directory that are compared."""

_LARGEST_READ = 16 << 20
"""Bytes of a file that is searched for conflict markers."""

_CACHES = {
    *("__pycache__", "node_modules", ".venv", "venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox"),
    *(".cache", ".gradle", "target", ".next", ".parcel-cache", ".hypothesis", ".nox"),
}
_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_UNMERGED = {"DD", "AU", "UD", "UA", "DU", "AA", "UU"}
_FILTERED = (
    "This repository configures filters of its own, which are not run: its worktrees are neither made nor "
    "merged."
)
_NO_STAGING = "Git could not stage the files."
_NO_COMMIT = "Git could not commit the files."
_MOST_LINES, _LONGEST_REASON = 5, 300
"""Lines and characters of what git gives as a reason."""

_ADVICE = "hint:"
_NO_END = re.compile(r"(?<![:.,])\n")
_LEVEL = re.compile(r"(?:fatal|error): |\*+ ")
_COMMANDS = "Run"
"""The line before commands that git proposes."""

_UNNAMED = "user.email"
_NAMING = "Run `git config user.name NAME` and `git config user.email ADDRESS`."
_ORIGIN = "cogency-from"
"""The file in git's directory of a worktree with the name of the branch that it was made from."""


@dataclass(frozen=True, slots=True)
class Unmerged:
    """What only a worktree has: `files` that differ from its last commit, `commits` of its branch that are
    not in the commit of the main working tree, `ignored` files and directories that the main one does not
    have with the same bytes, and directories of `caches`. `print` differs if anything but the caches does."""

    files: Sequence[str]
    commits: int
    ignored: Sequence[str] = ()
    caches: Sequence[str] = ()
    print: Sequence[str] = ()

    def changes(self, now: "Unmerged") -> list[str]:
        """What was added, changed or removed in what there is `now`: the paths, and another last commit."""
        before, after = self.print, now.print
        paths = {each.partition("\0")[0] for each in {*before[1:]} ^ {*after[1:]}}
        return [*([named(sorted(paths))] if paths else []), *["another commit"] * (before[:1] != after[:1])]


class WorkingTree(SafeGit):
    """The working tree at `directory`: the repository's main one, or a worktree."""

    _reads_again = True

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, _PATIENCE)
        self._environment |= {name: os.environ[name] for name in _IDENTITY if name in os.environ}

    @property
    def problem(self) -> str:
        """Why there can be no worktree of it; empty if there can."""
        top = None if blocked(self.directory) else self._ask("rev-parse", "--show-toplevel")
        if top is None:
            return "This project is not in a git repository."
        if Path(top.removesuffix("\n")) != self.directory:
            return f"This project is a subdirectory of the repository {shown(top.strip())}."
        if self.has_filters:
            return _FILTERED
        if self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") is None:
            return "This repository has no commit yet."
        return ""

    @property
    def head(self) -> str:
        """The branch that is checked out, or else the beginning of the commit's name."""
        return branch_of(self.directory) or (self._ask("rev-parse", "--short", "HEAD") or "").strip()

    def changed(self) -> list[str]:
        """The files that differ from the last commit, untracked ones included.

        Raises:
            WorkspaceError: git has no answer.
        """
        return [entry[3:] for entry in self._status()]

    def untracked_by(self, commit: str, files: Collection[str]) -> list[str]:
        """What is here in the place of `files` in a commit, and not in the index: a merge would overwrite it,
        ignored files without a word. Files in a directory in such a place are named each.

        Raises:
            WorkspaceError: git has no answer.
        """
        tracked = {*self._require("Git cannot list the tracked files.", "ls-files", "-z").split("\0")}
        found: dict[str, None] = {}
        for file in files:
            there = [each for each in self._in_place_of(file) if each not in tracked]
            if there and self._ask("cat-file", "-e", f"{commit}:{file}") is not None:
                found |= dict.fromkeys(there)
        return [*found]

    def _in_place_of(self, file: str) -> Iterator[str]:
        """The files and links at the place of a file, in a directory there, or in place of one above it."""
        for above in reversed(PurePosixPath(file).parents[:-1]):
            if _is_file_or_link(self.directory / above):
                yield str(above)
                return
        place = self.directory / file
        if _is_file_or_link(place):
            yield file
        elif place.is_dir():
            inside = islice(files_below(place), _MOST_IN_PLACE)
            yield from (path.relative_to(self.directory).as_posix() for path in inside)

    def conflicted(self) -> list[str]:
        """The files that a merge, rebase or the like has left in conflict.

        Raises:
            WorkspaceError: git has no answer.
        """
        return [entry[3:] for entry in self._status() if entry[:2] in _UNMERGED]

    def _status(self) -> list[str]:
        answer = self._require(
            "Git cannot list the uncommitted files.",
            "status",
            *("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"),
        )
        return [entry for entry in answer.split("\0") if entry]

    @property
    def under_way(self) -> str:
        """The merge, rebase, cherry-pick or revert that has not ended; empty without one."""
        directory = self._own_directory
        return next((what for name, what in _UNDER_WAY.items() if os.path.lexists(directory / name)), "")

    @cached_property
    def _own_directory(self) -> Path:
        """Git's directory of this working tree."""
        return Path(self._require("Git does not know the worktree.", "rev-parse", "--absolute-git-dir")[:-1])

    def marked(self) -> list[str]:
        """The uncommitted files with conflict markers that their last commit lacks.

        Raises:
            WorkspaceError: git has no answer.
        """
        return [path for path in self.changed() if self._is_marked(path)]

    def marked_by(self, commit: str, files: Collection[str]) -> list[str]:
        """Those of the `files` in a commit that have conflict markers which both this tree's commit and the
        one where the two part lack.

        Raises:
            WorkspaceError: git has no answer.
        """
        flags = ("-G", "-I", "-l", "-z", "--no-recurse-submodules", "--no-textconv", "-e", "^<<<<<<< ")
        answer = self._ask_bytes("grep", *flags, commit, "--", also=_NO_MATCH)
        base = self._ask("merge-base", "HEAD", commit)
        if answer is None or base is None:
            raise self._failure("Git cannot search the branch for conflict markers.")
        names = (name.partition(":")[2] for name in os.fsdecode(answer).split("\0"))
        return [
            name
            for name in names
            if name in files
            and self._markers_in(commit, name)
            > max(self._markers_in("HEAD", name), self._markers_in(base.strip(), name))
        ]

    def _markers_in(self, commit: str, path: str) -> int:
        size = self._ask("cat-file", "-s", f"{commit}:{path}")
        if size is None or int(size) > _LARGEST_READ:
            return 0
        return _markers(self._ask_bytes("cat-file", "blob", f"{commit}:{path}") or b"")

    def _is_marked(self, path: str) -> bool:
        file = self.directory / path
        try:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST_READ:
                return False
            now = file.read_bytes()
        except OSError:
            return False
        if not (found := _markers(now)):
            return False
        return found > self._markers_in("HEAD", path)

    @property
    def origin(self) -> str:
        """The branch that this worktree was made from; empty if it is not known."""
        try:
            return (self._own_directory / _ORIGIN).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return ""

    def note_origin(self, branch: str) -> None:
        """Note the branch that this worktree was made from.

        Raises:
            WorkspaceError: it cannot be written.
        """
        try:
            (self._own_directory / _ORIGIN).write_text(f"{branch}\n", encoding="utf-8")
        except OSError as exc:
            raise WorkspaceError(f"The branch of the worktree cannot be noted: {exc}.") from exc

    def add(self, path: Path, branch: str) -> None:
        """Make a worktree at `path`, with a new branch from the last commit.

        Raises:
            WorkspaceError: git cannot, or the configuration has filters there; none is left.
        """
        problem = f"Git could not make a worktree at {shown(str(path))}."
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise WorkspaceError(f"No worktree can be made at {shown(str(path))}: {exc.strerror}.") from exc
        self._require(
            problem,
            *("worktree", "add", "--quiet", "--no-checkout", "-b", branch, "--", str(path), "HEAD"),
        )
        try:
            made = WorkingTree(path)
            # What the configuration includes depends on the directory and on the branch.
            if made.has_filters:
                raise WorkspaceError(_FILTERED)
            made._require(problem, "reset", "--hard", "--quiet", "--no-recurse-submodules")
        except WorkspaceError:
            self.remove(path, branch)
            raise

    def has_branch(self, branch: str) -> bool:
        """Return whether there is a branch of this name."""
        return self._ask("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}") is not None

    def unmerged(self, other: "WorkingTree", branch: str) -> Unmerged:
        """What only the worktree `other` has.

        Raises:
            WorkspaceError: git has no answer.
        """
        answer = self._require(
            "Git cannot count the commits.", "rev-list", "--count", f"HEAD..{branch}", "--"
        )
        ignored, caches = other.ignored_beside(self.directory)
        changed = other.changed()
        tip = self._ask("rev-parse", f"refs/heads/{branch}") or ""
        prints = [other.print_of(path) for path in (*changed, *ignored)]
        return Unmerged(changed, int(answer), ignored, caches, (tip, *prints))

    def print_of(self, path: str) -> str:
        """A text that is another one once the file at `path` has changed."""
        try:
            found = (self.directory / path).lstat()
        except OSError:
            return path
        return f"{path}\0{found.st_size}:{found.st_mtime_ns}"

    def ignored_beside(self, main: Path) -> tuple[list[str], list[str]]:
        """The ignored files and directories that `main` lacks or has otherwise, and those of caches.

        Raises:
            WorkspaceError: git has no answer.
        """
        answer = self._require(
            "Git cannot list the ignored files.",
            *("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"),
        )
        ignored: list[str] = []
        caches: list[str] = []
        for path in filter(None, answer.split("\0")):
            if not _CACHES.isdisjoint(Path(path).parts):
                caches.append(path)
            elif any(
                not _is_same(each, main / each.relative_to(self.directory)) for each in self._below(path)
            ):
                ignored.append(path)
        return ignored, caches

    def _below(self, path: str) -> Iterator[Path]:
        """The files of an ignored directory, up to a bound, or the file; after the bound the directory."""
        top = self.directory / path
        if not path.endswith("/"):
            yield top
            return
        files = (Path(at) / name for at, _, names in os.walk(top) for name in names)
        yield from islice(files, _MOST_COMPARED)
        if next(files, None) is not None:
            yield top

    def trial(self, message: str) -> str:
        """The name of a commit as `commit` would make it; the branch and the index stay as they are.

        Raises:
            WorkspaceError: git cannot.
        """
        directory = make_directory("index")
        try:
            index, own = directory / "index", self._own_directory / "index"
            if own.exists():
                copy2(own, index)
            aside = WorkingTree(self.directory)
            aside._environment = aside._environment | {"GIT_INDEX_FILE": str(index)}
            aside._stage()
            tree = aside._require(_NO_STAGING, "write-tree").strip()
            words = ("commit-tree", "--no-gpg-sign", "-p", "HEAD", "-m", message, tree)
            return aside._require(_NO_COMMIT, *words).strip()
        finally:
            rmtree(directory, ignore_errors=True)

    def commit(self, message: str) -> None:
        """Commit all files that differ from the last commit, unsigned.

        Raises:
            WorkspaceError: git cannot.
        """
        self._stage()
        self._require(
            _NO_COMMIT,
            *("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "-m", message),
        )

    def _stage(self) -> None:
        """Stage all files that differ from the index. `git add --all` would ask each repository inside this
        one for its status, with the programs that its own configuration names.

        Raises:
            WorkspaceError: git cannot.
        """
        entries = [(entry[1], entry[3:].rstrip("/")) for entry in self._status()]
        gone = [path for letter, path in entries if letter == "D"]
        present = [path for letter, path in entries if letter not in "D "]
        for flags, paths in ((["--force-remove"], gone), (["--add", "--replace"], present)):
            lines = b"".join(os.fsencode(path) + b"\0" for path in paths)
            if paths and self._ask_bytes("update-index", *flags, "-z", "--stdin", stdin=lines) is None:
                raise self._failure(_NO_STAGING)

    def conflicts(self, branch: str) -> list[str]:
        """The files in which both this tree's commit and a branch changed the same lines.

        Raises:
            WorkspaceError: git has no answer.
        """
        merging = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "HEAD", branch]
        answer = self._ask_bytes(*merging, also=_CONFLICT)
        if answer is None:
            raise self._failure("Git cannot try the merge.", "It needs git 2.38 or later.")
        _tree, *names = answer.decode("utf-8", "surrogateescape").split("\0")
        return [name for name in dict.fromkeys(names) if name]

    def merge(self, branch: str) -> None:
        """Merge a branch into what is checked out; what conflicts with it, or has uncommitted changes here,
        has been asked for before.

        Raises:
            WorkspaceError: git cannot; nothing was changed.
        """
        if self.has_filters:
            raise WorkspaceError(_FILTERED)
        flags = ("--strategy=ort", "--quiet", "--no-stat", "--no-edit", "--no-verify", "--no-gpg-sign")
        answer = self._ask("merge", *flags, "--no-autostash", branch)
        if answer is None:
            failure = self._failure(f"Git could not merge {branch}.")
            self._ask("merge", "--abort")
            raise failure

    def changed_by(self, branch: str) -> list[str]:
        """The files that a merge of a branch would change.

        Raises:
            WorkspaceError: git has no answer.
        """
        answer = self._require(
            "Git cannot compare the branch.",
            *("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"),
            f"HEAD...{branch}",
            "--",
        )
        return [name for name in answer.split("\0") if name]

    def remove(self, path: Path, branch: str) -> None:
        """Remove a worktree, whatever it has, and its branch.

        Raises:
            WorkspaceError: git cannot.
        """
        if path.exists():
            self._require(
                f"Git could not remove the worktree at {shown(str(path))}.",
                *("worktree", "remove", "--force", "--force", str(path)),
            )
        self._ask("worktree", "prune")
        if self.has_branch(branch):
            self._require(
                f"Git could not delete the branch {branch}.", "branch", "--quiet", "-D", "--", branch
            )

    def _require(self, message: str, *arguments: str) -> str:
        answer = self._ask(*arguments)
        if answer is None:
            raise self._failure(message)
        return answer

    def _failure(self, message: str, hint: str = "") -> WorkspaceError:
        """The error that git had no answer, with its own reason."""
        reason = _first_lines(self._errors)
        hint = hint or (_NAMING if _UNNAMED in self._errors else "")
        return WorkspaceError(f"{message.removesuffix('.')}: {reason}" if reason else message, hint)


def named(paths: Sequence[str]) -> str:
    """The first few of these paths: `app.py, lib/x.py and 3 more`."""
    return in_words([*map(shown, paths)], _MOST_NAMED)


def _first_lines(errors: str) -> str:
    """The first lines of what git wrote, as one line."""
    written = (_LEVEL.sub("", line.strip()) for line in clean(errors).split("\n"))
    lines = (line for line in takewhile(_COMMANDS.__ne__, written) if line and not line.startswith(_ADVICE))
    joined = _NO_END.sub("; ", "\n".join(islice(lines, _MOST_LINES))).replace("\n", " ")
    text = one_line(Redactor({}).text(joined))
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def _markers(content: bytes) -> int:
    """The number of conflicts whose markers are in a file."""
    lines = content.splitlines()
    return min(sum(line.startswith(mark) for line in lines) for mark in (b"<<<<<<< ", b">>>>>>> "))


def _is_file_or_link(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two files are the same: links by where they lead, others by their bytes."""
    try:
        if one.is_symlink() or other.is_symlink():
            return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
        return one.is_file() and other.is_file() and cmp(one, other, shallow=False)
    except OSError:
        return False
