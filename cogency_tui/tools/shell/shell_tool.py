"""The tool `shell`: a command in the project.

Invariant: secrets are neither in its environment nor in the system's view of ours; the result distinguishes
exit status, signal and time-out.
"""

import errno
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from math import ceil, isfinite
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.redaction import KnownSecrets
from cogency_tui.tools.base import (
    PLAIN,
    Aliases,
    Intent,
    Outcome,
    Spellings,
    ToolContext,
    ToolKind,
    Touch,
    with_protected,
)
from cogency_tui.tools.bounded_output import HeadAndTail
from cogency_tui.tools.edit import NO_PATCHES
from cogency_tui.tools.journal_protocol import Found
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.command_execution import Ended, run_command
from cogency_tui.tools.shell.command_parameters import check, described, given
from cogency_tui.tools.shell.concealed_proc_environ import conceal
from cogency_tui.tools.shell.environment_scrubbing import scrubbed
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.tools.worker_threads import completed, in_thread
from cogency_tui.workspace.paths import Location, Workspace

_FIRST_CHECK = 0.5
"""Seconds after which the first output of a background command is returned."""

LONGEST_VALUE = 8 << 20
"""Most bytes of standard output for an `output_key`."""

_READING = "cogency_tui.tools.shell.command_plan"

_LEAST_MILLISECONDS = 5000

_MORE_TIME = "[raise timeout (in seconds), or use background=true]"
_IN_SANDBOX = "[it ran in a sandbox: no network, write access only to the project and /tmp]"


def _number(value: Any) -> float:
    """Read a number, also in quotes; 0 if it is none."""
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return 0
    return number if isfinite(number) else 0


def _milliseconds_read(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read `timeout_ms`; each second that has begun counts."""
    number = _number(value)
    return {"timeout": ceil(number / 1000)} if number > 0 else {}


def _timeout_read(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read `timeout`: more than an hour can only be milliseconds."""
    number = _number(value)
    return _milliseconds_read(number, {}) if number >= _LEAST_MILLISECONDS else {"timeout": value}


def _command_read(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read a command that is given as a list, or as the JSON of one: the script of a shell, or else the words
    of a command."""
    if isinstance(value, str) and value.startswith("["):
        with suppress(msgspec.DecodeError):
            value = msgspec.json.decode(value, type=list[str])
    if not isinstance(value, list):
        return {"command": value}
    words = cast("list[Any]", value)
    if not words or not all(isinstance(word, str) for word in words):
        return {"command": words}
    from cogency_tui.tools.shell.programs import programs_with

    shells = programs_with("posix")
    if len(words) == 3 and words[0].rpartition("/")[2] in shells and words[1] in ("-c", "-lc", "-cl"):
        return {"command": words[2]}
    return {"command": shlex.join(words)}


class ShellArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(min_length=1, description="for bash -c")]
    cwd: Annotated[str, msgspec.Meta(description="directory inside the project")] = "."
    timeout: Annotated[
        int,
        msgspec.Meta(ge=1, le=600, description="seconds until it is stopped; not used in the background"),
    ] = 120
    background: Annotated[
        bool, msgspec.Meta(description="for servers and similar: return at once; see processes")
    ] = False


class Shell:
    """Runs a command; its processes have `grace` seconds between TERM and KILL.

    Without `background` there are no background commands; without `sandbox` commands run outside one.
    """

    name = "shell"
    kind: ToolKind = "execute"
    description = (
        "Run a command with bash; the result has its exit status and output (with stderr). It has no "
        "terminal, and no one can answer its questions: use flags like --yes. Its child processes are "
        "stopped when it ends; with background=true it continues. To inspect files prefer read, list and "
        "find."
    )
    args = ShellArgs
    aliases = Aliases(
        Spellings(
            {
                "cmd": "command",
                "run_in_background": "background",
                "is_background": "background",
                **dict.fromkeys(("workdir", "working_directory", "directory", "dir_path"), "cwd"),
            },
            ignored=frozenset(("justification", "with_escalated_permissions", "sandbox_permissions")),
            read={
                "timeout_ms": _milliseconds_read,
                "timeout": _timeout_read,
                **dict.fromkeys(("command", "cmd"), _command_read),
            },
            instead={
                "restart": "each command has its own shell",
                "timeout_ms": "timeout is in seconds",
            },
        ),
        dict.fromkeys(
            (
                *("bash", "terminal", "run_command", "run_shell_command", "shell_command"),
                *("execute_command", "run_terminal_cmd", "run_terminal_command", "container.exec"),
            ),
            PLAIN,
        )
        | {
            "exec_command": Spellings(
                ignored=frozenset(("yield_time_ms", "max_output_tokens", "tty", "login"))
            )
        },
    )
    environment = frozenset({"command"})

    def __init__(
        self, grace: float = 2.0, *, background: Background | None = None, sandbox: Sandbox | None = None
    ) -> None:
        self._grace = grace
        self._background = background
        self._ports = ListeningPorts() if background is None else ListeningPorts(background.pids)
        self._sandbox = sandbox or Sandbox()

    def touch(self, _args: ShellArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True, writes=True)

    async def plan(self, args: ShellArgs, context: ToolContext) -> Intent:
        _require_text(args.command)
        await in_thread(_require_no_patch, args.command)
        await in_thread(check, args.command, context.variables)
        cwd = await in_thread(_directory, args.cwd, context)
        # In a thread: reading commands takes much code, which nothing else needs.
        await in_thread(import_module, _READING)
        from cogency_tui.tools.shell.command_plan import plan

        shown = await in_thread(described, args.command, context.variables)
        return await plan(
            args.command, cwd, shown, context, self._sandbox, self._ports, keeps_running=args.background
        )

    async def run(self, args: ShellArgs, context: ToolContext) -> Outcome:
        _require_text(args.command)
        cwd = (await in_thread(_directory, args.cwd, context)).path
        await in_thread(_learn_named_files, args.command, cwd, context.known)
        environ = scrubbed(os.environ, context.secrets)
        # The command can inspect its parents.
        await in_thread(conceal, os.environ.keys() - environ.keys())
        stake = await in_thread(_at_stake, args.command, cwd, context.workspace)
        try:
            wrapper = await self._sandbox.wrapper(context.workspace, cwd)
            if wrapper:
                environ = self._sandbox.environment(environ)
            async with given(context.variables, self._sandbox.temporary) as values:
                environ |= values.environ
                if args.background:
                    if values.notes:
                        raise ToolError("A background command cannot receive such a long value.")
                    return await self._start(args.command, cwd, environ, wrapper, context, stake)
                return await self._run(args, cwd, environ, wrapper, context, stake, values.notes)
        except OSError as error:
            long = "the command or its values are too long: put them into a file"
            reason = long if error.errno == errno.E2BIG else error.strerror
            raise ToolError(f"The command could not be started: {reason}.") from error

    async def _run(
        self,
        args: ShellArgs,
        cwd: Path,
        environ: Mapping[str, str],
        wrapper: list[str],
        context: ToolContext,
        stake: Sequence[Path],
        notes: Sequence[str],
    ) -> Outcome:
        produced = HeadAndTail(LONGEST_VALUE)
        async with await in_thread(_recorded, context, self.name, stake, args.command) as found:
            ended = await run_command(
                args.command,
                cwd,
                environ,
                args.timeout,
                context.report,
                self._grace,
                wrapper,
                produced=produced.feed if context.takes_value else None,
                signs=None if found is None else found.signs,
            )
        # The command may have created them.
        await in_thread(_learn_named_files, args.command, cwd, context.known)
        outcome = _outcome(
            ended,
            args.timeout,
            ended.output,
            [*ended.notes, *notes, *_seen(found)],
            sandboxed=bool(wrapper),
        )
        outcome = with_protected(outcome, found)
        return _with_value(outcome, produced) if context.takes_value else outcome

    async def _start(
        self,
        command: str,
        cwd: Path,
        environ: Mapping[str, str],
        wrapper: list[str],
        context: ToolContext,
        stake: Sequence[Path],
    ) -> Outcome:
        background = self._background
        if background is None:
            raise ToolError("Commands cannot run in the background here.", "Omit background.")
        async with await in_thread(_recorded, context, self.name, stake, command) as found:
            id = await background.start(command, cwd, environ, wrapper, context.secrets, context.known)
            try:
                process = await background.settle(id, _FIRST_CHECK)
            except BaseException:
                await completed(background.stop(id))
                raise
            if found is not None and process.ended is None:
                found.goes_on(lambda: background.over(id), background.pid(id))
        notes = _seen(found)
        output = background.read(id) if process.ended is not None else background.read_start(id)
        if output:
            context.report(output)
        if process.ended is not None:
            background.acknowledge(id)
            notes = [*process.ended.notes, *notes]
            return with_protected(_outcome(process.ended, 0, output, notes, sandboxed=bool(wrapper)), found)
        end = "; it ends with your answer" if background.ends_with_answer else ""
        lines = [f"started in the background as {id}{end}", output.rstrip("\n") or "(no output yet)", *notes]
        outcome = Outcome(f"{id} runs in the background", "\n".join(lines), background={id: True})
        return with_protected(outcome, found)


def _learn_named_files(command: str, cwd: Path, known: KnownSecrets) -> None:
    from cogency_tui.tools.shell.secrets_of_files import learn_named_files

    learn_named_files(command, cwd, known)


def _at_stake(command: str, cwd: Path, workspace: Workspace) -> Sequence[Path]:
    from cogency_tui.tools.shell.losses import at_stake

    return at_stake(command, cwd, workspace).paths


def _recorded(
    context: ToolContext, tool: str, stake: Sequence[Path], command: str
) -> AbstractAsyncContextManager[Found | None]:
    """Record concurrent changes in the journal, if there is one. Blocks."""
    if context.journal is None:
        return nullcontext()
    from cogency_tui.tools.shell.command_plan import consent_to

    return context.journal.around_command(context.call_id, tool, stake, consent_to(command, context))


def _seen(found: Found | None) -> list[str]:
    return [] if found is None else list(found.notes)


def _require_text(command: str) -> None:
    if "\0" in command:
        raise ToolError("The command has a NUL character, which is not allowed.")
    try:
        os.fsencode(command)
    except UnicodeEncodeError:
        raise ToolError("The command has a lone surrogate, which is half a character.") from None


def _require_no_patch(command: str) -> None:
    """Refuse Codex's patches, which its shell applies: here, `apply_patch` is no program."""
    if command.split(maxsplit=1)[:1] == ["apply_patch"] and shutil.which("apply_patch") is None:
        raise ToolError(NO_PATCHES)


def _directory(given: str, context: ToolContext) -> Location:
    location = context.locate(given)
    if not location.inside:
        raise WorkspaceError(
            f"cwd={location.relative} is outside the project.",
            "Commands start inside the project; use cd in the command.",
        )
    context.workspace.open_directory(location).close()
    return location


def _outcome(ended: Ended, timeout: int, output: str, notes: Sequence[str], *, sandboxed: bool) -> Outcome:
    status = f"timed out after {timeout} s and was stopped" if ended.timed_out else ended.described
    failed = ended.timed_out or ended.status != 0
    lines = [status, output.rstrip("\n") or "(no output)", *notes]
    if ended.timed_out:
        lines.append(_MORE_TIME)
    if failed and sandboxed:
        lines.append(_IN_SANDBOX)
    return Outcome(status, "\n".join(lines), failed=failed)


def _with_value(outcome: Outcome, produced: HeadAndTail) -> Outcome:
    """Return the outcome of a command with its whole standard output as value."""
    if produced.parts()[1]:
        note = f"[its standard output is longer than {LONGEST_VALUE >> 20} MiB: too long for an output_key]"
        return replace(outcome, content=f"{outcome.content}\n{note}", failed=True)
    return replace(outcome, value=produced.text())
