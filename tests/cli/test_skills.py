"""`cogency-tui skills`: each skill with whose it is, whether it counts, and why not."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def put(folder: Path, name: str, text: str) -> None:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_all_are_listed_with_their_state(run: Run, project: Path, sealed_home: Path) -> None:
    put(sealed_home / ".claude/skills", "pdf", "---\nname: forms\ndescription: Fills\n  forms.\n---\nx\n")
    put(sealed_home / ".claude/skills", "bad", "---\nname: bad\n")
    put(project / ".agents/skills", "csv", "---\nname: csv\ndescription: Reads.\n---\nx\n")
    done = run("skills", "--json")
    assert done.returncode == 0
    found = {each["name"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {name: each["state"] for name, each in found.items()} == {
        "bad": "invalid",
        "forms": "in use",
        "csv": "not trusted",
    }
    assert found["forms"]["description"] == "Fills forms."
    assert found["forms"]["source"] == "user"
    assert found["forms"]["warnings"] == ["its name is not that of its directory"]
    assert found["csv"]["description"] == ""
    assert "not closed" in found["bad"]["problem"]
    assert "the skill csv, inactive until you trust it" in done.stderr
    run("trust", "--yes")
    text = run("skills").stdout
    assert "in use        csv  " in text
    assert "Against the format: its name is not that of its directory." in text


def test_columns_hold_for_long_names(run: Run, sealed_home: Path) -> None:
    for name in ("a", "b" * 30, "c" * 60):
        put(sealed_home / ".claude/skills", name, f"---\nname: {name}\ndescription: Reads.\n---\nx\n")
    listed = [line for line in run("skills").stdout.splitlines() if line.startswith("in use")]
    assert len(listed) == 3
    assert {line.index("~/.claude") for line in listed} == {56}


def test_a_link_to_a_skill_is_listed_as_one(run: Run, project: Path) -> None:
    put(project / ".agents/skills", "csv", "---\nname: csv\ndescription: Reads.\n---\nx\n")
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/again").symlink_to("../../.agents/skills/csv")
    (listed,) = (line for line in run("skills").stdout.splitlines() if line.startswith("link"))
    assert listed.split() == ["link", "again", ".claude/skills/again:", "link", "to", ".agents/skills/csv"]
    assert "again" not in run("trust").stdout


def test_without_any_it_says_so(run: Run) -> None:
    done = run("skills")
    assert done.stdout == ""
    assert "No skills" in done.stderr


def test_trust_lists_a_skill_on_one_line_with_what_changed(run: Run, project: Path) -> None:
    put(project / ".agents/skills", "csv", "---\nname: csv\ndescription: Reads.\n---\nx\n")
    for number in range(60):
        (project / ".agents/skills/csv" / f"{number}.txt").write_text("x")
    shown = run("trust", "--yes").stdout
    assert "61 files  .agents/skills/csv/" in shown
    assert "7.txt" not in shown
    assert "Their scripts need your permission" in shown
    assert "MCP" not in shown
    (project / ".agents/skills/csv/7.txt").write_text("y")
    (project / ".agents/skills/csv/8.txt").unlink()
    shown = run("trust").stdout
    assert ".agents/skills/csv/7.txt  changed" in shown
    assert "deleted  .agents/skills/csv/8.txt" in shown
    assert "9.txt" not in shown
    (listed,) = map(json.loads, run("trust", "--list", "--json").stdout.splitlines())
    assert "../.agents/skills/csv/SKILL.md" in listed["files"]
