"""The profile: learned from the person's words in the background, told to the model as data, stable."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.profile.fact_extraction import LessonError, ask_for_lesson, own_words, read_lesson
from cogency_tui.agent.profile.profile import OFFER_AFTER, by_kind, describe, read_line, source_of
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import Settings, config_path
from cogency_tui.errors import NetworkError, UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import Message
from cogency_tui.store.profile import KINDS, LONGEST, MOST, Fact, Kind
from cogency_tui.store.profile_material import LearnableMessage, Lot
from tests.agent.test_turns import turn as untyped_turn
from tests.agent.user_commands import command_events
from tests.cases import cases
from tests.peers.scripted import Reply, ScriptedProvider


def lesson(**notes: Any) -> str:
    return json.dumps(notes)


def agent_over(provider: Any, tmp_path: Path, project: Path, **options: Any) -> Agent:
    options.setdefault("profile", "on")
    options.setdefault("profile_every", 2)
    return Agent(
        provider,
        project=project,
        data=tmp_path / "data",
        settings=Settings(**options),
        permissions="auto",
        mode="replay",
    )


async def turn(agent: Agent, query: str, *, conversation_id: str, typed: str | None = None) -> list[Event]:
    """A turn with a message that the person typed, all of it or so much."""
    stream = agent.stream(
        query, conversation_id=conversation_id, chunks=False, typed=query if typed is None else typed
    )
    return [event async for event in stream]


async def settled(agent: Agent) -> None:
    """Return when nothing is learned any more."""
    await agent._conversations.learner().settle()  # pyright: ignore[reportPrivateUsage]


async def known(agent: Agent) -> dict[str, list[str]]:
    return dict(by_kind(await agent.profile.facts()))


def lessons_in(sent: Sequence[list[Message]]) -> list[list[Message]]:
    return [messages for messages in sent if messages[0]["content"].startswith("Task: profile")]


def systems_in(sent: Sequence[list[Message]]) -> list[str]:
    return [
        messages[0]["content"]
        for messages in sent
        if messages[0]["role"] == "system" and not messages[0]["content"].startswith("Task: profile")
    ]


def never(text: str) -> str:
    return text


async def test_it_is_off_until_the_person_says_yes(tmp_path: Path, project: Path) -> None:
    provider = ScriptedProvider(*["Yes."] * 4)
    async with agent_over(provider, tmp_path, project, profile="ask", profile_every=1) as agent:
        for _ in range(3):
            await turn(agent, "my name is Ada", conversation_id="c")
        await settled(agent)
        assert lessons_in(provider.sent) == []
        assert (await agent.profile.state()).waiting == 0
        assert all("Profile" not in system for system in systems_in(provider.sent))


async def test_something_is_learned_every_few_messages(tmp_path: Path, project: Path) -> None:
    learned = lesson(who=[{"text": "Called Ada", "from": 2}], style=[{"text": "Likes tests", "from": 1}])
    provider = ScriptedProvider("Yes.", "Yes.", learned, "Yes.")
    async with agent_over(provider, tmp_path, project) as agent:
        await turn(agent, "I like tests", conversation_id="c")
        assert await known(agent) == {}
        await turn(agent, "my name is Ada", conversation_id="c")
        await settled(agent)
        assert await known(agent) == {"who": ["Called Ada"], "style": ["Likes tests"]}
        ada = (await agent.profile.facts())[0]
        assert source_of(ada) == "from “I like tests”, turn 2, by scripted/scripted-1"
        state = await agent.profile.state()
        assert (state.outcome, state.failed, state.waiting) == ("2 learned", False, 0)
        (request,) = lessons_in(provider.sent)
        given = json.loads(request[1]["content"])
        assert [message["text"] for message in given["messages"]] == ["I like tests", "my name is Ada"]
        usage = await (await agent.store()).usage("c")
        assert usage.get("input", 0) > sum(len(m["content"]) for m in request) / 5


async def test_no_turn_waits_for_it(tmp_path: Path, project: Path) -> None:
    provider = ScriptedProvider("Yes.", "{<<hang>>", "And yes.")
    async with agent_over(provider, tmp_path, project, profile_every=1) as agent:
        await turn(agent, "one", conversation_id="c")
        async with asyncio.timeout(30):
            await provider.hanging.wait()
        events = await turn(agent, "two", conversation_id="c")
        assert events[-1]["type"] == "end"
    async with agent_over(ScriptedProvider(), tmp_path, project) as agent:
        state = await agent.profile.state()
        assert (state.outcome, state.failed, state.waiting) == ("", False, 2)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (NetworkError("The line is dead."), "The line is dead."),
        ("Sure! You are Ada.", "invalid response from the model"),
        (lesson(who=[{"text": "Called Ada"}]), "missing required field `from`"),
        (lesson(who=[{"text": "Called Ada", "from": 7}]), "refers to message 7 of 1"),
        (lesson(orders=[{"text": "Run rm", "from": 1}]), "unknown field `orders`"),
        (lesson(who=[{"text": "x" * (LONGEST + 1), "from": 1}]), "length <= 200"),
        ('{"who": [], "who": []}', "a key occurs twice"),
        ("[" * 100_000, "invalid response from the model"),
        ("", "returned nothing"),
        ("x" * 50_000, "invalid response from the model"),
    ],
    ids=[
        "error",
        "prose",
        "no-source",
        "wrong-source",
        "unknown-key",
        "long",
        "twice",
        "deep",
        "empty",
        "huge",
    ],
)
async def test_what_is_no_lesson_teaches_nothing_and_is_told(
    tmp_path: Path, project: Path, reply: Reply, why: str
) -> None:
    provider = ScriptedProvider("Yes.", reply, size=5000)
    async with agent_over(provider, tmp_path, project, profile_every=1) as agent:
        events = await turn(agent, "my name is Ada", conversation_id="c")
        assert events[-1]["type"] == "end"
        await settled(agent)
        state = await agent.profile.state()
        assert state.failed
        assert why in state.outcome
        assert state.waiting == 1
        assert await known(agent) == {}


async def test_the_prompt_tells_it_as_data_and_stays_as_it_is(tmp_path: Path, project: Path) -> None:
    provider = ScriptedProvider(
        "One.", lesson(who=[{"text": "Called Ada", "from": 1}]), "Two.", "{}", "Three.", "{}", "Four.", "{}"
    )
    async with agent_over(provider, tmp_path, project, profile_every=1) as agent:
        for number in range(2):
            await turn(agent, str(number), conversation_id="c")
            await settled(agent)
        first, second = systems_in(provider.sent)
        # What was learned in a conversation stands in it: its prompt, and its cache, stay.
        assert first == second
        assert "Called Ada" not in first
        await turn(agent, "x", conversation_id="d")
        await settled(agent)
        (_, _, other) = systems_in(provider.sent)
        assert other.startswith(first)
        assert '{"who":["Called Ada"]}' in other
        assert "nothing in them permits" in other
        parts = await (await agent.history("d")).context()
        assert "profile" in [part.name for part in parts]
        # What the person changes counts at once.
        await agent.profile.write("style: Short answers")
        await turn(agent, "y", conversation_id="c")
        assert '{"who":["Called Ada"],"style":["Short answers"]}' in systems_in(provider.sent)[-1]
        await settled(agent)
        await agent.profile.clear()
        await turn(agent, "z", conversation_id="c")
        await settled(agent)
        assert systems_in(provider.sent)[-1] == first


@pytest.mark.exhaustive
async def test_saying_yes_is_written_down_and_learns_from_this_conversation(
    tmp_path: Path, project: Path
) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text('# mine\ntheme = "day"\n')
    agent = agent_over("offline", tmp_path, project, profile="ask", profile_every=5)
    async with agent:
        await turn(agent, "Hello, my name is Ada and I work on the parser", conversation_id="c")
        await turn(agent, "Elsewhere: I love cheese", conversation_id="d")
        await agent.remember("c")
        await settled(agent)
        assert await known(agent) == {"who": ["Called Ada"], "focus": ["Works on the parser"]}
        assert load_settings().profile == "on"
        assert config_path().read_text().startswith('# mine\ntheme = "day"\n')
        await agent.profile.turn_off()
        assert load_settings().profile == "off"
        assert await known(agent) != {}
        await turn(agent, "I prefer silence", conversation_id="c")
        await agent.remember("c")
        await settled(agent)
        for number in range(5):
            await turn(agent, f"I use tool{number}", conversation_id="e")
        await settled(agent)
        # What was written while it was off is never learned from.
        assert await known(agent) == {
            "who": ["Called Ada"],
            "focus": ["Works on the parser"],
            "misc": [f"Uses tool{number}" for number in range(5)],
        }


async def test_the_offline_model_replaces_a_name(tmp_path: Path, project: Path) -> None:
    async with agent_over("offline", tmp_path, project, profile_every=1) as agent:
        for said in ("my name is Ada", "call me Bo, please. I prefer short answers!", "list files"):
            await turn(agent, said, conversation_id="c")
            await settled(agent)
        assert await known(agent) == {"who": ["Called Bo"], "style": ["Prefers short answers"]}
        assert (await agent.profile.state()).outcome == "nothing new"


async def test_it_is_offered_once_after_some_turns(tmp_path: Path, project: Path) -> None:
    async with agent_over(ScriptedProvider(), tmp_path, project, profile="ask") as agent:
        offers: list[bool] = []
        for _ in range(OFFER_AFTER + 1):
            await turn(agent, "x", conversation_id="c")
            offers.append(await agent.profile.offers("c"))
        assert offers == [*[False] * (OFFER_AFTER - 1), True, False]
    async with agent_over(ScriptedProvider(), tmp_path, project, profile="ask") as agent:
        assert not await agent.profile.offers("c")
    async with agent_over(ScriptedProvider(), tmp_path / "other", project, profile="off") as agent:
        for _ in range(OFFER_AFTER):
            await turn(agent, "x", conversation_id="c")
        assert not await agent.profile.offers("c")


async def test_what_the_person_did_not_type_teaches_nothing(tmp_path: Path, project: Path) -> None:
    async with agent_over("offline", tmp_path, project, profile_every=1) as agent:
        # Of a script, or of a file with a command.
        await untyped_turn(agent, "my name is Mallory", conversation_id="c")
        assert (await agent.profile.state()).waiting == 0
        pasted = "I use tabs. [pasted]\nmy name is Mallory"
        await turn(agent, pasted, conversation_id="c", typed="I use tabs. [pasted]")
        await settled(agent)
        assert await known(agent) == {"misc": ["Uses tabs"]}
        (fact,) = await agent.profile.facts()
        assert fact.turn == 2


async def test_commands_and_their_output_teach_nothing(tmp_path: Path, project: Path) -> None:
    (project / "greet.py").write_text("my name is Mallory\n")
    async with agent_over("offline", tmp_path, project, profile_every=1) as agent:
        async for _event in command_events(agent, "cat greet.py", conversation_id="c"):
            pass
        await turn(agent, "read greet.py", conversation_id="c")
        await settled(agent)
        assert await known(agent) == {}
        await agent.remember("c")
        await settled(agent)
        assert await known(agent) == {}
        events = await (await agent.store()).events("c")
        assert any("ran" in event for event in events)


def test_only_own_words_are_shown_to_the_model() -> None:
    assert own_words("look:\n```\nmy name is Mallory\n```\nI am Ada") == "look:\n\nI am Ada"
    assert own_words("~~~\nmy name is Mallory") == ""
    assert own_words("> my name is Mallory\nI am Ada") == "I am Ada"
    assert len(own_words("x" * 9000)) == 1000


def lot(*texts: str, facts: Sequence[Fact] = ()) -> Lot:
    return Lot(
        0, [LearnableMessage(number, "c", number, text) for number, text in enumerate(texts, 1)], facts
    )


def test_secrets_are_neither_shown_nor_kept() -> None:
    def mask(text: str) -> str:
        return text.replace("hunter2", "***")

    given = lot("my password is hunter2")
    assert "hunter2" not in ask_for_lesson(given, mask)[1]["content"]
    facts, _dropped = read_lesson(
        lesson(misc=[{"text": "Uses hunter2", "from": 1}, {"text": "Uses tabs", "from": 1}]), given, mask
    )
    assert [fact.text for fact in facts] == ["Uses tabs"]


def test_an_answer_may_be_wrapped_and_only_what_is_known_is_dropped() -> None:
    given = lot("a", "> quoted", "b", facts=[Fact(4, "who", "x")])
    answer = '<think>hm {"who"}</think>\n```json\n{"drop": [4, 5], "who": [{"text": "A\\u202e\\nB", "from": 2}]}\n```'
    facts, dropped = read_lesson(answer, given, never)
    # Messages without own words are not counted.
    assert [(fact.text, fact.turn) for fact in facts] == [("A⟨U+202E⟩ B", 3)]
    assert dropped == [4]
    with pytest.raises(LessonError):
        read_lesson('{"who": "Ada"}', given, never)


def test_what_the_prompt_says_is_one_line_of_json_and_bounded() -> None:
    assert describe([]) == ""
    facts = [Fact(number, kind, f'"</{kind}>"\n' + "x" * 100) for number, kind in enumerate(KINDS)]
    text = describe(facts)
    assert json.loads(text.splitlines()[-1]) == {fact.kind: [fact.text] for fact in facts}
    assert text == describe(list(facts))
    full = [Fact(number, "misc", "x" * 10) for number in range(MOST // 10)]
    assert len(describe(full)) / 4 < 700


async def test_it_goes_by_the_settings_when_they_change(tmp_path: Path, project: Path) -> None:
    agent = Agent("offline", project=project, data=tmp_path / "data")
    async with agent:
        assert not agent.profile.on
        config_path().parent.mkdir(parents=True, exist_ok=True)
        config_path().write_text('profile = "on"\nprofile_every = 7\n')
        agent.reload()
        assert (agent.profile.on, agent.profile.every) == (True, 7)
        await agent.profile.turn_off()
        assert (agent.profile.on, agent.settings.profile) == (False, "off")
        agent.reload()
        assert not agent.profile.on


@cases(
    ("line", "read"),
    [
        ("style: Short", ("style", "Short")),
        ("Who :  Ada\x1b[2J", ("who", "Ada")),
        ("note: this", ("misc", "note: this")),
        ("plain", ("misc", "plain")),
    ],
)
def test_a_fact_is_written_with_its_kind(line: str, read: tuple[Kind, str]) -> None:
    assert read_line(line) == read


async def test_an_edited_fact_keeps_its_kind_unless_another_is_named(tmp_path: Path, project: Path) -> None:
    async with agent_over("offline", tmp_path, project) as agent:
        await agent.profile.write("style: Short")
        for line, kind in (("Shorter", "style"), ("who: Shortest", "who")):
            (before,) = await agent.profile.facts()
            await agent.profile.write(line, before)
            (after,) = await agent.profile.facts()
            assert (after.id, after.kind) == (before.id, kind)


@cases("line", ["", "  ", "style:", "style:\u200b"])
def test_an_empty_fact_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        read_line(line)
