"""`cogency-tui edits`: what the agent changed goes when asked, what the person changed stays."""

import asyncio
import json
import stat
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.workspace.three_way_merge import hunks
from tests.agent.journaling import desk_at
from tests.agent.repositories import git
from tests.cli.conftest import Run
from tests.peers.chat import ChatPeer

REPLACE = "replace 'hello' with 'goodbye' in greet.py"
LINES = "".join(f"line {number}\n" for number in range(1, 13))

Values = list[dict[str, Any]]
Tell = Callable[..., subprocess.CompletedProcess[str]]
Act = Callable[..., Coroutine[Any, Any, None]]
Tree = dict[str, tuple[int, bytes]]


@pytest.fixture
def tell(run: Run) -> Tell:
    """Ask the offline model for something, which it does."""

    def ask(prompt: str, *arguments: str, **rest: Any) -> subprocess.CompletedProcess[str]:
        done = run("run", prompt, "--permissions", "auto", *arguments, **rest)
        assert done.returncode == 0, done.stderr
        return done

    return ask


@pytest.fixture
def act(run: Run, tmp_path: Path) -> Act:
    """A turn of a model that makes these calls, each given as a tool and its arguments."""

    async def take_turn(*calls: tuple[str, dict[str, Any]], **rest: Any) -> None:
        block = json.dumps([{"name": name, "args": args} for name, args in calls])
        async with ChatPeer([f"<execute>\n{block}\n</execute>", "Done."]) as peer:
            config = tmp_path / "config.toml"
            config.write_text(f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n')
            command = ("run", "go on", "--provider", "mine", "--permissions", "auto")
            done = await asyncio.to_thread(run, *command, COGENCY_CONFIG=str(config), **rest)
        assert done.returncode == 0, done.stderr
        assert "✗" not in done.stderr

    return take_turn


def write(file: str, content: str, **rest: Any) -> tuple[str, dict[str, Any]]:
    return "write", {"file": file, "content": content, **rest}


def values(done: subprocess.CompletedProcess[str]) -> Values:
    return [json.loads(line) for line in done.stdout.splitlines()]


def listed(run: Run, *arguments: str) -> Values:
    done = run("edits", "list", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return values(done)


def conversation(run: Run) -> str:
    return values(run("conversations", "list", "--json"))[0]["id"]


def revert(run: Run, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = run("edits", "revert", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def tree(project: Path) -> Tree:
    return {
        path.relative_to(project).as_posix(): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in project.rglob("*")
        if path.is_file()
    }


def swapped(*lines: tuple[int, str]) -> str:
    text = LINES
    for number, new in lines:
        text = text.replace(f"line {number}\n", f"{new}\n")
    return text


# Listing and showing.


def test_edits_are_listed_the_latest_first_with_all_that_is_known(
    run: Run, tell: Tell, project: Path
) -> None:
    (project / "greet.py").chmod(0o755)
    tell(REPLACE)
    first = conversation(run)
    tell('create notes.txt with "one"', "--conversation", first)

    created, changed = listed(run)
    assert (created["path"], created["kind"], created["turn"], created["tool"]) == (
        *("notes.txt", "created", 2, "write"),
    )
    assert created["before"] == {"kind": "absent", "digest": "", "size": 0, "mode": "0", "kept": False}
    assert changed["before"].keys() == created["before"].keys()
    assert (changed["before"]["mode"], changed["after"]["mode"], changed["after"]["kept"]) == (
        *("755", "755", True),
    )
    assert (changed["added"], changed["removed"], changed["state"]) == (1, 1, "new")
    assert (changed["conversation"], changed["project"]) == (first, str(project))
    assert len(changed["before"]["digest"]) == 64

    text = run("edits", "list").stdout.splitlines()
    assert [line.split()[0] for line in text] == [str(created["id"]), str(changed["id"])]
    assert "+1 −1" in text[1]
    assert text[1].endswith("greet.py")

    assert [each["turn"] for each in listed(run, "--turn", "1")] == [1]
    assert [each["path"] for each in listed(run, "--path", "./notes.txt")] == ["notes.txt"]


def test_the_latest_conversation_of_this_project_is_meant_or_the_one_that_is_named(
    run: Run, tell: Tell, tmp_path: Path
) -> None:
    tell(REPLACE)
    first = conversation(run)
    tell('create notes.txt with "one"')
    other = tmp_path / "other"
    other.mkdir()
    tell('create there.txt with "one"', cwd=other)

    assert [each["path"] for each in listed(run)] == ["notes.txt"]
    assert [each["path"] for each in listed(run, "--conversation", first[:12])] == ["greet.py"]


def test_without_a_conversation_there_is_nothing_to_list_or_take_back(run: Run) -> None:
    done = run("edits", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No conversations" in done.stderr
    done = run("edits", "revert")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no conversation in" in done.stderr


def test_an_edit_is_shown_with_what_became_of_it(run: Run, tell: Tell, project: Path) -> None:
    tell(REPLACE)
    [edit] = listed(run)
    id = str(edit["id"])

    def now() -> str:
        [value] = values(run("edits", "show", id, "--json"))
        assert value["diff"].endswith('-print("hello")\n+print("goodbye")\n')
        return value["now"]["state"]

    assert now() == "still there"
    (project / "greet.py").write_text('import os\nprint("goodbye")\n')
    assert now() == "still there"
    (project / "greet.py").write_text('print("both")\n')
    assert now() == "changed since"
    (project / "greet.py").write_text('print("hello")\n')
    assert now() == "gone"
    (project / "greet.py").unlink()
    assert now() == "gone"
    (project / "greet.py").mkdir()
    text = run("edits", "show", id).stdout
    assert '\n-print("hello")\n+print("goodbye")\n' in text
    assert text.endswith("\nNow: gone.\n")


async def test_of_several_hunks_it_says_how_many_are_left(run: Run, act: Act, project: Path) -> None:
    (project / "a").write_text(LINES)
    await act(
        ("read", {"file": "a"}),
        write("a", swapped((1, "first"), (6, "second"), (12, "third")), overwrite=True),
    )
    (project / "a").write_text(swapped((1, "first"), (6, "both"), (9, "the person's")))
    [edit] = listed(run)
    shown = run("edits", "show", str(edit["id"]))
    assert shown.stdout.endswith("Now: edited since; 1 of 3 hunks are still applied.\n")


async def test_a_file_that_is_no_text_is_told_by_size_and_digest(run: Run, act: Act, project: Path) -> None:
    (project / "a").write_bytes(bytes(300))
    await act(write("a", "text\n", overwrite=True))
    [edit] = listed(run)
    assert (edit["added"], edit["removed"]) == (0, 0)
    shown = run("edits", "show", str(edit["id"])).stdout
    assert "300 → 5 bytes" in shown
    for side in ("before", "after"):
        assert edit[side]["digest"][:12] in shown
    revert(run)
    assert (project / "a").read_bytes() == bytes(300)


# Taking back.


def test_the_persons_lines_stay_when_the_agents_are_taken_back(run: Run, tell: Tell, project: Path) -> None:
    (project / "greet.py").write_text(f'print("hello")\n{LINES}')
    tell(REPLACE)
    (project / "greet.py").write_text(f'#!/bin/python\nprint("goodbye")\n{swapped((9, "the person"))}')

    done = revert(run)

    assert (
        project / "greet.py"
    ).read_text() == f'#!/bin/python\nprint("hello")\n{swapped((9, "the person"))}'
    assert '\n-print("goodbye")\n+print("hello")\n' in done.stdout
    assert "Reverted 1 edit in 1 file." in done.stderr
    assert [(each["tool"], each["state"]) for each in listed(run)] == [("undo", ""), ("edit", "undone")]


def test_edits_that_are_gone_already_count_as_reverted(run: Run, tell: Tell, project: Path) -> None:
    tell(REPLACE)
    (project / "greet.py").write_text('print("hello")\n')
    done = revert(run)
    assert done.stderr.startswith(
        "Nothing to change: 1 edit was already gone, and counts as reverted now. Redo with"
    )
    assert [(each["tool"], each["state"]) for each in listed(run)] == [("undo", ""), ("edit", "undone")]


def test_a_new_file_goes_and_comes_back(run: Run, tell: Tell, project: Path) -> None:
    tell('create new/deep/notes.txt with "one"')
    after = tree(project)
    assert "new/deep/notes.txt" in after

    revert(run)
    assert [path.name for path in project.iterdir()] == ["greet.py"]
    done = revert(run, "--redo", "--json")
    assert tree(project) == after
    change, end = values(done)
    assert (change["type"], change["kind"], change["path"]) == ("change", "created", "new/deep/notes.txt")
    assert (end["type"], end["tool"]) == ("done", "redo")
    revert(run, str(end["edits"][0]))
    assert "new/deep/notes.txt" not in tree(project)


@pytest.mark.parametrize(
    ("data", "mode"),
    [
        (b"one\r\nhello\r\nthree\r\n", 0o644),
        (b"one\r\nhello\nthree", 0o755),
        ("één\nhello\nthree\n".encode("latin-1"), 0o600),
        ("één\r\nhello\r\n".encode("utf-16"), 0o755),
        (b"\xef\xbb\xbfhello\n", 0o640),
    ],
)
def test_a_file_comes_out_of_edit_and_revert_as_it_was(
    run: Run, tell: Tell, project: Path, data: bytes, mode: int
) -> None:
    (project / "greet.py").write_bytes(data)
    (project / "greet.py").chmod(mode)
    before = tree(project)
    tell(REPLACE)
    after = tree(project)
    assert after != before

    revert(run)
    assert tree(project) == before
    revert(run, "--redo")
    assert tree(project) == after


@pytest.mark.exhaustive
def test_turns_are_taken_back_one_by_one_or_back_to_a_point(run: Run, tell: Tell, project: Path) -> None:
    trees = [tree(project)]
    tell('create a.txt with "1"')
    named = ("--conversation", conversation(run))
    trees.append(tree(project))
    tell("replace '1' with '2' in a.txt, then create b.txt with \"1\"", *named)
    trees.append(tree(project))
    tell('create c.txt with "1"', *named)
    trees.append(tree(project))

    revert(run)
    assert tree(project) == trees[2]
    revert(run, "--turn")
    assert tree(project) == trees[1]
    revert(run, "--turn", "1")
    assert tree(project) == trees[0]
    for turn in ([], ["--turn", "1"], ["--turn", "99"]):
        done = run("edits", "revert", *turn)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Nothing to undo" in done.stderr
    for number in (1, 2, 3):
        revert(run, "--redo")
        assert tree(project) == trees[number]
    done = run("edits", "revert", "--redo")
    assert done.returncode == 2
    assert "Nothing to redo" in done.stderr

    revert(run, "--to", "1")
    assert tree(project) == trees[1]
    revert(run, "--redo")
    revert(run, "--to", "0")
    assert tree(project) == trees[0]


async def test_single_edits_and_single_files_are_taken_back(run: Run, act: Act, project: Path) -> None:
    await act(*(write(name, "1\n") for name in ("a", "src/b", "src/c", "srcs")))
    by_path = {each["path"]: str(each["id"]) for each in listed(run)}

    revert(run, by_path["a"])
    assert set(tree(project)) == {"greet.py", "src/b", "src/c", "srcs"}
    done = run("edits", "revert", by_path["a"])
    assert done.returncode == 2
    assert "already reverted" in done.stderr
    revert(run, "--path", "./src", "--path", str(project / "nothing"))
    assert set(tree(project)) == {"greet.py", "srcs"}
    done = run("edits", "revert", "--path", "src")
    assert done.returncode == 2
    assert "nothing to revert in src" in done.stderr
    assert set(tree(project)) == {"greet.py", "srcs"}


def test_a_dry_run_writes_nothing(run: Run, tell: Tell, project: Path) -> None:
    tell(REPLACE)
    before, [edit] = tree(project), listed(run)

    done = revert(run, "--dry-run")
    assert '-print("goodbye")\n+print("hello")\n' in done.stdout
    assert "Dry run: no files changed." in done.stderr
    [change] = values(revert(run, "--dry-run", "--json"))
    assert (
        change.items()
        >= {
            "type": "change",
            "kind": "changed",
            "path": "greet.py",
            "old_path": "",
            "added": 1,
            "removed": 1,
            "before": edit["after"],
            "after": edit["before"],
            "undoes": [{"edit": edit["id"], "hunk": ""}],
            "for_good": False,
        }.items()
    )
    assert run("edits", "restore", str(edit["id"]), "--before", "--dry-run").returncode == 0

    assert tree(project) == before
    assert listed(run) == [edit]


# What stands in the way.


async def test_where_both_changed_the_same_lines_nothing_is_written_and_both_are_shown(
    run: Run, act: Act, project: Path
) -> None:
    (project / "a").write_text(LINES)
    await act(
        ("read", {"file": "a"}), write("a", swapped((3, "the agent's")), overwrite=True), write("b", "1\n")
    )
    (project / "a").write_text(swapped((3, "both of us")))
    before = tree(project)

    done = run("edits", "revert")
    assert done.returncode == 1
    assert tree(project) == before
    assert "✗ a: the same lines have changed since (line 3)\n" in done.stdout
    assert "  now, line 3:\n  | both of us\n  after revert:\n  | line 3\n" in done.stdout
    assert "Nothing was changed. a: the same lines" in done.stderr
    assert "--path b" in done.stderr

    done = run("edits", "revert", "--json", "--dry-run")
    assert done.returncode == 1
    change, obstacle = values(done)
    assert (change["type"], change["path"]) == ("change", "b")
    assert (obstacle["type"], obstacle["path"]) == ("obstacle", "a")
    assert obstacle["conflicts"] == [
        {"lines": [3, 3], "base": "the agent's\n", "now": "both of us\n", "back": "line 3\n"}
    ]
    assert tree(project) == before

    revert(run, "--path", "b")
    assert "b" not in tree(project)
    assert (project / "a").read_text() == swapped((3, "both of us"))


async def test_lines_in_conflict_are_read_in_the_encoding_of_their_file(
    run: Run, act: Act, project: Path
) -> None:
    (project / "a").write_bytes("één\r\nzwei\r\n".encode("utf-16"))
    await act(("edit", {"file": "a", "old": "één", "new": "the agent's"}))
    (project / "a").write_bytes("dëux\r\nzwei\r\n".encode("utf-16"))
    done = run("edits", "revert")
    assert done.returncode == 1
    assert "  | dëux\n  after revert:\n  | één\n" in done.stdout


def test_a_new_file_that_the_person_changed_is_not_removed(run: Run, tell: Tell, project: Path) -> None:
    tell('create notes.txt with "one"')
    (project / "notes.txt").write_text("one\nand the person's\n")
    done = run("edits", "revert")
    assert done.returncode == 1
    assert "notes.txt: it has changed since it was created" in done.stdout
    assert "+and the person's" in done.stdout
    assert "by hand" in done.stderr
    assert (project / "notes.txt").read_text() == "one\nand the person's\n"


# Restoring.


def test_a_file_is_restored_whatever_became_of_it(run: Run, tell: Tell, project: Path) -> None:
    tell(REPLACE)
    [edit] = listed(run)
    id = str(edit["id"])
    (project / "greet.py").write_text("the person's\n")

    done = run("edits", "restore", id)
    assert done.returncode == 0, done.stderr
    assert "-the person's\n" in done.stdout
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    done = run("edits", "restore", id)
    assert (done.returncode, done.stdout) == (0, "")
    assert "already in that state" in done.stderr
    change, end = values(run("edits", "restore", id, "--before", "--json"))
    assert (change["type"], end["tool"]) == ("change", "restore")
    assert (project / "greet.py").read_text() == 'print("hello")\n'
    revert(run, str(end["edits"][0]))
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'


def test_what_would_be_lost_for_good_needs_a_word(run: Run, tell: Tell, project: Path) -> None:
    tell(REPLACE)
    [edit] = listed(run)
    id = str(edit["id"])
    with (project / "greet.py").open("wb") as file:
        file.truncate((64 << 20) + 1)

    done = run("edits", "restore", id)
    assert done.returncode == 1
    assert "lost permanently" in done.stderr
    assert "--for-good" in done.stderr
    assert (project / "greet.py").stat().st_size == (64 << 20) + 1
    assert run("edits", "restore", id, "--for-good").returncode == 0
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'


# What is not there, and what is not ours.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "99"], "Edit 99 not found"),
        (["show", "9" * 30], "9 not found"),
        (["show", "first"], "first"),
        (["revert", "99"], "Edit 99 not found"),
        (["restore", "99"], "Edit 99 not found"),
        (["revert", "1", "--turn"], "not allowed with"),
        (["revert", "--turn", "--redo"], "not allowed with"),
        (["revert", "--to", "-1"], "--to"),
        (["list", "--conversation", "nope"], "nope"),
        (["lists"], "invalid choice"),
        ([], "list|show|revert|restore"),
    ],
)
def test_what_is_not_there_says_so_with_status_2(run: Run, arguments: list[str], says: str) -> None:
    done = run("edits", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_edits_of_another_project_are_shown_and_only_changed_by_name(
    run: Run, tell: Tell, project: Path, tmp_path: Path
) -> None:
    tell(REPLACE)
    [edit] = listed(run)
    id, owner = str(edit["id"]), edit["conversation"]
    other = tmp_path / "other"
    other.mkdir()
    tell('create there.txt with "one"', cwd=other)
    after = tree(project)

    assert '+print("goodbye")' in run("edits", "show", id, cwd=other).stdout
    done = run("edits", "revert", id, cwd=other)
    assert done.returncode == 2
    assert f"was made in {project}" in done.stderr
    assert f"--conversation {owner}" in done.stderr
    done = run("edits", "revert", id, "--conversation", conversation(run), cwd=other)
    assert tree(project) != after

    [there] = values(run("edits", "list", "--json", cwd=other))
    done = run("edits", "show", str(there["id"]), "--conversation", owner)
    assert done.returncode == 2
    assert f"does not belong to conversation {owner}" in done.stderr


def test_the_way_back_names_the_conversation_where_it_is_not_the_latest(
    run: Run, tell: Tell, project: Path
) -> None:
    tell(REPLACE)
    [edit] = listed(run)
    tell('create notes.txt with "one"')
    after = tree(project)
    done = revert(run, str(edit["id"]))
    command = done.stderr.partition("`cogency-tui ")[2].partition("`")[0].split()
    assert command[-3:] == ["--conversation", edit["conversation"], "--redo"]
    assert run(*command).returncode == 0
    assert tree(project) == after


async def test_names_and_lines_reach_no_terminal_raw(run: Run, project: Path, tmp_path: Path) -> None:
    name = "a\x1b]0;b\x07\u202e.txt"
    async with desk_at(project, tmp_path / "data") as desk:
        await desk.write((name, "\x1b[2J\u202eclear\x9b1m\n"))
    (project / name).write_text("\x1b[2J\u202eboth\n")
    for command in ("list", "show 1", "revert", "restore 1 --dry-run"):
        done = run("edits", *command.split())
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & {*done.stdout, *done.stderr}
        assert "a\\x1b]0;b\\x07⟨U+202E⟩.txt" in done.stdout
        assert ("␛[2J⟨U+202E⟩clear" in done.stdout) == (command != "list")
    assert listed(run)[0]["path"] == name


async def test_what_a_pull_brought_is_listed_as_such_and_stays(
    run: Run, act: Act, project: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    git(tmp_path, "clone", "-q", str(project), str(shared))
    (shared / "new.txt").write_text("new\n")
    git(shared, "add", "-A")
    git(shared, "commit", "-qm", "new")
    git(project, "remote", "add", "origin", str(shared))
    await act(write("own.txt", "own\n"), ("shell", {"command": "git pull -q origin main"}))
    assert {each["path"]: each["merged"] for each in listed(run)} == {"own.txt": False, "new.txt": True}
    assert "new.txt  (came with commits)" in run("edits", "list").stdout
    (left,) = [each for each in values(revert(run, "--dry-run", "--json")) if each["type"] == "left"]
    assert (left["path"], left["merged"]) == ("new.txt", True)
    done = revert(run)
    assert (
        f"Not reverted, because it came from the remote: new.txt. `cogency-tui edits revert {left['edit']} --conversation "
        in (done.stdout)
    )
    assert not (project / "own.txt").exists()
    assert (project / "new.txt").exists()
    revert(run, str(left["edit"]))
    assert not (project / "new.txt").exists()


async def test_renames_modes_and_what_was_decided_are_told(run: Run, project: Path, tmp_path: Path) -> None:
    async with desk_at(project, tmp_path / "data") as desk:
        desk.put("a", LINES)
        await desk.run("mv a b; chmod 600 greet.py")
        await desk.write(("b", swapped((2, "first"), (9, "second"))))
        edit = (await desk.edits(path="b"))[-1]
        first, second = hunks(LINES.encode(), swapped((2, "first"), (9, "second")).encode())
        hunks_of = (await desk.review.file(FileKey(1, "b"))).hunks
        await desk.review.revert(Target(1, "b", (hunks_of[1].id,)))
        await desk.review.keep(Target(1, "b", (hunks_of[0].id,)))
        await desk.review.keep(Target(1, "greet.py"))

    by_kind = {(each["tool"], each["kind"]): each for each in listed(run)}
    renamed, written = by_kind["shell", "renamed"], by_kind["write", "changed"]
    assert (renamed["old_path"], renamed["path"]) == ("a", "b")
    assert (written["state"], written["hunks"]) == (
        *("partly undone", {first.id: "kept", second.id: "reverted"}),
    )
    [decided] = [each for each in by_kind.values() if each["kind"] == "mode"]
    assert (decided["path"], decided["state"]) == ("greet.py", "kept")
    assert by_kind["undo", "changed"]["undoes"] == [{"edit": edit.id, "hunk": second.id}]
    assert "  a → b\n" in run("edits", "list").stdout

    mode = by_kind["shell", "mode"]
    shown = run("edits", "show", str(mode["id"])).stdout
    assert "The mode of greet.py changes from 644 to 600.\n\nNow: applied.\n" in shown
    (project / "greet.py").chmod(0o644)
    assert run("edits", "show", str(mode["id"])).stdout.endswith("Now: gone.\n")
    assert [each["path"] for each in listed(run, "--path", "a")] == ["b"]


async def test_an_edit_is_shown_and_taken_back_by_the_name_that_its_file_has_now(
    run: Run, act: Act, project: Path
) -> None:
    rename = "mkdir src && mv greet.py src/main.py"
    await act(
        ("read", {"file": "greet.py"}),
        write("greet.py", 'print("goodbye")\n', overwrite=True),
        ("shell", {"command": rename}),
    )
    first = listed(run)[-1]
    shown = run("edits", "show", str(first["id"]))
    assert "Now: applied, in src/main.py." in shown.stdout
    (planned,) = values(run("edits", "revert", str(first["id"]), "--path", "greet.py", "--dry-run", "--json"))
    assert planned["path"] == "src/main.py"
    assert planned["diff"].startswith("greet.py is now src/main.py.\n")
    revert(run, str(first["id"]))
    assert tree(project) == {"src/main.py": (0o644, b'print("hello")\n')}
