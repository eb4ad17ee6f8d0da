"""Web addresses, parsed once.

Invariant: the checked address is the requested one. Host and port are read here, in the one way that
browsers read them, and nothing after this reads the original text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urljoin, urlsplit

from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line

LONGEST = 8192
"""Most characters of an address."""

_PORTS = {"http": 80, "https": 443}

_OTHER_PROTOCOLS = frozenset(
    (0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103)
    + (104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513)
    + (514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720)
    + (1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669)
    + (6679, 6697, 10080, 11211)
)
"""Ports that are refused because their services could execute a request as one of their own: those that
browsers refuse, and databases."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NUMBER = re.compile("0x[0-9a-f]*|[0-9]+")
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LONGEST_NAME = 253
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class WebAddress:
    """The target of a request.

    `host` is ASCII in lower case: a name without a final dot, or an IP address in its plain form (IPv6
    without brackets). `target` is path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and, unless it is the scheme's default, port: the value of a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse(url: str, base: WebAddress | None = None) -> WebAddress:
    """Parse an address; that of a redirect may be relative to `base`.

    Raises:
        ToolError: it is not http or https, names a user, or is ambiguous.
    """
    url = url.strip()
    named = f'"{one_line(url[:_SHOWN])}"'
    if len(url) > LONGEST:
        raise ToolError(f"The address {named}… is longer than {LONGEST:,} characters.")
    if _CONTROL.search(url):
        raise ToolError(f"The address {named} has a control character.", "Write it percent-encoded.")
    try:
        parts = urlsplit(urljoin(str(base), url) if base else url)
        port = parts.port
    except ValueError as error:
        raise ToolError(f"{named} is not an address: {error}.") from None
    if parts.scheme not in _PORTS:
        what = f"{parts.scheme}: is not" if parts.scheme else "it does not begin with"
        raise ToolError(
            f"{named} cannot be fetched: {what} http or https.", "Give the full address of a web page."
        )
    if "@" in parts.netloc:
        # Not quoted: it may contain a password.
        raise ToolError(
            "The address has a user name before its host.", "Give the address without the user name."
        )
    try:
        host = _ipv6(parts.hostname or "") if "[" in parts.netloc else _host(parts.hostname or "")
    except ValueError:
        raise ToolError(f"{named} has no valid host.", "Give the full address of a web page.") from None
    port = _PORTS[parts.scheme] if port is None else port
    if port in _OTHER_PROTOCOLS:
        raise ToolError(f"{named} cannot be fetched: port {port} is not for web pages.")
    try:
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]{}|")
    except UnicodeEncodeError:
        raise ToolError(f"The address {named} has a lone surrogate, which is half a character.") from None
    return WebAddress(parts.scheme, host, port, f"{path}?{query}" if query else path)


def _host(given: str) -> str:
    """Parse a name, or an IPv4 address in any spelling, as the WHATWG URL standard does.

    Raises:
        ValueError: it is neither.
    """
    if not given.isascii():
        # It maps the characters that browsers replace: full-width digits, other dots.
        import idna

        given = idna.encode(given, uts46=True).decode("ascii")
    name = given.lower().removesuffix(".")
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise ValueError
    labels = name.split(".")
    return str(_ipv4(labels)) if _NUMBER.fullmatch(labels[-1]) else name


def _ipv4(labels: Sequence[str]) -> IPv4Address:
    """Parse one to four numbers, each decimal, octal (`0…`) or hexadecimal (`0x…`); the last fills the
    rest."""
    if len(labels) > 4 or not all(map(_NUMBER.fullmatch, labels)):
        raise ValueError
    *first, last = map(_number, labels)
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        raise ValueError
    return IPv4Address(sum(number << (24 - 8 * index) for index, number in enumerate(first)) + last)


def _number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _ipv6(given: str) -> str:
    if "%" in given:
        # A zone names an interface of this machine.
        raise ValueError
    return str(IPv6Address(given))
