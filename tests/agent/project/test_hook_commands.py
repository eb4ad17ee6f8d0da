"""What the command of a hook or a server runs of a project: what is found, what is said to be unknown, what Python imports."""

import json
from pathlib import Path

import pytest

from cogency_tui.agent.project.hook_commands import imports_from_project, runs_of
from cogency_tui.agent.project.started_programs import programs_of, programs_of_hooks
from cogency_tui.agent.project.trust import Trust

FILES = (
    "x.sh",
    "scripts/x.sh",
    "scripts/x",
    "scripts/x.py",
    "h.py",
    "tools/cmds",
    "tools/own.py",
    "lib/y.sh",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    # What the path contains is no syntax.
    root = tmp_path.resolve() / "a project's (own)"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("#!/bin/sh\n")
        (root / name).chmod(0o755)
    return root


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("scripts/x.sh", "scripts/x.sh"),
        ("cd scripts && ./x.sh", "scripts/x.sh"),
        ("cd scripts; python3 x.py", "scripts/x.py"),
        ("pushd scripts >/dev/null && sh x && popd", "scripts/x"),
        ("(cd scripts; ./x.sh); date", "scripts/x.sh"),
        ('"$CLAUDE_PROJECT_DIR"/scripts/x.sh "$1"', "scripts/x.sh"),
        ("${CLAUDE_PROJECT_DIR:-.}/scripts/x.sh", "scripts/x.sh"),
        ('"${CLAUDE_PROJECT_DIR:-$PWD}/scripts/x.sh"', "scripts/x.sh"),
        ("$(git rev-parse --show-toplevel)/scripts/x.sh", "scripts/x.sh"),
        ("cd $(git rev-parse --show-toplevel)/scripts && sh x", "scripts/x"),
        ("env -C scripts ./x", "scripts/x"),
        ("f=scripts/x; bash $f.sh", "scripts/x.sh"),
        ("bash < tools/cmds", "tools/cmds"),
        ("bash -e tools/cmds", "tools/cmds"),
        ("bash -euo pipefail tools/cmds", "tools/cmds"),
        ("sh -v tools/cmds", "tools/cmds"),
        ("bash -h tools/cmds", "tools/cmds"),
        ("sh -c 'cd scripts && ./x'", "scripts/x"),
        ("[ -x scripts/x ] && scripts/x || true", "scripts/x"),
    ],
)
def test_a_script_is_found_from_the_directory_that_the_command_enters(
    project: Path, line: str, found: str
) -> None:
    runs = runs_of(line, project)
    assert project / found in runs.paths
    assert runs.is_whole
    before = programs_of_hooks(project, [line])
    assert not before.unknown
    assert f"../{found}" in before.files
    (project / found).write_text("#!/bin/sh\necho other\n")
    assert programs_of_hooks(project, [line]) != before


@pytest.mark.parametrize(
    "line",
    [
        "PATH=./bin:$PATH fmt",
        "export PATH=$PWD/bin:$PATH; date",
        "PYTHONPATH=lib python3 scripts/x.py",
        "bash scripts/*.sh",
        'for f in scripts/*.sh; do sh "$f"; done',
        "find scripts -name '*.sh' -exec bash {} \\;",
        "ls scripts | xargs -n1 bash",
        "cat tools/cmds | bash",
        'bash -c "$(cat tools/cmds)"',
        'eval "$COMMAND"',
        "$FORMATTER x",
        "python3 -m tools.own",
        "npm run fmt",
        "python3 -c 'print(1)'",
        "perl -n scripts/x.pl x.txt",
        "python3 -v scripts/x.py",
        "sh {file}",
        "sh scripts/missing.sh",
        "cp tools/cmds scripts/x.sh && sh scripts/x.sh",
        "cat tools/cmds > scripts/x; sh scripts/x",
        "cp -t scripts tools/cmds; sh scripts/x",
        "curl --output=scripts/x localhost; sh scripts/x",
        "sh ../elsewhere.sh",
        "hash -p scripts/x date; date",
        "vim -es -S x; vim() { :; }",
    ],
)
def test_what_the_shell_decides_is_said_to_be_unknown(project: Path, line: str) -> None:
    assert programs_of_hooks(project, [line]).unknown == (line,)


@pytest.mark.parametrize(
    "line",
    [
        "jq -r '.tool_input.file_path | select(.)' | xargs ruff format",
        'read f; if [[ $f == *.py ]]; then ruff format "$f"; fi',
        "echo done >> hooks.log",
        "date",
        "black -q {file}",
        "gofmt -w {file}",
        "/usr/bin/env ruff check {file}",
        "python3 -m black {file}",
        "sed -i 's/[ \\t]*$//' {file}",
        "awk '{print $1}' x.txt",
        "git rev-parse HEAD",
        "command -v jq >/dev/null 2>&1 || exit 0; jq .",
        'n=0; (( n += 1 )); log() { echo "$*"; }; log done',
    ],
)
def test_what_is_only_an_argument_is_not(project: Path, line: str) -> None:
    assert not programs_of_hooks(project, [line]).unknown


def test_what_a_script_runs_by_a_path_belongs_to_it(project: Path) -> None:
    script = project / "scripts/x.sh"
    script.write_text('#!/bin/bash\n. "$(dirname "$0")/x"\nlib/y.sh "$1"\nruff check "$1"\n')
    before = programs_of_hooks(project, ["bash scripts/x.sh"])
    assert not before.unknown
    assert "../lib/y.sh" in before.files
    script.write_text('for f in lib/*.sh; do bash "$f"; done\n')
    assert programs_of_hooks(project, ["bash scripts/x.sh"]).unknown == ("bash scripts/x.sh",)


def test_scripts_are_followed_to_the_end(project: Path) -> None:
    names = [f"deep/{number}.sh" for number in range(12)]
    (project / "deep").mkdir()
    for name, following in zip(names, [*names[1:], "lib/y.sh"], strict=True):
        (project / name).write_text(f"#!/bin/bash\nset -e\nmain() {{ bash {following}; }}\nmain\n")
    before = programs_of_hooks(project, [f"sh {names[0]}"])
    assert not before.unknown
    assert {*before.files} >= {f"../{name}" for name in names} | {"../lib/y.sh"}
    (project / "lib/y.sh").write_text("touch other\n")
    assert programs_of_hooks(project, [f"sh {names[0]}"]) != before


def test_where_following_ends_it_says_so(project: Path) -> None:
    for number in range(60):
        (project / f"lib/{number}.sh").write_text(f"sh lib/{number + 1}.sh\n")
    (project / "lib/60.sh").write_text("date\n")
    assert programs_of_hooks(project, ["sh lib/0.sh"]).unknown == ("sh lib/0.sh",)
    assert not programs_of_hooks(project, ["sh lib/40.sh"]).unknown
    (project / "lib/60.sh").write_text("# x\n" * 20_000 + "sh lib/y.sh\n")
    assert programs_of_hooks(project, ["sh lib/40.sh"]).unknown == ("sh lib/40.sh",)


@pytest.mark.parametrize(
    "line",
    [
        "/bin/sh lib/l.txt",
        "/bin/sh -e lib/l.txt",
        "/usr/bin/env -S sh lib/l.txt",
        "/usr/bin/env -S X=1 sh -e lib/l.txt",
        "/usr/bin/env -S -C lib sh l.txt",
        "/usr/bin/env -vS sh lib/l.txt",
        "/usr/bin/env -S timeout 3 sh lib/l.txt",
        "lib/sh",
        " lib/sh",
        "\tlib/sh -e",
        "lib/python3",
        "lib/env sh",
        "/usr/bin/env lib/sh",
        "/usr/bin/env -S lib/nice sh",
    ],
)
@pytest.mark.parametrize("command", ["scripts/x", "sh scripts/x.sh"])
def test_what_a_first_line_names_is_followed(project: Path, line: str, command: str) -> None:
    (project / "lib/l.txt").write_text("true\n")
    for name in ("sh", "python3", "env", "nice"):
        (project / "lib" / name).write_text("#!/bin/sh\n. lib/l.txt\n")
    (project / "scripts/x").write_text(f"#!{line}\ntrue\n")
    (project / "scripts/x.sh").write_text("scripts/x\n")
    assert "../lib/l.txt" in programs_of_hooks(project, [command]).files


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/make -f",
        "/usr/bin/awk -f",
        "/usr/bin/env -S PATH=lib:/bin x",
        "/usr/bin/env -S sh\\_lib/l.txt",
        "/usr/bin/env -S sh ${X}",
        "/usr/bin/perl -Ilib",
        "/bin/sh\r",
        "/elsewhere/sh",
        "lib/missing",
        f"/bin/sh {' ' * 300}lib/l.txt",
    ],
)
def test_a_first_line_that_may_start_anything_is_said(project: Path, line: str) -> None:
    (project / "lib/l.txt").write_text("true\n")
    (project / "scripts/x").write_text(f"#!{line}\ntrue\n")
    assert programs_of_hooks(project, ["scripts/x"]).unknown == ("scripts/x",)


@pytest.mark.parametrize(
    ("line", "is_known"),
    [
        ("python3 h.py", True),
        ("python3 h.py && sh x.sh", True),
        ("sh x.sh", False),
        ("node h.js", False),
        ("./h", False),
        ("python3 h.py && node h.js", False),
        ("node scripts/h.js", True),
    ],
)
def test_what_an_interpreter_loads_from_the_root_is_said(project: Path, line: str, is_known: bool) -> None:
    for name in ("h.js", "scripts/h.js"):
        (project / name).write_text("require('./other')\n")
    (project / "h").write_text("#!/usr/bin/env node\n")
    (project / "h").chmod(0o755)
    (project / "x.sh").write_text("python3 h.py\n")
    assert (programs_of_hooks(project, [line]).unknown == ()) is is_known


def test_what_is_beside_the_script_of_an_interpreter_is_compared_whatever_its_name(project: Path) -> None:
    (project / "data").mkdir()
    (project / "data/tool").write_text("import other\n")
    before = programs_of_hooks(project, ["python3 data/tool"])
    (project / "data/other.py").write_text("import json\n")
    assert programs_of_hooks(project, ["python3 data/tool"]) != before


@pytest.mark.parametrize(
    ("line", "text", "loaded"),
    [
        ("node tools/h.js", "require('./l')\n", "tools/l"),
        ("node tools/h.mjs", "createRequire(import.meta.url)('./l')\n", "tools/l"),
        ("node tools/h.js", "const x = require( './x.conf' )\n", "tools/x.conf"),
        ("perl tools/h.pl", "do './tools/x.conf';\n", "tools/x.conf"),
        ("php tools/h.php", "<?php include './x.inc';\n", "tools/x.inc"),
    ],
)
def test_what_a_script_loads_beside_it_is_compared_whatever_its_name(
    project: Path, line: str, text: str, loaded: str
) -> None:
    (project / line.partition(" ")[2]).write_text(text)
    before = programs_of_hooks(project, [line])
    (project / loaded).write_text("loaded\n")
    added = programs_of_hooks(project, [line])
    (project / "tools/h.log").write_text("log\n")
    assert before != added == programs_of_hooks(project, [line])


@pytest.mark.parametrize(
    ("script", "is_known"),
    [
        ("python3 -m json.tool", False),
        ("cd tools; python3 -m ruff check", False),
        ("python3 -sP -m ruff check", True),
    ],
)
def test_in_a_script_a_module_may_be_one_of_the_project(project: Path, script: str, is_known: bool) -> None:
    (project / "scripts/m.sh").write_text(f"{script}\n")
    assert (programs_of_hooks(project, ["sh scripts/m.sh"]).unknown == ()) is is_known
    # A command of a hook is run without the modules of the current directory.
    assert programs_of_hooks(project, [script]).unknown == ()
    (project / "json.py").write_text("true\n")
    assert imports_from_project("python3 -m json.tool", project, may_name_modules=True)


def test_interpreters_that_start_each_other_end(project: Path) -> None:
    for number in range(2_000):
        (project / f"lib/{number}").write_text(f"#!lib/{number + 1}\n")
    assert programs_of_hooks(project, ["lib/0"]).unknown == ("lib/0",)
    (project / "lib/0").write_text("#!lib/1\n")
    (project / "lib/1").write_text("#!lib/0\n")
    assert {*programs_of_hooks(project, ["lib/0"]).files} == {"../lib/0", "../lib/1"}


@pytest.mark.parametrize(
    "line",
    [
        "lib/env date",
        '"$CLAUDE_PROJECT_DIR"/lib/env date',
        "nice lib/env date",
        "sh -c 'lib/env date'",
        "cd lib && ./env date",
    ],
)
def test_a_script_with_the_name_of_a_program_that_starts_others_is_followed(project: Path, line: str) -> None:
    (project / "lib/env").write_text("#!/bin/sh\n. ./l.txt; . lib/l.txt\n")
    (project / "lib/l.txt").write_text("true\n")
    assert "../lib/l.txt" in programs_of_hooks(project, [line]).files


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ('cd lib; . "$PWD/y.sh"', ""),
        ("cd lib && sh $(pwd)/y.sh", ""),
        ("sh link", '. "$(dirname "$0")/y.sh"'),
        (". scripts/x", '. "$(dirname "$0")/y.sh"'),
        ("bash -s y.sh < lib/y.sh", ""),
        ("bash scripts/x", "true\n\0"),
        ("scripts/x", "true\n\0"),
        ("bash scripts/x", "name=BASH_ENV; export $name=lib/y.sh; bash -c date"),
        ("bash scripts/x", "printf -v PATH lib; date"),
        ("bash scripts/x", "read PATH < lib/y.sh; date"),
        ("bash scripts/x", "f() { local PATH=lib; date; }; f"),
        ("bash scripts/x", "x='$(sh lib/y.sh)'; echo ${x@P}"),
    ],
)
def test_what_other_directories_names_and_variables_decide_is_said(
    project: Path, line: str, script: str
) -> None:
    for name in ("y.sh", "scripts/y.sh"):
        (project / name).write_text("true\n")
    (project / "scripts/x").write_text(script)
    (project / "link").symlink_to("scripts/x")
    assert programs_of_hooks(project, [line]).unknown == (line,)


@pytest.mark.parametrize(
    "text", [f"((a{'+' * 60}\n", "\n" * 32_000, f"{' ' * 32_000}x", "xargs " * 5_000, "((a" + "+ " * 60]
)
def test_no_text_of_a_script_holds_up_the_survey(project: Path, text: str) -> None:
    (project / "scripts/x").write_text(f"#!/bin/sh\n{text}")
    assert "../scripts/x" in programs_of_hooks(project, ["scripts/x"]).files


@pytest.mark.parametrize(
    "line",
    ["/bin/bash -eu", "/bin/bash -o pipefail", "/usr/bin/env python3", "/usr/bin/python3 -u", "/bin/perl -w"],
)
def test_options_in_a_first_line_run_nothing_else(project: Path, line: str) -> None:
    (project / "scripts/x").write_text(f"#!{line}\n")
    assert not programs_of_hooks(project, ["scripts/x"]).unknown


def test_scripts_that_call_each_other_end(project: Path) -> None:
    (project / "scripts/x.sh").write_text("sh lib/y.sh\n")
    (project / "lib/y.sh").write_text("sh scripts/x.sh\n")
    assert not programs_of_hooks(project, ["sh scripts/x.sh"]).unknown


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("awk -f inc/x.awk", "inc/x.awk"),
        ("vim -es -u inc/x.vim", "inc/x.vim"),
        ("perl -Iinc -MEvil", None),
        ("node -e \"require('./inc/m')\"", "inc/m.js"),
        ("node -r ./inc/m x.js", "inc/m.js"),
        ("git commit -am x", None),
        ("git status", None),
        ("eslint --fix {file}", None),
        ("prettier --config inc/rc.js --write {file}", "inc/rc.js"),
        ("mypy .", None),
        ("pylint --rcfile=inc/rc", "inc/rc"),
        ("flake8", None),
        ("jest", None),
        ("vitest run", None),
        ("cmake .", None),
        ("expect inc/x.exp", "inc/x.exp"),
        ("tclsh inc/x.tcl", "inc/x.tcl"),
        ("gdb -batch -x inc/x.gdb", "inc/x.gdb"),
        ("sed -f inc/x.sed a", "inc/x.sed"),
        ("fish inc/x.fish", "inc/x.fish"),
        ("Rscript inc/x.R", "inc/x.R"),
        ("bash --rcfile inc/rc scripts/x.sh", "inc/rc"),
        ("no-such-program inc/rc", "inc/rc"),
        ("sed '1e sh inc/rc' a", "inc/rc"),
        ("python3 -c 'exec(open(\"inc/rc\").read())'", "inc/rc"),
        ("sort --compress-program=inc/rc a", "inc/rc"),
    ],
)
def test_of_other_programs_it_is_said_and_what_they_name_is_compared(
    project: Path, line: str, named: str | None
) -> None:
    if named is not None:
        (project / named).parent.mkdir()
        (project / named).write_text("before")
    before = programs_of_hooks(project, [line])
    assert before.unknown == (line,)
    if named is not None:
        (project / named).write_text("after")
        assert programs_of_hooks(project, [line]) != before


def test_the_words_of_a_command_are_not_split_again(project: Path) -> None:
    command = json.dumps(["sh", "-c", "cd scripts && ./x.sh", "hook", "{file}"])
    found = programs_of(
        project, {"config.toml": f'[hooks.x]\non = "after_edit"\ncommand = {command}\n'.encode()}
    )
    assert "../scripts/x.sh" in found.files
    assert not found.unknown


@pytest.mark.parametrize(
    ("line", "imports"),
    [
        ("python3 -m json.tool", True),
        ("python3.12 -c 'import json'", True),
        ("sh -c 'jq . | python3 -m json.tool'", True),
        ("python3 h.py", True),
        ("{project}/h.py", True),
        ("python3 - <<'END'\nimport json\nEND", True),
        ("python3 scripts/x.py", False),
        ("cd scripts; python3 x.py", False),
        ('python3 "$DIR/x.py"', False),
        ("ruff format h.py", False),
    ],
)
def test_when_python_would_import_from_the_root(project: Path, line: str, imports: bool) -> None:
    assert imports_from_project(line, project, may_name_modules=False) is imports


def test_a_module_of_the_project_is_run_for_its_own_hooks_only(project: Path) -> None:
    assert not imports_from_project("python3 -m tools.own", project, may_name_modules=True)
    assert imports_from_project("python3 -m tools.own", project, may_name_modules=False)
    assert imports_from_project("python3 -m json.tool", project, may_name_modules=True)


@pytest.mark.parametrize(
    ("line", "is_known"),
    [
        ("uv run $CLAUDE_PROJECT_DIR/scripts/x.py", True),
        ('uv run --quiet --script "$CLAUDE_PROJECT_DIR"/scripts/x.py --fix', True),
        ("uv run scripts/none.py", False),
        ("uv run --with rich scripts/x.py", False),
        ("uv run pytest", False),
        ("uv sync", False),
        ("uv run --script scripts/x", True),
        ("npx run scripts/x.py", False),
    ],
)
def test_a_script_that_uv_runs_is_known(project: Path, line: str, is_known: bool) -> None:
    (project / "pyproject.toml").write_text("")
    found = programs_of_hooks(project, [line])
    assert (found.unknown == ()) is is_known
    if is_known:
        assert {"../scripts/**", "../pyproject.toml"} <= found.files.keys()
        assert {"../scripts/x.py", "../scripts/x"} & found.files.keys()


def test_a_hook_that_does_not_run_starts_nothing_unknown(project: Path) -> None:
    config = '[hooks.a]\non = "after_edit"\nenabled = false\ncommand = ["make", "fmt"]\n'
    assert programs_of(project, {"config.toml": config.encode()}).unknown == ()
    assert programs_of(project, {"config.toml": config.replace("false", "true").encode()}).unknown
    entry = {"hooks": [{"type": "command", "command": "make fmt"}]}
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    trust = Trust(project.parent / "trusted.toml")
    for event, unknown in (("PreCompact", ()), ("Stop", ("make fmt",))):
        settings.write_text(json.dumps({"hooks": {event: [entry]}}))
        assert trust.survey(project).unknown == unknown


def test_one_that_does_not_run_hides_no_other(project: Path) -> None:
    beginning = "prettier " + "x " * 200
    lines = [f"{beginning}a", f"{beginning}b"]
    assert len(programs_of_hooks(project, lines, idle=lines[:1]).unknown) == 1
