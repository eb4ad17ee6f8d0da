"""The dialog of hooks: a line for each in the order in which they run, and the selected one in full."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.hooks.listing import HookStatus, ListedHook
from cogency_tui.protocol.events import HookRun
from cogency_tui.safe_text import clean, one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import duration, plural
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_lines import describe_hook

_NAME = 18
_EVENT = 15
_MARKS = {
    HookStatus.ACTIVE: ("✓", "good"),
    HookStatus.OFF: ("◌", "dim"),
    HookStatus.UNSUPPORTED: ("⊘", "dim"),
    HookStatus.UNTRUSTED: ("?", "edit"),
    HookStatus.INVALID: ("✗", "bad"),
}
_STATES = {
    HookStatus.OFF: "Off",
    HookStatus.UNSUPPORTED: "Does not run",
    HookStatus.UNTRUSTED: "Inactive until you trust it",
    HookStatus.INVALID: "Cannot be used",
}
_NONE = (
    'No hooks. Add one with on = "after_edit" and a command under [hooks.NAME] in the configuration. Those '
    "in ~/.claude/settings.json, and in .claude/settings.json of a project that you trust, run too."
)
_LAST = 4
"""Lines of a hook's last output that are shown."""


def draw_listed(listed: ListedHook, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list: its mark, name, event and command, and its last run, or its state."""
    mark, role = _MARKS[listed.status]
    last = listed.last
    if last is not None and last["state"] != "done":
        mark, role = "!", "edit"
    hook = listed.hook
    whose = hook.owner if hook is not None else "project"
    word = whose if listed.status is HookStatus.ACTIVE else listed.status.value
    right = f"{last['state'] if last is not None else word:>14}"
    name, event = min(_NAME, max(8, width // 4)), _EVENT if width >= 60 else 0
    room = max(1, width - 2 - name - 1 - event - cells(right))
    text = fit(one_line(hook.command if hook is not None else listed.place), room)
    first = (hook.events or (hook.claude_event,))[0] if hook is not None else ""
    more = "…" if hook is not None and len(hook.events) > 1 else ""
    shown = f"{fit(f'{one_line(first)}{more}', event - 1):<{event - 1}} " if event else ""
    return Line(
        [
            Segment(f"{mark} ", styles(role, on)),
            Segment(f"{fit(one_line(listed.name), name):<{name}} ", styles("text", on)),
            Segment(shown, styles("dim", on)),
            Segment(text + " " * (room - cells(text)), styles("text" if hook else "dim", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def draw_hook_note(listed: ListedHook | None, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw its state, its command, what it is for, its place and limit, and its last run."""
    if listed is None:
        return wrap([Segment(_NONE, styles("dim"))], width)
    lines: list[Line] = []
    if listed.status is not HookStatus.ACTIVE:
        _mark, role = _MARKS[listed.status]
        text = f"{_STATES[listed.status]}: {reveal(listed.problem.rstrip('.'))}."
        lines += wrap([Segment(text, styles("text" if role == "dim" else role))], width)
    if listed.hooks:
        lines += wrap([Segment(reveal(", ".join(listed.hooks)), styles("text"))], width)
    hook = listed.hook
    if hook is not None:
        lines += wrap([Segment(reveal(hook.command), styles("text"))], width)
        facts = [", ".join(hook.events) or hook.claude_event]
        facts += [f"for {one_line(hook.is_for_each)}"] if hook.is_for_each else []
        facts += [f"at most {duration(hook.timeout)}", "yours" if hook.owner == "user" else "this project's"]
        facts += ["Claude Code"] if hook.claude_event else []
        lines += wrap([Segment(" · ".join(facts), styles("dim"))], width)
    lines += wrap([Segment(one_line(listed.place), styles("dim"))], width)
    return [*lines, *(_last_run(listed.last, width, styles) if listed.last is not None else [])]


def _last_run(run: HookRun, width: int, styles: ThemeStyles) -> list[Line]:
    ended = describe_hook(run) or "done"
    text = f"Last run ({run['on']}): {ended} · {duration(run['duration'])}"
    lines = wrap([Segment(text, styles("dim" if run["state"] == "done" else "edit"))], width)
    for line in run["output"].strip().splitlines()[:_LAST]:
        lines += wrap([Segment(f"│ {reveal(clean(line))}", styles("dim"))], width)
    return lines


def _count(hooks: Sequence[ListedHook]) -> str:
    """Count the hooks in use, and the files that wait for a decision: `2 in use, 1 file to review`."""
    used = sum(listed.status is HookStatus.ACTIVE for listed in hooks)
    waiting = sum(listed.status is HookStatus.UNTRUSTED for listed in hooks)
    review = f", {plural(waiting, 'file')} to review" if waiting else ""
    return f"{used} in use{review}" if hooks else "none"


class HooksScreen(ListDialog[bool, ListedHook]):
    """Shows `hooks`; answers whether to review what the project brings."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="hooks.close"),
        Binding(
            "enter", "choose", "Review trust", id="hooks.trust", tooltip="Review what the project brings"
        ),
        *list_keys("hooks"),
    ]
    BOX = "-wide"

    def __init__(self, hooks: Sequence[ListedHook]) -> None:
        rows = SelectList(draw_listed, _key_of, id="hooks-list")
        super().__init__("hooks", "Hooks", rows, Note(self._draw_note, id="hooks-note"))
        self._hooks = hooks

    def on_mount(self) -> None:
        self.rows.update_rows(list(self._hooks))
        self.heading.state(_count(self._hooks))
        self.show_selected()

    def note_lines(self, height: int) -> int:
        """A third of the screen, for a command and its output."""
        return max(super().note_lines(height), min(height // 3, 9))

    def choices(self) -> list[Choice]:
        listed = self.rows.row
        review: list[Choice] = []
        if listed is not None and listed.status is HookStatus.UNTRUSTED:
            review.append(("enter", "review trust", "choose"))
        return [*review, ("escape", "close", "close")]

    def action_choose(self) -> None:
        listed = self.rows.row
        if listed is not None and listed.status is HookStatus.UNTRUSTED:
            self.dismiss(True)
        else:
            self.dismiss(None)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_hook_note(self.rows.row, width, styles)


def _key_of(listed: ListedHook) -> str:
    events = listed.hook.events if listed.hook is not None else ()
    return f"{listed.place} {listed.name} {' '.join(events)}"
