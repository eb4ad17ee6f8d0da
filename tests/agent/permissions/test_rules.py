"""Standing rules: what they are proposed for, what they let pass, and the file that they are kept in."""

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.permissions.rules import FILE_NAME, Rules, pattern_for
from cogency_tui.config.edit import LOCK
from cogency_tui.errors import ConfigError, UsageError
from cogency_tui.tools.base import Intent
from cogency_tui.tools.loss import Loss
from tests.cases import cases


class Desk:
    """A person's configuration folder and one project."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "config"
        self.file = self.folder / FILE_NAME
        self.project = root / "project"
        self.project.mkdir()
        self.rules = Rules(self.file, self.project)

    def write(self, text: str | bytes) -> None:
        self.folder.mkdir(exist_ok=True)
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)

    def command(self, text: str, cwd: str = ".") -> Intent:
        return Intent(
            "command", "Run it", detail=text, paths=((self.project / cwd).resolve(),), everything=True
        )

    def change(self, *names: str) -> Intent:
        return Intent("write", "Change them", paths=tuple(self.project / name for name in names))

    def allows(self, intent: Intent) -> bool:
        return self.rules.judge(intent).allows


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def network(host: str) -> Intent:
    return Intent("network", "Read pages", network=host)


def test_a_rule_is_kept_and_holds_for_commands_of_its_kind(desk: Desk) -> None:
    rule = desk.rules.add("command", "git status")
    assert desk.allows(desk.command("git status --short"))
    assert not desk.allows(desk.command("git stash"))
    assert not desk.allows(desk.command("git status; rm x"))
    assert not desk.allows(Intent("write", "w", paths=(desk.project / "git status",)))
    again = Rules(desk.file, desk.project)
    assert list(again.list()) == [rule]
    assert rule.project == str(desk.project)


def test_a_rule_of_one_project_does_not_hold_in_another(desk: Desk, tmp_path: Path) -> None:
    desk.rules.add("command", "pytest")
    everywhere = desk.rules.add("command", "ruff", everywhere=True)
    (tmp_path / "other").mkdir()
    other = Rules(desk.file, tmp_path / "other")
    assert not other.judge(replace(desk.command("pytest"), paths=(other.project,))).allows
    assert other.judge(replace(desk.command("ruff check"), paths=(other.project,))).allows
    assert everywhere.project == ""


def test_a_rule_taken_back_holds_no_more(desk: Desk) -> None:
    rule = desk.rules.add("command", "pytest")
    kept = desk.rules.add("command", "ruff")
    desk.rules.revoke(rule.id)
    assert not desk.allows(desk.command("pytest"))
    assert list(desk.rules.list()) == [kept]
    with pytest.raises(UsageError, match="not found"):
        desk.rules.revoke(rule.id)


def test_what_another_process_changes_counts_at_once(desk: Desk) -> None:
    rule = desk.rules.add("command", "pytest")
    assert desk.allows(desk.command("pytest"))
    Rules(desk.file, desk.project).revoke(rule.id)
    assert not desk.allows(desk.command("pytest"))
    desk.file.unlink()
    assert list(desk.rules.list()) == []


def test_the_same_rule_is_kept_once(desk: Desk) -> None:
    assert desk.rules.add("command", "pytest") == desk.rules.add("command", "pytest")
    assert len(desk.rules.list()) == 1


def test_the_file_is_the_persons_alone(desk: Desk) -> None:
    desk.rules.add("command", "pytest")
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    assert {path.name for path in desk.folder.iterdir()} == {FILE_NAME, LOCK}
    assert stat.S_IMODE((desk.folder / LOCK).stat().st_mode) == 0o600


def test_a_link_to_the_file_stays_one(desk: Desk, tmp_path: Path) -> None:
    desk.folder.mkdir()
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    desk.file.symlink_to(real)
    desk.rules.add("command", "pytest")
    assert desk.file.is_symlink()
    assert desk.allows(desk.command("pytest"))


@cases(
    ("names", "pattern"),
    [
        (("src/api/app.py",), "src/api/**"),
        (("src/api/app.py", "src/api/db.py"), "src/api/**"),
        (("src/api/app.py", "src/web/app.py"), "src/**"),
        (("README.md",), "README.md"),
        (("README.md", "src/app.py"), ""),
        (("README.md", "setup.py"), ""),
        (("src/[id]/page.tsx",), ""),
        (("*.py",), ""),
        (("../outside.py",), ""),
        ((), ""),
    ],
)
def test_files_are_proposed_by_their_directory(desk: Desk, names: tuple[str, ...], pattern: str) -> None:
    paths = tuple(Path(os.path.normpath(desk.project / name)) for name in names)
    assert pattern_for(Intent("write", "w", paths=paths), desk.project) == pattern


def test_files_fit_only_if_all_of_them_do(desk: Desk) -> None:
    desk.rules.add("write", "src/**")
    assert desk.allows(desk.change("src/a.py"))
    assert desk.allows(desk.change("src/a/b/c.py", "src/d.py"))
    assert not desk.allows(desk.change("src/a.py", "setup.py"))
    assert not desk.allows(desk.change("srcs/a.py"))
    assert not desk.allows(desk.change("lib/src/a.py"))
    desk.rules.add("write", "README.md")
    assert desk.allows(desk.change("README.md"))
    assert not desk.allows(desk.change("docs/README.md"))


def test_a_host_is_that_host_only(desk: Desk) -> None:
    desk.rules.add("network", "docs.python.org")
    assert desk.allows(network("docs.python.org"))
    for host in ("python.org", "evil.docs.python.org", "docs.python.org.evil.com", "docs.python.org:8080"):
        assert not desk.allows(network(host))


@pytest.mark.parametrize(
    "more",
    [{"protected": "x"}, {"outside": "/x"}, {"losses": (Loss("other", text="x"),)}, {"network": "curl"}],
    ids=str,
)
def test_no_rule_reaches_what_is_asked_about_each_time(desk: Desk, more: dict[str, Any]) -> None:
    desk.rules.add("command", "pytest")
    assert desk.allows(desk.command("pytest"))
    intent = Intent("command", "Run it", "pytest", (desk.project,), everything=True, **more)
    assert not desk.allows(intent)
    assert desk.rules.judge(intent).pattern == ""


def test_what_is_no_command_of_the_shell_has_no_rule(desk: Desk) -> None:
    desk.rules.add("command", "ls")
    assert desk.allows(desk.command("ls p1"))
    assert not desk.allows(Intent("command", "Stop p1", detail="ls p1"))
    assert not desk.allows(Intent("command", "Run a tool", detail="ls 1", everything=True))


@pytest.mark.parametrize("pattern", ["./gradlew test", "git status", "pytest", "ls", "make test"])
def test_a_rule_holds_in_the_projects_directory_only(desk: Desk, pattern: str) -> None:
    (desk.project / "sub").mkdir()
    desk.rules.add("command", pattern)
    assert desk.allows(desk.command(pattern))
    assert not desk.allows(desk.command(pattern, cwd="sub"))
    for elsewhere in (f"cd sub && {pattern}", f"env -C sub {pattern}", f"(cd sub; {pattern})"):
        assert not desk.allows(desk.command(elsewhere))


def test_a_script_that_is_a_link_to_a_program_elsewhere_has_no_rule(desk: Desk) -> None:
    (desk.project / "own.sh").write_text("true")
    (desk.project / "check.sh").symlink_to("own.sh")
    (desk.project / "lint.sh").symlink_to("/bin/sh")
    assert desk.rules.judge(desk.command("./check.sh")).pattern == "./check.sh"
    assert desk.rules.judge(desk.command("./lint.sh -x")).pattern == ""


@pytest.mark.parametrize("pattern", ["rm", "mytool", "split", "pytest; rm", "gcc"])
def test_a_rule_of_an_earlier_version_that_may_not_be_has_no_effect(desk: Desk, pattern: str) -> None:
    desk.write(GOOD + f'[[rules]]\nid = "b"\neffect = "command"\npattern = "{pattern}"\n')
    assert desk.allows(desk.command("pytest"))
    assert not desk.allows(desk.command(pattern))
    desk.rules.revoke("b")
    assert [rule.pattern for rule in desk.rules.list()] == ["pytest"]


def test_a_project_brings_no_rules(desk: Desk) -> None:
    (desk.project / ".cogency").mkdir()
    for place in (desk.project, desk.project / ".cogency"):
        (place / FILE_NAME).write_text('[[rules]]\nid = "a"\neffect = "command"\npattern = "pytest"\n')
    assert not desk.allows(desk.command("pytest"))


GOOD = '[[rules]]\nid = "a"\neffect = "command"\npattern = "pytest"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD + "[[rules]\n", "not valid TOML"),
        (GOOD + '[[rules]]\nid = "b"\neffect = "read"\npattern = "x"\n', 'line 5: rule 2: "effect"'),
        (GOOD + '[[rules]]\nid = "b"\neffect = "command"\n', 'line 5: rule 2: "pattern"'),
        (GOOD + '[[rules]]\nid = 3\neffect = "command"\npattern = "x"\n', 'line 5: rule 2: "id"'),
        (GOOD + '[[rules]]\nid = "b"\neffect = "command"\npattern = "x"\nhost = 1\n', "line 5: rule 2"),
        (GOOD + '[[rules]]\nid = "b"\neffect = "write"\npattern = "/etc/**"\n', "a path in the project"),
        (GOOD + '[[rules]]\nid = "b"\neffect = "write"\npattern = "a/../../**"\n', "a path in the project"),
        (
            GOOD + '[[rules]]\nid = "b"\neffect = "write"\npattern = "**/a/**/b/**/c/**/d/**/e"\n',
            "more than 4",
        ),
        (GOOD + '[[rules]]\nid = ""\neffect = "command"\npattern = "ls"\n', "must not be empty"),
        (GOOD + '[[rules]]\nid = "b"\neffect = "command"\npattern = "ls"\nproject = "x"\n', "full path"),
        ("allow = true\n" + GOOD, 'unknown key "allow"'),
        ('rules = "all"\n', "must be a list of tables"),
        ("rules = [1]\n", "rule 1"),
        ("\xff\xfe".encode("latin-1"), "cannot be read"),
        (b"#" * (2 << 20), "cannot be read"),
        ("a = " + "[" * 5000, FILE_NAME),
    ],
)
def test_with_a_broken_file_everything_is_asked_about(desk: Desk, text: str | bytes, told: str) -> None:
    desk.write(text)
    assert not desk.allows(desk.command("pytest"))
    assert told in desk.rules.problem
    assert str(desk.file) in desk.rules.problem
    with pytest.raises(ConfigError):
        desk.rules.add("command", "pytest")
    with pytest.raises(ConfigError):
        desk.rules.revoke("a")
    assert desk.file.read_bytes() == (text.encode() if isinstance(text, str) else text)
    desk.write(GOOD)
    assert desk.allows(desk.command("pytest"))
    assert desk.rules.problem == ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "directory", "unreadable"])
def test_what_is_no_file_is_told_and_never_waited_for(desk: Desk, kind: str) -> None:
    desk.folder.mkdir()
    if kind == "fifo":
        os.mkfifo(desk.file)
    elif kind == "directory":
        desk.file.mkdir()
    else:
        desk.file.symlink_to("/proc/self/mem")
    assert not desk.allows(desk.command("pytest"))
    assert "cannot be read" in desk.rules.problem


def test_a_file_with_a_byte_order_mark_is_read(desk: Desk) -> None:
    desk.write(b"\xef\xbb\xbf" + GOOD.encode())
    assert desk.allows(desk.command("pytest"))


@cases(
    ("effect", "pattern"),
    [("command", "rm"), ("command", "pytest -x"), ("command", ""), ("write", "../x"), ("network", "a\nb")],
)
def test_a_rule_that_cannot_be_is_not_kept(desk: Desk, effect: str, pattern: str) -> None:
    with pytest.raises(UsageError):
        desk.rules.add(
            "command" if effect == "command" else "write" if effect == "write" else "network", pattern
        )
    assert not desk.file.exists()


def test_a_folder_that_cannot_be_written_is_told(desk: Desk) -> None:
    desk.folder.write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        desk.rules.add("command", "pytest")
    assert not desk.allows(desk.command("pytest"))


def test_the_persons_configuration_is_known_where_it_lies_in_the_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    rules = Rules(home / ".config/cogency-tui" / FILE_NAME, home)
    assert rules.is_configuration(home / ".config/cogency-tui/permissions.toml")
    assert rules.is_configuration(home / ".config/cogency-tui/commands/x.md")
    assert not rules.is_configuration(home / ".config/other/x.toml")
    around = Rules(tmp_path / FILE_NAME, home)
    assert not around.is_configuration(home / "pyproject.toml")
    beside = Rules(home / FILE_NAME, home)
    assert beside.is_configuration(home / FILE_NAME)
    assert not beside.is_configuration(home / "app.py")
