"""Secrets that are recognised by their surroundings."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from cogency_tui.redaction.markers import NO_VALUE
from cogency_tui.redaction.randomness import PLACEHOLDER, is_random
from cogency_tui.redaction.secret_spans import Span
from cogency_tui.redaction.secret_values import ORDINARY_PASSWORDS


class _Context(NamedTuple):
    """A kind of secret with known surroundings: the group of `pattern`. Each text with such a secret
    contains `sign`; `accepts` decides whether a match is one."""

    issuer: str
    sign: str
    pattern: str
    accepts: Callable[[re.Match[str]], bool]


_PORT = re.compile(r"\d{1,5}\\?")
_HOST = re.compile(r"localhost|[\w-]+(?:\.[\w-]+)+")
_REFERENCE = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+")
"""A reference to a value in code."""

_HOSTS = re.compile(
    r"(?<![\w-])(?:host|hostaddr|server|dbname|database|user|username|user id|uid|port|sslmode|data source"
    r"|initial catalog|accountname)\s?=\s?[^\s;&,()=]",
    re.IGNORECASE,
)
_LIST = re.compile(r"[\n,()\[\]{}]")
"""Characters of code, whose arguments look like such words."""

_LONGEST_LINE = 512
"""Characters before and after a password that are searched for the rest of its context."""


def is_password(found: re.Match[str]) -> bool:
    """Return whether it is no placeholder."""
    user = found["user"] if "user" in found.re.groupindex else ""
    password = found["secret"]
    return (
        password != user
        and not (_PORT.fullmatch(password) and _HOST.fullmatch(user))
        and password.lower() not in ORDINARY_PASSWORDS
        and not PLACEHOLDER.search(password)
        and not set(password) <= set("*.x-_")
    )


def _is_connection(found: re.Match[str]) -> bool:
    """Return whether a password is among the words of a connection to a database."""
    text, (start, end) = found.string, found.span("secret")
    line = max(text.rfind("\n", max(0, start - _LONGEST_LINE), start), start - _LONGEST_LINE) + 1
    before = _LIST.split(text[max(line, 0) : start])[-1]
    after = _LIST.split(text[end : end + _LONGEST_LINE], maxsplit=1)[0]
    named = _HOSTS.search(before) or _HOSTS.search(after)
    return is_password(found) and not _REFERENCE.fullmatch(found["secret"]) and named is not None


def _is_issued(found: re.Match[str]) -> bool:
    return is_random(found["secret"])


_CONTEXTS = (
    _Context(
        "addresses",
        "://",
        (
            r"://(?<=[A-Za-z0-9+.-]://)(?P<user>[^\s/?#@:\"'<>`]{0,256}):"
            rf"{NO_VALUE}(?!\d{{1,5}}[,;&|)\]])(?P<secret>[^\s/?#@\"'<>`]{{1,512}})@"
        ),
        is_password,
    ),
    _Context(
        "Slack",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{30,})",
        _is_issued,
    ),
    _Context(
        "Discord",
        "/webhooks/",
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{15,20}/(?P<secret>[\w-]{40,})",
        _is_issued,
    ),
    _Context(
        "Discord",
        ".",
        (
            r"\.(?:(?<=[MNO][\w-]{22}\.)|(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{25}\.))"
            r"(?P<secret>[\w-]{6}\.[\w-]{27,40})(?![\w.-])"
        ),
        _is_issued,
    ),
    _Context("Telegram", ":A", r":(?<=\d{8}:)(?P<secret>A[\w-]{34})(?![\w-])", _is_issued),
    _Context(
        "Terraform",
        ".atlasv1.",
        r"\.atlasv1\.(?<=[A-Za-z0-9]{14}\.atlasv1\.)(?P<secret>[\w=-]{60,70})",
        _is_issued,
    ),
    _Context(
        "Azure",
        "Q~",
        r"Q~(?<=\dQ~)(?P<secret>[\w.~-]{31,34})(?![\w~-])",
        _is_issued,
    ),
    _Context(
        "Azure",
        "AccountKey",
        r"AccountKey=(?P<secret>[A-Za-z0-9+/]{80,}={0,2})",
        _is_issued,
    ),
    _Context("Mailchimp", "-us", r"(?<![\w-])(?P<secret>[a-f0-9]{32}-us\d{1,2})(?!\w)", _is_issued),
    *(
        _Context("password hashes", sign, rf"{re.escape(sign)}{rest}", _is_issued)
        for sign, rest in (
            ("$2", r"[abxy]?\$\d\d\$(?P<secret>[./A-Za-z0-9]{53})"),
            ("$apr1$", r"(?P<secret>[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22})"),
            ("$argon2", r"(?:id|i|d)\$(?P<secret>[\w=,$+/]{40,200})"),
            *(
                (sign, r"(?:rounds=\d{1,9}\$)?(?P<secret>[./A-Za-z0-9]{1,32}\$[./A-Za-z0-9]{22,86})")
                for sign in ("$1$", "$5$", "$6$", "$y$j9T$")
            ),
            ("SHA}", r"(?P<secret>[A-Za-z0-9+/]{27,100}={0,2})"),
        )
    ),
    *(
        _Context("PostgreSQL", sign, rf"{re.escape(sign)}{rest}", is_password)
        for sign, rest in (
            (":5432:", r"[^:\s]{1,64}:[^:\s]{1,64}:(?P<secret>[^:\s]{4,128})(?!\S)"),
            ("*:*:", r"(?:\*:)?[^:\s]{1,64}:(?P<secret>[^:\s]{4,128})(?!\S)"),
        )
    ),
    *(
        _Context(
            "npm",
            sign,
            rf"{sign}(?<![^:\s]{sign})(?:Token)?[ \t]?=[ \t]?[\"']?{NO_VALUE}(?P<secret>[\w./+=-]{{8,}})",
            is_password,
        )
        for sign in ("_auth", "_password")
    ),
    _Context(
        "netrc",
        "machine",
        (
            r"machine(?<!\wmachine)\s{1,8}\S{1,256}(?:\s{1,8}(?:login|account)\s{1,8}\S{1,256}){0,2}"
            rf"\s{{1,8}}password\s{{1,8}}{NO_VALUE}(?P<secret>\S{{1,512}})"
        ),
        is_password,
    ),
    _Context(
        "netrc",
        "default",
        (
            r"default(?<![^\n]default)\s{1,8}login\s{1,8}\S{1,256}"
            rf"\s{{1,8}}password\s{{1,8}}{NO_VALUE}(?P<secret>\S{{1,512}})"
        ),
        is_password,
    ),
    *(
        _Context(
            "databases",
            sign,
            (
                rf"{sign}(?<![\w.-]{sign})={NO_VALUE}(?P<secret>[^\s;&\"'`,(){{}}<>]{{4,256}})"
                r"(?=[;&\s\"'`]|\Z)"
            ),
            _is_connection,
        )
        for sign in ("password", "Password", "PASSWORD", "pwd", "Pwd", "PWD")
    ),
)


def secrets_by_context(text: str) -> Iterator[Span]:
    for kind in _CONTEXTS:
        if kind.sign in text:
            matches = _compiled(kind.pattern).finditer(text)
            yield from (found.span("secret") for found in matches if kind.accepts(found))


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    # Lazy: compiling all of them takes longer than the rest of a start.
    return re.compile(pattern)
