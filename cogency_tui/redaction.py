"""Secrets in text: our keys, and what looks like a key, give way to a marker.

Invariant: whatever a text holds, the time is linear in its length, and the text has as many lines as before:
line for line it says what can be shown. A key is not shown however a stream of text is cut, unless it is
longer than what a stream holds back.

A text looks like a key by the prefix that its issuer gives it, or by where it stands, and by its length and
randomness, so that hashes, identifiers and placeholders of ordinary code stay as they are. Other keys are not
recognised, except for private keys, of which also a part without its first and last line is one: lines as
wide as such a key's that belong to no certificate.
"""

import base64
import re
import string
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, cast

MARKER = "[a secret is not shown]"
_MARKERS = re.compile(r"\[(?:a secret|[A-Za-z_]\w{0,127}) is not shown\]")

_QUOTES = str.maketrans("", "", "\\'\"")
_BLANKS = re.compile(r"\s+")

_SHORTEST_SECRET = 8
_MOST_HELD = 1 << 14
"""Characters that a stream holds back at most."""

Span = tuple[int, int]
"""Where a secret begins and ends."""


class _Issued(NamedTuple):
    """Keys that begin with one of `prefixes` and go on as `body` says; what is `certain` by its form alone
    need not look random."""

    issuer: str
    prefixes: tuple[str, ...]
    body: str
    certain: bool = False


class _Placed(NamedTuple):
    """Secrets that are known by what stands around them: the group of `pattern`. Each text that has one has
    `sign`; `accepts` says of a match whether it is one."""

    issuer: str
    sign: str
    pattern: str
    accepts: Callable[[re.Match[str]], bool]


def _in_base64(kind: str) -> str:
    """How a private key in PEM begins that is encoded once more."""
    head = f"-----BEGIN {kind}PRIVATE KEY"
    return base64.b64encode(head[: len(head) // 3 * 3].encode()).decode()


_WORD = r"[A-Za-z0-9]"
_TEXT = r"[\w-]"
_HEX = r"[a-f0-9]"
_END = r"(?![A-Za-z0-9])"

_ISSUED = (
    # OpenAI, Anthropic, OpenRouter and their kin: words divided by hyphens are no key.
    _Issued("model providers", ("sk-",), rf"(?:[a-z0-9]{{2,10}}-){{0,3}}[A-Za-z0-9_]{{16}}{_TEXT}*"),
    _Issued("Groq", ("gsk_",), rf"{_WORD}{{40,}}"),
    _Issued("xAI", ("xai-",), rf"{_WORD}{{40,}}"),
    _Issued("NVIDIA", ("nvapi-",), rf"{_TEXT}{{40,}}"),
    _Issued("Perplexity", ("pplx-",), rf"{_WORD}{{40,}}"),
    _Issued("Cerebras", ("csk-",), rf"{_WORD}{{40,}}"),
    _Issued("Fireworks", ("fw_",), rf"{_WORD}{{20,30}}{_END}"),
    _Issued("Together", ("tgp_v1_",), rf"{_TEXT}{{40,}}"),
    _Issued("Replicate", ("r8_",), rf"{_WORD}{{36,}}"),
    _Issued("Hugging Face", ("hf_", "api_org_"), rf"{_WORD}{{34}}{_END}"),
    _Issued("LangSmith", ("lsv2_pt_", "lsv2_sk_"), rf"{_HEX}{{32}}_{_HEX}{{10}}"),
    _Issued("E2B", ("e2b_",), rf"{_HEX}{{40}}"),
    _Issued("Tavily", ("tvly-",), rf"(?:[a-z]{{2,8}}-)?{_TEXT}{{20,}}"),
    _Issued("Stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), rf"{_WORD}{{16,}}"),
    _Issued("webhooks", ("whsec_",), r"[A-Za-z0-9+/=]{24,}"),
    _Issued("GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_WORD}{{30,}}"),
    _Issued("GitHub", ("github_pat_",), r"\w{40,}"),
    _Issued(
        "GitLab",
        (
            *("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-"),
            *("glsoat-", "GR1348941"),
        ),
        rf"(?:t\d_)?{_TEXT}{{20,}}(?:\.{_WORD}{{2,}}){{0,2}}",
    ),
    _Issued("Bitbucket", ("ATBB",), rf"{_WORD}{{28,}}"),
    _Issued("Atlassian", ("ATATT3", "ATCTT3"), r"[\w=-]{60,}"),
    _Issued("SendGrid", ("SG.",), rf"{_TEXT}{{16,32}}\.{_TEXT}{{32,}}"),
    _Issued("Brevo", ("xkeysib-", "xsmtpsib-"), rf"{_HEX}{{64}}-{_WORD}{{16}}"),
    _Issued("Resend", ("re_",), rf"{_WORD}{{8}}_{_WORD}{{24}}"),
    _Issued("Mailgun", ("key-",), rf"(?<![./\\_-]key-){_HEX}{{32}}(?![\w-]|\.\w)"),
    _Issued("Mailchimp", ("md-",), rf"{_TEXT}{{22}}{_END}"),
    _Issued(
        "Slack",
        ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
        r"[A-Za-z0-9%.-]{16,}",
    ),
    _Issued("Slack", ("xapp-",), r"[A-Za-z0-9-]{24,}"),
    _Issued("AWS", ("AKIA", "ASIA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])", certain=True),
    _Issued("AWS Bedrock", ("ABSK",), r"[A-Za-z0-9+/]{100,}={0,2}"),
    _Issued("Google", ("AIza",), rf"{_TEXT}{{35}}"),
    _Issued("Google", ("ya29.",), rf"{_TEXT}{{30,}}"),
    _Issued("Google", ("GOCSPX-",), rf"{_TEXT}{{28}}"),
    _Issued("Alibaba", ("LTAI",), rf"{_WORD}{{16,24}}{_END}"),
    _Issued("DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{64}"),
    _Issued("Cloudflare", ("v1.0-",), rf"{_HEX}{{24}}-{_HEX}{{120,}}"),
    _Issued("Fly.io", ("fo1_",), rf"{_TEXT}{{40,}}"),
    _Issued("Fly.io", ("fm1a_", "fm1r_", "fm2_"), r"[A-Za-z0-9+/]{60,}={0,3}"),
    _Issued("Heroku", ("HRKU-",), rf"{_TEXT}{{36,}}"),
    _Issued("Netlify", ("nfp_",), rf"{_WORD}{{36}}{_END}"),
    _Issued("Supabase", ("sbp_",), rf"{_HEX}{{40}}"),
    _Issued("Supabase", ("sb_secret_",), rf"{_TEXT}{{24,}}"),
    _Issued("PlanetScale", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[\w=.-]{32,64}"),
    _Issued("Tailscale", ("tskey-",), rf"[a-z]{{3,8}}-{_WORD}{{8,}}-{_WORD}{{16,}}"),
    _Issued("Pulumi", ("pul-",), rf"{_HEX}{{40}}"),
    _Issued("Databricks", ("dapi",), rf"{_HEX}{{32}}(?:-\d)?{_END}"),
    _Issued("Doppler", ("dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), rf"{_WORD}{{40,44}}"),
    _Issued("Doppler", ("dp.st.",), rf"(?:[a-z0-9_-]{{2,35}}\.)?{_WORD}{{40,44}}"),
    _Issued("HashiCorp Vault", ("hvs.", "hvb.", "hvr."), rf"{_TEXT}{{24,}}"),
    _Issued("1Password", ("ops_eyJ",), r"[A-Za-z0-9+/_-]{100,}={0,3}"),
    _Issued("Docker", ("dckr_pat_", "dckr_oat_"), rf"{_TEXT}{{20,}}"),
    _Issued("npm", ("npm_",), rf"{_WORD}{{36,}}"),
    _Issued("PyPI", ("pypi-",), rf"{_TEXT}{{50,}}"),
    _Issued("RubyGems", ("rubygems_",), rf"{_HEX}{{48}}"),
    _Issued("Clojars", ("CLOJARS_",), r"[a-z0-9]{60}"),
    _Issued("crates.io", ("cio",), rf"{_WORD}{{32}}{_END}"),
    _Issued("Buildkite", ("bkua_",), rf"{_HEX}{{40}}"),
    _Issued("CircleCI", ("CCIPAT_", "CCIPRJ_"), rf"{_WORD}{{16,24}}_{_HEX}{{40}}"),
    _Issued("Sentry", ("sntrys_",), r"[A-Za-z0-9+/=_-]{40,}"),
    _Issued("Sentry", ("sntryu_",), rf"{_HEX}{{64}}"),
    _Issued("Grafana", ("glsa_",), r"\w{32,}"),
    _Issued("Grafana", ("glc_",), r"[A-Za-z0-9+/]{32,}={0,3}"),
    _Issued("New Relic", ("NRAK-", "NRJS-", "NRAL-", "NRII-"), r"[A-Za-z0-9-]{19,}"),
    _Issued("Dynatrace", ("dt0c01.", "dt0s01."), r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _Issued("PostHog", ("phx_",), rf"{_WORD}{{40,}}"),
    _Issued("Postman", ("PMAK-",), rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _Issued("ReadMe", ("rdme_",), r"[a-z0-9]{60,}"),
    _Issued("Linear", ("lin_api_", "lin_oauth_"), rf"{_WORD}{{32,}}"),
    _Issued("Notion", ("ntn_",), rf"{_WORD}{{40,}}"),
    _Issued("Notion", ("secret_",), rf"{_WORD}{{43}}{_END}"),
    _Issued("Airtable", ("pat",), rf"{_WORD}{{14}}\.{_HEX}{{64}}"),
    _Issued("Figma", ("figd_",), rf"{_TEXT}{{36,}}"),
    _Issued("Contentful", ("CFPAT-",), rf"{_TEXT}{{40,}}"),
    _Issued("Square", ("sq0atp-", "sq0csp-", "sq0idp-"), rf"{_TEXT}{{22,}}"),
    _Issued("Square", ("EAAA",), rf"{_TEXT}{{60}}{_END}"),
    _Issued("Facebook", ("EAAC", "EAAM"), rf"{_WORD}{{80,}}"),
    _Issued("Shopify", ("shpat_", "shpss_", "shpca_", "shppa_"), r"[a-fA-F0-9]{32}"),
    _Issued("EasyPost", ("EZAK", "EZTK"), rf"{_WORD}{{54}}"),
    _Issued("Shippo", ("shippo_live_", "shippo_test_"), rf"{_HEX}{{40}}"),
    _Issued("Duffel", ("duffel_live_", "duffel_test_"), r"[\w=-]{43}"),
    _Issued("Twilio", ("SK",), rf"{_HEX}{{32}}{_END}"),
    _Issued("Artifactory", ("AKCp",), rf"{_WORD}{{69}}"),
    _Issued("tokens", ("eyJ",), rf"{_TEXT}{{10,}}\.eyJ{_TEXT}{{5,}}\.{_TEXT}{{16,}}"),
    _Issued("age", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{50,}"),
    _Issued("Nostr", ("nsec1",), r"[02-9ac-hj-np-z]{58}"),
    _Issued(
        "PEM in Base64",
        tuple(map(_in_base64, ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "))),
        r"[A-Za-z0-9+/=]{40,}",
        certain=True,
    ),
)
"""What follows the prefixes of keys."""


_DISTINCT = 4
"""Characters from which on a prefix is one also behind a hyphen."""


@cache
def _issued(prefix: str, body: str) -> "re.Pattern[str]":
    """A key that begins with `prefix`, not within a word: also behind an escape of a string, an address or a
    terminal."""
    begin = re.escape(prefix)
    distinct = len(prefix) >= _DISTINCT or prefix.endswith("_")
    inside = "[A-Za-z0-9]" if distinct else r"[\w-]"
    boundary = (
        rf"(?:(?<!{inside}{begin})|(?<=\\[nrt]{begin})|(?<=%[0-9A-F][0-9A-F]{begin})|(?<=[\d;\[]m{begin}))"
    )
    # The literal comes first, so that it is searched for as fast as a literal can be.
    return re.compile(rf"{begin}{boundary}({body})")


@cache
def _placed(pattern: str) -> "re.Pattern[str]":
    # Not before it is needed: to compile all of them takes longer than the rest of a start.
    return re.compile(pattern)


LOOSE_KEY = re.compile(
    r"(sk|pk|rk)-[\w-]{16}|gh[pousr]_\w{16}|github_pat_|xox[abprs]-|AIza[\w-]{20}|AKIA\w{12}"
)
_PLACEHOLDER = re.compile(
    r"[xX*]{5}|\.{3}|your|example|placeholder|redacted|dummy|changeme|my[_-]?(?:token|secret|key|password)",
    re.IGNORECASE,
)
_FEWEST_DISTINCT = 6
_HASH_BEFORE = re.compile(r"(?i:sha|md)\d{1,3}[=:-]\Z")
"""What follows is a hash, which begins like a key by chance."""

_SEPARATORS = str.maketrans("", "", "_-./+=")

_AWS_SIGNS = re.compile(r"secret_?(?:access_?)?key", re.IGNORECASE)
_AWS = re.compile(
    r"(?:secret_?access_?key|aws_?secret_?key)[\"']?[ \t]{0,8}[=:][ \t]{0,8}[\"']?"
    r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    re.IGNORECASE,
)
_ORDINARY_PASSWORDS = frozenset(
    ("password", "passwd", "passphrase", "pass", "pwd", "pw", "user", "username", "secret", "token")
    + ("postgres", "root", "admin", "test", "guest", "none", "null")
)
"""Words that stand for a password, or that everyone knows."""

_PORT = re.compile(r"\d{1,5}\\?")
_HOST = re.compile(r"localhost|[\w-]+(?:\.[\w-]+)+")
_NO_VALUE = r"(?![${<*]|%[s(]|\[(?:a secret|[A-Za-z_]\w{0,127}) is not shown\])"
_REFERENCE = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+")
"""How code names a value."""

_HOSTS = re.compile(
    r"(?<![\w-])(?:host|hostaddr|server|dbname|database|user|username|user id|uid|port|sslmode|data source"
    r"|initial catalog|accountname)\s?=\s?[^\s;&,()=]",
    re.IGNORECASE,
)
_LIST = re.compile(r"[\n,()\[\]{}]")
"""Signs of code, whose arguments look like such words."""

_LONGEST_LINE = 512
"""Characters before and after a password in which the rest of what it belongs to is looked for."""


def _is_password(found: re.Match[str]) -> bool:
    """Whether it is no placeholder."""
    user = found["user"] if "user" in found.re.groupindex else ""
    password = found["secret"]
    return (
        password != user
        and not (_PORT.fullmatch(password) and _HOST.fullmatch(user))
        and password.lower() not in _ORDINARY_PASSWORDS
        and not _PLACEHOLDER.search(password)
        and not set(password) <= set("*.x-_")
    )


def _is_connection(found: re.Match[str]) -> bool:
    """Whether a password belongs to the words that say how to connect to a database."""
    text, (start, end) = found.string, found.span("secret")
    line = max(text.rfind("\n", max(0, start - _LONGEST_LINE), start), start - _LONGEST_LINE) + 1
    before = _LIST.split(text[max(line, 0) : start])[-1]
    after = _LIST.split(text[end : end + _LONGEST_LINE], maxsplit=1)[0]
    named = _HOSTS.search(before) or _HOSTS.search(after)
    return _is_password(found) and not _REFERENCE.fullmatch(found["secret"]) and named is not None


def _is_issued(found: re.Match[str]) -> bool:
    return _is_random(found["secret"])


_PLACED = (
    _Placed(
        "addresses",
        "://",
        (
            r"://(?<=[A-Za-z0-9+.-]://)(?P<user>[^\s/?#@:\"'<>`]{0,256}):"
            rf"{_NO_VALUE}(?!\d{{1,5}}[,;&|)\]])(?P<secret>[^\s/?#@\"'<>`]{{1,512}})@"
        ),
        _is_password,
    ),
    _Placed(
        "Slack",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{30,})",
        _is_issued,
    ),
    _Placed(
        "Discord",
        "/webhooks/",
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{15,20}/(?P<secret>[\w-]{40,})",
        _is_issued,
    ),
    _Placed(
        "Discord",
        ".",
        (
            r"\.(?:(?<=[MNO][\w-]{22}\.)|(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{25}\.))"
            r"(?P<secret>[\w-]{6}\.[\w-]{27,40})(?![\w.-])"
        ),
        _is_issued,
    ),
    _Placed("Telegram", ":A", r":(?<=\d{8}:)(?P<secret>A[\w-]{34})(?![\w-])", _is_issued),
    _Placed(
        "Terraform",
        ".atlasv1.",
        r"\.atlasv1\.(?<=[A-Za-z0-9]{14}\.atlasv1\.)(?P<secret>[\w=-]{60,70})",
        _is_issued,
    ),
    _Placed(
        "Azure",
        "Q~",
        r"Q~(?<=\dQ~)(?P<secret>[\w.~-]{31,34})(?![\w~-])",
        _is_issued,
    ),
    _Placed(
        "Azure",
        "AccountKey",
        r"AccountKey=(?P<secret>[A-Za-z0-9+/]{80,}={0,2})",
        _is_issued,
    ),
    *(
        _Placed(
            "npm",
            sign,
            rf"{sign}(?<![^:\s]{sign})(?:Token)?[ \t]?=[ \t]?[\"']?{_NO_VALUE}(?P<secret>[\w./+=-]{{8,}})",
            _is_password,
        )
        for sign in ("_auth", "_password")
    ),
    _Placed(
        "netrc",
        "machine",
        (
            r"machine(?<!\wmachine)\s{1,8}\S{1,256}(?:\s{1,8}(?:login|account)\s{1,8}\S{1,256}){0,2}"
            rf"\s{{1,8}}password\s{{1,8}}{_NO_VALUE}(?P<secret>\S{{1,512}})"
        ),
        _is_password,
    ),
    _Placed(
        "netrc",
        "default",
        (
            r"default(?<![^\n]default)\s{1,8}login\s{1,8}\S{1,256}"
            rf"\s{{1,8}}password\s{{1,8}}{_NO_VALUE}(?P<secret>\S{{1,512}})"
        ),
        _is_password,
    ),
    *(
        _Placed(
            "databases",
            sign,
            (
                rf"{sign}(?<![\w.-]{sign})={_NO_VALUE}(?P<secret>[^\s;&\"'`,(){{}}<>]{{4,256}})"
                r"(?=[;&\s\"'`]|\Z)"
            ),
            _is_connection,
        )
        for sign in ("password", "Password", "PASSWORD", "pwd", "Pwd", "PWD")
    ),
)

_PRIVATE = r"(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_BEGIN = "-----BEGIN "
_PEM = re.compile(rf"{_PEM_BEGIN}{_PRIVATE}((?:(?!-----)[\s\S]){{0,{_MOST_HELD}}})(-----END {_PRIVATE})?")
_PEM_END = re.compile(rf"-----END {_PRIVATE}")
_PEM_MARK = re.compile(r"-----(BEGIN|END) ((?:[A-Z0-9]{1,16} ){0,4}[A-Z0-9]{1,16})-----")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{24}")
_LAYOUT = re.compile(
    r"(?:[^\s:]{1,200}:(?:\d{1,9}:)?|[^\s:]{1,200}-\d{1,9}-|[ \t]{0,16}\d{1,9}(?:\t|[:|-] ?))?"
    r"[ \t>|+#/*\"'-]{0,8}"
)
"""What programs, and results of ours, put before a line of a file."""

_KEY_LINE = re.compile(r"[ \t\d|:>+-]{0,24}(?:[A-Za-z0-9+/=]{16,}|)[ \t\r]*")
_KEY_START = re.compile(r"(?:\\[nr]|[ \t\d|:>+-]){0,24}(?:[A-Za-z0-9+/=]|\\[nr]){24,}")
"""A key that is part of a line, as in a string."""

_BODY = r"([A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?)"
_TRAIL = r"(?:\\n)?[\"']?[ \t]{0,4}[+,;$\\]?[ \t\r]{0,8}"
_FULL_LINE = re.compile(rf"(?:\A\+?|[^A-Za-z0-9+/]){_BODY}{_TRAIL}\Z")
_LINE_END = re.compile(rf"(?:\A|[^A-Za-z0-9+/])([A-Za-z0-9+/]{{16,70}}){_TRAIL}\Z")
_JOINED_LINE = re.compile(rf"(?:\A|(?<=\\n)|(?<=[\s\"'=:])){_BODY}(?=\\[rn]|[ \"']|\Z)")
"""A whole line of a private key: PEM has 64 columns, OpenSSH 70."""

_GAP = re.compile(rf"(?:{_TRAIL}\n(?:{_LAYOUT.pattern})|(?:\\r)?\\n| )")
_WIDTHS = (64, 70)
_WIDEST_BODY = 80
_FEWEST_LINES = 2
_FEWEST_CHARACTERS = 24
_LEAST_OF_A_LINE = 16
_BACKWARDS = re.compile(r"[A-Za-z0-9+/=\\]*")
_QUOTED_REST = re.compile(r"(?:\\r)?\\n([A-Za-z0-9+/]{16,70}={0,2})")
_PARTIAL = re.compile(rf"([A-Za-z0-9+/]{{1,70}}={{0,2}}){_TRAIL}")

_SIGNS = (
    *(prefix for kind in _ISSUED for prefix in kind.prefixes if len(prefix) > 3),
    *("sk-", "hf_", "r8_", "fw_", "md-", "re_", "SG.", "pat", "eyJ", "cio", "SK", "://", "atlasv1.", "Q~"),
    *("AccountKey", ":A", _PEM_BEGIN),
)
_LONGEST_SIGN = max(map(len, _SIGNS))
_LINE_SIGNS = re.compile(
    r"secret_?(?:access_?)?key|aws_?secret|_auth|machine|password|pwd|default", re.IGNORECASE
)
"""Words on whose line a secret may follow."""

_WORD_CHARACTERS = string.ascii_letters + string.digits + "-_+/=.:@%~!$&()*,;\\"
_IN_WORD = re.compile(r"(?!\Z)(?!.?\\[nrt]\Z)(?!%[0-9A-F]{2}\Z).{0,2}[A-Za-z0-9]\Z", re.DOTALL)
"""What stands before a place in a word, unless it is an escape."""

_LONG_WORD = re.compile(r"[MNO][\w-]{22}|[A-Za-z0-9+/=\\]{20}")
_CONTEXT = 1024
_WIDEST = 4096
"""Characters of one word that a stream holds back."""


def looks_like_key(value: str) -> bool:
    """Whether a whole value begins like a key; a little is enough."""
    return bool(LOOSE_KEY.match(value)) or any(
        value.startswith(prefix) and _issued(prefix, kind.body).match(value)
        for kind in _ISSUED
        for prefix in kind.prefixes
    )


def markers_in(text: str) -> int:
    """How many secrets a text has given way to markers."""
    return sum(1 for _ in _MARKERS.finditer(text))


def holds_marker(value: Any) -> bool:
    """Whether JSON content has a marker in it, also one in the quotes and escapes of a command."""
    if isinstance(value, str):
        return _MARKERS.search(_BLANKS.sub(" ", value.translate(_QUOTES))) is not None
    if isinstance(value, list):
        return any(map(holds_marker, cast("list[Any]", value)))
    if isinstance(value, dict):
        return any(holds_marker([*pair]) for pair in cast("dict[Any, Any]", value).items())
    return False


def has_secret(text: str) -> bool:
    """Whether something in a text looks like a key."""
    return bool(_spans(text))


class Redactor:
    """Takes the values of `secrets`, and what looks like a key, out of text."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._own = Veil(secrets)

    def text(self, text: str, *, whole: bool = False) -> str:
        """A text, in which each line stays in its place. One that was made of `whole` files, which were gone
        through before, has no parts of private keys."""
        text = self._own.over(text)
        return _without(text, _spans(text, parts=not whole))

    def value(self, value: Any, *, whole: bool = False) -> Any:
        """JSON content, with all of its texts."""
        if isinstance(value, str):
            return self.text(value, whole=whole)
        if isinstance(value, list):
            return [self.value(each, whole=whole) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            return {
                self.value(key, whole=whole): self.value(each, whole=whole) for key, each in fields.items()
            }
        return value


class RedactedStream:
    """Takes the same out of text that comes in pieces."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._own = Veil(secrets)
        self._held = ""
        self._before = ""
        self._public = False

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be shown now; what may be the beginning of a secret is held back, but for the last
        piece."""
        text = self._held + self._own.feed(text, final=final)
        cut = len(text) if final else _undecided(text, self._before)
        if len(text) - cut > _MOST_HELD:
            cut = len(text)
        text, self._held = text[:cut], text[cut:]
        before = len(self._before)
        seen = self._before + text
        spans = [
            (max(start, before), end) for start, end in _spans(seen, public=self._public) if end > before
        ]
        shown = _without(seen, spans)[before:]
        self._before = _last_lines(seen)
        marks = _PEM_MARK.findall(seen, 0, len(seen) - len(self._before))
        if marks:
            self._public = _opens_public(*marks[-1])
        return shown


class Veil:
    """Puts a note in the place of known secrets, in text that comes in pieces."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._names = {value: name for name, value in secrets.items() if len(value) >= _SHORTEST_SECRET}
        # Of two keys, one of which begins with the other, the longer one.
        values = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, values))) if values else None
        self._longest = len(values[0]) if values else 0
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be said now; the beginning of what may be a key is held back, but for the last piece."""
        if self._pattern is None:
            return text
        text = self._pattern.sub(self._note, self._held + text)
        self._held = "" if final else self._possible_beginning(text)
        return text[: len(text) - len(self._held)]

    def over(self, text: str) -> str:
        """A whole text, whatever is held back."""
        return text if self._pattern is None else self._pattern.sub(self._note, text)

    def _note(self, found: re.Match[str]) -> str:
        note = f"[{self._names[found[0]]} is not shown]"
        return "\n".join([note] * (found[0].count("\n") + 1))

    def _possible_beginning(self, text: str) -> str:
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            end = text[start:]
            if any(value.startswith(end) for value in self._names):
                return end
        return ""


def _without(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], MARKER)
        done = end
    return "".join((*pieces, text[done:]))


def _spans(text: str, *, parts: bool = True, public: bool = False) -> list[Span]:
    """The secrets of a text, in order and without overlap, none over the end of a line. With `parts`, those
    of private keys that were cut; `public` says that the text goes on with a certificate or the like."""
    found = [*_issued_keys(text), *_placed_secrets(text)]
    if _PEM_BEGIN in text:
        found += _private_keys(text)
    if parts:
        found += _parts_of_keys(text, public=public)
    return _merged(sorted(found))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _issued_keys(text: str) -> Iterator[Span]:
    for kind in _ISSUED:
        for prefix in kind.prefixes:
            if prefix in text:
                for found in _issued(prefix, kind.body).finditer(text):
                    likely = not _PLACEHOLDER.search(found[1]) if kind.certain else _is_random(found[1])
                    if likely and not _HASH_BEFORE.search(text, max(0, found.start() - 8), found.start()):
                        yield found.span()


def _placed_secrets(text: str) -> Iterator[Span]:
    for kind in _PLACED:
        if kind.sign in text:
            yield from (
                found.span("secret") for found in _placed(kind.pattern).finditer(text) if kind.accepts(found)
            )
    if _AWS_SIGNS.search(text):
        yield from (found.span(1) for found in _AWS.finditer(text))


def _is_random(body: str) -> bool:
    """Whether it is no word, no counting and no placeholder: its letters are of both cases about as often, or
    it has digits all over."""
    characters = body.translate(_SEPARATORS)
    if len(set(characters)) < _FEWEST_DISTINCT or _PLACEHOLDER.search(body):
        return False
    digits = sum(map(str.isdigit, characters))
    upper = sum(map(str.isupper, characters))
    letters = len(characters) - digits
    if 0.25 * letters <= upper <= 0.75 * letters and upper:
        return True
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(characters))
    return digits * 16 >= len(characters) and changes * 16 >= len(characters)


def _private_keys(text: str) -> Iterator[Span]:
    """What stands between the first and the last line of private keys."""
    for found in _PEM.finditer(text):
        start, end = found.span(1)
        if not _KEY_MATERIAL.search(text, start, end):
            # Code that speaks of keys.
            continue
        for first, last in _lines(text, start, end):
            if found[2] is None and not _KEY_LINE.fullmatch(text, first, last):
                if cut := _KEY_START.match(text, first, last):
                    yield cut.span()
                break
            if part := _without_layout(text, first, last, whole=first == start):
                yield part


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    while start <= end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _without_layout(text: str, start: int, end: int, *, whole: bool = False) -> Span | None:
    """The part of a line that is of a key; None where there is none."""
    layout = None if whole else _LAYOUT.match(text, start, end)
    start = layout.end() if layout else start
    end = start + len(text[start:end].rstrip())
    return (start, end) if start < end else None


def _parts_of_keys(text: str, *, public: bool) -> Iterator[Span]:
    """Lines of private keys whose first or last line is not there."""
    marks = [
        (found.start(), _opens_public(found[1], found[2]), found[1]) for found in _PEM_MARK.finditer(text)
    ]
    starts = [start for start, _public, _which in marks]

    def is_public(place: int) -> bool:
        index = bisect_right(starts, place)
        if index:
            return marks[index - 1][1]
        return public or (bool(marks) and marks[0][2] == "END" and not _PEM_END.match(text, marks[0][0]))

    for run in _runs(sorted({*_full_lines(text)}), text):
        if (
            len(run) >= _FEWEST_LINES
            and not is_public(run[0][0])
            and all(_is_dense(text, one) for one in run)
        ):
            yield from (*_beside(text, run), *run)
    for end in _PEM_END.finditer(text):
        yield from _before_end(text, end.start())


def _opens_public(which: str, label: str) -> bool:
    """Whether what follows a mark of PEM is for everyone's eyes."""
    return which == "BEGIN" and "PRIVATE KEY" not in label


def _full_lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        length = len(line)
        if length >= _WIDTHS[0]:
            found = _FULL_LINE.search(line, max(0, length - _WIDEST_BODY))
            if found and _LAYOUT.fullmatch(line, 0, found.start(1)):
                yield start + found.start(1), start + found.end(1)
            if length > 2 * _WIDTHS[0]:
                joined = _JOINED_LINE.finditer(line)
                yield from ((start + one.start(1), start + one.end(1)) for one in joined)
        start += length + 1


def _runs(lines: Iterable[Span], text: str) -> Iterator[list[Span]]:
    """Lines that follow each other."""
    run: list[Span] = []
    for line in lines:
        if run and not _GAP.fullmatch(text, run[-1][1], line[0]):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _is_dense(text: str, span: Span) -> bool:
    """Whether characters of all kinds are in it, as in random bytes."""
    part = text[slice(*span)]
    return not (part.islower() or part.isupper()) and any(map(str.isdigit, part))


def _beside(text: str, run: list[Span]) -> Iterator[Span]:
    """The end of a line before the first whole line of a key, and what is left in the line after its last."""
    first, last = run[0][0], run[-1][1]
    above = text.rfind("\n", max(0, first - _WIDEST), first)
    if above >= 0:
        begin = text.rfind("\n", max(0, above - _WIDEST), above) + 1
        part = _key_part(text, begin, above) or _line_end(text, begin, above)
        if part and _is_dense(text, part):
            yield part
    if text.startswith("\n", last):
        below = text.find("\n", last + 1, last + _WIDEST)
        part = _key_part(text, last + 1, below if below >= 0 else min(len(text), last + _WIDEST))
        if part and (_is_dense(text, part) or text[part[1] - 1] == "="):
            yield part
    elif found := _QUOTED_REST.match(text, last):
        yield found.span(1)


def _key_part(text: str, start: int, end: int) -> Span | None:
    """The part of a line that may be of a key: there is nothing else in the line."""
    part = _without_layout(text, start, end)
    found = _PARTIAL.fullmatch(text, *part) if part else None
    return found.span(1) if found else None


def _line_end(text: str, start: int, end: int) -> Span | None:
    """What may be of a key where a name or a quote stands before it."""
    found = _LINE_END.search(text[start:end])
    return (start + found.start(1), start + found.end(1)) if found else None


def _before_end(text: str, place: int) -> Iterator[Span]:
    """What stands of a key before its last line, which is at `place`."""
    line = text.rfind("\n", max(0, place - _MOST_HELD), place) + 1
    quoted = _BACKWARDS.match(text[line:place][::-1])
    if quoted and len(quoted[0]) >= _FEWEST_CHARACTERS:
        yield place - len(quoted[0]), place
    lines: list[Span] = []
    while line > 0 and place - line < _MOST_HELD:
        above = text.rfind("\n", max(0, line - 1 - _WIDEST), line - 1) + 1
        part = _key_part(text, above, line - 1)
        if part is None:
            break
        lines.append(part)
        line = above
    if sum(end - start for start, end in lines) >= _FEWEST_CHARACTERS and any(
        _is_dense(text, each) for each in lines
    ):
        yield from lines


def _last_lines(text: str) -> str:
    """The end of a text by which the beginning of what follows is judged."""
    end = text[-_CONTEXT:]
    return end if len(end) == len(text) or "\n" not in end else end[end.index("\n") + 1 :]


def _undecided(text: str, before: str) -> int:
    """Where the end of `text`, which follows `before`, begins that may be the beginning of a secret."""
    cut = len(text)
    block = text.rfind(_PEM_BEGIN)
    if block >= 0 and not _PEM_END.search(text, block):
        mark = _PEM_MARK.match(text, block)
        if (mark is None and "\n" not in text[block:]) or (mark and "PRIVATE KEY" in mark[2]):
            cut = block
    seen = (before + text)[-_WIDEST:]
    line = seen.rfind("\n") + 1
    word = len(seen.rstrip(_WORD_CHARACTERS))
    starts = [cut + len(seen) - len(text), _key_lines(seen)]
    if _LINE_SIGNS.search(seen, line):
        starts.append(line)
    ending = seen[word:]
    if any(sign in ending for sign in _SIGNS) or _LONG_WORD.match(ending) or _ends_like_sign(seen):
        starts.append(word)
    return max(0, min(starts) - len(seen) + len(text))


def _key_lines(text: str) -> int:
    """Where the lines at the end begin that may be of a private key, unless that is known already."""
    start = place = text.rfind("\n") + 1
    last = _key_part(text, start, len(text))
    length = last[1] - last[0] if last else 0
    full = 0
    while place > 0:
        above = text.rfind("\n", 0, place - 1) + 1
        part = _key_part(text, above, place - 1)
        line = part or _line_end(text, above, place - 1)
        if line is None or not _is_dense(text, line):
            break
        place = above
        if part is None:
            break
        full += part[1] - part[0] in _WIDTHS
    if full < _FEWEST_LINES and place < start:
        return place
    return start if length >= (1 if full else _LEAST_OF_A_LINE) else len(text)


def _ends_like_sign(text: str) -> bool:
    """Whether a sign may be about to be completed."""
    if text.endswith((":", ":/")):
        return True
    starts = range(max(0, len(text) - _LONGEST_SIGN), len(text))
    ends = (text[start:] for start in starts if not _IN_WORD.match(text[max(0, start - 3) : start]))
    return any(sign.startswith(end) for end in ends for sign in _SIGNS)
