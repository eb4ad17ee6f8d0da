"""What the README says is so: its two commands, its configuration, its program, its commands and options."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.cli import main
from cogency_tui.config import load_settings

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
    assert tests.endswith(".venv-dev/bin/pytest")


@pytest.mark.parametrize("text", blocks("toml"))
def test_its_configuration_can_be_used(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    settings = load_settings(path)
    assert settings.providers or (settings.agents and settings.workflows)


@pytest.mark.parametrize("text", blocks("python"))
def test_its_program_runs(text: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n")
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "'type': 'end'" in done.stdout


@pytest.mark.parametrize("line", [line for text in blocks("sh")[2:] for line in text.splitlines() if line])
def test_its_commands_and_options_exist(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = line.partition("cogency-tui ")[2].split()
    with pytest.raises(SystemExit) as ended:
        main([words[0], "--help"] if not words[0].startswith("-") else ["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert not words[0].isalpha() or f"cogency-tui {words[0]}" in said
    for option in re.findall(r"--[a-z]+", line):
        assert option in said


def test_what_it_shows_is_there() -> None:
    for path in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / path).is_file()
