"""What the prompt needs that lasts or comes from elsewhere: history, drafts, the project's files, an editor.

A draft is on disk half a second after it was written, at the latest, so that `kill -9` costs no more.
"""

import asyncio
import os
from functools import partial
from typing import Any

from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.store.prompts import Draft, Prompts, Written
from cogency_tui.text import reveal
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.widgets.completion import Completion
from cogency_tui.tui.widgets.prompt import Prompt

SOON = 0.4
"""Seconds after which what is being written is saved."""


class Writing(Collaborator):
    """Serves the prompt of `screen`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        super().__init__(screen, bridge)
        self._prompts = Prompts(bridge.agent.data, bridge.agent.project)
        self._timer: Timer | None = None
        self._saving = asyncio.Lock()
        self._troubled = False
        self._known: Prompt | None = None

    def handlers(self) -> dict[str, Handler]:
        return {}

    def start(self, conversation_id: str) -> None:
        """Bring back what was written before: the history, and what was not sent, in this conversation if it
        goes on in one."""
        self._screen.run_worker(partial(self._start, conversation_id), group="prompts")

    def note_change(self) -> None:
        """Something else is written, or waits: have it saved soon."""
        self._known = self._prompt
        if self._timer is None:
            self._timer = self._screen.set_timer(SOON, self._save_soon)

    def note_entry(self, entry: Written) -> None:
        """The history has one more entry."""
        self._screen.run_worker(partial(self._keep, self._prompts.remember, entry), group="prompts")

    def close(self) -> None:
        """Save what is written now, at once, if anything ever was."""
        if self._known is None:
            return
        try:
            self._prompts.save(self._draft())
        except StoreError:
            # It was told when it could not be saved before.
            return

    def take_back(self, unsent: list[Written]) -> None:
        """Put what was not sent before what is being written."""
        if commands := self._prompt.take_back(unsent):
            self.say(f"{plural(len(commands), 'command')} not run: in the history (Up).")

    def send(self, written: Written) -> None:
        """Have a message worked on."""
        self._bridge.send(written)

    def run_command(self, written: Written, *, hides: bool) -> None:
        """Run a command of the person's; one that may not be what it looks like is shown first."""
        if not hides:
            self.send(written)
            return
        from cogency_tui.tui.screens.dialogs import Confirmation

        command = reveal(written.full[1:].strip())
        question = f"This came with characters that cannot be seen. Run it?\n\n$ {command}"

        def answered(yes: bool | None) -> None:
            if yes:
                self.send(written)
            else:
                self.take_back([written])

        app_of(self._screen).push_screen(Confirmation(question), answered)

    def list_files(self) -> None:
        """Have the project's files offered."""
        self._screen.run_worker(self._list_files, group="paths", exclusive=True)

    def edit_outside(self) -> None:
        """Go on in the person's editor."""
        self._screen.run_worker(self._edit_outside, group="editor", exclusive=True)

    @property
    def _prompt(self) -> Prompt:
        # It is asked for once more when the screen has no widgets any more.
        self._known = self._known or self._screen.query_one(Prompt)
        return self._known

    async def _start(self, conversation_id: str) -> None:
        try:
            history = await asyncio.to_thread(self._prompts.history)
            drafts = await asyncio.to_thread(self._prompts.orphans)
        except StoreError as exc:
            self._tell(exc)
            return
        prompt = self._prompt
        prompt.remember(history)
        here = (each for each in drafts if conversation_id and each.conversation == conversation_id)
        if draft := next(here, drafts[0] if drafts else None):
            if prompt.text.strip():
                prompt.note(draft.written)
                unsent = list(draft.queue)
            else:
                unsent = [*draft.queue, draft.written]
            self.take_back(unsent)
            await self._save()
            await asyncio.to_thread(self._prompts.discard, draft)

    def _save_soon(self) -> None:
        self._timer = None
        self._screen.run_worker(self._save, group="prompts")

    async def _save(self) -> None:
        await self._keep(self._prompts.save, self._draft())

    async def _keep(self, work: Any, value: object) -> None:
        # One after the other: an older draft must not come to stand in the place of a newer one.
        async with self._saving:
            try:
                await asyncio.to_thread(work, value)
            except StoreError as exc:
                self._tell(exc)

    def _draft(self) -> Draft:
        queue = self._bridge.queue
        waiting = tuple(message for place, message in enumerate(queue.messages) if place != queue.held)
        written = self._prompt.unsent
        if queue.held is not None:
            waiting = (*waiting, self._prompt.written)
        return Draft(written, waiting, self._bridge.conversation_id or "")

    def _tell(self, error: StoreError) -> None:
        if not self._troubled:
            self._troubled = True
            self.warn(error.advice)

    async def _list_files(self) -> None:
        from cogency_tui.tui.completion.paths import read_paths

        try:
            paths = await asyncio.to_thread(read_paths, self._bridge.agent.workspace)
        except CogencyError as exc:
            self.warn(exc.advice)
            return
        self._screen.query_one(Completion).use(paths)

    async def _edit_outside(self) -> None:
        from cogency_tui.tui.outside_editor import edit_outside

        written = self._prompt.written
        try:
            edited = await edit_outside(app_of(self._screen), written.full, os.environ)
        except CogencyError as exc:
            self.warn(exc.advice)
            return
        if edited != written.full:
            self._prompt.put(Written(edited))
