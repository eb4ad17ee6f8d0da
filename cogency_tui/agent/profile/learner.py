"""Learns about the user in the background, from what they wrote, every few messages.

No turn waits for it, and its errors are no errors of a turn: they are recorded, and the profile shows them.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

from cogency_tui.agent.background_request import ask_once
from cogency_tui.agent.profile.fact_extraction import (
    LessonError,
    ask_for_lesson,
    messages_with_own_words,
    read_lesson,
)
from cogency_tui.agent.profile.profile import Profile
from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.providers.base import Provider
from cogency_tui.store.profile_material import MOST_MESSAGES, Lessons, Lot
from cogency_tui.store.store import Store
from cogency_tui.tools.shell.environment_scrubbing import masked

LONGEST_ANSWER = 20_000
"""Characters after which the model is stopped."""

PATIENCE = 120.0
"""Seconds that the model may take."""


class Learner:
    """Learns for `profile`, one lesson at a time, by asking the current provider.

    Invariant: the values of `secrets` are neither sent to it nor stored.
    """

    def __init__(
        self, profile: Profile, provider: Callable[[], Provider], secrets: Mapping[str, str]
    ) -> None:
        self._profile = profile
        self._provider = provider
        self._secrets = secrets
        self._lesson: asyncio.Task[None] | None = None
        self._next: tuple[Store, str, int] | None = None
        self._pending: deque[tuple[str, str, str]] = deque(maxlen=MOST_MESSAGES)

    async def note(self, store: Store, conversation_id: str, message: str, typed: str) -> None:
        """Note a message of a turn that has ended, of which the user `typed` this part; learn if there are
        enough. Nothing is stored while the profile is off.
        """
        if self._profile.on or self._profile.asks:
            self._pending.append((conversation_id, message, typed))
        if self._profile.on:
            with suppress(StoreError):
                await self._store_pending(store, conversation_id)
                self.learn(store, conversation_id, self._profile.every)

    async def remember(self, store: Store, conversation_id: str) -> None:
        """Learn from the messages of this conversation so far, since there now is a profile.

        Raises:
            StoreError: they cannot be stored.
        """
        await self._store_pending(store, conversation_id)
        self.learn(store, conversation_id)

    async def _store_pending(self, store: Store, conversation_id: str) -> None:
        messages = [(message, typed) for key, message, typed in self._pending if key == conversation_id]
        self._pending.clear()
        await Lessons(store.database).add_messages(conversation_id, messages)

    def learn(self, store: Store, conversation_id: str, every: int = 1) -> None:
        """Learn in the background, once `every` messages have accumulated, after the lesson in progress;
        the tokens count for the conversation.
        """
        self._next = (store, conversation_id, every)
        if not self.at_work:
            self._lesson = asyncio.create_task(self._learn_all())

    @property
    def at_work(self) -> bool:
        """True if a lesson is in progress."""
        return self._lesson is not None and not self._lesson.done()

    async def settle(self) -> None:
        """Wait until no lesson is in progress."""
        if self._lesson is not None:
            await asyncio.wait([self._lesson])

    async def close(self) -> None:
        """Stop; messages that were not used yet are used later."""
        if self._lesson is not None:
            self._lesson.cancel()
            await self.settle()

    async def _learn_all(self) -> None:
        while self._next is not None:
            task, self._next = self._next, None
            await self._learn(*task)

    async def _learn(self, store: Store, conversation_id: str, every: int) -> None:
        with suppress(StoreError):
            lessons = Lessons(store.database)
            lot = await lessons.take(every)
            if lot is None:
                return
            try:
                async with asyncio.timeout(PATIENCE):
                    outcome = await self._study(store, conversation_id, lessons, lot)
            except TimeoutError:
                await lessons.note(f"the model took more than {PATIENCE:.0f} s", failed=True)
            except (CogencyError, LessonError) as exc:
                await lessons.note(str(exc), failed=True)
            else:
                await lessons.note(outcome, failed=False)

    async def _study(self, store: Store, conversation_id: str, lessons: Lessons, lot: Lot) -> str:
        """Carry out one lesson; return the outcome in words.

        Raises:
            LessonError, ProviderError: the model did not answer as requested.
            StoreError: nothing can be stored.
        """
        provider = self._provider()
        model = f"{provider.name}/{provider.model}"
        answer = "{}"
        if messages_with_own_words(lot):
            request = ask_for_lesson(lot, self._mask)
            answer = await ask_once(
                provider, request, store, conversation_id, LONGEST_ANSWER, purpose="profile"
            )
        facts, dropped = read_lesson(answer, lot, self._mask)
        if not self._profile.on:
            return "turned off in the meantime"
        learned = await lessons.learn(lot, facts, dropped, model)
        if learned is None:
            return "you changed the profile in the meantime, and your change has priority"
        added, gone = learned
        if not (added or gone):
            return "nothing new"
        return f"{added} learned{f', {gone} dropped' if gone else ''}"

    def _mask(self, text: str) -> str:
        return masked(text, self._secrets)
