"""Claude Code's sessions, as version 2.1.197 wrote them against a scripted model.

The fixtures hold two sessions of one project and a forked one of another. Cut are listings of the program's own
skills and agents, fields of records that repeat, and ids of the endpoint that began anew.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.importers import session as module
from cogency_tui.agent.importers.claude_code import ClaudeCode
from cogency_tui.agent.importers.importer import Importer
from cogency_tui.agent.importers.session import ForeignEdit, Session, SessionFile
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.store import Store
from tests.agent.importers.reading import copy_fixture, damaged, prefixes, read, shown

_FIRST = "8cd0b153-4264-45f1-8a1e-ec3ff8757ece"
_SECOND = "c6ff9f95-10e8-4d92-82b6-53adde57477b"
_AGENT = "a0983f7cb6a95c6f8"
_SHOP = Path("projects/-home-ada-shop")


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    copy_fixture("claude-code-2.1.197", tmp_path / ".claude")
    return tmp_path / ".claude"


def _read(claude: Path, name: str) -> Session:
    return read(ClaudeCode(), claude / _SHOP / name)


def _records(path: Path, *records: dict[str, Any]) -> Session:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return read(ClaudeCode(), path)


def _record(kind: str, uuid: str, content: object, **more: object) -> dict[str, Any]:
    message = {"id": "m1", "model": "claude-x", "role": kind, "content": content}
    return {"type": kind, "uuid": uuid, "timestamp": "2026-11-27T21:00:00Z", "message": message, **more}


def test_finds_sessions_and_sub_agents_wherever_the_program_keeps_them(claude: Path, tmp_path: Path) -> None:
    files = [*ClaudeCode().files(tmp_path, {})]

    assert sorted(file.path.relative_to(claude / "projects").as_posix() for file in files) == [
        "-home-ada-other/8d0ad39a-3d06-4119-a09f-526c4470364a.jsonl",
        f"-home-ada-shop/{_FIRST}.jsonl",
        f"-home-ada-shop/{_FIRST}/subagents/agent-{_AGENT}.jsonl",
        f"-home-ada-shop/{_SECOND}.jsonl",
    ]
    assert [*ClaudeCode().files(Path("/nowhere"), {"CLAUDE_CONFIG_DIR": str(claude)})] == files
    assert [*ClaudeCode().files(tmp_path, {"CLAUDE_CONFIG_DIR": "/nowhere\0"})] == []


def test_a_file_that_grows_has_another_stamp(claude: Path, tmp_path: Path) -> None:
    before = {file.path: file.stamp for file in ClaudeCode().files(tmp_path, {})}
    changed = claude / _SHOP / f"{_SECOND}.jsonl"
    with changed.open("a") as file:
        file.write("{}\n")
    after = {file.path: file.stamp for file in ClaudeCode().files(tmp_path, {})}

    assert {path for path in after if before[path] != after[path]} == {changed}


def test_reads_a_session_with_our_tools(claude: Path) -> None:
    session = _read(claude, f"{_FIRST}.jsonl")

    assert (session.id, session.project, session.branch) == (_FIRST, "/home/ada/shop", "main")
    assert (session.model, session.provider, session.parent) == ("claude-sonnet-4-5", "anthropic", "")
    assert session.unknown == []
    assert shown(session) == [
        ("user", "93d0f207-03f2-43aa-b3ff-3f2d83763058", "Fix the total in the cart, please."),
        ("think", "e6a28d65-efc1-4e0b-a152-e827aea648ba", "The total must be somewhere in cart.py."),
        ("respond", "3ce69998-3159-40a0-91b2-c2aecbd7d9e0", "I look at the cart."),
        ("call", "toolu_00012", '{"name": "read", "args": {"file": "cart.py"}}'),
        ("call", "toolu_00013", '{"name": "find", "args": {"content": "total", "path": "."}}'),
        (
            "result",
            "toolu_00013=",
            "failed: Error: No such tool available: Grep. Grep is not available in this session — search file "
            "contents with `grep` via the Bash tool instead.",
        ),
        ("result", "toolu_00012=", "done: 1\tdef total(prices):\n2\t    return 0\n3\t"),
        ("call", "toolu_00020", '{"name": "find", "args": {"pattern": "**/*.py"}}'),
        (
            "result",
            "toolu_00020=",
            "failed: Error: No such tool available: Glob. Glob is not available in this session — find files "
            "with `find` via the Bash tool instead.",
        ),
        ("think", "ed9fbaff-175b-4337-b200-1fcf7253f5b8", "A plan."),
        (
            "call",
            "toolu_00031",
            '{"name": "plan", "args": {"steps": [{"text": "Fix total", "state": "active"}, '
            '{"text": "Add a test", "state": "pending"}]}}',
        ),
        (
            "result",
            "toolu_00031=",
            "failed: Error: No such tool available: TodoWrite. TodoWrite exists but is not enabled in this "
            "context. Use one of the available tools instead.",
        ),
        (
            "call",
            "toolu_00032",
            '{"name": "plan", "args": {"steps": [{"text": "Fix total", "state": "pending"}]}}',
        ),
        ("result", "toolu_00032=", "done: Task #1 created successfully: Fix total"),
        (
            "call",
            "toolu_00040",
            '{"name": "edit", "args": {"all": false, "file": "cart.py", "old": "return 0", '
            '"new": "return sum(prices)"}}',
        ),
        (
            "result",
            "toolu_00040=",
            "done: The file /home/ada/shop/cart.py has been updated successfully.",
        ),
        (
            "call",
            "toolu_00050",
            '{"name": "write", "args": {"file": "test_cart.py", "content": "from cart import total\\n\\n\\n'
            'def test_total():\\n    assert total([1, 2]) == 3  # Größe ✓\\n"}}',
        ),
        (
            "result",
            "toolu_00050=",
            "done: File created successfully at: /home/ada/shop/test_cart.py",
        ),
        (
            "call",
            "toolu_00060",
            '{"name": "shell", "args": {"command": "printf \'\\\\033[31mrot\\\\033[0m grün ✓\\\\n\'; '
            "python3 -c 'from cart import total; print(total([1, 2]))'\"}}",
        ),
        ("call", "toolu_00061", '{"name": "shell", "args": {"command": "ls nothing-here"}}'),
        ("result", "toolu_00060=", "done: \x1b[31mrot\x1b[0m grün ✓\n3"),
        (
            "result",
            "toolu_00061=",
            "failed: Exit code 2\nls: cannot access 'nothing-here': No such file or directory",
        ),
        (
            "call",
            "toolu_00070",
            '{"name": "edit", "args": {"all": false, "file": "cart.py", "old": "not there", "new": "x"}}',
        ),
        ("result", "toolu_00070=", "failed: String to replace not found in file.\nString: not there"),
        (
            "call",
            "toolu_00080",
            '{"name": "write", "args": {"file": "cart.py", "content": "def total(prices):\\n'
            '    return sum(prices)\\n\\n\\n# done\\n", "overwrite": true}}',
        ),
        (
            "result",
            "toolu_00080=",
            "done: The file /home/ada/shop/cart.py has been updated successfully.",
        ),
        ("respond", "629c30a6-64f2-4552-a0b2-1077fa0e861d", "The total is mended: `sum(prices)`."),
        ("user", "f67901ab-8b11-44cc-bce0-d11b713e1caa", "Count the files, please."),
        ("respond", "265b7aff-a3fb-4451-a47e-87e6843712b9", "I ask an agent."),
        (
            "call",
            "toolu_00101",
            '{"name": "agent", "args": {"task": "Tally python files now", "name": "general-purpose"}}',
        ),
        ("result", "toolu_00101=", "done: 2 files."),
        ("respond", "1943fd17-d0fb-468a-930c-c11d40ffe9b4", "There are two."),
        ("user", "8d9fe37d-5695-484e-b44c-9ea3b072aa0b", "Run something refused"),
        ("respond", "9ac2d58f-d4f5-4b26-9f40-c174c7cfbfb4", "I try."),
        ("call", "toolu_00141", '{"name": "shell", "args": {"command": "touch refused.txt"}}'),
        (
            "result",
            "toolu_00141=",
            "failed: touch in '/home/ada/shop/refused.txt' was blocked. For security, Claude Code may only "
            "create or modify files in the allowed working directories for this session: '/home/ada/shop'.",
        ),
        ("respond", "5c19d303-275f-48cc-b625-45c0aa1e02f3", "Then not."),
        ("user", "5ecdbe42-f429-4ef5-a8d7-6836f618496a", "Make an error"),
    ]
    outcomes = [each.event["payload"]["outcome"] for each in session.events if each.event["type"] == "result"]
    assert [outcomes[index] for index in (1, 4, 5, 6, 8, 9, 10)] == [
        "2 lines",
        "0/1: Fix total",
        "+1 −1",
        "created, 5 lines",
        "Exit code 2 (+1 lines)",
        "String to replace not found in file. (+1 lines)",
        "+3 −0",
    ]
    cycles = [each.event.get("cycle") for each in session.events[1:5]]
    assert cycles == ["msg_0001"] * 4
    assert session.events[0].event["timestamp"] == 1795814786.545


def test_reads_edits_with_their_contents(claude: Path) -> None:
    session = _read(claude, f"{_FIRST}.jsonl")

    one, two = b"def total(prices):\n    return 0\n", b"def total(prices):\n    return sum(prices)\n"
    new = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3  # Größe ✓\n".encode()
    cart, test = "/home/ada/shop/cart.py", "/home/ada/shop/test_cart.py"
    assert session.edits == [
        ForeignEdit("toolu_00040", cart, one, two, 1795814786.689),
        ForeignEdit("toolu_00050", test, None, new, 1795814786.706),
        ForeignEdit("toolu_00080", cart, two, two + b"\n\n# done\n", 1795814786.96),
    ]


def test_counts_the_usage_of_each_answer_once(claude: Path) -> None:
    session = _read(claude, f"{_FIRST}.jsonl")

    answers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15]
    assert [(each.key, each.measure) for each in session.usage] == [
        (
            f"msg_{number:04}",
            {
                "input": 1120 + number,
                "output": 40 + number,
                "cached": 1000,
                "cache_written": 20,
                "model": "claude-sonnet-4-5",
                "provider": "anthropic",
            },
        )
        for number in answers
    ]


def test_reads_a_sub_agent_as_a_session_of_its_own(claude: Path) -> None:
    session = _read(claude, f"{_FIRST}/subagents/agent-{_AGENT}.jsonl")

    assert (session.id, session.parent, session.call) == (f"{_FIRST}:{_AGENT}", _FIRST, "toolu_00101")
    assert (session.title, session.project, session.unknown) == ("Count files", "/home/ada/shop", [])
    assert shown(session) == [
        ("user", "c9f290c2-1e29-4240-a3f4-a91320d8107a", "Tally python files now"),
        ("think", "fe388a5b-7e74-480e-a580-5634ada8a15d", "ls will do."),
        ("call", "toolu_00111", '{"name": "shell", "args": {"command": "ls *.py | wc -l"}}'),
        ("result", "toolu_00111=", "done: 2"),
        ("respond", "4ac264f9-1d3f-4c3a-9b35-234aad4724cc", "2 files."),
    ]


def test_reads_what_the_user_did_at_the_terminal(claude: Path) -> None:
    """Refusals, interruptions, `!commands`, answers, a compaction, a rewind, a message between two steps."""
    session = _read(claude, f"{_SECOND}.jsonl")

    assert (session.title, session.unknown) == ("Cart work", [])
    assert shown(session) == [
        ("user", "ea652671-e836-4b19-b966-57f915748085", "Run something refused please"),
        ("respond", "227e5989-4da2-4a58-9861-3f3d73d5ea8c", "I try."),
        ("call", "toolu_00021", '{"name": "shell", "args": {"command": "touch refused.txt"}}'),
        ("result", "toolu_00021=", "declined: The user declined this call."),
        ("user", "72b280b7-4ca0-4453-887f-d507948f6d8f", "Please sleep a while"),
        ("respond", "babf7663-5434-44f7-b5f2-959f6cdc8ea6", "Sleeping."),
        ("call", "toolu_00041", '{"name": "shell", "args": {"command": "sleep 61"}}'),
        ("result", "toolu_00041=", "interrupted: Interrupted."),
        ("user", "e967872d-337f-4f0c-aa77-a6e7b648e0ae", "Say it slowly"),
        ("respond", "8db77137-c2b3-47d2-a629-3e1a894ca11e", "Slow words begin"),
        ("user", "ab35e63a-067a-4249-a5e4-07dcafe7a97f", "! echo hübsch; ls nope"),
        ("respond", "5cb48e49-7c1e-48c9-860b-f76e896a1049", "Done."),
        ("user", "1f8444b0-e7ed-44f2-b90f-f266be26b48c", "Ask me something"),
        (
            "call",
            "toolu_00080",
            '{"name": "ask", "args": {"questions": [{"question": "Which colour?", "header": "Colour", '
            '"choices": [{"label": "Red", "description": "rot"}, {"label": "Blue", "description": "blau"}]}]}}',
        ),
        (
            "result",
            "toolu_00080=",
            'done: Your questions have been answered: "Which colour?"="Red". You can now continue with these '
            "answers in mind.",
        ),
        ("respond", "ddbfb36e-13c8-49bb-8790-4c34b62473c0", "Fine."),
        ("user", "ed9ba93b-b1e0-460e-86d1-098540ed57b8", "Read it with a window"),
        ("call", "toolu_00100", '{"name": "read", "args": {"file": "cart.py", "start": 1, "lines": 2}}'),
        ("call", "toolu_00101", '{"name": "fetch", "args": {"url": "http://127.0.0.1:9/"}}'),
        ("call", "toolu_00102", '{"name": "skill", "args": {"name": "simplify"}}'),
        ("result", "toolu_00100=", "done: 1\tdef total(prices):\n2\t    return sum(prices)"),
        ("result", "toolu_00101=", "declined: The user declined this call."),
        ("result", "toolu_00102=", "declined: The user declined this call."),
        ("user", "99c03ceb-4e23-4486-a85a-6e125436b23a", "fetch nothing please"),
        ("respond", "4d1bbc86-d288-4a11-be0c-05e7d9f21b8e", "Read."),
        ("user", "3eb97f78-1f20-4f8e-8b55-bfd8ac1c7fc0", "Please sleep again"),
        ("respond", "c5db17e3-7d77-4984-b6b5-dab2a195d99b", "Sleeping."),
        ("call", "toolu_00161", '{"name": "shell", "args": {"command": "sleep 61"}}'),
        ("result", "toolu_00161=", "interrupted: Interrupted."),
        ("user", "ccec3025-822b-4c5d-9cb6-a24f54350297", "And do it gently"),
        ("respond", "3c6a3fb8-6543-4d6b-ad4c-e8abdb7a0521", "Slept."),
        ("user", "3dcc9f11-e14f-487c-b43d-42777c5c05e4", "Nap briefly now"),
        ("respond", "a0df90e9-b3b7-4fee-8c76-1f66e661e5ad", "Napping."),
        ("call", "toolu_10021", '{"name": "shell", "args": {"command": "sleep 4; echo up"}}'),
        ("result", "toolu_10021=", "done: up"),
        ("user", "4497175b-abc1-4c17-bfd0-69eefa19733b", "Steer a little"),
        ("respond", "84fdd368-5834-4c6a-85a1-6e90d1f77c82", "Awake."),
    ]
    steered = [each.key for each in session.events if each.event.get("steered")]
    assert steered == ["4497175b-abc1-4c17-bfd0-69eefa19733b"]
    ran = next(found for each in session.events if (found := each.event.get("ran")))
    assert ran == {
        "command": "echo hübsch; ls nope",
        "state": "done",
        "outcome": "hübsch (+1 lines)",
        "output": "hübsch\nls: cannot access 'nope': No such file or directory\n",
        "duration": 0.0,
    }


def test_a_command_that_is_a_prompt_is_what_the_user_wrote(claude: Path) -> None:
    other = claude / "projects/-home-ada-other/8d0ad39a-3d06-4119-a09f-526c4470364a.jsonl"

    users = [content for kind, _, content in shown(read(ClaudeCode(), other)) if kind == "user"]

    assert users == ["Change the windows file", "/greet Ada and @win.txt", "Another project again"]


@pytest.mark.parametrize("name", [_FIRST, _SECOND, f"{_FIRST}/subagents/agent-{_AGENT}"])
def test_a_file_that_grows_continues_what_was_read(claude: Path, name: str) -> None:
    path = claude / _SHOP / f"{name}.jsonl"
    whole = read(ClaudeCode(), path)
    keys, usage = [each.key for each in whole.events], [(each.key, each.measure) for each in whole.usage]

    for _ in prefixes(path):
        session = read(ClaudeCode(), path, running=True)

        assert [each.key for each in session.events] == keys[: len(session.events)]
        assert [(each.key, each.measure) for each in session.usage] == usage[: len(session.usage)]
        assert session.edits == whole.edits[: len(session.edits)]
        assert session.unknown_count == 0
        changed = {new[2] for new, old in zip(shown(session), shown(whole), strict=False) if new != old}
        # The record behind a result tells whether the user refused the call or interrupted it.
        assert changed <= {"declined: The user declined this call."}


@pytest.mark.parametrize("name", [f"{_SECOND}.jsonl", f"{_FIRST}/subagents/agent-{_AGENT}.jsonl"])
def test_a_damaged_line_is_counted_and_the_rest_is_read(claude: Path, name: str) -> None:
    path = claude / _SHOP / name
    whole = len(read(ClaudeCode(), path).events)

    for record, damage in damaged(path):
        session = read(ClaudeCode(), path)

        assert len(session.events) >= whole - 4
        json.dumps([each.event for each in session.events])
        if damage in ("{", "[]", "null", "7", "NaN"):
            assert session.unknown_count >= 1, record


def test_calls_without_a_result_are_open_while_the_program_may_run(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "true", "timeout": 90_500}}
    path = tmp_path / "s.jsonl"

    ended = _records(path, _record("assistant", "a", [call]))

    assert shown(ended) == [
        ("call", "t1", '{"name": "shell", "args": {"command": "true", "timeout": 90}}'),
        ("result", "t1=", "interrupted: "),
    ]
    assert [key for _, key, _ in shown(read(ClaudeCode(), path, running=True))] == ["t1"]


def test_unknown_records_and_blocks_are_counted(tmp_path: Path) -> None:
    session = _records(
        tmp_path / "s.jsonl",
        {"type": "hologram", "uuid": "h"},
        {"type": "system", "subtype": "anything"},
        _record("user", "u", [{"type": "smell"}, {"type": "text", "text": "Hello"}]),
        _record("assistant", "a", [{"type": "taste"}, {"type": "text", "text": "Hi"}]),
        _record("user", "s", "Do it", isSidechain=True),
    )

    assert shown(session) == [("user", "u", "Hello"), ("respond", "a/1", "Hi")]
    assert session.unknown == [
        "line 1: type 'hologram'",
        "line 3: block 'smell'",
        "line 4: block 'taste'",
        "line 5: a sub-agent within its session's file",
    ]


def test_what_is_wrong_with_a_record_is_said_in_words(tmp_path: Path) -> None:
    hello = _record("user", "u", "Hello")
    session = _records(
        tmp_path / "s.jsonl",
        {name: value for name, value in hello.items() if name != "uuid"},
        {**hello, "message": "broken"},
        {**hello, "message": [hello]},
        {**hello, "message": {"role": "user", "content": None}},
        {**hello, "uuid": 7},
    )
    assert session.unknown == [
        "line 1: 'uuid' is missing",
        "line 2: text in place of an object",
        "line 3: a list in place of an object",
        "line 4: nothing in place of a list",
        "line 5: a number in place of text",
    ]


def test_a_text_that_is_too_long_is_cut_counted_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_TEXT", 1 << 20)
    prompt = "x" * (3 << 19)
    session = _records(tmp_path / "s.jsonl", _record("user", "u", prompt))
    assert shown(session) == [("user", "u", f"{prompt[: 1 << 20]}\n[cut]")]
    assert (session.unknown_count, session.cut_count) == (0, 1)
    assert session.unknown == ["u: cut after 1 of 1.5 Mi characters"]


def test_a_call_with_wrong_arguments_stays_as_it_is(tmp_path: Path) -> None:
    given = {"todos": ["broken", {"content": "One", "status": "pending"}]}
    call = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": given}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "Invalid"}

    session = _records(
        tmp_path / "s.jsonl", _record("assistant", "a", [call]), _record("user", "u", [result])
    )

    assert [json.loads(content) for kind, _, content in shown(session) if kind == "call"] == [
        {"name": "TodoWrite", "args": given}
    ]
    assert (shown(session)[1], session.unknown) == (("result", "t1=", "failed: Invalid"), [])


def test_a_record_that_comes_again_is_read_once(tmp_path: Path) -> None:
    hello = _record("user", "u", "Hello")

    session = _records(tmp_path / "s.jsonl", {**hello, "message": "broken"}, hello, hello)

    assert (shown(session), session.unknown_count) == ([("user", "u", "Hello")], 1)


def test_tasks_are_a_plan(tmp_path: Path) -> None:
    def call(key: str, name: str, **given: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": key, "name": name, "input": given}
        return _record("assistant", f"a{key}", [block])

    def result(key: str, raw: object, *, is_error: bool = False) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": key, "content": "ok", "is_error": is_error}
        return _record("user", f"u{key}", [block], toolUseResult=raw)

    session = _records(
        tmp_path / "s.jsonl",
        call("1", "TaskCreate", subject="One", description="d"),
        call("2", "TaskCreate", subject="Two", description="d"),
        call("3", "TaskCreate", subject="Refused", description="d"),
        result("2", {"task": {"id": "8", "subject": "Two"}}),
        result("1", {"task": {"id": "7", "subject": "One"}}),
        result("3", "Error", is_error=True),
        call("4", "TaskUpdate", taskId="7", status="in_progress", subject="First"),
        result("4", {"success": True, "taskId": "7"}),
        call("5", "TaskUpdate", taskId="8", status="deleted"),
        call("6", "TaskUpdate", taskId="9", status="completed"),
    )

    calls = [json.loads(content) for kind, _, content in shown(session) if kind == "call"]
    assert [each["name"] for each in calls] == ["plan"] * 5 + ["TaskUpdate"]
    states = [{each["text"]: each["state"] for each in call["args"]["steps"]} for call in calls[1:5]]
    assert states == [
        {"One": "pending", "Two": "pending"},
        {"One": "pending", "Two": "pending", "Refused": "pending"},
        {"First": "active", "Two": "pending"},
        {"First": "active", "Two": "cancelled"},
    ]
    payloads = [each.event["payload"] for each in session.events if each.event["type"] == "result"]
    done = [each for each in payloads if each["state"] == "done"]
    assert [each["outcome"] for each in done] == ["0/2: One", "0/1: One", "0/2: First"]
    assert done[-1].get("plan") == [{"text": "First", "state": "active"}, {"text": "Two", "state": "pending"}]


def test_a_sub_agent_of_a_sub_agent_is_its_child(claude: Path) -> None:
    agents = claude / _SHOP / _FIRST / "subagents"
    _make_inner(agents)
    (agents / "agent-dir.jsonl").mkdir()

    session = read(ClaudeCode(), agents / "agent-0.jsonl")

    assert (session.id, session.parent) == (f"{_FIRST}:0", f"{_FIRST}:{_AGENT}")
    assert (session.call, session.title) == ("toolu_00111", "")


def _make_inner(agents: Path) -> None:
    """Create a sub-agent that the one in this directory has started, whose file is before its own."""
    (agents / "agent-0.jsonl").write_text((agents / f"agent-{_AGENT}.jsonl").read_text())
    (agents / "agent-0.meta.json").write_text('{"toolUseId": "toolu_00111", "spawnDepth": 2}')


async def test_sub_agents_are_imported_below_their_calls(claude: Path, tmp_path: Path) -> None:
    _make_inner(claude / _SHOP / _FIRST / "subagents")
    store = await Store.open(tmp_path / "store")
    importer = Importer(store, Blobs(tmp_path / "blobs"), tmp_path, {}, None)

    tallies = [each async for each in importer.run("claude-code")]

    sql = "SELECT ours.title, parent.title, ours.call FROM conversations AS ours "
    sql += "JOIN conversations AS parent ON parent.id = ours.parent ORDER BY parent.title"
    rows = await store.database.read(lambda connection: connection.execute(sql).fetchall())
    await store.close()
    assert (tallies[-1].conversations, tallies[-1].unknown) == (3, 0)
    assert [tuple(row) for row in rows] == [
        ("Tally python files now", "Count files", "toolu_00111"),
        ("Count files", "Fix the total in the cart, please.", "toolu_00101"),
    ]


@pytest.mark.parametrize("meta", ["", "[]", '{"toolUseId": 7}', '{"toolUseId": ""}', "[" * 100_000, None])
def test_a_sub_agent_without_its_call_is_a_session_of_its_own(claude: Path, meta: str | None) -> None:
    agent = claude / _SHOP / _FIRST / f"subagents/agent-{_AGENT}.jsonl"
    agent.with_suffix(".meta.json").unlink()
    if meta is None:
        agent.with_suffix(".meta.json").mkdir()
    else:
        agent.with_suffix(".meta.json").write_text(meta)

    session = read(ClaudeCode(), agent)

    assert (session.id, session.parent, session.call) == (f"{_FIRST}:{_AGENT}", _FIRST, "")


def test_what_the_program_adds_is_not_the_users(tmp_path: Path) -> None:
    session = _records(
        tmp_path / "s.jsonl",
        _record("user", "1", "<system-reminder>secret</system-reminder>\nHello"),
        _record("user", "2", "<local-command-stdout>x</local-command-stdout>"),
        _record("user", "3", "expanded", isMeta=True),
        _record("user", "4", "summary", isCompactSummary=True),
        _record("user", "5", "from a task", origin={"kind": "task-notification"}),
        _record("user", "6", "Really", origin={"kind": "human"}),
        _record("assistant", "7", [{"type": "text", "text": "API Error: 500"}], isApiErrorMessage=True),
    )

    assert shown(session) == [("user", "1", "Hello"), ("user", "6", "Really")]
    assert session.unknown == []


def test_a_reason_for_a_refusal_is_the_result(tmp_path: Path) -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "mcp__git__log", "input": {}}
    refused = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nNo!"
    )
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": refused}

    session = _records(
        tmp_path / "s.jsonl", _record("assistant", "a", [call]), _record("user", "u", [result])
    )

    assert shown(session) == [
        ("call", "t1", '{"name": "git.log", "args": {}}'),
        ("result", "t1=", "declined: No!"),
    ]


@pytest.mark.parametrize(
    ("facts", "after"),
    [
        ({"oldString": "b\n", "newString": "c\n"}, b"a\nc\na\n"),
        ({"oldString": "b", "newString": ""}, b"a\na\n"),
        ({"oldString": "a", "newString": "x", "replaceAll": True}, b"x\nb\nx\n"),
        ({"oldString": "a", "newString": "x"}, None),
        ({"oldString": "z", "newString": "x"}, None),
        ({"oldString": "", "newString": "x"}, None),
        ({"oldString": "b", "newString": "c", "structuredPatch": [{"newStart": 2, "lines": ["+d"]}]}, None),
        ({"oldString": "b", "newString": "c", "originalFile": None}, None),
    ],
)
def test_an_edit_is_known_only_where_its_record_agrees(
    tmp_path: Path, facts: dict[str, Any], after: bytes | None
) -> None:
    raw: dict[str, Any] = {"filePath": "/p/f", "originalFile": "a\nb\na\n", "structuredPatch": [], **facts}
    call = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/p/f"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}

    session = _records(
        tmp_path / "s.jsonl",
        _record("assistant", "a", [call]),
        _record("user", "u", [result], toolUseResult=raw),
    )

    assert [(each.before, each.after) for each in session.edits] == ([(b"a\nb\na\n", after)] if after else [])


def test_hostile_files_are_read_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    deep = "[" * 100_000
    said = json.dumps(_record("user", "u", "Hello \ud800\x00\x1b[2J"))
    call = _record(
        "assistant", "u=", [{"type": "tool_use", "id": "u", "name": "Bash", "input": {"command": 1}}]
    )
    usage = {"input_tokens": 1 << 63, "output_tokens": -1, "cache_read_input_tokens": 1e400}
    call["message"]["usage"] = usage
    big = f'{{"type": "user", "uuid": "x", "timestamp": {"9" * 4000}, "message": {{"content": "late"}}}}'
    path.write_text(f"{deep}\n{said}\n{json.dumps(call)}\n{big}\n" + "<system-reminder>" * 10_000 + "\n")

    session = read(ClaudeCode(), path)

    assert [each.key for each in session.events] == ["u", "x"]
    assert [each.measure.get("input") for each in session.usage] == [0]
    assert session.unknown_count == 3


def test_what_is_no_file_is_no_session(tmp_path: Path) -> None:
    project = tmp_path / ".claude/projects/p"
    (project / "dir.jsonl").mkdir(parents=True)
    os.mkfifo(project / "pipe.jsonl")
    (project / "link.jsonl").symlink_to("/dev/null")
    (project / "loop").symlink_to(project)
    (project / "empty.jsonl").write_text("")

    files = [*ClaudeCode().files(tmp_path, {})]

    assert [file.path.name for file in files] == ["empty.jsonl"]
    assert ClaudeCode().read(files[0]) is None
    for name in ("dir.jsonl", "pipe.jsonl", "missing.jsonl"):
        with pytest.raises(OSError, match=name):
            ClaudeCode().read(SessionFile(project / name, ""))
