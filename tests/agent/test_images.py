"""Images of messages: stored once, in the event, and sent to the model."""

import pytest

from cogency_tui.errors import StoreError, WorkspaceError
from tests.agent.conftest import MakeAgent
from tests.pictures import picture


async def test_an_image_is_stored_once_and_its_bytes_come_back(make_agent: MakeAgent) -> None:
    content = picture()
    async with make_agent("Yes.") as agent:
        image = await agent.add_image(content, "shot.png")
        again = await agent.add_image(content, "other.png")
        assert await agent.image_content(image) == content
        missing = {**image, "digest": "0" * 64}
        with pytest.raises(StoreError):
            await agent.image_content(missing)  # pyright: ignore[reportArgumentType]
    assert image["name"] == "shot.png"
    assert (image["media_type"], image["width"], image["height"]) == ("image/png", 8, 6)
    assert image["size"] == len(content)
    assert again == {**image, "name": "other.png"}


async def test_what_is_no_image_is_refused(make_agent: MakeAgent) -> None:
    async with make_agent() as agent:
        with pytest.raises(WorkspaceError, match=r"notes\.png is not an image"):
            await agent.add_image(b"notes", "notes.png")


async def test_a_message_carries_its_images(make_agent: MakeAgent) -> None:
    async with make_agent("Yes.") as agent:
        image = await agent.add_image(picture(), "shot.png")
        async for _ in agent("What is it?", conversation_id="c", images=[image]):
            pass
        [message, *_] = await (await agent.store()).events("c")
    assert message.get("images") == [image]
