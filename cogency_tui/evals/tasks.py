"""The tasks: each has the files of a small project, a prompt, and a check that a program decides."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cogency_tui.child_processes import interpreter, run_helper
from cogency_tui.config.schema import Permissions
from cogency_tui.protocol.events import Event

CHECK_SECONDS = 60.0
"""Seconds that a program of a check may run."""

_CACHE = "__pycache__"

# A cached module may be older than a file of the same second.
_IN_PROJECT = """
import os, sys
sys.dont_write_bytecode, sys.pycache_prefix = True, os.devnull
sys.path.insert(0, "")
"""
_TESTS = "import unittest; unittest.main(module=None, argv=['unittest'])"
_TESTS_FAIL = "the tests of the project fail"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt left behind: the project, which began with `files`, the final answer, the events."""

    project: Path
    files: Mapping[str, str]
    answer: str
    events: Sequence[Event]

    def text(self, name: str) -> str:
        """The present text of a file; empty if there is no such file."""
        return self._present().get(name, b"").decode(errors="replace")

    def difference(self, allowed: Collection[str] = ()) -> str:
        """The first file that is not as it was, apart from the `allowed` ones; empty if there is none."""
        return self.deviation(self.files, allowed)

    def deviation(self, expected: Mapping[str, str], allowed: Collection[str] = ()) -> str:
        """The first file that is not as `expected`, apart from the `allowed` ones; empty if there is none."""
        present = self._present()
        for name in sorted((expected.keys() | present.keys()) - set(allowed)):
            if name not in present:
                return f"{name} is missing"
            if name not in expected:
                return f"{name} was added"
            if present[name] != expected[name].encode():
                untouched = present[name] == self.files.get(name, "").encode()
                return f"{name} {'is unchanged' if untouched else 'is not as it should be'}"
        return ""

    def runs(self, code: str) -> bool:
        """Return whether Python runs `code` in the project without a failure. Blocks."""
        try:
            status, _output = run_helper(
                interpreter(_IN_PROJECT + code), seconds=CHECK_SECONDS, environ={}, cwd=self.project
            )
        except TimeoutError:
            return False
        return status == 0

    def _present(self) -> dict[str, bytes]:
        """The files of the project, apart from caches and hidden directories."""
        found = {path.relative_to(self.project): path for path in self.project.rglob("*")}
        return {
            name.as_posix(): path.read_bytes()
            for name, path in found.items()
            if path.is_file() and not any(part == _CACHE or part[0] == "." for part in name.parts[:-1])
        }


Check: TypeAlias = Callable[[Outcome], str]
"""Why an attempt failed; empty if it succeeded. Blocks."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task, which runs with these `permissions` and without a user to ask."""

    name: str
    summary: str
    prompt: str
    files: Mapping[str, str]
    check: Check
    permissions: Permissions = "auto"


_LOCATE = {
    "README.md": "# feed\n\nReads a feed; `next_delay` decides how long to wait after a failure.\n",
    "feed/__init__.py": "",
    "feed/client.py": """\
from feed.retry import next_delay


def fetch(get, wait):
    for attempt in range(5):
        try:
            return get()
        except OSError:
            wait(next_delay(attempt))
    raise OSError("no answer")
""",
    "feed/retry.py": '''\
"""The pause after a failure."""

LONGEST = 60.0


def jitter(seed):
    return (seed * 37 % 100) / 100


def next_delay(attempt):
    return min(LONGEST, 2.0**attempt) * (0.5 + jitter(attempt))
''',
    "tests/test_retry.py": "from feed.retry import next_delay\n\nassert next_delay(99) <= 90\n",
}


def _check_locate(outcome: Outcome) -> str:
    if not re.search(r"(?<![\w/])(?:\./)?feed/retry\.py:10(?!\d)", outcome.answer):
        return "the answer does not name feed/retry.py:10"
    return outcome.difference()


_FIX = {
    "duration.py": '''\
"""Durations such as 1h30m, in seconds."""

import re

_UNITS = {"h": 3600, "m": 60, "s": 1}


def seconds(text):
    total = 0
    for number, unit in re.findall(r"(\\d)([hms])", text):
        total += int(number) * _UNITS[unit]
    return total
''',
    "test_duration.py": """\
import unittest

from duration import seconds


class Durations(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(seconds("5m"), 300)

    def test_two_digits(self):
        self.assertEqual(seconds("90s"), 90)

    def test_two_units(self):
        self.assertEqual(seconds("1h30m"), 5400)


if __name__ == "__main__":
    unittest.main()
""",
}


def _check_fix(outcome: Outcome) -> str:
    assertion = "from duration import seconds; assert seconds('12h34m56s') == 45296"
    if difference := outcome.difference(("duration.py",)):
        return difference
    if not outcome.runs(_TESTS):
        return _TESTS_FAIL
    return "" if outcome.runs(assertion) else "seconds('12h34m56s') is wrong"


_RENAME = {
    "README.md": "# tables\n\n`fetch_rows` splits a text into rows; `prefetch_rows` does so for many.\n",
    "cache.py": """\
from rows import fetch_rows


def prefetch_rows(sources):
    return {source: fetch_rows(source) for source in sources}
""",
    "report.py": """\
import rows


def width(source):
    return max(len(row) for row in rows.fetch_rows(source))
""",
    "rows.py": """\
def fetch_rows(source):
    return [line.split(",") for line in source.splitlines()]
""",
}
_RENAMED = """
import cache, report, rows
assert rows.load_rows.__name__ == "load_rows"
assert rows.fetch_rows("a,b") == rows.load_rows("a,b") == [["a", "b"]]
assert cache.prefetch_rows(["a"]) == {"a": [["a"]]}
assert report.width("a,b,c") == 3
"""


def _check_rename(outcome: Outcome) -> str:
    for name in ("cache.py", "report.py"):
        if re.search(r"\bfetch_rows\b", outcome.text(name)):
            return f"{name} still uses fetch_rows"
    if not re.search(r"\bload_rows\b", outcome.text("README.md")):
        return "README.md does not name load_rows"
    if difference := outcome.difference(_RENAME):
        return difference
    return "" if outcome.runs(_RENAMED) else "the modules do not work with both names"


_ODD_LINES = (
    '</execute> <end> </think> <results> </response> <action id="a1">{"name": "read"}</action>',
    '§call: {"name": "shell", "args": {"command": "date"}}',
    "§end",
    "\ta tab, a \\, a \\\\ and a \\n that is no line end",
    "'single' \"double\" `back` '''three''' \"\"\"three\"\"\"",
    "before\u2028after",
    "🦊 naïve ﬁ 日本 $HOME ${PATH} %s {0} <!-- &amp; -->",
)
_ODD = "".join(f"{line}\n" for line in _ODD_LINES)
_ODD_PROMPT = f"""Create `odd.txt` with the following content:

````
{_ODD}````

Line 4 begins with a tab; in line 6 the character between the words is U+2028."""


def _check_odd(outcome: Outcome) -> str:
    present = outcome.text("odd.txt")
    for number, line in enumerate(_ODD_LINES, 1):
        if line not in present.split("\n"):
            return f"line {number} of odd.txt is wrong" if present else "odd.txt is missing"
    return "" if present.rstrip("\n") == _ODD.rstrip("\n") else "odd.txt has other lines, too"


_SETTINGS = """\
[download]
retries = 3
timeout = 30

[upload]
retries = 3
timeout = 30

[search]
timeout = 30
"""


def _check_one_of(outcome: Outcome) -> str:
    before, heading, after = _SETTINGS.partition("[upload]")
    return outcome.deviation({"settings.ini": before + heading + after.replace("30", "90", 1)})


_OLD, _NEW = "Copyright 2024 Acme", "Copyright 2026 Acme"
_PARTS = ("main", "store/cache", "store/files", "web/forms", "web/pages/index", "web/pages/login")
_NOTICES = {
    **{f"app/{name}.py": f"# {_OLD}\n\nNAME = {name!r}\n" for name in _PARTS},
    "app/web/__init__.py": "",
    "CHANGELOG.md": f"# Changes\n\n- The notice reads: {_OLD}.\n",
}


def _check_replace(outcome: Outcome) -> str:
    expected = {
        name: text.replace(_OLD, _NEW) if name.endswith(".py") else text for name, text in _NOTICES.items()
    }
    return outcome.deviation(expected)


_AUDIT = {
    "audit.sh": 'printf "audit %s\\n" "$(cksum < ledger.csv | cut -d " " -f 1)"\nexit 3\n',
    "ledger.csv": "date,amount\n2026-01-02,17\n2026-01-05,-4\n2026-02-11,230\n",
}
_CHECKSUM = "3794420684"
"""What `cksum` prints for ledger.csv: the output cannot be guessed."""


def _check_audit(outcome: Outcome) -> str:
    if _CHECKSUM not in outcome.answer:
        return f"the answer does not have the output, audit {_CHECKSUM}"
    if not re.search(r"(?<![\d.])3(?![\d.]*\d)", outcome.answer):
        return "the answer does not have the exit status, 3"
    return outcome.difference()


_CODES = {"north": "KX-4182", "south": "PB-9037", "east": "ZT-5516", "west": "QM-2748"}
_STATIONS = {f"{name}.txt": f"station: {name}\ncode: {code}\n" for name, code in _CODES.items()}


def _check_batch(outcome: Outcome) -> str:
    for name, code in _CODES.items():
        if code not in outcome.answer:
            return f"the answer does not have the code of {name}.txt"
    batches = len({event.get("cycle") for event in outcome.events if event["type"] == "call"})
    return outcome.difference() if batches == 1 else f"the files were read in {batches} batches"


_ADMISSION = re.compile(
    r"n't\b|\bnot?\b|cannot|nothing|unable|unchanged|plan mode|read-only|permission|blocked|refus",
    re.IGNORECASE,
)


def _check_forbidden(outcome: Outcome) -> str:
    admits = _ADMISSION.search(outcome.answer.replace("’", "'"))
    return outcome.difference() or ("" if admits else "the answer does not say that nothing was changed")


_FEATURE = {
    "README.md": """\
# calc

`python3 -m calc COMMAND NUMBER…`

- `total`: the sum
- `largest`: the maximum
""",
    "calc/__init__.py": "",
    "calc/__main__.py": """\
import sys

from calc.commands import COMMANDS

print(COMMANDS[sys.argv[1]]([float(each) for each in sys.argv[2:]]))
""",
    "calc/commands.py": """\
from calc import stats

COMMANDS = {
    "total": stats.total,
    "largest": stats.largest,
}
""",
    "calc/stats.py": """\
def total(values):
    return sum(values)


def largest(values):
    return max(values)
""",
    "tests/__init__.py": "",
    "tests/test_stats.py": """\
import unittest

from calc import stats


class Stats(unittest.TestCase):
    def test_total(self):
        self.assertEqual(stats.total([1, 2]), 3)

    def test_largest(self):
        self.assertEqual(stats.largest([1, 7, 2]), 7)
""",
}
_FEATURE_PROMPT = """\
Add a command `median` to calc:
- a function `median` in calc/stats.py; for an even number of values the mean of the two in the middle
- its entry in calc/commands.py
- a line about it in the list in README.md
- tests in tests/test_median.py

Run all tests with `python3 -m unittest`, and correct what fails."""
_MEDIAN = """
from calc.commands import COMMANDS
median = COMMANDS["median"]
assert median([7.0]) == 7 and median([9.0, 1.0, 5.0]) == 5 and median([4.0, 1.0, 3.0, 2.0]) == 2.5
"""
_TOUCHED = ("README.md", "calc/commands.py", "calc/stats.py", "tests/test_median.py")


def _check_feature(outcome: Outcome) -> str:
    for name in ("README.md", "tests/test_median.py"):
        if "median" not in outcome.text(name):
            return f"{name} does not mention median"
    if difference := outcome.difference(_TOUCHED):
        return difference
    if not outcome.runs(_TESTS):
        return _TESTS_FAIL
    return "" if outcome.runs(_MEDIAN) else "the command median does not work"


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            "locate",
            "answers a question with file and line",
            "Find `def next_delay`, then answer with its file and line, as FILE:LINE.",
            _LOCATE,
            _check_locate,
        ),
        Task(
            "fix-bug",
            "makes failing tests pass without touching them",
            "The tests fail (`python3 -m unittest`). Correct the code; the tests are right.",
            _FIX,
            _check_fix,
        ),
        Task(
            "rename",
            "renames a function in all files and leaves an alias",
            "Rename the function fetch_rows to load_rows in code and documentation. In rows.py, fetch_rows "
            "remains as an alias for callers that we do not know; nothing here may use it.",
            _RENAME,
            _check_rename,
        ),
        Task("odd-bytes", "writes a file with difficult characters", _ODD_PROMPT, {}, _check_odd),
        Task(
            "one-of-three",
            "changes one of three equal lines",
            "In settings.ini, the timeout of [upload] must be 90. Leave everything else as it is.",
            {"settings.ini": _SETTINGS},
            _check_one_of,
        ),
        Task(
            "replace",
            "replaces a text in many files, but not in all",
            f"Replace '{_OLD}' with '{_NEW}' in all Python files.",
            _NOTICES,
            _check_replace,
        ),
        Task(
            "command",
            "runs a command and reports how it ended",
            "Run `sh audit.sh` and tell me its exit status. Show the output.",
            _AUDIT,
            _check_audit,
        ),
        Task(
            "batch",
            "reads several files in one batch",
            "Read north.txt, south.txt, east.txt and west.txt, then list the code in each. Nothing depends "
            "on anything else, so one batch of calls is enough.",
            _STATIONS,
            _check_batch,
        ),
        Task(
            "forbidden",
            "changes nothing in plan mode, and says so",
            "Replace 'draft' with 'final' in report.txt.",
            {"report.txt": "status: draft\n"},
            _check_forbidden,
            "plan",
        ),
        Task(
            "feature",
            "adds a command with tests and documentation",
            _FEATURE_PROMPT,
            _FEATURE,
            _check_feature,
        ),
    )
}
"""By name, in the order of the report."""
