"""Commands that contact servers on this machine: the servers, and whether the command only prints; and
commands that do nothing else, known word for word.

Invariant: a client's arguments are understood word for word, or it does not count as staying on this
machine. An option that is not listed here, a host in another spelling, a proxy, a redirect that would be
followed: each of them may lead elsewhere.

Invariant: a command with ambiguous syntax, or with any program, option or redirection that is not listed
here, is neither `own` nor `held` (see `Quiet`). `tools/shell/command_line.py` parses more, for questions;
this module decides that there is no question.
"""

import glob
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.tools.shell.program_origins import is_of_system, shadows_modules
from cogency_tui.tools.shell.programs import is_interpreter, programs_with
from cogency_tui.tools.shell.shell_variables import is_one_word
from cogency_tui.tools.shell.simple_command import Simple, Word, alternatives
from cogency_tui.workspace.paths import Workspace

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_HOST = rf"localhost|127(?:\.{_OCTET}){{3}}|0\.0\.0\.0|\[::1\]"
_URL = re.compile(rf"(?:(https?)://)?({_HOST})(?::(\d{{1,5}}))?(?:/[^\s\\]*)?", re.IGNORECASE)
_LED = re.compile(rf"(?:https?://)?(?:{_HOST})(?::\d{{1,5}})?/", re.IGNORECASE)
"""The beginning of an address on this machine, whatever follows."""

_AUTHORITY = re.compile(r"(?:[a-z]+://)?[^/]*", re.IGNORECASE)
_REST = "\0"
"""Placeholder for the rest of a word that only the shell knows; no word contains this character."""

_BARE_HOST = re.compile(rf"localhost|127(?:\.{_OCTET}){{3}}|0\.0\.0\.0|::1", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65535

_PROXIES = tuple(f"{name}_proxy" for name in ("http", "https", "all"))
_SENT_ELSEWHERE = re.compile(r"^[^#\n]*(?:proxy|socks|resolve|connect-to|location|url)", re.I | re.M)
"""A line of a client's own configuration that may redirect it."""

_INLINE_OPTIONS = frozenset(("-c", "-e", "-r", "--eval", "--print", "-p", "-Command"))
"""Options of interpreters that code follows."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server on this machine."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Visit:
    """The servers that a command contacts, all of them on this machine. `prints`: it reads from them,
    prints their answers, and does nothing else."""

    addresses: tuple[Address, ...]
    prints: bool = False


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of a client that do not redirect it. Those of `printing` only change its output; where
    they take a value, the pattern is of values for which this holds. The others, which are `flags` or take
    `values`, do more than that."""

    printing: Mapping[str, re.Pattern[str] | None]
    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()

    def takes_value(self, name: str) -> bool | None:
        """Return whether an option takes a value; None where it is not known."""
        if name in self.printing:
            return self.printing[name] is not None
        return True if name in self.values else False if name in self.flags else None

    def only_prints(self, name: str, value: str) -> bool:
        """Return whether an option only changes the output."""
        if name not in self.printing:
            return False
        pattern = self.printing[name]
        if _REST in value:
            return pattern is _ANY
        return pattern is None or bool(pattern.fullmatch(value))


def _with(pattern: re.Pattern[str] | None, names: str) -> dict[str, re.Pattern[str] | None]:
    return dict.fromkeys(names.split(), pattern)


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_ANY = re.compile(r".*", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_METHOD = re.compile("GET|HEAD|OPTIONS")
_HEADER = re.compile(r"[^@].*")
_FORMAT = re.compile(r"(?!@)(?!.*%output).*", re.DOTALL)
_NOWHERE = re.compile("/dev/null|-")
_NONE = re.compile("0")

_CURL = _Options(
    {
        **_with(
            None, "-s -S -f -i -v -k -I -N -g -4 -6 --silent --show-error --fail --fail-with-body --include"
        ),
        **_with(
            None, "--verbose --insecure --head --no-buffer --globoff --ipv4 --ipv6 --compressed --http1.0"
        ),
        **_with(None, "--http1.1 --http2 --no-progress-meter --retry-connrefused --retry-all-errors"),
        **_with(_NUMBER, "-m --max-time --connect-timeout --retry --retry-delay --retry-max-time"),
        **_with(_ANY, "-A --user-agent -r --range --noproxy"),
        **_with(_HEADER, "-H --header"),
        **_with(_FORMAT, "-w --write-out"),
        **_with(_METHOD, "-X --request"),
        **_with(_NOWHERE, "-o --output"),
    },
    _names("-O -J -G --remote-name --remote-header-name --get --create-dirs"),
    _names(
        "-d --data --data-raw --data-ascii --data-binary --data-urlencode --json -F --form --form-string -T "
        "--upload-file -u --user -b --cookie -c --cookie-jar -D --dump-header --url"
    ),
)
_WGET = _Options(
    {
        **_with(None, "-q -nv -S -4 -6 --quiet --no-verbose --server-response --spider --inet4-only"),
        **_with(None, "--inet6-only --no-check-certificate --content-on-error"),
        **_with(_NUMBER, "-T --timeout -t --tries --waitretry"),
        **_with(_HEADER, "--header"),
        **_with(_NOWHERE, "-O --output-document"),
        **_with(_NONE, "--max-redirect"),
    },
    _names("-nc -N -c --no-clobber --timestamping --continue"),
    _names("-P --directory-prefix -o --output-file --post-data --method --body-data"),
)
_SHOWING = frozenset(("-i", "--include", "-v", "--verbose"))
_NUMBERS = re.compile(
    r"(?:[^%@]|%\{(?:exitcode|http_code|http_version|response_code|ssl_verify_result|(?:num|size|speed|time)_\w+)\})+"
)
_PROBING = _Options(
    {
        **{name: value for name, value in _CURL.printing.items() if name not in _SHOWING},
        **_with(None, "-L --location"),
        **_with(_NUMBERS, "-w --write-out"),
        **_with(re.compile(os.devnull), "-o --output"),
    }
)
"""Options of curl that print nothing of a server's answer."""

_HTTPIE = _Options(_with(None, "-b -h -v -j -f --body --headers --verbose --json --form --ignore-stdin"))
_SHOWING_OF_WGET = frozenset(("-S", "--server-response"))
_NC = _Options({**_with(None, "-z -v -n -N"), **_with(_NUMBER, "-w -q")})
_UNPROXIED = programs_with("unproxied")

_HTTPIE_METHOD = re.compile("[A-Z]+")
_HTTPIE_PORT = re.compile(r":(\d*)(/[^\s\\]*)?")

_CODE_URL = re.compile(r"""[a-z][a-z0-9+.-]*://[^\s'"`)<>]*""", re.IGNORECASE)
_CODE_PAIR = re.compile(r"""['"]([^'"\s]+)['"]\s*,\s*(?:port\s*=\s*)?(\d{1,5})\b""")
_CODE_CALL = re.compile(
    r"\b(?:urlopen|urlretrieve|fetch|connect|connect_ex|create_connection|open_connection|HTTPS?Connection"
    r"|(?:requests|httpx|axios|session|client)\.\w+|http\.(?:get|request)|Net::HTTP\.\w+)\s*\("
)


def visit(simple: Simple, environ: Mapping[str, str] = os.environ) -> Visit | None:
    """Return the servers on this machine that a network command contacts; None where it may contact
    others."""
    texts = _arguments(simple)
    if texts is None:
        return None
    match simple.program:
        case "curl":
            found = _curl(texts, environ)
        case "wget":
            found = _wget(texts, environ)
        case "http" | "https" | "xh":
            found = _httpie(texts, simple.program)
        case program if program in _UNPROXIED:
            found = _nc(texts)
        case _ if is_interpreter(simple.program) and _INLINE_OPTIONS.intersection(texts):
            found = _inline(texts) if all(word.known for word in simple.arguments) else None
        case _:
            return None
    if found is None or (simple.program not in _UNPROXIED and _proxied(found, environ)):
        return None
    return found


def only_probes(simple: Simple) -> bool:
    """Return whether a client checks whether a server answers, and prints nothing of the answer."""
    texts = _arguments(simple)
    if texts is None:
        return False
    match simple.program:
        case "curl":
            given = _read(texts, _PROBING)
            # Each address has an output of its own.
            silent = given is not None and len(given.values("-o", "--output")) >= len(given.operands)
        case "wget":
            given = _read(texts, _WGET)
            silent = given is not None and "--spider" in given.names and not given.names & _SHOWING_OF_WGET
        case program if program in _UNPROXIED:
            given = _read(texts, _NC)
            silent = given is not None and "-z" in given.names
        case _:
            return False
    return silent and given is not None and given.prints


def _arguments(simple: Simple) -> list[str] | None:
    """Return the arguments of a client, with `_REST` for an end that only the shell knows; None where they
    may be other words."""
    found = [_words_of(word) for word in simple.arguments]
    return None if None in found else [text for texts in found for text in texts or ()]


def _words_of(word: Word) -> list[str] | None:
    """Return the shell's expansion of a word; None where that may be several unknown words."""
    if word.known and word.pattern:
        texts = alternatives(word.pattern) or []
        if texts and not any(map(glob.has_magic, texts)):
            return texts
    text = word.text if word.known else word.certain
    if (word.pattern and not _LED.match(text)) or not is_one_word(word):
        return None
    return [text if word.known or text == word.resolved else f"{text}{_REST}"]


def _curl(texts: Sequence[str], environ: Mapping[str, str]) -> Visit | None:
    home = Path(environ.get("HOME") or "/")
    folders = (
        Path(environ.get("CURL_HOME") or home),
        Path(environ.get("XDG_CONFIG_HOME") or home / ".config"),
    )
    configured = (home / ".curlrc", folders[0] / ".curlrc", folders[1] / "curlrc")
    given = _read(texts, _CURL)
    # A list of hosts here may lack ours, and overrides the variable that exempts it.
    if given is None or any(hosts != "*" for hosts in given.values("--noproxy")):
        return None
    return None if _leads_elsewhere(configured) else given.visit(given.values("--url"))


def _wget(texts: Sequence[str], environ: Mapping[str, str]) -> Visit | None:
    own = environ.get("WGETRC") or Path(environ.get("HOME") or "/", ".wgetrc")
    configured = (Path(own), Path("/etc/wgetrc"), Path("/usr/local/etc/wgetrc"))
    given = _read(texts, _WGET)
    # It follows redirects by default.
    if given is None or "0" not in given.values("--max-redirect") or _leads_elsewhere(configured):
        return None
    to_stdout = "-" in given.values("-O", "--output-document") or "--spider" in given.names
    visit = given.visit()
    return visit and Visit(visit.addresses, prints=visit.prints and to_stdout)


def _httpie(texts: Sequence[str], program: str) -> Visit | None:
    given = _read(texts, _HTTPIE)
    if given is None:
        return None
    operands = [text for text in given.operands[:1] if not _HTTPIE_METHOD.fullmatch(text)]
    url = operands[0] if operands else given.operands[1] if len(given.operands) > 1 else ""
    if short := _HTTPIE_PORT.fullmatch(url):
        url = f"localhost:{short[1] or _PORTS['http']}{short[2] or ''}"
    address = address_of(url, "https" if program == "https" else "http")
    return Visit((address,)) if address else None


def _nc(texts: Sequence[str]) -> Visit | None:
    given = _read(texts, _NC)
    if given is None or len(given.operands) != 2:
        return None
    host, port = given.operands
    ports = alternatives(port) or []
    if not _BARE_HOST.fullmatch(host) or not ports or not all(map(_is_port, ports)):
        return None
    return Visit(tuple(Address(host, int(each)) for each in ports))


def _inline(texts: Sequence[str]) -> Visit | None:
    """Return the servers of an interpreter's code, as far as its text shows: each call names a server on
    this machine."""
    code = "\n".join(texts)
    urls = _CODE_URL.findall(code)
    pairs = [pair for pair in _CODE_PAIR.findall(code) if "://" not in pair[0]]
    found = [address_of(url) for url in urls]
    found += [address_of(f"{_bracketed(host)}:{port}") for host, port in pairs]
    addresses = tuple(address for address in found if address is not None)
    calls = len(_CODE_CALL.findall(code))
    all_known = bool(addresses) and len(addresses) == len(found) and calls <= len(addresses)
    return Visit(addresses) if all_known else None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def address_of(url: str, scheme: str = "http") -> Address | None:
    """Return the server on this machine of an address; None for any other, and any other spelling."""
    found = _URL.fullmatch(url)
    if found is None or (found[3] is not None and not _is_port(found[3])):
        return None
    return Address(found[2].lower(), int(found[3] or _PORTS[(found[1] or scheme).lower()]))


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < int(text) <= _HIGHEST_PORT


@dataclass(frozen=True, slots=True)
class _Given:
    """The parsed arguments of a client: its options in order, each with its value, and its operands."""

    options: Sequence[tuple[str, str]]
    operands: Sequence[str]
    prints: bool

    @property
    def names(self) -> set[str]:
        return {name for name, _value in self.options}

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names]

    def visit(self, more: Sequence[str] = ()) -> Visit | None:
        """Return the visit of all operands; None where one of them is not on this machine, or there is
        none."""
        found = [address_of(each) for url in (*self.operands, *more) for each in _with_hosts(url)]
        addresses = tuple(address for address in found if address is not None)
        return Visit(addresses, self.prints) if addresses and len(addresses) == len(found) else None


def _with_hosts(url: str) -> list[str]:
    """Return an address with each of the hosts and ports that a loop, or curl, inserts."""
    authority = _AUTHORITY.match(url)
    several = authority is not None and "{" in authority[0]
    return (alternatives(url) if several else None) or [url]


def _read(texts: Sequence[str], known: _Options) -> _Given | None:
    """Parse options and operands; None where one of the options is not known."""
    rest = iter(texts)
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    for text in rest:
        if not text.startswith("-") or text == "-":
            operands.append(text)
            continue
        found = list(_split(text, rest, known))
        if None in found:
            return None
        options += [option for option in found if option is not None]
    prints = all(known.only_prints(name, value) for name, value in options)
    return _Given(options, operands, prints)


def _split(text: str, rest: Iterator[str], known: _Options) -> Iterator[tuple[str, str] | None]:
    """Yield the options in a word, with their values; None for one that is not known."""
    name, equals, value = text.partition("=")
    if text.startswith("--") or known.takes_value(text) is not None:
        takes = known.takes_value(name)
        if takes is None or (equals and not takes):
            yield None
        else:
            yield name, value if equals else next(rest, "") if takes else ""
        return
    for at, letter in enumerate(text[1:], 1):
        takes = known.takes_value(f"-{letter}")
        if takes is None:
            yield None
            return
        if takes:
            attached = text[at + 1 :]
            # Without it the next word would be the value.
            yield None if attached == _REST else (f"-{letter}", attached or next(rest, ""))
            return
        yield f"-{letter}", ""


def _proxied(visit: Visit, environ: Mapping[str, str]) -> bool:
    """Return whether a proxy would be used, which is elsewhere."""
    if not any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES):
        return False
    listed = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    exempt = {entry.strip().strip("[]").lower() for entry in listed.split(",")}
    return "*" not in exempt and any(each.host.strip("[]") not in exempt for each in visit.addresses)


def _leads_elsewhere(files: Sequence[Path]) -> bool:
    """Return whether a client's own configuration may redirect it, or cannot be read."""
    for file in files:
        try:
            if not stat.S_ISREG(file.stat().st_mode):
                return True
            text = file.read_text("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
        if _SENT_ELSEWHERE.search(text):
            return True
    return False


_LONGEST = 4096
_PIECE = re.compile(
    r"""(?P<space>[ \t]+)"""
    r"""|(?P<redirection>(?:[12]?>&[12]|&>[ ]?/dev/null|[12]?>[ ]?/dev/null|<[ ]?/dev/null)(?=[\s;&|]|$))"""
    r"""|(?P<end>&&|\|\||[;&|\n])"""
    r"""|(?P<bare>[A-Za-z0-9_./:=+@%,-]+|\$!(?=[\s;&|]|$))"""
    r"""|'(?P<single>[^']*)'"""
    r"""|"(?P<double>[^"$`\\!]*)\""""
)

_LINES = r"\d+(?:,(?:\d+|\$))?p|\d+q"
_GREP_OPTION = r"(?:-[icvnoEFwxqa]+|-[mABC]\0?\d+|--color=never)"
_JQ_OPTION = r"(?:-[rcsSeMCj]+|--(?:raw-output|compact-output|slurp|exit-status|sort-keys))"
_JQ_FILTER = r"(?!-)(?![^\0]*(?:import|include|input_filename))[^\0]*"
_FILTERS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "cat": r"(?:-[nAbEsTv]+|-)?",
        "cut": r"(?:-d\0?[^\0]+|-[fcb]\0?[\d,-]+|-s)(?:\0(?:-d\0?[^\0]+|-[fcb]\0?[\d,-]+|-s))*",
        "echo": r".*",
        "grep": rf"(?:{_GREP_OPTION}\0)*(?:-e\0[^\0]*|(?!-)[^\0]*)(?:\0{_GREP_OPTION})*",
        "head": r"(?:-[nc]\0?-?\d+|-\d+)?",
        "jq": rf"(?:{_JQ_OPTION}\0)*{_JQ_FILTER}(?:\0{_JQ_OPTION})*",
        "kill": r"(?:-(?:TERM|INT|KILL|HUP|\d+)\0)?(?:\$!|%\d+)",
        "sed": rf"-n\0(?:-e\0)?(?:{_LINES})|(?:-e\0)?\d+q",
        "sleep": r"\d+(?:\.\d+)?s?",
        "sort": r"(?:-[nruhfVs]+(?:\0-[nruhfVs]+)*)?",
        "tail": r"(?:-[nc]\0?[+-]?\d+|-\d+)?",
        "true": r"",
        "uniq": r"(?:-[cdiu]+)?",
        "wait": r"(?:\$!|%\d+)?",
        "wc": r"(?:-[lcwm]+)?",
    }.items()
}
"""Programs that print, wait, or end processes of the same command, with their arguments, NUL between them."""

_BUILTIN = programs_with("known-builtin")
_CLIENTS = programs_with("fetches")
_SERVERS = frozenset(("python", "python3"))
_LOCAL = r"(?:localhost|127\.0\.0\.1|::1)"
_SERVING = re.compile(
    r"(?:-u\0)?-m\0http\.server(?=.*\0(?:-b|--bind))"
    rf"(?:\0(?:\d{{1,5}}|(?:-b|--bind)\0{_LOCAL}|--bind={_LOCAL}|(?:-d|--directory)\0[^\0]+))*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Quiet:
    """`own`: it only reads from servers that this conversation started, or from none. `held`: as that, or
    it serves files to this machine; either way it can neither reach the network nor write anything."""

    own: bool = False
    held: bool = False


def quiet(command: str, cwd: Path, workspace: Workspace, ports: ListeningPorts) -> Quiet:
    """Return what is certain of `command` if it runs in `cwd` (resolved). Blocks."""
    kinds: set[str] = set()
    for words in _commands(command):
        kind = _kind(words, cwd, workspace, ports)
        if not kind:
            return Quiet()
        kinds.add(kind)
    serves = "server" in kinds
    return Quiet(own="client" in kinds and not serves, held="client" in kinds or serves)


def _commands(command: str) -> list[list[str]]:
    """Return the words of each simple command; one without words where it is uncertain that it is such a
    list."""
    if len(command) > _LONGEST or not command.replace("\t", " ").replace("\n", " ").isprintable():
        return [[]]
    found: list[list[str]] = [[]]
    apart = True
    end = 0
    for piece in _PIECE.finditer(command):
        if piece.start() != end:
            return [[]]
        end = piece.end()
        if piece["end"]:
            found.append([])
        text = piece["bare"] or piece["single"] or piece["double"] or ""
        word = piece["bare"] or piece["single"] is not None or piece["double"] is not None
        if piece["redirection"] and not apart:
            return [[]]
        if word and apart:
            found[-1].append(text)
        elif word:
            found[-1][-1] += text
        apart = not word
    if end != len(command):
        return [[]]
    # A line may end with a separator, and lines may be empty.
    return [words for words in found if words] or [[]]


def _kind(words: Sequence[str], cwd: Path, workspace: Workspace, ports: ListeningPorts) -> str:
    """Classify a simple command as a `client`, a `server` or a `filter`; empty for any other."""
    program, arguments = (words[0], "\0".join(words[1:])) if words else ("", "")
    if program not in _BUILTIN and not is_of_system(program, workspace):
        return ""
    if program in _CLIENTS:
        found = visit(Simple(tuple(map(Word, words))))
        if found is None or not found.prints:
            return ""
        return "" if any(ports.stranger(each.port) for each in found.addresses) else "client"
    if program in _SERVERS:
        return "server" if _SERVING.fullmatch(arguments) and not shadows_modules(cwd, workspace) else ""
    pattern = _FILTERS.get(program)
    if "$!" in arguments and program not in ("kill", "wait"):
        return ""
    return "filter" if pattern is not None and pattern.fullmatch(arguments) else ""
