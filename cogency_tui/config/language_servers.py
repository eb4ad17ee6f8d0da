"""`[language_servers.NAME]`: programs that find errors and symbols in the files of a language.

Invariant: only the user configures them; a project cannot choose a program that is started.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cogency_tui.config.mcp import Problem, problem_in_fields


class LanguageServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[language_servers.NAME]` table: a server of the user's, or what differs from a built-in one.

    `commands` are the command lines to try, in order: the first one whose program is found is used. `files`
    maps patterns of file names to the language's identifier in the protocol. A server works in the nearest
    directory above a file that has one of the `roots`, else in the project.

    `risk` says what a project can have the server do (`runs build scripts`): it starts only where the user
    allows it; empty if there is nothing to fear. `initialization` are the options of its `initialize`
    request, `settings` its configuration; those of `untrusted` win in a project in which the user has not
    allowed it. `settle` is the time in seconds after which its diagnostics count as complete, for a server
    that sends them in several parts.
    """

    commands: list[Annotated[list[str], Meta(min_length=1)]] | None = None
    files: dict[str, str] | None = None
    roots: list[str] | None = None
    risk: str | None = None
    initialization: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None
    untrusted: dict[str, Any] | None = None
    settle: Annotated[float, Meta(ge=0, le=10)] | None = None
    enabled: bool | None = None


def problem_in(name: str, given: object) -> Problem | None:
    """The problem with the table of the server `name`; None if there is none."""
    if problem := problem_in_fields(name, given, LanguageServerSettings):
        return problem
    server = msgspec.convert(given, LanguageServerSettings)
    if any(not command[0] or "\0" in "".join(command) for command in server.commands or ()):
        return Problem("commands", "a command needs a program, and no NUL characters")
    return None
