"""Searching many files, also in a process of its own."""

import asyncio
import codecs
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.workspace import search_worker, text_search
from cogency_tui.workspace.paths import Workspace
from tests.workspace.conftest import Fill


def _lines(workspace: Workspace, content: str, pattern: str | None = None, context: int = 0) -> list[str]:
    return text_search.find_lines(workspace, workspace.locate("."), pattern, content, context).lines


def test_lines_are_found_in_the_order_of_the_tree(workspace: Workspace, fill: Fill) -> None:
    fill({"b.py": "x = 1\ny\nx = 2\n", "a/c.py": "  x\n", "d.txt": "none\n"})
    assert _lines(workspace, "x") == ["b.py", "1: x = 1", "3: x = 2", "a/c.py", "1:   x"]


def test_lines_of_files_with_one_match_each_stand_beside_their_path(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "x\n", "b": "y\nx\n"})
    assert _lines(workspace, "x") == ["a:1: x", "b:2: x"]
    assert _lines(workspace, "x", context=1) == ["a", "1: x", "b", "1- y", "2: x"]


def test_line_with_several_matches_is_shown_once(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "xx x\n"})
    found = text_search.find_lines(workspace, workspace.locate("."), None, "x", 0)
    assert (found.lines, found.matches, found.files) == (["a:1: xx x"], 1, 1)


def test_anchors_match_at_lines(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "one\r\ntwo\r\n", "b": "two"})
    assert _lines(workspace, "^two$") == ["a:2: two", "b:1: two"]


def test_end_of_file_is_no_line(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "x\n", "empty": ""})
    assert _lines(workspace, "^") == ["a:1: x", "empty:1: "]
    assert _lines(workspace, "$") == ["a:1: x", "empty:1: "]


def test_match_over_lines_is_shown_where_it_begins(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1\nbegin\nend\nbegin\nend\n"})
    assert _lines(workspace, r"begin\nend") == ["a", "2: begin", "4: begin"]


def test_context_lines_are_told_apart_from_matches(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "1\nx\n3\n4\n5\nx\n7\n", "b": "x\n"})
    assert _lines(workspace, "x", context=1) == [
        *("a", "1- 1", "2: x", "3- 3", "--", "5- 5", "6: x", "7- 7"),
        *("b", "1: x"),
    ]
    assert _lines(workspace, "x", pattern="a", context=2) == [
        *("a", "1- 1", "2: x", "3- 3", "4- 4", "5- 5", "6: x", "7- 7"),
    ]


def test_long_line_is_cut_around_the_match(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "-" * 5000 + "needle" + "-" * 5000 + "\n"})
    (line,) = _lines(workspace, "needle")
    assert "needle" in line
    assert len(line) < 400
    assert line.startswith("a:1: …")
    assert line.endswith("…")


def test_other_encodings_are_searched(workspace: Workspace) -> None:
    (workspace.root / "a").write_bytes(codecs.BOM_UTF16_LE + "naïve\n".encode("utf-16-le"))
    (workspace.root / "b").write_bytes("naïve\n".encode("latin-1"))
    assert _lines(workspace, "na.ve") == ["a:1: naïve", "b:1: naïve"]


def test_what_is_passed_over_is_counted(
    workspace: Workspace, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "LONGEST_FILE", 100)
    fill({"a": "x\n", "big": "x" * 101})
    (workspace.root / "binary").write_bytes(b"x\0")
    (workspace.root / "link").symlink_to("a")
    os.mkfifo(workspace.root / "pipe")
    found = text_search.find_lines(workspace, workspace.locate("."), None, "x", 0)
    assert (found.lines, found.searched, found.binary, found.large) == (["a:1: x"], 3, 1, 1)


def test_many_matches_are_counted_and_not_all_shown(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "x\n" * 300, "b": "x\n" * 300})
    found = text_search.find_lines(workspace, workspace.locate("."), None, "x", 0)
    assert (len(found.lines), found.matches, found.files) == (text_search.MOST_SHOWN + 1, 600, 2)
    fill({"c": "x\n" * 20_000})
    found = text_search.find_lines(workspace, workspace.locate("."), None, "x", 0)
    assert not found.complete


def test_one_file_can_be_searched(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "x\n", "s/b": "x\n"})
    found = text_search.find_lines(workspace, workspace.locate("s/b"), None, "x", 0)
    assert found.lines == ["s/b:1: x"]


@pytest.mark.parametrize("pattern", ["src/**/*.py", "deep/*.py", "*.py"])
def test_pattern_is_from_the_project_or_from_the_path(workspace: Workspace, fill: Fill, pattern: str) -> None:
    fill({"src/deep/a.py": "", "other/a.py": ""})
    found = text_search.find_names(workspace, workspace.locate("src"), pattern)
    assert found.lines == ["src/deep/a.py"]


def test_outside_directory_is_searched_under_its_full_path(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other" / "sub").mkdir(parents=True)
    (tmp_path / "other" / "sub" / "a.py").write_text("x\n")
    start = workspace.locate(str(tmp_path / "other"))
    assert text_search.find_names(workspace, start, "sub/*.py").lines == [
        str(tmp_path / "other" / "sub" / "a.py")
    ]


def test_file_name_with_a_newline_is_one_line(workspace: Workspace, fill: Fill) -> None:
    fill({"a\nb:1: forged": "x\n"})
    assert _lines(workspace, "x") == ["a\\nb:1: forged:1: x"]


@pytest.mark.parametrize(
    ("content", "told"), [("a(b", "position 1"), ("*x", "position 0"), ("a{99999999999}", "too large")]
)
def test_bad_expression_is_told_with_its_place(workspace: Workspace, content: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        text_search.find_lines(workspace, workspace.locate("."), None, content, 0)


async def test_expression_that_is_nested_too_deeply_is_told(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="regular expression"):
        await search_worker.find_lines(workspace, workspace.locate("."), None, "(" * 5000, 0)


@pytest.mark.exhaustive
async def test_isolated_search_finds_the_same(workspace: Workspace, fill: Fill) -> None:
    fill({"a.py": "x\n", "b.txt": "x\n", ".gitignore": "c*\n", "c.py": "x\n"})
    start = workspace.locate(".")
    assert await search_worker.find_lines(workspace, start, "*.py", "x", 0) == text_search.find_lines(
        workspace, start, "*.py", "x", 0
    )
    assert await search_worker.find_names(workspace, start, "*.py") == text_search.find_names(
        workspace, start, "*.py"
    )


@pytest.mark.exhaustive
async def test_name_that_is_no_text_survives_the_way(workspace: Workspace) -> None:
    (workspace.root / "caf\udce9").write_text("x\n")
    start = workspace.locate(".")
    assert (await search_worker.find_lines(workspace, start, None, "x", 0)).lines == ["caf\\udce9:1: x"]
    found = await search_worker.find_replacements(workspace, start, "caf*", "x", "y", False)
    assert found.files[0].path == b"caf\xe9"


async def test_lone_surrogate_in_an_argument_is_told(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        await search_worker.find_lines(workspace, workspace.locate("."), None, "\ud800", 0)


async def test_project_cannot_plant_modules_into_the_search(workspace: Workspace, fill: Fill) -> None:
    fill({"re.py": "raise SystemExit(9)", "msgspec.py": "raise SystemExit(9)", "a.txt": "x\n"})
    before = Path.cwd()
    os.chdir(workspace.root)
    try:
        found = await search_worker.find_lines(workspace, workspace.locate("."), "*.txt", "x", 0)
    finally:
        os.chdir(before)
    assert found.lines == ["a.txt:1: x"]


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
async def test_expression_that_takes_forever_is_stopped(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "a" * 60 + "!\n"})
    with pytest.raises(ToolError, match=r"longer than 0\.5 s"):
        await search_worker.find_lines(workspace, workspace.locate("."), None, "(a+)+$", 0, seconds=0.5)


@pytest.mark.timeout(60)
async def test_cancelled_search_leaves_no_process(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "a" * 60 + "!\n"})
    before = _children()
    search = asyncio.create_task(
        search_worker.find_lines(workspace, workspace.locate("."), None, "(a+)+$", 0)
    )
    deadline = time.monotonic() + 30
    while _children() <= before:
        assert time.monotonic() < deadline
        await asyncio.sleep(0)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert _children() <= before


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the alarm ends it, a minute later")
def test_search_ends_with_a_program_that_was_killed(workspace: Workspace, fill: Fill) -> None:
    fill({"a": "a" * 60 + "!\n"})
    program = (
        "import asyncio, sys; from pathlib import Path; from cogency_tui.workspace import paths, search_worker;"
        "w = paths.Workspace(Path(sys.argv[1]));"
        "asyncio.run(search_worker.find_lines(w, w.locate('.'), None, '(a+)+$', 0))"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(workspace.root)])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while not children.read_text().split():
        assert parent.poll() is None
    search = Path("/proc", children.read_text().split()[0])
    # Until it has asked for it, the kernel cannot know that it is to end with its parent.
    while int((search / "stat").read_text().rpartition(")")[2].split()[11]) < 30:
        assert parent.poll() is None
    parent.kill()
    parent.wait()
    while _runs(search):
        time.sleep(0.01)


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _children() -> set[str]:
    """Those of this very process that run; servers that other tests started for the whole session among them."""
    found = set[str]()
    for task in Path("/proc/self/task").iterdir():
        # A thread may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update((task / "children").read_text().split())
    return {number for number in found if _runs(Path("/proc", number))}
