"""Vibe's sessions are read as Vibe wrote them, whatever else its files hold."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.importers.session import Session, SessionFile
from cogency_tui.agent.importers.vibe import Vibe
from tests.agent.importers.expected_sessions import assert_expected, assert_only_grows, files_of
from tests.agent.importers.reading import copy_fixture, damaged, prefixes

NEW, OLD = "vibe-3.0.2", "vibe-2.8.1"
SHOP = "1e7ab08d-89a4-2fb3-853d-16ee08b756dd"
RUNNING = "62d7637f-1be8-fa7e-5db5-4e9524639f0b"
PARENT = "571b2faf-9334-ceda-7700-da88bfe0c643"
CHILD = "child-010a93ed711bdd2a35cdd126"
UNIFIED = Path(".vibe/logs/session/unified")
LEGACY = Path(".vibe/logs/session/session_20261127_215143_a04f1f75/messages.jsonl")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    copy_fixture(NEW, tmp_path / "new")
    return tmp_path / "new"


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    copy_fixture(OLD, tmp_path / "old")
    return tmp_path / "old"


@pytest.mark.parametrize("version", [NEW, OLD])
def test_all_that_vibe_wrote_is_read(tmp_path: Path, version: str) -> None:
    copy_fixture(version, tmp_path / version)

    assert_expected(version, Vibe(), tmp_path / version)


def test_other_folders_of_vibe_are_searched(tmp_path: Path, home: Path) -> None:
    assert len(files_of(Vibe(), home)) == 4
    assert not files_of(Vibe(), tmp_path)
    assert len(list(Vibe().files(tmp_path, {"VIBE_HOME": str(home / ".vibe")}))) == 4
    settings = tmp_path / ".vibe" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'[session_logging]\nsave_dir = "{home / UNIFIED.parent}"\n')

    assert len(files_of(Vibe(), tmp_path)) == 4


@pytest.mark.parametrize(
    "settings", ["", "[session_logging", "session_logging = 1", "[session_logging]\nsave_dir = 1"]
)
def test_settings_that_make_no_sense_are_ignored(home: Path, settings: str) -> None:
    (home / ".vibe" / "config.toml").write_text(settings)

    assert len(files_of(Vibe(), home)) == 4


def test_a_session_that_goes_on_keeps_its_events(home: Path) -> None:
    journal = next((home / UNIFIED / RUNNING / "journal").iterdir())

    assert_only_grows(_read(home, RUNNING) for _ in prefixes(journal))


def test_calls_at_the_same_time_keep_their_order_as_they_end(home: Path) -> None:
    history = _History(home, SHOP)
    whole = history.entries
    at_once = [entry for entry in whole if entry["type"] == "effect"][1:3]
    calls = sorted(at_once, key=lambda call: call["updatedAt"])
    shown = whole[: whole.index(at_once[1]) + 1]
    sessions: list[Session] = []
    for ended in ([], calls[:1], calls):
        history.write([_started(each) if each in calls and each not in ended else each for each in shown])
        sessions.append(_read(home, SHOP))
    history.write(whole)

    assert_only_grows([*sessions, _read(home, SHOP)])


def test_an_older_session_that_goes_on_keeps_its_events(old_home: Path) -> None:
    assert_only_grows(_read_old(old_home) for _ in prefixes(old_home / LEGACY))


def test_a_damaged_journal_is_counted_and_the_rest_is_read(home: Path) -> None:
    journal = next((home / UNIFIED / RUNNING / "journal").iterdir())

    for record, damage in damaged(journal):
        session = _read(home, RUNNING)
        if len(damage) < 5:
            assert session.unknown_count, (record["type"], damage)


def test_a_damaged_message_is_counted_and_the_rest_is_read(old_home: Path) -> None:
    for _, damage in damaged(old_home / LEGACY):
        session = _read_old(old_home)
        if len(damage) < 5:
            assert session.unknown_count, damage


def test_a_damaged_entry_is_counted_and_the_rest_is_read(home: Path, tmp_path: Path) -> None:
    history = _History(home, SHOP)
    lines = tmp_path / "lines"
    lines.write_text("".join(json.dumps(entry) + "\n" for entry in history.entries))

    for _, damage in damaged(lines):
        history.write_text("[" + ",".join(lines.read_text().splitlines()) + "]")
        session = _read(home, SHOP)
        if len(damage) < 5 and damage != "[]":
            assert not session.events or session.unknown_count, damage


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "{}", "9" * 5_000, '{"a":' * 100_000, '"\\ud800"'])
@pytest.mark.parametrize("name", ["CURRENT", "meta.json", "manifest.json", "projection-state.json"])
def test_a_damaged_file_is_no_crash(home: Path, name: str, damage: str) -> None:
    path = next(path for path in (home / UNIFIED / SHOP).rglob("*") if path.name == name)
    path.write_text(damage)

    session = Vibe().read(SessionFile(home / UNIFIED / SHOP / "CURRENT", ""))

    assert session is None or session.id == SHOP


_FORGED: list[tuple[str, str, Any]] = [
    ("CURRENT", "generation", "../../../../elsewhere"),
    ("CURRENT", "generation", ["x"]),
    ("manifest.json", "projection_state", {"chunks": ["../../secret", None, 7, {}]}),
    ("manifest.json", "projection_state", {"chunks": 7}),
    ("manifest.json", "recovery_journal_segment", {"path": "/dev/zero"}),
    ("manifest.json", "recovery_journal_segment", {"path": "journal/../../../meta.json"}),
    ("projection-state.json", "snapshot", {"session": {"parentSessionId": "../.."}}),
]


@pytest.mark.parametrize(("name", "field", "value"), _FORGED)
def test_forged_names_lead_nowhere(home: Path, name: str, field: str, value: Any) -> None:
    path = next(path for path in (home / UNIFIED / SHOP).rglob("*") if path.name == name)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))

    session = Vibe().read(SessionFile(home / UNIFIED / SHOP / "CURRENT", ""))

    assert session is None or session.id == SHOP


def test_a_sub_agent_knows_the_call_that_started_it(home: Path) -> None:
    child = _read(home, CHILD)

    assert (child.parent, child.call) == (PARENT, "effect-01f7e1ed-9164-5c1f-a7bf-b97c3978fdb9")
    assert child.project == "/home/ada/shop"
    shutil.rmtree(home / UNIFIED / PARENT)

    assert (_read(home, CHILD).call, _read(home, CHILD).unknown) == ("", [])


def test_a_sub_agent_of_an_older_version_knows_the_call_with_its_task(old_home: Path) -> None:
    (file,) = (file for file in Vibe().files(old_home, {}) if "agents" in file.path.parts)
    starter = file.path.parent.parent.parent / "messages.jsonl"
    child = Vibe().read(file)
    assert child
    assert (child.parent[:8], child.call) == ("425f24ec", "a00000054")
    starter.write_text(starter.read_text() * 2)

    twice = Vibe().read(file)

    assert twice
    assert twice.call == ""


def test_a_call_that_may_still_run_is_open(home: Path) -> None:
    assert [each.key for each in _read(home, RUNNING).events][-1].endswith("=")
    os.utime(home / UNIFIED / RUNNING / "CURRENT")

    session = _read(home, RUNNING)

    assert session.has_open_calls
    assert session.events[-1].event["type"] == "call"


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ([("price", "cost", True)], b"cost cost\n"),
        ([("price price", "x", False), ("x", "y", False)], b"y\n"),
        ([("price", "cost", False)], None),
        ([("nothing", "cost", False)], None),
        ([("", "cost", False)], None),
    ],
)
def test_an_edit_is_known_only_if_the_replaced_text_is(
    home: Path, changes: list[tuple[str, str, bool]], after: bytes | None
) -> None:
    history = _History(home, SHOP)
    edit = next(entry for entry in history.entries if entry.get("title") == "file_system.search_replace")
    blocks = [{"old_str": old, "new_str": new, "replace_all": every} for old, new, every in changes]
    edit["detail"]["input"]["content"] = blocks
    edit["state"]["output"]["_meta"]["mistralai.vibe.sdk.search_replace"]["previous_content"] = (
        "price price\n"
    )
    history.write([edit])

    edits = _read(home, SHOP).edits

    assert [each.after for each in edits] == ([after] if after else [])


@pytest.mark.parametrize(
    ("name", "given", "own", "args"),
    [
        (
            "file_system.read_file",
            {"path": "/home/ada/shop/a", "offset": 9, "limit": 3},
            "read",
            {"file": "a", "lines": 3, "start": 10},
        ),
        ("grep", {"pattern": "x", "path": "/home/ada/shop"}, "find", {"content": "x", "path": "."}),
        ("web_fetch", {"url": "https://example.org"}, "fetch", {"url": "https://example.org"}),
        ("vibe.skill", {"name": "pdf"}, "skill", {"name": "pdf"}),
        ("github.create_issue", {"title": "x"}, "github.create_issue", {"title": "x"}),
        ("vibe.todo", {"action": "read"}, "todo", {"action": "read"}),
    ],
)
def test_calls_have_our_names(home: Path, name: str, given: Any, own: str, args: Any) -> None:
    history = _History(home, SHOP)
    call = next(entry for entry in history.entries if entry["type"] == "effect")
    call["detail"].update(toolName=name, input=given)
    history.write([call])

    event = _read(home, SHOP).events[0].event

    assert event["type"] == "call"
    assert json.loads(event["content"]) == {"name": own, "args": args}


@pytest.mark.parametrize("entry", [{"outcome": {"type": "discarded"}}, {"generationStatus": "in_progress"}])
def test_answers_that_were_discarded_or_are_not_complete_are_left_out(
    home: Path, entry: dict[str, Any]
) -> None:
    history = _History(home, SHOP)
    answer = next(each for each in history.entries if each.get("role") == "assistant")
    history.write([{**answer, **entry}])

    session = _read(home, SHOP)

    assert not session.events
    assert not session.unknown


def test_what_is_no_session_is_left_out(home: Path, old_home: Path) -> None:
    for path in (home / UNIFIED / SHOP / "CURRENT", old_home / LEGACY):
        path.unlink()
        path.mkdir()
    (home / UNIFIED / PARENT / "CURRENT").unlink()
    (home / UNIFIED / PARENT / "CURRENT").symlink_to("/dev/zero")

    assert len(files_of(Vibe(), home)) == 2
    assert len(files_of(Vibe(), old_home)) == 3


class _History:
    """The history in the last generation of a session, to be changed."""

    def __init__(self, home: Path, id: str) -> None:
        folder = home / UNIFIED / id
        (self._path,) = (folder / "chunks").iterdir()
        self.entries: list[Any] = json.loads(self._path.read_text())

    def write(self, entries: list[Any]) -> None:
        self.write_text(json.dumps(entries))

    def write_text(self, text: str) -> None:
        self._path.write_text(text)


def _started(entry: Any) -> Any:
    """A call as it was while it ran."""
    return {**entry, "state": {"status": "running"}, "updatedAt": entry["createdAt"]}


def _read(home: Path, id: str) -> Session:
    session = Vibe().read(SessionFile(home / UNIFIED / id / "CURRENT", ""))
    assert session
    return session


def _read_old(home: Path) -> Session:
    session = Vibe().read(SessionFile(home / LEGACY, ""))
    assert session
    return session
