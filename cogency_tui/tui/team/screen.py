"""The dialog that asks whether and with whom to share a project, and ends that.

Invariant: only a key of its own shares anything, never Enter, and not before the window has shown what is
sent.
"""

from collections.abc import Iterable
from time import monotonic, time
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from cogency_tui.safe_text import one_line
from cogency_tui.team.local_state import AUDIENCES, Audience, Share
from cogency_tui.team.sharing import NEVER_SENT, SENT, Terms, counted
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.dialogs import SHORT, Choice, Drawing, QuestionBody
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog
from cogency_tui.tui.kit.number_format import when
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

PAUSE = 0.8
"""Seconds before the dialog takes an answer: earlier keys are meant for the prompt."""

Answer: TypeAlias = Literal["share", "never", "end", "withdraw"]

_NAME = max(map(len, AUDIENCES))
_ENDS = (
    "Ending it either withdraws what is there or leaves it. Copies that others have pulled stay with them."
)
_READ_ON: Choice = ("space", "read on", "read(1)")
_NOT_NOW: Choice = ("n", "not now", "close")
_NEVER: Choice = ("x", "never for this project", "answer('never')")
_WITHDRAW: Choice = ("w", "end and withdraw", "answer('withdraw')")
_WITHDRAW_LEFT: Choice = ("w", "withdraw those", "answer('withdraw')")
_END: Choice = ("e", "end and leave", "answer('end')")
_CLOSE: Choice = ("escape", "close", "close")
_SHORTER = {
    "never for this project": "never",
    "end and withdraw": "withdraw",
    "withdraw those": "withdraw",
    "end and leave": "end",
}
"""Labels where the dialog is narrow."""

_NARROW = 80


class Decision(NamedTuple):
    """What the user wants, and for whom."""

    answer: Answer
    audience: Audience = "project"


class _Row(NamedTuple):
    audience: Audience
    meaning: str
    current: bool


def _key_of(row: _Row | Heading) -> str | None:
    return row.audience if isinstance(row, _Row) else None


class ShareScreen(ListDialog["Decision | None", "_Row | Heading"]):
    """Asks about `terms`, or shows the `share` in force; None means not now. A project that `is_private` is
    shared no longer, but what was sent before can be withdrawn. `refusal` says why the database does not
    accept it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('share')", "Share", id="share.yes", tooltip="Share it with the selected ones"),
        Binding("n,escape,q", "close", "Not now", id="share.close", tooltip="Change nothing"),
        Binding(
            "x",
            "answer('never')",
            "Never for this project",
            id="share.never",
            tooltip="Do not share it, and do not offer it again",
        ),
        Binding(
            "w",
            "answer('withdraw')",
            "End and withdraw",
            id="share.withdraw",
            tooltip="Share it no longer, and remove its conversations there",
        ),
        Binding(
            "e",
            "answer('end')",
            "End and leave",
            id="share.end",
            tooltip="Share it no longer, and leave what is there",
        ),
        Binding("space,pagedown", "read(1)", "Read on", show=False, id="share.read"),
        Binding("pageup", "read(-1)", "Read back", show=False, id="share.read_back"),
        *list_keys("share", ("pageup", "pagedown")),
    ]

    def __init__(
        self, terms: Terms, share: Share | None, *, is_private: bool = False, refusal: str = ""
    ) -> None:
        rows = SelectList(self._draw_row, _key_of, id="share-list")
        super().__init__("share", "Sharing", rows)
        self._terms = terms
        self._share = share
        self._is_private = is_private
        self._refusal = refusal
        self._body = QuestionBody(self._draw, id="share-body")
        self._shown = monotonic()

    def parts(self) -> Iterable[Widget]:
        return [self._body] if self._is_private else [self._body, self.rows]

    def on_mount(self) -> None:
        self._shown = monotonic()
        present = self._share.audience if self._share else None
        found = [_Row(audience, meaning, audience == present) for audience, meaning in AUDIENCES.items()]
        rows = [Heading("Seen by"), *found]
        self.rows.styles.height = len(rows)
        self.rows.show(rows, present or "project")
        state = "private" if self._is_private else f"shared: {present}" if present else "not shared"
        self.heading.state(state)
        self.show_selected()

    def on_resize(self, event: events.Resize) -> None:
        self.rows.styles.margin = (0 if event.size.height < SHORT else 1, 0, 0, 0)
        self._body.forget()
        self.call_after_refresh(self.show_selected)

    def on_question_body_subject_seen(self) -> None:
        self.show_selected()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "answer":
            return True
        return any(offered == f"answer({parameters[0]!r})" for _key, _label, offered in self.choices())

    def action_answer(self, answer: Answer) -> None:
        if monotonic() - self._shown < PAUSE:
            return
        row = self.rows.row
        self.dismiss(Decision(answer, row.audience) if isinstance(row, _Row) else Decision(answer))

    def action_read(self, direction: int) -> None:
        self._body.jump(self._body.scroll_offset.y + direction * max(1, self._body.page - 1))

    def choices(self) -> list[Choice]:
        if self.size.width >= _NARROW:
            return self._choices()
        return [(key, _SHORTER.get(label, label), action) for key, label, action in self._choices()]

    def _choices(self) -> list[Choice]:
        row = self.rows.row
        is_other = not self._is_private and isinstance(row, _Row) and not row.current
        label = "change" if self._share else "share"
        if not self._body.is_seen:
            return [_READ_ON, *([_CLOSE] if self._share else [_NEVER, _NOT_NOW])]
        left = [_WITHDRAW_LEFT] if self._terms.left else []
        last = [_WITHDRAW, _END, _CLOSE] if self._share else [_NEVER, *left, _NOT_NOW]
        return [("y", label, "answer('share')"), *last] if is_other else last

    def _draw(self, width: int, styles: ThemeStyles) -> Drawing:
        lines: list[Line] = []
        for at, (text, role) in enumerate(self._paragraphs()):
            lines += [*([BLANK] if at else []), *wrap([Segment(one_line(text), styles(role))], width)]
        return Drawing(lines, range(len(lines)))

    def _paragraphs(self) -> Iterable[tuple[str, str]]:
        """The texts, each with its role."""
        if self._share is None:
            yield self._terms.words, "text"
            if self._terms.left:
                yield f"{counted(self._terms.left)} of before can still be seen there.", "edit"
        else:
            yield from self._state_of(self._share)
        if staying := self._terms.staying.words:
            yield staying, "edit"
        if not self._is_private:
            yield SENT, "text"
            yield NEVER_SENT, "text"
        if self._share is not None:
            yield _ENDS, "dim"

    def _state_of(self, share: Share) -> Iterable[tuple[str, str]]:
        """How the project is shared, or was until it became private."""
        terms, since = self._terms, when(share.since, time())
        there = f"as {share.name!r} in {terms.database} since {since}"
        if self._is_private:
            yield f"Conversations of {terms.project} were shared {there}.", "text"
            yield "The project is private now (history.private): nothing more is sent.", "edit"
        else:
            count = f"{counted(terms.count)} now, and all later ones."
            yield f"All conversations of {terms.project} are shared {there}: {count}", "text"
            if self._refusal:
                yield self._refusal, "edit"

    def _draw_row(self, row: _Row | Heading, width: int, styles: ThemeStyles, on: str) -> Line:
        if isinstance(row, Heading):
            return Line([Segment(row.text, styles("dim", on))])
        name = row.audience.ljust(_NAME + 2)
        return Line(
            [
                Segment("● " if row.current else "  ", styles("accent", on)),
                Segment(name, styles("text", on, "bold" if row.current else "")),
                Segment(fit(row.meaning, width - _NAME - 4), styles("dim", on)),
            ]
        )
