"""The texts of a diff beside its lines, and the header of the review.

They are heads of hunks, comments, conflicts, and summaries of files without lines.
"""

from collections.abc import Iterator, Mapping, Sequence

from rich.segment import Segment

from cogency_tui.agent.edits.file_history import hook_of
from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.review.conflicts import Choice, Text
from cogency_tui.agent.review.model import ChangedFile, Comment, Fate, Hunk, HunkState, Overview
from cogency_tui.protocol.events import Diagnostic
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.bar import Bar, Part, end_to_end
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.keys import draw_key
from cogency_tui.tui.kit.lines import BLANK, Line, chop, width_of, wrap
from cogency_tui.tui.kit.number_format import counted, plural, size
from cogency_tui.tui.review.hunk_states import (
    FATES,
    GLYPHS,
    ROLES,
    STATES,
    comment_mark,
    file_glyph,
    file_state,
    state_mark,
)
from cogency_tui.tui.review.open_file import OpenFile
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.tui.theme_styles import ThemeStyles

_HOOKS = 24
"""Cells for the names of the hooks that made a hunk."""

_SHOWN = 60
"""Lines of one side of a conflict that are shown."""

_LONGEST_TITLE = 40
"""Cells for the title of a conversation."""

_MOST_PROBLEMS = 8
"""Problems of a hunk that are shown."""

_WHY = {
    "binary": "Binary file not shown.",
    "too large": "File too large to display.",
    "not kept": "Earlier version not saved (file too large).",
    "link": "Symbolic link.",
}


def draw_head(
    hunk: Hunk, nth: int, of: int, fate: Fate | None, width: int, styles: ThemeStyles, *, picked: bool
) -> Line:
    """Draw the line above a hunk: its state, its number, and its fate."""
    outline = hunk.outline
    on = "raised"
    first, end = outline.new if outline.new[0] < outline.new[1] else outline.old
    where = f"line {first + 1}" if end - first < 2 else f"lines {first + 1}–{end}"
    left = [
        Segment("◆ " if picked else " ", styles("accent", on, "bold")),
        *state_mark(hunk.state, styles, on),
        Segment(f"  hunk {nth} of {of}", styles("text", on)),
        Segment(f"  {where}  {counted(outline.added, outline.removed)}", styles("dim", on)),
    ]
    turns = " ".join(str(turn) for turn in hunk.turns)
    right = [Segment(f"turn {turns} ", styles("dim", on))]
    if hooks := hunk.hooks:
        names = ", ".join(map(one_line, hooks))
        also = "" if hunk.is_of_hooks else "also "
        right.insert(0, Segment(f"{also}by hook {fit(names, _HOOKS)}  ", styles("accent", on)))
    if hunk.is_possibly_users:
        right.insert(0, Segment("possibly yours  ", styles("edit", on)))
    if fate is not None:
        right.insert(0, Segment(f"{FATES[fate][0]}  ", styles(FATES[fate][1], on)))
    while right and width_of(left) + width_of(right) >= width:
        right.pop()
    while len(left) > 2 and width_of(left) > width:
        left.pop()
    space = max(0, width - width_of(left) - width_of(right))
    return Line([*left, Segment(" " * space, styles("text", on)), *right])


def draw_comments(comments: Sequence[Comment], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the user's comments to the agent, and whether they were sent."""
    lines: list[Line] = []
    for comment in comments:
        delivery = "sent" if comment.delivered else "sent with your next message"
        segments = [
            Segment(reveal(comment.text), styles("text", attributes="italic")),
            Segment(f"  {delivery}", styles("dim")),
        ]
        bar = Segment(" ¶ ", styles("accent"))
        first, *more = wrap(segments, max(8, width - 4))
        lines += [first.indented(bar), *(line.indented(Segment("   ", styles())) for line in more)]
    return lines


def draw_problems(problems: Sequence[Diagnostic], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the problems that language servers reported with a hunk."""
    lines: list[Line] = []
    for one in problems[:_MOST_PROBLEMS]:
        role = "bad" if one["severity"] == "error" else "edit"
        place = f"{one['path']}:{one['line']}  "
        rule = f"  {one['rule']}" if "rule" in one else ""
        segments = [
            Segment(reveal(place), styles("dim")),
            Segment(reveal(one["message"]), styles("text")),
            Segment(reveal(rule), styles("dim")),
        ]
        mark = Segment(" ✗ " if one["severity"] == "error" else " ! ", styles(role))
        first, *more = wrap(segments, max(8, width - 4))
        lines += [first.indented(mark), *(line.indented(Segment("   ", styles())) for line in more)]
    if (left := len(problems) - _MOST_PROBLEMS) > 0:
        lines.append(Line([Segment(f"   … {plural(left, 'more problem')}", styles("dim"))]))
    return lines


def draw_fold(count: int, width: int, styles: ThemeStyles) -> Line:
    """Draw the line that represents unchanged lines."""
    text = fit(f" ⋯ {plural(count, 'unchanged line')}", width)
    return Line([Segment(text, styles("dim"))], lead=len(text))


def draw_notes(file: ChangedFile, notes: Sequence[str], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the notes beside the lines, and the summary of a file without lines."""
    texts = list(notes)
    if not file.hunks:
        texts = [*_summary(file), *texts]
    lines: list[Line] = []
    for text in texts:
        wrapped = wrap([Segment(reveal(text), styles("dim" if file.hunks else "text"))], max(8, width - 2))
        lines += [line.indented(Segment(" ", styles())) for line in wrapped]
    comments = [comment for comment in file.comments if not comment.hunk]
    lines += draw_comments(comments, width, styles)
    return [*lines, BLANK] if lines else []


def _summary(file: ChangedFile) -> Iterator[str]:
    before, after = (size(count) for count in file.size)
    by = _author(file)
    match file.kind:
        case "created":
            yield f"Created by {by}: {after}."
        case "deleted":
            yield f"Deleted by {by} ({before})."
        case "renamed" if file.size[0] == file.size[1]:
            yield f"Renamed by {by}: {after}."
        case "mode":
            yield f"File mode changed by {by}; the content ({after}) is unchanged."
        case "snapshot":
            yield "No net change: some or all of the agent's edits were reverted."
        case _:
            yield f"Changed by {by}: {before} → {after}."
    if file.no_lines:
        yield _WHY[file.no_lines]


def _author(file: ChangedFile) -> str:
    """Who made the change of a file: hooks, or the agent. A hook that deletes it is the last."""
    edits = file.edits[-1:] if file.kind == "deleted" else file.edits
    hooks = list(dict.fromkeys(map(hook_of, edits)))
    if not hooks or not all(hooks):
        return "the agent"
    return f"the hook {', '.join(map(one_line, hooks))}"


def draw_conflict(
    obstacle: Obstacle, choices: Sequence[Choice | None], by: str, width: int, styles: ThemeStyles
) -> list[Line]:
    """Draw both sides of a conflict, and how it is settled. `by` is the title of the other conversation that
    changed the lines since; empty if no other one alone did."""
    room = max(8, width - 3)
    indent = Segment("   ", styles())

    def sentence(text: str, role: str) -> list[Line]:
        return [line.indented(indent) for line in wrap([Segment(text, styles(role))], room)]

    def option(key: str, text: str, chosen: bool) -> list[Line]:
        mark = Segment("  ✓" if chosen else "", styles("good"))
        return [line.indented(indent) for line in wrap([*draw_key(key, text, styles), mark], room)]

    places = obstacle.merged.conflicts if obstacle.merged else ()
    if not places:
        lines = sentence(_reason(obstacle), "bad")
        back = "delete the file" if _is_created(obstacle) else "restore the version before the agent's edit"
        options = [*option("1", "use the current version", False), *option("2", back, False)]
        return [*lines, *options, BLANK]
    where = f" in “{fit(one_line(by), _LONGEST_TITLE)}”" if by else ""
    lines = sentence(
        f"These lines have changed{where} since the agent's edit. Which version do you want to keep?", "bad"
    )
    for nth, (place, choice) in enumerate(zip(places, choices, strict=True), 1):
        if len(places) > 1:
            lines += sentence(f"Conflict {nth} of {len(places)}", "dim")
        lines += option("1", "current version", choice == "ours")
        lines += _side(place.ours, "good", room, styles)
        lines += option("2", "version before the agent's edit", choice == "theirs")
        lines += _side(place.theirs, "bad", room, styles)
        lines += option("e", "edit by hand", isinstance(choice, Text))
    return [*lines, BLANK]


def _is_created(obstacle: Obstacle) -> bool:
    """Return whether reverting deletes the file, and with it what others have changed in it."""
    return obstacle.theirs.kind == "absent" != obstacle.ours.kind


def _reason(obstacle: Obstacle) -> str:
    if _is_created(obstacle):
        return "This file has changed since the agent created it. Reverting deletes it, with those changes."
    return f"Cannot be reverted: {reveal(obstacle.reason)}."


def _side(data: bytes, role: str, room: int, styles: ThemeStyles) -> list[Line]:
    """Draw the lines of one side, as far as they are readable."""
    if not data:
        return [Line([Segment("     nothing", styles("dim", attributes="italic"))])]
    texts = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    lines: list[Line] = []
    for text in texts[:_SHOWN]:
        shown = reveal(text.removesuffix("\r").expandtabs(4))
        code = chop([Segment(shown, styles("text", "raised"))], max(4, room - 4))
        for line in code:
            rest = Segment(" " * (room - 4 - width_of(line.segments)), styles("text", "raised"))
            head = [Segment("   ", styles()), Segment("▏ ", styles(role, "raised"))]
            lines.append(Line([*head, *line.segments, rest], line.joint, 5))
    if len(texts) > _SHOWN:
        lines.append(Line([Segment(f"     ⋯ {plural(len(texts) - _SHOWN, 'more line')}", styles("dim"))]))
    return lines


def describe_file(file: ChangedFile) -> str:
    """The kind of change, and the former name."""
    if file.old_path:
        return f"renamed from {one_line(file.old_path)}"
    return {"mode": "mode changed", "snapshot": "no net change"}.get(file.kind, file.kind)


_NAME, _ROOM = 12, 34
"""Cells for the path of a file before the number of selected hunks, and with its change before any other
text."""


_OPEN: Sequence[HunkState] = STATES[:2]
"""The states in which there is something to decide."""

_REMARKS: Mapping[State, str] = {"working": "the agent is working", "waiting": "waiting for your answer"}


class ReviewHeader(ScreenHeading):
    """Counts by state, each with its glyph and word; and whether the agent works, or waits for the user."""

    def __init__(self, title: str, *, id: str | None = None) -> None:
        super().__init__("Review", title, id=id)
        self._counts: Mapping[HunkState, int] = {}
        self._comments = 0
        self._state: State = "idle"

    def count(self, overview: Overview) -> None:
        """Show other counts."""
        self._counts = overview.counts
        self._comments = len({id for group in overview.groups for file in group.files for id in file.unsent})
        self.refresh()

    def report_state(self, state: State) -> None:
        """Show another state of the agent."""
        if state != self._state:
            self._state = state
            self.refresh()

    def remarks(self) -> Sequence[str]:
        remark = _REMARKS.get(self._state)
        return (remark,) if remark else ()

    @property
    def essential(self) -> int:
        return len([state for state in _OPEN if self._counts.get(state)])

    def facts(self, room: int) -> list[Part]:
        """The counts; without room for all, those of what is done give way first."""
        states: list[HunkState] = [state for state in STATES if self._counts.get(state)]
        forms = [[self._total(), *self._parts(states, words=words)] for words in (True, False)]
        least = max(1, self.essential)
        forms += [self._parts(states[:count], words=False) for count in range(len(states), least - 1, -1)]
        fitting = (form for form in forms if sum(part.width for part in form) <= room)
        return next(fitting, forms[-1]) if states else []

    def _total(self) -> Part:
        there = sum(count for state, count in self._counts.items() if state != "gone")
        return Part([Segment(plural(there, "hunk"), self.theme_styles("dim", "background"))], "All hunks")

    def _parts(self, states: Sequence[HunkState], *, words: bool) -> list[Part]:
        """The counts of these states, and of the comments that go with the next message."""
        styles = self.theme_styles
        parts = [self._part(state, styles, words=words) for state in states]
        return [*parts, *self._comment_part(styles, words=words)]

    def _comment_part(self, styles: ThemeStyles, *, words: bool) -> list[Part]:
        if not (mark := comment_mark(self._comments)):
            return []
        comments = plural(self._comments, "comment")
        text = f"¶ {comments}" if words else mark
        tooltip = f"{comments} for your next message"
        return [Part([Segment(text, styles("accent", "background"))], tooltip, lead="  ")]

    def _part(self, state: HunkState, styles: ThemeStyles, *, words: bool) -> Part:
        count = self._counts[state]
        text = f"{GLYPHS[state]} {count} {state}" if words else f"{GLYPHS[state]} {count}"
        return Part([Segment(text, styles(ROLES[state], "background"))], f"{count} {state}", lead="  ")


class FileTitle(Bar):
    """The path of a changed file, its kind of change, and its state."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="pane-title")
        self._file: ChangedFile | None = None
        self._open: OpenFile | None = None
        self._focused = False
        self._aside = ""

    def show(self, file: ChangedFile | None, opened: OpenFile | None, aside: str) -> None:
        """Show another file, and the remark beside it."""
        self._file, self._open, self._aside = file, opened, aside
        self.refresh()

    def light(self, focused: bool) -> None:
        """Show whether the diff has the focus."""
        self._focused = focused
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        styles, file = self.theme_styles, self._file
        margin = Segment("  ", styles())
        if file is None:
            return [margin, Segment("Diff", styles("accent" if self._focused else "dim", attributes="bold"))]
        facts = "  ".join(filter(None, (describe_file(file), counted(file.added, file.removed))))
        glyph = Segment(f"{file_glyph(file)} ", styles(ROLES[file.state]))
        right = [glyph, *file_state(file, styles, "surface"), margin]
        fate = self._fate()
        for text, role, least in ((self._aside, "accent", _NAME), (fate, "dim", _ROOM)):
            more = Segment(f"{text}  " if text else "", styles(role))
            if width_of([more, *right]) + least <= width:
                right = [more, *right]
        room = width - width_of(right) - 3
        path = fit_path(one_line(file.path), max(8, room - 2))
        name = Segment(path, styles("accent" if self._focused else "text", attributes="bold"))
        left = [margin, name]
        if width_of(left) + cells(facts) + 2 <= room:
            left.append(Segment(f"  {facts}", styles("dim")))
        return end_to_end(left, right, width, styles, "surface")

    def _fate(self) -> str:
        """The common fate of all hunks, if there is one."""
        if self._open is None:
            return ""
        there = [hunk.id for hunk in self._open.hunks if hunk.state not in ("reverted", "gone")]
        fates: set[Fate] = {fate.fate for id, fate in self._open.fates.items() if id in there}
        if not fates:
            return ""
        return FATES[fates.pop()][0] if len(fates) == 1 else "partly edited since"
