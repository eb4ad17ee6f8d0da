"""Variables by which a program reads or writes elsewhere: an assignment names the paths in its value."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / ".git/hooks").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


NAMES = [
    *(
        "PYTHONPYCACHEPREFIX",
        "TMPDIR",
        "GOCACHE",
        "GOPATH",
        "CARGO_TARGET_DIR",
        "npm_config_prefix",
        "PIP_TARGET",
    ),
    *(
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "XDG_CACHE_HOME",
        "HOME",
        "COVERAGE_FILE",
        "ANYTHING_AT_ALL",
    ),
]

OUTSIDE = [
    "CDPATH=..; cd out; touch x",
    "CDPATH=.. cd out && touch x",
    "export CDPATH=src:..; cd out && touch x",
    "HISTFILE=../h; history -w",
    "export COVERAGE_FILE=../x; pytest",
    "declare -x COVERAGE_FILE=../x; pytest",
    "env COVERAGE_FILE=../x pytest",
    "env -u A COVERAGE_FILE=../x nice pytest",
    "sudo COVERAGE_FILE=../x pytest",
    "timeout 5 env COVERAGE_FILE=../x pytest",
    "COVERAGE_FILE=~/x pytest",
    "COVERAGE_FILE=src:~/x pytest",
    "COVERAGE_FILE=$HOME/x pytest",
    "D=..; COVERAGE_FILE=$D/x pytest",
    "PYTEST_ADDOPTS='-q --basetemp=../x' pytest",
    "PYTEST_ADDOPTS=-o\\ cache_dir=../x pytest",
    "if true; then COVERAGE_FILE=../x pytest; fi",
    "unknown-program --out:../x",
    "unknown-program a,../x",
    "unknown-program --map=a:../x",
    "unknown-program a:~/x",
]

ORDINARY = [
    "PYTHONPATH=src:. pytest",
    "COVERAGE_FILE=src/.coverage pytest",
    "CC=/usr/bin/env make",
    "JAVA_HOME=/usr/lib ./gradlew test",
    "LANG=C.UTF-8 sort a",
    "DATABASE_URL=postgres://localhost/x pytest",
    "DATABASE_URL=sqlite:///src/x.db pytest",
    "NODE_OPTIONS=--max-old-space-size=4096 npm test",
    "CFLAGS='-O2 -Wall -Isrc/include' make",
    "PYTEST_ADDOPTS='-q --tb=short' pytest",
    "MSG='see /etc/passwd'; git commit -m \"$MSG\"",
    "file=AGENTS.md; wc -l $file",
    "revision=HEAD; git log $revision",
    'export PATH="$PWD/bin:$PATH"; make',
    "CDPATH= cd -- src && ls",
    "CDPATH=src; cd lib",
    "TZ=Europe/Berlin date",
    "env A=1 B=src/x pytest",
    "URL_PATH=/api/users; echo $URL_PATH",
    "gcc -Wl,-rpath,/usr/lib a.c",
    "pytest src/a.py::test_a",
    "sed -i s,/usr/lib,/opt/lib, src/a.py",
    "git log --format=%h:../x",
]


@cases("name", NAMES)
def test_an_assignment_names_its_path(project: Path, name: str) -> None:
    assert of(project, f"{name}=../new make").outside == f"{project.parent}/new"


@cases("command", OUTSIDE)
def test_a_value_that_leads_outside_is_asked_about(project: Path, command: str) -> None:
    assert of(project, command).outside


@cases("command", ORDINARY)
def test_an_ordinary_value_is_not(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


def test_cd_follows_its_search_path(project: Path) -> None:
    assert of(project, "CDPATH=.git; cd hooks; touch x").protected
