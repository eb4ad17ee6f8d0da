"""`cogency-tui run`: stdout is data, the exit status tells how it ended, and nothing else is touched."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import LOCK
from tests.cli.conftest import Run
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.pictures import picture

REPLACE = "replace 'hello' with 'goodbye' in greet.py"


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("mode", ["auto", "resume", "replay"])
@pytest.mark.parametrize("dialect", ["xml", "delimiter", "action"])
def test_a_turn_changes_the_file_and_nothing_else(run: Run, project: Path, mode: str, dialect: str) -> None:
    done = run(
        *["run", REPLACE, "--provider", "offline", "--permissions", "auto", "--json"],
        *["--mode", mode, "--dialect", dialect],
    )
    assert done.returncode == 0, done.stderr
    types = [event["type"] for event in events(done.stdout)]
    expected = ["user", "think", "call", "execute", "result", "metric"] * 2 + ["respond", "metric", "end"]
    expected = [kind for number, kind in enumerate(expected) if number == 0 or kind != "user"]
    assert types == [kind for kind in expected if dialect != "action" or kind != "execute"]
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    assert [path.name for path in project.iterdir()] == ["greet.py"]


def test_a_model_that_ends_is_noted_on_stderr(run: Run, tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('["groq/old"]\nends = 2020-01-02\n')
    config = str(tmp_path / "config.toml")
    done = run("run", "hello", "--json", "--provider", "groq", "--model", "old", COGENCY_CONFIG=config)
    assert "old was retired on 2020-01-02: choose another with --model." in done.stderr.splitlines()
    assert events(done.stdout)[0]["type"] == "user"


def test_a_conversation_is_continued_with_its_effort(run: Run) -> None:
    assert run("run", "list files", "--effort", "high").returncode == 0
    id = events(run("conversations", "list", "--json").stdout)[0]["id"]
    done = run("run", "list files", "--json", "--conversation", id)
    efforts = {event["step"].get("effort") for event in events(done.stdout) if event["type"] == "metric"}
    assert efforts == {"high"}, done.stderr


def test_chunks_add_up_to_the_units(run: Run) -> None:
    done = run("run", "read greet.py", "--json", "--chunks", "--permissions", "auto")
    chunks = [e for e in events(done.stdout) if e["type"] == "respond"]
    assert len(chunks) > 3
    stored = run("conversations", "list", "--json")
    shown = run("conversations", "show", events(stored.stdout)[0]["id"], "--json")
    whole = [e["content"] for e in events(shown.stdout) if e["type"] == "respond"]
    assert "".join(e["content"] for e in chunks) == "".join(whole)


def test_without_a_terminal_to_ask_at_it_refuses_and_says_how_to_allow_it(run: Run, project: Path) -> None:
    done = run("run", REPLACE, "--permissions", "ask", "--json")
    assert done.returncode == 1
    assert (project / "greet.py").read_text() == 'print("hello")\n'
    assert "--permissions edits" in done.stderr
    assert all(isinstance(event, dict) for event in events(done.stdout))


def test_a_refusal_says_why_and_that_nobody_could_be_asked(run: Run) -> None:
    done = run("run", "run `touch made`", "--permissions", "edits", "--json")
    [result] = [event for event in events(done.stdout) if event["type"] == "result"]
    assert result["payload"]["refused"] == "it runs a command"
    assert result["payload"]["outcome"] == (
        "Not allowed: it runs a command; no user is available to approve it. "
        "Allowed instead: reading, searching and changing files inside the project."
    )
    assert "--permissions auto" in done.stderr
    assert "--permissions edits" not in done.stderr
    assert done.returncode == 1


def test_no_mode_is_advised_where_none_would_help(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    done = run("run", f"run `cat {tmp_path}/notes.txt`", "--permissions", "auto", "--json")
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Not allowed: ")]
    assert "is outside the project" in line
    assert line.endswith(
        "No permission mode allows it without asking: start cogency-tui without run to approve it."
    )
    assert "--permissions" not in line


def test_the_first_and_the_last_event_name_the_conversation(run: Run) -> None:
    seen = events(run("run", "read greet.py", "--json", "--chunks").stdout)
    [stored] = events(run("conversations", "list", "--json").stdout)
    assert (seen[0]["type"], seen[0]["conversation"]) == ("user", stored["id"])
    assert (seen[-1]["type"], seen[-1]["conversation"]) == ("end", stored["id"])
    shown = events(run("conversations", "show", stored["id"], "--json").stdout)
    assert not any("conversation" in event for event in shown)


async def test_a_turn_that_fails_ends_with_its_error_and_status_1(run: Run, tmp_path: Path) -> None:
    failing = '<execute>\n[{"name": "read", "args": {"file": "none"}}]\n</execute>'
    async with ChatPeer([failing] * 4) as peer:
        done = await _run_at(run, tmp_path, peer, "--json")
    assert done.returncode == 1
    *_, problem, end = events(done.stdout)
    assert "Last error: read: none: there is no such file" in problem["payload"]["error"]
    assert (problem["type"], end["type"]) == ("error", "end")


async def test_an_error_that_the_turn_goes_on_after_is_no_failure(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(["<execute>[{]</execute>", "Done."]) as peer:
        done = await _run_at(run, tmp_path, peer, "--json")
    assert [event["type"] for event in events(done.stdout)].count("error") == 1
    assert done.returncode == 0


async def test_a_malformed_call_is_reported_once(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(["<execute>[{]</execute>", "Done."]) as peer:
        done = await _run_at(run, tmp_path, peer)
    assert done.stderr.count("Invalid JSON in call 1") == 1


async def test_background_commands_that_its_end_stops_are_named(run: Run, tmp_path: Path) -> None:
    start = '<execute>[{"name": "shell", "args": {"command": "sleep 1000", "background": true}}]</execute>'
    async with ChatPeer([start, "p1 runs."]) as peer:
        done = await _run_at(run, tmp_path, peer, "--json", "--permissions", "auto")
    assert done.returncode == 0
    assert "Background commands stopped at the end: p1 (`sleep 1000`)" in done.stderr.splitlines()
    assert "Background commands: they end with your answer" in events(done.stdout)[0]["environment"]


async def test_a_shortened_outcome_ends_the_error_with_one_mark(run: Run, tmp_path: Path) -> None:
    failing = f'<execute>\n[{{"name": "read", "args": {{"file": "{"n" * 200}"}}}}]\n</execute>'
    async with ChatPeer([failing] * 3) as peer:
        done = await _run_at(run, tmp_path, peer, "--json")
    *_, problem, _end = events(done.stdout)
    assert problem["payload"]["error"].endswith("n…")


def test_the_answer_is_on_stdout_and_talk_on_stderr(run: Run) -> None:
    done = run("run", "read greet.py")
    assert done.returncode == 0
    assert "greet.py" in done.stdout
    assert "read" in done.stderr
    assert "metric" not in done.stdout


def test_a_mentioned_image_is_attached(run: Run, project: Path) -> None:
    (project / "shot.png").write_bytes(picture())
    (project / "bad.png").write_bytes(b"")
    done = run("run", "what is @shot.png and @bad.png", "--json")
    first, *others = events(done.stdout)
    [image] = first["images"]
    assert (first["type"], first["content"]) == ("user", "what is @shot.png and @bad.png")
    assert (image["name"], image["width"], image["height"]) == ("shot.png", 8, 6)
    notices = [e["payload"]["error"] for e in others if e["type"] == "error"]
    assert notices == [
        "Not attached: bad.png is empty.",
        "offline-1 takes no images: it receives only their names and sizes.",
    ]
    told = run("run", "what is @shot.png").stderr
    assert f"· image shot.png: 8×6 pixels, {image['size']} bytes" in told.splitlines()
    stored = events(run("conversations", "list", "--json").stdout)[-1]["id"]
    assert "[image shot.png: 8×6 pixels, " in run("conversations", "show", stored).stdout


def test_stdin_is_added_to_the_prompt(run: Run) -> None:
    done = run("run", "--json", stdin="read greet.py")
    assert events(done.stdout)[0]["content"] == "read greet.py"
    done = run("run", "list files", "--json", stdin="and more")
    assert events(done.stdout)[0]["content"] == "list files\n\nand more"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "prompt is empty"),
        (["run", "x", "--provider", "nobody"], "nobody"),
        (["run", "x", "--mode", "fast"], "invalid choice"),
        (["run", "x", "--max-iterations", "0"], "--max-iterations"),
        (["run", "x", "--cwd", "nowhere"], "not a directory"),
        (["run", "x", "--conversation", "nope"], "nope"),
        (["conversations", "show", "nope"], "nope"),
        (["parse", "nowhere.txt"], "nowhere.txt"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_what_cannot_be_done_says_so_with_status_2(run: Run, arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_interface_needs_a_terminal(run: Run) -> None:
    done = run()
    assert done.returncode == 2
    assert "terminal" in done.stderr


def test_a_conversation_goes_on_by_the_beginning_of_its_id(run: Run) -> None:
    run("run", "read greet.py", "--json")
    conversation = events(run("conversations", "list", "--json").stdout)[0]
    run("run", "list files", "--json", "--conversation", conversation["id"][:12], "--mode", "replay")
    shown = events(run("conversations", "show", conversation["id"], "--json").stdout)
    assert [event["content"] for event in shown if event["type"] == "user"] == ["read greet.py", "list files"]
    assert len(events(run("conversations", "list", "--json").stdout)) == 1


def test_an_interrupt_ends_it_with_status_130(project: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "cogency_tui",
            "run",
            "run `sleep 30`",
            "--permissions",
            "auto",
            "--json",
            "--chunks",
        ],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COGENCY_DATA": str(tmp_path / "data")},
    )
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if seen[-1]["type"] == "result" and seen[-1].get("partial"):
            process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    process.stdout.close()
    assert [event["type"] for event in seen[-3:]] == ["result", "metric", "interrupt"]
    assert seen[-3]["payload"]["outcome"] == "interrupted"


async def test_a_compatible_server_is_used_by_its_configuration(
    run: Run, tmp_path: Path, project: Path
) -> None:
    block = (
        '<execute>\n[{"name": "edit", "args": {"file": "greet.py", "old": "hello", "new": "hi"}}]\n</execute>'
    )
    async with ChatPeer([block, "Changed it."]) as peer:
        config = tmp_path / "config.toml"
        config.write_text(
            f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\nkey_env = "MY_SECRET_KEY"\n'
        )
        done = await asyncio.to_thread(
            run,
            *["run", "say hi", "--provider", "mine", "--permissions", "auto", "--json"],
            COGENCY_CONFIG=str(config),
            MY_SECRET_KEY="sk-very-secret-1234",
        )
    assert done.returncode == 0, done.stderr
    assert (project / "greet.py").read_text() == 'print("hi")\n'
    assert events(done.stdout)[-1]["type"] == "end"
    assert events(done.stdout)[-2]["step"]["provider"] == "mine"
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"very-secret" not in stored + done.stdout.encode() + done.stderr.encode()


async def _run_at(
    run: Run, tmp_path: Path, peer: ChatPeer, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """`run` with a provider that has no sessions and needs no key."""
    config = tmp_path / "config.toml"
    config.write_text(f'[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n')
    command = ("run", "say hi", "--provider", "mine", *arguments)
    return await asyncio.to_thread(run, *command, COGENCY_CONFIG=str(config))


LIMITED = Fault(status=429, headers={"retry-after": "0"}, body='{"error": {"message": "Slow down."}}')


async def test_a_notice_is_talk_and_no_failure(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(["Hi."], faults=[LIMITED]) as peer:
        done = await _run_at(run, tmp_path, peer)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "Hi.\n"
    [line] = [line for line in done.stderr.splitlines() if "Retrying" in line]
    assert line.startswith("◇ ")
    assert "Slow down." in line
    assert "Error" not in done.stderr


async def test_a_notice_is_an_event_like_the_others_in_json(run: Run, tmp_path: Path) -> None:
    async with ChatPeer(["Hi."], faults=[LIMITED]) as peer:
        done = await _run_at(run, tmp_path, peer, "--json")

    [notice] = [event["payload"] for event in events(done.stdout) if event["type"] == "error"]
    assert (notice["notice"], notice["retry"]) == (True, 0)
    assert done.returncode == 0


async def test_an_error_at_the_end_fails_whatever_was_noted_before_it(run: Run, tmp_path: Path) -> None:
    refused = Fault(status=400, body='{"error": {"message": "Never."}}')
    async with ChatPeer(["Hi."], faults=[LIMITED, refused]) as peer:
        done = await _run_at(run, tmp_path, peer)

    assert done.returncode == 1
    assert "◇ " in done.stderr
    assert "Error: " in done.stderr
    assert "Never." in done.stderr


def test_no_server_there_is_one_line_that_says_what_to_do(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    done = run("run", "hi", "--provider", "nobody", COGENCY_CONFIG=str(config))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) <= 5


def test_a_broken_configuration_names_the_line(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('mode = "auto"\nmodel = \n')
    done = run("run", "hi", COGENCY_CONFIG=str(config))
    assert done.returncode == 2
    assert "line 2" in done.stderr
    config.write_text('mode = "sometimes"\n')
    done = run("run", "hi", COGENCY_CONFIG=str(config))
    assert done.returncode == 2
    assert "sometimes" in done.stderr
    assert "mode" in done.stderr


def test_control_sequences_reach_no_terminal(run: Run, project: Path) -> None:
    (project / "evil.txt").write_text("\x1b]0;title\x07\x1b[2Jclear\n")
    done = run("run", "read evil.txt")
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


def test_a_skill_is_started_by_its_name_as_in_the_app(run: Run, project: Path, sealed_home: Path) -> None:
    file = sealed_home / ".claude/skills/deploy/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: deploy\ndescription: Deploys.\n---\nDeploy $ARGUMENTS.\n")
    done = run("run", "/deploy prod", "--json", "--provider", "offline")
    assert events(done.stdout)[0]["content"] == "Use the skill deploy: prod"
    assert "/deploy" not in done.stderr

    done = run("run", "/deplyo prod", "--json", "--provider", "offline")
    assert events(done.stdout)[0]["content"] == "/deplyo prod"
    assert "There is no command /deplyo here: sent as text." in done.stderr

    untrusted = project / ".claude/skills/docx/SKILL.md"
    untrusted.parent.mkdir(parents=True)
    untrusted.write_text("---\nname: docx\ndescription: Writes.\n---\nWrite.\n")
    done = run("run", "/docx a", "--json", "--provider", "offline")
    assert "The skill docx is not trusted (review it with `cogency-tui trust`): sent as text." in done.stderr


def test_a_turn_copies_the_history_once_it_is_a_day_old(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run("run", "list files").returncode == 0
    assert copies_in(data) == []
    os.utime(data / LOCK, (0, 0))
    assert run("run", "list files", COGENCY_HISTORY_COPIES="false").returncode == 0
    assert copies_in(data) == []
    assert run("run", "list files").returncode == 0
    assert len(copies_in(data)) == 1


def test_a_copy_of_the_history_that_fails_is_reported(run: Run, tmp_path: Path) -> None:
    assert run("run", "list files").returncode == 0
    os.utime(tmp_path / "data" / LOCK, (0, 0))
    (tmp_path / "data/copies").write_text("in the way")
    done = run("run", "list files")
    assert done.returncode == 0
    assert "◇ The weekly copy of the history failed:" in done.stderr
