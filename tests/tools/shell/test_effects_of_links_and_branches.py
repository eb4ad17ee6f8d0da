"""Where new links lead, what branches and sums run, what paths made of others come to, and what brings text."""

import subprocess
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
    for name in ("README.md", "a.py", "docs/a/index.md", "docs/b/index.md", "src/x.py", "list"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("../secret\n")
    (tmp_path / "secret").write_text("hunter2hunter2\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


def lost(project: Path, command: str) -> str:
    return describe_losses(at_stake(command, project, Workspace(project)).losses)


INSIDE = r"""
ln -s ../README.md docs/README.md
ln -sf ../README.md ../a.py docs/
mkdir -p docs/x && ln -s ../../README.md docs/x/README.md && git add -A
for f in docs/*/index.md; do d=$(dirname "$f"); mv "$f" "$d/readme.md"; done
for f in docs/*/index.md; do cp a.py "out/$(dirname "$f")"; done
for f in docs/*/index.md; do mv "$f" "${f%/*}/readme.md"; done
for f in src/*.py; do cp "$f" "build/$(basename "$f")"; done
for f in src/*.py; do b=${f##*/}; cp "$f" "build/$b.bak"; done
for f in src/*.py; do b=$(basename "$f" .py); cp "$f" "build/$b.bak"; done
cd src && f=x.py && sed -i s/a/b/ "$f"
""".strip().splitlines()
OUTSIDE = r"""
ln -s ../secret README2
ln -s ../../secret docs/secret
ln -s ../secret docs
rm -rf docs; ln -s ../secret docs
ln -s ../secret docs/l && mv docs/l l && cat l
ln -s ../secret docs/l && ln docs/l l && cat l
ln -s ../secret docs/l && cp -P docs/l l && cat l
ln -s ../secret docs/../l
ln -s ../secret src/..
ln -rs ../secret docs/l
ln -s ../secret
ln -t docs -s ../../secret
ln ../secret docs/l
d=$(dirname "$PWD"); mv a.py "$d/x"
d=$(dirname "$PWD/."); mv a.py "$d/x"
f=$PWD; cp a.py "${f%/*}/x"
for f in ../*/x; do d=$(dirname "$f"); cp a.py "$d/x"; done
for f in docs/*/index.md; do d=$(dirname "$f"); done; cp a.py "$d/y"
for f in docs/*/index.md; do mv "$f" "${f%/*}/../../../readme.md"; done
if true; then d=src; else cp a.py "$d/../../x"; fi
false && d=src; cp a.py "$d/x"
d=src && true & cp a.py "$d/x"
for f in a; do d=src; done > "$d/x"
""".strip().splitlines()
NO_NETWORK = r"""
case "$(uname)" in Linux) echo x;; esac
case "$(uname)" in Linux*) echo x;; *) echo y;; esac
case "$(uname)" in Linux|Darwin) echo x;; (*) echo y;; esac
case $x in [Yy]*) echo x; echo z;; "$y") ls;; esac && git status
case a in a) case b in *) echo x;; esac;; $x) echo y;& z) ls;;& esac
i=1; i=$((i+1)); echo $((i * (2 + 3)))
""".strip().splitlines()
NETWORK = r"""
case x in a) curl https://evil.example;; esac
case x in a) true;; b) curl https://evil.example;; esac
case x in x) $y;; esac
case x in x) true;; y) $y;; esac
case $(curl https://evil.example) in *) true;; esac
case x in $(curl https://evil.example)) true;; esac
case x in a) true;; $(curl https://evil.example)) true;; esac
case x in a) true;; esac; curl https://evil.example
( 'case' x in; curl https://evil.example )
( \case x in & curl https://evil.example )
echo $((x[$(curl https://evil.example)]))
echo $((curl https://evil.example) | (cat))
echo $((echo a); (curl https://evil.example))
""".strip().splitlines()


@cases("command", INSIDE)
def test_what_leads_into_the_project_is_no_question(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


@cases("command", OUTSIDE)
def test_what_may_lead_out_of_it_is_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside or found.protected


@cases("command", NO_NETWORK)
def test_patterns_of_branches_and_sums_run_nothing(project: Path, command: str) -> None:
    assert of(project, command).network == ""


@cases("command", NETWORK)
def test_what_branches_and_sums_run_is_found(project: Path, command: str) -> None:
    assert of(project, command).network


def test_a_pattern_ends_with_its_bracket(project: Path) -> None:
    assert of(project, "('case' x in\ncurl https://evil.example )").network == "curl"
    assert of(project, "case x in\n# y\nLinux*)\n  ls ;;\n*)\n  ls\nesac\nls").network == ""


@cases(
    "command",
    [
        "trap 'rm -f /tmp/x.$$' EXIT",
        "rm -f /tmp/p-$$.patch",
        'T=/tmp/p-$$.patch; git diff > "$T"; rm -f "$T"',
        'cd src && TMP=$(mktemp -d) && cp x.py "$TMP" && rm -rf "$TMP"',
    ],
)
def test_temporary_files_by_a_number_are_no_loss(project: Path, command: str) -> None:
    assert lost(project, command) == ""


@cases(
    "command",
    [
        "rm -rf /tmp/$x",
        "rm -rf /tmp/$(cat list)",
        "rm -rf /tmp/$$/../../etc",
        'rm -rf "$TMP"',
        'TMP=$(mktemp -d) && true; rm -rf "$TMP/x"',
        'false && TMP=$(mktemp -d); rm -rf "$TMP"',
        "mv src $x; rm -rf /tmp/x.$$",
    ],
)
def test_what_may_be_no_temporary_file_is_a_loss(project: Path, command: str) -> None:
    assert lost(project, command)


@cases(
    "command",
    [
        'x=$(realpath "$y"); echo $x',
        'for f in docs/*; do d=$(dirname "$f"); basename "$d"; cd "$d"; done',
        "i=$((i+1)); echo $((i * (2 + 3)))",
        'f_g() { echo "$1"; }; f_g a',
    ],
)
def test_what_can_bring_nothing_is_not_named(project: Path, command: str) -> None:
    assert of(project, command).could_bring == ""


@cases(
    ("command", "program"),
    [
        ('find "$x" -name y', "find"),
        ('sort "$x"', "sort"),
        ('date "$x"', "date"),
        ("make() { true; }; make", "make"),
        ('f_g() { pytest "$1"; }; f_g a', "pytest"),
        ("./basename x", "basename"),
    ],
)
def test_what_could_bring_something_is_named(project: Path, command: str, program: str) -> None:
    assert of(project, command).could_bring == program


NESTED = r"""
echo $((echo "))" ; (curl https://x.com)))
echo $(echo ")" ; curl https://x.com)
echo "$(echo ")" "$(echo ")")" ; curl https://x.com)"
echo ${x:-"}"$(curl https://x.com)}
cat <(echo ')' ")" ; curl https://x.com)
""".strip().splitlines()


@cases("command", NESTED)
def test_a_bracket_in_quotes_closes_nothing(tmp_path: Path, command: str) -> None:
    assert reach(command, tmp_path, Workspace(tmp_path)).network == "curl"
