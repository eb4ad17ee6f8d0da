"""`find`, as a model sees it; tests/workspace/test_text_search.py has the searching itself."""

from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.workspace.text_search import MOST_NAMES
from tests.tools.conftest import Bench

pytestmark = pytest.mark.usefixtures("searches_here")


async def test_find_by_name(bench: Bench) -> None:
    bench.put("src/a.py", "")
    bench.put("b.py", "")
    outcome = await bench.run("find", pattern="*.py")
    assert outcome.outcome == "2 files"
    assert outcome.content == "b.py\nsrc/a.py"


async def test_find_by_content(bench: Bench) -> None:
    bench.put("src/a.py", "import os\n")
    bench.put("b.txt", "import os\nimport os\n")
    outcome = await bench.run("find", content=r"^import \w+", pattern="*.txt")
    assert outcome.outcome == "2 matches in 1 file"
    assert outcome.content == "b.txt\n1: import os\n2: import os"
    both = await bench.run("find", content="^import", context=1)
    assert both.content == "b.txt\n1: import os\n2: import os\nsrc/a.py\n1: import os"
    assert (await bench.run("find", content="^import", path="src")).content == "src/a.py:1: import os"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("\bword", "1: word"),
        ("a[\b]z", "3: a\bz"),
        ("a\\\bz", "3: a\bz"),
        (r"\\bword", "4: \\bword"),
    ],
)
async def test_a_backspace_in_an_expression_is_a_word_boundary(
    bench: Bench, content: str, found: str
) -> None:
    bench.put("a", "word\nsword\na\bz\n\\bword\n")
    assert (await bench.run("find", content=content)).content == f"a:{found}"


@pytest.mark.exhaustive
async def test_find_of_nothing_is_no_failure(bench: Bench) -> None:
    bench.put("a", "x")
    outcome = await bench.run("find", content="zzz")
    assert (outcome.outcome, outcome.failed) == ("nothing in 1 file", False)
    assert (await bench.run("find", pattern="*.rs")).outcome == "no file"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"pattern": "foo(bar"}, '[no file is called "foo(bar"; to search inside files use content]'),
        (
            {"pattern": "Main"},
            '[no file is called "Main"; there is src/main.py; to search inside files use content]',
        ),
        (
            {"pattern": "*.rs", "path": "src"},
            '[no file in src is called "*.rs"; to search inside files use content]',
        ),
        ({"pattern": "*.rs", "content": "x"}, '[no file is called "*.rs", so nothing was searched]'),
        ({"path": "empty", "content": "x"}, "[no file in empty, so nothing was searched]"),
        (
            {"content": "main", "path": "src"},
            '[no line matches "main" in the 1 file in src]\n[to ignore case, begin it with (?i)]',
        ),
        ({"content": "(?i)none"}, '[no line matches "(?i)none" in the 2 files]'),
        (
            {"content": "run(x)", "pattern": "*.py"},
            '[no line matches "run(x)" in the 1 file called "*.py"]\n'
            r"[1 file has it as literal text: to search for that, escape it: run\(x\)]",
        ),
    ],
)
async def test_find_of_nothing_says_what_else_could_be_meant(
    bench: Bench, args: dict[str, str], told: str
) -> None:
    bench.put("src/main.py", "run(x)\nMain\n")
    bench.put("notes.txt", "")
    (bench.root / "empty").mkdir()
    assert (await bench.run("find", **args)).content == told


async def test_find_says_what_it_leaves_out(bench: Bench) -> None:
    bench.put("a", "x\n" * 250)
    bench.put("b", b"x\0")
    content = (await bench.run("find", content="x")).content
    assert "[250 matches, the first 200 are shown: narrow the search]" in content
    assert "[files skipped: 1 binary]" in content


async def test_find_needs_something_to_look_for(bench: Bench) -> None:
    with pytest.raises(ToolError, match=r"pattern .* or content"):
        await bench.plan("find")


async def test_find_with_a_bad_expression_says_where(bench: Bench) -> None:
    with pytest.raises(ToolError, match=r'position 1: "f\(x"') as caught:
        await bench.run("find", content="f(x")
    assert caught.value.hint.endswith("\nTo match it literally: f\\(x")


async def test_find_outside_is_planned_as_such(bench: Bench, tmp_path: Path) -> None:
    assert (await bench.plan("find", content="x", path=str(tmp_path))).outside == str(tmp_path)
    with pytest.raises(ToolError, match="no such"):
        await bench.run("find", content="x", path="none")


@pytest.mark.exhaustive
async def test_find_by_name_produces_the_paths(bench: Bench) -> None:
    bench.put("a.py", "")
    bench.put("sub/b.py", "")
    assert (await bench.run("find", pattern="*.py")).produced.split("\n") == ["a.py", "sub/b.py"]
    assert (await bench.run("find", pattern="*.rs")).produced == ""


@pytest.mark.exhaustive
async def test_find_of_more_than_it_shows_produces_nothing_that_is_cut(bench: Bench) -> None:
    for number in range(MOST_NAMES + 1):
        bench.put(f"{number}.py", "")
    outcome = await bench.run("find", pattern="*.py")
    assert f"the first {MOST_NAMES} are shown" in outcome.content
    bench.context.takes_value = True
    with pytest.raises(ToolError, match=f"an output_key holds {MOST_NAMES} at most"):
        await bench.run("find", pattern="*.py")
