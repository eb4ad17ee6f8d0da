"""A long conversation costs what is looked at, and the lines stay the same objects while they can."""

import gc

import pytest

from cogency_tui.protocol.events import Event
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.document import (
    _LINES,  # pyright: ignore[reportPrivateUsage]
    Document,
    LinePosition,
)
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.scripted import call, interrupt, respond, result, started, think, user

NIGHT, DAY = theme_styles_of("night"), theme_styles_of("day")


def long_transcript(turns: int) -> Transcript:
    transcript = Transcript()
    for turn in range(turns):
        transcript.feed(
            [
                user(f"question {turn}"),
                think("hm", f"t{turn}"),
                call(f"c{turn}", "read", file="a.py"),
                result(f"c{turn}", "read"),
                respond(f"answer **{turn}**\n\n```py\nx = 日本\n```\n\n- a\n- b", f"r{turn}"),
            ]
        )
    transcript.close()
    return transcript


def lines_of(document: Document) -> list[str]:
    document.measure(LinePosition(0, 0, 0), 1_000_000)
    return [document.line(document.place(y)).text for y in range(document.height)]


def test_the_height_is_that_of_the_lines() -> None:
    document = Document(long_transcript(3), 40, NIGHT)

    lines = lines_of(document)

    assert len(lines) == document.height
    assert lines[:6] == ["question 0", "", *lines[2:3], "", "answer 0", ""]
    assert lines[2].startswith("  ✓ read a.py")


def test_every_line_is_found_at_its_place_and_back() -> None:
    document = Document(long_transcript(4), 40, NIGHT)
    lines = lines_of(document)
    places = [document.place(y) for y in range(document.height)]

    assert [document.number(place) for place in places] == list(range(len(lines)))
    assert places == sorted(places)
    walked = list(document.places(places[0], places[-1]))
    assert [place for place, _line in walked] == places
    assert [line.text for _place, line in walked] == lines


def test_only_what_is_looked_at_is_drawn() -> None:
    document = Document(long_transcript(300), 40, NIGHT)
    estimated = document.height

    document.measure(LinePosition(1199, -1, 0), -20)

    assert document.height != 0
    assert abs(document.height - estimated) < 40


def test_measuring_corrects_the_estimate() -> None:
    transcript = Transcript()
    transcript.feed([user("x"), respond("word " * 100)])
    document = Document(transcript, 20, NIGHT)

    document.measure(LinePosition(1, 0, 0), 1)

    assert document.height == 1 + 1 + 25


def test_a_drawn_line_is_kept_until_width_or_theme_change() -> None:
    document = Document(long_transcript(1), 40, NIGHT)
    line = document.line(LinePosition(0, 0, 0))

    document.touch(3)
    assert document.line(LinePosition(0, 0, 0)) is line
    document.reflow(40, DAY)
    assert document.line(LinePosition(0, 0, 0)) is not line


def test_the_lines_of_an_open_answer_that_are_settled_are_kept() -> None:
    transcript = Transcript()
    transcript.feed([respond("settled\n\nopen")])
    document = Document(transcript, 40, NIGHT)
    first = document.line(LinePosition(0, 0, 0))

    transcript.feed([respond(" and going on")])
    document.touch(0)

    assert document.line(LinePosition(0, 1, 1)).text == "open and going on"
    assert document.line(LinePosition(0, 0, 0)) is first


@pytest.mark.exhaustive
def test_an_answer_that_was_put_away_is_drawn_again_the_same() -> None:
    document = Document(long_transcript(120), 40, NIGHT)
    first = lines_of(document)
    assert len(first) > _LINES

    assert lines_of(document) == first


def test_calls_stand_together_and_all_else_apart() -> None:
    transcript = Transcript()
    transcript.feed([call("1", "write"), call("2", "write"), started("1", "write"), respond("x")])

    lines = lines_of(Document(transcript, 40, NIGHT))

    assert [bool(line.strip()) for line in lines] == [True, True, False, True]


def test_opening_a_thought_shows_all_of_it() -> None:
    transcript = Transcript()
    transcript.feed([think("because\n  of this"), respond("x", at=2)])
    document = Document(transcript, 40, NIGHT)
    document.expanded.add(0)
    document.touch(0)

    assert lines_of(document)[:3] == ["▾ Thought for 2.0 s", "  because", "    of this"]


def test_opening_a_call_shows_its_whole_output() -> None:
    transcript = Transcript()
    rows = "\n".join(f"row {n}" for n in range(3000))
    transcript.feed([call("1", "shell", command="seq"), result("1", "shell", "exit 0", rows)])
    document = Document(transcript, 40, NIGHT)
    document.expanded.add(0)
    document.touch(0)

    lines = lines_of(document)

    assert [line.strip() for line in lines if "row" in line] == rows.split("\n")


@pytest.mark.parametrize("width", [23, 61, 90])
def test_a_letter_is_found_again_at_another_width(width: int) -> None:
    parts = [
        "word " * 40 + "日本語 " * 20,
        "```\n" + "code " * 30 + "\n\nmore\n```",
        "- item " + "goes on " * 20,
    ]
    transcript = Transcript()
    transcript.feed([user("question " * 20), respond("\n\n".join([*parts, "the end"]))])
    document = Document(transcript, 40, NIGHT)
    lines_of(document)
    places = [document.place(y) for y in range(document.height)]
    starts = [(document.anchor(place), document.line(place)) for place in places]

    document.reflow(width, NIGHT)

    for anchor, line in starts:
        words = line.text[line.lead :].split()
        if words:
            place, character = document.find(anchor)
            following = document.line(place._replace(line=place.line + 1)).text
            assert words[0][:2] in document.line(place).text[character:] + following


ANSWER = """# Title

para **bold** and
`code`

1. a

2. b

```py
x = '''
日本
'''
```
| a | b |
|---|---|
| 1 | 2 |

> q"""


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_what_was_drawn_live_is_drawn_the_same_when_it_is_reopened(step: int) -> None:
    """Line by line with its styles: an answer, a thought, a call, an edit, some of them open."""
    stored: list[Event] = [
        user("fix it", at=0),
        think("why not, then", at=1),
        call("c", "shell", at=2, command="ls -l"),
        call("e", "edit", at=2, file="a.py", old="x", new="y"),
        result("c", "shell", "exit 0", "one\ntwo\n", at=3),
        result("e", "edit", "Edited a.py", "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n", at=3),
        respond(ANSWER, at=4),
    ]
    live: list[Event] = []
    for event in stored:
        if event["type"] == "think":
            pieces = range(0, len(event["content"]), step)
            live += [think(event["content"][at : at + step], at=1) for at in pieces]
        elif event["type"] == "respond":
            live += [respond(ANSWER[at : at + step], at=4) for at in range(0, len(ANSWER), step)]
        else:
            live.append(event)
    drawn, again = Transcript(), Transcript()
    document = Document(drawn, 50, NIGHT)
    for event in live:
        for index in drawn.feed([event]):
            document.touch(index)
        document.measure(LinePosition(len(drawn.units) - 1, -1, 0), -60)
    for index in drawn.close():
        document.touch(index)
    again.feed(stored)
    again.close()
    reopened = Document(again, 50, NIGHT)
    for each in (document, reopened):
        each.expanded |= {1, 2, 3}
        for index in each.expanded:
            each.touch(index)

    assert lines_of(document) == lines_of(reopened)
    assert [document.line(document.place(y)).segments for y in range(document.height)] == [
        reopened.line(reopened.place(y)).segments for y in range(reopened.height)
    ]


HELD = 1_500
"""Lines that a document may hold: a few screens."""


def lines_alive() -> int:
    """The number of lines in this process, to which earlier tests have added theirs."""
    gc.collect()
    return sum(isinstance(each, Line) for each in gc.get_objects())


@pytest.mark.exhaustive
def test_of_a_long_conversation_only_a_few_screens_of_lines_are_held() -> None:
    before = lines_alive()
    document = Document(long_transcript(700), 40, NIGHT)
    assert document.height > 3 * HELD
    for y in range(0, document.height, 50):
        document.measure(document.place(y), 50)

    assert lines_alive() - before < HELD


@pytest.mark.exhaustive
def test_of_one_long_answer_only_a_few_screens_of_lines_are_held() -> None:
    before = lines_alive()
    transcript = Transcript()
    transcript.feed([respond("a paragraph of **words**\n\n" * 1_000 + "```py\n" + "x = 1\n" * 2_000)])
    transcript.close()
    document = Document(transcript, 40, NIGHT)
    assert len(lines_of(document)) > 1.5 * HELD

    assert lines_alive() - before < HELD


@pytest.mark.exhaustive
def test_an_interrupted_answer_is_followed_by_its_mark() -> None:
    transcript = Transcript()
    transcript.feed([user("go"), respond("a paragraph\n\n" * 700), interrupt()])
    document = Document(transcript, 40, NIGHT)
    first = lines_of(document)
    assert len(first) > _LINES
    document.line(document.place(0))

    assert lines_of(document) == first
    assert first[-1].strip() == "■ Interrupted"
