"""A question as lines: one that says what would be done, then the change or the command in full, including
hidden characters.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size

from cogency_tui.agent.permissions.gate import Inquiry, Question, Scope
from cogency_tui.safe_text import fold_blanks, one_line, reveal
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.dialogs import Drawing
from cogency_tui.tui.kit.diff import draw_diff
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.kit.number_format import counted
from cogency_tui.tui.theme_styles import ThemeStyles

AnyQuestion: TypeAlias = Question | Inquiry

_TALL, _END = 16, 3
"""Lines of a text that are shown unchanged; of a longer one, at most its first and as many of its last."""

_HUNKS = re.compile(r"^(?=@@ )", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)", re.DOTALL)


SHORTEST = 2
"""The level of the shortest labels."""


_UPDATED = "File changed since · diff updated"
_STALE = "Continue reports this to the agent, which can read the file again."


class Reply(msgspec.Struct, frozen=True):
    """A possible answer: its key, its label, and its `action`; without a key, a remark beside the answers.

    `shorter` are labels for less room; the last does not describe how far the answer reaches beyond this one
    call, which `reach` does.
    """

    key: str
    label: str
    action: str
    shorter: tuple[str, ...] = ()
    reach: str = ""

    @property
    def head(self) -> str:
        """The key as it is shown, with the space after it."""
        return f"{key_name(self.key)} " if self.key else ""

    def labelled(self, level: int) -> str:
        """The label at a level: 0 is the longest."""
        return [self.label, *self.shorter][min(level, len(self.shorter))]


SMALLEST = Size(20, 6)
"""The smallest window in which a question is readable, with scrolling."""

TOO_SMALL = "Enlarge the window"

LOOK = "look"
"""The meta key of a link to another waiting question: 1 for the next, -1 for the one before."""


class Ways(NamedTuple):
    """Whether a question can be viewed before the one that is shown, and after it."""

    previous: bool = False
    next: bool = False


_VIEWS = {
    Ways(previous=True, next=True): ("view others", "others"),
    Ways(next=True): ("view next", "next"),
    Ways(previous=True): ("view previous", "back"),
}


def draw_question(
    question: Question,
    width: int,
    styles: ThemeStyles,
    *,
    ways: Ways,
    rows: int = _TALL,
    reaches: bool = False,
) -> Drawing:
    """Draw the question, then its exact subject, of which `rows` fit into the window; with `reaches`, how far
    the answers reach, too. `ways` lead to others.
    """
    lines = _draw_head(question, width, styles, ways)
    # The head of a command is no subject: the command is.
    subject = range(0 if _is_named_by_head(question) else len(lines), len(lines))
    for loss in question.losses:
        lines += wrap([Segment(reveal(loss.sentence), styles("bad", attributes="bold"))], width)
        subject = range(subject.start, len(lines))
    if question.updated:
        lines += wrap([Segment(_UPDATED, styles("edit"))], width)
    if question.effect == "stale":
        lines += wrap([Segment(_STALE, styles("dim"))], width)
    if question.explanation:
        lines += wrap([Segment(reveal(question.explanation), styles("dim"))], width)
    if reaches:
        lines += draw_reaches(answers_to(question), width, styles("dim"))
    detail = question.detail.rstrip("\n")
    if not detail:
        return Drawing(lines, subject)
    if question.counts:
        return Drawing([*lines, *draw_change(detail, width, styles)], subject)
    whole = _draw_detail(question, detail, width, styles)
    essence = _summarize(whole, width, styles, rows - len(lines))
    shown = [*lines, *essence]
    subject = range(subject.start, len(shown))
    return Drawing(shown if essence is whole else [*shown, BLANK, *whole], subject)


def draw_reaches(answers: Sequence[Reply], width: int, style: Style) -> list[Line]:
    """Draw how far the answers reach that reach beyond this one call."""
    reaches = (f"{answer.key}: {answer.reach}" for answer in answers if answer.reach)
    return [line for text in reaches for line in wrap([Segment(text, style)], width)]


def draw_change(diff: str, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the changes of a diff, without the headers that name its file, which the question names."""
    return draw_diff(_without_far_context(diff), width, styles)


def _draw_head(question: Question, width: int, styles: ThemeStyles, ways: Ways) -> list[Line]:
    """Draw what would be done, with the counts of a change, and the place among the questions."""
    what, counts = _what(question)
    return draw_head(what, counts, question, width, styles, ways, danger=bool(question.losses))


def draw_head(
    what: str,
    counts: str,
    question: AnyQuestion,
    width: int,
    styles: ThemeStyles,
    ways: Ways,
    *,
    danger: bool = False,
) -> list[Line]:
    """Draw what a question is about, and its place among the questions."""
    mark = Segment("! " if danger else "? ", styles("bad" if danger else "edit", attributes="bold"))
    head = [mark, Segment(what, styles("text", attributes="bold"))]
    if counts:
        head.append(Segment(f"  {counts}", styles("dim")))
    *lines, last = wrap(head, width)
    places = _draw_places(question, styles, ways)
    for place in places:
        if (space := width - width_of([*last.segments, *place])) > 1:
            return [*lines, Line([*last.segments, Segment(" " * space, styles()), *place], last.joint)]
    return [*lines, last, *map(Line, places[-1:])]


def _draw_places(question: AnyQuestion, styles: ThemeStyles, ways: Ways) -> list[list[Segment]]:
    """Draw the place among the questions, with the keys that show the others: from long to short."""
    asked = question.round()
    if not asked.place:
        return []
    noted = " · ".join(filter(None, (asked.place, asked.missing)))
    places = [*_draw_ways(noted, ways, styles), *_draw_ways(asked.place, ways, styles)]
    return places if asked.missing else places[: len(places) // 2]


def _draw_ways(place: str, ways: Ways, styles: ThemeStyles) -> list[list[Segment]]:
    """Draw a place with the keys that it has and their labels, then without keys: a bare one is no help."""
    if not any(ways):
        return [[Segment(place, styles("dim"))]]
    key, dim, step = styles("text"), styles("dim"), 1 if ways.next else -1
    before = [_link("[", -1, key)] if ways.previous else []
    after = [_link("]", 1, key)] if ways.next else []
    keys = [*before, Segment(" or " if all(ways) else "", key), *after]
    labelled = [
        [_link(place + gap, step, dim), *keys, _link(f" {label}", step, dim)]
        for gap, label in zip(("  ", " "), _VIEWS[ways], strict=True)
    ]
    return [*labelled, [_link(place, step, dim)]]


def _link(text: str, step: int, style: Style) -> Segment:
    """A text that shows another question on a click."""
    return Segment(text, style + Style.from_meta({LOOK: step}))


def _is_named_by_head(question: Question) -> bool:
    return question.effect != "command" or not question.detail.strip()


def _what(question: Question) -> tuple[str, str]:
    """What would be done, and the counts of a change."""
    if not _is_named_by_head(question):
        return ("Run this command?" if question.tool == "shell" else f"Run {one_line(question.tool)}?"), ""
    summary = reveal(question.summary)
    if question.effect == "tool":
        return summary, ""
    if question.effect == "changed":
        return f"{one_line(question.tool)} changed files. {summary}", ""
    return summary, counted(*question.counts) if question.counts else ""


def words_of(inquiry: Inquiry, text: str) -> str:
    """A question of the model behind who asks it: no words of the model pass for a permission question."""
    asker = reveal(inquiry.asker or "the agent")
    return f"{asker[:1].upper()}{asker[1:]} asks: {reveal(text)}"


def title_of(question: AnyQuestion) -> str:
    """What would be done, with the counts of a change and the place among the questions, in one line."""
    what = (words_of(question, question.summary),) if isinstance(question, Inquiry) else _what(question)
    parts = [*what, question.round().place]
    return one_line(" · ".join(filter(None, parts)))


def one_line_of(question: AnyQuestion) -> str:
    """What would be done, in one line: of a command as much as there is room for."""
    if isinstance(question, Inquiry):
        return one_line(words_of(question, question.summary))
    detail = "" if _is_named_by_head(question) else question.detail
    return one_line(reveal(f"{_what(question)[0]} {detail}").strip())


def _without_far_context(diff: str) -> str:
    """`diff` with one unchanged line around the changes of each hunk: the changes are what is asked."""
    return "".join(map(_narrowed, _HUNKS.split(diff)))


def _narrowed(hunk: str) -> str:
    """A hunk with one unchanged line before its changes, and one after; other text unchanged."""
    header, *lines = hunk.splitlines(keepends=True)
    found = _HUNK.fullmatch(header)
    changed = [at for at, line in enumerate(lines) if not line.startswith(" ")]
    if found is None or not changed:
        return hunk
    before, after = max(0, changed[0] - 1), max(0, len(lines) - changed[-1] - 2)
    old, olds, new, news = (int(found[at] or 1) for at in range(1, 5))
    cut = before + after
    header = f"@@ -{old + before},{olds - cut} +{new + before},{news - cut} @@{found[5]}"
    return "".join([header, *lines[before : len(lines) - after]])


def _draw_detail(question: Question, detail: str, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the full text, or the changes made."""
    if question.effect == "changed":
        return draw_diff(detail, width, styles)
    mark = "$ " if question.effect == "command" else ""
    parts = fold_blanks(mark + reveal(detail))
    return wrap([Segment(text, styles("dim" if note else "edit")) for text, note in parts], width)


def draw_too_small(width: int, styles: ThemeStyles) -> Drawing:
    """Draw the advice for a window too small for the question; there only a no is accepted."""
    lines = wrap([Segment(f"{TOO_SMALL}.", styles("text"))], width)
    return Drawing(lines, range(len(lines), len(lines) + 1))


def _summarize(whole: list[Line], width: int, styles: ThemeStyles, rows: int) -> list[Line]:
    """Cut a text too long for the window, where it has `rows`, to its beginning and its end."""
    if len(whole) <= _TALL:
        return whole
    ends = max(1, min(_END, (rows - 2) // 2))
    between = len(whole) - 2 * ends
    cut = wrap([Segment(f"… {between} more lines, shown in full below …", styles("dim"))], width)
    return [*whole[:ends], *cut, *whole[-ends:]]


def answers_to(question: Question) -> list[Reply]:
    """The answers to a question: no yes wider than it offers; "always" with the rule that is stored."""
    if question.effect == "changed":
        return [Reply("y", "Keep", "answer(True, 'once')"), *refusals_of(question)]
    if question.effect == "stale":
        return [Reply("y", "Continue", "answer(True, 'once')"), *refusals_of(question)]
    answers = [Reply("y", "Yes", "answer(True, 'once')")]
    if question.turn:
        answers.append(Reply("a", "All edits this turn", "answer(True, 'turn')"))
    if question.grant:
        answers.append(_for_conversation(question))
    if question.pattern:
        answers.append(_always(question))
    return [*answers, *refusals_of(question)]


def _for_conversation(question: Question) -> Reply:
    """The yes for the whole conversation."""
    action, short = "answer(True, 'conversation')", "This conversation"
    if question.turn:
        return Reply("c", "All edits this conversation", action, (short,))
    grant = reveal(question.grant)
    # The grant of a limit has its own span.
    label = grant if question.effect == "money" else _in_this_conversation(grant)
    shorter = (f"Conversation: {grant}", short)
    return Reply("c", label[:1].upper() + label[1:], action, shorter, label)


def _in_this_conversation(grant: str) -> str:
    """`every command in this conversation, until …`."""
    covered, comma, limit = grant.partition(",")
    return f"{covered} in this conversation{comma}{limit}"


def _always(question: Question) -> Reply:
    """The yes with a rule, as it is stored."""
    pattern, label = reveal(question.pattern), f"Always allow {describe_rule(question)}"
    shorter = (f"Always: {pattern}", "Always")
    return Reply("A", label, "answer(True, 'always')", shorter, label)


_RULES = {"write": "writing to", "network": "requests to", "tool": "calls to"}


def describe_rule(question: Question) -> str:
    """What the rule of an "always" allows: `writing to src/**`, `running git status`."""
    return f"{_RULES.get(question.effect, 'running')} {reveal(question.pattern)}"


def describe_grant(question: Question, scope: Scope) -> tuple[str, ...]:
    """What an answer of this scope allows for longer than the turn, from long to short; empty if nothing."""
    if scope == "conversation" and question.grant:
        grant = reveal(question.grant)
        # The grant of a limit has its own span.
        span = "Allowed" if question.effect == "money" else "Allowed in this conversation"
        return f"{span}: {grant}", f"Allowed: {grant}"
    if scope == "always" and question.pattern:
        rule, pattern = describe_rule(question), reveal(question.pattern)
        return f"Always allowed in this project: {rule}", f"Always allowed: {rule}", f"Always: {pattern}"
    return ()


def refusals_of(question: Question) -> list[Reply]:
    """The refusals."""
    if question.effect == "changed":
        return [Reply("n", "Revert", "answer(False, 'once')"), STOP]
    label = "Decline" if question.effect == "stale" else "No"
    return [Reply("n", label, "answer(False, 'once')"), _WHY, STOP]


def answers_unread(question: Question, *, above: bool) -> list[Reply]:
    """The answers in a window that has not yet shown the whole subject of a yes; `above` it is the rest."""
    way = ("up", "Scroll up", _SCROLLING_UP) if above else ("down", "Scroll down", _SCROLLING)
    return [Reply(*way, ("Scroll",)), *refusals_of(question)]


_WHY = Reply("r", "No, and say why", "reason", ("Say why",))

STOP, BACK = Reply("escape", "Stop", "back"), Reply("escape", "Back", "back")
"""Stops the whole turn; goes back to a screen with keys of its own."""

_PREVIOUS = Reply("left_square_bracket", "Previous question", "look(-1)", ("Previous", "Previous"))
_NEXT = Reply("right_square_bracket", "Next question", "look(1)", ("Next", "Next"))


def answers_looking(question: AnyQuestion, place: int) -> list[Reply]:
    """The answers while the waiting question at `place`, from 1, is shown: it cannot be answered before
    `question`."""
    number, _total, waiting, _unasked = question.round()
    remark = Reply("", f"Answer question {number} first", "", (f"Answer {number} first",) * 2)
    return [_PREVIOUS, *([_NEXT] if place < len(waiting) else []), STOP, remark]


def why_no_other(question: AnyQuestion, step: int) -> str:
    """Say why no other question can be viewed after `question`, or before it."""
    if step < 0:
        return "no question before this one waits"
    number, total, _waiting, _unasked = question.round()
    return f"question {number + 1} is not ready" if number < total else "this is the last question"


RETURN = Reply("f6", "to answer", "take_focus")
"""The hint while the focus is elsewhere."""

ENTER = Reply("tab", "to answer", "select(1)")
"""The hint while letters go to a text in the prompt."""

REASONING = (
    Reply("enter", "Decline with this reason", "refuse", ("Decline", "Decline")),
    Reply("escape", "Back", "back"),
)
"""The answers while the user writes a reason for a no."""

ONLY_DECLINING = (Reply("enter", "Decline", "refuse"), REASONING[1])
"""The same with no words: the no has no reason."""

_MORE = Reply("question_mark", "more", "turn_page")
_BACK = Reply("question_mark", "back", "turn_page")
_SCROLLING, _SCROLLING_UP = "scroll(1)", "scroll(-1)"
_SCROLLS = frozenset({_SCROLLING, _SCROLLING_UP})
_NEAREST = frozenset({*_SCROLLS, "answer(True, 'once')", "answer(False, 'once')"})


def first_page(answers: Sequence[Reply], width: int) -> Sequence[Reply]:
    """The answers in one row of `width` cells: all, or those to this one call and the key to the others."""
    near = [answer for answer in answers if answer.action in _NEAREST]
    for page in (answers, [*near, STOP, _MORE]):
        if tight_width(page) <= width:
            return page
    return [*near, _MORE]


def second_page(answers: Sequence[Reply]) -> Sequence[Reply]:
    """The answers that the first page leaves out, and the key back to that."""
    return [*(answer for answer in answers if answer.action not in _NEAREST - _SCROLLS), _BACK]


TIGHT_GAP = 2
"""Cells between two answers where all are in one row."""


def tight_width(answers: Sequence[Reply]) -> int:
    """The cells of the answers in one row, with their shortest labels."""
    sizes = [cells(answer.head + answer.labelled(SHORTEST)) for answer in answers]
    return sum(sizes) + TIGHT_GAP * (len(sizes) - 1)
