"""What a command of the shell is about to destroy (safety.md, promise 4).

Best effort, by the programs that people lose work with: `rm`, `unlink`, `shred`, `truncate`, `dd`, `mv`,
`cp`, `install`, `ln -f`, `tee`, `rsync --delete`, `find -delete`, redirections, programs that make file
systems, and git (`git_destruction`). Wherever they stand in the command they are found, also behind `sudo`,
`xargs`, `sh -c` and in substitutions. Not seen is what another program does by itself (a script, `make
clean`, `python -c …`), an alias, and what variables stand for in `mv`, `cp`, `tee` and redirections.
"""

import fnmatch
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from cogency_tui.store.versions import Version
from cogency_tui.tools.command_line import MOST as MOST_COMMANDS
from cogency_tui.tools.command_line import is_found, parse
from cogency_tui.tools.find_expression import PRINTING, REMOVING, Expression
from cogency_tui.tools.git_destruction import examine_git
from cogency_tui.tools.listed_names import are_certain
from cogency_tui.tools.moved_files import MovedFiles
from cogency_tui.tools.name_lists import lists_names
from cogency_tui.tools.odd_names import Splitting, breaks
from cogency_tui.tools.shell_paths import MOST, Places, joined
from cogency_tui.tools.shell_scan import MOST_WORDS
from cogency_tui.tools.shell_variables import is_new_temporary
from cogency_tui.tools.shell_words import LISTED, TOO_DEEP, TOO_MANY, Simple, Word
from cogency_tui.tools.stakes import AtStake, Stakes
from cogency_tui.workspace.names import shown
from cogency_tui.workspace.paths import Workspace

UNKNOWN = "files whose names are not known beforehand"
_UNREADABLE = {
    TOO_DEEP: "what it does cannot be told: it is nested too deeply",
    TOO_MANY: f"what is after its first {MOST_COMMANDS:,} commands or {MOST_WORDS:,} words is not looked at",
}
_BRANCHING = re.compile(r"\|\||\b(?:case|for|if|until|while)\b")
"""What makes it uncertain that a part of a command runs."""


def at_stake(
    command: str,
    cwd: Path,
    workspace: Workspace,
    made: Mapping[Path, Version] | None = None,
    moved: MovedFiles | None = None,
) -> AtStake:
    """What would be lost if `command` ran in `cwd` (resolved), as things stand now. Blocks.

    `made` are files that the agent made, with what it left in them: as far as they are as it left them,
    nothing is lost with them. `moved` are files that are lost with whatever directory they are in by now.
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
        elif simple.program in ("cp", "install", "ln", "mv"):
            _copy(simple, places, stakes, moves, sure=sure)
        elif simple.program in ("rm", "srm", "unlink"):
            found = before if before is not None and (certain or not before.piped) else None
            if found is None or not _remove_found(found, simple, places, stakes):
                _remove(
                    simple if fills else _without_temporary(simple, places, stakes), places, stakes, moves
                )
        elif examine := _PROGRAMS.get(simple.program):
            examine(simple, places, stakes)
        places.follow(simple)
        before = simple
    if places.lookups.used_up:
        stakes.add(UNKNOWN)
    return stakes.result()


class Moves:
    """Where an earlier part of the command has moved what there is: two files may change places."""

    def __init__(self) -> None:
        self._origins: dict[Path, Path | None] = {}

    def move(self, source: Path, target: Path) -> None:
        """Note that what is at `source` by then goes to `target`."""
        self._origins |= {target: self.origin(source), source: None}

    def origin(self, path: Path) -> Path | None:
        """Where what is at a path by then is now; None where nothing is there by then."""
        for above in (path, *path.parents):
            if above in self._origins:
                origin = self._origins[above]
                return None if origin is None else origin / path.relative_to(above)
        return path

    def there(self, words: Sequence[Word], places: Places, *, whole: bool = False) -> list[Path]:
        """Where what words stand for by then is now; with `whole` also what was moved into it."""
        found = places.all_of(words)[0]
        for path in self._origins:
            names = (path, *path.parents) if whole else (path,)
            if any(_may_be(word, name, places) for word in words for name in names):
                found.append(path)
        return [origin for path in dict.fromkeys(found) if (origin := self.origin(path)) is not None]


def _may_be(word: Word, path: Path, places: Places) -> bool:
    """Whether a word may come to stand for a path."""
    names = (str(joined(place, word.pattern or word.text)) for place in places.directories)
    return word.known and any(fnmatch.fnmatchcase(str(path), name) for name in names)


def _remove(simple: Simple, places: Places, stakes: Stakes, moves: Moves) -> None:
    whole = simple.has("rR", "recursive")
    stakes.add_files(moves.there(simple.operands(), places, whole=whole), whole=whole)
    if not places.all_of(simple.operands())[1]:
        stakes.add(UNKNOWN)


def _without_temporary(simple: Simple, places: Places, stakes: Stakes) -> Simple:
    """The command without what `mktemp` made for it, and what it names itself for temporary files."""
    left = (
        word
        for word in simple.words
        if not (is_new_temporary(word) or _is_named_temporary(word, places, stakes))
    )
    return replace(simple, words=tuple(left))


def _is_named_temporary(word: Word, places: Places, stakes: Stakes) -> bool:
    """Whether a word that only the shell knows names a temporary file all the same: `/tmp/x.$$`."""
    begun = word.certain.startswith(("/tmp/", f"{tempfile.gettempdir()}/"))
    found = places.targets(word) if begun and not word.known else None
    return bool(found) and all(map(stakes.is_temporary, found or ()))


def _moves_unknown(simple: Simple) -> bool:
    """Whether a part of a command may move something into a directory that is not known beforehand."""
    words = simple.arguments
    if any(word.text.startswith("--remove") for word in words):
        return True
    into = words if simple.has("t", "target-directory") else simple.operands()[-1:]
    moves = {"cd": words, "pushd": words, "mv": into}.get(simple.program, ())
    return not all(word.known and not word.pattern for word in moves)


def _remove_found(find: Simple, simple: Simple, places: Places, stakes: Stakes) -> bool:
    """Remove what the `find` before finds; whether that is all that a command removes."""
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
    _spoil(simple.operands("ns"), places, stakes)


def _truncate(simple: Simple, places: Places, stakes: Stakes) -> None:
    _spoil(simple.operands("sr"), places, stakes)


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
    """What is overwritten. What a move has taken away before is kept, should that fail, but is no loss."""
    if simple.has("nb", "no-clobber", "backup") or (simple.program == "ln" and not simple.has("f", "force")):
        return
    operands = simple.operands("tSmog")
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
    stakes.keep(path for path, origin in origins.items() if origin != path)
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
    """Destroy what these actions of `find` reach. `splitting` is how a list of it is taken apart."""
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
    looked_at = takewhile(lambda _each: places.lookups.entry(), walked)
    found = [(path, below) for path, reached, below in looked_at if reached]
    # With `-delete` directories go only once they are empty.
    whole = actions & (expression.actions or {"-print"}) != {"-delete"}
    stakes.add_files((path for path, _ in found[:MOST]), whole=whole)
    texts = (*(start.text for start in expression.starts), *(str(below) for _, below in found))
    if any(breaks(text, splitting) for text in texts):
        stakes.add(UNKNOWN)


def _rsync(simple: Simple, places: Places, stakes: Stakes) -> None:
    operands = simple.operands("e")
    if len(operands) < 2 or not any(word.text.startswith("--del") for word in simple.arguments):
        return
    for path in places.paths(operands[-1]) or ():
        stakes.add(f"what is in {shown(path.name)}/ and not in what is copied there", [path])


def _format(simple: Simple, places: Places, stakes: Stakes) -> None:
    for path in places.all_of(simple.operands("tLbO"))[0]:
        if path.is_absolute() and path.is_block_device():
            stakes.add(f"everything on {shown(str(path))}")
        else:
            _overwritten([path], stakes)


def _overwritten(paths: Iterable[Path], stakes: Stakes) -> None:
    for path in paths:
        # Written is what a link leads to.
        target = Path(os.path.realpath(path))
        try:
            mode = target.stat().st_mode
        except OSError:
            continue
        if stat.S_ISBLK(mode):
            stakes.add(f"everything on {shown(str(target))}")
        else:
            stakes.add_contents([target])


_FORMATTING = frozenset(("blkdiscard", "fdisk", "mkswap", "parted", "sfdisk", "sgdisk", "wipefs"))

_PROGRAMS: dict[str, Callable[[Simple, Places, Stakes], None]] = {
    "dd": _dd,
    "find": _find,
    "rsync": _rsync,
    "shred": _shred,
    "tee": _tee,
    "truncate": _truncate,
    "wipe": _shred,
}
