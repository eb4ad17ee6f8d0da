"""`read`, `write`, `list`."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError, WorkspaceError
from cogency_tui.tools import directory_tree
from cogency_tui.tools.files import LONGEST_LINE
from tests.cases import cases
from tests.pictures import SVG, picture
from tests.tools.conftest import Bench


async def test_read_numbers_the_lines(bench: Bench) -> None:
    bench.put("src/a.py", "one\n\n\tthree\n")
    outcome = await bench.run("read", file="src/a.py")
    assert outcome.outcome == "3 lines"
    assert outcome.content == "1\tone\n2\t\n3\t\tthree"


async def test_read_says_what_it_leaves_out(bench: Bench) -> None:
    bench.put("a", "".join(f"line {number}\n" for number in range(1, 1001)))
    outcome = await bench.run("read", file="a", start=10, lines=2)
    assert outcome.outcome == "lines 10 to 11 of 1,000"
    assert outcome.content == (
        "10\tline 10\n11\tline 11\n[lines 1 to 9 are not shown]\n"
        "[lines 12 to 1,000 are not shown: go on with start=12]"
    )


async def test_read_shows_the_last_lines_with_nothing_left_out_after(bench: Bench) -> None:
    bench.put("a", "1\n2\n3\n")
    assert "go on" not in (await bench.run("read", file="a", start=3)).content


async def test_read_cuts_long_lines_and_long_files(bench: Bench) -> None:
    bench.put("wide", "x" * 100_000 + "\nshort\n")
    wide = (await bench.run("read", file="wide")).content
    assert "98,000 more characters" in wide
    assert "1 long line was cut" in wide
    assert "2\tshort" in wide


@pytest.mark.parametrize(
    ("line", "limit", "ending"),
    [
        ("z", 1_000, "\n"),
        ("z", 5_000, "\r\n"),
        ("y" * 1000, 1_000, "\r\n"),
        ("y" * 1000, 30_000, "\n"),
        ("x" * 10_000, 1_000, "\n"),
        ("x" * 10_000, 5_000, "\n"),
        ("x" * 10_000, 30_000, "\r\n"),
    ],
    ids=lambda value: repr(value)[:10],
)
async def test_long_file_is_read_whole_in_pieces_that_are_sent_whole(
    bench: Bench, line: str, limit: int, ending: str
) -> None:
    bench.context.output_limit = limit
    # At least three pieces, however long the part of a line is that is shown.
    count = min(3_000, 4 * limit // min(len(line) + 8, LONGEST_LINE)) + 2
    bench.put("long", "".join(f"{line}{number}{ending}" for number in range(1, count + 1)).encode())
    start = 1
    seen: list[int] = []
    while start:
        content = (await bench.run("read", file="long", start=start)).content
        assert len(content) <= limit
        rows = [row for row in content.split("\n") if not row.startswith("[")]
        seen += [int(row.partition("\t")[0]) for row in rows]
        go_on = re.search(r"are not shown: go on with start=(\d+)\]", content)
        assert go_on or seen[-1] == count
        start = int(go_on[1]) if go_on else 0
        assert not start or start == seen[-1] + 1
    assert seen == list(range(1, count + 1))


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"caf\xe9\n", "[encoding: ISO-8859-1]"),
        (b"\xef\xbb\xbfx\n", "[encoding: UTF-8 with a byte order mark]"),
        (b"\xff\xfex\0\n\0", "[encoding: UTF-16 (little endian)]"),
        (b"a\r\nb\r\n", "[line endings: CRLF; edits may use plain newlines]"),
        (b"a\r\nb\n", "[line endings: CRLF and LF mixed]"),
        (b"a", "[no newline at the end of the file]"),
        (b"", "[the file is empty]"),
    ],
)
async def test_read_notes_what_is_unusual(bench: Bench, data: bytes, note: str) -> None:
    bench.put("a", data)
    assert note in (await bench.run("read", file="a")).content


async def test_read_past_the_end_is_told(bench: Bench) -> None:
    bench.put("a", "1\n")
    with pytest.raises(ToolError, match="a has 1 lines; start=5"):
        await bench.run("read", file="a", start=5)


@pytest.mark.parametrize(
    ("args", "wanted"),
    [({"start": 2}, "\xe9\n\nlast"), ({"start": 2, "lines": 1}, "\xe9\n"), ({"start": 4}, "last")],
)
async def test_read_produces_the_text_as_it_is(bench: Bench, args: dict[str, int], wanted: str) -> None:
    bench.put("a", "a\r\n\xe9\n\nlast")
    assert (await bench.run("read", file="a", **args)).produced == wanted


@pytest.mark.exhaustive
async def test_read_produces_more_than_it_shows(bench: Bench) -> None:
    whole = f"{'x' * 500}\r\n" * 3000
    bench.put("a", whole)
    outcome = await bench.run("read", file="a")
    assert "not shown" in outcome.content
    assert outcome.produced == whole


async def test_read_produces_nothing_of_an_empty_file(bench: Bench) -> None:
    bench.put("a", "")
    outcome = await bench.run("read", file="a")
    assert (outcome.content, outcome.produced) == ("[the file is empty]", "")


async def test_read_refuses_what_is_no_text(bench: Bench) -> None:
    bench.put("a", b"\0\1")
    with pytest.raises(ToolError, match="binary"):
        await bench.run("read", file="a")
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(ToolError, match="FIFO"):
        await bench.run("read", file="pipe")


async def test_read_outside_is_planned_as_such(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x\n")
    intent = await bench.plan("read", file=str(tmp_path / "other"))
    assert (intent.effect, intent.outside) == ("read", str(tmp_path / "other"))
    assert (await bench.plan("read", file="a")).outside == ""


async def test_name_with_a_control_character_is_protected_when_read(bench: Bench) -> None:
    assert "control character" in (await bench.plan("read", file="a\x1b[2J")).protected
    assert (await bench.plan("read", file=".git/config")).protected == ""


async def test_write_creates_a_file_and_its_directories(bench: Bench) -> None:
    outcome = await bench.run("write", file="new/a.py", content="x\ny\n")
    assert outcome.outcome == "created, 2 lines"
    assert (bench.root / "new" / "a.py").read_bytes() == b"x\ny\n"


async def test_write_plan_shows_the_whole_diff_and_writes_nothing(bench: Bench) -> None:
    intent = await bench.plan("write", file="new/a.py", content="x\n")
    assert intent.detail == "--- /dev/null\n+++ b/new/a.py\n@@ -0,0 +1 @@\n+x\n"
    assert (intent.effect, intent.paths) == ("write", (bench.root / "new" / "a.py",))
    assert _names(bench.root) == []


async def test_write_refuses_a_file_that_is_there(bench: Bench) -> None:
    bench.put("a", "old")
    with pytest.raises(ToolError, match="already exists") as caught:
        await bench.run("write", file="a", content="new")
    assert caught.value.hint.endswith("or read it and replace all of it with overwrite=true.")
    assert (bench.root / "a").read_text() == "old"


async def test_write_replaces_when_told_to(bench: Bench) -> None:
    bench.put("a", "old\nand\nmore\n")
    await bench.run("read", file="a")
    outcome = await bench.run("write", file="a", content="new\n", overwrite=True)
    assert outcome.outcome == "replaced, 1 line"
    assert outcome.lines == {"added": 1, "removed": 3}
    assert (bench.root / "a").read_text() == "new\n"


async def test_write_replaces_no_text_unread_unless_the_user_has_agreed(bench: Bench) -> None:
    bench.put("a", "old\n")
    bench.put("empty", "")
    bench.put("binary", b"\0\1\2")
    with pytest.raises(ToolError, match="a has to be read before it is replaced") as caught:
        await bench.run("write", file="a", content="new\n", overwrite=True)
    assert caught.value.hint.startswith("Read it, then repeat the call")
    for name in ("empty", "binary"):
        await bench.run("write", file=name, content="new\n", overwrite=True)
    assert (bench.root / "a").read_text() == "old\n"
    intent = await bench.plan("write", file="a", content="new\n", overwrite=True)
    bench.context = replace(bench.context, agreed=intent.detail)
    await bench.run("write", file="a", content="new\n", overwrite=True)
    assert (bench.root / "a").read_text() == "new\n"


async def test_write_refuses_a_file_that_changed_since_it_was_read(bench: Bench) -> None:
    bench.put("a", "old\n")
    await bench.run("read", file="a")
    bench.put("a", "theirs\n")
    with pytest.raises(ToolError, match="changed since it was read"):
        await bench.run("write", file="a", content="new\n", overwrite=True)
    await bench.run("read", file="a")
    await bench.run("write", file="a", content="new\n", overwrite=True)
    await bench.run("write", file="a", content="newer\n", overwrite=True)
    assert (bench.root / "a").read_text() == "newer\n"


async def test_write_keeps_line_endings_and_encoding(bench: Bench) -> None:
    bench.put("a", b"caf\xe9\r\n")
    await bench.run("read", file="a")
    await bench.run("write", file="a", content="th\u00e9\nno\n", overwrite=True)
    assert (bench.root / "a").read_bytes() == b"th\xe9\r\nno\r\n"


async def test_write_turns_to_utf8_when_the_encoding_has_no_place(bench: Bench) -> None:
    bench.put("a", b"caf\xe9\n")
    await bench.run("read", file="a")
    await bench.run("write", file="a", content="→\n", overwrite=True)
    assert (bench.root / "a").read_bytes() == "→\n".encode()


async def test_write_over_binary_is_shown_as_such(bench: Bench) -> None:
    bench.put("a", b"\0\1\2")
    intent = await bench.plan("write", file="a", content="x\n", overwrite=True)
    assert "Binary file a (3 bytes) is replaced" in intent.detail


async def test_write_of_a_lone_surrogate_is_refused(bench: Bench) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        await bench.run("write", file="a", content="x\ud800")
    assert _names(bench.root) == []


@cases("file", [".git/hooks/pre-commit", ".GIT/config", "AGENTS.md", ".bashrc", "a\x07"])
async def test_write_to_a_protected_place_says_why_it_asks(bench: Bench, file: str) -> None:
    assert (await bench.plan("write", file=file, content="x")).protected


async def test_write_outside_is_planned_as_such(bench: Bench, tmp_path: Path) -> None:
    intent = await bench.plan("write", file=str(tmp_path / "other"), content="x")
    assert intent.outside == str(tmp_path / "other")
    with pytest.raises(WorkspaceError, match="outside"):
        await bench.plan("write", file="../other", content="x")


async def test_list_is_a_tree_with_directories_first(bench: Bench) -> None:
    bench.put("z.txt", "x" * 3100)
    bench.put("src/deep/a.py", "xx")
    bench.put("src/b.py", "")
    bench.put("node_modules/x", "")
    (bench.root / "link").symlink_to("z.txt")
    outcome = await bench.run("list")
    assert outcome.outcome == "6 entries"
    assert outcome.content == "src/\n  deep/\n    a.py  2 B\n  b.py  0 B\nlink  (link)\nz.txt  3.1 kB"


async def test_list_says_which_directories_it_did_not_open(bench: Bench) -> None:
    bench.put("a/b/c/d", "")
    content = (await bench.run("list", depth=2)).content
    assert content == "a/\n  b/ …\n[directories marked with … were not opened]"
    assert "c/" in (await bench.run("list", path="a/b")).content


async def test_list_suggests_a_depth_where_none_was_given(bench: Bench) -> None:
    bench.put("a/b/c/d", "")
    content = (await bench.run("list")).content
    assert content.endswith("[directories marked with … were not opened: give depth, or path]")


async def test_list_with_a_pattern_shows_only_what_matches(bench: Bench) -> None:
    bench.put("src/a.py", "")
    bench.put("src/b.txt", "")
    bench.put("doc/c.txt", "")
    assert (await bench.run("list", pattern="*.py")).content == "src/\n  a.py  0 B"
    assert (await bench.run("list", pattern="*.rs")).content == "[nothing matches]"


async def test_list_of_a_large_tree_is_less_deep(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_tree, "MOST", 20)
    for number in range(30):
        bench.put(f"d{number % 6}/{number}", "")
    content = (await bench.run("list")).content
    assert "shown to depth 1, not 3: more than 20 entries" in content
    assert len(content.split("\n")) == 6 + 2
    for number in range(25):
        bench.put(f"flat/{number}", "")
    content = (await bench.run("list", path="flat")).content
    assert "only the first 20 entries" in content
    assert len(content.split("\n")) == 20 + 1


async def test_list_escapes_names(bench: Bench) -> None:
    bench.put("a\nb", "")
    assert (await bench.run("list")).content == "a\\nb  0 B"


async def test_list_of_an_empty_directory_and_of_a_file(bench: Bench) -> None:
    assert (await bench.run("list")).content == "[the directory is empty]"
    bench.put("a", "")
    with pytest.raises(WorkspaceError, match="a is a file, not a directory") as caught:
        await bench.run("list", path="a")
    assert caught.value.hint == "Use read."
    with pytest.raises(WorkspaceError, match="no such"):
        await bench.run("list", path="none")


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_an_image_is_read_for_the_model_to_see(bench: Bench) -> None:
    bench.put("docs/shot.png", picture())
    outcome = await bench.run("read", file="docs/shot.png")
    [image] = outcome.images
    assert (image["name"], image["width"], image["height"]) == ("docs/shot.png", 8, 6)
    assert outcome.outcome == "image, 8×6"
    assert outcome.content == f"[docs/shot.png: 8×6 pixels, {image['size']} bytes]"


async def test_an_image_is_known_by_its_bytes_and_a_text_by_its_own(bench: Bench) -> None:
    bench.put("notes.txt", picture("GIF"))
    bench.put("old.bmp", picture("BMP"))
    bench.put("large.png", "version https://git-lfs.github.com/spec/v1\n")
    bench.put("logo.svg", SVG)
    assert [
        (await bench.run("read", file=name)).images[0]["media_type"] for name in ("notes.txt", "old.bmp")
    ] == [
        "image/gif",
        "image/png",
    ]
    assert "git-lfs" in (await bench.run("read", file="large.png")).content
    assert "<svg" in (await bench.run("read", file="logo.svg")).content


async def test_a_damaged_image_is_refused_with_the_reason(bench: Bench) -> None:
    bench.put("shot.png", picture()[:40])
    with pytest.raises(
        ToolError, match=r"^shot\.png cannot be read as an image: it is damaged or cut off\.$"
    ):
        await bench.run("read", file="shot.png")
