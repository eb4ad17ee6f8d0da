"""`cogency-tui config`: where every value is from, and writing one."""

import json
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.config.options import options
from cogency_tui.config.schema import config_path
from tests.cli.conftest import Run


def shown(run: Run, *arguments: str, **environment: str) -> dict[str, dict[str, Any]]:
    done = run("config", "show", "--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return {row["key"]: row for row in map(json.loads, done.stdout.splitlines())}


def write(text: str) -> Path:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_path_is_told_though_there_is_no_file(run: Run) -> None:
    assert run("config", "path").stdout == f"{config_path()}\n"


def test_every_option_says_its_value_and_where_it_is_from(run: Run, project: Path) -> None:
    path = write('# mine\nmode = "replay"\ntheme = "day"\nmax_iterations = 7\n[budget.turn]\nhard = 1\n')
    (project / ".cogency").mkdir()
    (project / ".cogency" / "config.toml").write_text('dialect = "action"\npermissions = "auto"\n')
    assert run("trust", "--yes").returncode == 0
    rows = shown(run, "--max-iterations", "9", COGENCY_THEME="dusk", COGENCY_MODE="")

    assert list(rows) == list(options())
    told = {key: (row["value"], row["source"], row["where"]) for key, row in rows.items()}
    assert told["mode"] == ("replay", "user", f"{path}:2")
    assert told["theme"] == ("dusk", "environment", "COGENCY_THEME")
    assert told["max_iterations"] == (9, "flag", "--max-iterations")
    assert told["dialect"] == ("action", "project", f"{project.resolve()}/.cogency/config.toml:1")
    assert told["permissions"] == ("ask", "default", ""), "a project widens nothing"
    assert told["budget.turn.hard"] == (1, "user", f"{path}:6")
    assert told["footer"] == (True, "default", "")
    assert all(row["meaning"] for row in rows.values())


def test_what_a_project_gives_does_not_count_until_it_is_trusted(run: Run, project: Path) -> None:
    (project / ".cogency").mkdir()
    (project / ".cogency" / "config.toml").write_text('mode = "replay"\n')
    done = run("config", "show")
    assert "mode                              auto            default" in done.stdout
    assert "inactive until you trust it" in done.stderr


def test_set_writes_what_the_program_then_goes_by_and_keeps_comments(run: Run) -> None:
    path = write('# mine\nmode = "replay" # why\n')
    assert run("config", "set", "mode", "resume").returncode == 0
    assert run("config", "set", "budget.day.hard", "2.5").returncode == 0
    assert run("config", "set", "footer", "off").returncode == 0
    assert run("config", "set", "keys.prompt.send", "ctrl+y").returncode == 0
    assert run("config", "set", "providers.mine.base_url", "http://127.0.0.1:9/v1").returncode == 0
    assert run("config", "set", "providers.mine.context_size", "4096").returncode == 0
    assert path.read_text().startswith('# mine\nmode = "resume" # why\n')
    rows = shown(run)
    assert rows["mode"]["value"] == "resume"
    assert rows["budget.day.hard"]["value"] == 2.5
    assert rows["footer"]["value"] is False
    assert rows["keys"]["value"] == ["prompt.send"]
    assert rows["providers"]["value"] == ["mine"]
    assert run("config", "unset", "mode").returncode == 0
    assert shown(run)["mode"]["source"] == "default"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["thme", "day"], 'unknown option "thme". Did you mean "theme"?'),
        (["hard", "1"], 'Did you mean "budget.turn.hard"?'),
        (["theme", "nigt"], 'there is no "nigt". Did you mean "night"?'),
        (["provider", "opnai"], 'there is no "opnai". Did you mean "openai"?'),
        (["mode", "fast"], 'must be one of auto, resume, replay, not "fast"'),
        (["max_iterations", "0"], "must be a whole number from 1 to 1,000."),
        (["max_iterations", "few"], "must be a whole number from 1 to 1,000."),
        (["budget.day.hard", "nan"], "must be a number of at least 0."),
        (["footer", "maybe"], "must be on or off"),
        (["providers.mine.bas_url", "x"], 'did you mean "base_url"?'),
        (["agents", "x"], "is a table"),
    ],
)
def test_what_cannot_be_set_is_told_and_not_written(run: Run, arguments: list[str], told: str) -> None:
    done = run("config", "set", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert not config_path().exists()


def test_a_file_that_is_wrong_already_is_told_with_its_line_and_left(run: Run) -> None:
    path = write('theme = "day"\nmod = "auto"\n')
    for arguments in (["show"], ["set", "theme", "night"]):
        done = run("config", *arguments)
        assert done.returncode == 2
        assert f'{path}, line 2: unknown key "mod" (did you mean "mode"?)' in done.stderr
    assert path.read_text() == 'theme = "day"\nmod = "auto"\n'


def test_a_variable_that_cannot_be_used_is_named(run: Run) -> None:
    done = run("run", "hi", COGENCY_MAX_ITERATIONS="many")
    assert done.returncode == 2
    assert "The environment variable COGENCY_MAX_ITERATIONS is invalid: must be a whole number" in done.stderr


def test_the_environment_counts_in_a_turn(run: Run) -> None:
    done = run("run", "--json", "hello", COGENCY_MODE="replay")
    metric = next(e for e in map(json.loads, done.stdout.splitlines()) if e["type"] == "metric")
    assert metric["step"]["mode"] == "replay"


def test_a_value_of_the_environment_names_its_variable(run: Run) -> None:
    told = run("config", "show", COGENCY_MODE="replay").stdout
    assert "$COGENCY_MODE" in next(line for line in told.splitlines() if line.startswith("  mode "))


def test_what_is_not_set_need_not_be_unset(run: Run) -> None:
    done = run("config", "unset", "theme")
    assert done.returncode == 0
    assert "theme is not set in" in done.stderr
    assert not config_path().exists()


def test_an_option_of_conversations_says_when_it_counts(run: Run) -> None:
    assert "applies to new conversations" in run("config", "set", "dialect", "action").stderr
