"""Services for the prompt: the stored history and drafts, the project's files, an external editor.

A draft is on disk half a second after the edit, at the latest, so that `kill -9` costs no more. It belongs to
the conversation in which it was written, which shows it again. One of a conversation that was never begun is
restored when a program starts, where it is seen before anything is typed; a new conversation of a running
program, into which the user types at once, gets it in the history.
"""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.safe_text import reveal
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import Claimed, Draft, Prompts
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.completion import Completion
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox

Given = TypeVar("Given")
Result = TypeVar("Result")

SOON = 0.4
"""Seconds after an edit until the draft is saved."""


class PromptCommands(FeatureCommands):
    """Serves the prompt of `screen`, which is that `number` of this process."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, number: int = 0) -> None:
        super().__init__(screen, bridge)
        self._number = number
        self._prompts = Prompts(bridge.agent.data, bridge.agent.project, number)
        self._timer: Timer | None = None
        self._saving = asyncio.Lock()
        self._troubled = False
        # The draft may be saved after the screen's widgets are removed, when a query would fail.
        self._prompt = screen.query_one(Prompt)
        self._requested = ""
        """The id of the conversation that is being opened first."""

    def handlers(self) -> dict[str, Handler]:
        return {}

    def start(self, conversation_id: str, *, offers: bool) -> None:
        """Load the history, and restore the draft of this conversation; in a new one, only if it `offers`
        one, and into the prompt only on the first screen, with which the program starts."""
        self._requested = conversation_id
        fills = bool(conversation_id) or not self._number
        self._screen.run_worker(
            partial(self._start, offers=bool(conversation_id) or offers, fills=fills), group="prompts"
        )

    def switch(self, before: str | None) -> None:
        """Save the draft in the conversation `before`, and restore that of the one that is open now."""
        left, self._requested = before or self._requested, ""
        if left == self._conversation:
            return
        if self._put_aside(self._draft(left)):
            self.say(
                f"Unsent message saved {'in the previous' if left else 'for the next new'} conversation."
            )
        fills = bool(self._conversation)
        self._screen.run_worker(partial(self._restore, fills=fills), group="prompts")

    def note_change(self) -> None:
        """Save the draft soon, after a change of the prompt or the queue."""
        if self._timer is None:
            self._timer = self._screen.set_timer(SOON, self._save_soon)

    def note_entry(self, entry: Written) -> None:
        """Append an entry to the stored history."""
        self._screen.run_worker(partial(self._store, self._prompts.remember, entry), group="prompts")

    def put_away(self) -> None:
        """Save the draft and the messages that wait in the conversation, which is closed."""
        if self._put_aside(self._draft(self._conversation)):
            self.say("Unsent message saved.")

    def close(self) -> None:
        """Save the draft at once."""
        try:
            self._prompts.put_aside(self._draft(self._conversation))
        except StoreError:
            # An earlier failure to save has already been reported.
            return

    def restore_unsent(self, unsent: list[Written]) -> None:
        """Put unsent messages before the draft in the prompt."""
        if commands := self._prompt.restore_unsent(unsent):
            way = "clear the prompt, then press Up" if self._prompt.text.strip() else "press Up"
            self.say(f"{plural(len(commands), 'command')} not run, but in the history: {way}.")

    def send(self, written: Written) -> None:
        """Send a message to the agent."""
        self._bridge.send(written)

    def run_command(self, written: Written, *, hides: bool) -> None:
        """Run the user's command; ask first if it hides characters."""
        if not hides:
            self.send(written)
            return
        from cogency_tui.tui.kit.dialogs import Confirmation

        command = reveal(written.full[1:].strip())
        question = f"This command contains invisible characters. Run it?\n\n$ {command}"

        def answered(yes: bool | None) -> None:
            if yes:
                self.send(written)
            else:
                self.restore_unsent([written])

        app_of(self._screen).push_screen(Confirmation(question), answered)

    def list_files(self) -> None:
        """Load the project's files into the completion."""
        self._screen.run_worker(self._list_files, group="paths", exclusive=True)

    def edit_outside(self) -> None:
        """Edit the draft in the user's editor."""
        self._screen.run_worker(self._edit_outside, group="editor", exclusive=True)

    @property
    def _conversation(self) -> str:
        """The id of the conversation that the prompt belongs to; empty for one that was never begun."""
        return self._bridge.conversation_id or self._requested

    async def _start(self, *, offers: bool, fills: bool) -> None:
        try:
            self._prompt.remember(await asyncio.to_thread(self._prompts.history))
        except StoreError as exc:
            self._report(exc)
            return
        if offers:
            await self._restore(fills=fills)

    def _put_aside(self, draft: Draft) -> bool:
        """Store a draft and empty the prompt; return whether there is one, and it is stored. One that cannot
        be stored goes into the history.

        At once: the program may end before a worker begins.
        """
        stored = not draft.empty
        try:
            self._prompts.put_aside(draft)
        except StoreError as exc:
            stored = False
            self._report(exc)
            self._note_all(draft)
        self._bridge.queue.clear()
        self._prompt.start_over()
        return stored

    async def _restore(self, *, fills: bool) -> None:
        """Restore the newest draft of the conversation, into the prompt if it `fills` an empty one; older
        ones go into the history."""
        conversation = self._conversation
        if not conversation and self._prompt.text.strip():
            # The draft remains for the next new conversation.
            return
        async with self._saving:
            claimed = await self._work(self._prompts.claim, conversation) or []
        if conversation != self._conversation:
            await self._release(claimed)
        elif claimed:
            await self._show(*claimed, fills=fills and not self._prompt.text.strip())

    async def _release(self, claimed: list[Claimed]) -> None:
        for each in claimed:
            await self._work(self._prompts.release, each)

    async def _show(self, newest: Claimed, *older: Claimed, fills: bool) -> None:
        """Show claimed drafts, each of which stays in its file until it is stored elsewhere."""
        noted = [*reversed(older), *([] if fills else [newest])]
        for each in noted:
            self._append_to_history(each.draft)
        box = self._screen.query_one(PromptBox)
        if fills:
            self.restore_unsent(newest.draft.messages)
            clears = self._prompt.text and self._prompt.vim_mode is None
            box.announce(f"Unsent message restored{' · Esc clears' if clears else ''}")
            await self._settle(newest, stored=await self._save())
        else:
            box.announce("Unsent message added to the history · ↑ shows it")
        for each in noted:
            await self._settle(each, stored=await self._remember_all(each.draft))

    def _append_to_history(self, draft: Draft) -> None:
        for message in draft.messages:
            self._prompt.append(message)

    async def _remember_all(self, draft: Draft) -> bool:
        messages = [message for message in draft.messages if message.text.strip()]
        return all([await self._store(self._prompts.remember, message) for message in messages])

    async def _settle(self, claimed: Claimed, *, stored: bool) -> None:
        """Discard a claimed draft that is `stored` elsewhere; leave another to the next prompt."""
        await self._work(self._prompts.discard if stored else self._prompts.release, claimed)

    def _note_all(self, draft: Draft) -> None:
        for message in draft.messages:
            self._prompt.note(message)

    def _save_soon(self) -> None:
        self._timer = None
        self._screen.run_worker(self._save, group="prompts")

    async def _save(self) -> bool:
        return await self._store(self._prompts.save, self._draft(self._conversation))

    async def _store(self, work: Callable[[Given], bool | None], value: Given) -> bool:
        """Store a value; return False if it cannot be, or `work` says that it is not."""

        def is_stored(given: Given) -> bool:
            return work(given) is not False

        # One at a time: an older draft must not replace a newer one.
        async with self._saving:
            return await self._work(is_stored, value) or False

    async def _work(self, work: Callable[[Given], Result], given: Given) -> Result | None:
        """Use the store in a thread; report that it cannot be used, and return None."""
        try:
            return await asyncio.to_thread(work, given)
        except StoreError as exc:
            self._report(exc)
            return None

    def _draft(self, conversation: str) -> Draft:
        waiting = self._bridge.queue.edited(self._prompt.written)
        return Draft(self._prompt.unsent, waiting, conversation)

    def _report(self, error: StoreError) -> None:
        if not self._troubled:
            self._troubled = True
            self.warn(error.advice)

    async def _list_files(self) -> None:
        from cogency_tui.tui.prompt.path_search import read_paths

        try:
            paths = await asyncio.to_thread(read_paths, self._bridge.agent.workspace)
        except CogencyError as exc:
            self.warn(exc.advice)
            return
        self._screen.query_one(Completion).use(paths)

    async def _edit_outside(self) -> None:
        from cogency_tui.tui.terminal.external_editor import edit_outside

        written = self._prompt.written
        try:
            edited = await edit_outside(app_of(self._screen), written.full, os.environ)
        except CogencyError as exc:
            self.warn(exc.advice)
            return
        if edited != written.full:
            self._prompt.put(Written(edited, images=written.images))
