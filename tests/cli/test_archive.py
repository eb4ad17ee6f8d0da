"""`conversations export --all` and `import` of what it wrote, as a user's shell runs them."""

import json
import os
import signal
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from tests import forkserver
from tests.cli.conftest import Run
from tests.cli.test_recall import ids
from tests.store.test_archive import EXPORT, HEAD, conversation_line, event_line


@pytest.fixture
def filled(run: Run) -> list[str]:
    """The ids of a conversation with an edit, which is in the trash, and of a fork of it."""
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits")
    [id] = ids(run)
    fork = run("conversations", "fork", id).stdout.split()[0]
    run("conversations", "trash", id)
    return [id, fork]


def test_all_conversations_go_to_another_machine_and_back(
    run: Run, filled: list[str], tmp_path: Path
) -> None:
    done = run("conversations", "export", "--all")
    assert (done.returncode, done.stderr) == (0, "2 conversations exported.\n")
    there = {"COGENCY_DATA": str(tmp_path / "there")}
    moved = run("import", "-", stdin=done.stdout, **there)
    assert (moved.returncode, moved.stdout, moved.stderr) == (0, "", "2 conversations imported.\n")
    file = tmp_path / "all.jsonl"
    file.write_text("before")
    saved = run("conversations", "export", "--all", "--output", str(file), **there)
    assert (saved.returncode, saved.stdout) == (0, "")
    assert saved.stderr == f"2 conversations exported to {file}.\n"
    assert file.read_text() == done.stdout
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.glob("*all.jsonl*")] == ["all.jsonl"]
    again = run("import", str(file))
    assert (again.returncode, again.stderr) == (0, "0 conversations imported and 2 already here.\n")
    assert filled[0] in run("conversations", "list", "--trash", **there).stdout
    assert run("conversations", "tree", filled[1], **there).stdout.splitlines()[1].startswith("  ●")
    assert "greet.py" in run("edits", "list", "--conversation", filled[0], **there).stdout


@pytest.mark.parametrize("form", ["md", "html"])
def test_each_conversation_is_a_file_to_read(run: Run, filled: list[str], tmp_path: Path, form: str) -> None:
    done = run("conversations", "export", "--all", "--format", form, "--output", str(tmp_path / "files"))
    assert (done.returncode, done.stdout) == (0, "")
    files = sorted((tmp_path / "files").iterdir())
    assert [file.name for file in files] == sorted(f"{id}.{form}" for id in filled)
    for file in files:
        assert "goodbye" in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "Pass the ID of a conversation or --all"),
        (["x", "--all"], "Pass the ID of a conversation or --all"),
        (["x", "--output", "y"], "--output needs --all"),
        (["--all", "--format", "md"], "--all --format md needs --output DIR"),
        (["--all", "--output", "."], "is a directory"),
        (["--all", "--output", "nowhere/all.jsonl"], "cannot be written: No such file"),
        (["--all", "--format", "md", "--output", "greet.py"], "cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_explained(run: Run, arguments: list[str], why: str) -> None:
    done = run("conversations", "export", *arguments)
    assert done.returncode == 2
    assert why in done.stderr


def test_what_is_damaged_is_named_and_the_status_is_one(run: Run, filled: list[str], tmp_path: Path) -> None:
    lines = run("conversations", "export", "--all").stdout.splitlines()
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join([*lines[:3], "{", *lines[3:]]))
    there = {"COGENCY_DATA": str(tmp_path / "there")}
    done = run("import", str(file), **there)
    assert done.returncode == 1
    assert f"{file}: Line 4 has the wrong form" in done.stderr
    assert "1 conversation imported and 1 refused." in done.stderr
    file.write_text("\n".join(lines[:-1]))
    done = run("import", str(file), **there)
    assert done.returncode == 1
    assert "its end is missing" in done.stderr
    file.write_text("\n".join([*lines[:-1], '{"end": 3}']))
    done = run("import", str(file), **there)
    assert done.returncode == 1
    assert "3 conversations were exported, and it has 2" in done.stderr
    done = run("import", stdin=HEAD.replace("1", "9"), **there)
    assert done.returncode == 2
    assert "stdin: Line 1 begins an archive of version 9" in done.stderr


def test_a_damaged_row_is_named_and_the_rest_is_exported(run: Run, filled: list[str], tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "data/cogency.db")) as connection, connection:
        sql = "SELECT min(seq) FROM events WHERE conversation_id = ?"
        (number,) = connection.execute(sql, (filled[1],)).fetchone()
        connection.execute("UPDATE events SET body = '{' WHERE seq = ?", (number,))
    done = run("conversations", "export", "--all")
    assert done.returncode == 1
    assert f"Conversation {filled[1]}: event {number}: " in done.stderr
    assert done.stderr.endswith("2 conversations exported.\n1 problem, listed above.\n")
    assert done.stdout.splitlines()[-1] == '{"end":2}'
    done = run("conversations", "export", "--all", "--format", "md", "--output", str(tmp_path / "files"))
    assert done.returncode == 1
    assert f"Event {number} of conversation {filled[1]} cannot be read" in done.stderr
    assert len([*(tmp_path / "files").iterdir()]) == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_import_that_is_stopped_loses_nothing_and_repeats_nothing(
    run: Run, project: Path, tmp_path: Path, number: int
) -> None:
    lines = [HEAD]
    for count in range(60):
        lines += [EXPORT, conversation_line(f"{count:016d}"), *(event_line("x" * 8_000, n) for n in (1, 2))]
    lines += ['{"end": 60}', ""]
    text = "\n".join(lines).encode()
    environ = {**os.environ, "COGENCY_DATA": str(tmp_path / "data")}
    source, target = os.pipe()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        program = forkserver.start(
            ["import"], project, environ, stdin=source, stdout=out.fileno(), stderr=err.fileno()
        )
        os.close(source)
        with os.fdopen(target, "wb", buffering=0) as pipe:
            # Once all of it is written, all but what the pipe holds was read.
            for start in range(0, len(text) // 2, 4_096):
                pipe.write(text[start : start + 4_096])
            program.send_signal(number)
            status = program.wait()
        err.seek(0)
        told = err.read().decode()
    assert status == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert ("conversations imported." in told) == (number == signal.SIGINT)
    before = len(ids(run, "--all", "--limit", "100"))
    assert 0 < before < 60
    done = run("import", stdin=text)
    assert done.returncode == 0
    assert done.stderr == f"{60 - before} conversations imported and {before} already here.\n"
    exported = run("conversations", "export", "--all").stdout.splitlines()
    events = [record["event"] for record in map(json.loads, exported) if "event" in record]
    assert len(events) == 120


def test_a_reader_that_goes_away_ends_the_export(run: Run, filled: list[str], project: Path) -> None:
    source, target = os.pipe()
    os.close(source)
    try:
        done = run("conversations", "export", "--all", stdout=target)
    finally:
        os.close(target)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
