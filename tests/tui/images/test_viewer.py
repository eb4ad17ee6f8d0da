"""Images of a conversation: chips in messages and calls, opened in the viewer, and from there outside."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.protocol.image import Image
from cogency_tui.providers.models import ModelFacts
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.calls.list import CallList
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.images.viewer import ImageViewer
from cogency_tui.tui.kit.dialogs import DialogBody, DialogTitle
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.paste_chips import image_chips
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.text_finder import Finder
from cogency_tui.tui.transcript.units import Transcript
from tests.pictures import picture
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    told,
    until,
)
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent, call, image, respond, result, started, user
from tests.tui.terminal.test_clipboard import programs

SHOT, LOST = image("shot.png"), image("lost.png", 30, 20, 900)


def agent_with_a_shot(project: Path) -> ScriptedAgent:
    """An agent that reads an image; the content of the message's own is there, the other's is not."""
    script = [
        call("c1", "read", file="lost.png"),
        started("c1", "read"),
        result("c1", "read", "30×20, 900 B", "", images=[LOST]),
        respond("A red box. See https://example.org too."),
    ]
    agent = ScriptedAgent(project, script)
    agent.provider.facts = ModelFacts(context_size=200_000, images=True)
    agent.contents[SHOT["digest"]] = picture(size=(1200, 800))
    return agent


async def ask_about(pilot: Pilot[Any], *images: Image, text: str = "what is {} here?") -> None:
    chips = image_chips(images)
    prompt_of(pilot).put(Written(text.format(" ".join(chips)), images=chips))
    await pilot.press("enter")
    await finished(pilot)


async def at_message(pilot: Pilot[Any]) -> None:
    """Put the cursor of the conversation on its first message."""
    conversation = conversation_of(pilot)
    conversation.focus()
    conversation.go_to_unit(0)
    await pilot.pause()


async def viewed(pilot: Pilot[Any], part: str) -> ImageViewer:
    """The viewer, once its title or image shows this."""
    await until(pilot, lambda: isinstance(pilot.app.screen, ImageViewer) and part in seen_in(pilot))
    assert isinstance(pilot.app.screen, ImageViewer)
    return pilot.app.screen


def seen_in(pilot: Pilot[Any]) -> str:
    screen = pilot.app.screen
    return "\n".join([shown(screen.query_one(DialogTitle)), shown(screen.query_one(DialogBody))])


async def test_o_shows_the_image_of_a_message_and_escape_closes_it(project: Path) -> None:
    async with app_over(agent_with_a_shot(project)).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT)
        await at_message(pilot)
        await pilot.press("o")
        await viewed(pilot, "▀▀▀▀")
        assert "shot.png  1200×800 · 34.2 kB" in seen_in(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def test_a_message_with_several_images_shows_one_at_a_time(project: Path) -> None:
    async with app_over(agent_with_a_shot(project)).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT, LOST)
        await at_message(pilot)
        await pilot.press("o", "right", "right")
        await viewed(pilot, "Stored file content is missing")
        assert "lost.png" in seen_in(pilot)
        assert "2 of 2" in seen_in(pilot)
        await pilot.press("left")
        await viewed(pilot, "▀▀▀▀")


async def test_the_card_of_a_call_and_its_row_open_its_image(project: Path) -> None:
    async with app_over(agent_with_a_shot(project)).run_test(size=(160, 30)) as pilot:
        await ask_about(pilot, SHOT)
        text = shown(conversation_of(pilot))
        assert "read lost.png" in text
        assert "[image lost.png 30×20 900 B]" in text
        conversation_of(pilot).focus()
        conversation_of(pilot).go_to_unit(1)
        await pilot.press("o")
        await viewed(pilot, "lost.png")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        pilot.app.screen.query_one(CallList).focus()
        await pilot.press("o")
        await viewed(pilot, "lost.png")


async def test_the_footer_lists_the_key_at_a_block_with_images(project: Path) -> None:
    async with app_over(agent_with_a_shot(project)).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT)
        footer = main_of(pilot).query_one(Footer)
        conversation_of(pilot).focus()
        for unit, listed in ((0, True), (1, True), (2, False)):
            conversation_of(pilot).go_to_unit(unit)
            await until(pilot, lambda listed=listed: ("o image" in shown(footer)) == listed)


async def test_a_click_on_a_chip_opens_its_image(project: Path) -> None:
    async with app_over(agent_with_a_shot(project)).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT)
        for name in ("shot.png", "lost.png"):
            rows = shown(conversation_of(pilot)).splitlines()
            row = next(row for row, text in enumerate(rows) if f"[image {name}" in text)
            await pilot.click(Conversation, offset=(rows[row].index("[image") + 3, row))
            await viewed(pilot, name)
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def test_o_at_a_block_without_images_still_lists_its_links(project: Path) -> None:
    async with app_over(agent_with_a_shot(project)).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT)
        conversation_of(pilot).focus()
        conversation_of(pilot).go_to_unit(2)
        await pilot.press("o")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "LinksScreen")


async def test_an_image_is_opened_in_the_desktops_program_as_a_copy(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    monkeypatch.setenv(
        "PATH",
        programs(tmp_path / "bin", **{"xdg-open": f'cat "$1" > {opened}.new && mv {opened}.new {opened}'})[
            "PATH"
        ],
    )
    monkeypatch.setenv("DISPLAY", ":0")
    agent = agent_with_a_shot(project)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT)
        await at_message(pilot)
        await pilot.press("o")
        await viewed(pilot, "▀▀▀▀")
        await pilot.press("o")
        await until(pilot, opened.exists)
    assert opened.read_bytes() == agent.contents[SHOT["digest"]]


async def test_without_a_desktop_nothing_offers_to_open_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    async with app_over(agent_with_a_shot(project)).run_test(size=(100, 30)) as pilot:
        await ask_about(pilot, SHOT)
        await at_message(pilot)
        await pilot.press("o")
        await viewed(pilot, "▀▀▀▀")
        await pilot.press("o")
        assert told(pilot) == ""
        assert isinstance(pilot.app.screen, ImageViewer)


async def test_a_message_that_mentions_an_image_has_its_chip_below(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [respond("ok")])).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        main_of(pilot)._display.take([user("what is @shot.png?", images=[SHOT])])  # pyright: ignore[reportPrivateUsage]
        await until(pilot, lambda: "[image shot.png 1200×800 34.2 kB]" in shown(conversation_of(pilot)))


async def test_find_counts_the_name_of_an_image_as_often_as_it_is_shown() -> None:
    transcript = Transcript()
    transcript.feed(
        [
            user("what is @a.png?", images=[image("a.png")]),
            call("c1", "read", file="b.png"),
            result("c1", "read", "30×20", "", images=[image("b.png")]),
        ]
    )
    finder = Finder(transcript)
    for query in ("a.png", "b.png"):
        await finder.search(query)
        assert finder.total == 2


def test_a_read_with_an_image_is_not_folded_into_a_run() -> None:
    transcript = Transcript()
    for number in range(3):
        transcript.feed(
            [call(f"c{number}", "read", file=f"{number}.py"), result(f"c{number}", "read", "1 line", "x")]
        )
    transcript.feed([call("c9", "read", file="a.png"), result("c9", "read", "30×20", "", images=[SHOT])])
    calls = [unit for unit in transcript.units if isinstance(unit, CallUnit)]
    assert [each.tally is None for each in calls] == [False, False, False, True]


def test_pillow_is_not_loaded_before_the_first_image() -> None:
    code = "import sys, cogency_tui.tui.main.features, cogency_tui.tui.images.viewer; print('PIL' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


async def test_looks(project: Path) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await ask_about(pilot, SHOT)
        prompt_of(pilot).put(Written(f"and {' '.join(image_chips([LOST]))}?", images=image_chips([LOST])))
        await until(pilot, lambda: "A red box" in shown(conversation_of(pilot)))

    await check_looks("images", lambda: clocked(project), prepare)


async def test_looks_of_the_viewer(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)

    async def prepare(pilot: Pilot[Any]) -> None:
        await ask_about(pilot, SHOT, LOST)
        await at_message(pilot)
        await pilot.press("o")
        await viewed(pilot, "▀▀▀▀")

    await check_looks("image-viewer", lambda: clocked(project), prepare)


def clocked(project: Path) -> CogencyApp:
    return app_over(agent_with_a_shot(project))
