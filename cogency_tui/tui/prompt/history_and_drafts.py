"""Services for the prompt: the stored history and drafts, the project's files, an external editor.

A draft is on disk half a second after the edit, at the latest, so that `kill -9` costs no more.
"""

import asyncio
import os
from functools import partial
from typing import Any

from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.safe_text import reveal
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import Draft, Prompts
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.completion import Completion
from cogency_tui.tui.prompt.prompt import Prompt

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
        self._known: Prompt | None = None

    def handlers(self) -> dict[str, Handler]:
        return {}

    def start(self, conversation_id: str) -> None:
        """Load the history, and restore an unsent draft of this conversation; the first prompt takes any."""
        self._screen.run_worker(partial(self._start, conversation_id), group="prompts")

    def note_change(self) -> None:
        """Save the draft soon, after a change of the prompt or the queue."""
        self._known = self._prompt
        if self._timer is None:
            self._timer = self._screen.set_timer(SOON, self._save_soon)

    def note_entry(self, entry: Written) -> None:
        """Append an entry to the stored history."""
        self._screen.run_worker(partial(self._store_draft, self._prompts.remember, entry), group="prompts")

    async def put_away(self, unsent: list[Written]) -> None:
        """Move the draft and the `unsent` messages into the history: the conversation is closed."""
        for entry in [*unsent, self._prompt.written]:
            if entry.text.strip():
                await self._store_draft(self._prompts.remember, entry)
        self._prompt.put(Written(""))

    def close(self) -> None:
        """Save the draft at once, if the prompt was ever edited."""
        if self._known is None:
            return
        try:
            self._prompts.save(self._draft())
        except StoreError:
            # An earlier failure to save has already been reported.
            return

    def restore_unsent(self, unsent: list[Written]) -> None:
        """Put unsent messages before the draft in the prompt."""
        if commands := self._prompt.restore_unsent(unsent):
            self.say(f"{plural(len(commands), 'command')} not run; press Up for the history.")

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
    def _prompt(self) -> Prompt:
        # The draft may be saved after the screen's widgets are removed, when a query would fail.
        self._known = self._known or self._screen.query_one(Prompt)
        return self._known

    async def _start(self, conversation_id: str) -> None:
        try:
            history = await asyncio.to_thread(self._prompts.history)
            drafts = await asyncio.to_thread(self._prompts.orphans)
        except StoreError as exc:
            self._report(exc)
            return
        prompt = self._prompt
        prompt.remember(history)
        here = (each for each in drafts if conversation_id and each.conversation == conversation_id)
        if draft := next(here, drafts[0] if drafts and not self._number else None):
            if prompt.text.strip():
                prompt.note(draft.written)
                unsent = list(draft.queue)
            else:
                unsent = [*draft.queue, draft.written]
            self.restore_unsent(unsent)
            await self._save()
            await asyncio.to_thread(self._prompts.discard, draft)

    def _save_soon(self) -> None:
        self._timer = None
        self._screen.run_worker(self._save, group="prompts")

    async def _save(self) -> None:
        await self._store_draft(self._prompts.save, self._draft())

    async def _store_draft(self, work: Any, value: object) -> None:
        # One at a time: an older draft must not replace a newer one.
        async with self._saving:
            try:
                await asyncio.to_thread(work, value)
            except StoreError as exc:
                self._report(exc)

    def _draft(self) -> Draft:
        queue = self._bridge.queue
        waiting = tuple(message for place, message in enumerate(queue.messages) if place != queue.held)
        written = self._prompt.unsent
        if queue.held is not None:
            waiting = (*waiting, self._prompt.written)
        return Draft(written, waiting, self._bridge.conversation_id or "")

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
            self._prompt.put(Written(edited))
