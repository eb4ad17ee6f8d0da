"""Completions as the shells themselves make them of our script."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def script(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "completions.bash"
    done = run("completions", "bash")
    assert done.returncode == 0
    path.write_text(done.stdout)
    return path


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of `words`."""
    listed = " ".join(f"'{word}'" for word in ("cogency-tui", *words))
    text = f"""
        source {script}
        COMP_WORDS=({listed}); COMP_CWORD={len(words)}
        _shtab_cogency_tui cogency-tui '{words[-1]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    return {word.strip() for word in done.stdout.split("\n") if word}


def test_commands_actions_options_and_choices_are_completed(script: Path) -> None:
    assert completed(script, "conv") == {"conversations"}
    assert completed(script, "conversations", "ex") == {"export"}
    assert completed(script, "conversations", "export", "--f") == {"--format"}
    assert completed(script, "conversations", "export", "--format", "") >= {"md", "html", "jsonl"}
    assert completed(script, "run", "--dia") == {"--dialect"}
    assert completed(script, "--lin") == {"--linear"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_that_shell(run: Run, tmp_path: Path, shell: str) -> None:
    path = tmp_path / "script"
    path.write_text(run("completions", shell).stdout)
    assert "conversations" in path.read_text()
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", str(path)], check=True, capture_output=True)
