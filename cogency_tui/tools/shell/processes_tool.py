"""The tool `processes`: lists, reads, watches, awaits and stops the background commands of `shell`."""

from typing import Literal

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import Aliases, Intent, Outcome, Spellings, ToolContext, ToolKind, Touch
from cogency_tui.tools.shell.background import Background, BackgroundState
from cogency_tui.workspace.protected_names import shown

_SUMMARY = 80
_LONGEST_WAIT = 600
"""Seconds."""


class ProcessesArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str = ""
    action: Literal["list", "read", "stop", "watch", "wait"] = "list"
    pattern: str = ""
    seconds: int = 120


class Processes:
    """Lists, reads, watches, awaits and stops the commands in `background`."""

    name = "processes"
    kind: ToolKind = "execute"
    description = (
        "Background commands of shell: list them, read the new output of one, stop it, watch it for lines "
        "that match the regex pattern, or wait for its end or a match."
    )
    brief = True
    args = ProcessesArgs
    aliases = Aliases(
        Spellings({"timeout": "seconds"}),
        tools={
            "bash_output": Spellings({"bash_id": "id"}, {"action": "read"}),
            "kill_shell": Spellings({"shell_id": "id"}, {"action": "stop"}),
            "kill_bash": Spellings({"shell_id": "id", "bash_id": "id"}, {"action": "stop"}),
        },
    )

    def __init__(self, background: Background) -> None:
        self._background = background

    def touch(self, args: ProcessesArgs, _context: ToolContext, /) -> Touch:
        """Order the call with commands in its block, whose processes it shows and stops."""
        return Touch(everything=True, writes=args.action == "stop")

    async def plan(self, args: ProcessesArgs, context: ToolContext) -> Intent:
        del context
        if args.action == "list":
            return Intent("read", "List background commands")
        process = self._named(args)
        if args.action == "watch" and not (args.pattern or process.watched):
            raise ToolError(
                f"{process.id} is not watched.", "Give a pattern: lines that match it are reported."
            )
        line = f"{process.id}: {summary(process.command)}"
        if args.action == "watch":
            return Intent("read", f"{'Watch' if args.pattern else 'Stop watching'} the output of {line}")
        if args.action == "wait":
            return Intent("read", f"Wait for {line}")
        if args.action == "read":
            return Intent("read", f"Read the output of {line}")
        return Intent("command", f"Stop {line}", detail=f"stop {process.id}: {process.command}", own=True)

    async def run(self, args: ProcessesArgs, context: ToolContext) -> Outcome:
        del context
        if args.action == "list":
            return self._listed(args.id)
        process = self._named(args)
        if args.action == "watch":
            process = self._background.watch(process.id, args.pattern)
            state = f"watched for {shown(process.watched)}" if process.watched else "no longer watched"
            done = "watched" if process.watched else state
            return Outcome(f"{process.id}: {done}", f"{process.described}, {state}")
        matches = ""
        if args.action == "wait":
            if args.pattern:
                self._background.watch(process.id, args.pattern)
            process, matches = await self._background.wait(process.id, min(args.seconds, _LONGEST_WAIT))
        if args.action == "stop":
            process = await self._background.stop(process.id)
        if process.ended is not None:
            self._background.acknowledge(process.id)
        background = {process.id: process.ended is None}
        if matches and process.ended is None:
            return Outcome(
                f"{process.id}: matched",
                f"{process.described}; it wrote what matches {shown(process.watched)}:\n{matches}",
                background=background,
            )
        # Of one that is watched, the model knows what matters.
        is_brief = args.action == "stop" or (args.action == "wait" and bool(process.watched))
        read = self._background.read_end if is_brief else self._background.read
        output = read(process.id).rstrip("\n") or "(nothing new)"
        return Outcome(
            f"{process.id}: {process.described}",
            "\n".join([process.described, output, *_notes(process)]),
            background=background,
        )

    def _named(self, args: ProcessesArgs) -> BackgroundState:
        """The command of a call; without an id the only one that runs, unless it would be stopped."""
        if args.id:
            return self._background.get(args.id)
        running = [process for process in self._background.listed() if process.ended is None]
        if len(running) == 1 and args.action != "stop":
            return running[0]
        ids = ", ".join(process.id for process in running)
        raise ToolError(
            f"The id is missing: which command is it to {args.action}?",
            f"Running: {ids}." if ids else "None is running; list shows those that have ended.",
        )

    def _listed(self, id: str) -> Outcome:
        there = [self._background.get(id)] if id else self._background.listed()
        lines = [f"{process.id}  {process.described}  {summary(process.command)}" for process in there]
        running = sum(process.ended is None for process in there)
        return Outcome(f"{running} running, {len(there) - running} ended", "\n".join(lines) or "(none)")


def summary(command: str) -> str:
    """Return the beginning of a command, on one line."""
    first, _, rest = command.strip().partition("\n")
    return f"{first[:_SUMMARY]}{' …' if rest or len(first) > _SUMMARY else ''}"


def _notes(process: BackgroundState) -> list[str]:
    return process.ended.unended if process.ended else []
