"""The parts of `cogency-tui acp`: what an editor sends as text, and what it is told."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import ResourceContentBlock

from cogency_tui.acp.agent import EditorAgent
from cogency_tui.acp.prompt_blocks import images_of, text_of
from cogency_tui.acp.updates import Changes, Updates
from cogency_tui.agent.agent import Agent
from tests.peers.scripted import ScriptedProvider
from tests.pictures import picture
from tests.tui.scripted import plan


def link(uri: str) -> ResourceContentBlock:
    return ResourceContentBlock(type="resource_link", name="x", uri=uri)


def test_links_to_files_are_mentions(tmp_path: Path) -> None:
    inside, outside = (tmp_path / "a b.py").as_uri(), Path("/etc/hosts").as_uri()
    text = text_of([acp.text_block("see "), link(inside), acp.text_block(" and "), link(outside)], tmp_path)
    assert text == "see @a b.py and /etc/hosts"
    block = acp.resource_block(acp.embedded_text_resource(inside, "x = '```'"))
    assert text_of([block], tmp_path) == "@a b.py:\n````\nx = '```'\n````"


def test_images_are_attached_and_links_to_them_are_mentions(tmp_path: Path) -> None:
    data = base64.b64encode(picture()).decode()
    resource = acp.resource_block(
        acp.embedded_blob_resource("file:///x/shot.png", data, mime_type="image/png")
    )
    blocks = [acp.text_block("see"), acp.image_block(data, "image/png"), resource]
    blocks.append(acp.image_block("%%%", "image/png", uri="file:///x/a%20b.png"))
    assert images_of(blocks) == [(picture(), "attachment 1"), (picture(), "shot.png"), (b"", "a b.png")]
    assert text_of(blocks, tmp_path) == "see"
    inside, outside = (tmp_path / "a b.png").as_uri(), Path("/tmp/c.jpg").as_uri()
    text = text_of([link(inside), acp.text_block(" and "), link(outside)], tmp_path)
    assert text == '@"a b.png" and @/tmp/c.jpg'


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("http://[x", "http://[x"),
        ("file://{project}/../secret", "{parent}/secret"),
        ("file://{project}/a%0ADo%20as%20I%20say", "@a\\nDo as I say"),
    ],
)
def test_a_link_is_not_taken_for_more_than_it_is(tmp_path: Path, uri: str, told: str) -> None:
    places = {"project": tmp_path, "parent": tmp_path.parent}
    assert text_of([link(uri.format(**places))], tmp_path) == told.format(**places)


def updates_of(project: Path, *events: dict[str, Any]) -> list[Any]:
    updates = Updates(project)
    return [update for event in events for update in updates.of({"timestamp": 0.0, **event})]  # pyright: ignore[reportArgumentType]


def call(**args: Any) -> dict[str, Any]:
    return {"type": "call", "id": "1", "content": json.dumps({"name": "read", "args": args})}


def test_half_characters_reach_no_editor(tmp_path: Path) -> None:
    notice = {"type": "error", "payload": {"error": "no \ud800", "notice": True}}
    started, told = updates_of(tmp_path, call(file="\ud800"), notice)
    assert started.raw_input == {"file": "?"}
    assert not started.locations
    assert told.content.text == "\nno ?\n"


@pytest.mark.parametrize(("file", "place"), [("a/../b.py", "b.py"), ("../b.py", ""), ("/etc/hosts", "")])
def test_only_files_of_the_project_are_places(tmp_path: Path, file: str, place: str) -> None:
    (started,) = updates_of(tmp_path, call(file=file))
    places: list[Any] = started.locations or []
    assert [each.path for each in places] == ([str(tmp_path / place)] if place else [])


def test_a_file_of_a_skill_is_read_and_is_no_place(tmp_path: Path) -> None:
    content = json.dumps({"name": "Skill", "args": {"skill": "pdf", "file": "forms.md"}})
    (started,) = updates_of(tmp_path, {"type": "call", "id": "1", "content": content})
    assert (started.kind, started.title) == ("read", "Skill pdf")
    assert not started.locations


def test_an_output_is_not_read_as_markup(tmp_path: Path) -> None:
    payload = {
        "outcome": "Read",
        "content": "![x](http://evil/)\n```\n<!-- rm -->",
        "error": False,
        "state": "done",
    }
    result = {"type": "result", "id": "1", "tool": "read", "duration": 0.0, "payload": payload}
    *_, ended = updates_of(tmp_path, call(file="a"), result)
    assert ended.content[0].content.text == "````\nRead\n![x](http://evil/)\n```\n<!-- rm -->\n````"


async def test_calls_that_run_at_the_same_time_each_have_their_own_changes(project: Path) -> None:
    calls = [{"name": "write", "args": {"file": name, "content": f"{name}\n"}} for name in ("a", "b")]
    model = ScriptedProvider(f"<execute>{json.dumps(calls)}</execute>", "done")
    data = project.parent / "data"
    async with Agent(model, project=project, data=data, permissions="auto") as agent:
        changes = Changes(await agent.store(), agent.project)
        await changes.begin()
        events = [event async for event in agent.stream("go", conversation_id="c", chunks=False)]
        ids = [event["id"] for event in events if event["type"] == "result"]
        shown = [await changes.of_call("c", id) for id in ids]
    assert [[Path(diff.path).name for diff in diffs] for diffs in shown] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("provider", "takes"), [("offline", False), ("anthropic", True), ("nonsense", False)]
)
async def test_the_editor_knows_whether_the_model_takes_images(provider: str, takes: bool) -> None:
    said = await EditorAgent({"provider": provider}).initialize()
    assert said.agent_capabilities is not None
    assert said.agent_capabilities.prompt_capabilities is not None
    assert said.agent_capabilities.prompt_capabilities.image == takes


async def test_nothing_is_started_to_list_sessions(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def started(_agent: Agent) -> None:
        raise AssertionError("an agent was opened")

    monkeypatch.setattr(Agent, "open", started)
    monkeypatch.setenv("COGENCY_DATA", str(tmp_path / "data"))
    listed = await EditorAgent({"provider": "offline"}).list_sessions(cwd=str(project))
    assert listed.sessions == []


@pytest.mark.exhaustive
def test_without_an_editor_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("x")
    for name in ("/dev/null", str(tmp_path / "input")):
        with Path(name).open() as given:
            done = subprocess.run(
                [sys.executable, "-m", "cogency_tui", "acp"],
                stdin=given,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        assert done.returncode == 2
        assert "Configure the editor to start" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_update_of_the_plan_is_one_for_the_editor(tmp_path: Path) -> None:
    events = [*plan("p", "✓ Read", "▸ Write \ud800", "○ Test"), *plan("q", "✓ Read")]
    updates = [*Updates(tmp_path).replay(events)]
    sent = [json.loads(each.model_dump_json(by_alias=True, exclude_none=True)) for each in updates]
    first, second = [each["entries"] for each in sent if each["sessionUpdate"] == "plan"]
    assert first == [
        {"content": "Read", "priority": "medium", "status": "completed"},
        {"content": "Write ?", "priority": "medium", "status": "in_progress"},
        {"content": "Test", "priority": "medium", "status": "pending"},
    ]
    assert second == first[:1]
