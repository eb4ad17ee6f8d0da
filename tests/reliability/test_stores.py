"""The whole program over a data directory that cannot be used: it says so, and works as far as it can."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def ask(run: Run, **environment: str) -> subprocess.CompletedProcess[str]:
    return run("run", "read greet.py", "--provider", "offline", **environment)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 1 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if (
        not sys.platform.startswith("linux")
        or subprocess.run(command, check=False, capture_output=True).returncode
    ):
        pytest.skip("a file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def leave(disk: Path, room: int) -> None:
    """Fill `disk` up to `room` bytes, less at most a page."""
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(b"x" * (free.f_bavail * free.f_frsize - room))


def test_a_disk_without_room_is_named_and_the_answer_is_given(run: Run, small_disk: Path) -> None:
    leave(small_disk, 20_000)
    done = ask(run, COGENCY_DATA=str(small_disk / "data"))
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr or "full" in done.stderr
    assert "greet.py" in done.stdout


def test_a_disk_that_fills_up_in_mid_turn_ends_it_with_one_error(
    run: Run, small_disk: Path, project: Path
) -> None:
    (project / "greet.py").write_text("x = 1\n" * 60_000)
    assert run("conversations", "list", COGENCY_DATA=str(small_disk / "data")).returncode == 0
    leave(small_disk, 80_000)
    done = ask(run, COGENCY_DATA=str(small_disk / "data"))
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    assert "full" in done.stderr
    kept = sqlite3.connect(small_disk / "data" / "cogency.db")
    assert kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    kept.close()


@pytest.mark.parametrize("room", [60_000, 80_000, 200_000])
def test_events_of_a_run_end_with_error_and_end_on_a_full_disk(
    run: Run, small_disk: Path, project: Path, room: int
) -> None:
    (project / "greet.py").write_text("x = 1\n" * 60_000)
    assert run("conversations", "list", COGENCY_DATA=str(small_disk / "data")).returncode == 0
    leave(small_disk, room)
    done = run(
        "run", "--json", "read greet.py", "--provider", "offline", COGENCY_DATA=str(small_disk / "data")
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [event["type"] for event in events[-2:]] == ["error", "end"]
    assert "full" in events[-2]["payload"]["error"]
    ids = {kind: [each["id"] for each in events if each["type"] == kind] for kind in ("call", "result")}
    assert ids["call"] == ids["result"]


def test_a_data_directory_that_is_a_file_is_named_and_the_answer_is_given(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    done = ask(run)
    assert done.returncode == 0
    assert "greet.py" in done.stdout
    assert "conversations are not saved" in done.stderr
    assert (tmp_path / "data").read_text() == "mine"


def test_a_store_of_a_newer_program_is_left_alone_and_the_answer_is_given(run: Run, tmp_path: Path) -> None:
    assert ask(run).returncode == 0
    path = tmp_path / "data" / "cogency.db"
    database = sqlite3.connect(path)
    database.execute("INSERT INTO migrations VALUES ('from_the_future', 0)")
    database.commit()
    database.close()
    before = path.read_bytes()
    done = ask(run)
    assert done.returncode == 0
    assert "from_the_future" in done.stderr
    assert path.read_bytes() == before


def test_a_damaged_store_is_kept_and_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cogency.db").write_bytes(b"This is no database. " * 500)
    done = ask(run)
    assert done.returncode == 0
    assert "cogency.db" in done.stderr
    kept = [
        path
        for path in (tmp_path / "data").glob("cogency.db*")
        if path.read_bytes().startswith(b"This is no")
    ]
    assert len(kept) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not stop root")
def test_a_read_only_home_does_not_stop_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    assert ask(run).returncode == 0


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfprovider = 'offline'\n",
        b"provider = 3\n",
        b"provider = [",
        b"\xff\xfe",
        b"x" * (10 << 20),
    ],
    ids=["bom", "type", "syntax", "encoding", "10 MB"],
)
def test_a_broken_configuration_is_named_with_its_place(run: Run, tmp_path: Path, content: bytes) -> None:
    config = tmp_path / "config.toml"
    config.write_bytes(content)
    done = ask(run, COGENCY_CONFIG=str(config))
    assert "Traceback" not in done.stderr
    if content.startswith(b"\xef\xbb\xbf"):
        assert done.returncode == 0
    else:
        assert done.returncode == 2
        assert str(config) in done.stderr
