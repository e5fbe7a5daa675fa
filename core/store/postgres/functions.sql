-- What the statements of SQLite need and PostgreSQL has not, or has under the same name with another meaning. It runs
-- after the migrations, in the schema of the store, and may run again.

-- The version, as the statements for SQLite read it. 1414680139 marks a store ("TRNK").
CREATE TABLE IF NOT EXISTS store_version (version bigint NOT NULL);
CREATE OR REPLACE VIEW pragma_user_version AS SELECT version AS user_version FROM store_version;
CREATE OR REPLACE VIEW pragma_application_id AS SELECT 1414680139 AS application_id;
CREATE OR REPLACE VIEW sqlite_master AS
    SELECT 'table'::text AS type, tablename::text AS name FROM pg_tables WHERE schemaname = current_schema();

CREATE OR REPLACE FUNCTION sl_cast(text, bytea) RETURNS bytea LANGUAGE sql STABLE AS $$ SELECT convert_to($1, 'UTF8') $$;
CREATE OR REPLACE FUNCTION sl_cast(bytea, bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT $1 $$;
CREATE OR REPLACE FUNCTION sl_cast(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $1 $$;
-- Bytes that are no text are no JSON either, which is what they are tested for.
CREATE OR REPLACE FUNCTION sl_cast(bytea, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN convert_from($1, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN '';
END $$;
CREATE OR REPLACE FUNCTION typeof(double precision) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1 IS NULL THEN 'null' ELSE 'real' END $$;
CREATE OR REPLACE FUNCTION instr(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT strpos($1, $2) > 0 $$;
-- Rows are padded for SQLite's pages alone.
CREATE OR REPLACE FUNCTION printf(text, bigint, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $3 $$;

-- JSON in columns of text. PostgreSQL's own JSON has no NUL, not even escaped.
CREATE OR REPLACE FUNCTION sl_jsonb(text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT (CASE WHEN strpos($1, '\u0000') = 0 THEN $1
        ELSE regexp_replace($1, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g') END)::jsonb
$$;
CREATE OR REPLACE FUNCTION json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM $1::json;
    RETURN $1 IS NOT NULL;
EXCEPTION WHEN others THEN
    RETURN false;
END $$;
CREATE OR REPLACE FUNCTION sl_extract(text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT sl_jsonb($1) #>> string_to_array(ltrim(translate(path, '$[]', '.'), '.'), '.')
$$;
CREATE OR REPLACE FUNCTION sl_each(text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE ROWS 20 AS $$
    SELECT number - 1, item COLLATE "C" FROM jsonb_array_elements_text(sl_jsonb($1)) WITH ORDINALITY AS found (item, number)
$$;
CREATE OR REPLACE FUNCTION sl_array_length(text) RETURNS integer LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE json_typeof($1::json) WHEN 'array' THEN json_array_length($1::json) ELSE 0 END $$;
-- The only use of it: another element at the end of an array.
CREATE OR REPLACE FUNCTION json_insert(text, path text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE rtrim($1) WHEN '[]' THEN '[' || $3 || ']' ELSE left(rtrim($1), -1) || ',' || $3 || ']' END
$$;
CREATE OR REPLACE FUNCTION json_set(text, path text, text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT jsonb_set(sl_jsonb($1), ARRAY[substr(path, 3)], to_jsonb($3))::text $$;

-- Erasure: for which of the places that are stored a function of the gateway was true.
CREATE OR REPLACE FUNCTION own_candidates(asked text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT address FROM session_places WHERE asked = 'own_place'
    UNION SELECT address FROM session_map WHERE asked = 'own_place'
    UNION SELECT address FROM intents WHERE asked = 'own_place'
    UNION SELECT sl_extract(CASE WHEN json_valid(body) THEN body END, '$.conversation') FROM bindings WHERE asked = 'own_place'
    UNION SELECT sl_extract(message, '$.address') FROM mailbox WHERE asked = 'own_place'
    UNION SELECT lane FROM session_left WHERE asked = 'own_lane'
    UNION SELECT lane FROM heartbeat_texts WHERE asked = 'own_lane'
$$;
CREATE OR REPLACE FUNCTION own_place(text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RETURN EXISTS (SELECT 1 FROM pg_temp.own_place WHERE value = $1); END $$;
CREATE OR REPLACE FUNCTION own_lane(text) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN RETURN EXISTS (SELECT 1 FROM pg_temp.own_lane WHERE value = $1); END $$;

-- What other processes leave for the gateway: it hears of it, once for each transaction, and looks.
CREATE OR REPLACE FUNCTION notify_gateway() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('trunkline', TG_TABLE_SCHEMA); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER notify_gateway AFTER INSERT ON hand_posts FOR EACH STATEMENT EXECUTE FUNCTION notify_gateway();
CREATE OR REPLACE TRIGGER notify_gateway AFTER INSERT ON nudges FOR EACH STATEMENT EXECUTE FUNCTION notify_gateway();

-- Numbers as SQLite gives them: one more than the largest; of a table in `sqlite_sequence`, than any that ever was, also
-- for a row that was there already.
CREATE TABLE IF NOT EXISTS sqlite_sequence (name text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL);
CREATE OR REPLACE FUNCTION note_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sqlite_sequence VALUES (TG_TABLE_NAME, NEW.n) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq;
    RETURN NEW;
END $$;
DO $$
DECLARE
    found text;
    more text;
BEGIN
    FOR found IN SELECT table_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND column_name = 'n' AND data_type = 'bigint' LOOP
        more := '0';
        IF found IN ('mailbox', 'hand_posts') THEN
            more := format('coalesce((SELECT seq FROM %I.sqlite_sequence WHERE name = %L), 0)', current_schema(), found);
            EXECUTE format('CREATE OR REPLACE TRIGGER note_number BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION note_number()', found);
        END IF;
        EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS bigint LANGUAGE plpgsql AS $f$ BEGIN'
            ' RETURN (SELECT greatest(max(n), %s) + 1 FROM %I.%I); END $f$', 'next_' || found, more, current_schema(), found);
        EXECUTE format('ALTER TABLE %I ALTER COLUMN n SET DEFAULT %I()', found, 'next_' || found);
    END LOOP;
END $$;
