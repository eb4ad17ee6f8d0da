"""Carries out the user's decisions in the background, one after the other; the screen stays responsive.

A decision is completed even if the screen is closed in the meantime.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from textual.screen import Screen

from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.model import Outcome, Target
from cogency_tui.agent.review.review import Review
from cogency_tui.errors import CogencyError, LossError, in_words
from cogency_tui.safe_text import one_line
from cogency_tui.store.reviews import ActionKind
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of

_UNDONE: dict[ActionKind, str] = {
    "keep": "Unmarked",
    "revert": "Restored",
    "edit": "Edit undone",
    "comment": "Comment removed",
    "resolve": "Resolution undone",
}
_REDONE: dict[ActionKind, str] = {
    "keep": "Kept",
    "revert": "Reverted",
    "edit": "Edit reapplied",
    "comment": "Comment restored",
    "resolve": "Conflict resolved again",
}

_NAMED = 3
"""Files that are named in a message."""

Work = Callable[[], Awaitable[Outcome | None]]


class Deciding:
    """Acts on `review` for `screen`; `after` receives the outcome of each action, and whether the user is to
    be led to what it affected."""

    def __init__(self, screen: Screen[Any], review: Review, after: Callable[[Outcome, bool], None]) -> None:
        self._screen = screen
        self._review = review
        self._after = after
        review.ask_with(self._confirm)

    def keep(self, targets: Sequence[Target], *, visible: bool = True) -> None:
        """Keep the targets, or restore them after a revert; report what is not `visible`."""

        async def work() -> Outcome:
            outcome = await self._review.keep(*targets)
            if _has_changed_files(outcome):
                kept = "Agent's version restored and kept"
                what = _restored(outcome, kept, deleted="Deleted again, deletion kept")
                self._report(f"{what} (u undo)")
            elif not visible:
                self._report(f"Kept {describe(targets)} (u undo)")
            return outcome

        self._do(work)

    def revert(self, targets: Sequence[Target], *, visible: bool = False) -> None:
        """Revert the targets. If they exceed `visible` hunks, report how much was reverted, and ask
        before that includes the user's own lines.
        """

        async def work() -> Outcome | None:
            is_visible = visible and all(target.hunks for target in targets)
            edited = await self._review.edited(*targets)
            if edited and not is_visible and not await self._agrees(_describe_edited(edited)):
                return None
            try:
                outcome = await self._review.revert(*targets)
            except LossError as exc:
                if not await self._agrees(f"{exc} Revert anyway?"):
                    return None
                outcome = await self._review.revert(*targets, for_good=True)
            if outcome.conflicts:
                self._warn(_describe_conflicts(outcome))
            elif edited or not is_visible:
                also = ", including your edits" if edited else ""
                is_named = all(target.hunks for target in targets) and not visible
                what = f"Reverted {describe(targets)}" if is_named else _with_files("Reverted", outcome)
                self._report(f"{what}{also} (u undo)")
            if outcome.left:
                self._warn(_describe_left(outcome.left))
            return outcome

        self._do(work)

    def revert_last_edit(self, target: Target, what: str) -> None:
        """Revert the last edit of a hunk, named by `what`."""

        async def work() -> Outcome:
            outcome = await self._review.revert_last_edit(target)
            self._report(f"Reverted {what} (u undo)")
            return outcome

        self._do(work)

    def edit(self, target: Target, text: str, seen: str | None, failed: Callable[[], object]) -> None:
        """Replace a hunk, of which the user has `seen` these lines, by others; call `failed` if it stays."""
        self._do(partial(self._review.edit, target, text, seen), failed=failed)

    def comment(self, targets: Sequence[Target], text: str) -> None:
        """Send a comment to the agent: to each file its own."""

        async def work() -> None:
            for target in targets:
                await self._review.comment(target, text)
            where = f" in {len(targets)} files" if len(targets) > 1 else ""
            self._report(f"Comment saved{where}. It will be sent with your next message.")

        self._do(work)

    def settle(self, target: Target, conflict: Obstacle, choices: Sequence[Choice]) -> None:
        """Settle a conflict."""
        self._do(partial(self._review.resolve, target, conflict, choices))

    def undo(self) -> None:
        """Undo the last decision."""

        async def work() -> Outcome:
            kind, outcome = await self._review.undo()
            text = "Reverted again" if kind == "keep" and _has_changed_files(outcome) else _UNDONE[kind]
            text = _restored(outcome, _with_files(text, outcome)) if kind == "revert" else text
            self._report(f"{text} (U redo)")
            return outcome

        self._do(work, follow=True)

    def redo(self) -> None:
        """Redo what was undone."""

        async def work() -> Outcome:
            kind, outcome = await self._review.redo()
            is_restored = kind == "keep" and _has_changed_files(outcome)
            text = _restored(outcome, "Restored again") if is_restored else _REDONE[kind]
            text = _with_files(text, outcome) if kind == "revert" else text
            self._report(f"{text} (u undo)")
            return outcome

        self._do(work, follow=True)

    def _do(self, work: Work, *, follow: bool = False, failed: Callable[[], object] = lambda: None) -> None:
        carry_out = partial(self._carry_out, work, follow, failed)
        app_of(self._screen).run_worker(carry_out, group="review-decide")

    async def _carry_out(self, work: Work, follow: bool, failed: Callable[[], object]) -> None:
        try:
            outcome = await work()
        except CogencyError as exc:
            self._warn(exc.advice)
            outcome = None
        if self._screen.is_attached:
            self._after(outcome or Outcome(), follow)
            if outcome is None:
                failed()

    async def _confirm(self, question: str) -> bool:
        return await self._agrees(f"{question} Continue?")

    async def _agrees(self, question: str) -> bool:
        return bool(await app_of(self._screen).push_screen_wait(Confirmation(question)))

    def _report(self, text: str) -> None:
        # Its keys work only in the review.
        if self._screen.is_attached:
            app_of(self._screen).notify(text, markup=False)

    def _warn(self, text: str) -> None:
        app_of(self._screen).notify(text, severity="warning", markup=False)


def describe(targets: Sequence[Target]) -> str:
    """What a decision about several files is about; a file without hunks counts as one."""
    count = sum(len(target.hunks) or 1 for target in targets)
    return f"{plural(count, 'hunk')} in {plural(len(targets), 'file')}"


def _describe_edited(paths: Sequence[str]) -> str:
    """The question before the user's own lines in these files are reverted."""
    return f"This also reverts your own edits in {in_words([*map(one_line, paths)], _NAMED)}. Revert anyway?"


def _describe_left(paths: Sequence[str]) -> str:
    """The files with changes that were left as the user may have made them."""
    names = in_words([*map(one_line, paths)], _NAMED)
    return f"Not reverted, as you may have made the change: {names}. n on its hunk reverts it."


def _describe_conflicts(outcome: Outcome) -> str:
    """The files that were not reverted."""
    paths = in_words([one_line(each.path) for each in outcome.conflicts], _NAMED)
    held = in_words([*map(one_line, outcome.held)], _NAMED)
    left = f" Also not reverted, because content was moved between them: {held}." if held else ""
    if all(each.merged for each in outcome.conflicts):
        return f"Conflict: the same lines were edited since in {paths}. Resolve at ≠.{left}"
    reverted = "Partly reverted, except" if outcome.edits else "Not reverted:"
    return f"{reverted} {paths}. Resolve at ≠.{left}"


def _has_changed_files(outcome: Outcome) -> bool:
    return any(edit.kind != "snapshot" for edit in outcome.edits)


def _with_files(text: str, outcome: Outcome) -> str:
    """`text` with the number of files that changed, if there are several: one may have changed in part."""
    files = {edit.path for edit in outcome.edits if edit.kind != "snapshot"}
    return f"{text} {plural(len(files), 'file')}" if len(files) > 1 else text


def _restored(outcome: Outcome, text: str, deleted: str = "Deleted again") -> str:
    """`text` for the restoring of changes, `deleted` if that deleted files."""
    return deleted if {edit.kind for edit in outcome.edits} == {"deleted"} else text
