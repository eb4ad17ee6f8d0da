"""The README agrees with the code: commands, configuration, program, options, keys, and the contributor's recipes."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.project.custom_files import read_custom
from cogency_tui.cli.arguments import interface_parser, parser_of
from cogency_tui.cli.main import main
from cogency_tui.config.layers import load_settings
from cogency_tui.config.options import options
from cogency_tui.providers.presets import PRESETS
from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.help.key_table import key_table
from cogency_tui.tui.kit.keys import spelled_key
from tests import ROOT
from tests.cases import cases

PACKAGE = ROOT / "cogency_tui"
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
CONTRIBUTING = README.partition("\n## Contributing\n")[2]
RECIPES = re.findall(r"^- \*\*(An? [\w ]+)\.\*\*(.*?)(?=^- |^$)", CONTRIBUTING, re.MULTILINE | re.DOTALL)


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
    assert settings.providers
    assert settings.agents
    assert settings.workflows
    assert len(settings.mcp) == 2
    assert settings.hooks


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
        "COGENCY_SYNC_KEY",
    }
    assert {"COGENCY_THEME", "COGENCY_BUDGET_DAY_HARD"} <= named
    assert named <= variables


def test_the_slash_commands_it_names_exist() -> None:
    named = set(re.findall(r"`/([a-z]+)(?: [A-Z]+)?`", README)) - {"tidy"}
    assert len(named) > 10
    assert named <= {name for command in COMMANDS for name in command.names}


def _with_arrow(key: str) -> str:
    arrows = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"}
    modifiers, plus, last = key.rpartition("+")
    return f"{modifiers}{plus}{arrows.get(last, last)}"


def test_the_keys_it_names_are_bound() -> None:
    rows = re.findall(r"^\| (.+?) \| .+? \| \| (.+?) \|", README, re.MULTILINE)
    named = {key for row in rows for cell in row for key in cell.split(" / ")} - {"key"}
    assert len(named) > 15
    bound = {_with_arrow(spelled_key(key)) for each in key_table() for key in each.keys}
    assert named <= bound


@pytest.mark.parametrize("text", blocks("python"))
def test_its_program_runs(text: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n")
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "'type': 'end'" in done.stdout


@cases("line", [line for text in blocks("sh")[2:] for line in text.splitlines() if line])
def test_its_command_lines_can_be_given(line: str) -> None:
    words = shlex.split(line.partition("cogency-tui ")[2])
    if words[0].startswith("-"):
        interface_parser(()).parse_args(words)
    else:
        with pytest.raises(SystemExit) as ended:
            main([words[0], "--help"])
        assert ended.value.code == 0
        parser_of(words[0], "").parse_args(words[1:])


def _without_measures(report: str) -> list[list[str]]:
    """The cells of a report; those of time and tokens, which depend on the machine, without their numbers."""
    rows = [line.split() for line in report.strip().splitlines()]
    return [
        [re.sub(r"[\d.,]+", "", cell) if row[0] in ("tokens", "seconds") else cell for cell in row]
        for row in rows
        if row
    ]


def test_its_comparison_is_what_the_offline_model_comes_to(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = [text for text in blocks("console") if text.startswith("$ cogency-tui eval ")]
    command, _, shown = example.partition("\n")
    assert main(shlex.split(command)[2:]) == 1
    assert _without_measures(capsys.readouterr().out) == _without_measures(shown)


def test_its_providers_and_default_models_are_those_of_the_presets() -> None:
    table = README.partition("| provider | default model |")[2].partition("\n\n")[0]
    shown: dict[str, str] = {}
    for line in table.splitlines()[2:]:
        names, model = (cell.strip() for cell in line.split("|")[1:3])
        shown |= dict.fromkeys(re.findall(r"`(\w+)`", names), model.strip("`"))
    # llama.cpp serves one model under any name.
    assert shown == {name: preset.model for name, preset in PRESETS.items()} | {"llamacpp": ""}


def existing(text: str) -> list[Path]:
    """The files and folders that `text` names; a name in capitals stands for one that the reader chooses."""
    names = re.findall(r"`(?:\w+=\w+ pytest )?([\w.]+/[\w./]+)`", text)
    paths = [(ROOT / name, PACKAGE / name) for name in names if not re.search("NAME|FEATURE", name)]
    missing = [str(path) for path, inner in paths if not path.exists() and not inner.exists()]
    assert not missing
    return [path if path.exists() else inner for path, inner in paths]


def test_the_files_it_names_exist() -> None:
    assert len(existing(CONTRIBUTING)) > 30
    for name in re.findall(r"`(cogency_tui/[\w./]+)`", README):
        assert (ROOT / name).is_file()


@cases(("kind", "recipe"), RECIPES)
def test_each_recipe_names_what_its_files_have(kind: str, recipe: str) -> None:
    sources = "\n".join(path.read_text() for path in existing(recipe) if path.is_file())
    for name in re.findall(r"`(?:\w+\.)?([A-Za-z_]\w*)(?:\(…?\)|=)?`", recipe):
        assert re.search(rf"\b{name}\b", sources), f"{kind}: {name}"


def test_there_is_a_recipe_for_each_kind_of_addition() -> None:
    assert len(RECIPES) == 15


def test_what_it_shows_is_there() -> None:
    for path in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / path).is_file()
