"""Keys of every issuer and place, and parts of private keys, in every spelling of a listing and every cut."""

import json
import subprocess

import pytest

from cogency_tui.redaction import MARKER, RedactedStream, Redactor, holds_marker
from tests.cases import cases
from tests.exhaustive import sampled
from tests.secret_samples import issued, placed, private_key, word

ISSUED = issued()
PLACED = placed()
AROUND = ("{}", "key = '{}'", "1\t+ token: {}", '"a\\n{}\\n"', "?a=%3D{}&b", "x-{};", "\x1b[1m{}\x1b[0m")
_OF_FEW_CHARACTERS = ("Twilio", "Airtable")
PEM = private_key("RSA ")
LINES = PEM.split("\n")
MIDDLE = LINES[6:11]
SHORT = [*LINES[:1], *MIDDLE, *LINES[-3:]]
PGP = private_key("PGP ").replace("KEY-----", "KEY BLOCK-----").split("\n")
PARTS = {
    "whole": PEM,
    "middle": "\n".join(MIDDLE),
    "end": "\n".join(LINES[-6:]),
    "two before the end": "\n".join(LINES[-5:]),
    "CRLF": "\r\n".join(MIDDLE),
    "numbered": "\n".join(f"{number:5}\t{line}" for number, line in enumerate(MIDDLE, 6)),
    "grep": "\n".join(f"conf/key.pem:{number}:{line}" for number, line in enumerate(MIDDLE, 6)),
    "grep, around": "\n".join(f"conf/key.pem-{number}-{line}" for number, line in enumerate(MIDDLE, 6)),
    "added": "\n".join(f"+{line}" for line in MIDDLE),
    "indented": "\n".join(f"    {line}" for line in MIDDLE),
    "commented": "\n".join(f"# {line}" for line in MIDDLE),
    "quoted": "\n".join(f'  "{line}\\n" +' for line in MIDDLE),
    "cat -A": "\n".join(f"{line}$" for line in MIDDLE),
    "JSON": json.dumps("\n".join(MIDDLE)),
    "JSON, whole": json.dumps({"key": "\n".join(SHORT)}),
    "on one line": " ".join(MIDDLE),
    "bytes": PEM[300:900],
    "assigned": f"KEY={PEM[300:900]}",
    "backwards": "\n".join(reversed(SHORT)),
    "OpenSSH": "\n".join(private_key("OPENSSH ", 70).split("\n")[3:9]),
    "PGP": "\n".join([*PGP[4:9], *PGP[-3:]]),
}


def streamed(text: str, step: int) -> str:
    """What a stream shows of a text that comes in pieces of `step` characters."""
    stream = RedactedStream({})
    pieces = [stream.feed(text[at : at + step]) for at in range(0, len(text), step)]
    return "".join([*pieces, stream.feed("", final=True)])


@cases(
    ("kind", "place"),
    [
        (kind, place)
        for kind in ISSUED
        for place in AROUND
        if not (place.startswith("x-") and kind in _OF_FEW_CHARACTERS)
    ],
)
def test_a_key_of_each_issuer_gives_way_to_the_marker(kind: str, place: str) -> None:
    text = place.format(ISSUED[kind])
    shown = Redactor({}).text(text)
    assert MARKER in shown
    assert ISSUED[kind][-12:].rstrip("=") not in shown
    assert Redactor({}).text(shown) == shown


@cases("kind", PLACED)
def test_a_secret_is_known_by_where_it_stands(kind: str) -> None:
    text, secret = PLACED[kind]
    assert Redactor({}).text(f"{text}\n") == f"{text}\n".replace(secret, MARKER)


@cases("kind", PARTS)
def test_no_part_of_a_private_key_is_shown(kind: str) -> None:
    text = PARTS[kind]
    shown = Redactor({}).text(text)
    pieces = [line for line in text.replace("\\n", "\n").split() if len(line) >= 60]
    assert pieces
    assert not [piece for piece in pieces if piece[12:36] in shown]
    # Line for line, and once for all.
    assert shown.count("\n") == text.count("\n")
    assert Redactor({}).text(shown) == shown


@pytest.mark.parametrize("step", sampled([300, 1, 7, 64, 65, 100_000], quick=2))
def test_a_stream_shows_no_part_of_a_key_however_it_is_cut(step: int) -> None:
    parts = [part for name, part in PARTS.items() if name not in ("on one line", "JSON")]
    if step < 64:
        # Nor does a longer key show more.
        parts[0] = "\n".join(SHORT)
    texts = [*ISSUED.values(), *(text for text, _secret in PLACED.values()), *parts]
    text = "\n\n".join(["start", *texts, "end"])
    if step < 64:
        # A stream that holds much back reads it with each of so many pieces: by one, and by seven, every other.
        texts = texts[(step > 1) :: 2]
        shown = "\n".join(streamed(f"start\n\n{each}\n\nend", step) for each in texts)
    else:
        shown = streamed(text, step)
    assert not [name for name, key in ISSUED.items() if key[-12:].rstrip("=") in shown]
    assert not [name for name, (_text, secret) in PLACED.items() if secret[-12:] in shown]
    assert not [line for line in LINES[1:-2] if line[-32:] in shown]
    if step >= len(text):
        assert shown == Redactor({}).text(text)


@pytest.mark.parametrize(("step", "certificates"), [(7, 4), (300, 20), (100_000, 20)])
def test_certificates_are_shown(step: int, certificates: int) -> None:
    chain = PEM.replace("RSA PRIVATE KEY", "CERTIFICATE") * certificates
    request = private_key().replace("PRIVATE KEY", "PUBLIC KEY")
    text = f"{chain}\nthen\n{request}\n"
    assert streamed(text, step) == text
    assert Redactor({}).text(text) == text
    # What is known to be a part of a whole file that was gone through.
    assert Redactor({}).text("\n".join(MIDDLE), whole=True) == "\n".join(MIDDLE)


def test_a_key_that_openssl_makes_is_not_shown() -> None:
    made = subprocess.run(
        ["openssl", "ecparam", "-genkey", "-name", "secp521r1"], capture_output=True, text=True
    )
    lines = made.stdout.split("\n")
    assert made.returncode == 0
    shown = Redactor({}).text("\n".join(lines[-5:]))
    assert not [line for line in lines[-5:-2] if line[:20] in shown]


def test_an_own_value_of_several_lines_leaves_each_line_in_its_place() -> None:
    shown = Redactor({"OWN": "first line\nsecond line"}).text("a\nfirst line\nsecond line\nb")
    assert shown == "a\n[OWN is not shown]\n[OWN is not shown]\nb"


@cases(
    ("value", "holds"),
    [
        (MARKER, True),
        ({"a": [1, f"x {MARKER}"]}, True),
        ({MARKER: 1}, True),
        (r"\[a secret is not shown\]", True),
        ("'[a secret'\" is  not\nshown]\"", True),
        ("[OPENAI_API_KEY is not shown]", True),
        ("[lines 1 to 9 are not shown] and a secret is not shown", False),
        ([None, 3, True], False),
    ],
)
def test_a_marker_is_found_in_quotes_and_escapes(value: object, holds: bool) -> None:
    assert holds_marker(value) is holds


HOSTILE_FORMS = [
    *(
        "machine a ",
        "machine login ",
        "password=",
        "host=a password=b",
        "-----END PRIVATE KEY-----\n",
        "\\nA",
    ),
    *("hooks.slack.com/services/", ":A", "0:A", ".atlasv1.", "Q~", "_auth=", "default login a\n", "MMMMMM."),
    *(f"{word(64)}\n", f"{word(64)}\\n", f"{word(64)} ", "A" * 63 + "\n", "a:" * 30 + "\n", "- " * 40 + "\n"),
    *("-----BEGIN CERTIFICATE-----\n", f"{word(64)}\n-----END RSA PRIVATE KEY-----\n", "ghp_", "x-ghp_a"),
    *("key=", "apikey=", 'token="', "api_key: a1B2", "secret=>", "bearer ", "--token ", "password\nvalue="),
    *("token: string = ", "key_base_data", "x-api-key:", "<password>", "İkey=", "$2y$10$a", "$6$a$", "SHA}A"),
    *(":5432:a:", "*:*:", "-us a1", f"{'a1b2c3d4' * 20}-us"),
]
