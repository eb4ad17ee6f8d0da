"""What the review says of a change beside its lines: names, modes, links, encodings and line ends."""

import pytest

from cogency_tui.agent.review.model import FileKey
from tests.agent.journaling import Desk, settle
from tests.agent.review.conftest import LINES, review_of

TEXT = "zwei\nÄpfel\n"


async def notes(desk: Desk, name: str) -> tuple[str, ...]:
    """What is said of the one change of a file."""
    review = review_of(desk)
    overview = await review.overview()
    key = next(file.key for group in overview.groups for file in group.files if file.path == name)
    assert isinstance(key, FileKey)
    return tuple((await review.diff(key)).notes)


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (TEXT.replace("\n", "\r\n").encode(), "The line endings change to CRLF."),
        (TEXT.encode("utf-8-sig"), "The encoding changes from UTF-8 to "),
        (TEXT.removesuffix("\n").encode(), "There is no newline at the end after."),
    ],
    ids=["line ends", "encoding", "last line"],
)
async def test_what_the_bytes_say_beside_the_lines(desk: Desk, after: bytes, told: str) -> None:
    desk.put("a.txt", TEXT)
    await desk.write(("a.txt", after))
    assert told in " ".join(await notes(desk, "a.txt"))


async def test_a_mode_that_changes_is_said(desk: Desk) -> None:
    desk.put("run.sh", LINES, mode=0o644)
    settle()
    await desk.run("chmod 755 run.sh")
    assert await notes(desk, "run.sh") == ("The mode changes from 644 to 755.",)


async def test_a_link_in_the_place_of_a_file_is_said(desk: Desk) -> None:
    desk.put("a.txt", LINES)
    desk.put("b.txt", LINES)
    settle()
    await desk.run("ln -sf b.txt a.txt; ln -s b.txt c.txt")
    assert "It was a file, and is a symbolic link." in await notes(desk, "a.txt")
    assert "It was nothing, and is a symbolic link." in await notes(desk, "c.txt")
