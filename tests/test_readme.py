"""What the README says is so: its two commands, its configuration, its program, its commands and options."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.custom_files import read_custom
from cogency_tui.arguments import interface_parser, parser_of
from cogency_tui.cli import main
from cogency_tui.config_sources import load_settings
from cogency_tui.options import options
from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.drawing.keys import key_name
from cogency_tui.tui.key_table import key_table

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def test_the_first_two_blocks_are_the_two_commands() -> None:
    app, tests = (text.strip() for _, text in BLOCKS[:2])
    assert "\n" not in app + tests
    assert app.startswith("python3 -m venv .venv && ")
    assert ".venv/bin/cogency-tui" in app
    assert tests.startswith("python3 -m venv .venv-dev && ")
    assert tests.endswith(".venv-dev/bin/pytest -n 4")


@pytest.mark.parametrize("text", blocks("toml"))
def test_its_configuration_can_be_used(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    settings = load_settings(path)
    assert settings.providers or (settings.agents and settings.workflows) or len(settings.mcp) == 2


@pytest.mark.parametrize("text", blocks("markdown"))
def test_its_command_is_one(text: str) -> None:
    found = read_custom({"commands/tidy.md": text.encode()}, Path("commands"), own=True)
    assert found.problems == ()
    assert found.commands["tidy"].takes == "FILE"


def test_the_options_it_names_exist() -> None:
    named = set(re.findall(r"`([a-z_]+) = ", README))
    assert {"sandbox", "notify", "recall", "help"} <= named
    assert named <= options().keys() | {key.id for key in key_table()}
    variables = {option.variable for option in options().values()}
    named = set(re.findall(r"COGENCY_[A-Z_]*[A-Z]", README)) - {
        "COGENCY_CONFIG",
        "COGENCY_DATA",
        "COGENCY_LOOKS",
    }
    assert {"COGENCY_THEME", "COGENCY_BUDGET_DAY_HARD"} <= named
    assert named <= variables


def test_the_slash_commands_it_names_exist() -> None:
    named = set(re.findall(r"`/([a-z]+)(?: [A-Z]+)?`", README)) - {"tidy"}
    assert len(named) > 10
    assert named <= {command.name for command in COMMANDS}


def test_the_keys_it_names_are_bound() -> None:
    rows = re.findall(r"^\| (.+?) \| .+? \| \| (.+?) \|", README, re.MULTILINE)
    named = {key for row in rows for cell in row for key in cell.split(" / ")} - {"key"}
    assert len(named) > 15
    bound = {
        key_name(key).replace("Right", "→").replace("Left", "←") for each in key_table() for key in each.keys
    }
    assert named <= bound


@pytest.mark.parametrize("text", blocks("python"))
def test_its_program_runs(text: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n")
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "'type': 'end'" in done.stdout


@pytest.mark.parametrize("line", [line for text in blocks("sh")[2:] for line in text.splitlines() if line])
def test_its_command_lines_can_be_given(line: str) -> None:
    words = shlex.split(line.partition("cogency-tui ")[2])
    if words[0].startswith("-"):
        interface_parser(()).parse_args(words)
    else:
        with pytest.raises(SystemExit) as ended:
            main([words[0], "--help"])
        assert ended.value.code == 0
        parser_of(words[0], "").parse_args(words[1:])


def test_what_it_shows_is_there() -> None:
    for path in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / path).is_file()
