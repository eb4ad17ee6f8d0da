"""The dialog of trust: what a project brings, by name and size, the commands that it would start, and the
effect of trust.

Invariant: only a key of its own grants trust, never Enter, and not before the window has shown the commands.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.agent.project.cogency_folder import FOLDER, FolderEntry
from cogency_tui.agent.project.planned_commands import planned_commands
from cogency_tui.agent.project.started_programs import ABOVE
from cogency_tui.agent.project.trust import (
    NOT_COMPARED,
    Part,
    PartKind,
    Survey,
    TrustState,
    describe_inactive,
    name_parts,
)
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit_path
from cogency_tui.tui.kit.dialogs import (
    STYLES,
    Choice,
    Choices,
    DialogBox,
    DialogTitle,
    Drawing,
    QuestionBody,
    ReadingScreen,
)
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import plural, size
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_SIZE = 12
_LEAST = 12
"""Cells for the rest of a path beside the name of its first directory."""

_MOST = 40
"""The most files listed; there may be hundreds."""

_MEANINGS: dict[PartKind, str] = {
    "folder": (
        "Trusting it enables its sub-agents, workflows, commands, MCP servers, hooks and some options. Your "
        "own entries of the same name take precedence; safety options can only get stricter. MCP servers "
        "start with your next message, and hooks run on their events without asking: they are programs, "
        "from the files listed above. Changes to installed packages are not detected. Calls to MCP servers "
        "need your approval as usual. A project cannot choose a provider, model or key, or grant "
        "permissions. If a file changes, the folder is inactive until you review it again."
    ),
    "skill": (
        "Skills: the model sees their names and descriptions, and reads the rest when it needs it. Their "
        "scripts run with your permission, like any command. A skill that changes is inactive until you "
        "review it again."
    ),
    "settings": "Hooks are commands that run on their own, without asking, on the events that they name.",
}
_UNUSABLE = ".cogency/ cannot be trusted in its current state; inactive."
_STANDINGS = {
    TrustState.NOTHING: "There is no longer anything to trust.",
    TrustState.UNKNOWN: "Inactive until you trust it.",
    TrustState.CHANGED: "Changed since you trusted it; inactive until you trust it again.",
    TrustState.TRUSTED: "Trusted in its current state.",
    TrustState.REFUSED: "Inactive. You chose not to be asked again.",
}


def draw_survey(survey: Survey, problem: str, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the state, the files, then the effect of trust; `problem` is why trusted files cannot be used."""
    role = "text" if survey.state in (TrustState.TRUSTED, TrustState.NOTHING) else "edit"
    state = _UNUSABLE if survey.problem else _STANDINGS[survey.state]
    if off := _left_off(survey):
        state = f"Trusted, but for {name_parts(off)}: off, and not asked about before a file changes."
    if survey.state is TrustState.CHANGED and any(part.kind != "folder" for part in survey.inactive):
        # Parts that have not changed are active.
        state = reveal(describe_inactive(survey))
    lines = wrap([Segment(state, styles(role))], width)
    for message in filter(None, (survey.problem, problem)):
        lines += wrap([Segment(f"✗ {reveal(message)}", styles("bad"))], width)
    lines += draw_planned(survey, width, styles)
    rows = [row for part in survey.parts for row in _rows(part, survey.state)]
    if rows:
        lines.append(BLANK)
    lines += [_entry(row, width, styles) for row in rows[:_MOST]]
    if len(rows) > _MOST:
        lines += wrap([Segment(f"… and {len(rows) - _MOST} more", styles("dim"))], width)
    if survey.state is TrustState.CHANGED and survey.inactive:
        text = f"x leaves {name_parts(survey.inactive)} off and does not ask again before a file changes. "
        lines += [BLANK, *wrap([Segment(f"{text}The rest stays trusted.", styles("dim"))], width)]
    for part in survey.parts:
        # That of the folder is the survey's own.
        if part.kind != "folder" and part.problem:
            text = f"✗ {reveal(part.path)}: {reveal(part.problem.rstrip('.'))}. Not used."
            lines += wrap([Segment(text, styles("edit"))], width)
    for command in survey.unknown:
        text = f"✗ Cannot determine which project files this starts: {reveal(command)}"
        lines += wrap([Segment(text, styles("edit"))], width)
    if survey.state is not TrustState.TRUSTED and survey.digest:
        for kind in survey.kinds:
            lines += [BLANK, *wrap([Segment(_MEANINGS[kind], styles("dim"))], width)]
        if survey.has_scripts:
            lines += [BLANK, *wrap([Segment(NOT_COMPARED, styles("dim"))], width)]
    return lines


def _left_off(survey: Survey) -> list[Part]:
    """The parts that the user has left off, of a project that is trusted otherwise."""
    is_trusted = survey.state is TrustState.TRUSTED
    return [part for part in survey.parts if is_trusted and part.state is TrustState.REFUSED]


def draw_planned(survey: Survey, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the commands that the project would start, each in full."""
    place, lines = "", list[Line]()
    for planned in (each for part in survey.parts for each in planned_commands(part)):
        if not planned.when:
            text = f"✗ {planned.place}: its commands cannot be shown: {planned.problem}."
            lines += [BLANK, *wrap([Segment(text, styles("edit"))], width)]
            continue
        if planned.place != place:
            place = planned.place
            lines += [BLANK, *wrap([Segment(f"Commands in {one_line(place)}", styles("dim"))], width)]
        when, command = Segment(f"{planned.when}: ", styles("dim")), planned.command or "(none)"
        spans = [when, Segment(command, styles("dim" if planned.problem else "text"))]
        if planned.problem:
            spans.append(Segment(f"  does not run: {planned.problem}", styles("dim")))
        lines += wrap(spans, width)
    return lines


def fit_project_path(path: str, room: int) -> str:
    """Fit a path from the project into `room` cells; `.claude` at its beginning is not abbreviated."""
    first, slash, rest = path.partition("/")
    left = room - cells(first) - 1
    if not first.startswith(".") or not rest or left < _LEAST:
        return fit_path(path, room)
    return f"{first}{slash}{fit_path(rest, left)}"


class _Row(NamedTuple):
    """A file or skill: its path from the project, a mark, its size or what it is instead, and whether that
    deserves attention.
    """

    path: str
    mark: str
    kind: str
    is_odd: bool


def _rows(part: Part, state: TrustState) -> Iterator[_Row]:
    """A skill on one row with the files that changed; otherwise each file."""
    changed, is_skill = set(part.changed), part.kind == "skill"
    if is_skill:
        is_new = state is TrustState.CHANGED and part.state is TrustState.UNKNOWN
        mark = "changed" if part.state is TrustState.CHANGED else "new" if is_new else ""
        mark = "off" if part.state is TrustState.REFUSED and state is not TrustState.REFUSED else mark
        mark = "unusable" if part.problem else mark
        total = size(sum(entry.size for entry in part.entries))
        kind = f"{plural(len(part.entries), 'file')}  {total:>{_SIZE}}"
        yield _Row(f"{part.path}/", mark, kind, bool(mark))
        if part.state is not TrustState.CHANGED:
            return
    for entry in part.entries:
        mark = "changed" if entry.name in changed else ""
        if mark or not is_skill:
            yield _Row(_path_of(entry), mark, entry.kind or size(entry.size), bool(mark or entry.kind))
    here = {entry.name for entry in part.entries}
    for name in part.changed:
        if name not in here:
            yield _Row(_path_of(FolderEntry(name)), "", "deleted", True)


def describe_survey(survey: Survey) -> str:
    """Describe the survey in a few words: `3 files, 2.1 kB`."""
    total = sum(entry.size for entry in survey.entries)
    return f"{plural(len(survey.entries), 'file')}, {size(total)}"


def _path_of(entry: FolderEntry) -> str:
    """The path of the entry from the project."""
    if entry.name.startswith(ABOVE):
        return entry.name.removeprefix(ABOVE)
    return f"{FOLDER}/{entry.name}" if entry.name else FOLDER


def _entry(row: _Row, width: int, styles: ThemeStyles) -> Line:
    """Draw a row, with the size at the right end."""
    kind = one_line(row.kind)
    right = f"{row.mark}  {kind}" if row.mark else kind
    right = f"{right:>{_SIZE}}"
    room = max(4, width - cells(right) - 1)
    name = fit_project_path(one_line(row.path), room)
    return Line(
        [
            Segment(name + " " * max(1, room - cells(name) + 1), styles("text")),
            Segment(right, styles("edit" if row.is_odd else "dim")),
        ]
    )


Decision: TypeAlias = Literal["trust", "refuse", "withdraw"]

_ESSENTIAL = 5
"""Lines of the survey that the window must have shown before trust is accepted."""

_TRUST: Choice = ("t", "trust", "decide('trust')")
_LATER: Choice = ("n", "not now", "close")
_NEVER: Choice = ("x", "never ask", "decide('refuse')")
_LEAVE_OFF: Choice = ("x", "leave off", "decide('refuse')")
_READ_ON: Choice = ("space", "read on", "page(1)")
_VIEW: Choice = ("v", "view files", "view")
_WITHDRAW: Choice = ("w", "revoke trust", "decide('withdraw')")
_CLOSE: Choice = ("escape", "close", "close")


class TrustScreen(ReadingScreen[Decision]):
    """Returns the decision about the survey; None means not now, which is also the effect of Enter.
    `problem` is the reason why the trusted files cannot be used."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "t", "decide('trust')", "Trust", id="trust.trust", tooltip="Use its files in their current state"
        ),
        Binding("n", "close", "Not now", id="trust.later", tooltip="Leave inactive; ask next time"),
        Binding(
            "x",
            "decide('refuse')",
            "Never ask",
            id="trust.never",
            tooltip="Leave inactive and do not ask again",
        ),
        Binding("w", "decide('withdraw')", "Revoke trust", id="trust.withdraw", tooltip="Stop using it"),
        Binding("v", "view", "View files", id="trust.view", tooltip="Read the files before deciding"),
    ]
    CSS_PATH = STYLES

    def __init__(self, survey: Survey, project: Path, problem: str = "") -> None:
        super().__init__()
        self._survey = survey
        self._project = project
        self._problem = problem
        self._keys = Choices(self._choices())

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Project trust", id="trust-title"),
            QuestionBody(self._draw, id="trust-body"),
            keys=self._keys,
            id="trust",
        )

    def on_mount(self) -> None:
        self.query_one(DialogTitle).state(describe_survey(self._survey))

    def on_question_body_subject_seen(self) -> None:
        self._keys.offer(self._choices())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "decide":
            return True
        if parameters == ("trust",) and not self.query_one(QuestionBody).is_seen:
            return False
        return any(offered == f"decide({parameters[0]!r})" for _key, _label, offered in self._answers())

    def action_page(self, direction: int) -> None:
        """Scroll by a page; read on from the first line that was passed over."""
        body = self.query_one(QuestionBody)
        if direction > 0 and body.is_unseen_above and body.is_vertical_scroll_end:
            body.jump(body.first_unseen)
        else:
            super().action_page(direction)

    def action_decide(self, decision: Decision) -> None:
        self.dismiss(decision)

    async def action_view(self) -> None:
        from cogency_tui.tui.trust.files import TrustFilesScreen, files_of

        if files := await asyncio.to_thread(files_of, self._survey, self._project):
            app_of(self).push_screen(TrustFilesScreen(files, self._project))

    def _choices(self) -> list[Choice]:
        """The answers and other keys; trust once it is accepted."""
        is_seen = self.is_mounted and self.query_one(QuestionBody).is_seen
        *answers, last = [_READ_ON if each == _TRUST and not is_seen else each for each in self._answers()]
        return [*answers, _VIEW, last]

    def _answers(self) -> list[Choice]:
        match self._survey.state:
            case TrustState.TRUSTED:
                return [*([_TRUST] if _left_off(self._survey) else []), _WITHDRAW, _CLOSE]
            case TrustState.REFUSED:
                return [_TRUST, _CLOSE] if self._survey.digest else [_CLOSE]
            case TrustState.NOTHING:
                return [_CLOSE]
            case TrustState.CHANGED:
                return [*([_TRUST] if self._survey.digest else []), _LATER, _LEAVE_OFF]
            case _:
                # Unusable files cannot be trusted either.
                return [*([_TRUST] if self._survey.digest else []), _LATER, _NEVER]

    def _draw(self, width: int, styles: ThemeStyles) -> Drawing:
        lines = draw_survey(self._survey, self._problem, width, styles)
        commands = len(draw_planned(self._survey, width, styles))
        # They follow the state.
        return Drawing(lines, range(min(len(lines), _ESSENTIAL + commands)))
