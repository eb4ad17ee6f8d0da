"""Names of files that only running a command shows, where git, OpenSSL, sed or awk reads what is there."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name in ("a.txt", "b.txt", "list"):
        (root / name).write_text("x")
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


UNKNOWN = r"""
git diff --no-index a.txt $(cat list)
git diff a.txt $(cat list)
git diff a.txt "$(cat list)"
git diff $(cat list)
git diff -- a.txt "$X"
git diff --no-index a.txt "${PWD%project}home/secret.txt"
git difftool --no-index a.txt "$X"
git -C . diff --no-index a.txt "$X"
git blame --contents $(cat list) a.txt
git blame --contents="$X" a.txt
git blame --cont "$X" a.txt
git merge-file -p a.txt a.txt $(cat list)
git interpret-trailers $(cat list)
git interpret-trailers "$X"
git archive --add-file=$(cat list) HEAD
git commit --file=$(cat list)
git commit -F "$X"
git commit -aF "$X"
git commit -F"$X"
git tag -F "$X" v1
git notes add -F "$X"
git hash-object -w "$X"
git hash-object -w --stdin-paths < list
git config -f "$X" -l
git grep --no-index x "$X"
git apply --stat "$X"
openssl enc -base64 -in $(cat list)
openssl x509 -in "$X"
sed "r $(cat list)" a.txt
sed -n "R $X" a.txt
sed "$(cat list)" a.txt
sed "r ${PWD%project}home/secret.txt" a.txt
awk "BEGIN {getline l < \"$X\"; print l}"
git merge-file -p a.txt a.txt "$X"
git fast-export --import-marks=$(cat list) HEAD
jq -n --rawfile f "$(cat list)" '$f'
jq --slurpfile f $(cat list) . a.txt
ptx $(cat list)
ed -s $(cat list) <<< ,p
sed -n "$(printf 'r ../ho')me/secret.txt" a.txt
set -- $(cat list); git diff a.txt $1
""".strip().splitlines()

KNOWN = r"""
git diff $(git merge-base main HEAD)
git diff "$(git merge-base main HEAD)" -- src
git diff "$BASE"
git diff "$BASE"...HEAD
git diff $A..HEAD
git diff "$X" -- src
git diff --stat main topic
git diff
git diff a.txt b.txt
git diff a.txt $(git rev-parse --show-toplevel)
git commit -m "$X"
git commit -am "$(cat a.txt)"
git commit -qm "x" --author="$A"
git tag -a "v$X" -m "$M"
git log --grep "$X"
git log -F --grep="$X"
git grep "$X"
git grep -n "$X" src
git blame a.txt -L "$A,$B"
git archive HEAD -o x.tar
git config user.name "$X"
git hash-object a.txt
git show $(git rev-parse HEAD)
git show "$X"
sed "s/a/$X/" a.txt
sed -n "${A},${B}p" a.txt
sed "/$X/d" a.txt
jq --arg x "$X" --rawfile f a.txt . b.txt
sed "${A}s/x/y/" a.txt
openssl enc -base64 -in a.txt
openssl req -subj "/CN=$X" -newkey rsa -nodes
awk -v x="$X" '{print x}' a.txt
git notes add -m "$X"
git merge -m "$X" topic
git merge "$X"
""".strip().splitlines()


@cases("command", UNKNOWN)
def test_a_name_that_only_running_shows_is_asked_about(project: Path, command: str) -> None:
    assert "known only at run time" in of(project, command).protected


@cases("command", KNOWN)
def test_what_names_no_file_may_be_computed(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")
