"""The options of the interface, and the agent and project that options choose.

A plain `cogency-tui` needs no argument parser: all options have their defaults.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from cogency_tui.config.schema import DialectChoice, EffortChoice, Mode, Permissions, data_path
from cogency_tui.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from cogency_tui.agent.agent import Agent


class InterfaceOptions(msgspec.Struct):
    """The arguments of the interface, with their defaults; None leaves the choice to the configuration."""

    prompt: str = ""
    latest: bool = False
    resume: str | None = None
    provider: str | None = None
    model: str | None = None
    mode: Mode | None = None
    dialect: DialectChoice | None = None
    effort: EffortChoice | None = None
    service_tier: str | None = None
    permissions: Permissions | None = None
    max_iterations: int | None = None
    cwd: Path | None = None
    linear: bool = False
    tour: bool = False
    no_mouse: bool = False
    no_animation: bool = False
    debug: bool = False


Options: TypeAlias = "argparse.Namespace | InterfaceOptions"
"""The arguments of the interface, or of a command with the same options for the agent."""


def project_of(options: Options) -> Path:
    """The given project directory, or the current one.

    Raises:
        UsageError: it is no directory.
    """
    project = (options.cwd or Path.cwd()).resolve()
    if not project.is_dir():
        raise UsageError(f"{project} is not a directory.", "Set one with --cwd.")
    return project


def flags_of(options: Options) -> dict[str, Any]:
    """The options given on the command line, None for the others."""
    names = (
        *("provider", "model", "mode", "dialect", "effort", "service_tier"),
        *("permissions", "max_iterations"),
    )
    return {name: getattr(options, name) for name in names}


async def agent_of(options: Options, max_cost: float | None = None) -> "Agent":
    """The agent for these options, after the changes of killed processes have been settled."""
    from cogency_tui.agent.edits.startup_recovery import settle_left

    await settle_left(data_path())
    return settled_agent_of(options, max_cost)


def settled_agent_of(options: Options, max_cost: float | None = None) -> "Agent":
    """The agent for these options. Requires that no change of a killed process is left to settle."""
    from cogency_tui.agent.agent import Agent

    flags = flags_of(options)
    return Agent(flags.pop("provider"), **flags, max_cost=max_cost, project=project_of(options))
