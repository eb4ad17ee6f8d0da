"""The contract of a tool: typed arguments in, an outcome for the person and content for the model out.

A tool says before it runs what it is about to touch (`Intent`), so that the scheduler can order
conflicting calls and the permissions can ask the person with the diff or the command in hand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from cogency_tui.workspace.paths import Workspace

Args = TypeVar("Args", bound=msgspec.Struct)
Effect = Literal["read", "write", "command"]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a call is about to do.

    `paths` are the files it touches, resolved; `everything` that it may touch any (a command).
    `outside` names a path outside the project that was asked for by its full path, `guarded` says why
    the person is asked in every mode (safety.md, promise 2). `detail` is what the person is shown: a
    unified diff or a command, complete and unescaped; the screen makes it safe.
    """

    effect: Effect
    summary: str
    detail: str = ""
    paths: tuple[Path, ...] = ()
    everything: bool = False
    outside: str = ""
    guarded: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: one line for the person, JSON content for the model.

    `failed` marks a call that ran to its end and still has to count as a failure (a command that
    exited with a status other than 0): unlike `ToolError` it has content.
    """

    outcome: str
    content: Any = None
    failed: bool = False


@dataclass(slots=True)
class ToolContext:
    """What a running tool may use. One for a conversation; `report` is set for each call.

    `report` shows output while the tool still runs. `seen` keeps, for each file that the agent has
    read or written, the fingerprint of its bytes then: a write refuses a file that has changed since.
    """

    workspace: Workspace
    report: Callable[[str], None] = field(default=lambda _text: None)
    seen: dict[Path, bytes] = field(default_factory=dict[Path, bytes])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])


class Tool(Protocol, Generic[Args]):
    """One thing that the agent can do. `args` describes its arguments and is all of its schema."""

    name: str
    description: str
    args: type[Args]
    aliases: Mapping[str, str]
    """Other names that arguments are accepted under."""

    async def plan(self, args: Args, context: ToolContext) -> Intent:
        """What this call would do, without doing it.

        Raises:
            ToolError: it cannot be done as asked.
        """
        ...

    async def run(self, args: Args, context: ToolContext) -> Outcome:
        """Do it. May be cancelled at any moment, and then leaves nothing half done.

        Raises:
            ToolError: it could not be done; the text is for the model.
        """
        ...
