"""A long conversation costs what is looked at, and the lines stay the same objects while they can."""

from cogency_tui.tui.drawing.document import Document
from cogency_tui.tui.theming import inks_of
from cogency_tui.tui.transcript import Transcript
from tests.tui.scripted import call, respond, result, started, think, user

NIGHT, DAY = inks_of("night"), inks_of("day")


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
    for index in range(len(document.transcript.units)):
        document.measure(index)
    return [document.line(*document.locate(y)).text for y in range(document.height)]


def test_the_height_is_that_of_the_lines() -> None:
    document = Document(long_transcript(3), 40, NIGHT)

    lines = lines_of(document)

    assert len(lines) == document.height
    assert lines[:8] == ["▌ question 0", "", "▸ Thought", "", *lines[4:5], "", "answer 0", ""]
    assert lines[4].startswith("✓ read    a.py")


def test_only_what_is_looked_at_is_drawn() -> None:
    document = Document(long_transcript(2000), 40, NIGHT)
    estimated = document.height

    document.measure(7999)

    assert document.height != 0
    assert abs(document.height - estimated) < 20


def test_measuring_corrects_the_estimate_and_says_by_how_much() -> None:
    transcript = Transcript()
    transcript.feed([user("x"), respond("word " * 100)])
    document = Document(transcript, 20, NIGHT)
    before = document.height

    change = document.measure(1)

    assert document.height == before + change
    assert document.measure(1) == 0


def test_a_drawn_line_is_kept_until_width_or_theme_change() -> None:
    document = Document(long_transcript(1), 40, NIGHT)
    line = document.line(0, 0)

    document.touch(3)
    assert document.line(0, 0) is line
    document.reflow(40, DAY)
    assert document.line(0, 0) is not line


def test_the_lines_of_an_open_answer_that_are_settled_are_kept() -> None:
    transcript = Transcript()
    transcript.feed([respond("settled\n\nopen")])
    document = Document(transcript, 40, NIGHT)
    first = document.line(0, 0)

    transcript.feed([respond(" and going on")])
    document.touch(0)

    assert document.line(0, 2).text == "open and going on"
    assert document.line(0, 0) is first


def test_an_answer_that_was_put_away_is_drawn_again_the_same() -> None:
    document = Document(long_transcript(200), 40, NIGHT)
    first = lines_of(document)

    assert lines_of(document) == first


def test_calls_stand_together_and_all_else_apart() -> None:
    transcript = Transcript()
    transcript.feed([call("1", "read"), call("2", "read"), started("1", "read"), respond("x")])

    lines = lines_of(Document(transcript, 40, NIGHT))

    assert [bool(line.strip()) for line in lines] == [True, True, False, True]


def test_opening_a_thought_shows_all_of_it() -> None:
    transcript = Transcript()
    transcript.feed([think("because\n  of this"), respond("x")])
    document = Document(transcript, 40, NIGHT)
    document.expanded.add(0)
    document.touch(0)

    assert lines_of(document)[:3] == ["▾ Thought", "  because", "    of this"]
