"""`conversations compare`, the trash, and an import that cannot be read, as a person's shell would run them."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.test_recall import ids


def test_two_conversations_are_compared_by_what_each_did_since(run: Run) -> None:
    run("run", "read greet.py")
    [id] = ids(run)
    fork = run("conversations", "fork", id).stdout.split()[0]
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits", "--conversation", fork)

    shown = run("conversations", "compare", id, fork).stdout
    assert "✎ greet.py changed" in shown
    assert "goodbye" in shown
    done = run("conversations", "compare", id, fork, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["left"]["conversation"]["id"], found["right"]["conversation"]["id"]) == (id, fork)
    assert found["shared"] > 0
    assert found["left"]["files"] == []
    assert found["right"]["files"] == [["greet.py", "changed"]]


def test_the_trash_is_listed_for_a_person(run: Run) -> None:
    run("run", "read greet.py")
    [id] = ids(run)
    assert "The trash is empty." in run("conversations", "list", "--trash").stderr
    run("conversations", "trash", id)
    assert "read greet.py" in run("conversations", "list", "--trash").stdout


def test_a_file_that_cannot_be_read_is_no_import(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("nowhere.jsonl", "bytes", "."):
        done = run("import", str(tmp_path / name))
        assert done.returncode == 2
        assert "cannot be read" in done.stderr


def test_an_import_that_lies_about_itself_is_refused_whole(run: Run, tmp_path: Path) -> None:
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits")
    exported = run("conversations", "export", ids(run)[0], "--format", "jsonl").stdout.splitlines()
    content = next(number for number, line in enumerate(exported) if '"content"' in line and '"data"' in line)
    record = json.loads(exported[content])
    lies = {
        "not base64": {**record, "data": "?"},
        "does not match its digest": {**record, "data": "AAAA", "size": 3},
    }
    for why, lie in lies.items():
        lines = [*exported[:content], json.dumps(lie), *exported[content + 1 :]]
        other = {"COGENCY_DATA": str(tmp_path / why)}
        done = run("import", stdin="\n".join(lines), **other)
        assert done.returncode == 2
        assert why in done.stderr
        assert run("conversations", "list", "--all", "--json", **other).stdout == ""
