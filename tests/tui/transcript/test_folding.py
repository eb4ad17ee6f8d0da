"""Calls in a row that only read are one line, which opens; short thoughts have none."""

import random
import re
from collections.abc import Sequence

import pytest

from cogency_tui.protocol.events import Event, LinesChanged
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.footer import key_parts
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.document import Document, LinePosition
from cogency_tui.tui.transcript.folding import Folding
from cogency_tui.tui.transcript.scroll_to_event import show_event
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.reading import fed, reading
from tests.tui.scripted import call, respond, result, started, think, user

NIGHT = theme_styles_of("night")
UP, DOWN = "left_square_bracket", "right_square_bracket"


def read(id: str, file: str, lines: int = 3, at: float = 0.0) -> list[Event]:
    return [
        call(id, "read", at=at, file=file),
        result(id, "read", f"{lines} lines", f"text of {file}\n", at=at),
    ]


def find(id: str, content: str) -> list[Event]:
    return [call(id, "find", content=content), result(id, "find", "2 matches in 1 file", "a.py:1:x")]


RUN: list[Event] = [
    user("why?"),
    *read("a", "a.py"),
    think("hm", "t1"),
    *read("b", "b.py"),
    *find("c", "x"),
    *read("d", "a.py"),
    respond("So."),
]


def lines_of(document: Document) -> list[str]:
    document.measure(LinePosition(0, 0, 0), 1_000_000)
    return [document.line(document.place(y)).text for y in range(document.height)]


def drawn(events: Sequence[Event], width: int = 60) -> list[str]:
    return [line.strip() for line in lines_of(Document(fed(events), width, NIGHT)) if line.strip()]


def test_calls_that_only_read_are_one_line() -> None:
    assert drawn(RUN) == ["why?", f"✓ Read 2 files, searched once ▸{'48 ms':>27}", "So."]


@pytest.mark.parametrize("width", [16, 24, 32, 38])
def test_a_narrow_run_is_cut_before_its_mark_and_its_time(width: int) -> None:
    assert re.fullmatch(r"✓ R.*… ▸ +48 ms", drawn(RUN, width)[1])


def test_a_narrow_run_shows_its_current_call_only_where_there_is_room_for_it() -> None:
    queued = [*RUN[:-1], call("e", "read", file="src/long_name.py")]

    assert drawn(queued, 44)[1].startswith("◌ Read 3 files, searched once ▸ ")
    assert drawn(queued, 60)[1].startswith("◌ Read 3 files, searched once · read …")


def test_one_call_alone_stays_itself() -> None:
    assert drawn([user("why?"), *read("a", "a.py"), respond("So.")])[1].startswith("✓ read a.py · 3 lines")


@pytest.mark.parametrize(
    "between",
    [
        respond("First this.", "r0"),
        think("a long thought", "t9", at=-3),
        call("x", "shell", command="ls"),
        call("x", "edit", file="a.py"),
    ],
)
def test_what_is_shown_between_two_calls_parts_them(between: Event) -> None:
    rows = drawn([user("why?"), *read("a", "a.py", at=-3), between, *read("b", "b.py")])

    assert [row[:11] for row in rows if " read " in row] == ["✓ read a.py", "✓ read b.py"]


def test_a_failed_call_stands_by_itself() -> None:
    failed = [call("f", "read", file="no.py"), result("f", "read", "There is no no.py.", error=True)]

    rows = drawn([user("why?"), *read("a", "a.py"), *read("b", "b.py"), *failed, *read("c", "c.py")])

    assert [row[:12] for row in rows[1:]] == ["✓ Read 2 fil", "✗ read no.py", "There is no ", "✓ read c.py "]


def test_a_growing_run_stays_one_line_that_names_the_current_call() -> None:
    transcript = Transcript()
    document = Document(transcript, 60, NIGHT)

    def shown_after(*events: Event) -> list[str]:
        for index in sorted(transcript.feed(events)):
            document.touch(index)
        return [line.strip() for line in lines_of(document) if line.strip()][1:]

    assert shown_after(user("why?"), call("a", "read", file="a.py"))[0].startswith("◌ read a.py")
    assert shown_after(result("a", "read", "3 lines"))[0].startswith("✓ read a.py · 3 lines")
    (line,) = shown_after(call("b", "read", file="b.py"), started("b", "read"))
    assert line.startswith("⠋ Read 2 files · read b.py ▸")
    (line,) = shown_after(result("b", "read", "3 lines"), think("hm"))
    assert line.startswith("✓ Read 2 files ▸")
    assert len(shown_after(result("b", "read"), respond("So.", at=2))) == 3


def test_a_call_that_fails_parts_the_run_that_it_was_in() -> None:
    transcript = Transcript()
    transcript.feed([user("go"), *(call(id, "read", file=f"{id}.py") for id in "abcd")])
    document = Document(transcript, 60, NIGHT)
    assert len(lines_of(document)) == 3

    for index in transcript.feed([result("c", "read", "No.", error=True)]):
        document.touch(index)

    assert [line.strip()[:8] for line in lines_of(document)[2:]] == [
        "◌ Read 2",
        "✗ read c",
        "No.",
        "◌ read d",
    ]


def test_opening_shows_each_call_and_closing_hides_them() -> None:
    document = Document(fed(RUN), 60, NIGHT)
    closed = lines_of(document)

    document.toggle(1)
    opened = lines_of(document)
    assert [line.split("·")[0].rstrip() for line in opened[3:7]] == [
        "    ✓ read a.py",
        "    ✓ read b.py",
        "    ✓ find “x”",
        "    ✓ read a.py",
    ]
    assert "▾" in opened[2]

    document.toggle(4)
    assert any("text of b.py" in line for line in lines_of(document)) is False
    document.toggle(3)
    assert any("text of b.py" in line for line in lines_of(document))
    document.toggle(1)
    assert lines_of(document) == closed
    document.toggle(1)
    assert lines_of(document) == opened


def test_live_and_reopened_runs_are_drawn_the_same() -> None:
    live = Transcript()
    document = Document(live, 60, NIGHT)
    for event in RUN:
        for index in sorted(live.feed([event])):
            document.touch(index)
        lines_of(document)
    for index in live.close():
        document.touch(index)

    assert lines_of(document) == lines_of(Document(fed(RUN), 60, NIGHT))


@pytest.mark.parametrize("seed", range(20))
def test_runs_that_came_bit_by_bit_equal_those_of_the_whole(seed: int) -> None:
    rng = random.Random(seed)
    transcript, expanded = Transcript(), set[int]()
    folding = Folding(transcript.units, expanded)
    waiting: list[str] = []
    for number in range(80):
        events: list[Event] = [
            call(f"c{number}", rng.choice(["read", "find", "read", "shell"]), file=f"{number}"),
            think("hm", f"t{number}", at=number),
            respond("x", f"r{number}", at=number),
        ]
        event = rng.choices(events, [6, 2, 1])[0]
        if event["type"] == "call":
            waiting.append(event["id"])
        elif waiting and rng.random() < 0.8:
            event = result(waiting.pop(rng.randrange(len(waiting))), "read", error=rng.random() < 0.2)
        known = len(transcript.units)
        touched = transcript.feed([event])
        if len(transcript.units) > known:
            folding.extend()
        for index in touched:
            folding.update(index)

        whole = Folding(transcript.units, expanded)
        for index in range(len(transcript.units)):
            assert folding.run(index) == whole.run(index)
            assert folding.is_gone(index) == whole.is_gone(index)
            assert folding.before(index) == whole.before(index)


async def test_the_cursor_steps_over_what_is_folded_and_opens_it() -> None:
    async with reading(RUN) as reader:
        await reader.press(UP)
        assert reader.marked == [f"✓ Read 2 files, searched once ▸{'48 ms':>23}"]

        await reader.press("enter", DOWN)
        assert reader.marked[0].startswith("✓ read a.py")
        await reader.press(DOWN, "enter")
        assert "text of b.py" in reader.text

        await reader.press(UP, UP, "enter")
        assert "b.py" not in reader.text
        await reader.press(DOWN)
        assert reader.marked == ["So."]


async def test_enter_says_what_it_does_to_a_run_and_to_a_call() -> None:
    async with reading(RUN) as reader:

        def offered() -> str:
            parts = key_parts(reader.app.screen, NIGHT)
            texts = ("".join(segment.text for segment in part.segments) for part in parts)
            return next(text for text in texts if "Enter" in text)

        await reader.press(UP)
        assert offered() == "Enter expand"
        await reader.press("enter")
        assert offered() == "Enter collapse"
        await reader.press(DOWN)
        assert offered() == "Enter expand"
        await reader.press("space")
        assert offered() == "Enter collapse"
        await reader.press("enter", UP, "space")
        assert offered() == "Enter expand"


async def test_opening_scrolls_what_opens_into_view() -> None:
    events = [user("why?"), respond("\n\n".join(f"Line {number}." for number in range(20))), *RUN[1:-1]]
    async with reading(events) as reader:
        assert "Read 2 files" in reader.rows[-1]
        await reader.press("enter")
        assert "Read 2 files" in reader.rows[-5]
        assert reader.rows[-1].strip().startswith("✓ read a.py")

        # One with more lines than the view begins at its top.
        await reader.feed(call("z", "shell", command="ls"), result("z", "shell", "90", "z\n" * 90))
        await reader.press(*[DOWN] * 5, "enter")
        assert "✓ $ ls" in reader.rows[0]


async def test_a_folded_run_is_copied_and_forked_from_as_a_whole() -> None:
    async with reading(RUN) as reader:
        await reader.press(UP, "y", "f")

        assert "text of b.py" in reader.app.copied[0]
        event = reader.app.wanted[0]
        assert isinstance(event, Conversation.ForkRequested)
        assert event.unit == 5


async def test_a_click_opens_a_run() -> None:
    async with reading(RUN) as reader:
        row = next(y for y, text in enumerate(reader.rows) if "Read 2" in text)
        await reader.pilot.click(reader.view, offset=(8, row))
        await reader.pilot.pause()

        assert "b.py" in reader.text


async def test_find_opens_a_run_while_the_match_is_in_it() -> None:
    async with reading(RUN) as reader:
        await reader.find("text of b")
        assert "text of b.py" in reader.text

        await reader.press("escape")
        assert "text of b.py" not in reader.text
        assert "Read 2 files" in reader.text


async def test_find_shows_a_short_thought_while_the_match_is_in_it() -> None:
    async with reading(RUN) as reader:
        await reader.find("hm")
        assert "hm" in reader.text

        await reader.press("escape")
        assert "hm" not in reader.text


async def test_a_run_opens_at_a_hit_and_at_a_call_that_is_gone_to() -> None:
    async with reading(RUN) as reader:
        show_event(reader.view, 3, ["text of b"])
        assert "text of b.py" in reader.text

    async with reading(RUN) as reader:
        reader.view.go_to_unit(4)
        await reader.pilot.pause()
        assert reader.marked[0].startswith("✓ find “x”")


@pytest.mark.parametrize(("content", "counts"), [("", "empty file"), ("x\n", "+1")])
def test_a_written_file_has_its_lines_or_is_empty(content: str, counts: str) -> None:
    write = [call("w", "write", file="new.py", content=content), result("w", "write", "created new.py")]
    assert any(line.startswith(f"✎ new.py  {counts}") for line in drawn([user("go"), *write]))


@pytest.mark.parametrize(
    ("lines", "counts"),
    [(None, ""), ({"added": 0, "removed": 0}, "no change"), ({"added": 1, "removed": 2}, "+1 −2")],
)
def test_an_edit_has_the_lines_that_its_result_counts(lines: LinesChanged | None, counts: str) -> None:
    done = result("e", "edit", "The file was updated.")
    assert done["type"] == "result"
    if lines is not None:
        done["payload"]["lines"] = lines
    found = drawn([user("go"), call("e", "edit", file="a.py", old="x", new="y"), done])
    (row,) = (line for line in found if line.startswith("✎ a.py"))
    assert row.removeprefix("✎ a.py").removesuffix("review").strip() == counts
