"""`shell`: a command in the project.

Invariant: keys are not in its environment or in what it is reported to have said, and how it ended is told
apart: exit status, signal, time-out.
"""

import errno
import os
import re
import signal
from collections.abc import Mapping
from typing import Annotated

import msgspec

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.tools.base import Intent, Outcome, ToolContext, Touch
from cogency_tui.tools.blocking import in_thread
from cogency_tui.tools.command import Ended, run_command
from cogency_tui.workspace.names import unusual
from cogency_tui.workspace.paths import Location

_SECRET_NAME = re.compile(
    r"(^|_)(KEY|KEYS|APIKEY|TOKEN|TOKENS|SECRET|SECRETS|PAT|PWD|PASS|CREDENTIAL|CREDENTIALS|AUTH)$"
    r"|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_|_SECRET|TOKEN_|CONNECTION_STRING",
    re.IGNORECASE,
)
_ORDINARY_NAMES = frozenset({"PWD", "OLDPWD"})
_SECRET_VALUE = re.compile(
    r"(sk|pk|rk)-[\w-]{16}|gh[pousr]_\w{16}|github_pat_|xox[abprs]-|AIza[\w-]{20}|AKIA\w{12}"
)
_SHORTEST_SECRET = 8

_UNATTENDED = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "PAGER": "cat", "TERM": "dumb"}
"""Programs that would ask or page fail or print instead: nobody is there to answer."""

_SUMMARY = 80


class ShellArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(min_length=1, description="for bash -c")]
    cwd: Annotated[str, msgspec.Meta(description="directory to run it in, inside the project")] = "."
    timeout: Annotated[int, msgspec.Meta(ge=1, le=600, description="seconds until it is stopped")] = 120


class Shell:
    """Runs a command; `grace` is what its processes have between TERM and KILL, in seconds."""

    name = "shell"
    description = (
        "Run a command with bash and see its exit status and output (stderr included). Nobody can answer a "
        "question and there is no terminal: use flags like --yes. Processes left in the background are "
        "stopped when the command ends. To look at files, read, list and find are better."
    )
    args = ShellArgs
    aliases: Mapping[str, str] = {"cmd": "command"}

    def __init__(self, grace: float = 2.0) -> None:
        self._grace = grace

    def touch(self, _args: ShellArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True, writes=True)

    async def plan(self, args: ShellArgs, context: ToolContext) -> Intent:
        _require_text(args.command)
        cwd = await in_thread(_directory, args.cwd, context)
        first, _, rest = args.command.strip().partition("\n")
        summary = f"{first[:_SUMMARY]}{' …' if rest or len(first) > _SUMMARY else ''}"
        place = "" if cwd.relative == "." else f" in {cwd.relative}"
        odd = unusual(args.command.replace("\n", " ").replace("\t", " "))
        return Intent(
            "command",
            f"Run {summary}{place}",
            detail=args.command,
            paths=(cwd.path,),
            everything=True,
            guarded=odd.replace("its name", "the command"),
        )

    async def run(self, args: ShellArgs, context: ToolContext) -> Outcome:
        _require_text(args.command)
        cwd = await in_thread(_directory, args.cwd, context)
        environ = scrubbed(os.environ, context.secrets)
        try:
            ended = await run_command(
                args.command, cwd.path, environ, args.timeout, context.report, self._grace
            )
        except OSError as error:
            reason = "it is too long: put it into a file" if error.errno == errno.E2BIG else error.strerror
            raise ToolError(f"The command could not be started: {reason}.") from error
        return _outcome(ended, args.timeout, context.secrets)


def scrubbed(environ: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """An environment without keys: ours, and what looks like one by its name or value."""
    values = {value for value in secrets.values() if value}
    kept = {
        name: value
        for name, value in environ.items()
        if name in _ORDINARY_NAMES
        or not (name in secrets or value in values or _SECRET_NAME.search(name) or _SECRET_VALUE.match(value))
    }
    return kept | _UNATTENDED


def _require_text(command: str) -> None:
    if "\0" in command:
        raise ToolError("The command has a NUL character, which no command can have.")
    try:
        os.fsencode(command)
    except UnicodeEncodeError:
        raise ToolError("The command has a lone surrogate, which is half a character.") from None


def _directory(given: str, context: ToolContext) -> Location:
    location = context.workspace.locate(given)
    if not location.inside:
        raise WorkspaceError(
            f"cwd={location.relative} is outside the project.", "Commands run inside; use cd in the command."
        )
    context.workspace.open_directory(location).close()
    return location


def _outcome(ended: Ended, timeout: int, secrets: Mapping[str, str]) -> Outcome:
    output = ended.output
    for name, value in secrets.items():
        if len(value) >= _SHORTEST_SECRET:
            output = output.replace(value, f"[{name} is not shown]")
    stopped = f"timed out after {timeout} s and was stopped"
    status = stopped if ended.timed_out else _status(ended.status)
    lines = [status, output.rstrip("\n") or "(no output)"]
    if ended.left_behind:
        lines.append("[processes that it left in the background were stopped]")
    failed = ended.timed_out or ended.status != 0
    line = status if ended.timed_out else f"{status} after {ended.seconds:.1f} s"
    return Outcome(line, "\n".join(lines), failed=failed)


def _status(status: int) -> str:
    if status < 0:
        return f"killed by {_signal_name(-status)}"
    if status > 128 and (name := _signal_name(status - 128)):
        # What a shell makes of a command of its own that a signal killed.
        return f"exit {status} ({name})"
    return f"exit {status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
