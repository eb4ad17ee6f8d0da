"""What a substitution comes to is known in variables, in other substitutions and from the repository's top."""

import subprocess
from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    for name in ("a.py", "src/b.py"):
        (root / name).write_text("x\n")
    (root / "list").write_text("../secret\n")
    (tmp_path / "secret").write_text("hunter2hunter2\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


INSIDE = r"""
cd $(git rev-parse --show-toplevel) && cat a.py
ROOT=$(git rev-parse --show-toplevel); cd "$ROOT/src"
ROOT=$(git rev-parse --show-toplevel); cat "$ROOT/a.py"
ROOT=`git rev-parse --show-toplevel` && cd src && sed -i s/x/y/ "$ROOT/src/b.py"
cat "$(git rev-parse --show-toplevel)/a.py"
cd src; for f in "$(git rev-parse --show-toplevel)"/*.py; do cat "$f"; done
FILE=$(grep -rl x src | head -1); sed -n 1,5p "$FILE"
FILES=$(find src -name '*.py'); for f in $FILES; do wc -l $f; done
FILES=$(find . -type f); for f in $FILES; do wc -l $f; done
files=$(git ls-files '*.py'); wc -l $files
rm -rf made-of; for f in src/*.py; do wc -l "$f"; done
FILES=$(grep -rl x src); sed -i s/x/y/ $FILES
latest=$(ls -t src/*.py | head -1); head -3 "$latest"
for f in src/*.py; do n=$(wc -l < "$f"); echo "$f $n"; done
f=src/b.py; n=$(wc -l < "$f"); echo $n
find src -name '*.py' | while read -r f; do echo "$f: $(wc -l < "$f")"; done
find src -name '*.py' | while read -r f; do n=$(wc -l < "$f"); echo "$n $f"; done
git ls-files '*.py' | while IFS= read -r f; do x=1; sed -i s/a/b/ "$f"; done
""".strip().splitlines()
OUTSIDE = r"""
cat "$(git rev-parse --show-toplevel)/../secret"
cat "$(git rev-parse --show-toplevel)"/$(cat list)
ROOT=$(git rev-parse --show-toplevel); cat "$ROOT/../secret"
export GIT_DIR=$PWD/.git GIT_WORK_TREE=..; cat "$(git rev-parse --show-toplevel)/secret"
git config core.worktree "$(dirname "$PWD")"; cat "$(git rev-parse --show-toplevel)/secret"
n=GIT_WORK; export GIT_DIR=$PWD/.git ${n}_TREE=..; cat "$(git rev-parse --show-toplevel)/secret"
x=$(cat list); cat "$x"
x=$(cat list; ls src); cat $x
cat $(cat list; ls src)
ROOT=$(grep -l nothing a.py); cat "$ROOT$(dirname "$PWD")/secret"
n=$(cat < "$(cat list)"); echo "$n"
f=list; n=$(cat $(cat "$f")); echo "$n"
find . -name a.py | while read -r f; do cat list | xargs cat; cat "$f"; done
find . -name a.py | while read -r f; do cat "$f"; done < list
find . -name a.py | while read -r f; do cat "$(cat list)"; done
find . -name a.py | while read -r f; do f=../secret; cat "$f"; done
find . -name a.py | while read -r f; do g=../secret; cat "$g"; done
f=a.py; printf -vf ../secret; cat "$f"
f=a.py; read -raf < list; cat "$f"
""".strip().splitlines()


@cases("command", INSIDE)
def test_what_a_substitution_comes_to_in_the_project_is_known(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


@pytest.mark.parametrize("command", OUTSIDE)
def test_what_it_may_lead_to_outside_is_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or "known only at run time" in found.protected
    ran = subprocess.run(
        ["bash", "-c", command], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert b"hunter2hunter2" in ran.stdout


def test_a_working_tree_that_is_configured_elsewhere_is_outside(project: Path) -> None:
    subprocess.run(["git", "config", "core.worktree", str(project.parent)], cwd=project, check=True)
    assert of(project, 'cat "$(git rev-parse --show-toplevel)/secret"').outside


def test_without_a_repository_the_topmost_directory_is_not_known(project: Path) -> None:
    (project / ".git").rename(project / "other")
    assert of(project, 'cat "$(git rev-parse --show-toplevel)/etc/passwd"').protected


def test_what_may_print_no_name_leads_to_the_root(project: Path) -> None:
    assert of(project, 'cat "$(grep -l nothing a.py)/etc/passwd"').outside == "/etc/passwd"


def test_a_quote_ends_at_a_character_that_no_word_can_have(project: Path) -> None:
    assert of(project, r"cat $'\0'/etc/passwd").outside == "/etc/passwd"


def test_builtins_bring_nothing(project: Path) -> None:
    command = "shopt -s nullglob; IFS=,; set -e; read -r x < a.py; trap 'echo x' EXIT; unset y; shift"
    assert not of(project, command).sources


def test_a_command_that_writes_what_a_loop_lists_is_asked_about_protected_files(project: Path) -> None:
    assert of(project, 'find .git -name hooks | while read -r f; do echo y >> "$f"; done').protected
