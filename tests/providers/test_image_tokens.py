"""The tokens of images, beside the vendors' own examples."""

import pytest

from cogency_tui.protocol.messages import ImagePart, Message
from cogency_tui.providers.image_tokens import image_tokens
from cogency_tui.providers.token_counting import SessionUsage
from tests.cases import cases


@cases(
    ("model", "size", "tokens"),
    [
        # Anthropic: build-with-claude/vision.
        ("claude-sonnet-4-5", (200, 200), 54),
        ("claude-sonnet-4-5", (1000, 1000), 1334),
        ("claude-sonnet-4-5", (1920, 1080), 1600),
        ("claude-opus-4-6", (2000, 2000), 1600),
        ("claude-opus-4-7", (1920, 1080), 2765),
        ("claude-sonnet-5-5", (2000, 2000), 4784),
        ("anthropic/claude-haiku-4.5", (1000, 1000), 1334),
        # OpenAI: guides/images-vision.
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("gpt-5", (1024, 1024), 630),
        ("gpt-5-mini", (1024, 1024), 1659),
        ("gpt-5.4-nano", (1024, 1024), 2520),
        ("gpt-5.6-sol", (1024, 1024), 1024),
        ("gpt-6.1-sol", (2000, 2000), 2500),
        ("openai/gpt-4o-mini", (512, 512), 8500),
        ("o3", (1024, 1024), 675),
        # Gemini: gemini-api/docs/tokens and media-resolution.
        ("gemini-2.5-flash", (384, 384), 258),
        ("gemini-2.5-pro", (960, 540), 258 * 6),
        ("gemini-4-argon", (2000, 2000), 1120),
        ("models/gemini-3.8-flash", (10, 10), 1120),
        # Others.
        ("qwen3.8-max", (750, 100), 100),
        ("claude-opus-5", (1, 1), 1),
    ],
)
def test_an_image_counts_as_its_vendor_documents(model: str, size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(model, *size) == tokens


def test_the_images_of_a_session_are_no_characters() -> None:
    image: ImagePart = {
        **{"type": "image", "digest": "d", "media_type": "image/png", "width": 1000, "height": 750},
        "size": 5_000_000,
    }  # pyright: ignore[reportAssignmentType]
    message: Message = {"role": "user", "content": "x" * 400, "parts": [image]}
    usage = SessionUsage()
    usage.sending_messages([message], "claude-opus-5")
    assert usage.estimated([]).input == pytest.approx(1100)
    again = SessionUsage()
    again.sending_messages([message], "claude-opus-5")
    again.reported(1200, 10)
    # Two characters a token, and not two thirds of one.
    again.sending(["x" * 100])
    assert again.estimated([]).input == 50
