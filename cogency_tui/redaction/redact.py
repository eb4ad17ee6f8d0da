"""The redaction of whole texts."""

from collections.abc import Mapping
from typing import Any, cast

from cogency_tui.redaction.contextual_secrets import secrets_by_context
from cogency_tui.redaction.environment_secrets import Veil
from cogency_tui.redaction.issuers import issued_keys
from cogency_tui.redaction.markers import MARKER, replaced
from cogency_tui.redaction.named_values import is_named_secret, named_values
from cogency_tui.redaction.private_keys import PEM_BEGIN, parts_of_private_keys, whole_private_keys
from cogency_tui.redaction.remembered_secrets import KnownSecrets
from cogency_tui.redaction.secret_files import is_secret_file, secrets_in_secret_file
from cogency_tui.redaction.secret_spans import Span, merged


def has_secret(text: str) -> bool:
    """Return whether text contains something that looks like a secret."""
    return bool(secrets_of(text))


class Redactor:
    """Replaces the values of `secrets`, `known` ones, and text that looks like a secret."""

    def __init__(self, secrets: Mapping[str, str], known: KnownSecrets | None = None) -> None:
        self._own = Veil(secrets)
        self._known = KnownSecrets() if known is None else known

    def text(self, text: str, *, whole: bool = False, file: str = "") -> str:
        """Redact a text; each line stays at its position. A text from `whole` files, which were redacted
        before, has no parts of private keys. `file` is the path of the text's file."""
        text = self._own.over(text)
        return replaced(text, secrets_of(text, parts=not whole, file=file, known=self._known))

    def value(self, value: Any, *, whole: bool = False) -> Any:
        """Redact all texts of JSON content."""
        if isinstance(value, str):
            return self.text(value, whole=whole)
        if isinstance(value, list):
            return [self.value(each, whole=whole) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            return {
                self.value(name, whole=whole): self._field(name, each, whole=whole)
                for name, each in fields.items()
            }
        return value

    def _field(self, name: Any, value: Any, *, whole: bool) -> Any:
        if isinstance(value, list):
            return [self._field(name, each, whole=whole) for each in cast("list[Any]", value)]
        named = isinstance(name, str) and isinstance(value, str) and is_named_secret(name, value)
        return MARKER if named else self.value(value, whole=whole)


def secrets_of(
    text: str, *, parts: bool = True, public: bool = False, file: str = "", known: KnownSecrets | None = None
) -> list[Span]:
    """Return the secrets of a text, in order and without overlap, none over the end of a line. With
    `parts`, includes those of private keys that were cut; `public` means that the text continues a
    certificate or the like; `file` is the path of the text's file."""
    found = [*issued_keys(text), *secrets_by_context(text), *named_values(text)]
    if is_secret_file(file):
        found += secrets_in_secret_file(text, file)
    if PEM_BEGIN in text:
        found += whole_private_keys(text)
    if known:
        found += known.spans(text)
    if parts:
        found += parts_of_private_keys(text, public=public)
    return merged(sorted(found))
