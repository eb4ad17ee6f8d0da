"""The cursor on blocks, and what the keys of the conversation do with the block that it is on."""

from textual.geometry import Offset
from textual.selection import Selection

from cogency_tui.tui.conversation.view import Conversation
from tests.tui.reading import reading
from tests.tui.scripted import call, respond, result, think, user

ANSWER = """# Title

First **paragraph**, see [docs](https://example.org/a) and https://example.org/b.

```python
x = 1
```

- one
- two

```sh
ls
```

Last."""
TURN = [
    user("why?"),
    think("because", at=0),
    call("c", "shell", at=2, command="ls"),
    result("c", "shell", "exit 0", "file.txt\n"),
    respond(ANSWER),
]


UP, DOWN = "left_square_bracket", "right_square_bracket"


async def test_the_cursor_is_on_the_last_block_until_it_is_moved_between_both_ends() -> None:
    async with reading(TURN, (60, 40)) as reader:
        assert reader.marked == ["Last."]

        await reader.press(UP)
        assert reader.marked == [f"ls{'sh':>52}"]
        await reader.press(UP)
        assert reader.marked == ["• one", "• two"]
        await reader.press(DOWN)
        assert reader.marked == [f"ls{'sh':>52}"]

        await reader.press(*[UP] * 20)
        assert reader.marked == ["why?                                               14:13"]
        await reader.press(*[DOWN] * 20)
        assert reader.marked == ["Last."]

        # It is not shown while another has the focus.
        reader.app.set_focus(None)
        await reader.pilot.pause()
        assert reader.marked == []


async def test_y_copies_the_source_of_the_block_and_code_alone() -> None:
    async with reading(TURN, (60, 40)) as reader:
        await reader.press("y", "Y", UP, "y", "Y", *[UP] * 3, "y")
        assert reader.app.copied == [
            "Last.",
            "x = 1\n\nls",
            "```sh\nls\n```",
            "ls",
            "First **paragraph**, see [docs](https://example.org/a) and https://example.org/b.",
        ]

        # A call is copied with what it brought.
        reader.app.copied.clear()
        await reader.press("home", *[UP] * 20, "y", DOWN, "y", DOWN, "y", "Y")
        assert reader.app.copied == ["why?", "because", "$ ls\nfile.txt", "file.txt"]


async def test_without_code_nothing_is_copied() -> None:
    async with reading([respond("plain")]) as reader:
        await reader.press("Y")

        assert reader.app.copied == []


async def test_a_copies_all_answers_of_the_turn() -> None:
    events = [user("1"), respond("other turn", "r0"), *TURN, respond("again", "r2"), user("3")]
    async with reading(events, (60, 60)) as reader:
        await reader.press(UP, "a")

        assert reader.app.copied == [f"{ANSWER}\n\nagain"]


async def test_enter_and_space_open_and_close() -> None:
    async with reading(TURN, (60, 60)) as reader:
        await reader.press("home", *[UP] * 20, DOWN, "enter")
        assert "because" in reader.text
        await reader.press("space")
        assert "because" not in reader.text

        await reader.press(DOWN, "space")
        assert "file.txt" in reader.text


async def test_opening_keeps_what_is_above_where_it_is_if_there_is_room_below() -> None:
    events = [respond("line\n\n" * 40), think("deep\n" * 5, "t2"), respond("end\n\n" * 5, "r2", at=2)]
    async with reading(events) as reader:
        await reader.press(*[UP] * 5)
        above = [row for row in reader.rows if "line" in row]

        await reader.press("enter")

        assert [row for row in reader.rows if "line" in row] == above
        assert "deep" in reader.text


async def test_o_asks_for_the_addresses_of_the_block_and_f_for_a_fork_that_ends_here() -> None:
    async with reading(TURN, (60, 40)) as reader:
        await reader.press("o")
        assert not reader.app.wanted

        await reader.press(*[UP] * 4, "o")
        event = reader.app.wanted[0]
        assert isinstance(event, Conversation.LinksRequested)
        assert event.addresses == ["https://example.org/a", "https://example.org/b"]

        await reader.press(*[UP] * 20, "f")
        event = reader.app.wanted[1]
        assert isinstance(event, Conversation.ForkRequested)
        assert event.unit == 0


async def test_a_long_block_is_gone_to_the_beginning_of_before_the_one_above() -> None:
    events = [respond("above\n\n```\n" + "\n".join(f"row {n}" for n in range(60)) + "\n```")]
    async with reading(events) as reader:
        await reader.press(UP)
        assert "row 0" in reader.text
        assert "row 0" in reader.marked[0]

        await reader.press(UP)
        assert reader.marked == ["above"]


async def test_a_cursor_that_is_scrolled_out_of_sight_is_taken_up_in_view() -> None:
    async with reading([respond("\n\n".join(f"p{n}" for n in range(60)))]) as reader:
        await reader.press(UP, "home")

        assert len(reader.marked) == 1
        assert int(reader.marked[0][1:]) < 20


async def test_lines_are_selected_from_the_block_on() -> None:
    async with reading(
        [respond("one\n\ntwo words that are so long that they are wrapped somewhere, surely\n\nthree")]
    ) as reader:
        await reader.press(UP, "v")
        assert reader.app.screen.get_selected_text() == (
            "two words that are so long that they are wrapped somewhere, surely"
        )

        await reader.press("shift+down", "shift+down", "y")
        assert reader.app.copied[-1].endswith("surely\n\nthree")
        assert reader.view.text_selection is None


async def test_a_selection_grows_upwards_and_by_blocks_and_escape_ends_it() -> None:
    async with reading([respond("one\n\ntwo\n\nthree")]) as reader:
        await reader.press("shift+up", "k", "k", "y")
        assert reader.app.copied == ["two\n\nthree"]

        await reader.press("v", UP, UP, "y")
        assert reader.app.copied[-1].startswith("one")

        await reader.press("v")
        assert reader.view.text_selection is not None
        await reader.press("escape")
        assert reader.view.text_selection is None


async def test_a_selection_holds_when_the_width_changes() -> None:
    text = "\n\n".join(f"paragraph {n} " + "which is wrapped " * (n % 7 + 3) for n in range(30))
    async with reading([respond(text)], (90, 30)) as reader:
        await reader.press(*[UP] * 3, "v", "shift+down", "shift+down", "shift+down")
        before = reader.app.screen.get_selected_text()

        await reader.pilot.resize_terminal(50, 30)
        await reader.pilot.pause()

        assert reader.app.screen.get_selected_text() == before


async def test_wide_characters_are_selected_by_the_mouse_as_they_stand() -> None:
    async with reading([respond("日本語 and e\u0301clair 👍🏽 end")]) as reader:
        row = next(y for y, line in enumerate(reader.rows) if "日本" in line)
        await reader.pilot.mouse_down(reader.view, offset=(4, row))
        await reader.pilot.hover(reader.view, offset=(8, row))
        await reader.pilot.mouse_up(reader.view, offset=(8, row))

        assert reader.app.screen.get_selected_text() in ("本語", "本語 ")


async def test_five_hundred_lines_are_copied_as_they_read() -> None:
    paragraphs = [f"{n}: " + "some 日本 words " * (n % 9 + 1) for n in range(300)]
    events = [
        respond("\n\n".join(part), f"r{at}")
        for at, part in enumerate(zip(*[iter(paragraphs)] * 3, strict=True))
    ]
    async with reading(events, (60, 24)) as reader:
        view = reader.view
        last = view.address_of(view.virtual_size.height - 1)
        await reader.press("home")
        selection = Selection(Offset(0, view.address_of(0)), Offset(1000, last))
        copied = view.get_selection(selection)

        assert copied is not None
        assert copied[0] == "\n\n".join(paragraph.rstrip() for paragraph in paragraphs)


async def test_the_cursor_goes_to_each_call_also_one_that_failed_before_it_was_asked_about() -> None:
    failed = result("b", "edit", "Text not found.", state="failed", duration=0.0)
    calls = [call(id, "edit", at=1, file=f"{id}.py") for id in "abc"]
    async with reading([user("go"), *calls, failed], (60, 40)) as reader:
        await reader.press(*[UP] * 5)
        for line in ("◌ edit a.py", "✗ edit b.py", "◌ edit c.py"):
            await reader.press(DOWN)
            assert reader.marked[0].startswith(line)
