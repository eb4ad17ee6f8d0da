"""`/doctor`: what the checks of the installation found, as they find it."""

from collections.abc import AsyncIterator, Callable
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.agent.doctor import MARKS, Finding
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.dialogs import Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_ROLES = {"ok": "good", "note": "dim", "bad": "bad"}
_NAME = 16


class DoctorScreen(ReadingScreen[None]):
    """Shows the findings of `check` as they arrive."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", id="doctor.copy", tooltip="Copy the report")
    ]

    def __init__(self, check: Callable[[], AsyncIterator[Finding]]) -> None:
        super().__init__()
        self._check = check
        self._findings: list[Finding] = []

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Doctor", id="doctor-title"),
            DialogBody(self._draw, id="doctor-body"),
            keys=Choices([("y", "copy", "copy"), ("escape", "close", "close")]),
            id="doctor",
        )

    def on_mount(self) -> None:
        self.query_one(DialogTitle).state("Checking …")
        self.run_worker(self._run, group="doctor", exclusive=True)

    async def _run(self) -> None:
        async for finding in self._check():
            self._findings.append(finding)
            self.query_one(DialogBody).redraw()
        bad = sum(each.state == "bad" for each in self._findings)
        self.query_one(DialogTitle).state(plural(bad, "problem") if bad else "no problems")

    def action_copy(self) -> None:
        report = (
            f"{MARKS[each.state]} {each.name}: {each.what} {each.advice}".rstrip() for each in self._findings
        )
        app_of(self).copy_to_clipboard("\n".join(report))

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        lines = [line for each in self._findings for line in _draw_finding(each, width, styles)]
        return lines or wrap([Segment("Checking the installation …", styles("dim"))], width)


def _draw_finding(finding: Finding, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the mark, the name and what was found, and below it the next step."""
    role = _ROLES[finding.state]
    texts = [(finding.what, "bad" if finding.state == "bad" else "text")]
    texts += [(f"→ {finding.advice}", "dim")] if finding.advice else []
    lines = [
        line
        for text, color in texts
        for line in wrap([Segment(one_line(text), styles(color))], max(8, width - 2 - _NAME))
    ]
    head = f"{finding.name:<{_NAME}}"
    first, *more = lines
    start = Segment(f"{MARKS[finding.state]} {head}", styles(role))
    blank = Segment(" " * (2 + _NAME), styles())
    return [first.indented(start), *(line.indented(blank) for line in more)]
