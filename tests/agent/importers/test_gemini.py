import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.importers.gemini import Gemini
from cogency_tui.agent.importers.session import Session, SessionFile
from tests.agent.importers.expected_sessions import assert_expected, assert_only_grows, files_of
from tests.agent.importers.reading import copy_fixture, damaged, prefixes

CHATS = ".gemini/tmp/shop/chats"
MAIN = f"{CHATS}/session-2026-11-27T21-58-621eeb14.jsonl"
DECLINED = f"{CHATS}/session-2026-11-27T21-58-d476cbcb.jsonl"
COMPRESSED = f"{CHATS}/session-2026-11-27T21-58-46e42f90.jsonl"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    copy_fixture("gemini-0.61.0", tmp_path / "home")
    return tmp_path / "home"


def read(home: Path, name: str) -> Session:
    session = Gemini().read(files_of(Gemini(), home)[name])
    assert session is not None
    return session


def prompts(session: Session) -> list[str]:
    return [each.event["content"] for each in session.events if each.event["type"] == "user"]


def append(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(f"{json.dumps(record)}\n" for record in records)


@pytest.mark.parametrize("version", ["0.61.0", "0.20.2"])
def test_sessions_are_read_whole(version: str) -> None:
    assert_expected(f"gemini-{version}", Gemini())


def test_a_session_of_a_sub_agent_belongs_to_the_call_that_started_it(home: Path) -> None:
    main = read(home, MAIN)
    [below] = [name for name in files_of(Gemini(), home) if name.count("/") == 5]
    session = read(home, below)
    assert session.parent == main.id
    assert f"{session.call}=" in [each.key for each in main.events]


@pytest.mark.parametrize("name", [MAIN, DECLINED, COMPRESSED])
def test_nothing_changes_that_was_read_while_a_session_grows(home: Path, name: str) -> None:
    path = home / name
    whole = read(home, name)
    sessions = [Gemini().read(SessionFile(path, "")) for _ in prefixes(path)]
    assert_only_grows(sessions)
    assert sessions[-1] == whole


@pytest.mark.parametrize(("name", "lines"), [(MAIN, slice(9, 14)), (DECLINED, slice(4, None))])
def test_a_damaged_line_costs_no_more_than_itself(home: Path, name: str, lines: slice) -> None:
    path = home / name
    whole = path.read_text().splitlines()
    path.write_text("\n".join([whole[0], *whole[lines]]))
    for record, damage in damaged(path):
        session = Gemini().read(SessionFile(path, ""))
        assert session is not None or "sessionId" in record
        if session is None:
            # Without its first line it has no id, and with another of that form nothing is damaged.
            continue
        found = [each.key for each in session.events]
        assert len(set(found)) == len(found)
        if damage in ("{", "[]", "null", "7", "NaN"):
            assert session.unknown_count == 1


def test_a_damaged_file_of_older_versions_is_counted(tmp_path: Path) -> None:
    copy_fixture("gemini-0.20.2", tmp_path / "home")
    [file] = Gemini().files(tmp_path / "home", {})
    whole = json.loads(file.path.read_text())
    for damage in ("", "{", "[]", "[" * 100_000, '{"sessionId": 7}', '{"sessionId": "x", "messages": 7}'):
        file.path.write_text(damage)
        session = Gemini().read(file)
        assert session is None or session.unknown_count
    wrongs: list[Any] = [None, 7, [7], {}, "\ud800\x00", float("nan"), 10**400]
    for wrong in wrongs:
        for message in whole["messages"]:
            for field in message:
                changed: list[Any] = [
                    {**each, field: wrong} if each is message else each for each in whole["messages"]
                ]
                file.path.write_text(json.dumps({**whole, "messages": changed}))
                session = Gemini().read(file)
                assert session is not None
                assert session.events


def test_files_that_are_none_are_left_out(home: Path) -> None:
    chats = home / CHATS
    (chats / "session-directory.jsonl").mkdir()
    (chats / "notes.jsonl").write_text("{}")
    (chats / "session-empty.jsonl").write_text("")
    (chats / "session-gone.jsonl").symlink_to("nowhere")
    found = files_of(Gemini(), home)
    assert f"{CHATS}/notes.jsonl" not in found
    assert Gemini().read(found[f"{CHATS}/session-empty.jsonl"]) is None
    assert f"{CHATS}/session-gone.jsonl" not in found
    with pytest.raises(OSError):
        Gemini().read(SessionFile(chats / "session-directory.jsonl", ""))


def test_a_file_that_a_newer_one_continues_is_left_out(home: Path) -> None:
    (home / MAIN).with_suffix(".json").write_text("{}")
    assert len(files_of(Gemini(), home)) == 6


def test_the_program_s_own_home_is_honoured(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    shutil.move(home / ".gemini", tmp_path / "elsewhere")
    assert not [*Gemini().files(home, {})]
    found = [*Gemini().files(home, {"GEMINI_CLI_HOME": str(tmp_path / "elsewhere")})]
    assert len(found) == 6
    assert {file.project for file in found} == {"/home/ada/shop", "/home/ada/garden"}


def test_projects_are_found_by_their_names_where_they_have_no_mark(home: Path) -> None:
    (home / ".gemini/tmp/shop/.project_root").unlink()
    assert files_of(Gemini(), home)[MAIN].project == "/home/ada/shop"
    (home / ".gemini/projects.json").write_text('{"projects": {"/home/ada/shop": ["shop"], "": null}}')
    assert not files_of(Gemini(), home)[MAIN].project
    (home / ".gemini/projects.json").write_text("[]")
    assert not files_of(Gemini(), home)[MAIN].project


def test_what_the_user_has_rewound_is_left_out(home: Path) -> None:
    session = read(home, MAIN)
    second = session.events[[each.event["type"] for each in session.events].index("user", 1)]
    append(home / MAIN, {"$rewindTo": second.key})
    assert prompts(read(home, MAIN)) == prompts(session)[:1]
    append(home / MAIN, {"$rewindTo": "unknown"})
    assert prompts(read(home, MAIN)) == prompts(session)[:1]


def test_a_prompt_that_is_repeated_by_the_user_is_one_of_its_own(home: Path) -> None:
    again = {"id": "again", "type": "user", "content": [{"text": "AFTERWARDS"}]}
    append(home / DECLINED, again)
    assert prompts(read(home, DECLINED))[-2:] == ["AFTERWARDS", "AFTERWARDS"]


def test_slash_commands_and_words_of_the_program_are_no_prompts(home: Path) -> None:
    texts = ["/compress", "/model set x", "?", "<hook_context>x</hook_context>", "/home/ada is full?", "?why"]
    for number, content in enumerate(texts):
        append(home / DECLINED, {"id": f"m{number}", "type": "user", "content": content})
    assert prompts(read(home, DECLINED))[-3:] == ["AFTERWARDS", "/home/ada is full?", "?why"]


def test_unknown_types_are_counted_with_their_places(home: Path) -> None:
    append(home / DECLINED, {"id": "m", "type": "hologram"}, {"type": "x"})
    count = len((home / DECLINED).read_text().splitlines())
    assert read(home, DECLINED).unknown == [
        f"line {count}: a record without an id",
        "m: type 'hologram'",
    ]
