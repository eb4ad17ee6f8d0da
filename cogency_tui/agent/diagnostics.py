"""Checks the edits of an answer with language servers: what they added to the problems of the files, and what
they fixed.

Invariant: an edit waits for `PATIENCE` seconds at most, and not at all for a server that was late before.
What comes later goes with the next result of the conversation, once, if it still holds then, and no other
server has reported the same of that edit. Edits of an answer that wait for each other are checked as one,
with the last of them: no state in between counts, and each problem is that of the edit of its file. A server
that fails costs a notice.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from cogency_tui.agent.call_interceptors import InterceptedCall, join_notes
from cogency_tui.errors import ToolError, in_words
from cogency_tui.protocol.events import Diagnostic, DiagnosticsChange, describe_diagnostic
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import one_line
from cogency_tui.tools.base import Intent, Outcome, ToolContext
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

_BY_OTHERS = frozenset({"command", "tool"})
"""Effects of calls that may change files without our knowing which."""

_MOST_FILES_NAMED = 3
_MOST_FOR_MODEL = 6
_LONGEST_MESSAGE = 240
_LONGEST_RULE = 60
_LARGEST_FILE = 1 << 19
_MOST_PLANNED = 50
"""Edits that were planned and have not run."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """A file that calls have changed from `old` (None: there was none) to `new`, `call` as the last one."""

    call: str
    path: Path
    language: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class _Told:
    """A problem of a file, and the call that added or fixed it."""

    call: str
    path: Path
    problem: "Problem"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a server says of edits, which left `texts` in their files: the problems that they added and fixed.
    `gone` are those that they added and another edit has fixed since."""

    server: "Server"
    texts: Mapping[Path, str]
    added: Sequence[_Told]
    fixed: Sequence[_Told]
    gone: Sequence[_Told] = ()


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
        """Files whose check waits for a later edit of the answer: the last edit so far, and the text before
        the first."""
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
        if call.intent.effect in _BY_OTHERS:
            self._servers.note_changes()
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
        found = await self._wait(tasks)
        change, fixed_before = self._change(call, found)
        notes = [*_notes(change, fixed_before)]
        if not notes:
            return outcome
        note = join_notes(outcome.note, *notes)
        return replace(outcome, note=note, diagnostics=change if change["added"] or change["fixed"] else None)

    async def late(self, context: ToolContext) -> Outcome | None:
        """What has become known since the last call, for a turn that begins; None if there is nothing."""
        if not (self._late or self._deferred):
            return None
        call = InterceptedCall("", "", msgspec.Struct(), Intent("read", ""), context)
        outcome = await self.after(call, Outcome(""))
        return outcome if outcome.note else None

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
        """Begin to compare the files of an edit, and of those before it that waited for it, with what they
        were, unless it waits for another one."""
        for path in call.intent.paths[:MOST_FILES] if call.intent.effect == "write" else ():
            if (call.id, path) in self._planned:
                old = self._planned.pop((call.id, path))
                self._deferred[path] = (call.id, self._deferred.pop(path, (call.id, old))[1])
        if call.to_be_written():
            return []
        edits, self._deferred = self._deferred, {}
        by_server: dict[Server, list[_Edit]] = {}
        for path, (id, old) in edits.items():
            new = await in_thread(self._read, path)
            if new is None or new == old:
                continue
            for server, language in await self._of(path):
                by_server.setdefault(server, []).append(_Edit(id, path, language, old, new))
        return [(server, self._follow(self._compare(server, each))) for server, each in by_server.items()]

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

    async def _compare(self, server: "Server", edits: Sequence[_Edit]) -> _Found | None:
        """The problems that edits added and fixed; None where the server does not say. Those of other files
        are the last edit's."""
        from cogency_tui.tools.language_servers.client import EditedFile
        from cogency_tui.tools.language_servers.diagnostics import compare
        from cogency_tui.tools.language_servers.server import Unavailable

        edits = edits[-MOST_FILES:]
        try:
            analysis = await server.ask(
                lambda client, seconds: client.analyze(
                    [EditedFile(each.path, each.language, each.old, each.new) for each in edits], seconds
                )
            )
        except Unavailable:
            return None
        added: list[_Told] = []
        fixed: list[_Told] = []
        by_path = {each.path: each for each in edits}
        for file, (before, after) in analysis.items():
            edit = by_path.get(file)
            texts = ("", "") if edit is None else (edit.old or "", edit.new)
            came, went = await in_thread(compare, before, after, *texts)
            call = (edit or edits[-1]).call
            added += (_Told(call, file, each) for each in came)
            fixed += (_Told(call, file, each) for each in went)
        texts_left = {each.path: each.new for each in edits}
        return _Found(server, texts_left, added, fixed) if added or fixed else None

    async def _check_again(self, late: _Found) -> _Found:
        """What came late, as far as it still holds."""
        from cogency_tui.tools.language_servers.diagnostics import still_there
        from cogency_tui.tools.language_servers.server import Unavailable

        added: list[_Told] = []
        gone, left = list(late.gone), dict(late.texts)
        for file, call in dict.fromkeys((each.path, each.call) for each in late.added):
            problems = [each.problem for each in late.added if (each.path, each.call) == (file, call)]
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
            texts = (late.texts[file], text) if file in late.texts else ("", "")
            kept, lost = await in_thread(still_there, problems, now, *texts)
            added += (_Told(call, file, each) for each in kept)
            gone += (_Told(call, file, each) for each in lost)
            if file in left:
                left[file] = text
        return replace(late, texts=left, added=added, gone=gone)

    def _read(self, path: Path) -> str | None:
        try:
            location = self._workspace.locate(str(path))
            return decode(self._workspace.read_bytes(location, _LARGEST_FILE), location.relative).plain
        except ToolError:
            return None

    def _change(
        self, call: InterceptedCall, found: Sequence[_Found]
    ) -> tuple[DiagnosticsChange, Sequence[str]]:
        """What was found, for the result of a call, and the file of each problem that earlier edits fixed."""
        if not found:
            return {"added": [], "fixed": 0}, ()
        from cogency_tui.tools.language_servers.diagnostics import Reported, distinct

        if self._reported is None:
            self._reported = Reported(), Reported()
        reported, reported_fixed = self._reported
        redact = Redactor(call.context.secrets, call.context.known).text

        def name_of(path: Path) -> str:
            # The address of a file is the server's text, too.
            return one_line(redact(self._workspace.name_of(path)))

        added: list[Diagnostic] = []
        fixed = list[str]()
        fixed_before = list[str]()
        for id, problems in _by_call(_fixed(found), name_of).items():
            new = (path for path, _problem in reported_fixed.add(id, distinct(problems)))
            (fixed if id == call.id else fixed_before).extend(new)
        for id, problems in _by_call(_once(call, found), name_of).items():
            for path, problem in reported.add(id, distinct(problems)):
                one: Diagnostic = {
                    "path": path,
                    "line": problem.line,
                    "column": problem.column,
                    "severity": problem.severity,
                    "message": one_line(redact(problem.message))[:_LONGEST_MESSAGE],
                }
                if problem.rule:
                    one["rule"] = one_line(redact(problem.rule))[:_LONGEST_RULE]
                if problem.source:
                    one["source"] = one_line(redact(problem.source))[:_LONGEST_RULE]
                if id != call.id:
                    one["call"] = id
                added.append(one)
        added.sort(key=lambda one: one["severity"] != "error")
        # A call that edits nothing has fixed nothing.
        all_fixed = len(fixed) + len(fixed_before) if call.intent.effect == "write" else 0
        change: DiagnosticsChange = {"added": added[:MOST_LISTED], "fixed": all_fixed}
        if len(added) > MOST_LISTED:
            change["more"] = len(added) - MOST_LISTED
        return change, fixed_before


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


def _by_call(told: Iterable[_Told], name_of: Callable[[Path], str]) -> "dict[str, list[tuple[str, Problem]]]":
    """The problems with the names of their files, by the call that added or fixed them."""
    found: dict[str, list[tuple[str, Problem]]] = {}
    for each in told:
        found.setdefault(each.call, []).append((name_of(each.path), each.problem))
    return found


def _fixed(found: Iterable[_Found]) -> "list[_Told]":
    """The problems that were fixed, but for those that nobody was told of."""
    from cogency_tui.tools.language_servers.diagnostics import is_same_kind

    fixed = [each for one in found for each in one.fixed]
    for lost in [each for one in found for each in one.gone]:
        same = (each for each in fixed if each.path == lost.path and is_same_kind(each.problem, lost.problem))
        if (first := next(same, None)) is not None:
            fixed.remove(first)
    return fixed


def _once(call: InterceptedCall, found: Sequence[_Found]) -> "list[_Told]":
    """The problems that edits added, each once: where several could have added it, that of its own file."""
    from cogency_tui.tools.language_servers.diagnostics import is_same_kind

    own = set(call.intent.paths) if call.intent.effect == "write" else set[Path]()
    told = [each for one in found for each in one.added]
    told.sort(key=lambda each: (each.call == call.id) != (each.path in own))
    kept: list[_Told] = []
    for each in told:
        place = (each.path, each.problem.line, each.problem.column)
        others = [one for one in kept if (one.path, one.problem.line, one.problem.column) == place]
        if not any(one.call != each.call and is_same_kind(one.problem, each.problem) for one in others):
            kept.append(each)
    return kept


def _result(task: asyncio.Task[_Found | None]) -> _Found | None:
    return None if task.cancelled() or task.exception() is not None else task.result()


def _notes(change: DiagnosticsChange, fixed_before: Sequence[str]) -> Iterator[str]:
    """The note for the model: what this edit has added and fixed, then what earlier ones have."""
    own = [one for one in change["added"] if "call" not in one]
    earlier = [one for one in change["added"] if "call" in one]
    fixed = max(0, change["fixed"] - len(fixed_before))
    more = change.get("more", 0)
    if own:
        also = f" and fixed {fixed}" if fixed else ""
        yield f"This edit added {_counted(len(own) + more)}{also}:\n{_listed(own, more)}"
    if earlier:
        also = f" and fixed {len(fixed_before)}" if fixed_before else ""
        yield f"Earlier edits added {_counted(len(earlier))}{also}:\n{_listed(earlier, 0)}"
    if fixed and not own:
        yield f"This fixed {_counted(fixed)}."
    if fixed_before and not earlier:
        files = in_words([*dict.fromkeys(fixed_before)], _MOST_FILES_NAMED)
        yield f"Earlier edits fixed {_counted(len(fixed_before))} in {files}."


def _counted(count: int) -> str:
    return f"{count} problem{'' if count == 1 else 's'}"


def _listed(problems: Sequence[Diagnostic], more: int) -> str:
    lines = [describe_diagnostic(one) for one in problems[:_MOST_FOR_MODEL]]
    left = len(problems) - len(lines) + more
    return "\n".join([*lines, *([f"… and {left} more"] if left else [])])
