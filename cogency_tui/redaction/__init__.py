"""Secrets in text: our keys, and what looks like a key, give way to a marker.

Invariant: whatever a text holds, the time is linear in its length, and the text has as many lines as before:
line for line it says what can be shown. A key is not shown however a stream of text is cut, unless it is
longer than what a stream holds back.

A secret is recognised by the prefix of its issuer (`issuers`), by what surrounds it (`contexts`), by the name
beside it (`named_values`) or the name of its file (`secret_files`), as a private key or a part of one
(`private_keys`), or because it is known: one of ours (`own_values`), or one that a file was seen to hold
(`known_secrets`). Length and randomness count, so that hashes, identifiers and placeholders of ordinary code
stay as they are. `redact` goes through whole texts, `streams` through text that comes in pieces.
"""

from cogency_tui.redaction.issuers import LOOSE_KEY, looks_like_key
from cogency_tui.redaction.known_secrets import KnownSecrets
from cogency_tui.redaction.markers import MARKER, holds_marker, markers_in
from cogency_tui.redaction.own_values import Veil
from cogency_tui.redaction.redact import Redactor, has_secret, secrets_of
from cogency_tui.redaction.secret_files import is_secret_file
from cogency_tui.redaction.streams import RedactedStream

__all__ = [
    "LOOSE_KEY",
    "MARKER",
    "KnownSecrets",
    "RedactedStream",
    "Redactor",
    "Veil",
    "has_secret",
    "holds_marker",
    "is_secret_file",
    "looks_like_key",
    "markers_in",
    "secrets_of",
]
