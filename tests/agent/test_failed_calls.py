"""A failed call: the user reads one line, the model what it needs to mend the call."""

import json
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.config.themes import DEFAULT
from cogency_tui.protocol.events import ResultPayload, outcome_shown
from cogency_tui.tools.base import failure
from cogency_tui.tools.web.search import INSTALL, missing
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_detail import CallLayout
from cogency_tui.tui.transcript.call_lines import draw_call
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.pen import Pen
from cogency_tui.tui.transcript.units import Transcript
from tests.peers.scripted import ScriptedProvider


async def failed(root: Path, name: str, **args: Any) -> tuple[ResultPayload, CallUnit]:
    """The result of a call that fails, as it is stored, and as the user sees it."""
    project = root / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\ny = 1\n")
    call = f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"
    agent = Agent(
        ScriptedProvider(call, "I see."),
        project=project,
        data=root / "data",
        settings=Settings(),
        permissions="edits",
    )
    async for _event in agent.stream("go"):
        pass
    store = await agent.store()
    (conversation,) = await store.conversations(limit=2)
    events = list(await store.events(conversation.id))
    await agent.close()
    transcript = Transcript()
    transcript.feed(events)
    (unit,) = [unit for unit in transcript.units if isinstance(unit, CallUnit)]
    (payload,) = [event["payload"] for event in events if event["type"] == "result"]
    return payload, unit


@pytest.mark.parametrize(
    ("args", "shown", "sent"),
    [
        (
            {"name": "edit", "file": "a.py", "old": "x =  1", "new": "x"},
            "Text to replace not found in a.py.",
            "old is not in a.py. Line 1",
        ),
        (
            {"name": "edit", "file": "a.py", "old": "1", "new": "2"},
            "Text to replace occurs 2 times in a.py.",
            "old occurs 2 times in a.py (lines 1, 2). Add lines around it",
        ),
        (
            {"name": "edit", "file": "a.py", "old": "x", "new": "x"},
            "The old and the new text are the same.",
            "old and new are the same. Nothing would change.",
        ),
        (
            {"name": "replace", "pattern": "*.py", "old": "z", "new": "x"},
            "Text to replace not found in the 1 file that matches *.py.",
            "old is not in the 1 file that matches *.py. Use find",
        ),
        (
            {"name": "read", "file": "b.py"},
            "b.py: there is no such file or directory.",
            "b.py: there is no such file or directory. ",
        ),
        (
            {"name": "shell", "command": "ls", "cwd": "src"},
            "src: there is no such file or directory.",
            "src: there is no such file or directory. ",
        ),
    ],
)
async def test_the_user_reads_why_in_a_line_and_the_model_what_to_do(
    tmp_path: Path, args: dict[str, Any], shown: str, sent: str
) -> None:
    payload, unit = await failed(tmp_path, **args)
    assert payload["outcome"].startswith(sent)
    assert outcome_shown(payload) == unit.outcome == shown
    _row, why = draw_call(unit, Pen(60, theme_styles_of(DEFAULT)))
    assert why.text.strip() == shown

    detail = CallLayout(unit, 200, theme_styles_of(DEFAULT), 0.0)
    texts = [detail.line(y).text.strip() for y in range(len(detail))]
    assert texts.index(shown) < texts.index("Sent to the model")
    assert texts[texts.index("Sent to the model") + 1].startswith(sent.strip())


async def test_what_the_user_can_do_is_in_their_line(tmp_path: Path) -> None:
    outcome = failure(missing())
    assert outcome.outcome.endswith("Without it, fetch reads a page whose address is known.")
    assert outcome.brief == f"Web search needs a library that is not installed. Install it: {INSTALL}."


async def test_a_secret_is_hidden_in_the_line_for_the_user_as_well(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    payload, unit = await failed(tmp_path, "edit", file=f"{key}.py", old="x", new="y")
    assert key not in json.dumps(payload)
    assert key not in unit.outcome + unit.sent
