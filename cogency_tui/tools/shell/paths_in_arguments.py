"""Files that network clients, git and OpenSSL read, by the syntax of file names in their arguments.

A file behind a mark (`field=@path`), in a list, or in an address (`file://localhost/path`) counts like a
path that the command names. Best effort, for permission questions.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile
from urllib.parse import unquote

from cogency_tui.tools.shell.git_command import git_command
from cogency_tui.tools.shell.simple_command import LISTED, Simple, Word

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
"""Pattern of a file name in an option's value, or in an operand."""

_NAMES = re.compile(r"")
"""Pattern of a file that names others."""

_SCRIPT = re.compile(r".*", re.DOTALL)
"""Pattern of a text whose words may be names."""

_FILE_ADDRESS = re.compile(r"(?<![A-Za-z0-9])fileb?:(?://(?:(?!\.)[^/{\[]*(?=/))?)?([^?#]*)", re.IGNORECASE)
_COMPLETIONS = ("x", "@x", "x=@x", ";x=@x")
"""Possible values, as far as marks matter, of the unknown part of a value."""

_BLANK = re.compile(r"\s")
_REQUIRED = " @ "
"""Separator of a package's name and its address."""

_NO_INDEX = "--no-in"
_REVISION = re.compile(r"\bHEAD\b|\.\.\.|\.\.\w")
_COMPARED = 2
_LONG = re.compile("--.")
_EXPANDING = "--expand-"
_PIECES = re.compile(r"[,;]")
_SCRIPT_WORDS = re.compile(r"[\s;\"'=]+")
_CHOICE = re.compile(r"[\[{]")
_SINGLE = re.compile(r"\{([^{},]*)\}")
_NO_CHOICE = re.compile(r"[\s\"'\\]")
_ESCAPED = re.compile(r"\\(.)")
_EXPANDED = re.compile(r"[$`]")
_MOST_PIECES = 64


@dataclass(frozen=True, slots=True)
class _Program:
    """The arguments of a known program. `letters` take a value; `reading` has the pattern of a file in an
    option's value, and `operands` that of a file in an operand; `others` are long options whose values are
    no files. `converses`: its input is a script."""

    letters: str
    reading: Mapping[str, re.Pattern[str]]
    others: frozenset[str] = frozenset()
    operands: re.Pattern[str] | None = None
    converses: bool = False

    def pattern(self, name: str) -> re.Pattern[str] | None:
        """Return the pattern of a file in the value of an option; a long option may be abbreviated."""
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
_CURL = _Program(
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
_WGET = _Program(
    "aABDeGiIloOPQRtTUwX",
    {
        **_options("--post-file --body-file --load-cookies --ca-certificate --certificate", _ANY),
        **_options("-i --input-file --private-key", _ANY),
        **_options("-e --execute", _SETTING),
        **_options("--config", _NAMES),
    },
)
_HTTPIE = _Program(
    "aAops",
    _options("--cert --cert-key --session --session-read-only --verify", _ANY),
    frozenset(("--auth", "--auth-type", "--output", "--pretty", "--print", "--proxy", "--raw", "--timeout")),
    _ITEM,
)
_BROWSER = _Program("", {}, operands=_ADDRESS)
_COPYING = _Program("cDFiJloPSX", _options("-F -i", _ANY), operands=_HERE)
_GITHUB = _Program(
    "F",
    {**_options("-F --field", _FIELD), **_options("--body-file --input --notes-file", _ANY)},
    frozenset(("--body", "--notes")),
)
_CONVERSING = _Program("", {}, converses=True)

_MESSAGE = _Program(
    "CFScmtu",
    _options("-F --file -t --template --pathspec-from-file", _ANY),
    frozenset(("--message", "--author")),
)
_OPERANDS = _Program("CLp", {}, operands=_ANY)
_OPENSSL = _Program(
    "", _options("-in -inkey -key -kfile -certfile -CAfile -CA -CAkey -signature -verify", _ANY)
)

_PROGRAMS: Mapping[str, _Program] = {
    **dict.fromkeys(
        ("git am", "git apply", "git bundle", "git index-pack", "git interpret-trailers", "git mailinfo")
        + ("git merge-file",),
        _OPERANDS,
    ),
    **dict.fromkeys(("git commit", "git commit-tree", "git merge", "git notes", "git tag"), _MESSAGE),
    "git archive": _Program(
        "o", _options("--add-file", _ANY), frozenset(("--output", "--format", "--prefix"))
    ),
    "git blame": _Program("LCMS", _options("--contents --ignore-revs-file -S", _ANY)),
    "git config": _Program("f", _options("-f --file", _ANY)),
    "git fast-export": _Program("", _options("--import-marks --import-marks-if-exists", _ANY)),
    "git fast-import": _Program("", _options("--import-marks --import-marks-if-exists", _ANY)),
    "git format-patch": _Program("o", _options("--signature-file", _ANY), frozenset(("--signature",))),
    "git hash-object": _Program("t", _options("--stdin-paths", _NAMES), operands=_ANY),
    "openssl": _OPENSSL,
    "curl": _CURL,
    "curlie": replace(_CURL, operands=_ITEM),
    **dict.fromkeys(("wget", "wget2"), _WGET),
    **dict.fromkeys(("http", "https", "httpie", "xh", "xhs"), _HTTPIE),
    **dict.fromkeys(("elinks", "links", "links2", "lynx", "w3m"), _BROWSER),
    **dict.fromkeys(("gh", "glab"), _GITHUB),
    "socat": _Program("dlLt", {}, operands=_ENDPOINT),
    "scp": _COPYING,
    "sftp": _Program("bBcDFiJloPRsSX", _options("-b", _NAMES), converses=True),
    "lftp": _Program("cefpu", {**_options("-c -e", _SCRIPT), **_options("-f", _NAMES)}, converses=True),
    **dict.fromkeys(("ftp", "ncftp", "tftp"), _CONVERSING),
    "smbclient": _Program("ADIUWcdilmnpst", _options("-c --command", _SCRIPT), converses=True),
}
"""File arguments of each program, or command of git."""


def is_listed(simple: Simple) -> bool:
    """Return whether the file arguments of a program are known."""
    return _program(simple)[0] is not None


def _program(simple: Simple) -> tuple[_Program | None, tuple[Word, ...]]:
    """Return the entry of a program, or of its git command, and its arguments."""
    git = git_command(simple)
    if git is None or not git.words:
        return _PROGRAMS.get(simple.program), simple.arguments
    command, arguments = git.words[0].text, git.arguments
    if _compares_files(command, arguments):
        return _OPERANDS, arguments
    return _PROGRAMS.get(f"git {command}"), arguments


def _compares_files(command: str, arguments: tuple[Word, ...]) -> bool:
    """Return whether git may read files that are not in the repository: it compares two, or is requested
    to."""
    if command not in ("diff", "difftool", "grep"):
        return False
    if any(word.text.startswith(_NO_INDEX) for word in arguments):
        return True
    operands = [word for word in arguments if not word.text.startswith("-")]
    could_be_two = len(operands) == _COMPARED or any(word.splits for word in operands)
    behind = dropwhile(lambda word: word.text.startswith("-"), arguments)
    only_paths = not any(word.text == "--" or _REVISION.search(word.text) for word in behind)
    return command != "grep" and could_be_two and only_paths


def files_in_arguments(simple: Simple) -> Iterator[Word]:
    """Yield the files that the arguments of a program name behind marks and in lists."""
    for pattern, word in _values(simple):
        if pattern is _SCRIPT:
            yield from map(Word, _SCRIPT_WORDS.split(word.text))
            continue
        file = _cut(word, lambda text, pattern=pattern: _group(pattern, text))
        if file.known and not file.pattern and _has_choices(file.text):
            file = replace(file, pattern=_chosen(file.text))
            yield file
        for at in range(min(len(_PIECES.findall(file.text or file.resolved)) + 1, _MOST_PIECES)):
            yield _cut(file, lambda text, at=at: _piece(text, at))
        yield file


def names_more(simple: Simple, *, listed: bool) -> bool:
    """Return whether a program receives names of files only when it runs. `listed` marks names of files in
    the project that are piped into it."""
    values = [each for each in _values(simple) if not (each[1] is LISTED and listed)]
    known, _ = _program(simple)
    if known and known.converses and not any(pattern is _SCRIPT for pattern, _ in values):
        return True
    return any(_may_name(pattern, word) for pattern, word in values)


def addressed(word: Word) -> Word | None:
    """Return the file of a word that is an address of one; None for any other word."""
    if not _FILE_ADDRESS.search(word.text or word.resolved) or _BLANK.search(
        word.text.strip().rpartition(_REQUIRED)[2]
    ):
        return None
    cut = _cut(word, _path_of_address)
    return replace(cut, pattern=_chosen(cut.text)) if _has_choices(cut.text) else cut


def _has_choices(text: str) -> bool:
    """Return whether a program may expand a name to several, as curl does."""
    return bool(_CHOICE.search(text)) and not _NO_CHOICE.search(text)


def _chosen(text: str) -> str:
    """Return the names as a pattern of the shell, which leaves braces around a single one unchanged."""
    return _SINGLE.sub(r"\1", text)


def _path_of_address(text: str) -> str:
    found = _FILE_ADDRESS.search(text)
    return unquote(found[1]) if found else ""


def _may_name(pattern: re.Pattern[str], word: Word) -> bool:
    """Return whether a part of a word that only the shell, or the program itself, expands may be the name of
    a file."""
    if pattern is _NAMES:
        return True
    if word.sure:
        scheme, colon, _ = word.text.partition(":/")
        return pattern is _ADDRESS and bool(colon and "/" not in scheme and _CHOICE.search(scheme))
    begun = bool(_FILE_ADDRESS.search(word.lead))
    return begun or any(pattern.fullmatch(f"{word.lead}{rest}") for rest in _COMPLETIONS)


def _values(simple: Simple) -> Iterator[tuple[re.Pattern[str], Word]]:
    """Yield the values and operands of a program that may contain files, each with the pattern of these."""
    known, arguments = _program(simple)
    if known is None:
        return
    if known.converses:
        for each in simple.redirections:
            if each.operator == "<<":
                body = "\n".join(each.body)
                yield _SCRIPT, Word(body, each.target.known or not _EXPANDED.search(body))
            elif each.operator == "<<<":
                yield _SCRIPT, each.target
    rest = iter(arguments)
    for word in rest:
        pattern, value = known.operands, word
        if word.text.startswith("-") and len(word.text) > 1:
            name, attached = _option(word, known)
            pattern = known.pattern(name)
            if pattern is _NAMES:
                yield _NAMES, word
                continue
            takes_next = attached is None and (pattern or name in known.others or name[1:] in known.letters)
            value = next(rest, None) if takes_next else attached
            if value is not None and word.text.startswith(_EXPANDING):
                value = _filled(value)
        if pattern is not None and value is not None:
            yield pattern, value


def _option(word: Word, known: _Program) -> tuple[str, Word | None]:
    """Return the option of a word that may take a value, and the value where it is attached."""
    if word.text.startswith("--"):
        name, equals, _ = word.text.partition("=")
        return name.replace(_EXPANDING, "--", 1), word.after(f"{name}=") if equals else None
    if word.known and word.text in known.reading:
        return word.text, None
    for at, letter in enumerate(word.text[1:], 2):
        if letter in known.letters:
            attached = len(word.text) > at or not word.known
            return f"-{letter}", word.after(word.text[:at]) if attached else None
    return "--", None


def _filled(word: Word) -> Word:
    """Return a word in which the program expands variables, which it may read from files."""
    lead, filled, _ = word.text.partition("{{")
    return replace(word, known=False, resolved="", lead=lead) if filled else word


def _group(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.fullmatch(text)
    return next((each for each in found.groups() if each is not None), "") if found else ""


def _piece(text: str, at: int) -> str:
    """Return one of the names in a list, without its quotes."""
    pieces = _PIECES.split(text, at + 1)
    return _ESCAPED.sub(r"\1", pieces[at].strip().strip('"')) if at < len(pieces) else ""


def _cut(word: Word, cut: Callable[[str], str]) -> Word:
    """Cut a part out of a word, the same of each of its forms; programs expand the home directory there."""
    text, pattern, resolved = map(cut, (word.text, word.pattern, word.resolved))
    text = os.path.expanduser(text)  # noqa: PTH111 (as text)
    return replace(word, text=text, pattern=pattern, resolved=resolved)
