"""`recall`, `import`, what `conversations` puts in order, and `doctor --rebuild`."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def ids(run: Run, *arguments: str) -> list[str]:
    listed = run("conversations", "list", "--json", *arguments).stdout
    return [json.loads(line)["id"] for line in listed.splitlines()]


def test_what_a_tool_printed_is_found_and_marked(run: Run, project: Path) -> None:
    (project / "notes.txt").write_text("the ÄPFEL are 100%_ripe\n")
    run("run", "read notes.txt")

    shown = run("recall", "äpfel")
    assert shown.returncode == 0
    assert "output read" in shown.stdout
    assert "»ÄPFEL«" in shown.stdout
    [found] = [json.loads(line) for line in run("recall", "--json", "100%_r").stdout.splitlines()]
    assert [found["conversation"]["id"]] == ids(run)
    assert {hit["kind"] for hit in found["hits"]} >= {"output"}

    none = run("recall", "100__ripe")
    assert (none.returncode, none.stdout) == (1, "")
    assert "--all" in none.stderr
    assert run("recall", "äpfel", cwd=project.parent).returncode == 1
    assert run("recall", "äpfel", "--all", cwd=project.parent).returncode == 0


def test_a_conversation_is_renamed_forked_trashed_and_restored(run: Run) -> None:
    run("run", "read greet.py")
    [id] = ids(run)

    assert "Mine" in run("conversations", "rename", id[:10], "Mine").stdout
    assert "Mine" in run("recall", "mine").stdout
    fork = run("conversations", "fork", id).stdout.split()[0]
    assert ids(run) == [fork, id]
    tree = run("conversations", "tree", fork).stdout.splitlines()
    assert [line.split()[:2] for line in tree] == [["○", id], ["●", fork]]
    assert "shared events" in run("conversations", "compare", id, fork).stdout
    assert "restore" in run("conversations", "trash", fork).stderr
    assert ids(run) == [id]
    assert ids(run, "--trash") == [fork]
    run("conversations", "restore", fork)
    assert ids(run, "--trash") == []
    assert set(ids(run)) == {id, fork}
    assert run("conversations", "fork", id, "--at", "999").returncode == 2


def test_what_is_exported_is_imported_into_another_store(run: Run, tmp_path: Path) -> None:
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits")
    [id] = ids(run)
    exported = run("conversations", "export", id, "--format", "jsonl").stdout
    other = {"COGENCY_DATA": str(tmp_path / "other")}

    assert id in run("import", stdin=exported, **other).stdout
    shown = run("conversations", "show", id, "--json")
    assert run("conversations", "show", id, "--json", **other).stdout == shown.stdout
    assert "goodbye" in run("edits", "show", "1", "--conversation", id, **other).stdout
    assert run("import", stdin="{}", **other).returncode == 2

    assert run("conversations", "export", id).stdout.startswith("# replace 'hello'")
    page = run("conversations", "export", id, "--format", "html", "--theme", "day").stdout
    assert page.startswith("<!doctype html>")
    assert "color-scheme:light" in page


def test_statistics_are_charts_or_data(run: Run) -> None:
    run("run", "read greet.py")

    assert "█" in run("recall", "--stats").stdout
    data = json.loads(run("recall", "--stats", "--json", "since:1d").stdout)
    assert (data["conversations"], data["turns"], data["tools"][0]["tool"]) == (1, 1, "read")
    assert data["total"]["input"] > 0
    assert run("recall", "--stats", "nonsense").returncode == 2


def test_the_index_is_made_anew_and_one_that_is_damaged_too(run: Run, tmp_path: Path) -> None:
    assert "nothing to index" in run("doctor", "--rebuild").stderr
    run("run", "read greet.py")
    assert "search index not built yet: the first search builds it" in run("doctor").stdout
    done = run("doctor", "--rebuild")
    assert done.returncode == 0
    assert "(100%)" in done.stderr
    index = tmp_path / "data/recall.db"
    with sqlite3.connect(index) as connection:
        assert connection.execute("SELECT count(*) FROM slices").fetchone() == (1,)
    connection.close()

    index.write_bytes(b"not a database" * 1000)
    assert "(100%)" in run("doctor", "--rebuild").stderr
    assert run("recall", "greet").returncode == 0
    assert "indexed for search" in run("doctor").stdout


@pytest.mark.exhaustive
def test_a_small_store_is_measured_and_removed(run: Run, tmp_path: Path) -> None:
    done = run("bench", "store", "--events", "400", "--json", TMPDIR=str(tmp_path))
    first, *rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (first["events"], first["conversations"] > 2) == (400, True)
    assert {row["what"] for row in rows} >= {"append an event", "newest: rare word", "naive LIKE: phrase"}
    assert not list(tmp_path.glob("cogency-bench-*"))
