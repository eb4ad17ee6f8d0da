"""What the embedded model says of files that are not as they should be, and of those that it cannot find."""

import pytest

from tests.cases import cases
from tests.providers.project import Project, answer

LONG = "def run():\n    return 1\n" * 2000


@cases(
    ("name", "content", "expected"),
    [
        ("half.py", "class App:\n    x = (\n\nasync def go():\n", "it is not complete Python"),
        (
            "half.py",
            "class App:\n    x = (\n\nasync def go():\n",
            "class `App` (line 1)\n- async def `go` (line 4)",
        ),
        ("long.py", LONG, "4,000 lines, of which I saw 2,000"),
        ("imports.py", "from . import a\nfrom ..b.c import d\nimport os, sys\n", "`.`, `..b.c`, `os`, `sys`"),
        ("bad.json", "{", "it is not valid JSON"),
        ("bad.toml", "a =", "it is not valid TOML"),
        ("deep.json", "[" * 100_000, "it is not valid JSON"),
        ("list.json", "[1, 2, 3]", "a list of 3 items"),
        ("one.json", '"x"', 'a single value: `"x"`'),
        ("notes.txt", "one two\nthree", "3 words, the longest line has 7 characters"),
    ],
)
def test_a_file_is_described_as_far_as_it_can_be_read(name: str, content: str, expected: str) -> None:
    assert expected in answer(Project({name: content}), f"explain {name}")


def test_a_project_that_says_nothing_of_itself_is_described_by_its_files() -> None:
    said = answer(Project({"src/a.py": "a = 1\n"}), "explain the project")
    assert "a.py" in said
    assert "It has no README and no build file at its top that I know." in said


@cases(
    ("request_", "expected", "where"),
    [
        ("find nothere.py", "There is no file called `nothere.py`.", {}),
        ("find retry in src", "`retry` occurs in 1 line", {"path": "src"}),
        ("find retry in src/util.py", "`retry` occurs in 1 line", {"path": "src", "pattern": "util.py"}),
        ("list src/", "util.py", {"path": "src"}),
        ("show src/", "util.py", {"path": "src"}),
    ],
)
def test_it_looks_where_it_is_told_to(request_: str, expected: str, where: dict[str, str]) -> None:
    project = Project({"src/util.py": "def retry():\n    pass\n"})
    assert expected in answer(project, request_)
    assert where.items() <= project.made[0].args.items()


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("read", "I could not read `app.py`: `The person said no`. Nothing was undone."),
        ("edit", "Undoing failed: `The person said no`. `app.py` is unchanged."),
    ],
)
def test_an_undo_that_cannot_be_done_says_so_and_changes_nothing(tool: str, expected: str) -> None:
    project = _Turning({"app.py": "App\n"}, tool)
    assert expected in answer(project, "replace 'App' with 'Shop' in app.py", "undo")
    assert project.files == {"app.py": "Shop\n"}


class _Turning(Project):
    """A project in which one tool is refused after the first edit."""

    def __init__(self, files: dict[str, str], refused: str) -> None:
        super().__init__(files)
        self._then = frozenset((refused,))

    def _edit(self, file: str, old: str, new: str, all: bool = False) -> tuple[bool, str]:
        done = super()._edit(file, old, new, all)
        self.refused = self._then
        return done
