"""What git says of each file: one letter, and what is in a directory, for real repositories."""

import subprocess
from pathlib import Path

import pytest

from cogency_tui.tui.files.git_marks import GitMarks, parse_status, read_marks


def git(project: Path, *arguments: str, check: bool = True) -> None:
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *person, *arguments], cwd=project, check=check, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    return project


def test_every_kind_of_change_has_its_letter(repository: Path) -> None:
    (repository / "src/app.py").write_text("changed\n")
    (repository / "tests/test_app.py").unlink()
    (repository / "new.txt").write_text("new\n")
    (repository / "added.txt").write_text("added\n")
    git(repository, "add", "added.txt")
    git(repository, "mv", "README.md", "LIESMICH.md")

    marks = read_marks(repository)

    assert marks.letters == {
        "src/app.py": "M",
        "tests/test_app.py": "D",
        "new.txt": "?",
        "added.txt": "A",
        "LIESMICH.md": "R",
    }
    assert marks.inside == {"src": "M", "tests": "M"}
    assert marks.gone == {"tests": ("test_app.py",)}


def test_a_conflict_is_told_before_all_else(repository: Path) -> None:
    git(repository, "checkout", "-qb", "other")
    (repository / "src/app.py").write_text("theirs\n")
    git(repository, "commit", "-qam", "two")
    git(repository, "checkout", "-q", "main")
    (repository / "src/app.py").write_text("ours\n")
    git(repository, "commit", "-qam", "three")
    git(repository, "merge", "other", check=False)
    (repository / "src/new.py").write_text("")

    marks = read_marks(repository)

    assert marks.of("src/app.py") == "!"
    assert marks.inside == {"src": "!"}


def test_what_is_in_a_directory_that_git_does_not_know_is_new_as_well(repository: Path) -> None:
    (repository / "fresh/deep").mkdir(parents=True)
    (repository / "fresh/deep/file.py").write_text("")

    marks = read_marks(repository)

    assert marks.letters == {"fresh": "?"}
    assert marks.of("fresh/deep/file.py") == "?"
    assert marks.of("src/app.py") == ""


def test_a_project_in_a_part_of_a_repository_has_its_own_paths(repository: Path) -> None:
    (repository / "src/app.py").write_text("changed\n")
    (repository / "README.md").write_text("changed\n")

    assert read_marks(repository / "src").letters == {"app.py": "M"}


def test_names_are_taken_as_they_are(repository: Path) -> None:
    odd = 'a\nb \u202e\\" ü.txt'
    (repository / odd).write_text("")
    assert read_marks(repository).letters == {odd: "?"}


def test_where_there_is_no_repository_there_are_no_marks(project: Path) -> None:
    assert read_marks(project) == GitMarks()


def test_what_is_no_answer_of_git_marks_nothing() -> None:
    assert parse_status("1 M\0# branch\0\0? \0x") == GitMarks({"": "?"})


def test_programs_that_the_repository_names_are_not_run(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "filter.x.clean"):
        git(repository, "config", name, str(program))
    (repository / ".gitattributes").write_text("* filter=x\n")
    (repository / "src/app.py").write_text("y = 1\n")

    read_marks(repository)

    assert not mark.exists()
    git(repository, "status")
    assert mark.exists()
