"""Removes secrets from the environment of commands and from reports of their output."""

import re
from collections.abc import Mapping

from cogency_tui.child_environment import without_secrets
from cogency_tui.redaction import LOOSE_KEY, MARKER, Redactor

_UNATTENDED = {
    **{"TERM": "dumb", "PAGER": "cat", "EDITOR": "false", "VISUAL": "false", "SSH_ASKPASS_REQUIRE": "never"},
    **{"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "true"},
}
"""Settings for unattended programs: those that would ask or page fail or print instead; git accepts the
message that it proposes."""

_ASKING = frozenset({"SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS"})
"""Programs that would open a window to ask for a password."""


def scrubbed(environ: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without secrets (ours, and those that look like one by name or value) and
    without programs that ask."""
    values = {value for value in secrets.values() if value}
    without = without_secrets(
        environ, [*secrets, *(name for name, value in environ.items() if value in values)]
    )
    return {name: value for name, value in without.items() if name not in _ASKING} | _UNATTENDED


_SECRET_PHRASE = re.compile(
    r"\b(?:password|passwor[dt]|passphrase|secret|token|api[ _-]?key|credentials?|pin)\b"
    r"(?:\s+(?:is|are)\s+|\s*[:=]\s*)\S+",
    re.IGNORECASE,
)
_SECRET_ANYWHERE = re.compile(
    rf"(?<![\w-])(?:{LOOSE_KEY.pattern})[\w-]*"
    # Letters and digits mixed, in the length of no word.
    r"|(?<![\w/+-])(?=[\w+-]*\d)(?=[\w+-]*[A-Za-z])[\w+-]{32,}={0,2}"
    r"|-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)",
    re.DOTALL,
)


def masked(text: str, secrets: Mapping[str, str]) -> str:
    """Replace our secrets in `text`, and what looks like a secret or a password, by a note."""
    text = Redactor(secrets).text(text)
    return _SECRET_PHRASE.sub(MARKER, _SECRET_ANYWHERE.sub(MARKER, text))
