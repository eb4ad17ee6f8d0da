"""What the recall screen says of a search: chips for its terms, how many were found, why there is nothing."""

from collections.abc import Sequence

from cogency_tui.agent.recall import Where
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.recall.filters import filters_in
from cogency_tui.tui.recall.search_bar import Chip
from cogency_tui.tui.recall.searching import Asked

_PLACES: dict[Where, str] = {"project": "this project", "everywhere": "everywhere", "trash": "trash"}


def wider(where: Where) -> Where:
    """Where is looked when the chip of `where` is taken away."""
    return "project" if where == "trash" else "everywhere"


def chips_of(asked: Asked, problems: Sequence[str]) -> list[Chip]:
    """Where is looked, in which order, and which filters were understood, or (`problems`) were not."""
    where = asked.where
    action = "" if where == "everywhere" else f"scope({wider(where)!r})"
    chips = [Chip(_PLACES[where], "Where is looked; F2 changes it", action)]
    if asked.order == "best":
        chips.append(Chip("best first", "In which order; F3 changes it", "order"))
    for each in filters_in(asked.text):
        chips.append(Chip(each.text, "A filter; a click takes it away", f"drop({each.start})"))
    return [*chips, *(Chip(problem, "Taken as text to look for", trouble=True) for problem in problems)]


def count_of(found: int, total: int | None, *, complete: bool) -> str:
    """How many conversations there are: those `found`, or `total` where that is known."""
    if complete:
        return plural(found, "conversation")
    return f"{found:,}+ conversations" if total is None else f"{max(found, total):,} conversations"


def nothing_in(asked: Asked) -> str:
    """Why there is nothing to be seen, and what to do."""
    if asked.text.strip():
        return "Nothing matches." + (" F2 looks everywhere." if asked.where == "project" else "")
    if asked.where == "trash":
        return "The trash is empty."
    if asked.where == "project":
        return "There is no conversation in this project yet. F2 shows those of every project."
    return "There is no conversation yet."
