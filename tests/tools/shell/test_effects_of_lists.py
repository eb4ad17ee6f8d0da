"""Names that one command lists and another one is given: of files in the project, or known only when it runs."""

import subprocess
from pathlib import Path

import pytest

from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

FILES = {
    ".env": "K=1\n",
    ".gitignore": ".env\n*.orig\n",
    ".vscode/settings.json": "{}\n",
    "list": "../secret\n",
    "other.orig": "x\n",
    "src/a.py": "def slug(): pass\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (tmp_path / "secret").write_text("hunter2hunter2\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


def lost(project: Path, command: str) -> str:
    return describe_losses(at_stake(command, project, Workspace(project)).losses)


LISTED = r"""
git grep -l slug | xargs sed -i 's/a/b/g'
sed -i 's/a/b/' $(git grep -l slug)
for f in $(git grep -l slug); do sed -i 's/a/b/' "$f"; done
git grep -l def | xargs grep -c def
git grep -lz def | xargs -0 wc -l
git grep --name-only def -- src | xargs ls -la
git grep -il "x y" | sort -u | head -3 | xargs cat
find src -name '*.py' | sort | xargs ls -la
git diff --name-only HEAD~1 HEAD | xargs ls -la
git diff --name-only | tr '\n' '\0' | xargs -0 ls -la
find . -path ./.git -prune -o -name '*.md' -print | xargs head -1
find src -name '*.py' | xargs grep -I foo
grep -lr foo . | xargs sed -i s/a/b/
git ls-files -o --exclude-standard | xargs wc -l
git diff --name-only HEAD | xargs -r pytest -q
git diff --name-only HEAD | xargs node --check
git diff --name-only HEAD | xargs echo
python3 -m json.tool .vscode/settings.json
""".strip().splitlines()
UNKNOWN = r"""
git grep -el list | xargs cat
git grep -e -l . | xargs cat
git grep -h . list | xargs cat
git grep -O -l x | xargs cat
git grep --no-index -l x /etc | xargs cat
git grep "$x" -l | xargs cat
grep -el list | xargs cat
grep -e -l list | xargs cat
grep --regexp -l list | xargs cat
cat list | xargs -a list ls -la
find src | xargs -a list cat
find src | xargs --arg-file list cat
find . -ls | xargs cat
cat list | tr '\n' '\0' | xargs -0 cat
find . | tr a . | xargs cat
git grep -l def | sed s,^,../, | xargs cat
cp list HEAD
git mv list HEAD
git diff HEAD --output=HEAD
python3 -m json.tool list .vscode/settings.json
""".strip().splitlines()


@cases("command", LISTED)
def test_names_that_are_listed_in_the_project_are_no_question(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected, found.brings) == ("", "", "")


@cases("command", UNKNOWN)
def test_names_that_may_be_any_are_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or found.protected


def test_what_git_clean_is_told_to_leave_is_not_lost(project: Path) -> None:
    assert lost(project, "git clean -fdx -e .env -e '*.orig'") == ""
    assert lost(project, "git clean -fdx --exclude=.env -e'*.orig'") == ""
    assert lost(project, "git clean -fdX -e '!.env'") == "permanently deletes the git-ignored file other.orig"


@cases(
    "command",
    ["git clean -fdX -e .env", "git clean -fdx -- -e .env", "git clean -fdx -e $x", "git clean -fdx -e x"],
)
def test_what_git_clean_is_not_told_to_leave_is_lost(project: Path, command: str) -> None:
    assert ".env" in lost(project, command)
