"""Files that exist only to store secrets, and the secrets in them."""

import re
from collections.abc import Iterator

from cogency_tui.redaction.markers import NO_VALUE
from cogency_tui.redaction.named_values import assigned_to_names, is_secret_name
from cogency_tui.redaction.secret_spans import Span
from cogency_tui.redaction.secret_values import is_ordinary, is_random_value

_SECRET_FILE = re.compile(
    r"\.env(?:\.[\w-]+)*|[\w.-]+\.env|\.envrc|\.pgpass|[._]netrc|\.htpasswd|\.git-credentials|credentials"
    r"|(?:credentials|secrets?)\.(?:ya?ml|json|toml|ini|properties)|[\w.-]+\.tfvars(?:\.json)?"
    r"|master\.key|(?:production|staging|development)\.key|\.my\.cnf|\.s3cfg|\.dockercfg|\.vault[_-]token",
    re.IGNORECASE,
)
_TEMPLATE_FILE = re.compile(r"example|sample|template|dist\b|default", re.IGNORECASE)
_PASSWORD_FILE = re.compile(r"\.pgpass|\.?htpasswd", re.IGNORECASE)
_SETTING = re.compile(
    r"^[ \t-]{0,32}(?:export[ \t]{1,4})?[\"']?(?P<name>[\w.-]{1,128})[\"']?[ \t]{0,32}[:=][ \t]{0,32}"
    rf"(?P<quote>[\"']?+){NO_VALUE}(?P<value>[^\n]*)",
    re.MULTILINE,
)
_LOGIN = re.compile(
    rf"^[^:\s#]{{1,256}}:(?:[^:\s]{{1,64}}:[^:\s]{{1,64}}:[^:\s]{{1,64}}:)?{NO_VALUE}(?P<secret>[^:\s]+)$",
    re.MULTILINE,
)
"""A line of a password file of Apache or PostgreSQL."""

_VALUE = re.compile(r"[\w+/-]{16,}={0,2}")
_LONE_VALUE = re.compile(rf"^{_VALUE.pattern}$", re.MULTILINE)
_SHORTEST = 6


def is_secret_file(path: str) -> bool:
    """Return whether a file's name is that of a file for secrets."""
    name = _name(path)
    return _SECRET_FILE.fullmatch(name) is not None and not _TEMPLATE_FILE.search(name)


def secrets_in_secret_file(text: str, path: str) -> Iterator[Span]:
    """Yield values with a secret's name that are not ordinary, and others that look random."""
    if _PASSWORD_FILE.fullmatch(_name(path)):
        yield from (
            found.span("secret") for found in _LOGIN.finditer(text) if _may_be_secret(found["secret"])
        )
    for found in _SETTING.finditer(text):
        start = found.start("value")
        value = _bare(found["value"], found["quote"])
        if _may_be_secret(value) if is_secret_name(found["name"]) else _is_random(value):
            yield start, start + len(value)
    for name, assigned in assigned_to_names(text):
        if is_secret_name(name) and _may_be_secret(assigned.text):
            yield from assigned.pieces
    yield from (found.span() for found in _LONE_VALUE.finditer(text) if is_random_value(found[0]))


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _bare(value: str, quote: str) -> str:
    """Return the value of a setting without its closing quote, and without a comment."""
    if quote and quote in value:
        return value.partition(quote)[0]
    return value.partition(" #")[0].rstrip(" \t\r,;")


def _may_be_secret(value: str) -> bool:
    return len(value) >= _SHORTEST and not is_ordinary(value)


def _is_random(value: str) -> bool:
    return _VALUE.fullmatch(value) is not None and is_random_value(value)
