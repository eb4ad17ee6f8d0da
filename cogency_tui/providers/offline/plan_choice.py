"""The plan of each request; and the plans that run commands or need no call at all."""

import re

from cogency_tui.providers.offline import change_plans, lookup_plans, results
from cogency_tui.providers.offline.message_reader import PlannedCall, Result
from cogency_tui.providers.offline.plan_steps import Past, Plan, PlanResult, shown
from cogency_tui.providers.offline.request_types import (
    AppendText,
    CountLines,
    CreateFile,
    ExplainFiles,
    ExplainProject,
    FindFiles,
    FindText,
    Help,
    ListFiles,
    ReadFiles,
    RecallRequest,
    ReplaceAcross,
    ReplaceText,
    Request,
    RunCommand,
    RunTests,
    Unclear,
    Undo,
)
from cogency_tui.providers.offline.wire import Reply, code

OUTPUT_SHOWN = 20
NOT_FOUND = 127
"""The shell's status for an unknown command."""

_PYTEST = "python -m pytest -q"
_TEST_COMMANDS = (
    (r"pytest\.ini|conftest\.py|test_\w+\.py|\w+_test\.py", _PYTEST),
    (r"package\.json", "npm test"),
    (r"Cargo\.toml", "cargo test"),
    (r"go\.mod", "go test ./..."),
    (r"Makefile", "make test"),
    (r"pyproject\.toml|setup\.py|setup\.cfg|tox\.ini", _PYTEST),
)
"""Names in a listing that indicate how tests are run, the surest first."""

_SELF = (
    "I am `offline-1`, the small model that is built into cogency-tui. I need no key and no network."
    " I follow fixed rules: I do not reason about code or write it by myself, but what I do,"
    " I do with the real tools."
)
_ABILITIES = """\
- list, read, find, count, and explain the shape of files
- replace, remove, create, append, and undo my last edit
- run commands and the project's tests
- several of these in a row, joined with "then\""""
_EXAMPLES = """\
Three things to try:

- `list the files`
- `where is "TODO" then explain README.md`
- `replace 'old' with 'new' in notes.txt then run the tests`"""
_MORE = "For anything else, connect a model: press F2 in the app, or use `--provider`."


def plan_for(request: Request, past: Past) -> Plan:
    """Return the plan that carries out `request`."""
    match request:
        case ListFiles():
            return lookup_plans.list_files(request)
        case ReadFiles():
            return lookup_plans.read_files(request)
        case ExplainFiles():
            return lookup_plans.explain_files(request)
        case ExplainProject():
            return lookup_plans.explain_project()
        case CountLines():
            return lookup_plans.count_lines(request)
        case FindText():
            return lookup_plans.find_text(request)
        case FindFiles():
            return lookup_plans.find_files(request)
        case RecallRequest():
            return lookup_plans.recall(request, can_recall=past.can_recall)
        case ReplaceText():
            return change_plans.replace_text(request)
        case ReplaceAcross():
            return change_plans.replace_across(request)
        case CreateFile():
            return change_plans.create_file(request)
        case AppendText():
            return change_plans.append_text(request)
        case Undo():
            return change_plans.undo(past.steps)
        case RunCommand():
            return run_command(request.command)
        case RunTests():
            return run_tests()
        case Help():
            return answer_only(PlanResult(f"{_SELF}\n\nI can:\n\n{_ABILITIES}\n\n{_EXAMPLES}\n\n{_MORE}"))
        case Unclear():
            return answer_only(_unclear(request))


def answer_only(answer: PlanResult) -> Plan:
    """Answer without any call."""
    yield from ()
    return answer


def run_command(command: str, why: str = "") -> Plan:
    """Run a command and report its end."""
    [done] = yield Reply(why or f"I run {command.splitlines()[0]} as it was given.", [_shell(command)])
    return _command_answer(command, done)


def run_tests() -> Plan:
    """Determine the kind of the project, then run its tests."""
    [listing] = yield Reply(
        "I list the project to see how its tests are run.", [PlannedCall("list", {"depth": 2})]
    )
    if not listing.ok:
        return PlanResult(
            f"I could not list the project: {code(results.reason(listing))}. No test was run.", False
        )
    tree = results.plain(listing)
    for sign, command in _TEST_COMMANDS:
        found = re.search(rf"(?<![\w.-])(?:{sign})(?![\w.-])", tree)
        if found is None:
            continue
        [done] = yield Reply(f"{found[0]} is there, so I run {command}.", [_shell(command)])
        if command.startswith("python ") and results.command_output(done).status == NOT_FOUND:
            command = command.replace("python", "python3", 1)
            [done] = yield Reply(
                "There is no command called python here, so I try python3.", [_shell(command)]
            )
        return _command_answer(command, done)
    return PlanResult(
        "I found nothing here that tells me how its tests are run (no Python tests, package.json, Cargo.toml,"
        " go.mod or Makefile). Name the command, as in: run `./check`",
        False,
    )


def _shell(command: str) -> PlannedCall:
    return PlannedCall("shell", {"command": command})


def _command_answer(command: str, done: Result) -> PlanResult:
    outcome = results.command_output(done)
    if outcome.status is None and not outcome.stopped:
        return PlanResult(f"{code(command)} did not run: {code(results.reason(done))}", False)
    ended = outcome.stopped or f"exited with status {outcome.status}"
    if not outcome.output.strip():
        return PlanResult(f"{code(command)} {ended} and printed nothing.", outcome.status == 0)
    return PlanResult(
        f"{code(command)} {ended}:\n\n{shown(outcome.output, OUTPUT_SHOWN, tail=True)}", outcome.status == 0
    )


def _unclear(request: Unclear) -> PlanResult:
    if request.lacks:
        return PlanResult(f"I understood {code(request.text)}, but I need {request.lacks}.", False)
    asked = f"I do not understand {code(request.text[:200])}, so I did nothing. " if request.text else ""
    return PlanResult(f"{asked}{_SELF}\n\nI can:\n\n{_ABILITIES}\n\n{_EXAMPLES}\n\n{_MORE}", False)
