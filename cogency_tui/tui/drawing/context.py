"""What fills a context: a bar of the whole, a table with a part a line, and what instructs the model."""

from rich.segment import Segment

from cogency_tui.agent.instructions import LONGEST, Instructions, Source
from cogency_tui.store.summaries import Summary
from cogency_tui.text import one_line, reveal
from cogency_tui.tui.drawing.figures import percent, plural, tokens, when
from cogency_tui.tui.drawing.lines import BLANK, Line, cells, fit, fit_path, wrap
from cogency_tui.tui.drawing.sizes import size
from cogency_tui.tui.inquiry import Contents
from cogency_tui.tui.theming import Inks

_NAME = 15
_FIGURES = 16
_WIDEST = 48
_NAMED = 6


def draw_contents(contents: Contents, width: int, inks: Inks, now: float) -> list[Line]:
    """The table, and what there is of a summary below it."""
    whole, used = contents.size, contents.used
    of = f" of {tokens(whole)}" if whole else ""
    head = f"About {tokens(used)}{of} tokens of {one_line(contents.model)}"
    lines = wrap([Segment(head, inks("text"))], width)
    if whole:
        lines.append(_meter(used, whole, width, inks))
    lines += [BLANK, _heading(width, inks)]
    lines += [_row(part.name, part.tokens, used, width, inks) for part in contents.parts]
    if not whole:
        unknown = "How much this model's context holds is not known; context_size under its provider says it."
        lines += [BLANK, *wrap([Segment(unknown, inks("dim"))], width)]
    elif used > whole:
        lines += [
            BLANK,
            *wrap([Segment("It is more than fits. /compact summarises it.", inks("bad"))], width),
        ]
    if contents.instructions is not None:
        lines += _instructions(contents.instructions, width, inks)
    lines += [BLANK, *wrap([Segment(_describe(contents.summary, now), inks("dim"))], width)]
    return [
        *lines,
        *wrap([Segment("~ estimated, by what the provider has counted so far", inks("dim"))], width),
    ]


def _instructions(instructions: Instructions, width: int, inks: Inks) -> list[Line]:
    """Each file that instructs the model, with whose it is and its size, and those that cannot be read."""
    rows = [_source(source, width, inks) for source in instructions.sources]
    nested = [one_line(path) for path in instructions.nested]
    if nested:
        more = f", and {len(nested) - _NAMED} more" if len(nested) > _NAMED else ""
        told = f"Named to it, to be read before a change there: {', '.join(nested[:_NAMED])}{more}"
        rows += wrap([Segment(told, inks("dim"))], width)
    for problem in instructions.problems:
        rows += wrap([Segment(f"✗ {reveal(problem)}", inks("bad"))], width)
    if not rows:
        return []
    return [BLANK, Line([Segment("Instructions in force", inks("accent", attributes="bold"))]), *rows]


def _source(source: Source, width: int, inks: Inks) -> Line:
    cut = f", the first {size(LONGEST)} read" if source.size > LONGEST else ""
    right = f"{'yours' if source.own else 'of the project'}, {size(source.size)}{cut}"
    room = max(4, width - cells(right) - 2)
    path = fit_path(one_line(source.path), room)
    return Line(
        [
            Segment(path + " " * (room - cells(path) + 2), inks("text")),
            Segment(fit(right, width - room - 2), inks("edit" if cut else "dim")),
        ]
    )


def describe_author(summary: Summary, now: float) -> str:
    """Who wrote a summary, and when."""
    edited = ", edited by you" if summary.edited else ""
    return f"by {one_line(summary.model)}, {when(summary.created, now)}{edited}"


def _describe(summary: Summary | None, now: float) -> str:
    if summary is None:
        return "No summary stands for any part of it. /compact makes one."
    length = plural(len(summary.text.split()), "word")
    return f"A summary of {length} stands for what was before it: {describe_author(summary, now)}."


def _meter(used: int, whole: int, width: int, inks: Inks) -> Line:
    """How much of the whole context is used and free, as a bar and in words."""
    share = used / whole
    words = f"  {percent(share)} used, ~{tokens(max(0, whole - used))} free"
    room = max(0, min(_WIDEST, width - cells(words)))
    full = min(room, max(1, round(share * room)))
    role = "accent" if share < 0.75 else "edit" if share < 0.9 else "bad"
    return Line(
        [
            Segment("▓" * full, inks(role)),
            Segment("░" * (room - full), inks("dim")),
            Segment(words, inks("text")),
        ]
    )


def _heading(width: int, inks: Inks) -> Line:
    room = _bar_room(width)
    return Line([Segment(" " * (_NAME + room) + f"{'tokens':>8}{'share':>8}", inks("dim"))])


def _row(name: str, count: int, used: int, width: int, inks: Inks) -> Line:
    """A part; its bar and share are of what is used."""
    share = count / used if used else 0.0
    room = _bar_room(width)
    full = min(room, max(1, round(share * room))) if count else 0
    label = one_line(name)
    return Line(
        [
            Segment(label + " " * max(1, _NAME - cells(label)), inks("text")),
            Segment("▓" * full, inks("accent")),
            Segment(" " * (room - full), inks()),
            Segment(f"{'~' + tokens(count):>8}{percent(share):>8}", inks("dim")),
        ]
    )


def _bar_room(width: int) -> int:
    return max(0, min(_WIDEST, width - _NAME - _FIGURES))
