"""Native calls and reasoning over every wire that has them, against a mock that we did not write.

It is installed from the registry for the run, and all is skipped where that cannot be.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Options
from cogency_tui.providers.configured_providers import create_provider
from tests.peers.aimock import Aimock, Unavailable, install, running, says
from tests.peers.aimock_native import bodies, calls
from tests.peers.chat_answers import Call
from tests.peers.ways import KEY, WAYS
from tests.providers.native_loop import READ, Loop

pytestmark = [pytest.mark.xdist_group("aimock"), pytest.mark.exhaustive]

PARALLEL = (
    Call("call_aaaaaaaaaaaa", "read", '{"file": "a"}'),
    Call("call_bbbbbbbbbbbb", "read", '{"file": "b"}'),
    Call("call_cccccccccccc", "read", "{}"),
)
OPTIONS = Options(tools=(READ,))
ASKED: list[Message] = [{"role": "user", "content": "task one"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    directory = tmp_path_factory.mktemp("aimock")
    try:
        script = install(directory)
    except Unavailable as reason:
        pytest.skip(f"aimock cannot be run: {reason}")
    with running(script, directory, KEY, os.environ["PATH"]) as mock:
        yield mock


def script(server: Aimock, *, reasoning: str = "") -> None:
    """Have it make three calls at once, and answer with their results."""
    server.script(
        calls({"userMessage": "task one", "hasToolResult": False}, *PARALLEL, reasoning=reasoning),
        says("task one", "Both are one.", chunkSize=3),
    )


@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if way.mode == "replay"])
async def test_parallel_calls_are_made_and_their_results_go_back(server: Aimock, name: str) -> None:
    provider = WAYS[name].connect(server)
    if not provider.native:
        pytest.skip("it has no native calls")
    script(server)
    loop = Loop(provider, ASKED)
    made = await loop.run(OPTIONS)
    assert [(each["name"], json.loads(each["arguments"] or "{}")) for each in made] == [
        (each.name, json.loads(each.arguments)) for each in PARALLEL
    ]
    first, second = bodies(server, KEY)
    assert first["tools"][0]["function"]["name"] == "read"
    # Of items of the Responses API aimock makes a message each.
    sent = [each["id"] for message in second["messages"] for each in message.get("tool_calls") or ()]
    answered = [each["tool_call_id"] for each in second["messages"] if each["role"] == "tool"]
    assert len(set(sent)) == len(PARALLEL)
    assert answered == sent


async def test_reasoning_goes_back_to_a_model_that_wants_it(server: Aimock, tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('["deepseek/thinker"]\nreturns_reasoning = true\n')
    providers = {"deepseek": ProviderSettings(f"{server.origin}/v1", "thinker", "DEEPSEEK_API_KEY", "chat")}
    environ = {"DEEPSEEK_API_KEY": KEY, "COGENCY_CONFIG": str(tmp_path / "config.toml")}
    provider = create_provider(Settings(provider="deepseek", providers=providers), environ)
    script(server, reasoning="First all three.")
    await Loop(provider, ASKED).run(OPTIONS)
    _first, second = bodies(server, KEY)
    assert second["messages"][1]["reasoning_content"] == "First all three."


async def test_openrouter_is_spoken_to_with_its_own_fields(server: Aimock) -> None:
    providers = {"openrouter": ProviderSettings(f"{server.origin}/api/v1", "m", "OPENROUTER_API_KEY", "chat")}
    settings = Settings(provider="openrouter", providers=providers)
    provider = create_provider(settings, {"OPENROUTER_API_KEY": KEY})
    script(server, reasoning="First all three.")
    loop = Loop(provider, ASKED)
    made = await loop.run(Options(tools=(READ,), effort="low"))
    assert len(made) == len(PARALLEL)
    assert [each["reasoning"] for each in bodies(server, KEY)] == [{"effort": "low"}] * 2
