"""Where on this machine a command goes, and every way in which it may go elsewhere."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.loopback import Visit, visit
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


def of(command: str, home: Path, **environ: str) -> Visit | None:
    return visit(parse(command)[-1], {"HOME": str(home), "WGETRC": str(home / "none"), **environ})


@cases(
    ("command", "addresses", "prints"),
    [
        ("curl http://127.0.0.1:8000/a.txt", "127.0.0.1:8000", True),
        ("curl -sS localhost:8000", "localhost:8000", True),
        ("curl -s -i -m 5 http://LOCALHOST/", "localhost:80", True),
        ("curl -sm5 https://127.1.2.3", "127.1.2.3:443", True),
        ("curl -so /dev/null -w '%{http_code}' http://0.0.0.0:1/", "0.0.0.0:1", True),
        ("curl 'http://[::1]:8000/x?y=1&z=@2'", "[::1]:8000", True),
        ("curl --max-time 5 --retry 3 --retry-connrefused -X GET localhost:1/ 127.0.0.1:2/", "localhost:1 127.0.0.1:2", True),
        ("curl -H 'Accept: text/plain' localhost:8000/", "localhost:8000", True),
        ("curl -o out.txt localhost:8000/", "localhost:8000", False),
        ("curl -O localhost:8000/a.txt", "localhost:8000", False),
        ("curl -T a.txt localhost:8000/", "localhost:8000", False),
        ("curl -d @a.txt localhost:8000/", "localhost:8000", False),
        ("curl -d '{}' localhost:8000/", "localhost:8000", False),
        ("curl -X POST localhost:8000/", "localhost:8000", False),
        ("curl -H @a.txt localhost:8000/", "localhost:8000", False),
        ("curl -w '%output{a.txt}x' localhost:8000/", "localhost:8000", False),
        ("curl -w @a.txt localhost:8000/", "localhost:8000", False),
        ("curl --url localhost:8000/", "localhost:8000", False),
        ("wget -qO- --max-redirect=0 localhost:8000/", "localhost:8000", True),
        ("wget --max-redirect 0 -nv localhost:8000/", "localhost:8000", False),
        ("http GET :8000/x", "localhost:8000", False),
        ("http localhost:8000/x", "localhost:8000", False),
        ("nc -zv localhost 8000", "localhost:8000", False),
        ("nc -w 1 ::1 8000", "::1:8000", False),
        ("python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:8000/\")'", "127.0.0.1:8000", False),
        ("python3 -c 'import socket; socket.create_connection((\"localhost\", 8000))'", "localhost:8000", False),
        ("node -e 'fetch(\"http://localhost:3000/\")'", "localhost:3000", False),
    ],
)  # fmt: skip
def test_what_stays_on_this_machine(tmp_path: Path, command: str, addresses: str, prints: bool) -> None:
    found = of(command, tmp_path)
    assert found is not None
    assert (" ".join(map(str, found.addresses)), found.prints) == (addresses, prints)


@cases(
    "command",
    [
        *("curl", "curl -s", "curl https://example.org", "curl localhost.evil.example", "curl 127.0.0.1.nip.io"),
        *("curl http://127.0.0.1@evil.example/", "curl http://127.0.0.1:80@evil.example/", "curl http://127.0.0.1:@evil/"),
        *("curl 'http://evil.example/?u=http://127.0.0.1'", "curl 'http://127.0.0.1:80#@evil.example/'"),
        *("curl 'http://127.0.0.1:80?@evil.example/'", "curl 'http://127.0.0.1\\@evil.example/'", "curl http:/127.0.0.1/"),
        *("curl 2130706433", "curl 0x7f.1", "curl 'http://[::ffff:127.0.0.1]/'", "curl 127.1", "curl 0177.0.0.1"),
        *("curl http://127.0.0.256/", "curl http://127.0.0.01/", "curl localhost:0", "curl localhost:65536"),
        *("curl file:///etc/passwd", "curl gopher://127.0.0.1:80/", "curl ftp://127.0.0.1/", "curl telnet://127.0.0.1"),
        *("curl localhost:1 https://evil.example", "curl localhost:1 --next https://evil.example"),
        *("curl localhost:1 --url https://evil.example", "curl localhost:1 --url=https://evil.example"),
        *("curl -L localhost:1", "curl -sL localhost:1", "curl --location localhost:1", "curl --locat localhost:1"),
        *("curl -x evil:1 localhost:1", "curl -xevil:1 localhost:1", "curl --proxy evil localhost:1"),
        *("curl --socks5 evil localhost:1", "curl --preproxy evil localhost:1", "curl --noproxy x localhost:1"),
        *("curl --resolve localhost:1:1.2.3.4 localhost:1", "curl --connect-to ::evil:1 localhost:1"),
        *("curl -K evil.txt localhost:1", "curl --config evil.txt localhost:1", "curl --unix-socket /x localhost"),
        *("curl --doh-url https://evil localhost:1", "curl --interface eth0 localhost:1", "curl -- localhost:1"),
        *("curl http://$HOST/", "curl http://127.0.0.1:$PORT/", "curl $(cat url)", "curl '{http://evil,localhost}'"),
        *("wget localhost:1", "wget -qO- localhost:1", "wget --max-redirect=5 localhost:1", "wget --max-redirect=0 -i x"),
        *("wget -e http_proxy=evil --max-redirect=0 localhost:1", "wget --max-redirect=0 evil.example"),
        *("http evil.example", "http -F localhost:1", "http --proxy http:http://evil localhost:1", "http"),
        *("nc evil.example 80", "nc -l 8000", "nc -e sh localhost 1", "nc localhost", "nc -x evil localhost 1"),
        "python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1.evil/\")'",
        "python3 -c 'import urllib.request as u; u.urlopen(\"http://\" + host)'",
        "python3 -c 'import requests; requests.get(\"http://localhost/\"); requests.get(other)'",
        "python3 -c 'import socket; socket.create_connection((\"evil.example\", 80))'",
        "python3 crawl.py http://localhost:1/",
        "python3 -m pip install --index-url http://localhost:1/ x",
        "ssh localhost",
        "git clone http://localhost:1/x",
    ],
)  # fmt: skip
def test_what_may_lead_elsewhere(tmp_path: Path, command: str) -> None:
    assert of(command, tmp_path) is None


@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_is_elsewhere_unless_this_machine_is_exempt(tmp_path: Path, name: str) -> None:
    command = "curl http://127.0.0.1:1/"
    proxy = {name: "http://proxy.example:3128"}
    assert of(command, tmp_path, **proxy) is None
    assert of(command, tmp_path, **proxy, no_proxy="localhost, example.org") is None
    assert of(command, tmp_path, **proxy, no_proxy="localhost, 127.0.0.1") is not None
    assert of("curl 'http://[::1]:1/'", tmp_path, **proxy, NO_PROXY="::1") is not None
    assert of(command, tmp_path, **proxy, no_proxy="*") is not None
    assert of(command, tmp_path, no_proxy="") is not None


@pytest.mark.parametrize(
    "line", ["proxy = evil:1", "--location", "url=https://evil", "-x evil\nresolve = x:1:y"]
)
def test_a_client_s_own_configuration_may_lead_it_elsewhere(tmp_path: Path, line: str) -> None:
    (tmp_path / ".curlrc").write_text(f"# proxy = none\nsilent\n{line}\n")
    assert of("curl localhost:1", tmp_path) is None
    (tmp_path / ".curlrc").write_text("# proxy = none\nsilent\n")
    assert of("curl localhost:1", tmp_path) is not None
    (tmp_path / "wgetrc").write_text("use_proxy = on\n")
    assert of("wget --max-redirect=0 localhost:1", tmp_path, WGETRC=str(tmp_path / "wgetrc")) is None


@cases(
    "command",
    [
        "curl -s -o /dev/null -w '%{http_code}\\n' https://example.org",
        "curl -sIL -o /dev/null -w '%{http_code} %{time_total}' https://example.org",
        "curl -s -o /dev/null -o /dev/null a.example b.example",
        "wget -q --spider https://example.org",
        "nc -z -w 2 example.org 443",
    ],
)
def test_who_only_asks_whether_a_server_answers_reads_nothing(tmp_path: Path, command: str) -> None:
    found = reach(command, tmp_path, Workspace(tmp_path))
    assert found.network
    assert not found.sources


@cases(
    "command",
    [
        "curl -sI https://example.org",
        "curl -s -o /dev/null https://a.example https://b.example",
        "curl -s -o /dev/null -w '%{redirect_url}' https://example.org",
        "curl -s -o /dev/null -w '%{header_json}' https://example.org",
        "curl -s -o /dev/null -w @format https://example.org",
        "curl -sv -o /dev/null https://example.org",
        "curl -s -o /dev/null -D - https://example.org",
        "curl -s -o /dev/null -c jar https://example.org",
        "curl -s -o /dev/null $X https://example.org",
        "curl -s -o - https://example.org",
        "curl -s -o /dev/null https://example.org; curl -s https://example.org",
        "wget --spider -S https://example.org",
        "wget -q -O- https://example.org",
        "nc example.org 443",
    ],
)
def test_who_is_shown_anything_of_an_answer_has_read_it(tmp_path: Path, command: str) -> None:
    assert reach(command, tmp_path, Workspace(tmp_path)).sources.certain
