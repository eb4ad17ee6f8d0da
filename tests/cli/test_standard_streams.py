"""Every command with each of its streams closed, full, or read by nobody, and some where the working directory is
gone: an exit status, and no traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from cogency_tui.cli.commands import COMMANDS
from tests import ROOT

pytestmark = pytest.mark.exhaustive

ARGUMENTS: Mapping[str, list[str]] = {
    **{name: [name] for name in COMMANDS},
    "run": ["run", "hello"],
    "recall": ["recall", "anything"],
    "trust": ["trust", "--list"],
    "conversations": ["conversations", "list"],
    "conversations show": ["conversations", "show", "nothing"],
    "edits": ["edits", "list"],
    "permissions": ["permissions", "list"],
    "config": ["config", "show"],
    "completions": ["completions", "bash"],
    "profile": ["profile", "show"],
    "eval": ["eval", "forbidden"],
    # They begin no work.
    "serve": ["serve", "--port", "none"],
    "bench": ["bench", "--help"],
    "interface": [],
    "plain lines": ["--linear", "hello"],
    "help": ["--help"],
    "no option": ["--nothing"],
}
"""A short run of each command."""

WAYS = ["well", "<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">broken", "2>broken"]

WORKING = ("run", "plain lines", "doctor")
"""Commands that need their working directory."""

REMARKED = ("well", "2>&-", "2>/dev/full")
"""What a remark is written to."""

_RUNS = """
import atexit, io, json, os, sys, threading
from cogency_tui.__main__ import main
# Loaded once, for all of them.
from tests.forkserver import _load
_load()

def put(handle, way):
    if way == "&-":
        os.close(handle)
        return None
    if way == "broken":
        read, target = os.pipe()
        os.close(read)
    else:
        target = os.open(way, os.O_RDWR | os.O_CREAT)
    os.dup2(target, handle)
    os.close(target)
    # As the interpreter does at its start.
    return open(handle, "w" if handle else "r", errors="backslashreplace", buffering=1 if handle == 2 else -1)

def end(status):
    # As the interpreter does at its end, but for freeing the modules; what cannot be flushed is left to it.
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status)

place, cases = sys.argv[1], json.load(sys.stdin)
status = {}
for name, arguments, way in cases:
    output = os.path.join(place, f"{len(status)}")
    if (child := os.fork()) == 0:
        given = {0: os.devnull, 1: output + ".out", 2: output + ".err"}
        if way == "gone":
            os.mkdir(output)
            os.chdir(output)
            os.rmdir(output)
        for part in way.split() if way not in ("well", "gone") else []:
            number, _, target = part.partition("<" if "<" in part else ">")
            given[int(number or (0 if "<" in part else 1))] = target
        sys.stdin, sys.stdout, sys.stderr = (put(handle, target) for handle, target in given.items())
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
        sys.argv[1:] = arguments
        break
    status[output] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
else:
    print(json.dumps(list(status.values())))
    sys.exit()
try:
    code = main()
except SystemExit as exc:
    if not isinstance(exc.code, int):
        raise
    code = exc.code
end(code)
"""


@dataclass(frozen=True)
class Ended:
    """What a run came to."""

    status: int
    output: str
    errors: str


def runs(place: Path, cases: list[tuple[str, str]]) -> dict[tuple[str, str], Ended]:
    """The runs of commands with their streams as given, each in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _RUNS, str(place)],
        input=json.dumps([(name, ARGUMENTS[name], way) for name, way in cases]),
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    statuses = msgspec.json.decode(done.stdout, type=list[int])
    return {
        case: Ended(status, _read(place / f"{number}.out"), _read(place / f"{number}.err"))
        for number, (case, status) in enumerate(zip(cases, statuses, strict=True))
    }


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_command_ends_well_whatever_its_streams_are(tmp_path: Path) -> None:
    cases = [(name, way) for name in ARGUMENTS for way in ("well", "<&-", ">&-")]
    # Of the others each command has one, and one command has all.
    cases += [(name, WAYS[3 + number % (len(WAYS) - 3)]) for number, name in enumerate(ARGUMENTS)]
    cases += [("config", way) for way in WAYS[3:]]
    cases += [("conversations show", way) for way in REMARKED]
    cases += [(name, "gone") for name in WORKING]
    ended = runs(tmp_path, [*dict.fromkeys(cases)])
    _assert_well_ended(ended)
    _assert_remarks_are_never_among_the_data(ended)
    _assert_a_closed_stdin_is_not_read_as_an_empty_one(ended)
    for name in WORKING:
        assert ended[name, "gone"].status in (1, 2)
        assert "The working directory no longer exists." in ended[name, "gone"].errors


def _assert_well_ended(ended: Mapping[tuple[str, str], Ended]) -> None:
    for (name, way), run in ended.items():
        well = ended[name, "well"]
        assert run.status in (0, 1, 2), (name, way, run)
        assert "Traceback" not in run.errors, (name, way, run)
        assert "Exception ignored" not in run.errors, (name, way, run)
        if ">" in way.replace("2>", "") and well.output:
            assert run.status in (1, 2), (name, way, run)
            assert "2>" in way or way == ">broken" or "Cannot write the output" in run.errors
        elif way.startswith("2>"):
            assert run.status == well.status, (name, way, run)
            assert bool(run.output) is bool(well.output), (name, way, run)


def _assert_remarks_are_never_among_the_data(ended: Mapping[tuple[str, str], Ended]) -> None:
    well, *others = (ended["conversations show", way] for way in REMARKED)
    assert "nothing" in well.errors
    assert not any(run.output for run in (well, *others))
    assert {run.status for run in others} == {well.status}


def _assert_a_closed_stdin_is_not_read_as_an_empty_one(ended: Mapping[tuple[str, str], Ended]) -> None:
    for name in ("parse", "import"):
        assert ended[name, "<&-"].status == 2
        assert "stdin is closed" in ended[name, "<&-"].errors
    assert ended["plain lines", "<&-"].status in (1, 2)
    assert "which is closed" in ended["plain lines", "<&-"].errors
