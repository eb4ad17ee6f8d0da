"""The values of secret files in the sessions of other agents: no import has them, wherever a session repeats
them."""

import json
import os
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.export import as_markdown, as_page
from cogency_tui.agent.importers.importer import Importer
from cogency_tui.cli.mcp_history import ConversationArguments, EditsArguments, History, RecallArguments
from cogency_tui.redaction import MARKER
from cogency_tui.store.archive import ArchiveWriter
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import FILE
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import Store
from tests.agent.importers.test_importer import everything, imported

PASSWORD = "correcthorsebattery"
PROJECT = "/home/ada/shop"


def write_session(home: Path, *turns: tuple[Any, ...]) -> Path:
    """A session of Claude Code with these messages, each with the facts beside it, if there are any."""
    directory = home / ".claude/projects/-home-ada-shop"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "5b0f6c52-aaaa-4265-81f8-000000000001.jsonl"
    lines: list[str] = []
    for number, (role, content, *facts) in enumerate(turns):
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"m{number}", "model": "claude-x", "type": "message", "stop_reason": "end_turn"}
        record = {
            **{"type": role, "message": message, "uuid": f"u{number}", "sessionId": path.stem},
            **{"timestamp": f"2026-11-27T10:00:{number:02}.000Z", "cwd": PROJECT, "version": "2.1.197"},
        }
        lines.append(json.dumps(record | ({"toolUseResult": facts[0]} if facts else {})))
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(id: str, tool: str, **given: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": given}


def write(id: str, path: str, content: str, before: str | None = None) -> tuple[tuple[Any, ...], ...]:
    """A call that writes a file, and its result, in which Claude Code records the content before."""
    facts: dict[str, Any] = {"type": "update" if before else "create", "filePath": path, "content": content}
    facts |= {"originalFile": before, "structuredPatch": []}
    call = ("assistant", [use(id, "Write", file_path=path, content=content)])
    return call, (*came(id, "written"), facts)


def came(id: str, content: str) -> tuple[str, list[dict[str, Any]]]:
    return "user", [{"type": "tool_result", "tool_use_id": id, "content": content}]


SESSION = (
    ("user", "Set up the database."),
    (
        "assistant",
        [use("t1", "Write", file_path=f"{PROJECT}/.env", content=f"MODE=fast\nDB_PASSWORD={PASSWORD}\n")],
    ),
    came("t1", f"File created successfully at: {PROJECT}/.env"),
    ("assistant", [use("t2", "Read", file_path=f"{PROJECT}/.env")]),
    came("t2", f"     1→MODE=fast\n     2→DB_PASSWORD={PASSWORD}\n"),
    ("assistant", [text(f"The password is `{PASSWORD}` for now.")]),
)


async def shown_of(home: Path, data: Path) -> str:
    """Everything that exports and other agents are shown of the only conversation."""
    async with await Store.open(data) as store:
        await imported(store, home)
        (stored,) = await everything(store)
        events = await store.events(stored.id)
    shown = [as_markdown(stored, events), as_page(stored, events, "night"), stored.title]
    with closing(sqlite3.connect(data / FILE)) as connection:
        shown += ArchiveWriter(connection, Blobs(data / "blobs"), lambda _problem: None).lines()
    history = History(data, None)
    try:
        for query in ("", PASSWORD, "id_rsa", "env"):
            shown.append((await history.recall(RecallArguments(query=query))).text)
        shown.append((await history.conversation(ConversationArguments(stored.id, limit=100))).text)
        shown.append((await history.edits(EditsArguments(conversation=stored.id, diff=True))).text)
    finally:
        await history.close()
    return "\n".join(shown)


async def test_a_written_read_and_repeated_value_is_shown_nowhere(tmp_path: Path) -> None:
    write_session(tmp_path / "home", *SESSION)
    shown = await shown_of(tmp_path / "home", tmp_path / "data")
    assert PASSWORD not in shown
    assert f"The password is `{MARKER}` for now." in shown
    assert "MODE=fast" in shown


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (use("t", "Bash", command="cat config/.env | head"), f"export DB_PASSWORD='{PASSWORD}'\n"),
        (use("t", "Bash", command=f"cat > .env <<'EOF'\nDB_PASSWORD={PASSWORD}\nEOF"), "(no output)"),
        (use("t", "Bash", command=f"echo DB_PASSWORD={PASSWORD} >> .env"), "(no output)"),
        (
            use("t", "Edit", file_path=f"{PROJECT}/.env", old_string="DB_PASSWORD=x", new_string=f"DB_PASSWORD={PASSWORD}"),
            "updated",
        ),
        (use("t", "Edit", file_path=f"{PROJECT}/.env", old_string="changeme", new_string=PASSWORD), "updated"),
        (use("t", "Grep", pattern="PASSWORD", path=PROJECT), f"{PROJECT}/.env:2:DB_PASSWORD={PASSWORD}\n"),
        (use("t", "apply_patch", patch=f"*** Begin Patch\n*** Add File: .env\n+DB_PASSWORD={PASSWORD}\n*** End Patch"), "ok"),
    ],
)  # fmt: skip
async def test_each_way_to_a_secret_file_is_recognized(
    tmp_path: Path, call: dict[str, Any], result: str
) -> None:
    before_and_behind = ("assistant", [text(f"It is {PASSWORD}.")])
    write_session(
        tmp_path / "home",
        *(("user", "Look."), before_and_behind, ("assistant", [call]), came("t", result), before_and_behind),
    )
    shown = await shown_of(tmp_path / "home", tmp_path / "data")
    assert PASSWORD not in shown
    assert f"It is {MARKER}." in shown


async def test_a_word_is_hidden_only_in_its_file(tmp_path: Path) -> None:
    write_session(
        tmp_path / "home",
        ("user", "Read the settings of the harbour."),
        ("assistant", [use("t", "Bash", command="cat .env")]),
        came("t", "API_SECRET=harbour\n"),
        ("assistant", [text("The harbour is set.")]),
    )
    shown = await shown_of(tmp_path / "home", tmp_path / "data")
    assert "API_SECRET=harbour" not in shown
    assert "The harbour is set." in shown


async def test_a_session_that_shows_its_file_later_stays_one_conversation(tmp_path: Path) -> None:
    home = tmp_path / "home"
    turns = [("user", f"Use {PASSWORD}, please."), *SESSION[1:]]
    async with await Store.open(tmp_path / "data") as store:
        for count in range(1, len(turns) + 1):
            write_session(home, *turns[:count])
            os.utime(next(home.rglob("*.jsonl")), (count, count))
            await imported(store, home)
        (stored,) = await everything(store)
        assert len(await store.events(stored.id)) == len(turns)
        # What an earlier version has stored is still that session.
        again = Importer(store, Blobs(tmp_path / "data/blobs"), home, {}, None)
        assert [tally.conversations async for tally in again.run("claude-code", dry=True)][-1] == 0


async def test_the_summary_of_a_result_shows_no_piece_of_a_value(tmp_path: Path) -> None:
    value = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4" * 8
    write_session(
        tmp_path / "home",
        ("user", "Look."),
        ("assistant", [use("t", "Bash", command="cat .env")]),
        came("t", f"PLAIN={value}\nMODE=fast\n"),
    )
    shown = await shown_of(tmp_path / "home", tmp_path / "data")
    assert value[:16] not in shown
    assert f"PLAIN={MARKER}" in shown


async def test_the_summary_of_a_result_shows_no_line_of_a_private_key(tmp_path: Path) -> None:
    lines = [(f"aB3{number}E5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4" * 2)[:70] for number in (1, 2)]
    write_session(
        tmp_path / "home",
        ("user", "Look."),
        ("assistant", [use("t", "Bash", command="sed -n 2,3p id_rsa")]),
        came("t", "\n".join(lines)),
    )
    shown = await shown_of(tmp_path / "home", tmp_path / "data")
    assert lines[0][:16] not in shown
    assert f"{MARKER} (+1 lines)" in shown


async def test_a_content_with_a_value_is_not_stored(tmp_path: Path) -> None:
    home, data = tmp_path / "home", tmp_path / "data"
    old, new = f"client = connect('{PASSWORD}')\n", "client = connect(PASSWORD)\n"
    secret = f"MODE=fast\nDB_PASSWORD={PASSWORD}\n"
    write_session(
        home,
        *(*SESSION[:1], *write("w1", f"{PROJECT}/.env", secret), *write("w2", f"{PROJECT}/conf.py", old)),
        *write("w3", f"{PROJECT}/conf.py", new, before=old),
        *write("w4", f"{PROJECT}/.env", "MODE=slow\n", before=secret),
    )
    shown = await shown_of(home, data)
    assert PASSWORD not in shown
    assert b64encode(old.encode()).decode() not in shown
    digests = [path.parent.name + path.name for path in data.glob("blobs/*/*")]
    assert sorted(map(Blobs(data / "blobs").read, digests)) == [b"MODE=slow\n", new.encode()]
    async with await Store.open(data) as store:
        (conversation,) = await everything(store)
        edits = await Edits(store.database).of_conversation(conversation.id)
    assert [(edit.path, edit.kind, edit.before.kept, edit.after.kept) for edit in edits] == [
        (".env", "created", False, False),
        ("conf.py", "created", False, False),
        ("conf.py", "changed", False, True),
        (".env", "changed", False, True),
    ]
    assert {edit.before.digest for edit in edits} == {""}
