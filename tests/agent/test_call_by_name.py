"""`relic` and `llm`: what every agent is offered beside its tools."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.engine import Engine
from cogency_tui.agent.language_servers import LanguageServersOnDemand
from cogency_tui.agent.llm_tool import ANSWER_LIMIT
from cogency_tui.agent.permissions.gate import Answer, Gate, Question
from cogency_tui.agent.project.language_server_consent import LanguageServerConsent
from cogency_tui.agent.project.settings import ProjectSettings
from cogency_tui.agent.project.trust import Trust
from cogency_tui.agent.recall.recall import Recall
from cogency_tui.agent.relic_tool import Relic
from cogency_tui.config.schema import AgentSettings, Permissions, ProviderSettings, Settings
from cogency_tui.errors import NetworkError, ToolError
from cogency_tui.providers.base import CutOff, Provider, TextDelta, Usage
from cogency_tui.providers.configured_providers import host_of
from cogency_tui.store.store import Store
from cogency_tui.tools.base import Outcome, ToolContext
from cogency_tui.tools.mcp.server import Surroundings
from cogency_tui.tools.mcp.servers import Servers
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell.git_remotes import Remotes
from cogency_tui.workspace.paths import Workspace
from tests.agent.delegation import Bench, block, named, payload_of, results, scripted, shown, turn
from tests.peers.scripted import ScriptedProvider


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path / "data")


class Keeper:
    """The `relic` tool alone, at a time that the test sets."""

    def __init__(self, project: Path, store: Store) -> None:
        self.now = 1_000_000.0

        async def opened() -> Store:
            return store

        def none(_name: str, _model: str) -> Provider:
            raise AssertionError

        workspace = Workspace(project)
        journal = Journal(workspace, opened)
        recall = Recall(opened, str(project))
        settings = Settings()
        own = ProjectSettings(
            Trust(project.parent / "trusted.toml"), project, lambda: settings, project.parent
        )
        servers = Servers(Surroundings(workspace.root))
        consent = LanguageServerConsent(project.parent / "language_servers.toml", project)
        engine = Engine(
            settings,
            workspace,
            {},
            [],
            opened,
            none,
            lambda _name: "",
            journal,
            recall,
            own,
            servers,
            Remotes(workspace.root),
            LanguageServersOnDemand(project, {}, {}, dict, lambda: False, consent),
        )
        self._registry = Registry([Relic(engine, Gate(lambda: "auto", lambda: None), lambda: self.now)])
        self._context = ToolContext(workspace)

    async def call(self, name: str, **parameters: Any) -> Outcome:
        args = {"name": name, "parameters": parameters}
        call = self._registry.bind("relic", args, self._context)
        intent = await call.plan()
        assert intent.effect == "read"
        return await call.run()


@pytest.fixture
async def keeper(project: Path, tmp_path: Path) -> AsyncIterator[Keeper]:
    async with await Store.open(tmp_path / "data") as store:
        yield Keeper(project, store)


async def test_a_cached_value_is_gone_after_its_time(keeper: Keeper) -> None:
    await keeper.call("cache", action="set", key="a", value={"b": [1]}, ttl=60)
    keeper.now += 59
    found = await keeper.call("cache", action="get", key="a")
    assert (found.outcome, found.content, found.failed) == ("Found a, for another 1 s", {"b": [1]}, False)
    keeper.now += 1
    gone = await keeper.call("cache", action="get", key="a")
    assert (gone.content, gone.failed) == (None, True)


async def test_the_flat_names_do_the_same(keeper: Keeper) -> None:
    await keeper.call("cache_set", key="a", value=1)
    await keeper.call("cache_store", key="a", value=2, action="set")
    assert (await keeper.call("cache_get", key="a")).content == 2
    assert (await keeper.call("cache_delete", key="a")).outcome == "Removed a"
    assert (await keeper.call("cache_delete", key="a")).outcome == "Nothing was stored under a"
    await keeper.call("log_append", entry="one")
    await keeper.call("log", action="append", entry={"two": 2})
    last = {"time": "1970-01-12T13:46:40+00:00", "entry": {"two": 2}}
    assert (await keeper.call("log_read", limit=1)).content == [last]
    assert len((await keeper.call("log", action="read")).content) == 2


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("cahe", {}, 'relic: there is no "cahe". Did you mean "cache"? Names: cache, log.'),
        ("cache", {}, 'relic cache: "action" must be "set" or "get" or "delete". Form: {"name": "cache"'),
        ("cache", {"action": "put", "key": "a"}, '"action" must be "set" or "get" or "delete"'),
        ("cache_get", {"action": "set", "key": "a", "value": 1}, 'relic cache_get: "action" must be "get".'),
        ("cache", {"action": "set", "key": "a"}, '"value" is missing'),
        ("cache", {"action": "set", "key": "", "value": 1}, '"key" must be a string'),
        ("cache", {"action": "set", "key": "a", "value": 1, "ttl": "soon"}, '"ttl" must be'),
        ("cache", {"action": "set", "key": "a", "value": 1, "ttl": -1}, '"ttl" must be'),
        ("cache", {"action": "get", "kee": "a"}, 'unknown argument "kee" (did you mean "key"?)'),
        ("log_append", {}, '"entry" is missing'),
        ("log", {"action": "read", "limit": 0}, '"limit" must be an integer from 1 to 1000, not 0'),
    ],
)
async def test_what_is_wrong_is_named_and_the_form_shown(
    keeper: Keeper, name: str, parameters: dict[str, Any], told: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await keeper.call(name, **parameters)
    assert told in caught.value.advice
    if "there is no" not in told:
        assert '"parameters": {"action": ' in caught.value.hint


async def test_the_calls_of_a_batch_reach_the_cache_in_their_order(bench: Bench) -> None:
    calls = [
        named("relic", "cache", action="set", key="a", value=1),
        named("relic", "cache", action="get", key="a"),
        named("relic", "cache", action="delete", key="a"),
        named("relic", "cache", action="get", key="a"),
    ]
    agent = bench.agent(block(*calls), "Ok.", permissions="plan")
    by_call = {result["id"]: result["payload"] for result in results(await turn(agent))}
    assert [payload["error"] for payload in by_call.values()] == [False, False, False, True]


async def test_what_one_agent_keeps_another_finds(bench: Bench) -> None:
    kept = block(named("relic", "cache", action="set", key="seen", value=["a.py"]))
    await turn(bench.agent(kept, "Ok."), "first")
    action = '<action type="relic" id="g">{"name": "cache_get", "parameters": {"key": "seen"}, "output_key": "seen"}'
    agent = bench.agent(f"{action}</action><response>$seen</response>", dialect="action")
    events = await turn(agent, "second")
    assert [event["content"] for event in events if event["type"] == "respond"][-1] == '["a.py"]'


async def test_a_question_carries_nothing_but_itself(bench: Bench) -> None:
    call = block(named("llm", "default", prompt="2 + 2?", system="Be short."))
    agent = bench.agent(call, "Four.", "Ok.")
    async with agent:
        events = await turn(agent)
        spent = await (await agent.store()).usage("c")
    assert scripted(agent).sent[1] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "2 + 2?"},
    ]
    (result,) = results(events)
    assert result["payload"]["content"] == "Four."
    assert shown(events) == "Four."
    steps = [event["step"] for event in events if event["type"] == "metric"]
    cycles = sum(step.get("input", 0) for step in steps)
    assert spent.get("input") == cycles + 4  # 15 characters


async def test_parameters_may_be_written_as_json(bench: Bench) -> None:
    call = block(("llm", {"name": "default", "parameters": '{"prompt": "2 + 2?"}'}))
    assert (await payload_of(bench.agent(call, "Four.", "Ok.")))["content"] == "Four."
    call = block(("llm", {"name": "default", "parameters": "2 + 2?"}))
    payload = await payload_of(bench.agent(call, "Ok."))
    assert payload["outcome"].startswith('llm: "parameters" must be an object, not "2 + 2?".')


async def test_a_prompt_beside_the_name_is_that_of_the_question(bench: Bench) -> None:
    for given in ({"name": "default", "prompt": "2 + 2?"}, {"prompt": "2 + 2?"}):
        agent = bench.agent(block(("llm", given)), "Four.", "Ok.")
        assert (await payload_of(agent))["content"] == "Four."
    twice = {"name": "default", "prompt": "2 + 2?", "parameters": {"prompt": "3 + 3?"}}
    payload = await payload_of(bench.agent(block(("llm", twice)), "Ok."))
    assert 'both mean "parameters": give one of them' in payload["outcome"]


async def test_another_configured_model_can_be_asked(bench: Bench) -> None:
    call = block(named("llm", "offline", prompt="hello"))
    agent = bench.agent(call, "Ok.", settings={"providers": {"offline": ProviderSettings()}})
    events = await turn(agent)
    assert not results(events)[0]["payload"]["error"]
    assert len(scripted(agent).sent) == 2
    assert "Names: default, offline." in scripted(agent).sent[0][0]["content"]


FAR = {"providers": {"far": ProviderSettings("https://far.example:8443/v1", "m", api="chat")}}
HELPER = {"helper": AgentSettings(provider="far")}


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    "call",
    [
        named("llm", "far", prompt="the keys", system="Be short."),
        ("agent", {"name": "helper", "task": "the keys"}),
    ],
)
async def test_what_another_provider_is_asked_leaves_the_machine(
    bench: Bench, tmp_path: Path, mode: Permissions, call: tuple[str, dict[str, Any]]
) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=question.effect == "read")

    outside = tmp_path / "outside.txt"
    outside.write_text("text of somebody")
    replies = (block(("read", {"file": str(outside)})), block(call), "Ok.")
    agent = bench.agent(*replies, settings=FAR, agents=HELPER, ask=ask, permissions=mode)
    events = await turn(agent)
    question = asked[-1]
    assert (question.effect, question.detail.endswith("the keys")) == ("network", True)
    assert question.reason.startswith("it sends a request to far.example:8443")
    assert str(outside) in question.reason
    assert results(events)[-1]["payload"].get("refused") == "the user declined it"
    assert len(scripted(agent).sent) == 3


def test_the_host_of_a_provider_is_known_where_it_is_elsewhere() -> None:
    settings = Settings(providers=FAR["providers"])
    hosts = {name: host_of(name, settings, {}) for name in ("far", "offline", "ollama", "openai", "none")}
    assert hosts == {
        "far": "far.example:8443", "offline": "", "ollama": "", "openai": "api.openai.com", "none": "",
    }  # fmt: skip
    assert host_of("openai", settings, {"OPENAI_BASE_URL": "http://localhost:1/v1"}) == ""


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("openai", {"prompt": "x"}, 'llm: there is no "openai". Names: default, broken, scripted.'),
        ("broken", {"prompt": "x"}, "The provider broken needs a model name."),
        ("default", {}, '"prompt" is missing'),
        ("default", {"prompt": "x", "temperature": 1}, 'unknown argument "temperature"'),
    ],
)
async def test_a_question_that_cannot_be_asked_is_a_failed_result(
    bench: Bench, name: str, parameters: dict[str, Any], told: str
) -> None:
    call = block(named("llm", name, **parameters))
    agent = bench.agent(call, "Ok.", settings={"providers": {"broken": ProviderSettings()}})
    payload = await payload_of(agent)
    assert payload["error"]
    assert told in payload["outcome"]
    assert len(scripted(agent).sent) == 2


async def test_an_endpoint_that_fails_is_a_failed_result_with_what_came(bench: Bench) -> None:
    call = block(named("llm", "default", prompt="x"), named("llm", "default", prompt="y"))
    agent = bench.agent(call, NetworkError("refused"), "Half<<hang>>the wire broke", "Ok.")
    payloads = [result["payload"] for result in results(await turn(agent))]
    assert [payload["error"] for payload in payloads] == [True, True]
    assert {payload["content"] for payload in payloads} == {
        None,
        "Half\n\n[The answer was cut off: the wire broke]",
    }


async def test_an_answer_without_end_is_stopped(bench: Bench) -> None:
    call = block(named("llm", "default", prompt="x"))
    model = ScriptedProvider(call, "y" * ANSWER_LIMIT + "z<<hang>>", "Ok.", size=60_000)
    payload = await payload_of(bench.agent(llm=model))
    assert payload["content"] == "y" * ANSWER_LIMIT
    assert payload["outcome"] == "scripted-1 answered in 200,000 characters (cut there)"
    assert not model.hanging.is_set()


async def test_an_answer_that_reached_the_output_limit_is_marked(bench: Bench) -> None:
    call = block(named("llm", "default", prompt="x"))
    model = ScriptedProvider(call, [TextDelta("Half"), Usage(1, 1), CutOff()], "Ok.")
    payload = await payload_of(bench.agent(llm=model))
    assert payload["outcome"] == "scripted-1 answered in 4 characters (cut there)"
