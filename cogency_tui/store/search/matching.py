"""The matching of a conversation: its documents are read and compared, likely ones first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.folding import fold
from cogency_tui.store.search.query import Query
from cogency_tui.store.store import StoredConversation

Test = Callable[[Document], bool]
Redact = Callable[[Document], str]
"""Returns the text of a document that may be shown."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A requirement that some document of the conversation has to meet. `text`, if any, is in every such
    document, `fact` is a property of it; `is_term` marks a term that the user searches for."""

    test: Test
    text: str = ""
    fact: str = ""
    is_term: bool = False


@dataclass(slots=True)
class Match:
    """A conversation that matches; `hits` are the documents to show, `more` whether there are others."""

    conversation: StoredConversation
    hits: list[Document] = field(default_factory=list[Document])
    more: bool = False


def conditions_of(query: Query) -> list[Condition]:
    """Derive the conditions of a query on documents, the user's terms first."""
    found = [Condition(_has(term), term, is_term=True) for term in query.terms]
    found += [Condition(_names(file), file) for file in query.files]
    found += [Condition(_calls(tool), fact=f"t{tool}") for tool in query.tools]
    return found + [Condition(_failed(text), text, "e") for text in query.errors]


def admits(query: Query, conversation: StoredConversation) -> bool:
    """Return whether the conversation's own row meets the query."""
    if query.since is not None and conversation.updated < query.since:
        return False
    if query.before is not None and conversation.updated >= query.before:
        return False
    if not all(_compared(conversation.cost, how, usd) for how, usd in query.costs):
        return False
    return (
        _holds(f"{conversation.provider}/{conversation.model}", query.models)
        and _holds(conversation.project, query.projects)
        and _holds(conversation.branch, query.branches)
    )


def match(
    conversation: StoredConversation,
    conditions: Sequence[Condition],
    documents: Iterable[Document],
    most: int,
    redact: Redact | None = None,
) -> Match | None:
    """Return the match with at most `most` hits, the first found; None where a condition is not met.

    `documents` are read only as far as needed. What `redact` leaves out of one matches nothing: who may not
    see a text cannot search for it either.
    """
    found = Match(conversation)
    open_conditions = list(conditions)
    has_terms = any(condition.is_term for condition in conditions)
    for document in documents:
        met = [condition for condition in conditions if condition.test(document)]
        if met and redact is not None:
            document = replace(document, text=redact(document))
            met = [condition for condition in met if condition.test(document)]
        if not met:
            continue
        open_conditions = [each for each in open_conditions if each not in met]
        if not has_terms or any(condition.is_term for condition in met):
            if len(found.hits) >= most:
                found.more = True
            else:
                found.hits.append(document)
        if found.more and not open_conditions:
            break
    return None if open_conditions else found


def title_of(conversation: StoredConversation) -> Document:
    """Build a document of the user's own title, so that it can be found."""
    id, title = conversation.id, conversation.title
    return Document(0, id, "title", title, conversation.updated)


def _has(term: str) -> Test:
    return lambda document: term in document.folded


def _names(file: str) -> Test:
    return lambda document: any(file in fold(path) for path in document.paths)


def _calls(tool: str) -> Test:
    return lambda document: document.kind == "call" and tool in fold(document.tool)


def _failed(text: str) -> Test:
    return lambda document: document.failed and text in document.folded


def _holds(text: str, terms: tuple[str, ...]) -> bool:
    return not terms or all(each in fold(text) for each in terms)


def _compared(cost: float, how: str, usd: float) -> bool:
    if how == "=":
        # A cost is shown with two digits.
        return abs(cost - usd) < 0.005
    return {"<": cost < usd, "<=": cost <= usd, ">": cost > usd, ">=": cost >= usd}[how]
