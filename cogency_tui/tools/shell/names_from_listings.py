"""Names of files that one part of a command lists and another takes as arguments.

They are used unchanged only if no name in the directory, or in git, is split into something that leads
elsewhere; and the present names are those of that time only if no earlier part creates others. The calls
block.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path

from cogency_tui.tools.shell.git_command import git_command
from cogency_tui.tools.shell.link_targets import moves_links
from cogency_tui.tools.shell.listing_commands import CommandListing, lists_names
from cogency_tui.tools.shell.named_paths import placed
from cogency_tui.tools.shell.programs import PROGRAMS, facts, git_with, programs_with
from cogency_tui.tools.shell.shell_variables import before_name, is_name
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word
from cogency_tui.tools.shell.unsafe_listed_names import (
    Link,
    Splitting,
    is_odd,
    is_plain,
    leads_elsewhere,
    may_break,
    outward,
)
from cogency_tui.tools.shell.word_paths import MOST_LINK_ENTRIES, Places, leads_git
from cogency_tui.workspace.git.cached_queries import CachedRepository, QueryCache
from cogency_tui.workspace.git.repository_queries import Repository

_UNCERTAIN = re.compile(
    r"<\(|\bIFS\b(?!=\s+read\b)"
    r"|\b(?:alias|shopt|enable|hash|coproc|PATH|POSIXLY_CORRECT|QUOTING_STYLE|RIPGREP_CONFIG_PATH)\b"
)
"""Text that may change a list, or how it is split."""

_MOST_LISTS = 40
"""Most lists of one command that are examined."""

_MOST_REVISIONS = 10
"""Most revisions of the lists of one command."""

_FUNCTION = re.compile(r"\bfunction\s++([\w.-]++)|(?<![\w.-])([\w.-]++)\s*+\(\s*+\)")
_CONTINUED = "\\\n"
_REPEATING = re.compile(r"\b(?:for|while|until|select|watch|trap)\b|\(\s*\)")
_MAKING_NAMED = programs_with("creates")
_MAKING_ANY = programs_with("unpacks")
_NAME_PRESERVING = git_with("reading", "keeps-names")
_MOVING_REFS = git_with("moves-refs")
_TAKING_TEXT = programs_with("text")


def are_certain(command: str, commands: Sequence[Simple]) -> bool:
    """Return whether the input of a part of a command is the output of the part before, and each program is
    the one of its name."""
    blocks = (simple for simple in commands if not simple.words)
    redirected = any(each.operator.startswith("<") for simple in blocks for each in simple.redirections)
    replaced = any(name in PROGRAMS for name in functions_in(command))
    return not (_UNCERTAIN.search(command) or redirected or replaced)


def functions_in(command: str) -> set[str]:
    """Return the names of the functions that a command defines."""
    return {found[1] or found[2] for found in _FUNCTION.finditer(command.replace(_CONTINUED, ""))}


class ListedNames:
    """The names that the parts of a command list; the parts are followed in their order."""

    def __init__(self, command: str, commands: Sequence[Simple]) -> None:
        self.piped: CommandListing | None = None
        """Names on the input of the next part."""
        self._certain = are_certain(command, commands)
        self._lists: dict[_List, None] = {}
        repeats = bool(_REPEATING.search(command))
        self._made = repeats and any(map(_makes_names, commands))
        self._moved = repeats and any(map(moves_links, commands))
        self._added = any(map(_adds_to_git, commands))
        self._git_is_led = any(map(leads_git, commands))
        self._refs_moved = repeats and any(map(_moves_refs, commands))
        self._answers = QueryCache()
        listings = (lists_names(simple, None) for simple in commands if simple.program == "git")
        self._revisions = tuple({each: None for listing in listings if listing for each in listing.revisions})
        """Revisions of all lists: git is asked once."""
        self._known = len(self._revisions) <= _MOST_REVISIONS
        """True if the directories of all names are known."""
        self._of_git: dict[Path, _GitNames | None] = {}
        self._git_names: dict[tuple[Path, ...], _GitNames | None] = {}
        self._git_links: dict[tuple[Path, ...], Sequence[Link]] = {}
        self._leading: dict[tuple[_List, tuple[Path, ...], frozenset[str]], bool] = {}
        self._breaking: dict[_List, bool] = {}

    def follow(self, simple: Simple, places: Places) -> None:
        """Record the names that a part lists, and those that it may create."""
        listing = lists_names(simple, self.piped)
        self.piped = listing if simple.piped and self._certain else None
        if listing is not None and not listing.chosen:
            found = [places.targets(word) for word in listing.starts]
            plain = not any(is_odd(part) for word in listing.starts for part in _parts(word))
            known = plain and places.known and None not in found and not self._made
            led = self._git_is_led or (self._refs_moved and bool(listing.revisions))
            self._known &= known and not (listing.of_git and led)
            starts = tuple(path for each in found for path in each or ())
            if any(word.pattern for word in listing.starts):
                # The shell's expansion of a pattern has names of its own.
                starts += tuple(places.directories)
            self._lists[_List(listing, starts, tuple(places.directories))] = None
            self._known &= len(self._lists) <= _MOST_LISTS
        self._made |= _makes_names(simple)
        self._moved |= moves_links(simple)
        self._refs_moved |= _moves_refs(simple)

    def lead_elsewhere(self, simple: Simple, splitting: Splitting, places: Places) -> bool:
        """Return whether a part may take names that are misread, or not known. `splitting` is how its list is
        split."""
        words = [word for word in _words(simple) if is_name(word)]
        as_text = "words" in facts(simple.program) or simple.program in _TAKING_TEXT
        if not words or (as_text and not simple.redirections):
            return False
        if not (self._certain and self._known) or (self._moved and self._has_links(places)):
            return True
        if any(_glues(before_name(word) or "") for word in words):
            return True
        own = simple.splitting or splitting
        ways: set[Splitting] = {own or ("xargs" if word is LISTED else "shell") for word in words}
        return any(self._may_lead_elsewhere(each, ways, places) for each in self._lists)

    def outward(
        self, words: Sequence[Word], places: Places, roots: Sequence[Path], *, below: bool
    ) -> Sequence[Link] | None:
        """Return the links out of some directories that are among the names in these words, or on the way
        to these names; those `below` them too. None where there are too many entries."""
        trees = places.lookups.trees
        found: list[Link] = []
        for each in self._lists:
            for directory in self._seen(each, words, places, below=below):
                if not trees.below(directory).complete:
                    return None
                links = trees.outward(directory, roots)
                # Seen from elsewhere, a name may go through a link.
                found += map(_through, links) if each.moves(places) else links
            found += self._links_of_git(each, places, roots)
        return list(dict.fromkeys(found))

    def _has_links(self, places: Places) -> bool:
        around = dict.fromkeys(path for each in self._lists for path in each.around(places))
        return any(places.lookups.trees.below(directory).links for directory in around)

    def _may_lead_elsewhere(self, each: "_List", ways: Set[Splitting], places: Places) -> bool:
        names = self._names_of_git(each, places)
        if each.listing.of_git and names is None:
            return True
        own = names is None or not names.roots or each.listing.others or self._added
        trees = [places.lookups.trees.below(directory) for directory in each.sources] if own else []
        if not all(tree.complete for tree in trees):
            return True
        ends = {"lines" if way == "nul" and each.listing.ends != "\0" else way for way in ways}
        if each.listing.ends == "\0" and ways != {"nul"}:
            # The shell joins the names.
            return True
        first = not each.listing.prefixed
        key = each, each.around(places), frozenset(ends)
        if key not in self._leading:
            parts = chain(names.odd if names is not None else (), *(tree.odd_names for tree in trees))
            self._leading[key] = any(
                leads_elsewhere(part, way, first=first) for part in parts for way in ends
            )
        return self._leading[key]

    def _seen(self, each: "_List", words: Sequence[Word], places: Places, *, below: bool) -> Iterable[Path]:
        """Return the directories that may contain what these words name, except for names that git is known
        to have."""
        found = dict[Path, None]()
        for word in words:
            place, _, _ = (before_name(word) or "").rpartition("/")
            there = (
                places.targets(Word("", known=False, resolved=f"{place}/")) if place and not below else None
            )
            if there is not None:
                found |= dict.fromkeys(there)
            elif below or before_name(word) is not None:
                found |= dict.fromkeys(each.around(places))
            else:
                found |= dict.fromkeys(self._seen_alone(each, places))
        return found

    def _seen_alone(self, each: "_List", places: Places) -> Iterable[Path]:
        """Return the directories that may contain what its names alone name."""
        names = self._names_of_git(each, places)
        if names is not None and names.roots:
            any_other = each.listing.others or self._added or names.may_break
            return each.around(places) if any_other else ()
        if each.moves(places):
            return each.around(places)
        if each not in self._breaking:
            trees = (places.lookups.trees.below(start) for start in each.starts)
            self._breaking[each] = any(may_break(name) for tree in trees for name in tree.odd_names)
        return each.starts if each.listing.prefixed and not self._breaking[each] else each.around(places)

    def _links_of_git(self, each: "_List", places: Places, roots: Sequence[Path]) -> Sequence[Link]:
        around = each.around(places)
        names = self._names_of_git(each, places)
        if names is None:
            return ()
        if around not in self._git_links:
            places_of_git = dict.fromkeys((*names.roots, *around))
            on_the_way = outward(_links_among(names.above, places_of_git), roots)
            own = outward(_links_among(set(names.paths) - names.above, places_of_git), roots)
            self._git_links[around] = [*map(_through, on_the_way), *own]
        return self._git_links[around]

    def _names_of_git(self, each: "_List", places: Places) -> "_GitNames | None":
        """Return the names in git; None where it lists none, or has no answer."""
        around = each.around(places)
        if not each.listing.of_git:
            return None
        if around not in self._git_names:
            found = [self._names_at(directory) for directory in around]
            known = [names for names in found if names is not None]
            topmost = dict.fromkeys(root for names in known for root in names.roots)
            paths = dict.fromkeys(path for names in known for path in names.paths)
            whole = len(known) == len(found)
            self._git_names[around] = _GitNames(tuple(topmost), tuple(paths)) if whole else None
        return self._git_names[around]

    def _names_at(self, directory: Path) -> "_GitNames | None":
        if directory not in self._of_git:
            repository = CachedRepository(directory, self._answers)
            self._of_git[directory] = _names_in(repository, self._revisions)
        return self._of_git[directory]


@dataclass(frozen=True, slots=True)
class _List:
    """A list of names, its starts, and the possible directories of the command that creates it."""

    listing: CommandListing
    starts: tuple[Path, ...]
    directories: tuple[Path, ...]

    @property
    def sources(self) -> tuple[Path, ...]:
        """Directories whose names it has."""
        return self.starts or self.directories

    def moves(self, places: Places) -> bool:
        """Return whether its names may be relative to more than one directory."""
        return len({*self.directories, *places.directories}) > 1

    def around(self, places: Places) -> tuple[Path, ...]:
        """Return all directories to which its names may be relative."""
        return tuple(dict.fromkeys((*self.starts, *self.directories, *places.directories)))


@dataclass(frozen=True)
class _GitNames:
    """The paths in git, from the topmost directories of its repositories."""

    roots: tuple[Path, ...]
    paths: tuple[str, ...]

    @cached_property
    def odd(self) -> Sequence[str]:
        """Names in these paths that are not plain."""
        return [
            part for part in {part for path in self.paths for part in path.split("/")} if not is_plain(part)
        ]

    @cached_property
    def above(self) -> Set[str]:
        """Directories of these paths."""
        found = set[str]()
        for path in self.paths:
            above = path.rpartition("/")[0]
            while above and above not in found:
                found.add(above)
                above = above.rpartition("/")[0]
        return found

    @cached_property
    def may_break(self) -> bool:
        """True if one of the paths may become anything but itself."""
        return any(map(may_break, self.odd))


def _names_in(repository: Repository, revisions: tuple[str, ...]) -> _GitNames | None:
    paths = repository.names(revisions)
    root = repository.root
    if root is None:
        return _GitNames((), ()) if paths is None else None
    return None if paths is None or len(paths) > MOST_LINK_ENTRIES else _GitNames((root,), tuple(paths))


def _links_among(names: Iterable[str], directories: Iterable[Path]) -> Iterator[str]:
    """Yield the links among some paths, relative to several directories."""
    for place, name in product(directories, names):
        there = os.path.join(place, name)  # noqa: PTH118 (tens of thousands)
        if os.path.islink(there):  # noqa: PTH114 (tens of thousands)
            yield there


def _through(link: Link) -> Link:
    """Return a link on the way to a file, which counts like one to it."""
    return Link(link.path, "file")


def _glues(before: str) -> bool:
    """Return whether a name behind this text may become a path that begins elsewhere."""
    return before.endswith(".") or (before != "" and not before.strip("/"))


def _words(simple: Simple) -> Iterator[Word]:
    yield from simple.words
    yield from (each.target for each in simple.redirections)


def _parts(word: Word) -> list[str]:
    return (word.resolved or word.text).split("/")


def _makes_names(simple: Simple) -> bool:
    """Return whether a part may create files with names that are odd, or not known beforehand. A program that
    runs code of its own may do so, too, but also anything else."""
    git = git_command(simple)
    command = git.words[0].text if git and git.words else ""
    branches = [word.text for word in simple.arguments[:-1]] in (["checkout", "-b"], ["switch", "-c"])
    if command and command not in _NAME_PRESERVING and not branches:
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
    return simple.program == "git" and any(word.text == "add" for word in simple.arguments)
