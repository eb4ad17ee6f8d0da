"""An inquiry as lines: the question at hand, and its choices with what is chosen so far."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style

from cogency_tui.agent.permissions.gate import Inquiry
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tools.user_questions import UserQuestion
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Drawing
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.questions.question_lines import ENTER, STOP, Reply, Ways, draw_head, words_of
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.answer_lines import draw_choice

PICK, TURN, SEND = "pick", "turn", "send"
"""The keys in a style's meta data: under these, a choice has its number, and a question's name its place; the
third marks the row that sends the answers."""

_MOST_LINES = 6
"""Lines of a question above its choices."""

_NEXT = Reply("tab", "Next question", "select(1)", ("Next",))
SKIP = Reply("n", "Skip", "decline")
_SKIP_SAYING = Reply("r", "Skip, and say why", "reason", ("Say why",))
OWN_WORDS = (
    Reply("enter", "Give this answer", "refuse", ("Answer", "Answer")),
    Reply("escape", "Back", "back"),
)
"""The answers while the user writes an answer in their own words."""

ADDING = (Reply("enter", "Add this answer", "refuse", ("Add", "Add")), OWN_WORDS[1])
"""The same beside other choices: it is one of several."""

REMOVING = (Reply("enter", "Remove this answer", "refuse", ("Remove", "Remove")), OWN_WORDS[1])
"""The same once the user has deleted words that they had given."""

NO_WORDS = (Reply("enter", f"or {key_name('escape')} Back", "refuse"),)
"""The same with no words: there is nothing to give."""

SKIPPING = (
    Reply("enter", "Skip, and say this", "refuse", ("Skip", "Skip")),
    Reply("escape", "Back", "back"),
)
"""The answers while the user writes why they skip."""

ONLY_SKIPPING = (Reply("enter", "Skip", "refuse"), SKIPPING[1])
"""The same with no words: there is nothing to say."""

EnterStep: TypeAlias = Literal["", "answer", "choose", "write", "next", "send"]
"""What Enter does: chooses the row under the cursor, which answers a single question at once; opens the field
for own words; or goes on from an answer. Nothing without either."""

_ENTER: dict[EnterStep, tuple[str, ...]] = {
    "answer": ("Answer",),
    "choose": ("Choose",),
    "write": ("Write an answer", "Write"),
    "next": ("Next question", "Next"),
    "send": ("Send",),
}


class Selection(NamedTuple):
    """What is chosen so far of a question: the numbers of choices from 0, and words of the user's own; or
    that it is `skipped`, and the `reason`. `cursor` is the row under the cursor, -1 for none: that for own
    words is below the choices, and where several may be chosen, that which goes on is the last."""

    chosen: tuple[int, ...] = ()
    words: str = ""
    cursor: int = -1
    skipped: bool = False
    reason: str = ""

    @property
    def is_made(self) -> bool:
        """True if it is an answer."""
        return bool(self.chosen or self.words)

    @property
    def is_settled(self) -> bool:
        """True if nothing is left to decide."""
        return self.is_made or self.skipped

    def answers(self, question: UserQuestion) -> tuple[str, ...]:
        """The answers: labels of choices, then the user's own words."""
        labels = (question.choices[at].label for at in self.chosen)
        return (*labels, *([self.words] if self.words else []))


def draw_inquiry(
    inquiry: Inquiry,
    selections: Sequence[Selection],
    at: int,
    width: int,
    styles: ThemeStyles,
    ways: Ways,
) -> tuple[Drawing, list[int]]:
    """Draw the question at place `at`, and the line at which each of its choices begins, that for own words,
    and what is below them. The subject is the question without the choices."""
    question, selection = inquiry.questions[at], selections[at]
    head = draw_head(words_of(inquiry, question.question), "", inquiry, width, styles, ways)
    # The choices are in sight, however long the question is: its rest is below them.
    at_end = len(head) if len(head) <= _MOST_LINES + 1 else _MOST_LINES
    lines, rest = head[:at_end], head[at_end:]
    if rest:
        lines += wrap([Segment(f"… {len(rest):,} more lines below the answers", styles("dim"))], width)
    if len(inquiry.questions) > 1:
        lines += _draw_names(inquiry, selections, at, width, styles)
    subject = range(len(lines))
    starts: list[int] = []
    for row in range(len(question.choices) + 1):
        starts.append(len(lines))
        lines += _draw_choice(question, selection, row, width, styles)
    if question.several:
        starts.append(len(lines))
        lines.append(_draw_step(inquiry, selections, at, styles))
    starts.append(len(lines))
    lines += [Line([]), *rest] if rest else []
    return Drawing(lines, subject), starts


def _draw_names(
    inquiry: Inquiry, selections: Sequence[Selection], at: int, width: int, styles: ThemeStyles
) -> list[Line]:
    """Draw the names of the questions, those with an answer marked."""
    room = max(8, width // len(inquiry.questions) - 5)
    segments: list[Segment] = []
    for place, (question, selection) in enumerate(zip(inquiry.questions, selections, strict=True)):
        role, attributes = ("text", "bold underline") if place == at else ("dim", "")
        name = f"{fit(one_line(reveal(question.name)), room)}"
        link = Style.from_meta({TURN: place})
        segments += [Segment("   ", styles())] if segments else []
        segments.append(Segment(name, styles(role, attributes=attributes) + link))
        segments += [Segment(" ✓", styles("good") + link)] if selection.is_made else []
        segments += [Segment(" skipped", styles("dim") + link)] if selection.skipped else []
    return wrap(segments, width)


def _draw_step(inquiry: Inquiry, selections: Sequence[Selection], at: int, styles: ThemeStyles) -> Line:
    """Draw the row that goes on from a question with several answers."""
    selection = selections[at]
    is_at = selection.cursor > len(inquiry.questions[at].choices)
    role = "accent" if is_at else "text" if selection.is_settled else "dim"
    label = "Send" if _is_last(selections, at) else "Next question"
    link = Style.from_meta({SEND: True})
    return Line(
        [
            Segment("▸ " if is_at else "  ", styles("accent", attributes="bold") + link),
            Segment(label, styles(role, attributes="bold" if is_at else "") + link),
        ]
    )


def _draw_choice(
    question: UserQuestion, selection: Selection, row: int, width: int, styles: ThemeStyles
) -> list[Line]:
    is_own = row == len(question.choices)
    return draw_choice(
        question,
        row,
        width,
        styles,
        is_chosen=bool(selection.words) if is_own else row in selection.chosen,
        is_at=row == selection.cursor,
        words=selection.words,
        link=Style.from_meta({PICK: row + 1}),
    )


def _is_last(selections: Sequence[Selection], at: int) -> bool:
    """Return whether no other question is left to decide."""
    return all(each.is_settled for place, each in enumerate(selections) if place != at)


def enter_step(inquiry: Inquiry, selections: Sequence[Selection], at: int) -> EnterStep:
    """What Enter does at the question at place `at`. It never chooses and sends with one key, but for the
    only answer to a single question."""
    question, selection = inquiry.questions[at], selections[at]
    own = len(question.choices)
    if selection.cursor == own and not selection.words:
        return "write"
    if 0 <= selection.cursor < own and selection.cursor not in selection.chosen:
        return "choose" if question.several or len(selections) > 1 else "answer"
    if not selection.is_settled:
        return ""
    return "send" if _is_last(selections, at) else "next"


def replies_to(
    inquiry: Inquiry, selections: Sequence[Selection], at: int, *, entered: bool, led: bool
) -> list[Reply]:
    """The keys of the question at place `at`: where the user is `led` to it, since keys go elsewhere, none
    that chooses or goes on."""
    entered = entered and not led
    question, count = inquiry.questions[at], len(selections)
    is_at_choice = 0 <= selections[at].cursor < len(question.choices)
    replies = [] if led else [_choosing(inquiry, question, by_space=entered and is_at_choice)]
    step = enter_step(inquiry, selections, at) if entered else ""
    if step:
        replies.append(_entering(step))
    if count > 1 and step != "next" and not led:
        replies.append(_NEXT if entered else ENTER)
    return [*replies, SKIP, _SKIP_SAYING, STOP]


def widest_replies_to(inquiry: Inquiry) -> list[Reply]:
    """The keys of a question that take the most room: no others of this inquiry need more."""
    choosing = (_choosing(inquiry, question, by_space=True) for question in inquiry.questions)
    widest = max(choosing, key=lambda each: cells(each.head + each.label))
    turning = [_NEXT] if len(inquiry.questions) > 1 else []
    return [widest, _entering("write"), *turning, SKIP, _SKIP_SAYING, STOP]


def _choosing(inquiry: Inquiry, question: UserQuestion, *, by_space: bool) -> Reply:
    """The keys that choose an answer to a question; `by_space`: Space toggles the one under the cursor."""
    last = len(question.choices) + 1
    if question.several and by_space:
        return Reply("space", f"or 1–{last} Toggle", "mark")
    label = "Toggle" if question.several else "Choose" if len(inquiry.questions) > 1 else "Answer"
    return Reply(f"1–{last}", label, "")


def _entering(step: EnterStep) -> Reply:
    """Enter, by what it does."""
    label, *shorter = _ENTER[step]
    return Reply("enter", label, "choose", tuple(shorter))
