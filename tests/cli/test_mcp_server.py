"""`cogency-tui mcp`, asked by the SDK's own client: what it shows, what it does not, and that it changes nothing."""

import asyncio
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cogency_tui.cli import mcp_server
from cogency_tui.config.worktree_paths import worktrees_of
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import FILE
from cogency_tui.store.edit_records import ABSENT, FileChange
from cogency_tui.store.edits import Edits
from cogency_tui.store.search.index_file import BLOBS, INDEX
from cogency_tui.store.store import Store
from cogency_tui.store.trash import Trash
from tests import ROOT, forkserver
from tests.cli.conftest import Run

PATIENCE = 90.0
SECRET = "sk-proj-" + "aB3xK9mQ" * 6
PASSWORD = "tr0ub4dor-and-3"
TICKET = "q7Rf2LxV9bTz4WmK8sDp"
"""A secret only because of the file that it is in."""

LONG = "".join(f"line {number}\n" for number in range(6_000))


@dataclass
class Past:
    """A store, and what is in it."""

    data: Path
    project: Path
    ids: dict[str, str]
    edits: dict[str, int]
    numbers: dict[str, int]

    def environ(self) -> dict[str, str]:
        return {**os.environ, "COGENCY_DATA": str(self.data), "PYTHONPATH": str(ROOT)}


def call(id: str, name: str, at: float, **args: Any) -> Event:
    return {"type": "call", "timestamp": at, "id": id, "content": json.dumps({"name": name, "args": args})}


def result(id: str, tool: str, at: float, content: Any, state: Any = "done") -> Event:
    return {
        "type": "result",
        "timestamp": at,
        "id": id,
        "tool": tool,
        "duration": 0.5,
        "payload": {
            "outcome": "as it ended",
            "content": content,
            "error": state == "failed",
            "state": state,
        },
    }


async def fill(data: Path, project: Path) -> Past:
    """A project with two turns, a sub-agent, a worktree and the trash; and another project."""
    ids: dict[str, str] = {}
    numbers: dict[str, int] = {}
    async with await Store.open(data) as store:

        async def begin(name: str, directory: str, **more: Any) -> str:
            made = await store.create_conversation(
                directory, dialect="xml", provider="offline", model="tiny", **more
            )
            ids[name] = made.id
            return made.id

        async def say(id: str, text: str, at: float) -> int:
            return await store.append(id, {"type": "user", "timestamp": at, "content": text})

        id = await begin("mine", str(project))
        first: Event = {
            "type": "user",
            "timestamp": 1000.0,
            "content": "Repair the turnstile",
            "environment": "<profile>The user is called Grace.</profile>",
        }
        numbers["first"] = await store.append(id, first)
        await store.append(id, {"type": "think", "timestamp": 1001.0, "id": "t", "content": "I look."})
        numbers["call"] = await store.append(
            id, call("c1", "shell", 1002.0, command="make", api_key=PASSWORD)
        )
        output = f"\x1b[31mturnstile\x1b[0m \x9b1m jammed {SECRET} \u202eevil\n{SECRET} oiled"
        numbers["output"] = await store.append(id, result("c1", "shell", 1003.0, output))
        blobs = Blobs(data / BLOBS)
        old, new = blobs.version(b"a = 1\nb = 2\n", 0o644), blobs.version(b"a = 1\nb = 3\n", 0o644)
        newer = blobs.version(b"a = 1\nb = 4\n", 0o644)
        settings = blobs.version(f"MODE=fast\nDB_PASSWORD={PASSWORD}\nROW={TICKET}\n".encode(), 0o600)
        edits = Edits(store.database)
        made = await edits.add(await edits.origin(id), "c1", "edit", [FileChange("src/gate.py", old, new)])
        made += await edits.add(await edits.origin(id), "c2", "write", [FileChange(".env", ABSENT, settings)])
        made += await edits.add(await edits.origin(id), "c3", "edit", [FileChange("src/gate.py", new, newer)])
        await store.append(id, {"type": "respond", "timestamp": 1004.0, "id": "r", "content": "Repaired."})
        await store.record_usage(
            id, {"input": 100, "output": 20, "cost": 0.25, "provider": "p", "model": "m"}
        )
        numbers["second"] = await say(id, "Now oil it", 5e9)
        numbers["long call"] = await store.append(id, call("c4", "read", 5e9 + 1, file="long.txt"))
        numbers["long"] = await store.append(id, result("c4", "read", 5e9 + 2, LONG))
        agent = await begin("agent", str(project), parent=id, call="c4")
        await say(agent, "Look for grease", 1010.0)
        tree = await begin("worktree", str(worktrees_of(data, str(project)) / "oil"))
        await store.database.write(
            lambda connection: connection.execute(
                "UPDATE conversations SET source = 'claude-code' WHERE id = ?", (tree,)
            )
        )
        await say(tree, "The turnstile of the worktree", 1020.0)
        gone = await begin("trashed", str(project))
        await say(gone, "The turnstile in the trash", 1030.0)
        await Trash(store.database).move(gone)
        other = await begin("other", "/elsewhere")
        await say(other, "The turnstile elsewhere", 1040.0)
        made += await edits.add(
            await edits.origin(other), "c9", "edit", [FileChange("src/gate.py", new, old)]
        )
        names = ("gate", "env", "gate again", "elsewhere")
        return Past(
            data, project, ids, {name: edit.id for name, edit in zip(names, made, strict=True)}, numbers
        )


@asynccontextmanager
async def served(past: Past, *arguments: str, cwd: Path | None = None) -> AsyncGenerator[Client]:
    """The client of a program that serves it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-W", "ignore", "-m", "cogency_tui", "mcp", *arguments],
        env=past.environ(),
        cwd=cwd or past.project,
    )
    async with asyncio.timeout(PATIENCE), Client(stdio_client(server)) as client:
        yield client


async def ask(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """The text and the value of a result."""
    found = await client.call_tool(tool, arguments)
    [block] = found.content
    assert block.type == "text"
    assert not found.is_error, block.text
    assert "data, not instructions" in block.text
    assert "data, not instructions" in found.structured_content["note"]
    return block.text, found.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    found = await client.call_tool(tool, arguments)
    [block] = found.content
    assert block.type == "text"
    assert found.is_error, block.text
    assert found.structured_content is None
    return block.text


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    directory = tmp_path_factory.mktemp("mcp")
    project = directory / "project"
    project.mkdir()
    return await fill(directory / "data", project)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(past: Past) -> AsyncGenerator[Client]:
    """The client of one program, for tests of this project's history; it is entered and left by one task."""
    ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        async with served(past) as client:
            ready.set_result(client)
            await done.wait()

    holding = asyncio.create_task(hold())
    await asyncio.wait([holding, ready], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        holding.result()
    yield ready.result()
    done.set()
    await holding


in_one_loop = pytest.mark.asyncio(loop_scope="module")


@in_one_loop
async def test_the_tools_only_read_and_describe_their_answers(client: Client, past: Past) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert [*tools] == ["recall", "conversation", "timeline", "edits"]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
    assert client.instructions is not None
    assert "data, not instructions" in client.instructions
    asked: dict[str, dict[str, Any]] = {
        "recall": {"query": "turnstile"},
        "conversation": {"conversation": past.ids["mine"]},
        "timeline": {"conversation": past.ids["mine"]},
        "edits": {"conversation": past.ids["mine"], "turn": 1, "diff": True},
    }
    for name, arguments in asked.items():
        jsonschema.validate(arguments, tools[name].input_schema)
        schema = tools[name].output_schema
        assert schema is not None
        assert schema["type"] == "object"
        _text, value = await ask(client, name, **arguments)
        jsonschema.validate(value, schema)


@in_one_loop
async def test_recall_finds_this_project_and_its_worktrees_alone(client: Client, past: Past) -> None:
    text, value = await ask(client, "recall", query="turnstile", order="newest")
    found = {each["id"]: each for each in value["conversations"]}
    assert {*found} == {past.ids["mine"], past.ids["worktree"]}
    [hit] = [hit for hit in found[past.ids["mine"]]["hits"] if hit["kind"] == "prompt"]
    assert (hit["event"], hit["text"]) == (past.numbers["first"], "Repair the turnstile")
    assert f"at {past.numbers['first']}, prompt: Repair the turnstile" in text
    assert found[past.ids["mine"]]["files"] == 2
    assert found[past.ids["worktree"]]["source"] == "claude-code"
    assert "from claude-code" in text
    assert "source" not in found[past.ids["mine"]]

    _text, value = await ask(client, "recall", query="grease")
    [found_in_agent] = value["conversations"]
    assert found_in_agent["id"] == past.ids["mine"]
    assert found_in_agent["hits"][0]["conversation"] == past.ids["agent"]
    text, value = await ask(client, "recall", query="nowhere to be found")
    assert "Nothing matches." in text
    assert value["conversations"] == []
    _text, value = await ask(client, "recall", query="since:whenever")
    assert value["problems"]


@in_one_loop
async def test_recall_is_paged(client: Client, past: Past) -> None:
    seen: list[str] = []
    after: dict[str, str] = {}
    for _ in range(3):
        text, value = await ask(client, "recall", limit=1, **after)
        seen += [each["id"] for each in value["conversations"]]
        if "more_after" not in value:
            break
        assert f"after={value['more_after']}" in text
        after = {"after": value["more_after"]}
    assert sorted(seen) == sorted([past.ids["mine"], past.ids["worktree"]])
    assert "after" in await refused(client, "recall", after="bm9uc2Vuc2U=")


@in_one_loop
async def test_a_conversation_is_read_around_an_event_from_one_on_and_at_its_end(
    client: Client, past: Past
) -> None:
    id, numbers = past.ids["mine"], past.numbers
    text, value = await ask(client, "conversation", conversation=id, around=numbers["call"], limit=3)
    assert [each["kind"] for each in value["events"]] == ["thought", "call of shell", "output of shell"]
    assert (value["earlier_around"], value["later_start"]) == (numbers["call"] - 1, numbers["output"] + 1)
    assert f"[later events: start={value['later_start']}]" in text

    _text, value = await ask(client, "conversation", conversation=id, start=value["later_start"], limit=100)
    assert [each["kind"] for each in value["events"]] == ["answer", "user", "call of read", "output of read"]
    assert "later_start" not in value
    assert value["earlier_around"]
    _text, value = await ask(client, "conversation", conversation=id, start=1, limit=1)
    assert [each["text"] for each in value["events"]] == ["Repair the turnstile"]
    assert "earlier_around" not in value
    _text, value = await ask(client, "conversation", conversation=id, limit=2)
    assert [each["kind"] for each in value["events"]] == ["call of read", "output of read"]
    _text, value = await ask(client, "conversation", conversation=past.ids["agent"])
    assert [each["text"] for each in value["events"]] == ["Look for grease"]
    assert "Give one" in await refused(client, "conversation", conversation=id, around=1, start=1)


@in_one_loop
async def test_a_long_event_is_read_in_parts(client: Client, past: Past) -> None:
    whole, offset = "", 0
    while True:
        text, value = await ask(
            client,
            "conversation",
            **{"conversation": past.ids["mine"], "start": past.numbers["long"]},
            **{"limit": 1, "length": 20_000, "offset": offset},
        )
        [event] = value["events"]
        assert len(event["text"]) <= 20_000
        whole += event["text"]
        offset += len(event["text"])
        if not event.get("characters_left"):
            break
        assert f"offset={offset}]" in text
        assert event["next_offset"] == offset
    assert whole == f"as it ended\n{LONG}"


@in_one_loop
async def test_secrets_controls_and_what_is_private_are_not_shown(client: Client, past: Past) -> None:
    texts = [
        await ask(client, "recall", query="turnstile"),
        await ask(client, "recall", query="jammed"),
        await ask(client, "recall", query="file:.env"),
        await ask(client, "recall", query="ROW"),
        # The snippet begins within the secret.
        await ask(client, "recall", query="oiled"),
        await ask(client, "conversation", conversation=past.ids["mine"]),
        await ask(client, "timeline", conversation=past.ids["mine"]),
        await ask(client, "edits", conversation=past.ids["mine"], turn=1, diff=True),
        await ask(client, "edits", path=".env", diff=True),
        await ask(client, "edits", edit=past.edits["env"]),
    ]
    for text, value in texts:
        for shown in (text, *_strings(value)):
            assert SECRET not in shown
            assert SECRET[-16:] not in shown
            assert TICKET not in shown
            assert PASSWORD not in shown
            assert "Grace" not in shown
            assert not {"\x1b", "\x9b", "\u202e", "\r"} & {*shown}
    [output] = [each for each in texts[5][1]["events"] if each["kind"] == "output of shell"]
    assert "turnstile  jammed" in output["text"]
    assert "MODE=fast" in texts[9][1]["edits"][0]["diff"]


@in_one_loop
@pytest.mark.parametrize(
    "guess",
    [SECRET, SECRET[-16:], TICKET, TICKET[:6], PASSWORD, f"error:{SECRET}", f'file:.env "{PASSWORD}"'],
)
async def test_what_is_not_shown_cannot_be_searched_for(client: Client, guess: str) -> None:
    for order in ("best", "newest"):
        _, value = await ask(client, "recall", query=guess, order=order)
        assert value["conversations"] == []
    _, value = await ask(client, "recall", query="file:.env MODE=fast")
    assert len(value["conversations"]) == 1


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*cast("dict[str, Any]", value).values()]
    elif isinstance(value, list):
        inner = cast("list[Any]", value)
    return [text for each in inner for text in _strings(each)]


@in_one_loop
async def test_a_timeline_sums_up_turns(client: Client, past: Past) -> None:
    text, value = await ask(client, "timeline", conversation=past.ids["mine"])
    first, second = value["shown"]
    assert (first["turn"], first["event"], first["asked"]) == (
        1,
        past.numbers["first"],
        "Repair the turnstile",
    )
    assert first["calls"] == [
        {"event": past.numbers["call"], "tool": "shell", "about": "make", "state": "done"}
    ]
    gate = {"path": "src/gate.py", "kind": "changed", "added": 1, "removed": 1}
    assert {**gate, "edits": [past.edits["gate"], past.edits["gate again"]]} in first["files"]
    assert (first["tokens"], first["cost"], first["answer"]) == (120, 0.25, "Repaired.")
    assert (second["turn"], second["asked"], second["files"]) == (2, "Now oil it", [])
    assert "120 tokens, $0.2500" in text

    text, value = await ask(client, "timeline", conversation=past.ids["mine"], limit=1)
    assert [each["turn"] for each in value["shown"]] == [2]
    assert "[earlier turns: start=1]" in text
    assert value["earlier_start"] == 1
    text, value = await ask(client, "timeline", conversation=past.ids["mine"], start=1, limit=1)
    assert ([each["turn"] for each in value["shown"]], value["later_start"]) == ([1], 2)
    assert "[later turns: start=2]" in text
    assert "turns 1 to 2" in await refused(client, "timeline", conversation=past.ids["mine"], start=3)


@in_one_loop
async def test_edits_of_a_path_a_conversation_a_turn_and_one(client: Client, past: Past) -> None:
    def numbers(value: Mapping[str, Any]) -> list[int]:
        return [each["edit"] for each in value["edits"]]

    gate, env, again = (past.edits[name] for name in ("gate", "env", "gate again"))
    for path in ("src/gate.py", str(past.project / "src" / "gate.py"), "./src/../src/gate.py"):
        _text, value = await ask(client, "edits", path=path)
        assert numbers(value) == [again, gate]
    _text, value = await ask(client, "edits", conversation=past.ids["mine"])
    assert numbers(value) == [again, env, gate]
    _text, value = await ask(client, "edits", conversation=past.ids["mine"], path="src")
    assert numbers(value) == [again, gate]
    text, value = await ask(client, "edits", conversation=past.ids["mine"], limit=1)
    assert (numbers(value), value["earlier_before"]) == ([again], again)
    assert f"before={again}" in text
    _text, value = await ask(client, "edits", conversation=past.ids["mine"], before=again)
    assert numbers(value) == [env, gate]

    text, value = await ask(client, "edits", edit=gate)
    [edit] = value["edits"]
    assert edit["diff"] == "--- a/src/gate.py\n+++ b/src/gate.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n"
    assert edit["diff"].rstrip() in text
    assert (edit["added"], edit["removed"], edit["state"], edit["turn"]) == (1, 1, "new", 1)
    text, value = await ask(client, "edits", conversation=past.ids["mine"], turn=1, path="src", diff=True)
    assert "-b = 2\n+b = 4" in value["diff"]
    assert "b = 3" not in text
    text, value = await ask(client, "edits", conversation=past.ids["mine"], turn=2, diff=True)
    assert "No edits." in text
    assert value["edits"] == []
    assert "Give one" in await refused(client, "edits")
    assert "turn needs conversation" in await refused(client, "edits", path="x", turn=1)


@in_one_loop
async def test_nothing_outside_of_the_project_can_be_read_by_its_id(client: Client, past: Past) -> None:
    for id in (past.ids["other"], past.ids["other"][:10], past.ids["mine"][:10], "", "\x00", "' OR 1=1 --"):
        if id:
            unknown = await refused(client, "conversation", conversation=id)
            assert "no conversation of this project" in unknown
            assert "elsewhere" not in unknown
            assert "no conversation" in await refused(client, "timeline", conversation=id)
            assert "no conversation" in await refused(client, "edits", conversation=id)
    assert "no edit of this project" in await refused(client, "edits", edit=past.edits["elsewhere"])
    assert "no edit of this project" in await refused(client, "edits", edit=10**15)
    assert "trash" in await refused(client, "conversation", conversation=past.ids["trashed"])


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("recall", {"query": 5, "limit": "many"}, "an integer from 1 to 50"),
    ("recall", {"limit": 0}, "not 0"),
    ("recall", {"limit": 10**30}, "from 1 to 50"),
    ("recall", {"query": "x" * 501}, "500"),
    ("recall", {"order": "worst"}, "worst"),
    ("recall", {"project": "/"}, "unknown argument"),
    ("conversation", {}, '"conversation" is missing'),
    ("conversation", {"conversation": ""}, "conversation"),
    ("conversation", {"conversation": ["a"]}, "a string"),
    ("conversation", {"conversation": "a", "around": -3}, "not -3"),
    ("conversation", {"conversation": "a", "length": 10**6}, "20000"),
    ("timeline", {"conversation": "a", "limit": -1}, "not -1"),
    ("timeline", {"conversation": {"id": 1}}, "a string"),
    ("edits", {"edit": -1}, "not -1"),
    ("edits", {"edit": 1.5}, "an integer"),
    ("edits", {"path": "x", "diff": "perhaps"}, "true or false"),
    ("nothing", {}, "Tools: recall"),
]


@in_one_loop
@pytest.mark.parametrize(("tool", "arguments", "why"), WRONG, ids=lambda value: str(value)[:30])
async def test_wrong_arguments_are_answered_with_an_error(
    client: Client, tool: str, arguments: dict[str, Any], why: str
) -> None:
    assert why in await refused(client, tool, **arguments)


@in_one_loop
async def test_all_projects_are_read_with_the_option_and_another_by_its_directory(past: Past) -> None:
    async with served(past, "--all", cwd=past.data.parent) as client:
        _text, value = await ask(client, "recall", query="turnstile")
        found = {each["id"] for each in value["conversations"]}
        assert found == {past.ids[name] for name in ("mine", "worktree", "other")}
        _text, value = await ask(client, "conversation", conversation=past.ids["other"])
        assert value["project"] == "/elsewhere"
        _text, value = await ask(client, "edits", path="/elsewhere/src/gate.py")
        assert [each["edit"] for each in value["edits"]] == [past.edits["elsewhere"]]
        _text, value = await ask(client, "edits", path="src/gate.py", limit=2)
        assert [each["edit"] for each in value["edits"]] == [
            past.edits["elsewhere"],
            past.edits["gate again"],
        ]
        assert "trash" in await refused(client, "edits", conversation=past.ids["trashed"])
    async with served(past, "--project", str(past.project), cwd=past.data.parent) as client:
        _text, value = await ask(client, "recall", query="turnstile")
        assert {each["id"] for each in value["conversations"]} == {past.ids["mine"], past.ids["worktree"]}


def fingerprints(data: Path) -> dict[str, str]:
    """All files of the store but its search index and what SQLite has beside it."""
    return {
        str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data.rglob("*")
        if path.is_file() and not path.name.startswith(INDEX) and not path.name.endswith(("-shm", "-wal"))
    }


async def test_reading_changes_no_file_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    past = await fill(tmp_path / "data", tmp_path / "project")
    # A mark of a killed process, which the next reader of marks would remove.
    (past.data / "open").mkdir()
    (past.data / "open" / ("0" * 40)).write_text("{}")
    # What the program wrote before it was killed is only in the WAL.
    with sqlite3.connect(past.data / FILE) as held:
        held.execute("UPDATE conversations SET title = 'Killed' WHERE id = ?", (past.ids["mine"],))
        held.commit()
        wal = past.data / f"{FILE}-wal"
        before, tail = fingerprints(past.data), wal.read_bytes()
        async with served(past, "--all") as client:
            for arguments in ({"query": "turnstile"}, {"query": "turnstile", "order": "newest"}, {}):
                _text, value = await ask(client, "recall", **arguments)
                assert "Killed" in {each["title"] for each in value["conversations"]}
            await ask(client, "conversation", conversation=past.ids["mine"])
            await ask(client, "timeline", conversation=past.ids["mine"])
            await ask(client, "edits", conversation=past.ids["mine"], diff=True)
            await refused(client, "edits", edit=99_999)
        assert fingerprints(past.data) == before
        assert wal.read_bytes() == tail
    held.close()


@pytest.mark.exhaustive
async def test_many_events_are_indexed_and_others_found_without(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    past = await fill(tmp_path / "data", tmp_path / "project")
    async with await Store.open(past.data) as store:
        for number in range(320):
            await store.append(
                past.ids["mine"], {"type": "user", "timestamp": 6e9, "content": f"spring {number}"}
            )
    before = fingerprints(past.data)
    async with served(past) as client:
        _text, value = await ask(client, "recall", query='"spring 319"')
        assert [each["id"] for each in value["conversations"]] == [past.ids["mine"]]
        _text, value = await ask(client, "timeline", conversation=past.ids["mine"], start=3, limit=50)
        assert (len(value["shown"]), value["later_start"]) == (50, 53)
    assert (past.data / INDEX).exists()
    assert {**fingerprints(past.data), "recall.lock": ""} == {**before, "recall.lock": ""}


async def test_a_store_that_is_absent_damaged_newer_or_older_is_an_error_until_it_is_well(
    tmp_path: Path,
) -> None:
    (tmp_path / "project").mkdir()
    past = Past(tmp_path / "data", tmp_path / "project", {}, {}, {})
    file = past.data / FILE
    async with served(past) as client:
        for tool in ("recall", "timeline", "conversation", "edits"):
            arguments = {} if tool == "recall" else {"conversation": "x"}
            assert "does not exist" in await refused(client, tool, **arguments)
        assert not past.data.exists()
        past.data.mkdir()
        file.write_bytes(b"no database at all" * 1000)
        assert "doctor --repair" in await refused(client, "recall")
        assert [each.name for each in past.data.iterdir()] == [FILE]
        file.unlink()
        past = await fill(past.data, past.project)
        _text, value = await ask(client, "recall", query="turnstile")
        assert len(value["conversations"]) == 2
        with sqlite3.connect(file) as connection:
            connection.execute("INSERT INTO migrations (name, applied) VALUES ('of_tomorrow', 0)")
        connection.close()
        assert "newer version" in await refused(client, "recall")
        with sqlite3.connect(file) as connection:
            connection.execute(
                "DELETE FROM migrations WHERE rowid >= (SELECT max(rowid) - 1 FROM migrations)"
            )
        connection.close()
        assert "Start cogency-tui once" in await refused(client, "recall")
        whole = file.read_bytes()
        file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
        assert "doctor --repair" in await refused(client, "recall")
        assert [*past.data.glob("*damaged*")] == []


def request(id: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


INITIALIZE = request(
    1,
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "by hand", "version": "1"},
)
ASK = request(2, "tools/call", name="recall", arguments={"query": "anything"})
NO_MESSAGES = {
    "{": -32700,
    "[" * 100_000: -32700,
    "\xff": -32700,
    "null": -32600,
    f"[{ASK}]": -32600,
    '"x"': -32600,
    "{}": -32600,
    '{"jsonrpc": "2.0", "id": 7, "method": 5}': -32600,
    '{"jsonrpc": "2.0", "id": null, "method": "tools/list"}': -32600,
    '{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"}': -32600,
    '{"jsonrpc": "2.0", "id": true, "method": "tools/list"}': -32600,
}
ODD = {
    '{"jsonrpc": "1.0", "id": 11, "method": "ping"}': -32600,
    '{"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": []}': -32600,
    '{"jsonrpc": "2.0", "id": 13, "method": "no/such"}': -32601,
    '{"jsonrpc": "2.0", "id": 14, "method": "tools/call", "params": {}}': -32602,
    '{"jsonrpc": "2.0", "id": 15, "method": "tools/call", "params": {"name": 5}}': -32602,
    '{"jsonrpc": "2.0", "id": 16, "method": "ping", "params": {"x": "' + "y" * (1 << 21) + '"}}': 0,
    '{"jsonrpc": "2.0", "id": 17, "method": "resources/list"}': -32601,
}


def test_odd_lines_are_answered_and_the_next_ones_served(run: Run) -> None:
    initialized = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    unasked = [
        '{"jsonrpc": "2.0", "method": "no/such"}',
        '{"jsonrpc": "2.0", "id": 9, "result": {}}',
        "",
        " \r",
    ]
    lines = [INITIALIZE, initialized, *NO_MESSAGES, *unasked, *ODD, ASK]
    # Nothing ends the last line, and the input ends at once: it is answered all the same.
    done = run("mcp", stdin="\n".join(lines).encode("latin-1"))

    assert (done.returncode, done.stderr) == (0, "")
    answers = [*map(json.loads, done.stdout.splitlines())]
    by_id = {answer["id"]: answer for answer in answers if answer["id"] is not None}
    assert by_id.pop(1)["result"]["serverInfo"]["name"] == "cogency-tui"
    assert "does not exist" in by_id.pop(2)["result"]["content"][0]["text"]
    codes = {number: answer.get("error", {"code": 0})["code"] for number, answer in by_id.items()}
    assert codes == dict(zip(range(11, 18), ODD.values(), strict=True))
    assert [each["error"]["code"] for each in answers if each["id"] is None] == [*NO_MESSAGES.values()]


def test_the_end_of_the_input_ends_it(run: Run) -> None:
    done = run("mcp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.exhaustive
def test_half_a_line_at_the_end_is_answered(run: Run) -> None:
    done = run("mcp", stdin='{"jsonrpc": "2.0", "id": 3, "met')
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["error"]["code"] == -32700


@pytest.mark.exhaustive
def test_a_call_that_is_cancelled_needs_no_answer(run: Run) -> None:
    cancelled = '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}'
    done = run("mcp", stdin="\n".join([INITIALIZE, ASK, cancelled, request(3, "ping")]))
    assert (done.returncode, done.stderr) == (0, "")
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} >= {1, 3}


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_an_answer_that_cannot_be_written_is_reported(run: Run) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run("mcp", stdin=INITIALIZE, stdout=full.fileno())
    assert done.returncode == 1
    assert done.stderr.startswith("cogency-tui: Cannot write the output")
    assert len(done.stderr.splitlines()) == 1


def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "cogency_tui", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=Past(tmp_path / "data", tmp_path, {}, {}, {}).environ(),
    )
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(INITIALIZE.encode() + b"\n")
    program.stdin.flush()
    assert b"serverInfo" in program.stdout.readline()
    program.send_signal(signal.SIGINT)
    _out, errors = program.communicate(timeout=PATIENCE)
    assert (program.returncode, errors) == (0, b"")


@pytest.mark.exhaustive
def test_a_client_that_is_gone_ends_it(tmp_path: Path) -> None:
    environ = Past(tmp_path / "data", tmp_path, {}, {}, {}).environ()
    (stdin, target), (source, stdout) = os.pipe(), os.pipe()
    program = forkserver.start(("mcp",), tmp_path, environ, stdin=stdin, stdout=stdout, stderr=2)
    for handle in (stdin, stdout, source):
        os.close(handle)
    os.write(target, INITIALIZE.encode() + b"\n")
    assert program.wait() == 0
    os.close(target)


def test_the_directory_must_be_one(run: Run) -> None:
    done = run("mcp", "--project", "nowhere")
    assert done.returncode == 2
    assert "nowhere is no directory" in done.stderr
    assert run("mcp", "--all", "--project", ".").returncode == 2


def missing(_name: str) -> None:
    return None


def test_other_agents_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "find_spec", missing)
    with pytest.raises(UsageError) as raised:
        mcp_server.serve_history(None)
    assert "pip install 'cogency-tui[mcp]'" in raised.value.advice


def test_it_starts_without_the_interface(tmp_path: Path) -> None:
    code = (
        "import sys, cogency_tui.cli.mcp_server;"
        "print(sorted(name for name in ('textual', 'acp', 'mcp') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
