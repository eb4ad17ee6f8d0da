"""What a stranger chooses the size of costs time in proportion to it, and has a bound that says so."""

import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cogency_tui.config import toml_reader
from cogency_tui.config.toml_reader import line_of, line_of_key
from cogency_tui.protocol import Dialect, create_parser
from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.safe_text import Sanitizer, clean, disarm, reveal, without_escapes
from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.command_line import MOST
from cogency_tui.tools.shell.dynamic_code import runs_unwritten
from cogency_tui.tools.shell.losses import UNKNOWN, at_stake
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tui.kit.command_output import Output
from cogency_tui.workspace.gitignore_walk import WorkspaceTree
from cogency_tui.workspace.globs import compiled
from cogency_tui.workspace.paths import Workspace
from tests.growth import assert_linear

COMMANDS: dict[str, tuple[Callable[[int], str], int]] = {
    "commas in braces left open": (lambda n: "rm *{" + "," * n, 2_500),
    "dots in braces left open": (lambda n: "rm *{" + "." * n, 2_500),
    "braces left open": (lambda n: "rm *" + "{a" * n, 1_250),
    "braces in braces": (lambda n: "rm *" + "{,a" * n + "}" * n, 1_000),
    "words with alternatives": (lambda n: "rm " + ("*{" + "," * 6 + "} ") * n, 4),
    "globs": (lambda n: "rm " + "*/*/* " * n, 8),
    "a pattern of stars": (lambda n: "rm " + "*a" * n, 1_250),
    "components of a path": (lambda n: "rm " + "a/" * n, 1_000),
    "commands": (lambda n: "rm a;" * n, 60),
    "directories gone to": (lambda n: "cd a;" * n, 60),
    "files": (lambda n: "rm " + "a " * n, 120),
    "shells in shells": (lambda n: "eval " * n, 40),
}


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    for number in range(12):
        place = root / f"d{number}" / "below"
        place.mkdir(parents=True)
        (place / "file").write_text("x")
        (root / f"file{number}").write_text("x")
    return Workspace(root)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("build", "size"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_is_looked_into_in_linear_time(
    project: Workspace, build: Callable[[int], str], size: int
) -> None:
    def look(command: str) -> None:
        at_stake(command, project.root, project)
        reach(command, project.root, project)
        runs_unwritten(command, ["name"])

    assert_linear(build, look, size)


@pytest.mark.exhaustive
def test_what_is_too_much_to_look_into_is_asked_about(project: Workspace) -> None:
    commands = "true;" * MOST + "rm file1"
    assert "are analyzed" in describe_losses(at_stake(commands, project.root, project).losses)
    assert "too much" in reach(commands, project.root, project).protected
    words = "rm " + "*/below/file1 " * 1_000
    assert UNKNOWN in describe_losses(at_stake(words, project.root, project).losses)
    assert "too much" in reach(words, project.root, project).protected


@pytest.mark.exhaustive
def test_a_path_outside_is_found_however_many_words_stand_before_it(project: Workspace) -> None:
    assert reach("cat " + "file1 " * 500 + "/etc/passwd", project.root, project).outside == "/etc/passwd"


def _streamed(text: str) -> None:
    sanitizer = Sanitizer()
    for start in range(0, len(text), 1000):
        sanitizer.feed(text[start : start + 1000])
    sanitizer.close()


def _drawn(text: str) -> None:
    output = Output()
    output.feed(text)


CONTROLS = {
    "string introducers": "\x9d",
    "strings that never end": "\x90abc",
    "escaped string introducers": "\x1b]8;;",
    "sequence introducers": "\x9b",
    "parameters": "\x1b[0",
    "escapes": "\x1b ",
    "marks": "a\u0301",
    "renditions": "a\x1b[m",
    "changed renditions": "a\x1b[1mb\x1b[m",
    "carriage returns": "a\r",
    "tabs": "a\t",
}
SCANS: list[Callable[[str], object]] = [clean, _streamed, without_escapes, disarm, reveal, _drawn]


@pytest.mark.parametrize("controls", CONTROLS.values(), ids=CONTROLS)
def test_control_sequences_are_found_in_linear_time(controls: str) -> None:
    for scan in SCANS:
        # A bound on the length of a sequence hides, in longer lines, that each is read again and again.
        assert_linear(lambda n: f"{controls * n}\n" * 20, scan, 500)


PATHS: list[tuple[str, str]] = [
    ("a/**/" * 4 + "b", "a/"),
    ("**/a/a/" * 4 + "b", "a/"),
    ("*a" * 40 + "b", "a"),
]


@pytest.mark.parametrize(("pattern", "piece"), PATHS)
def test_a_file_name_pattern_is_matched_in_linear_time(pattern: str, piece: str) -> None:
    matching = compiled(pattern)
    assert_linear(lambda n: piece * n + "c", matching.fullmatch, 80)


@pytest.mark.parametrize("rule", ["a/**/" * 100 + "b", "**/a/*a*/" * 60 + "b"])
def test_an_ignore_rule_is_matched_in_linear_time(project: Workspace, rule: str) -> None:
    (project.root / ".gitignore").write_text(f"{rule}\n")
    tree = WorkspaceTree(project)
    # Each directory on the way is looked up too, which makes it a square.
    assert_linear(lambda n: "a/" * n + "c", tree.ignores, 80, growth=24)


TABLES: dict[str, tuple[Callable[[int], str], int]] = {
    "parts of a key": (lambda n: "a." * n + "a = 1", 2_500),
    "quoted parts of a key": (lambda n: '"a".' * n + "a = 1", 2_500),
    "parts of a header": (lambda n: "[" + "a . " * n + "a]", 2_500),
    "texts left open": (lambda n: 'a = """' + '\\"""' * n, 2_500),
    "dots in a text": (lambda n: "a = '" + "a." * n + "'", 12_500),
    "numbers": (lambda n: "a = [" + "1.5," * n + "]", 1_250),
    "tables": (lambda n: "[[a.b]]\n" * n, 500),
}


def _read_table(text: str) -> None:
    with suppress(ValueError):
        toml_reader.loads(text)
    line_of(text, ("a", "c"))
    line_of_key(text, ("a", "c"))


@pytest.mark.parametrize(("build", "size"), TABLES.values(), ids=TABLES)
def test_a_table_is_read_in_linear_time(build: Callable[[int], str], size: int) -> None:
    assert_linear(build, _read_table, size)


def test_keys_and_files_of_tables_have_a_bound() -> None:
    with pytest.raises(ValueError, match="more than 32 parts"):
        toml_reader.loads("x = 1\n" + "a." * 32 + "a = 1")
    dotted = ".".join("a" * toml_reader.MOST_PARTS)
    assert toml_reader.loads(f"{dotted} = '{'.' * 100}' # {'.' * 100}\n[x]\n{dotted} = 1")
    with pytest.raises(ValueError, match="more than 1,048,576 characters"):
        toml_reader.loads("#" * (toml_reader.LONGEST + 1))


ANSWERS = [
    *[("xml", unit) for unit in ("<think></think>", "<think>a</think>", "<execute>[]</execute>")],
    *[("delimiter", unit) for unit in ("§think\n§respond\n", "§think\na\n§respond\nb\n")],
    *[("action", unit) for unit in ("<thought></thought>", "<thought>a</thought>", "<action>{}</action>")],
]


@pytest.mark.parametrize(("dialect", "unit"), ANSWERS)
def test_an_answer_of_many_units_is_read_in_linear_time(dialect: Dialect, unit: str) -> None:
    def read(text: str) -> None:
        parser, units = create_parser(dialect, clock=time.time), Accumulator()
        for start in range(0, len(text), 1000):
            for event in parser.feed(text[start : start + 1000]):
                list(units.add(event))
        parser.close()

    assert_linear(lambda n: unit * n, read, 750)


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["rm file1;", "git reset --hard;", "git checkout -- file{};"])
def test_git_is_asked_no_more_often_for_many_commands(
    project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    asked = _counted_git(tmp_path, monkeypatch)

    def questions(count: int) -> int:
        asked.write_text("")
        at_stake("".join(command.format(number) for number in range(count)), project.root, project)
        return len(asked.read_text())

    assert 0 < questions(65) == questions(260) <= 60


def _counted_git(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a git first that writes a letter for each time that it is run."""
    real = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    log, program = place / "asked", place / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf x >>"{log}"\nexec "{real}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return log
