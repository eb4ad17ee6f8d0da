-- What one member writes has bounds, so that others neither wait for it nor lose their own by it.

-- A sum of costs stays finite.
UPDATE cogency.usage SET cost = NULL WHERE abs(cost) > 1e12;
UPDATE cogency.conversations SET cost = 0 WHERE abs(cost) > 1e12;
ALTER TABLE cogency.usage ADD CHECK (abs(cost) <= 1e12);
ALTER TABLE cogency.conversations ADD CHECK (abs(cost) <= 1e12);

-- The newest conversations are tried first, and those that have changed are read again: times of the future would be
-- before all others for ever. The clock of a machine may be a day ahead.
CREATE FUNCTION cogency.bound_times() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.updated < 'infinity' THEN
        NEW.updated := least(NEW.updated, extract(epoch FROM clock_timestamp()) + 86400);
    END IF;
    NEW.changed := least(NEW.changed, clock_timestamp());
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION cogency.bound_times FROM PUBLIC;
CREATE TRIGGER bound_times BEFORE INSERT OR UPDATE OF updated, changed ON cogency.conversations
    FOR EACH ROW EXECUTE FUNCTION cogency.bound_times();
UPDATE cogency.conversations SET updated = updated
    WHERE updated > extract(epoch FROM clock_timestamp()) + 86400 OR changed > clock_timestamp();

-- The span and the index of a conversation are the server's to note.
REVOKE INSERT ON cogency.conversations FROM cogency_member;
GRANT INSERT (
    origin, id, parent, call, project, share, title, turns, cost, updated, trashed, folded_title, folded_model,
    folded_directory, folded_branch, record, position, revision, changing
) ON cogency.conversations TO cogency_member;

-- An edit of a sub-agent's is compared only for those who may read the sub-agent's conversation, too.
CREATE OR REPLACE FUNCTION cogency.condition(
    kind text, given text, OUT on_event text, OUT on_edit text, OUT on_title text
)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    pattern CONSTANT text := cogency.like_pattern(given);
    if_read CONSTANT text :=
        'CASE WHEN e.conversation = e.root OR cogency.reads(e.origin, e.conversation) THEN %s ELSE false END';
BEGIN
    on_event := CASE kind
        WHEN 'term' THEN format('e.folded LIKE %L', pattern)
        WHEN 'file' THEN format('e.paths <> '''' AND e.paths LIKE %L', pattern)
        WHEN 'tool' THEN format('e.type = ''call'' AND e.tool LIKE %L', pattern)
        ELSE format('e.failed AND e.folded LIKE %L', pattern)
    END;
    on_edit := CASE kind
        WHEN 'term' THEN format(if_read, format('e.folded LIKE %L', pattern))
        WHEN 'file' THEN format(if_read, format('e.paths LIKE %L', pattern))
        ELSE 'false'
    END;
    on_title := CASE kind
        WHEN 'term' THEN format('c.folded_title <> '''' AND c.folded_title LIKE %L', pattern)
        ELSE 'false'
    END;
END
$$;

-- Remove what is older than the retention: whole months of events, and conversations without later changes; create
-- partitions. What is in use is left to the next run, but for the rows of a month. An administrator runs it, once a day
-- by cron or pg_cron.
CREATE OR REPLACE FUNCTION cogency.expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms'
SET client_min_messages = notice SET standard_conforming_strings = on AS $$
DECLARE
    oldest CONSTANT double precision := cogency.oldest();
    delete CONSTANT text :=
        'DELETE FROM cogency.%1$I WHERE ctid = ANY (ARRAY('
        'SELECT ctid FROM cogency.%1$I WHERE at < %2$L FOR UPDATE SKIP LOCKED))';
    removed integer := 0;
    times double precision[] := '{}';
    found double precision[];
    gone record;
BEGIN
    LOCK TABLE cogency.events, cogency.edits IN ROW EXCLUSIVE MODE;
    EXECUTE format(delete, 'usage', oldest);
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
        EXECUTE format(delete, gone.rest, oldest);
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
            -- A transaction that someone leaves open keeps the table, not what is in it.
            EXECUTE format(delete, gone.relname, oldest);
            RAISE WARNING '% was emptied, and not removed: it is in use', gone.relname;
        END;
    END LOOP;
    RETURN removed;
END
$$;

-- The keys of a group of readers in the index begin with a hash of its name, which can be inverted: a project whose name
-- was made for it would have the keys of another group.
CREATE FUNCTION cogency.seed(readers text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended(readers COLLATE "C", 0::bigint);
CREATE FUNCTION cogency.require_own_seed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = notice AS $$
DECLARE
    given text;
    others text[];
BEGIN
    IF TG_TABLE_NAME = 'members' THEN
        given := 'project ' || NEW.project;
        others := ARRAY(SELECT 'user ' || r.rolname FROM pg_roles r) || ARRAY(
            SELECT c.readers FROM cogency.conversations c WHERE cogency.seed(c.readers) = cogency.seed(given)
        );
    ELSE
        given := NEW.readers;
    END IF;
    others := others || 'team'::text || ARRAY(SELECT DISTINCT 'project ' || m.project FROM cogency.members m);
    IF EXISTS (
        SELECT FROM unnest(others) other WHERE cogency.seed(other) = cogency.seed(given) AND other <> given
    ) THEN
        RAISE check_violation USING MESSAGE = 'the name of the project cannot be used', HINT = 'Choose another one.';
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION cogency.seed, cogency.require_own_seed FROM PUBLIC;
CREATE TRIGGER require_own_seed AFTER INSERT OR UPDATE ON cogency.members
    FOR EACH ROW EXECUTE FUNCTION cogency.require_own_seed();
CREATE TRIGGER require_own_seed AFTER INSERT OR UPDATE OF share, project ON cogency.conversations
    FOR EACH ROW EXECUTE FUNCTION cogency.require_own_seed();

-- A conversation that is shared in another way while it is indexed again stays to be indexed.
CREATE OR REPLACE FUNCTION cogency.reindex(most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET client_min_messages = notice SET standard_conforming_strings = on AS $$
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
        SELECT c.origin, c.id, c.readers FROM cogency.conversations c WHERE c.owner = session_user AND c.stale FOR NO KEY UPDATE
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

-- Times are compared as they are stored, however a member has them printed.
ALTER FUNCTION cogency.search SET extra_float_digits = 1;
