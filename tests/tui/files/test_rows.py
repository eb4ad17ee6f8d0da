"""The rows of the file tree: open directories, what is gone, and what a filter found."""

from cogency_tui.tui.files.git_marks import GitMarks
from cogency_tui.tui.files.rows import ROOT, FileRows, Node, draw_file, draw_found
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_unit import FileChange

INKS = theme_styles_of("night")


def rows() -> FileRows:
    rows = FileRows()
    rows.list_directory(ROOT, [Node("src", "src", True), Node("README.md", "README.md", False)])
    rows.list_directory("src", [Node("api", "src/api", True), Node("app.py", "src/app.py", False)])
    return rows


def paths(rows: FileRows) -> list[str]:
    return [node.path for _depth, node in rows.rows]


def drawn(rows: FileRows, width: int = 30) -> list[str]:
    lines = [draw_file(rows, row, width, INKS, "surface") for row in rows.rows]
    assert all(width_of(line.segments) == width for line in lines)
    return [line.text for line in lines]


def test_what_is_open_is_listed_in_its_place() -> None:
    tree = rows()
    assert paths(tree) == ["src", "README.md"]
    tree.open.add("src")
    tree.arrange()
    assert paths(tree) == ["src", "src/api", "src/app.py", "README.md"]


def test_the_same_entries_again_are_no_news() -> None:
    tree = rows()
    before = tree.rows
    assert not tree.list_directory(ROOT, [Node("src", "src", True), Node("README.md", "README.md", False)])
    assert tree.rows is before


def test_a_directory_that_went_takes_what_was_below_it_along() -> None:
    tree = rows()
    tree.open |= {"src", "src/api", "srcx"}
    tree.forget("src")
    assert tree.open == {ROOT, "srcx"}


def test_what_the_agent_changed_is_opened_and_marked() -> None:
    tree = rows()
    assert tree.change({"src/api/views.py": FileChange("src/api/views.py", 4, 1)}) == ["src", "src/api"]
    tree.list_directory("src/api", [Node("views.py", "src/api/views.py", False)])

    assert drawn(tree)[2] == "    ● views.py           +4 −1"
    tree.open.discard("src/api")
    tree.arrange()
    assert draw_file(tree, tree.rows[1], 30, INKS, "surface").segments[1].style == INKS("edit")


def test_what_git_says_is_a_letter_and_what_is_gone_is_shown_struck_out() -> None:
    tree = rows()
    tree.open.add("src")
    letters = {"src/app.py": "M", "src/old.py": "D", "README.md": "?"}
    tree.mark(GitMarks(letters, {"src": "M"}, {"src": ("old.py",)}))

    assert drawn(tree) == [
        "▾ src                         ",
        "  ▸ api                       ",
        "  M app.py                    ",
        "  D old.py                    ",
        "? README.md                   ",
    ]
    assert draw_file(tree, tree.rows[3], 30, INKS, "surface").segments[2].style == INKS(
        "dim", attributes="strike"
    )
    tree.open.discard("src")
    tree.arrange()
    assert drawn(tree)[0].rstrip() == "▸ src                        M"


def test_beside_the_mark_of_a_change_only_another_letter_than_modified_is_shown() -> None:
    tree = rows()
    tree.change({"README.md": FileChange("README.md", 2, 0)})
    tree.mark(GitMarks({"README.md": "M"}))
    assert drawn(tree)[-1] == "● README.md                 +2"
    tree.mark(GitMarks({"README.md": "A"}))
    assert drawn(tree)[-1] == "● README.md               +2 A"


def test_in_a_narrow_pane_the_counts_give_way_to_the_name() -> None:
    tree = rows()
    tree.change({"README.md": FileChange("README.md", 20, 10)})
    assert drawn(tree, 19)[-1] == "● README.md +20 −10"
    assert drawn(tree, 16)[-1].rstrip() == "● README.md"
    assert drawn(tree, 8)[-1] == "● READM…"
    tree.mark(GitMarks({"README.md": "A"}))
    assert drawn(tree, 13)[-1] == "● README.md A"
    assert drawn(tree, 12)[-1] == "● README.md "


def test_what_a_filter_found_stands_in_the_place_of_the_tree() -> None:
    tree = rows()
    tree.find(["src/app.py", "src/api/"])
    assert [(node.name, node.is_directory) for _depth, node in tree.rows] == [
        ("app.py", False),
        ("api", True),
    ]
    tree.find(None)
    assert paths(tree) == ["src", "README.md"]


def test_the_letters_that_were_meant_are_bright() -> None:
    line = draw_found(Node("app.py", "src/app.py", False), [4, 5], 30, INKS, "surface")
    bright = [segment.text for segment in line.segments if segment.style == INKS("accent", attributes="bold")]
    assert bright == ["ap"]
    assert draw_found(Node("a", "x" * 40 + "/a", False), [41], 10, INKS, "surface").text == "  x/a"
    line = draw_found(Node("app.py", "src/api/app.py", False), [1, 6, 8], 12, INKS, "surface")
    bright = [segment.text for segment in line.segments if segment.style == INKS("accent", attributes="bold")]
    assert (line.text, bright) == ("  s/a/app.py", ["a"])


def test_on_the_way_to_a_path_everything_is_opened() -> None:
    tree = rows()
    assert tree.reveal("src/api/views.py") == ["src", "src/api"]
    assert tree.reveal("src/api/views.py") == []


def test_fifty_thousand_files_in_a_directory_are_rows_like_any() -> None:
    tree = rows()
    tree.list_directory("src", [Node(f"f{n}", f"src/f{n}", False) for n in range(50_000)])
    tree.open.add("src")
    tree.arrange()
    assert len(tree.rows) == 50_002
    assert tree.rows[50_000][1].path == "src/f49999"
