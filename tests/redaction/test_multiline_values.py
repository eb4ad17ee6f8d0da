"""Secrets are recognised whose value stands on other lines than their name, or in several pieces."""

from collections.abc import Sequence
from itertools import cycle

import pytest

from cogency_tui.redaction import MARKER, RedactedStream, Redactor
from tests.cases import cases
from tests.growth import assert_linear
from tests.redaction.test_forms import streamed

_ONE = "q7Kx2mZp9RtV4bNc8WdL3fHs6Jg5Yk1T"
_OTHER = "9f86d081884c7d659a2feaa0c55ad015"
_BEGIN, _END = _ONE[:16], _ONE[16:]
ONE = {
    "YAML, folded": "api_key: >-\n  {}\nnext: 1\n",
    "YAML, literal": "api_key: |\n    {}\nnext: 1\n",
    "YAML, literal with an indent": "api_key: |2-\n    {}\n",
    "YAML, block behind a comment": "api_key: > # the key\n\n  {}\n",
    "YAML, next line": "api_key:\n  {}\n",
    "YAML, next line in quotes": 'api_key:\n  "{}"\n',
    "YAML, next line behind a comment": "api_key: # the key\n  # of all\n  {}\n",
    "YAML, tag": "api_key: !!str {}\n",
    "YAML, anchor": "api_key: &key {}\n",
    "Kubernetes, folded": "- name: DB_PASSWORD\n  value: >-\n    {}\n",
    "Kubernetes, next line": '- name: DB_PASSWORD\n  value:\n    "{}"\n',
    "JSON, behind the colon": '"api_key":\n   "{}"\n',
    "JSON, before the colon": '"api_key"\n  : "{}"\n',
    "JSON, CRLF": '"api_key":\r\n   "{}"\r\n',
    "TOML, three quotes": 'token = """{}"""\n',
    "TOML, three quotes over lines": "token = '''\n{}\n'''\n",
    "TOML, continued": 'token = """\\\n   {}"""\n',
    "Python, brackets": 'TOKEN = (\n    "{}"\n)\n',
    "Python, continued": "TOKEN = \\\n    '{}'\n",
    "Python, bytes": 'TOKEN = b"{}"\n',
    "JavaScript": 'const apiKey =\n  "{}";\n',
    "Go": "apiKey :=\n  `{}`\n",
    "PHP": "'api_key' =>\n   '{}',\n",
    "shell, continued": "export API_KEY=\\\n{}\n",
    "argument": 'os.environ.setdefault("API_KEY",\n    "{}")\n',
    "argument below": "define(\n  'DB_PASSWORD',\n  '{}'\n);\n",
    "JSON in JSON": '{{\\"api_key\\":\\n  \\"{}\\"}}\n',
    "Rust": 'let token = r#"{}"#;\n',
    "shell, option": "tool --api-key \\\n  {}\n",
    "shell, here-document": "TOKEN=<<EOT\n{}\nEOT\n",
    "XML": "<password>\n   {}\n</password>\n",
    "XML, CDATA": "<password><![CDATA[{}]]></password>\n",
    "INI": "password =\n   {}\n",
    "properties": "api.token=\\\n   {}\n",
    "numbered": "    1\tapi_key: >-\n    2\t  {}\n",
    "grep": "conf.yml:1:api_key: >-\nconf.yml-2-  {}\n",
    "diff": "+api_key: >-\n+  {}\n",
}
PIECES = {
    "YAML, list": "tokens:\n  - {}\n  - {}\n",
    "YAML, list that is not indented": "tokens:\n- {}\n- '{}'\n",
    "YAML, list with comments": "tokens:\n  # first\n  - {} # of joe\n  - {}\n",
    "YAML, flow": "tokens: [{}, {}]\n",
    "JSON, list": '"tokens": ["{}", "{}"]\n',
    "JSON, list over lines": '"tokens": [\n  "{}",\n  "{}"\n]\n',
    "TOML, list over lines": 'tokens = [\n  "{}",\n  "{}",\n]\n',
}
CUT = {
    "in a row": 'TOKEN = "{}" "{}"\n',
    "in brackets": 'TOKEN = (\n    "{}"\n    "{}"\n)\n',
    "behind a bracket": 'TOKEN = ("{}"\n         "{}")\n',
    "added": "TOKEN = '{}' + '{}'\n",
    "added, continued": 'TOKEN = "{}" + \\\n  "{}"\n',
    "added over lines": "const token = '{}' +\n  '{}';\n",
    "added at the beginning of a line": "const token = '{}'\n  + '{}';\n",
    "PHP": "$token = '{}' . '{}';\n",
    "C": 'char *token = "{}"\n    "{}";\n',
    "shell, continued": "TOKEN={}\\\n{}\n",
    "folded": "api_key: >-\n  {}\n  {}\n",
    "folded in quotes": 'api_key: "{}\\\n  {}"\n',
    "three quotes": 'token = """{}\\\n{}"""\n',
}
TEXTS = [
    *((text.format(_ONE), text.format(MARKER)) for text in ONE.values()),
    *((text.format(_ONE, _OTHER), text.format(MARKER, MARKER)) for text in PIECES.values()),
    *((text.format(_BEGIN, _END), text.format(MARKER, MARKER)) for text in CUT.values()),
]
ORDINARY = [
    f'assert token == "{_OTHER}"',
    f"expect(token === '{_OTHER}')",
    f'if (apiKey != "{_ONE}")',
    "if token:\n    parse9Next8Item7()\n",
    "if not password:\n    return user1Name2\n",
    "for each in api_keys:\n    seen9.add(each)\n",
    "def check(token: str,\n    another4Name5=3): ...\n",
    "token:\n  type: string\n  format: uuid4Value9Type\n",
    "tokens:\n  - name: first1Token2\n",
    f"API_TOKEN=\nCOMMIT={_OTHER}\n",
    f"password:\ncommit: {_OTHER}\n",
    f'login(token=None,\n    commit="{_OTHER}")\n',
    f'login(token, "{_OTHER}")\n',
    "password: >-\n  At least 8 characters, 2 digits and 1 sign\n",
    'token_help = ("Give the token of page 3 "\n    "and version 2.1")\n',
    'TOKEN = "[a-zA-Z_]" "[a-zA-Z0-9_-]*"\n',
    "tokens = [first1Token2, second3Token4]\n",
    'tokens = ["sha256", "cl100k_base", "o200k_base"]\n',
    f'"tokens": [1, 2],\n"commit": "{_OTHER}"\n',
    f"secret: |\n  {MARKER}\n",
]


@cases(("text", "expected"), TEXTS)
def test_a_value_is_recognised_over_lines_and_in_pieces(text: str, expected: str) -> None:
    assert Redactor({}).text(text) == expected
    assert Redactor({}).text(expected) == expected


@cases("text", ORDINARY)
def test_comparisons_and_code_below_a_name_stay_as_they_are(text: str) -> None:
    assert Redactor({}).text(text) == text


def test_a_key_of_an_issuer_is_recognised_in_a_comparison() -> None:
    assert Redactor({}).text(f'token == "ghp_{_ONE}aB1c"') == f'token == "{MARKER}"'


@pytest.mark.exhaustive
@cases(("step", "texts"), [(1, TEXTS[::2]), (7, TEXTS[1::2]), (64, TEXTS), (1000, TEXTS)])
def test_a_stream_shows_none_however_it_is_cut(step: int, texts: Sequence[tuple[str, str]]) -> None:
    for text, expected in texts:
        text, expected = f"before\n{text}next: 1\n", f"before\n{expected}next: 1\n"
        assert streamed(text, step) == expected


def test_a_stream_shows_what_is_below_a_name_as_soon_as_it_is_decided() -> None:
    stream = RedactedStream({})
    shown = stream.feed(f"tokens:\n  - {_ONE}\n  - {_OTHER}\nserving on port ")
    assert shown == f"tokens:\n  - {MARKER}\n  - {MARKER}\nserving on port "


def test_a_long_list_is_gone_through_to_its_end() -> None:
    text = "tokens:\n" + f"  - {_ONE}\n" * 2000
    assert Redactor({}).text(text) == text.replace(_ONE, MARKER)


@pytest.mark.parametrize(
    ("text", "secret"),
    [("password: >-\n  {}\nuser: joe\n", "hunter2"), ("passwords:\n  - {}\nuser: joe\n", "hunter2")],
)
def test_in_a_file_of_secrets_such_a_value_need_not_look_random(text: str, secret: str) -> None:
    assert Redactor({}).text(text.format(secret), file="secrets.yml") == text.format(MARKER)
    assert Redactor({}).text(text.format(secret), file="settings.yml") == text.format(secret)


HOSTILE = [
    *("token:", "token: [", "tokens:\n- ", "token = (\n", 'token = """\n', "token='a\ntoken=\"a\n"),
    *("token: #", "token:\n  ", f"- {_ONE}\n", f'"{_ONE}",', 'token = "a" + ', "token: |\n\n", "\\\n"),
    *("token = <<token\n", "token: >-\n  token\n", "a.b:1:token:\n", "password: [key: token: ", "[" * 9),
]


# Each by itself, and within one of two beginnings.
@pytest.mark.parametrize(
    ("begin", "unit"),
    [*(("", unit) for unit in HOSTILE), *zip(cycle(["tokens: ", 'token = "']), HOSTILE, strict=False)],
)
def test_the_time_is_linear(begin: str, unit: str) -> None:
    def build(size: int) -> str:
        return begin + unit * (size // len(unit))

    assert_linear(build, lambda text: Redactor({}).text(text), 2_500, floor=0.0005)
