"""Secrets in text: our keys, and what looks like a key, give way to a marker.

Invariant: whatever a text holds, the time is linear in its length; and a key is not shown however a stream of
text is cut, unless it is longer than what a stream holds back.

A text looks like a key by the prefix that its issuer gives it, its length and its randomness, so that hashes,
identifiers and placeholders of ordinary code stay as they are. Keys without a prefix are not recognised.
"""

import re
import string
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

MARKER = "[a secret is not shown]"
_MARKERS = re.compile(r"\[(?:a secret|[A-Za-z_]\w{0,127}) is not shown\]")

_SHORTEST_SECRET = 8
_MOST_HELD = 1 << 14
"""Characters that a stream holds back at most."""

_WORD = r"[A-Za-z0-9]"
_TEXT = r"[\w-]"

_BODIES: dict[str, str] = {
    # OpenAI, Anthropic, OpenRouter and their kin: words divided by hyphens are no key.
    "sk-": rf"(?:[a-z0-9]{{2,10}}-){{0,3}}[A-Za-z0-9_]{{16}}{_TEXT}*",
    "sk_live_": rf"{_WORD}{{16,}}",
    "sk_test_": rf"{_WORD}{{16,}}",
    "rk_live_": rf"{_WORD}{{16,}}",
    "rk_test_": rf"{_WORD}{{16,}}",
    "whsec_": r"[A-Za-z0-9+/=]{24,}",
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_WORD}{{30,}}"),
    "github_pat_": r"\w{40,}",
    **dict.fromkeys(("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-"), rf"{_TEXT}{{20,}}"),
    "hf_": rf"{_WORD}{{30,}}",
    "SG.": rf"{_TEXT}{{16,32}}\.{_TEXT}{{32,}}",
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"), r"[A-Za-z0-9-]{16,}"),
    "xapp-": r"[A-Za-z0-9-]{24,}",
    **dict.fromkeys(("AKIA", "ASIA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "AIza": rf"{_TEXT}{{35}}",
    "ya29.": rf"{_TEXT}{{30,}}",
    "eyJ": rf"{_TEXT}{{10,}}\.eyJ{_TEXT}{{5,}}\.{_TEXT}{{16,}}",
    "npm_": rf"{_WORD}{{36,}}",
    "pypi-": rf"{_TEXT}{{50,}}",
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{64}"),
    **dict.fromkeys(("shpat_", "shpss_", "shpca_"), r"[a-fA-F0-9]{32}"),
    "dckr_pat_": rf"{_TEXT}{{20,}}",
    "gsk_": rf"{_WORD}{{40,}}",
    "xai-": rf"{_WORD}{{40,}}",
    "nvapi-": rf"{_TEXT}{{40,}}",
    "pplx-": rf"{_WORD}{{40,}}",
    "r8_": rf"{_WORD}{{36,}}",
    "lin_api_": rf"{_WORD}{{32,}}",
    "glsa_": r"\w{32,}",
    "hvs.": rf"{_TEXT}{{24,}}",
    "key-": r"[a-f0-9]{32}(?![A-Za-z0-9])",
    "AGE-SECRET-KEY-1": r"[A-Z0-9]{50,}",
}
"""What follows the prefix of a key."""


@cache
def _token(prefix: str) -> "re.Pattern[str]":
    """A key that begins with `prefix`, not within a word: also behind an escape of a string or an address."""
    begin = re.escape(prefix)
    boundary = rf"(?:(?<![\w-]{begin})|(?<=\\[nrt]{begin})|(?<=%[0-9A-F][0-9A-F]{begin}))"
    # The literal comes first, so that it is searched for as fast as a literal can be.
    return re.compile(rf"{begin}{boundary}({_BODIES[prefix]})")


LOOSE_KEY = re.compile(
    r"(sk|pk|rk)-[\w-]{16}|gh[pousr]_\w{16}|github_pat_|xox[abprs]-|AIza[\w-]{20}|AKIA\w{12}"
)
_PLACEHOLDER = re.compile(r"[xX*]{5}|your|example|placeholder|redacted|dummy|changeme", re.IGNORECASE)
_FEWEST_DISTINCT = 6

_AWS = re.compile(
    r"((?:secret_?access_?key|aws_?secret_?key)[\"']?[ \t]{0,8}[=:][ \t]{0,8}[\"']?)"
    r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    re.IGNORECASE,
)
_AWS_SIGNS = re.compile(r"secret_?(?:access_?)?key", re.IGNORECASE)
_USERINFO = re.compile(
    r"((?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/?#@:\"'<>`]{0,256}:)"
    r"(?![${<*]|%[s(])([^\s/?#@\"'<>`]{1,512})@"
)
_PRIVATE = r"(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_BEGIN = "-----BEGIN "
_PEM = re.compile(rf"({_PEM_BEGIN}{_PRIVATE})((?:(?!-----)[\s\S]){{0,{_MOST_HELD}}})(-----END {_PRIVATE})?")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{24}")
_KEY_LINE = re.compile(r"[ \t\d|:>+-]{0,24}(?:[A-Za-z0-9+/=]{16,}|)[ \t\r]*")
_KEY_START = re.compile(r"\A(?:\\[nr]|[ \t\d|:>+-]){0,24}(?:[A-Za-z0-9+/=]|\\[nr]){24,}")
"""A key that is part of a line, as in a string."""

_PREFIXES = (*_BODIES, _PEM_BEGIN)
_LONGEST_PREFIX = max(map(len, _PREFIXES))
_PEM_END = re.compile(rf"-----END {_PRIVATE}")
_WORD_CHARACTERS = string.ascii_letters + string.digits + "-_+/=.:@%~!$&()*,;\\"
_IN_WORD = re.compile(r"(?!\Z)(?!.?\\[nrt]\Z)(?!%[0-9A-F]{2}\Z).{0,2}[\w-]\Z", re.DOTALL)
"""What stands before a place in a word, unless it is an escape."""

_CONTEXT = 24
_WIDEST = 4096
"""Characters of one word that a stream holds back."""


def looks_like_key(value: str) -> bool:
    """Whether a whole value begins like a key; a little is enough."""
    return bool(LOOSE_KEY.match(value)) or any(
        value.startswith(prefix) and _token(prefix).match(value) for prefix in _BODIES
    )


def markers_in(text: str) -> int:
    """How many secrets a text has given way to markers."""
    return sum(1 for _ in _MARKERS.finditer(text))


def has_secret(text: str) -> bool:
    """Whether something in a text looks like a key."""
    return _without_keys(text) != text


class Redactor:
    """Takes the values of `secrets`, and what looks like a key, out of text."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._own = Veil(secrets)

    def text(self, text: str) -> str:
        """A whole text."""
        return _without_keys(self._own.over(text))

    def value(self, value: Any) -> Any:
        """JSON content, with all of its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(each) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            return {self.value(key): self.value(each) for key, each in fields.items()}
        return value


class RedactedStream:
    """Takes the same out of text that comes in pieces."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._own = Veil(secrets)
        self._held = ""
        self._before = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be shown now; what may be the beginning of a secret is held back, but for the last
        piece."""
        text = self._held + self._own.feed(text, final=final)
        cut = len(text) if final else _undecided(text, self._before)
        if len(text) - cut > _MOST_HELD:
            cut = len(text)
        text, self._held = text[:cut], text[cut:]
        before, self._before = self._before, (self._before + text)[-_CONTEXT:]
        shown = _without_keys(before + text)
        return shown.removeprefix(before) if shown.startswith(before) else _without_keys(text)


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
        return f"[{self._names[found[0]]} is not shown]"

    def _possible_beginning(self, text: str) -> str:
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            end = text[start:]
            if any(value.startswith(end) for value in self._names):
                return end
        return ""


def _without_keys(text: str) -> str:
    if _PEM_BEGIN in text:
        text = _PEM.sub(_private_key, text)
    if "://" in text:
        text = _USERINFO.sub(rf"\1{MARKER}@", text)
    if _AWS_SIGNS.search(text):
        text = _AWS.sub(rf"\1{MARKER}", text)
    for prefix in _BODIES:
        if prefix in text:
            text = _token(prefix).sub(_key, text)
    return text


def _key(found: re.Match[str]) -> str:
    return MARKER if _is_random(found[1]) else found[0]


def _is_random(body: str) -> bool:
    """Whether it is no word, no counting and no placeholder."""
    mixed = body.lower() != body != body.upper()
    has_digit = any(character.isdigit() for character in body)
    varied = len(set(body)) >= _FEWEST_DISTINCT
    return varied and (mixed or has_digit) and not _PLACEHOLDER.search(body)


def _private_key(found: re.Match[str]) -> str:
    begin, body, end = found.groups()
    if not _KEY_MATERIAL.search(body):
        # Code that speaks of keys.
        return found[0]
    if end is not None:
        return f"{begin}{MARKER}{end}"
    lines = body.split("\n")
    count = next((n for n, line in enumerate(lines) if not _KEY_LINE.fullmatch(line)), len(lines))
    rest = [_KEY_START.sub("", lines[count]), *lines[count + 1 :]] if count < len(lines) else []
    return "\n".join([f"{begin}{MARKER}", *rest] if count else [f"{begin}{MARKER}{rest[0]}", *rest[1:]])


def _undecided(text: str, before: str) -> int:
    """Where the end of `text`, which follows `before`, begins that may be the beginning of a secret."""
    cut = len(text)
    block = text.rfind(_PEM_BEGIN)
    if block >= 0 and not _PEM_END.search(text, block):
        cut = block
    signs = _AWS_SIGNS.finditer(text, max(0, len(text) - _WIDEST))
    sign = max((found.start() for found in signs), default=cut)
    if "\n" not in text[sign:]:
        cut = min(cut, sign)
    word = text[max(0, len(text) - _WIDEST) :]
    word = word[len(word.rstrip(_WORD_CHARACTERS)) :]
    if any(prefix in word for prefix in (*_PREFIXES, "://")) or _ends_like_prefix(before + text):
        cut = min(cut, len(text) - len(word))
    return cut


def _ends_like_prefix(text: str) -> bool:
    """Whether a prefix may be about to be completed."""
    if text.endswith((":", ":/")):
        return True
    starts = range(max(0, len(text) - _LONGEST_PREFIX), len(text))
    ends = (text[start:] for start in starts if not _IN_WORD.match(text[max(0, start - 3) : start]))
    return any(prefix.startswith(end) for end in ends for prefix in _PREFIXES)
