"""Images in the prompt: pasted, from the clipboard or by command; a chip each, sent with the message."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.protocol.image import Image
from cogency_tui.providers.models import ModelFacts
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import Draft, Prompts
from cogency_tui.tui.images.viewer import ImageViewer
from cogency_tui.tui.paste_chips import as_written, image_chip, joined, with_own_chip
from cogency_tui.tui.prompt.prompt_and_queue import PromptLine
from tests.pictures import picture
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    type_text,
    until,
)
from tests.tui.scripted import ScriptedAgent, image, paused, respond
from tests.tui.terminal.test_clipboard_image import WL_PASTE, environment

CONTENT = picture(size=(120, 80))
CHIP = f"[image shot.png 120×80 {len(CONTENT)} B]"


class Slow(ScriptedAgent):
    """Adds images once the test opens its gate."""

    async def add_image(self, content: bytes, name: str) -> Image:
        await self.gate.wait()
        return await super().add_image(content, name)


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "shot.png"
    path.write_bytes(CONTENT)
    return path


def paste(pilot: Pilot[Any], text: object) -> None:
    prompt_of(pilot).take(events.Paste(str(text)))


async def pasted(pilot: Pilot[Any], path: Path, chip: str = CHIP) -> None:
    """Paste the path of an image, and wait for its chip."""
    paste(pilot, path)
    await until(pilot, lambda: chip in prompt_of(pilot).text)


def complaint(pilot: Pilot[Any]) -> str:
    return pilot.app.screen.query_one(PromptLine).text


async def test_a_dropped_image_is_a_chip_and_goes_with_the_message(project: Path, shot: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "what is")
        await pasted(pilot, shot)
        await type_text(pilot, "here?")
        await pilot.press("enter")
        await finished(pilot)
    assert agent.asked == [f"what is {CHIP} here?"]
    assert [each["name"] for each in agent.attached[0]] == ["shot.png"]
    assert agent.contents[agent.attached[0][0]["digest"]] == CONTENT


async def test_a_deleted_chip_is_not_sent_and_one_twice_is_sent_once(project: Path, shot: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "one ")
        await pasted(pilot, shot)
        await pilot.press("backspace", "backspace")
        assert prompt_of(pilot).text == "one "
        await pilot.press("enter")
        await finished(pilot)
        await pasted(pilot, shot)
        paste(pilot, shot)
        await until(pilot, lambda: prompt_of(pilot).text == f"{CHIP} {CHIP} ")
        await pilot.press("enter")
        await until(pilot, lambda: len(agent.asked) == 2)
        await finished(pilot)
    assert [len(images) for images in agent.attached] == [0, 1]


async def test_several_dropped_files_become_chips_in_their_order(project: Path, shot: Path) -> None:
    other = shot.with_name("other.png")
    other.write_bytes(picture(size=(30, 20)))
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        paste(pilot, f"'{other}' '{shot}'")
        await until(pilot, lambda: CHIP in prompt_of(pilot).text)
        assert [each["name"] for each in prompt_of(pilot).written.attached] == ["other.png", "shot.png"]


async def test_the_image_of_the_clipboard_is_inserted_by_its_key(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = environment(tmp_path / "bin", CONTENT, **{"wl-paste": WL_PASTE})
    monkeypatch.setenv("PATH", environ["PATH"])
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+v")
        await until(pilot, lambda: prompt_of(pilot).text.startswith("[image clipboard.png 120×80 "))
        prompt_of(pilot).replace_text("")
        await send(pilot, "/image")
        await until(pilot, lambda: prompt_of(pilot).text.startswith("[image clipboard.png 120×80 "))


async def test_without_an_image_the_key_pastes_what_was_copied_here_or_says_so(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+v")
        await until(pilot, lambda: "No program found that reads the clipboard" in complaint(pilot))
        pilot.app.copy_to_clipboard("copied here")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: prompt_of(pilot).text == "copied here")


async def test_a_command_attaches_a_file_and_names_what_is_wrong_with_another(
    project: Path, shot: Path
) -> None:
    (project / "logo.png").write_bytes(CONTENT)
    (project / "notes.png").write_text("no image")
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await send(pilot, "/image logo.png")
        await until(pilot, lambda: "[image logo.png" in prompt_of(pilot).text)
        await send(pilot, f'/image "{shot}"')
        await until(pilot, lambda: CHIP in prompt_of(pilot).text)
        await send(pilot, '/image @"logo.png"')
        await until(pilot, lambda: "[image logo.png" in prompt_of(pilot).text)
        for path, reason in (
            ("missing.png", "is not a file"),
            ("~nobody-of-this-name/a.png", "is not a file"),
            ("a\0b.png", "is not a file"),
            ("notes.png", "is not an image that can be read"),
        ):
            await send(pilot, f"/image {path}")
            await until(pilot, lambda path=path, reason=reason: f"{path} {reason}" in complaint(pilot))
            assert prompt_of(pilot).text == ""


async def test_the_command_behind_images_attaches_one_more(project: Path, shot: Path) -> None:
    (project / "logo.png").write_bytes(picture(size=(30, 20)))
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await pasted(pilot, shot)
        await type_text(pilot, "/image logo.png")
        await pilot.press("enter")
        await until(pilot, lambda: len(prompt_of(pilot).written.attached) == 2)
        assert prompt_of(pilot).text.startswith(f"{CHIP} [image logo.png 30×20 ")
        await type_text(pilot, "or /image logo.png")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked and agent.asked[0].endswith("or /image logo.png"))
        await finished(pilot)
    assert len(agent.attached[0]) == 2


async def test_enter_waits_for_an_image_that_is_being_read(project: Path, shot: Path) -> None:
    agent = Slow(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        paste(pilot, shot)
        await type_text(pilot, "this")
        await pilot.press("enter")
        assert (prompt_of(pilot).text, agent.asked) == ("[image shot.png …] this", [])
        agent.gate.set()
        await until(pilot, lambda: agent.asked == [f"{CHIP} this"])
        await finished(pilot)
    assert len(agent.attached[0]) == 1


async def test_text_that_is_typed_after_enter_is_not_sent_with_a_late_image(
    project: Path, shot: Path
) -> None:
    agent = Slow(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        paste(pilot, shot)
        await type_text(pilot, "this")
        await pilot.press("enter", "x")
        await until(pilot, lambda: "Not sent: an image was still being read." in complaint(pilot))
        agent.gate.set()
        await until(pilot, lambda: prompt_of(pilot).text == f"{CHIP} thisx")
        assert agent.asked == []
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: agent.asked == [f"{CHIP} this"])
        await finished(pilot)


async def test_an_image_that_arrives_after_escape_sends_nothing(project: Path, shot: Path) -> None:
    agent = Slow(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        paste(pilot, shot)
        await type_text(pilot, "this")
        await pilot.press("enter", "escape")
        agent.gate.set()
        await until(pilot, lambda: agent.contents)
        await pilot.pause()
        assert (prompt_of(pilot).text, agent.asked) == ("", [])
        await pilot.press("up")
        assert prompt_of(pilot).written.full == f"{shot} this"


async def test_a_message_whose_image_cannot_be_read_is_not_sent(project: Path, shot: Path) -> None:
    shot.write_text("no image")
    agent = Slow(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        paste(pilot, shot)
        await type_text(pilot, "this")
        await pilot.press("enter")
        agent.gate.set()
        await until(pilot, lambda: "is not an image" in complaint(pilot))
        assert (prompt_of(pilot).text, agent.asked) == (f"{shot} this", [])
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == [f"{shot} this"])
        await finished(pilot)


async def test_an_image_comes_where_it_was_pasted(project: Path, shot: Path) -> None:
    shot.with_name("other.png").write_bytes(picture(size=(30, 20)))
    agent = Slow(project)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        paste(pilot, shot)
        paste(pilot, shot.with_name("other.png"))
        await type_text(pilot, "or")
        await pilot.press("home")
        await type_text(pilot, "see ")
        assert prompt_of(pilot).text == "see [image shot.png …] [image other.png …] or"
        agent.gate.set()
        await until(pilot, lambda: "…" not in prompt_of(pilot).text)
        await type_text(pilot, "if ")
        assert prompt_of(pilot).text.startswith(f"see if {CHIP} [image other.png 30×20 ")
        assert prompt_of(pilot).text.endswith("] or")


async def test_a_removed_image_does_not_return_when_it_is_read(project: Path, shot: Path) -> None:
    agent = Slow(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        paste(pilot, shot)
        await until(pilot, lambda: prompt_of(pilot).text == "[image shot.png …] ")
        await pilot.press("backspace", "backspace")
        await type_text(pilot, "this")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["this"])
        agent.gate.set()
        await until(pilot, lambda: agent.contents)
        await finished(pilot)
        assert prompt_of(pilot).text == ""


async def test_chips_survive_the_queue_its_editing_and_an_interruption(project: Path, shot: Path) -> None:
    agent = ScriptedAgent(project, [paused], [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await pasted(pilot, shot)
        await pilot.press("enter")
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 1)
        await pilot.press("up")
        await type_text(pilot, "!")
        await pilot.press("enter")
        (queued,) = main_of(pilot).bridge.queue.messages
        assert (queued.text, len(queued.attached)) == (f"{CHIP}!", 1)
        await pilot.press("escape")
        await finished(pilot)
        assert len(prompt_of(pilot).written.attached) == 1
        await pilot.press("enter")
        await until(pilot, lambda: len(agent.asked) == 2)
        await finished(pilot)
        await pilot.press("up")
        assert len(prompt_of(pilot).written.attached) == 1
    assert [len(images) for images in agent.attached] == [0, 1]


async def test_a_message_with_images_is_not_offered_to_the_running_answer_as_text(
    project: Path, shot: Path
) -> None:
    agent = ScriptedAgent(project, [paused], [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await pasted(pilot, shot)
        await pilot.press("enter")
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 1)
        main_of(pilot).bridge.queue.clear()
        await send(pilot, "see @logo.png")
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 1)
        main_of(pilot).bridge.queue.clear()
        await send(pilot, "only text")
        await until(pilot, lambda: agent.steered)
        assert agent.steered == ["only text"]
        await pilot.press("escape")
        await finished(pilot)


async def test_a_mentioned_image_is_read_when_the_message_is_queued(project: Path) -> None:
    logo = project / "logo.png"
    logo.write_bytes(CONTENT)
    agent = ScriptedAgent(project, [paused], [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        queue = main_of(pilot).bridge.queue
        await send(pilot, "go")
        await send(pilot, "!cat @logo.png")
        await send(pilot, "see @logo.png")
        await until(pilot, lambda: len(queue) == 2 and queue.messages[1].attached)
        assert (queue.messages[0].attached, queue.messages[1].text) == ([], "see @logo.png")
        logo.write_bytes(picture(size=(30, 20)))
        queue.remove(0)
        agent.gate.set()
        await until(pilot, lambda: len(agent.attached) == 2)
        await finished(pilot)
    assert [each["width"] for each in agent.attached[1]] == [120]


async def test_a_queued_message_that_becomes_a_command_keeps_its_images(project: Path, shot: Path) -> None:
    agent = ScriptedAgent(project, [paused], [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await pasted(pilot, shot)
        await pilot.press("enter", "up", "home")
        await type_text(pilot, "!rm ")
        await pilot.press("down")
        assert main_of(pilot).bridge.queue.held is None
        agent.gate.set()
        await until(pilot, lambda: prompt_of(pilot).text.startswith("!rm "))
        await finished(pilot)
        assert len(prompt_of(pilot).written.attached) == 1
        assert "Not run: images go with messages" in shown(conversation_of(pilot))


async def test_a_draft_and_the_history_are_stored_with_their_images(project: Path, shot: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await pasted(pilot, shot)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: len(prompt_of(pilot).written.attached) == 1)
        await pilot.press("enter")
        await finished(pilot)
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: len(prompt_of(pilot).entries) == 1)
        await pilot.press("up")
        assert len(prompt_of(pilot).written.attached) == 1


async def test_an_external_editor_leaves_the_chips_that_it_leaves(
    project: Path, shot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def edit(_app: object, text: str, _environ: object) -> str:
        await asyncio.sleep(0)
        return f"{text} edited"

    monkeypatch.setattr("cogency_tui.tui.terminal.external_editor.edit_outside", edit)
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await pasted(pilot, shot)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: prompt_of(pilot).text.endswith("edited"))
        assert len(prompt_of(pilot).written.attached) == 1


async def test_a_chip_opens_the_viewer(project: Path, shot: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await pasted(pilot, shot)
        await pilot.press("left", "alt+o")
        await until(pilot, lambda: isinstance(pilot.app.screen, ImageViewer))
        await pilot.press("escape")
        assert CHIP in prompt_of(pilot).text


async def test_an_image_is_pasted_after_the_cursor_of_vims_normal_mode(project: Path, shot: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).use_vim(on=True)
        await type_text(pilot, "ab")
        await pilot.press("escape", "h")
        await pasted(pilot, shot)
        assert prompt_of(pilot).text == f"a {CHIP} b"


async def test_a_mention_of_an_image_is_announced_and_a_model_that_takes_none_is_named(
    project: Path, shot: Path
) -> None:
    (project / "logo.png").write_bytes(CONTENT)
    agent = ScriptedAgent(project)
    agent.provider.facts = ModelFacts(context_size=200_000, images=True)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        line = pilot.app.screen.query_one(PromptLine)
        await type_text(pilot, "is @logo.png")
        await until(pilot, lambda: "logo.png goes with the message as an image" in shown(line))
        (project / "cut.png").write_bytes(CONTENT[:-30])
        (project / "zero.png").touch()
        await type_text(pilot, " or @cut.png @zero.png @none.png ")
        await until(
            pilot, lambda: "logo.png goes with the message as an image · cut.png cannot" in line.reminder
        )
        assert line.reminder.endswith("it is damaged or cut off · zero.png is empty")
        prompt_of(pilot).replace_text("no image")
        await until(pilot, lambda: not line.display)
        agent.provider.facts = ModelFacts(context_size=200_000, images=False)
        await pasted(pilot, shot)
        await until(pilot, lambda: "gpt-5.6-sol takes no images: choose another model (F2)" in shown(line))
        prompt_of(pilot).replace_text("")
        await until(pilot, lambda: not line.display)


async def test_an_error_shows_its_advice_in_a_narrow_window(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with app_over(ScriptedAgent(project)).run_test(size=(60, 16)) as pilot:
        line = pilot.app.screen.query_one(PromptLine)
        await pilot.press("ctrl+v")
        await until(pilot, lambda: line.size.height == 2)
        seen = " ".join(shown(line).split())
        assert seen.startswith("No program found that reads the clipboard. Install")
        assert seen.endswith("or type @path.")
        await pilot.press("x")
        await until(pilot, lambda: not line.display)


async def test_a_path_in_a_command_stays_a_path(project: Path, shot: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        for command in ("!rm -f ", "!", "/export ", "/image "):
            prompt_of(pilot).replace_text(command)
            paste(pilot, shot)
            await until(pilot, lambda command=command: prompt_of(pilot).text == f"{command}{shot}")
        await pilot.press("enter")
        await until(pilot, lambda: CHIP in prompt_of(pilot).text)


async def test_the_key_pastes_text_into_a_command(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = environment(tmp_path / "bin", CONTENT, **{"wl-paste": WL_PASTE})
    monkeypatch.setenv("PATH", environ["PATH"])
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "!cat ")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: complaint(pilot) == "Images go with messages, not with commands.")
        pilot.app.copy_to_clipboard("copied here")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: prompt_of(pilot).text == "!cat copied here")


async def test_a_command_with_an_image_is_not_run(project: Path, shot: Path) -> None:
    agent = ScriptedAgent(project, [paused], [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        for command in ("!rm -f ", "/export "):
            await pasted(pilot, shot)
            await pilot.press("home")
            await type_text(pilot, command)
            await pilot.press("enter")
            await until(pilot, lambda: f"remove {CHIP}" in complaint(pilot))
            assert prompt_of(pilot).text == f"{command}{CHIP} "
            prompt_of(pilot).replace_text("")
        await send(pilot, "go")
        await pasted(pilot, shot)
        await pilot.press("enter", "up", "home")
        await type_text(pilot, "!")
        await pilot.press("enter")
        await until(pilot, lambda: f"remove {CHIP}" in complaint(pilot))
        assert main_of(pilot).bridge.queue.messages[0].text == CHIP
    assert agent.asked == ["go"]


async def test_a_command_attaches_a_path_as_a_terminal_quotes_it(project: Path, shot: Path) -> None:
    spaced = shot.rename(shot.with_name("my shot.png"))
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        for path in (str(spaced).replace(" ", "\\ "), f"'{spaced}'", spaced.as_uri(), spaced):
            await send(pilot, f"/image {path}")
            await until(pilot, lambda: "[image my shot.png" in prompt_of(pilot).text)
            prompt_of(pilot).replace_text("")


async def test_a_command_from_a_file_keeps_the_images_of_its_argument(project: Path, shot: Path) -> None:
    folder = project.with_name("config") / "commands"
    folder.mkdir(parents=True)
    (folder / "describe.md").write_text("---\ntakes: IMAGE\n---\nDescribe $ARGUMENTS.")
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/describe ")
        await pasted(pilot, shot)
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == [f"Describe {CHIP}."])
        await finished(pilot)
    assert len(agent.attached[0]) == 1


def test_images_with_equal_chips_have_names_of_their_own() -> None:
    first, second = image("shot.png"), image("shot.png")
    second["digest"] = "f" * 64
    other = with_own_chip(second, {image_chip(first): first})
    assert image_chip(other) == "[image shot.png (2) 1200×800 34.2 kB]"
    assert with_own_chip(first, {image_chip(first): first}) == first
    assert as_written(f"{image_chip(other)}{image_chip(first)}", [first, other]).attached == [other, first]


def test_a_long_name_and_one_with_control_characters_fit_into_a_chip() -> None:
    chip = image_chip(with_own_chip(image("a" * 300 + "\n\x1b[31mb.png"), {}))
    assert len(chip) < 80
    assert chip.isprintable()
    assert chip.endswith("b.png 1200×800 34.2 kB]")


def test_a_stored_message_has_the_images_that_it_mentions() -> None:
    names = ["a.png", "docs/my b.png", "c.png", "d.png"]
    stored = [image(name) for name in names]
    text = f'{image_chip(stored[0])} @"docs/my b.png", @/tmp/c.png. @a.png @d.jpg'
    written = as_written(text, stored)
    assert [*written.images] == [image_chip(stored[0]), '@"docs/my b.png"', "@/tmp/c.png"]
    assert written.attached == stored[:3]
    assert joined([written]) == written


def test_joined_messages_keep_their_images_apart() -> None:
    first, second, third = image("a.png"), image("a.png"), image("a.png")
    second["digest"], third["digest"] = "e" * 64, "f" * 64
    third["name"] = "a.png (2)"
    mine = Written(f"x {image_chip(first)}", images={image_chip(first): first})
    chips = {image_chip(second): second, image_chip(third): third}
    both = joined([mine, Written(" and ".join(chips), images=chips)])
    assert [each["digest"] for each in both.attached] == [first["digest"], "e" * 64, "f" * 64]
    assert len(set(both.images)) == 3


def test_drafts_of_earlier_versions_have_no_images(tmp_path: Path) -> None:
    prompts = Prompts(tmp_path, tmp_path)
    prompts.put_aside(Draft(Written("text")))
    (path,) = prompts.directory.glob("unsent-*.json")
    path.write_text(path.read_text().replace(', "images": {}', ""))
    assert '"images"' not in path.read_text()
    (claimed,) = prompts.claim("")
    assert claimed.draft.written == Written("text")
