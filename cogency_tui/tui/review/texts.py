"""What is said in a diff beside its lines: heads of hunks, comments, conflicts, and summaries of what has no
lines."""

from collections.abc import Iterator, Sequence

from rich.segment import Segment

from cogency_tui.agent.reversal import Obstacle
from cogency_tui.agent.review.conflicts import Choice, Text
from cogency_tui.agent.review.model import ChangedFile, Comment, Fate, Hunk
from cogency_tui.text import one_line, reveal
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.drawing.lines import BLANK, Line, chop, fit, width_of, wrap
from cogency_tui.tui.drawing.sizes import size
from cogency_tui.tui.review.states import FATES, counted, state_mark
from cogency_tui.tui.theming import Inks

_SHOWN = 60
"""Lines of one side of a conflict that are shown."""

_WHY = {
    "binary": "It is no text: there are no lines to show.",
    "too large": "It is too large for its lines to be shown.",
    "not kept": "It was too large to be kept: what it held is not known any more.",
    "link": "It is a symbolic link: there are no lines to show.",
}


def draw_head(
    hunk: Hunk, nth: int, of: int, fate: Fate | None, width: int, inks: Inks, *, picked: bool
) -> Line:
    """The line above a hunk: its state, which it is, and what became of it."""
    outline = hunk.outline
    on = "raised"
    first, end = outline.new if outline.new[0] < outline.new[1] else outline.old
    where = f"line {first + 1}" if end - first < 2 else f"lines {first + 1}–{end}"
    left = [
        Segment("◆ " if picked else " ", inks("accent", on, "bold")),
        *state_mark(hunk.state, inks, on),
        Segment(f"  hunk {nth} of {of}", inks("text", on)),
        Segment(f"  {where}  {counted(outline.added, outline.removed)}", inks("dim", on)),
    ]
    turns = " ".join(str(turn) for turn in hunk.turns)
    right = [Segment(f"turn {turns} ", inks("dim", on))]
    if fate is not None:
        right.insert(0, Segment(f"{fate}  ", inks(FATES[fate], on)))
    while right and width_of(left) + width_of(right) >= width:
        right.pop()
    while len(left) > 2 and width_of(left) > width:
        left.pop()
    space = max(0, width - width_of(left) - width_of(right))
    return Line([*left, Segment(" " * space, inks("text", on)), *right])


def draw_comments(comments: Sequence[Comment], width: int, inks: Inks) -> list[Line]:
    """What the person wrote to the agent, and whether it was told."""
    lines: list[Line] = []
    for comment in comments:
        told = "told" if comment.told else "is told with your next message"
        said = [
            Segment(reveal(comment.text), inks("text", attributes="italic")),
            Segment(f"  {told}", inks("dim")),
        ]
        bar = Segment(" ¶ ", inks("accent"))
        first, *more = wrap(said, max(8, width - 4))
        lines += [first.indented(bar), *(line.indented(Segment("   ", inks())) for line in more)]
    return lines


def draw_fold(count: int, width: int, inks: Inks) -> Line:
    """Stands for unchanged lines."""
    text = fit(f" ⋯ {plural(count, 'unchanged line')}", width)
    return Line([Segment(text, inks("dim"))], lead=len(text))


def draw_notes(file: ChangedFile, notes: Sequence[str], width: int, inks: Inks) -> list[Line]:
    """What lines do not say, and all there is to say of what has none."""
    said = list(notes)
    if not file.hunks:
        said = [*_summary(file), *said]
    lines: list[Line] = []
    for text in said:
        wrapped = wrap([Segment(reveal(text), inks("dim" if file.hunks else "text"))], max(8, width - 2))
        lines += [line.indented(Segment(" ", inks())) for line in wrapped]
    comments = [comment for comment in file.comments if not comment.hunk]
    lines += draw_comments(comments, width, inks)
    return [*lines, BLANK] if lines else []


def _summary(file: ChangedFile) -> Iterator[str]:
    before, after = (size(count) for count in file.size)
    match file.kind:
        case "created":
            yield f"The agent created it: {after}."
        case "deleted":
            yield f"The agent deleted it: it had {before}."
        case "renamed" if file.size[0] == file.size[1]:
            yield f"The agent renamed it: {after}."
        case "mode":
            yield f"The agent changed who may do what with it; what it holds ({after}) stayed."
        case _:
            yield f"The agent changed it: it had {before}, and came to {after}."
    if file.no_lines:
        yield _WHY[file.no_lines]


def draw_conflict(obstacle: Obstacle, choices: Sequence[Choice | None], width: int, inks: Inks) -> list[Line]:
    """Both sides of a conflict, and how it is settled."""
    room = max(8, width - 3)
    indent = Segment("   ", inks())

    def sentence(text: str, role: str) -> list[Line]:
        return [line.indented(indent) for line in wrap([Segment(text, inks(role))], room)]

    places = obstacle.merged.conflicts if obstacle.merged else ()
    if not places:
        lines = sentence(f"It cannot be taken back: {reveal(obstacle.reason)}.", "bad")
        return [*lines, _option("1", "leave what is there now", False, inks), _back(inks), BLANK]
    lines = sentence("Somebody changed these lines since. What is to stand there?", "bad")
    for nth, (place, choice) in enumerate(zip(places, choices, strict=True), 1):
        if len(places) > 1:
            lines += sentence(f"Place {nth} of {len(places)}", "dim")
        lines.append(_option("1", "what is there now", choice == "ours", inks))
        lines += _side(place.ours, "good", room, inks)
        lines.append(_option("2", "what was there before the agent", choice == "theirs", inks))
        lines += _side(place.theirs, "bad", room, inks)
        lines.append(_option("e", "lines of your own", isinstance(choice, Text), inks))
    return [*lines, BLANK]


def _option(key: str, text: str, chosen: bool, inks: Inks) -> Line:
    mark = Segment("  ✓" if chosen else "", inks("good"))
    return Line([Segment(f"   {key} ", inks("accent", attributes="bold")), Segment(text, inks("text")), mark])


def _back(inks: Inks) -> Line:
    return _option("2", "put back what was there before the agent", False, inks)


def _side(data: bytes, role: str, room: int, inks: Inks) -> list[Line]:
    """The lines of one side, as they can be read."""
    if not data:
        return [Line([Segment("     nothing", inks("dim", attributes="italic"))])]
    texts = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    lines: list[Line] = []
    for text in texts[:_SHOWN]:
        shown = reveal(text.removesuffix("\r").expandtabs(4))
        code = chop([Segment(shown, inks("text", "raised"))], max(4, room - 4))
        for line in code:
            rest = Segment(" " * (room - 4 - width_of(line.segments)), inks("text", "raised"))
            head = [Segment("   ", inks()), Segment("▏ ", inks(role, "raised"))]
            lines.append(Line([*head, *line.segments, rest], line.joint, 5))
    if len(texts) > _SHOWN:
        lines.append(Line([Segment(f"     ⋯ {plural(len(texts) - _SHOWN, 'more line')}", inks("dim"))]))
    return lines


def describe_file(file: ChangedFile) -> str:
    """Its kind, and what it was called."""
    if file.old_path:
        return f"renamed from {one_line(file.old_path)}"
    return {"mode": "mode changed"}.get(file.kind, file.kind)
