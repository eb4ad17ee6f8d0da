"""Keys of every kind, made anew for each run: no scanner takes the tests for a leak."""

import random
import string
from base64 import b64encode

_RANDOM = random.Random(15)
_WORD = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"


def word(length: int, characters: str = _WORD) -> str:
    """Random characters."""
    return "".join(_RANDOM.choices(characters, k=length))


def private_key(kind: str = "", columns: int = 64) -> str:
    """What looks like a private key in PEM."""
    body = b64encode(_RANDOM.randbytes(1190)).decode()
    lines = [body[at : at + columns] for at in range(0, len(body), columns)]
    return "\n".join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----", ""])


def issued() -> dict[str, str]:
    """A key of each issuer, which is a secret as a whole."""
    return {
        "Adobe-like Google secret": "GOCSPX-" + word(28),
        "Tavily": "tvly-dev-" + word(32),
        "Notion": "ntn_" + word(11, string.digits) + word(35),
        "Notion, older": "secret_" + word(43),
        "Square": "sq0atp-" + word(22),
        "Square application": "sq0csp-" + word(43),
        "Square access": "EAAA" + word(60),
        "Atlassian": "ATATT3xFfGF0" + word(170) + "=0A1B2C3D",
        "Pulumi": "pul-" + word(40, _HEX),
        "Databricks": "dapi" + word(32, _HEX),
        "Figma": "figd_" + word(40),
        "New Relic": "NRAK-" + word(27, _UPPER),
        "Sentry": "sntrys_eyJ" + word(60) + "_" + word(43),
        "Sentry user": "sntryu_" + word(64, _HEX),
        "RubyGems": "rubygems_" + word(48, _HEX),
        "Doppler": "dp.pt." + word(43),
        "PlanetScale": "pscale_tkn_" + word(43),
        "Fly.io": "fo1_" + word(43),
        "Heroku": "HRKU-AA" + word(58),
        "Nostr": "nsec1" + word(58, "023456789acdefghjklmnpqrstuvwxyz"),
        "Twilio": "SK" + word(32, _HEX),
        "Cloudflare": "v1.0-" + word(24, _HEX) + "-" + word(146, _HEX),
        "Shopify": "shpat_" + word(32, _HEX),
        "Facebook": "EAAC" + word(150),
        "age": "AGE-SECRET-KEY-1" + word(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        "Slack app": "xapp-1-A012345678-1234567890123-" + word(64, _HEX),
        "GitLab runner": "glrt-t1_" + word(20),
        "Docker": "dckr_pat_" + word(27),
        "DigitalOcean": "doo_v1_" + word(64, _HEX),
        "Linear": "lin_api_" + word(40),
        "Postman": "PMAK-" + word(24, _HEX) + "-" + word(34, _HEX),
        "ReadMe": "rdme_" + word(70, _LOWER),
        "Hugging Face": "hf_" + word(34, string.ascii_letters),
        "Together": "tgp_v1_" + word(43),
        "LangSmith": "lsv2_pt_" + word(32, _HEX) + "_" + word(10, _HEX),
        "Supabase": "sbp_" + word(40, _HEX),
        "Brevo": "xkeysib-" + word(64, _HEX) + "-" + word(16),
        "Tailscale": "tskey-auth-" + word(12) + "-" + word(32),
        "New Grafana": "glc_" + word(60),
        "Airtable": "pat" + word(14) + "." + word(64, _HEX),
        "PEM in Base64": b64encode(private_key("RSA ").encode()).decode().rstrip("="),
    }


def placed() -> dict[str, tuple[str, str]]:
    """Texts in which a part is a secret because of where it stands, and that part."""
    found = {
        "Terraform": ("{14}.atlasv1.{secret}".replace("{14}", word(14)), word(67)),
        "Slack": (
            "https://hooks.slack.com/services/{secret}",
            f"T{word(8, _UPPER)}/B{word(8, _UPPER)}/{word(24)}",
        ),
        "Discord": ("https://discord.com/api/webhooks/123456789012345678/{secret}", word(68)),
        "Discord bot": ("MTk4NjIyNDgzNDcxOTI1MjQ4.{secret}", "Cl2FMQ." + word(27)),
        "Telegram": ("bot123456789:{secret}", "AA" + word(33)),
        "npm": ("//registry.npmjs.org/:_authToken={secret}", f"{word(8, _HEX)}-{word(12, _HEX)}"),
        "netrc": ("machine api.example login joe password {secret}", "hunter2x"),
        "netrc in lines": ("machine api.example\n  login joe\n  password {secret}\n", "hunter2x"),
        "libpq": ("host=db user=joe password={secret} dbname=x", "hunter2x"),
        "libpq, first": ("password={secret} host=db", "hunter2x"),
        "ADO": ("Server=db;User Id=joe;Password={secret};", "hunter2x"),
        "JDBC": ("jdbc:postgresql://db/x?user=joe&password={secret}&ssl=true", "hunter2x"),
        "Azure": ("abc8Q~{secret}", word(34)),
        "Azure storage": ("AccountName=x;AccountKey={secret}", word(86) + "=="),
        "address": ("redis://joe:{secret}@db:6379/0", "hunter2x"),
        "terminal": ("\x1b[32m{secret}\x1b[0m", "ghp_" + word(36)),
    }
    return {name: (text.replace("{secret}", secret), secret) for name, (text, secret) in found.items()}
