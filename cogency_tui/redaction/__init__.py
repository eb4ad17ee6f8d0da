"""Secrets in text: our keys, and what looks like a key, give way to a marker.

Invariant: whatever a text holds, the time is linear in its length, and the text has as many lines as before:
line for line it says what can be shown. A key is not shown however a stream of text is cut, unless it is
longer than what a stream holds back.

A secret is recognised by the prefix of its issuer (`issuers`), by what surrounds it (`contexts`), as a
private key or a part of one (`private_keys`), or because its value is known (`known_values`); and by its
length and randomness, so that hashes, identifiers and placeholders of ordinary code stay as they are.
`redact` goes through whole texts, `streams` through text that comes in pieces.
"""

from cogency_tui.redaction.issuers import LOOSE_KEY, looks_like_key
from cogency_tui.redaction.known_values import Veil
from cogency_tui.redaction.markers import MARKER, holds_marker, markers_in
from cogency_tui.redaction.redact import Redactor, has_secret
from cogency_tui.redaction.streams import RedactedStream

__all__ = [
    "LOOSE_KEY",
    "MARKER",
    "RedactedStream",
    "Redactor",
    "Veil",
    "has_secret",
    "holds_marker",
    "looks_like_key",
    "markers_in",
]
