"""Cards of the units other than answers and calls: messages, thoughts, errors, notices, ends of turns."""

from collections.abc import Collection
from datetime import datetime

from rich.segment import Segment
from rich.style import Style

from cogency_tui.protocol.events import CommentPlace
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.keys import draw_key
from cogency_tui.tui.kit.lines import Line, width_of, wrap
from cogency_tui.tui.kit.number_format import dollars, duration, plural, tokens
from cogency_tui.tui.paste_chips import chips_in, image_chips
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.pen import Pen
from cogency_tui.tui.transcript.units import (
    Notice,
    PendingMessage,
    Problem,
    Prose,
    Summarized,
    TurnEnd,
    UserMessage,
)

_NOTICE_LINES = 2
_WITH_TIME = 48
"""Cells of a message from which its time is beside it in any case."""

_LONG, _FIRST, _LAST, _ROW = 30, 8, 3, 80
"""Rows above which a message is folded, its first and last ones that are shown, and characters of a row."""

FOLDED_ROWS = _FIRST + _LAST + 1
"""About as many rows has a folded message."""

REVIEW = "review"
"""The key in a style's meta data under which a link to the review has the id of a call."""


IMAGE = "image"
"""The key in a style's meta data under which the chip of an image has its text."""


def chip_style(chip: str, style: Style) -> Style:
    """The style of the chip of an image, a click on which opens it."""
    return style + Style.from_meta({IMAGE: chip})


def draw_user_message(message: UserMessage, pen: Pen, *, expanded: bool) -> list[Line]:
    """Draw the user's message on a surface of its own, and what of the review was sent with it; a wide one
    has room for its time at the right. Of a long one, such as a paste, the first and the last lines unless it
    is `expanded`."""
    ink, dim = pen.styles("text", "raised", "bold"), pen.styles("dim", "raised")
    chip = pen.styles("accent", "raised", "bold")
    beside = cells(time_of(message, pen.now)) + 2 if pen.width >= _WITH_TIME else 0
    is_folded = not expanded and is_long(message)
    first, more, last = _fold(message.text) if is_folded else (message.text, "", "")
    chips = image_chips(message.images)
    lines = wrap(_with_chips(first, chips, ink, chip), pen.width - beside)
    if is_folded:
        lines.append(Line([Segment(fit(more, pen.width), dim)]))
        lines += wrap(_with_chips(last, chips, ink, chip), pen.width - beside)
    lines += [Line([Segment(fit(each, pen.width), chip_style(each, dim))]) for each in chips_beside(message)]
    if message.reviewed:
        lines.append(Line([Segment(fit(_describe_review(message), pen.width), dim)]))
    if message.until:
        lines.append(Line([Segment(fit(message.until, pen.width), dim)]))
    for each in message.hooks:
        text = f"hook {one_line(each['name'])}  added {plural(each['lines'], 'line')} for the model"
        lines.append(Line([Segment(fit(text, pen.width), dim)]))
    return lines


def draw_pending_message(pending: PendingMessage, pen: Pen) -> list[Line]:
    """Draw a message that is not sent yet, and below it the hook that runs before that."""
    text = fit(f"hook {one_line(pending.hook)}  running", pen.width)
    lines = draw_user_message(pending.message, pen, expanded=False)
    return [*lines, Line([Segment(text, pen.styles("running", "raised"))])]


def chips_beside(message: UserMessage) -> list[str]:
    """The chips of the images that the text of a message does not have, such as those of `@shot.png`."""
    return [chip for chip in image_chips(message.images) if chip not in message.text]


def _with_chips(text: str, chips: Collection[str], ink: Style, chip: Style) -> list[Segment]:
    """A text whose chips of images stand out."""
    pieces, end = list[Segment](), 0
    for start, stop in chips_in(text, chips):
        shown = text[start:stop]
        pieces += [Segment(text[end:start].expandtabs(4), ink), Segment(shown, chip_style(shown, chip))]
        end = stop
    return [*pieces, Segment(text[end:].expandtabs(4), ink)]


def is_long(message: UserMessage) -> bool:
    """Return whether a message is folded to its first and last lines."""
    return message.text.count("\n") + len(message.text) // _ROW > _LONG


def _fold(text: str) -> tuple[str, str, str]:
    """The first lines of a long text, how much follows, and the last lines: what is asked about a paste often
    stands below it."""
    first = "\n".join(text.split("\n", _FIRST)[:_FIRST])[: _FIRST * _ROW]
    last = "\n".join(text.rsplit("\n", _LAST)[-_LAST:])[-_LAST * _ROW :]
    hidden = text.count("\n", len(first), len(text) - len(last)) - 1
    return first, f"… {hidden:,} more line{'s' * (hidden > 1)}" if hidden > 0 else "…", last


def _describe_review(message: UserMessage) -> str:
    """`2 review comments: README.md:1, src/app.py:5`, or only that the model was told of decisions."""
    if not message.comments:
        return "Sent with your review decisions"
    return f"{plural(len(message.comments), 'review comment')}: {', '.join(map(_place, message.comments))}"


def _place(comment: CommentPlace) -> str:
    line = f":{comment['line']}" if comment["line"] else ""
    return one_line(comment["path"]) + line if comment["path"] else "all files"


def time_of(message: UserMessage, now: float) -> str:
    """The time of a message: `14:02` today, else with the date; empty if it is not known."""
    if not message.sent:
        return ""
    date, today = datetime.fromtimestamp(message.sent).astimezone(), datetime.fromtimestamp(now).astimezone()
    return f"{date:%H:%M}" if date.date() == today.date() else f"{date.day} {date:%b %H:%M}"


def draw_thought(thought: Prose, pen: Pen, *, expanded: bool) -> list[Line]:
    """Draw one dim line; with `expanded` the thoughts below it."""
    styles = pen.styles
    took = f" for {duration(thought.ended - thought.started)}" if thought.ended > thought.started else ""
    cut = ", interrupted" if thought.interrupted else ""
    mark = Segment("▾ " if expanded else "▸ ", styles("dim"))
    lines = [Line([mark, Segment(f"Thought{took}{cut}", styles("dim", attributes="italic"))])]
    if expanded:
        body = Segment(thought.text.expandtabs(4), styles("dim"))
        lines += [line.indented(Segment("  ", styles())) for line in wrap([body], pen.width - 2)]
    return lines


def draw_turn_end(end: TurnEnd, pen: Pen) -> list[Line]:
    """Draw the figures of a turn on one line, with the link to the review of its changes, below them what
    the user undid after it, and the key that retries it."""
    undos = [line for text in end.undos for line in wrap([Segment(text, pen.styles("dim"))], pen.width)]
    figures = _facts(end) or end.interrupted
    retry = [_draw_retry(end.retry, pen.styles)] if end.retry else []
    return [*([_draw_figures(end, pen)] if figures or not undos else []), *undos, *retry]


def _draw_figures(end: TurnEnd, pen: Pen) -> Line:
    styles = pen.styles
    is_open = end.changes() and not end.decision
    link = review_link(end.changing_call, pen, pen.review_key or "") if is_open else []
    facts = _facts(end)
    word = _ending(end)
    head = [Segment(f"■ {word}", styles("edit"))] if word else []
    room = pen.width - width_of(head) - width_of(link) - (2 if link else 0)
    while len(facts) > 1 and cells(" · ".join(["", *facts])) > room:
        del facts[1]
    rest = " · ".join([*([""] if head and facts else []), *facts])
    return pen.apart([*head, Segment(fit(rest, room), styles("dim"))], link)


def _ending(end: TurnEnd) -> str:
    """The way in which a turn was cut short; empty if it was not."""
    return "Cut off: the program ended" if end.orphaned else "Interrupted" if end.interrupted else ""


def draw_summarized(summarized: Summarized, pen: Pen) -> Line:
    """Draw a summary as one line, with a rule up to the end."""
    styles = pen.styles
    text = fit(f"◇ {describe_summarized(summarized)}", pen.width - 2)
    rule = "─" * max(0, pen.width - cells(text) - 3)
    return Line(
        [
            Segment(text, styles("text")),
            Segment(" ▸", styles("dim")),
            Segment(f" {rule}" if rule else "", styles("rule")),
        ]
    )


def describe_summarized(summarized: Summarized) -> str:
    """`Summarized 14 messages · 31k → 1.2k tokens`."""
    figures = (
        f" · {tokens(summarized.before)} → {tokens(summarized.after)} tokens" if summarized.after else ""
    )
    return f"Summarized {plural(summarized.messages, 'message')}{figures}"


def describe_turn_end(end: TurnEnd) -> str:
    """The figures of a turn in one line, and what the user undid after it in further ones."""
    figures = " · ".join(filter(None, [_ending(end), *_facts(end)]))
    return "\n".join(filter(None, [figures, *end.undos]))


def review_link(call_id: str, pen: Pen, key: str = "", word: str = "") -> list[Segment]:
    """A link to the review of a call's changes, with the `key` that opens it, or a `word` of its own; nothing
    where the review cannot be opened."""
    if pen.review_key is None:
        return []
    shown = draw_key(key, "review", pen.styles) if key else [Segment(word or "review", pen.styles("dim"))]
    link = Style.from_meta({REVIEW: call_id})
    return [Segment(segment.text, (segment.style or Style()) + link) for segment in shown]


def describe_seconds(end: TurnEnd) -> str:
    """The duration of a turn, in whole seconds from ten on; empty if it is not known."""
    seconds = end.seconds
    return f"{round(seconds)} s" if 10 <= seconds < 59.5 else duration(seconds) if seconds else ""


def describe_changes(end: TurnEnd) -> str:
    """The files and lines that a turn changed, and the decision: `2 files +4 −1, reverted`; empty without any
    files."""
    if not (changes := end.changes()):
        return ""
    added, removed = sum(each.added for each in changes), sum(each.removed for each in changes)
    counts = f" {count_lines(added, removed)}" if added or removed else ""
    return f"{plural(len(changes), 'file')}{counts}{end.decision and f', {end.decision}'}"


def _facts(end: TurnEnd) -> list[str]:
    """The figures that are known."""
    spent, about = end.sent + end.written, "~" if end.estimated else ""
    facts = [
        describe_seconds(end),
        f"{about}{tokens(spent)} tokens" if spent else "",
        f"{about}{dollars(end.cost)}" if end.cost else "",
        describe_changes(end),
    ]
    return [fact for fact in facts if fact]


def count_lines(added: int, removed: int) -> str:
    """`+4 −1`."""
    counts = [f"+{added}"] if added else []
    counts += [f"−{removed}"] if removed else []
    return " ".join(counts) or "no change"


def draw_problem(problem: Problem, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw an error, the next step below it, and the key that retries the turn. Of one that is repeated, the
    first has the next step."""
    if problem.declined:
        lines = _draw_declined(problem, width, styles)
    elif problem.times > 1:
        lines = [_draw_repeated(problem, width, styles)]
    else:
        lines = _draw_first(problem, width, styles)
    return [*lines, _draw_retry(problem.retry, styles)] if problem.retry else lines


def _draw_declined(problem: Problem, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the end of a turn by the user's no: as that to a call, it is no failure."""
    dim = styles("dim")
    first, *more = wrap([Segment(problem.error, dim)], width - 2)
    rest = [*more, *wrap([Segment(problem.hint, dim)], width - 2)]
    return [first.indented(Segment("⊘ ", dim)), *(line.indented(Segment("  ", dim)) for line in rest)]


def _draw_retry(key: str, styles: ThemeStyles) -> Line:
    effect = "continues the turn" if key.startswith("/") else "retry"
    return Line([Segment("  ", styles()), *draw_key(key, effect, styles)])


def _draw_repeated(problem: Problem, width: int, styles: ThemeStyles) -> Line:
    text = fit(one_line(f"Failed again ({problem.times} times): {problem.error}"), width - 2)
    return Line([Segment("✗ ", styles("bad", attributes="bold")), Segment(text, styles("text"))])


def _draw_first(problem: Problem, width: int, styles: ThemeStyles) -> list[Line]:
    where = [Segment(f"{one_line(problem.tool)}: ", styles("bad", attributes="bold"))] if problem.tool else []
    text = wrap([*where, Segment(problem.error, styles("text"))], width - 2)
    lines = [text[0].indented(Segment("✗ ", styles("bad", attributes="bold")))]
    lines += [line.indented(Segment("  ", styles())) for line in text[1:]]
    if problem.hint:
        hint = wrap([Segment(problem.hint, styles("dim"))], width - 4)
        lines.append(hint[0].indented(Segment("  → ", styles("accent"))))
        lines += [line.indented(Segment("    ", styles())) for line in hint[1:]]
    return lines


def draw_notice(notice: Notice, width: int, styles: ThemeStyles, *, expanded: bool) -> list[Line]:
    """Draw a notice: one dim line, or two; with `expanded` all of a longer one, as of a report."""
    mark, dim = Segment("◇ ", styles("dim")), styles("dim")
    lines = _wrap_notice(notice, width, styles)
    if _is_too_long(notice, lines) and not expanded:
        lines = [Line([Segment(_shorten(one_line(notice.text), width - 2), dim)])]
    first, *more = lines
    return [first.indented(mark), *(line.indented(Segment("  ", styles())) for line in more)]


def is_shortened(notice: Notice, width: int, styles: ThemeStyles) -> bool:
    """Return whether a folded notice hides part of its text."""
    return _is_too_long(notice, _wrap_notice(notice, width, styles))


def _is_too_long(notice: Notice, lines: list[Line]) -> bool:
    return len(lines) > _NOTICE_LINES and not notice.report


def _wrap_notice(notice: Notice, width: int, styles: ThemeStyles) -> list[Line]:
    return wrap([Segment(notice.text, styles("dim"))], width - 2)


def _shorten(text: str, width: int) -> str:
    """Fit a notice into `width` cells: a long cause gives way to the decision after it."""
    cause, stop, decision = text.rpartition(". ")
    if cells(text) <= width:
        return text
    if stop and cells(cause) + 3 <= width:
        return f"{cause}. …"
    room = width - cells(decision) - 1
    return f"{fit(cause, room)} {decision}" if room > width // 3 else fit(text, width)
