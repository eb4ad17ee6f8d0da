"""What a file is seen to hold is not shown by a command in any form."""

import os
from base64 import b64encode

import pytest

from cogency_tui.redaction import MARKER, KnownSecrets, RedactedStream, Redactor, secrets_of
from tests.cases import cases
from tests.secret_samples import private_key, word
from tests.tools.conftest import Bench

PEM = private_key("RSA ")
LINES = PEM.split("\n")[1:-2]
BODY = "".join(LINES)
TOKEN = "q7Kx2mZp9RtV4bNc8WdL3fHs6Jg5Yk1T"


def leaked(text: str) -> list[str]:
    """The pieces of the key that are in a text, whatever stands between them, in Base64 and backwards."""
    plain = "".join(text.split())
    decoded = b64encode(PEM.encode()).decode()
    spellings = (BODY, BODY[::-1], decoded, PEM.encode().hex())
    return [
        spelling[at : at + 24]
        for spelling in spellings
        for at in range(64, len(spelling) - 64, 24)
        if spelling[at : at + 24] in plain
    ]


@pytest.mark.parametrize(
    "command",
    [
        "sed -n 2p key.pem",
        "sed -n 7p key.pem | cut -c5-40",
        "head -c 120 key.pem",
        "paste -s -d' ' key.pem",
        "paste -s -d'\\0' key.pem",
        "nl key.pem",
        "fold -w 40 key.pem",
        "fold -w 19 key.pem",
        "tr -d '\\n' < key.pem",
        "tr -d '\\n' < key.pem | cut -c100-300 | fold -w 50",
        "base64 key.pem",
        "base64 -w 0 key.pem",
        "tail -c +7 key.pem | base64 -w 61",
        "xxd -p key.pem || od -An -v -tx1 key.pem | tr -d ' '",
        "rev key.pem",
        "tac key.pem | cut -c3-60",
        "awk 'NR==5{print substr($0, 3, 30)}' key.pem",
        "cat k*.pem | sed -n 3p",
        "grep -rh --include='*.pem' -m 3 '^[A-Za-z]' .",
        "cd sub && sed -n 4p ../key.pem",
        "f=key.pem; sed -n 4p $f",
        "python3 -c \"print(open('key.pem').read()[100:160])\"",
        "cp key.pem copy && sed -n 9p copy",
        "sed -n 4p key.pem; sleep 0.1; sed -n 5p key.pem | tr -d '\\n'; sleep 0.1; sed -n 6p key.pem",
    ],
)
async def test_no_command_shows_a_piece_of_a_key_that_it_names(bench: Bench, command: str) -> None:
    bench.put("key.pem", PEM)
    bench.put("sub/other.txt", "nothing\n")
    outcome = await bench.run("shell", command=command)
    shown = f"{outcome.content}{''.join(bench.reported)}"
    assert not leaked(shown)
    assert MARKER in shown


@pytest.mark.parametrize(
    "command",
    ["cut -d= -f2 .env", "sed -n 's/.*=//p' .env", "base64 .env", "rev .env", "grep -ho '[^=]*$' -r ."],
)
async def test_no_command_shows_a_value_of_a_file_of_secrets(bench: Bench, command: str) -> None:
    bench.put(".env", f"NAME=shop\nAPI_KEY={TOKEN}\nSTRIPE={TOKEN[::-1]}\n")
    outcome = await bench.run("shell", command=command)
    shown = f"{outcome.content}{''.join(bench.reported)}"
    spellings = (TOKEN, TOKEN[::-1], b64encode(TOKEN.encode()).decode()[4:-4])
    assert not [each for each in spellings if each in shown]
    assert MARKER in shown


async def test_what_was_read_once_is_known_later(bench: Bench) -> None:
    bench.put("key.pem", PEM)
    await bench.run("read", file="key.pem")
    (bench.root / "key.pem").rename(bench.root / "notes")
    outcome = await bench.run("shell", command="for each in n*s; do sed -n 3,4p < $each | cut -c2-50; done")
    assert not leaked(str(outcome.content))


async def test_a_key_that_a_command_makes_is_not_shown(bench: Bench) -> None:
    (bench.root / "source").write_text(b64encode(PEM.encode()).decode())
    command = "base64 -d source > made.pem; sed -n 5p made.pem"
    outcome = await bench.run("shell", command=command)
    assert not leaked(str(outcome.content))


async def test_ordinary_output_of_such_commands_stays(bench: Bench) -> None:
    bench.put("key.pem", PEM)
    public = b64encode(os.urandom(300)).decode()
    bench.put("ca.crt", f"-----BEGIN CERTIFICATE-----\n{public}\n-----END CERTIFICATE-----\n")
    outcome = await bench.run("shell", command="wc -l key.pem; ls; cat ca.crt")
    assert public in str(outcome.content)
    assert MARKER not in str(outcome.content)


@cases("name", ["id_ID", ".env", "credentials"])
async def test_a_directory_with_the_name_of_a_secret_file_is_no_file(bench: Bench, name: str) -> None:
    bench.put(f"in_{name}/{name}/plain.txt", "nothing\n")
    outcome = await bench.run("shell", command=f"ls -A in_{name} && cat in_{name}/{name}/plain.txt")
    assert str(outcome.content).splitlines()[-2:] == [name, "nothing"]


async def test_a_file_that_blocks_is_not_waited_for(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    outcome = await bench.run("shell", command="ls -l pipe")
    assert "pipe" in str(outcome.content)


@pytest.mark.exhaustive
@cases("step", [1, 5, 64, 100_000])
def test_a_stream_shows_no_known_secret_however_it_is_cut(step: int) -> None:
    known = KnownSecrets()
    known.learn(PEM, secrets_of(PEM))
    text = "\n".join([f"x {line[3:50]} y" for line in LINES] + [BODY[7:300], BODY[::-1][:90]]) + "\nend\n"
    stream = RedactedStream({}, known)
    pieces = [stream.feed(text[at : at + step]) for at in range(0, len(text), step)]
    shown = "".join([*pieces, stream.feed("", final=True)])
    assert not leaked(shown)
    assert shown.endswith("\nend\n")
    assert shown.count("\n") == text.count("\n")


@pytest.mark.exhaustive
def test_what_is_known_is_bounded_and_known_once() -> None:
    known = KnownSecrets()
    for _ in range(200):
        known.learn(PEM, secrets_of(PEM))
    other = private_key()
    known.learn(other, secrets_of(other))
    line = other.split("\n")[4]
    assert Redactor({}, known).text(f"a {line[:30]} b") == f"a {MARKER} b"
    for _ in range(300):
        more = private_key()
        known.learn(more, secrets_of(more))
    last = private_key()
    known.learn(last, secrets_of(last))
    assert Redactor({}, known).text(f"a {last.split()[6][:30]} b") == f"a {last.split()[6][:30]} b"


def test_random_text_is_not_taken_for_a_known_secret() -> None:
    known = KnownSecrets()
    known.learn(PEM, secrets_of(PEM))
    text = "\n".join(word(50) for _ in range(500))
    assert Redactor({}, known).text(text) == text
