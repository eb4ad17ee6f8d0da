"""The comparison of combinations: as tables of 80 columns, and as one JSON object."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cogency_tui.evals.figures import Figures, total_of
from cogency_tui.evals.runner import Attempt, Combination
from cogency_tui.evals.tasks import Task
from cogency_tui.providers.efforts import describe_effort
from cogency_tui.safe_text import one_line

WIDTH = 80
VERSION = 1

_HEAD = 17
_COLUMN = 10
_ACROSS = (WIDTH - _HEAD) // _COLUMN
"""Combinations side by side; more are in further tables."""

_LONGEST = 300
"""Characters of a reason."""

_UNKNOWN = "–"


class Report:
    """The attempts at `tasks` that have ended, of each combination at most `times` a task."""

    def __init__(self, tasks: Sequence[Task], combinations: Sequence[Combination], times: int) -> None:
        self.attempts: list[Attempt] = []
        self._tasks = tasks
        self._combinations = combinations
        self._times = times

    @property
    def succeeded(self) -> bool:
        """True if every planned attempt has succeeded."""
        planned = len(self._tasks) * len(self._combinations) * self._times
        return len(self.attempts) == planned and not any(attempt.failure for attempt in self.attempts)

    def progress(self, attempt: Attempt) -> str:
        """One line about an attempt that has just ended."""
        planned = attempt.planned
        number = f" {planned.number}/{self._times}" if self._times > 1 else ""
        why = f": {_reason(attempt)}" if attempt.failure else ""
        seconds = f"{attempt.figures.seconds:.1f} s"
        return (
            f"{_mark(not attempt.failure)} {planned.combination.letter} {planned.task.name}{number} "
            f"({seconds}){why}"
        )

    def lines(self) -> Iterator[str]:
        """The comparison for the user."""
        for combination in self._combinations:
            yield f"{combination.letter:<2} {one_line(self._label(combination))}"
        for start in range(0, len(self._combinations), _ACROSS):
            yield ""
            yield from self._table(self._combinations[start : start + _ACROSS])
        if failures := list(self._failures()):
            yield from ("", "Failures:", *failures)

    def as_json(self) -> dict[str, Any]:
        """All figures of all attempts."""
        return {
            "version": VERSION,
            "times": self._times,
            "tasks": [task.name for task in self._tasks],
            "combinations": [self._combination_as_json(each) for each in self._combinations],
            "attempts": [self._attempt_as_json(each) for each in self.attempts],
        }

    def _label(self, combination: Combination) -> str:
        """The model and the other choices; of a dialect that was chosen by itself, the result."""
        settings = combination.settings
        used = {each.dialect for each in self._of(combination)} - {settings.dialect}
        chosen = f" ({', '.join(sorted(used))})" if used else ""
        word = describe_effort(settings.effort, "", refused=self._refuses_effort(combination))
        effort = f", effort {word}" if settings.effort != "auto" else ""
        return f"{combination.name}, dialect {settings.dialect}{chosen}{effort}, mode {settings.mode}"

    def _refuses_effort(self, combination: Combination) -> bool:
        """Return whether the model refused the effort in an attempt, and used its own default."""
        return any(each.effort_refused for each in self._of(combination))

    def _table(self, combinations: Sequence[Combination]) -> Iterator[str]:
        yield _row("task", [each.letter for each in combinations])
        for task in self._tasks:
            yield _row(task.name, [self._score(task, each) for each in combinations])
        yield ""
        totals = [total_of([each.figures for each in self._of(combination)]) for combination in combinations]
        yield _row("success", [_share(self._of(each)) for each in combinations])
        for name, cell in _FIGURES.items():
            yield _row(name, [cell(total) for total in totals])

    def _of(self, combination: Combination) -> list[Attempt]:
        return [each for each in self.attempts if each.planned.combination.letter == combination.letter]

    def _score(self, task: Task, combination: Combination) -> str:
        attempts = [each for each in self._of(combination) if each.planned.task is task]
        done = sum(not each.failure for each in attempts)
        mark = _mark(done == len(attempts)) if done in (0, len(attempts)) else "~"
        return f"{mark} {done}/{len(attempts)}" if attempts else _UNKNOWN

    def _failures(self) -> Iterator[str]:
        """A line for each reason for which a task failed, with the combinations that it failed with."""
        for task in self._tasks:
            reasons: dict[str, dict[str, None]] = {}
            for each in self.attempts:
                if each.failure and each.planned.task is task:
                    reasons.setdefault(_reason(each), {})[each.planned.combination.letter] = None
            for reason, letters in reasons.items():
                yield f"  {task.name:<{_HEAD - 2}}{', '.join(letters)}: {reason}"

    def _combination_as_json(self, combination: Combination) -> dict[str, Any]:
        attempts = self._of(combination)
        return {
            "id": combination.letter,
            **_choices(combination),
            "effort_refused": self._refuses_effort(combination),
            "attempts": len(attempts),
            "successes": sum(not each.failure for each in attempts),
            **asdict(total_of([each.figures for each in attempts])),
        }

    def _attempt_as_json(self, attempt: Attempt) -> dict[str, Any]:
        planned = attempt.planned
        return {
            "combination": planned.combination.letter,
            "task": planned.task.name,
            "number": planned.number,
            "success": not attempt.failure,
            "failure": attempt.failure,
            "dialect": attempt.dialect,
            "effort_refused": attempt.effort_refused,
            **asdict(attempt.figures),
            "slips": list(attempt.slips),
            "answer": attempt.answer,
        }


def _choices(combination: Combination) -> dict[str, str]:
    settings = combination.settings
    return {
        "provider": settings.provider,
        "model": combination.model,
        "dialect": settings.dialect,
        "effort": settings.effort,
        "mode": settings.mode,
    }


def _reason(attempt: Attempt) -> str:
    reason = one_line(attempt.failure)
    return reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 1]}…"


def _mark(success: bool) -> str:
    return "✓" if success else "✗"


def _row(head: str, cells: Sequence[str]) -> str:
    return f"{head:<{_HEAD}}" + "".join(f"{cell:>{_COLUMN}}" for cell in cells)


def _share(attempts: Sequence[Attempt]) -> str:
    if not attempts:
        return _UNKNOWN
    return f"{100 * sum(not each.failure for each in attempts) / len(attempts):.0f}%"


def _tokens(count: int | None, figures: Figures) -> str:
    if count is None:
        return _UNKNOWN
    short = f"{count:,}" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"
    return f"~{short}" if figures.estimated else short


def _cost(dollars: float | None) -> str:
    if dollars is None:
        return _UNKNOWN
    return f"${dollars:.4f}" if dollars < 10 else f"${dollars:,.2f}"


_FIGURES: Mapping[str, Callable[[Figures], str]] = {
    "cycles": lambda each: f"{each.cycles:,}",
    "requests": lambda each: f"{each.requests:,}",
    "malformed calls": lambda each: f"{each.malformed:,}",
    "failed calls": lambda each: f"{each.failed:,}",
    "tokens sent": lambda each: _tokens(each.input, each),
    "tokens written": lambda each: _tokens(each.output, each),
    "tokens cached": lambda each: _tokens(each.cached, each),
    "cost": lambda each: _cost(each.cost),
    "seconds": lambda each: f"{each.seconds:,.1f}",
}
"""Rows of the totals."""
