"""The address of a team's database: a URL without a password, and TLS wherever it leaves this machine."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import ConfigError

_EXAMPLE = 'For example: url = "postgresql://ada@db.example.org/history"'
_SCHEMES = ("postgresql", "postgres")
_PLAIN = ("disable", "allow", "prefer")
_VERIFIED = "verify-full"
_USUAL_PORT = "5432"


@dataclass(frozen=True, slots=True)
class Address:
    """A database to connect to; `name` is for users, `options` are arguments of the driver."""

    name: str
    url: str
    is_local: bool
    options: Mapping[str, Any]


def address_of(settings: HistorySettings, environment: Mapping[str, str] | None = None) -> Address:
    """Return the address of the team's database.

    Raises:
        ConfigError: there is none, or it is not one that may be used.
    """
    environment = os.environ if environment is None else environment
    if not settings.url:
        raise ConfigError("There is no database of a team: history.url is not set.", _EXAMPLE)
    try:
        parts = urlsplit(settings.url)
        _ = parts.port
    except ValueError as exc:
        # Its words may have a part of a password.
        raise ConfigError("history.url is not a valid URL.", _EXAMPLE) from exc
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.scheme not in _SCHEMES:
        raise ConfigError("history.url must begin with postgresql://.", _EXAMPLE)
    if parts.password is not None or "password" in given:
        raise ConfigError(
            "history.url contains a password, and a configuration file is not the place for one.",
            "Put it into ~/.pgpass or PGPASSWORD, or name a variable in history.password_env.",
        )
    hosts = _hosts(parts, given, environment)
    is_local = all(map(_is_loopback, hosts))
    places = ", ".join(_with_ports(hosts, parts, given, environment))
    return Address(
        name=f"{places}/{unquote(parts.path.strip('/')) or given.get('dbname', '')}",
        url=settings.url,
        is_local=is_local,
        options={**_password(settings, environment), **_tls(given, environment, is_local=is_local)},
    )


def _hosts(parts: SplitResult, given: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    place = parts.netloc.rpartition("@")[2]
    named = [_without_port(each) for each in place.split(",") if each]
    return named or given.get("host", environment.get("PGHOST", "/")).split(",")


def _with_ports(
    hosts: list[str], parts: SplitResult, given: Mapping[str, str], environment: Mapping[str, str]
) -> list[str]:
    """Return the hosts as users know them: with a port that is not the usual one."""
    places = [each for each in parts.netloc.rpartition("@")[2].split(",") if each]
    ports = [each.rpartition(":")[2] if each[-1] != "]" and ":" in each else "" for each in places]
    other = given.get("port", environment.get("PGPORT", ""))
    named = zip(hosts, [*ports, *[""] * len(hosts)], strict=False)
    return [_with_port(host, port or other) for host, port in named]


def _with_port(host: str, port: str) -> str:
    if host.startswith("/") or port in ("", _USUAL_PORT):
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _without_port(place: str) -> str:
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return unquote(place.partition(":")[0])


def _is_loopback(host: str) -> bool:
    if host.startswith("/") or host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        # A name: 127.example.org may be anywhere.
        return False


def _password(settings: HistorySettings, environment: Mapping[str, str]) -> dict[str, Any]:
    """The password of the named variable; without one the driver uses PGPASSWORD and ~/.pgpass.

    Raises:
        ConfigError: the variable is not set.
    """
    if not settings.password_env:
        return {}
    password = environment.get(settings.password_env)
    if not password:
        raise ConfigError(
            f"The variable {settings.password_env} is not set, which history.password_env names.",
            "Set it to the password of the database.",
        )
    return {"password": password}


def _tls(given: Mapping[str, str], environment: Mapping[str, str], *, is_local: bool) -> dict[str, Any]:
    """TLS with a verified certificate.

    Raises:
        ConfigError: the mode allows a connection without TLS, or without a certificate for the host.
    """
    mode = given.get("sslmode") or environment.get("PGSSLMODE", "")
    if is_local or mode == _VERIFIED:
        return {}
    if mode:
        # With verify-ca any server that the authority knows may answer.
        lacking = "TLS" if mode in _PLAIN else "a certificate that is verified for its host"
        raise ConfigError(
            f"history.url would allow a connection without {lacking} (sslmode={mode}) to another machine.",
            "Use sslmode=verify-full, which is the default, with sslrootcert=FILE for an authority of yours.",
        )
    authority = given.get("sslrootcert") or environment.get("PGSSLROOTCERT")
    try:
        context = ssl.create_default_context(cafile=Path(authority).expanduser() if authority else None)
    except (OSError, ssl.SSLError) as exc:
        hint = "sslrootcert names the file with the certificate of your authority."
        raise ConfigError(f"The certificate {authority} cannot be used: {exc}.", hint) from exc
    return {"ssl": context}
