"""Read-only questions to git about a directory.

Invariant: only plumbing is used and `status` and `clean`, by `SafeGit`; git is not run where a file that it
reads is a FIFO, a socket or a device. Where git has no answer, the result is None. The calls block.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from cogency_tui.workspace.git.blocking_files import blocked, read_regular
from cogency_tui.workspace.git.safe_git import OWN_SCOPES, SafeGit

_LONGEST = 1 << 20
_WOULD = "Would remove "
PLACES = ("HEAD", "@{-1}", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
"""Names of commits that are no refs."""

HALF_WAY = (
    "HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REVERT_HEAD^",
    "REBASE_HEAD",
) + (
    *("CHERRY_PICK_HEAD^", "REBASE_HEAD^"),
    *("rebase-merge/orig-head", "rebase-merge/onto", "rebase-apply/orig-head", "rebase-apply/onto"),
    *("sequencer/head", "BISECT_HEAD"),
)
"""Names of the commits around which git has stopped half way, or to which it returns."""

_STOPPED = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "rebase-merge/onto",
    "rebase-apply/onto",
)

_SHA1 = 40
"""Digits of a name; others are of SHA-256."""

_OF_LOG = "@{"
_NAME = re.compile(r"[0-9a-f]{40,64}")
_AS_IT_IS = frozenset((b"unspecified", b"unset"))


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """A path that differs from the commit. `index` and `tree` are the letters of `git status` for the
    staged version and for the file; `?` is untracked, `!` ignored."""

    index: str
    tree: str
    path: Path


class Repository(SafeGit):
    """The repository around `directory`, if there is one."""

    @cached_property
    def root(self) -> Path | None:
        """Topmost directory; None without a repository, or without git."""
        answer = self._run(["rev-parse", "--show-toplevel"])
        return Path(os.fsdecode(answer).removesuffix("\n")) if answer else None

    @property
    def dirty(self) -> bool:
        """True if a tracked file differs from the commit; False where git has no answer."""
        return bool(self.entries())

    def status(self) -> bytes | None:
        """Return the changes below the directory, in the format of `git status --porcelain=v2 -z`; an
        untracked directory is listed as one."""
        if blocked(self.directory):
            return None
        flags = ("--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=dirty")
        return self._ask_bytes("status", *flags, "--", ".")

    def entries(self, paths: Sequence[Path] = (), *, untracked: bool = False) -> list[StatusEntry] | None:
        """Return the paths that differ from the commit, below `paths` if given."""
        flags = ("--untracked-files=all", "--ignored=matching") if untracked else ("--untracked-files=no",)
        return self._status([*flags, "--", *map(str, paths)], literal=True)

    def entries_at(self, pathspecs: Sequence[str]) -> list[StatusEntry] | None:
        """Return the tracked files that differ from the commit, by pathspecs of git."""
        return self._status(["--untracked-files=no", "--", *pathspecs], literal=False)

    def cleaned(self, options: Iterable[str], pathspecs: Sequence[str]) -> list[Path] | None:
        """Return the paths that `git clean` would remove."""
        if blocked(self.directory, below=True):
            return None
        answer = self._ask("clean", "--dry-run", "--force", *options, "--", *pathspecs)
        if answer is None:
            return None
        names = [line.removeprefix(_WOULD) for line in answer.splitlines() if line.startswith(_WOULD)]
        return [self.directory / _unquoted(name) for name in names]

    def stashes(self) -> list[str] | None:
        """Return the stashes, the newest first: `stash@{0}: WIP on main: …`."""
        there = self._ask("for-each-ref", "--format=%(refname)", "refs/stash")
        if not there:
            return None if there is None else []
        answer = self._ask("rev-list", "--walk-reflogs", "--format=%s", "refs/stash", "--")
        # The name of each commit is on a line before its subject.
        subjects = None if answer is None else answer.split("\n")[1::2]
        return subjects and [f"stash@{{{number}}}: {each}" for number, each in enumerate(subjects)]

    def commits_only_in(self, branch: str = "", *, but: str = "") -> int | None:
        """Count the commits of a local branch, by default the current one, that no other ref has, ignoring
        `but`."""
        ref = f"refs/heads/{branch}" if branch else (self._ask("symbolic-ref", "-q", "HEAD") or "").strip()
        # For a HEAD on no branch nothing is left out.
        others = [*([but] if but else []), *([f"--exclude={ref}"] if ref else []), "--glob=refs/*"]
        answer = self._ask("rev-list", "--count", ref or "HEAD", "--not", *others, "--")
        return int(answer) if answer else None

    def unchanged(self, paths: Collection[str]) -> dict[str, str]:
        """Return those of these files, by their paths from the directory, that equal the index: each with
        the name of the object with its bytes.

        Files with a possible filter or encoding are left out. Line ends may still have been converted, so a
        content of another size than the file's is not its own.
        """
        staged = self._ask_bytes("ls-files", "--stage", "-v", "-z", filters=False)
        differing = self._ask_bytes(
            *("diff-files", "--name-only", "--relative", "-z", "--no-renames", "--ignore-submodules=all")
        )
        if staged is None or differing is None:
            return {}
        changed = set(differing.split(b"\0"))
        candidates = {os.fsencode(path) for path in paths} - changed
        objects = {path: name for path, name in _staged(staged) if path in candidates}
        plain = self._without_attributes(objects)
        return {os.fsdecode(path): name for path, name in objects.items() if path in plain}

    def staged(self) -> dict[str, str]:
        """Return the ordinary files of the index, by their paths from the directory: each with the name of
        its object when it was staged, whatever the file contains now."""
        answer = self._ask_bytes("ls-files", "--stage", "-v", "-z", filters=False) or b""
        return {os.fsdecode(path): name for path, name in _staged(answer)}

    def settings(self) -> list[tuple[bool, str, str]] | None:
        """Return the settings of all files, the one that applies last: whether it is from the repository's
        own configuration, its key and its value."""
        answer = self._run(["config", "--show-scope", "-z", "--list"])
        if answer is None:
            return None
        fields = os.fsdecode(answer).split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        found = [(os.fsencode(scope), *pair.partition("\n")[::2]) for scope, pair in pairs]
        return [(scope in OWN_SCOPES, key, value) for scope, key, value in found if scope != b"command"]

    def common_directory(self) -> Path | None:
        """Return the directory of the hooks of all working trees; None where there is no repository."""
        answer = self._run(["rev-parse", "--git-common-dir"])
        return None if answer is None else self.directory / os.fsdecode(answer).removesuffix("\n")

    def commits(self, words: Iterable[str]) -> list[str] | None:
        """Return the names of the objects that refs, stashes and these words name; unknown words are left
        out."""
        refs = self._run(["rev-parse", "--revs-only", "--all"])
        stashes = self.stash_commits()
        named, fetched = self.named((*PLACES, *HALF_WAY, *words)), self.fetched()
        if refs is None or stashes is None or named is None or fetched is None:
            return None
        return [*refs.decode().split(), *stashes, *named, *fetched]

    def heads(self) -> dict[Path, str]:
        """Return the last commits of all working trees, by their topmost directories."""
        answer = self._run(["worktree", "list", "--porcelain", "-z"])
        found: dict[Path, str] = {}
        for tree in os.fsdecode(answer or b"").split("\0\0"):
            facts = {key: value for key, _, value in (line.partition(" ") for line in tree.split("\0"))}
            if "HEAD" in facts:
                found[Path(facts["worktree"])] = facts["HEAD"]
        return found

    def remote_commits(self) -> list[str] | None:
        """Return the commits of the remote-tracking branches."""
        answer = self._run(["rev-parse", "--revs-only", "--remotes"])
        return None if answer is None else answer.decode().split()

    def stash_commits(self) -> list[str] | None:
        """Return the commits of the stashes, the newest first, and those with their untracked files."""
        there = self._run(["for-each-ref", "--format=%(refname)", "refs/stash"])
        if not there:
            return None if there is None else []
        answer = self._run(["rev-list", "--walk-reflogs", "refs/stash", "--"])
        found = None if answer is None else answer.decode().split()
        untracked = self.named(f"{each}^3" for each in found or ())
        return None if found is None or untracked is None else [*found, *untracked]

    def half_way(self) -> list[str] | None:
        """Return the commits around which git has stopped half way, or to which it returns."""
        return self.named(HALF_WAY)

    def fetch_head(self) -> Path:
        """Return the file that names the commits of the last fetch in this working tree."""
        answer = self._run(["rev-parse", "--git-path", "FETCH_HEAD"])
        return self.directory / os.fsdecode(answer or b"FETCH_HEAD").removesuffix("\n")

    def fetched(self) -> list[str] | None:
        """Return all commits of the last fetch."""
        text = read_regular(self.fetch_head(), _LONGEST).decode(errors="replace")
        return self.named(line.partition("\t")[0] for line in text.split("\n") if line)

    def is_half_way(self) -> bool:
        """Return whether git has stopped within a command that can continue."""
        return bool(self.named(_STOPPED))

    def named(self, words: Iterable[str]) -> list[str] | None:
        """Return the names of the objects that these words name; unknown words are left out."""
        asked = [each for each in words if "\n" not in each]
        # Git has no other answer, either, for a log that is too short, or for a missing upstream.
        fatal = [each for each in asked if _OF_LOG in each]
        found = self._named([each for each in asked if _OF_LOG not in each])
        return (
            None
            if found is None
            else [*found, *(name for each in fatal for name in self._named([each]) or ())]
        )

    def _named(self, words: Sequence[str]) -> list[str] | None:
        found = self._object_names(words) if words else []
        return None if found is None else [each for each in found if _NAME.fullmatch(each)]

    def _object_names(self, words: Sequence[str]) -> list[str] | None:
        """Return the object name for each word; for a word that names none, git's remark."""
        lines = "".join(f"{each}\n" for each in words)
        answer = self._run(["cat-file", "--batch-check=%(objectname)"], stdin=os.fsencode(lines))
        return None if answer is None else os.fsdecode(answer).split("\n")[: len(words)]

    def commits_since(self, tips: Collection[str], known: Collection[str], most: int) -> list[str] | None:
        """Return up to `most` commits that the `tips` have and the `known` have not."""
        lines = "".join(f"{each}\n" for each in (*tips, *(f"^{each}" for each in known))).encode()
        flags = ("--ignore-missing", f"--max-count={most}", "--stdin")
        answer = self._run(["rev-list", *flags], stdin=lines)
        return None if answer is None else answer.decode().split()

    def changed_in(self, commits: Sequence[str]) -> set[str] | None:
        """Return the paths from the topmost directory that these commits changed, against each of their
        parents."""
        flags = ("-r", "-c", "--root", "--name-only", "--no-commit-id", "--no-renames", "-z", "--stdin")
        answer = (
            self._run(["diff-tree", *flags], stdin="\n".join(commits).encode() + b"\n") if commits else b""
        )
        return None if answer is None else {os.fsdecode(each) for each in answer.split(b"\0") if each}

    def committed(self, paths: Collection[str], commit: str = "HEAD") -> dict[str, tuple[str, str]] | None:
        """Return the modes and names of the objects that a commit has for these paths from the topmost
        directory."""
        answer = self._run(["ls-tree", "-z", "--full-tree", commit, "--", *paths])
        if answer is None:
            return None
        entries = [os.fsdecode(each).partition("\t") for each in answer.split(b"\0") if each]
        return {path: (facts.split()[0], facts.split()[2]) for facts, _, path in entries}

    def changed_in_index(self) -> dict[str, tuple[str, str] | None] | None:
        """Return the differences of the index from the last commit, by paths from the topmost directory:
        modes and names of objects, None for missing ones; paths with several versions are left out."""
        answer = self._run(["diff-index", "--cached", "--no-renames", "--no-abbrev", "-z", "HEAD", "--"])
        if answer is None:
            return None
        fields = answer.split(b"\0")
        entries = [
            (os.fsdecode(path), *facts.decode().split())
            for facts, path in zip(fields[:-1:2], fields[1::2], strict=False)
        ]
        return {
            path: None if status == "D" else (mode, name)
            for path, _, mode, _, name, status in entries
            if status != "U"
        }

    def unmerged(self) -> set[str] | None:
        """Return the paths from the topmost directory that the index has in several versions."""
        answer = self._run(["ls-files", "--unmerged", "-z", "--full-name", ":/"])
        entries = [] if answer is None else answer.split(b"\0")
        return None if answer is None else {os.fsdecode(each.partition(b"\t")[2]) for each in entries if each}

    def parted(self, commits: Sequence[str]) -> list[str]:
        """Return the last common ancestor of these commits; empty where there is none."""
        answer = self._run(["merge-base", "--octopus", *commits]) if commits else None
        return (answer or b"").decode().split()[:1]

    def changes_of(self, path: str, commits: Sequence[str], most: int) -> list[tuple[str, str]] | None:
        """Return the object before and after each of the last `most` commits that changed a path from the
        topmost directory, of those that some of these commits have and not all, the oldest first; empty
        where the path did not exist."""
        flags = ("--topo-order", "--reverse", "--no-merges", "--full-history", f"--max-count={most}")
        tips = [*commits, *(f"^{each}" for each in self.parted(commits))]
        listed = self._run(["rev-list", *flags, *tips, "--", path], literal=True) if commits else b""
        raw = ("-r", "--raw", "--root", "--no-commit-id", "--no-renames", "--no-abbrev", "--stdin")
        changes = None if listed is None else self._run(["diff-tree", *raw, "--", path], stdin=listed)
        if changes is None:
            return None
        # A line is `:mode mode name name letter`, tab, path.
        lines = (line.split() for line in changes.decode(errors="replace").split("\n") if line)
        return [(line[2].strip("0") and line[2], line[3].strip("0") and line[3]) for line in lines]

    def blob(self, name: str, most: int) -> bytes | None:
        """Return the content of an object, if its hash is its name and it has at most `most` bytes."""
        with TemporaryFile() as target:
            if not self.read(name, target) or target.seek(0, os.SEEK_END) > most:
                return None
            target.seek(0)
            text = target.read()
        digest = hashlib.sha1 if len(name) == _SHA1 else hashlib.sha256
        found = digest(b"blob %d\0%b" % (len(text), text), usedforsecurity=False)
        return text if found.hexdigest() == name else None

    def is_pack_sound(self, index: Path) -> bool:
        """Return whether a pack contains the objects of its index."""
        algorithm = self._run(["rev-parse", "--show-object-format"])
        flags = [f"--object-format={algorithm.decode().strip()}"] if algorithm else []
        return self._run(["verify-pack", *flags, "--", str(index)]) is not None

    def merges_lines(self, path: str) -> bool:
        """Return whether git merges the lines of both sides in a file without marks."""
        answer = self._ask_bytes("check-attr", "-z", "merge", "--", path, literal=True, filters=False)
        return (answer or b"").split(b"\0")[2:3] == [b"union"]

    def subject(self, commit: str) -> str | None:
        """Return the first paragraph of a commit's message, in one line."""
        answer = self._run(["cat-file", "commit", commit])
        _, _, message = (answer or b"").partition(b"\n\n")
        paragraph, _, _ = message.lstrip(b"\n").partition(b"\n\n")
        return None if answer is None else " ".join(paragraph.decode(errors="replace").split("\n")).strip()

    def names_of(self, files: Sequence[Path]) -> list[str] | None:
        """Return the names of the objects for the bytes of these files."""
        answer = self._run(["hash-object", "--no-filters", "--", *map(str, files)]) if files else b""
        return None if answer is None else answer.decode().split()

    def name_of(self, content: bytes) -> str:
        """Return the name of the object for this content; empty where git has no answer."""
        return (self._run(["hash-object", "--stdin"], stdin=content) or b"").decode().strip()

    def nested(self) -> list[Path] | None:
        """Return the directories of the repositories that are recorded in this one."""
        root = self.root
        answer = self._run(["ls-files", "--stage", "-z", "--full-name", ":/"])
        if root is None or answer is None:
            return None
        links = [entry for entry in answer.split(b"\0") if entry.startswith(b"160000 ")]
        return [root / os.fsdecode(link.partition(b"\t")[2]) for link in links]

    def records(self, paths: Sequence[str]) -> bool:
        """Return whether the index has files at or below one of these paths from the directory."""
        return bool(self._run(["ls-files", "-z", "--", *paths], literal=True))

    def has_unrecorded(self) -> bool:
        """Return whether `git add` may record repositories inside this one."""
        answer = self._run(["ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/"])
        # Git lists no file of another repository, but its directory.
        return answer is None or any(entry.endswith(b"/") for entry in answer.split(b"\0"))

    def names(self, revisions: Sequence[str] = ()) -> list[str] | None:
        """Return the paths from the topmost directory in the index and in these revisions, ranges with
        their common ancestor; unknown revisions are left out."""
        asked = [["ls-files", "-z", "--full-name", ":/"]]
        for revision in revisions:
            named = self._run(["rev-parse", "--revs-only", revision])
            if named is None:
                return None
            commits = [name.lstrip("^") for name in named.decode().split()]
            asked += [["ls-tree", "-r", "-z", "--name-only", "--full-tree", each] for each in commits]
        answers = list(map(self._run, asked))
        if None in answers:
            return None
        found = (path for answer in answers for path in (answer or b"").split(b"\0") if path)
        return [os.fsdecode(path) for path in dict.fromkeys(found)]

    def read(self, name: str, target: BinaryIO) -> bool:
        """Write the content of an object to a file; return whether that succeeded."""
        return self._run(["cat-file", "blob", name], target=target) is not None

    def settings_of(self, configuration: bytes) -> list[str] | None:
        """Return the settings in these bytes of a configuration file, each as `name`, newline, value."""
        answer = self._run(["config", "--file", "-", "--no-includes", "--list", "-z"], stdin=configuration)
        return None if answer is None else [os.fsdecode(each) for each in answer.split(b"\0") if each]

    def _without_attributes(self, paths: Collection[bytes]) -> set[bytes]:
        """Return those of the paths whose files git stores unchanged, except for line ends."""
        answer = self._ask_bytes(
            *("check-attr", "-z", "--stdin", "filter", "working-tree-encoding"),
            stdin=b"".join(path + b"\0" for path in paths),
            filters=False,
        )
        fields = (answer or b"").split(b"\0")
        plain = set(fields[:-1:3])
        converted = {
            path for path, value in zip(fields[:-1:3], fields[2::3], strict=False) if value not in _AS_IT_IS
        }
        return plain - converted

    def _status(self, arguments: Sequence[str], *, literal: bool) -> list[StatusEntry] | None:
        places = [Path(each) for each in arguments[arguments.index("--") + 1 :]] if literal else []
        if blocked(self.directory, places, below="--untracked-files=all" in arguments):
            return None
        root = self.root
        if root is None:
            return None
        flags = ("--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty")
        answer = self._ask("status", *flags, *arguments, literal=literal)
        if answer is None:
            return None
        return [
            StatusEntry(each[0], each[1], root / each[3:]) for each in answer.split("\0") if len(each) > 3
        ]


def _staged(answer: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield the ordinary files of the index, with their objects, except those that git is configured not to
    check."""
    for entry in answer.split(b"\0"):
        facts, _, path = entry.partition(b"\t")
        match facts.split(b" "):
            case [b"H", b"100644" | b"100755", name, b"0"]:
                yield path, name.decode()
            case _:
                pass


def _unquoted(name: str) -> str:
    """Unquote a name with odd characters as git prints it: in quotes, with escapes as in C."""
    if not name.startswith('"'):
        return name
    return os.fsdecode(os.fsencode(name[1:-1]).decode("unicode_escape").encode("latin-1"))
