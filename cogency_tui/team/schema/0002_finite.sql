-- Times and costs are finite: a search goes by them, and sums would be none. Others are of no honest client.

UPDATE cogency.conversations SET updated = 0 WHERE NOT (updated > '-infinity' AND updated < 'infinity');
UPDATE cogency.conversations SET cost = 0 WHERE NOT (cost > '-infinity' AND cost < 'infinity');
DELETE FROM cogency.events WHERE NOT (at > '-infinity' AND at < 'infinity');
DELETE FROM cogency.edits WHERE NOT (at > '-infinity' AND at < 'infinity');
DELETE FROM cogency.usage WHERE NOT (at > '-infinity' AND at < 'infinity');
UPDATE cogency.usage SET cost = NULL WHERE NOT (cost > '-infinity' AND cost < 'infinity');

ALTER TABLE cogency.conversations
    ADD CHECK (updated > '-infinity' AND updated < 'infinity'),
    ADD CHECK (cost > '-infinity' AND cost < 'infinity');
ALTER TABLE cogency.events ADD CHECK (at > '-infinity' AND at < 'infinity');
ALTER TABLE cogency.edits ADD CHECK (at > '-infinity' AND at < 'infinity');
ALTER TABLE cogency.usage
    ADD CHECK (at > '-infinity' AND at < 'infinity'),
    ADD CHECK (cost > '-infinity' AND cost < 'infinity');

-- What others have withdrawn is theirs to know.
CREATE OR REPLACE FUNCTION cogency.is_withdrawn(given_origin text, given_id text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM cogency.withdrawn w
        WHERE w.origin = given_origin AND w.id = given_id AND w.owner = session_user
    )
$$;
