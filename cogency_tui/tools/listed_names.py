"""Names of files that one part of a command lists and another is given.

They are what they look like only if nothing in the directory, or in git, has a name that is taken apart into
something that leads elsewhere; and what is there now is there by then only if nothing before makes more. The
calls block.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cogency_tui.tools.git_facts import Repository
from cogency_tui.tools.link_targets import moves_links
from cogency_tui.tools.name_lists import Listing, lists_names
from cogency_tui.tools.named_paths import placed
from cogency_tui.tools.odd_names import Splitting, is_odd, leads_elsewhere
from cogency_tui.tools.programs import GIT_READING, PROGRAMS, facts
from cogency_tui.tools.shell_paths import MOST_LINK_ENTRIES, Places, leads_git
from cogency_tui.tools.shell_variables import is_name
from cogency_tui.tools.shell_words import LISTED, Simple, Word

_UNCERTAIN = re.compile(
    r"<\(|\bIFS=(?!\s+read\b)|\b(?:alias|shopt|enable|hash|coproc|PATH|QUOTING_STYLE|RIPGREP_CONFIG_PATH)\b"
)
"""What may have a list be another one than it looks like, or be taken apart in another way."""

_FUNCTION = re.compile(r"(?:^|[\s;&|])(?:function\s+([\w.-]+)|([\w.-]+)\s*\(\s*\))")
_REPEATING = re.compile(r"\b(?:for|while|until|select|watch|trap)\b|\(\s*\)")
_MAKING_NAMED = frozenset(
    ("cp", "dd", "install", "ln", "mkdir", "mkfifo", "mknod", "mv", "rsync", "tee", "touch")
)
"""Programs that make files of the names that they are given."""

_MAKING_ANY = frozenset(
    ("7z", "ar", "bsdtar", "bunzip2", "cpio", "csplit", "gunzip", "patch", "pax", "prename", "rename")
    + ("split", "tar", "unar", "unrar", "unxz", "unzip")
)
"""Programs that make files of names that are not in the command."""

_KEEPING_NAMES = frozenset(("add", "commit", "mv", "push", "rm", "stage"))
"""Commands of git that write, after which nothing has a name that neither the directory nor git had."""

_MOVING_REFS = frozenset(("branch", "notes", "push", "reflog", "remote", "tag"))
"""Those after which a revision may be another one, besides those that make files."""

_TAKING_TEXT = frozenset(("basename", "dirname", "read"))
"""Programs that take names for text."""


def are_certain(command: str, commands: Sequence[Simple]) -> bool:
    """Whether what is piped into a part of a command is what the part before prints, and each program is the
    one of its name."""
    functions = (found[1] or found[2] for found in _FUNCTION.finditer(command))
    redirected = (
        each
        for simple in commands
        if not simple.words
        for each in simple.redirections
        if _is_input(each.operator)
    )
    return not (_UNCERTAIN.search(command) or any(name in PROGRAMS for name in functions) or any(redirected))


def _is_input(operator: str) -> bool:
    return operator.startswith("<")


class ListedNames:
    """The names that the parts of a command list, which are followed in their order."""

    def __init__(self, command: str, commands: Sequence[Simple]) -> None:
        self.piped: Listing | None = None
        """What the next part is given on its input."""
        self._certain = are_certain(command, commands)
        self._lists: list[_List] = []
        repeats = bool(_REPEATING.search(command))
        self._made = repeats and any(map(_makes_names, commands))
        self._moved = repeats and any(map(moves_links, commands))
        self._added = any(map(_adds_to_git, commands))
        self._git_is_led = any(map(leads_git, commands))
        self._refs_moved = repeats and any(map(_moves_refs, commands))
        self._known = True
        """Whether it is known where all names are."""
        self._of_git: dict[tuple[Path, tuple[str, ...]], _GitNames | None] = {}

    def follow(self, simple: Simple, places: Places) -> None:
        """Take note of what a part lists, and of what it may make."""
        listing = lists_names(simple, self.piped)
        self.piped = listing if simple.piped and self._certain else None
        if listing is not None:
            found = [places.targets(word) for word in listing.starts]
            plain = not any(is_odd(part) for word in listing.starts for part in _parts(word))
            known = plain and places.known and None not in found and not self._made
            led = self._git_is_led or (self._refs_moved and bool(listing.revisions))
            self._known &= known and not (listing.of_git and led)
            starts = tuple(path for each in found for path in each or ())
            self._lists.append(_List(listing, starts, tuple(places.directories)))
        self._made |= _makes_names(simple)
        self._moved |= moves_links(simple)
        self._refs_moved |= _moves_refs(simple)

    def lead_elsewhere(self, simple: Simple, splitting: Splitting, places: Places) -> bool:
        """Whether a part may be given names that are taken for something else, or are not known. `splitting`
        is how the list is taken apart that it reads."""
        words = [word for word in _words(simple) if is_name(word)]
        as_text = "words" in facts(simple.program) or simple.program in _TAKING_TEXT
        if not words or (as_text and not simple.redirections):
            return False
        if not (self._certain and self._known) or (self._moved and any(self.links(places))):
            return True
        own = simple.splitting or splitting
        ways: set[Splitting] = {own or ("xargs" if word is LISTED else "shell") for word in words}
        return any(self._may_lead_elsewhere(each, ways, places) for each in self._lists)

    def links(self, places: Places, *, below: bool = False) -> Iterator[Path]:
        """The links that are among the names, or on the way to what they name; those `below` them too."""
        for each in self._lists:
            names = self._names_of_git(each, places)
            if names is not None:
                yield from _links_on_the_way(names, each.around(places))
            for directory in each.around(places) if below else self._walked(each, names, places):
                yield from places.lookups.trees.below(directory).links

    def _may_lead_elsewhere(self, each: "_List", ways: Set[Splitting], places: Places) -> bool:
        names = self._names_of_git(each, places)
        if each.listing.of_git and names is None:
            return True
        trees = [places.lookups.trees.below(directory) for directory in self._walked(each, names, places)]
        if not all(tree.complete for tree in trees):
            return True
        parts = [path.name for tree in trees for path in tree.odd]
        parts += [] if names is None else [part for part in names.parts if is_odd(part)]
        ends = {"lines" if way == "nul" and each.listing.ends != "\0" else way for way in ways}
        first = not each.listing.prefixed
        return any(leads_elsewhere(part, way, first=first) for part in parts for way in ends)

    def _walked(self, each: "_List", names: "_GitNames | None", places: Places) -> Iterable[Path]:
        """The directories whose names are those of a list, or what its names come to."""
        trees = places.lookups.trees
        if names is not None and names.roots:
            other = each.listing.others or self._added or any(map(is_odd, names.parts))
            return each.around(places) if other else ()
        if each.listing.prefixed and not any(trees.below(start).odd for start in each.starts):
            return each.starts
        return each.around(places)

    def _names_of_git(self, each: "_List", places: Places) -> "_GitNames | None":
        """The names that git has; None where it lists none, or cannot say."""
        if not each.listing.of_git:
            return None
        found: list[_GitNames] = []
        for directory in each.around(places):
            key = directory, each.listing.revisions
            if key not in self._of_git:
                self._of_git[key] = _names_in(Repository(directory), each.listing.revisions)
            names = self._of_git[key]
            if names is None:
                return None
            found.append(names)
        roots = tuple(root for names in found for root in names.roots)
        return _GitNames(roots, tuple(path for names in found for path in names.paths))


@dataclass(frozen=True, slots=True)
class _List:
    """A list of names, what it starts from, and where the command may be that makes it."""

    listing: Listing
    starts: tuple[Path, ...]
    directories: tuple[Path, ...]

    def around(self, places: Places) -> tuple[Path, ...]:
        """All directories from which its names may be seen."""
        return tuple(dict.fromkeys((*self.starts, *self.directories, *places.directories)))


@dataclass(frozen=True)
class _GitNames:
    """The paths that git has, from the topmost directories of its repositories."""

    roots: tuple[Path, ...]
    paths: tuple[str, ...]

    @cached_property
    def parts(self) -> Set[str]:
        """The names in these paths."""
        return {part for path in self.paths for part in path.split("/")}


def _names_in(repository: Repository, revisions: tuple[str, ...]) -> _GitNames | None:
    paths = repository.names(revisions)
    root = repository.root
    if root is None:
        return _GitNames((), ()) if paths is None else None
    return None if paths is None or len(paths) > MOST_LINK_ENTRIES else _GitNames((root,), tuple(paths))


def _links_on_the_way(names: _GitNames, directories: Iterable[Path]) -> Iterator[Path]:
    """The links that some paths are or go through, seen from several directories."""
    seen = set[str]()
    for path in names.paths:
        while path and path not in seen:
            seen.add(path)
            path = path.rpartition("/")[0]
    for place in dict.fromkeys((*names.roots, *directories)):
        for path in seen:
            there = os.path.join(place, path)  # noqa: PTH118 (tens of thousands)
            if os.path.islink(there):  # noqa: PTH114 (tens of thousands)
                yield Path(there)


def _words(simple: Simple) -> Iterator[Word]:
    yield from simple.words
    yield from (each.target for each in simple.redirections)


def _parts(word: Word) -> list[str]:
    return (word.resolved or word.text).split("/")


def _makes_names(simple: Simple) -> bool:
    """Whether a part may make files of names that are odd, or not known beforehand. What runs code of its
    own may do so, too, but also anything else."""
    command = next((word.text for word in simple.operands("Cc")), "") if simple.program == "git" else ""
    if command and command not in GIT_READING | _KEEPING_NAMES:
        return True
    if simple.program in ("bsdtar", "tar"):
        first = simple.arguments[0].text if simple.arguments else ""
        return simple.has("x", "extract", "get") or ("x" in first and not first.startswith("-"))
    made = [each.target for each in simple.redirections if each.writes] + placed(simple)
    if simple.program in _MAKING_NAMED or command == "mv":
        made += simple.operands()
    unknown = (word for word in made if word is not LISTED)
    return simple.program in _MAKING_ANY or any(map(_is_odd_path, unknown))


def _is_odd_path(word: Word) -> bool:
    return not word.sure or any(part == ".." or is_odd(part) for part in _parts(word))


def _moves_refs(simple: Simple) -> bool:
    return simple.program == "git" and any(word.text in _MOVING_REFS for word in simple.arguments)


def _adds_to_git(simple: Simple) -> bool:
    return simple.program == "git" and any(word.text in ("add", "stage") for word in simple.arguments)
