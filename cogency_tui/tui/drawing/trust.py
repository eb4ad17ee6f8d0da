"""What a project brings in `.cogency/`, by name and size only, and what trusting it would mean."""

from rich.segment import Segment

from cogency_tui.agent.project_files import FOLDER, Entry
from cogency_tui.agent.server_programs import ABOVE
from cogency_tui.agent.trust import Standing, Survey
from cogency_tui.text import one_line, reveal
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.drawing.lines import BLANK, Line, cells, fit_path, wrap
from cogency_tui.tui.drawing.sizes import size
from cogency_tui.tui.theming import Inks

_SIZE = 12
_MOST = 40
"""Files that are named; there may be hundreds."""

_MEANS = (
    "Trusting it adds its sub-agents, workflows, commands and MCP servers below your own, and a few options, "
    "those of safety only where they are narrower. Servers are programs: they are started here with the next "
    "message, from the files and sources named here; installed packages are not compared. What all of these "
    "do asks like everything else. It can choose no provider, model or key, and allows nothing. When a file "
    "changes, nothing of it is used until you have looked again."
)
_UNUSABLE = "As it is it cannot be trusted, and nothing of it is used."
_STANDINGS = {
    Standing.NOTHING: "There is nothing to trust any more.",
    Standing.UNKNOWN: "Nothing of it is used until you trust it.",
    Standing.CHANGED: "It is not as you trusted it: nothing of it is used until you trust it as it is now.",
    Standing.TRUSTED: "You trust it as it is.",
    Standing.REFUSED: "You said never to ask about it. Nothing of it is used.",
}


def draw_survey(survey: Survey, problem: str, width: int, inks: Inks) -> list[Line]:
    """How it stands, the files, then what trusting means; `problem` is why what is trusted cannot be used."""
    role = "text" if survey.standing in (Standing.TRUSTED, Standing.NOTHING) else "edit"
    standing = _UNUSABLE if survey.problem else _STANDINGS[survey.standing]
    lines = wrap([Segment(standing, inks(role))], width)
    for told in filter(None, (survey.problem, problem)):
        lines += wrap([Segment(f"✗ {reveal(told)}", inks("bad"))], width)
    shown = [*survey.entries[:_MOST]]
    if shown:
        lines.append(BLANK)
    changed = set(survey.changed)
    lines += [_entry(entry, "changed" if entry.name in changed else "", width, inks) for entry in shown]
    gone = [name for name in survey.changed if name not in survey.files]
    lines += [_entry(Entry(name, kind="gone"), "", width, inks) for name in gone[:_MOST]]
    if more := len(survey.entries) - len(shown):
        lines += wrap([Segment(f"… and {plural(more, 'more file')}", inks("dim"))], width)
    for command in survey.unknown:
        text = f"✗ It cannot be told what of the project this starts: {reveal(command)}"
        lines += wrap([Segment(text, inks("edit"))], width)
    if survey.standing is not Standing.TRUSTED and survey.digest:
        lines += [BLANK, *wrap([Segment(_MEANS, inks("dim"))], width)]
    return lines


def describe_survey(survey: Survey) -> str:
    """It in a few words: `3 files, 2.1 kB`."""
    total = sum(entry.size for entry in survey.entries)
    return f"{plural(len(survey.entries), 'file')}, {size(total)}"


def _path_of(entry: Entry) -> str:
    """From the project on."""
    if entry.name.startswith(ABOVE):
        return entry.name.removeprefix(ABOVE)
    return f"{FOLDER}/{entry.name}" if entry.name else FOLDER


def _entry(entry: Entry, mark: str, width: int, inks: Inks) -> Line:
    """A file with its size at the right end, or with what it is instead."""
    said = one_line(entry.kind) if entry.kind else size(entry.size)
    right = f"{mark}  {said}" if mark else said
    right = f"{right:>{_SIZE}}"
    room = max(4, width - cells(right) - 1)
    name = fit_path(one_line(_path_of(entry)), room)
    odd = bool(entry.kind or mark)
    return Line(
        [
            Segment(name + " " * max(1, room - cells(name) + 1), inks("text")),
            Segment(right, inks("edit" if odd else "dim")),
        ]
    )
