"""What a command of the shell goes to beyond the project: the network, paths outside, guarded files.

Best effort, by what the command names: programs that go to the network by themselves, words that are paths.
It is for asking, and no boundary: any program may go anywhere (only a sandbox holds it). The calls block.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cogency_tui.tools.command_line import parse
from cogency_tui.tools.listening_ports import ListeningPorts
from cogency_tui.tools.loopback import INTERPRETERS, Visit, visit
from cogency_tui.tools.shell_paths import LONGEST_PATH, Places, joined
from cogency_tui.tools.shell_words import TOO_MANY, Simple, Word
from cogency_tui.workspace.names import shown
from cogency_tui.workspace.paths import Location, Workspace

_TOO_LONG = "the command: it names too much for all of it to be looked at"
_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd(?:/\d+)?)|/proc/self/fd/\d+"
)
_OPTION_PATH = re.compile(r"-[A-Za-z]((?:/|~/|\.\.).*)|--?[\w-]+=(.*)")

_READERS = frozenset(
    ("aria2c", "curl", "elinks", "ftp", "gh", "glab", "http", "https", "lftp", "links", "lynx")
    + ("nc", "ncat", "netcat", "socat", "ssh", "telnet", "w3m", "wget", "xh")
)
"""Programs whose output is what somebody on the network says."""

_NETWORK = _READERS | frozenset(
    (
        "ansible",
        "ansible-playbook",
        "apt",
        "apt-get",
        "aws",
        "az",
        "brew",
        "bunx",
        "dig",
        "dnf",
        "fly",
        "gcloud",
    )
    + (
        "heroku",
        "helm",
        "host",
        "mosh",
        "npx",
        "nslookup",
        "pacman",
        "ping",
        "pipx",
        "scp",
        "sendmail",
        "sftp",
    )
    + ("terraform", "traceroute", "twine", "uvx", "vercel", "wrangler", "yum")
)
_SUBCOMMANDS = {
    "bun": ("add", "create", "i", "install", "publish", "update", "x"),
    "bundle": ("install", "update"),
    "cargo": ("add", "fetch", "install", "login", "publish", "search", "update"),
    "composer": ("create-project", "install", "require", "update"),
    "docker": ("build", "buildx", "login", "pull", "push", "run", "search"),
    "gem": ("fetch", "install", "push", "update"),
    "git": ("clone", "fetch", "ls-remote", "pull", "push", "remote", "send-email", "submodule"),
    "go": ("get", "install", "mod"),
    "npm": ("add", "ci", "exec", "i", "install", "login", "publish", "update", "view"),
    "pip": ("download", "index", "install", "search", "wheel"),
    "pip3": ("download", "index", "install", "search", "wheel"),
    "pnpm": ("add", "dlx", "i", "install", "publish", "update"),
    "podman": ("build", "login", "pull", "push", "run", "search"),
    "poetry": ("add", "install", "lock", "publish", "update"),
    "uv": ("add", "lock", "pip", "publish", "sync", "tool"),
    "yarn": ("add", "dlx", "install", "publish", "upgrade"),
}
_INLINE = re.compile(r"://|\bsocket\b|\burllib\b|\brequests\b|\bhttp\b|\bfetch\(", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/")
_SERVES_FILES = ("-m", "http.server")
_SERVES_OTHERS = "{} -m http.server, which serves other machines too without --bind 127.0.0.1"
_BINDING = re.compile(r"(?:--bind[= ]|-b ?)(?:localhost|127\.0\.0\.1|::1)")
_REROUTED = re.compile(r"(?<!--no)proxy|curlrc|wgetrc|curl_home|xdg_config|\bHOME=", re.IGNORECASE)
"""What in a command may lead a client that names this machine elsewhere."""

_OWN_NAMES = ("cogency-tui", "cogency_tui")
_OWN_LIMITS = frozenset(("config", "permissions", "trust"))
"""Commands of this program by which a person says what the agent may do."""

_WORDS_ONLY = frozenset(("echo", "printf", "test", "[", "[[", "expr", "true", "false", "export", "exit"))
"""Programs whose arguments are no files."""

_PATTERN_FIRST = frozenset(("ack", "ag", "awk", "egrep", "fgrep", "gawk", "grep", "jq", "rg", "sed", "tr"))
_WRITING = frozenset(
    ("chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "rsync", "sed")
    + ("shred", "tee", "touch", "truncate", "unlink")
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command names: as `network` the program that goes there, as `outside` a path outside the
    project, as `guarded` why one that it may write is asked about in every mode. `neighbour` is the server on
    this machine that the program reaches, where the conversation did not start it and the command goes
    nowhere else; `brings` is whose content its output may have. Each is empty where there is none."""

    network: str = ""
    outside: str = ""
    guarded: str = ""
    brings: str = ""
    neighbour: str = ""


def reach(command: str, cwd: Path, workspace: Workspace, ports: ListeningPorts | None = None) -> Reach:
    """What `command` names if it runs in `cwd` (resolved). With `ports` this machine is no network, but for
    the servers on it that the conversation did not start."""
    places = Places(cwd)
    network = brings = outside = guarded = neighbour = neighbours_client = ""
    if _REROUTED.search(command):
        ports = None
    for simple in parse(command):
        program = _network_program(simple)
        reads = program in _READERS or bool(program and INTERPRETERS.fullmatch(program))
        local = visit(simple) if program and ports is not None and not _opens_device(simple) else None
        source = program
        if local is None or ports is None:
            network = network or program
        else:
            source, stranger = _stranger(local, ports)
            if stranger and not neighbour:
                neighbour, neighbours_client = f"{source}, which belongs to {stranger}", program
        brings = brings or (source if reads else "")
        guarded = guarded or _own_limits(simple)
        for location, read in _named(simple, places, workspace):
            if not location.inside:
                outside = outside or location.relative
                brings = brings or (location.relative if read else "")
            elif not read and (reason := workspace.guard(location)):
                guarded = guarded or f"{location.relative}: {reason}"
        places.follow(simple)
        if simple == TOO_MANY or places.lookups.used_up:
            guarded = guarded or _TOO_LONG
    if network:
        neighbour = ""
    return Reach(network or neighbours_client, outside, guarded, brings, neighbour)


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
    if program in _NETWORK:
        return program
    texts = [word.text for word in simple.arguments]
    if program in _SUBCOMMANDS:
        first = next((word.text for word in simple.operands("Cc")), "")
        return program if first in _SUBCOMMANDS[program] else ""
    if INTERPRETERS.fullmatch(program):
        if tuple(text for text in texts if text != "-u")[:2] == _SERVES_FILES:
            return "" if _BINDING.search(" ".join(texts)) else _SERVES_OTHERS.format(program)
        installs = texts[:3] in (["-m", "pip", "install"], ["-m", "pip", "download"])
        return program if installs or any(_INLINE.search(text) for text in texts) else ""
    return "rsync" if program == "rsync" and any(":" in text for text in texts) else ""


def _opens_device(simple: Simple) -> bool:
    """Whether the shell itself connects to a server."""
    return any(_DEVICE.match(redirection.target.text) for redirection in simple.redirections)


def _own_limits(simple: Simple) -> str:
    """Why a run of this very program is asked about in every mode; empty where it is not."""
    texts = [word.text for word in simple.arguments]
    if simple.program not in _OWN_NAMES:
        if not INTERPRETERS.fullmatch(simple.program) or _OWN_NAMES[1] not in texts:
            return ""
        texts = texts[texts.index(_OWN_NAMES[1]) + 1 :]
    said = next((text for text in texts if text in _OWN_LIMITS), "")
    return f"{_OWN_NAMES[0]} {said}: what the agent may do is the person's to say" if said else ""


def _named(simple: Simple, places: Places, workspace: Workspace) -> Iterator[tuple[Location, bool]]:
    """The paths that a command names, each with whether it is read at most."""
    for redirection in simple.redirections:
        for location in _located(redirection.target, places, workspace):
            yield location, not redirection.writes
    if simple.program in _WORDS_ONLY:
        return
    read = simple.program not in _WRITING or (simple.program == "sed" and not simple.has("i", "in-place"))
    for word in _path_words(simple):
        for location in _located(word, places, workspace):
            yield location, read


def _path_words(simple: Simple) -> Iterator[Word]:
    """The arguments that may be paths, also what stands behind an option's `=`."""
    arguments: Iterable[Word] = simple.arguments
    if simple.program in _PATTERN_FIRST and not simple.has("ef", "regexp", "file", "expression"):
        pattern = next(iter(simple.operands("Fv" if "awk" in simple.program else "ABCm")), None)
        arguments = [word for word in arguments if word is not pattern]
    for word in arguments:
        if found := _OPTION_PATH.fullmatch(word.text):
            yield Word(found[1] or found[2], word.known)
        elif simple.program == "dd" and "=" in word.text:
            yield Word(word.text.partition("=")[2], word.known)
        elif not word.text.startswith("-"):
            yield word


def _located(word: Word, places: Places, workspace: Workspace) -> Iterator[Location]:
    if not 0 < len(word.text) <= LONGEST_PATH or "\0" in word.text or _HARMLESS.fullmatch(word.text):
        return
    found = places.paths(word)
    if places.lookups.used_up:
        return
    if not found and word.known and not word.pattern and "://" not in word.text:
        found = [joined(place, word.text) for place in places.directories]
    for path in found or ():
        target = path.resolve()
        inside = any(target.is_relative_to(root) for root in (workspace.root, *workspace.added))
        if not _HARMLESS.fullmatch(str(target)) and (inside or _may_be(target)):
            yield Location(target, shown(workspace.name_of(target)), inside, path)


def _may_be(path: Path) -> bool:
    """Whether a path outside is one, rather than a word with a slash: it is there, or could be made."""
    parent = path.parent
    return path.exists() or (parent.is_dir() and parent != parent.parent)
