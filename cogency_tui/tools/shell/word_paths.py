"""The paths of the words of a shell command.

A word is resolved from every directory that the command may be in by then: after `(cd a && …); …` there are
two, after `cd a && …` only one. The calls block.
"""

import fnmatch
import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from cogency_tui.tools.shell.git_command import git_command
from cogency_tui.tools.shell.programs import letters_of, programs_with
from cogency_tui.tools.shell.shell_variables import TOPMOST
from cogency_tui.tools.shell.simple_command import Simple, Word, all_alternatives, alternatives
from cogency_tui.tools.shell.unsafe_listed_names import Trees
from cogency_tui.workspace.git.repository_queries import Repository

MOST = 5000
"""Most paths of one word that are resolved."""

MOST_PATHS = 10_000
"""Most paths that are resolved for one command."""

MOST_ENTRIES = 100_000
"""Most entries of directories that are read for one command."""

MOST_LINK_ENTRIES = 50_000
"""Most entries of directories that are checked for odd names, and links that one command follows."""

_DEEPEST_GLOB = 3
_MOST_PLACES = 20
LONGEST_PATH = 4096
"""Characters of the system's longest path."""

_REPEATING = re.compile(
    r"\b(?:for|while|until|select|function|xargs|parallel|watch|eval|source|alias|trap|mv|rename|chroot"
    r"|CDPATH|PWD|OLDPWD|shopt)\b|\(\s*\)|(?:^|[;&|(\s])[.!]\s"
)
"""Syntax with which a part may run twice, or be negated, or a directory be renamed while the command is in
it."""
_ENTERING = programs_with("enters")
_RUNNING_TEXT = programs_with("sources")
_SETTING = programs_with("names") | {"printf"}
"""Builtins that set the variables that their arguments name."""


class Lookups:
    """A budget of look-ups for one command, whose words and files may be hostile."""

    def __init__(self) -> None:
        self.used_up = False
        self.trees = Trees(MOST_LINK_ENTRIES)
        self._paths = MOST_PATHS
        self._entries = MOST_ENTRIES

    def path(self) -> bool:
        """Return whether one more path may be resolved."""
        self._paths -= 1
        self.used_up = self.used_up or self._paths < 0
        return not self.used_up

    def entry(self) -> bool:
        """Return whether one more entry of a directory may be read."""
        self._entries -= 1
        self.used_up = self.used_up or self._entries < 0
        return not self.used_up


class Places:
    """The directories that a command may be in: its start, and those that it changes to.

    With the text of the `command`, the part after `cd a &&` is only in that directory until its list ends,
    and everything after a `cd` with which the text begins is. Once `lookups` are used up, no word is known
    any more.
    """

    def __init__(self, start: Path, command: str = "", commands: Sequence[Simple] | None = None) -> None:
        """`commands` are all that the command runs there, where they are known."""
        self.directories = [start]
        self._others: list[Path] = []
        """Directories that it may be in after the list of commands that are joined by `&&`."""
        self._in_order = bool(command) and not _REPEATING.search(command) and "CDPATH" not in os.environ
        self._is_first = command.lstrip().startswith(("cd ", "mkdir "))
        self._made: list[Path] = []
        """Missing directories that the first command creates."""
        self._after_pipe = False
        self.lookups = Lookups()
        self.known = True
        """True if every directory is known that it changed to."""
        self._led = commands is None or any(map(leads_git, commands))
        self._topmost: dict[Path, Path | None] = {}

    def follow(self, simple: Simple) -> None:
        """Follow a `cd`, and the end of a list."""
        if simple.program in _ENTERING:
            self._go(simple)
        elif simple.program == "mkdir" and self._is_first and simple.then == "&&":
            operands = simple.operands(letters_of("value", "mkdir"))
            made = (path for word in operands for path in self.targets(word) or ())
            self._made = [path for path in made if not os.path.lexists(path)]
        if simple.then not in ("&&", "|", "|&"):
            self._add(self._others)
            self._others.clear()
        self._is_first, self._after_pipe = False, simple.piped

    def _go(self, simple: Simple) -> None:
        target = next(iter(simple.operands()), None if simple.arguments else Word(str(Path.home())))
        earlier = target is None or target.text[:1] in ("-", "+")
        found = None if target is None or earlier else self.targets(target)
        if found is None:
            self.known = False
            return
        there = [path for path in found if os.path.isdir(path) or path in self._made]  # noqa: PTH112 (too long a name is none)
        if self._goes_there(simple, there):
            left = [] if self._is_first else self.directories
            self._others = list(dict.fromkeys([*self._others, *left]))
            self.directories = there
        else:
            self._add(there)

    def _goes_there(self, simple: Simple, there: Sequence[Path]) -> bool:
        """Return whether the following commands are in one of these directories only."""
        follows = simple.then == "&&" or (self._is_first and simple.then in (";", "\n", "||"))
        plain = simple.program == "cd" and len(simple.arguments) == 1 and not simple.redirections
        exists = 0 < len(there) <= _MOST_PLACES and all(
            Path(os.path.realpath(path)) == path for path in there
        )
        return self._in_order and not self._after_pipe and follows and plain and exists

    def _add(self, directories: Iterable[Path]) -> None:
        for path in directories:
            if path not in self.directories and len(self.directories) < _MOST_PLACES:
                self.directories.append(path)

    def paths(self, word: Word) -> list[Path] | None:
        """Return the existing paths of a word; None where they are not known.

        The directory is resolved, the last component may be a link.
        """
        if not word.known or (not self.known and not word.text.startswith("/")):
            return None
        globbing = bool(word.pattern)
        if self._gives_up(word.pattern):
            return None
        names = alternatives(word.pattern) if globbing else [word.text]
        if names is None:
            return None
        found = (path for place in self.directories for path in self._expanded(place, names, globbing))
        there = dict.fromkeys(islice((path for path in found if os.path.lexists(path)), MOST))
        return None if self.lookups.used_up else list(there)

    def targets(self, word: Word) -> list[Path] | None:
        """Return the possible targets of a word, existing or not; None where they are not known."""
        pattern = word.resolved or word.pattern
        if not word.sure or not (self.known or (pattern or word.text).startswith("/")):
            return None
        if self._gives_up(pattern):
            return None
        names = all_alternatives(pattern) if pattern else [word.text]
        if names is None:
            return None
        seen = [(place, name) for place in self.directories for name in self._seen_from(place, names)]
        if any("\0" in name for _, name in seen):
            return None
        matched = (path for place, name in seen for path in self._expanded(place, [name], True))
        literal = (joined(place, name) for place, name in seen if name and self.lookups.path())
        globbing = any(map(glob.has_magic, names))
        found = dict.fromkeys([*islice(matched if globbing else (), MOST), *literal])
        return None if self.lookups.used_up else list(found)

    def _seen_from(self, place: Path, names: Iterable[str]) -> Iterator[str]:
        """Yield the names with the topmost directory of the repository inserted, where that is known."""
        for name in names:
            root = self._repository(place) if name.startswith(TOPMOST) else None
            yield name.replace(TOPMOST, str(root), 1) if root else name

    def _repository(self, place: Path) -> Path | None:
        """Return the topmost directory of the repository around a place; None where that is not known."""
        if not self._led and place not in self._topmost:
            root = Repository(place).root
            self._topmost[place] = None if root is None or glob.has_magic(str(root)) else root
        return self._topmost.get(place)

    def _gives_up(self, pattern: str) -> bool:
        """Return whether this is not resolved, for its length or because the budget is used up."""
        if len(pattern) > LONGEST_PATH:
            self.lookups.used_up = True
        return self.lookups.used_up

    def all_of(self, words: Iterable[Word]) -> tuple[list[Path], bool]:
        """Return the paths of several words, and whether all of them are known."""
        found = [self.paths(word) for word in words]
        return [path for each in found for path in each or ()], None not in found

    def _expanded(self, place: Path, names: list[str], globbing: bool) -> Iterator[Path]:
        for name in names:
            if not name or "\0" in name or len(name) > LONGEST_PATH:
                continue
            if not globbing or not glob.has_magic(name):
                matches: Iterable[str] = (name,)
            elif sum(map(glob.has_magic, name.split("/"))) <= _DEEPEST_GLOB:
                matches = sorted(islice(_matches(place, name.split("/"), self.lookups), MOST))
            else:
                # Listing so many would take minutes: the directory above represents them.
                matches = (_above(name),)
            for match in matches:
                if not self.lookups.path():
                    return
                yield joined(place, match)


def leads_git(simple: Simple) -> bool:
    """Return whether a command may make git use another directory as the working tree."""
    if git := git_command(simple):
        return git.words[:1] == (Word("config"),) or simple.has("c")
    words = (*simple.words, *simple.assignments)
    unwritten = simple.program in _SETTING and not all(word.known or "=" in word.text for word in words)
    return unwritten or simple.program in _RUNNING_TEXT or any("GIT_" in word.text for word in words)


def resolved(path: Path) -> Path:
    """Return the path with the links on the way to it resolved, but not its own."""
    if path.name in ("", "..", "."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent), path.name)


def joined(place: Path, text: str) -> Path:
    """Return the path of a word with this text, seen from `place`."""
    ending = text.rstrip("/")
    path = resolved(Path(place, ending or text))
    # A slash at the end means the target of a link.
    return Path(os.path.realpath(path)) if ending and ending != text else path


def _matches(place: Path, parts: Sequence[str], lookups: Lookups, above: str = "") -> Iterator[str]:
    """Yield the paths below `place` that match a pattern in `parts`, as the shell matches them."""
    first = next((index for index, part in enumerate(parts) if glob.has_magic(part)), None)
    if first is None:
        yield above + "/".join(parts)
        return
    above += "".join(f"{part}/" for part in parts[:first])
    part, rest = parts[first], parts[first + 1 :]
    matching = re.compile(fnmatch.translate(part)).match
    if part.startswith(".") and matching(".."):
        # Not in a bash of today, but in other and older shells.
        yield from _matches(place, rest, lookups, f"{above}../") if rest else (f"{above}..",)
    try:
        with os.scandir(Path(place, above)) as entries:
            for entry in entries:
                if not lookups.entry():
                    return
                hidden = entry.name.startswith(".") and not part.startswith(".")
                if hidden or not matching(entry.name):
                    continue
                if not rest:
                    yield above + entry.name
                elif entry.is_dir():
                    yield from _matches(place, rest, lookups, f"{above}{entry.name}/")
    except OSError:
        return


def _above(name: str) -> str:
    parts = name.split("/")
    first = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:first]) or ("/" if name.startswith("/") else ".")
