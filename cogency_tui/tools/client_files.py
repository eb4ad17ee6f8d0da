"""Files of this machine that clients of the network read, by what in an argument is the name of one.

What stands behind a mark (`field=@path`), in a list, or as an address (`file://localhost/path`) counts like a
path that the command names. Best effort, for asking.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from cogency_tui.tools.shell_words import LISTED, Simple, Word

_ANY = re.compile(r"(.*)", re.DOTALL)
_MARKED = re.compile(r"@(.*)", re.DOTALL)
_NAMED = re.compile(r"[^=@]*@(.*)", re.DOTALL)
_FORM = re.compile(r"[^=]*=[@<](.*)|[^;]*;.*?[@<](.*)", re.DOTALL)
_ITEM = re.compile(r"(?:\\.|[^=:@\\])*(?:=|:=|:|==)?@(.*)", re.DOTALL)
_NO_PAIR = re.compile(r"([^=]*)")
_SETTING = re.compile(r"\s*\w*\s*=?\s*(.*)", re.DOTALL)
_HERE = re.compile(r"([^:]*)")
_ADDRESS = re.compile(r"(?![A-Za-z0-9][\w-]*[.:])@?(.*)", re.DOTALL)
_FIELD = re.compile(r"[^=]*=@(.*)|([^=]*)", re.DOTALL)
_ENDPOINT = re.compile(
    r"(?!(?:exec|fd|openssl|proxy|socks|ssl|std|system|tcp|udp|unix)[\w-]*:?)(?:[A-Z-]+:)?([^,]*).*", re.I
)
"""What in the value of an option, or in an operand, is the name of a file."""

_NAMES = re.compile(r"")
"""Stands for a file that names others."""

_SCRIPT = re.compile(r".*", re.DOTALL)
"""Stands for a text whose words may be names."""

_FILE_ADDRESS = re.compile(r"(?<![A-Za-z0-9])fileb?:(?://(?:(?!\.)[^/{\[]*(?=/))?)?([^?#]*)", re.IGNORECASE)
_CHOSEN_SCHEME = re.compile(r"[^/]*[\[{][^/]*:/")
"""The beginning of an address that is one of several."""

_COMPLETIONS = ("x", "@x", "x=@x", ";x=@x")
"""What may stand in a value for what is not known of it, as far as the marks go."""

_BLANK = re.compile(r"\s")
_REQUIRED = " @ "
"""What stands between the name of a package and its address."""

_LONG = re.compile("--.")
_EXPANDING = "--expand-"
_PIECES = re.compile(r"[,;]")
_SCRIPT_WORDS = re.compile(r"[\s;\"'=]+")
_CHOICES = re.compile(r"[^\s\"'\\]*[\[{][^\s\"'\\]*")
_ESCAPED = re.compile(r"\\(.)")
_EXPANDED = re.compile(r"[$`]")
_MOST_PIECES = 64


@dataclass(frozen=True, slots=True)
class _Client:
    """The arguments of a client. `letters` take a value; `reading` says what in a value is a file, and
    `operands` what in an operand is; `others` are long options whose values are none. `converses`: its input
    is a script."""

    letters: str
    reading: Mapping[str, re.Pattern[str]]
    others: frozenset[str] = frozenset()
    operands: re.Pattern[str] | None = None
    converses: bool = False

    def pattern(self, name: str) -> re.Pattern[str] | None:
        """What in the value of an option is a file; a long one may be cut short."""
        if name in self.reading or name in self.others or not _LONG.match(name):
            return self.reading.get(name)
        return next((found for each, found in self.reading.items() if each.startswith(name)), None)


def _options(names: str, pattern: re.Pattern[str]) -> dict[str, re.Pattern[str]]:
    return dict.fromkeys(names.split(), pattern)


_CURL_OTHERS = """
    --connect-timeout --connect-to --cookie-jar --data-raw --dump-header --form-string --interface
    --limit-rate --max-filesize --max-redirs --max-time --noproxy --oauth2-bearer --output --output-dir
    --proxy --proxy-user --range --referer --request --request-target --resolve --retry --retry-delay
    --retry-max-time --user --user-agent
"""
_CURL = _Client(
    "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    {
        **_options("-d --data --data-ascii --data-binary --json -H --header --proxy-header", _MARKED),
        **_options("-w --write-out", _MARKED),
        **_options("--data-urlencode --url-query --variable", _NAMED),
        **_options("-F --form", _FORM),
        **_options("-b --cookie", _NO_PAIR),
        **_options("-T --upload-file -E --cert --key --cacert --netrc-file --hsts --etag-compare", _ANY),
        **_options("-K --config", _NAMES),
        **_options("--url", _ADDRESS),
    },
    frozenset(_CURL_OTHERS.split()),
    _ADDRESS,
)
_WGET = _Client(
    "aABDeGiIloOPQRtTUwX",
    {
        **_options("--post-file --body-file --load-cookies --ca-certificate --certificate", _ANY),
        **_options("-i --input-file --private-key", _ANY),
        **_options("-e --execute", _SETTING),
        **_options("--config", _NAMES),
    },
)
_HTTPIE = _Client(
    "aAops",
    _options("--cert --cert-key --session --session-read-only --verify", _ANY),
    frozenset(("--auth", "--auth-type", "--output", "--pretty", "--print", "--proxy", "--raw", "--timeout")),
    _ITEM,
)
_BROWSER = _Client("", {}, operands=_ADDRESS)
_COPYING = _Client("cDFiJloPSX", _options("-F -i", _ANY), operands=_HERE)
_GITHUB = _Client(
    "F",
    {**_options("-F --field", _FIELD), **_options("--body-file --input --notes-file", _ANY)},
    frozenset(("--body", "--notes")),
)
_CONVERSING = _Client("", {}, converses=True)

_CLIENTS: Mapping[str, _Client] = {
    "curl": _CURL,
    "curlie": replace(_CURL, operands=_ITEM),
    **dict.fromkeys(("wget", "wget2"), _WGET),
    **dict.fromkeys(("http", "https", "httpie", "xh", "xhs"), _HTTPIE),
    **dict.fromkeys(("elinks", "links", "links2", "lynx", "w3m"), _BROWSER),
    **dict.fromkeys(("gh", "glab"), _GITHUB),
    "socat": _Client("dlLt", {}, operands=_ENDPOINT),
    "scp": _COPYING,
    "sftp": _Client("bBcDFiJloPRsSX", _options("-b", _NAMES), converses=True),
    "lftp": _Client("cefpu", {**_options("-c -e", _SCRIPT), **_options("-f", _NAMES)}, converses=True),
    **dict.fromkeys(("ftp", "ncftp", "tftp"), _CONVERSING),
    "smbclient": _Client("ADIUWcdilmnpst", _options("-c --command", _SCRIPT), converses=True),
}
"""What in an argument of each client is a file."""


def is_client(simple: Simple) -> bool:
    """Whether it is known what in the arguments of a program are files."""
    return simple.program in _CLIENTS


def client_files(simple: Simple) -> Iterator[Word]:
    """The files that the arguments of a client name behind marks and in lists."""
    for pattern, word in _values(simple):
        if pattern is _SCRIPT:
            yield from map(Word, _SCRIPT_WORDS.split(word.text))
            continue
        file = _cut(word, lambda text, pattern=pattern: _group(pattern, text))
        if file.known and not file.pattern and _CHOICES.fullmatch(file.text):
            file = replace(file, pattern=file.text)
            yield file
        for at in range(min(len(_PIECES.findall(file.text or file.resolved)) + 1, _MOST_PIECES)):
            yield _cut(file, lambda text, at=at: _piece(text, at))
        yield file


def names_more(simple: Simple, *, listed: bool) -> bool:
    """Whether a client is given names of files only when it runs. `listed` says whether names of files in the
    project are piped into it."""
    values = [each for each in _values(simple) if not (each[1] is LISTED and listed)]
    converses = simple.program in _CLIENTS and _CLIENTS[simple.program].converses
    if converses and not any(pattern is _SCRIPT for pattern, _ in values):
        return True
    return any(_may_name(pattern, word) for pattern, word in values)


def addressed(word: Word) -> Word | None:
    """The file that a word gives the address of; None where it is no such address."""
    if not _FILE_ADDRESS.search(word.text or word.resolved) or _BLANK.search(
        word.text.strip().rpartition(_REQUIRED)[2]
    ):
        return None
    cut = _cut(word, _path_of_address)
    return replace(cut, pattern=cut.text) if _CHOICES.fullmatch(cut.text) else cut


def _path_of_address(text: str) -> str:
    found = _FILE_ADDRESS.search(text)
    return unquote(found[1]) if found else ""


def _may_name(pattern: re.Pattern[str], word: Word) -> bool:
    """Whether what only the shell, or the client itself, puts in a word may be the name of a file."""
    if pattern is _NAMES:
        return True
    if word.sure:
        return pattern is _ADDRESS and bool(_CHOSEN_SCHEME.match(word.text))
    begun = bool(_FILE_ADDRESS.search(word.lead))
    return begun or any(pattern.fullmatch(f"{word.lead}{rest}") for rest in _COMPLETIONS)


def _values(simple: Simple) -> Iterator[tuple[re.Pattern[str], Word]]:
    """The values and operands of a client in which files may be, each with what is one there."""
    client = _CLIENTS.get(simple.program)
    if client is None:
        return
    if client.converses:
        for each in simple.redirections:
            if each.operator == "<<":
                body = "\n".join(each.body)
                yield _SCRIPT, Word(body, each.target.known or not _EXPANDED.search(body))
            elif each.operator == "<<<":
                yield _SCRIPT, each.target
    rest = iter(simple.arguments)
    for word in rest:
        pattern, value = client.operands, word
        if word.text.startswith("-") and len(word.text) > 1:
            name, attached = _option(word, client)
            pattern = client.pattern(name)
            takes_next = attached is None and (pattern or name in client.others or name[1:] in client.letters)
            value = next(rest, None) if takes_next else attached
            if value is not None and word.text.startswith(_EXPANDING):
                value = _filled(value)
        if pattern is not None and value is not None:
            yield pattern, value


def _option(word: Word, client: _Client) -> tuple[str, Word | None]:
    """The option in a word that may take a value, and the value where it is attached."""
    if word.text.startswith("--"):
        name, equals, _ = word.text.partition("=")
        return name.replace(_EXPANDING, "--", 1), word.after(f"{name}=") if equals else None
    for at, letter in enumerate(word.text[1:], 2):
        if letter in client.letters:
            attached = len(word.text) > at or not word.known
            return f"-{letter}", word.after(word.text[:at]) if attached else None
    return "--", None


def _filled(word: Word) -> Word:
    """A word into which the client puts values of variables, which it may read from files."""
    lead, filled, _ = word.text.partition("{{")
    return replace(word, known=False, resolved="", lead=lead) if filled else word


def _group(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.fullmatch(text)
    return next((each for each in found.groups() if each is not None), "") if found else ""


def _piece(text: str, at: int) -> str:
    """One of the names in a list, without its quotes."""
    pieces = _PIECES.split(text)
    return _ESCAPED.sub(r"\1", pieces[at].strip().strip('"')) if at < len(pieces) else ""


def _cut(word: Word, cut: Callable[[str], str]) -> Word:
    """A part of a word, the same of each form of it; programs put in the home directory there."""
    text, pattern, resolved = map(cut, (word.text, word.pattern, word.resolved))
    text = os.path.expanduser(text)  # noqa: PTH111 (as text)
    return replace(word, text=text, pattern=pattern, resolved=resolved)
