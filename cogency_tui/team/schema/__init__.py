"""The schema of a team's database as SQL, in numbered steps, and the script that applies them.

Steps are only ever added; a released step is never changed. Each records its version, and the oldest version
of a client that can still use the database.
"""

from importlib.resources import files
from typing import NamedTuple


class Step(NamedTuple):
    """A step of the schema: its file, and the oldest schema version whose clients it still serves."""

    name: str
    oldest_client: int


STEPS: tuple[Step, ...] = (
    Step("0001_history", 1),
    Step("0002_finite", 1),
    Step("0003_windows", 1),
    Step("0004_members", 4),
    Step("0005_readers", 5),
    Step("0006_bounds", 5),
)

VERSION = len(STEPS)
"""The version of the schema that this program knows."""

_HEAD = """\
-- The database of a team's history, version {version}, for PostgreSQL 14 or newer (encoding UTF8).
--
-- Run this as the owner of the database, who may create roles and the extension pg_trgm:
--
--     createdb history
--     cogency-tui history setup --print | psql -v ON_ERROR_STOP=1 -d history
--
-- Running it again changes nothing; a newer program's script brings the database up to date.
-- Version 5 indexes all texts anew: that takes about 15 minutes a million events, in which members wait.
--
-- Each user logs in with a role of their own, by which the database decides what they see:
--
--     CREATE ROLE ada LOGIN PASSWORD '…';
--     GRANT cogency_member TO ada;      -- shares conversations, and sees those shared with her
--     GRANT cogency_usage TO ada;       -- sees what the whole team used: tokens and cost, no texts
--     GRANT cogency_admin TO ada;       -- administers projects and retention, sees no conversation by it
--
-- Only members of a project see the conversations that are shared with it:
--
--     INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace');
--
-- Retention: conversations without changes, and months of events and edits, older than so many days (0 = for
-- ever):
--
--     UPDATE cogency.settings SET value = '730' WHERE name = 'retention_days';
--
-- Each day, by cron or pg_cron: remove what is older, and create the partitions of new months.
--
--     SELECT cogency.expire();
--
-- The server needs TLS (ssl = on, and `hostssl` lines in pg_hba.conf): clients beyond this machine insist on
-- it. Users then have, in their own configuration:
--
--     [history]
--     url = "postgresql://ada@db.example.org/history"
--
-- and the password in ~/.pgpass or PGPASSWORD.

BEGIN;
SET LOCAL client_min_messages = warning;
-- A transaction that is open elsewhere is not waited for: what comes behind would wait, too.
SET LOCAL lock_timeout = '5s';
DO $roles$
DECLARE
    name text;
BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE 'The database has the encoding %, and UTF8 is needed', current_setting('server_encoding');
    END IF;
    -- Users see how much their statements log: a compressed page is smaller where others have the same text.
    BEGIN
        EXECUTE format('ALTER DATABASE %I SET wal_compression = off', current_database());
    EXCEPTION WHEN insufficient_privilege THEN
        IF current_setting('wal_compression') <> 'off' THEN
            RAISE WARNING 'By wal_compression, members can guess words of others' USING HINT =
                format('As a superuser: ALTER DATABASE %I SET wal_compression = off', current_database());
        END IF;
    END;
    FOREACH name IN ARRAY ARRAY['cogency_member', 'cogency_usage', 'cogency_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END
$roles$;
CREATE SCHEMA IF NOT EXISTS cogency;
-- All of it has one owner, whoever runs an update: the functions call each other as that role.
SELECT set_config('role', pg_get_userbyid(nspowner), true) FROM pg_namespace WHERE nspname = 'cogency';
-- Whoever may create functions where this looks for them could have it run their own.
DO $places$
DECLARE
    place text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE SCHEMA IF NOT EXISTS cogency_trgm;
        CREATE EXTENSION pg_trgm SCHEMA cogency_trgm;
    END IF;
    SELECT n.nspname INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_trgm';
    IF EXISTS (
        SELECT FROM pg_namespace n, aclexplode(n.nspacl) a
        WHERE n.nspname = place AND a.privilege_type = 'CREATE' AND a.grantee = 0
    ) THEN
        RAISE 'Anyone may create functions in the schema %, which has pg_trgm', place
            USING HINT = format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC;', place);
    END IF;
    PERFORM set_config('search_path', format('pg_catalog, cogency, %I, pg_temp', place), true);
END
$places$;
CREATE TABLE IF NOT EXISTS cogency.versions (
    version integer PRIMARY KEY,
    name text NOT NULL,
    oldest_client integer NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);
LOCK TABLE cogency.versions IN SHARE ROW EXCLUSIVE MODE;
"""

_STEP = """
DO $step{number}$
BEGIN
    IF EXISTS (SELECT FROM cogency.versions WHERE version = {number}) THEN
        RETURN;
    END IF;
    EXECUTE $sql{number}$
{sql}
$sql{number}$;
    INSERT INTO cogency.versions (version, name, oldest_client) VALUES ({number}, '{name}', {oldest});
END
$step{number}$;
"""

_TAIL = """
SELECT cogency.prepare('{}');

COMMIT;
"""


def setup_script() -> str:
    """Return the SQL that an administrator runs: it creates the schema, or brings it up to date."""
    steps = (
        _STEP.format(number=number, name=step.name, oldest=step.oldest_client, sql=read_step(step.name))
        for number, step in enumerate(STEPS, 1)
    )
    return "".join([_HEAD.format(version=VERSION), *steps, _TAIL])


def read_step(name: str) -> str:
    """Return the SQL of a step."""
    return (files(__name__) / f"{name}.sql").read_text("utf-8").rstrip()
