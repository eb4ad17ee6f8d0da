"""Names of files that are taken apart, that programs do not list alone, and that are links, in lists of them."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/secret").write_text("hunter2hunter2\n")
    (root / "notes").write_text(f"one\n{tmp_path}/home/secret\n")
    (root / "a.py").write_text("x = 1\n")
    (root / "src/b.py").write_text("x = 2\n")
    set_up(root, "git init -q; git add -A; git commit -qm one")
    return root


def set_up(project: Path, script: str) -> None:
    who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = os.environ | who | {"OUT": str(project.parent / "home")}
    subprocess.run(["bash", "-ec", script], cwd=project, env=environ, check=True, capture_output=True)


def of(project: Path, command: str) -> Reach:
    return reach(command.replace("$OUT", str(project.parent / "home")), project, Workspace(project))


def is_asked_about(project: Path, command: str) -> bool:
    found = of(project, command)
    return bool(found.outside or found.protected)


def by_first(rows: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The rows as one for each set-up: commands are only looked at, and share it."""
    return [(first, [second for each, second in rows if each == first]) for first in dict(rows)]


def with_directory(name: str, *, committed: bool = False) -> str:
    """A script that makes a file below a directory of this name."""
    make = f'd={name}; mkdir -p -- "./$d"; echo a > "./$d/secret"'
    return f"{make}; git add -A; git commit -qm two" if committed else make


BLANK = with_directory("'x '$OUT")
LINE = with_directory("$'x\\n'$OUT")
COMMITTED = with_directory("'x '$OUT", committed=True)
STAGED = 'git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.py),"x $OUT/secret"'
IN_REVISION = f"{STAGED}; git commit -qm evil; git tag evil; git reset -q --hard HEAD^"

TAKEN_APART = [
    (BLANK, "find . -name secret | xargs cat"),
    (BLANK, "find . -name secret | xargs rm -f"),
    (BLANK, "find . -name secret | xargs sed -i s/a/b/"),
    (BLANK, "find . -name secret -print0 | xargs cat"),
    (BLANK, "find src -name x; find . -type f | sort | xargs -n1 cat"),
    (BLANK, "cat $(find . -name secret)"),
    (BLANK, "for f in $(find . -name secret); do cat $f; done"),
    (BLANK, "files=$(grep -rl a .); cat $files"),
    (BLANK, "find . -type f -print0 | xargs -0 grep -l a | xargs cat"),
    (BLANK, "cat $(grep -l a $(find . -type f))"),
    (BLANK, "find . -type f -exec grep -l a {} + | xargs cat"),
    (BLANK, "git add -A; git diff --cached --name-only | xargs cat"),
    (BLANK, "git ls-files --others | xargs cat"),
    (COMMITTED, "cat $(git ls-files)"),
    (COMMITTED, "git ls-files | xargs -P4 -n1 cat"),
    (COMMITTED, "git grep -l a | xargs cat"),
    (COMMITTED, "cd src && git diff --name-only HEAD | xargs cat"),
    (STAGED, "git ls-files | xargs cat"),
    (STAGED, "git diff --name-only | xargs cat"),
    (IN_REVISION, "git diff --name-only HEAD evil | xargs cat"),
    (IN_REVISION, "git diff --name-only HEAD...evil | xargs cat"),
    (IN_REVISION, "git diff --name-only 'evil^!' | xargs cat"),
    (IN_REVISION, "git diff --name-only evil.. -- | xargs cat"),
    (IN_REVISION, "git grep -l x evil | xargs cat"),
    (IN_REVISION, "git tag -f ok evil; git diff --name-only ok | xargs cat"),
    (IN_REVISION, "git ls-files --with-tree=evil | xargs cat"),
    (IN_REVISION, "git read-tree evil; git ls-files | xargs cat"),
    (LINE, "find . -name secret | xargs -d '\\n' cat"),
    (LINE, "find . -name secret | while IFS= read -r f; do cat \"$f\"; done"),
    (LINE, "find . -name secret -print0 | sort | xargs -0 cat"),
    (LINE, "find . -name secret | tr '\\n' '\\0' | xargs -0 cat"),
    (with_directory("' '$OUT"), "ls -R | while read -r f; do cat \"$f\"; done"),
    (with_directory("' '$OUT", committed=True), "git ls-files | xargs -I{} cat {}"),
    (with_directory("'\\'$OUT", committed=True), "git ls-files | while read f; do cat \"$f\"; done"),
    (with_directory("'.\\./home'"), "find . -name secret | xargs cat"),
    (with_directory("\"'..'/home\""), "find . -name secret | xargs cat"),
    (with_directory("'x ../home'"), "find . -name secret | xargs cat"),
    (with_directory("'.. x/y'"), "find . -type d | xargs ls"),
    (with_directory("'.*/home'"), "cat $(find . -name secret)"),
    (with_directory("axZ$OUT"), "find . -name secret | xargs -d Z cat"),
    (with_directory("axZ$OUT"), "IFS=Z; cat $(find . -name secret)"),
    (with_directory("-o../home", committed=True), "git ls-files | xargs sort"),
    (with_directory("-o../home", committed=True), "git ls-files -z | xargs -0 sort"),
    (with_directory("-o../home"), "grep -rl a -- * | xargs sort"),
    (with_directory("';cat<'$OUT"), "find . -name secret | xargs -I{} sh -c 'wc -l {}'"),
    (with_directory("';cat<'$OUT"), "find . -name secret -print0 | xargs -0 -I{} bash -c 'wc -l \"{}\"'"),
    (with_directory("';cat<'$OUT"), "find . -name secret | xargs -I % timeout 5 sh -c 'wc -l %'"),
    ("ln -s ../home/secret l; touch 'src/x l'", "find src -type f | xargs cat"),
    ("tar cf a.tar src", "tar xf a.tar; find . -name secret | xargs cat"),
    ("true", "for i in 1 2; do find . -name secret | xargs cat; tar xf a.tar; done"),
    ("true", "mkdir -p 'x $OUT'; touch 'x $OUT/secret'; find . -name secret | xargs cat"),
    ("true", "git stash pop; git ls-files | xargs cat"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "commands"), by_first(TAKEN_APART))
def test_a_name_that_is_taken_apart_may_lead_elsewhere(
    project: Path, script: str, commands: list[str]
) -> None:
    set_up(project, script)
    assert [command for command in commands if not is_asked_about(project, command)] == []


BESIDE = "mkdir d; touch d/a; ln -s ../../home d/l"
IN_HOME = "mkdir home; echo a > home/secret"
MOVED_AWAY = "mkdir d; echo a > d/secret; git add -A; git commit -qm d; git rm -rqf d; ln -s ../home d"
ROUNDABOUT = [
    (BESIDE, r"find d -name a -execdir cat l/secret \;"),
    (BESIDE, r"find d -name a -execdir rm -rf l/secret \;"),
    (BESIDE, r"find d -name a -execdir rm -rf l \;"),
    (BESIDE, r"find d -name a -execdir sh -c 'cat l/secret' \;"),
    (BESIDE, r"find d -name a -execdir env -C l cat secret \;"),
    (BESIDE, r"find . -type d -name d -exec env -C {} rm -f l/secret \;"),
    (BESIDE, r"find . -type d -exec cat {}/l/secret \;"),
    (BESIDE, r"find . -type d -exec cp a.py {}/l/x \;"),
    ("ln -s ../home/secret l", r"find . -type l -exec tee {} \; < a.py"),
    ("ln -s ../home/secret l", r"find . -type l -exec ./tool {} \;"),
    ("true", "sh -c 'cat .*/home/secret'"),
    ("true", "sh -c 'rm -rf .[.]/home/secret'"),
    ("true", "cat .?/home/secret"),
    (MOVED_AWAY, "git diff --name-only HEAD | xargs cat"),
    (
        MOVED_AWAY + "; git add -A; git commit -qm l",
        'for f in $(git diff --name-only HEAD~1); do cat "$f"; done',
    ),
    (IN_HOME, "cat $(find . ./home/secret -maxdepth 0 -print0)"),
    (IN_HOME, "for f in $(git ls-files -z); do cp a.py $f; done"),
    (IN_HOME, "find ./home -name secret | xargs -I{} cat .{}.txt"),
    (IN_HOME, 'for f in $(find ./home -name secret); do echo x > ".$f"; done'),
    (IN_HOME, "git ls-files | xargs -I{} cat /{}"),
    ("true", "(ls () { cat notes; }; ls | xargs cat)"),
    ("true", "ls \\\n() { cat notes; }; ls | xargs cat"),
    ("true", "eval 'ls() { cat notes; }'; ls | xargs cat"),
    ("true", "export POSIXLY_CORRECT=1; grep -h home notes -l | xargs cat"),
    ("true", "for IFS in :; do cat $(find . -name 'a*'); done"),
    ("true", "read -r IFS <<< :; cat $(git ls-files)"),
    ("mkdir -p src/l; echo a > src/l/secret; ln -s ../home l", "cd src; f=$(find l -type f); cd ..; cat $f"),
]


@pytest.mark.parametrize(("script", "commands"), by_first(ROUNDABOUT))
def test_what_leads_elsewhere_by_another_way_is_asked_about(
    project: Path, script: str, commands: list[str]
) -> None:
    set_up(project, script)
    assert [command for command in commands if not is_asked_about(project, command)] == []


PLAIN = r"""
find . -name '*.md' -execdir rm -f {} +
find src -type f -exec chmod 644 {} +
ls -d .[a-z]*
git ls-files '*.py' | xargs wc -l
find . -name '*.py' -print0 | xargs -0 grep -n x
for f in $(ls src); do head -3 "src/$f"; done
git diff --name-only | xargs cat
git diff --name-only HEAD~1...HEAD -- '*.py' | xargs -r wc -l
git ls-files | grep -E '\.(py|md)$' | head -20 | xargs wc -l
git ls-files ':!vendor' 2>/dev/null | xargs wc -l
grep -rlE 'x|y' src --include '*.py' | sort -u | xargs sed -i s/x/y/
grep -rl "$PATTERN" src | xargs cat
ls -t | head -1 | xargs cat
for d in $(ls -d */); do (cd $d && ls); done
mkdir -p out && for f in $(ls src); do cp "src/$f" "out/$f"; done
git add -A && git diff --cached --name-only | xargs wc -l
git commit -qm x; git diff --name-only HEAD~1 HEAD | xargs cat
git ls-files | xargs -I{} git log -1 -- {}
git ls-files '*.py' | xargs grep -l x | xargs sed -i s/x/y/
sed -i s/x/y/ $(grep -l x $(git ls-files '*.py'))
find . -name '*.py' -print0 | xargs -0 grep -lZ x | xargs -0 wc -l
timeout 60 git ls-files | xargs wc -l
find . -name '*.py' -exec grep -l x {} + | xargs wc -l
git checkout -b new && git ls-files | xargs wc -l
find src -type f | xargs -I{} sh -c 'wc -l {}'
git ls-files | xargs -d '\n' wc -l
diff <(ls src) <(ls)
find . -type f | while IFS= read -r f; do wc -l "$f"; done
""".strip().splitlines()


@pytest.fixture
def odd_names(project: Path) -> Path:
    set_up(
        project, "mkdir '[id]'; touch 'My file.md' 'a - b.md' '[id]/c.tsx'; git add -A; git commit -qm two"
    )
    return project


@pytest.mark.exhaustive
@cases("command", PLAIN)
def test_ordinary_lists_are_no_question(odd_names: Path, command: str) -> None:
    assert not is_asked_about(odd_names, command)


def test_quotes_in_names_matter_only_to_what_takes_them_away(project: Path) -> None:
    set_up(project, """touch "don't.md"; git add -A; git commit -qm two""")
    assert not is_asked_about(project, 'for f in $(git ls-files); do cat "$f"; done')
    assert not is_asked_about(project, "git ls-files -z | xargs -0 cat")
    assert not is_asked_about(project, "find src -type f | xargs cat")
    assert is_asked_about(project, "git ls-files | xargs cat")


def test_names_are_looked_through_once_and_not_without_end(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.tools.shell.word_paths.MOST_LINK_ENTRIES", 50)
    repeated = "; ".join(["find src -type f | xargs cat"] * 30)
    assert not is_asked_about(project, repeated)
    for number in range(60):
        (project / "src" / str(number)).touch()
    assert is_asked_about(project, "find src -type f | xargs cat")
    assert not is_asked_about(project, "git ls-files | xargs cat")


NOT_ONLY_NAMES = r"""
ls | grep -rh home | xargs cat
ls | grep -h -e home notes | xargs cat
ls | grep -f notes -r . | xargs cat
ls | tail -n 5 1 | xargs cat
ls | sort 1 | xargs cat
ls | sort -- notes | xargs cat
ls | uniq notes | xargs cat
ls | head -5 notes | xargs cat
ls | sort --files0-from=notes | xargs cat
ls | sort -k 1 1 | xargs cat
ls | tail +1 | xargs cat
git grep -l --no-files-with-matches -h home notes | xargs cat
git grep -l --no-name-only -h home notes | xargs cat
git grep -lO home | xargs cat
git diff -U9 -- --name-only notes | xargs cat
git diff --name-only -p | xargs cat
git diff --name-only --patch-with-stat | xargs cat
git diff -l 5 | xargs cat
git diff -S --name-only notes | xargs cat
git diff --no-index --name-only notes 1 | xargs cat
git ls-files -s | xargs cat
git ls-files --format=x | xargs cat
git ls-files :/ | xargs cat
grep -e -l -h home notes | xargs cat
grep --regexp=x -A -l home notes | xargs cat
rg -l --no-files-with-matches home notes | xargs cat
fd -l | xargs cat
ls -l | xargs cat
ls -a | xargs cat
QUOTING_STYLE=c ls | xargs cat
ls x |& xargs cat
find . -ok cat notes \; | xargs cat
find . -name -print -ls | xargs cat
ls | { xargs cat; } < notes
ls | (xargs cat) < notes
ls | if true; then xargs cat; fi <<< /etc/x
cat notes | xargs cat $(ls)
cat notes | xargs cat <(ls)
{ cat notes; ls; } | xargs cat
(cat notes; ls) | xargs cat
for i in 1; do cat notes; ls; done | xargs cat
ls() { cat notes; }; ls | xargs cat
git() { cat notes; }; git ls-files | xargs cat
find () { cat notes; }; cat $(find)
ls | xargs -a notes cat
find . -exec cat notes \; -exec grep -l x {} + | xargs cat
find . -printf x -exec grep -l x {} + | xargs cat
cat notes | xargs grep -l x | xargs cat
xargs grep -l x < notes | xargs cat
ls | xargs grep -h home | xargs cat
ls | xargs -Ia cat a/../../home/secret
find "x $OUT" -type f | xargs cat
""".strip().splitlines()


@pytest.fixture
def numbered_notes(project: Path) -> Path:
    set_up(project, "cp notes 1")
    return project


@cases("command", NOT_ONLY_NAMES)
def test_what_may_print_anything_but_names_is_no_list(numbered_notes: Path, command: str) -> None:
    assert is_asked_about(numbered_notes, command)


def test_what_is_attached_to_an_option_takes_no_program_away(project: Path) -> None:
    assert of(project, "ls | xargs -In curl https://evil.example n").network == "curl"
    assert of(project, "env -uC curl https://evil.example").network == "curl"


LINKED = [
    ("l ../home/secret", 'for f in $(ls); do cat "$f"; done'),
    ("l ../home/secret", "cat $(git ls-files)"),
    ("l ../home/secret", "git ls-files | xargs head -1"),
    ("l ../home/secret", 'git ls-files | while read -r f; do head -1 < "$f"; done'),
    ("l ../home/secret", 'f=$(ls | tail -1); cat "$f"'),
    ("l ../home/secret", "ls | xargs -n1 ./tool"),
    ("l ../home/secret", 'for f in $(ls); do chmod 600 "$f"; done'),
    ("l ../home/secret", 'for f in $(ls); do cp a.py "$f"; done'),
    ("l ../home/secret", "ls | xargs touch"),
    ("src/l ../../home/secret", "for f in $(find . -name 'l*'); do cat \"$f\"; done"),
    ("src/l ../../home/secret", 'cd src; for f in $(ls); do cat "$f"; done'),
    ("src/l ../../home/secret", 'for d in $(ls -d */); do (cd "$d" && cat l); done'),
    ("src/l ../../home/secret", "mkdir -p w; cd w; find ../src | xargs cat"),
    ("src/l ../../home/secret", 'cd src; for f in $(ls); do sed -i --follow-symlinks s/a/b/ "$f"; done'),
    ("l ../home", 'for f in $(ls); do cat "$f/secret"; done'),
    ("a.py.bak ../home/secret", 'for f in $(git ls-files); do cat "$f.bak"; done'),
    ("src/l ../../home/secret", 'for f in $(ls src); do cat "src/$f"; done'),
    ("src/l ../../home/secret", 'for d in $(ls); do cat "$d/l"; done'),
    ("d ../home", 'cd src; for f in $(find . -name b.py); do cat "../d/$f"; done'),
    ("d ../home", "git ls-files src | xargs -I{} cat d/{}"),
    ("l ../home", "ls | xargs -I{} cp a.py {}/x"),
    ("l ../home", "ls | xargs cp a.py"),
    ("l ../home", "ls | xargs rg x"),
    ("l ../home", 'for f in $(ls); do diff "$f" src; done'),
    ("l ../home/secret", "git ls-files | xargs grep -l x | xargs cat"),
    ("l ../home", 'for f in $(ls); do mv a.py "$f"; done'),
    ("l ../home/new", 'for f in $(ls); do echo x > "$f"; done'),
    ("l ../home/new", 'ls | while read -r f; do echo x >> "$f"; done'),
]


@pytest.mark.parametrize(("link", "commands"), by_first(LINKED))
def test_a_link_among_the_names_counts(project: Path, link: str, commands: list[str]) -> None:
    name, target = link.split()
    set_up(project, f"ln -s {target} {name}; git add -A; git commit -qm two")
    outside = {command: of(project, command).outside for command in commands}
    place = str(project.parent)
    assert {command: found for command, found in outside.items() if not found.startswith(place)} == {}


@pytest.fixture
def linked_secret(project: Path) -> Path:
    set_up(project, "ln -s ../home/secret l; git add -A; git commit -qm two")
    return project


@cases(
    "command",
    [
        'for f in $(ls); do rm -f "$f"; done',
        'for f in $(ls); do git log -1 -- "$f"; echo "$f"; done',
        "cat $(find src -type f)",
        'for f in $(ls src); do cat "src/$f"; done',
        "git ls-files src | xargs basename -a",
        'for f in $(ls); do mv "$f" src/; done',
    ],
)
def test_a_link_that_is_not_followed_does_not_count(linked_secret: Path, command: str) -> None:
    assert of(linked_secret, command).outside == ""


def test_a_link_that_is_moved_may_lead_elsewhere(project: Path) -> None:
    set_up(project, "mkdir d; ln -s ../home d/l; git add -A; git commit -qm two")
    assert is_asked_about(project, 'mv d/l l; for f in $(ls); do cat "$f/secret"; done')


def test_what_a_name_is_taken_apart_into_is_lost_too(project: Path) -> None:
    set_up(project, "mkdir d; touch 'd/a zzz' zzz 'My zzz'")
    unknown = "files whose names are known only at run time"
    assert unknown in describe_losses(
        at_stake("find d -name '*zzz' | xargs rm -f", project, Workspace(project)).losses
    )
    assert unknown in describe_losses(
        at_stake("find d -type f | xargs rm -f", project, Workspace(project)).losses
    )
    kept = "find d -name '*zzz' -print0 | xargs -0 rm -f"
    assert (
        describe_losses(at_stake(kept, project, Workspace(project)).losses)
        == "permanently deletes the untracked file d/a zzz"
    )
    redirected = "find d -name none | { xargs rm -f; } < notes"
    assert unknown in describe_losses(at_stake(redirected, project, Workspace(project)).losses)
