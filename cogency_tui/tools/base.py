"""The contract of a tool: typed arguments in, an outcome for the person and content for the model out.

A tool says from its arguments alone what it may touch (`Touch`), so that the scheduler can order calls
that conflict; and, when its turn has come, what exactly it is about to do (`Intent`), so that the
permissions can ask the person with the diff or the command in hand.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.protocol.sources import Sources
from cogency_tui.redaction import MARKER, KnownSecrets, RedactedStream, Redactor, holds_marker
from cogency_tui.tools.git_remotes import Remotes
from cogency_tui.tools.journaling import ALL, Consent, Found, Journal
from cogency_tui.tools.places import Places
from cogency_tui.workspace.paths import Location, Workspace

Args = TypeVar("Args", bound=msgspec.Struct)
Effect = Literal["read", "write", "command", "network", "tool"]
"""`tool` is what a tool of an MCP server does: nothing is known of that."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """How other agents write the arguments of a tool.

    `names` maps a spelling to the argument. `implied` are arguments that the name of the tool says already.
    `ignored` arguments change nothing here. `instead` says of an argument that has no counterpart what to
    give in its place; it is ignored, too, while it is false or null, or what `expected` has for it.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    implied: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ignored: frozenset[str] = frozenset()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    expected: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def over(self, general: "Spellings") -> "Spellings":
        """Both, this one first."""
        return Spellings(
            {**general.names, **self.names},
            {**general.implied, **self.implied},
            general.ignored | self.ignored,
            {**general.instead, **self.instead},
            {**general.expected, **self.expected},
        )

    def ignores(self, argument: str, value: Any) -> bool:
        """Whether an argument with this value changes nothing."""
        if argument in self.ignored:
            return True
        return argument in self.instead and (
            value is None or value is False or value == self.expected.get(argument, False)
        )


@dataclass(frozen=True, slots=True)
class Aliases:
    """What other agents call a tool and its arguments.

    `arguments` hold whatever the tool is called; `tools` are its other names, in any case and with or without
    underscores, each with the spellings that hold for that name alone.
    """

    arguments: Spellings = field(default_factory=Spellings)
    tools: Mapping[str, Spellings] = field(default_factory=dict[str, Spellings])


PLAIN = Spellings()
NO_ALIASES = Aliases()


@dataclass(frozen=True, slots=True)
class Touch:
    """Which files a call may touch, resolved; `everything` that it may be any of the project."""

    paths: frozenset[Path] = frozenset()
    everything: bool = False
    writes: bool = False

    def conflicts(self, other: "Touch") -> bool:
        """Whether the two may touch the same file, one of them writing, so that their order matters."""
        if not (self.writes or other.writes):
            return False
        if self.everything:
            return other.everything or bool(other.paths)
        return bool(self.paths) if other.everything else bool(self.paths & other.paths)

    def widened(self) -> "Touch":
        """As this, but of files that are not known yet."""
        return Touch(everything=self.everything or bool(self.paths), writes=self.writes)


@dataclass(frozen=True, slots=True)
class Intent:
    """What a call is about to do.

    `paths` are the files it touches, resolved, or the directory that a command runs in; `everything` that it
    may touch any (a command). `outside` names a path outside the project that was asked for by its full path,
    `guarded` says why the person is asked in every mode (safety.md, promise 2) and `covers` for which files
    and directories, where a command names them; `loss` what would be destroyed (promise 4). `network` is the
    host that is asked or, of a command, what it goes there with; `neighbour` a server on this machine that a
    command reaches and this conversation did not start; `confined` a command that can reach neither the
    network nor, for writing, anything outside that it does not name. `brings` says where content of strangers
    comes from that a command, or the `tool` of an MCP server, may bring into the conversation; `could_bring`
    names what nothing keeps from bringing some. `configured` marks a host that the user has chosen to answer,
    `to_remotes` a command that goes only to remotes of the repository that were configured before the agent's
    first command. `detail` is what the user is shown: a unified diff or a command, complete and unescaped;
    the screen makes it safe. `own` marks what only reads, reaches or stops a process that this conversation
    has started.
    """

    effect: Effect
    summary: str
    detail: str = ""
    paths: tuple[Path, ...] = ()
    everything: bool = False
    outside: str = ""
    guarded: str = ""
    covers: tuple[Path, ...] = ()
    loss: str = ""
    network: str = ""
    neighbour: str = ""
    confined: bool = False
    brings: str = ""
    could_bring: str = ""
    configured: bool = False
    to_remotes: bool = False
    tool: str = ""
    own: bool = False

    @property
    def goes_to(self) -> str:
        """Where it goes on the network; empty where it does not, as far as it says or is held back."""
        if self.effect == "network":
            return self.network or "the network"
        return "" if self.confined else self.network

    @property
    def source(self) -> str:
        """Whose content its result has, where neither the person nor the project answers for it."""
        if self.effect in ("command", "tool"):
            return self.brings
        return "" if self.configured else self.goes_to or self.outside

    @property
    def sources(self) -> Sources:
        """The source of its result, and what could bring more."""
        return Sources(*((name,) if name else () for name in (self.source, self.could_bring)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: one line for the user, JSON content for the model.

    `value` is what the call produced, where `content` is a report about that: `$name` stands for it in the
    action dialect. `failed` marks a call that ran to its end and still has to count as a failure (a command
    that exited with a status other than 0): unlike `ToolError` it has content. `sources` are those that only
    running it showed, beside the intent's. `redacted` says that what it shows was taken from whole files in
    which secrets had been looked for: what then still looks like a part of a private key is none. `put_back`
    are guarded files whose changes were put back, where the call has failed by nothing else.
    """

    outcome: str
    content: Any = None
    failed: bool = False
    value: Any = None
    sources: Sources = field(default_factory=Sources)
    redacted: bool = False
    put_back: Sequence[str] = ()

    @property
    def produced(self) -> Any:
        """What `$name` stands for."""
        given = (self.value, self.content, self.outcome)
        return next(each for each in given if each is not None)


def with_guarded(outcome: Outcome, found: Found | None) -> Outcome:
    """The outcome of a call that has changed what it may not, if `found` says so: a failure."""
    if found is None or not (found.put_back or found.left):
        return outcome
    told = [outcome.outcome]
    if found.put_back:
        told.append(f"put back: {', '.join(found.put_back)}")
    if found.left:
        told.append(f"could not be put back: {', '.join(found.left)}")
    only_put_back = not (outcome.failed or found.left)
    return replace(
        outcome, outcome="; ".join(told), failed=True, put_back=found.put_back if only_put_back else ()
    )


@dataclass(slots=True)
class ToolContext:
    """What a running tool may use. One for a conversation; `report` is set for each call.

    `report` shows output while the tool still runs. `seen` keeps, for each file that the agent has read or
    written, the fingerprint of its bytes then: a write refuses a file that has changed since. `known` are the
    secrets that files were seen to hold. `call_id` is the call of the conversation that the tool runs for,
    set for each call. `journal` records what is changed, where there is one. `variables` are the values that
    the call's `$names` stand for, as text, where the tool takes them as its environment; `wants_value` says
    whether the `value` of the outcome is used; `output_limit` is how many characters of a result the model is
    sent. `refuse_by_mode` is asked by a plan whose next look at the project costs something, or trusts what
    is there; `is_wary` says whether it matters that a command is confined. `places` are where the paths of
    the call lead, set for each call. `consent` says what a command of the call may change of guarded files.
    `remotes` are those of the project's repository, where the agent's commands may go to them.
    """

    workspace: Workspace
    report: Callable[[str], None] = field(default=lambda _text: None)
    seen: dict[Path, bytes] = field(default_factory=dict[Path, bytes])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    known: KnownSecrets = field(default_factory=KnownSecrets)
    call_id: str = ""
    journal: Journal | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    wants_value: bool = False
    output_limit: int = 30_000
    refuse_by_mode: Callable[[Intent], None] = field(default=lambda _intent: None)
    is_wary: Callable[[], bool] = field(default=lambda: True)
    places: Places | None = None
    consent: Consent = ALL
    remotes: Remotes | None = None

    def locate(self, given: str) -> Location:
        """Where a path leads: in a call that was planned, where it led then.

        Raises:
            WorkspaceError: it cannot be used, or the plan did not have it.
        """
        return (self.places or self.workspace).locate(given)


class Tool(Protocol, Generic[Args]):
    """One thing that the agent can do. `args` describes its arguments and is all of its schema."""

    name: str
    description: str
    args: type[Args]
    aliases: Aliases
    """Other names that it and its arguments are accepted under."""

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


@runtime_checkable
class Touching(Protocol):
    """A tool that touches files of the project. One that does not say so is taken to touch none."""

    def touch(self, args: Any, context: ToolContext, /) -> Touch:
        """Which files a call with these arguments may touch.

        Raises:
            WorkspaceError: a path cannot be used; the call will fail for the same reason.
        """
        ...


@runtime_checkable
class Environed(Protocol):
    """A tool that takes the values of `$names` in some of its arguments as an environment: there the names
    stay as they are, and `ToolContext.variables` has the values."""

    environment: Collection[str]
    """The names of these arguments."""


@runtime_checkable
class SelfDescribed(Protocol):
    """A tool whose arguments are described by more than a struct: it reads and describes them itself."""

    def described_arguments(self) -> str:
        """A line for each argument, the same each time."""
        ...

    def convert(self, args: Any, /) -> msgspec.Struct:
        """The arguments as the tool wants them, from decoded JSON.

        Raises:
            ToolError: naming what is wrong with them, and the right form.
        """
        ...


@runtime_checkable
class Brief(Protocol):
    """A tool that most tasks never need. Where `brief` is set, it takes one line of a system prompt: its
    arguments have no lines of their own, and the description says what they mean."""

    @property
    def brief(self) -> bool: ...


_BEYOND_US = frozenset({"command", "tool"})
"""Effects of what does more with its arguments than we know."""


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call whose arguments are as its tool wants them. `name` is the tool's own, whatever was called.

    Invariant: neither what it reports, nor its outcome, nor its error has a key of ours or what looks like
    one (`redaction`), wherever the tool came upon it. This is the one place that sees to that.
    """

    tool: Tool[Any]
    args: msgspec.Struct
    context: ToolContext
    touch: Touch

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    async def plan(self) -> Intent:
        """What the call would do, as things stand now: ask when its turn has come.

        Raises:
            ToolError: it cannot be done as asked.
        """
        places = self.context.places
        with self._redacting():
            if places is not None:
                places.begin()
            intent = await self.tool.plan(self.args, self.context)
            if places is not None:
                places.settle()
            self._refuse_markers(intent)
            return intent

    async def run(self, report: Callable[[str], None] | None = None) -> Outcome:
        """Do it; `report` is given output while it still runs.

        Raises:
            ToolError: it could not be done; the text is for the model.
        """
        report = report or self.context.report
        stream = RedactedStream(self.context.secrets, self.context.known)

        def redacted(text: str) -> None:
            report(stream.feed(text))

        context = replace(self.context, report=redacted)
        with self._redacting():
            outcome = await self.tool.run(self.args, context)
        if rest := stream.feed("", final=True):
            report(rest)
        redact = Redactor(self.context.secrets, self.context.known)
        return replace(
            outcome,
            outcome=redact.text(outcome.outcome),
            content=redact.value(outcome.content, whole=outcome.redacted),
            value=redact.value(outcome.value, whole=outcome.redacted),
        )

    def _refuse_markers(self, intent: Intent) -> None:
        """Have no marker go where it could be written in the place of the secret. The tools that write files
        themselves compare what they write with what is there.

        Raises:
            ToolError: there is one in what the call gives away.
        """
        if intent.effect not in _BEYOND_US:
            return
        if holds_marker([msgspec.to_builtins(self.args), dict(self.context.variables)]):
            raise ToolError(
                f"{MARKER} stands for a secret that you are not shown, and could be written in its place.",
                "Leave it out: change what is around it with edit, or let the command read the file itself. "
                "To look for the marker use find.",
            )

    @contextmanager
    def _redacting(self) -> Generator[None]:
        """Take secrets out of what an error says."""
        try:
            yield
        except ToolError as exc:
            redact = Redactor(self.context.secrets, self.context.known)
            exc.args, exc.hint = (redact.text(str(exc)),), redact.text(exc.hint)
            raise
