-- Members reach what conversations contain by functions alone, and these read nothing of what their user may not see.
--
-- PostgreSQL evaluates comparisons of texts before the policy of a table, and EXPLAIN ANALYZE tells whether one held:
-- so a member with SQL of their own could have read, by range after range, what the policy hides. By the counters of
-- the index of texts they could have found out whether a word occurs there, and by the estimates of the planner, which
-- it shows even where it refuses, what samples it has.
--
-- A function must not depend on a plan, which a member's settings choose: what may be read is decided in a statement
-- before, or in a CASE: an equality alone may be evaluated last. And it shows no messages below `notice`, among which
-- are its plans.

-- Statistics. To change the type of a column removes its statistics, where no policy has it.

DROP POLICY see ON cogency.conversations;
DROP POLICY add ON cogency.conversations;
DROP POLICY change ON cogency.conversations;
DROP POLICY see ON cogency.contents;
DROP POLICY see ON cogency.members;
DROP POLICY see ON cogency.origins;

CREATE FUNCTION cogency.columns_without_statistics(given regclass) RETURNS SETOF pg_catalog.pg_attribute
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT a FROM pg_attribute a WHERE a.attrelid = given AND a.attname IN (
        'body', 'folded', 'paths', 'tool', 'text', 'record', 'title', 'folded_title', 'folded_model',
        'folded_directory', 'folded_branch', 'changing', 'position', 'data', 'digest', 'project', 'readers', 'name',
        'provider', 'model'
    )
$$;
CREATE FUNCTION cogency.keep_no_statistics(given regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('ALTER TABLE %s ALTER %I SET STATISTICS 0', given, attname)
        FROM cogency.columns_without_statistics(given)
        UNION ALL
        SELECT format('ALTER INDEX %s ALTER COLUMN 1 SET STATISTICS 0', indexrelid::regclass)
        FROM pg_index WHERE indrelid = given AND indexprs IS NOT NULL
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION cogency.columns_without_statistics, cogency.keep_no_statistics FROM PUBLIC;
DO $do$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format(
            'ALTER TABLE %s ALTER %I TYPE %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod))
        FROM pg_class c, cogency.columns_without_statistics(c.oid) a
        WHERE c.relnamespace = 'cogency'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND c.relname NOT IN ('settings', 'versions')
    LOOP
        EXECUTE command;
    END LOOP;
END
$do$;

-- Readers. Each key of the index of texts is a trigram together with those who may read the row.

-- Who may read a conversation, and the rows of it: its owner, the members of a project, or the team.
ALTER TABLE cogency.conversations ADD readers text NOT NULL GENERATED ALWAYS AS (
    CASE share WHEN 'own' THEN 'user ' || owner WHEN 'project' THEN 'project ' || project ELSE 'team' END
) STORED;
-- Its events and edits are still indexed for those who could read them before: see `reindex`.
ALTER TABLE cogency.conversations ADD stale boolean NOT NULL DEFAULT false;
CREATE INDEX conversations_stale ON cogency.conversations (owner) WHERE stale;

DROP INDEX cogency.events_by_text, cogency.events_by_path, cogency.edits_by_text, cogency.edits_by_path;
ALTER TABLE cogency.events ADD readers text NOT NULL DEFAULT '';
ALTER TABLE cogency.edits ADD readers text NOT NULL DEFAULT '';
UPDATE cogency.events e SET readers = c.readers FROM cogency.conversations c
    WHERE c.origin = e.origin AND c.id = e.conversation;
UPDATE cogency.edits e SET readers = c.readers FROM cogency.conversations c
    WHERE c.origin = e.origin AND c.id = e.conversation;

CREATE FUNCTION cogency.set_readers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT c.readers INTO NEW.readers FROM cogency.conversations c
        WHERE c.origin = NEW.origin AND c.id = NEW.conversation;
    NEW.readers := coalesce(NEW.readers, '');
    RETURN NEW;
END
$$;
CREATE FUNCTION cogency.mark_stale() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.stale := true;
    RETURN NEW;
END
$$;

-- Index up to so many events and edits of the user's for those who can read them now; return whether there are more.
CREATE FUNCTION cogency.reindex(most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    room integer := most;
    changed integer;
    each record;
BEGIN
    IF NOT EXISTS (SELECT FROM cogency.conversations c WHERE c.owner = session_user AND c.stale) THEN
        RETURN false;
    END IF;
    PERFORM cogency.take_turn();
    -- Wait for rows that move to another partition: they would not be found.
    LOCK TABLE cogency.events, cogency.edits IN ROW EXCLUSIVE MODE;
    FOR each IN
        SELECT c.origin, c.id, c.readers FROM cogency.conversations c WHERE c.owner = session_user AND c.stale
    LOOP
        UPDATE cogency.events e SET readers = each.readers FROM (
            SELECT o.number, o.at FROM cogency.events o
            WHERE o.origin = each.origin AND o.conversation = each.id AND o.readers <> each.readers LIMIT room
        ) o WHERE e.origin = each.origin AND e.conversation = each.id AND e.number = o.number AND e.at = o.at;
        GET DIAGNOSTICS changed = ROW_COUNT;
        room := room - changed;
        UPDATE cogency.edits e SET readers = each.readers FROM (
            SELECT o.number, o.at FROM cogency.edits o
            WHERE o.origin = each.origin AND o.conversation = each.id AND o.readers <> each.readers LIMIT room
        ) o WHERE e.origin = each.origin AND e.conversation = each.id AND e.number = o.number AND e.at = o.at;
        GET DIAGNOSTICS changed = ROW_COUNT;
        room := room - changed;
        IF room <= 0 THEN
            RETURN true;
        END IF;
        UPDATE cogency.conversations SET stale = false WHERE origin = each.origin AND id = each.id;
    END LOOP;
    RETURN false;
END
$$;
REVOKE ALL ON FUNCTION cogency.set_readers, cogency.mark_stale, cogency.reindex FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cogency.reindex TO cogency_member;
CREATE TRIGGER set_readers BEFORE INSERT ON cogency.events FOR EACH ROW EXECUTE FUNCTION cogency.set_readers();
CREATE TRIGGER set_readers BEFORE INSERT ON cogency.edits FOR EACH ROW EXECUTE FUNCTION cogency.set_readers();
CREATE TRIGGER mark_stale BEFORE UPDATE ON cogency.conversations FOR EACH ROW
    WHEN ((OLD.share, OLD.project) IS DISTINCT FROM (NEW.share, NEW.project)) EXECUTE FUNCTION cogency.mark_stale();

-- The keys of a row in the index.
CREATE FUNCTION cogency.row_keys(readers text, given text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT ARRAY(
        SELECT hashtextextended(trigram COLLATE "C", (SELECT hashtextextended(readers COLLATE "C", 0::bigint)))
        FROM (SELECT unnest(show_trgm(given)) AS trigram) t
    )
);
-- The keys that every row has which contains a text: those of the trigrams at its edges depend on what is around it.
CREATE FUNCTION cogency.text_keys(readers text, given text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT ARRAY(
        SELECT hashtextextended(trigram COLLATE "C", (SELECT hashtextextended(readers COLLATE "C", 0::bigint)))
        FROM (
            SELECT unnest(show_trgm(given))
            INTERSECT SELECT unnest(show_trgm('q' || given || 'q'))
            INTERSECT SELECT unnest(show_trgm('7' || given || '7'))
        ) certain (trigram)
    )
);
-- Whoever adds a row computes its keys.
REVOKE ALL ON FUNCTION cogency.row_keys, cogency.text_keys FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cogency.row_keys TO cogency_member;

CREATE INDEX events_by_text ON cogency.events USING gin (cogency.row_keys(readers, folded));
CREATE INDEX events_by_path ON cogency.events USING gin (cogency.row_keys(readers, paths)) WHERE paths <> '';
CREATE INDEX edits_by_text ON cogency.edits USING gin (cogency.row_keys(readers, folded));
CREATE INDEX edits_by_path ON cogency.edits USING gin (cogency.row_keys(readers, paths));

DO $do$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('SELECT cogency.keep_no_statistics(%L)', c.oid::regclass) FROM pg_class c
        WHERE c.relnamespace = 'cogency'::regnamespace AND c.relkind IN ('r', 'p')
            AND c.relname NOT IN ('settings', 'versions')
    LOOP
        EXECUTE command;
    END LOOP;
END
$do$;

-- Reading. Only keys, owners and times can be selected, under policies as before.

REVOKE SELECT ON cogency.conversations, cogency.events, cogency.edits, cogency.usage, cogency.contents,
    cogency.content_uses, cogency.members, cogency.origins FROM cogency_member;
ALTER TABLE cogency.conversations ADD is_call boolean NOT NULL GENERATED ALWAYS AS (call IS NOT NULL) STORED;
GRANT SELECT (origin, id, owner, parent, is_call, updated, revision, changed) ON cogency.conversations
    TO cogency_member;
GRANT SELECT (origin, conversation, number, at) ON cogency.events, cogency.edits, cogency.usage TO cogency_member;

-- Return those whose conversations the user may read, beside their own.
CREATE FUNCTION cogency.readers() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY['user ' || session_user, 'team']
        || ARRAY(SELECT 'project ' || m.project FROM cogency.members m WHERE m.member = session_user)
$$;

-- Return the projects that the user is a member of.
CREATE FUNCTION cogency.projects() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.project FROM cogency.members m WHERE m.member = session_user ORDER BY 1
$$;

CREATE POLICY see ON cogency.conversations FOR SELECT TO cogency_member USING (
    owner = session_user OR readers = ANY ((SELECT cogency.readers())::text[])
);
CREATE POLICY add ON cogency.conversations FOR INSERT TO cogency_member WITH CHECK (
    owner = session_user
    AND cogency.owns(origin)
    AND NOT cogency.is_withdrawn(origin, id)
    AND cogency.may_share(share, project)
);
CREATE POLICY change ON cogency.conversations FOR UPDATE TO cogency_member
    USING (owner = session_user)
    WITH CHECK (
        owner = session_user
        AND cogency.owns(origin)
        AND cogency.may_share(share, project)
    );

-- Return whether the user may read a conversation.
CREATE FUNCTION cogency.reads(given_origin text, given_id text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM cogency.conversations c WHERE c.origin = given_origin AND c.id = given_id
        AND (c.owner = session_user OR c.readers = ANY (cogency.readers()))
    )
$$;

CREATE FUNCTION cogency.read_conversations(origins text[], ids text[])
RETURNS TABLE (
    place bigint, origin text, id text, owner text, machine text, project text, title text, call text, record text,
    changing text, "position" text, revision bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT w.place, c.origin, c.id, c.owner, o.name, c.project, c.title, c.call, c.record, c.changing, c.position,
        c.revision
    FROM unnest(origins, ids) WITH ORDINALITY AS w (origin, id, place)
    JOIN cogency.conversations c ON c.origin = w.origin AND c.id = w.id
    JOIN cogency.origins o ON o.id = c.origin
    WHERE cogency.reads(w.origin, w.id) ORDER BY w.place
$$;

CREATE FUNCTION cogency.read_events(given_origin text, given_id text, after bigint, most integer)
RETURNS TABLE (number bigint, type text, body text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.number, e.type, e.body FROM cogency.events e
    WHERE cogency.reads(given_origin, given_id)
        AND e.origin = given_origin AND e.conversation = given_id AND e.number > after
    ORDER BY e.number LIMIT most
$$;
-- The same, backwards from a number.
CREATE FUNCTION cogency.read_events_until(given_origin text, given_id text, last bigint, most integer)
RETURNS TABLE (number bigint, type text, body text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.number, e.type, e.body FROM cogency.events e
    WHERE cogency.reads(given_origin, given_id)
        AND e.origin = given_origin AND e.conversation = given_id AND e.number <= last
    ORDER BY e.number DESC LIMIT most
$$;
CREATE FUNCTION cogency.read_usage(given_origin text, given_id text, after bigint, most integer)
RETURNS TABLE (number bigint, record text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT u.number, u.record FROM cogency.usage u
    WHERE cogency.reads(given_origin, given_id)
        AND u.origin = given_origin AND u.conversation = given_id AND u.number > after
    ORDER BY u.number LIMIT most
$$;
CREATE FUNCTION cogency.read_edits(given_origin text, given_id text, after bigint, most integer)
RETURNS TABLE (number bigint, record text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.number, e.record FROM cogency.edits e
    WHERE cogency.reads(given_origin, given_id)
        AND e.origin = given_origin AND e.conversation = given_id AND e.number > after
    ORDER BY e.number LIMIT most
$$;
CREATE FUNCTION cogency.read_contents(given_origin text, given_id text, digests text[])
RETURNS TABLE (digest text, data bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.digest, c.data FROM cogency.content_uses u
    JOIN cogency.contents c ON c.owner = u.owner AND c.digest = u.digest
    WHERE cogency.reads(given_origin, given_id)
        AND u.origin = given_origin AND u.conversation = given_id
        AND CASE WHEN u.origin = given_origin AND u.conversation = given_id THEN u.digest = ANY (digests) ELSE false END
$$;

-- Return the numbers of the events that called what made these edits.
CREATE FUNCTION cogency.calls_of_edits(origins text[], numbers bigint[])
RETURNS TABLE (origin text, edit bigint, event bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.origin, d.number, min(e.number) FROM unnest(origins, numbers) AS w (origin, number)
    JOIN cogency.edits d ON d.origin = w.origin AND d.number = w.number
    JOIN cogency.events e ON e.origin = d.origin AND e.conversation = d.conversation AND e.type = 'call'
    WHERE cogency.reads(d.origin, d.conversation)
        AND CASE WHEN e.origin = d.origin AND e.conversation = d.conversation AND cogency.reads(d.origin, d.conversation)
            THEN strpos(e.body, '"id":' || substring(d.record FROM '"call":("[^"\\]+")')) > 0 ELSE false END
    GROUP BY d.origin, d.number
$$;

-- The condition of a query on events, on edits and on titles.
CREATE FUNCTION cogency.condition(kind text, given text, OUT on_event text, OUT on_edit text, OUT on_title text)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    pattern CONSTANT text := cogency.like_pattern(given);
BEGIN
    on_event := CASE kind
        WHEN 'term' THEN format('e.folded LIKE %L', pattern)
        WHEN 'file' THEN format('e.paths <> '''' AND e.paths LIKE %L', pattern)
        WHEN 'tool' THEN format('e.type = ''call'' AND e.tool LIKE %L', pattern)
        ELSE format('e.failed AND e.folded LIKE %L', pattern)
    END;
    on_edit := CASE kind
        WHEN 'term' THEN format('e.folded LIKE %L', pattern)
        WHEN 'file' THEN format('e.paths LIKE %L', pattern)
        ELSE 'false'
    END;
    on_title := CASE kind
        WHEN 'term' THEN format('c.folded_title <> '''' AND c.folded_title LIKE %L', pattern)
        ELSE 'false'
    END;
END
$$;

-- Return the events and edits of these conversations that meet one of the conditions: of each at most so many, those
-- first that have the phrase, or meet the most terms.
CREATE FUNCTION cogency.hits(documents jsonb, phrase text, origins text[], ids text[], most integer)
RETURNS TABLE (
    place bigint, source bigint, conversation text, type text, at double precision, body text, tool text, paths text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    places bigint[];
    starts double precision[];
    ends double precision[];
    readers text[];
    on_event text;
    on_edit text;
    terms text;
BEGIN
    SELECT array_agg(w.place), array_agg(c.began), array_agg(c.ended), array_agg(c.readers)
    INTO places, starts, ends, readers
    FROM unnest(origins, ids) WITH ORDINALITY AS w (origin, id, place)
    JOIN cogency.conversations c ON c.origin = w.origin AND c.id = w.id WHERE cogency.reads(w.origin, w.id);
    SELECT string_agg(f.on_event, ' OR '), string_agg(f.on_edit, ' OR '),
        string_agg(format('(%s)::integer', f.on_event), ' + ') FILTER (WHERE d ->> 0 = 'term')
    INTO on_event, on_edit, terms
    FROM jsonb_array_elements(documents) d, cogency.condition(d ->> 0, d ->> 1) f;
    -- Each row of events is reached by a place.
    RETURN QUERY EXECUTE format(
        'SELECT w.place, d.source, d.conversation, d.type, d.at, d.body, d.tool, d.paths'
        ' FROM unnest($5, $6, $7, $8) AS w (place, began, ended, readers) CROSS JOIN LATERAL ('
        'SELECT * FROM ('
        'SELECT e.number AS source, e.conversation, e.type, e.at, e.body, e.folded, e.tool, e.paths'
        ' FROM cogency.events e WHERE e.origin = $1[w.place] AND e.conversation = $2[w.place]'
        ' AND e.at >= w.began AND e.at <= w.ended'
        ' AND CASE WHEN e.origin = $1[w.place] AND e.conversation = $2[w.place] THEN %s ELSE false END'
        ' UNION ALL'
        ' SELECT -e.number, e.conversation, ''edit'', e.at, e.text, e.folded, e.tool, e.paths'
        ' FROM cogency.edits e WHERE e.origin = $1[w.place] AND e.root = $2[w.place]'
        ' AND e.at >= w.began AND e.at <= w.ended'
        ' AND CASE WHEN e.origin = $1[w.place] AND e.root = $2[w.place] AND e.readers = w.readers THEN %s'
        ' ELSE false END'
        ') e ORDER BY (e.folded LIKE $3) DESC, (%s) DESC, e.source > 0 DESC, abs(e.source) DESC LIMIT $4'
        ') d',
        coalesce(on_event, 'false'), coalesce(on_edit, 'false'), coalesce(terms, 'NULL::integer')
    ) USING origins, ids, CASE phrase WHEN '' THEN '' ELSE cogency.like_pattern(phrase) END, most, places, starts, ends,
        readers;
END
$$;

REVOKE ALL ON FUNCTION cogency.readers, cogency.projects, cogency.reads, cogency.read_conversations, cogency.read_events,
    cogency.read_events_until, cogency.read_usage, cogency.read_edits, cogency.read_contents, cogency.calls_of_edits,
    cogency.condition, cogency.hits FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cogency.readers, cogency.projects, cogency.read_conversations, cogency.read_events,
    cogency.read_events_until, cogency.read_usage, cogency.read_edits, cogency.read_contents, cogency.calls_of_edits,
    cogency.hits TO cogency_member;

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
        PERFORM cogency.keep_no_statistics(format('cogency.%I', each.partition)::regclass);
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

-- The search: conversations that the user may see and that meet all conditions, the last updated first. As
-- the function's owner it may use the indexes of texts, which no query under row-level security may: of them it
-- reads the keys of what the user may see.
--
-- The newest are tried one by one, of which often enough will do. Where few do, the condition that fewest rows
-- meet is looked up in the index, month by month: what conversations of a month have is of that month, but
-- for those that span several, which are tried. So are those that are indexed for others than now read them, and those
-- of the user in a project that they have left. After `seconds` it returns, and a last row without an id says up to
-- which time it has come.
CREATE OR REPLACE FUNCTION cogency.search(asked jsonb, most integer)
RETURNS TABLE (origin text, id text, updated double precision)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET work_mem = '64MB' AS $$
DECLARE
    allowed CONSTANT text[] := cogency.readers();
    -- What is compared with a row's contents comes behind who may read it.
    contents text[] := ARRAY['true'];
    visible text[] := ARRAY['c.call IS NULL', 'NOT c.trashed'];
    is_read text;
    holds text := 'true';
    is_single boolean := jsonb_array_length(coalesce(asked -> 'documents', '[]')) = 1;
    events_with text[] := ARRAY[]::text[];
    edits_with text[] := ARRAY[]::text[];
    titles_with text[] := ARRAY[]::text[];
    wanted integer := least(greatest(most, 1), 1000);
    if_read CONSTANT text := '(%s) AND CASE WHEN e.readers = ANY (%L) THEN %s ELSE false END';
    in_span CONSTANT text := 'e.at >= c.began AND e.at <= c.ended';
    by_update CONSTANT text := ' ORDER BY c.updated DESC, c.id DESC, c.origin DESC';
    of_row CONSTANT text := 'c.origin, c.id, c.updated, c.began, c.ended, c.folded_title';
    below text := 'true';
    unindexed text;
    is_any boolean;
    in_month text;
    tried integer := 128;
    met integer;
    -- The condition that is looked up: its place, and how many rows meet it, up to a limit.
    rarest integer;
    fewest integer;
    newest double precision;
    first double precision;
    next double precision;
    month timestamp;
    count integer;
    pattern text;
    keys text;
    on_event text;
    on_edit text;
    on_title text;
    until CONSTANT timestamptz :=
        clock_timestamp() + make_interval(secs => coalesce((asked ->> 'seconds')::double precision, 2));
    last record;
    each jsonb;
BEGIN
    is_read := format('(c.owner = %L OR c.readers = ANY (%L))', session_user, allowed);
    IF asked ? 'project' THEN
        contents := contents || format('c.project = %L', asked ->> 'project');
    END IF;
    IF asked ? 'without' THEN
        visible := visible || format(
            'NOT (c.origin = %L AND c.id = %L)', asked -> 'without' ->> 0, asked -> 'without' ->> 1);
    END IF;
    IF asked ? 'since' THEN
        visible := visible || format('c.updated >= %L::double precision', asked ->> 'since');
    END IF;
    IF asked ? 'before' THEN
        visible := visible || format('c.updated < %L::double precision', asked ->> 'before');
    END IF;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'costs', '[]')) LOOP
        contents := contents || CASE each ->> 0
            WHEN '=' THEN format('abs(c.cost - %L) < 0.005', each ->> 1)
            WHEN '<' THEN format('c.cost < %L', each ->> 1)
            WHEN '<=' THEN format('c.cost <= %L', each ->> 1)
            WHEN '>' THEN format('c.cost > %L', each ->> 1)
            ELSE format('c.cost >= %L', each ->> 1)
        END;
    END LOOP;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'rows', '[]')) LOOP
        pattern := cogency.like_pattern(each ->> 1);
        contents := contents || CASE each ->> 0
            WHEN 'model' THEN format('c.folded_model LIKE %L', pattern)
            WHEN 'directory' THEN format('c.folded_directory LIKE %L', pattern)
            WHEN 'from' THEN format(
                '(lower(c.owner) LIKE %1$L OR (SELECT CASE WHEN o.id = c.origin THEN lower(o.name) LIKE %1$L'
                ' ELSE false END FROM cogency.origins o WHERE o.id = c.origin))', pattern)
            ELSE format('c.folded_branch LIKE %L', pattern)
        END;
    END LOOP;
    visible := visible || format('CASE WHEN %s THEN %s ELSE false END', is_read, array_to_string(contents, ' AND '));
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'documents', '[]')) LOOP
        SELECT * INTO on_event, on_edit, on_title FROM cogency.condition(each ->> 0, each ->> 1);
        holds := holds || format(
            ' AND (%1$s OR (SELECT true FROM cogency.events e WHERE e.origin = c.origin AND e.conversation = c.id'
            ' AND %2$s AND CASE WHEN e.origin = c.origin AND e.conversation = c.id THEN %3$s ELSE false END LIMIT 1)'
            ' OR (SELECT true FROM cogency.edits e WHERE e.origin = c.origin AND e.root = c.id'
            ' AND %2$s AND CASE WHEN e.origin = c.origin AND e.root = c.id THEN %4$s ELSE false END LIMIT 1))',
            on_title, in_span, on_event, on_edit);
        IF each ->> 0 <> 'tool' THEN
            SELECT string_agg(format(
                'cogency.row_keys(e.readers, e.%s) @> %L::bigint[]',
                CASE each ->> 0 WHEN 'file' THEN 'paths' ELSE 'folded' END, found.keys
            ), ' OR ') INTO keys
            FROM (SELECT cogency.text_keys(r, each ->> 1) AS keys FROM unnest(allowed) r) found
            WHERE cardinality(found.keys) > 0;
            IF keys IS NOT NULL THEN
                events_with := events_with || format(if_read, keys, allowed, on_event);
                edits_with := edits_with || format(if_read, keys, allowed, on_edit);
                titles_with := titles_with || format('CASE WHEN %s THEN %s ELSE false END', is_read, on_title);
            END IF;
        END IF;
    END LOOP;
    IF asked ? 'above' THEN
        below := format(
            '(c.updated, c.id, c.origin) < (%L::double precision, %L, %L)',
            asked -> 'above' ->> 0, asked -> 'above' ->> 1, asked -> 'above' ->> 2);
    END IF;

    LOOP
        RETURN QUERY EXECUTE format(
            'SELECT c.origin, c.id, c.updated FROM (SELECT %s FROM cogency.conversations c WHERE %s AND %s%s'
            ' LIMIT %s) c WHERE %s%s LIMIT %s',
            of_row, array_to_string(visible, ' AND '), below, by_update, tried, holds, by_update, wanted);
        GET DIAGNOSTICS met = ROW_COUNT;
        wanted := wanted - met;
        EXECUTE format(
            'SELECT c.updated, c.id, c.origin FROM cogency.conversations c WHERE %s AND %s%s OFFSET %s LIMIT 1',
            array_to_string(visible, ' AND '), below, by_update, tried - 1) INTO last;
        IF wanted <= 0 OR last.id IS NULL THEN
            RETURN;
        END IF;
        below := format(
            '(c.updated, c.id, c.origin) < (%L::double precision, %L, %L)', last.updated, last.id, last.origin);
        EXIT WHEN met * 16 < tried AND cardinality(events_with) > 0;
        tried := 512;
    END LOOP;

    unindexed := format('(c.stale OR c.owner = %L AND c.readers <> ALL (%L))', session_user, allowed);
    EXECUTE 'SELECT EXISTS (SELECT FROM cogency.conversations c WHERE ' || unindexed || ')' INTO is_any;
    unindexed := CASE WHEN is_any THEN
        ' UNION ALL SELECT c.origin, c.id, false FROM cogency.conversations c WHERE ' || unindexed ELSE '' END;
    LOOP
        EXECUTE format(
            'SELECT c.updated FROM cogency.conversations c WHERE %s AND %s%s LIMIT 1',
            array_to_string(visible, ' AND '), below, by_update) INTO newest;
        EXIT WHEN newest IS NULL;
        IF newest < 1577836800 THEN
            first := '-infinity';
            next := 1577836800;
        ELSIF newest < 4102444800 THEN
            month := date_trunc('month', to_timestamp(newest) AT TIME ZONE 'UTC');
            first := extract(epoch FROM month AT TIME ZONE 'UTC');
            next := extract(epoch FROM (month + interval '1 month') AT TIME ZONE 'UTC');
        ELSE
            first := 4102444800;
            next := 'infinity';
        END IF;
        in_month := format('e.at >= %L::double precision AND e.at < %L::double precision', first, next);
        IF rarest IS NULL THEN
            FOR place IN 1 .. cardinality(events_with) LOOP
                IF cardinality(events_with) > 1 THEN
                    EXECUTE format(
                        'SELECT count(*) FROM (SELECT FROM cogency.events e WHERE %s AND %s LIMIT 1000) e',
                        in_month, events_with[place]) INTO count;
                END IF;
                IF rarest IS NULL OR count < fewest THEN
                    rarest := place;
                    fewest := count;
                END IF;
            END LOOP;
        END IF;
        RETURN QUERY EXECUTE format(
            'WITH found AS MATERIALIZED (SELECT f.origin, f.id, bool_or(f.known) AS known FROM ('
            'SELECT e.origin, e.conversation AS id, true AS known FROM cogency.events e WHERE %1$s AND %2$s'
            ' UNION ALL SELECT e.origin, e.root, true FROM cogency.edits e WHERE %1$s AND %3$s'
            ' UNION ALL SELECT c.origin, c.id, true FROM cogency.conversations c'
            ' WHERE c.call IS NULL AND NOT c.trashed AND c.updated >= %5$L::double precision AND %4$s'
            ' UNION ALL SELECT c.origin, c.id, false FROM cogency.conversations c'
            ' WHERE c.call IS NULL AND NOT c.trashed AND c.updated >= %5$L::double precision AND %6$s'
            ' AND (c.began < %5$L::double precision OR c.ended >= %7$L::double precision)%13$s'
            ') f GROUP BY 1, 2)'
            ' SELECT c.origin, c.id, c.updated FROM (SELECT %8$s, f.known FROM cogency.conversations c'
            ' JOIN found f ON f.origin = c.origin AND f.id = c.id'
            ' WHERE c.updated >= %5$L::double precision AND %6$s AND %9$s%10$s OFFSET 0) c'
            ' WHERE %11$s%10$s LIMIT %12$s',
            in_month, events_with[rarest], edits_with[rarest], titles_with[rarest], first, below, next, of_row,
            array_to_string(visible, ' AND '), by_update,
            CASE WHEN is_single THEN '(c.known OR ' || holds || ')' ELSE holds END, wanted, unindexed);
        GET DIAGNOSTICS met = ROW_COUNT;
        wanted := wanted - met;
        EXIT WHEN wanted <= 0;
        below := format('c.updated < %L::double precision', first);
        IF clock_timestamp() > until THEN
            RETURN QUERY SELECT NULL::text, NULL::text, first;
            RETURN;
        END IF;
    END LOOP;
END
$$;

DO $do$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format(
            'ALTER FUNCTION %s SET client_min_messages = notice SET standard_conforming_strings = on',
            p.oid::regprocedure)
        FROM pg_proc p WHERE p.pronamespace = 'cogency'::regnamespace AND p.prosecdef
    LOOP
        EXECUTE command;
    END LOOP;
END
$do$;
