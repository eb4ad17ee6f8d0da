"""`cogency-tui hooks`: each hook with what it runs on, whether it does, and why not."""

import json
from pathlib import Path

from tests.cli.conftest import Run

CONFIG = """\
[hooks.format]
on = "after_edit"
command = "ruff format {file}"
files = "*.py"

[hooks.off]
on = ["before_turn", "after_turn"]
command = ["sh", "-c", "true"]
enabled = false
"""
CLAUDE = {
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}],
        "PreCompact": [{"hooks": [{"type": "command", "command": "save.sh"}]}],
    }
}


def test_all_are_listed_with_their_state(run: Run, project: Path, sealed_home: Path) -> None:
    config = sealed_home / ".config" / "cogency-tui" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG)
    for folder in (sealed_home, project):
        (folder / ".claude").mkdir(exist_ok=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))
    done = run("hooks", "--json")
    assert done.returncode == 0
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["name"], each["state"], each["source"]) for each in found] == [
        ("format", "in use", "user"),
        ("off", "off", "user"),
        ("guard.sh", "in use", "user"),
        ("save.sh", "not supported", "user"),
        ("settings.json", "not trusted", "project"),
    ]
    assert found[0]["on"] == ["after_edit"]
    assert found[0]["command"] == ["ruff", "format", "{file}"]
    assert found[3]["problem"] == "not supported: PreCompact"
    assert found[4]["command"] == []
    assert "inactive until you trust" in done.stderr
    run("trust", "--yes")
    text = run("hooks").stdout
    assert (
        "in use         format                after_edit\n               ruff format {file}  for *.py\n"
        in text
    )
    assert "not supported  save.sh               PreCompact  (not supported: PreCompact)" in text
    assert text.count("guard.sh") == 4
    assert "not trusted" not in text


def test_a_broken_file_is_named_with_its_line(run: Run, sealed_home: Path) -> None:
    (sealed_home / ".claude").mkdir(exist_ok=True)
    (sealed_home / ".claude" / "settings.json").write_text('{"hooks": {\n"Stop": 3}}')
    text = run("hooks").stdout
    assert "invalid        settings.json" in text
    assert "line 2: hooks.Stop must be a list" in text


def test_the_file_that_changed_is_named(run: Run, project: Path) -> None:
    (project / "hooks").mkdir()
    (project / "hooks" / "h.py").write_text("pass\n")
    (project / ".claude").mkdir()
    stop = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "python3 hooks/h.py"}]}]}}
    (project / ".claude" / "settings.json").write_text(json.dumps(stop))
    run("trust", "--yes")
    assert "in use         h.py" in run("hooks").stdout
    (project / "hooks" / "h.py").write_text("print()\n")
    assert (
        "not trusted    settings.json           (hooks/h.py changed since you trusted it)"
        in run("hooks").stdout
    )


def test_those_of_claude_code_are_listed_where_they_are_ignored(
    run: Run, project: Path, sealed_home: Path
) -> None:
    for folder in (sealed_home, project):
        (folder / ".claude").mkdir(exist_ok=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))
    config = sealed_home / ".config" / "cogency-tui" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("claude_hooks = false\n")
    text = run("hooks").stdout
    assert text.count("off            settings.json           (claude_hooks = false)") == 2
    assert "guard.sh" not in text


def test_without_any_it_says_so(run: Run) -> None:
    done = run("hooks")
    assert done.stdout == ""
    assert "No hooks" in done.stderr
