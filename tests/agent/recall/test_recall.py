"""Past conversations: found wherever a text stands, by two processes at once, with the index and without."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from cogency_tui.agent.recall.recall import Recall
from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import Event, Image
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.search.building import update
from cogency_tui.store.store import Store, StoredConversation
from tests import ROOT


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
async def recall(store: Store) -> AsyncIterator[Recall]:
    async def opened() -> Store:
        return store

    made = Recall(opened, "/p")
    yield made
    await made.close()


def said(text: str, at: float = 1.0) -> Event:
    return {"type": "user", "timestamp": at, "content": text}


async def begin(store: Store, text: str, project: str = "/p", **more: Any) -> StoredConversation:
    made = await store.create_conversation(project, dialect="x", provider="o", model="m", **more)
    await store.append(made.id, said(text))
    return made


async def found(recall: Recall, query: str, where: str = "project") -> list[str]:
    page = await recall.page(query, where=where, limit=10_000)  # pyright: ignore[reportArgumentType]
    return [each.conversation.id for each in page.listed]


@pytest.mark.parametrize("indexed", [False, True])
async def test_a_text_is_found_wherever_it_stood(store: Store, recall: Recall, indexed: bool) -> None:
    made = await begin(store, "ÄPFEL und 100%_x")
    await begin(store, "100 percent, nothing else")
    await store.append(made.id, {"type": "think", "timestamp": 2.0, "id": "t", "content": "only thought"})
    call = '{"name": "edit", "args": {"file": "app.py", "old": "say \\"hi\\"\\n  twice"}}'
    await store.append(made.id, {"type": "call", "timestamp": 3.0, "id": "c", "content": call})
    output = {"outcome": "Edited", "content": {"lines": ["only printed"]}, "error": True, "state": "failed"}
    await store.append(
        made.id,
        {"type": "result", "timestamp": 4.0, "id": "c", "tool": "edit", "duration": 0.1, "payload": output},  # pyright: ignore[reportArgumentType]
    )
    agent = await begin(store, "only a sub-agent", parent=made.id, call="c")
    blobs, edits = Blobs(store.database.path.parent / "blobs"), Edits(store.database)
    old, new = blobs.put(BytesIO(b"same\nremoved line\n")), blobs.put(BytesIO(b"same\nadded line\n"))
    change = FileChange(
        "lib/deep.py",
        Version("file", old.digest, old.size, 0o644, True),
        Version("file", new.digest, new.size, 0o644, True),
    )
    await edits.add(await edits.origin(agent.id), "c", "shell", [change])
    if indexed:
        await asyncio.to_thread(lambda: list(update(store.database.path.parent)))

    for query in (
        *("äpfel", "100%_x", "only thought", '"say ""hi"', "twice", '"only printed"', '"only a sub"'),
        *("removed", '"added line"', "deep.py", "file:DEEP tool:edit", "error:", "error:printed äpfel"),
        *("äpfel since:1970 cost:<1 model:o/m branch: project:/p", "tool:edit printed"),
    ):
        assert await found(recall, query) == [made.id], query
    for query in (
        "same",
        "100_x",
        "tool:shell",
        "error:thought",
        "äpfel cost:>1",
        "file:thought",
        "before:1971",
    ):
        assert await found(recall, query) == [], query

    [hit] = await recall.hits(made.id, "added")
    assert (hit.kind, hit.within, hit.tool) == ("edit", agent.id, "shell")
    assert [hit.text[first:end] for first, end in hit.marks] == ["added"]
    [hit] = await recall.hits(made.id, "PRINTED")
    preview = await recall.preview(hit.within, hit.event, before=1, behind=1)
    assert [event["type"] for _, event in preview.events] == ["call", "result"]
    assert (preview.before, preview.behind) == (True, False)


@pytest.mark.parametrize("indexed", [False, True])
async def test_a_message_is_found_by_the_name_of_its_image(
    store: Store, recall: Recall, indexed: bool
) -> None:
    made = await begin(store, "what is this?")
    image: Image = {
        **{"name": "mockups/login.png", "digest": "d" * 64, "media_type": "image/png", "width": 8},
        **{"height": 6, "size": 75},
    }  # pyright: ignore[reportAssignmentType]
    asked: Event = {"type": "user", "timestamp": 2.0, "content": "And this?", "images": [image]}
    await store.append(made.id, asked)
    if indexed:
        await asyncio.to_thread(lambda: list(update(store.database.path.parent)))
    assert await found(recall, "login.png") == [made.id]


async def test_scopes_titles_and_the_trash(store: Store, recall: Recall) -> None:
    here, there = await begin(store, "retry here"), await begin(store, "retry there", "/q")
    assert await found(recall, "retry") == [here.id]
    assert await found(recall, "retry", "everywhere") == [there.id, here.id]
    await recall.rename(here.id, "Übergabe")
    assert await found(recall, "übergabe") == [here.id]
    await recall.trash(here.id)
    assert await found(recall, "") == []
    assert await found(recall, "übergabe", "trash") == [here.id]
    await recall.restore(here.id)
    page = await recall.page("retry since:whenever", where="everywhere", without=there.id)
    assert (page.listed, page.terms) == ((), ("retry", "since:whenever"))
    assert "since:whenever" in page.problems[0]
    with pytest.raises(StoreError, match="Conversation 'none' not found"):
        await recall.trash("none")


@pytest.mark.parametrize("indexed", [False, True])
async def test_whose_a_conversation_is_is_a_filter(store: Store, recall: Recall, indexed: bool) -> None:
    made = {source: await begin(store, f"of {source or 'ours'}") for source in ("", "codex", "pi", "@0a0b")}

    def note(connection: Connection) -> None:
        connection.execute("INSERT INTO origins (id, name, own) VALUES ('0a0b', 'Ada@mill', 0)")
        for source, each in made.items():
            connection.execute(
                "UPDATE conversations SET source = ?, original = ? WHERE id = ?", (source, each.id, each.id)
            )

    await store.database.write(note)
    if indexed:
        [*_, _] = update(store.database.path.parent)
    for query, source in (
        ("from:cogency", ""),
        ("from:Codex of", "codex"),
        ("from:pi", "pi"),
        ("from:ada@MILL", "@0a0b"),
        ('from:"da@mi"', "@0a0b"),
    ):
        assert await found(recall, query) == [made[source].id], query
    assert await found(recall, "from:nobody") == []
    assert len(await found(recall, "from:")) == 4


async def test_lists_are_paged_without_gap_or_repetition(store: Store, recall: Recall) -> None:
    made = [await begin(store, f"retry {number}") for number in range(70)]
    for query in ("", "retry"):
        for order in ("newest", "best"):
            ids: list[str] = []
            after = None
            while True:
                page = await recall.page(query, order=order, limit=20, after=after)
                ids += [each.conversation.id for each in page.listed]
                after = page.next
                if after is None:
                    break
            assert sorted(ids) == sorted(each.id for each in made)
            assert order == "best" or ids == [each.id for each in reversed(made)]


@pytest.mark.parametrize("indexed", [False, True])
async def test_the_best_first_are_those_with_the_phrase(store: Store, recall: Recall, indexed: bool) -> None:
    phrase = await begin(store, "the words in between: the retry loop sleeps, and more of it")
    # Behind more matches than are read for the ranking.
    for number in range(8):
        await store.append(phrase.id, said(f"a loop {number} of a retry"))
    reverse = await begin(store, "loop retry")
    apart = await begin(store, "retry. Then the other loop")
    if indexed:
        await asyncio.to_thread(lambda: [*update(store.database.path.parent)])
    page = await recall.page("Retry LOOP", order="best")
    assert [each.conversation.id for each in page.listed] == [phrase.id, reverse.id, apart.id]
    assert "retry loop sleeps" in page.listed[0].hits[0].text or not indexed


async def test_a_search_that_is_given_up_leaves_the_next_one_right(store: Store, recall: Recall) -> None:
    made = await begin(store, "retry")
    for _ in range(20):
        task = asyncio.create_task(recall.page("retry"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await found(recall, "retry") == [made.id]


@pytest.mark.exhaustive
async def test_the_index_grows_in_a_process_of_its_own_and_one_that_is_killed_loses_nothing(
    store: Store, recall: Recall
) -> None:
    made = await begin(store, "first word")
    async for _ in recall.update_index(least=1):
        pass
    assert (await recall.indexed()).done == 1
    second = await begin(store, "second word")
    other = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _WRITER, str(store.database.path.parent)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert other.stdout is not None
    written = [(await other.stdout.readline()).decode().strip() for _ in range(30)]
    await asyncio.to_thread(lambda: list(update(store.database.path.parent)))
    other.send_signal(signal.SIGKILL)
    rest = (await other.stdout.read()).decode().split()
    await other.wait()

    everyone = await found(recall, "word")
    assert set(everyone) >= {made.id, second.id, *written, *rest}
    # One may be there that was killed before its first event.
    listed = [each.conversation for each in (await recall.page(limit=10_000)).listed]
    assert [each.id for each in listed if each.turns] == everyone
    async for _ in recall.update_index(least=1):
        pass
    state = await recall.indexed()
    assert state.done == state.total
    assert await found(recall, "word") == everyone


_WRITER = """
import asyncio, sys
from pathlib import Path
from cogency_tui.store.store import Store
async def main():
    async with await Store.open(Path(sys.argv[1])) as store:
        while True:
            made = await store.create_conversation("/p", dialect="x", provider="o", model="m")
            await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": "their word"})
            print(made.id, flush=True)
asyncio.run(main())
"""


async def test_branches_are_compared_since_they_parted(store: Store, recall: Recall) -> None:
    made = await begin(store, "start")
    fork = await recall.fork(made.id)
    await store.append(made.id, {"type": "respond", "timestamp": 5.0, "id": "a", "content": "left"})
    await store.append(fork.id, {"type": "respond", "timestamp": 6.0, "id": "b", "content": "right"})
    await store.record_usage(fork.id, {"input": 10, "output": 2, "cost": 0.25})

    both = await recall.compare(made.id, fork.id)
    assert (both.shared, both.left.answers, both.right.answers) == (1, ("left",), ("right",))
    assert (both.right.tokens, both.right.cost, both.left.tokens) == (12, 0.25, 0)
    assert (await recall.tree(fork.id)).forks[0].conversation.id == fork.id


async def test_statistics_sum_what_was_used(store: Store, recall: Recall) -> None:
    made = await begin(store, "start")
    await begin(store, "elsewhere", "/q")
    await store.record_usage(made.id, {"input": 10, "output": 2, "cached": 4, "cost": 0.25, "model": "big"})
    await store.append(
        made.id,
        {  # pyright: ignore[reportArgumentType]
            **{"type": "result", "timestamp": 4.0, "id": "c", "tool": "read", "duration": 1.5},
            "payload": {"outcome": "", "content": None, "error": True, "state": "failed"},
        },
    )
    found = await recall.statistics()
    assert (found.conversations, found.turns, found.total.input, found.total.cost) == (1, 1, 10, 0.25)
    assert (found.models[0].label, found.models[0].cached) == ("big", 4)
    assert [(tool.tool, tool.calls, tool.failed, tool.seconds) for tool in found.tools] == [
        ("read", 1, 1, 1.5)
    ]
    assert (await recall.statistics(where="everywhere")).conversations == 2
    assert (await recall.statistics(before=0.5)).turns == 0


@pytest.mark.parametrize("indexed", [False, True])
async def test_what_the_user_stopped_is_no_failure(store: Store, recall: Recall, indexed: bool) -> None:
    made = await begin(store, "start")
    for payload in (
        {"state": "failed"},
        {"state": "declined"},
        {"state": "interrupted"},
        {"state": "interrupted", "not_run": True},
        {"state": "skipped"},
        {},
    ):
        await store.append(
            made.id,
            {  # pyright: ignore[reportArgumentType]
                **{"type": "result", "timestamp": 4.0, "id": "c", "tool": "shell", "duration": 1.0},
                "payload": {"outcome": f"was {payload}", "content": None, "error": True, **payload},
            },
        )
    if indexed:
        await asyncio.to_thread(lambda: [*update(store.database.path.parent)])
    (use,) = (await recall.statistics()).tools
    assert (use.calls, use.failed, use.stopped) == (6, 2, 3)
    failed = await recall.hits(made.id, "error:")
    assert [hit.text for hit in failed] == ["was {'state': 'failed'}", "was {}"]
