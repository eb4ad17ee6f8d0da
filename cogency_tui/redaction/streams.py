"""The redaction of text that arrives in pieces."""

import re
import string
from collections.abc import Mapping

from cogency_tui.redaction.command_line_passwords import SIGNS
from cogency_tui.redaction.environment_secrets import Veil
from cogency_tui.redaction.issuers import PREFIXES
from cogency_tui.redaction.markers import replaced
from cogency_tui.redaction.named_values import LONGEST_NAME, STEMS, undecided_value
from cogency_tui.redaction.private_keys import PEM_BEGIN, PEM_END, PEM_MARK, opens_public, undecided_lines
from cogency_tui.redaction.redact import secrets_of
from cogency_tui.redaction.remembered_secrets import KnownSecrets
from cogency_tui.redaction.secret_spans import MOST_HELD, WIDEST

_SIGNS = (
    *(prefix for prefix in PREFIXES if len(prefix) > 3),
    *("sk-", "hf_", "r8_", "fw_", "md-", "re_", "SG.", "pat", "eyJ", "cio", "SK", "://", "atlasv1.", "Q~"),
    *(":A", PEM_BEGIN, "-us", "$2", "$1$", "$5$", "$6$", "$y$j9T$", "$apr1$", "$argon2", "SHA}"),
    *(":5432:", "*:*:"),
)
_LONGEST_SIGN = max(map(len, _SIGNS))
_LINE_SIGNS = re.compile(rf"_auth|machine|password|pwd|default|{SIGNS}", re.IGNORECASE)
"""Words on whose line, or in whose command, a secret may follow."""

_NAME_SIGNS = re.compile(rf"{'|'.join(STEMS)}|value", re.IGNORECASE)
"""Words of names that a secret may follow."""

_MOST_WORDS = 6
"""Words from the name of a secret to its end."""

_WORD_CHARACTERS = string.ascii_letters + string.digits + "-_+/=.:@%~!$&()*,;\\"
_NAME_CHARACTERS = string.ascii_letters + string.digits + "-_.\"'\\["
_IN_WORD = re.compile(r"(?!\Z)(?!.?\\[nrt]\Z)(?!%[0-9A-F]{2}\Z).{0,2}[A-Za-z0-9]\Z", re.DOTALL)
"""Text before a position within a word, unless it is an escape."""

_LONG_WORD = re.compile(r"[a-f0-9]{8}|[MNO][\w-]{22}|[A-Za-z0-9+/=\\]{20}")
_CONTEXT = 1024
"""Characters before a piece that serve as its context."""


class RedactedStream:
    """Redacts text in pieces as `Redactor` does a whole."""

    def __init__(self, secrets: Mapping[str, str], known: KnownSecrets | None = None) -> None:
        self._own = Veil(secrets)
        self._known = KnownSecrets() if known is None else known
        self._held = ""
        self._before = ""
        self._public = False

    def feed(self, text: str, *, final: bool = False) -> str:
        """Return the text that can be shown now; a possible beginning of a secret is held back, except with
        the last piece."""
        text = self._held + self._own.feed(text, final=final)
        cut = len(text) if final else _undecided(text, self._before, words=bool(self._known))
        if len(text) - cut > MOST_HELD:
            cut = len(text)
        text, self._held = text[:cut], text[cut:]
        before = len(self._before)
        seen = self._before + text
        spans = [
            (max(start, before), end)
            for start, end in secrets_of(seen, public=self._public, known=self._known)
            if end > before
        ]
        shown = replaced(seen, spans)[before:]
        self._before = _last_lines(seen)
        marks = PEM_MARK.findall(seen, 0, len(seen) - len(self._before))
        if marks:
            self._public = opens_public(*marks[-1])
        return shown


def _last_lines(text: str) -> str:
    """Return the end of a text that is the context of the following one."""
    if value := undecided_value(text[-WIDEST:]):
        first = max(0, len(text) - WIDEST)
        line = max(first, text.rfind("\n", first, first + value[0]) + 1)
        return text[min(line, max(0, len(text) - _CONTEXT)) :]
    end = text[-_CONTEXT:]
    return end if len(end) == len(text) or "\n" not in end else end[end.index("\n") + 1 :]


def _undecided(text: str, before: str, *, words: bool) -> int:
    """Return the start of the end of `text`, which follows `before`, that may begin a secret; with `words`,
    any word may."""
    cut = len(text)
    block = text.rfind(PEM_BEGIN)
    if block >= 0 and not PEM_END.search(text, block):
        mark = PEM_MARK.match(text, block)
        if (mark is None and "\n" not in text[block:]) or (mark and "PRIVATE KEY" in mark[2]):
            cut = block
    seen = (before + text)[-WIDEST:]
    line = seen.rfind("\n") + 1
    word = len(seen.rstrip(_WORD_CHARACTERS))
    starts = [cut + len(seen) - len(text), undecided_lines(seen)]
    command = _command(seen, line)
    if _LINE_SIGNS.search(seen, command):
        starts.append(command)
    if (name := _last_name(seen, line)) is not None:
        starts.append(name)
    if value := undecided_value(seen):
        starts.append(value[1])
    if words and not seen[-1:].isspace():
        starts.append(len(seen) - len(seen.split()[-1]))
    ending = seen[word:]
    if any(sign in ending for sign in _SIGNS) or _LONG_WORD.match(ending) or _ends_like_sign(seen):
        starts.append(word)
    return max(0, min(starts) - len(seen) + len(text))


def _command(text: str, line: int) -> int:
    """Return the start of the command that a line, which begins at `line`, continues, or else of the line."""
    while text.endswith("\\\n", 0, line):
        line = text.rfind("\n", 0, line - 1) + 1
    return line


def _last_name(text: str, line: int) -> int | None:
    """Return the start of the last words, in a line that begins at `line`, of which one may be a secret's
    name."""
    words = text[line:].rsplit(maxsplit=_MOST_WORDS)
    begin = line + (len(words[0]) if len(words) > _MOST_WORDS else 0)
    signs = [found.start() for found in _NAME_SIGNS.finditer(text, begin)]
    if not signs:
        return None
    # In a line that is longer than the examined part, the last name.
    sign = signs[0] if line or len(text) < WIDEST else signs[-1]
    return max(line, sign - LONGEST_NAME, len(text[:sign].rstrip(_NAME_CHARACTERS)))


def _ends_like_sign(text: str) -> bool:
    """Return whether a sign may be about to be completed."""
    if text.endswith((":", ":/")):
        return True
    starts = range(max(0, len(text) - _LONGEST_SIGN), len(text))
    ends = (text[start:] for start in starts if not _IN_WORD.match(text[max(0, start - 3) : start]))
    return any(sign.startswith(end) for end in ends for sign in _SIGNS)
