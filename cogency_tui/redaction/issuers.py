"""Secrets that are recognised by their issuer's prefix."""

import base64
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from cogency_tui.redaction.randomness import PLACEHOLDER, is_random
from cogency_tui.redaction.secret_spans import Span


class _Issued(NamedTuple):
    """Secrets that begin with one of `prefixes` and continue as in `body`; a form that is `certain` need
    not look random."""

    issuer: str
    prefixes: tuple[str, ...]
    body: str
    certain: bool = False


def _in_base64(kind: str) -> str:
    """Return the beginning of a private key in PEM that is encoded in Base64 once more."""
    head = f"-----BEGIN {kind}PRIVATE KEY"
    return base64.b64encode(head[: len(head) // 3 * 3].encode()).decode()


_WORD = r"[A-Za-z0-9]"
_TEXT = r"[\w-]"
_HEX = r"[a-f0-9]"
_END = r"(?![A-Za-z0-9])"

_ISSUED = (
    # OpenAI, Anthropic, OpenRouter and similar ones: words divided by hyphens are no secret.
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
"""Secrets by their issuers: prefixes, and patterns of what follows them."""

PREFIXES = tuple(prefix for kind in _ISSUED for prefix in kind.prefixes)

_DISTINCT = 4
"""Length from which on a prefix also counts behind a hyphen."""

LOOSE_KEY = re.compile(
    r"(sk|pk|rk)-[\w-]{16}|gh[pousr]_\w{16}|github_pat_|xox[abprs]-|AIza[\w-]{20}|AKIA\w{12}"
)
_HASH_BEFORE = re.compile(r"(?i:sha|md)\d{1,3}[=:-]\Z")
"""Prefix of a hash, which begins like a secret by chance."""


def issued_keys(text: str) -> Iterator[Span]:
    for kind in _ISSUED:
        for prefix in kind.prefixes:
            if prefix in text:
                for found in _issued(prefix, kind.body).finditer(text):
                    likely = not PLACEHOLDER.search(found[1]) if kind.certain else is_random(found[1])
                    if likely and not _HASH_BEFORE.search(text, max(0, found.start() - 8), found.start()):
                        yield found.span()


def resembles_key(value: str) -> bool:
    """Return whether a whole value begins like a secret; a short beginning suffices."""
    if LOOSE_KEY.match(value):
        return True
    return value.startswith(PREFIXES) and any(
        value.startswith(prefix) and _issued(prefix, kind.body).match(value)
        for kind in _ISSUED
        for prefix in kind.prefixes
    )


@cache
def _issued(prefix: str, body: str) -> "re.Pattern[str]":
    """Compile the pattern of a secret that begins with `prefix`, not within a word: also behind an escape
    of a string, an address or a terminal."""
    begin = re.escape(prefix)
    distinct = len(prefix) >= _DISTINCT or prefix.endswith("_")
    inside = "[A-Za-z0-9]" if distinct else r"[\w-]"
    boundary = (
        rf"(?:(?<!{inside}{begin})|(?<=\\[nrt]{begin})|(?<=%[0-9A-F][0-9A-F]{begin})|(?<=[\d;\[]m{begin}))"
    )
    # The literal comes first, so that the search is as fast as one for a literal.
    return re.compile(rf"{begin}{boundary}({body})")
