"""Undo and redo of what was done in the review; the stack is in the store, so it outlives the program."""

from cogency_tui.agent.preview import Plan
from cogency_tui.agent.review.book import Book, Page
from cogency_tui.agent.review.decisions import applied, reverse
from cogency_tui.agent.review.wishes import looking, tried
from cogency_tui.agent.selection import REDO, UNDO, steps, to_undo
from cogency_tui.errors import UsageError
from cogency_tui.store.reviews import Action, NewAction
from cogency_tui.store.versions import Edit


def next_undo(page: Page) -> Action | None:
    """The action that undo takes back: the last that is in effect."""
    return next((each for each in reversed(page.effective) if each.kind not in ("undo", "redo")), None)


def next_redo(page: Page) -> Action | None:
    """The undo that redo takes back: the last in effect, unless something was done since."""
    done = max((each.id for each in page.actions if each.kind not in ("undo", "redo")), default=0)
    return next((each for each in reversed(page.effective) if each.kind == "undo" and each.id > done), None)


async def undo(book: Book) -> tuple[Action, list[Edit]]:
    """Take back the last action: its changes of files, its marks, its comment. The action, and the edits
    that this made.

    Raises:
        UsageError: there is none.
        WorkspaceError: somebody changed the same lines since; nothing was changed.
    """
    page = await book.page()
    action = next_undo(page)
    if action is None:
        raise UsageError("There is nothing to undo in the review.")
    return action, await _take_back(book, page, action, NewAction("undo", action.path, undoes=action.id))


async def redo(book: Book) -> tuple[Action, list[Edit]]:
    """Take back the last undo, as `undo`; the action that is in effect again."""
    page = await book.page()
    last = next_redo(page)
    if last is None:
        raise UsageError("There is nothing to do again in the review.")
    made = await _take_back(book, page, last, NewAction("redo", last.path, undoes=last.id))
    return next(each for each in page.actions if each.id == last.undoes), made


async def _take_back(book: Book, page: Page, action: Action, reversal: NewAction) -> list[Edit]:
    marks = reverse(action.marks)
    new = NewAction(reversal.kind, reversal.path, action.parts, marks, undoes=action.id)
    chosen = to_undo(page.edits, set(action.edits))
    plan: Plan | None = None
    if chosen:
        tool = UNDO if reversal.kind == "undo" else REDO
        plan = await looking(
            book, lambda contents, blobs: tried(tool, steps(chosen, page.edits), contents, blobs)
        )
    return await applied(book, new, plan)
