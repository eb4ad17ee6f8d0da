"""A file to look at: its text, or why there is none."""

import os
from pathlib import Path

from cogency_tui.tui.kit.code import SourceLayout
from cogency_tui.tui.kit.file_text import LONGEST, read_preview
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.workspace.paths import Workspace

INKS = theme_styles_of("night")


def test_a_source_file_is_numbered_and_coloured(project: Path) -> None:
    (project / "src/app.py").write_text("import os\n\ndef main():\n\treturn 'a' * 2\n")
    preview = read_preview(Workspace(project), "src/app.py")
    sheet = SourceLayout(preview.lines, preview.language, 40, INKS)

    assert (preview.language, preview.problem, len(sheet)) == ("python", "", 4)
    assert [sheet.line(y).text.rstrip() for y in (0, 1, 3)] == [
        "1 import os",
        "2",
        "4         return 'a' * 2",
    ]
    styles = {segment.text: segment.style for segment in sheet.line(0).segments}
    assert styles["import"] == INKS("keyword", "raised")
    assert sheet.line(0).text[sheet.line(0).lead :].startswith("import")


def test_a_line_longer_than_the_screen_keeps_its_number(project: Path) -> None:
    (project / "long.txt").write_text("x" * 100 + "\nend\n")
    preview = read_preview(Workspace(project), "long.txt")
    sheet = SourceLayout(preview.lines, "", 40, INKS)
    texts = [sheet.line(y).text.rstrip() for y in range(len(sheet))]

    assert texts[0].startswith("1 x")
    assert texts[1].startswith("↪ x")
    assert texts[-1] == "2 end"
    assert sum(text.count("x") for text in texts) == 100
    assert [sheet.line(y).joint for y in range(len(sheet))] == ["\n", "", "", "\n"]


def test_what_cannot_be_seen_is_shown(project: Path) -> None:
    (project / "trojan.py").write_text("if a:\u202e # \x1b[2J\n")
    preview = read_preview(Workspace(project), "trojan.py")
    assert list(preview.lines.texts()) == ["if a:⟨U+202E⟩ # ␛[2J"]


def test_binary_big_missing_and_outside_say_so(project: Path, tmp_path: Path) -> None:
    (project / "image.png").write_bytes(b"\x89PNG\0\0")
    with (project / "big.txt").open("wb") as file:
        file.truncate(LONGEST + 1)
    (tmp_path / "secret").write_text("secret")
    (project / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(project / "pipe")

    def problem(path: str) -> str:
        preview = read_preview(Workspace(project), path)
        assert not preview.lines.total
        return preview.problem

    assert "binary" in problem("image.png")
    assert "2,000,001 bytes" in problem("big.txt")
    assert "no such file" in problem("none.txt")
    assert "outside the project" in problem("link")
    assert "FIFO" in problem("pipe")


def test_encoding_is_told_where_it_is_another(project: Path) -> None:
    (project / "old.txt").write_bytes("älter\r\n".encode("latin-1"))
    preview = read_preview(Workspace(project), "old.txt")
    assert (preview.encoding, list(preview.lines.texts())) == ("ISO-8859-1", ["älter"])
