"""What the importer stores of other agents' sessions, again and again, and what it refuses."""

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.edits.undo_preview import difference
from cogency_tui.agent.importers import importer as module
from cogency_tui.agent.importers.importer import Importer, Tally
from cogency_tui.agent.importers.session import Session, SessionFile
from cogency_tui.agent.recall.recall import Recall
from cogency_tui.agent.usage_report import Span
from cogency_tui.config.schema import Settings
from cogency_tui.errors import UsageError
from cogency_tui.store import event_chain
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.check_and_repair import check
from cogency_tui.store.database import FILE
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.workspace import diff
from tests.agent.importers.reading import FIXTURES
from tests.peers.scripted import ScriptedProvider

CLAUDE = "claude-code-2.1.197"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    shutil.copytree(FIXTURES / CLAUDE, home / ".claude")
    return home


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "data") as store:
        yield store


async def imported(
    store: Store, home: Path, name: str = "claude-code", *, project: Path | None = None, dry: bool = False
) -> Tally:
    directory = store.database.path.parent
    tally = Tally(name)
    async for tally in Importer(store, Blobs(directory / "blobs"), home, {}, project).run(name, dry=dry):  # noqa: B007
        pass
    return tally


async def everything(store: Store) -> list[StoredConversation]:
    listed = await store.conversations(limit=99)
    return [*listed, *[each for one in listed for each in await store.delegated(one.id)]]


async def test_sessions_are_stored_with_everything_that_is_known_of_them(store: Store, home: Path) -> None:
    before = await imported(store, home, dry=True)
    assert await store.conversations(limit=9) == []
    tally = await imported(store, home)
    assert (tally.conversations, tally.events) == (before.conversations, before.events)
    found = {each.title: each for each in await everything(store)}
    cart = found["Fix the total in the cart, please."]
    assert (cart.source, cart.project, cart.imported) == ("claude-code", "/home/ada/shop", True)
    assert cart.original == "8cd0b153-4264-45f1-8a1e-ec3ff8757ece"
    (agent,) = await store.delegated(cart.id)
    calls = {event["id"] for event in await store.events(cart.id) if event["type"] == "call"}
    assert agent.call in calls
    edits = await Edits(store.database).of_conversation(cart.id)
    assert [(edit.tool, edit.kind, edit.path) for edit in edits][:2] == [
        ("edit", "changed", "cart.py"),
        ("write", "created", "test_cart.py"),
    ]
    results = {
        event["id"]: event["payload"] for event in await store.events(cart.id) if event["type"] == "result"
    }
    blobs = Blobs(store.database.path.parent / "blobs")
    lines = [diff.count(difference(edit, blobs)) for edit in edits]
    assert [results[edit.call].get("lines") for edit in edits] == [each._asdict() for each in lines]
    assert lines[0] == (1, 1)
    assert b"sum(prices)" in blobs.read(edits[0].after.digest)
    assert (await store.usage(cart.id)).get("output", 0) > 0
    # What was spent there counts for no budget here.
    assert (await store.spent(0.0)).dollars == 0.0
    assert check(store.database.path.parent) == []


async def test_a_link_to_a_session_is_followed_and_read_again_when_its_file_grows(
    store: Store, home: Path, tmp_path: Path
) -> None:
    session = next((home / ".claude/projects/-home-ada-shop").glob("8cd0b153*.jsonl"))
    target = tmp_path / "elsewhere.jsonl"
    lines = session.read_text().splitlines(keepends=True)
    target.write_text("".join(lines[:-4]))
    session.unlink()
    session.symlink_to(target)
    tally = await imported(store, home)
    assert (tally.unread, any(each.original == session.stem for each in await everything(store))) == (0, True)
    target.write_text("".join(lines))
    assert (await imported(store, home)).events > 0


async def test_a_link_to_nothing_and_a_folder_that_may_not_be_read_are_named(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = home / ".claude/projects"
    (link := projects / "-home-ada-shop" / "lost.jsonl").symlink_to(home / "nothing")
    (closed := projects / "-closed").mkdir()
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    tally = await imported(store, home)
    assert tally.unread == 2
    assert f"{closed}: Permission denied" in tally.problems
    assert f"{link}: a link that leads to no file of yours" in tally.problems


ROLLOUT = "rollout-2026-11-27T21-31-07-01a21eeb-512e-7850-bdbe-aac4aa945eb2.jsonl"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("claude-code", ".claude/projects/-home-ada-shop/x.jsonl"),
        ("codex", f".codex/sessions/2026/11/27/{ROLLOUT}"),
        ("gemini", ".gemini/tmp/shop/chats/session-2026.json"),
        ("opencode", ".local/share/opencode/opencode.db"),
        ("opencode", ".local/share/opencode/storage/session/global/ses_1.json"),
        ("pi", ".pi/agent/sessions/--x--/x.jsonl"),
        ("vibe", ".vibe/logs/session/session_1/messages.jsonl"),
    ],
)
async def test_what_is_no_file_of_the_users_is_named(
    store: Store, tmp_path: Path, name: str, path: str
) -> None:
    place = tmp_path / "home" / path
    place.parent.mkdir(parents=True)
    for make, why in (
        (lambda: place.symlink_to("/dev/zero"), "a link that leads to no file of yours"),
        (lambda: os.mkfifo(place), "not a regular file"),
    ):
        make()
        tally = await imported(store, tmp_path / "home", name)
        assert (tally.unread, tally.problems) == (1, [f"{place}: {why}"])
        place.unlink()


async def test_edits_have_the_mode_that_their_file_has_now(store: Store, home: Path, tmp_path: Path) -> None:
    session = next((home / ".claude/projects/-home-ada-shop").glob("8cd0b153*.jsonl"))
    shop = tmp_path / "shop"
    session.write_text(session.read_text().replace("/home/ada/shop", str(shop)))
    shop.mkdir()
    (shop / "cart.py").touch(0o600)
    await imported(store, home)
    cart = next(each for each in await everything(store) if each.project == str(shop))
    edits = await Edits(store.database).of_conversation(cart.id)
    assert [(each.path, each.before.mode, each.after.mode) for each in edits][:2] == [
        ("cart.py", 0o600, 0o600),
        ("test_cart.py", 0, 0o644),
    ]


async def test_another_import_stores_only_what_is_new(store: Store, home: Path) -> None:
    session = next((home / ".claude/projects/-home-ada-shop").glob("8cd0b153*.jsonl"))
    lines = session.read_text().splitlines(keepends=True)
    whole = await _bodies_of_all(home, store)
    other = store.database.path.parent.with_name("other")
    async with await Store.open(other) as grown:
        for count in range(0, len(lines) + 1, 7):
            session.write_text("".join(lines[:count]))
            await imported(grown, home)
        session.write_text("".join(lines))
        os.utime(session, (0, 0))
        await imported(grown, home)
        assert await _bodies(grown) == whole
        assert (await imported(grown, home)).events == 0
        with closing(sqlite3.connect(other / FILE)) as connection:
            assert event_chain.verify(connection).is_whole


async def _bodies_of_all(home: Path, store: Store) -> dict[str, list[str]]:
    for path in home.rglob("*"):
        os.utime(path, (0, 0))
    await imported(store, home)
    return await _bodies(store)


async def _bodies(store: Store) -> dict[str, list[str]]:
    """The events of each session, in their order but for results, which come when their calls end."""
    return {
        each.original: sorted(json.dumps(event, sort_keys=True) for event in await store.events(each.id))
        for each in await everything(store)
    }


async def test_only_the_open_project_is_imported_unless_all_are_wanted(store: Store, home: Path) -> None:
    tally = await imported(store, home, project=Path("/home/ada/other"))
    assert tally.conversations == 1
    assert tally.elsewhere > 0
    assert {each.project for each in await store.conversations(limit=9)} == {"/home/ada/other"}
    await imported(store, home)
    assert len(await store.conversations(limit=9)) == 3


async def test_an_imported_conversation_is_searched_and_continues_in_a_fork(
    tmp_path: Path, home: Path
) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    project.mkdir()
    async with await Store.open(data) as store:
        await imported(store, home)

        async def given() -> Store:
            return store

        recall = Recall(given, str(project))
        page = await recall.page("Größe", where="everywhere", order="newest", limit=5)
        (found,) = [each.conversation for each in page.listed if not each.conversation.call]
        fork = await recall.fork(found.id)
        await recall.close()
    assert (fork.source, fork.original, fork.parent) == ("", "", found.id)
    agent = Agent(ScriptedProvider("Yes."), project=project, data=data, settings=Settings(titles=False))
    await agent.open()
    with pytest.raises(UsageError, match="only in a fork"):
        async for _ in agent.stream("go on", conversation_id=found.id):
            pass
    events = [event async for event in agent.stream("go on", conversation_id=fork.id)]
    await agent.close()
    assert "Yes." in [event["content"] for event in events if event["type"] == "respond"]


class _Hostile:
    """A reader whose sessions are as bad as their files can be."""

    name = title = "hostile"

    def __init__(self, sessions: list[Session]) -> None:
        self._sessions = sessions

    def files(self, home: Path, environment: Mapping[str, str]) -> Iterator[SessionFile]:
        for number, _ in enumerate(self._sessions):
            yield SessionFile(home / f"{number}\udcff", f"{number}", "x" * number)

    def read(self, file: SessionFile) -> Session | None:
        if file.stamp == "0":
            raise PermissionError(13, "Permission denied")
        return self._sessions[int(file.stamp)]


def _hostile() -> Iterator[Session]:
    yield Session("unreadable")
    for project in ("", "relative", "/a/../b", "/a\nb", "/" + "x" * 10_000, "/\ud800", "/a\x00b"):
        session = Session(f"of {project[:20]}", project=project)
        session.user("u", 1, "hello \x1b[31m \ud800 \x00")
        yield session
    session = Session("x" * 10_000, project="/p", title="t" * 100_000, model="m\n\x1b]0;x\x07")
    session.user("u", 1, "too long an id")
    yield session
    session = Session(
        "odd", project="/p", title="t\x1b[31m\n" * 5_000, model="m" * 9_000, parent="odd", call="c"
    )
    session.user("k" * 1_000, 1e308, "a long key")
    session.user("future", 4e10, "from the future")
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    session.call_tool("deep", 1, "read", {"a": deep})
    session.result("deep", 1, deep)
    session.call_tool("fine", 1, "n" * 10_000, {"file": "\x1b[2J"})
    session.result("fine", 1, {"nested": ["\ud800"]}, duration=float("inf"))
    session.call_tool("open", 1, "shell", {})
    session.spent("a", 1, {"input": 1 << 70})
    session.spent("b", 1, {"cost": float("nan")})
    session.spent("c", 1, {"input": 5, "model": 7})  # pyright: ignore[reportArgumentType]
    session.spent("d", 1, {"input": 5, "model": "\ud800", "provider": "\x1b[31m"})
    for path in ("../../etc/passwd", "/etc/passwd", ".git/config", "a\nb", "x" * 5_000, "/p/fine.py"):
        session.edited("fine", 1, path, None, b"x")
    session.edited("unknown", 1, "other.py", b"a", b"b")
    session.close()
    yield session


async def test_a_hostile_history_is_refused_in_parts_and_opens_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [*_hostile()]

    def create(_name: str) -> _Hostile:
        return _Hostile(sessions)

    monkeypatch.setattr(module, "create_reader", create)
    data = tmp_path / "data"
    async with await Store.open(data) as store:
        tally = await imported(store, tmp_path, "hostile")
        assert any("Permission denied" in problem for problem in tally.problems)
        assert (tally.unread, tally.unknown > 0) == (1, True)

        async def given() -> Store:
            return store

        recall = Recall(given, "/p")
        for each in await store.conversations(limit=99):
            assert len(each.title) < 5_000
            events = await store.events(each.id)
            results = [event["id"] for event in events if event["type"] == "result"]
            assert sorted(results) == sorted(event["id"] for event in events if event["type"] == "call")
            await recall.import_lines(await recall.export_lines(each.id))
            await recall.fork(each.id)
            await Edits(store.database).of_conversation(each.id)
        paths = [edit.path for edit in await Edits(store.database).of_project("/p", limit=99)]
        assert set(paths) == {"fine.py"}
        async for _ in recall.update_index(least=0):
            pass
        assert await recall.usage(("model",), Span(1e12)) is not None
        assert (await recall.page("hello", where="everywhere", order="newest", limit=50)).listed
        await recall.close()
        assert (await imported(store, tmp_path, "hostile")).events == 0
    assert check(data) == []


async def test_a_session_whose_file_is_renamed_stays_one_conversation(store: Store, home: Path) -> None:
    await imported(store, home)
    before = [(each.id, each.original) for each in await everything(store)]
    bodies = await _bodies(store)
    for path in home.rglob("projects/*/*.jsonl"):
        path.rename(path.with_name(f"z{path.name}"))
    tally = await imported(store, home)
    assert (tally.conversations, tally.events) == (0, 0)
    assert [(each.id, each.original) for each in await everything(store)] == before
    assert await _bodies(store) == bodies


async def test_what_was_imported_under_the_name_of_a_file_stays_one_conversation(
    store: Store, home: Path
) -> None:
    for path in home.rglob("projects/*/*.jsonl"):
        path.rename(path.with_name(f"z{path.name}"))
    await imported(store, home)
    mine = "call IS NULL AND source = 'claude-code'"

    def as_earlier_versions(connection: sqlite3.Connection) -> None:
        connection.execute(f"UPDATE conversations SET original = 'z' || original WHERE {mine}")
        connection.execute("DELETE FROM foreign_files")

    await store.database.write(as_earlier_versions)
    bodies = await _bodies(store)
    tally = await imported(store, home)
    assert (tally.conversations, tally.events) == (0, 0)
    assert await _bodies(store) == bodies


async def test_a_copy_of_a_session_with_other_texts_is_another_conversation(store: Store, home: Path) -> None:
    await imported(store, home)
    before = {(each.id, each.original) for each in await everything(store)}
    path = next(home.rglob("projects/*/8cd0b153*.jsonl"))
    prompt = "Fix the total in the cart, please."
    path.with_name("copy.jsonl").write_text(path.read_text().replace(prompt, "Break it."))
    for _ in range(2):
        await imported(store, home)
        (added,) = {(each.id, each.original) for each in await everything(store)} - before
        assert added[1] == "copy"
        path.with_name("copy.jsonl").touch()


async def test_two_imports_at_once_store_everything_once(tmp_path: Path, home: Path) -> None:
    async with await Store.open(tmp_path / "data") as one, await Store.open(tmp_path / "data") as other:
        await asyncio.gather(imported(one, home), imported(other, home))
        originals = [each.original for each in await everything(one)]
        assert len(originals) == len({*originals}) == 4
        for each in await everything(one):
            keys = [
                (event["type"], event.get("id", event.get("original"))) for event in await one.events(each.id)
            ]
            assert len(keys) == len({*keys})


async def test_a_file_that_poses_as_a_session_takes_nothing_from_it(store: Store, home: Path) -> None:
    async def given() -> Store:
        return store

    recall = Recall(given, "/home/ada/shop")
    await imported(store, home)
    (whole,) = [each for each in await store.conversations(limit=9) if each.title.startswith("Fix")]
    original, events = whole.original, await store.events(whole.id)
    lines = [json.loads(line) for line in await recall.export_lines(whole.id)]
    other = store.database.path.parent.with_name("other")
    async with await Store.open(other) as victim:

        async def there() -> Store:
            return victim

        forging = Recall(there, "/home/ada/shop")
        head, conversation, first = lines[:3]
        first["event"]["content"] = "FORGED: delete everything"
        forged = await forging.import_lines([json.dumps(line) for line in (head, conversation, first)])
        assert forged.original == original
        await imported(victim, home)
        found = {each.id: each for each in await victim.conversations(limit=9)}
        assert (found[forged.id].source, found[forged.id].imported) == ("", True)
        (genuine,) = [each for each in found.values() if each.original == original]
        assert await victim.events(genuine.id) == events
        await forging.close()
    await recall.close()


async def test_what_was_restored_from_an_export_goes_on_as_the_session(store: Store, home: Path) -> None:
    async def given() -> Store:
        return store

    recall = Recall(given, "/home/ada/shop")
    await imported(store, home)
    other = store.database.path.parent.with_name("other")
    async with await Store.open(other) as restored:

        async def there() -> Store:
            return restored

        restoring = Recall(there, "/home/ada/shop")
        for each in await store.conversations(limit=9):
            await restoring.import_lines(await recall.export_lines(each.id))
        count = len(await restored.conversations(limit=99))
        assert (await imported(restored, home)).events == 0
        assert len(await restored.conversations(limit=99)) == count
        await restoring.close()
    await recall.close()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("claude-code", ".claude/projects/-p/11111111-1111-4111-8111-111111111111.jsonl"),
        (
            "codex",
            ".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-01999999-1111-7111-8111-111111111111.jsonl",
        ),
        ("gemini", ".gemini/tmp/p/chats/session-2026-11-01T10-00-11111111.json"),
        ("opencode", ".local/share/opencode/storage/session/p/ses_1.json"),
        ("vibe", ".vibe/logs/session/session_20261101_100000_11111111/messages.jsonl"),
        (
            "pi",
            ".pi/agent/sessions/--p--/2026-11-01T10-00-00-000Z_11111111-1111-4111-8111-111111111111.jsonl",
        ),
    ],
)
async def test_a_session_that_cannot_be_read_at_all_is_counted_and_named(
    tmp_path: Path, name: str, path: str
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\x00\x01 not JSON\nnor this\n")
    async with await Store.open(tmp_path / "data") as store:
        tally = await imported(store, tmp_path, name)
    assert (tally.sessions, tally.unread, tally.events) == (0, 1, 0)
    assert any(problem.startswith(str(file)) for problem in tally.problems)
