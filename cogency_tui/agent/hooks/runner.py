"""Runs one hook on one occasion: its process, the record of what it changes, and what its end means.

Exit status 0 is fine; 2 blocks, with the standard error as the reason; any other is a failure of the hook,
which blocks nothing.
"""

import json
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cogency_tui.agent.edits.file_history import HOOK
from cogency_tui.agent.edits.undo_preview import difference
from cogency_tui.agent.hooks.hook import Hook
from cogency_tui.agent.hooks.process import ProcessEnd, run_hook_process
from cogency_tui.config.hooks import INSIDE, HookEvent
from cogency_tui.errors import JournalError, StoreError, ToolError
from cogency_tui.protocol.events import HookChange, HookRun, HookState
from cogency_tui.protocol.transcript import fenced
from cogency_tui.redaction import Redactor, has_secret
from cogency_tui.safe_text import reveal, without_escapes
from cogency_tui.search_paths import is_outside
from cogency_tui.store.edit_records import Edit
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.shell.concealed_proc_environ import conceal
from cogency_tui.tools.shell.environment_scrubbing import scrubbed
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff
from cogency_tui.workspace.diff import LineCounts

if TYPE_CHECKING:
    from cogency_tui.agent.edits.command_watch import CommandEdits
    from cogency_tui.agent.engine import Engine
    from cogency_tui.agent.hooks.claude_protocol import Decision
    from cogency_tui.store.blobs import Blobs

_BLOCKED = 2
_LONGEST_OUTPUT = 2_000
LONGEST_REASON = 10_000
"""Characters of a text for the model."""

_CREDENTIALS = re.compile(r"://[^\s/?#@:]*:[^\s/?#@]+@")
"""An address with a password, even one that is in every example."""

_LONGEST_DIFF = 3_000
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class Occasion:
    """What hooks run on: `fields` are the facts of the event, as a hook receives them; `files` those that it
    is about. `call` is the call that changes are recorded for, `is_next` if they belong to the turn that
    follows."""

    event: HookEvent
    conversation: str
    call: str
    fields: Mapping[str, Any]
    files: Sequence[Path] = ()
    is_next: bool = False


@dataclass(slots=True)
class Verdict:
    """A run, and what follows from it: the `reason` why it blocks, `context` for the model beside that, what
    it changed in words for the model (`report`), and the `edits`. It may have a `message` for the user, a
    reason to ask them (`asks`), or one to end the turn (`stops`). It `is_json` if it wrote an object for the
    program and no words, `is_declined` if it is a failure only because changes were not permitted."""

    run: HookRun
    reason: str = ""
    context: str = ""
    report: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Sequence[str] = ()
    asks: str = ""
    message: str = ""
    stops: str = ""
    edits: Sequence[Edit] = field(default_factory=list[Edit])
    is_json: bool = False
    is_declined: bool = False

    @property
    def blocks(self) -> bool:
        return self.run["state"] == "blocked"


KeepsChanges = Callable[[str, str, Sequence[str], str], Awaitable[bool | None]]
"""Asks the user about changes of protected files by a call and a tool, as `Gate.keeps_changes`."""


class HookRunner:
    """Runs the hooks of a conversation, one at a time in a project."""

    def __init__(self, engine: "Engine", keeps_changes: KeepsChanges) -> None:
        self._engine = engine
        self._keeps_changes = keeps_changes

    async def run(self, hook: Hook, occasion: Occasion, seconds: float | None = None) -> Verdict:
        """Run a hook, for at most its time limit or `seconds`. Nothing is raised: a hook that cannot run has
        failed."""
        async with self._engine.hook_lock:
            began = time.monotonic()
            ends: list[ProcessEnd] = []
            found: CommandEdits | None = None
            problem = ""
            tool = f"{HOOK}{hook.name}"
            consent = Consent(partial(self._keeps_changes, occasion.call, tool))
            journal = self._engine.journal.of(occasion.conversation)
            self._engine.running_hooks[occasion.conversation] = hook.name
            try:
                async with journal.around_command(
                    occasion.call, tool, (), consent, is_next=occasion.is_next
                ) as found:
                    async for end in self._processes(hook, occasion, found.signs, seconds or hook.timeout):
                        ends.append(end)
            except JournalError as exc:
                problem = exc.advice
            except ToolError as exc:
                problem = str(exc).rstrip(".")
            except StoreError as exc:
                problem = exc.advice
            finally:
                self._engine.running_hooks.pop(occasion.conversation, None)
            verdict = await self._verdict(hook, occasion, ends, found, problem, time.monotonic() - began)
            self._engine.hook_runs[hook.name] = verdict.run
            return verdict

    async def _processes(
        self, hook: Hook, occasion: Occasion, signs: Path | None, seconds: float
    ) -> AsyncGenerator[ProcessEnd]:
        """Run the process, or one for each file, all within the time limit."""
        engine, root = self._engine, self._engine.workspace.root
        environ = _without_credentials(scrubbed(os.environ, engine.secrets))
        # As a command, it can inspect its parents.
        await in_thread(conceal, os.environ.keys() - environ.keys())
        environ |= await in_thread(_import_settings, hook, root, environ)
        deadline = time.monotonic() + seconds
        # Claude Code has no tool that changes several files.
        is_apart = hook.takes_each_file or (hook.claude_event and len(occasion.files) > 1)
        groups = [[file] for file in occasion.files] if is_apart else [list(occasion.files)]
        for files in groups:
            left = deadline - time.monotonic()
            if left <= 0:
                yield ProcessEnd(None, "", "", f"timed out after {seconds:g} s and was stopped")
                return
            own = {INSIDE: hook.name, "COGENCY_PROJECT": str(root)}
            own |= {"COGENCY_FILE": str(files[0])} if files else {}
            own |= {"CLAUDE_PROJECT_DIR": str(root)} if hook.claude_event else {}
            given = self._given(hook, occasion, files)
            end = await run_hook_process(hook.filled_in(files, root), root, environ | own, given, left, signs)
            if end.problem.startswith("timed out"):
                end = ProcessEnd(
                    None, end.output, end.errors, f"timed out after {seconds:g} s and was stopped"
                )
            yield end
            if end.problem:
                return

    def _given(self, hook: Hook, occasion: Occasion, files: Sequence[Path]) -> bytes:
        """The event as JSON."""
        root = self._engine.workspace.root
        fields: dict[str, Any] = {
            "event": occasion.event,
            "hook": hook.name,
            "project": str(root),
            "conversation": occasion.conversation,
            **occasion.fields,
        }
        if files:
            fields |= {"file": str(files[0]), "files": [str(file) for file in files]}
        if hook.claude_event:
            from cogency_tui.agent.hooks.claude_protocol import given

            fields = given(hook, root, fields, files)
        return f"{json.dumps(fields, ensure_ascii=True, default=str)}\n".encode()

    async def _verdict(
        self,
        hook: Hook,
        occasion: Occasion,
        ends: Sequence[ProcessEnd],
        found: "CommandEdits | None",
        problem: str,
        seconds: float,
    ) -> Verdict:
        redact = Redactor(self._engine.secrets).text
        state, outcome = _described(ends, problem)
        declined = False
        reason = "\n".join(end.errors.strip() for end in ends if end.status == _BLOCKED)
        texts = [end.output.strip() for end in ends if end.status == 0]
        decisions = _decisions(hook, ends)
        if decisions:
            texts = [each.context for each in decisions]
            reasons = [reason, *(each.reason for each in decisions)]
            reason = "\n".join(text for text in reasons if text)
            if reason and state == "done":
                state, outcome = "blocked", first_line(reason)
        if found is not None and (found.put_back or found.left):
            declined = state == "done"
            state, outcome = (
                "failed" if declined else state,
                f"{outcome}; {_describe_declined(found)}".lstrip("; "),
            )
        message = next((each.message for each in decisions if each.message), "")
        edits = [] if found is None else _left_edits(found)
        changes, report = await self._changes(hook, edits)
        run: HookRun = {
            "name": hook.name,
            "on": occasion.event,
            "state": state,
            "outcome": redact(outcome or first_line(message)),
            "output": "" if any(each.is_quiet for each in decisions) else redact(_written(ends)),
            "duration": seconds,
            "changes": changes,
        }
        return Verdict(
            run,
            redact(_shortened(reason, LONGEST_REASON)) or ("no reason given" if state == "blocked" else ""),
            redact(_shortened("\n".join(text for text in texts if text), LONGEST_REASON)),
            {path: redact(text) for path, text in report.items()},
            [] if found is None else [*map(redact, found.settled.notes)],
            redact(next((each.asks for each in decisions if each.asks), "")),
            redact(message),
            redact(next((each.stops for each in decisions if each.stops), "")),
            edits,
            is_json=all(_is_object(end.output) for end in ends if end.output.strip()),
            is_declined=declined,
        )

    async def _changes(self, hook: Hook, edits: Sequence[Edit]) -> tuple[list[HookChange], dict[str, str]]:
        """The counts of the changed lines, and what the model is told of each file."""
        if not edits:
            return [], {}
        blobs = await self._engine.journal.blobs()
        return await in_thread(_compared, hook, edits, blobs)


def _without_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without addresses that hold a password: of services, which a hook has not been given."""
    return {
        name: value
        for name, value in environ.items()
        if not (_CREDENTIALS.search(value) or ("://" in value and has_secret(value)))
    }


def _import_settings(hook: Hook, project: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The variables by which Python imports nothing from the project, where it would from its root and no
    hook of the project names a module there. Blocks."""
    if not any("py" in word for word in hook.words):
        return {}
    from cogency_tui.agent.project.hook_commands import imports_from_project

    imports = imports_from_project(hook.line, project, may_name_modules=hook.owner == "project")
    if not imports:
        return {}
    search = environ.get("PYTHONPATH", "").split(os.pathsep)
    elsewhere = os.pathsep.join(entry for entry in search if is_outside(entry, (project,)))
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": elsewhere}


def _compared(hook: Hook, edits: Sequence[Edit], blobs: "Blobs") -> tuple[list[HookChange], dict[str, str]]:
    """Blocks."""
    changes: list[HookChange] = []
    report: dict[str, str] = {}
    room = _LONGEST_DIFF
    for edit in edits:
        try:
            text = difference(edit, blobs)
        except StoreError:
            text = ""
        counts = diff.count(text)
        changes.append({"path": edit.path, "added": counts.added, "removed": counts.removed})
        fits = text and len(text) <= room
        room -= len(text) if fits else 0
        body = f":\n{_without_names(text).rstrip()}\n]" if fits else ". Read it before you change it again.]"
        report[edit.path] = f"[The hook {hook.name} {_deed(edit)} {edit.path}{_in_brackets(counts)}{body}"
    return changes, report


def _decisions(hook: Hook, ends: Sequence[ProcessEnd]) -> "list[Decision]":
    """What a hook of Claude Code has decided by its output."""
    if not hook.claude_event:
        return []
    from cogency_tui.agent.hooks.claude_protocol import read_output

    return [read_output(hook, end) for end in ends if end.status == 0]


def _written(ends: Sequence[ProcessEnd]) -> str:
    """The beginning of what a hook wrote."""
    texts = (text for end in ends for text in (end.output.strip(), end.errors.strip()) if text)
    return _shortened("\n".join(texts), _LONGEST_OUTPUT)


def _is_object(output: str) -> bool:
    """Return whether an output is a JSON object, which is not for people."""
    try:
        return isinstance(json.loads(output), dict)
    except (ValueError, RecursionError):
        return False


def _describe_declined(found: "CommandEdits") -> str:
    """The changes of protected files that were not permitted."""
    if found.put_back:
        return f"its changes of {', '.join(found.put_back)} were declined, and reverted"
    return f"its changes of {', '.join(found.left)} were declined, but could not be reverted"


def _deed(edit: Edit) -> str:
    return {"created": "created", "deleted": "deleted", "renamed": "renamed"}.get(edit.kind, "changed")


def _in_brackets(counts: LineCounts) -> str:
    return f" ({counts})" if counts.added or counts.removed else ""


def _without_names(text: str) -> str:
    """A diff of one file without the lines that name it."""
    return text[max(0, text.find("@@")) :]


def _described(ends: Sequence[ProcessEnd], problem: str) -> tuple[HookState, str]:
    """The state of a run, and its outcome if it was not simply done."""
    if reason := next((end.errors.strip() for end in ends if end.status == _BLOCKED), None):
        return "blocked", first_line(reason)
    if any(end.status == _BLOCKED for end in ends):
        return "blocked", "no reason given"
    if problem:
        return "failed", problem
    for end in ends:
        if end.problem:
            return "failed", end.problem
        if end.status is None:
            return "failed", "its result is unknown: its supervisor process was killed"
        if end.status:
            how = f"exit {end.status}" if end.status > 0 else f"killed by signal {-end.status}"
            said = first_line(end.errors) or first_line(end.output)
            return "failed", f"{how}: {said}" if said else how
    return "done", ""


def quoted(text: str) -> str:
    """What a hook wrote, as a quote for the model: it cannot pass for what is around it or be invisible."""
    return fenced("\t".join(map(reveal, text.split("\t"))))


def first_line(text: str) -> str:
    """The first line of a text that is not empty, cut."""
    line = text.strip().partition("\n")[0].rstrip()
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _left_edits(found: "CommandEdits") -> list[Edit]:
    """The changes that were not reverted."""
    reverted = {edit.id for edit in found.protected} if found.put_back else set[int]()
    return [edit for edit in found.edits if edit.id not in reverted and edit.kind != "snapshot"]


def _shortened(text: str, most: int) -> str:
    text = without_escapes(text)
    return text if len(text) <= most else f"{text[:most]}\n[… {len(text) - most:,} more characters]"
