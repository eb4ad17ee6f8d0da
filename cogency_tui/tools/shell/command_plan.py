"""What a command may do, read from its text before it runs: the intent that the user is asked about, and
what the journal has to expect.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cogency_tui.errors import StoreError
from cogency_tui.store.edit_records import Version
from cogency_tui.tools.base import Intent, ToolContext
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.shell.checkout_commands import bringing
from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.git_transfers import destinations
from cogency_tui.tools.shell.loopback import quiet
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.offline_commands import is_offline
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.tools.shell.processes_tool import summary
from cogency_tui.tools.shell.program_origins import are_replaced
from cogency_tui.tools.shell.programs import programs_with
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.workspace.paths import Location
from cogency_tui.workspace.protected_names import unusual

_OF_GIT = programs_with("of-git")


async def plan(
    command: str,
    cwd: Location,
    detail: str,
    context: ToolContext,
    sandbox: Sandbox,
    ports: ListeningPorts,
    *,
    keeps_running: bool,
) -> Intent:
    """Describe what a command may do in `cwd`. `detail` is the command with the values of its variables."""
    place = "" if cwd.relative == "." else f" in {cwd.relative}"
    how = " in the background" if keeps_running else ""
    odd = unusual(command.replace("\n", " ").replace("\t", " "))
    # These threads change nothing: a cancellation need not wait for them.
    far = await asyncio.to_thread(reach, command, cwd.path, context.workspace, ports)
    calm = await asyncio.to_thread(quiet, command, cwd.path, context.workspace, ports)
    confined = await sandbox.probe(context.workspace) or calm.held
    protected = odd.replace("its name", "the command") or far.protected
    intent = Intent(
        "command",
        f"Run {summary(command)}{place}{how}",
        detail=detail,
        keeps_running=keeps_running,
        paths=(cwd.path,),
        everything=True,
        outside=far.outside,
        protected=protected,
        covers=far.covers,
        network=far.network,
        neighbour=far.neighbour,
        brings=far.brings,
        could_bring="" if confined else far.could_bring,
        confined=confined,
        own=calm.own and not (far.outside or protected),
    )
    # The rest of the plan asks git about a repository that may be hostile.
    context.refuse_by_mode(intent)
    if context.is_wary() and not (confined or far.network):
        offline = await asyncio.to_thread(is_offline, command, cwd.path, context.workspace, ports)
        intent = replace(intent, confined=offline)
    moved = context.journal.moved if context.journal is not None else None
    stake = await asyncio.to_thread(at_stake, command, cwd.path, context.workspace, None, moved)
    if stake.losses and (made := await _made(context)):
        stake = await asyncio.to_thread(at_stake, command, cwd.path, context.workspace, made, moved)
    to_remotes = await asyncio.to_thread(_leads_to_remotes, command, cwd.path, context)
    own = intent.own and not stake.losses
    return replace(intent, losses=stake.losses, to_remotes=to_remotes, own=own)


def consent_to(command: str, context: ToolContext) -> Consent:
    """Return the consent of `context`, with what this command may bring and the remotes that it sets.
    Blocks."""
    brings = bringing(command)
    # A program of the project brings and writes anything, above all a git.
    programs = {simple.program for simple in parse(command)}.union(_OF_GIT)
    if brings is not None and are_replaced(programs, context.workspace):
        brings = replace(brings, alone=False)
    return replace(context.consent, brings=brings, destinations=destinations(command))


async def _made(context: ToolContext) -> Mapping[Path, Version]:
    """Return the files that the agent created in this turn; none where that cannot be known."""
    if context.journal is None:
        return {}
    with suppress(StoreError):
        return await context.journal.made()
    return {}


def _leads_to_remotes(command: str, cwd: Path, context: ToolContext) -> bool:
    if context.remotes is None:
        return False
    context.remotes.learn()
    return context.remotes.lead(command, cwd)
