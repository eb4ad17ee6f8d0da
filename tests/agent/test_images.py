"""Images of messages and results: stored once, in the event, and sent to models that take them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.cycle_metrics import Calibration
from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.agent.image_mentions import mentioned_images
from cogency_tui.agent.request_messages import build_messages
from cogency_tui.config.schema import AgentSettings
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.protocol.events import Event, Image
from cogency_tui.protocol.messages import Message, Part, images_in
from cogency_tui.providers.base import CallDelta
from cogency_tui.providers.image_tokens import image_tokens
from cogency_tui.providers.models import ModelFacts
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import Bench, block, delegated
from tests.cases import cases
from tests.peers.scripted import Reply, ScriptedProvider
from tests.pictures import SVG, picture

READ = '<execute>[{"name": "read", "args": {"file": "shot.png"}}]</execute>'


class Seeing(ScriptedProvider):
    """A model that takes images."""

    facts = ModelFacts(context_size=8000, images=True)


def seeing(*replies: Reply) -> Seeing:
    return Seeing(*replies, resumes=False)


async def turn(agent: Agent, query: str, images: Sequence[Image] = ()) -> list[Event]:
    stream = agent.stream(query, conversation_id="c", chunks=False, images=images)
    return [event async for event in stream]


def notices(events: Sequence[Event]) -> list[str]:
    return [e["payload"]["error"] for e in events if e["type"] == "error" and e["payload"].get("notice")]


def images_of_user(events: Sequence[Event]) -> list[Image]:
    return [image for event in events if event["type"] == "user" for image in event.get("images", ())]


def parts_of(message: Message) -> list[Part]:
    return message.get("parts", [])


async def test_an_image_is_stored_once_and_its_bytes_come_back(make_agent: MakeAgent) -> None:
    content = picture()
    async with make_agent("Yes.") as agent:
        image = await agent.add_image(content, "shot.png")
        again = await agent.add_image(content, "other.png")
        assert await agent.image_content(image) == content
        missing: Image = {**image, "digest": "0" * 64}
        with pytest.raises(StoreError):
            await agent.image_content(missing)
    assert image["name"] == "shot.png"
    assert (image["media_type"], image["width"], image["height"]) == ("image/png", 8, 6)
    assert image["size"] == len(content)
    assert again == {**image, "name": "other.png"}


async def test_a_stored_image_that_is_another_is_not_given_out(make_agent: MakeAgent) -> None:
    async with make_agent() as agent:
        image = await agent.add_image(picture(), "shot.png")
        for claimed in ((9, 6), (8, 7)):
            other: Image = {**image, "width": claimed[0], "height": claimed[1]}
            with pytest.raises(WorkspaceError, match=r"^shot\.png cannot be read as an image"):
                await agent.image_content(other)


async def test_what_is_no_image_is_refused(make_agent: MakeAgent) -> None:
    async with make_agent() as agent:
        with pytest.raises(WorkspaceError, match=r"^notes\.png is not an image that can be read\.$"):
            await agent.add_image(b"notes", "notes.png")


async def test_a_message_carries_its_images_to_the_model(make_agent: MakeAgent) -> None:
    model = seeing("Red.", "Still red.")
    async with make_agent(llm=model) as agent:
        image = await agent.add_image(picture(), "shot.png")
        events = await turn(agent, "What is it?", [image])
        await turn(agent, "Sure?")
        [message, *_] = await (await agent.store()).events("c")
        read = model.options[-1].read_image
        assert read is not None
        assert read(image["digest"]) == picture()
    assert message.get("images") == [image]
    assert notices(events) == []
    for sent in model.sent:
        [part] = images_in(sent)
        assert part == {"type": "image", **image}
        assert parts_of(sent[1])[-1] == part
    assert model.sent[1][: len(model.sent[0])] == model.sent[0]


async def test_a_message_may_be_an_image_alone(make_agent: MakeAgent) -> None:
    model = seeing("Hello.", "Red.")
    async with make_agent(llm=model) as agent:
        await turn(agent, "Hello")
        await turn(agent, "", [await agent.add_image(picture(), "shot.png")])
    assert [part["type"] for part in parts_of(model.sent[1][-1])] == ["image"]


# Mentions.


@cases(
    ("text", "paths"),
    [
        ("what is @shot.png", ["shot.png"]),
        ("@a.png vs (@b.JPG), @a.png?", ["a.png", "b.JPG"]),
        ('see @"my shots/one two.png".', ["my shots/one two.png"]),
        ("@/tmp/x.webp and @~/y.gif", ["/tmp/x.webp", "~/y.gif"]),
        ("icon@2x.png, me@home.png", []),
        ("@notes.txt @src/ @logo.svg @png", []),
        ("line\n@shot.png\nline", ["shot.png"]),
    ],
)
def test_mentions_of_images_are_found(text: str, paths: list[str]) -> None:
    assert mentioned_images(text) == paths


async def test_a_mentioned_image_is_attached_as_it_was_read(make_agent: MakeAgent, project: Path) -> None:
    (project / "a.png").write_bytes(picture())
    (project / "b.png").write_text("no image")
    async with make_agent(llm=seeing("Done.")) as agent:
        images = await agent.read_mentioned("see @a.png, @b.png and @c.png")
        assert [*images] == ["@a.png"]
        (project / "a.png").write_bytes(picture(size=(3, 3)))
        queue = EventQueue()
        await agent.run_turn(
            "see @a.png", queue, conversation_id="c", images=[*images.values()], attached=["a.png"]
        )
        [user, *_] = await (await agent.store()).events("c")
    assert user.get("images") == [*images.values()]


async def test_a_mentioned_image_is_attached_and_the_text_stays(
    make_agent: MakeAgent, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (project / "my docs").mkdir()
    (project / "my docs/a.png").write_bytes(picture())
    (tmp_path / "b.png").write_bytes(picture("PNG", (3, 3)))
    (tmp_path / "c.bmp").write_bytes(picture("BMP", (4, 4)))
    query = f'compare @"my docs/a.png", @~/b.png and @{tmp_path}/c.bmp!'
    async with make_agent(llm=seeing("Done.")) as agent:
        events = await turn(agent, query)
    [user] = [event for event in events if event["type"] == "user"]
    assert user["content"] == query
    assert [(image["name"], image["media_type"]) for image in images_of_user(events)] == [
        ("my docs/a.png", "image/png"),
        ("b.png", "image/png"),
        ("c.bmp", "image/png"),
    ]
    assert notices(events) == []


async def test_an_image_that_is_attached_and_mentioned_is_sent_once(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "shot.png").write_bytes(picture())
    async with make_agent(llm=seeing("Done.")) as agent:
        image = await agent.add_image(picture(), "pasted.png")
        events = await turn(agent, "see @shot.png", [image])
    assert images_of_user(events) == [image]


@cases(
    ("content", "problem"),
    [
        (None, "bad.png: there is no such file or directory."),
        (b"", "bad.png is empty."),
        (b"words", "bad.png is not an image that can be read."),
        (SVG, "bad.png is an SVG drawing, which models read as text only."),
        (picture()[:40], "bad.png cannot be read as an image: it is damaged or cut off."),
    ],
)
async def test_what_cannot_be_attached_is_reported_and_the_message_still_goes(
    make_agent: MakeAgent, project: Path, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (project / "bad.png").write_bytes(content)
    model = seeing("Done.")
    async with make_agent(llm=model) as agent:
        events = await turn(agent, "see @bad.png")
    assert notices(events) == [f"Not attached: {problem}"]
    assert model.sent[0][-1]["content"].endswith("see @bad.png")
    assert events[-1]["type"] == "end"


async def test_a_mention_outside_the_project_needs_its_full_path(
    make_agent: MakeAgent, project: Path
) -> None:
    (project.parent / "out.png").write_bytes(picture())
    async with make_agent(llm=seeing("Done.")) as agent:
        events = await turn(agent, "see @../out.png")
    assert notices(events) == ["Not attached: ../out.png is outside the project."]


async def test_what_the_user_did_not_type_mentions_no_files(make_agent: MakeAgent, project: Path) -> None:
    (project / "shot.png").write_bytes(picture())
    async with make_agent(llm=seeing("Done.")) as agent:
        stream = agent.stream("fix this log: @shot.png", conversation_id="c", typed="fix this log:")
        events = [event async for event in stream]
    assert images_of_user(events) == []


async def test_a_sub_agent_reads_images_and_its_task_attaches_none(project: Path, tmp_path: Path) -> None:
    (project / "shot.png").write_bytes(picture())
    task = block(("agent", {"name": "helper", "task": "see @shot.png"}))
    model = seeing(task, READ, "Red.", "It says red.")
    bench = Bench(project, tmp_path / "data")
    async with bench.agent(llm=model, agents={"helper": AgentSettings()}) as agent:
        await turn(agent, "ask the helper")
        [child] = await delegated(agent)
        told = await (await agent.store()).events(child.id)
    assert images_of_user(told) == []
    assert [len(list(images_in(sent))) for sent in model.sent] == [0, 0, 1, 0]


# Models without images.


async def test_a_model_without_images_gets_words_and_the_user_a_notice_once(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "shot.png").write_bytes(picture())
    model = ScriptedProvider("No.", "No.", resumes=False)
    async with make_agent(llm=model) as agent:
        first = await turn(agent, "see @shot.png")
        second = await turn(agent, "again @shot.png")
    told = (
        "scripted-1 takes no images: it receives only their names and sizes. If it does take them, set "
        "images = true under [providers.scripted]."
    )
    assert [notices(first), notices(second)] == [[told], []]
    for message in (model.sent[0][-1], model.sent[1][-1]):
        assert message["content"].endswith("@shot.png\n\n[image shot.png 8×6: this model takes no images]")
        assert not parts_of(message)


async def test_a_change_of_model_sends_or_leaves_out_the_images_of_before(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "shot.png").write_bytes(picture())
    blind, sighted = ScriptedProvider("No.", resumes=False), seeing("Red.", "Red.")
    async with make_agent(llm=sighted) as agent:
        await turn(agent, "see @shot.png")
        agent.provider = blind
        events = await turn(agent, "and now?")
        agent.provider = sighted
        await turn(agent, "and now?")
    assert len(notices(events)) == 1
    assert [len(list(images_in(sent))) for sent in (*sighted.sent, *blind.sent)] == [1, 1, 0]


async def test_a_missing_content_is_described(make_agent: MakeAgent, project: Path) -> None:
    (project / "shot.png").write_bytes(picture())
    async with make_agent(llm=seeing("Red.")) as agent:
        await turn(agent, "see @shot.png")
        blobs = agent.data / "blobs"
    for path in blobs.rglob("*"):
        if path.is_file():
            path.unlink()
    model = seeing("Gone.")
    async with make_agent(llm=model) as agent:
        events = await turn(agent, "and now?")
    assert "[image shot.png 8×6: its content is missing]" in model.sent[0][1]["content"]
    assert events[-1]["type"] == "end"


# Results.


@pytest.mark.parametrize("dialect", ["xml", "native"])
async def test_an_image_that_is_read_is_sent_with_its_result(
    make_agent: MakeAgent, project: Path, dialect: str
) -> None:
    (project / "shot.png").write_bytes(picture())
    call: Reply = READ if dialect == "xml" else [CallDelta(0, "c1", "read", '{"file": "shot.png"}')]
    model = Seeing(call, "Red.", resumes=False, native=dialect == "native")
    async with make_agent(llm=model, dialect=dialect) as agent:
        events = await turn(agent, "look at the shot")
        stored = await (await agent.store()).events("c")
    [result] = [event for event in events if event["type"] == "result"]
    [image] = result["payload"].get("images", [])
    assert image["name"] == "shot.png"
    assert [event for event in stored if event["type"] == "result"] == [result]
    assert list(images_in(model.sent[1])) == [{"type": "image", **image}]
    kinds = ["text", "image"] if dialect == "xml" else ["result"]
    assert [part["type"] for part in parts_of(model.sent[1][-1])] == kinds


# Counting.


async def test_images_count_by_their_size_in_pixels_and_never_by_their_bytes(
    make_agent: MakeAgent, project: Path
) -> None:
    (project / "shot.png").write_bytes(picture("PNG", (1000, 750)))
    async with make_agent(llm=seeing("Red.")) as agent:
        await turn(agent, "see @shot.png")
        history = await agent.history("c")
        prepared = await history.prepare()
        parts = {part.name: part.tokens for part in await history.context()}
    assert image_tokens("scripted-1", 1000, 750) == 1000
    assert prepared.image_tokens == parts["images"] == 1000
    assert parts["history"] < 100


async def test_images_of_a_model_without_them_count_nothing(make_agent: MakeAgent, project: Path) -> None:
    (project / "shot.png").write_bytes(picture("PNG", (1000, 750)))
    async with make_agent(llm=ScriptedProvider("No.", resumes=False)) as agent:
        await turn(agent, "see @shot.png")
        history = await agent.history("c")
        assert (await history.prepare()).image_tokens == 0
        assert "images" not in {part.name for part in await history.context()}


async def test_a_context_full_of_images_is_summarised(make_agent: MakeAgent, project: Path) -> None:
    for number in range(4):
        (project / f"{number}.png").write_bytes(picture("PNG", (1400, 1400 + number)))
    model = seeing("One.", "Two.", "Three.", "Pictures were red.", "Four.")
    events: list[Event] = []
    async with make_agent(llm=model) as agent:
        for number in range(4):
            events += await turn(agent, f"see @{number}.png")
    assert any("summariz" in notice for notice in notices(events))
    assert len(list(images_in(model.sent[-1]))) < 4
    # What the user wrote stays verbatim, and says that there was an image.
    assert "see @0.png\n\n[image 0.png: 1400×1400 pixels, " in "".join(m["content"] for m in model.sent[-1])


def test_the_first_message_of_a_window_keeps_its_images() -> None:
    image: Image = {
        **{"name": "a.png", "digest": "d", "media_type": "image/png", "width": 8, "height": 6, "size": 75}
    }  # pyright: ignore[reportAssignmentType]
    events: list[Event] = []
    for number in range(4):
        at = float(number)
        events.append({"type": "user", "timestamp": at, "content": f"See {number}", "images": [image]})
        events.append({"type": "respond", "timestamp": at, "id": str(number), "content": "Red."})
    messages = build_messages("", events, "native", 1000, window=4)
    assert messages[2]["content"] == "See 2"
    assert len(list(images_in(messages))) == 2


@cases(
    ("tokens", "images", "of_text"),
    [(300, 0, 300), (1300, 1000, 300), (1001, 1000, 100), (900, 1000, 250), (50, 0, 50)],
)
def test_the_tokens_of_a_text_are_what_its_images_leave_of_them(
    tokens: int, images: int, of_text: int
) -> None:
    calibration = Calibration()
    calibration.observe(1000, tokens, images)
    assert calibration.tokens(1000) == of_text
    assert calibration.tokens(1000, 70) == of_text + 70
