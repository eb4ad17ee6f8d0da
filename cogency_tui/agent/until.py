"""Turns that go on until a command of the user's succeeds.

`Until` decides what follows: the command, another turn, or the end. Whoever runs it (the screen, `run`, plain
lines, `Agent.until`) does what is `due`, and reports each part's end through the agent. The command is the
user's: the model never chooses it, and it runs and is stored as `!command` is. Of a failure the model
receives what is new since the one before.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from os.path import normpath
from pathlib import Path
from shlex import quote
from tempfile import gettempdir
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from cogency_tui.agent.budget import Ceiling, is_priced
from cogency_tui.errors import CogencyError, ToolError, UsageError
from cogency_tui.protocol.events import ErrorEvent, RanCommand, UntilTurn, notice_event
from cogency_tui.protocol.transcript import NO_OUTPUT
from cogency_tui.safe_text import one_line, reveal, without_escapes
from cogency_tui.store.edits import Edits

if TYPE_CHECKING:
    from cogency_tui.agent.conversation import Conversation
    from cogency_tui.providers.base import Provider
    from cogency_tui.store.store import Store
    from cogency_tui.tools.base import Outcome
    from cogency_tui.tools.shell.scanner import Simple

TURNS = 20
"""The most turns, unless the user says otherwise."""

PATIENCE = 1800
"""Seconds until the command is stopped, which counts as a failure."""

REPEATS = 3
"""Failures with the same output, and no change of a file between them, after which the turns end."""

_PROBE_SECONDS = 10

_SOURCE = re.compile(r"^\S*sh: (?:-c: )?(?:line )?(?:\d+: )?")
"""What the shell puts before its message."""

_IN_LIST = re.compile(r"\s*(?:!|\{|coproc)\s")
"""A reserved word before a simple command."""

_SHELL = '"$(command -v bash || command -v sh)"'

_CONTEXT = 3
"""The unchanged lines that are shown before and after others, and at the end."""

_NAMED = 60
"""The characters of the command in messages."""

_LAST_LINE = 200
"""The characters of the last line of its output in the report."""

_VOLATILE = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?\s?(?:ms|µs|s|sec|secs|seconds?|min|minutes?)\b")

_OPTION = re.compile(r"--(max-turns|max-cost|timeout)(?:=|\s+)(\S+)\s*")

_KNOWN = re.compile(r"--(?:max-turns|max-cost|timeout)=?")

_OPTIONS = "--max-turns N, --max-cost USD, --timeout SECONDS"

_NOT_RUN = re.compile(r"exit 12[67]\b")
"""The outcome of a command that is not there, or cannot be executed."""

_BAD_SYNTAX = re.compile(r"sh: (?:-c: )?(?:line )?\d+: .*(?:syntax error|unexpected EOF)", re.IGNORECASE)
"""The shell's message about the command itself."""

Due: TypeAlias = Literal["turn", "check", "end"]


class Limits(NamedTuple):
    """The most turns, USD and seconds; None for no limit."""

    turns: int = TURNS
    cost: float | None = None
    seconds: float | None = None


UNLIMITED = Limits()
"""No limit but that of turns."""


class Until:
    """Turns until `command` succeeds. The first one has a message of the user's if it `begins_with` one;
    otherwise the command runs first.

    `began` is in Unix seconds, `spent` in USD. `held` is True once the command has succeeded, False once all
    is over without that.
    """

    def __init__(
        self,
        command: str,
        limits: Limits = UNLIMITED,
        *,
        begins_with: Due = "check",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.command = command
        self.line = ""
        """The limits and the command as the user has typed them, if they did."""
        self.limits = limits
        self.due: Due = begins_with
        self.turn = 0
        """The number of turns that have begun."""
        self.spent = 0.0
        self.is_unpriced = False
        """True if the price of a model that works is unknown: `spent` is without its requests."""
        self.began = clock()
        self.held: bool | None = None
        self.files = 0
        """The number of files that the agent has changed."""
        self._clock = clock
        self._reason = ""
        self._last: RanCommand | None = None
        self._lines = Counter[str]()
        """The lines of the last failure."""
        self._failure: tuple[str, int] | None = None
        """The output of the last failure, and the number of the last edit before it."""
        self._repeats = 0
        self._first_edit: int | None = None
        self._last_edit = 0
        self.was_interrupted = False
        """True if the user has ended it."""
        self._is_late = False
        self._reported = False
        self._is_checked = False
        """True once it is known whether the shell can run the command."""

    @property
    def is_over(self) -> bool:
        """True if nothing follows."""
        return self.held is not None

    @property
    def name(self) -> str:
        """The command on one line, shortened."""
        return _cut(one_line(self.command.strip()), _NAMED)

    @property
    def message(self) -> str:
        """The message of a turn for which the user has written none."""
        same = " with the same output as before" if self._repeats > 1 else ""
        return f"`{self.name}` failed{same}. Make it succeed."

    def attach(self, *, in_turn: bool) -> None:
        """Begin while other work runs: a turn, which is the first one, or a command."""
        self.due = "check"
        self.turn = int(in_turn)

    def begin_turn(self, query: str | None) -> UntilTurn | None:
        """The next turn's place, if a turn is due; None for one within that of a message before."""
        is_automatic = query == self.message
        if query is not None and not is_automatic:
            # What the user has written is progress.
            self._failure, self._repeats = None, 0
        if self.due != "turn":
            return None
        self.turn += 1
        self.due = "check"
        if self.turn == 1:
            until = f"After each of your turns the user's command `{self.name}` runs, until it succeeds"
        else:
            until = f"Until `{self.name}` succeeds"
        text = f"[engine] {until}: turn {self.turn} of {self.limits.turns}{self._budget}."
        place = UntilTurn(command=self.command, turn=self.turn, turns=self.limits.turns, text=text)
        if is_automatic:
            place["automatic"] = True
        return place

    @property
    def _budget(self) -> str:
        cost = self.limits.cost
        if cost is None:
            return ""
        return ", cost unknown" if self.is_unpriced else f", ${self.spent:.2f} of ${cost:.2f} spent"

    async def prepare(self, store: "Store") -> None:
        """Note which edits come before.

        Raises:
            StoreError: they cannot be read.
        """
        if self._first_edit is None:
            self._first_edit = self._last_edit = await Edits(store.database).last()

    async def require_runnable(
        self, run: "Callable[[str, Path, int], Awaitable[Outcome]]", directory: Path
    ) -> None:
        """Require, before the first turn, that the shell can run the command. A path in the project, or in
        the temporary directory, may name what that turn is to write.

        Raises:
            UsageError: it cannot: a syntax error, or no such program where it is one simple command.
        """
        if self._is_checked or self.due != "turn":
            return
        self._is_checked = True
        problem = ""
        with suppress(ToolError):
            problem = await _find_problem(run, directory, self.command)
        if problem:
            # The error says all.
            self._reported = True
            raise UsageError(f"The shell cannot run `{self.name}`: {problem}.", "Correct the command.")

    def note_provider(self, provider: "Provider") -> None:
        """Note which model works."""
        self.is_unpriced = self.is_unpriced or not is_priced(provider)

    @contextmanager
    def limited(self, conversation: "Conversation") -> Generator[None]:
        """Hold one part in `conversation` to the limits of cost and time."""
        cost, seconds = self.limits.cost, self.limits.seconds
        conversation.budget.ceiling = None if cost is None else Ceiling(self.name, self.began, cost)
        self.note_provider(conversation.provider())
        timer = None
        if seconds is not None:

            def stop() -> None:
                self._is_late = True
                conversation.interrupt()

            left = max(0.0, self.began + seconds - self._clock())
            timer = asyncio.get_running_loop().call_later(left, stop)
        try:
            yield
        finally:
            conversation.budget.ceiling = None
            if timer is not None:
                timer.cancel()

    @property
    def overdue(self) -> str:
        """At which limit of time, that of all parts, one was stopped; empty if it is not reached."""
        if not self._is_late:
            return ""
        return f"not finished: /until reached its limit of {self.limits.seconds or 0:g} s"

    async def end_turn(self, store: "Store", id: str, failure: CogencyError | None, *, stopped: bool) -> None:
        """Note that a turn has ended: with an error, or because it was stopped.

        Raises:
            StoreError: its figures cannot be read.
        """
        if stopped:
            self._stop()
        elif failure is not None:
            self.fail(failure)
        await self._measure(store, id)

    async def end_check(self, store: "Store", id: str, ran: RanCommand, output: str) -> None:
        """Note that the command has ended as `ran`, with all of this `output`.

        Raises:
            StoreError: the figures cannot be read.
        """
        self._last = ran
        checked, self._is_checked = self._is_checked, True
        await self._measure(store, id)
        if ran["state"] == "done":
            self._end(held=True)
        elif ran["state"] == "interrupted" or self._is_late:
            self._stop()
        elif self.held is None and not checked and _is_unrunnable(ran):
            self._end("the command cannot be run")
        elif self.held is None:
            self._judge(output)

    def fail(self, error: CogencyError) -> None:
        """End because of an error."""
        self._end(str(error).rstrip("."))

    def stop(self, reason: str = "interrupted") -> None:
        """End because the user says so, when what runs has ended."""
        self.was_interrupted = self.was_interrupted or self.held is None
        self._end(reason)

    def shorten(self, output: str) -> str:
        """What of a failure's `output` is new since the failure before, with some lines around it; the other
        lines are counted."""
        before = self._lines.copy()
        shown, same = list[str](), list[str]()
        for line in output.rstrip("\n").split("\n"):
            key = _steady(line)
            if before[key] > 0:
                before[key] -= 1
                same.append(line)
            else:
                shown += _counted(same, first=_CONTEXT if shown else 0)
                shown.append(line)
                same.clear()
        return "\n".join([*shown, *_counted(same, first=_CONTEXT if shown else 0)])

    @property
    def progress(self) -> str:
        """`turn 2 of 20 · $0.12`."""
        limits = self.limits
        cost = f" · {_dollars(self.spent)}" if self.spent or limits.cost else ""
        cost += f" of {_dollars(limits.cost)}" if limits.cost else ""
        if limits.cost and self.is_unpriced:
            cost = " · cost unknown"
        turn = f"turn {self.turn} of {limits.turns}" if self.turn else "first run"
        end = "" if limits.seconds is None else f" · stops at {_clock_time(self.began + limits.seconds)}"
        return f"{turn}{cost}{end}"

    @property
    def next_place(self) -> str:
        """`turn 3 of 20`, of the turn that is due."""
        return f"turn {self.turn + 1} of {self.limits.turns}"

    @property
    def report(self) -> str:
        """What held at the end, and what did not."""
        figures = [_count(self.turn, "turn")]
        figures += [_dollars(self.spent)] if self.spent else []
        figures += [f"{_count(self.files, 'file')} changed"] if self.files else []
        if self.held:
            return (
                f"`{self.name}` succeeded after {', '.join(figures)}."
                if self.turn
                else f"`{self.name}` succeeds already."
            )
        after = f" after {', '.join(figures)}" if self.turn else ""
        return f"Stopped{after}: {self._reason}. {self._state}"

    @property
    def _state(self) -> str:
        """How the command ended last."""
        if (ran := self._last) is None or ran["state"] == "interrupted":
            return f"`{self.name}` has not succeeded."
        shown = (line.strip() for line in reversed(without_escapes(ran["output"]).split("\n")))
        last = next((line for line in shown if line != NO_OUTPUT and line and line[0] != "["), "")
        end = f": {_cut(one_line(last), _LAST_LINE)}" if last else "."
        return f"`{self.name}` failed ({ran['outcome']}){end}"

    def take_report(self) -> ErrorEvent | None:
        """The report as a notice, once, when all is over."""
        if self.held is None or self._reported:
            return None
        self._reported = True
        report = notice_event(self.report, self._clock())
        report["payload"]["report"] = True
        return report

    def _judge(self, output: str) -> None:
        """Decide after a failure of the command whether another turn follows."""
        plain = "\n".join(map(_steady, output.split("\n")))
        is_same = (plain, self._last_edit) == self._failure
        self._repeats = self._repeats + 1 if is_same else 1
        self._failure = (plain, self._last_edit)
        self._lines = Counter(plain.rstrip("\n").split("\n"))
        cost, seconds = self.limits.cost, self.limits.seconds
        if self._repeats >= REPEATS:
            self._end(f"{REPEATS} failures with the same output, and no file changed between them")
        elif self.turn >= self.limits.turns:
            self._end(f"the limit of {_count(self.limits.turns, 'turn')} is reached")
        elif cost is not None and self.spent >= cost:
            self._end(f"the limit of {_dollars(cost)} is reached")
        elif seconds is not None and self._clock() >= self.began + seconds:
            self._end(f"the limit of {seconds:g} s is reached")
        else:
            self.due = "turn"

    def _stop(self) -> None:
        if self._is_late:
            self._end(f"the limit of {self.limits.seconds or 0:g} s is reached")
        else:
            self.stop()

    def _end(self, reason: str = "", *, held: bool = False) -> None:
        if self.held is None:
            self.held, self._reason, self.due = held, reason, "end"

    async def _measure(self, store: "Store", id: str) -> None:
        spent = await store.spent(self.began, id)
        self.spent = spent.dollars
        self.is_unpriced = self.is_unpriced or spent.tokens > 0
        edits = Edits(store.database)
        record = await store.conversation(id)
        if record is not None:
            made = await edits.since(record.project, self._first_edit or 0)
            own = [each for each in made if id in (each.origin.conversation, each.origin.caller)]
            self.files = len({each.path for each in own if each.kind != "snapshot"})
            self._last_edit = max((each.id for each in made), default=self._last_edit)


def read_until(argument: str) -> tuple[Until, str]:
    """What follows `/until`: limits (`--max-turns N`, `--max-cost USD`, `--timeout SECONDS`), the command,
    and in the lines below it a message.

    Raises:
        UsageError: there is no command, or a limit is no number; the error says what is expected.
    """
    line, _newline, message = argument.strip().partition("\n")
    given: dict[str, str] = {}
    while found := _OPTION.match(line):
        given[found[1]] = found[2]
        line = line[found.end() :]
    command = line.strip()
    if command.startswith("--"):
        word = command.split()[0]
        if _KNOWN.fullmatch(word):
            raise UsageError(f"{word} needs a value, and a command after it.", f"Options: {_OPTIONS}.")
        raise UsageError(f"Unknown option {word[:40]}.", f"Before the command: {_OPTIONS}.")
    if not command:
        raise UsageError("/until needs a command.", "For example: /until pytest -q")
    if reveal(command) != command:
        raise UsageError("This command contains invisible characters.", "Type it without them.")
    limits = Limits(
        int(_number(given, "max-turns", whole=True) or TURNS),
        _number(given, "max-cost"),
        _number(given, "timeout"),
    )
    until = Until(command, limits, begins_with="turn" if message.strip() else "check")
    until.line = argument.strip().partition("\n")[0].strip()
    return until, message.strip()


def _number(given: dict[str, str], name: str, *, whole: bool = False) -> float | None:
    if (text := given.get(name)) is None:
        return None
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        expected = "a whole number of at least 1" if whole else "a number above 0"
        raise UsageError(f"--{name} must be {expected}, not {text[:40]!r}.")
    return number


def _counted(same: Sequence[str], first: int) -> list[str]:
    """Unchanged lines: the `first` ones and the last; those between are counted if there are several."""
    left_out = len(same) - first - _CONTEXT
    if left_out < 2:
        return [*same]
    return [*same[:first], f"[unchanged: {left_out:,} lines]", *same[-_CONTEXT:]]


def _steady(line: str) -> str:
    """A line without what differs from run to run: colours, durations, addresses."""
    return _VOLATILE.sub("#", without_escapes(line).rstrip())


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.005 or not amount else f"${amount:.2g}"


def _clock_time(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


def _is_unrunnable(ran: RanCommand) -> bool:
    """Return whether the shell could not run the command at all: no change of files makes it succeed."""
    if _NOT_RUN.match(ran["outcome"]):
        return _simple_command(ran["command"]) is not None
    return ran["outcome"] == "exit 2" and _BAD_SYNTAX.search(ran["output"]) is not None


def _simple_command(command: str) -> "Simple | None":
    """The command, if it is one that runs a program: what is more may succeed without one of its programs."""
    from cogency_tui.tools.shell.scanner import scan

    found = scan(command)
    if "(" in command or len(found) != 1 or _IN_LIST.match(command) or found[0].then not in ("", "\n"):
        return None
    return found[0] if found[0].program else None


async def _find_problem(
    run: "Callable[[str, Path, int], Awaitable[Outcome]]", directory: Path, command: str
) -> str:
    """Why the shell cannot run a command, as far as that is known without running it; empty if nothing is."""
    parsed = await run(f"exec {_SHELL} -n -c {quote(command)}", directory, _PROBE_SECONDS)
    if parsed.failed and parsed.outcome in ("exit 1", "exit 2"):
        lines = [line for line in str(parsed.content).split("\n")[1:] if line.strip()]
        return _SOURCE.sub("", one_line(lines[0]))[:_LAST_LINE].rstrip(".") if lines else "syntax error"
    simple = _simple_command(command)
    if simple is None or any(word.text.startswith("PATH=") for word in simple.assignments):
        return ""
    first = simple.words[0]
    if first.pattern:
        return ""
    if "/" in first.text:
        path = normpath(directory / first.text)
        if any(Path(path).is_relative_to(each) for each in (directory, gettempdir())):
            return ""
        probed = await run(f"test -e {quote(path)}", directory, _PROBE_SECONDS)
        return f"{first.text}: No such file or directory" if probed.failed else ""
    probed = await run(f"command -v -- {quote(first.text)}", directory, _PROBE_SECONDS)
    return f"{first.text}: command not found" if probed.failed else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
