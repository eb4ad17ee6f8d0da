"""`[mcp.NAME]`: servers of the Model Context Protocol, whose tools are added to ours.

Invariant: a table without a `problem_in` it names exactly one way to reach its server: a `command` or a
`url`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from cogency_tui.config.workflows import problem_of

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_HEADER = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"

Seconds = Annotated[float, Meta(gt=0, le=3600)]


class McpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[mcp.NAME]` table. Times are in seconds.

    `command` with `args` is started in `cwd` (relative to the project) with our environment, without keys:
    `env` adds variables, `env_from` names those of ours that it receives although they look like keys. A
    server at a `url` receives the headers of `headers_env`, whose values are names of variables.

    `tools` are the only ones that are offered; without it all are. `denied` ones never are. `timeout` is
    for a call, `start_timeout` for the start.
    """

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    env_from: list[str] = []
    cwd: str = ""
    url: str = ""
    headers_env: dict[str, str] = {}
    tools: list[str] | None = None
    denied: list[str] = []
    timeout: Seconds = 60.0
    start_timeout: Seconds = 30.0

    @property
    def address(self) -> str:
        """The command or address, on one line."""
        return self.url or " ".join([self.command, *self.args])

    @property
    def host(self) -> str:
        """The host and port of a `url`; empty for a command."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def offers(self, tool: str) -> bool:
        """Return whether a tool of this server, by its name at the server, is offered."""
        return tool not in self.denied and (self.tools is None or tool in self.tools)


class Problem(msgspec.Struct, frozen=True):
    """The problem with a table, and the key to blame; empty if it is the whole table."""

    key: str
    words: str


def problem_in(name: str, given: object) -> Problem | None:
    """The problem with the table of the server `name`; None if there is none."""
    if problem := problem_in_fields(name, given, McpSettings):
        return problem
    return _misuse(msgspec.convert(given, McpSettings), cast("dict[str, Any]", given))


def problem_in_fields(name: str, given: object, expected: type[msgspec.Struct]) -> Problem | None:
    """The problem with the name of a table, or with one of its fields; None if there is none."""
    if not re.fullmatch(_NAME, name):
        return Problem("", "a name has only letters, digits, - and _, at most 32 characters")
    if not isinstance(given, dict):
        return Problem("", "it must be a table")
    for key, value in cast("dict[str, Any]", given).items():
        if words := problem_of({key: value}, expected):
            return Problem(key, words)
    return None


def _misuse(server: McpSettings, table: Mapping[str, Any]) -> Problem | None:
    """The problem with values that each have the right type."""
    if bool(server.command) == bool(server.url):
        return Problem("", 'it needs either "command" or "url"')
    wrong = ("url", "headers_env") if server.command else ("command", "args", "env", "env_from", "cwd")
    if other := next((key for key in wrong if key in table), ""):
        way = "command" if server.command else "url"
        return Problem(other, f'"{other}" is not allowed for a server with "{way}"')
    if server.url:
        return _misused_address(server)
    if any("\0" in text for text in (server.command, *server.args, *server.env.values())):
        return Problem("", "NUL characters are not allowed")
    variables = (*server.env, *server.env_from)
    if odd := next((each for each in variables if not re.fullmatch(_VARIABLE, each)), ""):
        key = "env" if odd in server.env else "env_from"
        return Problem(key, f'"{key}": {odd!r} is not a variable name')
    return None


def _misused_address(server: McpSettings) -> Problem | None:
    try:
        address = urlsplit(server.url)
        usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:
        usable = False
    if not usable or not server.url.isprintable() or " " in server.url:
        return Problem("url", '"url" must be a full address, with http:// or https://')
    if "@" in urlsplit(server.url).netloc:
        return Problem("url", '"url" must not hold a password: name a variable in "headers_env"')
    for header, variable in server.headers_env.items():
        if not re.fullmatch(_HEADER, header):
            return Problem("headers_env", f'"headers_env": {header!r} is not a header name')
        if not re.fullmatch(_VARIABLE, variable):
            words = f'"headers_env": {header} must be the name of a variable that holds the value'
            return Problem("headers_env", words)
    return None
