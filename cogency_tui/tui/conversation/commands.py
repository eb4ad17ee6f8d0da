"""Commands that switch the conversation of the main screen: to a new one, a past one, or a fork."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from textual import events
from textual.screen import Screen
from textual.worker import Worker

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Measure, error_event
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.bridge import Bridge, Opening
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.conversation.fork import Fork, Forking, ordinal
from cogency_tui.tui.conversation.pane import ConversationPane
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.message_queue import is_own_command
from cogency_tui.tui.paste_chips import as_written
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.tui.transcript.document import prepare
from cogency_tui.tui.transcript.unit_text import answers_of_turn
from cogency_tui.tui.transcript.units import Transcript, Unit, UserMessage
from cogency_tui.tui.undo.outcome import describe_undo

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.edits.undo_preview import Plan
    from cogency_tui.tui.conversation.rewind import FilesBefore, Rewind


Shown: TypeAlias = Callable[[Screen[Any]], None]
"""Called with the screen that shows a conversation, as soon as it does."""


class OtherScreens(Protocol):
    """The main screens of the other open conversations."""

    def begin(self, then: Shown | None = None) -> None:
        """Begin a conversation on another screen."""
        ...

    def open(self, conversation_id: str, then: Shown | None = None) -> None:
        """Open a past conversation on another screen."""
        ...

    def open_with(
        self, agent: "Agent", conversation_id: str, prompt: str = "", then: Shown | None = None
    ) -> None:
        """Open a past conversation with `agent`, which no other screen has, on another screen, and send
        `prompt` in it."""
        ...

    def go_to(self, conversation_id: str) -> bool:
        """Show a conversation that is open on another screen; return False if it is on none."""
        ...

    def show_title(self, conversation_id: str, title: str) -> None:
        """Show another title of a conversation that is open on another screen."""
        ...

    def states(self) -> Mapping[str, State]:
        """The states of the open conversations, here too, by their ids."""
        ...

    def close(self, conversation_id: str) -> None:
        """Close a conversation that is open on another screen."""
        ...

    def leave(self, then: Shown | None = None) -> None:
        """Close this screen for a new conversation on another one."""
        ...


class ConversationCommands(FeatureCommands):
    """Switches the conversation, in the bridge and on `display`; one that works stays on its screen, and the
    other is shown on one of the `others`."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        display: Display,
        moved: Callable[[], None],
        preview: "Callable[[Plan, str], Awaitable[Plan | None]]",
        others: OtherScreens,
        switched: Callable[[str | None], None],
    ) -> None:
        """`switched` gets the id of the conversation before as soon as another one is open, and `moved` is
        called when that is shown. `preview` previews a change of files under a title, and returns what of it
        the user confirms."""
        super().__init__(screen, bridge)
        self._display = display
        self._moved = moved
        self._preview = preview
        self._others = others
        self._switched = switched
        self._opening: Worker[None] | None = None

    def handlers(self) -> dict[str, Handler]:
        return {
            "new_conversation": self.begin,
            "find": self.find,
            "fork": self.fork,
            "retry": self.retry,
            "turns": self.list_turns,
            "show_plan": self.show_plan,
            "rewind": self.rewind,
            "copy_last_answer": self.copy_last_answer,
            "suggest": self.suggest,
            "resume": self.resume,
        }

    def show_plan(self, _argument: str = "") -> None:
        """Go to the checklist of the agent's plan."""
        update = self._display.transcript.plan_update
        if update is None:
            self.say("The agent has made no plan here.")
            return
        document = self._screen.query_one(Conversation).document
        # What is typed next is for the prompt.
        self._display.go_to_unit(document.shown_by(update), focus=False)

    def rewind(self, _argument: str = "") -> None:
        """List the user's messages, and go back to before the one that the user chooses."""
        if self.idle() and (conversation_id := self.begun()) is not None:
            self._screen.run_worker(partial(self._rewind, conversation_id), group="rewind", exclusive=True)

    async def _rewind(self, conversation_id: str) -> None:
        from cogency_tui.tui.conversation.rewind import FilesBefore, RewindScreen
        from cogency_tui.tui.conversation.turns import turns_of

        units = self._display.transcript.units
        if not (turns := turns_of(self._display.transcript)):
            return
        files = FilesBefore(self._bridge.agent.timeline(conversation_id))
        screen = RewindScreen(
            turns,
            lambda unit: files.plan(ordinal(units, unit)),
            lambda plan: self._preview(plan, "Restore files to this message"),
        )
        choice = await app_of(self._screen).push_screen_wait(screen)
        if choice is not None and self.idle():
            await self._go_back(files, choice)

    async def _go_back(self, files: "FilesBefore", choice: "Rewind") -> None:
        """Restore the files first: the edits after the message belong to the conversation that is left."""
        restored = ""
        if choice.plan is not None:
            try:
                restored = describe_undo(await files.restore(choice.plan))
            except CogencyError as exc:
                self.complain(exc)
                return
            self._moved()
        if choice.conversation:
            report = f"Forked. {restored} (/redo in the original reapplies)" if restored else ""
            await self.fork(unit=choice.unit, report=report)
        elif restored:
            self.say(f"{restored} (/redo reapplies)")

    def list_turns(self, _argument: str = "") -> None:
        """List the turns, and go to the one that the user chooses."""
        from cogency_tui.tui.conversation.turns import turn_at, turns_of
        from cogency_tui.tui.conversation.turns_dialog import TurnsScreen

        conversation = self._screen.query_one(Conversation)
        turns = turns_of(self._display.transcript)
        if not turns:
            self.warn("This conversation is empty. Send a message first.")
            return
        place = conversation.cursor.place
        screen = TurnsScreen(turns, turn_at(turns, place.unit if place else 0))
        app_of(self._screen).push_screen(screen, self._go_to_turn)

    def _go_to_turn(self, unit: int | None) -> None:
        if unit is not None:
            self._display.show_conversation()
            conversation = self._screen.query_one(Conversation)
            conversation.go_to_top(unit)
            self._screen.set_focus(conversation)

    def retry(self, _argument: str = "") -> None:
        """Continue the last turn if it failed or was interrupted; else notify the user that it was not."""
        if not self.idle():
            return
        if self._bridge.retryable and self._display.transcript.resumable:
            self._resume_turn()
        else:
            self.warn("Nothing to retry: the last turn neither failed nor was interrupted.")

    def retry_turn(self) -> None:
        """Continue the last turn if it is unfinished. One that the user interrupted is not: an accidental
        Enter must not start it again."""
        is_offered = self._bridge.retryable and self._display.transcript.unfinished is not None
        if is_offered and not self._bridge.working and self._bridge.opening is None:
            self._resume_turn()

    def _resume_turn(self) -> None:
        """Continue the last turn from what is stored."""
        self._display.touch(self._display.transcript.resume_turn())
        self._display.follow()
        self._bridge.retry()

    def confirm_fork(self, unit: int, letter: str) -> None:
        """Fork after `unit` once the user confirms it. A text that `letter` has begun goes to the prompt."""
        from cogency_tui.tui.conversation.fork_dialog import ForkDialog

        async def answered(answer: bool | str | None) -> None:
            if isinstance(answer, str):
                prompt = self._screen.query_one(Prompt)
                self._screen.set_focus(prompt)
                prompt.take(events.Paste(answer))
            elif answer:
                await self.fork(unit=unit)

        if self.begun():
            app_of(self._screen).push_screen(ForkDialog(letter), answered)

    async def fork(self, _argument: str = "", *, unit: int | None = None, report: str = "") -> None:
        """Switch to a fork that ends with `unit`, by default with the whole conversation. A fork at a
        message of the user puts that message back into the prompt, to be rephrased. `report` replaces the
        report for the user."""
        if (conversation_id := self.begun()) is None:
            return
        transcript = self._display.transcript
        message = transcript.units[unit] if unit is not None else None
        try:
            fork = await Forking(self._bridge.agent).fork(conversation_id, transcript, unit)
        except CogencyError as exc:
            self.complain(exc)
            return
        self.enter_fork(fork, message, report)

    def enter_fork(self, fork: Fork | None, unit: Unit | None = None, report: str = "") -> None:
        """Open a fork (a new conversation if None); a message of the user is in the prompt, for editing."""
        unsent = [as_written(unit.text, unit.images)] if isinstance(unit, UserMessage) and unit.text else []

        def shown(screen: Screen[Any]) -> None:
            prompt = screen.query_one(Prompt)
            prompt.restore_unsent(unsent)
            prompt.focus()
            own = fork.report if fork else "Forked before the first message. The original is unchanged."
            screen.notify(own if fork and fork.project else report or own, markup=False)

        if fork is None:
            self.begin(then=shown)
        else:
            self.open(fork.id, then=shown)

    def find(self, _argument: str = "") -> None:
        """Find text in the shown conversation."""
        self._display.show_conversation()
        self._screen.query_one(ConversationPane).begin_find()

    def show_title(self, id: str, title: str) -> None:
        """Show another title of the conversation with this id, if it is open."""
        if id != self._bridge.conversation_id:
            self._others.show_title(id, title)
        else:
            transcript = self._display.transcript
            first = (
                unit.text.split("\n", 1)[0] for unit in transcript.units if isinstance(unit, UserMessage)
            )
            transcript.entitle(title or next(first, ""))
            self._display.show_state()

    def copy_last_answer(self, _argument: str = "") -> None:
        """Copy the answer of the last turn that has one."""
        transcript = self._display.transcript
        turns = [at for at, unit in enumerate(transcript.units) if isinstance(unit, UserMessage)]
        answer = next((text for at in reversed(turns) if (text := answers_of_turn(transcript, at))), "")
        if answer:
            app_of(self._screen).copy_to_clipboard(answer)
        else:
            self.warn("No answer to copy yet.")

    def show_links(self, addresses: list[str]) -> None:
        """Show addresses of the conversation, and open the one that the user chooses."""
        from cogency_tui.tui.conversation.links_dialog import LinksScreen

        app_of(self._screen).push_screen(LinksScreen(addresses), self._open_link)

    async def _open_link(self, address: str | None) -> None:
        from cogency_tui.tui.terminal.link_opener import open_address

        if address is None:
            return
        try:
            await open_address(address)
        except CogencyError as exc:
            self.complain(exc)

    def begin(self, _argument: str = "", *, then: Shown | None = None) -> None:
        """Begin a new conversation, in the project if the worktree here is gone; one that works, or has a
        background command that runs, stays open, and so does a rerun. Call `then` when it is shown."""
        if self._stays_open:
            self._others.begin(then)
        else:
            self._begin_here(then)

    @property
    def _stays_open(self) -> bool:
        return self._bridge.working or self._bridge.background_count > 0 or self._is_rerun

    def _begin_here(self, then: Shown | None = None) -> None:
        if self._bridge.agent.is_worktree_removed:
            self._others.leave(then)
            return
        app_of(self._screen).clear_notifications()
        if self._opening is not None:
            self._opening.cancel()
        unsent = self._end_opening()
        before = self._bridge.conversation_id
        self._bridge.begin()
        self._bridge.agent.begin_choices()
        self._switched(before)
        self._display.show(Transcript(), Measure())
        self._focus_prompt()
        self._moved()
        self._screen.query_one(Prompt).restore_unsent(unsent)
        if then is not None:
            then(self._screen)

    @property
    def _is_rerun(self) -> bool:
        """True if this screen is of a rerun: another conversation on it would work in the scratch copy, and
        be lost with it."""
        return self._bridge.agent.rerun_of is not None

    def states(self) -> Mapping[str, State]:
        """The states of the conversations that are open in this program, by their ids."""
        return self._others.states()

    def is_shown(self, conversation_id: str) -> bool:
        """Return whether this conversation is the one on this screen."""
        return conversation_id == self._bridge.conversation_id

    def close(self, conversation_id: str) -> None:
        """Close an open conversation; on this screen a new one begins in its place."""
        if self.is_shown(conversation_id) and self._is_rerun:
            self._others.leave()
        elif self.is_shown(conversation_id) and not self._bridge.working:
            self._begin_here()
        elif self.is_shown(conversation_id):
            self.begin()
        else:
            self._others.close(conversation_id)

    def _focus_prompt(self) -> None:
        self._screen.set_focus(self._screen.query_one(Prompt))

    def suggest(self, text: str) -> None:
        """Put a suggested message into the prompt."""
        prompt = self._screen.query_one(Prompt)
        prompt.replace_text(text)
        prompt.focus()

    def resume(self, conversation_id: str) -> None:
        """Resume a past conversation."""
        self.open(conversation_id)

    def open(self, conversation_id: str, *, then: Shown | None = None) -> None:
        """Go to a conversation: to its screen if it is open on another one, and to another screen if the one
        here stays open. Call `then` when it is opened.
        """
        app_of(self._screen).clear_notifications()
        if self._others.go_to(conversation_id):
            return
        is_here = self.is_shown(conversation_id)
        if not self._stays_open or (is_here and self._is_rerun and not self._bridge.working):
            self.show(conversation_id, then=then)
        elif not is_here:
            self._others.open(conversation_id, then)

    def show(self, conversation_id: str, prompt: str = "", *, then: Shown | None = None) -> None:
        """Show a past conversation, and send `prompt` in it; call `then` when it is shown. What the user
        sends meanwhile is held until then, and returns to the prompt if the conversation cannot be opened."""
        area = self._screen.query_one(Prompt)
        area.restore_unsent(self._end_opening())
        self._bridge.opening = opening = Opening(conversation_id)

        async def reopen() -> None:
            try:
                await open_here()
            finally:
                if self._bridge.opening is opening:
                    # The program ends.
                    area.restore_unsent(self._end_opening())

        async def open_here() -> None:
            gone, failed = "", False
            with suppress(CogencyError):
                if (agent := await self._agent_for(conversation_id)) is not self._bridge.agent:
                    await agent.settle_worktree()
                    held = self._end_opening()
                    self._others.open_with(agent, conversation_id, prompt, partial(_pass_on, held, then))
                    return
                gone = await self._missing_worktree(conversation_id)
            before = self._bridge.conversation_id
            try:
                transcript, total = await self._bridge.reopen(conversation_id)
                origin = await self._bridge.describe_origin()
                await prepare()
            except CogencyError as exc:
                transcript, total = Transcript(), Measure()
                transcript.feed([error_event(exc, time())])
                origin, failed = "", True
            is_of_gone_rerun = await self._is_of_gone_rerun(conversation_id)
            # From here without a pause: what is offered on the screen can be done.
            self._switched(before)
            self._display.show(transcript, total)
            self._focus_prompt()
            self._moved()
            if origin:
                self.say(origin)
            if notice := self._bridge.take_notice():
                self.warn(notice)
            if gone:
                project = self._bridge.agent.project.name
                self.warn(f"Worktree {gone} was removed. This conversation continues in {project}.")
            if is_of_gone_rerun:
                self.warn("The files of this rerun are gone: its conversation can only be read.")
            self._bridge.opening = None
            if then is not None:
                then(self._screen)
            if prompt:
                self._bridge.send(Written(prompt))
            if failed:
                area.restore_unsent(opening.messages)
            else:
                opening.release()

        self._opening = self._screen.run_worker(reopen, group="reopen", exclusive=True)

    def _end_opening(self) -> list[Written]:
        """Return what is held for a conversation that is no longer being opened."""
        opening, self._bridge.opening = self._bridge.opening, None
        return opening.messages if opening is not None else []

    async def _root_of(self, conversation_id: str) -> Path | None:
        """The directory in the project's family that a conversation has, or had."""
        agent = self._bridge.agent
        stored = await (await agent.store()).conversation(conversation_id)
        return None if stored is None else agent.root_of(stored.project)

    async def _agent_for(self, conversation_id: str) -> "Agent":
        """The agent here, or another one if the conversation is at home in another worktree, or in the main
        project."""
        agent = self._bridge.agent
        root = await self._root_of(conversation_id) or agent.project
        place = root if root.is_dir() else agent.home.project
        return agent if place == agent.project else agent.beside_in(place)

    async def _is_of_gone_rerun(self, conversation_id: str) -> bool:
        """Return whether a conversation is of a rerun, and its scratch copy is not the project here."""
        from cogency_tui.temporary_files import is_in_one

        agent = self._bridge.agent
        with suppress(CogencyError):
            stored = await (await agent.store()).conversation(conversation_id)
            if stored is not None and stored.project != str(agent.project):
                return is_in_one(Path(stored.project), "rerun")
        return False

    async def _missing_worktree(self, conversation_id: str) -> str:
        """The name of the worktree that a conversation was in; empty if it is there, or it was in none."""
        root = await self._root_of(conversation_id)
        return "" if root is None or root.is_dir() else root.name


def _pass_on(held: list[Written], then: Shown | None, screen: Screen[Any]) -> None:
    """Send on `screen` what was held for its conversation; shell commands return to the user."""
    if then is not None:
        then(screen)
    prompt = screen.query_one(Prompt)
    prompt.restore_unsent([message for message in held if is_own_command(message.full)])
    for message in held:
        if not is_own_command(message.full):
            prompt.post_message(Prompt.Sent(message))
