"""Trust in a project: for a directory and the very bytes in it, decided by the person and nobody else."""

import os
import shutil
from pathlib import Path

import pytest

from cogency_tui.agent.project.trust import FILE_NAME, Survey, Trust, TrustState
from cogency_tui.errors import ConfigError, UsageError, WorkspaceError


class Desk:
    """A person's decisions, and a project that brings something."""

    def __init__(self, root: Path) -> None:
        self.file = root / "config" / FILE_NAME
        self.project = root / "project"
        self.project.mkdir()
        self.trust = Trust(self.file)
        self.put("config.toml", "a = 1\n")
        self.put("commands/fix.md", "Fix $ARGUMENTS\n")

    def put(self, name: str, content: str | bytes) -> None:
        path = self.project / ".cogency" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def survey(self) -> Survey:
        return self.trust.survey(self.project)

    def accept(self) -> None:
        self.trust.trust(self.project, self.survey())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_until_it_is_trusted_a_project_is_listed_and_nothing_more(desk: Desk) -> None:
    desk.put("config.toml", b"\xff broken [[[")
    survey = desk.survey()
    assert survey.state is TrustState.UNKNOWN
    assert survey.files == ("commands/fix.md", "config.toml")
    assert desk.trust.contents(desk.project) == {}
    assert not desk.file.exists()


def test_what_is_trusted_is_given_as_it_was(desk: Desk) -> None:
    desk.accept()
    assert desk.survey().state is TrustState.TRUSTED
    assert desk.trust.contents(desk.project) == {
        "commands/fix.md": b"Fix $ARGUMENTS\n",
        "config.toml": b"a = 1\n",
    }
    assert Trust(desk.file).survey(desk.project).state is TrustState.TRUSTED
    assert desk.file.stat().st_mode & 0o777 == 0o600


def test_a_project_without_such_files_needs_no_trust(desk: Desk) -> None:
    shutil.rmtree(desk.project / ".cogency")
    assert desk.survey() == Survey(TrustState.NOTHING)
    (desk.project / ".cogency").mkdir()
    assert desk.survey() == Survey(TrustState.NOTHING)


@pytest.mark.parametrize("change", ["edited", "added", "gone", "renamed", "link"])
def test_a_change_of_any_file_makes_it_be_asked_again(desk: Desk, change: str) -> None:
    desk.accept()
    folder = desk.project / ".cogency"
    if change == "edited":
        desk.put("config.toml", "a = 2\n")
        changed = ("config.toml",)
    elif change == "added":
        desk.put("hooks/x.sh", "rm")
        changed = ("hooks/x.sh",)
    elif change == "gone":
        (folder / "config.toml").unlink()
        changed = ("config.toml",)
    elif change == "renamed":
        (folder / "config.toml").rename(folder / "other.toml")
        changed = ("config.toml", "other.toml")
    else:
        (folder / "config.toml").unlink()
        (folder / "config.toml").symlink_to("commands/fix.md")
        changed = ()
    survey = desk.survey()
    assert survey.state is (TrustState.UNKNOWN if change == "link" else TrustState.CHANGED)
    assert survey.changed == changed
    assert desk.trust.contents(desk.project) == {}
    if change == "link":
        assert "is a symbolic link, not a file. Replace it with the file itself." in survey.problem
        return
    desk.accept()
    assert desk.survey().state is TrustState.TRUSTED


def test_put_back_as_it_was_it_is_trusted_again(desk: Desk) -> None:
    desk.accept()
    desk.put("config.toml", "a = 2\n")
    desk.put("config.toml", "a = 1\n")
    assert desk.survey().state is TrustState.TRUSTED


def test_trust_is_not_for_what_took_its_place(desk: Desk) -> None:
    desk.accept()
    moved = desk.project.with_name("moved")
    desk.project.rename(moved)
    assert desk.trust.survey(moved).state is TrustState.UNKNOWN
    shutil.copytree(moved, desk.project)
    assert desk.survey().state is TrustState.UNKNOWN


def test_what_changed_since_it_was_looked_at_is_not_trusted(desk: Desk) -> None:
    seen = desk.survey()
    desk.put("config.toml", "a = 2\n")
    with pytest.raises(UsageError, match="changed during the review"):
        desk.trust.trust(desk.project, seen)
    assert desk.survey().state is TrustState.UNKNOWN


def test_trust_is_taken_back(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(desk.project, other)
    desk.accept()
    desk.trust.trust(other, desk.trust.survey(other))
    desk.trust.revoke(desk.project)
    assert desk.survey().state is TrustState.UNKNOWN
    assert desk.trust.survey(other).state is TrustState.TRUSTED
    desk.trust.revoke(desk.project)


def test_a_project_cannot_trust_itself(desk: Desk) -> None:
    desk.accept()
    desk.put(FILE_NAME, desk.file.read_bytes())
    desk.trust.revoke(desk.project)
    assert desk.survey().state is TrustState.UNKNOWN


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "file", "link", "deep", "many", "large", "socket"])
def test_what_cannot_be_used_is_told_and_never_waited_for(desk: Desk, kind: str) -> None:
    folder = desk.project / ".cogency"
    if kind == "fifo":
        os.mkfifo(folder / "x")
    elif kind == "file":
        shutil.rmtree(folder)
        folder.write_text("x")
    elif kind == "link":
        folder.rename(desk.project / "real")
        folder.symlink_to("real")
    elif kind == "deep":
        desk.put("/".join("abcdefghijk") + "/x", "x")
    elif kind == "many":
        for number in range(600):
            desk.put(f"m/{number}", "")
    elif kind == "large":
        desk.put("large", b"x" * (5 << 20))
    else:
        (folder / "x").symlink_to("/dev/zero")
    survey = desk.survey()
    assert survey.state is TrustState.UNKNOWN
    assert ".cogency" in survey.problem or "bytes" in survey.problem
    if kind == "fifo":
        assert survey.problem == ".cogency/x is a FIFO, not a file. Remove it."
    assert desk.trust.contents(desk.project) == {}
    with pytest.raises(WorkspaceError):
        desk.trust.trust(desk.project, survey)


@pytest.mark.parametrize(
    "text", ["[[projects", '[[projects]]\npath = "/x"\n', "trusted = true\n", "projects = 3\n"]
)
def test_with_broken_decisions_nothing_is_trusted(desk: Desk, text: str) -> None:
    desk.accept()
    desk.file.write_text(text)
    survey = desk.survey()
    assert survey.state is TrustState.UNKNOWN
    assert str(desk.file) in survey.problem
    assert desk.trust.contents(desk.project) == {}
    with pytest.raises((ConfigError, UsageError)):
        desk.accept()
    assert desk.file.read_text() == text


def test_names_that_are_no_text_are_kept_apart(desk: Desk) -> None:
    for name in (b"\xff.md", b"\xfe.md"):
        Path(os.fsdecode(os.fsencode(desk.project / ".cogency") + b"/" + name)).write_text("x")
    desk.accept()
    assert desk.survey().state is TrustState.TRUSTED
    assert len(desk.survey().files) == 4


SERVERS = {
    "a script": ('command = "node"\nargs = ["server.js", "--quiet"]', "server.js"),
    "a script in a folder": ('command = "python"\nargs = ["tools/x.py"]', "tools/x.py"),
    "the program itself": ('command = "./server"', "server"),
    "a script of uv": ('command = "uv"\nargs = ["run", "x.py"]', "x.py"),
    "a package": ('command = "npx"\nargs = ["./x"]', "x/package.json"),
    "a module": ('command = "python"\nargs = ["-m", "tools.x"]', "tools/x.py"),
    "a module that is a package": ('command = "python"\nargs = ["-m", "tools"]', "tools/__main__.py"),
    "a variable": ('command = "node"\nenv = {NODE_OPTIONS = "--require=./hook.js"}', "hook.js"),
    "below its directory": ('command = "node"\nargs = ["x.js"]\ncwd = "tools"', "tools/x.js"),
    "an option": ('command = "serve"\nargs = ["--config=serve.toml"]', "serve.toml"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_the_program_of_a_server_is_trusted_with_its_configuration(name: str, desk: Desk) -> None:
    server, file = SERVERS[name]
    desk.put("config.toml", f"[mcp.x]\n{server}\n")
    desk.put(f"../{file}", "true")
    survey = desk.survey()
    assert f"../{file}" in survey.files
    desk.accept()
    assert desk.trust.contents(desk.project)
    desk.put(f"../{file}", "date")
    assert desk.survey().state is TrustState.CHANGED
    assert f"../{file}" in desk.survey().changed
    assert desk.trust.contents(desk.project) == {}
    (desk.project / file).unlink()
    assert f"../{file}" in desk.survey().changed
    desk.accept()
    desk.put(f"../{file}", "once more")
    assert desk.survey().state is TrustState.CHANGED


LOADED = {
    "an import": ('command = "python"\nargs = ["tools/server.py"]', "tools/server.py", "tools/helper.py"),
    "a package": ('command = "python"\nargs = ["server.py"]', "server.py", "pack/deep/x.py"),
    "a module": ('command = "python"\nargs = ["-m", "pack.server"]', "pack/server.py", "helper.py"),
    "an extension": ('command = "python"\nargs = ["server.py"]', "server.py", "helper.abi3.so"),
    "a require": ('command = "node"\nargs = ["tools/server.js"]', "tools/server.js", "tools/lib/x.js"),
    "a program without an ending": ('command = "./bin/serve"', "bin/serve", "bin/lib.sh"),
    "a script of npm": ('command = "npm"\nargs = ["run", "mcp"]', "package.json", "server.js"),
    "its configuration": ('command = "npm"\nargs = ["start"]', "server.js", "package.json"),
    "a script of uv": ('command = "uv"\nargs = ["run", "mcp"]', "pyproject.toml", "pack/__init__.py"),
    "uv and a file": ('command = "uv"\nargs = ["run", "tools/x.py"]', "tools/x.py", "tools/y.py"),
    "a package of npx": ('command = "npx"\nargs = ["."]', "package.json", "bin/x.js"),
    "a target": ('command = "make"\nargs = ["serve"]', "Makefile", "tools/serve.py"),
    "below its directory": (
        'command = "uv"\nargs = ["run", "x"]\ncwd = "srv"',
        "srv/pyproject.toml",
        "srv/x.py",
    ),
    "a lock file": ('command = "uv"\nargs = ["run", "x"]', "pyproject.toml", "uv.lock"),
    "an option": (
        'command = "node"\nenv = {NODE_OPTIONS = "-r ./hook.js"}\nargs = ["a/x.js"]',
        "a/x.js",
        "hook.js",
    ),
}


@pytest.mark.parametrize("name", LOADED)
def test_what_the_program_of_a_server_loads_is_trusted_with_it(name: str, desk: Desk) -> None:
    server, file, loaded = LOADED[name]
    desk.put("config.toml", f"[mcp.x]\n{server}\n")
    desk.put(f"../{file}", "true")
    (desk.project / file).chmod(0o755)
    desk.put(f"../{loaded}", "true")
    desk.put("../README.md", "true")
    desk.accept()
    desk.put("../README.md", "date")
    assert desk.survey().state is TrustState.TRUSTED
    desk.put(f"../{loaded}", "date")
    assert desk.survey().state is TrustState.CHANGED
    assert desk.trust.contents(desk.project) == {}
    desk.put(f"../{loaded}", "true")
    assert desk.survey().state is TrustState.TRUSTED
    (desk.project / loaded).unlink()
    assert desk.survey().state is TrustState.CHANGED


@pytest.mark.parametrize(
    ("server", "script"),
    [
        ('command = "tools/h"', "#!/bin/sh\n. lib/l.txt\n"),
        ('command = "./tools/h"', "sh lib/l.txt\n"),
        ('command = "sh"\nargs = ["tools/h"]', "cd lib && exec sh l.txt\n"),
        ('command = "bash"\nargs = ["h"]\ncwd = "tools"', ". ../lib/l.txt\n"),
    ],
)
def test_what_the_start_script_of_a_server_runs_is_trusted_with_it(
    server: str, script: str, desk: Desk
) -> None:
    desk.put("config.toml", f"[mcp.x]\n{server}\n")
    desk.put("../tools/h", script)
    (desk.project / "tools/h").chmod(0o755)
    desk.put("../lib/l.txt", "true\n")
    desk.accept()
    assert not desk.survey().unknown
    desk.put("../lib/l.txt", "date\n")
    assert desk.survey().changed == ("../lib/l.txt",)


@pytest.mark.parametrize(
    ("server", "is_known"),
    [
        ('command = "node"\nargs = ["tools/x.js"]\nenv = {NODE_ENV = "production"}', True),
        ('command = "python"\nargs = ["-u", "-m", "tools.x"]', True),
        ('command = "uv"\nargs = ["run", "tools/x.py"]', True),
        ('command = "tools/run"\nargs = ["tools/lib"]', True),
        ('command = "tools/made"', False),
        ('command = "tools/looped"', False),
        ('command = "tools/long"', False),
        ('command = "tools/x"', False),
        ('command = "npm"\nargs = ["start"]', False),
        ('command = "make"\nargs = ["serve"]', False),
        ('command = "npx"\nargs = ["some-server", "tools/x.py"]', False),
        ('command = "python"\nargs = ["tools/x.py"]\nenv = {PYTHONPATH = "lib"}', False),
        ('command = "node"\nargs = ["tools/x.js"]\nenv = {NODE_OPTIONS = "-r ./tools/y"}', False),
    ],
)
def test_where_a_server_does_not_show_what_it_runs_that_is_told(
    server: str, is_known: bool, desk: Desk
) -> None:
    desk.put("config.toml", f"[mcp.x]\n{server}\n")
    desk.put("../package.json", '{"scripts": {"start": "sh lib/l.txt"}}')
    desk.put("../Makefile", "serve:\n\tsh lib/l.txt\n")
    for name, text in {
        "run": "#!/bin/sh\ndate\n",
        "made": "#!/usr/bin/make -f\nall:\n\tsh lib/l.txt\n",
        "looped": '#!/bin/sh\nfor each in lib/*; do . "$each"; done\n',
        "long": f"#!/bin/sh\n#{'.' * 40_000}\n. lib/l.txt\n",
        "x": "#!/usr/bin/env -S -C lib make\n",
        "x.py": "import json\n",
        "x.js": "1\n",
        "y.js": "1\n",
        "lib": "a file\n",
    }.items():
        desk.put(f"../tools/{name}", text)
        (desk.project / "tools" / name).chmod(0o755)
    assert (desk.survey().unknown == ()) is is_known


def test_a_source_that_comes_beside_the_program_is_a_change(desk: Desk) -> None:
    desk.put("config.toml", '[mcp.x]\ncommand = "python"\nargs = ["tools/server.py"]\n')
    desk.put("../tools/server.py", "import json")
    desk.accept()
    desk.put("../tools/json.py", "evil")
    assert desk.survey().changed == ("../tools/**",)
    kinds = {entry.name: entry.kind for entry in desk.survey().entries}
    assert kinds["../tools/**"] == "2 source files"


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ("require('../lib/x')", "lib/x.js"),
        ('import x from "../lib/x.mjs"', "lib/x.mjs"),
        ("import(`./../lib/x.js`)", "lib/x.js"),
        ('require("../lib")', "lib/index.js"),
        ('sys.path.insert(0, "../lib")', "lib/helper.py"),
        ("require('../lib/a')", "other/b.js"),
    ],
)
def test_what_a_source_names_elsewhere_is_a_source_too(desk: Desk, text: str, loaded: str) -> None:
    desk.put("config.toml", '[mcp.x]\ncommand = "node"\nargs = ["tools/server.js"]\n')
    desk.put("../tools/server.js", text)
    desk.put("../lib/a.js", 'require("../other/b")')
    desk.put(f"../{loaded}", "before")
    desk.put("../src/app.js", "before")
    desk.accept()
    desk.put("../src/app.js", "after")
    assert desk.survey().state is TrustState.TRUSTED
    desk.put(f"../{loaded}", "after")
    assert desk.survey().state is TrustState.CHANGED


def test_installed_packages_are_no_sources(desk: Desk) -> None:
    desk.put("config.toml", '[mcp.x]\ncommand = "npm"\nargs = ["start"]\n')
    desk.put("../package.json", "{}")
    desk.accept()
    for name in ("node_modules/x/index.js", ".venv/lib/x.py", "__pycache__/x.pyc", ".git/hooks/x.sh"):
        desk.put(f"../{name}", "x")
    assert desk.survey().state is TrustState.TRUSTED


def test_a_link_to_sources_in_the_project_is_followed_and_none_out_of_it(desk: Desk, tmp_path: Path) -> None:
    desk.put("config.toml", '[mcp.x]\ncommand = "node"\nargs = ["tools/server.js"]\n')
    desk.put("../tools/server.js", "require('./lib/x')")
    desk.put("../real/x.js", "before")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "y.js").write_text("before")
    (desk.project / "tools/lib").symlink_to("../real")
    (desk.project / "tools/out").symlink_to(tmp_path / "else")
    (desk.project / "tools/loop").symlink_to(".")
    os.mkfifo(desk.project / "tools/fifo.js")
    desk.accept()
    (tmp_path / "else" / "y.js").write_text("after")
    assert desk.survey().state is TrustState.TRUSTED
    desk.put("../real/x.js", "after")
    assert desk.survey().changed == ("../tools/**",)


def test_what_a_server_is_started_from_is_said_where_it_cannot_be_told(desk: Desk) -> None:
    desk.put("config.toml", '[mcp.x]\ncommand = "npx"\nargs = ["-y", "some-server"]\n')
    assert desk.survey().unknown == ("npx -y some-server",)


@pytest.mark.exhaustive
def test_more_sources_than_are_compared_are_said(desk: Desk) -> None:
    desk.put("config.toml", '[mcp.x]\ncommand = "python"\nargs = ["tools/server.py"]\n')
    for number in range(2_001):
        desk.put(f"../tools/m{number}.py", "")
    desk.put("../tools/server.py", "x")
    survey = desk.survey()
    assert survey.unknown == ("python tools/server.py",)
    assert "../tools/server.py" in survey.files


def test_no_file_outside_the_project_is_read_for_a_server(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (desk.project / "link").symlink_to(tmp_path / "secret")
    args = '["../secret", "link", "/etc/passwd", "/dev/zero", "\\u0000"]'
    desk.put("config.toml", f'[mcp.x]\ncommand = "node"\nargs = {args}\n')
    assert desk.survey().files == ("commands/fix.md", "config.toml")


def test_a_configuration_that_would_fill_the_memory_is_not_parsed_unasked(desk: Desk) -> None:
    (desk.project / "server").write_text("x")
    table = '[mcp.x]\ncommand = "./server"\n'
    desk.put("config.toml", table + "a" + ".a" * 20_000 + " = 1\n")
    assert "../server" not in desk.survey().files
    for harmless in ("", f"# {'.' * 20_000}\n", f"[agents.a]\ndescription = '{'.' * 20_000}'\n"):
        desk.put("config.toml", table + harmless)
        assert "../server" in desk.survey().files


def test_that_there_are_scripts_is_known_only_where_some_are_started(desk: Desk) -> None:
    desk.put("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: x\n---\n")
    desk.put("../.claude/settings.json", '{"hooks": {"Stop": [{"hooks": [{"command": "date"}]}]}}')
    desk.put("config.toml", '[hooks.a]\non = "after_edit"\ncommand = "ruff format {file}"\n')
    assert not desk.survey().has_scripts
    desk.put("../tools/fmt.py", "import json\n")
    desk.put("config.toml", '[hooks.a]\non = "after_edit"\ncommand = "python3 tools/fmt.py"\n')
    assert desk.survey().has_scripts


HOOK = '[hooks.a]\non = "after_edit"\ncommand = {}\n'


@pytest.mark.parametrize(
    ("command", "name", "counts"),
    [
        ("./tools/fmt.sh {file}", "tools/fmt.sh", True),
        ("./tools/fmt.sh {file}", "tools/helper.py", True),
        ("./tools/fmt.sh {file}", "other.py", False),
        ("python tools/check.py", "tools/check.py", True),
        ("./fmt.sh {file}", "fmt.sh", True),
        ("./fmt.sh {file}", "other.py", False),
        ("ruff format {file}", "other.py", False),
        ("npm run lint", "package.json", True),
        ("npm run lint", "other.py", False),
        ("uv run --project {project} check", "pyproject.toml", True),
        ("prettier --config conf/rules.json {file}", "conf/rules.json", True),
        (
            '["sh", "-c", "\\"$COGENCY_PROJECT/tools/fmt.sh\\" \\"$1\\" >> log.txt", "hook", "{file}"]',
            "tools/fmt.sh",
            True,
        ),
        ('["sh", "-c", "date >> log.sh"]', "log.sh", False),
        ('["sh", "-c", "cat >> \\"$COGENCY_PROJECT/log.txt\\""]', "log.txt", False),
        ("./missing.sh", "missing.sh", True),
    ],
)
def test_a_hook_is_trusted_with_what_it_runs(desk: Desk, command: str, name: str, counts: bool) -> None:
    desk.put("config.toml", HOOK.format(command if command.startswith("[") else f'"{command}"'))
    path = desk.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in ("tools/fmt.sh", "tools/check.py", "fmt.sh"):
        (desk.project / each).parent.mkdir(exist_ok=True)
        (desk.project / each).write_text("#!/bin/sh\n")
    if name != "missing.sh":
        path.write_text("before")
    desk.trust.trust(desk.project, desk.trust.survey(desk.project))
    assert desk.trust.survey(desk.project).state is TrustState.TRUSTED
    path.write_text("after")
    found = desk.trust.survey(desk.project)
    assert (found.state is TrustState.CHANGED) is counts
