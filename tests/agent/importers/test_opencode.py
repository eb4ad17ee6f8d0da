import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.importers.opencode import Opencode
from cogency_tui.agent.importers.session import Session, SessionFile
from tests.agent.importers.expected_sessions import FIXTURES, assert_expected

SHOP = "ses_de117fbe8ffeEv6Lvemnenptaq"
PLAIN = "ses_de116db10ffeYMwl4bAu2zDPoa"
INTERRUPTED = "ses_de117ca7cffelqRp3PAvvQ9aJ0"
NEW_ENGINE = "ses_de114b3fdffeOnDTYztWBePky9"
OLD = "ses_de114607effegYtobKGrcAGdGA"
WRONG: dict[str, Any] = {
    "role": 7,
    "type": ["text"],
    "time": {"created": "soon", "completed": [], "start": {}, "end": float("nan")},
    "text": 5,
    "tool": None,
    "state": {"status": 1, "input": "x", "output": [2**70], "metadata": 3, "time": []},
    "tokens": {"input": -1, "output": float("nan"), "cache": "all", "total": 2**63},
    "cost": "free",
    "content": [1, None, {"type": 3, "state": "x"}],
    "model": [],
}
DAMAGE = ("{", "[]", "null", "7", "[" * 100_000, json.dumps(WRONG), '{"type": "\\ud800", "role": "\\u0000"}')


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory where opencode 1.18 was used."""
    data = tmp_path / ".local/share/opencode"
    data.mkdir(parents=True)
    database = sqlite3.connect(data / "opencode.db")
    database.executescript((FIXTURES / "opencode-1.18.33/opencode.sql").read_text())
    database.close()
    return tmp_path


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    """A home directory where opencode 1.1 was used."""
    shutil.copytree(FIXTURES / "opencode-1.1.65/opencode", tmp_path / ".local/share/opencode")
    return tmp_path


def files(home: Path, **environment: str) -> dict[str, SessionFile]:
    return {file.id: file for file in Opencode().files(home, environment)}


def database(home: Path) -> sqlite3.Connection:
    return sqlite3.connect(home / ".local/share/opencode/opencode.db", isolation_level=None)


def change(home: Path, statement: str, *values: object) -> None:
    connection = database(home)
    connection.execute(statement, values)
    connection.close()


def read(home: Path, id: str) -> Session:
    session = Opencode().read(files(home)[id])
    assert session is not None
    return session


def keys(session: Session) -> list[str]:
    return [event.key for event in session.events]


def test_sessions_in_the_database(home: Path) -> None:
    assert_expected("opencode-1.18.33", Opencode(), home)


def test_sessions_in_files_of_older_versions(old_home: Path) -> None:
    assert_expected("opencode-1.1.65", Opencode(), old_home)


def test_files_name_each_session_with_its_project(home: Path) -> None:
    found = files(home)
    assert len(found) == 6
    file = found[SHOP]
    assert (file.path.name, file.project, file.stamp) == (
        "opencode.db",
        "/home/ada/shop",
        "1795814859631-126",
    )
    assert not files(home / "nobody")


def test_the_program_s_own_variables_are_honoured(home: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(home / ".local/share/opencode", moved / "opencode")
    assert not files(home)
    assert len(files(home, XDG_DATA_HOME=str(moved))) == 6
    (moved / "opencode/opencode.db").rename(moved / "mine.sqlite")
    assert not files(home, XDG_DATA_HOME=str(moved))
    assert len(files(home, OPENCODE_DB=str(moved / "mine.sqlite"))) == 6


def test_a_session_in_the_database_is_not_read_from_its_old_files(home: Path) -> None:
    storage = home / ".local/share/opencode/storage"
    shutil.copytree(FIXTURES / "opencode-1.1.65/opencode/storage", storage)
    (moved := next(storage.glob(f"session/*/{OLD}.json"))).with_stem(SHOP).write_bytes(moved.read_bytes())
    found = files(home)
    assert found[SHOP].path.name == "opencode.db"
    assert found[OLD].path.suffix == ".json"
    assert len(found) == 8


def test_a_stamp_changes_with_the_session(home: Path) -> None:
    before = files(home)[SHOP].stamp
    change(home, "UPDATE event_sequence SET seq = seq + 1")
    changed = files(home)[SHOP].stamp
    change(home, "UPDATE session SET time_updated = ?", int(time.time() * 1000))
    assert len({before, changed, files(home)[SHOP].stamp}) == 3
    assert files(home)[SHOP].stamp.endswith("+")


def test_a_stamp_of_older_files_changes_with_a_new_message(old_home: Path) -> None:
    before = files(old_home)[OLD].stamp
    (old_home / f".local/share/opencode/storage/message/{OLD}/msg_z.json").write_text("{}")
    assert files(old_home)[OLD].stamp != before


def grown(home: Path) -> Iterator[Session]:
    """Read the session as it was after each change that the program stored."""
    connection = database(home)
    messages = connection.execute(
        "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id", (SHOP,)
    ).fetchall()
    parts = connection.execute("SELECT * FROM part WHERE session_id = ? ORDER BY id", (SHOP,)).fetchall()
    connection.execute("DELETE FROM part WHERE session_id = ?", (SHOP,))
    connection.execute("DELETE FROM message WHERE session_id = ?", (SHOP,))
    connection.execute("UPDATE session SET time_updated = ?", (int(time.time() * 1000),))
    store = "INSERT OR REPLACE INTO {} VALUES(?, ?, ?, ?, ?{})"
    for id, *columns, whole in messages:
        unfinished = json.loads(whole)
        unfinished["time"].pop("completed", None)
        connection.execute(store.format("message", ""), (id, *columns, json.dumps(unfinished)))
        yield from some(Opencode().read(files(home)[SHOP]))
        for part, message, *more, data in parts:
            if message == id:
                for each in (_unfinished(json.loads(data)), json.loads(data)):
                    connection.execute(store.format("part", ", ?"), (part, message, *more, json.dumps(each)))
                    yield from some(Opencode().read(files(home)[SHOP]))
        connection.execute(store.format("message", ""), (id, *columns, whole))
        yield from some(Opencode().read(files(home)[SHOP]))
    connection.close()


def some(session: Session | None) -> list[Session]:
    return [] if session is None else [session]


def _unfinished(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "tool":
        state = part["state"]
        return {**part, "state": {"status": "running", "input": state["input"], "time": {"start": 1}}}
    return {**part, "text": "", "time": {"start": 1}} if "time" in part else part


def test_nothing_changes_that_was_read_while_the_session_grows(home: Path) -> None:
    whole = read(home, SHOP)
    counts: set[int] = set()
    for session in grown(home):
        counts.add(len(session.events))
        assert session.events == whole.events[: len(session.events)]
        assert session.usage == whole.usage[: len(session.usage)]
        assert session.edits == whole.edits[: len(session.edits)]
        assert not session.unknown
    assert len(counts) > 20
    assert max(counts) == len(whole.events)


def test_an_answer_that_stopped_long_ago_was_interrupted(home: Path) -> None:
    last = read(home, INTERRUPTED).events[-1].event
    assert last["type"] == "result"
    assert last["payload"]["state"] == "interrupted"
    change(home, "UPDATE session SET time_updated = ?", int(time.time() * 1000))
    assert read(home, INTERRUPTED).events[-1].event["type"] == "respond"


def test_what_the_user_has_reverted_is_left_out(home: Path) -> None:
    texts = [event.event.get("content") for event in read(home, PLAIN).events]
    assert "After the summary" in texts
    assert "To be reverted" not in texts
    change(home, "UPDATE session SET revert = NULL")
    texts = [event.event.get("content") for event in read(home, PLAIN).events]
    assert "To be reverted" in texts
    first = read(home, SHOP).events[:2]
    revert = {"messageID": "msg_21ee8093a001tLVXtvUGpx652B", "partID": "prt_21ee80d57001eQuTGwmMLiJrot"}
    change(home, "UPDATE session SET revert = ?", json.dumps(revert))
    assert [event.key for event in first][:1] == keys(read(home, SHOP))[:1]
    assert "respond" not in [event.event["type"] for event in read(home, SHOP).events]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("table", ["message", "part", "session_message"])
def test_a_damaged_row_costs_no_more_than_itself(home: Path, table: str, damage: str) -> None:
    connection = database(home)
    rows = connection.execute(
        f"SELECT rowid, session_id, data FROM {table} WHERE session_id != ? AND data NOT LIKE '%:{{\"id\":%}}}}'",
        (PLAIN,),
    )
    for rowid, session, data in rows.fetchall():
        whole = keys(read(home, session))
        connection.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (damage, rowid))
        found = Opencode().read(files(home)[session])
        connection.execute(f"UPDATE {table} SET data = ? WHERE rowid = ?", (data, rowid))
        assert found is not None
        assert damage[:2] == '{"' or found.unknown_count
        assert len(set(keys(found))) == len(found.events)
        calls = [event.key for event in found.events if event.event["type"] == "call"]
        results = [event.key for event in found.events if event.event["type"] == "result"]
        assert sorted(results) == sorted(f"{key}=" for key in calls)
        assert table != "part" or len(whole) - len(found.events) <= 2
    connection.close()


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_costs_no_more_than_itself(old_home: Path, damage: str) -> None:
    for path in (old_home / ".local/share/opencode/storage").rglob("*.json"):
        whole = path.read_bytes()
        path.write_text(damage)
        for file in Opencode().files(old_home, {}):
            try:
                found = Opencode().read(file)
            except OSError:
                assert file.path == path
                continue
            assert found is None or len(set(keys(found))) == len(found.events)
        path.unlink()
        path.mkdir()
        for file in Opencode().files(old_home, {}):
            Opencode().read(file)
        path.rmdir()
        path.write_bytes(whole)


def test_what_is_no_database_holds_no_sessions(home: Path) -> None:
    path = home / ".local/share/opencode/opencode.db"
    whole = path.read_bytes()
    file = files(home)[SHOP]
    for content in (b"", b"SQLite format 3\0" + bytes(4096), whole[:6_000], whole[:4096] + b"\xff" * 20_000):
        path.write_bytes(content)
        files(home)
        with pytest.raises(OSError):
            Opencode().read(file)
    path.unlink()
    with pytest.raises(OSError):
        Opencode().read(file)
    path.mkdir()
    assert not files(home)
    with pytest.raises(OSError):
        Opencode().read(file)


def test_a_table_that_never_ends_is_not_read(home: Path) -> None:
    connection = database(home)
    file = files(home)[SHOP]
    connection.executescript(
        "ALTER TABLE session RENAME TO sessions; CREATE VIEW session AS WITH RECURSIVE endless(id) AS "
        "(SELECT 'x' UNION ALL SELECT id FROM endless) SELECT id, 0 AS time_updated FROM endless;"
    )
    connection.close()
    assert not files(home)
    with pytest.raises(OSError):
        Opencode().read(file)


def test_reading_neither_changes_the_database_nor_waits_for_its_program(home: Path) -> None:
    directory = home / ".local/share/opencode"
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    whole = keys(read(home, SHOP))
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before

    program = database(home)
    program.execute("UPDATE session SET title = 'Stored'")
    program.execute("BEGIN IMMEDIATE")
    program.execute("UPDATE session SET title = 'Not stored yet'")
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert len(before) == 3
    session = read(home, SHOP)
    assert (session.title, keys(session)) == ("Stored", whole)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
    program.execute("COMMIT")
    assert read(home, SHOP).title == "Not stored yet"
    program.close()


def test_unknown_types_are_counted_with_their_places(home: Path) -> None:
    change(
        home,
        "UPDATE part SET data = '{\"type\": \"hologram\"}' WHERE id = 'prt_21ee80d57001eQuTGwmMLiJrot'",
    )
    change(home, "UPDATE session_message SET type = 'dream' WHERE type = 'model-switched'")
    assert read(home, SHOP).unknown == ["prt_21ee80d57001eQuTGwmMLiJrot: type 'hologram'"]
    assert read(home, NEW_ENGINE).unknown == ["msg_21eeb4c17001B97PUTBsr7M044: role 'dream'"]


def patch(before: str, after: str) -> dict[str, Any]:
    lines = [f"-{line}" for line in before.splitlines()] + [f"+{line}" for line in after.splitlines()]
    added, removed = len(after.splitlines()), len(before.splitlines())
    body = "\n".join(["Index: x", "--- x", "+++ x", "@@ -1 +1 @@", *lines])
    return {"filediff": {"patch": body, "additions": added, "deletions": removed}}


def edits(home: Path, *calls: tuple[str, dict[str, Any], dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    """Store calls, each in a step of its own, and return the edits that are read from them."""
    connection = database(home)
    connection.execute("DELETE FROM part WHERE session_id = ?", (INTERRUPTED,))
    answer = "msg_21ee83916001W7AC4jYcKPHcCx"
    for at, (tool, given, metadata) in enumerate(calls):
        state = {"status": "completed", "input": given, "output": "", "metadata": metadata}
        for suffix, part in (
            ("a", {"type": "tool", "tool": tool, "state": state}),
            ("b", {"type": "step-finish"}),
        ):
            values = (f"prt_{at:03}{suffix}", answer, INTERRUPTED, 0, 0, json.dumps(part))
            connection.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", values)
    connection.close()
    return [(edit.path, edit.before, edit.after) for edit in read(home, INTERRUPTED).edits]


WRITE = ("write", {"filePath": "/home/ada/shop/a.py", "content": "a = 1\nb = 2\n"}, {"exists": False})
WROTE = ("/home/ada/shop/a.py", None, b"a = 1\nb = 2\n")
REWRITE = ("write", {"filePath": "a.py", "content": "c = 3\n"}, {"exists": True})


def edit(
    old: str, new: str, metadata: dict[str, Any], **more: Any
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return "edit", {"filePath": "/home/ada/shop/a.py", "oldString": old, "newString": new, **more}, metadata


def test_edits_of_a_file_follow_from_its_creation(home: Path) -> None:
    found = edits(home, WRITE, edit("= 1", "= 10\nx = 0", patch("a = 1", "a = 10\nx = 0")), REWRITE)
    assert found == [
        WROTE,
        ("/home/ada/shop/a.py", b"a = 1\nb = 2\n", b"a = 10\nx = 0\nb = 2\n"),
        ("/home/ada/shop/a.py", b"a = 10\nx = 0\nb = 2\n", b"c = 3\n"),
    ]


def test_edits_are_not_guessed(home: Path) -> None:
    formatted = edit("= 1", "= 10", patch("a = 1", "a = ten"))
    assert edits(home, WRITE, formatted, REWRITE) == [WROTE]
    assert edits(home, WRITE, ("bash", {"command": "date > a.py"}, {}), REWRITE) == [WROTE]
    assert edits(home, WRITE, edit("=", "is", patch("a = 1", "a is 1"))) == [WROTE]
    assert edits(home, REWRITE) == []
    assert edits(home, edit("= 1", "= 10", patch("a = 1", "a = 10"))) == []


def test_stored_contents_are_edits_of_their_own(home: Path) -> None:
    whole = {"filediff": {"before": "a\r\n", "after": "b\r\n"}}
    assert edits(home, edit("a", "b", whole)) == [("/home/ada/shop/a.py", b"a\r\n", b"b\r\n")]
    one = {"filePath": "/home/ada/shop/a.py", "before": "a\n", "after": "b\n"}
    moved = {**one, "type": "move", "movePath": "/home/ada/shop/b.py"}
    kinds = [{**one, "type": "update"}, {**one, "type": "add"}, {**one, "type": "delete"}, moved]
    assert edits(home, ("apply_patch", {"patchText": ""}, {"files": kinds})) == [
        ("/home/ada/shop/a.py", b"a\n", b"b\n"),
        ("/home/ada/shop/a.py", None, b"b\n"),
        ("/home/ada/shop/a.py", b"a\n", None),
        ("/home/ada/shop/a.py", b"a\n", None),
        ("/home/ada/shop/b.py", None, b"b\n"),
    ]


@pytest.fixture
def snapshot(home: Path) -> Callable[[bytes], str]:
    """Store the tree of a project whose only file, `a.py`, has this content; return its name."""
    [project] = database(home).execute("SELECT project_id FROM session LIMIT 1").fetchone()
    repository = home / f".local/share/opencode/snapshot/{project}/0"
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet", "--bare", ".")

    def store(content: bytes) -> str:
        blob = git(repository, "hash-object", "-w", "--stdin", stdin=content)
        return git(repository, "mktree", stdin=f"100644 blob {blob}\ta.py\n".encode())

    return store


def git(directory: Path, *arguments: str, stdin: bytes = b"") -> str:
    ran = subprocess.run(["git", *arguments], cwd=directory, input=stdin, capture_output=True, check=True)
    return ran.stdout.decode().strip()


def step(
    home: Path, before: str, after: str, *calls: tuple[str, dict[str, Any], dict[str, Any]]
) -> list[tuple[str, Any, Any]]:
    """Store a step between two snapshots, and return the edits that are read from it."""
    parts: list[dict[str, Any]] = [{"type": "step-start", "snapshot": before}]
    for at, (tool, given, metadata) in enumerate(calls):
        state = {
            "status": "completed",
            "input": given,
            "output": "",
            "metadata": metadata,
            "time": {"end": at},
        }
        parts.append({"type": "tool", "tool": tool, "state": state})
    parts.append({"type": "step-finish", "snapshot": after})
    connection = database(home)
    connection.execute("DELETE FROM part WHERE session_id = ?", (INTERRUPTED,))
    for at, part in enumerate(parts):
        values = (f"prt_{at:03}", "msg_21ee83916001W7AC4jYcKPHcCx", INTERRUPTED, 0, 0, json.dumps(part))
        connection.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", values)
    connection.close()
    return [(edit.path, edit.before, edit.after) for edit in read(home, INTERRUPTED).edits]


ONE = edit("= 1", "= 10", patch("a = 1", "a = 10"))
TWO = edit("b", "c\nd", patch("b = 2", "c\nd = 2"))


def test_edits_of_files_that_were_there_begin_with_a_snapshot(
    home: Path, snapshot: Callable[[bytes], str]
) -> None:
    before, after = snapshot(b"a = 1\r\nb = 2\r\n"), snapshot(b"a = 10\r\nc\r\nd = 2\r\n")
    path = "/home/ada/shop/a.py"
    assert step(home, before, after, ONE, TWO) == [
        (path, b"a = 1\r\nb = 2\r\n", b"a = 10\r\nb = 2\r\n"),
        (path, b"a = 10\r\nb = 2\r\n", b"a = 10\r\nc\r\nd = 2\r\n"),
    ]
    written = snapshot(b"c = 3\n")
    assert step(home, after, written, REWRITE) == [(path, b"a = 10\r\nc\r\nd = 2\r\n", b"c = 3\n")]


def test_edits_that_do_not_end_with_the_next_snapshot_are_unknown(
    home: Path, snapshot: Callable[[bytes], str]
) -> None:
    before, after = snapshot(b"a = 1\nb = 2\n"), snapshot(b"a = 10\nb = 2\n")
    assert step(home, before, after, ONE) == [("/home/ada/shop/a.py", b"a = 1\nb = 2\n", b"a = 10\nb = 2\n")]
    assert step(home, before, snapshot(b"a = 10\nb = 2\n\n"), ONE) == []
    assert step(home, before, after, ONE, ("bash", {"command": "date >> a.py"}, {})) == []
    assert step(home, "0" * 40, after, ONE) == []
    assert step(home, "HEAD", "--help", ONE) == []
    assert step(home, snapshot(b"a = 1\xff"), snapshot(b"a = 10\xff"), ONE) == []


def test_the_files_of_a_patch_are_those_of_the_snapshots_around_it(
    home: Path, snapshot: Callable[[bytes], str]
) -> None:
    before, after = snapshot(b"\ta = 1\nb = 2\n"), snapshot(b"\ta = 10\nb = 2\n")
    path = "/home/ada/shop/a.py"
    file = {"filePath": path, "type": "update", **patch("a = 1", "a = 10")["filediff"]}
    change = ("apply_patch", {"patchText": ""}, {"files": [file]})
    assert step(home, before, after, change) == [(path, b"\ta = 1\nb = 2\n", b"\ta = 10\nb = 2\n")]
    assert step(home, before, after, change, ONE) == []
    assert step(home, after, before, change) == []
    assert step(home, before, "", change) == []
    gone = {"filePath": path, "type": "delete", **patch("a = 1\nb = 2\n", "")["filediff"], "deletions": 3}
    empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    assert step(home, before, empty, ("apply_patch", {}, {"files": [gone]})) == [
        (path, b"\ta = 1\nb = 2\n", None)
    ]
    new = {"filePath": path, "type": "add", **patch("", "a = 10\nb = 2\n")["filediff"]}
    assert step(home, empty, after, ("apply_patch", {}, {"files": [new]})) == [
        (path, None, b"\ta = 10\nb = 2\n")
    ]
