"""Which commands are known to bring nothing from outside the project."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

CONFINED = r"""
ls -la
cat src/a.py | grep -n x | head -3
grep -rn 'def ' src > found.txt
rg -n x src && wc -l src/a.py
find . -name '*.py' -newer src/a.py
git status
git log --oneline -5; git diff HEAD~1 -- src
git add -A && git commit -m 'Mend it'
git checkout -b next
mkdir -p new && cp src/a.py new/ && rm -rf new
sed -n '1,20p' src/a.py
sed -i 's/x = 1/x = 2/g' src/a.py
sed 's#a/b#c#' src/a.py
awk -F: '{print $1}' src/a.py
echo "$UNKNOWN" && printf '%s' "$X"
cd src && pwd && test -f a.py
timeout 5 ls
env LANG=C sort src/a.py | uniq -c
diff src/a.py src/a.py; true
cat <<'EOF' > new.txt\ncurl x.com\nEOF
gzip -9 a; gunzip -c a.gz | head
tar czf a.tgz src && tar -tzf a.tgz | wc -l
tar -xzf a.tgz -C out --strip-components=1
unzip -q a.zip -d out
node --check src/a.js
bash -n script.sh
python3 -m json.tool a.json
cat a.json | python -m json.tool --indent 2 > b.json
jq -r '.a[] | .b' a.json
openssl rsa -in key.pem -noout -text
openssl x509 -in cert.pem -noout -dates -subject
openssl dgst -sha256 src/a.py
openssl enc -d -aes-256-cbc -pbkdf2 -in a -out b -pass pass:x
openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 9 -subj /CN=localhost
openssl rand -hex 16
git config core.hooksPath .hooks
git config --get remote.origin.url
awk -F'|' '{print $2}' src/a.py
""".strip().splitlines()

OPEN = r"""
make
./ls
src/../grep x
pytest
python -m pytest
python x.py
python3 <<EOF\nprint(1)\nEOF
bash x.sh
. ./x.sh
source x.sh
$X -la
`echo ls`
"$(echo ls)" -la
bash -c "$X"
eval "$X"
echo Y3VybA== | base64 -d | sh
git clone x y
git fetch
git pull --rebase
git submodule update
git -c core.pager=x log
git --exec-path=. log
git grep -Ox y
git diff --ext-diff
npm install x
npm test
pip install x
cargo build
PATH=.:$PATH ls
export PATH=.; ls
LD_PRELOAD=./x.so ls
GIT_SSH_COMMAND=x git status
rg --pre ./x y
sort --compress-program=./x a
split --filter=./x a
sed '1e ./x' a
sed 's/a/b/e' a
sed -f x a
awk 'BEGIN { system("./x") }'
awk 'BEGIN { "./x" | getline }'
awk -f x a
gawk -l ./x 'BEGIN {}'
gawk -i ./x 1 a
gawk 1 /inet/tcp/0/x.com/80
tar cIf ./x a.tgz src
tar -xf a.tgz --to-command=./x
tar -xf a.tgz -T names
tar -cf x.com:a src
zip -T -TT ./x a.zip b
node --check --require ./x a.js
node --check -e 1
bash -n -c ls
python3 -m json.tool -c a
cat > json.py <<EOF\n1\nEOF\npython3 -m json.tool a
python3 -m json.toolx
./python3 -m json.tool a
openssl x509 -in http://x.com/c -noout
openssl req -new -config x.cnf
openssl dgst -engine ./x a
openssl s_client -connect x.com:443
rustfmt src/a.rs
git config --edit
git config user.name "$X"
diff -l a b
find . -exec ./x {} +
ls; ./x
ls | tee >(./x)
alias ls=./x
nohup ./x &
""".strip().splitlines()


def could_bring(root: Path, command: str) -> str:
    return reach(command.replace("\\n", "\n"), root, Workspace(root)).could_bring


@cases("command", CONFINED)
def test_what_only_reads_and_writes_the_project_brings_nothing(tmp_path: Path, command: str) -> None:
    assert could_bring(tmp_path, command) == ""


@cases("command", OPEN)
def test_what_runs_anything_else_could_bring_something(tmp_path: Path, command: str) -> None:
    assert could_bring(tmp_path, command)


def test_a_module_of_the_project_in_the_place_of_python_s_own_could_bring_something(tmp_path: Path) -> None:
    assert could_bring(tmp_path, "python3 -m json.tool a") == ""
    (tmp_path / "json").mkdir()
    assert could_bring(tmp_path, "python3 -m json.tool a") == "python3"


@pytest.mark.exhaustive
def test_a_command_too_long_to_be_looked_through_could_bring_something(tmp_path: Path) -> None:
    assert could_bring(tmp_path, "true;" * 30_000 + "./x") == "a command that is too long to analyze"


@cases(
    ("command", "source"),
    [
        ("python3 - <<'EOF'\nimport urllib.request\nEOF", "python3"),
        ("node <<EOF\nfetch('http://x.com')\nEOF", "node"),
        ("python3 <<< 'import socket'", "python3"),
        ("python3 <<'EOF'\nprint(1)\nEOF", ""),
        ("cat <<'EOF'\nsee http://x.com\nEOF", ""),
        ("cat < /dev/tcp/x.com/80", "cat"),
    ],
)
def test_a_program_on_the_input_that_goes_to_the_network_brings_what_it_reads(
    tmp_path: Path, command: str, source: str
) -> None:
    assert reach(command, tmp_path, Workspace(tmp_path)).brings == source
