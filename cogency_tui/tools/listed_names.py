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
from itertools import chain, product
from pathlib import Path

from cogency_tui.tools.file_trees import Link, outward
from cogency_tui.tools.git_facts import Answers, CachedRepository, Repository
from cogency_tui.tools.link_targets import moves_links
from cogency_tui.tools.name_lists import Listing, lists_names
from cogency_tui.tools.named_paths import placed
from cogency_tui.tools.odd_names import Splitting, is_odd, is_plain, leads_elsewhere, may_break
from cogency_tui.tools.programs import GIT_READING, PROGRAMS, facts
from cogency_tui.tools.shell_paths import MOST_LINK_ENTRIES, Places, leads_git
from cogency_tui.tools.shell_variables import before_name, is_name
from cogency_tui.tools.shell_words import LISTED, Simple, Word

_UNCERTAIN = re.compile(
    r"<\(|\bIFS\b(?!=\s+read\b)"
    r"|\b(?:alias|shopt|enable|hash|coproc|PATH|POSIXLY_CORRECT|QUOTING_STYLE|RIPGREP_CONFIG_PATH)\b"
)
"""What may have a list be another one than it looks like, or be taken apart in another way."""

_MOST_LISTS = 40
"""Different lists of one command that are looked at."""

_MOST_REVISIONS = 10
"""Different revisions that the lists of one command are of."""

_FUNCTION = re.compile(r"\bfunction\s++([\w.-]++)|(?<![\w.-])([\w.-]++)\s*+\(\s*+\)")
_CONTINUED = "\\\n"
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

_LISTING = ("fdfind", "git")
"""Programs that list names, besides those of which more is known."""

_TAKING_TEXT = frozenset(("basename", "dirname", "read"))
"""Programs that take names for text."""


def are_certain(command: str, commands: Sequence[Simple]) -> bool:
    """Whether what is piped into a part of a command is what the part before prints, and each program is the
    one of its name."""
    blocks = (simple for simple in commands if not simple.words)
    redirected = any(each.operator.startswith("<") for simple in blocks for each in simple.redirections)
    replaced = any(name in PROGRAMS or name in _LISTING for name in functions_in(command))
    return not (_UNCERTAIN.search(command) or redirected or replaced)


def functions_in(command: str) -> set[str]:
    """The names of the functions that a command makes."""
    return {found[1] or found[2] for found in _FUNCTION.finditer(command.replace(_CONTINUED, ""))}


class ListedNames:
    """The names that the parts of a command list, which are followed in their order."""

    def __init__(self, command: str, commands: Sequence[Simple]) -> None:
        self.piped: Listing | None = None
        """What the next part is given on its input."""
        self._certain = are_certain(command, commands)
        self._lists: dict[_List, None] = {}
        repeats = bool(_REPEATING.search(command))
        self._made = repeats and any(map(_makes_names, commands))
        self._moved = repeats and any(map(moves_links, commands))
        self._added = any(map(_adds_to_git, commands))
        self._git_is_led = any(map(leads_git, commands))
        self._refs_moved = repeats and any(map(_moves_refs, commands))
        self._answers = Answers()
        listings = (lists_names(simple, None) for simple in commands if simple.program == "git")
        self._revisions = tuple({each: None for listing in listings if listing for each in listing.revisions})
        """Those of all lists: git is asked once."""
        self._known = len(self._revisions) <= _MOST_REVISIONS
        """Whether it is known where all names are."""
        self._of_git: dict[Path, _GitNames | None] = {}
        self._git_names: dict[tuple[Path, ...], _GitNames | None] = {}
        self._git_links: dict[tuple[Path, ...], Sequence[Link]] = {}
        self._leading: dict[tuple[_List, tuple[Path, ...], frozenset[str]], bool] = {}
        self._breaking: dict[_List, bool] = {}

    def follow(self, simple: Simple, places: Places) -> None:
        """Take note of what a part lists, and of what it may make."""
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
                # What the shell makes of a pattern has names of its own.
                starts += tuple(places.directories)
            self._lists[_List(listing, starts, tuple(places.directories))] = None
            self._known &= len(self._lists) <= _MOST_LISTS
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
        """The links out of some directories that are among the names in these words, or on the way to what
        these name; those `below` them too. None where there is too much to look at."""
        trees = places.lookups.trees
        found: list[Link] = []
        for each in self._lists:
            for directory in self._seen(each, words, places, below=below):
                if not trees.below(directory).complete:
                    return None
                links = trees.outward(directory, roots)
                # Seen from elsewhere a name may go through a link.
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
        """The directories in which what these words name may lie, but for what git is known to have."""
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
        """The directories in which what its names alone name may lie."""
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
        """The names that git has; None where it lists none, or cannot say."""
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
    """A list of names, what it starts from, and where the command may be that makes it."""

    listing: Listing
    starts: tuple[Path, ...]
    directories: tuple[Path, ...]

    @property
    def sources(self) -> tuple[Path, ...]:
        """The directories whose names it has."""
        return self.starts or self.directories

    def moves(self, places: Places) -> bool:
        """Whether its names may be seen from more than one directory."""
        return len({*self.directories, *places.directories}) > 1

    def around(self, places: Places) -> tuple[Path, ...]:
        """All directories from which its names may be seen."""
        return tuple(dict.fromkeys((*self.starts, *self.directories, *places.directories)))


@dataclass(frozen=True)
class _GitNames:
    """The paths that git has, from the topmost directories of its repositories."""

    roots: tuple[Path, ...]
    paths: tuple[str, ...]

    @cached_property
    def odd(self) -> Sequence[str]:
        """The names in these paths that are not plain."""
        return [
            part for part in {part for path in self.paths for part in path.split("/")} if not is_plain(part)
        ]

    @cached_property
    def above(self) -> Set[str]:
        """The directories of these paths."""
        found = set[str]()
        for path in self.paths:
            above = path.rpartition("/")[0]
            while above and above not in found:
                found.add(above)
                above = above.rpartition("/")[0]
        return found

    @cached_property
    def may_break(self) -> bool:
        """Whether one of the paths may come to be anything but itself."""
        return any(map(may_break, self.odd))


def _names_in(repository: Repository, revisions: tuple[str, ...]) -> _GitNames | None:
    paths = repository.names(revisions)
    root = repository.root
    if root is None:
        return _GitNames((), ()) if paths is None else None
    return None if paths is None or len(paths) > MOST_LINK_ENTRIES else _GitNames((root,), tuple(paths))


def _links_among(names: Iterable[str], directories: Iterable[Path]) -> Iterator[str]:
    """The links among some paths, seen from several directories."""
    for place, name in product(directories, names):
        there = os.path.join(place, name)  # noqa: PTH118 (tens of thousands)
        if os.path.islink(there):  # noqa: PTH114 (tens of thousands)
            yield there


def _through(link: Link) -> Link:
    """A link on the way to a file, which is as good as one to it."""
    return Link(link.path, "file")


def _glues(before: str) -> bool:
    """Whether a name behind this text may come to be a path that begins elsewhere."""
    return before.endswith(".") or (before != "" and not before.strip("/"))


def _words(simple: Simple) -> Iterator[Word]:
    yield from simple.words
    yield from (each.target for each in simple.redirections)


def _parts(word: Word) -> list[str]:
    return (word.resolved or word.text).split("/")


def _makes_names(simple: Simple) -> bool:
    """Whether a part may make files of names that are odd, or not known beforehand. What runs code of its
    own may do so, too, but also anything else."""
    command = next((word.text for word in simple.operands("Cc")), "") if simple.program == "git" else ""
    branches = [word.text for word in simple.arguments[:-1]] in (["checkout", "-b"], ["switch", "-c"])
    if command and command not in GIT_READING | _KEEPING_NAMES and not branches:
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
