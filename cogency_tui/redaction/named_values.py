"""Secrets that are recognised by the name beside them: in settings, code, headers, parameters of addresses.

The name has to be a secret's as whole words, and the value has to look random
(`randomness.is_random_value`), so that identifiers, placeholders, paths, references and expressions of
ordinary code stay as they are.
"""

import re
import string
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from cogency_tui.redaction.markers import NO_VALUE
from cogency_tui.redaction.multiline_values import Assigned, Value, assigned_values
from cogency_tui.redaction.secret_spans import Span
from cogency_tui.redaction.secret_values import is_random_value

STEMS = {
    "pass": "pass(?:word|wd|phrase|code)?",
    "sig": "sig(?:nature)?",
    "auth": "auth(?:orization)?",
    **{stem: stem for stem in ("pwd", "secret", "token", "key", "credential", "bearer")},
}
"""Endings of the last word of a secret's name, in lower case: the part to search, and its full pattern."""

_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "authorization", "bearer")
_SECRETS = (
    *("secret", "credential", "apikey", "secretkey", "accesskey", "privatekey", "authkey", "masterkey"),
    *("accountkey", "clientkey", "presharedkey", "authtoken", "accesstoken", "refreshtoken", "apitoken"),
)
"""Endings that make a word a secret's name."""

_SECRET_KEYS = frozenset(
    (
        "access",
        "account",
        "admin",
        "api",
        "app",
        "application",
        "auth",
        "authentication",
        "client",
        "consumer",
    )
    + ("decryption", "deploy", "deployment", "encryption", "function", "functions", "hmac", "host", "jwt")
    + ("license", "master", "preshared", "private", "secret", "server", "service", "session", "shared")
    + ("signing", "storage", "subscription", "webhook")
)
"""Words before `key` that make it a secret."""

_ORDINARY_KEYS = frozenset(
    ("public", "pub", "publishable", "primary", "foreign", "sort", "partition", "cache", "object", "index")
    + ("row", "hash", "unique", "lookup", "group", "registry", "routing", "idempotency", "site", "field")
    + ("column", "shard", "map", "ssh", "lock", "state", "s3", "verify", "verification", "gpg", "item")
)
"""Words before `key` that make it ordinary."""

_ORDINARY_TOKENS = frozenset(
    ("page", "next", "continuation", "sync", "resume", "cancel", "cancellation", "syntax", "stop", "start")
    + ("bos", "eos", "pad", "unk", "sep", "cls", "mask", "special", "design", "lexer", "public")
)
"""Words before `token` that make it ordinary."""

_SIGNED = frozenset(("amz", "goog"))
_SUFFIXES = (
    *("base", "data", "value", "raw", "plain", "text", "string", "base64", "b64", "current", "previous"),
    *("old", "new", "prod", "production", "staging", "stage", "dev", "development", "test", "live"),
    *("primary", "secondary", "main", "default"),
)
"""Words behind a secret's name that change nothing."""

_SUFFIX = rf"s?(?:[_-]?(?:{'|'.join(sorted(_SUFFIXES, key=len, reverse=True))}|\d{{1,3}})){{0,2}}"
_TYPE = r"(?::? ?[a-z&]{0,8}(?:string|str|text)\??(?: ?\| ?(?:none|null|undefined))? )?"
_ASSIGNING = (
    rf"(?:\\{{0,2}}[\"'`])?\]?[ \t]{{0,8}}{_TYPE}(?:=(?!=)>?|:=?|%3d)"
    r"|[\"'][ \t]{1,4}value=|[\"']?[ \t\r]{0,4}\n[ \t-]{1,40}[\"']?value[\"']?[ \t]{0,4}[:=]"
    r"|>"
)
_SEPARATOR = rf"(?:{_ASSIGNING}|\\{{0,2}}[\"'][ \t]{{0,4}},|(?=[ \t]))[ \t]{{0,8}}"
_SCHEME = r"(?:(?:basic|bearer|token|apikey|api-key)[ \t]{1,4})?"
_UNQUOTED = r"[^\s\"'`\\<>,;&(){}\[\]|]"
_BEGINNING = re.compile(rf"{NO_VALUE}{_UNQUOTED}{{6}}")
_QUOTED = re.compile(r"[^\s\"'`\\]*")

LONGEST_NAME = 80
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{0,{LONGEST_NAME}}}\Z")
_WORDS = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_HASH = re.compile(r"[A-Fa-f0-9x]+")
_REFERENCE = re.compile(r"[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*")
"""A reference to a value in code."""

_TEMPLATE = re.compile(r"[$#%]\{|\{\{|\$\(|[<>]")

_SHORTEST_PASSWORD = 8
_SHORTEST_KEY = 12
_SHORTEST_SIGNATURE = 16
_SHORTEST_IDENTIFIER = 16
_SHORTEST_OTHER_KEY = 20


class _Named(NamedTuple):
    """A value, with the name and the signs before it, and the text after it."""

    name: str
    before: str
    separator: str
    quote: str
    value: str
    after: str


def named_values(text: str) -> Iterator[Span]:
    """Yield the values with a secret's name."""
    lower = _lower(text)
    for stem in STEMS:
        if stem in lower:
            yield from _named_by(stem, text, lower)
    for found in _assigned(text):
        for value in found.assigned.values:
            quote = "" if value.bare else '"'
            named = found.named._replace(quote=quote, value=value.text)
            if _BEGINNING.match(value.text) and _is_secret(named):
                yield from value.pieces


def assigned_to_names(text: str) -> Iterator[tuple[str, Value]]:
    """Yield the values that are assigned over lines or in pieces, each with its name."""
    for found in _assigned(text):
        yield from ((found.named.name, value) for value in found.assigned.values)


def undecided_value(text: str) -> tuple[int, int] | None:
    """Return the start of a name, and of its value, where the value may continue behind the end of a text."""
    undecided = [
        (found.start, found.assigned.undecided)
        for found in _assigned(text)
        if found.assigned.undecided is not None
    ]
    return (min(start for start, _ in undecided), min(place for _, place in undecided)) if undecided else None


def is_secret_name(name: str) -> bool:
    """Return whether values with this name are secrets."""
    return _shortest_secret(_Named(name, "", ":", '"', "", "")) > 0


def is_named_secret(name: str, value: str) -> bool:
    """Return whether a value with this name is a secret."""
    return _is_secret(_Named(name, "", ":", '"', value, ""))


def _named_by(stem: str, text: str, lower: str) -> Iterator[Span]:
    pattern = _pattern(stem)
    found = pattern.search(lower)
    while found:
        named, (start, end) = _around(text, found)
        if _is_secret(named):
            yield start, end
        elif end - start <= LONGEST_NAME:
            # A value that is no secret may be the name of one.
            end = start
        found = pattern.search(lower, end)


class _AssignedToName(NamedTuple):
    """An assignment to a secret's name, which begins at `start`."""

    named: _Named
    start: int
    assigned: Assigned


def _assigned(text: str) -> Iterator[_AssignedToName]:
    lower = _lower(text)
    for stem in STEMS:
        if stem in lower:
            yield from _assigned_by(stem, text, lower)


def _assigned_by(stem: str, text: str, lower: str) -> Iterator[_AssignedToName]:
    pattern = _assigning_pattern(stem)
    found = pattern.search(lower)
    while found:
        name, before = _name_before(text, found.start("separator"))
        named = _Named(name, before, found["separator"], '"', "", "")
        end = found.end()
        if _shortest_secret(named):
            assigned = assigned_values(text, end)
            yield _AssignedToName(named, found.start("separator") - len(name), assigned)
            # The text of a walk is not walked again.
            end = assigned.end
        found = pattern.search(lower, end)


def _lower(text: str) -> str:
    # No other letter has a lower case of another length.
    return text.replace("İ", "i").lower()


def _name_before(text: str, end: int) -> tuple[str, str]:
    """Return the name that ends at a position, and the text before it."""
    name = next(_NAME.finditer(text[max(0, end - LONGEST_NAME) : end]))[0]
    first = end - len(name)
    return name, text[max(0, first - 8) : first]


@cache
def _assigning_pattern(stem: str) -> "re.Pattern[str]":
    quoted_name = r"\\{0,2}[\"'][ \t\r]{0,8}\n[ \t]{0,80}:"
    continued = r"[ \t]{1,8}(?=\\\r?\n)|\\{0,2}[\"'][ \t]{0,4},(?=[ \t]{0,8}\r?\n)"
    return re.compile(rf"{STEMS[stem]}{_SUFFIX}(?P<separator>{_ASSIGNING}|{quoted_name}|{continued})")


@cache
def _pattern(stem: str) -> "re.Pattern[str]":
    return re.compile(
        rf"{STEMS[stem]}{_SUFFIX}(?P<separator>{_SEPARATOR})(?P<quote>\\{{0,2}}[\"'`]|){_SCHEME}"
        rf"(?!:){NO_VALUE}(?P<secret>{_UNQUOTED}{{6,}})"
    )


def _around(text: str, found: re.Match[str]) -> tuple[_Named, Span]:
    start, end = found.span("secret")
    if found["quote"]:
        end = next(_QUOTED.finditer(text, end)).end()
    name, before = _name_before(text, found.start("separator"))
    named = _Named(
        name,
        before,
        found["separator"],
        found["quote"],
        text[start:end],
        text[end : end + 1],
    )
    return named, (start, end)


def _is_secret(named: _Named) -> bool:
    shortest = _shortest_secret(named)
    value = named.value
    if not shortest or _TEMPLATE.search(value):
        return False
    if not named.quote and _resembles_code(named):
        return False
    return len(value) >= shortest and is_random_value(value)


def _resembles_code(named: _Named) -> bool:
    """Return whether a value without quotes may be an expression."""
    if named.separator.endswith(",") or named.after in tuple("([{"):
        return True
    value = named.value
    at_end = ":" in named.separator and not named.after.strip()
    if named.separator == ">" or (at_end and "." not in value):
        return False
    if named.separator.strip() == "=" and " " not in named.separator:
        # An environment or an address, unless the name is a member as in minified code.
        return "." in named.name and "." in value
    settled = len(value) >= _SHORTEST_IDENTIFIER and any(map(str.isdigit, value)) and "." not in value
    return not settled and _REFERENCE.fullmatch(value) is not None


def _shortest_secret(named: _Named) -> int:
    """Return the least length of a secret with this name; 0 where it is none."""
    words = [word.lower() for word in _WORDS.findall(named.name)]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words or not _is_separated(named, words[-1]):
        return 0
    last = words[-1].rstrip(string.digits)
    last = last if last.endswith("ss") else last.removesuffix("s")
    before = words[-2] if len(words) > 1 else ""
    if last.endswith(_PASSWORDS) or last in ("pass", "pwd"):
        return _SHORTEST_PASSWORD
    if last == "auth":
        return _SHORTEST_PASSWORD if named.quote and _is_login(named.value) else 0
    if last.endswith(_SECRETS) or (last == "token" and before not in _ORDINARY_TOKENS):
        return _SHORTEST_KEY
    if last == "signature":
        return _SHORTEST_SIGNATURE if before in _SIGNED else 0
    if last == "sig":
        return _SHORTEST_SIGNATURE if named.before.endswith(("?", "&", ";")) else 0
    if last != "key" or not before or before in _ORDINARY_KEYS or named.name.endswith((".key", ".Key")):
        return 0
    if before in _SECRET_KEYS or named.name.isupper():
        return _SHORTEST_KEY
    return 0 if _HASH.fullmatch(named.value) else _SHORTEST_OTHER_KEY


def _is_separated(named: _Named, last: str) -> bool:
    """Return whether the text between the name and the value makes it the value's name."""
    if named.separator == ">":
        return named.before.endswith(("<", ":"))
    if named.separator.isspace():
        environment = named.before.lower().endswith(("env ", "arg "))
        return named.name.startswith("--") or last == "bearer" or environment
    return True


def _is_login(value: str) -> bool:
    """Return whether it is a name and a password in Base64, as Docker writes them."""
    try:
        return b":" in b64decode(value, validate=True)[1:]
    except (Error, ValueError):
        return False
