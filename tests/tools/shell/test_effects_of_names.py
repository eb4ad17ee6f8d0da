"""Commands whose files only running them would name are asked about; those that name the project's are not."""

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
    for name in ("a.py", "src/b.py", "src/c.sh"):
        (root / name).write_text("x\n")
    (root / "list").write_text("../secret\n")
    (tmp_path / "secret").write_text("hunter2hunter2\n")
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


READING = r"""
find . -name a.py | while read -r f; do cat "${f%a.py}../secret"; done
find . -maxdepth 0 -printf '%p/../secret\n' | while read -r f; do cat "$f"; done
find . -name '*.py' | sed 's#^./#../#;s#a.py#secret#' | while read -r f; do cat $f; done
find . -name a.py | sed 's#a.py#../secret#' | xargs cat
find . -maxdepth 0 -printf '%p/../secret' | xargs cat
find . -maxdepth 0 -exec cat {}/../secret \;
find . -maxdepth 0 -exec cat {}./secret \;
find . -maxdepth 0 | xargs -I{} cat {}/../secret
find . -maxdepth 0 | xargs -I{} cat {}./secret
find . -maxdepth 0 | xargs -I % cat %/../secret
find . -maxdepth 0 | xargs -i cat {}/../secret
cat $(find . -maxdepth 0)/../secret
cat "$(ls -d .)./secret"
ls -a | sed -n 2p | xargs -I{} cat {}/secret
cat "$(ls -a | head -2 | tail -1)/secret"
ls -l --time-style='+../secret' a.py | xargs -n1 cat
ls a.py | awk '{print "../secret"}' | xargs cat
cat $(printf '%s/secret' ..)
cat "$(echo ../secret)"
cat `cat list`
cat < "$(cat list)"
echo ../secret | xargs -I{} cat {}
xargs cat < list
xargs -a list cat
while read -r f; do cat "$f"; done < list
read -r f < list; cat "$f"
mapfile -t a < list; cat "${a[0]}"
set -- ../secret; cat "$1"
printf -v f ../secret; cat "$f"
cat "${x:-../secret}"
for f in *.py; do cat "${f%a.py}../secret"; done
for f in *.py; do cat "${f/a.py/..}/secret"; done
d=$(dirname "$PWD"); cat "$d/secret"
cat "${PWD%/*}/secret"
cd "$(dirname "$PWD")" && cat secret
cat "$(date +..)/secret"
cat "$(date +.)./secret"
column "$(cat list)"
awk '{while ((getline l < $1) > 0) print l}' list
tar -T list -cf -
dd if="$(cat list)"
""".strip().splitlines()
COMPUTING = r"""
find . -name a.py | while read -r f; do cat "$f/../../secret"; done
ls a.py | tr -c . . | xargs -I{} cat {}/secret
cat "$(seq -f .. 1)/secret"
base64 "$(cat list)"
wc --files0-from=list
source "$(cat list)"
python3 "$(cat list)"
bash $(cat list)
ls "$(cat list)"
node "$X"
cat $X
cp $X src/
ls $X/..
cd "$X"
b2sum "$X"
""".strip().splitlines()
ORDINARY = r"""
find . -name '*.py' | while read f; do cat "$f"; done
find . -name '*.py' -print0 | while IFS= read -r -d '' f; do cat "$f"; done
find . -name '*.py' -print0 | while IFS= read -rd $'\0' f; do cat "${f}"; done
find . -name '*.py' | sort | head -5 | xargs cat
find . -name '*.py' -exec wc -l {} +
find . -name '*.py' | xargs -I{} cp {} src/{}
find . -name '*.py' | xargs -I % head %
fd -e py | xargs wc -l
for f in *.py; do cat "$f"; done
for f in *.py; do diff "$f" "${f%.py}.bak"; done
for d in */; do ls "${d%/}"; done
for f in $(git ls-files); do wc -l $f; done
for f in $(ls src); do cat src/$f; done
for i in $(seq 1 3); do cat src/$i.txt; done
cat $(git ls-files '*.py')
cat "$(ls -t *.py | head -1)"
cat "$(dirname src/b.py)/c.sh"
cat "$(realpath a.py)"
cat "$PWD/a.py" "$(pwd)/a.py"
cat src/$(basename src/b.py)
cd "$(dirname src/b.py)" && cat b.py
cd "$(mktemp -d)" && ls
stat $(which sh)
ls -l "$(command -v sh)"
tail "log-$(date +%Y.%m.%d).txt" "$(date +%F).log"
grep -l foo *.py | xargs sed -i s/a/b/
grep -rl foo . | while read -r f; do head "$f"; done
git diff --name-only | xargs cat
sed -n "${A},${B}p" a.py
head -n "$N" a.py
python3 a.py --name "$X"
python3 -m pytest "$X"
bash src/c.sh "$VERSION"
bash $(git ls-files '*.sh')
python3 - "$X" < a.py
echo "$X"
test -f "$X" && echo yes
diff <(sort a.py) <(sort src/b.py)
""".strip().splitlines()


@pytest.mark.parametrize("command", READING)
def test_a_command_that_reads_outside_is_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or "known only at run time" in found.protected
    ran = subprocess.run(
        ["bash", "-c", command], cwd=project, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert b"hunter2hunter2" in ran.stdout


@cases("command", COMPUTING)
def test_what_only_running_would_name_is_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or "it reads files known only at run time" in found.protected


@cases("command", ORDINARY)
def test_names_that_the_project_has_are_not(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


def test_a_tree_of_too_many_links_is_a_source_and_no_question(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.tools.shell.word_paths.MOST_LINK_ENTRIES", 1)
    found = of(project, "grep -R x .")
    assert found.brings
    assert (found.outside, found.protected) == ("", "")
