"""pi's sessions, as version 0.73.1 wrote them against a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.importers.pi import Pi
from cogency_tui.agent.importers.session import ForeignEdit, Session, SessionFile
from tests.agent.importers.reading import copy_fixture, damaged, prefixes, read, shown

_SHOP = Path("agent/sessions/--home-ada-shop--")
_OTHER = (
    "agent/sessions/--home-ada-other--/2026-11-27T21-40-11-959Z_01a21ef3-9e37-764e-b754-244de08121e4.jsonl"
)
_FIRST = "2026-11-27T21-40-09-332Z_01a21ef3-93f3-718a-a0b0-bd5a35b12c43.jsonl"
_SECOND = "2026-11-27T21-40-23-011Z_01a21ef3-c962-7382-abc2-8a33b1a94548.jsonl"
_FORK = "2026-11-27T21-40-30-645Z_01a21ef3-e734-7203-957d-901c8168ac2a.jsonl"


@pytest.fixture
def pi(tmp_path: Path) -> Path:
    copy_fixture("pi-0.73.1", tmp_path / ".pi")
    return tmp_path / ".pi"


def _read(pi: Path, name: str) -> Session:
    return read(Pi(), pi / _SHOP / name)


def _entries(path: Path, *messages: dict[str, Any]) -> Session:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-27T21:00:00Z", "cwd": "/p"}
    lines = [
        header,
        *({"type": "message", "id": f"m{at}", "message": each} for at, each in enumerate(messages)),
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return read(Pi(), path)


def _call(name: str, **arguments: object) -> dict[str, Any]:
    """The answer that calls a tool; its id is `t`, if it is no other."""
    key = arguments.pop("key", "t")
    content = [{"type": "toolCall", "id": key, "name": name, "arguments": arguments}]
    return {"role": "assistant", "content": content, "provider": "x", "model": "y", "usage": {}}


def _result(content: str, key: str = "t", **more: object) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": key, "content": [{"type": "text", "text": content}], **more}


def test_finds_sessions_wherever_the_program_keeps_them(pi: Path, tmp_path: Path) -> None:
    files = [*Pi().files(tmp_path, {})]

    assert [(file.path.relative_to(pi).as_posix(), file.project) for file in files] == [
        (_OTHER, "/home/ada/other"),
        *((f"{_SHOP}/{name}", "/home/ada/shop") for name in (_FIRST, _SECOND, _FORK)),
    ]
    away = Path("/nowhere")
    assert [*Pi().files(away, {"PI_CODING_AGENT_DIR": str(pi / "agent")})] == files
    assert [*Pi().files(tmp_path, {"PI_CODING_AGENT_DIR": "~/.pi/agent"})] == files
    assert [*Pi().files(away, {"PI_CODING_AGENT_SESSION_DIR": str(pi / _SHOP)})] == files[1:]
    (pi / "agent/settings.json").write_text(
        json.dumps({"sessionDir": "~/.pi/agent/sessions/--home-ada-shop--"})
    )
    (pi / _OTHER).unlink()
    assert [*Pi().files(tmp_path, {})] == files[1:] * 2
    assert [*Pi().files(away, {"PI_CODING_AGENT_DIR": "/nowhere\0"})] == []


def test_reads_a_session_with_our_tools(pi: Path) -> None:
    session = _read(pi, _FIRST)

    assert (session.id, session.project) == ("01a21ef3-93f3-718a-a0b0-bd5a35b12c43", "/home/ada/shop")
    assert (session.model, session.provider, session.unknown) == ("claude-sonnet-4-5", "anthropic", [])
    assert shown(session) == [
        ("user", "35ec6b3a", "Fix the total in the cart, please."),
        ("think", "63abed01", "The total must be somewhere in cart.py."),
        ("respond", "63abed01/1", "I look at the cart."),
        ("call", "toolu_00012", '{"name": "read", "args": {"file": "cart.py"}}'),
        (
            "call",
            "toolu_00013",
            '{"name": "find", "args": {"content": "(?i)TOTAL", "path": ".", "pattern": "*.py"}}',
        ),
        ("call", "toolu_00014", '{"name": "find", "args": {"pattern": "**/*.py"}}'),
        ("call", "toolu_00015", '{"name": "list", "args": {"path": "."}}'),
        ("result", "toolu_00012=", "done: def total(prices):\n    return 0\n"),
        ("result", "toolu_00013=", "failed: ripgrep (rg) is not available and could not be downloaded"),
        ("result", "toolu_00014=", "failed: fd is not available and could not be downloaded"),
        ("result", "toolu_00015=", "done: .git/\ncart.py"),
        (
            "call",
            "toolu_00020",
            '{"name": "edit", "args": {"file": "cart.py", "old": "return 0", "new": "return sum(prices)"}}',
        ),
        ("result", "toolu_00020=", "done: Successfully replaced 1 block(s) in cart.py."),
        ("call", "toolu_00030", '{"name": "read", "args": {"file": "test_cart.py"}}'),
        (
            "result",
            "toolu_00030=",
            "failed: ENOENT: no such file or directory, access '/home/ada/shop/test_cart.py'",
        ),
        (
            "call",
            "toolu_00040",
            '{"name": "write", "args": {"file": "test_cart.py", "content": "from cart import total\\n\\n\\n'
            'def test_total():\\n    assert total([1, 2]) == 3  # Größe ✓\\n"}}',
        ),
        ("result", "toolu_00040=", "done: Successfully wrote 84 bytes to test_cart.py"),
        (
            "call",
            "toolu_00050",
            '{"name": "shell", "args": {"command": "printf \'\\\\033[31mrot\\\\033[0m grün ✓\\\\n\'; '
            'python3 -c \'from cart import total; print(total([1, 2]))\'", "timeout": 20}}',
        ),
        ("call", "toolu_00051", '{"name": "shell", "args": {"command": "ls nothing-here"}}'),
        ("result", "toolu_00050=", "done: \x1b[31mrot\x1b[0m grün ✓\n3\n"),
        (
            "result",
            "toolu_00051=",
            "failed: ls: cannot access 'nothing-here': No such file or directory\n\n\nCommand exited with code 2",
        ),
        (
            "call",
            "toolu_00060",
            '{"name": "edit", "args": {"file": "cart.py", "old": "not there", "new": "x"}}',
        ),
        (
            "result",
            "toolu_00060=",
            "failed: Could not find the exact text in cart.py. The old text must match exactly including all "
            "whitespace and newlines.",
        ),
        (
            "call",
            "toolu_00070",
            '{"name": "write", "args": {"file": "cart.py", "content": "def total(prices):\\n'
            '    return sum(prices)\\n\\n\\n# done\\n"}}',
        ),
        ("result", "toolu_00070=", "done: Successfully wrote 51 bytes to cart.py"),
        ("respond", "bb80a0f4", "The total is mended: `sum(prices)`."),
        ("user", "e61c3b4e", "Count the files"),
        ("respond", "322777e3", "There are two."),
        ("user", "e9561086", "Make an error"),
    ]
    assert {each.event.get("cycle") for each in session.events[1:7]} == {"63abed01"}
    assert session.events[0].event["timestamp"] == 1795815609.348


def test_edits_are_those_whose_contents_the_session_shows(pi: Path) -> None:
    """The last write is none of them: a command may have changed the file before it."""
    session = _read(pi, _FIRST)

    one, two = b"def total(prices):\n    return 0\n", b"def total(prices):\n    return sum(prices)\n"
    new = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3  # Größe ✓\n".encode()
    assert session.edits == [
        ForeignEdit("toolu_00020", "cart.py", one, two, 1795815609.472),
        ForeignEdit("toolu_00040", "test_cart.py", None, new, 1795815609.483),
    ]


def test_counts_tokens_and_cost_of_each_answer(pi: Path) -> None:
    session = _read(pi, _FIRST)

    assert [each.measure.get("output") for each in session.usage] == [*range(41, 50)]
    assert (session.usage[0].key, session.usage[0].measure) == (
        f"{session.id}/63abed01",
        {
            "input": 1121,
            "output": 41,
            "cached": 1000,
            "cache_written": 20,
            "cost": 0.0012929999999999999,
            "model": "claude-sonnet-4-5",
            "provider": "anthropic",
        },
    )


def test_reads_what_the_user_did(pi: Path) -> None:
    """Commands, interruptions, a message between two steps, a compaction, another model, a name."""
    session = _read(pi, _SECOND)

    assert (session.title, session.model, session.unknown) == ("Cart work", "claude-haiku-4-5", [])
    assert shown(session) == [
        ("user", "26520018", "Count the files"),
        ("respond", "16f9b581", "There are two."),
        ("user", "09360534", "! echo hübsch; ls nope"),
        ("user", "37c5a498", "Please sleep a while"),
        ("respond", "7e2f75f2", "Sleeping."),
        ("call", "toolu_00131", '{"name": "shell", "args": {"command": "sleep 61"}}'),
        ("result", "toolu_00131=", "interrupted: Command aborted"),
        ("user", "cd671ffe", "Nap briefly now"),
        ("respond", "86920238", "Napping."),
        ("call", "toolu_00141", '{"name": "shell", "args": {"command": "sleep 3; echo up"}}'),
        ("result", "toolu_00141=", "done: up\n"),
        ("user", "b97c275e", "Steer a little"),
        ("respond", "929a16fb", "Awake."),
        ("user", "b077f18c", "Say it slowly"),
        ("respond", "d877ba27", "Slow words begin"),
        ("user", "98a1f661", "Count the files again"),
        ("respond", "d0279891", "There are two."),
        ("user", "d1783584", "! exit 3"),
    ]
    assert [each.key for each in session.events if each.event.get("steered")] == ["b97c275e"]
    ran = [found for each in session.events if (found := each.event.get("ran"))]
    assert [(each["command"], each["state"], each["outcome"]) for each in ran] == [
        ("echo hübsch; ls nope", "failed", "exit 2"),
        ("exit 3", "failed", "exit 3"),
    ]


def test_a_fork_counts_only_its_own_answers(pi: Path) -> None:
    session = _read(pi, _FORK)

    assert [key for _, key, _ in shown(session)][-2:] == ["701442cb", "0f494e39"]
    assert [each.key for each in session.usage] == [f"{session.id}/0f494e39"]
    assert session.parent == ""


@pytest.mark.parametrize("name", [_FIRST, _SECOND, _FORK])
def test_a_file_that_grows_continues_what_was_read(pi: Path, name: str) -> None:
    path = pi / _SHOP / name
    whole = read(Pi(), path)

    for _ in prefixes(path):
        session = read(Pi(), path, running=True)

        assert shown(session) == shown(whole)[: len(session.events)]
        assert session.usage == whole.usage[: len(session.usage)]
        assert session.edits == whole.edits[: len(session.edits)]
        assert session.unknown_count == 0


@pytest.mark.parametrize("name", [_FIRST, _SECOND])
def test_a_damaged_line_is_counted_and_the_rest_is_read(pi: Path, name: str) -> None:
    path = pi / _SHOP / name
    whole = len(read(Pi(), path).events)

    for entry, damage in damaged(path):
        session = read(Pi(), path)

        assert len(session.events) >= whole - 10
        json.dumps([each.event for each in session.events])
        if damage in ("{", "[]", "null", "7", "NaN"):
            assert session.unknown_count >= 1, entry


def test_unknown_entries_are_counted_and_those_of_extensions_left_out(tmp_path: Path) -> None:
    session = _entries(
        tmp_path / "s.jsonl",
        {"role": "hologram"},
        {"role": "custom", "content": "injected", "customType": "x"},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "smell"}], "provider": "x", "model": "y", "usage": {}},
    )

    assert shown(session) == [("user", "m2", "Hello")]
    assert session.unknown == ["line 2: role 'hologram'", "line 5: block 'smell'"]


def test_the_first_version_of_the_format_has_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "2025_s.jsonl"
    path.write_text('{"type": "message", "message": {"role": "user", "content": "Hello"}}\n')

    session = read(Pi(), path)

    assert (session.id, shown(session)) == ("s", [("user", "line 1", "Hello")])


_READ = [_call("read", path="/p/f", key="r"), _result("a\nb\na\n", "r")]


@pytest.mark.parametrize(
    ("before", "call", "details", "expected"),
    [
        (_READ, _call("write", path="f", content="c"), None, [(b"a\nb\na\n", b"c")]),
        ([], _call("write", path="f", content="c"), None, []),
        (_READ, _call("edit", path="./f", oldText="b", newText="c"), {"diff": "-2 b\n+2 c"}, [(b"a\nb\na\n", b"a\nc\na\n")]),
        (_READ, _call("edit", path="f", oldText="b", newText="c"), {"diff": " 1 z\n-2 b\n+2 c"}, []),
        (_READ, _call("edit", path="f", oldText="b", newText="c"), None, []),
        (_READ, _call("edit", path="f", oldText="a", newText="c"), {"diff": ""}, []),
        (
            _READ,
            _call("edit", path="f", edits=[{"oldText": "a\nb", "newText": "x"}, {"oldText": "b\na", "newText": "y"}]),
            {"diff": ""},
            [],
        ),
        (
            _READ,
            _call("edit", path="f", edits=[{"oldText": "a\nb", "newText": "x"}, {"oldText": "\na\n", "newText": ""}]),
            {"diff": "+1 x"},
            [(b"a\nb\na\n", b"x")],
        ),
        ([*_READ, {"role": "user", "content": "Hm"}], _call("write", path="f", content="c"), None, []),
        (
            [*_READ, _call("bash", command="fmt f", key="b"), _result("", "b")],
            _call("write", path="f", content="c"),
            None,
            [],
        ),
        ([_call("read", path="f", limit=2, key="r"), _result("a\nb", "r")], _call("write", path="f", content="c"), None, []),
    ],
)  # fmt: skip
def test_an_edit_is_known_only_where_the_session_shows_the_contents(
    tmp_path: Path,
    before: list[dict[str, Any]],
    call: dict[str, Any],
    details: dict[str, Any] | None,
    expected: list[tuple[bytes, bytes]],
) -> None:
    session = _entries(tmp_path / "s.jsonl", *before, call, _result("ok", details=details))

    assert [(each.path, each.before, each.after) for each in session.edits] == [
        ("f", old, new) for old, new in expected
    ]
    assert session.unknown == []


def test_a_call_with_wrong_arguments_stays_as_it_is(tmp_path: Path) -> None:
    session = _entries(
        tmp_path / "s.jsonl", _call("edit", path="f", edits="all"), _result("Bad", isError=True)
    )

    assert shown(session) == [
        ("call", "t", '{"name": "edit", "args": {"path": "f", "edits": "all"}}'),
        ("result", "t=", "failed: Bad"),
    ]
    assert session.unknown == []


def test_refused_and_open_calls(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = _entries(
        path,
        _call("bash", command="rm -rf /", key="1"),
        _result("Blocked by user", "1", isError=True),
        _call("grep", pattern="a.b", literal=True, key="2"),
    )

    assert shown(session)[1:] == [
        ("result", "1=", "declined: Blocked by user"),
        ("call", "2", '{"name": "find", "args": {"content": "a\\\\.b"}}'),
        ("result", "2=", "interrupted: "),
    ]
    assert [key for _, key, _ in shown(read(Pi(), path, running=True))] == ["1", "1=", "2"]


def test_hostile_files_are_read_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    said = {"type": "message", "id": "t=", "message": {"role": "user", "content": "Hello \ud800\x00\x1b[2J"}}
    call: dict[str, Any] = {"type": "message", "id": "c", "timestamp": 1 << 70}
    call["message"] = _call("bash", command=1)
    call["message"]["usage"] = {"input": 1 << 63, "output": 5, "cost": {"total": float("nan")}}
    path.write_text("\n".join(["[" * 100_000, json.dumps(said), json.dumps(call), "\0", ""]))

    session = read(Pi(), path)

    assert [each.key for each in session.events] == ["t="]
    assert [each.measure.get("input") for each in session.usage] == [0]
    assert "cost" not in session.usage[0].measure
    assert session.unknown_count == 3


def test_what_is_no_file_is_no_session(tmp_path: Path) -> None:
    project = tmp_path / ".pi/agent/sessions/p"
    (project / "dir.jsonl").mkdir(parents=True)
    (project / "link.jsonl").symlink_to("/dev/null")
    (project / "loop").symlink_to(project)
    (project / "empty.jsonl").write_text("")

    files = [*Pi().files(tmp_path, {})]

    assert [file.path.name for file in files] == ["empty.jsonl"]
    assert Pi().read(files[0]) is None
    for name in ("dir.jsonl", "missing.jsonl"):
        with pytest.raises(OSError, match=name):
            Pi().read(SessionFile(project / name, ""))
