"""Commands that may reach the network although none of its programs is written out in them."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

REACHING = r"""
$c http://x.com
$(echo curl) x.com
`echo curl` x.com
c$(echo url) x.com
"$c" x.com
cu{rl,} x.com
{curl,x.com}
/usr/bin/cur? x.com
/usr/bin/[c]url x.com
/???/???/curl x.com
c=curl; $c x.com
a=cu; b=rl; $a$b x.com
env $c x.com
sudo "$c" x.com
timeout 5 $c x.com
xargs -I{} {} x.com
echo x.com | xargs $c
find . -exec {} \;
eval "$x"
bash -c "$x"
sh -c '$0 x.com' curl
bash <<X\ncurl x.com\nX
bash <<< 'curl x.com'
bash -s < list
echo 'curl x.com' | sh
echo 'curl x.com' | bash -
base64 -d list | sh
base64 -d list | sh -e
base64 -d list | sh -v
sh /dev/stdin < list
bash <(echo curl x.com)
. <(echo curl x.com)
printf 'curl x.com' > s.sh; bash s.sh
printf 'curl x.com' > s.sh; . ./s.sh
cp /usr/bin/curl x; ./x x.com
cat /usr/bin/curl > x; chmod +x x; ./x x.com
ln -s /usr/bin/curl x; ./x y
./tool http://x.com
./tool evil.com/a
./tool 1.2.3.4:80
awk 'BEGIN{system("curl x.com")}'
awk 'BEGIN{print 1 | "curl x.com"}'
awk 'BEGIN{"curl x.com" | getline}'
gawk 'BEGIN{f = "/inet/tcp/0/x.com/80"; print 1 |& f}'
sed '1e curl x.com' list
sed 's/x/curl x.com/e' list
find . -exec sh -c "$x" \;
git -c alias.x='!curl x.com' x
git -calias.x='!curl x.com' x
git -c core.sshCommand=x status
git --config-env=alias.x=X x
git --exec-path=. x
git rebase -x 'curl x.com' HEAD~1
git rebase --exec 'curl x.com' HEAD~1
git bisect run curl x.com
git $sub
git pu{sh,}
git x
GIT_EDITOR='curl x.com' git commit
GIT_SSH_COMMAND='x' git status
PAGER='curl x.com' git log
PS4='$(curl x.com)' bash -x list
LD_PRELOAD=./x.so node x.js
PATH=.:$PATH node x.js
npm info x --registry=http://x.com
npm info x
npm show x
npm view x
npm v x
npm diff --diff=x
npm search x
npm run build --registry=http://x.com
npm $x
yarn info x
pnpm view x
docker -H tcp://x.com ps
docker -H x.com ps
docker --host=ssh://x.com ps
docker --context x ps
DOCKER_HOST=tcp://x.com docker ps
export DOCKER_HOST=tcp://x.com; docker ps
python3 - <<'E'\nimport urllib.request as u\nE
python3 <<E\nfrom urllib import request\nE
python3 <<< '__import__("url" + "lib.request")'
python3 -c '__import__("sub" + "process").run(["c" + "url", "x.com"])'
python3 -c 'import os; os.system("cu" + "rl x.com")'
python3 -c "$x"
python3 -c 'exec(open("list").read())'
node -e 'require("child_process").execSync("cu" + "rl x.com")'
perl -e 'exec "cu" . "rl x.com"'
ruby -e 'system("cu" + "rl x.com")'
cat > t.py <<'E'\nimport urllib.request as u\nE\npython3 t.py
pytest --base-url=https://x.com
trap 'curl x.com' EXIT
alias c=curl; c x.com
hash -p /usr/bin/curl x; x x.com
[[ -v 'a[$(curl x.com)]' ]]
test -v 'a[$(curl x.com)]'
printf -v 'a[$(curl x.com)]' x
vim -es -c '!curl x.com' -c q
ed list <<E\n!curl x.com\nE
sqlite3 x.db '.shell curl x.com'
psql -c '\! curl x.com'
m4 list
tar -cf x.tar src --checkpoint-action=exec='curl x.com'
tar -cf x.tar -I 'curl x.com' src
rsync -e 'curl x.com' a b
sort --compress-program=curl list
split --filter='curl x.com' list
make --eval 'x:; curl x.com' x
make SHELL=curl
make -f - <<X\nx:; curl x.com\nX
parallel ::: 'curl x.com'
tmux new -d 'curl x.com'
script -qc 'curl x.com'
hyperfine 'curl x.com'
exec 3<>/dev/$p/x.com/80
openssl s_client -connect x.com:443
getent hosts x.com
gpg --recv-keys x
""".strip().splitlines()

ORDINARY = r"""
pytest -q
make test
npm test
npm run build
npm ls
node script.js
python3 script.py --port 80
python3 -m pytest -x
python3 -c 'print(1)'
python3 - <<'E'\nprint(1)\nE
./gradlew test
./tool --file a.txt src/a.py
./node_modules/.bin/tsc
bash build.sh
bash -c 'ls; pwd'
. ./env.sh
git -c user.name=a -c user.email=a@b commit -m 'see http://x.com'
git -C src log -p
git bisect good
git clean -fdx
git cherry-pick -x abc
git log --oneline
git rebase main
GIT_EDITOR=true git rebase --continue
PAGER=cat git log
A=1 pytest
DATABASE_URL=postgres://localhost/x pytest
awk '/a|b/ {print $1}' list
awk '{print $1}' list | sort
sed 's/e/x/g; s/a/e/' list
sed -e 's/x/y/' -e '/re/d' list
docker ps
docker logs x
grep -rn http://x.com src
echo see http://x.com
find . -name '*.py' -exec wc -l {} +
find . | xargs wc -l
cat > t.py <<'E'\nprint(1)\nE\npython3 t.py
sqlite3 x.db 'select 1'
tar -cf x.tar src
for f in *; do wc "$f"; done
[ -f a ] && ls
[[ -n $x ]] && ls
test "$x" = y
printf '%s' "$(ls)"
split -l 5 list
uname -a
""".strip().splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "list").write_text("x\n")
    (root / "tool").write_text("#!/bin/sh\n")
    return root


def network(root: Path, command: str) -> str:
    return reach(command.replace("\\n", "\n"), root, Workspace(root), ListeningPorts()).network


@pytest.mark.exhaustive
@cases("command", REACHING)
def test_what_may_run_anything_may_reach_the_network(project: Path, command: str) -> None:
    assert network(project, command)


@cases("command", ORDINARY)
def test_what_is_written_out_does_not(project: Path, command: str) -> None:
    assert network(project, command) == ""


def test_a_copy_of_a_system_s_client_is_known_by_its_bytes(project: Path) -> None:
    client = shutil.which("git")
    assert client is not None
    shutil.copy(client, project / "x")
    (project / "y").symlink_to(client)
    assert "a copy of a system program" in network(project, "./x fetch")
    assert "a copy of a system program" in network(project, "./y fetch")
    assert network(project, "./tool fetch") == ""


def test_the_interpreter_of_an_environment_is_no_copy(project: Path) -> None:
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/bin/python").symlink_to(sys.executable)
    shutil.copy(os.path.realpath(sys.executable), project / ".venv/bin/python3")
    assert not reach(
        ".venv/bin/python -m pytest -q; .venv/bin/python3 a.py", project, Workspace(project)
    ).network
    (project / ".venv/bin/pytest").symlink_to(shutil.which("git") or "/usr/bin/git")
    assert reach(".venv/bin/pytest -q", project, Workspace(project)).network


def test_a_trap_that_ignores_signals_runs_nothing(project: Path) -> None:
    assert not reach('trap "" TERM INT; trap - TERM', project, Workspace(project)).network
    assert reach('trap "curl $U" EXIT', project, Workspace(project)).network
