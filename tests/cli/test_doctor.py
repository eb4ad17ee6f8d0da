"""`cogency-tui doctor` says of each provider what it can do, and finds what cannot work before it is tried."""

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.permissions.rules import FILE_NAME, Rules
from cogency_tui.agent.project.trust import Trust
from cogency_tui.config.schema import config_directory
from cogency_tui.store.copies import make_copy
from tests.cli.conftest import Run
from tests.peers.chat import ChatPeer

KEY = "sk-very-secret-1234"


def examined(run: Run, **environment: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit status, the findings by name, and all that was printed."""
    done = run("doctor", "--json", **environment)
    findings = {finding["name"]: finding for finding in map(json.loads, done.stdout.splitlines())}
    return done.returncode, findings, done.stdout + done.stderr


def test_each_provider_has_its_model_its_modes_and_the_source_of_its_key(run: Run) -> None:
    status, findings, printed = examined(run, OPENAI_API_KEY=KEY)

    assert findings["openai"]["what"].endswith("resume and replay, key found in OPENAI_API_KEY")
    assert findings["openai"]["what"].startswith("gpt-")
    assert findings["anthropic"]["what"].endswith(", resume and replay, no key")
    assert "ANTHROPIC_API_KEY" in findings["anthropic"]["advice"]
    assert findings["ollama"]["what"] == "no model chosen, replay, needs no key"
    assert findings["offline *"]["state"] == "ok"
    assert KEY not in printed
    assert status == 0


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ('provider = "nobody"', "Unknown provider 'nobody'"),
        ('provider = "ollama"', "needs a model name"),
        ('provider = "mine"\n[providers.mine]\nmodel = "m"', "no usable base_url"),
    ],
)
def test_a_provider_that_cannot_work_is_found(run: Run, tmp_path: Path, config: str, says: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(config)
    status, findings, _printed = examined(run, COGENCY_CONFIG=str(path))

    assert status == 1
    assert findings["provider"]["state"] == "bad"
    assert says in findings["provider"]["what"]
    assert findings["provider"]["advice"]


def test_the_provider_in_force_needs_its_key(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('provider = "openai"')
    status, findings, _printed = examined(run, COGENCY_CONFIG=str(path))

    assert (status, findings["openai *"]["state"]) == (1, "bad")


@pytest.mark.parametrize(("days", "verb", "state"), [(30, "is retired", "note"), (-1, "was retired", "bad")])
def test_the_model_in_force_is_reported_before_it_ends(
    run: Run, tmp_path: Path, days: int, verb: str, state: str
) -> None:
    day = datetime.now(UTC).date() + timedelta(days=days)
    (tmp_path / "config.toml").write_text('provider = "groq"\nmodel = "old"\n')
    (tmp_path / "models.toml").write_text(f'["groq/old"]\nends = {day}\n["groq/new"]\ncontext = 9\n')
    config = str(tmp_path / "config.toml")
    status, findings, _printed = examined(run, COGENCY_CONFIG=config, GROQ_API_KEY=KEY)

    assert (findings["model"]["state"], status) == (state, int(state == "bad"))
    assert findings["model"]["what"] == f"old {verb} on {day}"
    assert findings["model"]["advice"] == "Choose another: `cogency-tui models groq` lists them."
    _status, others, _printed = examined(run, COGENCY_CONFIG=config, GROQ_API_KEY=KEY, COGENCY_MODEL="new")
    assert "model" not in others


def test_a_file_of_models_that_cannot_be_used_is_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text('["openai/x"]\ncontext = "big"\n')
    status, findings, _printed = examined(run, COGENCY_CONFIG=str(tmp_path / "config.toml"))

    assert status == 1
    assert findings["models"]["state"] == "bad"
    assert "models.toml, line " in findings["models"]["what"]


@pytest.mark.parametrize(
    ("config", "name", "says"),
    [
        ('theme = "neon"', "theme", "Unknown theme 'neon'"),
        ('[keys]\nrecal = "f9"', "keys", 'line 2: unknown key id "recal". Did you mean "recall"?'),
        ('[keys]\nrecall = "ctrl+q"', "keys", '"leave" and "recall" are both bound to Ctrl+Q'),
    ],
)
def test_a_theme_or_a_key_that_cannot_be_is_found(
    run: Run, tmp_path: Path, config: str, name: str, says: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(config)
    status, findings, _printed = examined(run, COGENCY_CONFIG=str(path))

    assert status == 1
    assert findings[name]["state"] == "bad"
    assert says in findings[name]["what"]


def test_what_a_person_changed_in_the_interface_is_counted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "day"\n[keys]\nrecall = "f11"\nprompt.newline = "f10"\n')
    status, findings, _printed = examined(run, COGENCY_CONFIG=str(path))

    assert status == 0
    assert findings["interface"]["what"] == "theme day, 2 keys remapped"


def test_the_machine_is_looked_at(run: Run) -> None:
    _status, findings, _printed = examined(run)
    assert {"git", "sandbox", "clipboard", "extra web", "extra mcp", "extra acp", "extra serve"} <= set(
        findings
    )
    assert findings["git"]["state"] == "ok"
    assert findings["extra mcp"]["state"] == "ok"
    assert not [name for name in findings if name.startswith("ask ")]


def test_the_file_of_the_tokenizer_is_looked_for(run: Run, tmp_path: Path) -> None:
    _status, findings, _printed = examined(run, TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert findings["extra tokenizer"]["state"] == "ok"
    found = findings["tokenizer"]
    assert (found["state"], found["what"]) == (
        "note",
        f"o200k_base is not in {tmp_path}: tokens are estimated",
    )
    assert "-c \"import tiktoken; tiktoken.get_encoding('o200k_base')\"" in found["advice"]
    assert not [*tmp_path.glob("*.tmp")]


def test_a_sandbox_that_is_required_has_to_work(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('sandbox = "require"')
    empty = tmp_path / "empty"
    empty.mkdir()
    status, findings, _printed = examined(run, COGENCY_CONFIG=str(path), PATH=str(empty))
    assert (status, findings["sandbox"]["state"]) == (1, "bad")
    assert "bwrap is not installed" in findings["sandbox"]["what"]
    assert "bubblewrap" in findings["sandbox"]["advice"]


async def test_endpoints_are_asked_only_online(run: Run, tmp_path: Path) -> None:
    async with ChatPeer([], model="m") as peer:
        path = tmp_path / "config.toml"
        path.write_text(f'provider = "mine"\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n')

        def ask() -> list[dict[str, Any]]:
            done = run("doctor", "--json", "--online", COGENCY_CONFIG=str(path))
            return [json.loads(line) for line in done.stdout.splitlines()]

        found = {finding["name"]: finding for finding in await asyncio.to_thread(ask)}
        peer.shutdown_date = "2020-01-02"
        retired = {finding["name"]: finding for finding in await asyncio.to_thread(ask)}
    assert retired["endpoint mine *"]["state"] == "bad"
    assert retired["endpoint mine *"]["what"].endswith("according to it m was retired on 2020-01-02")
    assert retired["endpoint mine *"]["advice"] == "Choose another: `cogency-tui models mine` lists them."
    assert found["endpoint mine *"]["state"] == "ok"
    assert found["endpoint mine *"]["what"].startswith("responds, with ")
    assert found["endpoint vllm"]["state"] == "note"
    assert found["endpoint vllm"]["advice"]


def test_rules_and_a_project_that_was_refused_are_named(run: Run, project: Path) -> None:
    Rules(config_directory() / FILE_NAME, project).add("command", "pytest")
    (project / ".cogency").mkdir()
    (project / ".cogency" / "config.toml").write_text('[agents.reader]\nprompt = "Read."\n')
    Trust(config_directory() / "trusted.toml").refuse(project)
    _status, findings, _printed = examined(run)
    assert findings["permissions"]["what"].startswith("1 rule in ")
    assert findings["project"]["state"] == "note"


def test_a_file_of_hooks_that_cannot_be_used_is_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text('{\n"hooks": {,')
    _status, findings, _printed = examined(run, CLAUDE_CONFIG_DIR=str(tmp_path / "claude"))
    assert findings["hooks"]["state"] == "bad"
    assert "settings.json: line 2: it is no JSON" in findings["hooks"]["what"]


def test_the_whole_history_is_verified(run: Run, tmp_path: Path) -> None:
    assert "no history yet" in run("doctor", "--verify").stdout
    assert run("run", "hello").returncode == 0
    data = next(tmp_path.rglob("cogency.db")).parent
    assert make_copy(data, time.time()) is not None
    done = run("doctor", "--verify", "--json")
    findings = {finding["name"]: finding for finding in map(json.loads, done.stdout.splitlines())}
    assert findings["history"]["what"] == "1 conversation, 2 events, all as recorded"
    assert findings["copies"]["what"].startswith("cogency-")
    assert done.returncode == 0

    with closing(sqlite3.connect(data / "cogency.db")) as connection, connection:
        connection.execute("UPDATE events SET body = replace(body, 'hello', 'HELLO') WHERE seq = 1")
    done = run("doctor", "--verify")
    assert "1 event (1) was changed by another program" in done.stdout
    assert "doctor --repair" in done.stdout
    assert done.returncode == 1
    assert "1 event (1) was restored from" in run("doctor", "--repair").stdout
    done = run("doctor", "--verify")
    assert "all as recorded" in done.stdout
    assert done.returncode == 0
