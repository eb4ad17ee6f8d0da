"""Drafts: what streams outlives a killed process, and is completed exactly once."""

import asyncio
import os
import sqlite3
import time
from pathlib import Path

from cogency_tui.process_identity import own_start, start_of
from cogency_tui.store.database import FILE
from cogency_tui.store.store import Store, StoredConversation
from tests.store.conftest import Spawn


async def pieces(store: Store) -> int:
    return await store.database.read(
        lambda connection: connection.execute("SELECT count(*) FROM drafts").fetchone()[0]
    )


async def orphan(store: Store) -> None:
    """Have all drafts be of a process that has ended."""
    sql = "UPDATE drafts SET started = 'another start'"
    await store.database.write(lambda connection: connection.execute(sql))


async def test_a_complete_unit_replaces_its_draft(store: Store, conversation: StoredConversation) -> None:
    await store.append_draft(conversation.id, "r1", "respond", "Hel")
    await store.append_draft(conversation.id, "r2", "respond", "other")

    await store.append(conversation.id, {"type": "respond", "timestamp": 1.0, "id": "r1", "content": "Hello"})

    assert await pieces(store) == 1
    await orphan(store)
    assert [event.get("id") for event in await store.recover(conversation.id)] == ["r2"]


async def test_the_pieces_of_a_draft_are_joined_and_blank_ones_dropped(
    store: Store, conversation: StoredConversation
) -> None:
    before = time.time()
    for text in ("Let me ", "see \ud83d", "\ude00 and \0 so\n"):
        await store.append_draft(conversation.id, "t\ud800", "think", text)
    await store.append_draft(conversation.id, "r1", "respond", " \n")

    await orphan(store)
    sealed = await store.recover(conversation.id)

    (event,) = sealed
    assert event["type"] == "think"
    assert before <= event["timestamp"] <= time.time()
    assert event == {
        "type": "think",
        "timestamp": event["timestamp"],
        "id": "t\ud800",
        "content": "Let me see \ud83d\ude00 and \0 so\n",
        "interrupted": True,
        "orphaned": True,
    }
    assert await store.events(conversation.id) == sealed
    assert await pieces(store) == 0
    assert await store.recover(conversation.id) == []


async def test_drafts_of_a_living_process_are_left_alone_and_of_a_killed_one_recovered_once(
    store: Store, conversation: StoredConversation, spawn: Spawn
) -> None:
    child = spawn("draft", conversation.id)
    await store.append_draft(conversation.id, "t1", "think", "mine")

    assert await store.recover(conversation.id) == []
    child.kill()
    # Ended but not waited for: a zombie is no living process either.
    await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    recovered = await store.recover(conversation.id)

    assert [(event["type"], event.get("id"), event.get("content")) for event in recovered] == [
        ("think", "t1", "Let me see"),
        ("respond", "r1", "It is\nthat 🦜 \ud83d"),
    ]
    assert all(event.get("interrupted") for event in recovered)
    assert await store.events(conversation.id) == recovered
    assert await store.recover(conversation.id) == []
    assert await pieces(store) == 1
    row = await store.conversation(conversation.id)
    assert row is not None
    assert row.updated >= conversation.updated


async def test_a_pid_given_out_again_is_another_process(
    store: Store, conversation: StoredConversation, directory: Path
) -> None:
    with sqlite3.connect(directory / FILE) as raw:
        raw.executemany(
            "INSERT INTO drafts (conversation_id, unit, type, timestamp, pid, started, text)"
            " VALUES (?, ?, 'respond', 1.0, ?, ?, ?)",
            [
                (conversation.id, "r1", os.getpid(), "another start", "old"),
                (conversation.id, "r1", os.getpid(), own_start(os.getpid()), "own"),
            ],
        )
    raw.close()

    (recovered,) = await store.recover(conversation.id)
    assert recovered.get("content") == "old"
    assert await pieces(store) == 1


async def test_other_conversations_keep_their_drafts(store: Store, conversation: StoredConversation) -> None:
    other = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    await store.append_draft(other.id, "r1", "respond", "x")
    await orphan(store)

    assert await store.recover(conversation.id) == []
    assert await pieces(store) == 1


def test_a_process_is_known_by_its_start() -> None:
    assert start_of(os.getpid()) == own_start(os.getpid()) != ""
    assert start_of(2**22 + 1) is None


def test_without_proc_a_pid_is_all_there_is(tmp_path: Path) -> None:
    assert start_of(os.getpid(), tmp_path) == ""
    assert start_of(1, tmp_path) == ""
    assert start_of(2**22 + 1, tmp_path) is None


def test_a_commands_name_cannot_pass_for_its_state(tmp_path: Path) -> None:
    for name in ("self", "7", "8"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stat").touch()
    rest = " ".join(["0"] * 18)
    (tmp_path / "7/stat").write_text(f"7 (x) Z (y z) S {rest} 4711 0")
    (tmp_path / "8/stat").write_text(f"8 (x) Z {rest} 4711 0")

    assert str(start_of(7, tmp_path)).endswith("/4711")
    assert start_of(8, tmp_path) is None
