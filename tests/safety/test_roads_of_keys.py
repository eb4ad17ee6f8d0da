"""No request holds a key that stands in a file, a name, a description or a result: every road into one."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from acp.schema import EmbeddedResourceContentBlock, TextContentBlock, TextResourceContents

from cogency_tui.acp.prompt_blocks import text_of
from cogency_tui.agent.agent import Agent
from cogency_tui.agent.environment import describe, is_about
from cogency_tui.agent.project.custom_files import read_custom
from cogency_tui.cli.run import read_prompt
from cogency_tui.config.schema import AgentSettings, Settings
from cogency_tui.config.workflows import read_workflow
from cogency_tui.redaction import MARKER
from cogency_tui.workspace.paths import Workspace
from tests.agent.user_commands import command_events
from tests.peers.scripted import ScriptedProvider
from tests.secret_samples import private_key, word

OWN = "our own value of no issuer"


def _key() -> str:
    return "glpat-" + word(20)


KEYS = {
    place: _key()
    for place in (
        *("instructions", "own instructions", "nested", "branch", "file", "content", "description", "answer"),
        *(
            "docstring",
            "role",
            "workflow",
            "task",
            "question",
            "system",
            "command",
            "output",
            "edit",
            "piped",
        ),
    )
}


def calls(*given: tuple[str, dict[str, object]]) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args} for name, args in given])}</execute>"


async def lookup(word: str) -> str:
    return f"found {word} and {KEYS['answer']}"


lookup.__doc__ = f"Look a word up with {KEYS['docstring']}."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / KEYS["nested"]).mkdir(parents=True)
    (root / "AGENTS.md").write_text(f"Use {KEYS['instructions']} and {OWN}.")
    (root / KEYS["nested"] / "AGENTS.md").write_text("More.")
    (root / f"{'long-name-of-a-file-' * 2}{KEYS['file']}").write_text("x")
    (root / "shop.py").write_text(f"key = '{KEYS['content']}'\nown = '{OWN}'\nretries = 3\n")
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run([*git, "init", "-q", "-b", f"fix/{KEYS['branch']}"], cwd=root, check=True)
    return root


@pytest.fixture
def agent(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    config = tmp_path / "config"
    (config / "cogency-tui").mkdir(parents=True)
    (config / "cogency-tui" / "AGENTS.md").write_text(f"Always {KEYS['own instructions']}.")
    environ = {"XDG_CONFIG_HOME": str(config), "OPENAI_API_KEY": OWN}
    provider = ScriptedProvider(
        calls(
            ("read", {"file": "shop.py"}),
            ("find", {"content": "key"}),
            ("list", {}),
            ("lookup", {"word": "x"}),
            ("edit", {"file": "shop.py", "old": "retries = 3", "new": f"retries = '{KEYS['edit']}'"}),
            ("shell", {"command": f"cat shop.py; ls; git branch; echo {KEYS['output']}"}),
        ),
        calls(("agent", {"name": "helper", "task": f"use {KEYS['task']} and {OWN}"})),
        "The helper is done.",
        calls(
            (
                "llm",
                {
                    "name": "default",
                    "parameters": {"prompt": f"say {KEYS['question']}", "system": f"be {KEYS['system']}"},
                },
            )
        ),
        "It is said.",
        "Done.",
    )
    helper = AgentSettings(description=f"Helps with {KEYS['description']}", instructions=KEYS["role"])
    workflow = read_workflow(
        "steps",
        {
            "description": f"Runs {KEYS['workflow']}",
            "steps": [{"id": "look", "type": "tool", "name": "list"}],
        },
    )
    return Agent(
        provider,
        project=project,
        data=tmp_path / "data",
        settings=Settings(agents={"helper": helper}, workflows={"steps": workflow}),
        permissions="auto",
        mode="replay",
        tools=[lookup],
        environ=environ,
    )


async def test_no_request_holds_a_key(agent: Agent) -> None:
    async for _ in agent.stream("go", conversation_id="c", chunks=False):
        pass
    async for _ in command_events(agent, "cat shop.py", conversation_id="c"):
        pass
    async for _ in agent.stream("go on", conversation_id="c", chunks=False):
        pass
    await agent.close()
    provider = agent.provider
    assert isinstance(provider, ScriptedProvider)
    assert len(provider.sent) >= 6
    written = {KEYS[name] for name in ("task", "question", "system", "edit", "output")}
    for messages in provider.sent:
        for message in messages:
            # What the model has written itself it is given again.
            own = written if message["role"] == "assistant" else set[str]()
            found = [name for name, key in KEYS.items() if key not in own and key[:14] in message["content"]]
            assert not found, (message["role"], found)
            assert OWN not in message["content"] or message["role"] == "assistant"
    first = provider.sent[0]
    assert str(first).count("is not shown]") >= 8


@pytest.mark.exhaustive
async def test_a_prompt_of_the_user_is_sent_as_it_is(agent: Agent) -> None:
    async for _ in agent.stream(f"what is {KEYS['piped']}?", conversation_id="c", chunks=False):
        pass
    await agent.close()
    provider = agent.provider
    assert isinstance(provider, ScriptedProvider)
    assert KEYS["piped"] in provider.sent[0][-1]["content"]


def _command(key: str) -> str:
    files = {"commands/review.md": f"Review with {key}.".encode()}
    return read_custom(files, Path("/project/.cogency"), own=False).commands["review"].message("")


def _embedded(key: str) -> str:
    resource = TextResourceContents(uri="file:///project/.env", text=f"KEY={key}\n")
    block = EmbeddedResourceContentBlock(type="resource", resource=resource)
    return text_of([TextContentBlock(type="text", text="see "), block], Path("/project"))


@pytest.mark.parametrize("road", [_command, _embedded])
@pytest.mark.parametrize("key", [KEYS["command"], private_key().split("\n", 4)[-1]])
def test_what_a_message_takes_from_a_file_has_no_key(road: Callable[[str], str], key: str) -> None:
    message = road(key)
    assert MARKER in message
    assert key[10:40] not in message


def test_what_is_piped_to_a_prompt_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "piped"
    path.write_text(f"KEY={KEYS['piped']}\n")
    with path.open() as piped:
        monkeypatch.setattr("sys.stdin", piped)
        assert read_prompt("explain") == f"explain\n\nKEY={MARKER}"
    with path.open() as piped:
        monkeypatch.setattr("sys.stdin", piped)
        assert KEYS["piped"] in read_prompt("")


def test_a_block_is_about_a_project_whose_path_has_a_key(tmp_path: Path) -> None:
    project = tmp_path / KEYS["file"]
    project.mkdir()
    block = describe(Workspace(project), "ask", can_ask=True)
    assert KEYS["file"] not in block
    assert is_about(block, project)
