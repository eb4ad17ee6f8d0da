"""The contract of a tool: typed arguments in, an outcome for the user and content for the model out.

A tool derives from its arguments alone which files it may touch (`Touch`), so that the scheduler can order
conflicting calls. When its turn comes, it describes exactly what it is about to do (`Intent`), so that the
permission gate can show the user the diff or the command.

Invariant: what was planned is what is opened. A path is resolved while its call is planned and never again:
the run uses the plan's location, whose components are opened without following a link and whose directory
must be the very same one. A path that the plan did not resolve is refused (`Places`).
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.protocol.events import (
    AnsweredQuestion,
    ChangedBy,
    DiagnosticsChange,
    Image,
    LinesChanged,
    PlannedStep,
    Step,
)
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.redaction import MARKER, KnownSecrets, RedactedStream, Redactor, holds_marker
from cogency_tui.tools.journal_protocol import ALL, Consent, Found, Journal
from cogency_tui.tools.loss import Loss
from cogency_tui.tools.seen_files import SeenFiles
from cogency_tui.tools.user_questions import Answers, UserQuestion
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.paths import Location, Workspace
from cogency_tui.workspace.protected_names import shown

if TYPE_CHECKING:
    from cogency_tui.tools.shell.git_remotes import Remotes


class Places:
    """The locations that one call has resolved in `workspace`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[str, Location] = {}
        self._settled = False

    def begin(self) -> None:
        """Forget the locations of an earlier plan of the call."""
        self._known.clear()
        self._settled = False

    def settle(self) -> None:
        """End the plan: from now on, a path that is not in it is refused."""
        self._settled = True

    def locate(self, given: str) -> Location:
        """Resolve a path, or return its location from the plan.

        Raises:
            WorkspaceError: it cannot be used (see `Workspace.locate`), or was not in the plan.
        """
        known = self._known.get(given)
        if known is not None:
            return known
        if self._settled:
            raise WorkspaceError(f"{shown(given)} did not exist when this was checked.", "Repeat the call.")
        location = self._workspace.pinned(self._workspace.locate(given))
        self._known[given] = location
        return location


Args = TypeVar("Args", bound=msgspec.Struct)
ToolKind = Literal["read", "search", "edit", "execute", "fetch", "think", "other"]
"""The kind of work that a tool does; those of `READING` change no file."""
READING = frozenset[ToolKind]({"read", "search", "fetch", "think"})

Effect = Literal["read", "write", "command", "network", "tool"]
"""`tool` is the effect of an MCP server's tool, of which nothing is known."""


Reading = Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Spellings:
    """Other agents' spellings of a tool's arguments.

    `names` maps a spelling to the argument. `implied` are arguments that the tool's name implies. `ignored`
    arguments have no effect here. `instead` maps an argument without a counterpart to advice on what to
    pass; such an argument is also ignored while it is false or null, or equals its value in `expected`.
    `read` maps an argument without a counterpart to a function of its value and the other arguments by their
    own names, which returns the arguments that it means; none where the value makes no sense.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    implied: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ignored: frozenset[str] = frozenset()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    expected: Mapping[str, Any] = field(default_factory=dict[str, Any])
    read: Mapping[str, "Reading"] = field(default_factory=dict[str, "Reading"])

    def over(self, general: "Spellings") -> "Spellings":
        """Merge both; this one wins."""
        return Spellings(
            {**general.names, **self.names},
            {**general.implied, **self.implied},
            general.ignored | self.ignored,
            {**general.instead, **self.instead},
            {**general.expected, **self.expected},
            {**general.read, **self.read},
        )

    def ignores(self, argument: str, value: Any) -> bool:
        """Return whether an argument with this value has no effect."""
        if argument in self.ignored:
            return True
        return argument in self.instead and (
            value is None or value is False or value == self.expected.get(argument, False)
        )


@dataclass(frozen=True, slots=True)
class Aliases:
    """Other agents' names for a tool and its arguments.

    `arguments` apply under every name of the tool. `tools` are its other names, in any case and with or
    without underscores, each with the spellings that apply under that name alone.
    """

    arguments: Spellings = field(default_factory=Spellings)
    tools: Mapping[str, Spellings] = field(default_factory=dict[str, Spellings])


@dataclass(frozen=True, slots=True)
class Tally:
    """The way to count calls of a tool that only reads: `read 1 file`, `searched once`, `read 6 files`."""

    verb: str
    one: str
    many: str

    def of(self, count: int) -> str:
        """Describe so many calls."""
        return f"{self.verb} {self.one if count == 1 else f'{count:,} {self.many}'}"


AddImage: TypeAlias = Callable[[bytes, str], Awaitable[Image]]

PLAIN = Spellings()
NO_ALIASES = Aliases()


@dataclass(frozen=True, slots=True)
class Touch:
    """The resolved files that a call may touch; with `everything`, any file of the project."""

    paths: frozenset[Path] = frozenset()
    everything: bool = False
    writes: bool = False

    def conflicts(self, other: "Touch") -> bool:
        """Return whether both may touch the same file, one of them writing, so that their order matters."""
        if not (self.writes or other.writes):
            return False
        if self.everything:
            return other.everything or bool(other.paths)
        return bool(self.paths) if other.everything else bool(self.paths & other.paths)

    def widened(self) -> "Touch":
        """Widen to files that are not known yet."""
        return Touch(everything=self.everything or bool(self.paths), writes=self.writes)


WRITES_UNKNOWN = "it writes to a place known only at run time, possibly outside the project"
READS_UNKNOWN = "it reads files known only at run time, possibly outside the project"
"""What `Intent.outside` says of a command that does not name all of its files."""


@dataclass(frozen=True, slots=True)
class Intent:
    """The effect that a call is about to have.

    `paths` are the resolved files that it touches, or the directory that a command runs in. `everything`
    marks a call that may touch any file (a command). `outside` names a path outside the project that was
    given as a full path.

    `protected` is the reason to ask the user in every mode; `covers` are the files and directories that this
    reason concerns, where a command names them. `losses` are what the call would destroy; `counts` are the
    lines that a change of files adds and removes.

    `network` is the host that is contacted or, for a command, the program that uses the network.
    `neighbour` is a server on this machine that a command reaches and this conversation did not start.
    `confined` marks a command that can neither reach the network nor write anything outside the project
    that it does not name. `configured` marks a host that the user has chosen as an endpoint. `to_remotes`
    marks a command that contacts only remotes of the repository that were configured before the agent's
    first command.

    `brings` names the source of untrusted content that a command, or the `tool` of an MCP server, may bring
    into the conversation. `could_bring` names a source that nothing prevents the call from reading.

    `detail` is shown to the user: a unified diff or a command, complete and unescaped; the screen disarms
    it. `own` marks a call that only reads, reaches or stops a process that this conversation has started.
    `keeps_running` marks a command that goes on after the call, in the background.
    `questions` are put to the user before it runs; the permitted intent has their `answers`, with
    the `reasons` for which the user skipped one.
    """

    effect: Effect
    summary: str
    detail: str = ""
    paths: tuple[Path, ...] = ()
    everything: bool = False
    outside: str = ""
    protected: str = ""
    covers: tuple[Path, ...] = ()
    losses: tuple[Loss, ...] = ()
    counts: LineCounts | None = None
    network: str = ""
    neighbour: str = ""
    confined: bool = False
    brings: str = ""
    could_bring: str = ""
    configured: bool = False
    to_remotes: bool = False
    tool: str = ""
    own: bool = False
    keeps_running: bool = False
    questions: tuple[UserQuestion, ...] = ()
    answers: Answers = ()
    reasons: Sequence[str] = ()

    @property
    def goes_to(self) -> str:
        """Destination on the network; empty without one, as far as the call declares, or where it is
        confined."""
        if self.effect == "network":
            return self.network or "the network"
        return "" if self.confined else self.network

    @property
    def source(self) -> str:
        """Source of the result's content, where it is neither the user nor the project."""
        if self.effect in ("command", "tool"):
            return self.brings
        return "" if self.configured else self.goes_to or self.outside

    @property
    def sources(self) -> Sources:
        """Source of the result, and sources that it could bring in."""
        return Sources(*((name,) if name else () for name in (self.source, self.could_bring)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call: one line for the user, JSON content for the model.

    `value` is the result itself where `content` is a report about it: `$name` refers to it in the action
    dialect. `failed` marks a call that ran to its end and still counts as a failure (a command with an exit
    status other than 0); unlike `ToolError` it has content. `sources` are those that only the run revealed,
    in addition to the intent's. `redacted` marks content that comes from whole files which were already
    searched for secrets, so that nothing left in it is part of a private key. `put_back` are protected files
    whose changes were reverted, where the call failed for no other reason. `brief` is the line for the user
    of a failure whose `outcome` is worded for the model. `images` are for the model to see. `note` is what
    others than the tool have for the model about the call. `plan` is the model's whole plan from now on,
    `answers` are the user's to its questions; `changed_by`, `background`, `diagnostics` and `lines` are
    as in `ResultPayload`.
    """

    outcome: str
    content: Any = None
    failed: bool = False
    value: Any = None
    sources: Sources = field(default_factory=Sources)
    redacted: bool = False
    put_back: Sequence[str] = ()
    brief: str = ""
    images: Sequence[Image] = ()
    note: str = ""
    changed_by: Sequence[ChangedBy] = ()
    plan: Sequence[PlannedStep] | None = None
    answers: Sequence[AnsweredQuestion] = ()
    background: Mapping[str, bool] | None = None
    diagnostics: DiagnosticsChange | None = None
    lines: LinesChanged | None = None

    @property
    def produced(self) -> Any:
        """Value that `$name` refers to."""
        given = (self.value, self.content, self.outcome)
        return next(each for each in given if each is not None)


def failure(error: ToolError) -> Outcome:
    """The outcome of a call that could not be done."""
    brief = error.brief if error.brief != error.advice else ""
    return Outcome(error.advice, failed=True, brief=brief)


def with_protected(outcome: Outcome, found: Found | None) -> Outcome:
    """Mark the outcome as failed where `found` reports changes of protected files."""
    if found is None or not (found.put_back or found.left):
        return outcome
    parts = [outcome.outcome]
    if found.put_back:
        parts.append(f"restored: {', '.join(found.put_back)}")
    if found.left:
        parts.append(f"could not be restored: {', '.join(found.left)}")
    only_put_back = not (outcome.failed or found.left)
    return replace(
        outcome, outcome="; ".join(parts), failed=True, put_back=found.put_back if only_put_back else ()
    )


@dataclass(slots=True)
class ToolContext:
    """The environment of a running tool. There is one for each conversation.

    Set for each call: `report` shows output while the tool runs, `report_step` a call within it; `call_id`
    is the call that the tool runs for; `places` resolve the paths of the call.

    `seen` has the contents of files that the model knows: a write refuses a file that has changed since.
    `cycle` identifies the request to the model that the call comes from. `known` are the secrets that were
    found in files.
    `journal`, where there is one, records changes. `variables` are the text values of the call's `$names`,
    for a tool that takes them as its environment. `takes_value` states whether the outcome's `value` is
    used. `output_limit` is the number of characters of a result that the model is sent.

    A plan calls `refuse_by_mode` before a check of the project that is expensive or trusts what it finds.
    `is_wary` states whether it matters that a command is confined. `consent` limits the changes of protected
    files that a command of the call may make; `agreed` is the diff of the only changes of files that the user
    has agreed to, if they were asked. `remotes` are those of the project's repository, where the agent's
    commands may contact them. `add_image` stores an image of a result, by its content and name.
    `answers` are the user's to the questions of the call, `reasons` theirs for skipping one.
    `is_of_skill` states whether a resolved path outside the project is a file of a skill of the user's own,
    which is read unasked.
    """

    workspace: Workspace
    report: Callable[[str], None] = field(default=lambda _text: None)
    report_step: Callable[[Step], None] = field(default=lambda _step: None)
    seen: SeenFiles = field(default_factory=SeenFiles)
    cycle: object = None
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    known: KnownSecrets = field(default_factory=KnownSecrets)
    call_id: str = ""
    journal: Journal | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_value: bool = False
    output_limit: int = 30_000
    refuse_by_mode: Callable[[Intent], None] = field(default=lambda _intent: None)
    is_wary: Callable[[], bool] = field(default=lambda: True)
    places: Places | None = None
    consent: Consent = ALL
    agreed: str | None = None
    remotes: "Remotes | None" = None
    add_image: AddImage | None = None
    answers: Answers = ()
    reasons: Sequence[str] = ()
    is_of_skill: Callable[[Path], bool] = field(default=lambda _path: False)

    def locate(self, given: str) -> Location:
        """Resolve a path; in a planned call, to the location of the plan.

        Raises:
            WorkspaceError: it cannot be used, or the plan did not have it.
        """
        return (self.places or self.workspace).locate(given)


class Tool(Protocol, Generic[Args]):
    """A tool of the agent. `args` describes its arguments and is its whole schema."""

    name: str
    kind: ToolKind
    description: str
    args: type[Args]
    aliases: Aliases
    """Other names under which the tool and its arguments are accepted."""

    async def plan(self, args: Args, context: ToolContext) -> Intent:
        """Describe what this call would do, without doing it.

        Raises:
            ToolError: it cannot be done as asked.
        """
        ...

    async def run(self, args: Args, context: ToolContext) -> Outcome:
        """Execute the call. It may be cancelled at any moment and then leaves nothing half done.

        Raises:
            ToolError: it could not be done; the text is for the model.
        """
        ...


@runtime_checkable
class Touching(Protocol):
    """A tool that declares which files of the project it touches. Others are taken to touch none."""

    def touch(self, args: Any, context: ToolContext, /) -> Touch:
        """Return the files that a call with these arguments may touch.

        Raises:
            WorkspaceError: a path cannot be used; the call will fail for the same reason.
        """
        ...


@runtime_checkable
class Environed(Protocol):
    """A tool that takes the values of `$names` in some arguments as an environment: the names stay in these
    arguments, and `ToolContext.variables` has the values."""

    environment: Collection[str]
    """The names of these arguments."""


@runtime_checkable
class SelfDescribed(Protocol):
    """A tool that describes and converts its arguments itself, because a struct does not describe them."""

    def described_arguments(self) -> str:
        """Describe each argument on a line; the text is the same each time."""
        ...

    def arguments_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments in its portable form (`portable_schema`), the same each
        time. Its description, if any, completes that of the tool. The caller may change it."""
        ...

    def convert(self, args: Any, /) -> msgspec.Struct:
        """Convert decoded JSON to the tool's arguments.

        Raises:
            ToolError: naming what is wrong with them, and the right form.
        """
        ...


@runtime_checkable
class Brief(Protocol):
    """A tool that most tasks never need. While `brief` is set, it takes one line of the system prompt: its
    arguments have no lines of their own, and its description explains them."""

    @property
    def brief(self) -> bool: ...


@runtime_checkable
class Tallied(Protocol):
    """A tool that only reads: several calls in a row are shown as one line that counts them."""

    tally: Tally


_BEYOND_US = frozenset({"command", "tool"})
"""Effects whose use of the arguments is not known here."""


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call with validated arguments. `name` is the tool's own name, whatever name the model used.

    Invariant: neither the call's reports, nor its outcome, nor its error contains a known secret or text
    that looks like one (`redaction`), wherever the tool read it. Nothing else enforces this.
    """

    tool: Tool[Any]
    args: msgspec.Struct
    context: ToolContext
    touch: Touch

    @property
    def name(self) -> str:
        return self.tool.name

    async def plan(self) -> Intent:
        """Describe what the call would do in the present state: to be called when its turn has come.

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

    async def run(
        self,
        report: Callable[[str], None] | None = None,
        report_step: Callable[[Step], None] | None = None,
    ) -> Outcome:
        """Execute the call; `report` receives output while it runs, and `report_step` calls within it.

        Raises:
            ToolError: it could not be done; the text is for the model.
        """
        report = report or self.context.report
        to_step = report_step or self.context.report_step
        stream = RedactedStream(self.context.secrets, self.context.known)
        redact = Redactor(self.context.secrets, self.context.known)

        def redacted(text: str) -> None:
            report(stream.feed(text))

        def redacted_step(step: Step) -> None:
            texts = {key: redact.text(step[key]) for key in ("tool", "subject", "outcome")}
            to_step(cast("Step", {**step, **texts}))

        context = replace(self.context, report=redacted, report_step=redacted_step)
        with self._redacting():
            outcome = await self.tool.run(self.args, context)
        if rest := stream.feed("", final=True):
            report(rest)
        return replace(
            outcome,
            outcome=redact.text(outcome.outcome),
            content=redact.value(outcome.content, whole=outcome.redacted),
            value=redact.value(outcome.value, whole=outcome.redacted),
            note=redact.text(outcome.note),
            plan=redact.value(outcome.plan),
            answers=redact.value(outcome.answers),
        )

    def _refuse_markers(self, intent: Intent) -> None:
        """Refuse a redaction marker in a call that could write it in place of the secret. The tools that
        write files themselves compare the new contents with the old.

        Raises:
            ToolError: the arguments or variables of the call contain a marker.
        """
        if intent.effect not in _BEYOND_US:
            return
        if holds_marker([msgspec.to_builtins(self.args), dict(self.context.variables)]):
            raise ToolError(
                f"{MARKER} marks a hidden secret, and could be written in its place.",
                "Leave it out: change the text around it with edit, or let the command read the file "
                "itself. To search for the marker use find.",
            )

    @contextmanager
    def _redacting(self) -> Generator[None]:
        """Redact the text of an error."""
        try:
            yield
        except ToolError as exc:
            redact = Redactor(self.context.secrets, self.context.known)
            exc.args, exc.hint = (redact.text(str(exc)),), redact.text(exc.hint)
            exc.brief = redact.text(exc.brief)
            raise
