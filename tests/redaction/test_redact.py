"""What looks like a key gives way to a marker, what is ordinary stays, and the time is linear."""

import json

import pytest

from cogency_tui.redaction import MARKER, RedactedStream, Redactor, has_secret, markers_in
from tests.cases import cases
from tests.exhaustive import sampled
from tests.growth import assert_linear
from tests.redaction.test_forms import HOSTILE_FORMS

# Divided, so that no scanner takes this file for a leak.
_MIXED = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4"
_HEX = "0123456789abcdef" * 4
_BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
_PEM = "-----BEGIN {0}PRIVATE KEY-----\n" + f"{_BASE64}\n{_BASE64[::-1]}=\n" + "-----END {0}PRIVATE KEY-----"
KEYS = {
    "openai": "sk-" + _MIXED,
    "openai project": "sk-proj-" + _MIXED + "_-" + _MIXED,
    "anthropic": "sk-ant-api03-" + _MIXED,
    "openrouter": "sk-or-v1-" + _HEX,
    "stripe": "sk_live_" + _MIXED[:24],
    "stripe restricted": "rk_live_" + _MIXED[:24],
    "stripe hook": "whsec_" + _MIXED[:32],
    "github": "ghp_" + _MIXED,
    "github server": "ghs_" + _MIXED,
    "github fine": "github_pat_11" + _MIXED[:20] + "_" + _MIXED,
    "gitlab": "glpat-" + _MIXED[:20],
    "huggingface": "hf_" + _MIXED[:34],
    "sendgrid": "SG." + _MIXED[:22] + "." + _MIXED + "abcdefg",
    "slack": "xoxb-123456789012-" + _MIXED[:24],
    "aws": "AKIA" + "Q3EGRTY7UIOP5ASD",
    "google": "AIza" + _MIXED[:35],
    "npm": "npm_" + _MIXED,
    "pypi": "pypi-AgEIcHlwaS5vcmc" + _MIXED,
    "digitalocean": "dop_v1_" + _HEX,
    "shopify": "shpat_" + _HEX[:32],
    "groq": "gsk_" + _MIXED + _MIXED,
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + "." + _MIXED,
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2,
}
PLACES = (
    "{}",
    "key = '{}'",
    'KEY="{}"\n',
    "export K={};",
    "3\t+  token: {}",
    '"a\\n{}\\n"',
    "?a=%3D{}&b",
    "({})",
)
ORDINARY = [
    "commit " + _HEX[:40],
    "sha256:" + _HEX,
    "550e8400-e29b-41d4-a716-446655440000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    'KEY = "sk-test"',
    "sk-..., sk-xxxxxxxxxxxxxxxxxxxxxxxx and sk_live_your_key_here",
    ".sk-folding-cube-with-a-long-name-for-spinners",
    "task-aB3dE5gH7jK9mN1pQ2sT4vW6",
    "cache-key-" + _HEX[:32] + " key-" + _HEX[:32] + ".json node_modules/.cache/key-" + _HEX[:32],
    "hf_TrainingArgumentsForLongRunningJobsA hf_TrainingArguments2ForLongRunningJob",
    "http://localhost:3000,foo@bar http://127.0.0.1:80@example.com http://a.example:8080/x@y",
    "postgres://postgres:postgres@localhost/x https://user:password@example.com redis://me:changeme@h",
    '"integrity": "sha512-' + _MIXED * 2 + '" sha256=sk-' + _MIXED,
    "connect(host=h, user=u, password=word) user = u; password=self.password; password=None, host=None",
    "def f(host=None, password=None, user=None): ...",
    "machine learning: the default login page password reset",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + _MIXED + " me@host",
    "src_auth = get_auth(); proxy_auth: BasicAuth",
    "ghp_ is the prefix; ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx stands for one",
    "hf_hub_download(repo_id, filename)",
    "npm_config_registry npm_lifecycle_event pypi-server AKIA",
    "eyJhbGciOiJIUzI1NiJ9 is only the head",
    "https://example.com:8080/a@b and git@github.com:a/b.git and mailto:a@b.example",
    "postgres://${DB_USER}:${DB_PASSWORD}@db/x redis://user:{password}@host http://user:<password>@host",
    'if "-----BEGIN PRIVATE KEY-----" in text:\n    raise ValueError("a private key")\n',
    'PATTERN = "-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----"\nnext_line = 1\n',
    f"-----BEGIN CERTIFICATE-----\n{_BASE64}\n-----END CERTIFICATE-----",
    "secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
    "key-value pairs, key-" + "z" * 32,
    "SG.mail.send(message)",
]


@cases("place", PLACES)
@cases("kind", KEYS)
def test_a_key_gives_way_to_the_marker_wherever_it_stands(kind: str, place: str) -> None:
    assert Redactor({}).text(place.format(KEYS[kind])) == place.format(MARKER)


@cases("text", ORDINARY)
def test_ordinary_code_stays_as_it_is(text: str) -> None:
    assert Redactor({}).text(text) == text
    assert not has_secret(text)


@cases("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_not_shown(kind: str) -> None:
    pem = _PEM.format(kind)
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(pem.split("\n"), 1))
    quoted = json.dumps({"key": pem, "after": "stays"})
    for text in (f"before\n{pem}\nafter", numbered, quoted):
        shown = Redactor({}).text(text)
        assert _BASE64 not in shown
        assert _BASE64[::-1] not in shown
        assert MARKER in shown
    assert json.loads(Redactor({}).text(quoted))["after"] == "stays"
    assert Redactor({}).text(f"before\n{pem}\nafter").startswith("before\n-----BEGIN")
    assert Redactor({}).text(f"before\n{pem}\nafter").endswith("-----\nafter")


def test_a_private_key_that_is_cut_off_is_not_shown() -> None:
    cut = _PEM.format("").partition("-----END")[0]
    assert Redactor({}).text(f"{cut}\nan ordinary line") == (
        f"-----BEGIN PRIVATE KEY-----\n{MARKER}\n{MARKER}\n\nan ordinary line"
    )
    quoted = json.dumps({"key": cut[:80], "after": "stays"})
    assert _BASE64[:24] not in Redactor({}).text(quoted)
    assert json.loads(Redactor({}).text(quoted))["after"] == "stays"


def test_the_password_of_an_address_is_not_shown() -> None:
    redact = Redactor({}).text
    assert redact("https://joe:hunter2@example.com/x") == f"https://joe:{MARKER}@example.com/x"
    assert redact("url=postgresql://u:p%40ss!@db:5432/x") == f"url=postgresql://u:{MARKER}@db:5432/x"
    assert redact("aws_secret_access_key = " + "aB3/E5gH7j" * 4) == f"aws_secret_access_key = {MARKER}"


def test_values_of_any_shape_are_gone_through() -> None:
    key = KEYS["github"]
    value = {"a": [key, 1, None, {"b": f"x {key}"}], key: True}
    assert Redactor({}).value(value) == {"a": [MARKER, 1, None, {"b": f"x {MARKER}"}], MARKER: True}
    assert Redactor({"OWN": "our own value"}).value(["it is our own value"]) == ["it is [OWN is not shown]"]


def test_a_summary_does_not_show_a_piece_of_a_secret_in_its_text() -> None:
    lines = [f"aB3{_HEX[:10]}K{number}x{_BASE64[:25]}{_BASE64[:27]}Z7" for number in (1, 2)]
    payload = {"outcome": f"{lines[0]} (+1 lines)", "content": "\n".join(lines), "state": "done"}
    redacted = Redactor({}).value({"type": "result", "id": "c", "payload": payload})
    shown = {"outcome": f"{MARKER} (+1 lines)", "content": f"{MARKER}\n{MARKER}", "state": "done"}
    assert redacted == {"type": "result", "id": "c", "payload": shown}
    assert Redactor({}).value(redacted) == redacted


def test_a_piece_of_a_secret_is_not_shown_in_the_json_of_a_call() -> None:
    args = {"command": f"export API_TOKEN={_MIXED}", "note": f"begins with {_MIXED[:20]}", "file": "é.py"}
    content = json.dumps({"name": "shell", "args": args})
    redacted = Redactor({}).value({"type": "call", "id": "c", "content": content, "raw": content})
    shown = {"command": f"export API_TOKEN={MARKER}", "note": f"begins with {MARKER}", "file": "é.py"}
    assert json.loads(redacted["content"]) == {"name": "shell", "args": shown}
    assert "raw" not in redacted


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("text", ['API_KEY = "{}"\n', "{}\n", "token: '{}'", 'x = ["{}"]'])
def test_the_json_of_a_call_keeps_its_structure(key: str, text: str) -> None:
    def content(value: str) -> str:
        return json.dumps({"name": "write", "args": {"content": text.format(value), "file": "é.py"}})

    call = {"type": "call", "id": "c", "content": content(key), "raw": f'{{"content": "{key}\n"}}'}
    redacted = Redactor({}).value(call)
    assert redacted == {"type": "call", "id": "c", "content": content(MARKER)}
    assert Redactor({}).value(redacted) == redacted


def test_a_secret_beside_its_name_in_a_list_is_not_shown_in_a_call() -> None:
    def content(secret: str) -> str:
        return json.dumps({"name": "x", "args": {"command": ["curl", "--token", secret, "b"]}})

    call = {"type": "call", "content": content(_MIXED)}
    assert Redactor({}).value(call)["content"] == content(MARKER)


@pytest.mark.parametrize("form", HOSTILE_FORMS)
def test_a_call_remains_json_whatever_it_contains(form: str) -> None:
    for text in (form, form * 5, f'k: "{form}', f"\n{form}\\"):
        args = {"token": text, "list": ["api_key", text, {"password": [text]}], "after": "stays"}
        call = {"type": "call", "content": json.dumps({"name": "write", "args": args})}
        found = json.loads(Redactor({}).value(call)["content"])
        assert (found["name"], [*found["args"]], found["args"]["after"]) == ("write", [*args], "stays")


def test_the_content_of_a_call_that_is_no_json_is_text() -> None:
    key = KEYS["github"]
    for content, redacted in ((f"{{{key}", f"{{{MARKER}"), ("[" * 9000 + key, "[" * 9000 + MARKER)):
        assert Redactor({}).value({"type": "call", "content": content})["content"] == redacted


@pytest.mark.exhaustive
@cases("step", [1, 7, 64, 100_000])
def test_a_stream_shows_no_key_however_it_is_cut(step: int) -> None:
    keys = [*KEYS.values(), _PEM.format("RSA "), "https://joe:hunter2@example.com", "our own value"]
    text = "start " + "\nthen ".join(keys) + "\nend"
    redactor, stream = Redactor({"OWN": "our own value"}), RedactedStream({"OWN": "our own value"})
    pieces = [stream.feed(text[at : at + step]) for at in range(0, len(text), step)]
    shown = "".join([*pieces, stream.feed("", final=True)])
    assert shown == redactor.text(text)
    assert not [key for key in (*KEYS.values(), _BASE64, "hunter2", "our own value") if key in shown]


def test_a_stream_holds_nothing_back_that_is_no_key() -> None:
    stream = RedactedStream({})
    assert stream.feed("Downloading 45%") == "Downloading 45%"
    assert stream.feed("....") == "...."
    assert stream.feed(" it reports") == " it reports"
    assert stream.feed("a sk-") == "a "
    assert stream.feed("ip it\n") == "sk-ip it\n"


def test_markers_are_counted() -> None:
    assert markers_in(f"{MARKER} and [OPENAI_API_KEY is not shown], [lines 1 to 9 are not shown]") == 2


HOSTILE = [
    "sk-", "sk-a", "sk-ab-", "eyJ", "eyJaaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "a://", "a://b:", "://",
    "secret_access_key=", "xoxb-", "SG.a", "-----", "A", "A ", "a:@", "\\n", "glpat-a", "%3D", "AKIA", "-----BEGIN RSA ",
]  # fmt: skip


@pytest.mark.parametrize("unit", sampled([*HOSTILE, *HOSTILE_FORMS], quick=15))
def test_the_time_is_linear(unit: str) -> None:
    def build(size: int) -> str:
        return unit * (size // len(unit))

    assert_linear(build, lambda text: Redactor({}).text(text), 3_000, floor=0.0005)
