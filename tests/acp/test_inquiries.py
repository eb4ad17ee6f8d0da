"""The model's questions in an editor: its permission dialog offers the choices of single-choice questions."""

import json
from pathlib import Path
from typing import Any

import acp
import pytest

from cogency_tui.acp.session import AcpSession
from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from tests.acp.test_acp import Editor
from tests.peers.scripted import ScriptedProvider

DATABASE = {
    "question": "Which database?",
    "choices": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}],
}
NAME = {"question": "What name?", "choices": [{"label": "shop"}, {"label": "store"}]}


async def answered(project: Path, tmp_path: Path, editor: Editor, *questions: dict[str, Any]) -> Any:
    """What the model reads of its questions."""
    call = json.dumps([{"name": "ask", "args": {"questions": list(questions)}}])
    provider = ScriptedProvider(f"<execute>{call}</execute>", "Done.")
    agent = Agent(provider, project=project, data=tmp_path / "data", settings=Settings(), mode="replay")
    async with agent:
        await AcpSession("c", agent, editor).prompt("go")  # pyright: ignore[reportArgumentType]
    return provider.sent[-1][-1]["content"]


async def test_each_question_is_a_dialog_with_its_choices(project: Path, tmp_path: Path) -> None:
    editor = Editor("1")
    told = await answered(project, tmp_path, editor, DATABASE, NAME)
    assert '"answer": "Postgres"' in told
    assert '"answer": "store"' in told
    (call, options), (second, _options) = editor.asked
    assert (call.title, second.title) == ("Which database?", "What name?")
    assert [(each.name, each.kind) for each in options] == [
        ("SQLite", "allow_once"),
        ("Postgres", "allow_once"),
        ("Skip", "reject_once"),
    ]
    assert call.content is not None
    assert "SQLite: one file" in call.content[0].content.text  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("skip", "The user skipped the question. Decide yourself"),
        ("cancel", "No user can answer questions here"),
        ("7", "No user can answer questions here"),
        ("nonsense", "No user can answer questions here"),
    ],
)
async def test_without_an_answer_the_model_decides(
    project: Path, tmp_path: Path, choice: str, told: str
) -> None:
    editor = Editor(choice)
    if choice == "nonsense":

        async def refuse(*_args: Any, **_more: Any) -> Any:
            raise acp.RequestError.method_not_found("session/request_permission")

        editor.request_permission = refuse  # pyright: ignore[reportAttributeAccessIssue]
    assert told in await answered(project, tmp_path, editor, DATABASE)


async def test_several_answers_to_a_question_cannot_be_asked_for(project: Path, tmp_path: Path) -> None:
    editor = Editor("1")
    told = await answered(project, tmp_path, editor, NAME, {**DATABASE, "several": True})
    assert "No user can answer questions here" in told
    assert not editor.asked
