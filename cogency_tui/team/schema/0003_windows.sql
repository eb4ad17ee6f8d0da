-- A search goes from month to month, the newest first, and ends where it has found enough: for that, edits are
-- in partitions as events are, and a conversation has the span of its events and edits.

-- What a search compares stays in the row, compressed, and is not fetched from elsewhere for each candidate.
ALTER TABLE cogency.events ALTER folded SET STORAGE MAIN;

ALTER TABLE cogency.conversations
    ADD began double precision NOT NULL DEFAULT 'infinity',
    ADD ended double precision NOT NULL DEFAULT '-infinity';
UPDATE cogency.conversations c SET began = s.began, ended = s.ended FROM (
    SELECT origin, id, min(at) AS began, max(at) AS ended FROM (
        SELECT origin, conversation AS id, at FROM cogency.events
        UNION ALL SELECT origin, root, at FROM cogency.edits
    ) e GROUP BY 1, 2
) s WHERE c.origin = s.origin AND c.id = s.id;
CREATE INDEX conversations_by_span ON cogency.conversations (updated) INCLUDE (began, ended, origin, id)
    WHERE call IS NULL AND NOT trashed;
CREATE INDEX conversations_by_title ON cogency.conversations (updated)
    WHERE call IS NULL AND NOT trashed AND folded_title <> '';

CREATE FUNCTION cogency.note_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE cogency.conversations c SET began = least(c.began, a.first), ended = greatest(c.ended, a.last)
    FROM (SELECT origin, conversation, min(at) AS first, max(at) AS last FROM added GROUP BY 1, 2) a
    WHERE c.origin = a.origin AND c.id = a.conversation AND (a.first < c.began OR a.last > c.ended);
    RETURN NULL;
END
$$;
CREATE FUNCTION cogency.note_edits() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE cogency.conversations c SET began = least(c.began, a.first), ended = greatest(c.ended, a.last)
    FROM (SELECT origin, root, min(at) AS first, max(at) AS last FROM added GROUP BY 1, 2) a
    WHERE c.origin = a.origin AND c.id = a.root AND (a.first < c.began OR a.last > c.ended);
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION cogency.note_events, cogency.note_edits FROM PUBLIC;

ALTER TABLE cogency.edits RENAME TO edits_before;
CREATE TABLE cogency.edits (LIKE cogency.edits_before INCLUDING CONSTRAINTS) PARTITION BY RANGE (at);
ALTER TABLE cogency.edits ALTER folded SET STORAGE MAIN;
CREATE TABLE cogency.edits_default PARTITION OF cogency.edits DEFAULT;
INSERT INTO cogency.edits SELECT * FROM cogency.edits_before;
DROP TABLE cogency.edits_before;
ALTER TABLE cogency.edits ADD PRIMARY KEY (origin, conversation, number, at);
CREATE INDEX edits_by_root ON cogency.edits (origin, root);
CREATE INDEX edits_by_text ON cogency.edits USING gin (folded gin_trgm_ops);
CREATE INDEX edits_by_path ON cogency.edits USING gin (paths gin_trgm_ops);
ALTER TABLE cogency.edits ENABLE ROW LEVEL SECURITY;
ALTER TABLE cogency.edits_default ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON cogency.edits FOR SELECT TO cogency_member USING (
    EXISTS (SELECT FROM cogency.conversations c WHERE c.origin = edits.origin AND c.id = conversation)
);
CREATE POLICY add ON cogency.edits FOR INSERT TO cogency_member
    WITH CHECK (cogency.writes(origin, conversation));
GRANT SELECT, INSERT ON cogency.edits TO cogency_member;

CREATE TRIGGER note AFTER INSERT ON cogency.events REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION cogency.note_events();
CREATE TRIGGER note AFTER INSERT ON cogency.edits REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION cogency.note_edits();

-- Create the partitions of the months of these times. Times before 2020 and of the future have none.
CREATE OR REPLACE FUNCTION cogency.prepare(times double precision[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    month timestamptz;
    parent text;
    partition text;
    first double precision;
    next double precision;
BEGIN
    FOR month, parent IN
        SELECT DISTINCT date_trunc('month', to_timestamp(given), 'UTC'), p
        FROM unnest(times) AS given, unnest(ARRAY['events', 'edits']) AS p
        WHERE given >= 1577836800 AND given < extract(epoch FROM now()) + 86400 ORDER BY 1, 2
    LOOP
        partition := parent || to_char(month AT TIME ZONE 'UTC', '_YYYY_MM');
        CONTINUE WHEN to_regclass('cogency.' || partition) IS NOT NULL;
        PERFORM pg_advisory_xact_lock(hashtext('cogency.prepare'));
        CONTINUE WHEN to_regclass('cogency.' || partition) IS NOT NULL;
        first := extract(epoch FROM month);
        next := extract(epoch FROM (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TABLE cogency.%I (LIKE cogency.%I INCLUDING ALL)', partition, parent);
        EXECUTE format('ALTER TABLE cogency.%I ENABLE ROW LEVEL SECURITY', partition);
        -- A clock that was fast had put rows there.
        EXECUTE format('LOCK TABLE cogency.%I IN ACCESS EXCLUSIVE MODE', parent || '_default');
        EXECUTE format(
            'WITH moved AS (DELETE FROM cogency.%I WHERE at >= %L AND at < %L RETURNING *)'
            ' INSERT INTO cogency.%I SELECT * FROM moved', parent || '_default', first, next, partition);
        EXECUTE format(
            'ALTER TABLE cogency.%I ATTACH PARTITION cogency.%I FOR VALUES FROM (%L) TO (%L)',
            parent, partition, first, next);
    END LOOP;
END
$$;
-- The edits that were there before.
SELECT cogency.prepare(array_agg(DISTINCT floor(at / 86400) * 86400)) FROM cogency.edits
    WHERE at >= 1577836800 AND at < 4102444800 HAVING count(*) > 0;

-- Remove what is older than the retention: whole months of events and edits, and conversations without later
-- changes. An administrator runs it, once a day by cron or pg_cron.
CREATE OR REPLACE FUNCTION cogency.expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    oldest double precision := cogency.oldest();
    removed integer := 0;
    gone record;
BEGIN
    FOR gone IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('cogency.events'::regclass, 'cogency.edits'::regclass)
        AND c.relname ~ '_\d{4}_\d{2}$'
        AND extract(epoch FROM
            (to_date(right(c.relname, 7), 'YYYY_MM')::timestamp + interval '1 month') AT TIME ZONE 'UTC'
        ) <= oldest
    LOOP
        EXECUTE format('DROP TABLE cogency.%I', gone.relname);
        removed := removed + 1;
    END LOOP;
    DELETE FROM cogency.events_default WHERE at < oldest;
    DELETE FROM cogency.edits_default WHERE at < oldest;
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
-- the function's owner it may use the indexes of texts, which no query under row-level security may.
--
-- The newest are tried one by one, of which often enough will do. Where few do, the condition that fewest rows
-- meet is looked up in the index, month by month: what conversations of a month have is of that month, but
-- for those that span several, which are tried. After `seconds` it returns, and a last row without an id says up
-- to which time it has come.
CREATE OR REPLACE FUNCTION cogency.search(asked jsonb, most integer)
RETURNS TABLE (origin text, id text, updated double precision)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    visible text[] := ARRAY['c.call IS NULL', 'NOT c.trashed'];
    holds text := 'true';
    is_single boolean := jsonb_array_length(coalesce(asked -> 'documents', '[]')) = 1;
    events_with text[] := ARRAY[]::text[];
    edits_with text[] := ARRAY[]::text[];
    titles_with text[] := ARRAY[]::text[];
    wanted integer := least(greatest(most, 1), 1000);
    in_span CONSTANT text := 'e.at >= c.began AND e.at <= c.ended';
    by_update CONSTANT text := ' ORDER BY c.updated DESC, c.id DESC, c.origin DESC';
    of_row CONSTANT text := 'c.origin, c.id, c.updated, c.began, c.ended, c.folded_title';
    below text := 'true';
    in_month text;
    tried integer := 128;
    met integer;
    -- The condition that is looked up: its place, and the number of rows that the planner expects.
    rarest integer;
    fewest double precision;
    newest double precision;
    first double precision;
    next double precision;
    month timestamp;
    plan json;
    estimate double precision;
    pattern text;
    on_event text;
    on_edit text;
    on_title text;
    until CONSTANT timestamptz :=
        clock_timestamp() + make_interval(secs => coalesce((asked ->> 'seconds')::double precision, 2));
    last record;
    each jsonb;
BEGIN
    visible := visible || format(
        '(c.owner = %1$L OR c.share = ''team'' OR (c.share = ''project'' AND c.project IN'
        ' (SELECT m.project FROM cogency.members m WHERE m.member = %1$L)))', session_user);
    IF asked ? 'project' THEN
        visible := visible || format('c.project = %L', asked ->> 'project');
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
        visible := visible || CASE each ->> 0
            WHEN '=' THEN format('abs(c.cost - %L) < 0.005', each ->> 1)
            WHEN '<' THEN format('c.cost < %L', each ->> 1)
            WHEN '<=' THEN format('c.cost <= %L', each ->> 1)
            WHEN '>' THEN format('c.cost > %L', each ->> 1)
            ELSE format('c.cost >= %L', each ->> 1)
        END;
    END LOOP;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'rows', '[]')) LOOP
        pattern := cogency.like_pattern(each ->> 1);
        visible := visible || CASE each ->> 0
            WHEN 'model' THEN format('c.folded_model LIKE %L', pattern)
            WHEN 'directory' THEN format('c.folded_directory LIKE %L', pattern)
            WHEN 'from' THEN format(
                '(lower(c.owner) LIKE %1$L OR EXISTS ('
                'SELECT FROM cogency.origins o WHERE o.id = c.origin AND lower(o.name) LIKE %1$L))', pattern)
            ELSE format('c.folded_branch LIKE %L', pattern)
        END;
    END LOOP;
    FOR each IN SELECT jsonb_array_elements(coalesce(asked -> 'documents', '[]')) LOOP
        pattern := cogency.like_pattern(each ->> 1);
        on_event := CASE each ->> 0
            WHEN 'term' THEN format('e.folded LIKE %L', pattern)
            WHEN 'file' THEN format('e.paths <> '''' AND e.paths LIKE %L', pattern)
            WHEN 'tool' THEN format('e.type = ''call'' AND e.tool LIKE %L', pattern)
            ELSE format('e.failed AND e.folded LIKE %L', pattern)
        END;
        on_edit := CASE each ->> 0
            WHEN 'term' THEN format('e.folded LIKE %L', pattern)
            WHEN 'file' THEN format('e.paths LIKE %L', pattern)
            ELSE 'false'
        END;
        on_title := CASE each ->> 0
            WHEN 'term' THEN format('c.folded_title <> '''' AND c.folded_title LIKE %L', pattern)
            ELSE 'false'
        END;
        holds := holds || format(
            ' AND (%s OR (SELECT true FROM cogency.events e WHERE e.origin = c.origin AND e.conversation = c.id'
            ' AND %s AND %s LIMIT 1) OR (SELECT true FROM cogency.edits e WHERE e.origin = c.origin'
            ' AND e.root = c.id AND %s AND %s LIMIT 1))',
            on_title, in_span, on_event, in_span, on_edit);
        -- The index has trigrams of letters and digits.
        IF each ->> 0 <> 'tool' AND each ->> 1 ~ '[[:alnum:]]{3}' THEN
            events_with := events_with || on_event;
            edits_with := edits_with || on_edit;
            titles_with := titles_with || on_title;
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
                EXECUTE format(
                    'EXPLAIN (FORMAT JSON) SELECT FROM cogency.events e WHERE %s AND %s', in_month,
                    events_with[place]) INTO plan;
                estimate := plan -> 0 -> 'Plan' ->> 'Plan Rows';
                IF rarest IS NULL OR estimate < fewest OR (
                    estimate = fewest AND length(events_with[place]) > length(events_with[rarest])
                ) THEN
                    rarest := place;
                    fewest := estimate;
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
            ' AND (c.began < %5$L::double precision OR c.ended >= %7$L::double precision)'
            ') f GROUP BY 1, 2)'
            ' SELECT c.origin, c.id, c.updated FROM (SELECT %8$s, f.known FROM cogency.conversations c'
            ' JOIN found f ON f.origin = c.origin AND f.id = c.id'
            ' WHERE c.updated >= %5$L::double precision AND %6$s AND %9$s%10$s OFFSET 0) c'
            ' WHERE %11$s%10$s LIMIT %12$s',
            in_month, events_with[rarest], edits_with[rarest], titles_with[rarest], first, below, next, of_row,
            array_to_string(visible, ' AND '), by_update,
            CASE WHEN is_single THEN '(c.known OR ' || holds || ')' ELSE holds END, wanted);
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
