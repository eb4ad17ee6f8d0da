"""Runs a turn again, with another model, effort or dialect, in a scratch copy of the files as they were then,
and compares the two.

    async with rerunning(agent, conversation_id, 3, choice) as again:
        async for event in again.stream(): …
        comparison = await again.compare()

Invariant: the user's project is only read. The copy is of the project's files that no `.gitignore` leaves
out, with those that the journal knows to have been edited since put back; what the user has changed since
without the agent is as it is now. A link that leads out of the copy is left out: a write through it would
reach the user's files. The copy and its conversation go with the comparison: the conversation to the trash,
since what it has cost is spent.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.edits.file_history import GUARD, agents_histories, is_agents
from cogency_tui.agent.edits.undo_preview import difference
from cogency_tui.agent.recall.recall import Branch, Check, Comparison, count_calls
from cogency_tui.agent.rerun_marks import mark_closed, mark_open
from cogency_tui.child_processes import run_helper
from cogency_tui.config.schema import DialectChoice, EffortChoice, Permissions
from cogency_tui.errors import CogencyError, StoreError, UsageError, WorkspaceError
from cogency_tui.protocol.events import Event, Image, Measure, UserEvent, begins_turn
from cogency_tui.protocol.transcript import shown_text
from cogency_tui.safe_text import one_line
from cogency_tui.store import usage
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, Edit, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.forks import Forks
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.trash import Trash
from cogency_tui.temporary_files import make_directory
from cogency_tui.tools.registry import own_tool
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.gitignore_walk import WorkspaceTree
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.permissions.gate import Ask
    from cogency_tui.providers.base import Provider

LARGEST = 2 << 30
"""Bytes of a project that is copied."""

CHECK_SECONDS = 600
"""Seconds after which a check is stopped."""

_GIT_SECONDS = 60.0
_NAMED = 8
"""Paths that a remark names."""

_PAGE = 500
_COMMIT = "Scratch copy of the project, without its history"
_GIT = (
    *("git", "-c", "user.name=cogency-tui", "-c", "user.email=cogency-tui@localhost"),
    *("-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null"),
)


@dataclass(frozen=True, slots=True)
class RerunChoice:
    """How the turn is run again: None leaves the model, effort and dialect as they are configured, and as the
    conversation has them. `max_cost` in USD; `check` is a command that is run in the files of both. Without
    `permissions`, all runs where there is a sandbox, else edits, which reach the copy alone."""

    provider: str | None = None
    model: str | None = None
    effort: EffortChoice | None = None
    dialect: DialectChoice | None = None
    max_cost: float | None = None
    check: str = ""
    permissions: Permissions | None = None


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn: its `number`, from 1, its message, and its `events`, the message first. `before` is the number
    of the event before it, 0 for none; `until` is the moment from which on events belong to later turns."""

    conversation: StoredConversation
    number: int
    message: UserEvent
    before: int
    events: Sequence[Event]
    until: float

    @property
    def since(self) -> float:
        return self.message["timestamp"]

    @property
    def prompt(self) -> str:
        """The message, with the note on the user's decisions that the model was sent with it."""
        review = self.message.get("review")
        return "\n\n".join([self.message["content"], *([review["text"]] if review else [])])

    @property
    def images(self) -> Sequence[Image]:
        return self.message.get("images", ())


async def read_turn(store: Store, conversation: StoredConversation, number: int) -> PastTurn:
    """Read one turn of a conversation.

    Raises:
        UsageError: it has no such turn.
    """
    turn = before = last = 0
    events: list[Event] = []
    until = float("inf")
    for seq, event in await store.numbered_events(conversation.id):
        if begins_turn(event):
            turn += 1
            if turn == number:
                before = last
            elif turn == number + 1:
                until = event["timestamp"]
                break
        if turn == number:
            events.append(event)
        last = seq
    if not events or events[0]["type"] != "user":
        raise UsageError(
            f"Conversation {conversation.id} has no turn {number}.",
            f"Its turns are 1 to {turn}." if turn else "It has no turns.",
        )
    return PastTurn(conversation, number, events[0], before, events, until)


@dataclass(slots=True)
class ScratchCopy:
    """A copy of a project: `left_out` are paths that it lacks, `uncertain` those that are as they are now,
    since their content then is not stored."""

    root: Path
    left_out: list[str] = field(default_factory=list[str])
    uncertain: list[str] = field(default_factory=list[str])

    @property
    def remarks(self) -> list[str]:
        """What the copy lacks, and what is not as it was, in words."""
        found = (("Left out of the copy", self.left_out), ("As they are now", self.uncertain))
        return [f"{what}: {_listed(paths)}." for what, paths in found if paths]

    def copy_from(self, workspace: Workspace) -> None:
        """Copy the files of a project, but for ignored ones. Blocks.

        Raises:
            WorkspaceError: it cannot be read or copied, or is too large.
        """
        left = LARGEST
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            for level in WorkspaceTree(workspace).walk(workspace.locate(".")):
                prefix = level.path
                self.left_out += [f"{prefix}{name}" for name in level.ignored if name != ".git"]
                for entry in level.directories:
                    (self.root / entry.path).mkdir(exist_ok=True)
                for entry in level.others:
                    source, target = workspace.root / entry.path, self.root / entry.path
                    if entry.kind == "link" and _stays_inside(source, entry.path):
                        target.symlink_to(source.readlink())
                    elif entry.kind == "file":
                        left -= source.stat(follow_symlinks=False).st_size
                        if left < 0:
                            raise WorkspaceError(
                                f"{workspace.root} is too large to copy: over {LARGEST >> 30} GiB.",
                                "List large files in .gitignore.",
                            )
                        shutil.copy2(source, target, follow_symlinks=False)
                    else:
                        self.left_out.append(entry.path)
        except OSError as exc:
            raise WorkspaceError(f"The project cannot be copied: {exc}.") from exc

    def put(self, states: Mapping[str, Version], blobs: Blobs) -> None:
        """Give files other contents; those that are not stored stay as they are. Blocks.

        Raises:
            WorkspaceError: one cannot be written.
        """
        for path, version in states.items():
            target = self._inside(path)
            if target is None:
                continue
            if version.kind == "link" or (version.kind == "file" and not version.kept):
                self.uncertain.append(path)
                continue
            try:
                if version.kind == "absent":
                    target.unlink(missing_ok=True)
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.unlink(missing_ok=True)
                    target.write_bytes(blobs.read(version.digest, version.size))
                    target.chmod(version.mode & 0o777)
            except StoreError:
                self.uncertain.append(path)
            except OSError as exc:
                raise WorkspaceError(f"{path} cannot be restored in the copy: {exc}.") from exc

    def commit(self) -> None:
        """Commit all files to a new repository, without the history of the project's, so that git shows what
        changes. Blocks."""
        environ = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        with suppress(OSError, TimeoutError):
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", _COMMIT]):
                run_helper([*_GIT, *words], seconds=_GIT_SECONDS, environ=environ, cwd=self.root)

    def copied_to(self, root: Path) -> "ScratchCopy":
        """Copy the copy. Blocks."""
        try:
            shutil.copytree(self.root, root, symlinks=True)
        except (OSError, shutil.Error) as exc:
            raise WorkspaceError(f"The copy cannot be copied: {exc}.") from exc
        return ScratchCopy(root, [*self.left_out], [*self.uncertain])

    def _inside(self, path: str) -> Path | None:
        """The place of a path of the journal; None outside the project, or through a link."""
        parts = PurePosixPath(path).parts
        if PurePosixPath(path).is_absolute() or ".." in parts or ".git" in parts:
            return None
        target = self.root.joinpath(*parts)
        return target if target.parent.resolve().is_relative_to(self.root.resolve()) else None


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(map(one_line, paths[:_NAMED])) + more


def _stays_inside(link: Path, path: str) -> bool:
    """Return whether a link at `path` of a project leads, by its text, to a place in the project."""
    target = link.readlink()
    return not target.is_absolute() and not os.path.normpath(
        PurePosixPath(path).parent / target.as_posix()
    ).startswith("..")


def states_before(edits: Iterable[Edit]) -> dict[str, Version]:
    """The files before these edits, given latest first. Pure."""
    states: dict[str, Version] = {}
    for edit in edits:
        if edit.old_path:
            states[edit.path] = ABSENT
        states[edit.old_path or edit.path] = edit.before
    return states


def states_after(edits: Iterable[Edit]) -> dict[str, Version]:
    """The files after these edits, given earliest first. Pure."""
    states: dict[str, Version] = {}
    for edit in edits:
        if edit.old_path:
            states[edit.old_path] = ABSENT
        states[edit.path] = edit.after
    return states


class Rerun:
    """A turn that is run again by `agent`, in the conversation `id` and in the directory `copy.root`."""

    def __init__(
        self, original: Agent, turn: PastTurn, choice: RerunChoice, agent: Agent, id: str, copy: ScratchCopy
    ) -> None:
        self.turn = turn
        self.choice = choice
        self.agent = agent
        self.id = id
        self.copy = copy
        self.is_discarded = False
        self._original = original

    async def stream(self, *, chunks: bool = False) -> AsyncGenerator[Event]:
        """Run the turn; yield its events.

        Raises:
            CogencyError: as `Agent.stream`.
        """
        async for event in self.agent.stream(
            self.turn.prompt, conversation_id=self.id, chunks=chunks, images=self.turn.images
        ):
            yield event

    def interrupt(self) -> None:
        """Stop the turn."""
        self.agent.interrupt(self.id)

    async def compare(self) -> Comparison:
        """Compare the turn with the one that was run again, as far as that has come. Runs the check in the
        files of both.

        Raises:
            CogencyError: the store or the copy cannot be used.
        """
        store = await self._original.store()
        again = await store.conversation(self.id)
        assert again is not None
        events = await self._events(store)
        checks: list[Check | None] = [None, None]
        if self.choice.check:
            after = await self._original_after(store)
            checks = [
                await run_check(self.agent, self.choice.check, root) for root in (after.root, self.copy.root)
            ]
        since = events[0]["timestamp"] if events else float("inf")
        until = await self._end(store)
        left = await self._side(store, self.turn.conversation, self.turn.events, self.turn.until, checks[0])
        right = await self._side(store, again, events, until, checks[1], since=since)
        shared = len(await store.numbered_events(self.id)) - sum(map(len, await self._turns(store)))
        return Comparison(shared, left, right)

    async def went_on(self) -> bool:
        """Return whether there are turns after the one that was run again.

        Raises:
            StoreError: the conversation cannot be read.
        """
        return await self._end(await self._original.store()) != float("inf")

    async def _turns(self, store: Store) -> list[list[Event]]:
        """The events of the turn that was run again, and of those after it."""
        found = await store.events(self.id)
        starts = [at for at, event in enumerate(found) if begins_turn(event)][self.turn.number - 1 :]
        return [found[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    async def _events(self, store: Store) -> list[Event]:
        """The events of the turn that was run again."""
        turns = await self._turns(store)
        return turns[0] if turns else []

    async def _end(self, store: Store) -> float:
        """The moment from which on events belong to later turns."""
        later = (await self._turns(store))[1:2]
        return later[0][0]["timestamp"] if later else float("inf")

    async def _side(
        self,
        store: Store,
        conversation: StoredConversation,
        events: Sequence[Event],
        until: float,
        check: Check | None,
        *,
        since: float | None = None,
    ) -> Branch:
        begun = self.turn.since if since is None else since
        rows = await store.database.read(lambda connection: usage.measures(connection, conversation.id))
        steps = [(moment, step) for moment, step in rows if begun <= moment < until]
        used = await store.database.read(
            lambda connection: usage.between(connection, conversation.id, begun, until)
        )
        edits = await Edits(store.database).of_conversation(conversation.id, turn=self.turn.number)
        histories = sorted(agents_histories(edits), key=lambda each: each.change.path)
        blobs = _blobs_of(store)
        diffs = await in_thread(lambda: [difference(each.change, blobs) for each in histories])
        calls, failed = count_calls(events)
        return Branch(
            conversation,
            tuple(shown_text(event) for event in events if event["type"] == "user"),
            tuple(event["content"] for event in events if event["type"] == "respond"),
            tuple((each.change.path, each.change.kind) for each in histories),
            used.tokens,
            used.dollars,
            seconds_at_work(steps, events),
            calls,
            failed,
            tuple(diffs),
            check,
            await _model_of(store, conversation, begun, until),
            # The original may also have ended at a step, for a message that came next.
            since is not None and _was_interrupted(events),
        )

    async def _original_after(self, store: Store) -> ScratchCopy:
        """The files after the original turn, from the same start."""
        edits = await Edits(store.database).of_conversation(self.turn.conversation.id, turn=self.turn.number)
        made = [edit for edit in edits if is_agents(edit) or edit.tool == GUARD]
        start = self.copy.root.parent / "start"
        after = self.copy.root.parent / "original"
        shutil.rmtree(after, ignore_errors=True)
        copy = await in_thread(ScratchCopy(start).copied_to, after)
        await in_thread(copy.put, states_after(made), _blobs_of(store))
        return copy


@asynccontextmanager
async def rerunning(
    original: Agent,
    conversation_id: str,
    number: int,
    choice: RerunChoice,
    *,
    ask: "Ask | None" = None,
    provider: "Provider | None" = None,
) -> AsyncGenerator[Rerun]:
    """Prepare to run the turn of this `number` again; at the end remove the copy, and move its conversation
    to the trash. `ask` asks the user; `provider` stands in for that of the choice.

    Raises:
        ConfigError: the model cannot be used.
        UsageError: there is no such turn, or it is about another project.
        WorkspaceError: the project cannot be copied.
    """
    rerun = await prepare(original, conversation_id, number, choice, ask=ask, provider=provider)
    try:
        yield rerun
    finally:
        await asyncio.shield(discard(original, rerun))


async def prepare(
    original: Agent,
    conversation_id: str,
    number: int,
    choice: RerunChoice,
    *,
    ask: "Ask | None" = None,
    provider: "Provider | None" = None,
) -> Rerun:
    """Prepare as `rerunning` does; `discard` ends it."""
    store = await original.store()
    conversation = await store.resolve(conversation_id)
    if conversation.project != str(original.project):
        raise UsageError(
            "This conversation belongs to another project.",
            f"Start in its directory: {conversation.project}",
        )
    turn = await read_turn(store, conversation, number)
    directory = (await in_thread(make_directory, "rerun")).resolve()
    copy = ScratchCopy(directory / original.project.name)
    agent: Agent | None = None
    try:
        await in_thread(copy.copy_from, original.workspace)
        later = await _edits_since(store, conversation.project, turn.since)
        await in_thread(copy.put, states_before(later), _blobs_of(store))
        if (original.project / ".git").exists():
            await in_thread(copy.commit)
        if choice.check:
            await in_thread(copy.copied_to, directory / "start")
        agent = _agent_for(original, copy.root, choice, provider)
        agent.rerun_turn = number
        agent.ask = ask
        await agent.open(patient=True)
        agent.permissions = await _permissions_of(agent, choice)
        id = await _fork(store, turn, agent)
        rerun = Rerun(original, turn, choice, agent, id, copy)
        original.closes_too(partial(discard, original, rerun))
        await in_thread(mark_open, original.data, id)
    except BaseException:
        if agent is None:
            await in_thread(shutil.rmtree, directory, ignore_errors=True)
        else:
            await asyncio.shield(_close(agent, directory))
        raise
    return rerun


async def discard(original: Agent, rerun: Rerun) -> None:
    """Stop what runs, remove the copy, and move its conversation to the trash, once."""
    if rerun.is_discarded:
        return
    rerun.is_discarded = True
    await _close(rerun.agent, rerun.copy.root.parent)
    with suppress(CogencyError):
        await Trash((await original.store()).database).move(rerun.id)
        await in_thread(mark_closed, original.data, rerun.id)


async def _permissions_of(agent: Agent, choice: RerunChoice) -> Permissions:
    """What runs without a question: what is chosen, or all in a sandbox, or edits, since they reach the copy
    alone."""
    if choice.permissions is not None:
        return choice.permissions
    if await agent.probe_sandbox():
        return "auto"
    return "edits" if agent.permissions == "ask" else agent.permissions


async def _close(agent: Agent, directory: Path) -> None:
    """Stop what runs, and remove the copy."""
    try:
        await agent.close()
    finally:
        await in_thread(shutil.rmtree, directory, ignore_errors=True)


def _agent_for(original: Agent, root: Path, choice: RerunChoice, provider: "Provider | None") -> Agent:
    changed = choice.provider is not None or choice.model is not None
    name = choice.provider or original.provider.name
    agent = Agent(
        provider if provider is not None else name,
        model=choice.model if changed else original.provider.model,
        effort=choice.effort or original.effort,
        dialect=choice.dialect or original.dialect,
        mode=original.mode,
        permissions=original.permissions,
        max_cost=choice.max_cost,
        project=root,
        data=original.data,
        settings=original.settings,
    )
    agent.rerun_of = original
    return agent


async def _fork(store: Store, turn: PastTurn, agent: Agent) -> str:
    """Fork the conversation before the turn, in the directory of the copy."""
    project = str(agent.project)
    if turn.before:
        fork = await Forks(store.database).fork(turn.conversation.id, turn.before, project=project)
        return fork.id
    begun = await store.create_conversation(
        project,
        dialect=turn.conversation.dialect,
        provider=agent.provider.name,
        model=agent.provider.model,
        parent=turn.conversation.id,
    )
    return begun.id


def _was_interrupted(events: Sequence[Event]) -> bool:
    """Return whether a turn ended with neither an answer that is whole, nor an error. Pure."""
    ends = [event for event in events if event["type"] != "metric"]
    if not ends:
        return False
    last = ends[-1]
    is_whole = last["type"] == "respond" and not last.get("interrupted")
    return not is_whole and last["type"] != "error"


async def _edits_since(store: Store, project: str, moment: float) -> list[Edit]:
    """The edits in a project since a moment in Unix seconds, by all conversations, the latest first."""
    found: list[Edit] = []
    edits = Edits(store.database)
    while page := await edits.of_project(project, limit=_PAGE, before=found[-1].id if found else None):
        later = [edit for edit in page if edit.timestamp >= moment]
        found += later
        if len(later) < len(page):
            break
    return found


async def _model_of(store: Store, conversation: StoredConversation, since: float, until: float) -> str:
    """The model of the requests in a period; that of the conversation where there was none."""
    rows = await store.database.read(lambda connection: usage.measures(connection, conversation.id))
    found = [
        f"{step['provider']}/{step['model']}"
        for moment, step in rows
        if since <= moment < until and "mode" in step and "provider" in step and "model" in step
    ]
    return ", ".join(dict.fromkeys(found)) or f"{conversation.provider}/{conversation.model}"


def seconds_at_work(steps: Iterable[tuple[float, Measure]], events: Iterable[Event]) -> float:
    """The seconds of these requests, each given with the moment of its end, without the time in which the
    user was asked: that of the model and of the tools that have ended in them. Pure."""
    ran = [
        (event["timestamp"], event["duration"])
        for event in events
        if event["type"] == "result" and not event.get("partial") and own_tool(event["tool"]) != "ask"
    ]
    total = 0.0
    for moment, step in steps:
        seconds = step.get("duration", 0.0)
        if "ttft" in step:
            tools = sum(took for ended, took in ran if moment - seconds <= ended <= moment)
            seconds = min(seconds, step["ttft"] + step.get("writing", 0.0) + tools)
        total += seconds
    return total


async def run_check(agent: Agent, command: str, root: Path) -> Check:
    """Run the user's command in a copy, as the agent's commands are run there: supervised, without keys, in
    the sandbox if there is one."""
    try:
        ended = await agent.run_supervised(command, root, CHECK_SECONDS)
    except CogencyError as exc:
        return Check(command, passed=False, outcome="could not be run", output=exc.advice)
    return Check(
        command,
        passed=not ended.failed,
        outcome=ended.outcome,
        output=str(ended.content).partition("\n")[2].rstrip("\n"),
    )


def _blobs_of(store: Store) -> Blobs:
    return Blobs(store.database.path.parent / BLOBS)
