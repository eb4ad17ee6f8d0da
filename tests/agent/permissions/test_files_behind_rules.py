"""What of a project a standing rule for a command is made for, in projects that were prepared to misuse it."""

import os
import subprocess
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.command_patterns import pattern_of
from cogency_tui.agent.permissions.files_behind_rules import FILES, basis_of
from cogency_tui.agent.permissions.rules import FILE_NAME, Rules, Ruling
from cogency_tui.tools.base import Intent
from cogency_tui.tools.shell import rule_options
from cogency_tui.tools.shell.programs import programs_with
from tests.agent.templates import TEMPLATES
from tests.cases import cases

READING = frozenset(
    ("actionlint", "clang-format", "cloc", "column", "date", "diff", "docker", "fd", "file", "find", "git")
    + ("gofmt", "hadolint", "ktlint", "pip", "podman", "printf", "rg", "scc", "shellcheck", "sort", "test")
    + ("tokei", "tree", "uniq", "yamllint")
)
"""Programs that no file of a project has start anything, but for what git's own configuration says."""


class Desk:
    """The rules of a user in one project."""

    def __init__(self, root: Path, project: Path) -> None:
        self.project = project
        self.rules = Rules(root / "config" / FILE_NAME, self.project)

    def put(self, name: str, text: str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, name: str) -> None:
        self.put(name, f"#!/bin/sh\necho ran >> {self.project}/ran\n").chmod(0o755)

    def judge(self, command: str) -> Ruling:
        intent = Intent("command", "Run it", detail=command, paths=(self.project,), everything=True)
        return self.rules.judge(intent)

    def git(self, *arguments: str, cwd: str = ".") -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(
            ("git", *identity, *arguments), cwd=self.project / cwd, check=True, capture_output=True
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(tmp_path, tmp_path / "project")


@pytest.fixture
def repository(desk: Desk) -> Desk:
    TEMPLATES.copy(one_commit, desk.project)
    return desk


def one_commit(directory: Path) -> None:
    desk = Desk(directory.parent, directory)
    desk.git("init", "-q")
    desk.put("a.txt", "a\n")
    desk.git("add", "a.txt")
    desk.git("commit", "-qm", "First")


def require_rule(desk: Desk, command: str) -> None:
    """Make the rule that is offered for a command; it then allows it."""
    pattern = desk.judge(command).pattern
    assert pattern
    desk.rules.add("command", pattern)
    assert desk.judge(command).allows


# The files that a program reads first.

MODULES = [
    ("python -m ruff check", "ruff.py"),
    ("python -m black .", "black/__init__.py"),
    ("python -m isort .", "isort.cpython-311-x86_64-linux-gnu.so"),
    ("python -m compileall src", "compileall.py"),
    ("python -m mypy src", "json.py"),
    ("python tools/gen.py", "tools/argparse.py"),
    ("uv run python -m ruff check", "ruff.py"),
]
"""Modules before installed ones: that they are there decides."""

DECIDING = [
    *MODULES,
    ("make test", "GNUmakefile"),
    ("make test", "Makefile"),
    ("make test", "rules.mk"),
    ("npm run lint", "package.json"),
    ("npm run lint", ".npmrc"),
    ("npm test", "package.json"),
    ("pnpm run lint", ".pnpmfile.cjs"),
    ("yarn test", ".yarnrc.yml"),
    ("bun test", "bunfig.toml"),
    ("pytest", "pytest.ini"),
    ("pytest -x tests", "pyproject.toml"),
    ("uv run pytest", "uv.toml"),
    ("uv run mypy src", "mypy.ini"),
    ("python -m pytest", "tox.ini"),
    ("mypy src", ".mypy.ini"),
    ("pylint src", ".pylintrc"),
    ("flake8 src", ".flake8"),
    ("ruff check", "ruff.toml"),
    ("coverage report", ".coveragerc"),
    ("eslint src", "eslint.config.mjs"),
    ("prettier --check src", ".prettierrc.js"),
    ("jest", "jest.config.ts"),
    ("vitest run", "vite.config.ts"),
    ("tsc --noEmit", "tsconfig.json"),
    ("cargo test", ".cargo/config.toml"),
    ("cargo build", "build.rs"),
    ("cargo fmt", "rust-toolchain.toml"),
    ("rustfmt --check a.rs", "rust-toolchain"),
    ("go test ./...", "go.mod"),
    ("gradle test", "build.gradle.kts"),
    ("./gradlew test", "gradle/wrapper/gradle-wrapper.jar"),
    ("./gradlew test", "gradlew"),
    ("mvn verify", ".mvn/extensions.xml"),
    ("dotnet test", "Directory.Build.targets"),
    ("bazel test", "tools/bazel"),
    ("bundle exec rspec", "Gemfile"),
    ("rake test", "Rakefile"),
    ("just check", "JUSTFILE"),
    ("task check", "Taskfile.yml"),
    ("tox -e py", "tox.ini"),
    ("nox -s tests", "noxfile.py"),
    ("pre-commit run", ".pre-commit-config.yaml"),
    ("scripts/check.sh", "scripts/check.sh"),
    ("python tools/gen.py", "tools/gen.py"),
    (".venv/bin/pytest", ".venv/bin/pytest"),
    ("node_modules/.bin/tsc --noEmit", "node_modules/.bin/tsc"),
    ("uv run ruff check", ".venv/bin/ruff"),
]


@pytest.mark.parametrize(("command", "name"), DECIDING)
def test_a_rule_holds_while_the_files_that_decide_what_runs_stay_as_they_were(
    desk: Desk, command: str, name: str
) -> None:
    require_rule(desk, command)
    path = desk.put(name, "one\n")
    path.chmod(0o755)
    changed = desk.judge(command)
    assert (changed.allows, changed.changed) == (False, True)
    path.unlink()
    assert desk.judge(command).allows


@pytest.mark.parametrize(("command", "name"), [each for each in DECIDING if each not in MODULES])
def test_a_rule_is_for_what_the_files_say(desk: Desk, command: str, name: str) -> None:
    path = desk.put(name, "one\n")
    path.chmod(0o755)
    require_rule(desk, command)
    path.write_text("two\n")
    assert not desk.judge(command).allows


def test_what_a_rule_covers_as_it_is_goes_on(desk: Desk) -> None:
    desk.put("Makefile", "test:\n\tpytest\n")
    desk.put("package.json", "{}")
    for command in ("pytest", "python -m pytest", "make test", "npm test", "ls", "rg x"):
        require_rule(desk, command)
    desk.put("tests/test_a.py", "def test_a(): pass\n")
    desk.put("src/a.js", "1\n")
    desk.put("README.md", "x\n")
    for command in ("pytest", "python -m pytest", "make test", "npm test", "ls", "rg x"):
        assert desk.judge(command).allows


def test_a_rule_that_is_given_again_is_the_same_rule(desk: Desk) -> None:
    path = desk.put("Makefile", "one\n")
    first = desk.rules.add("command", "make test")
    path.write_text("two\n")
    again = desk.rules.add("command", "make test")
    assert (again.id, again.pattern) == (first.id, first.pattern)
    assert again.basis != first.basis
    assert list(desk.rules.list()) == [again]
    assert desk.judge("make test").allows


def test_a_rule_is_for_the_files_that_the_question_was_about(desk: Desk) -> None:
    path = desk.put("Makefile", "one\n")
    asked = desk.judge("make test")
    path.write_text("two\n")
    desk.rules.add("command", asked.pattern, basis=asked.basis)
    assert not desk.judge("make test").allows


def test_a_rule_of_an_earlier_version_is_asked_about_once(desk: Desk) -> None:
    desk.rules.path.parent.mkdir()
    entries = "".join(
        f'[[rules]]\nid = "{id}"\neffect = "command"\npattern = "{pattern}"\n'
        for id, pattern in (("a", "make test"), ("b", "ls"))
    )
    desk.rules.path.write_text(entries)
    assert desk.judge("ls").allows
    assert desk.judge("make test").allows
    desk.put("Makefile", "one\n")
    assert desk.judge("ls").allows
    assert desk.judge("make test").changed


def test_a_rule_for_all_projects_holds_where_nothing_of_the_project_decides(desk: Desk) -> None:
    desk.rules.add("command", "make test", everywhere=True)
    assert desk.judge("make test").allows
    desk.put("Makefile", "one\n")
    assert not desk.judge("make test").allows


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "links", "large"])
def test_what_cannot_be_read_leaves_no_rule(desk: Desk, kind: str) -> None:
    path = desk.project / "Makefile"
    require_rule(desk, "make test")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "links":
        (desk.project / "GNUmakefile").symlink_to("inner")
        (desk.project / "inner").symlink_to(path)
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(8 << 30)
    assert desk.judge("make test") == Ruling()


def test_a_file_that_is_a_link_out_of_the_project_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "one.mk").write_text("one\n")
    (tmp_path / "two.mk").write_text("one\n")
    path = desk.project / "Makefile"
    path.symlink_to(tmp_path / "one.mk")
    require_rule(desk, "make test")
    path.unlink()
    path.symlink_to(tmp_path / "two.mk")
    assert not desk.judge("make test").allows


def test_a_rule_is_for_the_files_that_a_makefile_includes(desk: Desk) -> None:
    desk.put("Makefile", "include sub/one.inc $(ALL) /etc/x\n-include parts/*.inc\nsinclude missing\ntest:\n")
    desk.put("sub/one.inc", "include sub/two.inc\ninclude Makefile\n")
    for name in ("sub/one.inc", "sub/two.inc", "parts/a.inc", "missing"):
        require_rule(desk, "make test")
        desk.put(name, "include sub/two.inc\n# other\n")
        assert desk.judge("make test").changed, name


@pytest.mark.parametrize(
    "command",
    [
        "pytest /tmp/evil.py",
        "pytest ../evil.py",
        "pytest link/evil.py",
        "pytest src/../../x",
        "pytest ..",
        "pytest --cov=/",
        "pytest --ignore /etc",
        "python -m unittest -s /tmp",
        "uv run pytest /tmp/evil.py",
        "ruff check --fix /etc",
        "ruff format link",
        "gofmt -w /etc/x",
        "clang-format -i ../x.c",
        "make ../x",
        "cmake -B/tmp/x",
        "cmake -B link/x",
        "tsc -p ../x",
        "go test ../...",
        "eslint --fix ../x",
        "prettier -w /etc",
        "coverage combine /tmp/x",
        "jest ../x",
    ],
)
def test_no_rule_is_for_code_and_files_outside_the_project(desk: Desk, tmp_path: Path, command: str) -> None:
    (desk.project / "link").symlink_to(tmp_path)
    assert desk.judge(command) == Ruling()


def test_paths_inside_may_be_written_in_any_way(desk: Desk) -> None:
    desk.put("go/a_test.py", "x")
    for path in ("go/a_test.py", "./go", "go/../go", str(desk.project), f"{desk.project}/go/a_test.py"):
        assert desk.judge(f"pytest {path}").pattern == "pytest", path


# Programs of the project in the place of others.


@pytest.mark.parametrize("place", ["bin", ".", "", "node_modules/.bin"])
@pytest.mark.parametrize("command", ["ls", "git status", "pytest", "rg x", "uv run pytest", "make test"])
def test_a_program_of_the_project_that_the_search_path_finds_is_another(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, place: str, command: str
) -> None:
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    require_rule(desk, command)
    desk.program(os.path.join(place, command.split()[0]))  # noqa: PTH118 (an empty place is the project)
    assert not desk.judge(command).allows


def test_a_directory_of_the_search_path_may_be_a_link_into_the_project(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").symlink_to(desk.project / "tools")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    require_rule(desk, "ls")
    desk.program("tools/ls")
    assert not desk.judge("ls").allows


# What git starts.

HOSTILE = {
    "core.fsmonitor": "./evil",
    "core.sshCommand": "./evil",
    "core.editor": "./evil",
    "core.pager": "./evil",
    "core.gitProxy": "./evil",
    "core.alternateRefsCommand": "./evil",
    "core.worktree": "/",
    "core.attributesFile": "evil",
    "filter.x.clean": "./evil",
    "filter.x.smudge": "./evil",
    "filter.x.process": "./evil",
    "filter.lfs.clean": "./evil",
    "diff.external": "./evil",
    "diff.x.command": "./evil",
    "diff.x.textconv": "./evil",
    "diff.orderFile": "evil",
    "merge.x.driver": "./evil",
    "gpg.program": "./evil",
    "gpg.ssh.defaultKeyCommand": "./evil",
    "log.showSignature": "true",
    "gc.recentObjectsHook": "./evil",
    "interactive.diffFilter": "./evil",
    "trailer.x.command": "./evil",
    "pager.log": "./evil",
    "credential.helper": "!./evil",
    "protocol.ext.allow": "always",
    "remote.x.uploadpack": "./evil",
    "lfs.customtransfer.x.path": "./evil",
    "include.path": "../evil",
    "includeIf.gitdir:/.path": "../evil",
    "includeIf.onbranch:*.path": "../evil",
    "uploadpack.packObjectsHook": "./evil",
    "hook.x.command": "./evil",
    "no.such": "setting",
}


@pytest.mark.exhaustive
def test_a_repository_that_may_start_programs_has_no_rule(repository: Desk) -> None:
    commands = ("git status", "git diff", "git log", "git add a.txt", "git commit -m x", "go vet ./...")
    for command in commands:
        require_rule(repository, command)
    configuration = repository.project / ".git/config"
    clean = configuration.read_bytes()
    for number, (key, value) in enumerate(HOSTILE.items()):
        repository.git("config", key, value)
        # The first of them meets each command, every other one two of them.
        meets = commands if number == 0 else ("git status", commands[1 + number % 5])
        for command in meets:
            assert repository.judge(command) == Ruling(), (key, command)
        configuration.write_bytes(clean)
    for command in commands:
        assert repository.judge(command).allows


def test_the_programs_of_a_repository_would_run(repository: Desk) -> None:
    """The attack itself: without the check, the rule lets it pass."""
    repository.program("evil")
    repository.git("config", "core.fsmonitor", "./evil")
    repository.git("status")
    assert (repository.project / "ran").exists()
    assert repository.judge("git status") == Ruling()


def test_a_configuration_that_others_include_is_read_too(repository: Desk) -> None:
    require_rule(repository, "git status")
    repository.put("more", "[core]\n\tfsmonitor = ./evil\n")
    with (repository.project / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = ../more\n")
    assert repository.judge("git status") == Ruling()


def test_the_configuration_of_one_working_tree_counts(repository: Desk) -> None:
    require_rule(repository, "git status")
    repository.git("config", "extensions.worktreeConfig", "true")
    assert repository.judge("git status").allows
    repository.git("config", "--worktree", "core.fsmonitor", "./evil")
    assert repository.judge("git status") == Ruling()


@pytest.mark.parametrize("depth", [1, 2])
def test_repositories_within_count(repository: Desk, depth: int) -> None:
    place = "/".join(["sub"] * depth)
    for level in range(depth, 0, -1):
        here = "/".join(["sub"] * level)
        (repository.project / here).mkdir(parents=True, exist_ok=True)
        repository.git("init", "-q", cwd=here)
        if level < depth:
            repository.git("add", "sub", cwd=here)
        repository.git("commit", "-qm", "x", "--allow-empty", cwd=here)
    repository.git("add", "sub")
    require_rule(repository, "git status")
    repository.program(f"{place}/evil")
    repository.git("config", "core.fsmonitor", "./evil", cwd=place)
    assert repository.judge("git status") == Ruling()


@pytest.mark.parametrize("place", [".git/hooks", "hooks"])
@pytest.mark.parametrize("command", ["git commit -m x", "git status"])
def test_a_rule_is_for_the_hooks_that_there_are(repository: Desk, place: str, command: str) -> None:
    if place == "hooks":
        repository.git("config", "core.hooksPath", "hooks")
    require_rule(repository, command)
    repository.program(f"{place}/post-index-change")
    assert not repository.judge(command).allows
    require_rule(repository, command)
    repository.put(f"{place}/post-index-change", "#!/bin/sh\nelse\n")
    assert not repository.judge(command).allows
    repository.put(f"{place}/pre-push.sample", "x")
    (repository.project / place / "post-index-change").unlink()
    repository.rules.add("command", repository.judge(command).pattern)
    assert repository.judge(command).allows


ORDINARY = [
    ("remote.origin.url", "https://example.org/x.git"),
    ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
    ("remote.my.odd.name.pushurl", "git@example.org:x"),
    ("branch.main.remote", "origin"),
    ("branch.main.merge", "refs/heads/main"),
    ("branch.fix.x.description", "two\nlines"),
    ("user.name", "A"),
    ("user.email", "a@example.org"),
    ("commit.gpgSign", "true"),
    ("core.autocrlf", "input"),
    ("core.fsmonitor", "true"),
    ("core.hooksPath", ".husky/_"),
    ("submodule.lib.url", "https://example.org/lib.git"),
    ("submodule.lib.active", "true"),
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("lfs.https://example.org/x.git/info/lfs.access", "basic"),
    ("pull.rebase", "true"),
    ("alias.st", "!evil"),
    ("blame.ignoreRevsFile", ".git-blame-ignore-revs"),
    ("color.ui", "auto"),
]


@pytest.mark.exhaustive
def test_an_ordinary_repository_has_rules(repository: Desk) -> None:
    require_rule(repository, "git status")
    for key, value in ORDINARY:
        repository.git("config", key, value)
        assert repository.judge("git status").allows, key


def test_an_ordinary_submodule_is_none_that_starts_anything(repository: Desk, tmp_path: Path) -> None:
    repository.git("clone", "-q", str(repository.project), str(tmp_path / "lib"))
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "lib"), "lib")
    require_rule(repository, "git status")
    repository.git("config", "core.fsmonitor", "./evil", cwd="lib")
    assert repository.judge("git status") == Ruling()


def test_the_configuration_of_the_repository_around_the_project_counts(repository: Desk) -> None:
    (repository.project / "part").mkdir()
    part = Rules(repository.rules.path, repository.project / "part")
    intent = Intent("command", "Run it", detail="git log", paths=(part.project,), everything=True)
    assert part.judge(intent).pattern == "git log"
    repository.git("config", "core.fsmonitor", "./evil")
    assert part.judge(intent) == Ruling()


# The table.


def test_of_each_program_it_is_known_what_decides() -> None:
    ruled = {name.partition(" ")[0] for name, options in rule_options.RULES.items() if not options.every}
    ruled -= {"compileall", "unittest"}
    runners = (first for first, _ in rule_options.RUNNERS)
    for program in (*ruled, *rule_options.TARGETS, *programs_with("scripts"), *runners):
        decided = (program in FILES) != (program in READING)
        assert decided, f"{program}: name the files that decide what it runs in FILES, or add it to READING"


@pytest.mark.exhaustive
@cases("name", sorted(rule_options.RULES))
def test_each_rule_has_a_basis_where_there_is_nothing(name: str, desk: Desk) -> None:
    if pattern_of(name):
        assert basis_of(name, desk.project) == ""


def test_the_basis_of_one_program_is_not_that_of_another(desk: Desk) -> None:
    desk.put("Makefile", "x\n")
    desk.put("package.json", "{}\n")
    assert basis_of("make test", desk.project) != basis_of("npm test", desk.project)
    assert basis_of("ls", desk.project) == ""
