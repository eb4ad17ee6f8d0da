"""Hostile text in every place that the application shows text: it reaches the screen disarmed and unread."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import TextArea

from cogency_tui.agent.permissions.gate import Question
from cogency_tui.config.themes import DEFAULT
from cogency_tui.protocol.events import Event
from cogency_tui.store.store import StoredConversation as Listed
from cogency_tui.tools.loss import Loss
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.questions.panel import Hands, QuestionPanel
from cogency_tui.tui.status.header import Header
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.document import Document
from cogency_tui.tui.transcript.units import Transcript
from tests.safety.hostile import ALL, CONTROLS, HIDDEN, LONGEST, MARKUP, SEVERAL
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    files_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.scripted import (
    EPOCH,
    ScriptedAgent,
    call,
    end,
    error,
    execute,
    metric,
    notice,
    output,
    paused,
    respond,
    result,
    started,
    think,
    user,
)

ACTED_ON = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]")


def screen_of(app: App[Any]) -> str:
    """What is handed to the terminal, which must be of the right width and free of what one acts on."""
    assert app.is_running
    # Textual has no public way to the cells of a screen but an SVG.
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    for strip in strips:
        assert not ACTED_ON.search(strip.text), strip.text
        assert sum(cell_len(each) * count for each, count in Counter(strip.text).items()) == app.size.width
        assert not any(segment.style and segment.style.link for segment in strip)
        assert not any("@click" in (segment.style.meta if segment.style else {}) for segment in strip)
    return "\n".join(strip.text for strip in strips)


def turn(text: str, number: int = 0, *, whole: bool = False) -> Iterator[Event]:
    """A turn in which everything is this text; in pieces of one character unless `whole`."""
    pieces = [text] if whole else [*text[:40], text[40:]]
    for piece in pieces:
        yield think(piece, f"t{number}")
    for piece in pieces:
        yield respond(piece, f"r{number}")
    yield respond(
        f"\n\n```{text[:30]}\n{text}\n```\n| {text[:99]} | b |\n|---|---|\n| {text[:99]} | [{text[:99]}]({text[:99]}) |\n",
        f"q{number}",
    )
    calls: dict[str, dict[str, Any]] = {
        text[:1000]: {text[:1000]: text, "file": text},
        "shell": {"command": text},
        "write": {"file": text, "content": text},
        "find": {"content": text, "path": text},
        "agent": {"name": text, "parameters": {"task": text}},
    }
    for tool, args in calls.items():
        id = f"c{number}{tool[:5]}"
        if "file" in args:
            yield call(id, tool, partial=True, file=args["file"])
        yield call(id, tool, **args)
    yield execute()
    for tool, failed in (
        (text[:1000], True),
        ("shell", False),
        ("write", False),
        ("find", True),
        ("agent", False),
    ):
        id = f"c{number}{tool[:5]}"
        yield started(id, tool)
        for piece in pieces:
            yield output(id, tool, piece)
        yield output(id, tool, f"\n· {text[:200]}\n✓ {text[:200]}\n")
        diff = (
            f"--- a/{text[:99]}\n+++ b/{text[:99]}\n@@ -1 +1 @@ {text[:99]}\n-{text[:999]}\n+{text[:999]}\n"
        )
        yield result(id, tool, text, {"diff": diff} if tool == "write" else text, error=failed)
    yield error(text, text)
    yield notice(text, retry=3)
    yield notice(text)
    measure: Any = {
        "input": 1,
        "output": 1,
        "mode": "replay",
        "reason": f"auto: {text[:500]}",
        "provider": "openai",
        "model": "gpt-5.6-sol",
        "context": 1,
    }
    yield metric(measure, measure)


@pytest.mark.exhaustive
async def test_every_text_of_a_turn_is_shown_disarmed(project: Path) -> None:
    agent = ScriptedAgent(project, *([*turn(text, number), end()] for number, text in enumerate(SEVERAL)))
    async with app_over(agent).run_test(size=(120, 40), notifications=True) as pilot:
        for text in SEVERAL:
            await send(pilot, text)
            await finished(pilot)
            await pilot.pause()
            screen_of(pilot.app)
            view = conversation_of(pilot)
            seen = len(view.transcript.units)
            for index in range(max(0, seen - 14), seen):
                if view.document.is_expandable(index):
                    view.toggle(index)
            for place in range(3):
                calls_of(pilot).action_move(-2)
                view.jump(view.max_scroll_y - 40 * place)
                await pilot.pause()
                screen_of(pilot.app)
            view.follow()
        assert len(agent.asked) == len(SEVERAL)


@pytest.mark.parametrize("name", MARKUP)
def test_markup_is_shown_as_it_is(name: str) -> None:
    text = MARKUP[name]
    transcript = Transcript()
    transcript.feed(
        [user(text), think(text, "t"), error(text, text), notice(text), call("c", "shell", command=text)]
    )
    lines = lines_of(transcript, expanded=True)
    assert sum(text in line for line in lines) >= 5


@pytest.mark.exhaustive
@settings(max_examples=40)
@given(
    st.text(
        st.one_of(st.characters(), st.sampled_from("\x1b[]m0;JHK\x07\x9b\x9d\r\n\t\u202e\u200b")), max_size=40
    ),
    st.integers(6, 90),
)
def test_any_text_in_any_place_is_drawn_disarmed_and_in_its_width(text: str, width: int) -> None:
    transcript = Transcript()
    transcript.feed([user(text), *turn(text, whole=True)])
    lines_of(transcript, width, expanded=True)


def lines_of(transcript: Transcript, width: int = 120, *, expanded: bool) -> list[str]:
    """What all units and calls of a transcript look like, each line looked at."""
    styles = theme_styles_of(DEFAULT)
    document = Document(transcript, width, styles, lambda: EPOCH)
    if expanded:
        document.expanded |= set(range(len(transcript.units)))
        for unit in document.expanded:
            document.touch(unit)
    lines = [
        line
        for unit in range(len(transcript.units))
        for block in range(document.blocks(unit))
        for line in document.lines_of(unit, block)
    ]
    texts: list[str] = []
    for line in lines:
        strip = line.strip(width, Style())
        assert not ACTED_ON.search(strip.text)
        assert cell_len(strip.text) == width
        texts.append(strip.text)
    return texts


@pytest.mark.exhaustive
async def test_names_of_files_branches_models_and_conversations(project: Path) -> None:
    names = [text.replace("/", "∕").replace("\0", "")[:80] for text in ALL.values()]
    for name in names:
        try:
            (project / name).write_text("x")
        except (OSError, UnicodeEncodeError):
            continue
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/" + "".join(CONTROLS.values()) + "[b]\n")
    agent = ScriptedAgent(project, [end()])
    agent.provider.name, agent.provider.model = (
        CONTROLS["clear"] + "[/]",
        HIDDEN["overrides"] + CONTROLS["title"],
    )
    agent.past.listed = [
        Listed(
            f"c{number}", str(project), text, "xml", text, text, EPOCH, EPOCH, 1, 1, 0.0, None, branch=text
        )
        for number, text in enumerate(ALL.values())
    ]
    async with app_over(agent).run_test(size=(160, 50), notifications=True) as pilot:
        files = files_of(pilot)
        await until(pilot, lambda: "plain" in shown(files) or "README" in shown(files))
        assert "⟨U+202E⟩" in shown(files)
        screen_of(pilot.app)
        # A name is put into the prompt as it is, and is shown there without doing anything.
        files.focus()
        for _ in range(12):
            before = prompt_of(pilot).text
            await pilot.press("at")
            await until(pilot, lambda before=before: prompt_of(pilot).text != before)
            files.focus()
            files.action_move(1)
        assert (
            any(ACTED_ON.search(line) for line in prompt_of(pilot).text.split("\n"))
            or "␛" in prompt_of(pilot).text
        )
        await pilot.pause()
        screen_of(pilot.app)
        prompt_of(pilot).clear_draft()
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(pilot.app.screen_stack) > 1)
        for _ in range(3):
            await pilot.press("pagedown")
            screen_of(pilot.app)


TOOLTIP = f"{MARKUP['closing']} {MARKUP['click']} {MARKUP['quoted']}"


@pytest.mark.exhaustive
async def test_what_a_tooltip_says(project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text(f"ref: refs/heads/{TOOLTIP}\n")
    async with app_over(ScriptedAgent(project, [end()])).run_test(size=(160, 40), tooltips=True) as pilot:
        header = main_of(pilot).query_one(Header)
        await until(pilot, lambda: TOOLTIP[:10] in shown(header))
        await pilot.hover("#header", offset=(shown(header).index(TOOLTIP[:10]), 0))
        await until(pilot, lambda: "Branch" in str(header.tooltip))
        assert TOOLTIP in str(header.tooltip)
        await until(pilot, lambda: "Branch" in screen_of(pilot.app))


@pytest.mark.exhaustive
async def test_notifications_questions_and_fields_show_any_text_disarmed(project: Path) -> None:
    app = app_over(ScriptedAgent(project, [end()]))
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await _notifications_are_disarmed(pilot)
        await _questions_are_disarmed(pilot)
        await pilot.resize_terminal(100, 30)
        await _fields_are_disarmed(pilot)


async def _notifications_are_disarmed(pilot: Pilot[Any]) -> None:
    for text in SEVERAL:
        pilot.app.notify(text, title=text)
        pilot.app.screen.notify(text, severity="error")
        await pilot.pause()
        screen_of(pilot.app)
        pilot.app.clear_notifications()
    pilot.app.notify("[@click=app.quit]x[/]")
    await pilot.pause()
    assert "[@click=app.quit]x[/]" in screen_of(pilot.app)
    pilot.app.clear_notifications()
    await pilot.pause()


async def _questions_are_disarmed(pilot: Pilot[Any]) -> None:
    for number, text in enumerate(SEVERAL):
        effect = ("command", "write", "network")[number % 3]
        question = Question(
            text, text, effect, text, text, text, text, text, losses=(Loss("other", text=text),)
        )
        panel = QuestionPanel(question, Hands(lambda _answer: None))
        await main_of(pilot).mount(panel, before="#prompt-box")
        await until(pilot, lambda asked=panel: asked.query_one("#answers").size)
        seen = screen_of(pilot.app)
        assert "Esc Stop" in seen
        # What the person judges is shown, not left out.
        assert "␛" in seen or "\x1b" not in text
        panel.display = False
        await pilot.pause()
        await panel.remove()
    for one, other in zip(SEVERAL[::2], SEVERAL[1::2], strict=True):
        await pilot.app.push_screen(Confirmation(f"{one}\n{other}"))
        await pilot.pause()
        assert "yes" in screen_of(pilot.app)
        await pilot.app.pop_screen()


async def _fields_are_disarmed(pilot: Pilot[Any]) -> None:
    """Whatever is pasted or put into them."""
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
    await pilot.press("ctrl+r")
    await until(pilot, lambda: pilot.app.screen.query(FilterField))
    texts = [text[:1000] for text in ALL.values()]
    half = len(texts) // 2
    for one, other in zip(texts[:half], texts[half:], strict=True):
        field = pilot.app.screen.query_one(FilterField)
        field.value = f"{one} {other}"
        await pilot.pause()
        screen_of(pilot.app)
    pilot.app.screen.dismiss()
    await until(pilot, lambda: pilot.app.screen.query(TextArea))
    for text in SEVERAL:
        area = pilot.app.screen.query_one(TextArea)
        area.load_text(text)
        await pilot.pause()
        screen_of(pilot.app)


def _megabytes(place: str, line: str) -> list[Event]:
    """The events of a turn that has the line in this place."""
    match place:
        case "answer":
            return [respond(line)]
        case "thought":
            return [think(line)]
        case "output":
            id = f"c{line[0]}"
            begun = [call(id, "shell", command="x"), execute(), started(id, "shell")]
            return [*begun, output(id, "shell", line), result(id, "shell", "done", line)]
        case "arguments":
            return [
                call(f"c{line[0]}", "write", file=line, content=line),
                call(f"d{line[0]}", "shell", command=line),
            ]
        case "error":
            return [error(line, line), notice(line)]
        case _:
            return []


@pytest.mark.exhaustive
@pytest.mark.timeout(90)
async def test_a_megabyte_on_one_line_does_not_stop_the_screen(project: Path) -> None:
    places = ("answer", "prompt", "thought", "output", "arguments", "error")
    # Each turn has a letter of its own, by which its line is known on the screen.
    lines = {place: letter * LONGEST for place, letter in zip(places, "UVWXYZ", strict=True)}
    agent = ScriptedAgent(project, *([*_megabytes(*each), paused, end()] for each in lines.items()))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        for place, line in lines.items():
            agent.gate.clear()
            await _is_shown(pilot, agent, place, line)


async def _is_shown(pilot: Pilot[Any], agent: ScriptedAgent, place: str, line: str) -> None:
    view = conversation_of(pilot)
    units = len(view.transcript.units)
    view.follow()
    prompt_of(pilot).focus()
    await send(pilot, line if place == "prompt" else "go")
    if place in ("thought", "output"):
        # A thought is not shown before its end.
        await until(pilot, lambda: len(view.transcript.units) > units + 1)
        agent.gate.set()
        await finished(pilot)
        view.toggle(units + 1)
        view.action_last()
    async with asyncio.timeout(50):
        await until(pilot, lambda: line[:8] in screen_of(pilot.app))
        agent.gate.set()
        await finished(pilot)
        await pilot.press("f6", "up", "up")
    assert line[:8] in screen_of(pilot.app)
