"""Search finds what a naive scan finds, with an index, with half of one, and with none."""

import asyncio
import json
import tempfile
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.protocol.events import Event
from cogency_tui.store.search.building import update
from cogency_tui.store.search.folding import fold, spans
from cogency_tui.store.search.query import Query, parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import Cursor, MatchPage, Order, Scope, Searcher
from cogency_tui.store.store import Store, StoredConversation

# Few letters, so that chance makes matches; and those that folding, LIKE, JSON and grams stumble over.
LETTERS = "  aAbäÄßsSſKkİi%_\\\"'\n \t*()-\x00éEe\u0301\u0308\u0323日本𝒳\ud800ﬁf가\u1100\u1161\u11a8"
texts = st.text(LETTERS, max_size=12)
TOOLS = ("read", "shell")


@dataclass
class Planned:
    """A conversation to be made: its events as (type, text, tool, failed), and its title if renamed."""

    events: list[tuple[str, str, str, bool]]
    title: str | None = None


planned = st.builds(
    Planned,
    st.lists(
        st.tuples(
            st.sampled_from(("user", "think", "respond", "call", "result")),
            texts,
            st.sampled_from(TOOLS),
            st.booleans(),
        ),
        max_size=6,
    ),
    st.none() | texts,
)
words = st.lists(texts.filter(lambda text: '"' not in text and text != ""), min_size=1, max_size=3)


def event_of(kind: str, text: str, tool: str, failed: bool, number: int) -> Event:
    at = float(number)
    if kind == "user":
        return {"type": "user", "timestamp": at, "content": text}
    if kind == "think":
        return {"type": "think", "timestamp": at, "id": f"u{number}", "content": text}
    if kind == "respond":
        return {"type": "respond", "timestamp": at, "id": f"u{number}", "content": text}
    if kind == "call":
        content = json.dumps({"name": tool, "args": {"text": text}})
        return {"type": "call", "timestamp": at, "id": f"u{number}", "content": content}
    return {
        "type": "result",
        "timestamp": at,
        "id": f"u{number}",
        "tool": tool,
        "duration": 0.0,
        "payload": {
            "outcome": "",
            "content": {"deep": [text]},
            "error": failed,
            "state": "failed" if failed else "done",
        },
    }


def searched(kind: str, text: str, tool: str) -> str:
    return {"call": f"{tool}\n{text}", "result": f"\n{text}"}.get(kind, text)


def folded(text: str) -> str:
    """As texts are compared: without regard to case, and to whether an accent is a character of its own."""
    return unicodedata.normalize("NFC", text).casefold()


def naive(
    plan: Sequence[tuple[StoredConversation, Planned]], terms: Sequence[str], tool: str, failed: bool
) -> list[str]:
    """The ids that match, the last updated first."""
    found: list[StoredConversation] = []
    for conversation, made in plan:
        pieces = [folded(searched(kind, text, name)) for kind, text, name, _ in made.events]
        if made.title:
            pieces.append(folded(made.title))
        met = all(any(folded(term) in piece for piece in pieces) for term in terms)
        met = met and (not tool or any(kind == "call" and tool == name for kind, _, name, _ in made.events))
        met = met and (not failed or any(kind == "result" and bad for kind, _, _, bad in made.events))
        if met:
            found.append(conversation)
    return [each.id for each in sorted(found, key=lambda one: (one.updated, one.id), reverse=True)]


def pieces(plans: Sequence[Planned]) -> list[list[str]]:
    """Queries that something matches: parts of what was said, by themselves and in twos."""
    said = [text for plan in plans for text in (*(event[1] for event in plan.events), plan.title or "")]
    parts = [text[start:end] for text in said for start, end in ((0, 1), (0, 4), (1, 9)) if text[start:end]]
    single = [part for part in parts if '"' not in part]
    return [*([part] for part in single[:12]), *map(list, zip(single, single[3:], strict=False))][:18]


async def all_pages(service: SearchService, text: str, order: Order, limit: int) -> list[str]:
    query = parse(text)
    found: list[str] = []
    after: Cursor | None = None
    while True:
        work = partial(page, query=query, order=order, limit=limit, after=after)
        answer = await service.run(work)
        assert len(answer.found) <= limit
        found += [each.conversation.id for each in answer.found]
        after = answer.next
        if after is None:
            return found


def page(searcher: Searcher, *, query: Query, order: Order, limit: int, after: Cursor | None) -> MatchPage:
    return searcher.search(query, Scope(), order=order, limit=limit, after=after, now=100.0)


async def check(plans: list[Planned], asked: list[list[str]], indexed: int, tool: str, failed: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with await Store.open(directory) as store:
            made: list[tuple[StoredConversation, Planned]] = []
            number = 0
            for count, plan in enumerate(plans):
                if count == indexed:
                    await asyncio.to_thread(lambda: list(update(directory)))
                conversation = await store.create_conversation("/p", dialect="x", provider="o", model="m")
                for each in plan.events:
                    number += 1
                    await store.append(conversation.id, event_of(*each, number))
                if plan.title is not None:
                    await store.rename(conversation.id, plan.title)
                made.append((conversation, plan))
            current = [(await store.conversation(each.id) or each, plan) for each, plan in made]
            service = SearchService(directory)
            try:
                for terms in [*asked, *pieces(plans)]:
                    text = " ".join(f'"{term}"' for term in terms)
                    text += f" tool:{tool}" * bool(tool) + " error:" * failed
                    expected = naive(current, terms, tool, failed)
                    assert await all_pages(service, text, "newest", 2) == expected
                    best = await all_pages(service, text, "best", 2)
                    assert (len(best), set(best)) == (len(expected), set(expected))
            finally:
                await service.close()


examples = settings(suppress_health_check=[HealthCheck.too_slow])
given_queries = given(
    plans=st.lists(planned, min_size=1, max_size=6),
    asked=st.lists(words, min_size=1, max_size=8),
    indexed=st.integers(0, 6),
    tool=st.sampled_from(("", *TOOLS)),
    failed=st.booleans(),
)


@settings(examples, max_examples=15)
@given_queries
def test_a_query_gives_what_a_scan_gives(
    plans: list[Planned], asked: list[list[str]], indexed: int, tool: str, failed: bool
) -> None:
    asyncio.run(check(plans, asked, indexed, tool, failed))


@given(st.text(LETTERS, max_size=20))
def test_every_place_of_the_folded_text_has_one_in_the_text(text: str) -> None:
    whole = fold(text)
    for start in range(len(whole)):
        for end in range(start + 1, len(whole) + 1):
            term = whole[start:end]
            for first, behind in spans(text, whole, term):
                assert term in fold(text[first:behind])


def test_twins_of_a_letter_find_each_other_and_the_marks_are_around_all_of_it() -> None:
    for one, other in (("Café", "cafe\u0301"), ("cafe\u0301", "CAFÉ"), ("한", "\u1112\u1161\u11ab")):
        text = f"ß {other}s"
        ((first, behind),) = spans(text, fold(text), fold(one))
        assert text[first:behind] == other
