"""A tool call as the user sees it: its state, its subject, its changes, and the calls within it.

A `CallUnit` is built from events alone (partial and complete `call`, partial and complete `result`), live or
from the store. Its texts are foreign: output is cleaned as it arrives, the rest where it is drawn.
"""

import json
import posixpath
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import msgspec

from cogency_tui.protocol.events import (
    AnsweredQuestion,
    CallEvent,
    ChangedBy,
    DiagnosticsChange,
    HookRun,
    Image,
    LinesChanged,
    PlannedStep,
    ResultEvent,
    outcome_shown,
)
from cogency_tui.protocol.events import Step as StepFields
from cogency_tui.protocol.plan import describe_plan
from cogency_tui.protocol.transcript import as_tool_call
from cogency_tui.safe_text import clean, one_line
from cogency_tui.tui.kit.cell_text import fit, fit_path
from cogency_tui.tui.kit.command_output import Output
from cogency_tui.tui.kit.number_format import duration, whole_seconds
from cogency_tui.tui.transcript.packed_text import packed_texts, unpacked_texts

if TYPE_CHECKING:
    from cogency_tui.agent.review.model import Decision
    from cogency_tui.tools.base import Tally

State = Literal[
    "writing",
    "queued",
    "waiting",
    "running",
    "done",
    "failed",
    "declined",
    "skipped",
    "interrupted",
    "not run",
]

GLYPHS: dict[State, str] = {
    "writing": "✎",
    "queued": "◌",
    "waiting": "?",
    "running": "⠋",
    "done": "✓",
    "failed": "✗",
    "declined": "⊘",
    "skipped": "⊘",
    "interrupted": "■",
    "not run": "⊘",
}
ROLES: dict[State, str] = {
    "writing": "running",
    "queued": "dim",
    "waiting": "edit",
    "running": "running",
    "done": "good",
    "failed": "bad",
    "declined": "dim",
    "skipped": "dim",
    "interrupted": "edit",
    "not run": "dim",
}
OPEN: frozenset[State] = frozenset({"writing", "queued", "waiting", "running"})

_CHANGING = frozenset({"write", "edit", "replace"})
_OUTPUT_LIMIT = 400_000
_DECODER = json.JSONDecoder(strict=False)


class Subject(NamedTuple):
    """The subject of a call in one line; the directories of a path give way first, other text is cut at its
    end."""

    text: str
    is_path: bool

    def fit(self, width: int) -> str:
        """The subject in at most `width` cells."""
        return fit_path(self.text, width) if self.is_path else fit(self.text, width)


class CallStep(msgspec.Struct):
    """One call within a call, or a problem. `text` is its tool and subject, `outcome` its result, each in a
    line."""

    id: str
    state: State
    text: str
    outcome: str = ""

    def parts(self, root: str) -> tuple[str, Subject]:
        """Its tool, and the path that it is called with, relative to `root`; of other calls all together."""
        text = one_line(self.text)
        tool, _, subject = text.partition(" ")
        if "/" in subject and "://" not in subject and " " not in subject:
            return f"{tool} ", Subject(_relative(subject, root), is_path=True)
        return "", Subject(text, is_path=False)


class FileChange(msgspec.Struct, frozen=True):
    """Lines that a call added to and removed from one file."""

    path: str
    added: int
    removed: int


class Action(msgspec.Struct, frozen=True):
    """The fields of the action dialect beside tool and arguments; `timeout` in seconds."""

    id: str = ""
    depends_on: tuple[str, ...] = ()
    output_key: str = ""
    mode: str = ""
    timeout: float | None = None


IN_RERUN = "in the rerun"
"""The `Decision` about changes that are only in the scratch copy of a rerun."""

_PLAIN = Action()
_PLAIN_FIELDS = frozenset({"name", "args"})


def is_refusal(run: HookRun) -> bool:
    """Return whether a hook has refused a call."""
    return run["state"] == "blocked" and run["on"].startswith("before_")


class CallUnit(msgspec.Struct):
    """One tool call. Times are Unix seconds, `duration` seconds.

    `outcome` is for the user, `sent` the text that the model was sent in its place, if that says more. `mode`
    is the permission mode that refused the call. Files in the directory `root` are shown relative to it.
    `asked` is when its question appeared, `decision` the user's about its changes in the review. Of an
    `orphaned` call the program ended before it was complete; of a `skipped` one the user has answered no
    question. `plan` is the model's plan from its result on,
    `answers` are the user's to its questions.

    `hooks` are the hooks that ran for it, `diagnostics` the problems that language servers report with its
    result, `changed_by` the changes by others that were in its files, unknown to the model, `lines` those
    that it changed where its content is not their diff. `output` is its output so far, until a result
    replaces it, with its `images`. From then on the texts in `arguments` and `content` are packed: `args`
    and `result` unpack them.
    """

    id: str
    name: str = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    state: State = "writing"
    started: float = 0.0
    asked: float = 0.0
    duration: float = 0.0
    outcome: str = ""
    sent: str = ""
    mode: str = ""
    content: Any = None
    action: Action = _PLAIN
    output: Output | None = None
    root: str = ""
    decision: "Decision" = ""
    orphaned: bool = False
    skipped: bool = False
    images: Sequence[Image] = ()
    hooks: Sequence[HookRun] = ()
    changed_by: Sequence[ChangedBy] = ()
    plan: Sequence[PlannedStep] | None = None
    answers: Sequence[AnsweredQuestion] = ()
    diagnostics: DiagnosticsChange | None = None
    lines: LinesChanged | None = None
    _steps: list[CallStep] = msgspec.field(default_factory=list[CallStep])
    _pieces: dict[str, list[str]] = msgspec.field(default_factory=dict[str, list[str]])
    _changes: list[FileChange] | None = None
    _subject: Subject | None = None

    @property
    def args(self) -> dict[str, Any]:
        """Its arguments, as far as they are written."""
        arguments: dict[str, Any] = unpacked_texts(self.arguments)
        for key, pieces in self._pieces.items():
            if len(pieces) > 1:
                pieces[:] = ["".join(pieces)]
            arguments[key] = pieces[0]
        return arguments

    @property
    def result(self) -> Any:
        """The content of its result."""
        return unpacked_texts(self.content)

    def write(self, event: CallEvent) -> None:
        """Apply a preview of the call, or the complete call."""
        fields = _object(event["content"])
        if not event.get("partial"):
            fields = as_tool_call(fields)
        if name := fields.get("name"):
            self.name = str(name)
        args = fields.get("args")
        args = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
        if not event.get("partial"):
            self.arguments = args
            self.action = _action(fields)
            self._pieces.clear()
            if self.state == "writing":
                self.state = "queued"
            return
        for key, value in args.items():
            if isinstance(value, str):
                self._pieces.setdefault(key, []).append(value)
            else:
                self.arguments[key] = value

    def ask(self, now: float) -> None:
        """Mark the call as waiting for the user's decision, from `now` on."""
        self.state, self.asked = "waiting", now

    def decide(self) -> None:
        """Note that the user has decided; the engine reports the consequence."""
        if self.state == "waiting":
            self.state = "running" if self.started else "queued"

    @property
    def is_reviewable(self) -> bool:
        """True unless its changes are only in the scratch copy of a rerun."""
        return self.decision != IN_RERUN

    def decide_changes(self, decision: "Decision") -> bool:
        """Note the user's decision about its changes; return whether it is another than before."""
        before, self.decision = self.decision, decision
        return before != decision

    def cut_off(self) -> None:
        """Note that the call gets no result: the program ended."""
        if not self.settled:
            self.state, self.orphaned = "interrupted", True

    def report(self, event: ResultEvent) -> None:
        """Apply output of the running call, or its result."""
        payload = event["payload"]
        self._name_as(event["tool"])
        if event.get("partial"):
            self._begin(event["timestamp"])
            if isinstance(payload["content"], str):
                self._write_output(payload["content"])
            for step in payload.get("steps", ()):
                self._take_step(step)
            return
        for step in self._steps:
            if step.state == "running":
                step.state = "interrupted"
        self.duration = event["duration"]
        self.outcome, self.mode = clean(outcome_shown(payload)), payload.get("mode", "")
        self.sent = clean(payload["outcome"]) if "brief" in payload or self.mode else ""
        self.content = packed_texts(payload["content"])
        self.images = payload.get("images", ())
        self.hooks = payload.get("hooks", ())
        self.changed_by = payload.get("changed_by", ())
        self.plan = payload.get("plan")
        self.answers = payload.get("answers", ())
        self.diagnostics = payload.get("diagnostics")
        self.lines = payload.get("lines")
        self.arguments = packed_texts(self.args)
        self._pieces.clear()
        self.state = "not run" if payload.get("not_run") else payload["state"]
        self.orphaned, self.skipped = payload.get("orphaned", False), payload.get("skipped", False)
        if self.content is not None:
            self.output = None
        elif self.output:
            self.output.close()

    def _begin(self, moment: float) -> None:
        """Mark the call as running since this time; one that runs may wait for a question of a sub-agent."""
        if self.state != "waiting" or not self.started:
            self.state = "running"
        self.started = self.started or moment

    def _name_as(self, tool: str) -> None:
        """Adopt the tool's own names for itself and its arguments."""
        from cogency_tui.tools.registry import own_arguments

        if self.state in ("queued", "waiting"):
            self.arguments = own_arguments(self.name, tool, self.args)
            self.name = tool
        self.name = self.name or tool

    @property
    def word(self) -> str:
        """Its state in a word or two."""
        if self.mode:
            return f"blocked by {self.mode} mode"
        return "skipped" if self.skipped else self.state

    @property
    def settled(self) -> bool:
        return self.state not in OPEN

    def elapsed(self, now: float) -> float:
        """Its running time in seconds."""
        if self.settled:
            return self.duration
        return max(0.0, now - self.started) if self.started else 0.0

    def time(self, now: float) -> str:
        """Its running time; while it runs in whole seconds, if any, so that all places that show it agree."""
        elapsed = self.elapsed(now)
        if self.settled:
            return duration(elapsed)
        return whole_seconds(elapsed) if elapsed >= 1 else ""

    def steps(self) -> list[CallStep]:
        """The calls within this one, of a sub-agent or a workflow."""
        return self._steps

    def state_of(self, step: CallStep) -> State:
        """The state of a call within this one: while a sub-agent waits for the user, so do its calls."""
        return "waiting" if (self.state, step.state) == ("waiting", "running") else step.state

    @property
    def growing(self) -> str:
        """The name of the text argument that is being written; empty if there is none."""
        return next(reversed(self._pieces), "") if self.state == "writing" else ""

    def _write_output(self, text: str) -> None:
        self.output = self.output or Output(_OUTPUT_LIMIT)
        self.output.feed(text)

    def _take_step(self, given: StepFields) -> None:
        tool, outcome = clean(given["tool"]), clean(given["outcome"])
        state = "failed" if given["state"] == "problem" else given["state"]
        begun = next((step for step in self._steps if step.id and step.id == given["call"]), None)
        if begun is not None:
            begun.state, begun.outcome = state, outcome
            return
        # A call that has ended and not begun did not run.
        parts = (tool, clean(given["subject"])) if not outcome else (f"{tool}:", outcome)
        self._steps.append(CallStep(given["call"], state, " ".join(part for part in parts if part)))

    @property
    def subject(self) -> Subject:
        """Its subject, as far as it is written."""
        if self._subject is not None:
            return self._subject
        subject = (
            Subject(one_line(describe_plan(self.plan)), is_path=False)
            if self.plan is not None
            else _subject_of(self.name, self.args, self.root)
        )
        if self.settled:
            self._subject = subject
        return subject

    def argument(self, key: str) -> Any:
        """An argument as it is shown: a path, once it is complete, in the form that the subject has."""
        value = self.args[key]
        is_path = key in ("file", "path") and isinstance(value, str) and key != self.growing
        return _relative(value, self.root) if is_path else value

    @property
    def is_delegated(self) -> bool:
        """True if a sub-agent does it."""
        return self.name == "agent"

    @property
    def tally(self) -> "Tally | None":
        """The way in which calls like this one are counted together: only calls that just read text are."""
        from cogency_tui.tools.registry import tally_of

        is_notable = self.images or self.notable_hooks or self.diagnostics
        return None if is_notable else tally_of(self.name)

    @property
    def notable_hooks(self) -> Sequence[HookRun]:
        """The hooks that changed files, failed, or had something to say or to add. Where one of them
        refused the call, its outcome says so."""
        return [
            run
            for run in self.hooks
            if run["changes"] or run.get("added") or (run["outcome"] and not is_refusal(run))
        ]

    @property
    def is_plan(self) -> bool:
        """True if it updates the plan, or is about to."""
        from cogency_tui.tools.registry import own_tool

        return self.plan is not None or own_tool(self.name) == "plan"

    @property
    def may_change(self) -> bool:
        """True if its result reports changes of files."""
        return self.state == "done" and (self.is_rename or self.name in _CHANGING)

    @property
    def is_rename(self) -> bool:
        """True if it renames a symbol, in whichever files use it."""
        return self.name == "symbol" and self.arguments.get("action") == "rename"

    def changes(self) -> list[FileChange]:
        """The files that this call has changed, with the counts from its result."""
        if not self.may_change:
            return []
        if self._changes is None:
            self._changes = self._read_changes()
        return self._changes

    @property
    def has_counts(self) -> bool:
        """True if it is known how many lines it changed; with imported calls it may not be."""
        return self.lines is not None or "content" in self.args or bool(self.diff())

    def _read_changes(self) -> list[FileChange]:
        path = _relative(str(self.args.get("file", "")), self.root)
        if self.lines is not None:
            return [FileChange(path, self.lines["added"], self.lines["removed"])]
        if diff := self.diff():
            return _count(diff, "" if self.is_rename else path)
        if path:
            return [FileChange(path, len(str(self.args.get("content", "")).splitlines()), 0)]
        return []

    def diff(self) -> str:
        """The unified diff in its result; empty without one."""
        content: Any = self.result
        if isinstance(content, dict):
            content = cast("dict[str, Any]", content).get("diff")
        text = content if isinstance(content, str) else ""
        return text if "\n@@ " in f"\n{text}" else ""

    def body(self) -> str:
        """The text of its result, or its output so far, cleaned."""
        text = self.result_text()
        if text is None:
            return "\n".join(self.output.texts()) if self.output else ""
        return clean(text)

    def result_text(self) -> str | None:
        """The text of its result, not cleaned; None while there is none."""
        content: Any = self.result
        if not self.settled or content is None:
            return None
        if isinstance(content, dict):
            fields = cast("dict[str, Any]", content)
            for key in ("output", "text", "content"):
                if isinstance(fields.get(key), str):
                    content = fields[key]
                    break
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)


def questions_in(args: Mapping[str, Any]) -> list[str]:
    """The questions in the arguments of a call that asks the user, as far as they can be read."""
    given: Any = args.get("questions")
    found = cast("list[Any]", given) if isinstance(given, list) else [args]
    texts = (cast("dict[str, Any]", each).get("question") for each in found if isinstance(each, dict))
    return [text for text in texts if isinstance(text, str)]


def summarize_call(event: CallEvent, root: str) -> str:
    """A complete call in one line: its tool and its subject. Files in `root` are named relative to it."""
    call = CallUnit(event["id"], root=root)
    call.write(event)
    return f"{one_line(call.name)} {call.subject.text}".rstrip()


def _action(fields: dict[str, Any]) -> Action:
    if fields.keys() <= _PLAIN_FIELDS:
        return _PLAIN
    depends_on, timeout = fields.get("depends_on"), fields.get("timeout")
    names = cast("list[Any]", depends_on) if isinstance(depends_on, list) else []
    return Action(
        id=str(fields.get("id") or ""),
        depends_on=tuple(map(str, names)),
        output_key=str(fields.get("output_key") or ""),
        mode=str(fields.get("mode") or ""),
        timeout=float(timeout) if isinstance(timeout, int | float) else None,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = _DECODER.decode(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


_PATH_ARGUMENTS = ("file", "path", "pattern")


def _relative(path: str, root: str) -> str:
    """The path from `root`, if it leads inside, without detours: however a file is named, it has one path."""
    if not path:
        return ""
    path = posixpath.normpath(path)
    if not root or not path.startswith("/"):
        return path
    inside = posixpath.relpath(path, root)
    return path if inside.split("/")[0] == ".." else inside


def _subject_of(name: str, args: dict[str, Any], root: str) -> Subject:
    if command := args.get("command") or args.get("cmd"):
        return Subject(one_line(str(command)), is_path=False)
    if name == "processes":
        parts = [args[key] for key in ("action", "id", "pattern") if isinstance(args.get(key), str)]
        return Subject(one_line(" ".join(part for part in parts if part) or "list"), is_path=False)
    if name == "find" and args.get("content"):
        path = _relative(str(args.get("path") or "."), root)
        where = f" in {path}" if path != "." else ""
        return Subject(one_line(f"“{args['content']}”{where}"), is_path=False)
    if name == "skill":
        parts = [args[key] for key in ("name", "file") if isinstance(args.get(key), str) and args[key]]
        return Subject(one_line("/".join(parts)), is_path=len(parts) > 1)
    for key in _PATH_ARGUMENTS:
        if isinstance(args.get(key), str) and args[key]:
            return Subject(one_line(_relative(args[key], root)), is_path=True)
    if name == "ask" and (questions := questions_in(args)):
        many = f"{len(questions)} questions" if len(questions) > 1 else ""
        return Subject(many or one_line(questions[0][:400]), is_path=False)
    for key in ("query", "url", "action"):
        if isinstance(args.get(key), str):
            return Subject(one_line(args[key]), is_path=False)
    if name == "list":
        return Subject(".", is_path=True)
    first: Any = next((value for value in args.values() if isinstance(value, str)), "")
    return Subject(one_line(str(first)[:400]), is_path=False)


def _count(diff: str, path: str) -> list[FileChange]:
    """Count added and removed lines by file in a unified diff; `path` is the file where no header is."""
    counts: dict[str, list[int]] = {}
    current = path
    in_hunk = False
    for line in diff.split("\n"):
        if line.startswith("--- "):
            in_hunk = False
        elif line.startswith("+++ ") and not in_hunk:
            current = path or line[4:].split("\t")[0].removeprefix("b/")
        elif line.startswith("@@"):
            in_hunk = True
            counts.setdefault(current, [0, 0])
        elif in_hunk and line[:1] in ("+", "-"):
            counts.setdefault(current, [0, 0])[line[0] == "-"] += 1
    return [FileChange(name, added, removed) for name, (added, removed) in counts.items()]
