"""Files that a command reads without naming them."""

import os
from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    (root / "linked").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/s").write_text("x")
    (root / "list").write_text(f"{tmp_path}/outside/s\n")
    (root / "linked/directory").symlink_to(tmp_path / "outside")
    (root / "linked/file").symlink_to(tmp_path / "outside/s")
    return root


def of(project: Path, command: str) -> Reach:
    text = command.replace("OUT", str(project.parent / "outside")).replace("\\n", "\n")
    return reach(text, project, Workspace(project))


THROUGH_LINKS = r"""
grep -R x .
grep -nRi x
grep --dereference-rec x linked
rg -L x
rg --follow x
find -L . -name x
find -L . -exec cat {} +
find . -follow -type f -exec cat {} +
find . -exec cat {} ;
find . -name '*' -exec grep -r x {} +
find . | xargs cat
git ls-files | xargs head -5
find . | xargs touch
find linked | sort | xargs -n1 cat
diff -rN src linked
diff -r linked src
ls -LR
ls -RL linked
tar chf - .
tar -chf - linked
tar --dereference -cf - .
tar cfh x.tar linked
cp -rL linked copy
du -aL
tree -l
zip -r x.zip .
rsync -aL linked/ copy
cd linked; grep -R x .
""".strip().splitlines()

GLUED = r"""
grep -hofOUT/s src/a.py
grep -fOUT/s src/a.py
grep -hoflinked/file src/a.py
file -flinked/file
sort -mT. -oOUT/s
awk -fOUT/s
sed -nfOUT/s
sed 'r OUT/s' src/a.py
sed '/x/rOUT/s' src/a.py
sed -e 1p -e '$R OUT/s' src/a.py
awk '{while ((getline l < "OUT/s") > 0) print l}' src/a.py
awk 'BEGIN {ARGV[1] = "OUT/s"; ARGC = 2} {print}'
awk '@include "OUT/s"'
""".strip().splitlines()

BY_NAMES = r"""
wc --files0-from=list
wc --files0=list
du --files0-from=list
sort --files0-from list
find -files0-from list
tar -T list -cf -
tar cf - --files-from=list
rsync --files-from=list / copy
file -f list
file -bflist
gcc @list
cat @list
jq -n 'import "m" as m; .'
jq 'include "a/b"; .' x.json
cat < $(cat list)
cat < "$F"
cat $(cat list)
cat "$(head -1 list)"
head -n 5 "$F"
grep x $FILES
diff "$F" src/a.py
cp "$F" src/
xargs cat < list
xargs -a list cat
cat list | xargs cat
cat list | xargs -n1 head
cat list | cpio -o
while read f; do cat "$f"; done < list
for f in $(cat list); do cat $f; done
mapfile -t a < list; cat "${a[@]}"
IFS= read -r f < list && tail "$f"
awk '{while ((getline l < $1) > 0) print l}' list
awk 'BEGIN {getline l < ("/e" "tc/x"); print l}'
find src -name "$(cat list)" -exec cat "$F" \;
set -- $(cat list); cat "$1"
""".strip().splitlines()

CONFINED = r"""
grep -r x .
grep -rn 'R' src
grep -R x src
grep -R "$X" src
grep -A "$N" x src/a.py
head -n "$N" src/a.py
sed -n "${A},${B}p" src/a.py
jq --arg a "$A" '.a = $a' x.json
diff -r src src
diff -r --no-dereference src linked
find . -type f -exec cat {} +
find . -name '*.py'
git status
ls -R
ls -lL src
tar -cf x.tar src
for f in src/*.py; do cat "$f"; done
f=src/a.py; cat "$f"
cat src/a.py @nothing
awk '{print $1}' src/a.py
sed 's/r x/y/' src/a.py
echo "$X" "$(cat src/a.py)"
""".strip().splitlines()


@cases("command", THROUGH_LINKS)
def test_a_link_outside_that_is_followed_counts_as_named(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside.startswith(str(project.parent / "outside"))
    assert found.brings == found.outside


@cases("command", GLUED)
def test_a_path_in_an_option_or_a_script_is_seen(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside == str(project.parent / "outside/s") or "only the script of" in found.brings


@cases("command", BY_NAMES)
def test_names_that_only_running_shows_are_a_certain_source(project: Path, command: str) -> None:
    assert of(project, command).brings


@cases("command", CONFINED)
def test_what_stays_in_the_project_brings_nothing(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.brings) == ("", "")


def test_links_within_the_project_and_to_the_system_are_none(project: Path) -> None:
    for name in ("directory", "file"):
        (project / "linked" / name).unlink()
    (project / "linked/again").symlink_to(project)
    (project / "linked/self").symlink_to(project / "linked")
    (project / "linked/gone").symlink_to(project.parent / "nothing")
    (project / "linked/system").symlink_to("/usr/share")
    found = of(project, "grep -R x .")
    assert (found.outside, found.brings) == ("", "")


def test_a_tree_too_large_to_look_through_is_a_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogency_tui.tools.shell.word_paths.MOST_LINK_ENTRIES", 3)
    for number in range(5):
        (project / "src" / str(number)).mkdir()
    assert "too many to check" in of(project, "grep -R x src").brings


def test_a_pipe_in_the_tree_is_not_opened(project: Path) -> None:
    os.mkfifo(project / "src/pipe")
    (project / "linked/pipe").symlink_to(project / "src/pipe")
    assert of(project, "grep -R x src").outside == ""


def test_the_interpreter_of_an_environment_is_no_link_outside(project: Path, tmp_path: Path) -> None:
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/pyvenv.cfg").touch()
    (tmp_path / "outside/python3.11").write_text("x")
    (project / ".venv/bin/python").symlink_to(tmp_path / "outside/python3.11")
    (project / "linked/file").unlink()
    (project / "linked/directory").unlink()
    found = of(project, "find . -type f | xargs grep x")
    assert (found.outside, found.brings) == ("", "")
    (project / ".venv/bin/python3").symlink_to(tmp_path / "outside/s")
    assert of(project, "find . | xargs grep x").outside


NAME_LOOPS = [
    'find . -name "*.py" | while read f; do wc -l "$f"; done',
    'find . -type f | while IFS= read -r f; do head -1 "$f"; echo; done',
    'git ls-files | grep py | while read -r name; do cat "${name}"; done',
]


@pytest.mark.parametrize("command", NAME_LOOPS)
def test_names_that_a_loop_reads_from_the_project_are_the_projects(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.py").touch()
    assert not reach(command, tmp_path, Workspace(tmp_path)).brings


@pytest.mark.parametrize("command", NAME_LOOPS)
def test_links_that_a_loop_may_read_count(tmp_path: Path, command: str) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("x")
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").symlink_to(outside)
    assert reach(command, project, Workspace(project)).outside == str(outside)


@pytest.mark.parametrize(
    "command",
    [
        'cat list | while read f; do cat "$f"; done',
        'while read f; do cat "$f"; done < list',
        'find . | sed s/a/b/ | while read f; do cat "$f"; done',
        'find . -printf "%f" | while read f; do cat "$f"; done',
        'find . | while read f; do cat "$g"; done',
        "find . | while read f; do cat $f; done",
        'find . | while read f; do cat "/etc/$f"; done',
        'find . | while read f; do f=/etc/passwd; cat "$f"; done',
        'f=$(cat list); find . | while read f; do true; done; cat "$f"',
        "find . | while read f; do cat $(cat list); done",
        'find . | while read a f; do cat "$f"; done',
    ],
)
def test_names_that_a_loop_reads_from_elsewhere_are_not(tmp_path: Path, command: str) -> None:
    (tmp_path / "list").write_text("/etc/passwd")
    found = reach(command, tmp_path, Workspace(tmp_path))
    assert found.brings or found.outside
