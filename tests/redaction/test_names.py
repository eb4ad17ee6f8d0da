"""Secrets are recognised by the name beside them, and ordinary code with such names stays as it is."""

import json
import string
from base64 import b64encode

import pytest

from cogency_tui.redaction import MARKER, KnownSecrets, RedactedStream, Redactor
from tests.cases import cases
from tests.exhaustive import sampled
from tests.growth import assert_linear
from tests.redaction.test_forms import streamed
from tests.secret_samples import word

# What the tests compare must not depend on chance: these are random enough for every measure.
_MIXED = "q7Kx2mZp9RtV4bNc8WdL3fHs6Jg5Yk1T"
_HEX = "9f86d081884c7d659a2feaa0c55ad015"
_BASE64 = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ+/8xZw=="
_LOGIN = b64encode(b"joe:" + _MIXED[:10].encode()).decode()
_PASSWORD = "x7Kq9Lm2pT4v"
ASSIGNED = [
    ("OPENAI_API_KEY={}", _MIXED),
    ("export STRIPE_KEY={}", _MIXED),
    ('export GH_TOKEN="{}"', _MIXED),
    ("DB_PASSWORD={}", _PASSWORD),
    ("PGPASSWORD={} psql -h db", _PASSWORD),
    ("SECRET_KEY_BASE={}", _HEX * 2),
    ("HEROKU_API_KEY={}", "5f0c7a3e-91b2-4d6f-8e17-2a9b4c6d8e0f"),
    ("api_key: {}", _MIXED),
    ("  db_password: {}", "x7Kq9Lm2pT4vB8cN"),
    ("  password: '{}'", "x7#Kq9!Lm2pT"),
    ('  "apiKey": "{}",', _MIXED),
    ('"client_secret": "{}"', _MIXED),
    ("'api_key' => '{}',", _MIXED),
    (':api_key => "{}",', _MIXED),
    ('{{\\n  \\"refresh_token\\": \\"{}\\"\\n}}', _MIXED),
    ("client-key-data: {}", _BASE64 * 2),
    ("Authorization: Basic {}", _LOGIN),
    ('"Authorization": "Bearer {}"', _MIXED),
    ("Authorization: Token {}", _HEX),
    ("curl -H 'X-Api-Key: {}' https://x.test", _HEX),
    ('{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}', _LOGIN),
    ("PrivateKey = {}", _BASE64),
    ("PresharedKey = {}", _BASE64),
    ("AccountName=foo;AccountKey={};EndpointSuffix=core.windows.net", _BASE64),
    ("SharedAccessKeyName=Root;SharedAccessKey={}", _BASE64),
    ("https://x.blob.core.windows.net/y?sv=2021&sig={}&se=2030", "q7Kx2mZp9RtV4bNc8Wd%2BL3fHs6Jg5Yk1T%3D"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Date=20240101&X-Amz-Signature={}", _HEX * 2),
    ("https://x.test/v1/me?access_token={}&x=1", _MIXED),
    ("const apiKey: string = '{}';", _MIXED),
    ('private static final String API_KEY = "{}";', _MIXED),
    ('val apiKey: String = "{}"', _MIXED),
    ('const apiKey string = "{}"', _MIXED),
    ('apiToken := "{}"', _MIXED),
    ('let secret_key: &str = "{}";', _MIXED),
    ("define('DB_PASSWORD', '{}');", _PASSWORD),
    ('os.environ["API_KEY"] = "{}"', _MIXED),
    ("<password>{}</password>", _PASSWORD),
    ('<add key="ApiKey" value="{}" />', _MIXED),
    ('- name: DB_PASSWORD\n  value: "{}"', _PASSWORD),
    ("tool --api-key {} --verbose", _MIXED),
    ("ENV API_KEY {}", _MIXED),
    ("spring.datasource.password={}", _PASSWORD),
    ("sendgrid_key: {}", _MIXED),
    ("MAILCHIMP: {}", f"{_HEX}-us6"),
    ("joe:$apr1${}", "aBcD3fGh$q7Kx2mZp9RtV4bNc8WdL3f"),
    ("joe:$2y$10${}", "q7Kx2mZp9RtV4bNc8WdL3fHs6Jg5Yk1Tq7Kx2mZp9RtV4bNc8WdL3"),
    ("db.test:5432:app:joe:{}", "hunter2x"),
]
ORDINARY = [
    "POSTGRES_PASSWORD: postgres",
    "- MYSQL_ROOT_PASSWORD=my-secret-pw",
    "REDIS_PASSWORD: ${REDIS_PASSWORD:-redis}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "key: ${{ runner.os }}-node-${{ hashFiles('**/package-lock.json') }}",
    "password = var.db_password2",
    "secret_key = local.secret2_key",
    'kms_key_id = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"',
    '"password": "Passwort",',
    '"passwordConfirm": "Passwort2",',
    "token: {type: string, format: uuid}",
    '"integrity": "sha512-AbCdEf123456/xyz+1234567890abcdefghijklmnopqrstuvwxyzABCDEFG=="',
    "key:e.key,keyCode:e.keyCode,password:t.p9a8",
    'const TOKEN_KEY = "auth_token_v2";',
    'private static final String TOKEN_HEADER = "X-Auth-Token";',
    'max_tokens=1048576 token_count = 1234567890 "prompt_tokens": 1234567',
    'primary_key: "user_id_01"',
    'publicKey: "pk9aB3dE5gH7jK9mN1pQ2sT4vW6"',
    "PublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
    "CACHE_KEY: v1-5d41402abc4b2a76b9719d911017c592",
    'keyboard = "qwerty123XYZ99" tokenizer = "Llama3-8B-Instruct"',
    'key = "aB3dE5gH7jK9mN1pQ2sT4vW6"',
    'password = os.environ["DB_PASSWORD1"] or getpass.getpass()',
    "token = self.tokens[i + 1]",
    "secret = hmac.new(key1, msg2, sha256)",
    "apiKey: process.env.API_KEY2,",
    "self, private_key: ed25519.Ed25519PrivateKey",
    '__all__ = ["ClientSecret", "InputAudioTranscription"]',
    '"secretName": "my-app-tls-2024"',
    'signing_key: RS256 encryption_key = "aes-256-gcm"',
    "SSL_KEY=/etc/ssl/k8s-1.pem",
    'private_key_path = "./keys/id_rsa2.pem"',
    "SSH_KEY=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabc",
    "TOKEN_URL=https://auth.test/oauth2/token",
    'password = "hunter2hunter" password = "correct-horse-battery-staple" password: "Test1234"',
    'API_KEY=xxxxxxxxxxxxxxxxxxxx API_KEY=<your-api-key> api_key = "YOUR_API_KEY_123"',
    "API_KEY=00000000-0000-0000-0000-000000000000",
    "Authorization: Bearer ${TOKEN} Authorization: Bearer <token>",
    'headers["Authorization"] = f"Bearer {self.token1}"',
    'auth="digest-md5-sess"',
    "sig = inspect.signature(f1)",
    '"nextPageToken": "EAAaB1BUOkNBVQ3x"',
    'PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]',
    "<secret>{{ .Values.secret2 }}</secret>",
    "password: ENC[AES256_GCM,data:abc,iv:def,tag:ghi,type:str]",
    's3_key: "builds/a1b2c3d4e5f6.zip"',
    "gpg --recv-keys 5BE8A3F6C8A5C01D106C0AD820B1A390B168D356",
    "cat token >out1put2file3",
    'monkey: "Ch1mpanz33x9" author: "a1b2c3d4e5f6"',
    'ApiKey string `json:"api_key_v2" yaml:"apiKey2"`',
    "$password = $_POST['pass1word2'];",
    "TOKEN=$(gh auth token)",
    "credential.helper = osxkeychain2x",
]
SECRET_FILE = """\
NODE_ENV=production
DB_PASSWORD=hunter2
export SECRET='my secret phrase'
STRIPE=pkAb39dkeoZxq81mNv73
API_TOKEN=12345678
DATABASE_URL=postgres://localhost/x
JWT_SECRET=changeme
KEY_FILE=./gcp.json
PASSWORD=a;b&c(d
VERSION=1.2.3-beta.4+build.567890
"""
SECRETS = ("hunter2", "my secret phrase", "pkAb39dkeoZxq81mNv73", "a;b&c(d")


@cases(("form", "secret"), ASSIGNED)
def test_a_secret_is_recognised_by_the_name_beside_it(form: str, secret: str) -> None:
    text = f"before\n{form.format(secret)}\nafter\n"
    shown = Redactor({}).text(text)
    assert shown == text.replace(secret, MARKER)
    assert Redactor({}).text(shown) == shown


@cases("line", ORDINARY)
def test_ordinary_values_of_such_names_stay_as_they_are(line: str) -> None:
    assert Redactor({}).text(line) == line


def test_most_random_values_are_recognised() -> None:
    base36 = string.ascii_lowercase + string.digits
    shown = [Redactor({}).text(f'api_key = "{word(32)}"') for _ in range(200)]
    shown += [Redactor({}).text(f'api_key = "{word(32, base36)}"') for _ in range(200)]
    assert sum(MARKER in text for text in shown) > 370


@pytest.mark.parametrize("step", sampled([64, 1, 7, 100_000], quick=1))
def test_a_stream_shows_no_secret_with_a_name_however_it_is_cut(step: int) -> None:
    # A stream that holds much back reads it with each of so many pieces: by one, and by seven, every other.
    assigned = ASSIGNED[(step > 1) :: 2] if step < 64 else ASSIGNED
    lines = [f"{form.format(secret)}\n" for form, secret in assigned]
    texts = [f"before\n{line}after\n" for line in lines] if step < 64 else ["".join(lines)]
    shown = "".join(streamed(text, step) for text in texts)
    assert not [form for form, secret in ASSIGNED if secret[-8:] in shown]
    assert shown.count("\n") == "".join(texts).count("\n")


def test_a_stream_goes_on_behind_a_name() -> None:
    stream = RedactedStream({})
    assert stream.feed("passed 3 of 4 tests in the second of all") != ""
    stream.feed("x\n")
    long = "const token=t.a,b=1;" * 2000
    shown = stream.feed(long)
    assert len(shown) > len(long) - 5000


def test_a_field_is_recognised_by_its_name() -> None:
    other = _MIXED.swapcase()
    value = {
        "apiKey": _MIXED,
        "key": other,
        "tokens": [_MIXED, "cl100k_base"],
        "nested": json.loads(f'{{"token": "{_HEX}"}}'),
    }
    assert Redactor({}).value(value) == {
        "apiKey": MARKER,
        "key": other,
        "tokens": [MARKER, "cl100k_base"],
        "nested": {"token": MARKER},
    }


@cases("file", [".env", "app/.env.local", "C:\\x\\.env", "prod.tfvars"])
def test_in_a_file_of_secrets_a_value_need_not_look_random(file: str) -> None:
    expected = SECRET_FILE
    for secret in SECRETS:
        expected = expected.replace(secret, MARKER)
    assert Redactor({}).text(SECRET_FILE, file=file) == expected
    assert Redactor({}).text(expected, file=file) == expected


@cases("file", ["", ".env.example", ".env.sample", "settings.py", "env"])
def test_elsewhere_it_has_to(file: str) -> None:
    assert "DB_PASSWORD=hunter2\n" in Redactor({}).text(SECRET_FILE, file=file)


@cases(
    ("file", "text", "secret"),
    [
        (".htpasswd", "joe:{}\n# a comment: here\n", "hunter2x"),
        (".pgpass", "db:6000:x:joe:{}\n", "hunter2"),
        ("config/master.key", "{}\n", _HEX),
        (".aws/credentials", "[default]\naws_secret_access_key = {}\nregion = eu\n", "simple1"),
        ("secrets.yaml", "db:\n  password: {}\n  user: joe\n", "hunter2"),
        ("credentials.json", '{{\n  "client_secret": "{}",\n  "type": "service_account"\n}}\n', "hunter2"),
    ],
)
def test_a_file_of_secrets_is_read_in_its_own_form(file: str, text: str, secret: str) -> None:
    assert Redactor({}).text(text.format(secret), file=file) == text.format(MARKER)


@pytest.mark.parametrize(
    "unit", ["a=b\n", "a= ", '  - a="', "a:b:c:d:e\n", "a=b #", f"{_MIXED}\n", f"x {_MIXED[:12]} "]
)
def test_the_time_of_files_of_secrets_and_known_secrets_is_linear(unit: str) -> None:
    known = KnownSecrets()
    known.learn(_MIXED * 4, [(0, len(_MIXED) * 4)])

    def read(text: str) -> None:
        Redactor({}, known).text(text, file=".pgpass")

    def build(size: int) -> str:
        return unit * (size // len(unit))

    assert_linear(build, read, 3_000, floor=0.0005)
