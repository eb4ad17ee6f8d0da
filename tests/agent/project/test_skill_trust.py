"""Trust in the skills and hooks of a project: each counts for itself, as it was when it was trusted."""

import os
import shutil
from pathlib import Path

import pytest

from cogency_tui.agent.project import skill_folders
from cogency_tui.agent.project.file_digests import FileDigests
from cogency_tui.agent.project.skill_folders import LARGEST_SKILL_FILE, MOST_SKILLS, find_skill_folders
from cogency_tui.agent.project.trust import FILE_NAME, Part, Survey, Trust, TrustState, describe_inactive
from cogency_tui.errors import UsageError, WorkspaceError

SKILL = "---\nname: pdf\ndescription: Reads forms.\n---\nOpen it.\n"
HOOKS = '{"hooks": {"Stop": []}}'


class Desk:
    """A user's decisions, and a project that brings a skill with a script."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        self.trust = Trust(root / "config" / FILE_NAME)
        self.put(".claude/skills/pdf/SKILL.md", SKILL)
        self.put(".claude/skills/pdf/scripts/fill.py", "print(1)\n")

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def survey(self) -> Survey:
        return self.trust.survey(self.project)

    def accept(self) -> None:
        self.trust.trust(self.project, self.survey())

    def part(self, path: str = ".claude/skills/pdf") -> Part:
        return next(part for part in self.survey().parts if part.path == path)

    def trusted(self) -> list[str]:
        """The skills that count."""
        skills = self.trust.skills(self.project)
        return [folder.path.rpartition("/")[2] for folder, state in skills if state is TrustState.TRUSTED]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_skills_of_all_places_are_found_and_inactive_until_they_are_trusted(desk: Desk) -> None:
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    desk.put(".cogency/skills/web/SKILL.md", SKILL)
    desk.put(".agents/skills/README.md", "no skill")
    desk.put(".agents/skills/draft/notes.md", "no skill")
    desk.put(".agents/skills/office/docx/SKILL.md", SKILL)
    desk.put(".agents/skills/office/docx/SKILLS/SKILL.md", "a file of docx")
    survey = desk.survey()
    assert survey.state is TrustState.UNKNOWN
    assert [part.path for part in survey.parts] == [
        ".cogency/skills/web",
        ".agents/skills/csv",
        ".agents/skills/office/docx",
        ".claude/skills/pdf",
    ]
    assert survey.parts[-1].entries[1].name == "../.claude/skills/pdf/scripts/fill.py"
    assert survey.parts[0].entries[0].name == "skills/web/SKILL.md"
    assert describe_inactive(survey) == "This project has 4 skills, inactive until you trust them."
    assert desk.trusted() == []
    desk.accept()
    assert desk.survey().state is TrustState.TRUSTED
    assert desk.trusted() == ["web", "csv", "docx", "pdf"]
    assert desk.trust.contents(desk.project) == {}


@pytest.mark.parametrize("change", ["edited", "added", "gone", "script", "same size and time"])
def test_a_skill_that_changed_does_not_count_and_everything_else_still_does(desk: Desk, change: str) -> None:
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    desk.put(".cogency/commands/fix.md", "Fix it.")
    desk.put(".claude/settings.json", HOOKS)
    desk.accept()
    script = desk.project / ".claude/skills/pdf/scripts/fill.py"
    if change == "edited":
        changed = desk.put(".claude/skills/pdf/SKILL.md", SKILL + "Now send it away.")
    elif change == "added":
        changed = desk.put(".claude/skills/pdf/more.md", "x")
    elif change == "gone":
        changed = script
        script.unlink()
    elif change == "script":
        changed = desk.put(".claude/skills/pdf/scripts/fill.py", "print(2)\n")
    else:
        before = script.stat()
        changed = desk.put(".claude/skills/pdf/scripts/fill.py", "print(3)\n")
        os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))
    survey = desk.survey()
    assert survey.state is TrustState.CHANGED
    assert survey.changed == (f"../{changed.relative_to(desk.project).as_posix()}",)
    assert [part.path for part in survey.inactive] == [".claude/skills/pdf"]
    assert "skill pdf has changed; inactive until you trust it again" in describe_inactive(survey)
    assert desk.trusted() == ["csv"]
    assert set(desk.trust.contents(desk.project)) == {"commands/fix.md", "../.claude/settings.json"}
    desk.accept()
    assert desk.trusted() == ["csv", "pdf"]


def test_a_digest_that_is_known_is_not_taken_again_and_a_new_time_makes_it_be(tmp_path: Path) -> None:
    digests = FileDigests()
    path = tmp_path / "project/.agents/skills/a/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(SKILL)

    def found() -> str:
        return find_skill_folders(tmp_path / "project", digests)[0].digests["SKILL.md"]

    first = found()
    path.write_text(SKILL.upper())
    second = found()
    assert first != second
    path.write_text(SKILL)
    assert found() == first


def test_a_decision_of_an_earlier_version_covers_cogency_and_no_skill(desk: Desk) -> None:
    desk.put(".cogency/config.toml", "a = 1\n")
    desk.accept()
    file = desk.trust.path
    table = file.read_text()
    assert "[projects.skills]" in table
    kept = table[: table.index("[projects.skills]")].rstrip() + "\n"
    # An earlier version counted files below `.cogency/skills` among the others.
    file.write_text(kept + f'"skills/web/SKILL.md" = "{"0" * 64}"\n')
    survey = desk.survey()
    assert [(part.path, part.state) for part in survey.parts] == [
        (".cogency", TrustState.TRUSTED),
        (".claude/skills/pdf", TrustState.UNKNOWN),
    ]
    assert survey.state is TrustState.CHANGED
    assert describe_inactive(survey) == "This project has the skill pdf, inactive until you trust it."
    assert set(desk.trust.contents(desk.project)) == {"config.toml"}


def test_a_decision_of_another_process_holds_at_once_and_an_old_one_is_not_parsed_again(desk: Desk) -> None:
    desk.accept()
    before = desk.trust.path.stat()
    os.utime(desk.trust.path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**10))
    assert desk.trusted() == ["pdf"]
    Trust(desk.trust.path).revoke(desk.project)
    assert desk.trusted() == []
    Trust(desk.trust.path).trust(desk.project, desk.survey())
    assert desk.trusted() == ["pdf"]
    desk.trust.path.write_text("[[projects")
    assert desk.trusted() == []


def test_a_skill_that_is_removed_needs_no_decision(desk: Desk) -> None:
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    desk.accept()
    shutil.rmtree(desk.project / ".claude/skills/pdf")
    assert desk.survey().state is TrustState.TRUSTED
    assert desk.trusted() == ["csv"]


def test_refused_is_refused_whatever_comes(desk: Desk) -> None:
    desk.trust.refuse(desk.project)
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    survey = desk.survey()
    assert survey.state is TrustState.REFUSED
    assert survey.inactive == ()
    assert desk.trusted() == []


def test_a_part_that_the_user_leaves_off_is_asked_about_when_it_changes_again(desk: Desk) -> None:
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    desk.accept()
    desk.put(".agents/skills/csv/SKILL.md", f"{SKILL}Evil.\n")
    desk.put(".agents/skills/new/SKILL.md", SKILL)
    desk.trust.decline(desk.project, desk.survey())
    survey = desk.survey()
    assert (survey.state, survey.inactive) == (TrustState.TRUSTED, ())
    assert desk.part(".agents/skills/csv").state is TrustState.REFUSED
    assert desk.part(".agents/skills/new").state is TrustState.REFUSED
    assert desk.trusted() == ["pdf"]

    desk.put(".agents/skills/csv/SKILL.md", f"{SKILL}Worse.\n")
    survey = desk.survey()
    assert [part.path for part in survey.inactive] == [".agents/skills/csv"]
    assert survey.state is TrustState.CHANGED

    # As it was trusted it counts, without another question.
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    assert desk.survey().state is TrustState.TRUSTED
    assert desk.trusted() == ["csv", "pdf"]
    desk.accept()
    assert desk.trusted() == ["csv", "new", "pdf"]


def test_what_changes_before_it_is_left_off_needs_another_review(desk: Desk) -> None:
    desk.accept()
    desk.put(".claude/skills/pdf/scripts/fill.py", "print(2)\n")
    seen = desk.survey()
    desk.put(".claude/skills/pdf/scripts/fill.py", "print(3)\n")
    with pytest.raises(UsageError, match=r"^\.claude/skills/pdf/scripts/fill\.py changed during the review"):
        desk.trust.decline(desk.project, seen)


def test_leaving_off_a_project_of_which_nothing_is_trusted_refuses_it(desk: Desk) -> None:
    desk.trust.decline(desk.project, desk.survey())
    assert desk.survey().state is TrustState.REFUSED


ODD = [
    "link out",
    "link in",
    "FIFO",
    "skill file is a directory",
    "skill file is a link",
    "large",
    "deep",
    "many",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ODD)
def test_a_defect_makes_that_skill_unusable_and_nothing_else(desk: Desk, kind: str) -> None:
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    desk.put(".cogency/commands/fix.md", "Fix it.")
    folder = desk.project / ".claude/skills/pdf"
    if kind == "link out":
        (folder / "scripts/keys").symlink_to("/etc/passwd")
    elif kind == "link in":
        (folder / "again").symlink_to("SKILL.md")
    elif kind == "FIFO":
        os.mkfifo(folder / "pipe")
    elif kind == "skill file is a directory":
        (folder / "SKILL.md").unlink()
        (folder / "SKILL.md/x").mkdir(parents=True)
        (folder / "SKILL.md/x/y").write_text("x")
        (folder / "SKILL.md/z").symlink_to("/etc")
    elif kind == "skill file is a link":
        (folder / "SKILL.md").rename(folder / "real.md")
        (folder / "SKILL.md").symlink_to("real.md")
    elif kind == "large":
        desk.put(".claude/skills/pdf/SKILL.md", b"x" * (LARGEST_SKILL_FILE + 1))
    elif kind == "deep":
        desk.put(".claude/skills/pdf/" + "x/" * 9 + "y", "x")
    else:
        for number in range(2_001):
            desk.put(f".claude/skills/pdf/m/{number}", "")
    survey = desk.survey()
    assert desk.part().problem
    assert [part.path for part in survey.inactive] == [".cogency", ".agents/skills/csv"]
    desk.accept()
    assert desk.survey().state is TrustState.TRUSTED
    assert desk.trusted() == ["csv"]
    assert set(desk.trust.contents(desk.project)) == {"commands/fix.md"}


def test_an_unusable_cogency_leaves_skills_usable(desk: Desk) -> None:
    os.mkfifo(desk.put(".cogency/config.toml", "").with_name("pipe"))
    survey = desk.survey()
    assert "is a FIFO, not a file" in survey.problem
    desk.accept()
    assert desk.trusted() == ["pdf"]
    assert desk.survey().state is TrustState.UNKNOWN


def test_nothing_can_be_trusted_where_nothing_is_usable(desk: Desk) -> None:
    (desk.project / ".claude/skills/pdf/SKILL.md").write_bytes(b"x" * (10 << 20))
    survey = desk.survey()
    assert survey.digest == ""
    assert describe_inactive(survey) == ""
    with pytest.raises(WorkspaceError, match="bytes"):
        desk.trust.trust(desk.project, survey)


def test_what_changed_during_the_review_is_not_trusted(desk: Desk) -> None:
    seen = desk.survey()
    desk.put(".claude/skills/pdf/SKILL.md", "evil")
    with pytest.raises(UsageError, match="changed during the review"):
        desk.trust.trust(desk.project, seen)


def test_links_to_another_place_of_skills_are_no_defect(desk: Desk) -> None:
    # Installers put a skill into `.agents/skills` and link the places of other agents to it.
    desk.put(".agents/skills/csv/SKILL.md", SKILL)
    (desk.project / ".claude/skills/csv").symlink_to("../../.agents/skills/csv")
    (desk.project / ".claude/skills/out").symlink_to("/etc")
    (desk.project / ".cogency").mkdir()
    (desk.project / ".cogency/skills").symlink_to("../.agents/skills")
    survey = desk.survey()
    assert [(part.path, bool(part.problem)) for part in survey.parts] == [
        (".agents/skills/csv", False),
        (".claude/skills/out", True),
        (".claude/skills/pdf", False),
    ]
    desk.accept()
    assert desk.trusted() == ["csv", "pdf"]


def test_a_place_that_is_a_link_out_is_not_followed(desk: Desk) -> None:
    shutil.move(desk.project / ".claude", desk.root / "elsewhere")
    (desk.project / ".claude").symlink_to(desk.root / "elsewhere")
    survey = desk.survey()
    assert [(part.path, "symbolic link" in part.problem) for part in survey.parts] == [
        (".claude/skills", True)
    ]
    assert survey.digest == ""


def test_what_a_run_leaves_behind_is_no_part_of_a_skill(desk: Desk) -> None:
    desk.accept()
    desk.put(".claude/skills/pdf/scripts/__pycache__/fill.pyc", "x")
    desk.put(".claude/skills/pdf/node_modules/x/index.js", "x")
    assert desk.trusted() == ["pdf"]


def test_very_many_skills_are_bounded(desk: Desk) -> None:
    for number in range(MOST_SKILLS + 5):
        desk.put(f".agents/skills/s{number:03}/SKILL.md", SKILL)
    parts = desk.survey().parts
    assert len(parts) == MOST_SKILLS + 1
    assert "more than 300 skills" in parts[-1].problem


def test_all_skills_of_a_project_together_are_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skill_folders, "_LARGEST_OF_ALL", 1_000)
    desk.put(".claude/skills/to-large/SKILL.md", SKILL)
    desk.put(".claude/skills/to-large/file", "x" * 950)
    problems = {part.path[15:]: part.problem for part in desk.survey().parts}
    assert "more than 0 MB" in problems["to-large"]
    assert problems["pdf"] == ""
    monkeypatch.setattr(skill_folders, "_MOST_FILES_OF_ALL", 3)
    problems = {part.path[15:]: part.problem for part in desk.survey().parts}
    assert "more than 3 files" in problems["to-large"]


def test_settings_without_hooks_need_no_trust(desk: Desk) -> None:
    shutil.rmtree(desk.project / ".claude/skills")
    desk.put(".claude/settings.json", '{"permissions": {"allow": ["Bash(ls)"]}}')
    assert desk.survey() == Survey(TrustState.NOTHING)
    desk.put(".claude/settings.local.json", HOOKS)
    survey = desk.survey()
    assert survey.files == ("../.claude/settings.local.json",)
    assert describe_inactive(survey) == "This project has hooks, inactive until you trust them."
    assert desk.trust.contents(desk.project) == {}
    desk.accept()
    assert desk.trust.contents(desk.project) == {"../.claude/settings.local.json": HOOKS.encode()}
    desk.put(".claude/settings.local.json", HOOKS + " ")
    assert desk.trust.contents(desk.project) == {}
    (desk.project / ".claude/settings.local.json").unlink()
    (desk.project / ".claude/settings.local.json").symlink_to("settings.json")
    assert desk.survey() == Survey(TrustState.NOTHING)


def test_in_a_home_directory_the_places_of_other_agents_are_the_users(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put(".claude/settings.json", HOOKS)
    monkeypatch.setenv("HOME", str(desk.project))
    assert desk.survey() == Survey(TrustState.NOTHING)
    desk.put(".cogency/skills/web/SKILL.md", SKILL)
    assert [part.path for part in desk.survey().parts] == [".cogency/skills/web"]


def test_names_of_skills_are_shown_without_control_characters(desk: Desk) -> None:
    desk.put(".agents/skills/a\x1b[2J\u202eb/SKILL.md", SKILL)
    shutil.rmtree(desk.project / ".claude")
    text = describe_inactive(desk.survey())
    assert "\x1b" not in text
    assert "\u202e" not in text
