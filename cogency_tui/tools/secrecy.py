"""Keys stay out of what commands see and of what they are reported to have said."""

import re
from collections.abc import Mapping

from cogency_tui.child_processes import without_secrets
from cogency_tui.redaction import LOOSE_KEY, MARKER, Redactor

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
    kept = without_secrets(environ, [*secrets, *(name for name, value in environ.items() if value in values)])
    return {name: value for name, value in kept.items() if name not in _ASKING} | _UNATTENDED


_SECRET_PHRASE = re.compile(
    r"\b(?:password|passwor[dt]|passphrase|secret|token|api[ _-]?key|credentials?|pin)\b"
    r"(?:\s+(?:is|are)\s+|\s*[:=]\s*)\S+",
    re.IGNORECASE,
)
_SECRET_ANYWHERE = re.compile(
    rf"(?<![\w-])(?:{LOOSE_KEY.pattern})[\w-]*"
    # Letters and digits mixed, as long as no word is.
    r"|(?<![\w/+-])(?=[\w+-]*\d)(?=[\w+-]*[A-Za-z])[\w+-]{32,}={0,2}"
    r"|-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)",
    re.DOTALL,
)


def masked(text: str, secrets: Mapping[str, str]) -> str:
    """`text` with a note in the place of our keys, and of what looks like a key or a password."""
    text = Redactor(secrets).text(text)
    return _SECRET_PHRASE.sub(MARKER, _SECRET_ANYWHERE.sub(MARKER, text))
