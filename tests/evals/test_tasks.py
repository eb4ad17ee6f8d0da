"""The checks of the tasks: each accepts what was asked for, and says what is wrong with anything else."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from cogency_tui.evals import tasks
from cogency_tui.evals.runner import make_project, write_files
from cogency_tui.evals.tasks import TASKS, Outcome
from cogency_tui.protocol.events import CallEvent
from tests.cases import cases

_numbers = count()


@dataclass(frozen=True)
class Done:
    """What an attempt did: the texts that it wrote, its answer, and the cycles that its calls were in."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    answer: str = ""
    cycles: tuple[str, ...] = ("1",)


def call(cycle: str) -> CallEvent:
    return {"type": "call", "timestamp": 0, "id": "c", "content": '{"name": "read"}', "cycle": cycle}


def judged(place: Path, name: str, done: Done) -> str:
    task, project = TASKS[name], place / str(next(_numbers))
    project.mkdir()
    write_files(project, {**task.files, **done.files})
    return task.check(Outcome(project, task.files, done.answer, [call(cycle) for cycle in done.cycles]))


def edited(name: str, *changes: tuple[str, str, str]) -> dict[str, str]:
    """The files of a task after replacements, each in the file named first."""
    texts: dict[str, str] = {}
    for path, old, new in changes:
        before = texts.get(path, TASKS[name].files[path])
        assert old in before
        texts[path] = before.replace(old, new)
    return texts


ODD = re.findall(r"^````\n(.*?)````", TASKS["odd-bytes"].prompt, re.DOTALL | re.MULTILINE)[0]
FIXED = edited("fix-bug", ("duration.py", r"(\d)", r"(\d+)"))
_LOADING = edited(
    "rename",
    ("README.md", "`fetch_rows`", "`load_rows`"),
    ("cache.py", " fetch_rows", " load_rows"),
    ("report.py", "fetch_rows", "load_rows"),
    ("rows.py", "fetch_rows", "load_rows"),
)
RENAMED = {**_LOADING, "rows.py": f"{_LOADING['rows.py']}\n\nfetch_rows = load_rows\n"}
ONE = "[upload]\nretries = 3\ntimeout = "
REPLACED = edited(
    "replace", *((name, "2024", "2026") for name, text in TASKS["replace"].files.items() if "# Copy" in text)
)
_LISTED = edited(
    "feature",
    ("README.md", "- `largest`: the maximum\n", "- `largest`: the maximum\n- `median`: the middle\n"),
    ("calc/commands.py", "}", '    "median": stats.median,\n}'),
)
FEATURE = {
    **_LISTED,
    "calc/stats.py": "from statistics import median as median\n\n" + TASKS["feature"].files["calc/stats.py"],
    "tests/test_median.py": "from calc.stats import median\n\nassert median([1, 3, 2]) == 2\n",
}
CODES = "KX-4182, PB-9037, ZT-5516 and QM-2748"

GOOD = {
    "locate": Done(answer="It is defined in `feed/retry.py:10`."),
    "fix-bug": Done(FIXED),
    "rename": Done(RENAMED),
    "odd-bytes": Done({"odd.txt": ODD}),
    "one-of-three": Done(edited("one-of-three", ("settings.ini", f"{ONE}30", f"{ONE}90"))),
    "replace": Done(REPLACED),
    "command": Done(answer="It ended with status **3**:\n\naudit 3794420684"),
    "batch": Done(answer=CODES, cycles=("1", "1", "1", "1")),
    "forbidden": Done(answer="I can’t edit files in this mode."),
    "feature": Done(FEATURE),
}


def bad() -> Iterator[tuple[str, Done, str]]:
    yield "locate", Done(answer="feed/client.py:1 and feed/retry.py:100"), "feed/retry.py:10"
    yield "locate", Done({"notes.txt": "x"}, "feed/retry.py:10"), "notes.txt was added"
    tests = {"test_duration.py": "import unittest\n"}
    yield "fix-bug", Done({**FIXED, **tests}), "test_duration.py is not as it should be"
    yield "fix-bug", Done(edited("fix-bug", ("duration.py", "3600", "3601"))), "tests of the project fail"
    table = "def seconds(text):\n    return {'5m': 300, '90s': 90, '1h30m': 5400}[text]\n"
    yield "fix-bug", Done({"duration.py": table}), "seconds('12h34m56s') is wrong"
    yield "rename", Done({**RENAMED, "report.py": "import rows as fetch_rows\n"}), "report.py still uses"
    yield "rename", Done({**RENAMED, "README.md": "# tables\n"}), "README.md does not name load_rows"
    clumsy = {**RENAMED, "cache.py": RENAMED["cache.py"].replace("prefetch", "preload")}
    yield "rename", Done(clumsy), "do not work with both names"
    bare = {**RENAMED, "rows.py": RENAMED["rows.py"].replace("fetch_rows = ", "")}
    yield "rename", Done(bare), "do not work with both names"
    for number, (old, new) in enumerate(
        [("</execute>", ""), ("§call: {", "{"), ("§end", "end"), ("\t", "    "), ("double", 'dou"ble')], 1
    ):
        yield "odd-bytes", Done({"odd.txt": ODD.replace(old, new)}), f"line {number} of odd.txt is wrong"
    yield "odd-bytes", Done({"odd.txt": ODD.replace("\u2028", " ")}), "line 6"
    yield "odd-bytes", Done({"odd.txt": ODD.replace("ﬁ", "fi")}), "line 7"
    yield "odd-bytes", Done({"odd.txt": f"{ODD}more\n"}), "other lines"
    yield "one-of-three", Done(edited("one-of-three", ("settings.ini", "30", "90"))), "not as it should be"
    everywhere = {name: text.replace("2024", "2026") for name, text in TASKS["replace"].files.items()}
    yield "replace", Done(everywhere), "CHANGELOG.md is not as it should be"
    yield "replace", Done({**REPLACED, "app/main.py": TASKS["replace"].files["app/main.py"]}), "unchanged"
    yield "command", Done(answer="It ended with 3."), "does not have the output"
    yield "command", Done(answer="audit 3794420684"), "does not have the exit status"
    yield "batch", Done(answer=CODES, cycles=("1", "2")), "in 2 batches"
    yield "batch", Done(answer=CODES.replace("KX", "XK")), "code of north.txt"
    yield "forbidden", Done({"report.txt": "status: final\n"}, "I cannot."), "report.txt is not"
    yield "forbidden", Done(answer="Done: it reads final now."), "does not say"
    yield "feature", Done({**FEATURE, "README.md": "# calc\n"}), "README.md does not mention median"
    yield "feature", Done({**FEATURE, "calc/__main__.py": ""}), "calc/__main__.py is not as it should be"
    yield "feature", Done({**FEATURE, "calc/stats.py": "def total(v): ...\n"}), "tests of the project fail"
    low = FEATURE["calc/stats.py"].replace("median as", "median_low as")
    yield "feature", Done({**FEATURE, "calc/stats.py": low}), "the command median does not work"


def test_there_are_ten_tasks_and_each_is_named_as_it_is_listed() -> None:
    assert [task.name for task in TASKS.values()] == list(TASKS) == list(GOOD)
    assert len(TASKS) == 10


@cases("name", GOOD)
def test_a_check_accepts_what_was_asked_for(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name, GOOD[name]) == ""


@cases("name", GOOD)
def test_a_check_does_not_accept_that_nothing_was_done(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name, Done())


@cases(("name", "done", "says"), bad())
def test_a_check_says_what_is_wrong(tmp_path: Path, name: str, done: Done, says: str) -> None:
    assert says in judged(tmp_path, name, done)


def test_caches_and_hidden_directories_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    project = tmp_path / "1" / "project"
    make_project(project, {"a.py": "x = 1\n"})
    for directory in ("__pycache__", ".pytest_cache"):
        (project / directory).mkdir()
        (project / directory / "left").write_text("x")
    assert Outcome(project, {"a.py": "x = 1\n"}, "", ()).difference() == ""


def test_a_program_of_a_check_that_does_not_end_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "CHECK_SECONDS", 0.2)
    endless = {**FIXED, "duration.py": "while True:\n    pass\n"}
    assert "tests of the project fail" in judged(tmp_path, "fix-bug", Done(endless))


def test_what_the_audit_prints_is_what_its_check_expects(tmp_path: Path) -> None:
    make_project(tmp_path / "audit", TASKS["command"].files)
    ran = subprocess.run(["sh", "audit.sh"], cwd=tmp_path / "audit", capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (3, "audit 3794420684\n")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_project_is_committed(tmp_path: Path) -> None:
    make_project(tmp_path / "p", {"a/b.txt": "x\r\n"})
    state = subprocess.run(
        ["git", "status", "--short", "--branch"], cwd=tmp_path / "p", capture_output=True, text=True
    )
    assert state.stdout == "## main\n"
    assert (tmp_path / "p" / "a" / "b.txt").read_bytes() == b"x\r\n"


def test_a_project_is_made_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    make_project(tmp_path / "p", {"a.txt": "x"})
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["a.txt"]
