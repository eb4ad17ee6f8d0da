"""Passwords in the arguments of well-known programs are recognized, and other options stay."""

import json

import pytest

from cogency_tui.redaction import MARKER, Redactor, holds_marker
from tests.cases import cases
from tests.growth import assert_linear
from tests.redaction.test_forms import streamed

PASSWORDS = ("q7Kx2mZp9RtV4bNc", "hunter2x", "p%w!x-y_z@9")
COMMANDS = [
    "mysql -u root -p{} -h db",
    "mysql -uroot -p'{}' shop < dump.sql",
    'mysqldump --host db -p"{}" shop | gzip',
    "mysqladmin -u root --password={} status",
    "docker exec -i db mysql -uroot -p{} shop",
    "/usr/bin/mariadb -h db -p{}",
    "cd x && mariadb-dump -u root -p{} shop; ls",
    "sshpass -p {} ssh -p 2222 joe@example.com",
    "sshpass -p'{}' scp a b:",
    "redis-cli -h cache -a {} ping",
    "redis-cli --pass '{}'",
    "docker login -u joe -p {} ghcr.io",
    "podman login ghcr.io --password={}",
    "docker login --username joe --password {}",
    "wget --user=joe --password={} https://example.com/x",
    "wget --http-password '{}' https://example.com/x",
    "curl -u admin:{} https://example.com/",
    "curl -sSu 'admin:{}' https://example.com/",
    'curl "https://example.com/?a=1&b=2" --user "admin:{}"',
    "curl --proxy-user=joe:{} https://example.com/",
    "curl -X POST \\\n  https://example.com/ \\\n  -u admin:{} \\\n  -d x=1",
    "+ curl -fuadmin:{} https://example.com/",
    'ssh web "mysql -u root -p{} shop"',
    "mysql -u root -p{}\ncurl -u joe:{} https://example.com/",
]
HARMLESS = [
    "mkdir -p build/output && cp -pR here there",
    "ssh -p 2222 joe@example.com; scp -P 2222 a b:",
    "docker run --name mysql -p 3306:3306 -e MYSQL_DATABASE=shop mysql",
    "docker run -h db -p3306:3306 mysql -p13306",
    "docker run -d -p 127.0.0.1:8080:80/tcp nginx",
    "find /var/lib/mysql -u root -print",
    "find mysql -print -prune; find . -name mysql -printf '%p'",
    "mysql -u root -p",
    "mysql -u root -p shop -e 'select 1'",
    "mysql -h db -P 3306 --port=3306",
    'mysql -u root -p$MYSQL_PWD; mysql -u root -p${{PW}} -p"$PW"',
    "mysql -u root -p<password>; mysql -uroot -p[password]",
    "mysql -uroot -ppassword -proot",
    "sshpass -f secret.txt ssh joe@example.com -p 2222",
    "sshpass -e ssh -p 2222 joe@example.com; sshpass -p $PW ssh x",
    "redis-cli -p 6379 -n 1 --pass $PW",
    "docker login -u joe --password-stdin ghcr.io",
    "docker compose -p project up; docker ps -a --format json",
    "curl -u admin https://example.com:8080/path",
    "curl -u $USER:$PASSWORD https://example.com/; curl -u joe: https://example.com/",
    "curl -XPUT https://example.com/a:bcdef -o out:file",
    "curl -U localhost:8080 https://example.com/",
    "wget -p -k https://example.com/; wget --password=$PW",
    "ps -p 12345; kill -9 12345; lsof -p12345; nc -p 1234 host; pytest -p no:cacheprovider",
    "patch -p1 < fix.diff; git log -p --stat; tar -xpf a.tar; install -p a b; bash -p script",
    "grep -a needle file; sort -u names:sorted; id -u joe; sudo -u joe:staff",
    "psql -U joe -p 5432 -h db; pg_dump -p 5432",
    "The mysql client asks with -p for the password, and curl with -u for user:pw.",
]


@pytest.mark.parametrize("password", PASSWORDS)
@cases("command", COMMANDS)
def test_the_password_of_a_command_is_not_shown(command: str, password: str) -> None:
    text, shown = command.replace("{}", password), command.replace("{}", MARKER)
    assert Redactor({}).text(text) == shown
    for step in (1, 7, 64):
        assert streamed(text, step) == shown
    call = {"type": "call", "content": json.dumps({"name": "shell", "args": {"command": text}})}
    assert json.loads(Redactor({}).value(call)["content"])["args"]["command"] == shown


@cases("command", HARMLESS)
def test_other_options_stay(command: str) -> None:
    assert Redactor({}).text(command) == command
    assert not holds_marker(streamed(command, 3))


@cases(
    "unit", ["mysql ", "mysql -u ", "curl 'x", 'curl "\\', "sshpass -p", "redis-cli -a ", "docker login\\\n"]
)
def test_the_time_is_linear(unit: str) -> None:
    def build(size: int) -> str:
        return unit * (size // len(unit))

    assert_linear(build, lambda text: Redactor({}).text(text), 12_000, floor=0.0005)
