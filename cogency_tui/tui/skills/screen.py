"""The dialog of skills: a line for each, and the selected one in full; Enter starts it in the prompt."""

import asyncio
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.widget import Widget

from cogency_tui.agent.project.skill_places import SKILL_FILE
from cogency_tui.agent.project.skills import ListedSkill, SkillState
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.filtered_list_dialog import FilteredListDialog, matches
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import Note
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_NAME = 24
_MARKS = {
    SkillState.ACTIVE: ("✓", "good"),
    SkillState.SHADOWED: ("◌", "dim"),
    SkillState.UNTRUSTED: ("?", "edit"),
    SkillState.CHANGED: ("?", "edit"),
    SkillState.REFUSED: ("■", "dim"),
    SkillState.INVALID: ("✗", "bad"),
    SkillState.LINK: ("→", "dim"),
}
_STATES = {
    SkillState.ACTIVE: "In use",
    SkillState.SHADOWED: "Not used",
    SkillState.UNTRUSTED: "Inactive until you trust it",
    SkillState.CHANGED: "Changed since you trusted it; inactive until you trust it again",
    SkillState.REFUSED: "Inactive. You chose not to be asked again",
    SkillState.INVALID: "Cannot be used",
    SkillState.LINK: "Listed where it leads",
}
_WORDS = {SkillState.UNTRUSTED: "not trusted", SkillState.CHANGED: "changed", SkillState.REFUSED: "refused"}
_NONE = (
    "No skills found. A skill is a directory with a SKILL.md in ~/.config/cogency-tui/skills, "
    "~/.agents/skills or ~/.claude/skills, or in .cogency/skills, .agents/skills or .claude/skills of a "
    "project that you trust."
)


def can_start(listed: ListedSkill) -> bool:
    """Return whether the user can start a skill."""
    return listed.state is SkillState.ACTIVE and listed.skill is not None and listed.skill.file.invocable


def can_view(listed: ListedSkill) -> bool:
    """Return whether the text of a skill can be shown: of a project also one that is not trusted."""
    return listed.skill is not None or (not listed.own and not listed.problem)


def count_skills(skills: Sequence[ListedSkill]) -> str:
    """Count the skills in use, those that wait for a decision, and the rest: `17 in use, 16 to review`."""
    used = sum(skill.state is SkillState.ACTIVE for skill in skills)
    waiting = sum(skill.state in (SkillState.UNTRUSTED, SkillState.CHANGED) for skill in skills)
    shadowed = sum(skill.state is SkillState.SHADOWED for skill in skills)
    invalid = sum(skill.state is SkillState.INVALID for skill in skills)
    others = [(waiting, "to review"), (shadowed, "shadowed"), (invalid, "invalid")]
    counts = [f"{used} in use", *(f"{count} {what}" for count, what in others if count)]
    return ", ".join(counts) if skills else "none"


def _text_of(skill: ListedSkill) -> str:
    """What the filter searches."""
    return f"{skill.name} {skill.description} {skill.place} {skill.state.value}".casefold()


def _begins(name: str, text: str) -> bool:
    return bool(text) and name.casefold().startswith(text)


class SkillAction(NamedTuple):
    """The answer of the dialog: a skill to start, or to review what the project brings."""

    kind: Literal["use", "trust"]
    name: str


def draw_skill(skill: ListedSkill, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list: its mark, name and description, and whose it is, or its state."""
    mark, role = _MARKS[skill.state]
    whose = "user" if skill.own else "project"
    word = whose if skill.state is SkillState.ACTIVE else _WORDS.get(skill.state, skill.state.value)
    right = f"{word:>12}"
    size = min(_NAME, max(8, width // 3))
    room = max(1, width - 2 - size - 1 - cells(right))
    about = skill.problem if skill.state is SkillState.LINK else skill.description or skill.place
    text = fit(one_line(about), room)
    return Line(
        [
            Segment(f"{mark} ", styles(role, on)),
            Segment(f"{fit(one_line(skill.name), size):<{size}} ", styles("text", on)),
            Segment(text + " " * (room - cells(text)), styles("dim", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def draw_skill_note(listed: ListedSkill | None, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw its state with the reason, its description, its place, and what is special about it."""
    if listed is None:
        return []
    _mark, role = _MARKS[listed.state]
    problem = f": {reveal(listed.problem)}" if listed.problem else ""
    role = "text" if listed.state is SkillState.ACTIVE else role
    lines = wrap([Segment(f"{_STATES[listed.state]}{problem}.", styles(role))], width)
    if listed.description:
        lines += wrap([Segment(one_line(listed.description), styles("text"))], width)
    lines += wrap([Segment(one_line(listed.place), styles("dim"))], width)
    if listed.skill is None:
        return lines
    file = listed.skill.file
    if file.hidden:
        lines += wrap([Segment("Only you start it; the model sees it only then.", styles("dim"))], width)
    if not file.invocable:
        lines += wrap([Segment("Only the model starts it.", styles("dim"))], width)
    if file.allowed_tools:
        text = f"allowed-tools: {one_line(file.allowed_tools)}. This grants nothing; calls ask as usual."
        lines += wrap([Segment(text, styles("dim"))], width)
    for name, value in (("Compatibility", file.compatibility), ("License", file.license)):
        if value:
            lines += wrap([Segment(f"{name}: {one_line(value)}", styles("dim"))], width)
    for warning in file.warnings:
        lines += wrap([Segment(f"Against the format: {reveal(warning)}.", styles("edit"))], width)
    return lines


class SkillsScreen(FilteredListDialog[SkillAction, ListedSkill]):
    """Shows `skills`, those in use first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Close", id="skills.close", tooltip="Clear the filter, or close"),
        Binding("enter", "open", "Use", id="skills.use", tooltip="Start it in the prompt"),
        Binding("f2", "view", "View", id="skills.view", tooltip="Show its instructions"),
        *list_keys("skills", without=LETTERS),
    ]
    BOX = "-wide"

    def __init__(self, skills: Sequence[ListedSkill], project: Path) -> None:
        rows = SelectList(draw_skill, attrgetter("place"), id="skills-list")
        super().__init__("skills", "Skills", rows, Note(self._draw_note, id="skills-note"))
        self._skills = sorted(skills, key=lambda skill: skill.state is not SkillState.ACTIVE)
        self._project = project

    def parts(self) -> Iterable[Widget]:
        return [each for each in super().parts() if self._skills or each is not self._field]

    def on_mount(self) -> None:
        self.rows.notice = "No matching skills." if self._skills else _NONE
        self.rows.update_rows(self._skills)
        if self.note is not None:
            self.note.display = bool(self._skills)
        self.heading.state(count_skills(self._skills))
        self.show_selected()

    def show_matching(self, text: str) -> None:
        """Show the skills that match, with an exact name first."""
        found = [skill for skill in self._skills if matches(_text_of(skill), text)]
        found.sort(key=lambda skill: (skill.name.casefold() != text, not _begins(skill.name, text)))
        is_named = bool(found) and found[0].name.casefold() == text
        self.rows.show(found, found[0].place if is_named else self.rows.key)

    def note_lines(self, height: int) -> int:
        """A third of the screen, for the description of a skill."""
        return max(super().note_lines(height), min(height // 3, 8))

    def choices(self) -> list[Choice]:
        skill = self.rows.row
        found: list[Choice] = []
        if skill is not None and can_start(skill):
            found.append(("enter", "use", "open"))
        elif skill is not None and skill.state in (SkillState.UNTRUSTED, SkillState.CHANGED):
            found.append(("enter", "review trust", "open"))
        if skill is not None and can_view(skill):
            found.append(("f2", "view", "view"))
        return [*found, self.closing]

    def action_open(self) -> None:
        self.catch_up()
        skill = self.rows.row
        if skill is not None and can_start(skill):
            self.dismiss(SkillAction("use", skill.name))
        elif skill is not None and skill.state in (SkillState.UNTRUSTED, SkillState.CHANGED):
            self.dismiss(SkillAction("trust", skill.name))

    async def action_view(self) -> None:
        from cogency_tui.tui.kit.text_dialog import TextDialog

        self.catch_up()
        skill = self.rows.row
        if skill is None or not can_view(skill):
            return
        try:
            text = await asyncio.to_thread(self._read, skill)
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        else:
            file = f"{skill.place}/{SKILL_FILE}"
            app_of(self).push_screen(TextDialog("skill-text", f"Skill {skill.name}", file, text))

    def _read(self, skill: ListedSkill) -> str:
        if skill.skill is not None:
            return skill.skill.instructions()
        from cogency_tui.agent.project.file_review import read_for_review

        return read_for_review(self._project, f"{skill.place}/{SKILL_FILE}")

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_skill_note(self.rows.row, width, styles)
