"""One session of an editor: a conversation, its agent, and its permission questions."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from time import time
from typing import Literal

import acp
from acp.schema import AllowedOutcome, PermissionOption, SessionMode, SessionModeState, ToolCallUpdate

from cogency_tui.acp.prompt_blocks import fenced
from cogency_tui.acp.updates import Changes, Updates, kind_of
from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Inquiry, InquiryAnswer, Question
from cogency_tui.agent.weekly_copy import WeeklyCopy
from cogency_tui.config.options import options
from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Image, error_text, notice_event
from cogency_tui.safe_text import reveal
from cogency_tui.tools.user_questions import UserQuestion

StopReason = Literal["end_turn", "max_turn_requests", "cancelled"]

INTERNAL = -32603
"""The code of an error that is neither the editor's nor one of the protocol's own."""

_LIMIT = "Turn stopped after"

_log = logging.getLogger(__name__)


_ANSWERS = {"changed": ("Keep", "Revert"), "stale": ("Continue without the edit", "Decline")}


class AcpSession:
    """The conversation `id` with `agent`, which is open; `editor` receives its updates."""

    def __init__(self, id: str, agent: Agent, editor: acp.Client) -> None:
        self.id = id
        self.agent = agent
        self._editor = editor
        self._updates = Updates(agent.project)
        self._working = asyncio.Lock()
        self._waiting = 0
        """Prompts that wait for the turn before theirs."""
        self._cancellations = 0
        self._copy = WeeklyCopy(agent)
        agent.ask, agent.inquire = self._ask, self._inquire

    @property
    def modes(self) -> SessionModeState:
        """The current permission mode, and the available ones."""
        means = options()["permissions"].means
        there = [
            SessionMode(id=id, name=id.capitalize(), description=f"{text[:1].upper()}{text[1:]}")
            for id, text in means.items()
        ]
        return SessionModeState(current_mode_id=self.agent.permissions, available_modes=there)

    def set_mode(self, mode: str) -> None:
        """Switch to these permissions.

        Raises:
            RequestError: there are none of this name.
        """
        chosen: list[Permissions] = [each for each in PERMISSIONS if each == mode]
        if not chosen:
            raise acp.RequestError.invalid_params({"modeId": f"Choose one of: {', '.join(PERMISSIONS)}"})
        self.agent.permissions = chosen[0]

    async def replay(self) -> None:
        """Send the editor the conversation so far."""
        store = await self.agent.store()
        await store.recover(self.id)
        for update in self._updates.replay(await store.events(self.id)):
            await self._editor.session_update(self.id, update)

    async def report(self) -> None:
        """Show the user the pending notices of the store in the editor."""
        store = await self.agent.store()
        for notice in store.new_notices():
            for update in self._updates.of(notice_event(notice, time())):
                await self._editor.session_update(self.id, update)
        await store.acknowledge()

    async def prompt(self, text: str, images: Sequence[tuple[bytes, str]] = ()) -> StopReason:
        """Run a turn on a message with images, each its content and name, and send the editor its updates;
        return why it ended. A turn that is running ends at its next step, and this one continues its work.

        Raises:
            RequestError: it ended with an error.
        """
        before = self._cancellations
        self._waiting += 1
        try:
            await self._working.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._turn(text, images, lambda: self._cancellations != before)
        finally:
            self._working.release()

    async def _turn(
        self, text: str, images: Sequence[tuple[bytes, str]], is_cancelled: Callable[[], bool]
    ) -> StopReason:
        changes = Changes(await self.agent.store(), self.agent.project)
        await changes.begin()
        if is_cancelled():
            # There was no turn yet that could have been interrupted.
            return "cancelled"
        stop: StopReason = "end_turn"
        failure = ""
        attached = await self._attached(images)
        stream = self.agent.stream(
            text, conversation_id=self.id, images=attached, message_waits=lambda: self._waiting > 0
        )
        async with aclosing(stream) as events:
            async for event in events:
                diffs = []
                if event["type"] == "user":
                    # The editor has shown the user's message itself.
                    continue
                if event["type"] == "result" and not event.get("partial"):
                    diffs = await changes.of_call(self.id, event["id"])
                for update in self._updates.of(event, diffs):
                    await self._editor.session_update(self.id, update)
                if event["type"] == "interrupt":
                    stop = "cancelled"
                elif event["type"] == "error" and not event["payload"].get("notice"):
                    failure = error_text(event["payload"])
                elif event["type"] != "end":
                    # An error after which the turn continues has not ended it.
                    failure = ""
        self._copy.begin()
        if failure.startswith(_LIMIT):
            return "max_turn_requests"
        if failure and stop != "cancelled":
            raise acp.RequestError(INTERNAL, failure)
        return stop

    async def _attached(self, images: Sequence[tuple[bytes, str]]) -> list[Image]:
        """The images that can be attached; the editor is told of the others."""
        attached: list[Image] = []
        for content, name in images:
            try:
                attached.append(await self.agent.add_image(content, name))
            except CogencyError as error:
                for update in self._updates.of(notice_event(f"Not attached: {error}", time())):
                    await self._editor.session_update(self.id, update)
        return attached

    def cancel(self) -> None:
        """Stop the running turn, and those that wait for it."""
        self._cancellations += 1
        self.agent.interrupt(self.id)

    async def close(self) -> None:
        """Stop, and close everything."""
        await self.agent.close()

    async def _ask(self, question: Question) -> Answer | None:
        """The user's answer in the editor; None if the editor cannot ask them."""
        yes, no = _ANSWERS.get(question.effect, ("Allow once", "Refuse"))
        options = [PermissionOption(option_id="once", name=yes, kind="allow_once")]
        if question.turn:
            options.append(
                PermissionOption(option_id="turn", name="Allow all edits this turn", kind="allow_always")
            )
        if question.grant:
            name = f"Allow in this conversation: {reveal(question.grant)}"
            options.append(PermissionOption(option_id="conversation", name=name, kind="allow_always"))
        if question.pattern:
            name = f"Always allow in this project: {reveal(question.pattern)}"
            options.append(PermissionOption(option_id="always", name=name, kind="allow_always"))
        options.append(PermissionOption(option_id="no", name=no, kind="reject_once"))
        # Hidden characters of a command must be visible here, too.
        losses = "".join(f"\n{reveal(loss.sentence)}" for loss in question.losses)
        reason = f"\n{reveal(question.explanation)}" if question.explanation else ""
        message = [f"{reveal(question.title)}{losses}{reason}"]
        if question.detail.strip():
            message.append(fenced(reveal(question.detail)))
        call = ToolCallUpdate(
            tool_call_id=question.call_id,
            title=reveal(question.title).replace("\n", "⏎"),
            kind=kind_of(question.tool),
            status="pending",
            content=[acp.tool_content(acp.text_block(text)) for text in message],
        )
        chosen = await self._request(call, options)
        if chosen is None:
            return None
        if chosen == "turn":
            return Answer(allow=True, scope="turn")
        if chosen == "conversation":
            return Answer(allow=True, scope="conversation")
        if chosen == "always":
            return Answer(allow=True, scope="always")
        return Answer(allow=chosen == "once")

    async def _inquire(self, inquiry: Inquiry) -> InquiryAnswer | None:
        """The user's answers in the editor, whose permission dialog offers the choices one question after the
        other; None if it cannot ask: for several answers to a question the protocol has no dialog."""
        if any(question.several for question in inquiry.questions):
            return None
        given: list[tuple[str, ...]] = []
        for question in inquiry.questions:
            chosen = await self._request(
                _call_of(inquiry, question),
                [
                    *(
                        PermissionOption(option_id=str(at), name=reveal(choice.label), kind="allow_once")
                        for at, choice in enumerate(question.choices)
                    ),
                    PermissionOption(option_id="skip", name="Skip", kind="reject_once"),
                ],
            )
            if chosen == "skip":
                given.append(())
                continue
            labels = {str(at): choice.label for at, choice in enumerate(question.choices)}
            if chosen not in labels:
                return None
            given.append((labels[chosen],))
        return InquiryAnswer.of(tuple(given))

    async def _request(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        """The id of the option that the user chose; None if the editor did not ask."""
        try:
            response = await self._editor.request_permission(self.id, call, options)
        except (acp.RequestError, ConnectionError, ValueError) as exc:
            _log.warning("The editor did not ask the user: %s", exc)
            return None
        chosen = response.outcome
        return chosen.option_id if isinstance(chosen, AllowedOutcome) else None


def _call_of(inquiry: Inquiry, question: UserQuestion) -> ToolCallUpdate:
    """The call that puts a question, as the editor's dialog shows it."""
    details = [
        f"{reveal(each.label)}: {reveal(each.description)}" for each in question.choices if each.description
    ]
    asker = [f"Asked by {reveal(inquiry.asker)}."] if inquiry.asker else []
    message = "\n\n".join([reveal(question.question), *asker, *details])
    return ToolCallUpdate(
        tool_call_id=inquiry.call_id,
        title=reveal(question.question).replace("\n", "⏎"),
        kind=kind_of("ask"),
        status="pending",
        content=[acp.tool_content(acp.text_block(message))],
    )
