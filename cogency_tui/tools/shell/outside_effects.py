"""A command's effects beyond the project: the network, paths outside, protected files.

Best effort, by what the command names: programs that use the network by themselves, words that are paths.
It serves permission questions, and is no boundary: any program may do anything (only a sandbox prevents
that). The calls block.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.tools.base import READS_UNKNOWN
from cogency_tui.tools.shell.checkout_commands import settles_conflict
from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.created_file_contents import MadeFiles
from cogency_tui.tools.shell.files_outside_project import is_home, is_own_temporary, is_public
from cogency_tui.tools.shell.indirect_reads import IndirectReads, indirect_reads
from cogency_tui.tools.shell.link_targets import link_targets, moves_links
from cogency_tui.tools.shell.loopback import Address, Visit, only_probes, visit
from cogency_tui.tools.shell.named_paths import (
    Named,
    located,
    named_paths,
    only_reads,
    placed,
    unsure_writing,
)
from cogency_tui.tools.shell.names_from_listings import ListedNames, functions_in
from cogency_tui.tools.shell.network_commands import (
    indirect_network,
    network_in_input,
    network_program,
    opens_device,
    settings_in,
)
from cogency_tui.tools.shell.paths_in_arguments import is_listed
from cogency_tui.tools.shell.paths_in_code import paths_in_code, protected_in_code, unsure_code
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.tools.shell.program_origins import shadows_modules
from cogency_tui.tools.shell.programs import PROGRAMS, facts, goes_to_network, is_interpreter
from cogency_tui.tools.shell.shell_variables import NameLoop
from cogency_tui.tools.shell.simple_command import LISTED, TOO_MANY, Simple, Word
from cogency_tui.tools.shell.taint_free_commands import alters, configures_git, formats_json, unconfined
from cogency_tui.tools.shell.word_paths import Places, joined
from cogency_tui.workspace.paths import Location, Workspace
from cogency_tui.workspace.protected_file_discovery import Leading, own_files
from cogency_tui.workspace.protected_names import shown

_TOO_LONG = "the command: it names too much to analyze"

_ODD = "its file names may refer to other files, outside the project"

_REROUTED = re.compile(r"(?<!--no)proxy|curlrc|wgetrc|curl_home|xdg_config|\bHOME=", re.IGNORECASE)
"""Text in a command that may redirect a client which names this machine."""

_CONFIGURED = re.compile(r"\b(?:CURL_HOME|WGETRC|XDG_CONFIG_HOME|HOME)=")
"""Variables in a command that select a client's configuration, which may name files."""

_INSTALLED = "node_modules/.bin/"
_NOT_FETCHING = frozenset(("--", "--no", "--no-install", "--offline"))
_PLAIN_NAME = re.compile(r"\w[\w.-]*")

_OWN_NAMES = ("cogency-tui", "cogency_tui")
_OWN_LIMITS = frozenset(("config", "permissions", "trust"))
"""Commands of this program by which a user sets the agent's permissions."""

_MOST_COVERED = 1000
_NO_TARGETS: Mapping[int, Sequence[Word]] = {}


@dataclass(frozen=True, slots=True)
class Reach:
    """The effects that a command names: `network` is the program that uses the network, `outside` a path
    outside the project, `protected` the reason to ask in every mode about files that it may write, or whose
    names only running it would show, and `covers` these files. `neighbour` is the server on this machine
    that the program reaches, where the conversation did not start it and the command contacts no other;
    `brings` is the source of its output, and `could_bring` the first program that is not known to bring
    none. Each is empty where there is none."""

    network: str = ""
    outside: str = ""
    protected: str = ""
    brings: str = ""
    could_bring: str = ""
    neighbour: str = ""
    covers: tuple[Path, ...] = ()

    @property
    def sources(self) -> Sources:
        """Its source, and the program that could bring more."""
        return Sources(*((name,) if name else () for name in (self.brings, self.could_bring)))


def reach(command: str, cwd: Path, workspace: Workspace, ports: ListeningPorts | None = None) -> Reach:
    """Return the effects that `command` names if it runs in `cwd` (resolved). With `ports`, this machine is
    no network, except for servers on it that the conversation did not start."""
    commands = parse(command)
    places = Places(cwd, command, commands)
    network = brings = outside = unsure = neighbour = neighbours_client = ""
    named, into, leading = dict[Path, str](), dict[Path, None](), Leading()
    could_bring = alters(command)
    settings = settings_in(command)
    made = MadeFiles()
    names = ListedNames(command, commands)
    listing = dict[Location, None]()
    functions = _functions_in(command)
    loop = NameLoop(command)
    moving = any(map(moves_links, commands))
    if _REROUTED.search(command):
        ports = None
    for written_out in commands:
        simple = loop.follow(_as_installed(written_out, places), listed=names.piped is not None)
        listed = loop.entered or names.piped is not None
        reading = indirect_reads(simple, places, (workspace.root, *workspace.added), names, listed=listed)
        program = network_program(simple)
        reads = "reader" in facts(program) or is_interpreter(program) or opens_device(simple)
        written = network_in_input(simple, command)
        local = visit(simple) if program and ports is not None and not opens_device(simple) else None
        source = program
        probes = only_probes(simple)
        if local is None or ports is None:
            indirect = indirect_network(simple, command, places, made)
            network = network or program or indirect or settings.of(simple)
        else:
            server, stranger = _stranger(local, ports)
            source = str(server or "")
            if stranger and not neighbour:
                neighbour, neighbours_client = f"{source}, which belongs to {stranger}", program
            if server and _are_of_project(local, ports, workspace):
                # Such servers print what the project contains.
                could_bring, source = could_bring or source, ""
        brings = brings or ("" if probes else source if reads else written) or reading.unknown or reading.many
        could = "" if local or probes else _unconfined(simple, made, places, workspace)
        could_bring = could_bring or ("" if could in functions else could)
        if limits := _own_limits(simple):
            named |= dict.fromkeys(own_files(), limits)
        unsure = unsure or unsure_writing(simple, places, listed=listed)
        configured = is_listed(simple) and _CONFIGURED.search(command)
        unsure = unsure or (READS_UNKNOWN if reading.unknown or configured else "")
        unsure = unsure or (_ODD if names.lead_elsewhere(simple, loop.splitting, places) else "")
        given = [*listing] if _writes_listed(simple) else []
        names.follow(simple, places)
        listed = loop.entered or names.piped is not None
        listing = listing if listed else {}
        through = _through(reading, places, workspace)
        code = _in_code(simple, made, places, workspace)
        settles = settles_conflict(simple)
        targets = link_targets(simple) if not moving else _NO_TARGETS
        changed = (Named(each, reads=False, writes=True) for each in given)
        for location, read, written_to in chain(
            named_paths(simple, places, workspace, targets), code, through, changed
        ):
            listing |= {location: None} if listed else {}
            if not location.inside:
                read_only = read and location.asked not in _targets(placed(simple), places)
                if _is_free(location.path, simple, workspace, read=read_only):
                    # Its names, or its text, may originally have come from anywhere.
                    own = read and not is_public(location.path, simple.program)
                    could_bring = could_bring or (location.relative if own else "")
                    continue
                outside = outside or location.relative
                brings = brings or (location.relative if read else "")
            if written_to:
                into[location.path] = None
                # Of git's content, trusted commits stay (see `agent/edits/committed_protected_files.py`).
                if not settles and (reason := workspace.guard(location, leading)):
                    named |= dict.fromkeys((location.path, location.asked), f"{location.relative}: {reason}")
        for token, reason in protected_in_code(simple, made):
            path = os.path.expanduser(token)  # noqa: PTH111 (as text)
            named |= {joined(place, path): f"{shown(token)}: {reason}" for place in places.directories}
        unsure = unsure or unsure_code(simple, made)
        made.note(simple)
        places.follow(simple)
        if simple == TOO_MANY or places.lookups.used_up:
            unsure = unsure or _TOO_LONG
    if network:
        neighbour = ""
    protected = "; ".join(dict.fromkeys(named.values())) or unsure
    # A copied or moved file has its name in the target directory.
    there = dict.fromkeys(path.name for path in named)
    places_there = (place for place in into if os.path.isdir(place))  # noqa: PTH112 (too long a name is none)
    inside = (place / name for place in places_there for name in there)
    covers = *named, *islice(inside, _MOST_COVERED)
    return Reach(network or neighbours_client, outside, protected, brings, could_bring, neighbour, covers)


def _functions_in(command: str) -> set[str]:
    """Return the functions that a command defines, whose own commands are examined; none is also a
    program."""
    return {name for name in functions_in(command) if not (name in PROGRAMS or shutil.which(name))}


def _unconfined(simple: Simple, made: MadeFiles, places: Places, workspace: Workspace) -> str:
    """Name the program that could bring untrusted content; empty for one that is known not to."""
    if formats_json(simple) and not made and places.known:
        shadowed = any(shadows_modules(place, workspace) for place in places.directories)
        return simple.program if shadowed else ""
    return "" if configures_git(simple) else unconfined(simple)


def _writes_listed(simple: Simple) -> bool:
    """Return whether a command may write the files whose names are piped into it."""
    redirected = any(each.target is LISTED and each.writes for each in simple.redirections)
    return redirected or (any(word is LISTED for word in simple.words) and not only_reads(simple))


def _targets(words: Iterable[Word], places: Places) -> set[Path]:
    return {path for word in words for path in places.targets(word) or ()}


def _is_free(path: Path, simple: Simple, workspace: Workspace, *, read: bool) -> bool:
    """Return whether a path outside needs no question."""
    if read and is_public(path, simple.program):
        return True
    lists_home = read and simple.program == "ls" and not simple.has("R", "recursive") and is_home(path)
    return lists_home or is_own_temporary(path, workspace.root)


def _through(reading: IndirectReads, places: Places, workspace: Workspace) -> Iterator[Named]:
    """Yield the paths that a command reads without naming them."""
    for path in reading.paths:
        location = Location(path.resolve(), shown(str(path.resolve())), False, path)
        yield Named(location, reads=True, writes=False)
    for word in reading.words:
        for location in located(word, places, workspace, written=False):
            yield Named(location, reads=True, writes=False)


def _in_code(simple: Simple, made: MadeFiles, places: Places, workspace: Workspace) -> Iterator[Named]:
    """Yield the paths outside that code names."""
    for word, writes in paths_in_code(simple, made):
        for location in located(word, places, workspace, written=False):
            yield Named(location, reads=not writes, writes=writes)


def _stranger(local: Visit, ports: ListeningPorts) -> tuple[Address | None, str]:
    """Return the first server of a visit that the conversation did not start, and its owner."""
    for address in local.addresses:
        if stranger := ports.stranger(address.port):
            return address, stranger
    return None, ""


def _are_of_project(local: Visit, ports: ListeningPorts, workspace: Workspace) -> bool:
    """Return whether all servers of a visit are the user's that work in the project, or the
    conversation's."""
    roots = (workspace.root, *workspace.added)
    strange = (each.port for each in local.addresses if ports.stranger(each.port))
    return all(ports.are_of(port, roots) for port in strange)


def _as_installed(simple: Simple, places: Places) -> Simple:
    """Return the program of the project that `npx` and the like run; the command itself where they may
    fetch one."""
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


def _own_limits(simple: Simple) -> str:
    """Explain why a run of this very program needs a question in every mode; empty where it does not."""
    texts = [word.text for word in simple.arguments]
    if simple.program not in _OWN_NAMES:
        if not is_interpreter(simple.program) or _OWN_NAMES[1] not in texts:
            return ""
        texts = texts[texts.index(_OWN_NAMES[1]) + 1 :]
    limit = next((text for text in texts if text in _OWN_LIMITS), "")
    return f"{_OWN_NAMES[0]} {limit}: only the user decides what the agent may do" if limit else ""
