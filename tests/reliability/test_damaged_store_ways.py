"""Every way of opening a damaged store says which file it is, and keeps it."""

from pathlib import Path

import pytest

from tests.headless.conftest import Run

WAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "run": (("run", "hello", "--provider", "offline"), ""),
    "run --json": (("run", "--json", "hello", "--provider", "offline"), ""),
    "linear": (("--linear", "--provider", "offline"), "hello\n/quit\n"),
    "linear -c": (("-c", "--linear", "--provider", "offline"), "hello\n"),
    "conversations": (("conversations", "list"), ""),
    "recall": (("recall", "hello"), ""),
    "edits": (("edits", "list"), ""),
    "edits revert": (("edits", "revert"), ""),
    "profile": (("profile", "show"), ""),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_store_is_named_once_and_kept(run: Run, tmp_path: Path, way: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "cogency.db").write_bytes(b"SQLite format 3\0" + b"\xa5" * 20_000)
    arguments, stdin = WAYS[way]
    done = run(*arguments, stdin=stdin)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert said.count(f"{data / 'cogency.db'} was damaged") == 1
    assert (data / "cogency.db.damaged-1").read_bytes().endswith(b"\xa5" * 20_000)
