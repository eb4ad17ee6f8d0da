"""The lines that the user writes in the place of a hunk: in the file, in the review, in the text field."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.agent.review.model import FileKey, Hunk
from cogency_tui.errors import UsageError
from cogency_tui.tui.review.background_reader import target_of
from cogency_tui.tui.review.open_file import OpenFile, read_open
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.workspace.text_files import decode, lines_of
from tests.agent.journaling import Desk, desk_at
from tests.tui.driving import shown, until
from tests.tui.review.stage import LINES, edit, reviewing, working

KEY = FileKey(1, "a")
_LINES = ["", "one", "two", "agent", "mine", "three"]
TEXTS = st.lists(st.sampled_from(_LINES), max_size=4).map(
    lambda lines: "".join(f"{each}\n" for each in lines)
)


def numbered(text: str) -> list[str]:
    return [" ".join(line.replace("▌", "").split()) for line in text.splitlines()]


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_a_line_added_below_the_agents_is_shown_and_edited_again(
    project: Path, size: tuple[int, int]
) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent, size=size) as reviewer:
        await reviewer.press(*(["enter"] if size[0] < 80 else []), "e", "end", "enter", *"# mine", "ctrl+s")
        edited = "line_5 = 'agent'\n# mine\nline_6 = 6\n"
        assert edited in (project / "notes.py").read_text()
        assert "6 ~ # mine" in numbered(shown(reviewer.view))
        await reviewer.press("k", "e")
        assert reviewer.area.text == "line_5 = 'agent'\n# mine\n"
        await reviewer.press(*"# first", "enter", "ctrl+s")
        assert "5 ~ # first" in numbered(shown(reviewer.view))
        assert f"line_4 = 4\n# first\n{edited}" in (project / "notes.py").read_text()


@dataclass
class Change:
    """A file as it was, and as the agent left it: `new` in place of `old` between two contexts."""

    above: str
    old: str
    new: str
    below: str
    encoding: str
    final: bool

    @property
    def is_whole(self) -> bool:
        """True if it may leave a byte order mark alone, which is no line."""
        return self.encoding != "utf-8" and not (self.final and self.above)

    def data(self, lines: str) -> bytes:
        text = f"{self.above}{lines}{self.below}"
        text = text if self.final else text.removesuffix("\n")
        return text.replace("\n", "\r\n" if self.encoding == "utf-16" else "\n").encode(self.encoding)


CHANGES = st.builds(
    Change,
    st.sampled_from(["", "one\n", "one\ntwo\nthree\n"]),
    st.sampled_from(["", "old\n", "old\nolder\n"]),
    st.sampled_from(["", "agent\n", "agent\nmine\n"]),
    st.sampled_from(["", "two\n", "three\ntwo\none\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.booleans(),
).filter(lambda each: each.old != each.new and not each.is_whole)


async def opened(desk: Desk) -> tuple[OpenFile, Hunk]:
    file = read_open(await desk.review.diff(KEY))
    file.survived(await desk.review.fates(KEY))
    (hunk,) = file.hunks
    return file, hunk


def whole(file: OpenFile, hunk: Hunk) -> list[str]:
    """The lines that the editor shows, between those of the surrounding context."""
    start, end = hunk.outline.new
    return [*file.diff.new[:start], *lines_of(file.text(hunk)), *file.diff.new[end:]]


async def save(desk: Desk, text: str) -> None:
    """Save a text in place of the one that the editor shows."""
    file, hunk = await opened(desk)
    with suppress(UsageError):  # Nothing would change.
        await desk.review.edit(target_of(KEY, hunk.id), text, file.text(hunk))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(change=CHANGES, texts=st.lists(TEXTS, min_size=1, max_size=3))
async def test_the_editor_shows_the_lines_in_the_file_and_saving_them_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, change: Change, texts: list[str]
) -> None:
    base = tmp_path_factory.mktemp("edited")
    async with desk_at(base / "project", base / "data") as desk:
        path = desk.put("a", change.data(change.old))
        await desk.write(("a", change.data(change.new)))
        for text in texts:
            await save(desk, text)
            data = path.read_bytes()
            file, hunk = await opened(desk)
            assert lines_of(decode(data, "a").plain) == whole(file, hunk)
            await save(desk, file.text(hunk))
            assert path.read_bytes() == data


async def test_a_line_that_the_editor_did_not_show_stays_in_the_file(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        path = desk.put("a", "one\ntwo\n")
        await desk.write(("a", "agent\ntwo\n"))
        file, hunk = await opened(desk)
        await save(desk, "agent\nadded\n")
        await desk.review.edit(target_of(KEY, hunk.id), "mine\n", file.text(hunk))
        assert path.read_text() == "mine\nadded\ntwo\n"


async def test_lines_that_another_program_changed_are_edited_as_they_are(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        path = desk.put("a", "one\ntwo\n")
        await desk.write(("a", "agent\nmore\ntwo\n"))
        path.write_text("agent\nformatted\ntwo\n")
        file, hunk = await opened(desk)
        assert file.text(hunk) == "agent\nformatted\n"
        await save(desk, "agent\nformatted, and mine\n")
        assert path.read_text() == "agent\nformatted, and mine\ntwo\n"


async def test_lines_within_a_string_have_its_color_in_the_text_field_and_below_the_hunk(
    project: Path,
) -> None:
    (project / "size.py").write_text('def size():\n    """Formats.\n\n    Suffixes\n    """\n')
    agent = working(project, edit("size.py", "    Suffixes\n", "    for powers of 1024\n"), "Done.")
    async with reviewing(agent) as reviewer:
        await reviewer.press("e")
        styles = theme_styles_of(reviewer.app.theme)
        assert {span.style for span in reviewer.area.get_line(0).spans} == {styles("string", "raised")}
        await reviewer.press("end", "enter", *'""" + str(1)', "ctrl+s")
        view = reviewer.view
        lines = [line for y in range(view.size.height) if (line := view.line_at(y)) is not None]
        (line,) = [line for line in lines if '~ """ + str(1)' in line.text]
        found = {segment.text.strip(): segment.style for segment in line.segments}
        assert found['"""'] == styles("string", "raised")
        assert found["str"] == styles("builtin", "raised")


async def test_a_text_that_cannot_be_saved_stays_in_the_field(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent, size=(100, 30)) as reviewer:
        await reviewer.press("e", "end", "enter", *"# mine")
        whole = (project / "notes.py").read_text()
        (project / "notes.py").unlink()
        await reviewer.press("ctrl+s")
        await until(reviewer.pilot, lambda: reviewer.area.has_focus)
        assert reviewer.area.text == "line_5 = 'agent'\n# mine\n"
        assert reviewer.area.unsaved == "your edit"

        (project / "notes.py").write_text(whole)
        await reviewer.press("ctrl+s")
        await until(reviewer.pilot, lambda: "# mine\n" in (project / "notes.py").read_text())
