-- No member holds up another, nor writes where they may not, nor more than a client can read.

-- Locks. Any user may take any advisory lock, and `INSERT … ON CONFLICT DO UPDATE … WHERE false` locks a row of
-- another user's. So a push locks a row that is reached by functions alone, which lock the caller's own.

CREATE TABLE cogency.pushers (
    owner text PRIMARY KEY
);
ALTER TABLE cogency.pushers ENABLE ROW LEVEL SECURITY;

-- Wait for the user's other pushes and withdrawals; later ones wait until the end of the transaction.
CREATE FUNCTION cogency.take_turn() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO cogency.pushers VALUES (session_user) ON CONFLICT DO NOTHING;
    PERFORM FROM cogency.pushers WHERE owner = session_user FOR UPDATE;
END
$$;

-- Begin a push: take the user's turn, and register their origin, or its new name.
--
-- An origin belongs to the user who registers it first. Others see its 20 random digits only with a conversation,
-- when it is registered; who has read them in the store itself could still be first.
CREATE FUNCTION cogency.register(given_origin text, given_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM cogency.take_turn();
    INSERT INTO cogency.origins (id, name) VALUES (given_origin, given_name) ON CONFLICT DO NOTHING;
    IF NOT cogency.owns(given_origin) THEN
        RAISE unique_violation USING MESSAGE = 'another user has registered this origin';
    END IF;
    UPDATE cogency.origins SET name = given_name WHERE id = given_origin AND name <> given_name;
END
$$;

-- Withdraw a conversation: it is gone, and cannot be pushed again before `restore`.
CREATE OR REPLACE FUNCTION cogency.withdraw(given_origin text, given_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ids text[];
BEGIN
    IF NOT cogency.owns(given_origin) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this conversation is of another user';
    END IF;
    PERFORM cogency.take_turn();
    -- Wait for rows that move to another partition: they would not be found.
    LOCK TABLE cogency.events, cogency.edits IN ROW EXCLUSIVE MODE;
    WITH RECURSIVE below AS (
        SELECT given_id COLLATE "C" AS id
        UNION
        SELECT c.id FROM cogency.conversations c JOIN below b ON c.parent = b.id
        WHERE c.origin = given_origin AND c.call IS NOT NULL
    )
    SELECT array_agg(id) INTO ids FROM below;
    INSERT INTO cogency.withdrawn (origin, id, root)
        SELECT given_origin, unnest(ids), given_id ON CONFLICT DO NOTHING;
    PERFORM cogency.remove(given_origin, ids);
    PERFORM pg_notify('cogency', '');
    RETURN true;
END
$$;

REVOKE ALL ON FUNCTION cogency.take_turn, cogency.register FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cogency.register TO cogency_member;
DROP POLICY add ON cogency.origins;
DROP POLICY change ON cogency.origins;
REVOKE INSERT, UPDATE ON cogency.origins FROM cogency_member;
REVOKE UPDATE (name) ON cogency.origins FROM cogency_member;

-- Months. To attach or drop a partition locks what every reader reads, until the end of the transaction, which a
-- member could leave open. So `expire` does it, which an administrator runs; until then, what is of a month
-- without a partition is in the default one. Neither waits for a transaction that is open.

-- Create the partitions of this month, of the next, and of those of these times, with what the default one has of
-- them. Times before 2020 and beyond the next month have none.
CREATE OR REPLACE FUNCTION cogency.prepare(times double precision[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    this_month CONSTANT timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
    locks text[] := '{}';
    attachments text[] := '{}';
    each record;
    command text;
BEGIN
    FOR each IN
        SELECT c.relname AS parent, c.relname || '_default' AS rest,
            c.relname || to_char(month, '_YYYY_MM') AS partition,
            extract(epoch FROM month AT TIME ZONE 'UTC') AS first,
            extract(epoch FROM (month + interval '1 month') AT TIME ZONE 'UTC') AS next
        FROM (
            SELECT date_trunc('month', to_timestamp(given) AT TIME ZONE 'UTC') AS month FROM unnest(times) AS given
            WHERE given >= 1577836800
                AND given < extract(epoch FROM (this_month + interval '2 months') AT TIME ZONE 'UTC')
            UNION VALUES (this_month), (this_month + interval '1 month')
        ) m, pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
        WHERE c.relnamespace = 'cogency'::regnamespace
            AND to_regclass('cogency.' || c.relname || to_char(month, '_YYYY_MM')) IS NULL
        ORDER BY month, c.relname
    LOOP
        -- Those who insert there wait until all is moved, and those who read do not.
        EXECUTE format('LOCK TABLE cogency.%I IN SHARE ROW EXCLUSIVE MODE', each.rest);
        EXECUTE format('CREATE TABLE cogency.%I (LIKE cogency.%I INCLUDING ALL)', each.partition, each.parent);
        EXECUTE format('ALTER TABLE cogency.%I ENABLE ROW LEVEL SECURITY', each.partition);
        EXECUTE format(
            'WITH moved AS (DELETE FROM cogency.%I WHERE at >= %L AND at < %L RETURNING *)'
            ' INSERT INTO cogency.%I SELECT * FROM moved', each.rest, each.first, each.next, each.partition);
        locks := locks || format('LOCK TABLE cogency.%I IN ACCESS EXCLUSIVE MODE', each.rest);
        attachments := attachments || format(
            'ALTER TABLE cogency.%I ATTACH PARTITION cogency.%I FOR VALUES FROM (%L) TO (%L)',
            each.parent, each.partition, each.first, each.next);
    END LOOP;
    FOR attempt IN 1 .. 5 LOOP
        BEGIN
            FOREACH command IN ARRAY locks LOOP
                EXECUTE command;
            END LOOP;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            IF attempt = 5 THEN
                RAISE;
            END IF;
            -- Those who came behind go first.
            PERFORM pg_sleep(0.2);
        END;
    END LOOP;
    FOREACH command IN ARRAY attachments LOOP
        EXECUTE command;
    END LOOP;
EXCEPTION WHEN lock_not_available OR deadlock_detected OR duplicate_table THEN
    RAISE WARNING 'No partitions of months were created: the default one is in use';
END
$$;

-- Remove what is older than the retention: whole months of events, and conversations without later changes; create
-- partitions. What is in use is left to the next run. An administrator runs it, once a day by cron or pg_cron.
CREATE OR REPLACE FUNCTION cogency.expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    oldest CONSTANT double precision := cogency.oldest();
    removed integer := 0;
    times double precision[] := '{}';
    found double precision[];
    gone record;
BEGIN
    LOCK TABLE cogency.events, cogency.edits IN ROW EXCLUSIVE MODE;
    DELETE FROM cogency.usage WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM cogency.usage WHERE at < oldest FOR UPDATE SKIP LOCKED));
    FOR gone IN
        SELECT c.origin, array_agg(c.id) AS ids FROM (
            SELECT origin, id FROM cogency.conversations WHERE updated < oldest FOR UPDATE SKIP LOCKED
        ) c GROUP BY c.origin
    LOOP
        PERFORM cogency.remove(gone.origin, gone.ids);
        removed := removed + cardinality(gone.ids);
    END LOOP;
    FOR gone IN
        SELECT c.relname || '_default' AS rest FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
        WHERE c.relnamespace = 'cogency'::regnamespace
    LOOP
        EXECUTE format(
            'DELETE FROM cogency.%1$I WHERE ctid = ANY (ARRAY('
            'SELECT ctid FROM cogency.%1$I WHERE at < %2$L FOR UPDATE SKIP LOCKED))', gone.rest, oldest);
        EXECUTE format('SELECT array_agg(DISTINCT floor(at / 86400) * 86400) FROM cogency.%I', gone.rest)
            INTO found;
        times := times || found;
    END LOOP;
    -- From here to the end others may have to wait.
    PERFORM cogency.prepare(times);
    FOR gone IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE c.relnamespace = 'cogency'::regnamespace AND c.relkind = 'r' AND c.relname ~ '_\d{4}_\d{2}$'
        AND extract(epoch FROM
            (to_date(right(c.relname, 7), 'YYYY_MM')::timestamp + interval '1 month') AT TIME ZONE 'UTC'
        ) <= oldest
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE cogency.%I', gone.relname);
            removed := removed + 1;
        EXCEPTION WHEN lock_not_available THEN
            RAISE WARNING '% was not removed: it is in use', gone.relname;
        END;
    END LOOP;
    RETURN removed;
END
$$;

REVOKE EXECUTE ON FUNCTION cogency.prepare FROM cogency_member;
GRANT EXECUTE ON FUNCTION cogency.prepare TO cogency_admin;

-- Projects. Who leaves a project writes no more into what they have shared with it, but can withdraw it. A project
-- that has members has its name to itself: no one else shares with the team under it.

CREATE FUNCTION cogency.may_share(share text, project text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT share = 'own' OR cogency.is_member_of(may_share.project)
        OR share = 'team' AND NOT EXISTS (SELECT FROM cogency.members m WHERE m.project = may_share.project)
$$;

CREATE OR REPLACE FUNCTION cogency.writes(given_origin text, given_id text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM cogency.conversations c
        WHERE c.origin = given_origin AND c.id = given_id AND c.owner = session_user
            AND cogency.may_share(c.share, c.project)
    )
$$;

ALTER POLICY add ON cogency.conversations WITH CHECK (
    owner = session_user
    AND cogency.owns(origin)
    AND NOT cogency.is_withdrawn(origin, id)
    AND cogency.may_share(share, project)
);
ALTER POLICY change ON cogency.conversations WITH CHECK (
    owner = session_user
    AND cogency.owns(origin)
    AND cogency.may_share(share, project)
);

REVOKE ALL ON FUNCTION cogency.may_share FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cogency.may_share TO cogency_member;

-- Retention: days, at most 99999, or 0 for ever, as which what was no number counts.

UPDATE cogency.settings SET value = CASE WHEN btrim(value) ~ '^[0-9]{1,5}$' THEN value::integer::text ELSE '0' END
    WHERE name = 'retention_days';
ALTER TABLE cogency.settings ADD CHECK (name <> 'retention_days' OR value ~ '^(0|[1-9][0-9]{0,4})$');

CREATE OR REPLACE FUNCTION cogency.oldest() RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        (SELECT extract(epoch FROM date_trunc('month', now() - make_interval(days => value::integer), 'UTC'))
         FROM cogency.settings WHERE name = 'retention_days' AND value <> '0'),
        '-infinity'
    )::double precision
$$;

-- Sizes. Clients send no larger rows: their bounds are `LONGEST` in rows.py, `LIMIT` of blobs.py, and those of the
-- records of an export. What is larger, no client has sent, and none reads.

DELETE FROM cogency.events
    WHERE greatest(octet_length(type), octet_length(tool), octet_length(paths), octet_length(folded),
        octet_length(body)) > 33554432;
DELETE FROM cogency.edits
    WHERE greatest(octet_length(root), octet_length(tool), octet_length(paths), octet_length(folded),
        octet_length(text), octet_length(record)) > 33554432;
DELETE FROM cogency.usage WHERE octet_length(record) > 33554432;
DELETE FROM cogency.contents WHERE octet_length(data) > 67108864;
DELETE FROM cogency.withdrawn WHERE length(id) > 256 OR length(root) > 256;
UPDATE cogency.conversations SET title = left(title, 4096) WHERE length(title) > 4096;
UPDATE cogency.conversations SET folded_title = left(folded_title, 16384), folded_model = left(folded_model, 16384),
        folded_directory = left(folded_directory, 16384), folded_branch = left(folded_branch, 16384)
    WHERE greatest(octet_length(folded_title), octet_length(folded_model), octet_length(folded_directory),
        octet_length(folded_branch)) > 65536;
UPDATE cogency.conversations SET parent = left(parent, 256), call = left(call, 256)
    WHERE length(parent) > 256 OR length(call) > 256;
UPDATE cogency.conversations SET record = '' WHERE octet_length(record) > 1048576;
UPDATE cogency.conversations SET changing = '' WHERE octet_length(changing) > 100663296;
UPDATE cogency.conversations SET position = '' WHERE octet_length(position) > 4096;

ALTER TABLE cogency.events ADD CONSTRAINT events_size CHECK (
    greatest(octet_length(type), octet_length(tool), octet_length(paths), octet_length(folded),
        octet_length(body)) <= 33554432);
ALTER TABLE cogency.edits ADD CONSTRAINT edits_size CHECK (
    greatest(octet_length(root), octet_length(tool), octet_length(paths), octet_length(folded),
        octet_length(text), octet_length(record)) <= 33554432);
ALTER TABLE cogency.usage ADD CONSTRAINT usage_size CHECK (octet_length(record) <= 33554432);
ALTER TABLE cogency.contents ADD CONSTRAINT contents_size CHECK (octet_length(data) <= 67108864);
ALTER TABLE cogency.withdrawn ADD CONSTRAINT withdrawn_size CHECK (length(id) <= 256 AND length(root) <= 256);
ALTER TABLE cogency.conversations ADD CONSTRAINT conversations_size CHECK (
    length(title) <= 4096
    AND greatest(octet_length(folded_title), octet_length(folded_model), octet_length(folded_directory),
        octet_length(folded_branch)) <= 65536
    AND (parent IS NULL OR length(parent) <= 256)
    AND (call IS NULL OR length(call) <= 256)
    AND octet_length(record) <= 1048576
    AND octet_length(changing) <= 100663296
    AND octet_length(position) <= 4096
);

-- Usage. Names are one line, and those of projects that are not shared are their owner's to know.

UPDATE cogency.usage SET
        provider = left(regexp_replace(provider, '[\u0001-\u001f\u007f-\u009f\u2028\u2029]', ' ', 'g'), 256),
        model = left(regexp_replace(model, '[\u0001-\u001f\u007f-\u009f\u2028\u2029]', ' ', 'g'), 256)
    WHERE provider || model ~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' OR length(provider) > 256
        OR length(model) > 256;
ALTER TABLE cogency.usage ADD CONSTRAINT usage_names CHECK (
    provider !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' AND length(provider) <= 256
    AND model !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' AND length(model) <= 256
);

CREATE OR REPLACE FUNCTION cogency.team_usage(since double precision, before double precision)
RETURNS TABLE (
    owner text, project text, provider text, model text, conversations bigint, requests bigint, input numeric,
    output numeric, cached numeric, cost double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(session_user, 'cogency_usage', 'member') THEN
        RAISE insufficient_privilege USING MESSAGE = 'the usage of the team is for members of cogency_usage';
    END IF;
    RETURN QUERY
        SELECT c.owner, CASE c.share WHEN 'own' THEN '' ELSE c.project END, u.provider, u.model,
            count(DISTINCT (c.origin, c.id)), count(*), sum(u.input), sum(u.output), sum(u.cached), sum(u.cost)
        FROM cogency.usage u JOIN cogency.conversations c ON c.origin = u.origin AND c.id = u.conversation
        WHERE u.at >= since AND u.at < before
        GROUP BY 1, 2, 3, 4;
END
$$;
