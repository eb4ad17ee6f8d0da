"""Decides whether a call may run: reads run; other calls run, ask or are refused by the mode in force.

Invariants:

- A call that touches anything outside the project, or anything protected, asks in every mode; a destructive
  one asks each time.
- Once a conversation has read untrusted content, a call that could carry anything out of the project asks
  again, whatever the mode and whatever was allowed before.
- A call that only reads, reaches or stops a process that the conversation started never asks.
- Without a user to ask, a call is refused; nothing is ever assumed to be allowed.
- A refusal gives the model the reason, and once in a turn what the mode allows instead.
- A yes is for the change of files that the question shows: if it would be another one by now, the user is
  asked again.
- A change of the mode settles a waiting question only by the decision that its call would get now.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import time
from typing import Literal, NamedTuple, Protocol, Self, TypeVar, cast

from cogency_tui.agent.permissions.grants import (
    ANY_COMMAND,
    EVERY_COMMAND,
    PLAIN_CHANGES,
    Grant,
    Grants,
    Key,
    about,
    grant_key,
)
from cogency_tui.agent.permissions.rules import RuleEffect, Rules, Ruling
from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.errors import DeclinedError, ModeError, RefusedError, ToolError, UserFacingError
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.tools.base import READS_UNKNOWN, WRITES_UNKNOWN, Effect, Intent
from cogency_tui.tools.loss import Loss, describe_losses
from cogency_tui.tools.user_questions import Answers, UserQuestion
from cogency_tui.tools.worker_threads import completed, in_thread
from cogency_tui.workspace.diff import LineCounts

T = TypeVar("T")

_NAMED = 2
"""Sources that a question names."""

_CHANGED = "A rule matches, but files that determine what runs have changed since the rule was added"

_CHANGES_FILES = "it changes files"
_RUNS_COMMAND = "it runs a command"
"""Reasons that a question does not repeat, since it shows the change or the command."""

_MAY_REACH = "it can run anything, including network access"

_POSSIBLE = "what could have brought untrusted content"
"""Represents all possible sources in those of a grant: one more of them is no reason to ask again."""

_ALLOWED: dict[Permissions, Sequence[str]] = {
    "plan": ("reading and searching inside the project", "describing your plan"),
    "ask": ("reading and searching inside the project",),
    "edits": ("reading, searching and changing files inside the project",),
    "auto": ("everything else inside the project",),
}
"""The calls that each mode allows without a question, in the words of a refusal."""

_ALLOWED_LOCAL = "anything inside the project without network access"
_ALLOWED_COMMANDS = "plain commands that do only that (cat, ls, git status)"
_ALLOWED_OUT = "curl to a server that you started"
_ALLOWED_TRANSFERS = "git push, pull or fetch with remotes that were configured before you began"
"""The calls that `auto` allows once untrusted content may have been read."""
_ALLOWED_TEMPORARY = "shell commands with files of their own in /tmp"
"""The calls outside the project that `auto` allows."""

_CURES = {
    WRITES_UNKNOWN: "Name the place in the command.",
    READS_UNKNOWN: "Name the files in the command.",
}
"""Instructions for the model after a refusal for a reason that it can remove."""

_ALLOWED_TAINTED = (*_ALLOWED["edits"], _ALLOWED_COMMANDS, _ALLOWED_OUT)
"""Those that it allows once it has been read, where no sandbox confines commands."""


_NO_USER = "No user can answer questions here: decide yourself, and say what you assumed."
_NO_USER_SHORT = "No user can answer questions here."

_LIMITS = (
    "From now on, calls that reach outside the project, and commands that could and are in no sandbox "
    "(tests, scripts, builds), are refused: {}, and no user is available to approve them. Allowed: {}."
)
"""The consequence of untrusted text for the model, where no user can be asked."""


class Round(NamedTuple):
    """The place of a question among those of one answer of the model: `number` of `total`, in the order in
    which the calls were written. `waiting` are the others that wait for an answer, in that order; `unasked`
    are the numbers right before this one of calls that have not asked, and whether they failed.
    """

    number: int = 1
    total: int = 1
    waiting: "tuple[Question | Inquiry, ...]" = ()
    unasked: Sequence[tuple[int, bool]] = ()

    @property
    def place(self) -> str:
        """`2 of 5`; empty for the only question."""
        return f"{self.number} of {self.total}" if self.total > 1 else ""

    @property
    def missing(self) -> str:
        """Why numbers before this one have no question: `#2 failed`; empty if each has one."""
        return ", ".join(
            f"#{number} {'failed' if failed else 'not ready'}" for number, failed in self.unasked
        )


@dataclass(frozen=True, slots=True)
class Question:
    """The action of a call, and why it needs consent. `detail` is the whole diff or command.

    A question about `money` belongs to no call, whatever `call_id` is. `changed` is what a call has already
    done: a yes keeps it, a no puts it back. `stale` is a change of files that no longer applies: a yes
    reports that to the agent. `paths` are the files that would change; `updated` marks a change that differs
    from the one that was asked about before, since they have changed. `reason` is empty where the effect
    says enough, `losses` are what the call would destroy; `counts` are the lines that a change of files adds
    and removes. `asker` is the sub-agent that the call is of, if any.

    `grant` describes what a yes for the conversation would cover, `turn` one for the rest of the turn, and
    `pattern` what a rule would be for; an answer with that scope is not to be offered if it is empty.
    `round` returns its place among the questions, as it is at the moment.
    """

    call_id: str
    tool: str
    effect: Effect | Literal["money", "changed", "stale"]
    summary: str
    detail: str
    reason: str
    grant: str = ""
    pattern: str = ""
    turn: str = ""
    losses: tuple[Loss, ...] = ()
    counts: LineCounts | None = None
    asker: str = ""
    paths: tuple[Path, ...] = ()
    updated: bool = False
    keeps_running: bool = False
    """True for a command that goes on in the background."""
    round: Callable[[], Round] = field(default=Round, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The summary with the counts: `Edit a.py (+4 −1)`."""
        return f"{self.summary} ({self.counts})" if self.counts else self.summary

    @property
    def explanation(self) -> str:
        """What outlives the call, the reason and the asker in sentences; empty without any."""
        # That of a limit says what an answer allows.
        label = "" if self.effect == "money" else "Reason: "
        reason = [f"{label}{self.reason}."] if self.reason else []
        stays = ["Keeps running in the background until it is stopped."] if self.keeps_running else []
        return " ".join([*stays, *reason, *([f"Requested by {self.asker}."] if self.asker else [])])


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Questions of the model, which a call puts to the user. `asker` is the sub-agent that the call is of, if
    any; `round` returns their place among all questions, as it is at the moment.
    """

    call_id: str
    questions: tuple[UserQuestion, ...]
    asker: str = ""
    round: Callable[[], Round] = field(default=Round, compare=False, repr=False)

    @property
    def summary(self) -> str:
        """The first question, and the number of others."""
        others = len(self.questions) - 1
        return f"{self.questions[0].question}{f' (and {others} more)' if others else ''}"


@dataclass(frozen=True, slots=True)
class InquiryAnswer:
    """The `answers` to each question of an inquiry: labels of its choices, or the user's own words; none to a
    question that was skipped. `reasons` are what the user wrote to each that they skipped; they go to the
    model. If they `declined`, which is to skip all, `reason` is what they wrote to that.
    """

    answers: Answers = ()
    declined: bool = False
    reason: str = ""
    reasons: Sequence[str] = ()

    @classmethod
    def of(cls, answers: Answers, reasons: Sequence[str] = ()) -> Self:
        """The answers given to one question after the other; a refusal if each was skipped."""
        given = list(reasons) if any(reasons) else []
        if any(answers):
            return cls(answers, reasons=tuple(given))
        if len(set(given)) == 1:
            return cls(declined=True, reason=given[0])
        return cls(declined=True, reasons=tuple(given))


Inquire = Callable[[Inquiry], Awaitable[InquiryAnswer | None]]
"""Puts questions of the model to the user; None if no user could answer them."""


Scope = Literal["once", "turn", "conversation", "always"]


@dataclass(frozen=True, slots=True)
class Answer:
    """`reason` goes to the model with a refusal. A `scope` that was not offered counts as `once`."""

    allow: bool
    scope: Scope = "once"
    reason: str = ""


Ask = Callable[[Question], Awaitable[Answer | None]]
"""Asks the user a question; None if no user could answer it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was not allowed because no user could be asked. `enough` is the narrowest permission mode
    that lets it pass without a question; None if none does.
    """

    summary: str
    reason: str
    enough: Permissions | None


Plan = Callable[[], Awaitable[Intent]]
"""Plans a call again; raises `ToolError` if it can no longer be done."""


class Place(Protocol):
    """The place of a call among those of one answer of the model."""

    async def reached(self) -> None:
        """Return when no call before this one will ask first."""
        ...

    def count(self) -> tuple[int, int]:
        """The number of its question, and the number of questions."""
        ...

    def unasked_before(self) -> Sequence[tuple[int, bool]]:
        """The numbers right before its own of calls that have not asked, and whether they failed."""
        ...


class _Alone:
    """The place of a call that is the only one of its answer."""

    async def reached(self) -> None:
        return

    def count(self) -> tuple[int, int]:
        return 1, 1

    def unasked_before(self) -> Sequence[tuple[int, bool]]:
        return ()


_ALONE = _Alone()


def _signal() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class _Waiting:
    """A call that waits for an answer to `gate`; `question` as it is at the moment, and why it is `asked`. An
    inquiry waits for nothing but its answer.

    `approved` is done once the mode lets the call pass without an answer, and `outdated` once the call would
    do something else than the question says: `intent`, or `problem` if it can no longer be done.
    `is_updated` is set once that has happened.
    """

    gate: "Gate"
    call_id: str
    tool: str
    intent: Intent
    place: Place
    plan: Plan | None
    asked: "tuple[_Case, Ruling]"
    question: Question | Inquiry = field(init=False)
    approved: asyncio.Future[None] = field(default_factory=_signal)
    outdated: asyncio.Future[None] = field(default_factory=_signal)
    problem: ToolError | None = None
    planning: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_updated: bool = False
    _shown: tuple[Intent, str] | None = None

    def show(self, question: Question) -> None:
        """Set the question that is put to the user."""
        self.question, self.is_updated = question, self.is_updated or self.is_outdated
        self._shown, self.outdated = self._present, _signal()

    @property
    def _present(self) -> tuple[Intent, str]:
        return self.intent, str(self.problem or "")

    @property
    def is_outdated(self) -> bool:
        """True if the question does not show what the call would do."""
        return self._shown not in (None, self._present)

    async def replan(self) -> None:
        """Plan a change of files again, from the files as they are."""
        if self.plan is None or self.intent.effect != "write":
            return
        async with self.planning:
            try:
                self.intent, self.problem = await self.plan(), None
            except ToolError as exc:
                self.problem = exc
            if self.is_outdated and not self.outdated.done():
                self.outdated.set_result(None)


@dataclass(slots=True)
class _State:
    """The state that a conversation shares with its sub-agents.

    `sources` and `possible` map the name of a source to the source of the intent through which it was read.
    `trouble` is why a rule could not be stored. `caution` is why changes are asked about until the user has
    allowed one, after which they are `cautioned`. `waiting` are the calls that wait for an answer.
    """

    granted: Grants = field(default_factory=Grants)
    sources: dict[str, str] = field(default_factory=dict[str, str])
    possible: dict[str, str] = field(default_factory=dict[str, str])
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    trouble: str = ""
    waiting: dict[_Waiting, None] = field(default_factory=dict[_Waiting, None])
    caution: str = ""
    cautioned: bool = False
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    distrusts_remotes: bool = False


@dataclass(frozen=True, slots=True)
class _Case:
    """Why a call needs consent, under which key the answer is stored, and what it would cover."""

    reason: str
    key: Key | None = None
    grant: str = ""


class Gate:
    """Decides about the calls of one conversation, asking one question at a time."""

    def __init__(
        self,
        mode: Callable[[], Permissions],
        ask: Callable[[], Ask | None],
        rules: Rules | None = None,
        inquire: Callable[[], Inquire | None] = lambda: None,
    ) -> None:
        self._mode = mode
        self._ask = ask
        self._inquire = inquire
        self._rules = rules
        self._most: Permissions = PERMISSIONS[-1]
        self._state = _State()
        self._call_id = ""
        self._asker = ""
        self._explained = ""
        self._announced = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of untrusted content that was read in this conversation, in that order."""
        return tuple(self._state.sources)

    @property
    def read(self) -> Sources:
        """All sources of this conversation, including those that are only possible."""
        return Sources(self.sources, tuple(self._state.possible))

    @property
    def mode(self) -> Permissions:
        """The permission mode in force."""
        return self._mode()

    @property
    def can_ask(self) -> bool:
        """True if a user is available to answer questions."""
        return self._ask() is not None

    def require_answers(self) -> None:
        """Check that a user is available to answer the model's questions.

        Raises:
            ToolError: there is none.
        """
        if self._inquire() is None:
            raise _no_user()

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """The calls that were not allowed because no user could be asked."""
        return tuple(self._state.refusals)

    def allows_edits(self, *, in_turn: bool) -> bool:
        """Return whether the user has allowed all changes of files for this conversation, or, `in_turn`, for
        the present turn.
        """
        plain = (grant for grant in self._state.granted if grant.key == PLAIN_CHANGES)
        return any(grant.turn is None or in_turn for grant in plain)

    def ask_about_edits(self) -> None:
        """Withdraw the permission for all changes of files."""
        for grant in [grant for grant in self._state.granted if grant.key == PLAIN_CHANGES]:
            self._state.granted.withdraw(grant)

    @property
    def granted(self) -> Grants:
        """The user's grants for this conversation."""
        return self._state.granted

    def narrowed(self, most: Permissions, *, call_id: str, asker: str) -> "Gate":
        """A gate for `asker`, which `call_id` of this conversation started: it lets pass what both allow.

        Both share the user, one question at a time, the user's grants, and the sources that either has
        read.
        """

        gate = Gate(lambda: _narrower(most, self._mode()), self._ask, self._rules, self._inquire)
        gate._most = _narrower(most, self._most)
        gate._state = self._state
        gate._call_id = self._call_id or call_id
        gate._asker = asker
        return gate

    def tainted(self, by: str) -> None:
        """Note that untrusted content was read: a host, or a path outside the project; nothing if empty.

        After running a call that was checked, the caller passes the `source` of its intent.
        """
        if by:
            self._state.sources[by] = by

    def note(self, sources: Sources, through: str = "") -> None:
        """Note the sources of what was read: `through` is the source of the intent that brought it. A grant
        for that source covers them.
        """
        for name in sources.certain:
            if name == through:
                self.tainted(name)
            else:
                self._state.sources.setdefault(name, through or name)
        for name in sources.possible:
            self._state.possible.setdefault(name, through)

    def begin_turn(self, *, continues: bool = False) -> None:
        """Have the next refusal state in full what the mode allows; later ones do not repeat that. What the
        user has allowed for a turn ends, unless it is the turn of a sub-agent, or `continues` the last one
        with the message that steered it.
        """
        self._explained = ""
        if not (self._asker or continues):
            self._state.granted.end_turn()

    def distrust_remotes(self) -> None:
        """Ask about remotes as about any address: it is not known who configured them."""
        self._state.distrusts_remotes = True

    def caution(self, reason: str) -> None:
        """Ask about changes in every mode, for this reason too, until the user allows one."""
        if not self._state.cautioned:
            self._state.caution = reason

    async def put(self, question: Question) -> Answer | None:
        """Ask the user a question that belongs to no call, when its turn has come; None if no user is
        available.
        """
        async with self._state.asking:
            ask = self._ask()
            return None if ask is None else await ask(question)

    async def keeps_changes(self, call_id: str, tool: str, changed: Sequence[str], diff: str) -> bool | None:
        """Return whether the user keeps a call's changes of protected files that were made without consent;
        None if no user can be asked.
        """
        summary = f"Keep the changes? {'; '.join(changed)}"
        reason = "changed files that need your approval"
        asked = f" ({self._asker} ran it)" if self._asker else ""
        question = Question(self._call_id or call_id, tool, "changed", summary, diff, reason + asked)
        answer = await self.put(question)
        if answer is None:
            self._state.refusals.append(Refusal(summary, reason, None))
        return None if answer is None else answer.allow

    def refuse_by_mode(self, intent: Intent) -> None:
        """Require that the mode in force does not refuse such a call outright.

        Raises:
            ModeError: it does.
        """
        if not _is_free(intent, self._mode()):
            self._reason_of_mode(intent, self._mode())

    def is_wary(self) -> bool:
        """Return whether the reach of commands matters: untrusted content was read."""
        return bool(self._state.sources)

    def announce_limits(self) -> str:
        """Return what the model can no longer do because of untrusted text that it has read, if that is
        refused without a question; empty where nothing is, or the model knows it.
        """
        if self._announced or not self.is_wary() or self.can_ask or self._mode() != "auto":
            return ""
        self._announced = True
        self._explained = _in_words(_ALLOWED_TAINTED)
        return _LIMITS.format(_read(list(self._state.sources)), self._explained)

    def expects_question(self, effect: Effect) -> bool:
        """Return whether an ordinary call with this effect asks, as far as that is known beforehand."""
        mode = self._mode()
        return mode != "plan" and self._case(Intent(effect, ""), mode, Ruling()) is not None

    async def check(
        self, call_id: str, tool: str, intent: Intent, place: Place = _ALONE, plan: Plan | None = None
    ) -> Intent | None:
        """Return when the call may run: what the user has agreed to; None if they did not have to. With
        `plan`, a change of files is planned again when its files may have changed.

        Raises:
            DeclinedError: the user has declined it.
            RefusedError: it may not; the text gives the model the reason.
            ToolError: it can no longer be done.
        """
        if intent.questions:
            return await self._put_to_user(call_id, tool, intent, place)
        asked = await self._asked(intent)
        if asked is None:
            return None
        waiting = _Waiting(self, call_id, tool, intent, place, plan, asked)
        waiting.question = self._question(waiting)
        self._state.waiting[waiting] = None
        try:
            agreed = await _unless(waiting.approved, self._ask_in_turn(waiting))
            # A call does not run while it is planned.
            async with waiting.planning:
                return agreed
        finally:
            self._state.waiting.pop(waiting, None)

    async def _put_to_user(self, call_id: str, tool: str, intent: Intent, place: Place) -> Intent:
        """Put the questions of a call to the user once those before it have been asked; return its intent
        with the answers.

        Raises:
            DeclinedError: the user has answered none of them.
            ToolError: no user can be asked.
        """
        waiting = _Waiting(self, call_id, tool, intent, place, None, (_Case(""), Ruling()))
        waiting.question = inquiry = Inquiry(
            self._call_id or call_id, intent.questions, self._asker, partial(self._round, waiting)
        )
        self._state.waiting[waiting] = None
        try:
            await place.reached()
            async with self._state.asking:
                inquire = self._inquire()
                answer = None if inquire is None else await inquire(inquiry)
        finally:
            self._state.waiting.pop(waiting, None)
        if answer is None:
            raise _no_user()
        if answer.declined:
            words = answer.reason or "; ".join(
                f"{question.name}: {reason or 'skipped'}"
                for question, reason in zip(intent.questions, answer.reasons, strict=False)
            )
            details = f": {words}" if words else ". Decide yourself, or go on without it."
            what = "question" if len(intent.questions) == 1 else "questions"
            message, reason = f"The user skipped the {what}{details}", f"the user skipped the {what}"
            raise DeclinedError(message, reason, words, skipped=True)
        return replace(intent, answers=answer.answers, reasons=answer.reasons)

    async def files_changed(self) -> None:
        """Ask again about the changes of files that would be others by now."""
        for waiting in list(self._state.waiting):
            if waiting in self._state.waiting:
                await waiting.replan()

    async def approve_by_mode(self) -> int:
        """Approve the waiting calls, of sub-agents too, that the mode in force does not ask about; return
        their number.
        """
        waiting = [each for each in self._state.waiting if not each.intent.questions]
        passing = [each for each in waiting if await each.gate._passes(each.intent)]
        approved = [each for each in passing if each in self._state.waiting]
        for each in approved:
            del self._state.waiting[each]
            each.approved.set_result(None)
        return len(approved)

    async def _passes(self, intent: Intent) -> bool:
        """Return whether a call would run without a question now."""
        try:
            return await self._asked(intent) is None
        except ModeError:
            return False

    async def _ask_in_turn(self, waiting: _Waiting) -> Intent | None:
        """Ask about a call once those before it have been asked about.

        Raises:
            RefusedError: the user has declined it, or cannot be asked.
            ToolError: it can no longer be done.
        """
        await waiting.place.reached()
        async with self._state.asking:
            try:
                await waiting.replan()
                if waiting.problem:
                    raise waiting.problem
                return await self._ask_until_current(waiting)
            finally:
                # The next question does not count it.
                self._state.waiting.pop(waiting, None)

    async def _ask_until_current(self, waiting: _Waiting) -> Intent | None:
        """Ask about a call, again whenever its files change what it would do."""
        while await self._still_asks(waiting):
            self._state.waiting[waiting] = None
            answer = await self._answer_to(waiting)
            # From now on only the answer settles it.
            self._state.waiting.pop(waiting, None)
            if answer is not None and answer.allow:
                await waiting.replan()
            if answer is not None and not (answer.allow and waiting.is_outdated):
                await self._settle(waiting, answer)
                return waiting.intent
        return None

    async def _still_asks(self, waiting: _Waiting) -> bool:
        """Make the question as it is now; return whether there still is one: the answer to the previous
        question may have settled it.
        """
        if waiting.problem:
            waiting.show(self._stale_question(waiting))
            return True
        if (asked := await self._asked(waiting.intent)) is None:
            return False
        waiting.asked = asked
        waiting.show(self._question(waiting))
        return True

    def _stale_question(self, waiting: _Waiting) -> Question:
        """The question whether to go on without a change that no longer applies."""
        paths = waiting.intent.paths
        name = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
        return Question(
            self._call_id or waiting.call_id,
            waiting.tool,
            "stale",
            f"{name} changed: this edit no longer applies",
            "",
            "",
            asker=self._asker,
            paths=paths,
            round=partial(self._round, waiting),
        )

    def _question(self, waiting: _Waiting) -> Question:
        case, ruling = waiting.asked
        intent = waiting.intent
        return Question(
            self._call_id or waiting.call_id,
            waiting.tool,
            intent.effect,
            intent.summary,
            intent.detail,
            self._reason_shown(case, intent, ruling),
            grant=case.grant,
            pattern=self._pattern(intent, ruling),
            turn=case.grant if case.key == PLAIN_CHANGES else "",
            losses=intent.losses,
            counts=intent.counts,
            asker=self._asker,
            paths=intent.paths if intent.effect == "write" else (),
            updated=waiting.is_outdated or waiting.is_updated,
            keeps_running=intent.keeps_running,
            round=partial(self._round, waiting),
        )

    def _round(self, waiting: _Waiting) -> Round:
        """The place of a call's question among all that are known."""
        others = [each for each in self._state.waiting if each is not waiting]
        others.sort(key=lambda each: each.place.count()[0])
        number, total = waiting.place.count()
        total = max(total, number, 1 + len(others))
        questions = tuple(each.question for each in others)
        return Round(number, total, questions, waiting.place.unasked_before())

    async def _answer_to(self, waiting: _Waiting) -> Answer | None:
        """The user's answer; None if the question is outdated before.

        Raises:
            RefusedError: no user can be asked.
        """
        ask = self._ask()
        if ask is None:
            raise self._unasked(waiting.asked[0], waiting.intent)
        self._state.trouble = ""
        outdated = waiting.outdated
        assert isinstance(waiting.question, Question)
        answer = await _unless(outdated, ask(waiting.question))
        if answer is None and not outdated.done():
            raise self._unasked(waiting.asked[0], waiting.intent)
        return answer

    async def _settle(self, waiting: _Waiting, answer: Answer) -> None:
        """Act upon the answer.

        Raises:
            DeclinedError: the user has declined the call.
            ToolError: it can no longer be done, which the user knows.
        """
        intent = waiting.intent
        if not answer.allow:
            raise _declined(intent, answer.reason)
        if waiting.problem:
            raise waiting.problem
        if self._caution(intent):
            self._state.caution, self._state.cautioned = "", True
        assert isinstance(waiting.question, Question)
        await self._grant(answer.scope, waiting.question, intent, *waiting.asked)

    async def _grant(
        self, scope: Scope, question: Question, intent: Intent, case: _Case, ruling: Ruling
    ) -> None:
        """Store what the user has allowed beyond this one call."""
        always = scope == "always" and bool(question.pattern)
        made = always and await self._make_rule(intent, ruling)
        # Consent to a rule for some files is not consent to changes of all files.
        wider = always and intent.effect == "write"
        if scope == "once" or case.key is None or wider or (scope == "turn" and not question.turn):
            return
        sources = frozenset((*self._state.sources, *((_POSSIBLE,) if self._state.possible else ())))
        granted = self._state.granted
        granted.give(
            Grant(
                case.key,
                intent.effect,
                case.grant,
                about(case.key, intent),
                sources,
                time(),
                question.pattern if made else "",
                granted.turn if scope == "turn" else None,
            )
        )

    def _unasked(self, case: _Case, intent: Intent) -> RefusedError:
        """The refusal of a call for which no user can be asked."""
        self._state.refusals.append(Refusal(intent.summary, case.reason, self._enough(intent)))
        message = self._refusal(f"{case.reason}; no user is available to approve it", intent)
        return RefusedError(message, case.reason)

    def _refusal(self, why: str, intent: Intent) -> str:
        """The text of a refusal for the model, with what the mode allows instead."""
        message = " ".join([f"Not allowed: {why}.", *(cure for each, cure in _CURES.items() if each in why)])
        allowed = _in_words(self._allowed(intent))
        if allowed != self._explained:
            message += f" Allowed instead: {allowed}."
            self._explained = allowed
        return message

    def _allowed(self, intent: Intent) -> Sequence[str]:
        """What the mode allows instead of a call."""
        mode, sources = self._mode(), self._state.sources
        temporary = [_ALLOWED_TEMPORARY] if mode == "auto" and intent.outside else []
        if mode != "auto" or not self.read:
            return [*_ALLOWED[mode], *temporary]
        if sources and _could_reach(intent):
            return [*_ALLOWED_TAINTED, *temporary]
        return [_ALLOWED_LOCAL, _ALLOWED_OUT, *temporary, *([] if sources else [_ALLOWED_TRANSFERS])]

    def _enough(self, intent: Intent) -> Permissions | None:
        """The narrowest mode that lets a call pass, out of those that this gate can have."""
        modes = PERMISSIONS[1 : PERMISSIONS.index(self._most) + 1]
        return next((mode for mode in modes if self._case(intent, mode, Ruling()) is None), None)

    async def _asked(self, intent: Intent) -> tuple[_Case, Ruling] | None:
        """Why the user is asked, and the rules' verdict; None if they are not asked.

        Raises:
            ModeError: the mode in force does not allow it at all.
        """
        ruling = Ruling()
        if self._rules is not None and intent.effect != "read" and self._case(intent, self._mode(), ruling):
            ruling = await in_thread(self._rules.judge, intent)
        case = self._case(intent, self._mode(), ruling)
        return None if case is None else (case, ruling)

    def _case(self, intent: Intent, mode: Permissions, ruling: Ruling) -> _Case | None:
        """Why the user is asked in this mode; None if they are not.

        Raises:
            ModeError: the mode does not allow it at all.
        """
        if _is_free(intent, mode):
            return None
        reason = by_mode = self._reason_of_mode(intent, mode)
        if intent.losses:
            return _Case(f"it {describe_losses(intent.losses)}")
        if not by_mode and (caution := self._caution(intent)):
            return _Case(caution)
        sources = self._state.sources
        possible = self._possible_for(intent)
        reaches = bool(intent.outside or intent.goes_to)
        if not (reason or (sources and (reaches or _could_reach(intent))) or (possible and reaches)):
            return None
        key, grant = grant_key(intent)
        known = self._state.granted.known(key, by_rule=ruling.allows)
        if known is None and ruling.allows:
            known = frozenset[str]()
        if not by_mode:
            reason = _way_out(intent)
        if not (by_mode or reaches) and known is None:
            key, grant = ANY_COMMAND, EVERY_COMMAND
            known = self._state.granted.known(key)
            if known is not None and not sources.keys() <= known:
                known = None
        # A grant given in knowledge of a source remains valid; the intent's own source is what it was given
        # for.
        news = [
            source
            for source, through in sources.items()
            if known is None or not (source in known or intent.source in (source, through))
        ]
        if known is not None and _POSSIBLE in known:
            possible = []
        if intent.outside and not intent.goes_to and known is None:
            # The place alone decides.
            possible = []
        if known is not None and not (reaches and (news or possible)):
            return None
        if (news or possible) and (reaches or not by_mode):
            reason += f", and {_read(news) if news else _may_have_read(possible)}"
            reason += " since" if known is not None else ""
        return _Case(reason, key, grant)

    def _possible_for(self, intent: Intent) -> list[str]:
        """The possible sources, except those that the intent itself goes to; none if it goes only to
        remotes that the user has configured.
        """
        if intent.to_remotes and not self._state.distrusts_remotes:
            return []
        through = intent.source
        return [name for name, by in self._state.possible.items() if not through or by != through]

    def _reason_of_mode(self, intent: Intent, mode: Permissions) -> str:
        """Why the call is asked about by its nature and the mode; empty if both let it pass."""
        if mode == "plan" and intent.effect in ("write", "command", "tool"):
            reason = "plan mode neither changes files nor runs commands"
            raise ModeError(self._refusal(reason, intent), reason, mode)
        if intent.outside:
            return f"{intent.outside} is outside the project"
        if intent.protected or self._is_own(intent):
            return intent.protected or "it is this program's own configuration"
        if intent.effect == "read" or mode == "auto":
            return ""
        if intent.effect == "network":
            return f"it sends a request to {intent.goes_to}, outside this machine"
        if intent.effect == "tool":
            return f"{intent.brings} decides what it does"
        if intent.effect == "write":
            return "" if mode == "edits" else _CHANGES_FILES
        return _RUNS_COMMAND + (f" that reaches {intent.neighbour}" if intent.neighbour else "")

    def _caution(self, intent: Intent) -> str:
        """The caution for a call's question; empty if it changes nothing."""
        return self._state.caution if intent.effect in ("write", "command", "tool") else ""

    def _is_own(self, intent: Intent) -> bool:
        """Return whether a call would change the user's configuration, if that is in the project."""
        if self._rules is None or intent.effect != "write":
            return False
        return any(map(self._rules.is_configuration, intent.paths))

    def _pattern(self, intent: Intent, ruling: Ruling) -> str:
        if self._rules is None or self._rules.problem or self._is_own(intent):
            return ""
        return ruling.pattern

    def _reason_shown(self, case: _Case, intent: Intent, ruling: Ruling) -> str:
        """The reason as the question shows it: with problems of the rules, without what the rest of the
        question says.
        """
        routine = intent.losses or case.reason in (_CHANGES_FILES, _RUNS_COMMAND)
        reasons = [] if routine else [case.reason]
        if (caution := self._caution(intent)) and caution != case.reason:
            reasons.append(f"Also, {caution}" if reasons else caution)
        if ruling.changed:
            reasons.append(_CHANGED)
        if self._rules is not None and self._rules.problem and ruling.pattern:
            reasons.append(f"Rules not applied: {self._rules.problem}".rstrip("."))
        if self._state.trouble:
            reasons.append(f"The last rule was not saved: {self._state.trouble}".rstrip("."))
        return ". ".join(reasons)

    async def _make_rule(self, intent: Intent, ruling: Ruling) -> bool:
        """Make the rule that was offered; whether it exists now."""
        if self._rules is None:
            return False
        effect = cast(RuleEffect, intent.effect)
        try:
            await in_thread(self._rules.add, effect, ruling.pattern, basis=ruling.basis)
        except UserFacingError as exc:
            self._state.trouble = exc.advice
            return False
        return True


async def _unless(signal: asyncio.Future[None], work: Awaitable[T]) -> T | None:
    """The result of `work`; None if the signal comes first, which ends the work."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task, signal), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            await completed(asyncio.wait([task]))


def _declined(intent: Intent, words: str) -> DeclinedError:
    """The refusal of a call that the user has declined, with their words."""
    details = f" Their reason: {words}" if words else ""
    reason = "the user declined it" + (f": {words}" if words else "")
    return DeclinedError(f"The user declined: {intent.summary}.{details}", reason, words)


def _narrower(one: Permissions, other: Permissions) -> Permissions:
    return PERMISSIONS[min(PERMISSIONS.index(one), PERMISSIONS.index(other))]


def _is_free(intent: Intent, mode: Permissions) -> bool:
    """Return whether a call concerns only processes that the conversation started, and is no command while
    none may run.
    """
    return intent.own and not (mode == "plan" and intent.everything)


def _could_reach(intent: Intent) -> bool:
    """Return whether nothing confines a call to the project, though it names no place outside."""
    return intent.effect in ("command", "tool") and not intent.confined


def _no_user() -> ToolError:
    return ToolError(_NO_USER, brief=_NO_USER_SHORT)


def _way_out(intent: Intent) -> str:
    """The way in which a call could carry something out of the project."""
    if intent.effect == "network" or (intent.effect == "tool" and intent.goes_to):
        return f"it sends a request to {intent.goes_to}"
    if intent.goes_to and intent.neighbour:
        return f"it reaches {intent.neighbour}"
    return f"it accesses the network with {intent.goes_to}" if intent.goes_to else _MAY_REACH


def _in_words(allowed: Sequence[str]) -> str:
    *others, last = allowed
    return f"{', '.join(others)}, and {last}" if others else last


def _read(sources: list[str]) -> str:
    return f"this conversation has read text from {_listed(sources)}"


def _may_have_read(possible: list[str]) -> str:
    return f"{_listed(possible)} may have added untrusted text to this conversation"


def _listed(sources: list[str]) -> str:
    named = sources[-_NAMED:]
    rest = len(sources) - len(named)
    if not rest:
        return " and ".join(named)
    return f"{', '.join(named)} and {rest:,} more"
