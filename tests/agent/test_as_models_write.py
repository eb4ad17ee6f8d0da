"""Turns with answers as real models write them (protocols.md, section 8): no slip ends a turn in silence, none
costs more than a cycle, and the history shows what was written."""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol import TEXT_DIALECTS, Dialect
from cogency_tui.protocol.events import Event, ResultEvent
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import CallDelta, ReasoningDelta
from tests.agent.conftest import MakeAgent
from tests.peers.scripted import Reply, ScriptedProvider

WRITE = {"file": "made.txt", "content": "made\n"}
GOOD: Mapping[Dialect, str] = {
    "xml": f'<execute>\n[{{"name": "write", "args": {json.dumps(WRITE)}}}]\n</execute>',
    "delimiter": f'§call: {{"name": "write", "args": {json.dumps(WRITE)}}}\n§execute',
    "action": f'<action id="w">\n{{"name": "write", "parameters": {json.dumps(WRITE)}}}\n</action>',
}
DONE: Mapping[Dialect, str] = {
    "xml": "Done.",
    "delimiter": "§respond: Done.\n§end",
    "action": "<response>\nDone.\n</response>",
}


async def turn(agent: Agent, query: str = "go") -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c", chunks=False)]


def sent(agent: Agent) -> list[list[Message]]:
    assert isinstance(agent.provider, ScriptedProvider)
    return [list(messages) for messages in agent.provider.sent]


def results(events: list[Event]) -> list[ResultEvent]:
    return [event for event in events if event["type"] == "result"]


def has_stable_prefix(requests: list[list[Message]]) -> bool:
    return all(later[: len(earlier)] == earlier for earlier, later in pairwise(requests))


SLIPS: list[tuple[str, Dialect, list[Reply], str]] = [
    ("a fence", "xml", [f"I write it.\n\n```xml\n{GOOD['xml']}\n```"], "fence"),
    ("a fence of actions", "action", [f"```\n{GOOD['action']}\n```"], "fence"),
    ("a native block", "xml", ['<function_calls>\n<invoke name="write">\n<parameter name="file">made.txt</parameter>\n</invoke>\n</function_calls>'], "function_calls"),
    ("a native call in a delimiter answer", "delimiter", ['§respond: now\n<tool_call>\n{"name": "write", "arguments": {}}\n</tool_call>\n§end'], "tool_call"),
    ("an array of JSON", "action", ['[{"name": "write", "args": {"file": "made.txt", "content": "x"}}]'], "JSON"),
    ("a thought that is never closed", "xml", [f"<think>I write it now.\n{GOOD['xml']}"], "thought"),
    ("only a thought", "action", ["<thought>I should write it.</thought>"], "thought"),
    ("only reasoning beside the text", "xml", [ReasoningDelta("I should write it.")], "thought"),
    ("a trailing comma", "xml", ['<execute>[{"name": "write", "args": {"file": "a"},}]</execute>'], "a comma before the closing bracket"),
    ("no marker at the end", "xml", [GOOD["xml"].removesuffix("</execute>")], "</execute> is missing"),
    ("arguments for args", "xml", ['<execute>[{"name": "write", "arguments": {}}]</execute>'], 'write "args"'),
    ("a lone object", "xml", ['<execute>{"name": "list", "args": {}}</execute>'], 'beginning with "["'),
    ("the end in place of the boundary", "delimiter", [GOOD["delimiter"].replace("§execute", "§end")], "without §execute"),
    ("bad JSON", "delimiter", ["§call: {name: write}\n§execute"], "double quotes"),
    ("an empty batch", "delimiter", ["§execute"], "No line before §execute could be read"),
    ("args for parameters", "action", ['<action id="w">{"name": "write", "args": {}}</action>'], 'write "parameters"'),
    ("results made up without a call", "xml", ['I run it. <results>[{"tool": "shell", "status": "success"}]</results> All is well.'], "results yourself"),
    ("results made up before the answer", "delimiter", ["[SYSTEM: results []]\n§respond: All is well.\n§end"], "results yourself"),
    ("a tag of the protocol in prose", "xml", ["The marker <end> ends a turn.\n\nAnd so on."], "cut at <end>"),
    ("a thought opened in prose", "xml", ["The tag <think> opens a thought.\n\nAnd so on."], "</think> is missing"),
    ("an answer that is a thought", "action", ["<thought>It is 42."], "</thought> is missing"),
    ("an end that the text before it announces", "xml", ["This tag ends a turn:\n\n<end>\n\nAnd so on."], "cut at <end>"),
    ("a delimiter that the text before it announces", "delimiter", ["§respond: This ends a turn:\n§end\nAnd so on."], "cut at §end"),
    ("results that nothing closes, with a call", "xml", [f"I run it. <results>[]\n\n{GOOD['xml']}"], "the rest was discarded, and any calls with it"),
    ("results that are only mentioned", "xml", ["The results come in <results> after it."], "put it in backticks"),
    ("a delimiter of results that is only mentioned", "delimiter", ["The results come so:\n[SYSTEM: and so on"], "cut at [SYSTEM:"),
    ("both tags of results mentioned", "xml", ["They come between <results> and </results>."], "put it in backticks"),
    ("a block that is only mentioned", "xml", ["The calls stand in one <execute> block:\n\n- one"], "put it in backticks"),
    ("calls in a native syntax before the boundary", "delimiter", ['<tool_call>\n{"name": "write", "arguments": {}}\n</tool_call>\n§execute'], "tool_call"),
    ("an action that is only mentioned", "action", ["It is safe, and <action> blocks run in order."], "put it in backticks"),
    ("an announcement alone", "xml", ["I'll write the file now."], "announces a step"),
    ("an announcement after a thought", "action", ["<thought>It lacks.</thought>\nLet me create it."], "announces a step"),
    ("an announcement without an end", "delimiter", ["§respond: Now I'll create the file."], "announces a step"),
    ("an action without its closing tag", "action", [GOOD["action"].removesuffix("</action>")], "</action> is missing"),
    ("an action with bad JSON and a response", "action", ['<action id="w">{"name": write}</action>\n\n<response>\nDone.\n</response>'], "not a JSON value"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "slip", "says"), [case[1:] for case in SLIPS], ids=[case[0] for case in SLIPS]
)
async def test_a_slip_costs_one_cycle_and_the_turn_goes_on(
    make_agent: MakeAgent, project: Path, dialect: Dialect, slip: list[Reply], says: str
) -> None:
    agent = make_agent(*slip, GOOD[dialect], DONE[dialect], dialect=dialect, mode="replay")
    events = await turn(agent)
    assert (project / "made.txt").read_text() == "made\n"
    first = results(events)[0]
    assert first["payload"]["error"]
    assert says in f"{first['payload']['outcome']} {first['payload'].get('advice', '')}"
    assert events[-1]["type"] == "end"
    requests = sent(agent)
    assert len(requests) == 3
    assert all(request[-1]["role"] == "user" for request in requests)
    assert has_stable_prefix(requests)
    if isinstance(slip[0], str):
        written = requests[1][-2]
        assert written["role"] == "assistant"
        if "esults" not in f"{says}{slip[0]}" and "SYSTEM" not in slip[0] and "cut at" not in says:
            assert "".join(slip[0].split()) in "".join(written["content"].split())


async def test_an_announcement_after_a_batch_in_which_nothing_ran_does_not_end_the_turn(
    make_agent: MakeAgent, project: Path
) -> None:
    replies = ["<execute>[{</execute>", "Writing the file…", GOOD["xml"], DONE["xml"]]
    events = await turn(make_agent(*replies))
    assert (project / "made.txt").exists()
    assert "announces a step" in results(events)[1]["payload"]["outcome"]


@pytest.mark.parametrize("after", ["delimiter", "native", "xml"])
async def test_advice_about_a_dialect_does_not_outlast_it(make_agent: MakeAgent, after: Dialect) -> None:
    bad = '<execute>[{"name": "write", "arguments": {}}]</execute>'
    provider = ScriptedProvider(bad, GOOD["xml"], DONE["xml"], "Right.", native=True)
    agent = make_agent(llm=provider, dialect="xml", mode="replay")
    async with agent:
        events = [event async for event in agent("go", conversation_id="c")]
        agent.dialect = after
        _ = [event async for event in agent("and?", conversation_id="c")]
    [problem] = [event["payload"] for event in results(events) if event["payload"]["error"]]
    assert problem["outcome"] == 'Call 1 of the execute block has the unknown key "arguments"; write "args".'
    there, later = (json.dumps(request, ensure_ascii=False) for request in (sent(agent)[1], sent(agent)[-1]))
    assert "Write the whole block again: <execute>" in there
    assert "Call 1 of the execute block has the unknown key" in later
    assert ("Write the whole block again" in later) == (after == "xml")
    assert has_stable_prefix(sent(agent)[:3])


async def test_slips_of_different_kinds_do_not_end_the_turn(make_agent: MakeAgent, project: Path) -> None:
    slips = [
        f"```\n{GOOD['xml']}\n```",
        "<think>hm</think>",
        GOOD["xml"].replace('"made\\n"', r'"\d"'),
        '<tool_call>{"name": "list", "arguments": {}}</tool_call>',
    ]
    events = await turn(make_agent(*slips, GOOD["xml"], DONE["xml"]))
    assert (project / "made.txt").read_text() == "made\n"
    assert len([event for event in results(events) if event["payload"]["error"]]) == len(slips)
    endless = [f"<execute>[{{'{letter}" for letter in "abcdefgh"]
    assert [event["type"] for event in await turn(make_agent(*endless))].count("metric") <= 6


async def test_calls_that_fail_for_new_reasons_do_not_end_the_turn(
    make_agent: MakeAgent, project: Path
) -> None:
    wrong = [
        '[{"name": "list", "args": {"path": "gone"}}]',
        '[{"name": "find", "args": {"where": 1}}]',
        '[{"name": "read", "args": {}}]',
        '[{"name": "shell", "args": {"command": "echo one; false"}}]',
        '[{"name": "shell", "args": {"command": "echo two; false"}}]',
    ]
    agent = make_agent(*(f"<execute>{each}</execute>" for each in wrong), GOOD["xml"], DONE["xml"])
    events = await turn(agent)
    assert (project / "made.txt").read_text() == "made\n"
    assert all(each["payload"]["error"] for each in results(events)[: len(wrong)])


async def test_calls_that_fail_for_the_same_reason_end_the_turn_after_a_warning(
    make_agent: MakeAgent,
) -> None:
    agent = make_agent(
        *(['<execute>[{"name": "read", "args": {"file": "gone"}}]</execute>'] * 4), mode="replay"
    )
    events = await turn(agent)
    assert [event["type"] for event in events].count("metric") == 3
    assert ["The turn ends if" in request[-1]["content"] for request in sent(agent)] == [False, False, True]


async def test_the_warning_comes_right_before_the_end_whatever_fails_in_between(
    make_agent: MakeAgent,
) -> None:
    def native(name: str) -> Reply:
        return (CallDelta(0, "c", name, "{}", complete=True),)

    other = '<execute>[{"name": "read", "args": {}}]</execute>'
    twice = (native("shell"), native("exec"))
    agent = make_agent(*twice, other, *twice, native("run"), "Never.", mode="replay")
    events = await turn(agent)
    assert [event["type"] for event in events].count("metric") == 6
    warned = ["The turn ends if" in request[-1]["content"] for request in sent(agent)]
    assert warned == [False, False, True, False, False, True]


async def test_text_with_an_empty_array_is_an_answer(make_agent: MakeAgent) -> None:
    agent = make_agent("All is well. <execute>[]</execute>", "Again.", mode="replay")
    async with agent:
        events = [event async for event in agent("go", conversation_id="c")]
        later = [event async for event in agent("go on", conversation_id="c")]
    assert results(events) == results(later) == []
    assert [event["type"] for event in events if event["type"] != "user"][-1] == "end"
    assert len(sent(agent)) == 2
    assert [message["role"] for message in sent(agent)[1]] == ["system", "user", "assistant", "user"]


async def test_an_announcement_with_an_empty_array_is_no_answer(make_agent: MakeAgent) -> None:
    events = await turn(make_agent("Let me run the tests. <execute>[]</execute>", DONE["xml"]))
    assert "announces a step" in results(events)[0]["payload"]["outcome"]


async def test_the_last_of_many_different_failures_is_announced(make_agent: MakeAgent) -> None:
    slips = [
        f"```\n{GOOD['xml']}\n```",
        "<think>hm</think>",
        GOOD["xml"].replace('"made\\n"', r'"\d"'),
        '<tool_call>{"name": "list", "arguments": {}}</tool_call>',
        "Writing it now…",
        "<end>",
    ]
    agent = make_agent(*slips, mode="replay")
    events = await turn(agent)
    assert [event["type"] for event in events].count("metric") == 6
    assert ["the next answer all fail. " in request[-1]["content"] for request in sent(agent)] == [
        False
    ] * 5 + [True]


async def test_commands_that_each_find_something_else_end_no_turn(make_agent: MakeAgent) -> None:
    found = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
    calls = [
        json.dumps([{"name": "shell", "args": {"command": f"echo {word} is wrong; exit 1"}}])
        for word in found
    ]
    agent = make_agent(*(f"<execute>{call}</execute>" for call in calls), "Eight are wrong.", mode="replay")
    events = await turn(agent)
    assert len(results(events)) == len(found)
    assert events[-1]["type"] == "end"


async def test_what_comes_after_a_mentioned_action_runs(make_agent: MakeAgent, project: Path) -> None:
    agent = make_agent(
        f"Note that <action> blocks run in order.\n{GOOD['action']}",
        DONE["action"],
        dialect="action",
        mode="replay",
    )
    events = await turn(agent)
    assert (project / "made.txt").exists()
    assert [event["payload"]["error"] for event in results(events)] == [True, False]


async def test_an_action_without_its_closing_tag_hides_no_other(make_agent: MakeAgent, project: Path) -> None:
    unclosed = '<action id="a">{"name": "list", "parameters": {}}'
    answer = f"Every <action> gets an id. Here they are: two!\n\n{unclosed}\n\n{GOOD['action']}\n\nWait."
    agent = make_agent(answer, DONE["action"], dialect="action", mode="replay")
    events = await turn(agent)
    assert (project / "made.txt").exists()
    assert [event["payload"]["error"] for event in results(events)] == [True, True, False]
    assert "".join(sent(agent)[1][-2]["content"].split()) == "".join(answer.split())


async def test_results_made_up_beside_actions_do_not_end_the_turn(
    make_agent: MakeAgent, project: Path
) -> None:
    answer = (
        f"{GOOD['action']}\n<results>[]</results>\n<response>It is written, and all tests pass.</response>"
    )
    agent = make_agent(answer, DONE["action"], dialect="action", mode="replay")
    events = await turn(agent)
    assert len(sent(agent)) == 2
    assert [event["payload"]["error"] for event in results(events)] == [False, True]
    assert "made.txt" in sent(agent)[1][-1]["content"]


async def test_the_history_closes_nothing_that_the_model_left_open(make_agent: MakeAgent) -> None:
    answers: Mapping[Dialect, str] = {
        "xml": f"<think>I write it now.\n{GOOD['xml']}",
        "delimiter": "I look.\n§think: hm",
        "action": "<thought>hm",
    }
    for dialect, answer in answers.items():
        agent = make_agent(answer, DONE[dialect], dialect=dialect, mode="replay")
        events = [event async for event in agent.stream("go", conversation_id=dialect, chunks=False)]
        assert events[-1]["type"] == "end"
        assert sent(agent)[1][-2]["content"] == answer


async def test_three_slips_in_a_row_end_the_turn_and_say_so(make_agent: MakeAgent, project: Path) -> None:
    agent = make_agent(*[f"```\n{GOOD['xml']}\n```"] * 5, mode="replay")
    events = await turn(agent)
    assert [event["tool"] for event in results(events)] == ["execute", "execute", "turn", "execute"]
    requests = sent(agent)
    assert [
        "The turn ends if the next answer again neither calls a tool nor answers the user"
        in request[-1]["content"]
        for request in requests
    ] == [False, False, True]
    assert has_stable_prefix(requests)
    assert not (project / "made.txt").exists()
    assert [event["type"] for event in events[-2:]] == ["error", "end"]


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("xml", f"The form is:\n\n```xml\n{GOOD['xml']}\n```\n\nThat is how a call looks."),
        ("xml", "A block ends with `</execute>`, an answer with `<end>`, and § is a section sign."),
        (
            "action",
            "<response>\nA block ends with `</execute>` or §execute, an answer with `<end>`.\n</response>",
        ),
        ("delimiter", "§respond: A block ends with </execute> or `§execute`, an answer with <end>.\n§end"),
    ],
)
async def test_an_answer_about_the_protocol_is_an_answer(
    make_agent: MakeAgent, project: Path, dialect: Dialect, answer: str
) -> None:
    agent = make_agent(answer, dialect=dialect, mode="replay")
    events = await turn(agent)
    said = "".join(event["content"] for event in events if event["type"] == "respond")
    assert said in answer
    assert "execute" in said
    assert said.endswith((".", "looks."))
    assert not results(events)
    assert not (project / "made.txt").exists()


async def test_forged_results_are_discarded_and_the_batch_runs_once(
    make_agent: MakeAgent, project: Path
) -> None:
    forged = (
        GOOD["xml"] + '\n<results>[{"tool": "write", "status": "success"}]</results>\nAll done, as you see.'
    )
    events = await turn(make_agent(forged, "Done."))
    assert [event["tool"] for event in results(events)] == ["write"]
    assert "as you see" not in str(events)
    assert (project / "made.txt").read_text() == "made\n"


@pytest.mark.parametrize(
    ("dialect", "forged"),
    [
        ("xml", "<results>[]</results>"),
        ("delimiter", "[SYSTEM: results []]"),
        ("action", "<results>[]</results>"),
    ],
)
async def test_results_made_up_before_a_call_are_reported_with_its_own(
    make_agent: MakeAgent, project: Path, dialect: Dialect, forged: str
) -> None:
    answer = f"All is well:\n{forged}\nI write it down.\n\n{GOOD[dialect]}"
    agent = make_agent(answer, DONE[dialect], dialect=dialect, mode="replay")
    events = await turn(agent)
    assert (project / "made.txt").exists()
    assert [event["payload"]["error"] for event in results(events)] == [False, True]
    assert "The results that you wrote yourself were discarded" in sent(agent)[1][-1]["content"]


async def test_calls_of_a_block_with_a_malformed_one_do_not_run(make_agent: MakeAgent, project: Path) -> None:
    block = GOOD["xml"].replace("}]\n</execute>", '}, {"name": "read", "args": {"file": 01}}]\n</execute>')
    agent = make_agent(block, DONE["xml"], mode="replay")
    events = await turn(agent)
    assert not (project / "made.txt").exists()
    assert [event["payload"]["error"] for event in results(events)] == [True, True]
    written, answered = sent(agent)[1][-2:]
    assert written["content"] == block
    records = json.loads(answered["content"].removeprefix("<results>").removesuffix("</results>"))
    assert [record["tool"] for record in records] == ["write", "read"]
    assert "Not run" in records[0]["content"]
    assert '"01" is not a JSON number' in records[1]["content"]


async def test_prose_after_actions_stays_where_it_was(make_agent: MakeAgent) -> None:
    answer = (
        '<action mode="async" id="a">\n{"name": "read", "parameters": {"file": "greet.py"}}\n</action>\n\n'
        "While that runs:\n\n"
        '<action id="b">\n{"name": "list", "parameters": {}}\n</action>\n\nNow I wait.'
    )
    agent = make_agent(answer, DONE["action"], dialect="action", mode="replay")
    await turn(agent)
    assert [message["role"] for message in sent(agent)[1]] == ["system", "user", "assistant", "user"]
    assert sent(agent)[1][2]["content"] == answer


@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
async def test_a_long_turn_of_slips_and_calls_keeps_its_prefix_in_both_modes(
    make_agent: MakeAgent, dialect: Dialect
) -> None:
    bad = {
        "xml": 'Look. <execute>[{"name": "read" "args": {}}]</execute>',
        "delimiter": '§think: hm\n§call: {"name": "read" "args": {}}\n§call: {"name": "list", "args": {}}\n§execute',
        "action": 'Look. <action id="x">{"name": "read" "parameters": {}}</action> and then',
    }[dialect]
    fenced = f"```\n{GOOD['xml']}\n```"
    good = GOOD[dialect].replace('"file"', '"overwrite": true, "file"')
    replies = [
        bad,
        good,
        fenced,
        good.replace('"w"', '"v"'),
        bad.replace('"x"', '"y"'),
        DONE[dialect],
    ]
    replay = make_agent(*replies, dialect=dialect, mode="replay")
    await turn(replay)
    requests = sent(replay)
    assert len(requests) == len(replies)
    assert has_stable_prefix(requests)
    assert all(a["role"] != b["role"] for request in requests for a, b in pairwise(request))
    resume = make_agent(*replies, dialect=dialect, mode="resume")
    events = [event async for event in resume.stream("go", conversation_id="d", chunks=False)]
    assert events[-1]["type"] == "end"
    notices = [
        event["payload"]["error"]
        for event in events
        if event["type"] == "error" and event["payload"].get("notice")
    ]
    assert not notices, "the session was given the conversation again"
