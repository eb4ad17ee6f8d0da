"""Workflows: steps through the scheduler of the model's own calls, and what cannot be told on load."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import AgentSettings, Settings
from cogency_tui.config.workflows import StepSettings, WorkflowSettings
from cogency_tui.errors import ConfigError
from cogency_tui.protocol import Dialect
from tests.agent.delegation import (
    Bench,
    Meeting,
    Steps,
    block,
    delegated,
    named,
    payload_of,
    results,
    scripted,
    shown,
    turn,
)

COPY: Steps = [
    {"id": "look", "name": "read", "parameters": {"file": "$source"}, "output_key": "text"},
    {"id": "put", "name": "write", "parameters": {"file": "$target", "content": "// $text"}},
]


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path / "data")


def run(name: str = "w", **parameters: Any) -> str:
    return block(named("workflow", name, **parameters))


async def test_steps_use_what_the_caller_gave_and_what_steps_before_made(bench: Bench) -> None:
    agent = bench.agent(run(source="greet.py", target="copy.txt"), "Ok.", workflows={"w": COPY})
    events = await turn(agent)
    (result,) = results(events)
    assert result["payload"]["outcome"] == "w: 2 of 2 steps done"
    assert list(result["payload"]["content"]) == ["look", "put"]
    copied = (bench.root / "copy.txt").read_text()
    assert copied == '// print("hello")\n'
    lines = shown(events).splitlines()
    assert lines[0] == "· read greet.py"
    assert [line[:7] for line in lines] == ["· read ", "✓ read:", "· write", "✓ write"]


@pytest.mark.parametrize(
    ("dialect", "call", "answer"),
    [
        ("xml", run(a=1), "Ok."),
        (
            "delimiter",
            '§call: {"name": "workflow", "args": {"name": "w", "parameters": {"a": 1}}}\n§execute',
            "§end",
        ),
        (
            "action",
            '<action type="workflow">{"name": "w", "parameters": {"a": 1}}</action>',
            "<response>Ok.</response>",
        ),
    ],
)
async def test_the_call_is_the_same_in_every_dialect(
    bench: Bench, dialect: Dialect, call: str, answer: str
) -> None:
    steps: Steps = [
        {"id": "s", "type": "relic", "name": "cache_set", "parameters": {"key": "k", "value": "$a"}},
        {"id": "g", "type": "relic", "name": "cache_get", "parameters": {"key": "k"}},
    ]
    agent = bench.agent(call, answer, workflows={"w": steps}, dialect=dialect)
    assert (await payload_of(agent))["content"] == {"s": "Kept k", "g": 1}


async def test_given_text_is_data_and_never_names_a_result(bench: Bench) -> None:
    steps: Steps = [
        {"id": "a", "name": "read", "parameters": {"file": "greet.py"}, "output_key": "secret"},
        {"id": "b", "name": "write", "parameters": {"file": "out", "content": "$said, $5, $$said, $HOME"}},
    ]
    agent = bench.agent(run(said="$secret"), "Ok.", workflows={"w": steps})
    await turn(agent)
    assert (bench.root / "out").read_text() == "$secret, $5, $said, $HOME"


async def test_a_step_runs_after_those_that_it_names_however_they_are_written(bench: Bench) -> None:
    steps: Steps = [
        {"id": "last", "name": "write", "parameters": {"file": "out", "content": "$text"}, "mode": "async"},
        {"id": "first", "name": "read", "parameters": {"file": "greet.py"}, "output_key": "text"},
    ]
    payload = await payload_of(bench.agent(run(), "Ok.", workflows={"w": steps}))
    assert not payload["error"]
    assert "hello" in (bench.root / "out").read_text()


async def test_steps_that_are_async_run_at_the_same_time(bench: Bench) -> None:
    steps: Steps = [
        {"id": "a", "type": "llm", "name": "default", "parameters": {"prompt": "one"}, "mode": "async"},
        {"id": "b", "type": "llm", "name": "default", "parameters": {"prompt": "two"}, "mode": "async"},
    ]
    agent = bench.agent(llm=Meeting(run(), "One.", "Two.", "Ok."), workflows={"w": steps})
    async with asyncio.timeout(30):
        payload = await payload_of(agent)
    assert set(payload["content"].values()) == {"One.", "Two."}


@pytest.mark.parametrize(
    ("on_error", "failed", "written"), [("skip", False, True), ("fail", True, False), ("retry", False, True)]
)
async def test_a_step_that_fails_ends_the_workflow_only_where_it_is_to(
    bench: Bench, on_error: str, failed: bool, written: bool
) -> None:
    steps: Steps = [
        {"id": "a", "name": "read", "parameters": {"file": "none"}, "on_error": on_error, "retry": 0},
        {"id": "b", "name": "write", "parameters": {"file": "out", "content": "x"}},
        {"id": "c", "name": "read", "parameters": {"file": "greet.py"}, "depends_on": ["a"]},
    ]
    payload = await payload_of(bench.agent(run(), "Ok.", workflows={"w": steps}))
    assert payload["error"] is failed
    assert (bench.root / "out").exists() is written
    assert list(payload["content"]) == ["a", "b", "c"]
    assert "none" in payload["content"]["a"]["error"]
    told = "Not run: a step before it failed" if failed else 'Skipped: it depends on "a", which failed'
    assert payload["content"]["c"] == {"error": told}
    assert payload["outcome"].startswith("w: 0 of 3 steps done" if failed else "w: 1 of 3 steps done")


async def test_each_step_is_asked_for_by_itself_at_the_workflows_call(bench: Bench) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=question.effect == "write")

    steps: Steps = [*COPY, {"id": "run", "name": "shell", "parameters": {"command": "touch ran"}}]
    call = run(source="greet.py", target="copy.txt")
    agent = bench.agent(call, "Ok.", workflows={"w": steps}, permissions="ask", ask=ask)
    (result,) = results(await turn(agent))
    assert [(question.call_id, question.tool) for question in asked] == [
        (result["id"], "write"),
        (result["id"], "shell"),
    ]
    assert (bench.root / "copy.txt").exists()
    assert not (bench.root / "ran").exists()
    assert "The user declined" in result["payload"]["content"]["run"]["error"]


async def test_a_workflow_in_plan_mode_changes_nothing(bench: Bench) -> None:
    call = run(source="greet.py", target="copy.txt")
    payload = await payload_of(bench.agent(call, "Ok.", workflows={"w": COPY}, permissions="plan"))
    assert "plan mode" in payload["content"]["put"]["error"]
    assert not (bench.root / "copy.txt").exists()


async def test_steps_may_be_sub_agents_and_other_workflows(bench: Bench) -> None:
    workflows: dict[str, Steps] = {
        "w": [
            {
                "id": "r",
                "type": "agent",
                "name": "reviewer",
                "parameters": {"task": "$what"},
                "output_key": "said",
            },
            {"id": "k", "type": "workflow", "name": "keep", "parameters": {"text": "$said"}},
        ],
        "keep": [{"id": "s", "type": "relic", "name": "log_append", "parameters": {"entry": "$text"}}],
    }
    agent = bench.agent(
        run(what="look"), "Fine.", "Ok.", agents={"reviewer": AgentSettings()}, workflows=workflows
    )
    async with agent:
        (result,) = results(await turn(agent))
        (conversation,) = await delegated(agent)
    assert result["payload"]["content"] == {"r": "Fine.", "k": {"s": "Added to the log"}}
    assert conversation.call == result["id"]
    assert "Names, with {parameters}: w {what}, keep {text}." in scripted(agent).sent[0][0]["content"]


@pytest.mark.exhaustive
async def test_the_results_of_all_steps_together_are_cut_for_the_model(bench: Bench) -> None:
    numbers = {"name": "shell", "parameters": {"command": "seq 1 9000"}}
    steps: Steps = [{"id": f"s{number}", **numbers} for number in range(4)]
    steps.append({"id": "short", "name": "shell", "parameters": {"command": "echo whole"}})
    agent = bench.agent(run(), "Ok.", workflows={"w": steps})
    content = (await payload_of(agent))["content"]
    assert all(len(str(content[f"s{number}"])) > 40_000 for number in range(4))
    told = scripted(agent).sent[1][-1]["content"]
    assert len(told) < 40_000
    assert told.count("omitted") == 4
    assert "whole" in told


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        (
            {"source": "a"},
            'the parameter "target" is missing. Form: {"name": "w", "parameters": {"source": …',
        ),
        ({"source": "a", "target": "b", "text": "c"}, '"text" is the output of the step "look"'),
    ],
)
async def test_parameters_that_cannot_be_are_named(
    bench: Bench, parameters: dict[str, Any], told: str
) -> None:
    payload = await payload_of(bench.agent(run(**parameters), "Ok.", workflows={"w": COPY}))
    assert payload["error"]
    assert told in payload["outcome"]


async def test_interrupting_stops_the_step_that_runs_and_those_after_it(bench: Bench) -> None:
    steps: Steps = [
        {"id": "a", "name": "shell", "parameters": {"command": "echo $$ > pid; sleep 60"}},
        {"id": "b", "name": "write", "parameters": {"file": "out", "content": "x"}},
    ]
    agent = bench.agent(run(), workflows={"w": steps})
    async with agent:
        events: list[Any] = []
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
            if "· shell" in str(event):
                agent.interrupt()
    assert events[-1]["type"] == "interrupt"
    assert [result["payload"]["outcome"] for result in results(events)] == ["interrupted"]
    assert not (bench.root / "out").exists()


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return path


RELEASE = '''\
# [[workflows.release.steps]]
[workflows.release]
description = """
[[workflows.release.steps]]
tags it"""

[[workflows.release.steps]]
id = "test"
name = "shell"
parameters = { command = "make test" }
timeout = 600
on_error = "fail"

[[ workflows . "release" . steps ]]  # the second
id = "tag"
name = "shell"
parameters = { command = "git tag $version" }
'''


def test_a_workflow_is_read_as_it_is_written(tmp_path: Path) -> None:
    (workflow,) = load_settings(config(tmp_path, RELEASE)).workflows.values()
    test, tag = workflow.steps
    assert (test.id, test.type, test.mode, test.timeout, test.on_error) == (
        "test",
        "tool",
        "sync",
        600,
        "fail",
    )
    assert tag.parameters == {"command": "git tag $version"}
    assert "tags it" in workflow.description


@pytest.mark.parametrize(
    ("written", "instead", "line", "told"),
    [
        (
            'id = "tag"',
            'id = "tag"\nretries = 2',
            14,
            'step "tag": unknown key "retries" (did you mean "retry"?)',
        ),
        ('id = "tag"\n', "", 14, 'workflow "release", step 2: "id" is missing'),
        ('id = "tag"', 'id = "test"', 14, 'step "test": another step has the same id'),
        (
            'id = "tag"',
            'id = "tag"\ntype = "tol"',
            14,
            '"type": must be one of tool, agent, relic, workflow, llm',
        ),
        (
            'id = "tag"',
            'id = "tag"\nmode = "later"',
            14,
            '"mode": must be one of sync, async, fire_and_forget',
        ),
        ("timeout = 600", 'timeout = "10"', 7, 'step "test": "timeout": expected float, got str'),
        ("timeout = 600", "timeout = 0", 7, '"timeout": expected float > 0'),
        ("timeout = 600", "retry = -1", 7, '"retry": expected int >= 0'),
        ("timeout = 600", 'output_key = "a b"', 7, '"output_key": expected str matching'),
        (
            "timeout = 600",
            'depends_on = ["tga"]',
            7,
            'depends_on refers to the unknown step "tga"; steps: test, tag',
        ),
        ("timeout = 600", 'depends_on = ["tag", 3]', 7, '"depends_on": [1]: expected str, got int'),
        ("timeout = 600", 'depends_on = ["test"]', 7, "its dependencies form a cycle (test)"),
        ('id = "tag"', 'id = "tag"\ntype = "agent"', 14, 'unknown agent "shell"; configured: none'),
        ("timeout = 600", 'type = "workflow"', 7, 'unknown workflow "shell"; configured: release'),
        (
            'name = "shell"\nparameters = { command = "make',
            'name = "llm"\nparameters = { p = "',
            7,
            'type = "llm"',
        ),
        ('description = """', 'descripton = """', 2, 'workflow "release": unknown key "descripton"'),
    ],
)
def test_a_workflow_that_cannot_be_is_told_with_its_line(
    tmp_path: Path, written: str, instead: str, line: int, told: str
) -> None:
    path = config(tmp_path, RELEASE.replace(written, instead, 1))
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert str(caught.value).startswith(f'{path}, line {line}: workflow "release"')
    assert told in str(caught.value)


def test_a_cycle_through_outputs_is_found_on_load(tmp_path: Path) -> None:
    text = """
[[workflows.w.steps]]
id = "a"
name = "find"
parameters = { content = ["x $two"] }
output_key = "one"
[[workflows.w.steps]]
id = "b"
name = "find"
parameters = { content = "$one" }
output_key = "two"
[[workflows.w.steps]]
id = "c"
name = "find"
parameters = { content = "$$one" }
"""
    with pytest.raises(ConfigError, match=r'line 2: .*step "a": its dependencies form a cycle \(a, b\)'):
        load_settings(config(tmp_path, text))


def test_a_workflow_cannot_contain_itself(tmp_path: Path) -> None:
    text = """
[[workflows.a.steps]]
id = "x"
type = "workflow"
name = "b"
[[workflows.b.steps]]
id = "first"
name = "list"
[[workflows.b.steps]]
id = "y"
type = "workflow"
name = "a"
"""
    with pytest.raises(ConfigError, match=r'line 9: workflow "b", step "y": .* itself \(a → b → a\)'):
        load_settings(config(tmp_path, text))
    loop = WorkflowSettings([StepSettings("x", "a", type="workflow")])
    with pytest.raises(ConfigError, match="cannot contain itself"):
        load_settings(settings=Settings(workflows={"a": loop}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[workflows.w]\nsteps = []", 'line 1: workflow "w": it has no steps'),
        ("[workflows.w]", 'line 1: workflow "w": it needs steps'),
        ("[workflows]\nw = 3", 'line 1: workflow "w": it must be a table'),
        ('[workflows.w]\nsteps = [{ id = "a" }]', 'line 1: workflow "w", step "a": "name" is missing'),
        ('workflows.w.steps = ["a"]', 'toml: workflow "w", step 1: it must be a table'),
    ],
)
def test_the_line_is_that_of_the_nearest_table(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(config(tmp_path, text))
    assert told in str(caught.value)
