"""Codex's sessions are read as Codex wrote them, whatever else its files hold."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.importers.codex import Codex
from cogency_tui.agent.importers.session import Session
from tests.agent.importers.expected_sessions import assert_expected, assert_only_grows, files_of
from tests.agent.importers.reading import FIXTURES, damaged, prefixes

NEW, OLD = "codex-0.171.0", "codex-0.98.0"
SHOP = "01a21ee7-fd78-7ac1-83d8-eabab85b6c6a"
SCRIPTS = "01a21ee9-9cda-7c40-bdb6-a4a9286adea0"
COMPACTED = "01a21ee9-9fdf-7c50-ae53-cab50e84ffcc"
REWOUND = "01a21eea-6575-78b1-9e0c-98239ab36b56"
FORKED = "01a21eeb-cb56-7253-ad26-fb1907f96742"
PARENT = "01a21eec-427a-7fb2-ba0c-f626dd049dd3"
OLDER = "01a21eeb-512e-7850-bdbe-aac4aa945eb2"
CHILD = "01a21eec-42de-71d2-8302-e6f8c762f2cb"


@pytest.mark.parametrize("version", [NEW, OLD])
def test_all_that_codex_wrote_is_read(version: str) -> None:
    assert_expected(version, Codex())


def test_another_home_of_codex_is_searched(tmp_path: Path) -> None:
    given = FIXTURES / NEW / ".codex"

    assert not files_of(Codex(), tmp_path)
    found = list(Codex().files(tmp_path, {"CODEX_HOME": str(given)}))

    assert len(found) == len(files_of(Codex(), FIXTURES / NEW)) == 7


@pytest.mark.parametrize("id", [SHOP, SCRIPTS, COMPACTED, CHILD])
def test_a_session_that_goes_on_keeps_its_events(tmp_path: Path, id: str) -> None:
    path = _copied(tmp_path, NEW, id)

    assert_only_grows(_read_any(tmp_path, id) for _ in prefixes(path))


def test_an_older_session_that_goes_on_keeps_its_events(tmp_path: Path) -> None:
    path = _copied(tmp_path, OLD, OLDER)

    assert_only_grows(_read_any(tmp_path, OLDER) for _ in prefixes(path))


@pytest.mark.parametrize(
    ("version", "id"),
    [
        (NEW, SCRIPTS),
        pytest.param(NEW, SHOP, marks=pytest.mark.exhaustive),
        pytest.param(OLD, OLDER, marks=pytest.mark.exhaustive),
    ],
)
def test_a_damaged_line_is_counted_and_the_others_are_read(tmp_path: Path, version: str, id: str) -> None:
    path = _copied(tmp_path, version, id)

    for record, damage in damaged(path):
        session = _read_any(tmp_path, id)
        if len(damage) < 5 and record["type"] != "session_meta":
            assert session, damage
            assert session.unknown_count, damage
            assert session.unknown[0].startswith("line ")
        if session:
            _assert_complete(session)


def test_a_rewound_thread_is_one_session_and_a_fork_begins_where_it_left_it() -> None:
    found = {file.path.stem[-36:]: Codex().read(file) for file in Codex().files(FIXTURES / NEW, {})}
    rewound, forked = found[REWOUND], found[FORKED]
    assert rewound
    assert forked

    assert _messages(rewound) == ["Risky", "! echo mine", "Sleepy", "Plan it", "Say hi instead"]
    assert _messages(forked) == ["Risky", "! echo mine", "Sleepy", "Say hi instead", "Forked hello"]
    assert {each.key for each in rewound.usage}.isdisjoint(each.key for each in forked.usage)


def test_a_fork_whose_origin_is_gone_has_its_own_part(tmp_path: Path) -> None:
    _copied(tmp_path, NEW, FORKED)

    assert _messages(_read(tmp_path, FORKED)) == ["Forked hello"]


def test_a_fork_is_where_it_says(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / NEW, tmp_path, dirs_exist_ok=True)
    path = next(tmp_path.rglob(f"rollout-*-{FORKED}.jsonl"))
    _change_heading(path, {"cwd": "/home/ada/fork", "model_provider": "other"})

    session = _read(tmp_path, FORKED)

    assert (session.project, session.provider) == ("/home/ada/fork", "other")
    assert _messages(session)[0] == "Risky"


def test_a_fork_of_itself_ends(tmp_path: Path) -> None:
    path = _copied(tmp_path, NEW, FORKED)
    base = {"thread_id": FORKED, "end_ordinal_exclusive": 60}
    _change_heading(path, {"history_base": base})

    assert _messages(_read(tmp_path, FORKED)) == ["Forked hello"] * 2


def test_a_sub_agent_knows_the_call_that_started_it() -> None:
    sessions = [Codex().read(file) for file in Codex().files(FIXTURES / NEW, {})]
    child = next(each for each in sessions if each and each.id == CHILD)

    assert (child.parent, child.call) == (PARENT, "call_b011")
    assert _messages(child) == ["Count the lines of notes.md"]


def test_a_sub_agent_of_the_program_itself_is_no_session(tmp_path: Path) -> None:
    path = _copied(tmp_path, NEW, CHILD)
    _change_heading(path, {"source": {"subagent": "memory_consolidation"}})

    assert _read_any(tmp_path, CHILD) is None


def test_a_task_that_another_agent_sent_is_what_a_sub_agent_was_asked(tmp_path: Path) -> None:
    path = _copied(tmp_path, NEW, CHILD)
    text = "Message Type: NEW_TASK\nTask name: /root/counter\nSender: /root\nPayload:\n"
    for payload in ("Count them.", ""):
        content = [{"type": "input_text", "text": text + payload}, {"type": "encrypted_content", "x": "gA"}]
        item = {"type": "agent_message", "id": f"amsg{payload}", "content": content}
        _append(path, {"ordinal": 90, "type": "response_item", "payload": item})

    session = _read(tmp_path, CHILD)

    assert not session.unknown
    assert _messages(session)[1:] == ["Count them.", "(Codex's record of the task is encrypted.)"]


def test_ids_that_a_provider_repeats_stay_apart(tmp_path: Path) -> None:
    path = _copied(tmp_path, NEW, SHOP)
    for number in range(2):
        call = {"type": "function_call", "name": "exec_command", "call_id": "call_a001", "arguments": "{}"}
        call["arguments"] = json.dumps({"cmd": f"echo {number}"})
        output = {
            "type": "function_call_output",
            "call_id": "call_a001",
            "output": f"Exit code: 0\nOutput:\n{number}",
        }
        _append(path, {"type": "response_item", "payload": call})
        _append(path, {"type": "response_item", "payload": output})

    session = _read(tmp_path, SHOP)

    assert not session.unknown
    results = [each.event for each in session.events if each.event["type"] == "result"][-2:]
    assert [event["payload"]["content"] for event in results if event["type"] == "result"] == [
        "exit 0\n0",
        "exit 0\n1",
    ]


def test_contents_are_known_only_until_another_command_has_run(tmp_path: Path) -> None:
    path = _copied(tmp_path, NEW, SCRIPTS)
    assert [edit.before for edit in _read(tmp_path, SCRIPTS).edits] == [b"one\ntwo\n"]

    ran = {"type": "CommandExecution", "id": "x", "parsed_cmd": [{"type": "unknown"}], "command": ["make"]}
    lines = path.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if '"FileChange"' in line)
    made = json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": ran}})
    path.write_text("\n".join([*lines[:at], made, *lines[at:]]) + "\n", "utf-8")

    session = _read(tmp_path, SCRIPTS)

    assert not session.edits
    assert not session.unknown


@pytest.mark.parametrize(
    ("before", "diff", "after"),
    [
        ("a\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n", b"a\nB\nc\n"),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", b"a\nc\n"),
        ("a\n", "@@ -0,0 +1 @@\n+first\n", b"first\na\n"),
        ("a\n", "@@ -1 +1 @@\n-b\n+c\n", None),
        ("a\n", "@@ -9 +9 @@\n-a\n+c\n", None),
        ("a\n", "@@ -1,2 +1,1 @@\n-a\n", None),
    ],
)
def test_a_diff_is_applied_where_it_fits_exactly(
    tmp_path: Path, before: str, diff: str, after: bytes | None
) -> None:
    path = _copied(tmp_path, NEW, SCRIPTS)
    file = "/home/ada/notes/x"
    for change in ({"type": "add", "content": before}, {"type": "update", "unified_diff": diff}):
        item = {"type": "FileChange", "id": "call_a016", "status": "completed", "changes": {file: change}}
        _append(path, {"type": "event_msg", "payload": {"type": "item_completed", "item": item}})

    session = _read(tmp_path, SCRIPTS)

    assert [edit.after for edit in session.edits if edit.path == file] == [
        before.encode(),
        *([after] if after else []),
    ]


@pytest.mark.parametrize(
    ("output", "state", "content"),
    [
        ('{"output":"no\\n","metadata":{"exit_code":2,"duration_seconds":0.5}}', "failed", "exit 2\nno"),
        ("exec command rejected by user", "declined", "exec command rejected by user"),
        ("aborted by user after 2.1s", "interrupted", "aborted by user after 2.1s"),
        ({"content": "sandbox denied", "success": False}, "failed", "sandbox denied"),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\n", "done", "exit 0\n(no output)"),
        ("Output:\n", "done", "Output:\n"),
    ],
)
def test_results_of_other_versions(tmp_path: Path, output: Any, state: str, content: str) -> None:
    path = _copied(tmp_path, NEW, COMPACTED)
    call = {
        "type": "function_call",
        "name": "shell",
        "call_id": "old",
        "arguments": '{"command":["bash","-lc","x"]}',
    }
    _append(path, {"type": "response_item", "payload": call})
    result = {"type": "function_call_output", "call_id": "old", "output": output}
    _append(path, {"type": "response_item", "payload": result})

    session = _read(tmp_path, COMPACTED)

    event = session.events[-1].event
    assert event["type"] == "result"
    assert (event["payload"]["state"], event["payload"]["content"]) == (state, content)


def test_sessions_of_the_first_versions_are_read(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "sessions" / "2025" / "06" / "01"
    folder.mkdir(parents=True)
    path = folder / f"rollout-2025-06-01T10-00-00-{SHOP}.jsonl"
    path.touch()
    text = "<environment_context>\n<cwd>/home/ada/shop</cwd>\n</environment_context>"
    shell = {"command": ["apply_patch", "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"]}
    for record in (
        {"id": SHOP, "timestamp": "2025-06-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "function_call", "name": "shell", "arguments": json.dumps(shell), "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "Exit code: 0\nOutput:\nSuccess."},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
    ):
        _append(path, record)

    session = _read(tmp_path, SHOP)

    assert session.project == "/home/ada/shop"
    assert [each.event["type"] for each in session.events] == ["user", "call", "result", "respond"]
    assert [(edit.path, edit.before, edit.after) for edit in session.edits] == [
        ("/home/ada/shop/a", None, b"b\n")
    ]
    assert session.events[0].event["timestamp"] == 1748772000


def test_what_is_no_rollout_is_left_out(tmp_path: Path) -> None:
    path = _copied(tmp_path, NEW, SHOP)
    data = path.read_bytes()
    path.unlink()
    path.mkdir()
    folder = path.parent
    os.mkfifo(folder / f"rollout-2026-11-27T21-00-00-{CHILD}.jsonl")
    (folder / f"rollout-2026-11-27T21-00-00-{PARENT}.jsonl").symlink_to("/dev/zero")
    (folder / f"rollout-2026-11-27T21-00-00-{FORKED}.jsonl").symlink_to(folder / "nowhere")
    (folder / "rollout-of-another.jsonl").write_bytes(data)
    (folder / "loop").symlink_to(folder)

    assert not files_of(Codex(), tmp_path)


def _read(home: Path, id: str) -> Session:
    session = _read_any(home, id)
    assert session
    return session


def _read_any(home: Path, id: str) -> Session | None:
    found = [file for file in Codex().files(home, {}) if id in file.path.name]
    return Codex().read(found[0]) if found else None


def _copied(home: Path, version: str, id: str) -> Path:
    """Copy a rollout alone, and return the copy."""
    path = next(iter((FIXTURES / version).rglob(f"rollout-*-{id}.jsonl")))
    copy = home / path.relative_to(FIXTURES / version)
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    return copy


def _append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def _change_heading(path: Path, fields: dict[str, Any]) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    record = json.loads(lines[0])
    record["payload"].update(fields)
    path.write_text("".join([json.dumps(record) + "\n", *lines[1:]]), "utf-8")


def _messages(session: Session) -> list[str]:
    return [each.event["content"] for each in session.events if each.event["type"] == "user"]


def _assert_complete(session: Session) -> None:
    """Check that keys are unique, and that calls have one result each, or are the last."""
    keys = [each.key for each in session.events]
    assert len(keys) == len(set(keys))
    calls = [each.key for each in session.events if each.event["type"] == "call"]
    results = [each.event["id"] for each in session.events if each.event["type"] == "result"]
    assert len(results) == len(set(results))
    assert set(results) <= set(calls)
