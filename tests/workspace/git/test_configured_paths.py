"""Paths that a configuration of git names, as git itself reads it."""

import subprocess
import time
from pathlib import Path

import pytest

from cogency_tui.workspace.git.configured_paths import named

VALUES = (
    *(
        "a",
        " a ",
        '"a b"',
        "a b ; c",
        "a#b",
        '"a # b" # c',
        "a\\\\b",
        'a"b c"d',
        "a \\\n b",
        '"a\\tb"',
        '"a" ',
        "ä",
    ),
    *("../a", "%a", "a/", "'a'", '""a'),
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("header", ["[core]", "[CORE]\n", "[x][core]", '[x "]"]\na=b\n[core] ; c\n'])
def test_values_are_read_as_git_reads_them(tmp_path: Path, header: str, value: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"{header}\thooksPath = {value}\n")
    answer = subprocess.run(
        ["git", "config", "--file", path, "-z", "core.hooksPath"], capture_output=True, check=True
    )
    assert named([path]).hooks == (answer.stdout.decode().removesuffix("\0"),)


def test_includes_end_though_they_include_each_other(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).write_text(f"[include]\npath = {other}\npath = {name}\n")
    assert named([tmp_path / "a"]).includes == (tmp_path / "b", tmp_path / "a")


def test_a_chain_of_includes_is_bounded(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).write_text(f"[include]\npath = {number + 1}\n")
    assert len(named([tmp_path / "0"]).includes) == 20


HOSTILE = ("[a]", "[a ", 'a = "', "a\\", " ", "[include]\npath=x\n", "=", '[a "\\"')


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_configuration_takes_linear_time(tmp_path: Path, unit: str) -> None:
    def cost(size: int) -> float:
        path = tmp_path / str(size)
        path.write_text(unit * (size // len(unit)))
        began = time.process_time()
        named([path])
        return time.process_time() - began

    cost(1 << 12)
    assert cost(1 << 18) < 20 * cost(1 << 16) + 0.05
