"""`cogency-tui eval`: runs small tasks with the named models, dialects and efforts, and compares them."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from cogency_tui.cli.standard_streams import agreed, print_json, print_text, talk
from cogency_tui.errors import UsageError
from cogency_tui.evals.report import Report
from cogency_tui.evals.runner import Attempt, Combination, Evaluation, combine, plan
from cogency_tui.evals.tasks import TASKS, Task
from cogency_tui.safe_text import one_line
from cogency_tui.signal_delivery import on_signal

DONE, FAILED, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """The command line's options; `limit` is in seconds and `max_cost` in USD, both for each attempt."""

    tasks: Sequence[str]
    models: Sequence[str]
    dialects: Sequence[str]
    efforts: Sequence[str]
    mode: str | None
    times: int
    jobs: int
    limit: float
    max_cost: float | None
    yes: bool
    as_json: bool


def list_tasks(*, as_json: bool) -> int:
    """Print the tasks."""
    for task in TASKS.values():
        if as_json:
            print_json({"name": task.name, "summary": task.summary, "prompt": task.prompt})
        else:
            print_text(f"{task.name:<14} {task.summary}")
    return DONE


def evaluate(options: EvalOptions) -> int:
    """Run the tasks and print the comparison; return the exit status: 0 if every attempt succeeded.

    Raises:
        UsageError: a task does not exist, or requests that cost money are not confirmed.
        ConfigError: a model cannot be used.
    """
    tasks = _tasks_of(options.tasks)
    combinations = combine(options.models, options.dialects, options.mode, options.max_cost, options.efforts)
    if not _confirmed(options, len(tasks) * options.times, combinations):
        talk("Nothing was run.")
        return FAILED
    report = Report(tasks, combinations, options.times)
    interrupted = asyncio.run(_run(options, report, tasks, combinations))
    if options.as_json:
        print_json(report.as_json())
    else:
        print_text("\n".join(report.lines()))
    return INTERRUPTED if interrupted else DONE if report.succeeded else FAILED


async def _run(
    options: EvalOptions, report: Report, tasks: Sequence[Task], combinations: Sequence[Combination]
) -> bool:
    """Run all attempts; return whether the user has interrupted them."""

    def ended(attempt: Attempt) -> None:
        report.attempts.append(attempt)
        talk(report.progress(attempt))

    evaluation = Evaluation(options.limit, ended)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        on_signal(loop, number, evaluation.stop)
    planned = list(plan(tasks, combinations, options.times))
    talk(
        f"Running {len(planned)} attempt{'' if len(planned) == 1 else 's'}. Ctrl+C prints the results so far."
    )
    await evaluation.run(planned, options.jobs)
    return evaluation.stopped


def _tasks_of(names: Sequence[str]) -> list[Task]:
    for name in names:
        if name not in TASKS:
            raise UsageError(f"There is no task {name!r}.", f"Choose from: {', '.join(TASKS)}.")
    return [task for task in TASKS.values() if not names or task.name in names]


def _confirmed(options: EvalOptions, attempts: int, combinations: Sequence[Combination]) -> bool:
    """Return whether requests with a key may be made; the user is asked about them. `attempts` are those of
    one combination.

    Raises:
        UsageError: there are such requests, but no user to ask.
    """
    charged = [each for each in combinations if each.uses_key]
    if not charged or options.yes:
        return True
    models = ", ".join(dict.fromkeys(one_line(each.name) for each in charged))
    number = attempts * len(charged)
    are = "attempt uses" if number == 1 else "attempts use"
    limit = _limit(charged, number, options.max_cost)
    question = f"{number} {are} an API key and may cost money ({models}){limit}."
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(question, "Confirm with --yes.")
    return agreed(f"{question} Continue?")


def _limit(charged: Sequence[Combination], attempts: int, max_cost: float | None) -> str:
    """The most that the attempts may cost, in words, where that is limited."""
    if max_cost is None:
        return ""
    if unknown := [one_line(each.name) for each in charged if not each.priced]:
        return f"; --max-cost has no effect on {', '.join(dict.fromkeys(unknown))}, whose price is unknown"
    return f", up to ${max_cost:.2f} each and ${attempts * max_cost:.2f} in all"
