"""`edit` and `replace`: exactly what was found, or nothing."""

import asyncio
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools import file_writes
from tests.tools.conftest import Bench

pytestmark = pytest.mark.usefixtures("searches_here")


async def test_edit_replaces_the_one_occurrence(bench: Bench) -> None:
    bench.put("app.py", "def f():\n    return 1\n")
    outcome = await bench.run("edit", file="app.py", old="return 1", new="return 2\n    # two")
    assert outcome.outcome == "+2 −1"
    assert outcome.content.startswith(
        "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n def f():\n-    return 1\n"
    )
    assert (bench.root / "app.py").read_text() == "def f():\n    return 2\n    # two\n"


async def test_edit_plan_shows_the_diff_and_changes_nothing(bench: Bench) -> None:
    path = bench.put("a", "x\n")
    intent = await bench.plan("edit", file="a", old="x", new="y")
    assert intent.detail == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"
    assert (intent.effect, intent.paths, intent.protected) == ("write", (path,), "")
    assert path.read_text() == "x\n"


async def test_edit_of_text_that_is_there_often_names_the_lines(bench: Bench) -> None:
    bench.put("a", "x = 1\ny\nx\nf(x)\n")
    with pytest.raises(ToolError, match=r"old occurs 3 times in a \(lines 1, 3, 4\)") as caught:
        await bench.plan("edit", file="a", old="x", new="z")
    assert caught.value.hint == (
        "Add lines around it until it is unique, or set all=true.\n1\tx = 1\n3\tx\n4\tf(x)"
    )
    outcome = await bench.run("edit", file="a", old="x", new="z", all=True)
    assert outcome.outcome == "+3 −3"
    assert (bench.root / "a").read_text() == "z = 1\ny\nz\nf(z)\n"


async def test_edit_counts_occurrences_that_overlap(bench: Bench) -> None:
    bench.put("a", "aaa")
    with pytest.raises(ToolError, match="2 times"):
        await bench.plan("edit", file="a", old="aa", new="b")


@pytest.mark.parametrize(
    ("content", "old", "told"),
    [
        (
            "def f():\n\tif x:\n\t\treturn 1\n",
            "def f():\n    if x:\n        return 1",
            "Line 2 is indented with a tab, old has 4 spaces:\nfile: \tif x:\nold:      if x:\n"
            "2 lines differ. The file has:\n1\tdef f():\n2\t\tif x:\n3\t\t\treturn 1",
        ),
        (
            "if x:\n    a = 1  \n    b = 2\n",
            "if x:\n    a = 1\n    b = 2",
            "Line 2 ends with 2 spaces, in old with nothing:\nfile:     a = 1  \nold:      a = 1",
        ),
        (
            "def compute(items):\n    total = sum(items)\n    return total\n",
            "def compute(items):\n    total = sum(item)\n    return total",
            "Line 2 differs:\nfile:     total = sum(items)\nold:      total = sum(item)",
        ),
        (
            "say(\u201chello\u201d)\n",
            'say("hello")',
            'Line 1 has \u201c U+201C (left double quotation mark) in column 5, old has ":\n'
            'file: say(\u201chello\u201d)\nold:  say("hello")',
        ),
        (
            "a\u00a0= 1\n",
            "a = 1",
            "Line 1 has U+00A0 (no-break space) in column 2, old has a space:\nfile: a\u00a0= 1\nold:  a = 1",
        ),
        (
            "cafe\u0301()\n",
            "caf\u00e9()",
            "Line 1 has e in column 4, old has \u00e9 U+00E9 (latin small letter e with acute):\n"
            "file: cafe\u0301()\nold:  caf\u00e9()",
        ),
        (
            "def f():\n\tprint(1)\n",
            "def f():\nyield 1",
            "Line 2 differs:\nfile: \tprint(1)\nold:  yield 1",
        ),
        ("x\ty\n", "x y", "Line 1 has a tab in column 2, old has a space:\nfile: x\ty\nold:  x y"),
        (
            "a = 1\rb = 2\n",
            "a = 1\nb = 2",
            "Line 1 has a carriage return in column 6, old has nothing:\nfile: a = 1\rb = 2\nold:  a = 1",
        ),
        (
            "one = 1\ntwo = 2\nthree = 3\n",
            "one = 1\nthree = 3",
            "old leaves out line 2 of the file:\ntwo = 2",
        ),
        (
            "one = 1\nthree = 3\n",
            "one = 1\ntwo = 2\nthree = 3",
            "old has a line before line 2 that the file does not have:\ntwo = 2",
        ),
        (
            "one = 1\ntwo = 2",
            "one = 1\ntwo = 2\nthree",
            "The file ends after line 2; old continues with:\nthree",
        ),
        ("one = 1\nline 10 BA\n", "line 10 B\n", "Line 2 differs:\nfile: line 10 BA\nold:  line 10 B"),
        ("x\n", "\n\nx\n", "It is there, but without the line breaks at its beginning or end."),
        ("a = 1\nb = 2\n", "1\ta = 1\n2\tb = 2", "old has the line numbers that read shows: leave them out."),
        ('print("a")\nb\n', 'print(\\"a\\")\\nb', "old is escaped twice"),
        (
            'compile(r"\\bword")\n',
            'compile(r"\bword")',
            r"The file has \b where old has a backspace character: write \\b in the JSON string.",
        ),
        (
            'PATH = "C:\\new\\table\\x00"\n',
            'PATH = "C:\new\table\0"',
            r"The file has \n where old has a line break: write \\n in the JSON string.",
        ),
        (
            'say("a\\tb\\n")\nend\n',
            'say("a\tb\\n")\nend',
            r"The file has \t where old has a tab: write \\t in the JSON string.",
        ),
        (
            'say("a\\nb\\x1b")\n',
            'say("a\\nb\x1b")',
            r"The file has \x1b where old has a control character: write \\x1b in the JSON string.",
        ),
        (
            'if a < b and c == "d":\n',
            "if a &lt; b and c == &quot;d&quot;:",
            'old has HTML entities where the file has the characters: write < for &lt;, " for &quot;.',
        ),
        (
            "it's\nso\n",
            "it&#39;s",
            "old has HTML entities where the file has the characters: write ' for &#39;.",
        ),
        (
            "def f():\n    pass\n\n\ndef g():\n    pass\n",
            "    pass\n\n\n\ndef g():",
            "The file has 2 blank lines before line 5, old has 3.",
        ),
        (
            "a = 1\n\nb = 2\n\nc = 3\n",
            "a = 1\n\nb = 2\nc = 3",
            "The file has 1 blank line before line 5, old has none.",
        ),
        (
            "a = 1\nb = 2\n",
            "a = 1\n\nb = 2",
            "The file has no blank lines before line 2, old has 1.",
        ),
        (
            f'x = 1\n    return re.sub(r"([a-z])([A-Z])", name){".strip()" * 9}\n',
            '("[a-z])([A-Z])"',
            "Line 2 differs:\nfile:     return re.sub(",
        ),
        # The passage with most of the text, not the first line that is alike.
        (
            "    return value\n\ndef g():\n    check(value)\n    return value\n",
            "def g():\n    check(values)\n    return value",
            "Line 4 differs:\nfile:     check(value)\nold:      check(values)",
        ),
        ("return xyz\n\treturn x\n", "    return x", "Line 2 is indented with a tab, old has 4 spaces"),
        ("a = foo( b)\n", "foo(b)", "Line 1 differs:\nfile: a = foo( b)\nold:  foo(b)"),
    ],
)
async def test_edit_that_fails_shows_the_line_that_differs(
    bench: Bench, content: str, old: str, told: str
) -> None:
    bench.put("a", content)
    with pytest.raises(ToolError, match="old is not in a") as caught:
        await bench.plan("edit", file="a", old=old, new="new")
    assert caught.value.hint.startswith(told)


@pytest.mark.exhaustive
async def test_edit_that_fails_answers_shortly_whatever_the_file(bench: Bench) -> None:
    line = "".join(f"value_{number} = call(argument_{number}) + " for number in range(5_000))
    bench.put("a", f"{line}\n" * 5 + "".join(f"row {number} of many\n" for number in range(5_000)))
    for old in (f"{line[:100_000]}changed", "\n".join(f"row {number} of mani" for number in range(3_000))):
        with pytest.raises(ToolError) as caught:
            await bench.plan("edit", file="a", old=old, new="new")
        assert 0 < len(caught.value.hint) < 4_000


async def test_edit_that_fails_says_nothing_that_cannot_be_sent(bench: Bench) -> None:
    bench.put("a", "value = compute(1)\n")
    with pytest.raises(ToolError) as caught:
        await bench.plan("edit", file="a", old="value = compute(\udfff)", new="new")
    assert "old:  value = compute(?)" in caught.value.advice
    caught.value.advice.encode()


@pytest.mark.parametrize("old", ["zzzzzzzz", "  \n \n", "zz\\nzz", "&lt;zz&gt;", "zz\n\nzz", "one\\n\ntwo"])
async def test_edit_of_text_like_nothing_there_is_told(bench: Bench, old: str) -> None:
    bench.put("a", "one\ntwo\n")
    with pytest.raises(ToolError, match="old is not in a"):
        await bench.plan("edit", file="a", old=old, new="y")


async def test_edit_with_newlines_fits_a_crlf_file(bench: Bench) -> None:
    bench.put("a", b"one\r\ntwo\r\nthree")
    await bench.run("edit", file="a", old="one\ntwo", new="1\n1.5\n2")
    assert (bench.root / "a").read_bytes() == b"1\r\n1.5\r\n2\r\nthree"


async def test_edit_keeps_encoding_mark_and_missing_newline(bench: Bench) -> None:
    bench.put("a", b"\xef\xbb\xbfone\ntwo")
    await bench.run("edit", file="a", old="one", new="é")
    assert (bench.root / "a").read_bytes() == b"\xef\xbb\xbf\xc3\xa9\ntwo"
    bench.put("b", b"caf\xe9\n")
    await bench.run("edit", file="b", old="caf\u00e9", new="th\u00e9")
    assert (bench.root / "b").read_bytes() == b"th\xe9\n"
    with pytest.raises(ToolError, match="ISO-8859-1"):
        await bench.run("edit", file="b", old="th", new="→")


async def test_edit_at_the_last_line_without_newline(bench: Bench) -> None:
    bench.put("a", "one\ntwo")
    outcome = await bench.run("edit", file="a", old="two", new="2")
    assert "\\ No newline at end of file" in outcome.content
    assert (bench.root / "a").read_text() == "one\n2"


@pytest.mark.parametrize(("old", "new"), [("x", "x"), ("x\r\n", "x\n")])
async def test_edit_that_changes_nothing_is_refused(bench: Bench, old: str, new: str) -> None:
    bench.put("a", "x\n")
    with pytest.raises(ToolError, match="the same"):
        await bench.plan("edit", file="a", old=old, new=new)


async def test_edit_with_a_lone_surrogate_changes_nothing(bench: Bench) -> None:
    bench.put("a", "x\n")
    with pytest.raises(ToolError, match="surrogate"):
        await bench.run("edit", file="a", old="x", new="\udfff")
    assert (bench.root / "a").read_text() == "x\n"


async def test_edit_lets_a_later_overwrite_pass(bench: Bench) -> None:
    bench.put("a", "x\n")
    await bench.run("read", file="a")
    await bench.run("edit", file="a", old="x", new="y")
    await bench.run("write", file="a", content="z\n", overwrite=True)
    assert (bench.root / "a").read_text() == "z\n"


async def test_edit_of_a_missing_file_is_told(bench: Bench) -> None:
    with pytest.raises(ToolError, match="no such file"):
        await bench.plan("edit", file="a", old="x", new="y")


@pytest.mark.exhaustive
async def test_cancelled_write_is_whole_when_it_is_over(bench: Bench) -> None:
    path = bench.put("a", "x\n" * 100_000)
    call = bench.registry.bind("edit", {"file": "a", "old": "x", "new": "y", "all": True}, bench.context)
    task = asyncio.ensure_future(call.run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert path.read_text() in ("x\n" * 100_000, "y\n" * 100_000)
    assert _names(bench.root) == ["a"]


async def test_replace_changes_every_file_that_matches(bench: Bench) -> None:
    bench.put("src/a.py", "old\nkeep\nold\n")
    bench.put("src/b.py", "old")
    bench.put("src/c.txt", "old")
    bench.put("node_modules/d.py", "old")
    bench.put(".gitignore", "gen/\n")
    bench.put("gen/e.py", "old")
    intent = await bench.plan("replace", pattern="*.py", old="old", new="new")
    assert intent.summary == "Replace 3 places in 2 files"
    assert set(intent.paths) == {bench.root / "src" / "a.py", bench.root / "src" / "b.py"}
    assert intent.detail.count("+++ b/src/") == 2
    outcome = await bench.run("replace", pattern="*.py", old="old", new="new")
    assert outcome.outcome == "3 places in 2 files"
    assert outcome.content.startswith("src/a.py +2 −2\nsrc/b.py +1 −1\n\n--- a/src/a.py")
    assert (bench.root / "src" / "a.py").read_text() == "new\nkeep\nnew\n"
    assert (bench.root / "src" / "b.py").read_text() == "new"
    assert (bench.root / "src" / "c.txt").read_text() == "old"
    assert (bench.root / "gen" / "e.py").read_text() == "old"


@pytest.mark.exhaustive
async def test_replace_with_an_expression_fills_in_groups(bench: Bench) -> None:
    bench.put("a.py", b"f(1)\r\nf(22)\r\n")
    await bench.run("replace", pattern="*.py", old=r"^f\((\d+)\)$", new=r"g(\1, \g<1>)", regex=True)
    assert (bench.root / "a.py").read_bytes() == b"g(1, 1)\r\ng(22, 22)\r\n"


@pytest.mark.exhaustive
async def test_replace_reads_a_backspace_in_an_expression_as_a_word_boundary(bench: Bench) -> None:
    bench.put("a", "word sword")
    await bench.run("replace", pattern="a", old="\bword", new="x", regex=True)
    assert (bench.root / "a").read_text() == "x sword"


async def test_backspaces_that_are_written_are_reported(bench: Bench) -> None:
    bench.put("a", "one\btwo\nthree\n")
    note = r"a now has a backspace character: in a JSON string \b is one. For a backslash and a b, write \\b."
    assert note not in (await bench.run("edit", file="a", old="three", new="3")).content
    assert f"[{note}]" in (await bench.run("edit", file="a", old="3", new="\b3")).content
    assert f"[{note}]" in (await bench.run("replace", pattern="a", old="3", new="\b3")).content
    created = await bench.run("write", file="new/a", content='compile("\bword")\n')
    assert f"[new/{note}]" in created.content


async def test_replace_of_text_takes_it_literally(bench: Bench) -> None:
    bench.put("a.py", "a.b acb\n")
    await bench.run("replace", pattern="*.py", old="a.b", new=r"\1")
    assert (bench.root / "a.py").read_text() == "\\1 acb\n"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"pattern": "*.rs", "old": "x", "new": "y"}, "No file matches"),
        ({"pattern": "*.py", "old": "zzz", "new": "y"}, "old is not in the 1 file"),
        ({"pattern": "*.py", "old": "x", "new": "x"}, "the same"),
        (
            {"pattern": "*.py", "old": "(x", "new": "y", "regex": True},
            r'regular expression, missing \), unterminated subpattern at position 0: "\(x"\.',
        ),
        ({"pattern": "*.py", "old": "x", "new": r"\2", "regex": True}, "is not a valid replacement"),
        ({"pattern": "*.py", "old": "y*", "new": "z", "regex": True}, "empty text"),
        ({"pattern": "*.py", "old": "x+", "new": "x", "regex": True}, "Nothing would change"),
        ({"pattern": "*.py", "old": "x", "new": "\ud800"}, "surrogate"),
    ],
)
async def test_replace_that_cannot_be_done_is_told(bench: Bench, args: dict[str, object], told: str) -> None:
    path = bench.put("a.py", "x\n")
    with pytest.raises(ToolError, match=told):
        await bench.run("replace", **args)
    assert path.read_text() == "x\n"


@pytest.mark.exhaustive
async def test_replace_writes_nothing_unless_it_can_write_all(bench: Bench) -> None:
    paths = [bench.put(f"{name}/x.py", "old\n") for name in "abc"]
    paths[2].chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        await bench.run("replace", pattern="*.py", old="old", new="new")
    assert [path.read_text() for path in paths] == ["old\n"] * 3
    assert [_names(path.parent) for path in paths] == [["x.py"]] * 3


async def test_replace_of_a_protected_file_says_why_it_asks(bench: Bench) -> None:
    bench.put("AGENTS.md", "old")
    bench.put("a.md", "old")
    assert "AGENTS.md" in (await bench.plan("replace", pattern="*.md", old="old", new="new")).protected


@pytest.mark.exhaustive
async def test_replace_shows_diffs_as_far_as_they_fit(bench: Bench) -> None:
    for number in range(40):
        bench.put(f"{number}.py", "old\n" * 300)
    content = (await bench.run("replace", pattern="*.py", old="old", new="new")).content
    assert "the rest of this file's diff is not shown" in content
    assert "more files are not shown" in content
    assert len(content) < 25_000


def _change(bench: Bench, name: str, before: bytes, after: bytes) -> file_writes.Change:
    return file_writes.Change(bench.context.workspace.locate(name), before, after, "")


def test_file_that_changed_after_it_was_prepared_is_not_overwritten(bench: Bench) -> None:
    first, second = bench.put("a", "a"), bench.put("b", "theirs")
    wanted = [_change(bench, "a", b"a", b"x"), _change(bench, "b", b"b", b"x")]
    with pytest.raises(ToolError, match="b has just changed"):
        file_writes.apply(bench.context.workspace, wanted)
    assert (first.read_text(), second.read_text()) == ("a", "theirs")
    assert _names(bench.root) == ["a", "b"]


def test_change_that_fails_half_way_is_taken_back(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = bench.put("one/a", "a"), bench.put("two/b", "b")
    workspace = bench.context.workspace
    wanted = [_change(bench, "one/a", b"a", b"x"), _change(bench, "two/b", b"b", b"x")]
    commit = workspace.commit

    def swapped(staged: file_writes.Staged) -> None:
        if staged.location.path == second:
            (bench.root / "two").rename(bench.root / "away")
            (bench.root / "two").symlink_to(tmp_path)
        commit(staged)

    monkeypatch.setattr(workspace, "commit", swapped)
    with pytest.raises(ToolError):
        file_writes.apply(workspace, wanted)
    assert first.read_text() == "a"
    assert (bench.root / "away" / "b").read_text() == "b"


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
