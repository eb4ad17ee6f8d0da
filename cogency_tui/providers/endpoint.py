"""An endpoint: its address and key, and the errors that it reports.

An endpoint's words reach the user only through `Endpoint.quote`, which shortens them and removes keys.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from cogency_tui.errors import AuthenticationError, ProviderTimeoutError

WORDS = 400
"""Characters of an endpoint's own words in a message."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server of a model. `key_env` names the variable of `key`."""

    name: str
    base_url: str
    model: str
    key_env: str = ""
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Host and port, without any user information of the address."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def is_loopback(self) -> bool:
        """True if it runs on this machine."""
        name = urlsplit(self.base_url).hostname or ""
        return name in {"localhost", "::1"} or name.startswith("127.")

    def check_key(self) -> None:
        """Check that a needed key is there, and that it can be sent.

        Raises:
            AuthenticationError: it cannot be used.
        """
        if not self.key_env:
            return
        if not self.key:
            raise AuthenticationError(
                f"{self.name} needs an API key, and ${self.key_env} is not set.",
                f"Set {self.key_env} in the environment, or use --provider offline.",
            )
        if not (self.key.isascii() and self.key.isprintable()):
            raise AuthenticationError(
                f"${self.key_env} contains characters that an API key cannot have.",
                f"Set {self.key_env} again.",
            )

    def silent(self, seconds: float) -> ProviderTimeoutError:
        """Build the error for an endpoint that sent nothing for `seconds`."""
        return ProviderTimeoutError(
            f"{self.name} ({self.host}) sent nothing for {seconds:g} s.",
            "Try again, or raise first_byte_timeout or idle_timeout in the configuration.",
        )

    def quote(self, words: str) -> str:
        """Quote `words` of the endpoint as one short line without the key."""
        if self.key:
            words = words.replace(self.key, "[key]")
        words = "".join(char if char.isprintable() else " " for char in words)
        words = " ".join(words.split())
        return words if len(words) <= WORDS else words[: WORDS - 1] + "…"


@dataclass(frozen=True, slots=True)
class Reported:
    """An error object of an endpoint, in any shape. `wait` is the number of seconds until another try,
    where it names one."""

    message: str
    code: str = ""
    param: str = ""
    status: int = 0
    wait: float | None = None

    @property
    def all_words(self) -> str:
        return f"{self.code} {self.message}"


def read_error(value: object) -> Reported:
    """Find message, code and parameter in an error value: an object, a list of these, or text."""
    if isinstance(value, list) and value:
        return read_error(cast("list[object]", value)[0])
    if not isinstance(value, dict):
        return Reported(value if isinstance(value, str) else json.dumps(value))
    table = cast("dict[str, Any]", value)
    inner = table.get("error")
    if inner:
        return read_error(inner)
    message = table.get("message") or table.get("detail") or table.get("msg") or json.dumps(table)
    code = table.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    given = (code, table.get("type"), table.get("status"), _detail(table.get("details")))
    names = [name for name in given if isinstance(name, str)]
    param = table.get("param")
    return Reported(
        message if isinstance(message, str) else json.dumps(message),
        " ".join(names),
        param if isinstance(param, str) else "",
        status,
        _wait(table.get("details")),
    )


def _detail(details: object) -> object:
    """Return the code in the details of an error of Anthropic's, which is narrower than its type."""
    return cast("dict[str, object]", details).get("error_code") if isinstance(details, dict) else None


def _wait(details: object) -> float | None:
    """Return the wait in the details of an error of Google's; None where a day's quota is used up, which
    names one as well."""
    given = cast("list[object]", details) if isinstance(details, list) else []
    text = json.dumps(given)
    found = re.search(r'"retryDelay": "(\d{1,9}(\.\d{1,9})?)s"', text)
    return float(found[1]) if found and "PerDay" not in text else None
