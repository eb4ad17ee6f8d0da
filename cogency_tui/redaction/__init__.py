"""Redaction of text: our secrets, and text that looks like a secret, are replaced by a marker.

Invariant: whatever a text contains, the time is linear in its length, and the number of lines does not
change: each line shows what of it can be shown. A secret is not shown however a stream of text is cut,
unless it is longer than the part that a stream holds back.

A secret is recognised by the prefix of its issuer (`issuers`), by its surroundings (`contextual_secrets`), by
the option of its command (`command_line_passwords`), by the name beside it (`named_values`) or the name of
its file (`secret_files`), as a private key or a part of one (`private_keys`), or because it is known: one of
ours (`environment_secrets`), or one that was found in a file (`remembered_secrets`) or in a conversation's
calls (`conversation_secrets`). Length and randomness count, so that hashes, identifiers and placeholders of
ordinary code stay. `redact` processes whole texts, `streams` text in pieces.

Each public name is resolved on first use: the start needs `resembles_key` alone, and the patterns of the
others take longer to compile than its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cogency_tui.redaction.conversation_secrets import ConversationSecrets
    from cogency_tui.redaction.environment_secrets import Veil
    from cogency_tui.redaction.issuers import LOOSE_KEY, resembles_key
    from cogency_tui.redaction.markers import MARKER, holds_marker, markers_in
    from cogency_tui.redaction.redact import Redactor, has_secret, secrets_of
    from cogency_tui.redaction.remembered_secrets import KnownSecrets
    from cogency_tui.redaction.secret_files import is_secret_file
    from cogency_tui.redaction.streams import RedactedStream

__all__ = [
    "LOOSE_KEY",
    "MARKER",
    "ConversationSecrets",
    "KnownSecrets",
    "RedactedStream",
    "Redactor",
    "Veil",
    "has_secret",
    "holds_marker",
    "is_secret_file",
    "markers_in",
    "resembles_key",
    "secrets_of",
]

_MODULES = {
    "LOOSE_KEY": "issuers",
    "MARKER": "markers",
    "ConversationSecrets": "conversation_secrets",
    "KnownSecrets": "remembered_secrets",
    "RedactedStream": "streams",
    "Redactor": "redact",
    "Veil": "environment_secrets",
    "has_secret": "redact",
    "holds_marker": "markers",
    "is_secret_file": "secret_files",
    "resembles_key": "issuers",
    "markers_in": "markers",
    "secrets_of": "redact",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
