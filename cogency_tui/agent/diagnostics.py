"""Checks each edit with language servers: what it added to the problems of the files, and what it fixed.

Invariant: an edit waits for `PATIENCE` seconds at most, and not at all for a server that was late before.
What comes later goes with the next result of the conversation, once, if it still holds then, and no other
server has reported the same of that edit. Of several edits of a file that wait for each other, the last one
has the problems of all. A server that fails costs a notice.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cogency_tui.agent.call_interceptors import InterceptedCall, join_notes
from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import Diagnostic, DiagnosticsChange, describe_diagnostic
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import one_line
from cogency_tui.tools.base import Outcome
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.text_files import decode

if TYPE_CHECKING:
    from cogency_tui.agent.language_servers import LanguageServersOnDemand
    from cogency_tui.tools.language_servers.client import Problem
    from cogency_tui.tools.language_servers.diagnostics import Reported
    from cogency_tui.tools.language_servers.server import Server
    from cogency_tui.workspace.paths import Workspace

PATIENCE = 2.0
"""Seconds that the result of an edit waits for language servers."""

MOST_FILES = 20
"""Files of one edit that are checked."""

MOST_LISTED = 50
"""Problems of one result that are listed."""

_MOST_FOR_MODEL = 6
_LONGEST_MESSAGE = 240
_LONGEST_RULE = 60
_LARGEST_FILE = 1 << 19
_MOST_PLANNED = 50
"""Edits that were planned and have not run."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What a server says of an edit of the call `call`, which left `text` in `path`: the problems that it
    added and fixed, by their file. `gone` are those that it added and another edit has fixed since."""

    call: str
    server: "Server"
    path: Path
    text: str
    added: Sequence[tuple[Path, "Problem"]]
    fixed: Sequence[tuple[Path, "Problem"]]
    gone: Sequence[tuple[Path, "Problem"]] = ()


_Task: TypeAlias = "tuple[Server, asyncio.Task[_Found | None]]"


class EditDiagnostics:
    """The check of one conversation's edits. `may_edit` states whether it is worth starting a server for a
    file that is read."""

    def __init__(
        self, servers: "LanguageServersOnDemand", workspace: "Workspace", may_edit: Callable[[], bool]
    ) -> None:
        self._servers = servers
        self._workspace = workspace
        self._may_edit = may_edit
        self._planned: dict[tuple[str, Path], str | None] = {}
        """The texts of files before a planned edit; None where there is no file."""
        self._deferred: dict[Path, tuple[str, str | None]] = {}
        """Files whose check waits for a later edit: the first edit, and the text before it."""
        self._running: set[asyncio.Task[_Found | None]] = set()
        self._late: list[_Found] = []
        self._reported: tuple[Reported, Reported] | None = None
        """The problems of the last edits that were reported as added, and as fixed."""

    async def before(self, call: InterceptedCall) -> None:
        """Note what the edit is going to change, and have it analyzed while the user is asked."""
        if call.intent.effect != "write" or not self._servers.enabled:
            return
        for path in call.intent.paths[:MOST_FILES]:
            servers = await self._of(path)
            if not servers:
                continue
            text = await in_thread(self._read, path)
            while len(self._planned) >= _MOST_PLANNED:
                self._planned.pop(next(iter(self._planned)))
            self._planned[call.id, path] = text
            for server, language in servers:
                if text is None:
                    server.start()
                elif path not in self._deferred:
                    self._follow(self._prepare(server, language, path, text))

    async def after(self, call: InterceptedCall, outcome: Outcome) -> Outcome:
        """Add to the result what has become known of its problems, and of those of earlier edits."""
        if not self._servers.enabled:
            self._planned.clear()
            self._deferred.clear()
            return outcome
        if call.tool == "read" and self._may_edit():
            await self._warm(call)
        late, self._late = self._late, []
        tasks = await self._check(call)
        # After the checks: what holds is what they leave.
        tasks += [(each.server, self._follow(self._check_again(each))) for each in late]
        change = self._change(call, await self._wait(tasks))
        if change is None:
            return outcome
        note = join_notes(outcome.note, *_notes(change))
        return replace(outcome, note=note, diagnostics=change)

    async def close(self) -> None:
        """Give up what is still being analyzed."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def _of(self, path: Path) -> "list[tuple[Server, str]]":
        return await self._servers.load().of(path)

    async def _warm(self, call: InterceptedCall) -> None:
        """Start the servers for a file that was read: an edit of it often follows."""
        for path in call.intent.paths[:1]:
            for server, _language in await self._of(path):
                server.start()

    async def _check(self, call: InterceptedCall) -> "list[_Task]":
        """Begin to compare the files of an edit with what they were, and of earlier ones that no edit follows
        any more."""
        following = call.to_be_written()
        edits: dict[Path, tuple[str, str | None]] = {}
        for path in call.intent.paths[:MOST_FILES] if call.intent.effect == "write" else ():
            if (call.id, path) in self._planned:
                old = self._planned.pop((call.id, path))
                edits[path] = (call.id, self._deferred.pop(path, (call.id, old))[1])
        for path in [path for path in self._deferred if path not in following]:
            edits[path] = self._deferred.pop(path)
        tasks: list[_Task] = []
        for path, (id, old) in edits.items():
            if path in following:
                self._deferred[path] = (id, old)
                continue
            new = await in_thread(self._read, path)
            if new is None or new == old:
                continue
            for server, language in await self._of(path):
                tasks.append((server, self._follow(self._compare(id, server, language, path, old, new))))
        return tasks

    async def _wait(self, tasks: "Sequence[_Task]") -> list[_Found]:
        """What the servers say in time; the rest comes later."""
        if waited := [task for server, task in tasks if not server.lags]:
            await asyncio.wait(waited, timeout=PATIENCE)
        found: list[_Found] = []
        for server, task in tasks:
            if not task.done():
                server.lags = True
                task.add_done_callback(self._note_late)
            elif (one := _result(task)) is not None:
                found.append(one)
        return found

    def _follow(self, work: "Coroutine[Any, Any, _Found | None]") -> asyncio.Task[_Found | None]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _note_late(self, task: asyncio.Task[_Found | None]) -> None:
        if (found := _result(task)) is not None:
            self._late.append(found)

    async def _prepare(self, server: "Server", language: str, path: Path, text: str) -> None:
        from cogency_tui.tools.language_servers.server import Unavailable

        with suppress(Unavailable):
            await server.ask(lambda client, seconds: client.problems(path, language, text, seconds))

    async def _compare(
        self, call: str, server: "Server", language: str, path: Path, old: str | None, new: str
    ) -> _Found | None:
        """The problems that an edit added and fixed; None where the server does not say."""
        from cogency_tui.tools.language_servers.diagnostics import compare
        from cogency_tui.tools.language_servers.server import Unavailable

        added: list[tuple[Path, Problem]] = []
        fixed: list[tuple[Path, Problem]] = []
        try:
            analysis = await server.ask(
                lambda client, seconds: client.analyze(path, language, old, new, seconds)
            )
        except Unavailable:
            return None
        for file, (before, after) in analysis.items():
            texts = (old or "", new) if file == path else ("", "")
            came, went = await in_thread(compare, before, after, *texts)
            added += ((file, each) for each in came)
            fixed += ((file, each) for each in went)
        return _Found(call, server, path, new, added, fixed) if added or fixed else None

    async def _check_again(self, late: _Found) -> _Found:
        """What came late, as far as it still holds."""
        from cogency_tui.tools.language_servers.diagnostics import still_there
        from cogency_tui.tools.language_servers.server import Unavailable

        added: list[tuple[Path, Problem]] = []
        gone, left = list(late.gone), late.text
        for file in dict.fromkeys(file for file, _ in late.added):
            problems = [each for path, each in late.added if path == file]
            text = await in_thread(self._read, file)
            language = next((word for server, word in await self._of(file) if server is late.server), None)
            if text is None or language is None:
                continue
            try:
                now = await late.server.ask(
                    lambda client, seconds, file=file, language=language, text=text: client.problems(
                        file, language, text, seconds
                    )
                )
            except Unavailable:
                continue
            texts = (late.text, text) if file == late.path else ("", "")
            kept, lost = await in_thread(still_there, problems, now, *texts)
            added += ((file, each) for each in kept)
            gone += ((file, each) for each in lost)
            left = text if file == late.path else left
        return replace(late, text=left, added=added, gone=gone)

    def _read(self, path: Path) -> str | None:
        try:
            location = self._workspace.locate(str(path))
            return decode(self._workspace.read_bytes(location, _LARGEST_FILE), location.relative).plain
        except ToolError:
            return None

    def _change(self, call: InterceptedCall, found: Sequence[_Found]) -> DiagnosticsChange | None:
        """What was found, for the result of a call."""
        if not found:
            return None
        from cogency_tui.tools.language_servers.diagnostics import Reported, distinct

        if self._reported is None:
            self._reported = Reported(), Reported()
        reported, reported_fixed = self._reported
        redact = Redactor(call.context.secrets, call.context.known).text
        name_of = self._workspace.name_of
        added: list[Diagnostic] = []
        fixed = 0
        for id, problems in _fixed(found).items():
            gone = distinct([(name_of(path), each) for path, each in problems])
            fixed += len(reported_fixed.add(id, gone))
        by_call: dict[str, list[tuple[str, Problem]]] = {}
        for each in found:
            problems = by_call.setdefault(each.call, [])
            problems += ((name_of(path), problem) for path, problem in each.added)
        for id, problems in by_call.items():
            for path, problem in reported.add(id, distinct(problems)):
                one: Diagnostic = {
                    "path": path,
                    "line": problem.line,
                    "column": problem.column,
                    "severity": problem.severity,
                    "message": one_line(redact(problem.message))[:_LONGEST_MESSAGE],
                }
                if problem.rule:
                    one["rule"] = one_line(problem.rule)[:_LONGEST_RULE]
                if problem.source:
                    one["source"] = one_line(problem.source)[:_LONGEST_RULE]
                if id != call.id:
                    one["call"] = id
                added.append(one)
        if not (added or fixed):
            return None
        added.sort(key=lambda one: one["severity"] != "error")
        change: DiagnosticsChange = {"added": added[:MOST_LISTED], "fixed": fixed}
        if len(added) > MOST_LISTED:
            change["more"] = len(added) - MOST_LISTED
        return change


def join_changes(changes: Sequence[DiagnosticsChange]) -> DiagnosticsChange:
    """Join what several edits have come to."""
    added = [one for change in changes for one in change["added"]]
    joined: DiagnosticsChange = {
        "added": added[:MOST_LISTED],
        "fixed": sum(each["fixed"] for each in changes),
    }
    more = sum(each.get("more", 0) for each in changes) + max(0, len(added) - MOST_LISTED)
    if more:
        joined["more"] = more
    return joined


def _fixed(found: Iterable[_Found]) -> "dict[str, list[tuple[Path, Problem]]]":
    """The problems that each call has fixed, but for those that were never reported."""
    from cogency_tui.tools.language_servers.diagnostics import is_same_kind

    fixed: dict[str, list[tuple[Path, Problem]]] = {}
    for one in found:
        fixed.setdefault(one.call, []).extend(one.fixed)
    for path, problem in [each for one in found for each in one.gone]:
        for problems in fixed.values():
            same = (each for each in problems if each[0] == path and is_same_kind(each[1], problem))
            if (first := next(same, None)) is not None:
                problems.remove(first)
                break
    return fixed


def _result(task: asyncio.Task[_Found | None]) -> _Found | None:
    return None if task.cancelled() or task.exception() is not None else task.result()


def _notes(change: DiagnosticsChange) -> Iterator[str]:
    """The note for the model: what this edit has added and fixed, then what earlier ones have added."""
    own = [one for one in change["added"] if "call" not in one]
    earlier = [one for one in change["added"] if "call" in one]
    fixed = change["fixed"]
    more = change.get("more", 0)
    if own:
        also = f" and fixed {fixed}" if fixed else ""
        yield f"This edit added {_counted(len(own) + more)}{also}:\n{_listed(own, more)}"
    if earlier:
        yield f"Earlier edits added {_counted(len(earlier))}:\n{_listed(earlier, 0)}"
    if fixed and not own:
        yield f"This fixed {_counted(fixed)}."


def _counted(count: int) -> str:
    return f"{count} problem{'' if count == 1 else 's'}"


def _listed(problems: Sequence[Diagnostic], more: int) -> str:
    lines = [describe_diagnostic(one) for one in problems[:_MOST_FOR_MODEL]]
    left = len(problems) - len(lines) + more
    return "\n".join([*lines, *([f"… and {left} more"] if left else [])])
