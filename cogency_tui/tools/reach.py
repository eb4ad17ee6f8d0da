"""What a command of the shell goes to beyond the project: the network, paths outside, guarded files.

Best effort, by what the command names: programs that go to the network by themselves, words that are paths.
It is for asking, and no boundary: any program may go anywhere (only a sandbox holds it). The calls block.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from cogency_tui.protocol.sources import Sources
from cogency_tui.tools.command_line import SHELLS, option_values, parse
from cogency_tui.tools.confinement import alters, unconfined
from cogency_tui.tools.indirect_network import indirect_network, is_local, settings_in, written_names
from cogency_tui.tools.indirect_reads import IndirectReads, indirect_reads
from cogency_tui.tools.listening_ports import ListeningPorts
from cogency_tui.tools.loopback import Visit, visit
from cogency_tui.tools.programs import (
    GIT_READING,
    PLACE_OPTIONS,
    base_name,
    facts,
    goes_to_network,
    is_interpreter,
)
from cogency_tui.tools.shell_paths import LONGEST_PATH, Places, joined
from cogency_tui.tools.shell_variables import NameLoop, lists_names
from cogency_tui.tools.shell_words import LISTED, TOO_MANY, Simple, Word
from cogency_tui.tools.system_files import is_home, is_own_temporary, is_public
from cogency_tui.workspace.names import protected, shown
from cogency_tui.workspace.paths import Location, Workspace

_TOO_LONG = "the command: it names too much to be looked at"
_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd(?:/\d+)?)|/proc/self/fd/\d+"
)
_OPTION_PATH = re.compile(r"-[A-Za-z]+((?:/|~|\.\.).*)|(?:--?)?[\w.-]+=(.*)")

_BUNDLE = re.compile(r"-[A-Za-z]")
_MOST_LETTERS = 8

_INLINE = re.compile(r"://|\bsocket\b|\burllib\b|\brequests\b|\bhttp\b|\bfetch\(", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/")
_SERVES_FILES = ("-m", "http.server")
_SERVES_OTHERS = "{} -m http.server, which serves other machines too without --bind 127.0.0.1"
_BINDING = re.compile(r"(?:--bind[= ]|-b ?)(?:localhost|127\.0\.0\.1|::1)")
_REROUTED = re.compile(r"(?<!--no)proxy|curlrc|wgetrc|curl_home|xdg_config|\bHOME=", re.IGNORECASE)
"""What in a command may lead a client that names this machine elsewhere."""

_INSTALLED = "node_modules/.bin/"
_NOT_FETCHING = frozenset(("--", "--no", "--no-install", "--offline"))
_PLAIN_NAME = re.compile(r"\w[\w.-]*")

_OWN_NAMES = ("cogency-tui", "cogency_tui")
_OWN_LIMITS = frozenset(("config", "permissions", "trust"))
"""Commands of this program by which a person says what the agent may do."""

_COPYING = frozenset(("cp", "install", "ln", "mv", "rsync"))
"""Programs that write their last operand."""

_SAYING_FIRST = frozenset(("chgrp", "chmod", "chown", "sed"))
"""Programs whose first operand is no file."""

_OUTPUT = "--output"
_EXCLUDING = re.compile(r"--?(?:exclude|ignore|i?glob|prune|not|skip)[\w-]*|-[EIx]")
"""Options whose values are names to pass over."""

_TOKEN = re.compile(r"[\w.~@+-]*(?:/[\w.~@+-]+)+|\.?[\w-]+(?:\.[\w-]+)+|\.[\w-]+")
_WRITING = re.compile(
    r"writ|open\([^)]*[\"'][rbt]*[wax][bt]*\+?[\"']|unlink|remove|rename|replace\(|copy|move|mkdir|link|chmod"
    r"|append|trunc|>|dump|save|makedirs|rmtree|extract|system|popen|subprocess|spawn|exec|\bw\b|touch",
    re.IGNORECASE,
)
"""What code has that writes files."""

_LONGEST_BUNDLE = 64
_BUNDLED_OUTPUT = re.compile(r"-[A-Za-z]+?o")
_PATCHING = frozenset(("git", "patch"))

_UNSURE = "where it writes is known only when it runs, and may be outside the project"
_PATTERN_FIRST = frozenset(("ack", "ag", "awk", "egrep", "fgrep", "gawk", "grep", "jq", "rg", "sed", "tr"))


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command names: as `network` the program that goes there, as `outside` a path outside the
    project, as `guarded` why one that it may write is asked about in every mode. `neighbour` is the server on
    this machine that the program reaches, where the conversation did not start it and the command goes
    nowhere else; `brings` is whose content its output has, and `could_bring` the first program that is not
    known to bring none. Each is empty where there is none."""

    network: str = ""
    outside: str = ""
    guarded: str = ""
    brings: str = ""
    could_bring: str = ""
    neighbour: str = ""

    @property
    def sources(self) -> Sources:
        """What it brings, and what could bring more."""
        return Sources(*((name,) if name else () for name in (self.brings, self.could_bring)))


class _Named(NamedTuple):
    """A path that a command names, whether the command may read it, and whether it may write it."""

    location: Location
    reads: bool
    writes: bool


def reach(command: str, cwd: Path, workspace: Workspace, ports: ListeningPorts | None = None) -> Reach:
    """What `command` names if it runs in `cwd` (resolved). With `ports` this machine is no network, but for
    the servers on it that the conversation did not start."""
    places = Places(cwd)
    network = brings = outside = guarded = neighbour = neighbours_client = ""
    could_bring = alters(command)
    settings = settings_in(command)
    made = frozenset[str]()
    listed = False
    listing: list[Location] = []
    loop = NameLoop(command)
    if _REROUTED.search(command):
        ports = None
    for written_out in parse(command):
        simple = loop.follow(_as_installed(written_out, places), listed=listed)
        reading = indirect_reads(simple, places, (workspace.root, *workspace.added), listed=listed)
        program = _network_program(simple)
        reads = "reader" in facts(program) or is_interpreter(program) or _opens_device(simple)
        written = _written_in(simple, command)
        local = visit(simple) if program and ports is not None and not _opens_device(simple) else None
        source = program
        if local is None or ports is None:
            indirect = indirect_network(simple, command, places, made)
            network = network or program or indirect or settings.of(simple)
        else:
            source, stranger = _stranger(local, ports)
            if stranger and not neighbour:
                neighbour, neighbours_client = f"{source}, which belongs to {stranger}", program
        made |= written_names(simple)
        brings = brings or (source if reads else written) or reading.unknown
        could_bring = could_bring or ("" if local else unconfined(simple))
        guarded = guarded or _own_limits(simple)
        guarded = guarded or _unsure(simple, places, listed=listed)
        given = listing if any(word is LISTED for word in simple.words) and not _only_reads(simple) else []
        listed = loop.entered or lists_names(simple, piped=listed)
        listing = listing if listed else []
        through = _through(reading, places, workspace)
        piped = (_Named(each, reads=False, writes=True) for each in given)
        for location, read, written_to in chain(_named(simple, places, workspace), through, piped):
            listing += [location] if listed else []
            if not location.inside:
                read_only = read and location.asked not in _targets(_placed(simple), places)
                if _is_free(location.path, simple, workspace, read=read_only):
                    # Its names, or its text, may have come from anywhere at first.
                    own = read and not is_public(location.path, simple.program)
                    could_bring = could_bring or (location.relative if own else "")
                    continue
                outside = outside or location.relative
                brings = brings or (location.relative if read else "")
            if written_to and (reason := workspace.guard(location)):
                guarded = guarded or f"{location.relative}: {reason}"
        guarded = guarded or _named_in_code(simple, workspace)
        places.follow(simple)
        if simple == TOO_MANY or places.lookups.used_up:
            guarded = guarded or _TOO_LONG
    if network:
        neighbour = ""
    return Reach(network or neighbours_client, outside, guarded, brings, could_bring, neighbour)


def _targets(words: Iterable[Word], places: Places) -> set[Path]:
    return {path for word in words for path in places.targets(word) or ()}


def _is_free(path: Path, simple: Simple, workspace: Workspace, *, read: bool) -> bool:
    """Whether a path outside needs no question."""
    if read and is_public(path, simple.program):
        return True
    lists_home = read and simple.program == "ls" and not simple.has("R", "recursive") and is_home(path)
    return lists_home or is_own_temporary(path, workspace.root)


def _through(reading: IndirectReads, places: Places, workspace: Workspace) -> Iterator[_Named]:
    """The paths that a command reads without naming them."""
    for path in reading.paths:
        location = Location(path.resolve(), shown(str(path.resolve())), False, path)
        yield _Named(location, reads=True, writes=False)
    for word in reading.words:
        for location in _located(word, places, workspace, written=False):
            yield _Named(location, reads=True, writes=False)


def _written_in(simple: Simple, command: str) -> str:
    """The interpreter, where the program that it is given on its input goes to the network."""
    given = any(redirection.operator.startswith("<<") for redirection in simple.redirections)
    if given and is_interpreter(simple.program) and _INLINE.search(command):
        return simple.program
    return ""


def _stranger(local: Visit, ports: ListeningPorts) -> tuple[str, str]:
    """The first address of a visit whose server the conversation did not start, and whose that is."""
    for address in local.addresses:
        if stranger := ports.stranger(address.port):
            return str(address), stranger
    return "", ""


def _network_program(simple: Simple) -> str:
    """The program, where it goes to the network by what it is or by what it is told."""
    program = simple.program
    if _opens_device(simple):
        return program or "the shell"
    if is_local(simple):
        return ""
    if "network" in facts(program):
        return program
    texts = [word.text for word in simple.arguments]
    if goes_to_network(base_name(program), texts):
        return program
    if is_interpreter(program):
        if tuple(text for text in texts if text != "-u")[:2] == _SERVES_FILES:
            return "" if _BINDING.search(" ".join(texts)) else _SERVES_OTHERS.format(program)
        installs = texts[:3] in (["-m", "pip", "install"], ["-m", "pip", "download"])
        return program if installs or any(_INLINE.search(text) for text in texts) else ""
    return "rsync" if program == "rsync" and any(":" in text for text in texts) else ""


def _as_installed(simple: Simple, places: Places) -> Simple:
    """The program of the project that `npx` and the like run; the command itself where they may fetch one."""
    words = list(simple.words)
    texts = [word.text if word.known and not word.pattern else "" for word in words]
    if texts[:1] == ["npx"]:
        del words[:1]
    elif texts[:2] in (["npm", "exec"], ["npm", "x"], ["pnpm", "exec"]):
        del words[:2]
    else:
        return simple
    while words and words[0].text in _NOT_FETCHING:
        del words[0]
    name = words[0].text if words and words[0].known and not words[0].pattern else ""
    path = f"{_INSTALLED}{name}"
    installed = _PLAIN_NAME.fullmatch(name) and places.known
    if not installed or not all(os.path.lexists(each / path) for each in places.directories):
        return simple
    if "network" in facts(name) or goes_to_network(name, [word.text for word in words[1:]]):
        return simple
    return replace(simple, words=(Word(path), *words[1:]))


def _opens_device(simple: Simple) -> bool:
    """Whether the shell itself connects to a server."""
    return any(_DEVICE.match(redirection.target.text) for redirection in simple.redirections)


def _own_limits(simple: Simple) -> str:
    """Why a run of this very program is asked about in every mode; empty where it is not."""
    texts = [word.text for word in simple.arguments]
    if simple.program not in _OWN_NAMES:
        if not is_interpreter(simple.program) or _OWN_NAMES[1] not in texts:
            return ""
        texts = texts[texts.index(_OWN_NAMES[1]) + 1 :]
    said = next((text for text in texts if text in _OWN_LIMITS), "")
    return f"{_OWN_NAMES[0]} {said}: only the user decides what the agent may do" if said else ""


def _named(simple: Simple, places: Places, workspace: Workspace) -> Iterator[_Named]:
    """The paths that a command names."""

    def located(word: Word, *, reads: bool, writes: bool) -> Iterator[_Named]:
        for each in _located(word, places, workspace, written=not reads):
            yield _Named(each, reads, writes)

    for redirection in simple.redirections:
        yield from located(redirection.target, reads=not redirection.writes, writes=redirection.writes)
    if "words" in facts(simple.program):
        return
    for word in _placed(simple):
        yield from located(word, reads=False, writes=True)
    reads, only_reads = not _writes(simple), _only_reads(simple)
    script = next(iter(simple.operands()), None) if _runs_files(simple) else None
    takes_commits = _takes_commits(simple)
    for word in _path_words(simple):
        is_path = not (takes_commits and word.text == "HEAD")
        yield from located(word, reads=reads, writes=is_path and not only_reads and word is not script)
    if not only_reads:
        for word in _bundled(simple):
            yield from located(word, reads=False, writes=True)


def _takes_commits(simple: Simple) -> bool:
    """Whether `HEAD` is a commit to a program, though a file of a repository has the same name."""
    return simple.program == "git" and all(word.text != "mv" for word in simple.operands("Cc")[:1])


def _only_reads(simple: Simple) -> bool:
    """Whether a program is known to write none of the files that its arguments name."""
    program = base_name(simple.program)
    if program == "git":
        return next((word.text for word in simple.operands("Cc")), "") in GIT_READING
    if program in ("uniq", "xxd"):
        return len(simple.operands("fswlsco")) <= 1
    if program in ("awk", "gawk", "mawk", "nawk", "sed"):
        return not _writes(simple)
    return "prints" in facts(simple.program)


def _runs_files(simple: Simple) -> bool:
    return simple.program in SHELLS or is_interpreter(simple.program)


def _bundled(simple: Simple) -> Iterator[Word]:
    """Guarded names that are glued to the letters of options: `-rt.git/hooks`."""
    for word in simple.arguments:
        text = word.text[:_LONGEST_BUNDLE]
        if word.known and re.match(r"-[A-Za-z]", text) and "=" not in text:
            ends = (text[start:] for start in range(2, len(text)))
            yield from (Word(each) for each in ends if protected(each.split("/")))


def _named_in_code(simple: Simple, workspace: Workspace) -> str:
    """Why code is asked about that is an argument or the input, and writes guarded files that it names; empty
    where it does not."""
    for text in _code(simple):
        if not (simple.program in _PATCHING or _WRITING.search(text)):
            continue
        for token in dict.fromkeys(_TOKEN.findall(text)):
            parts = token.split("/")
            if reason := protected(parts):
                return f"{shown(token)}: {reason}"
    return ""


def _code(simple: Simple) -> Iterator[str]:
    """The texts that a program is given as programs."""
    if _runs_files(simple) or "interpreter" in facts(simple.program):
        yield from (
            word.text for word in simple.arguments if not word.text.startswith("-") or " " in word.text
        )
    written = bool({"words", "writer"} & facts(simple.program))
    if _only_reads(simple) or (written and simple.program not in _PATCHING):
        return
    for redirection in simple.redirections:
        if redirection.operator == "<<<":
            yield redirection.target.text
        yield "\n".join(redirection.body)


def _writes(simple: Simple) -> bool:
    """Whether a program writes files that its arguments name."""
    in_place = simple.program != "sed" or simple.has("i", "in-place")
    return in_place and "writer" in facts(simple.program)


def _placed(simple: Simple) -> list[Word]:
    """The values of options that say where a program works or writes."""
    names = PLACE_OPTIONS.get(base_name(simple.program), ())
    found = option_values(simple, names)
    for word in simple.arguments:
        name, equals, _ = word.text.partition("=")
        # A long option may be cut short, a short one may stand behind others.
        if equals and name not in names and name.startswith("--o") and _OUTPUT.startswith(name):
            found.append(word.after(f"{name}="))
    if "-o" in names:
        for word, following in zip_longest(simple.arguments, simple.arguments[1:]):
            if bundle := _BUNDLED_OUTPUT.match(word.text):
                value = word.after(bundle[0])
                found += [value] if value.text or following is None else [following]
    return found


def _unsure(simple: Simple, places: Places, *, listed: bool) -> str:
    """Why a command is asked about that writes where nobody can tell before it runs; empty where it does not.

    `listed` says whether names of files in the project are piped into it.
    """
    written = [each.target for each in simple.redirections if each.writes] + _placed(simple)
    if _writes(simple):
        operands = simple.operands()
        first = -1 if simple.program in _COPYING else int(simple.program in _SAYING_FIRST)
        written += operands[first:]
    for word in written:
        if places.targets(word) is None and not (word is LISTED and listed):
            return "" if places.lookups.used_up else _UNSURE
    return ""


def _path_words(simple: Simple) -> Iterator[Word]:
    """The arguments that may be paths, also what stands behind an option's `=`."""
    arguments: Iterable[Word] = simple.arguments
    if simple.program in _PATTERN_FIRST and not simple.has("ef", "regexp", "file", "expression"):
        pattern = next(iter(simple.operands("Fv" if "awk" in simple.program else "ABCm")), None)
        arguments = [word for word in arguments if word is not pattern]
    excluding = False
    for word in arguments:
        excludes, excluding = excluding, bool(_EXCLUDING.fullmatch(word.text))
        if excludes or _EXCLUDING.fullmatch(word.text.partition("=")[0]):
            continue
        if found := _OPTION_PATH.fullmatch(word.text):
            yield word.after(word.text[: found.start(1 if found[1] else 2)])
        if _BUNDLE.match(word.text):
            # Any of the letters may be the option that takes the rest.
            yield from (word.after(word.text[:at]) for at in range(2, min(len(word.text), _MOST_LETTERS)))
        elif not word.text.startswith("-"):
            yield word


def _located(word: Word, places: Places, workspace: Workspace, *, written: bool) -> Iterator[Location]:
    text = word.resolved or word.text
    if not text or "\0" in text or _HARMLESS.fullmatch(text) or ("://" in text and not written):
        return
    if len(text) > LONGEST_PATH and not (word.pattern or word.resolved):
        return
    found = places.targets(word)
    if places.lookups.used_up:
        return
    if found is None and word.known and not word.pattern:
        found = [joined(place, word.text) for place in places.directories]
    for path in found or ():
        target = path.resolve()
        inside = any(target.is_relative_to(root) for root in (workspace.root, *workspace.added))
        if not _HARMLESS.fullmatch(str(target)) and (inside or written or _may_be(target, text)):
            yield Location(target, shown(workspace.name_of(target)), inside, path)


def _may_be(path: Path, text: str) -> bool:
    """Whether a path outside is one, rather than a word with a slash: its beginning is there, or says so."""
    chain = (path, *path.parents)
    above = next(each for each in chain if os.path.exists(each))  # noqa: PTH110 (it may be forbidden)
    return above != Path(path.anchor) or text.startswith(("../", "~/")) or text == path.anchor
