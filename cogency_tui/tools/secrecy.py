"""Keys stay out of what commands see and of what they are reported to have said."""

import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(
    r"(^|_)(KEY|KEYS|APIKEY|TOKEN|TOKENS|SECRET|SECRETS|PAT|PWD|PASS|CREDENTIAL|CREDENTIALS|AUTH)$"
    r"|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_|_SECRET|TOKEN_|CONNECTION_STRING",
    re.IGNORECASE,
)
_ORDINARY_NAMES = frozenset({"PWD", "OLDPWD"})
_SECRET_VALUE = re.compile(
    r"(sk|pk|rk)-[\w-]{16}|gh[pousr]_\w{16}|github_pat_|xox[abprs]-|AIza[\w-]{20}|AKIA\w{12}"
)
_SHORTEST_SECRET = 8

_UNATTENDED = {
    **{"TERM": "dumb", "PAGER": "cat", "EDITOR": "false", "VISUAL": "false", "SSH_ASKPASS_REQUIRE": "never"},
    **{"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "true"},
}
"""Nobody is there to answer: programs that would ask or page fail or print instead; git takes the message
that it proposes."""

_ASKING = frozenset({"SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS"})
"""Programs that would open a window to ask for a password."""


def scrubbed(environ: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """An environment without keys (ours, and what looks like one by its name or value) and without anyone
    to ask."""
    values = {value for value in secrets.values() if value}
    kept = {
        name: value
        for name, value in environ.items()
        if name in _ORDINARY_NAMES
        or not (
            name in secrets
            or value in values
            or name in _ASKING
            or _SECRET_NAME.search(name)
            or _SECRET_VALUE.match(value)
        )
    }
    return kept | _UNATTENDED


_SECRET_PHRASE = re.compile(
    r"\b(?:password|passwor[dt]|passphrase|secret|token|api[ _-]?key|credentials?|pin)\b"
    r"(?:\s+(?:is|are)\s+|\s*[:=]\s*)\S+",
    re.IGNORECASE,
)
_SECRET_ANYWHERE = re.compile(
    rf"(?<![\w-])(?:{_SECRET_VALUE.pattern})[\w-]*"
    # Letters and digits mixed, as long as no word is.
    r"|(?<![\w/+-])(?=[\w+-]*\d)(?=[\w+-]*[A-Za-z])[\w+-]{32,}={0,2}"
    r"|-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)",
    re.DOTALL,
)
_HIDDEN = "[a secret is not shown]"


def masked(text: str, secrets: Mapping[str, str]) -> str:
    """`text` with a note in the place of our keys, and of what looks like a key or a password."""
    text = Veil(secrets).over(text)
    return _SECRET_PHRASE.sub(_HIDDEN, _SECRET_ANYWHERE.sub(_HIDDEN, text))


class Veil:
    """Puts a note in the place of our keys, in text that comes in pieces."""

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
