"""The tool calls pane: each state by glyph, word and colour, and the detail of the selected call."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.user_command import NAME
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.transcript import NO_OUTPUT
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.number_format import when
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_lines import call_row, draw_call, step_row
from cogency_tui.tui.transcript.call_unit import GLYPHS, ROLES, CallStep, CallUnit, FileChange
from cogency_tui.tui.transcript.pen import Pen
from tests.tui.driving import app_over, calls_of, conversation_of, detail_of, head_of, send, shown, until
from tests.tui.scripted import EPOCH, ScriptedAgent, call, output, paused, result, started, steps

INKS = theme_styles_of("night")
PEN = Pen(50, INKS, EPOCH)


def row(call: CallUnit, width: int = 60, now: float = EPOCH) -> str:
    return call_row(call, width, INKS, now=now, frame=0).text


@pytest.mark.parametrize("state", list(GLYPHS))
def test_a_state_is_told_by_glyph_word_and_colour(state: Any) -> None:
    line = call_row(
        CallUnit("c", name="shell", arguments={"command": "ls"}, state=state), 60, INKS, now=EPOCH, frame=0
    )

    assert line.text.startswith(GLYPHS[state])
    assert (state in line.text) == (state != "done")
    assert line.segments[0].style == INKS(ROLES[state])
    assert width_of(line.segments) == 60


def test_the_time_of_a_running_call_grows_in_a_standing_column() -> None:
    running = CallUnit("c", name="shell", arguments={"command": "ls"}, state="running", started=EPOCH)

    rows = [row(running, now=EPOCH + seconds) for seconds in (0.5, 9.9, 12.3)]

    assert [line[-6:] for line in rows] == ["      ", "   9 s", "  12 s"]
    assert len({line.index("running") for line in rows}) == 1


def test_the_word_of_an_interrupted_call_is_left_to_the_end_of_its_turn() -> None:
    interrupted = CallUnit("c", name="shell", arguments={"command": "ls"}, state="interrupted", duration=4.1)
    own = CallUnit("c", name=NAME, arguments={"command": "ls"}, state="interrupted", duration=4.1)

    assert "interrupted" not in row(interrupted)
    assert "interrupted" in row(own)


@pytest.mark.parametrize("width", [20, 30, 36, 44, 60])
def test_a_narrow_row_keeps_the_file_name_and_its_columns(width: int) -> None:
    failed = CallUnit(
        "c", name="edit", arguments={"file": "src/checkout/retry.py"}, state="failed", duration=0.002
    )

    line = row(failed, width)

    assert len(line) == width
    assert line.startswith("✗")
    assert "retry.py" in line
    assert line.endswith("  2 ms") == (width >= 30)
    assert ("failed" in line) == (width >= 44)


@pytest.mark.parametrize("width", [28, 32, 36, 40, 44, 48, 56, 72])
def test_a_file_has_one_form_in_a_list_whatever_became_of_its_calls(width: int) -> None:
    states: list[Any] = [*GLYPHS]
    calls = [
        CallUnit(
            "c", name=name, arguments={"file": "src/humanize/filesize.py"}, state=state, duration=duration
        )
        for name in ("read", "replace")
        for state in states
        for duration in (0.0, 0.002, 12.3, 99.0)
    ]
    pen = PEN._replace(width=width)

    forms = {next(word for word in row(each, width).split() if ".py" in word) for each in calls}
    cards = {next(word for word in draw_call(each, pen)[0].text.split() if ".py" in word) for each in calls}

    assert len(forms) == 1
    assert cards == forms


@pytest.mark.parametrize("width", [28, 32, 40])
def test_the_columns_give_way_to_the_whole_name_of_a_file(width: int) -> None:
    read = CallUnit(
        "c", name="read", arguments={"file": "tests/test_filesize.py"}, state="done", duration=0.012
    )

    assert "test_filesize.py" in row(read, width)
    assert row(read, width).endswith("  12 ms") == (width > 32)


@pytest.mark.parametrize("width", [30, 36, 44, 60])
def test_the_row_of_a_call_within_a_call_keeps_the_file_name(width: int) -> None:
    step = CallStep("s", "failed", "read src/humanize/filesize.py")

    line = step_row(CallUnit("c"), step, width, INKS, frame=0)

    assert "filesize.py" in line.text
    assert width_of(line.segments) == width


def test_the_rows_of_long_and_short_subjects_end_in_the_same_columns() -> None:
    commands = ("ls", "pytest -x tests/checkout --maxfail=1 --no-header --tb=short")
    calls = [
        CallUnit("c", name="shell", arguments={"command": command}, state=state, duration=1.3)
        for command in commands
        for state in ("done", "failed")
    ]

    rows = [row(each, 44) for each in calls]

    assert {line[-8:] for line in rows} == {"   1.3 s"}
    assert [line.find("failed") for line in rows] == [-1, 30, -1, 30]


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("read", {"file": "a.py", "start": 3}, "a.py"),
        ("list", {}, "."),
        ("find", {"content": "retry", "path": "src"}, "“retry” in src"),
        ("find", {"pattern": "*.py"}, "*.py"),
        ("shell", {"cmd": "ls\nrm x"}, "ls⏎rm x"),
        ("fetch", {"url": "https://x.org"}, "https://x.org"),
        ("recall", {"query": "retry"}, "retry"),
        ("mine", {"n": 1, "what": "this"}, "this"),
        ("shell", {"command": "echo \x1b[2J\u202e"}, "echo ␛[2J⟨U+202E⟩"),
    ],
)
def test_what_a_call_is_about(name: str, args: dict[str, Any], text: str) -> None:
    assert CallUnit("c", name=name, arguments=args).subject.text == text


def test_an_edit_is_a_card_with_its_counts() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"
    done = CallUnit("c", name="edit", arguments={"file": "a.py"}, state="done", content=diff, duration=0.004)

    (card,) = draw_call(done, PEN._replace(review_key="F5"))

    assert card.text.split() == ["✎", "a.py", "+2", "−1", "review"]
    assert len(card.text) == PEN.width


def test_a_file_that_is_replaced_is_a_card_with_both_counts() -> None:
    replaced = CallUnit("c", name="write", arguments={"file": "a.py", "content": "x\n"}, state="done")
    assert draw_call(replaced, PEN)[0].text.split() == ["✎", "a.py", "+1"]

    replaced = CallUnit(
        "c",
        name="write",
        arguments={"file": "a.py", "content": "x\n"},
        state="done",
        lines={"added": 1, "removed": 3},
    )
    assert draw_call(replaced, PEN)[0].text.split() == ["✎", "a.py", "+1", "−3"]


def renaming(*paths: str) -> CallUnit:
    diff = "".join(f"--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-x\n-y\n+z\n+z\n" for path in paths)
    args = {"action": "rename", "file": paths[0], "line": 1, "name": "total", "new_name": "subtotal"}
    return CallUnit("c", name="symbol", arguments=args, state="done", content=diff)


def test_a_renaming_is_a_card_with_its_names_and_files() -> None:
    pen, renamed = PEN._replace(review_key="F5", width=60), renaming("cart.py", "use.py")
    (card,) = draw_call(renamed, pen)
    assert " ".join(card.text.split()) == "✎ total → subtotal cart.py, use.py +4 −4 review"
    assert renamed.changes() == [FileChange("cart.py", 2, 2), FileChange("use.py", 2, 2)]
    (card,) = draw_call(renaming(*"abcdef"), pen)
    assert " ".join(card.text.split()) == "✎ total → subtotal a, b, c, 3 more files +12 −12 review"
    for width in range(16, 80):
        (card,) = draw_call(renamed, pen._replace(width=width))
        assert width_of(card.segments) <= width
        assert "+4 −4" in card.text
    assert "total → subtotal" in draw_call(renamed, pen._replace(width=30))[0].text


def test_a_card_says_who_else_has_changed_the_file() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"
    at, path = PEN.now - 60, "a.py"
    done = CallUnit(
        "c",
        name="edit",
        arguments={"file": "a.py"},
        state="done",
        content=diff,
        changed_by=[
            {"path": path, "by": "conversation", "title": "fix\nparser", "at": at},
            {"path": path, "by": "user", "title": "", "at": at},
        ],
    )

    _, below = draw_call(done, PEN._replace(width=80))

    then = when(at, PEN.now)
    assert below.text == f"  also changed in “fix⏎parser” {then}, by you {then}"


def test_a_call_under_a_name_of_another_agent_is_shown_as_the_tool_that_runs() -> None:
    written = CallUnit("c")
    asked, came = call("c", "Write", file_path="a.py", content="x\ny\n"), result("c", "write", content="Ok")
    assert asked["type"] == "call"
    assert came["type"] == "result"
    written.write(asked)
    written.report(came)

    assert (written.name, written.args) == ("write", {"file": "a.py", "content": "x\ny\n"})
    assert written.changes() == [FileChange("a.py", 2, 0)]


def test_a_failed_call_says_why_below_it() -> None:
    failed = CallUnit(
        "c", name="edit", arguments={"file": "a.py"}, state="failed", outcome="`old` is not in the file"
    )

    card = draw_call(failed, PEN)

    assert [line.text.strip() for line in card][1:] == ["`old` is not in the file"]


@pytest.mark.parametrize("width", [30, 36, 44, 50, 60, 90])
def test_a_call_that_the_mode_blocks_says_so_whether_its_path_leaves_room_or_not(width: int) -> None:
    for path in ("README.md", "src/humanize/filesize.py"):
        blocked = CallUnit("c", name="edit", arguments={"file": path}, state="declined", mode="plan")

        card = draw_call(blocked, PEN._replace(width=width))

        assert [line.text for line in card if "blocked by plan mode" in line.text]
        assert ("blocked" in card[0].text) == (len(card) == 1)


def test_a_long_reason_takes_three_lines_and_is_marked_as_cut() -> None:
    failed = CallUnit("c", name="edit", state="failed", outcome="a long reason " * 20)

    _row, *why = draw_call(failed, PEN)

    assert len(why) == 3
    assert why[-1].text.endswith("…")
    assert not any("…" in line.text for line in why[:-1])


def test_a_failed_command_shows_the_end_of_its_output() -> None:
    content = (
        "exit 1\n" + "".join(f"line {n}\n" for n in range(9)) + "ValueError: 42\n\n[it ran in a sandbox]"
    )
    failed = CallUnit(
        "c", name="shell", arguments={"command": "x"}, state="failed", outcome="exit 1", content=content,
        duration=0.3,
    )  # fmt: skip

    head, *below = draw_call(failed, PEN)

    assert head.text.split() == ["✗", "$", "x", "·", "exit", "1", "failed", "300", "ms"]
    assert [line.text.strip() for line in below] == ["… 7 more lines", "line 7", "line 8", "ValueError: 42"]
    assert below[-1].segments[-1].style == INKS("bad")
    assert len(draw_call(failed, PEN, expanded=True)) == 1


def failed_command(outcome: str, output: str) -> CallUnit:
    return CallUnit(
        "c", name="shell", arguments={"command": "x"}, state="failed", outcome=outcome, duration=1.1,
        content=f"{outcome}\n{output}\n[it ran in a sandbox]",
    )  # fmt: skip


def test_a_failed_command_without_output_is_one_line() -> None:
    assert len(draw_call(failed_command("exit 4", NO_OUTPUT), PEN)) == 1


def test_what_a_stopped_command_wrote_is_not_its_reason_and_its_time_is_shown_once() -> None:
    row, last = draw_call(failed_command("timed out after 1 s and was stopped", "start"), PEN)

    assert row.text.split("·")[1].split() == ["timed", "out", "failed", "1.1", "s"]
    assert last.text.strip() == "start"
    assert last.segments[-1].style == INKS("dim")


def test_the_end_of_binary_output_is_not_shown() -> None:
    _row, *below = draw_call(failed_command("exit 2", "\ufffdELF\ufffd\ufffd\n" * 9), PEN)

    assert [line.text.strip() for line in below] == ["(binary output)"]


@pytest.mark.parametrize("width", range(20, 50))
def test_an_exit_status_is_whole_or_left_out(width: int) -> None:
    failed = CallUnit(
        "c", name="shell", arguments={"command": "nosuch"}, state="failed", outcome="exit 127", content="no",
        duration=0.3,
    )  # fmt: skip

    row = draw_call(failed, PEN._replace(width=width))[0].text

    assert "exit 127" in row or "exit" not in row


def test_a_running_command_shows_the_end_of_its_output() -> None:
    running = CallUnit("c", name="shell", arguments={"command": "x"})
    written = output("c", "shell", "".join(f"line {n}\n" for n in range(9)))
    assert written["type"] == "result"
    running.report(written)

    _row, *below = draw_call(running, PEN)

    assert [line.text.strip() for line in below] == ["line 6", "line 7", "line 8"]


async def play(pilot: Pilot[Any]) -> None:
    await send(pilot, "go")
    await until(
        pilot, lambda: "Tool" in shown(pilot.app.screen.query_one("#calls-title")) and calls_of(pilot).call
    )


@pytest.mark.exhaustive
async def test_the_newest_call_is_selected_and_its_output_seen_live(project: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(100))
    agent = ScriptedAgent(
        project,
        [
            call("a", "read", file="a.py"),
            result("a", "read"),
            call("b", "shell", command="make"),
            call("c", "read", file="b.py"),
            started("b", "shell"),
            output("b", "shell", lines),
            paused,
            result("b", "shell", "exit 0", lines, duration=3.0),
        ],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await play(pilot)
        await until(pilot, lambda: "line 99" in shown(detail_of(pilot)))
        assert "3 · 1 running" in shown(pilot.app.screen.query_one("#calls-title"))

        agent.gate.set()
        await until(pilot, lambda: "✓ shell" in shown(calls_of(pilot)))
        # Who followed the output still sees its end, and the head in any case.
        assert "line 99" in shown(detail_of(pilot))
        assert "shell  ✓ done 3.0 s" in head_of(pilot)
        detail_of(pilot).jump(0)
        assert "$ make" in head_of(pilot)
        assert "shell  ✓ done 3.0 s" in head_of(pilot)


@pytest.mark.exhaustive
async def test_up_and_down_select_and_the_selection_stays(project: Path) -> None:
    events: list[Event] = []
    for name in ("a.py", "b.py", "c.py"):
        events += [call(name, "read", file=name), result(name, "read", f"Read {name}")]
    agent = ScriptedAgent(
        project, [*events, paused, call("d", "read", file="d.py"), result("d", "read"), paused]
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await play(pilot)
        await until(pilot, lambda: "c.py" in shown(detail_of(pilot)))
        calls_of(pilot).focus()
        await pilot.press("up", "up")
        await until(pilot, lambda: "a.py" in shown(detail_of(pilot)))

        agent.gate.set()
        await until(pilot, lambda: "d.py" in shown(calls_of(pilot)))
        assert "a.py" in shown(detail_of(pilot))

        await pilot.press("end")
        await until(pilot, lambda: "d.py" in shown(detail_of(pilot)))


@pytest.mark.exhaustive
async def test_a_call_appears_while_its_arguments_are_written(project: Path) -> None:
    agent = ScriptedAgent(
        project,
        [
            call("c", "write", partial=True, file="new.py"),
            call("c", "", partial=True, content="first line\n"),
            call("c", "", partial=True, content="second line\n"),
            paused,
        ],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await play(pilot)
        await until(pilot, lambda: "second line" in shown(detail_of(pilot)))
        assert "writing" in shown(calls_of(pilot))
        assert "new.py" in shown(conversation_of(pilot))


@pytest.mark.exhaustive
async def test_what_a_sub_agent_does_stands_below_its_call(project: Path) -> None:
    work = steps(
        "c1",
        "agent",
        ("read", "src/app.py", "done", "Read 3 lines"),
        ("edit", "src/app.py", "failed", "old is not there"),
        ("list", ".", "running", ""),
    )
    script = [
        call("c1", "agent", name="reviewer"),
        started("c1", "agent"),
        work,
        paused,
    ]
    async with app_over(ScriptedAgent(project, script)).run_test(size=(160, 45)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "list ." in shown(calls_of(pilot)))
        rows = [row.rstrip() for row in shown(calls_of(pilot)).splitlines() if row.strip()]

    assert rows[0].split()[1:4] == ["agent", "▾", "reviewer"]
    assert [row.split()[0] for row in rows[1:3]] == ["✓", "✗"]
    assert rows[1].startswith("    ✓ read src/app.py")
    assert rows[2].endswith("failed")
    assert rows[3].endswith("running")
