"""`--linear` as a program: with a pipe, and in a real terminal."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event
from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import LOCK
from tests import forkserver
from tests.tui.pty import Terminal

CTRL_D = "\x04"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


def piped(project: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What is said to a session that is given `text`, and its exit status."""
    environ = {**os.environ, "COGENCY_DATA": str(project.parent / "data")}
    return forkserver.run(["--linear", *arguments], cwd=project, environ=environ, stdin=text)


async def stored(project: Path, data: Path) -> list[Event]:
    """The events of the only conversation."""
    async with Agent(llm="offline", project=project, data=data) as agent:
        store = await agent.store()
        (only,) = await store.conversations(limit=2)
        return await store.events(only.id)


def press_ctrl_c(terminal: Terminal) -> None:
    """What a shell's terminal does for that key; this one is nobody's controlling terminal."""
    os.kill(terminal.process.pid, signal.SIGINT)


def test_a_piped_session_asks_changes_and_takes_back(project: Path) -> None:
    done = piped(project, "replace 'hello' with 'goodbye' in greet.py\ny\n/undo\n")
    said = done.stdout.splitlines()

    assert done.returncode == 0
    assert any(line.startswith("Permission needed: edit asks to change files") for line in said)
    assert '  -print("hello")' in said
    assert "Allowed." in said
    assert any(line.startswith("Tool edit started: greet.py") for line in said)
    assert any(line.startswith("Tool edit done in ") for line in said)
    assert said.index("Allowed.") < said.index("Done.")
    assert (project / "greet.py").read_text() == 'print("hello")\n'


def test_a_turn_copies_the_history_once_it_is_a_day_old(project: Path) -> None:
    data = project.parent / "data"
    assert piped(project, "list files\n").returncode == 0
    assert copies_in(data) == []
    os.utime(data / LOCK, (0, 0))
    assert piped(project, "list files\n").returncode == 0
    assert len(copies_in(data)) == 1


def test_a_conversation_that_failed_says_so_when_it_is_continued(project: Path) -> None:
    openai = ("--provider", "openai", "--model", "m")
    [problem] = [line for line in piped(project, "hello\n", *openai).stdout.splitlines() if "Error" in line]
    assert problem.startswith("Error: openai needs an API key, and $OPENAI_API_KEY is not set. Next step: ")
    said = piped(project, "", "-c", *openai).stdout.splitlines()
    assert said[-2:] == ["You: hello", problem]


def test_a_model_that_ends_is_noted_at_the_start(project: Path) -> None:
    own = Path.home() / ".config" / "cogency-tui"
    own.mkdir(parents=True)
    (own / "models.toml").write_text('["openai/old"]\nends = 2020-01-02\n')
    said = piped(project, "", "--provider", "openai", "--model", "old").stdout.splitlines()
    assert "Note: old was retired on 2020-01-02: choose another with /model." in said
    assert "Note:" not in piped(project, "", "--provider", "openai", "--model", "new").stdout


def test_a_command_in_a_file_is_sent(project: Path) -> None:
    commands = Path.home() / ".config" / "cogency-tui" / "commands"
    commands.mkdir(parents=True)
    (commands / "look.md").write_text("explain $ARGUMENTS")
    said = piped(project, "/look greet.py\n").stdout
    assert "`greet.py` has 1 line" in said


def test_what_an_untrusted_project_brings_is_named(project: Path) -> None:
    (project / ".cogency").mkdir()
    (project / ".cogency" / "config.toml").write_text('[agents.reader]\nprompt = "Read."\n')
    assert "Review and trust it with `cogency-tui trust`" in piped(project, "/quit\n").stderr


def test_a_refusal_is_said_and_its_reason_reaches_the_model(project: Path) -> None:
    said = piped(project, "replace 'hello' with 'goodbye' in greet.py\nn leave it\n").stdout

    assert "Declined." in said
    assert "Their reason: leave it" in said
    assert (project / "greet.py").read_text() == 'print("hello")\n'


def test_where_nobody_can_answer_the_answer_is_no(project: Path) -> None:
    done = piped(project, "replace 'hello' with 'goodbye' in greet.py\n")

    assert "Declined: end of input." in done.stdout
    assert "no user is available to approve it" in done.stdout
    assert "Their reason" not in done.stdout
    assert (project / "greet.py").read_text() == 'print("hello")\n'


def test_a_command_that_leaves_works_while_a_question_is_open(project: Path) -> None:
    done = piped(project, "replace 'hello' with 'goodbye' in greet.py\n/todos\n/quit\ny\n")
    assert "The agent has made no plan here." in done.stdout
    assert done.stdout.rstrip().endswith("Answer the question first.")
    assert done.stdout.count("Answer the question first.") == 1
    assert done.stderr == ""
    assert (project / "greet.py").read_text() == 'print("hello")\n'


def test_nothing_is_drawn(project: Path) -> None:
    said = piped(project, "list files\n/help\n/status\n/model\n/mode replay\n/resume\n").stdout

    assert not set("│┃─▌✓✗⠋▸●·\x1b") & set(said.replace("offline·", ""))
    assert "@image.png in a message attaches that image." in said
    assert "Session mode: replay." in said
    assert "1: list files, 1 turns" in said


def test_a_past_conversation_goes_on(project: Path) -> None:
    piped(project, "list files\n")
    said = piped(project, "/status\n", "--continue").stdout

    assert "Conversation: list files" in said
    assert "You: list files" in said


def test_what_is_no_command_is_told_with_those_that_there_are(project: Path) -> None:
    said = piped(project, "/bogus\n/image a.png\n/mode sideways\n/undo\n").stdout

    assert "Error: Unknown command /bogus. Next step: Choose one of: /help" in said
    assert "There is no /image here. Next step: Type @image.png in your message" in said
    assert "Unknown session mode 'sideways'." in said
    assert "This conversation has no messages yet." in said


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_ctrl_c_interrupts_and_ctrl_d_leaves(project: Path, tmp_path: Path) -> None:
    arguments = ("--linear", "--permissions", "auto")
    with Terminal(*arguments, cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send("run `printf sta%s rted; sleep 60`\n")
        terminal.wait_for("Tool shell started")
        press_ctrl_c(terminal)
        terminal.wait_for("Interrupted.")
        terminal.send("list files\n")
        terminal.wait_for("Done.")
        terminal.send(CTRL_D)
        assert terminal.process.wait(20) == 0
        assert "\x1b" not in terminal.text


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_a_message_reaches_the_model_at_the_next_step(project: Path, tmp_path: Path) -> None:
    arguments = ("--linear", "--permissions", "auto")
    with Terminal(*arguments, cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send("run `printf sta%s rted; while [ ! -e go ]; do sleep 0.05; done`\n")
        terminal.wait_for("Tool shell started")
        terminal.send("list files\n")
        terminal.wait_for("At the next step: list files")
        terminal.send("/status\n")
        terminal.wait_for("After this turn: /status")
        (project / "go").touch()
        terminal.wait_for("Permissions auto.")
        assert terminal.text.count("Done.") == 1
        terminal.send(CTRL_D)
        assert terminal.process.wait(20) == 0
    events = asyncio.run(stored(project, tmp_path / "data"))
    kinds = [event["type"] for event in events if event["type"] not in ("think", "respond")]
    assert kinds == ["user", "call", "result", "user", "call", "result"]
    assert [event.get("steered") for event in events if event["type"] == "user"] == [None, True]


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_ctrl_c_drops_what_waits(project: Path, tmp_path: Path) -> None:
    with Terminal("--linear", "--permissions", "auto", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send("run `sleep 60`\n")
        terminal.wait_for("Tool shell started")
        terminal.send("list files\n!ls\n")
        terminal.wait_for("After this turn: !ls")
        press_ctrl_c(terminal)
        terminal.wait_for("Not sent: list files")
        terminal.wait_for("Not sent: !ls")
        terminal.wait_for("Interrupted.")
        terminal.send(CTRL_D)
        assert terminal.process.wait(20) == 0
    events = asyncio.run(stored(project, tmp_path / "data"))
    assert [event["type"] for event in events].count("user") == 1


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_a_turn_that_fails_drops_what_waits(project: Path, tmp_path: Path) -> None:
    arguments = ("--linear", "--provider", "openai", "--model", "m")
    with Terminal(*arguments, cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send("one\ntwo\n")
        terminal.wait_for("Not sent: two")
        assert terminal.text.count("Error: openai needs an API key") == 1
        terminal.send(CTRL_D)
        assert terminal.process.wait(20) == 0


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_quit_acts_at_once(project: Path, tmp_path: Path) -> None:
    with Terminal("--linear", "--permissions", "auto", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send("run `sleep 60`\n")
        terminal.wait_for("Tool shell started")
        terminal.send("/quit\n")
        assert terminal.process.wait(20) == 0


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_a_command_of_the_user_runs(project: Path, tmp_path: Path) -> None:
    with Terminal("--linear", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send("!echo $((6 * 7)); exit 3\n")
        terminal.wait_for(": exit 3\n>")
        assert "\n42\nCommand ended after " in terminal.text
        terminal.send("/output\n")
        terminal.wait_for("/output\n42\n")
        terminal.send(CTRL_D)
        assert terminal.process.wait(20) == 0
    [event] = asyncio.run(stored(project, tmp_path / "data"))
    assert event["type"] == "user"
    assert event["content"] == "! echo $((6 * 7)); exit 3"


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_work_goes_on_until_a_command_succeeds(project: Path, tmp_path: Path) -> None:
    arguments = ("--linear", "--permissions", "auto")
    check = "cat greet.py; grep -q goodbye greet.py"
    with Terminal(*arguments, cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("/help lists the commands")
        terminal.send(f"/until --max-turns 3 {check}\n")
        terminal.wait_for("succeeds: turn 1 of 3.")
        terminal.send("replace 'hello' with 'goodbye' in greet.py\n")
        terminal.wait_for("succeeded after ")
        assert "\nCommand cat greet.py" in terminal.text
        terminal.send("/until sleep 60\n")
        terminal.wait_for("Command sleep 60 started")
        press_ctrl_c(terminal)
        terminal.wait_for("Note: Stopped: interrupted. `sleep 60` has not succeeded.")
        terminal.send("/until\n")
        terminal.wait_for("/until needs a command.")
        terminal.send(CTRL_D)
        assert terminal.process.wait(20) == 0
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'


def test_work_until_a_piped_command_succeeds_does_not_begin(project: Path) -> None:
    said = piped(project, "/until touch ran\n").stdout
    assert "Error: /until runs a command only where you type it." in said
    assert not (project / "ran").exists()


def test_a_piped_command_of_the_user_does_not_run(project: Path) -> None:
    said = piped(project, "!touch ran\n").stdout
    assert "Error: A ! command runs only where you type it. Next step: Run it in your shell instead." in said
    assert not (project / "ran").exists()


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_ctrl_c_twice_leaves(project: Path, tmp_path: Path) -> None:
    with Terminal("--linear", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("\n>")
        press_ctrl_c(terminal)
        terminal.wait_for("Press Ctrl+C again to quit.")
        press_ctrl_c(terminal)
        assert terminal.process.wait(20) == 0


@pytest.mark.exhaustive
@pytest.mark.pty
def test_in_a_terminal_only_what_is_typed_after_a_question_answers_it(project: Path, tmp_path: Path) -> None:
    with Terminal("--linear", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("\n>")
        terminal.send("run `mkdir made`\ny\n")
        terminal.wait_for("Answer y to allow once")
        assert not (project / "made").exists()
        terminal.send("y\n")
        terminal.wait_for("Tool shell done in")
        assert (project / "made").exists()
