-- Tables. A row of a conversation is immutable and keyed by its origin, its conversation and its number there.
-- `at` and `updated` are in Unix seconds; texts named `folded` are those that a search compares.

CREATE TABLE cogency.settings (
    name text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO cogency.settings VALUES ('retention_days', '0');

-- Clients store their positions by this id: the address of the database may change.
CREATE TABLE cogency.identity (
    id text NOT NULL
);
INSERT INTO cogency.identity VALUES (gen_random_uuid()::text);

CREATE TABLE cogency.members (
    project text NOT NULL,
    member text NOT NULL,
    PRIMARY KEY (project, member)
);

CREATE TABLE cogency.origins (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{20}$'),
    owner text NOT NULL DEFAULT session_user,
    name text NOT NULL CHECK (length(name) <= 100)
);

CREATE TABLE cogency.conversations (
    origin text COLLATE "C" NOT NULL REFERENCES cogency.origins (id),
    id text COLLATE "C" NOT NULL CHECK (length(id) <= 256),
    owner text NOT NULL DEFAULT session_user,
    project text NOT NULL CHECK (length(project) BETWEEN 1 AND 200),
    share text NOT NULL CHECK (share IN ('own', 'project', 'team')),
    parent text COLLATE "C",
    call text,
    title text NOT NULL,
    turns bigint NOT NULL,
    cost double precision NOT NULL,
    updated double precision NOT NULL,
    trashed boolean NOT NULL,
    folded_title text NOT NULL,
    folded_model text NOT NULL,
    folded_directory text NOT NULL,
    folded_branch text NOT NULL,
    record text NOT NULL,
    -- Summaries, pins and decisions about edits, as lines.
    changing text NOT NULL,
    position text NOT NULL,
    revision bigint NOT NULL,
    changed timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (origin, id)
);
CREATE INDEX conversations_by_update ON cogency.conversations (updated DESC, id DESC, origin DESC)
    WHERE call IS NULL AND NOT trashed;
CREATE INDEX conversations_by_change ON cogency.conversations (changed);
CREATE INDEX conversations_by_owner ON cogency.conversations (owner, project);
CREATE INDEX conversations_by_parent ON cogency.conversations (origin, parent) WHERE call IS NOT NULL;

CREATE TABLE cogency.withdrawn (
    origin text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- The conversation that was withdrawn with those of its sub-agents.
    root text COLLATE "C" NOT NULL,
    owner text NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (origin, id)
);

CREATE TABLE cogency.events (
    origin text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at double precision NOT NULL,
    type text NOT NULL,
    tool text NOT NULL,
    failed boolean NOT NULL,
    paths text NOT NULL,
    folded text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (origin, conversation, number, at)
) PARTITION BY RANGE (at);
CREATE INDEX events_by_text ON cogency.events USING gin (folded gin_trgm_ops);
CREATE INDEX events_by_path ON cogency.events USING gin (paths gin_trgm_ops) WHERE paths <> '';
CREATE TABLE cogency.events_default PARTITION OF cogency.events DEFAULT;

CREATE TABLE cogency.edits (
    origin text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at double precision NOT NULL,
    root text COLLATE "C" NOT NULL,
    tool text NOT NULL,
    paths text NOT NULL,
    folded text NOT NULL,
    text text NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (origin, conversation, number)
);
CREATE INDEX edits_by_root ON cogency.edits (origin, root);
CREATE INDEX edits_by_text ON cogency.edits USING gin (folded gin_trgm_ops);
CREATE INDEX edits_by_path ON cogency.edits USING gin (paths gin_trgm_ops);

CREATE TABLE cogency.usage (
    origin text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at double precision NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    input bigint,
    output bigint,
    cached bigint,
    cost double precision,
    record text NOT NULL,
    PRIMARY KEY (origin, conversation, number)
);
CREATE INDEX usage_by_time ON cogency.usage (at);

-- Contents of files and images, each once for an owner: otherwise whoever knows a digest could read it.
CREATE TABLE cogency.contents (
    owner text NOT NULL DEFAULT session_user,
    digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    data bytea NOT NULL,
    PRIMARY KEY (owner, digest)
);
CREATE TABLE cogency.content_uses (
    origin text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    owner text NOT NULL DEFAULT session_user,
    PRIMARY KEY (origin, conversation, digest)
);
CREATE INDEX content_uses_by_content ON cogency.content_uses (owner, digest);

-- Who sees what. The user is the role that logged in: SET ROLE changes nothing.

CREATE FUNCTION cogency.is_member_of(given text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM cogency.members m WHERE m.project = given AND m.member = session_user)
$$;

CREATE FUNCTION cogency.owns(origin text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM cogency.origins o WHERE o.id = origin AND o.owner = session_user)
$$;

CREATE FUNCTION cogency.is_withdrawn(given_origin text, given_id text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM cogency.withdrawn w WHERE w.origin = given_origin AND w.id = given_id)
$$;

CREATE FUNCTION cogency.writes(given_origin text, given_id text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM cogency.conversations c
        WHERE c.origin = given_origin AND c.id = given_id AND c.owner = session_user
    )
$$;

ALTER TABLE cogency.settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.members ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.origins ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.conversations ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.withdrawn ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.events_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.edits ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.contents ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.content_uses ENABLE ROW LEVEL SECURITY;

CREATE POLICY administer ON cogency.settings TO cogency_admin USING (true) WITH CHECK (true);
CREATE POLICY administer ON cogency.members TO cogency_admin USING (true) WITH CHECK (true);
CREATE POLICY see ON cogency.members FOR SELECT TO cogency_member USING (member = session_user);

CREATE POLICY see ON cogency.origins FOR SELECT TO cogency_member USING (
    owner = session_user OR EXISTS (SELECT FROM cogency.conversations c WHERE c.origin = origins.id)
);
CREATE POLICY add ON cogency.origins FOR INSERT TO cogency_member WITH CHECK (owner = session_user);
CREATE POLICY change ON cogency.origins FOR UPDATE TO cogency_member
    USING (owner = session_user) WITH CHECK (owner = session_user);

CREATE POLICY see ON cogency.conversations FOR SELECT TO cogency_member USING (
    owner = session_user OR share = 'team' OR (
        share = 'project'
        AND project IN (SELECT m.project FROM cogency.members m WHERE m.member = session_user)
    )
);
CREATE POLICY add ON cogency.conversations FOR INSERT TO cogency_member WITH CHECK (
    owner = session_user
    AND cogency.owns(origin)
    AND NOT cogency.is_withdrawn(origin, id)
    AND (share <> 'project' OR cogency.is_member_of(project))
);
CREATE POLICY change ON cogency.conversations FOR UPDATE TO cogency_member
    USING (owner = session_user)
    WITH CHECK (
        owner = session_user
        AND cogency.owns(origin)
        AND (share <> 'project' OR cogency.is_member_of(project))
    );

CREATE POLICY see ON cogency.withdrawn FOR SELECT TO cogency_member USING (owner = session_user);

CREATE POLICY see ON cogency.events FOR SELECT TO cogency_member USING (
    EXISTS (SELECT FROM cogency.conversations c WHERE c.origin = events.origin AND c.id = conversation)
);
CREATE POLICY add ON cogency.events FOR INSERT TO cogency_member
    WITH CHECK (cogency.writes(origin, conversation));
CREATE POLICY see ON cogency.edits FOR SELECT TO cogency_member USING (
    EXISTS (SELECT FROM cogency.conversations c WHERE c.origin = edits.origin AND c.id = conversation)
);
CREATE POLICY add ON cogency.edits FOR INSERT TO cogency_member
    WITH CHECK (cogency.writes(origin, conversation));
CREATE POLICY see ON cogency.usage FOR SELECT TO cogency_member USING (
    EXISTS (SELECT FROM cogency.conversations c WHERE c.origin = usage.origin AND c.id = conversation)
);
CREATE POLICY add ON cogency.usage FOR INSERT TO cogency_member
    WITH CHECK (cogency.writes(origin, conversation));
CREATE POLICY see ON cogency.content_uses FOR SELECT TO cogency_member USING (
    EXISTS (SELECT FROM cogency.conversations c WHERE c.origin = content_uses.origin AND c.id = conversation)
);
CREATE POLICY add ON cogency.content_uses FOR INSERT TO cogency_member
    WITH CHECK (owner = session_user AND cogency.writes(origin, conversation));
CREATE POLICY see ON cogency.contents FOR SELECT TO cogency_member USING (
    owner = session_user OR EXISTS (
        SELECT FROM cogency.content_uses u WHERE u.owner = contents.owner AND u.digest = contents.digest
    )
);
CREATE POLICY add ON cogency.contents FOR INSERT TO cogency_member WITH CHECK (owner = session_user);

GRANT USAGE ON SCHEMA cogency TO cogency_member, cogency_usage, cogency_admin;
GRANT SELECT ON cogency.identity TO cogency_member;
GRANT SELECT ON cogency.versions TO cogency_member, cogency_usage, cogency_admin;
GRANT SELECT, INSERT, DELETE ON cogency.members TO cogency_admin;
GRANT SELECT, UPDATE (value) ON cogency.settings TO cogency_admin;
GRANT SELECT ON cogency.members, cogency.withdrawn TO cogency_member;
GRANT SELECT, INSERT, UPDATE (name) ON cogency.origins TO cogency_member;
GRANT SELECT, INSERT ON cogency.events, cogency.edits, cogency.usage, cogency.contents, cogency.content_uses
    TO cogency_member;
GRANT SELECT, INSERT, UPDATE (
    project, share, title, turns, cost, updated, trashed, folded_title, folded_model, folded_directory,
    folded_branch, record, changing, position, revision, changed
) ON cogency.conversations TO cogency_member;

-- The months of events.

CREATE FUNCTION cogency.oldest() RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(
        (SELECT extract(epoch FROM date_trunc('month', now() - make_interval(days => value::integer)))
         FROM cogency.settings WHERE name = 'retention_days' AND value::integer > 0),
        '-infinity'
    )::double precision
$$;

-- Create the partitions of the months of these times. Times before 2020 and of the future have none.
CREATE FUNCTION cogency.prepare(times double precision[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    month timestamptz;
    partition text;
    first double precision;
    next double precision;
BEGIN
    FOR month IN
        SELECT DISTINCT date_trunc('month', to_timestamp(given), 'UTC') FROM unnest(times) AS given
        WHERE given >= 1577836800 AND given < extract(epoch FROM now()) + 86400 ORDER BY 1
    LOOP
        partition := 'events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
        CONTINUE WHEN to_regclass('cogency.' || partition) IS NOT NULL;
        PERFORM pg_advisory_xact_lock(hashtext('cogency.prepare'));
        CONTINUE WHEN to_regclass('cogency.' || partition) IS NOT NULL;
        first := extract(epoch FROM month);
        next := extract(epoch FROM (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TABLE cogency.%I (LIKE cogency.events INCLUDING ALL)', partition);
        EXECUTE format('ALTER TABLE cogency.%I ENABLE ROW LEVEL SECURITY', partition);
        -- A clock that was fast had put events there.
        LOCK TABLE cogency.events_default IN ACCESS EXCLUSIVE MODE;
        EXECUTE format(
            'WITH moved AS (DELETE FROM cogency.events_default WHERE at >= %L AND at < %L RETURNING *)'
            ' INSERT INTO cogency.%I SELECT * FROM moved', first, next, partition);
        EXECUTE format(
            'ALTER TABLE cogency.events ATTACH PARTITION cogency.%I FOR VALUES FROM (%L) TO (%L)',
            partition, first, next);
    END LOOP;
END
$$;

-- Remove conversations, with those of their sub-agents.
CREATE FUNCTION cogency.remove(given_origin text, ids text[]) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM cogency.events WHERE origin = given_origin AND conversation = ANY (ids);
    DELETE FROM cogency.edits WHERE origin = given_origin AND conversation = ANY (ids);
    DELETE FROM cogency.usage WHERE origin = given_origin AND conversation = ANY (ids);
    WITH uses AS (
        DELETE FROM cogency.content_uses WHERE origin = given_origin AND conversation = ANY (ids)
        RETURNING origin, conversation, owner, digest
    )
    DELETE FROM cogency.contents c USING uses
    WHERE c.owner = uses.owner AND c.digest = uses.digest AND NOT EXISTS (
        SELECT FROM cogency.content_uses o WHERE o.owner = c.owner AND o.digest = c.digest
        AND NOT (o.origin = given_origin AND o.conversation = ANY (ids))
    );
    DELETE FROM cogency.conversations WHERE origin = given_origin AND id = ANY (ids);
$$;

-- Withdraw a conversation: it is gone, and cannot be pushed again before `restore`.
CREATE FUNCTION cogency.withdraw(given_origin text, given_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ids text[];
BEGIN
    IF NOT cogency.owns(given_origin) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this conversation is of another user';
    END IF;
    -- A push holds the same lock to its end.
    PERFORM pg_advisory_xact_lock(hashtextextended('cogency.push ' || session_user, 0));
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

-- Allow a withdrawn conversation to be pushed again.
CREATE FUNCTION cogency.restore(given_origin text, given_id text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM cogency.withdrawn
    WHERE origin = given_origin AND (id = given_id OR root = given_id) AND owner = session_user
$$;

-- Remove what is older than the retention: whole months of events, and conversations without later changes.
-- An administrator runs it, once a day by cron or pg_cron.
CREATE FUNCTION cogency.expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    oldest double precision := cogency.oldest();
    removed integer := 0;
    gone record;
BEGIN
    FOR gone IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'cogency.events'::regclass AND c.relname ~ '^events_\d{4}_\d{2}$'
        AND extract(epoch FROM
            (to_date(substr(c.relname, 8), 'YYYY_MM')::timestamp + interval '1 month') AT TIME ZONE 'UTC'
        ) <= oldest
    LOOP
        EXECUTE format('DROP TABLE cogency.%I', gone.relname);
        removed := removed + 1;
    END LOOP;
    DELETE FROM cogency.events_default WHERE at < oldest;
    DELETE FROM cogency.usage WHERE at < oldest;
    FOR gone IN
        SELECT origin, array_agg(id) AS ids FROM cogency.conversations WHERE updated < oldest GROUP BY origin
    LOOP
        PERFORM cogency.remove(gone.origin, gone.ids);
        removed := removed + cardinality(gone.ids);
    END LOOP;
    RETURN removed;
END
$$;

-- The search: conversations that the user may see and that meet all conditions, the last updated first. As
-- the function's owner it may use the index of texts, which no query under row-level security may.

CREATE FUNCTION cogency.like_pattern(given text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT '%' || replace(replace(replace(given, '\', '\\'), '%', '\%'), '_', '\_') || '%'
$$;

CREATE FUNCTION cogency.search(asked jsonb, most integer)
RETURNS TABLE (origin text, id text, updated double precision)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    terms text[] := ARRAY['c.call IS NULL', 'NOT c.trashed'];
    pattern text;
    on_events text;
    on_edits text;
    on_title text;
    plan json;
    estimate double precision;
    rarest double precision := 20000;
    likely text := '';
    each jsonb;
BEGIN
    terms := terms || format(
        '(c.owner = %1$L OR c.share = ''team'' OR (c.share = ''project'' AND c.project IN'
        ' (SELECT m.project FROM cogency.members m WHERE m.member = %1$L)))', session_user);
    IF asked ? 'project' THEN
        terms := terms || format('c.project = %L', asked ->> 'project');
    END IF;
    IF asked ? 'without' THEN
        terms := terms || format(
            'NOT (c.origin = %L AND c.id = %L)', asked -> 'without' ->> 0, asked -> 'without' ->> 1);
    END IF;
    IF asked ? 'since' THEN
        terms := terms || format('c.updated >= %L::double precision', asked ->> 'since');
    END IF;
    IF asked ? 'before' THEN
        terms := terms || format('c.updated < %L::double precision', asked ->> 'before');
    END IF;
    IF asked ? 'above' THEN
        terms := terms || format(
            '(c.updated, c.id, c.origin) < (%L::double precision, %L, %L)',
            asked -> 'above' ->> 0, asked -> 'above' ->> 1, asked -> 'above' ->> 2);
    END IF;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'costs', '[]')) LOOP
        terms := terms || CASE each ->> 0
            WHEN '=' THEN format('abs(c.cost - %L) < 0.005', each ->> 1)
            WHEN '<' THEN format('c.cost < %L', each ->> 1)
            WHEN '<=' THEN format('c.cost <= %L', each ->> 1)
            WHEN '>' THEN format('c.cost > %L', each ->> 1)
            ELSE format('c.cost >= %L', each ->> 1)
        END;
    END LOOP;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'rows', '[]')) LOOP
        pattern := cogency.like_pattern(each ->> 1);
        terms := terms || CASE each ->> 0
            WHEN 'model' THEN format('c.folded_model LIKE %L', pattern)
            WHEN 'directory' THEN format('c.folded_directory LIKE %L', pattern)
            ELSE format('c.folded_branch LIKE %L', pattern)
        END;
    END LOOP;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'documents', '[]')) LOOP
        pattern := cogency.like_pattern(each ->> 1);
        on_events := CASE each ->> 0
            WHEN 'term' THEN format('e.folded LIKE %L', pattern)
            WHEN 'file' THEN format('e.paths <> '''' AND e.paths LIKE %L', pattern)
            WHEN 'tool' THEN format('e.type = ''call'' AND e.tool LIKE %L', pattern)
            ELSE format('e.failed AND e.folded LIKE %L', pattern)
        END;
        on_edits := CASE each ->> 0
            WHEN 'term' THEN format('e.folded LIKE %L', pattern)
            WHEN 'file' THEN format('e.paths LIKE %L', pattern)
            ELSE 'false'
        END;
        on_title := CASE each ->> 0 WHEN 'term' THEN format('.folded_title LIKE %L', pattern) ELSE '.trashed' END;
        terms := terms || format(
            '(c%s OR (SELECT true FROM cogency.events e WHERE e.origin = c.origin AND e.conversation = c.id'
            ' AND %s LIMIT 1) OR (SELECT true FROM cogency.edits e WHERE e.origin = c.origin AND e.root = c.id'
            ' AND %s LIMIT 1))', on_title, on_events, on_edits);
        -- A condition that few rows meet comes first, by the index. Otherwise the newest conversations are
        -- tried one by one, of which many will do.
        EXECUTE 'EXPLAIN (FORMAT JSON) SELECT FROM cogency.events e WHERE ' || on_events INTO plan;
        estimate := plan -> 0 -> 'Plan' ->> 'Plan Rows';
        IF estimate < rarest THEN
            rarest := estimate;
            likely := format(
                'WITH found AS MATERIALIZED ('
                'SELECT e.origin, e.conversation AS id FROM cogency.events e WHERE %s'
                ' UNION SELECT e.origin, e.root FROM cogency.edits e WHERE %s'
                ' UNION SELECT t.origin, t.id FROM cogency.conversations t WHERE t%s) ',
                on_events, on_edits, on_title);
        END IF;
    END LOOP;
    RETURN QUERY EXECUTE format(
        '%sSELECT c.origin, c.id, c.updated FROM cogency.conversations c%s WHERE %s'
        ' ORDER BY c.updated DESC, c.id DESC, c.origin DESC LIMIT %s',
        likely, CASE likely WHEN '' THEN '' ELSE ' JOIN found f ON f.origin = c.origin AND f.id = c.id' END,
        array_to_string(terms, ' AND '), least(greatest(most, 1), 1000));
END
$$;

-- What a team used, by user, project and model, for those who may see it.
CREATE FUNCTION cogency.team_usage(since double precision, before double precision)
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
        SELECT c.owner, c.project, u.provider, u.model, count(DISTINCT (c.origin, c.id)), count(*),
            sum(u.input), sum(u.output), sum(u.cached), sum(u.cost)
        FROM cogency.usage u JOIN cogency.conversations c ON c.origin = u.origin AND c.id = u.conversation
        WHERE u.at >= since AND u.at < before
        GROUP BY c.owner, c.project, u.provider, u.model;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA cogency FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    cogency.is_member_of, cogency.owns, cogency.is_withdrawn, cogency.writes, cogency.oldest, cogency.prepare,
    cogency.withdraw, cogency.restore, cogency.search
    TO cogency_member;
GRANT EXECUTE ON FUNCTION cogency.oldest, cogency.expire TO cogency_admin;
GRANT EXECUTE ON FUNCTION cogency.team_usage TO cogency_usage;
