"""The model's questions: put to the user among the permission questions, in every dialect; without a user."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui import Answer, Inquiry, InquiryAnswer, Question
from cogency_tui.config.schema import AgentSettings
from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.protocol.events import Event, outcome_shown
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import Bench, block
from tests.agent.test_dialects import calls_in
from tests.agent.test_plans import replies_in
from tests.agent.test_turns import provider_of, results, turn
from tests.peers.scripted import ScriptedProvider

DATABASE = {"question": "Which database?", "choices": [{"label": "SQLite"}, {"label": "Postgres"}]}
CHECKS = {"question": "Which checks?", "choices": [{"label": "ruff"}, {"label": "pytest"}], "several": True}
BOTH = {"questions": [DATABASE, CHECKS]}
NOBODY = "No user can answer questions here: decide yourself, and say what you assumed."


class User:
    """Answers what is asked, in the order in which it is."""

    def __init__(self, *answers: InquiryAnswer | Answer | None) -> None:
        self.asked: list[Question | Inquiry] = []
        self._answers = list(answers)

    async def inquire(self, inquiry: Inquiry) -> InquiryAnswer | None:
        self.asked.append(inquiry)
        answer = self._answers.pop(0)
        assert not isinstance(answer, Answer)
        return answer

    async def ask(self, question: Question) -> Answer | None:
        self.asked.append(question)
        answer = self._answers.pop(0)
        assert not isinstance(answer, InquiryAnswer)
        return answer


def payload_of(events: Sequence[Event]) -> Any:
    (result,) = results(events)
    return result["payload"]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_answers_are_the_result_and_are_stored_with_it(
    make_agent: MakeAgent, dialect: Dialect
) -> None:
    user = User(InquiryAnswer((("Postgres",), ("ruff", "mine"))))
    provider = ScriptedProvider(*replies_in(dialect, "ask", BOTH), native=dialect == "native")
    agent = make_agent(llm=provider, dialect=dialect, permissions="plan", mode="replay", inquire=user.inquire)
    async with agent:
        payload = payload_of(await turn(agent, conversation_id="c"))
        stored = await (await agent.store()).events("c")
    (inquiry,) = user.asked
    assert isinstance(inquiry, Inquiry)
    assert [each.question for each in inquiry.questions] == ["Which database?", "Which checks?"]
    assert (payload["state"], payload["outcome"]) == ("done", "Postgres; ruff, mine")
    assert payload["answers"] == [
        {"question": "Which database?", "answers": ["Postgres"]},
        {"question": "Which checks?", "answers": ["ruff", "mine"]},
    ]
    assert payload_of(stored) == payload
    assert "Postgres" in str(provider.sent[-1][-1])


@pytest.mark.parametrize("reason", ["", "you know best"])
async def test_a_user_who_skips_leaves_it_to_the_model(make_agent: MakeAgent, reason: str) -> None:
    user = User(InquiryAnswer(declined=True, reason=reason))
    agent = make_agent(block(("ask", BOTH)), "Then SQLite.", inquire=user.inquire, mode="replay")
    async with agent:
        payload = payload_of(await turn(agent))
    assert (payload["state"], payload["error"]) == ("declined", True)
    assert payload.get("words", "") == reason
    assert payload["skipped"]
    assert outcome_shown(payload) == (f"skipped: {reason}" if reason else "skipped")
    told = f"The user skipped the questions: {reason}" if reason else "The user skipped the questions. Decide"
    assert told in str(provider_of(agent).sent[-1][-1])


async def test_the_model_is_told_of_each_question_whether_it_was_skipped(make_agent: MakeAgent) -> None:
    user = User(InquiryAnswer((("Postgres",), ()), reasons=("", "later")))
    agent = make_agent(block(("ask", BOTH)), "Fine.", inquire=user.inquire, mode="replay")
    async with agent:
        payload = payload_of(await turn(agent))
    assert (payload["state"], payload["outcome"]) == ("done", "Postgres; skipped: later")
    assert payload["answers"][1] == {"question": "Which checks?", "answers": [], "reason": "later"}
    sent = str(provider_of(agent).sent[-1][-1])
    assert "Postgres" in sent
    assert "skipped: later" in sent


async def test_the_model_is_told_the_reason_of_each_question_where_all_were_skipped(
    make_agent: MakeAgent,
) -> None:
    user = User(InquiryAnswer.of(((), ()), ("no idea", "")))
    agent = make_agent(block(("ask", BOTH)), "Fine.", inquire=user.inquire, mode="replay")
    async with agent:
        payload = payload_of(await turn(agent))
    assert outcome_shown(payload) == "skipped: Which database?: no idea; Which checks?: skipped"
    assert "The user skipped the questions: Which database?: no idea" in str(provider_of(agent).sent[-1][-1])


@pytest.mark.parametrize("inquire", [None, User(None).inquire])
async def test_where_nobody_can_answer_the_model_is_told_to_decide(
    make_agent: MakeAgent, inquire: Any
) -> None:
    agent = make_agent(block(("ask", BOTH)), "SQLite it is.", inquire=inquire, mode="replay")
    async with agent:
        events = await turn(agent, conversation_id="c")
        gate = agent.gate("c")
    payload = payload_of(events)
    assert (payload["state"], payload["outcome"]) == ("failed", NOBODY)
    assert payload["brief"] == "No user can answer questions here."
    # It is no refusal of a permission.
    assert gate is not None
    assert gate.refusals == ()
    assert events[-1]["type"] == "end"


async def test_questions_come_one_at_a_time_in_the_order_of_the_calls(make_agent: MakeAgent) -> None:
    write = {"file": "new.py", "content": "x = 1\n"}
    user = User(Answer(allow=True), InquiryAnswer((("SQLite",),)), Answer(allow=True))
    agent = make_agent(
        block(
            ("write", write),
            ("ask", {"questions": [DATABASE]}),
            ("write", {**write, "file": "other.py"}),
        ),
        "Done.",
        permissions="ask",
        ask=user.ask,
        inquire=user.inquire,
    )
    async with agent:
        found = results(await turn(agent))
    assert [type(each).__name__ for each in user.asked] == ["Question", "Inquiry", "Question"]
    assert [each["payload"]["state"] for each in found] == ["done"] * 3
    assert [each["tool"] for each in found].count("ask") == 1


async def test_a_question_waits_behind_the_one_that_is_asked_and_is_counted(make_agent: MakeAgent) -> None:
    places: list[tuple[str, int]] = []

    async def ask(question: Question) -> Answer:
        while not question.round().waiting:  # noqa: ASYNC110 (the gate has no event for it)
            await asyncio.sleep(0)
        places.append((question.round().place, len(question.round().waiting)))
        return Answer(allow=True)

    async def inquire(inquiry: Inquiry) -> InquiryAnswer:
        places.append((inquiry.round().place, len(inquiry.round().waiting)))
        return InquiryAnswer((("SQLite",),))

    agent = make_agent(
        block(("write", {"file": "new.py", "content": "x"}), ("ask", {"questions": [DATABASE]})),
        "Done.",
        permissions="ask",
        ask=ask,
        inquire=inquire,
    )
    async with agent:
        await turn(agent)
    assert places == [("1 of 2", 1), ("2 of 2", 0)]


async def test_a_mode_that_is_chosen_meanwhile_answers_no_question_of_the_model(
    make_agent: MakeAgent,
) -> None:
    async def inquire(inquiry: Inquiry) -> InquiryAnswer:
        assert await agent.approve_by_mode("c") == 0
        return InquiryAnswer((("SQLite",),))

    agent = make_agent(block(("ask", {"questions": [DATABASE]})), "Done.", inquire=inquire)
    async with agent:
        assert payload_of(await turn(agent, conversation_id="c"))["state"] == "done"


async def test_a_turn_that_is_interrupted_withdraws_the_question(make_agent: MakeAgent) -> None:
    withdrawn = asyncio.Event()

    async def inquire(inquiry: Inquiry) -> InquiryAnswer:
        agent.interrupt("c")
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        raise AssertionError

    agent = make_agent(block(("ask", BOTH)), "Done.", inquire=inquire)
    async with agent:
        payload = payload_of(await turn(agent, conversation_id="c"))
    assert withdrawn.is_set()
    assert payload["state"] == "interrupted"


async def test_a_subagent_asks_by_its_name_and_where_its_caller_can(tmp_path: Path, project: Path) -> None:
    user = User(InquiryAnswer((("SQLite",),)))
    script = (
        block(("agent", {"name": "builder", "task": "build"})),
        block(("ask", {"questions": [DATABASE]})),
        "Built.",
        "Done.",
    )
    agents = {"builder": AgentSettings(description="builds")}
    agent = Bench(project, tmp_path / "data").agent(*script, agents=agents, inquire=user.inquire)
    async with agent:
        events = await turn(agent, conversation_id="c")
        (call,) = [each for each in events if each["type"] == "call"]
    (inquiry,) = user.asked
    assert isinstance(inquiry, Inquiry)
    assert (inquiry.asker, inquiry.call_id) == ("the sub-agent builder", call["id"])
    alone = Bench(project, tmp_path / "other").agent(*script, agents=agents)
    async with alone:
        await turn(alone)
    assert NOBODY in str(provider_of(alone).sent)


async def test_two_calls_ask_one_after_the_other(make_agent: MakeAgent) -> None:
    at_once = 0

    async def inquire(inquiry: Inquiry) -> InquiryAnswer:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0)
        at_once -= 1
        return InquiryAnswer(((inquiry.questions[0].choices[0].label,),))

    calls = [("ask", json.dumps({"questions": [each]})) for each in (DATABASE, CHECKS)]
    agent = make_agent(calls_in("xml", *calls), "Done.", inquire=inquire)
    async with agent:
        found = results(await turn(agent))
    assert [each["payload"]["outcome"] for each in found] == ["SQLite", "ruff"]


@pytest.mark.parametrize(
    "args", [{"questions": [DATABASE] * 5}, {"questions": [{"question": "Which?"}]}, {}, BOTH]
)
async def test_without_a_user_no_form_of_the_questions_matters(
    make_agent: MakeAgent, args: dict[str, Any]
) -> None:
    agent = make_agent(block(("ask", args)), "Then SQLite.", mode="replay")
    async with agent:
        assert payload_of(await turn(agent))["outcome"] == NOBODY
