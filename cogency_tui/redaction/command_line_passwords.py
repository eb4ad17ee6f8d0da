"""Passwords in the arguments of well-known programs: `mysql -pVALUE`, `curl -u joe:VALUE`.

Which options take one depends on the program: `-p` is also that of a port, of parents and of permissions.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from cogency_tui.redaction.contextual_secrets import is_password
from cogency_tui.redaction.markers import NO_VALUE
from cogency_tui.redaction.secret_spans import Span
from cogency_tui.redaction.secret_values import is_random_value

_LONGEST = 1024
"""Characters of a command that are examined."""

_ARGUMENTS = re.compile(r"(?:[^\n;|&'\"\\]|\\\n|\\.|'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")*+")
_VALUE = (
    rf"(?P<quote>\\?[\"'])?{NO_VALUE}(?!\[)"
    r"(?P<secret>(?(quote)[^\"'\\\n]{4,256}|[^\s\"'`\\;|&<>()]{4,256}))"
)
_PORTS = re.compile(r"(?:[\d.]+:){0,2}[\d-]{1,11}(?:/[a-z]+)?")
_CONNECTION = re.compile(r"\s(?:-[uhD]|--(?:user|host|socket|port|protocol|databases?)\b)")


class _Program(NamedTuple):
    """The options of a program, or its subcommand, that take a password: the group `secret` of `option`. Its
    name contains `sign`; `accepts` decides whether a match is one, given the arguments."""

    sign: str
    name: str
    option: str
    accepts: Callable[[re.Match[str], str], bool]


def _is_given(found: re.Match[str], _arguments: str) -> bool:
    return is_password(found)


def _is_attached(found: re.Match[str], arguments: str) -> bool:
    """Return whether a client of MySQL is given a password: its name is also that of directories, whose
    commands have options such as `-print`."""
    is_client = _CONNECTION.search(arguments) is not None or is_random_value(found["secret"])
    return is_client and is_password(found) and not _PORTS.fullmatch(found["secret"])


_PROGRAMS = (
    *(
        _Program(name, rf"{name}[\w-]{{0,16}}", rf"(?:-p|--password=){_VALUE}", _is_attached)
        for name in ("mysql", "mariadb")
    ),
    # The command behind it may have an option -p, too.
    _Program("sshpass", "sshpass", rf"(?<=sshpass\s)-p\s*{_VALUE}", _is_given),
    _Program("redis-cli", "redis-cli", rf"(?:-a|--pass)\s+{_VALUE}", _is_given),
    *(
        _Program(f"{name} login", f"{name} login", rf"(?:-p|--password)[\s=]\s*{_VALUE}", _is_given)
        for name in ("docker", "podman")
    ),
    _Program("wget", "wget", rf"--(?:(?:http|ftp|proxy)-)?password[\s=]\s*{_VALUE}", _is_given),
    _Program(
        "curl",
        "curl",
        (
            r"(?:-[A-Za-z]{0,8}[uU]|--(?:proxy-)?user[\s=])\s*\\?[\"']?(?P<user>[^\s:\"'`\\;|&<>()]{0,256}):"
            rf"{NO_VALUE}(?!//)(?P<secret>[^\s\"'`\\|<>()]{{4,256}})"
        ),
        _is_given,
    ),
)
SIGNS = "|".join(program.sign for program in _PROGRAMS)
"""Pattern of the words on whose line such a password may follow."""


def command_line_passwords(text: str) -> Iterator[Span]:
    """Yield the passwords that commands in a text are given."""
    for program in _PROGRAMS:
        if program.sign in text:
            yield from _passwords(text, program)


def _passwords(text: str, program: _Program) -> Iterator[Span]:
    # A path that ends with its name is that of a directory, unless it is that of the program.
    name = _compiled(rf"(?<![\w.-])(?<!(?<!bin)/){program.name}(?=\s)")
    option = _compiled(rf"(?<=\s){program.option}")
    for command in name.finditer(text):
        arguments = _ARGUMENTS.match(text, command.end(), command.end() + _LONGEST)
        if arguments:
            matches = option.finditer(text, *arguments.span())
            yield from (found.span("secret") for found in matches if program.accepts(found, arguments[0]))


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    # Lazy, as in `contextual_secrets`.
    return re.compile(pattern)
