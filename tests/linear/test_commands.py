"""The slash commands of `--linear`, piped into the real program."""

import json
import os
from pathlib import Path

import pytest

from tests import forkserver
from tests.linear.test_session import piped

REPLACE = "replace 'hello' with 'goodbye' in greet.py"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


def test_a_new_conversation_begins_and_past_ones_go_on(project: Path) -> None:
    said = piped(
        project, "list files\n/new\n/undo\nread greet.py\n/resume\n/resume 2\n/resume nothing\n"
    ).stdout
    assert "New conversation." in said
    assert "This conversation has no messages yet." in said
    assert "1: read greet.py, 1 turns" in said
    assert "2: list files, 1 turns" in said
    assert "Conversation: list files, 1 turns." in said
    assert "You: list files" in said
    assert "No conversation begins with 'nothing'." in said


def test_without_a_past_there_is_nothing_to_resume(project: Path) -> None:
    assert "No conversations here yet." in piped(project, "/resume\n").stdout


def test_the_permissions_that_are_set_count(project: Path) -> None:
    said = piped(project, f"/permissions edits\n{REPLACE}\n/permissions nonsense\n/permissions\n").stdout
    assert "Permissions are edits.\n" in said
    assert "Permissions are edits. Choose one of: plan, ask, edits, auto." in said
    assert "Permission needed" not in said
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    assert "Unknown permissions 'nonsense'." in said


def test_the_effort_comes_back_with_the_conversation(project: Path) -> None:
    assert "Reasoning effort: high." in piped(project, "list files\n/effort high\n").stdout
    assert "Reasoning effort: high." in piped(project, "/effort\n", "-c").stdout
    assert "Reasoning effort: auto." in piped(project, "/effort\n").stdout


def test_a_new_conversation_has_the_configured_effort_and_dialect(project: Path) -> None:
    said = piped(project, "/effort low\n/dialect action\n/new\n/effort\n/dialect\n").stdout
    _before, after = said.split("New conversation.")
    assert "Reasoning effort: auto." in after
    assert "Dialect: auto." in after


def test_the_status_names_effort_and_dialect(project: Path) -> None:
    said = piped(project, "/effort low\n/dialect native\n/status\n").stdout.splitlines()
    assert "Reasoning effort low. Dialect xml (offline cannot be sent tools here)." in said


def test_the_dialect_and_the_model_that_are_set_are_those_that_answer(project: Path) -> None:
    said = piped(project, "/dialect action\n/dialect klingon\n/model offline\n/model nobody/x\nlist files\n")
    lines = said.stdout.splitlines()
    assert "Dialect: action." in lines
    assert "Unknown dialect 'klingon'." in said.stdout
    assert any(line.startswith("The model is offline/") for line in lines)
    assert "Error: Unknown provider 'nobody'" in said.stdout
    assert lines[-1] == "Done."
    environ = {**os.environ, "COGENCY_DATA": str(project.parent / "data")}
    listed = forkserver.run(["conversations", "list", "--json"], cwd=project, environ=environ)
    assert json.loads(listed.stdout)["dialect"] == "action"


def test_the_usage_of_the_project_is_the_table_of_the_command_without_its_chart(project: Path) -> None:
    said = piped(project, f"/usage\n/permissions edits\n{REPLACE}\n/usage\n/usage tool\n/usage soup\n").stdout
    before, after = said.split("Permissions are edits.")
    assert "No usage from " in before
    assert f"Usage in {project} from " in after
    by_model, by_tool = after.split(f"Usage in {project}")[1:]
    for heading in ("Spent by model", "Success by model", "Compared with the period before"):
        assert heading in by_model
    (row,) = [line for line in by_model.splitlines() if line.startswith("offline/offline-1  ")][:1]
    assert len(row.split()) > 4
    assert "\nedit " in by_tool
    assert "█" not in said
    assert "Cannot report usage by 'soup'." in said


def test_the_output_of_the_last_call_is_told(project: Path) -> None:
    said = piped(project, "/output\nread greet.py\n/output\n/new\n/output\n").stdout.splitlines()
    nothing = "No call has returned text in this turn."
    assert said.count(nothing) == 2
    first, last = (index for index, line in enumerate(said) if line == nothing)
    assert 'print("hello")' in "\n".join(said[first:last])


def test_without_a_plan_there_are_no_todos(project: Path) -> None:
    said = piped(project, "/todos\nlist files\n/todos\n").stdout
    assert said.count("The agent has made no plan here.") == 2


def test_what_was_taken_back_comes_back(project: Path) -> None:
    said = piped(project, f"/permissions auto\n{REPLACE}\n/undo\n/redo\n").stdout
    assert "Error" not in said
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'


def test_a_conversation_is_summarised(project: Path) -> None:
    said = piped(project, "/compact\nlist files\nread greet.py\nlist files\n/compact\n").stdout
    assert "This conversation has no messages yet." in said
    assert "Summarized " in said


def test_the_first_message_may_come_with_the_command(project: Path) -> None:
    done = piped(project, "/quit\n", "list files")
    assert done.returncode == 0
    assert "Done." in done.stdout


def test_commands_of_the_shell_are_named(project: Path) -> None:
    said = piped(project, "/skills\n/trust\n").stdout
    assert "There is no /skills here. Next step: Use `cogency-tui skills` in a shell." in said
    assert "There is no /trust here. Next step: Use `cogency-tui trust` in a shell." in said
