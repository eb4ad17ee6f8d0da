"""Public hosts: those whose every address is public, which alone may be reached.

Invariant: `Guard.addresses` returns addresses that were each checked, and refuses a name with any address
that is not public. A caller connects to a returned address and never resolves the name again.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Protocol

from cogency_tui.errors import ToolError
from cogency_tui.safe_text import one_line

IPAddress = IPv4Address | IPv6Address

_LOOPBACK = "a loopback address"
_PRIVATE = "a private address"
_LINK_LOCAL = "a link-local address, where clouds serve their metadata"
_MULTICAST = "a multicast address"
_EXAMPLE = "an address for documentation"
_RESERVED = "a reserved address"
_UNSPECIFIED = "an unspecified address, which is this machine"

# The special-purpose registries of IANA, and a cloud's own; the first match gives the reason.
_NOT_PUBLIC = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", _UNSPECIFIED),
        ("10.0.0.0/8", _PRIVATE),
        ("100.64.0.0/10", "an address of a provider's inner network"),
        ("127.0.0.0/8", _LOOPBACK),
        ("168.63.129.16/32", "an address of the cloud that this machine may be in"),
        ("169.254.0.0/16", _LINK_LOCAL),
        ("172.16.0.0/12", _PRIVATE),
        ("192.0.0.0/24", _RESERVED),
        ("192.0.2.0/24", _EXAMPLE),
        ("192.88.99.0/24", _RESERVED),
        ("192.168.0.0/16", _PRIVATE),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", _EXAMPLE),
        ("203.0.113.0/24", _EXAMPLE),
        ("224.0.0.0/4", _MULTICAST),
        ("240.0.0.0/4", _RESERVED),
        ("::/128", _UNSPECIFIED),
        ("::1/128", _LOOPBACK),
        ("fc00::/7", _PRIVATE),
        ("fe80::/10", _LINK_LOCAL),
        ("fec0::/10", _PRIVATE),
        ("ff00::/8", _MULTICAST),
        ("2001:db8::/32", _EXAMPLE),
        ("3fff::/20", _EXAMPLE),
        ("2001::/32", "a Teredo address, which hides another"),
        ("2001::/23", _RESERVED),
        ("2002::/16", "a 6to4 address, which hides another"),
    )
)
_GLOBAL = ip_network("2000::/3")
_EMBEDDING = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))
"""IPv4-mapped addresses and those of NAT64: the last four bytes are the IPv4 address."""

_ONLY_PUBLIC = "Only public internet addresses can be reached, not this machine or its network."
_OWN_SERVER = (
    "Only public internet addresses can be reached; for a server that you started use shell with curl."
)


class Resolver(Protocol):
    """Resolves names."""

    async def __call__(self, host: str, port: int, /) -> Sequence[str]:
        """Return the IP addresses of a name, the preferred first.

        Raises:
            OSError, UnicodeError: there are none, or the look-up failed.
        """
        ...


def why_not_public(address: IPAddress) -> str:
    """Name the special purpose of an address; empty for a public one."""
    if any(address in network for network in _EMBEDDING):
        return why_not_public(IPv4Address(int(address) & 0xFFFFFFFF))
    for network, reason in _NOT_PUBLIC:
        if address in network:
            return reason
    return _RESERVED if isinstance(address, IPv6Address) and address not in _GLOBAL else ""


class Guard:
    """Decides which hosts may be connected to.

    Only tests pass a `resolver`, and a `refuse` that accepts a server of theirs.
    """

    def __init__(
        self, resolver: Resolver | None = None, refuse: Callable[[IPAddress], str] = why_not_public
    ) -> None:
        self._resolver = resolver or system_addresses
        self._refuse = refuse

    def check(self, host: str) -> None:
        """Refuse a host where that is possible without a look-up.

        Raises:
            ToolError: an IP address that is not public, or a name of the local network.
        """
        literal = _literal(host)
        if literal is None and "." not in host:
            hint = _OWN_SERVER if host == "localhost" else _ONLY_PUBLIC
            raise ToolError(f"Blocked: {host} is a local network name.", hint)
        if literal is not None and (reason := self._refuse(literal)):
            raise ToolError(f"Blocked: {host} is {reason}.", _hint(reason))

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses that a connection to `host` may use, the preferred first.

        Raises:
            ToolError: there are none, or one of them is not public.
        """
        self.check(host)
        if _literal(host) is not None:
            return [host]
        try:
            found = list(dict.fromkeys(await self._resolver(host, port)))
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ToolError(
                f"Cannot resolve {host}: {one_line(str(reason))}.", "Check the spelling of the name."
            ) from error
        if not found:
            raise ToolError(f"Cannot resolve {host}: no address found.", "Check the spelling of the name.")
        for address in found:
            literal = _literal(address)
            reason = self._refuse(literal) if literal else "no IP address"
            if reason:
                raise ToolError(f"Blocked: {host} resolves to {one_line(address)}, {reason}.", _hint(reason))
        return found


async def system_addresses(host: str, port: int) -> list[str]:
    """Ask the system, in a thread that is never joined: a hanging look-up cannot be stopped.

    Raises:
        OSError, UnicodeError: as `socket.getaddrinfo`.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str], error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)

    def resolve() -> None:
        found: list[str] = []
        failed: Exception | None = None
        try:
            found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            failed = error
        # The loop may have ended in the meantime.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, found, failed)

    threading.Thread(target=resolve, name="look-up", daemon=True).start()
    return await answer


def _hint(reason: str) -> str:
    return _OWN_SERVER if reason in (_LOOPBACK, _UNSPECIFIED) else _ONLY_PUBLIC


def _literal(host: str) -> IPAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
