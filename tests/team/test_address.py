"""Addresses: no password in a configuration file, TLS to another machine, clear errors."""

import ssl
from pathlib import Path

import pytest
import trustme

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import ConfigError, HistoryServerError
from cogency_tui.team.address import Address, _tls, address_of  # pyright: ignore[reportPrivateUsage]
from cogency_tui.team.connection import connect, connected
from tests.team.members import Member
from tests.team.postgres import Server, running_server, set_up


@pytest.mark.parametrize(
    ("url", "name", "is_local", "has_context"),
    [
        ("postgresql://ada@localhost/history", "localhost/history", True, False),
        ("postgres://127.0.0.1:5433/h", "127.0.0.1:5433/h", True, False),
        ("postgresql://ada@[::1]:5432/h", "::1/h", True, False),
        ("postgresql://ada@[::1]:6000/h", "[::1]:6000/h", True, False),
        (
            "postgresql://ada@localhost/h?port=7000",
            "localhost:7000/h",
            True,
            False,
        ),
        ("postgresql://ada@/h?host=/var/run/postgresql", "/var/run/postgresql/h", True, False),
        ("postgresql:///h", "//h", True, False),
        ("postgresql://ada@127.0.0.2/h", "127.0.0.2/h", True, False),
        ("postgresql://ada@127.evil.example/h", "127.evil.example/h", False, True),
        ("postgresql://ada@127.1/h", "127.1/h", False, True),
        ("postgresql://ada@localhost.evil.example/h", "localhost.evil.example/h", False, True),
        ("postgresql://ada@db.example.org/h", "db.example.org/h", False, True),
        ("postgresql://ada@localhost,db.example.org/h", "localhost, db.example.org/h", False, True),
        (
            "postgresql://ada@db.example.org/h?sslmode=verify-full&sslrootcert=/a",
            "db.example.org/h",
            False,
            False,
        ),
    ],
)
def test_tls_with_a_verified_certificate_beyond_this_machine(
    url: str, name: str, is_local: bool, has_context: bool
) -> None:
    address = address_of(HistorySettings(url=url), {})
    assert (address.name, address.is_local) == (name, is_local)
    context = address.options.get("ssl")
    assert (context is not None) is has_context
    if context is not None:
        assert context.check_hostname
        assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("settings", "environment", "message"),
    [
        (HistorySettings(), {}, "history.url is not set"),
        (HistorySettings(url="mysql://a/b"), {}, "must begin with postgresql://"),
        (HistorySettings(url="postgresql://a:99999999/b"), {}, "not a valid URL"),
        (HistorySettings(url="postgresql://ada:pw@localhost/b"), {}, "contains a password"),
        (HistorySettings(url="postgresql://localhost/b?password=pw"), {}, "contains a password"),
        (HistorySettings(url="postgresql://db.example.org/b?sslmode=disable"), {}, "without TLS"),
        (HistorySettings(url="postgresql://db.example.org/b?sslmode=prefer"), {}, "without TLS"),
        (
            HistorySettings(url="postgresql://db.example.org/b?sslmode=require"),
            {},
            "without a certificate that is verified for its host",
        ),
        (
            HistorySettings(url="postgresql://db.example.org/b?sslmode=verify-ca&sslrootcert=/a"),
            {},
            "verified for its host",
        ),
        (HistorySettings(url="postgresql://db.example.org/b"), {"PGSSLMODE": "verify-ca"}, "for its host"),
        (HistorySettings(url="postgresql://db.example.org/b?sslmode=odd"), {}, "sslmode=odd"),
        (HistorySettings(url="postgresql://db.example.org/b"), {"PGSSLMODE": "allow"}, "without TLS"),
        (
            HistorySettings(url="postgresql:///b"),
            {"PGHOST": "db.example.org", "PGSSLMODE": "allow"},
            "without TLS",
        ),
        (HistorySettings(url="postgresql://db.example.org/b?sslrootcert=/none"), {}, "certificate /none"),
        (HistorySettings(url="postgresql://localhost/b", password_env="PW"), {}, "variable PW is not set"),
    ],
)
def test_an_address_that_may_not_be_used_says_why(
    settings: HistorySettings, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        address_of(settings, environment)
    assert caught.value.hint
    assert "pw" not in str(caught.value)


async def test_the_password_comes_from_the_named_variable(server: Server, database: str) -> None:
    settings = HistorySettings(url=server.url("ada", database), password_env="PW")
    assert address_of(settings, {"PW": "s3cret"}).options == {"password": "s3cret"}


async def test_a_server_without_tls_is_refused_beyond_loopback(server: Server, database: str) -> None:
    # The name of this machine is not a loopback name.
    address = address_of(HistorySettings(url=server.url("ada", database)), {})
    strict = type(address)(address.name, address.url, False, {"ssl": ssl.create_default_context()})
    with pytest.raises(HistoryServerError, match="SSL"):
        async with connected(strict):
            pass


async def test_tls_needs_a_certificate_of_a_known_authority(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    with running_server() as server:
        server.stop()
        server.use_tls(authority)
        server.start()
        await set_up(server, "history")
        url = server.url("ada", "history")

        def address(trusted: trustme.CA) -> Address:
            path = tmp_path / "ca.pem"
            trusted.cert_pem.write_to_path(path)
            with_tls = _tls({"sslrootcert": str(path)}, {}, is_local=False)
            return Address("db", url, False, with_tls)

        async with connected(address(authority)) as connection:
            assert await connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        with pytest.raises(HistoryServerError, match="certificate"):
            async with connected(address(other)):
                pass


async def test_each_failure_has_its_words(server: Server, database: str) -> None:
    async def words(url: str) -> HistoryServerError:
        with pytest.raises(HistoryServerError) as caught:
            async with connected(address_of(HistorySettings(url=url), {}), patience=2):
                pass
        return caught.value

    assert "no database" in str(await words(server.url("ada", "nothing")))
    assert "setup --print" in (await words(server.url("ada", "postgres"))).hint
    assert "refuses you" in str(await words(server.url("nobody_known", database)))
    assert "cogency_member" in (await words(server.url("mallory", database))).hint
    closed = await words("postgresql://ada@127.0.0.1:1/h")
    assert closed.passing


async def test_versions_that_do_not_match(ada: Member, server: Server, database: str) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one")
    ada.share()
    root = await connect(server.url("root", database))
    # A newer schema that still serves this program.
    await root.execute("INSERT INTO cogency.versions VALUES (99, 'later', 1)")
    assert (await ada.push()).events == 1
    await root.execute("UPDATE cogency.versions SET oldest_client = 99 WHERE version = 99")
    with pytest.raises(HistoryServerError, match="newer program") as newer:
        await ada.push()
    assert "Update cogency-tui" in newer.value.hint
    await root.execute("DELETE FROM cogency.versions")
    with pytest.raises(HistoryServerError, match="version 0") as older:
        await ada.push()
    assert "setup --print" in older.value.hint
    await root.close()
