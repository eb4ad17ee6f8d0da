"""`/worktree`: begins a conversation in a git worktree, merges that into the project, or removes it."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.workspace.protected_names import shown

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.worktrees import Losses, Made, State, Worktrees


class OpenScreens(Protocol):
    """The main screens of the open conversations, seen from one of them."""

    def begin_with(self, agent: "Agent", then: Callable[[Screen[Any]], None] | None = None) -> None:
        """Begin a conversation of `agent`, which no other screen has, on another screen."""
        ...

    def leave_worktree(self, root: Path) -> None:
        """Close the conversations in this worktree; if there are no others, begin one in the project."""
        ...

    @property
    def title(self) -> str:
        """The title of the conversation on this screen."""
        ...


class WorktreeCommands(FeatureCommands):
    """The commands about worktrees; `others` shows conversations in them, and `refresh` how the files and the
    branch are."""

    def __init__(
        self, screen: Screen[Any], bridge: Bridge, others: OpenScreens, refresh: Callable[[], None]
    ) -> None:
        super().__init__(screen, bridge)
        self._others = others
        self._refresh = refresh

    def handlers(self) -> dict[str, Handler]:
        return {"worktree": self.worktree}

    def worktree(self, argument: str = "") -> None:
        """Begin a conversation in the worktree of a name, `merge` or `remove` one, or list them; without an
        argument show the state of the one of this conversation."""
        first, _, name = argument.partition(" ")
        if first == "remove":
            work = partial(self._remove, name.strip())
        elif first == "merge":
            work = partial(self._merge, name.strip())
        elif not argument and self._bridge.agent.worktree:
            work = self._show_state
        elif argument in ("", "list"):
            work = self._list
        else:
            work = partial(self._begin, argument)
        self._screen.run_worker(partial(self._reporting, work), group="worktree", exclusive=True)

    async def _reporting(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except CogencyError as exc:
            self.complain(exc)

    @property
    def _worktrees(self) -> "Worktrees":
        # Loaded with the first command: it is not needed to show the screen.
        from cogency_tui.agent.worktrees import Worktrees

        return Worktrees(self._bridge.agent)

    async def _begin(self, name: str) -> None:
        worktrees = self._worktrees
        if name and (root := await in_thread(worktrees.find, name)) is not None:
            agent = self._bridge.agent.beside_in(root)
            await agent.settle_worktree()
            self._others.begin_with(agent, partial(_report_found, root.name))
            return
        made = await worktrees.make(name)
        agent = self._bridge.agent.beside_in(made.root)
        await agent.settle_worktree()
        self._others.begin_with(agent, partial(_report_made, made, agent.home.project.name))

    async def _list(self) -> None:
        """List the worktrees."""
        worktrees = self._worktrees
        names = await in_thread(worktrees.names)
        if not names and (problem := await in_thread(lambda: worktrees.problem)):
            self.say(f"There are no worktrees. {problem}")
            return
        there = f"Worktrees: {', '.join(map(one_line, names))}." if names else "There are no worktrees yet."
        enters = ", or in one of these" if names else ""
        self.say(f"{there} /worktree NAME begins a conversation in a new one{enters}.")

    async def _show_state(self) -> None:
        if (root := await self._root()) is not None:
            self.say(describe_state(await self._worktrees.state(root)))

    async def _root(self, advice: str = "/worktree NAME begins one in it.") -> Path | None:
        """The worktree of this conversation; without one notify the user, with the `advice`."""
        from cogency_tui.agent.conversation_runner import missing_directory

        agent = self._bridge.agent
        if not agent.worktree:
            problem = await in_thread(lambda: self._worktrees.problem)
            self.warn(f"This conversation is not in a worktree. {problem or advice}")
        elif not await in_thread(agent.project.is_dir):
            self.warn(" ".join(missing_directory(agent)))
        else:
            return agent.project
        return None

    async def _merge(self, name: str) -> None:
        if name and name != self._bridge.agent.worktree:
            self.warn(
                "/worktree merge takes no name: it merges the worktree of its conversation. "
                "/worktree NAME begins one there."
            )
            return
        if not self.idle() or (root := await self._root()) is None:
            return
        from cogency_tui.agent.worktrees import ConflictMarkersError

        try:
            await self._merge_at(root)
        except ConflictMarkersError as exc:
            marked = exc.files
        else:
            return

        async def answered(yes: bool | None) -> None:
            if yes:
                await self._reporting(partial(self._merge_at, root, marked))

        from cogency_tui.tui.kit.dialogs import Confirmation

        question = Confirmation(describe_markers(root.name, marked), yes="merge anyway", no="do not merge")
        app_of(self._screen).push_screen(question, answered)

    async def _merge_at(self, root: Path, accepted: Sequence[str] = ()) -> None:
        merged = await self._worktrees.merge(root, self._others.title, accepted)
        self._refresh()
        first = "The uncommitted files were committed first. " if merged.committed else ""
        self.say(
            f"Merged into {merged.head}: {plural(merged.files, 'file')} changed. {first}"
            "/worktree remove removes the worktree."
        )

    async def _remove(self, name: str) -> None:
        worktrees = self._worktrees
        if name:
            root = await in_thread(worktrees.find, name)
        else:
            root = await self._root("/worktree remove NAME removes one.")
        if root is None:
            if name:
                names = await in_thread(worktrees.names)
                there = f"There are: {', '.join(names)}." if names else "There are none."
                self.warn(f"There is no worktree {one_line(name)}. {there}")
            return
        self._confirm(root, await worktrees.losses(root))

    def _confirm(self, root: Path, losses: "Losses", news: str = "") -> None:
        """Remove a worktree once the user confirms its `losses`, of which there is `news` since they did."""
        from cogency_tui.tui.kit.dialogs import Confirmation

        async def answered(yes: bool | None) -> None:
            if yes:
                await self._reporting(partial(self._remove_at, root, losses))

        question = f"{news}{describe_loss(root.name, losses)}"
        app_of(self._screen).push_screen(Confirmation(question), answered)

    async def _remove_at(self, root: Path, confirmed: "Losses") -> None:
        worktrees, app = self._worktrees, app_of(self._screen)
        running = await worktrees.losses(root)
        if confirmed.more_running(running):
            self._confirm(root, running, describe_changes(confirmed.changes(running)))
            return
        # What runs in it may change files until it has stopped.
        await worktrees.stop(root)
        now = await worktrees.losses(root)
        if changes := confirmed.changes(now):
            stopped = now.more_running(running)
            self._confirm(root, now, describe_changes(changes, stopped=bool(stopped)))
            return
        await worktrees.require_removable(root)
        self._others.leave_worktree(root)
        await worktrees.remove(root)
        app.notify(f"Removed worktree {root.name}. Its conversations stay in /resume.", markup=False)


def _report_made(made: "Made", project: str, screen: Screen[Any]) -> None:
    text = f"Worktree {made.root.name}: branch {made.branch} from {made.head}."
    if made.left:
        files = plural(len(made.left), "uncommitted file")
        is_one = len(made.left) == 1
        text += f" {files} of {project} {'is' if is_one else 'are'} not in it."
    screen.notify(text, severity="warning" if made.left else "information", markup=False)


def _report_found(name: str, screen: Screen[Any]) -> None:
    screen.notify(f"Another conversation in worktree {name}.", markup=False)


def describe_state(state: "State") -> str:
    """The branch of a worktree, and what it alone has."""
    from cogency_tui.workspace.git.worktrees import named

    origin = f" from {state.origin}" if state.origin else ""
    text = f"Worktree {state.name}: branch cogency/{state.name}{origin}."
    parts: list[str] = []
    if state.lost.files:
        parts.append(f"{plural(len(state.lost.files), 'uncommitted file')}: {named(state.lost.files)}.")
    if state.lost.commits:
        parts.append(f"{plural(state.lost.commits, 'commit')} not merged.")
    if state.conflicted:
        are = "has" if len(state.conflicted) == 1 else "have"
        parts.append(f"{named(state.conflicted)} {are} unresolved conflicts.")
    if state.under_way:
        parts.append(f"A {state.under_way} is in progress.")
    left = " ".join(parts)
    if state.conflicted or state.under_way:
        return f"{text} {left} Have the agent finish it first."
    return f"{text} {left} /worktree merge merges." if left else f"{text} Everything in it is merged."


def describe_markers(name: str, files: Sequence[str]) -> str:
    """The question whether to merge a worktree that has conflict markers in its commits."""
    listed = "\n".join(f"  {shown(file)}" for file in files)
    return f"Merge worktree {name} with conflict markers in these files?\n\n{listed}"


def describe_changes(changes: Sequence[str], *, stopped: bool = False) -> str:
    """What has changed since the user was asked, before the question is put again."""
    ran = "What ran in it was stopped. " if stopped else ""
    return f"{ran}It has changed since you were asked: {'; '.join(changes)}.\n\n"


def describe_loss(name: str, losses: "Losses") -> str:
    """The question whether to remove a worktree: what would be lost or stopped."""
    from cogency_tui.workspace.git.worktrees import named

    lost, lines = losses.lost, list[str]()
    if lost.files:
        lines.append(f"{plural(len(lost.files), 'uncommitted file')}: {named(lost.files)}")
    if lost.commits:
        are = "is" if lost.commits == 1 else "are"
        lines.append(f"{plural(lost.commits, 'commit')} of cogency/{name} that {are} not merged")
    if lost.ignored:
        lines.append(f"{plural(len(lost.ignored), 'ignored path')}: {named(lost.ignored)}")
    if lost.caches and lines:
        lines.append(f"caches: {named(lost.caches)}")
    lines += [each.described for each in losses.occupants if each.pid is None]
    lines += [f"running in the background: {one_line(command)}" for command in losses.commands]
    idle = [
        f"{each.described}. It cannot continue there." for each in losses.occupants if each.pid is not None
    ]
    others = "".join(f"\n\n{line}" for line in idle)
    if not lines:
        caches = f", but for caches: {named(lost.caches)}" if lost.caches else ""
        return f"Remove worktree {name} and its branch? Everything in it is merged{caches}.{others}"
    listed = "\n".join(f"  {line}" for line in lines)
    return f"Remove worktree {name} and its branch? This would be lost or stopped:\n\n{listed}{others}"
