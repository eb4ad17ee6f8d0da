"""Finding in the conversation: what is counted, where one is led to, and back."""

from pathlib import Path

import pytest
from rich.segment import Segment

from cogency_tui.tui.conversation.find_bar import FindCount
from cogency_tui.tui.kit.lines import wrap
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.text_finder import Finder, Span, finds_on, occurrences
from tests.tui.driving import app_over, conversation_of, finished, main_of, send, shown, until
from tests.tui.reading import fed, reading
from tests.tui.scripted import ScriptedAgent, call, respond, result, think, user

INKS = theme_styles_of("night")


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Ab ab AB", "ab", ["Ab", "ab", "AB"]),
        ("ÉTÉ été", "été", ["ÉTÉ", "été"]),
        ("die Straße, STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("ß then x", "x", ["x"]),
        ("İstanbul x", "x", ["x"]),
        ("ΣΑΣ σας", "σασ", ["ΣΑΣ", "σας"]),
        ("日本語", "本", ["本"]),
        ("aaa", "aa", ["aa"]),
        ("nothing", "x", []),
    ],
)
def test_case_does_not_count(text: str, query: str, found: list[str]) -> None:
    assert [text[start:stop] for start, stop in occurrences(text, query.casefold())] == found


def test_a_find_goes_on_from_line_to_line() -> None:
    lines = wrap([Segment("the retry loop sleeps", INKS())], 10)
    assert [line.text for line in lines] == ["the retry", "loop", "sleeps"]

    assert finds_on(lines, "retry loop") == [[Span(0, 4, 9), Span(1, 0, 4)]]


def test_decoration_is_not_found() -> None:
    lines = [line.indented(Segment("▌ ", INKS())) for line in wrap([Segment("a ▌ b", INKS())], 10)]

    assert finds_on(lines, "▌") == [[Span(0, 4, 5)]]


async def test_all_units_are_searched_for_what_they_read() -> None:
    events = [
        user("Where is the RETRY loop?"),
        think("the retry\nloop"),
        call("c", "shell", command="grep retry loop.py"),
        result("c", "shell", "exit 0", "retry loop\nretry loop\n"),
        respond("The **retry** loop\nand the `retry loop`, not [retry](http://loop)."),
    ]
    finder = Finder(fed(events))

    await finder.search("retry loop")

    assert [finder.count(unit) for unit in range(4)] == [1, 0, 3, 2]
    assert finder.total == 6


async def test_a_query_that_grows_or_shrinks_finds_the_same_as_a_new_one() -> None:
    finder = Finder(fed([respond(f"word {n} wording", f"r{n}") for n in range(20)]))
    for query, total in (("w", 40), ("wo", 40), ("wording", 20), ("wording!", 0), ("word", 40), ("", 0)):
        await finder.search(query)
        assert finder.total == total


async def test_finds_are_gone_through_around_the_ends() -> None:
    finder = Finder(fed([respond("x x", "1"), respond("no", "2"), respond("x", "3")]))
    await finder.search("x")

    assert finder.next(0, 0, 1) == (0, 1)
    assert finder.next(0, 1, 1) == (2, 0)
    assert finder.next(2, 0, 1) == (0, 0)
    assert finder.next(0, 0, -1) == (2, 0)
    assert [finder.ordinal(*find) for find in ((0, 0), (0, 1), (2, 0))] == [1, 2, 3]


LONG = [
    user("where?"),
    *(respond(f"paragraph {n}" + (" needle" if n % 30 == 7 else ""), f"r{n}") for n in range(100)),
]


@pytest.mark.exhaustive
async def test_what_is_typed_is_found_and_the_next_and_previous_are_gone_to() -> None:
    async with reading(LONG) as reader:
        await reader.find("NEEDLE")
        assert reader.count == "4 of 4"
        assert "paragraph 97 needle" in reader.text

        await reader.press("up")
        assert reader.count == "3 of 4"
        assert "paragraph 67 needle" in reader.text

        await reader.press("shift+enter")
        assert reader.count == "2 of 4"
        assert "paragraph 37 needle" in reader.text
        await reader.press("enter", "enter", "enter")
        assert reader.count == "1 of 4"
        assert "paragraph 7 needle" in reader.text

        reader.view.focus()
        await reader.press("n")
        assert reader.count == "2 of 4"
        await reader.press("N")
        assert reader.count == "1 of 4"


async def test_the_first_find_is_at_the_top_of_the_view_or_below_it() -> None:
    async with reading(LONG) as reader:
        await reader.press("home")
        await reader.find("needle")
        assert reader.count == "1 of 4"
        await reader.press("escape")

        reader.view.go_to_top(9)
        await reader.find("needle")
        assert reader.count == "2 of 4", "the one just above the view comes last"


async def test_within_a_long_answer_the_search_begins_at_the_view() -> None:
    answer = "\n\n".join(f"line {number} needle" for number in range(100))
    async with reading([user("needle?"), respond(answer)]) as reader:
        await reader.find("needle")
        first = int(reader.count.split()[0])
        assert first > 80
        assert f"line {first - 2} needle" in reader.text
        await reader.press("escape", "home")
        await reader.find("needle")
        assert reader.count == "1 of 101"


@pytest.mark.exhaustive
async def test_escape_returns_to_where_one_was_and_after_enter_stays() -> None:
    async with reading(LONG) as reader:
        # It follows again where one followed.
        await reader.find("h 7 ")
        assert not reader.view.following
        await reader.press("escape")
        assert reader.view.following

        await reader.press("pageup", "pageup", "up")
        before = reader.text
        await reader.find("h 7 ")
        assert reader.text != before
        await reader.press("escape")
        assert reader.text == before
        assert reader.count == ""
        assert reader.view.has_focus

        await reader.find("h 7 ")
        await reader.press("enter", "escape")
        assert reader.count == ""
        assert "paragraph 7 needle" in reader.text


async def test_the_first_find_may_be_in_the_row_that_the_field_takes_from_the_view(project: Path) -> None:
    answer = "\n\n".join(f"Paragraph {number} with a needle." for number in range(18))
    agent = ScriptedAgent(project, [respond(answer)])
    async with app_over(agent).run_test(size=(80, 24)) as pilot:
        await send(pilot, "where?")
        await finished(pilot)
        view = conversation_of(pilot)
        await until(pilot, lambda: "Paragraph 17" in shown(view))
        first = int(shown(view).split("Paragraph ")[1].split()[0])
        await pilot.press("ctrl+f", *"needle")
        count = main_of(pilot).query_one(FindCount)
        await until(pilot, lambda: f"{first + 1} of 18" in shown(count))
        assert f"Paragraph {first} " in shown(view)


@pytest.mark.exhaustive
async def test_a_thought_is_opened_while_one_stands_in_it() -> None:
    async with reading([think("the secret cause"), respond("done")]) as reader:
        await reader.find("secret")
        assert "the secret cause" in reader.text

        await reader.press("escape")
        assert "secret" not in reader.text

        await reader.find("secret")
        await reader.press("enter", "escape")
        assert "secret" not in reader.text


OUTPUTS = [
    user("where?"),
    *(
        each
        for n in range(3)
        for each in (
            call(f"c{n}", "shell", command=f"seq {n}"),
            result(f"c{n}", "shell", "exit 0", "\n".join(f"row {n} {row}" for row in range(400))),
            respond(f"paragraph {n}", f"r{n}"),
        )
    ),
]


async def test_what_the_search_has_opened_is_folded_when_it_goes_on_or_ends() -> None:
    async with reading(OUTPUTS) as reader:
        folded = reader.view.document.height
        await reader.find("300")
        for shown in ("row 0 300", "row 1 300", "row 2 300"):
            assert shown in reader.text
            await reader.press("enter")
            assert len(reader.view.document.expanded) == 1
        await reader.press("escape")
        assert reader.count == ""
        assert "row" not in reader.text
        assert reader.view.document.height == folded
        # One is at the card, which Enter opens.
        assert "seq 0" in reader.text
        assert reader.view.cursor.place is not None
        assert reader.view.transcript.call(reader.view.cursor.place.unit).id == "c0"


async def test_a_run_is_folded_again_with_the_cursor_on_it() -> None:
    reads = [
        each
        for n in range(3)
        for each in (
            call(f"c{n}", "read", file=f"{n}.py"),
            result(f"c{n}", "read", "1 line", f"needle {n}"),
        )
    ]
    async with reading([user("where?"), *reads, respond("done")]) as reader:
        await reader.find("needle 1")
        assert "needle 1" in reader.text
        await reader.press("enter", "escape")
        assert "1.py" not in reader.text
        assert [mark[:12] for mark in reader.marked] == ["✓ Read 3 fil"]


async def test_enter_at_a_match_keeps_it_open_and_ends_the_search() -> None:
    async with reading(OUTPUTS) as reader:
        await reader.find("300")
        reader.view.focus()
        await reader.press("n", "enter")
        assert reader.count == ""
        assert "row 1 300" in reader.text
        await reader.press("enter")
        assert not reader.view.document.expanded


@pytest.mark.exhaustive
async def test_the_whole_output_of_a_call_is_found() -> None:
    rows = "\n".join(f"row {n}" for n in range(1500))
    events = [call("c", "shell", command="seq"), result("c", "shell", "exit 0", rows), respond("done")]
    async with reading(events) as reader:
        await reader.find("row 1234")

        assert reader.count == "1 of 1"
        assert "row 1234" in reader.text


async def test_each_find_in_view_is_marked_and_the_one_stood_at_differently() -> None:
    async with reading([respond("one needle\n\ntwo needle **nee**dle")]) as reader:
        await reader.find("needle")
        strips = [
            strip for strip in reader.view.render_lines(reader.view.size.region) if "needle" in strip.text
        ]
        styles = [
            segment.style
            for strip in strips
            for segment in strip
            if "nee" in segment.text or segment.text == "dle"
        ]

        assert INKS("surface", "edit", "bold").bgcolor in {style.bgcolor for style in styles if style}
        assert INKS("text", "cursor").bgcolor in {style.bgcolor for style in styles if style}
        assert all(style and style.bgcolor != INKS().bgcolor for style in styles)


async def test_what_comes_in_is_found_too_and_nothing_found_is_said() -> None:
    async with reading([respond("a needle")]) as reader:
        await reader.find("needle")
        assert reader.count == "1 of 1"

        await reader.feed(user("needle"), respond("another needle", "r2"))
        assert reader.count == "1 of 3"

        await reader.press("x")
        assert reader.count == "no matches"


async def test_the_find_holds_when_the_width_changes() -> None:
    async with reading(
        [respond("some words before it " * 30 + "needle " + "and after " * 30)], (60, 12)
    ) as reader:
        await reader.find("needle")
        await reader.pilot.resize_terminal(40, 12)
        await reader.pilot.pause()

        assert reader.count == "1 of 1"
        await reader.press("down")
        assert "needle" in reader.text
