"""`cogency-tui hooks`: each hook with what it runs on, whether it does, and why not."""

import json
from pathlib import Path

from cogency_tui.agent.project.trust import FILE_NAME, Trust
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
    assert (found[4]["command"], found[4]["hooks"]) == ([], ["guard.sh"])
    assert done.stderr == (
        "Hook guard.sh in .claude/settings.json is off: the file is not trusted. "
        "Review with `cogency-tui trust`.\n"
    )
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
    done = run("hooks")
    assert "not trusted    settings.json           (hooks/h.py changed since you trusted it)" in done.stdout
    assert done.stderr == (
        "Hook h.py in .claude/settings.json is off: hooks/h.py changed since you trusted it. "
        "Review with `cogency-tui trust`.\n"
    )


def test_what_is_not_trusted_and_has_no_hooks_is_not_mentioned(run: Run, project: Path) -> None:
    (project / ".cogency").mkdir()
    (project / ".cogency" / "config.toml").write_text("max_iterations = 7\n")
    skill = project / ".claude" / "skills" / "pdf"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads.\n---\nRead.\n")
    (project / ".claude" / "settings.json").write_text('{"hooks": {}}')
    done = run("hooks")
    assert (done.stdout, "trust" in done.stderr) == ("", False)
    assert "No hooks." in done.stderr


def test_only_the_hooks_that_are_off_are_named_each_with_its_file_and_reason(
    run: Run, project: Path, sealed_home: Path
) -> None:
    config = sealed_home / ".config" / "cogency-tui" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG)
    for folder in (".claude", ".cogency"):
        (project / folder).mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))
    run("trust", "--yes")
    local = project / ".claude" / "settings.local.json"
    stop = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": name} for name in ("a.sh", "b.sh")]}]}
    }
    local.write_text(json.dumps(stop))
    (project / ".cogency" / "config.toml").write_text(
        CONFIG + '[hooks.lint]\non = "after_turn"\ncommand = "lint"\n'
    )
    done = run("hooks")
    assert "in use         guard.sh" in done.stdout
    # `format` is the user's own; `off` is off, and `save.sh` is not supported in any case.
    assert done.stderr == (
        "Hook lint in .cogency/config.toml is off: the file is not trusted. "
        "Hooks a.sh and b.sh in .claude/settings.local.json are off: the file is not trusted. "
        "Review with `cogency-tui trust`.\n"
    )
    local.unlink()
    (project / ".cogency" / "config.toml").write_text("[hooks\n")
    assert run("hooks").stderr.startswith("Hooks in .cogency/config.toml are off: the file is not trusted.")


def test_a_refusal_and_unreadable_decisions_are_the_reason(
    run: Run, project: Path, sealed_home: Path
) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))
    decisions = Trust(sealed_home / ".config" / "cogency-tui" / FILE_NAME)
    decisions.refuse(project)
    off = "Hook guard.sh in .claude/settings.json is off: "
    assert run("hooks").stderr.startswith(f"{off}you chose never to trust this project. Review with")
    decisions.path.write_text("[[projects\n")
    why = run("hooks").stderr
    assert why.startswith(off)
    assert FILE_NAME in why


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
