"""Lines from a pipe and from a person."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogency_tui.linear.input import InputLines
from tests.tools.survivors import until


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


async def test_lines_come_whole_however_they_are_cut(pipe: tuple[int, int]) -> None:
    lines = InputLines(pipe[0], interactive=False)
    lines.open()
    for piece in (b"eins\nzw", "ei ü".encode()[:-1], "ü".encode()[1:] + b"\nlast"):
        os.write(pipe[1], piece)
        await asyncio.sleep(0.02)
    os.close(pipe[1])

    assert [await lines.message() for _ in range(4)] == ["eins", "zwei ü", "last", None]
    assert await lines.answer() is None


async def test_from_a_pipe_the_next_line_answers(pipe: tuple[int, int]) -> None:
    lines = InputLines(pipe[0], interactive=False)
    lines.open()
    os.write(pipe[1], b"y\nnext\n")
    await until(lambda: lines.queued == 2)

    assert await lines.answer() == "y"
    assert await lines.message() == "next"
    lines.close()
    os.close(pipe[1])


async def test_what_a_person_typed_before_a_question_does_not_answer_it(pipe: tuple[int, int]) -> None:
    lines = InputLines(pipe[0], interactive=True)
    lines.open()
    os.write(pipe[1], b"y\n")
    await until(lambda: lines.queued == 1)
    answer = asyncio.create_task(lines.answer())
    await asyncio.sleep(0.05)
    assert not answer.done()
    os.write(pipe[1], b"n\n")

    assert await answer == "n"
    assert await lines.message() == "y"
    lines.close()
    os.close(pipe[1])


@pytest.mark.parametrize(
    ("typed", "interactive", "waits"),
    [
        ("\n  \nhello\n/undo\n", True, True),
        ("hello", True, False),
        ("\n", True, False),
        (" /undo\nhello\n", True, False),
        ("!ls\nhello\n", True, False),
        ("!\n", True, True),
        ("hello\n", False, False),
    ],
)
async def test_a_typed_message_waits_and_a_command_or_a_piped_line_does_not(
    pipe: tuple[int, int], typed: str, interactive: bool, waits: bool
) -> None:
    lines = InputLines(pipe[0], interactive=interactive)
    lines.open()
    os.write(pipe[1], typed.encode())
    await until(lambda: lines.queued == typed.count("\n"))

    assert lines.message_waits == waits
    lines.close()
    os.close(pipe[1])


async def test_lines_that_wait_are_reported_and_dropped(pipe: tuple[int, int]) -> None:
    waiting: list[str] = []
    lines = InputLines(pipe[0], interactive=True, waits=waiting.append)
    lines.open()
    os.write(pipe[1], b"hello\n\n !ls\n")
    await until(lambda: lines.queued == 3)

    assert waiting == ["hello", "", " !ls"]
    assert lines.command_waits
    assert lines.drop() == ["hello", "!ls"]
    assert (lines.queued, lines.command_waits, lines.message_waits) == (0, False, False)
    lines.close()
    os.close(pipe[1])


async def test_a_question_that_is_withdrawn_takes_no_line(pipe: tuple[int, int]) -> None:
    lines = InputLines(pipe[0], interactive=True)
    lines.open()
    answer = asyncio.create_task(lines.answer())
    await asyncio.sleep(0.02)
    answer.cancel()
    await asyncio.wait([answer])
    os.write(pipe[1], b"hello\n")

    assert await lines.message() == "hello"
    lines.close()
    os.close(pipe[1])


async def test_an_ordinary_file_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("one\ntwo")
    with (tmp_path / "in").open("rb") as file:
        lines = InputLines(file.fileno(), interactive=False)
        lines.open()
        assert [await lines.message() for _ in range(3)] == ["one", "two", None]
