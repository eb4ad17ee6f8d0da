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
