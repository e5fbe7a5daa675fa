-- What a session says of its conversation, and the form of its key: `v1`, one that is still to be migrated, or
-- `unreadable`. `shared`: a conversation has left it, so that no other may take it along under a key of its own.
ALTER TABLE session_map ADD COLUMN entry TEXT;
ALTER TABLE session_map ADD COLUMN codec TEXT NOT NULL DEFAULT 'v1';
ALTER TABLE session_map ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_map_codec ON session_map (session_key) WHERE codec <> 'v1';

-- The session key that each place has had last: a change of scopes is seen here. Work that comes from no place, as
-- wake-ups do, has an empty lane and no address.
CREATE TABLE session_places (
    agent_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    session_key TEXT NOT NULL,
    address TEXT,
    PRIMARY KEY (agent_id, lane)
) WITHOUT ROWID;
CREATE INDEX session_places_key ON session_places (session_key);

-- Keys that a session had before it moved: what was decided under one of them still finds it.
CREATE TABLE session_moves (
    old_key TEXT PRIMARY KEY,
    new_key TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_moves_new ON session_moves (new_key);

-- People that share a main session, to warn of it once for each.
CREATE TABLE session_people (
    session_key TEXT NOT NULL,
    person TEXT NOT NULL,
    PRIMARY KEY (session_key, person)
) WITHOUT ROWID;

-- Sessions that were reset or merged. Their transcripts stay.
CREATE TABLE session_history (
    session_id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    reason TEXT NOT NULL,
    ended_at REAL NOT NULL
) WITHOUT ROWID;

-- Work, delegations and answers belong to a session, not to whichever has its key later.
ALTER TABLE inbox ADD COLUMN session_id TEXT;
ALTER TABLE delegations ADD COLUMN session_id TEXT;
ALTER TABLE intents ADD COLUMN session_id TEXT;
ALTER TABLE intents ADD COLUMN named_session INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intents ADD COLUMN media TEXT NOT NULL DEFAULT '[]';

-- Sends of clients, by idempotency key: the intent of the latest try.
CREATE TABLE sends (
    key TEXT PRIMARY KEY,
    intent_id TEXT NOT NULL,
    tries INTEGER NOT NULL,
    session_key TEXT,
    channel TEXT NOT NULL,
    asked_at REAL NOT NULL
) WITHOUT ROWID;

-- What version 1 left open goes on in its session. Sessions had one key for good then, so the key tells it.
UPDATE inbox SET session_id = (SELECT m.session_id FROM session_map m WHERE m.session_key = inbox.session_key)
    WHERE state = 'pending';
UPDATE delegations
    SET session_id = (SELECT m.session_id FROM session_map m WHERE m.session_key = delegations.session_key)
    WHERE state IN ('accepted', 'running');
UPDATE intents SET session_id = (SELECT m.session_id FROM session_map m WHERE m.session_key = intents.mirror_key)
    WHERE state IN ('prepared', 'sending') AND kind = 'reply';

-- Where version 1 spoke, under which key, and when. The separator is that of `core.store.sessions.lane_text`.
CREATE TABLE said AS
SELECT
    agent_id,
    json_extract(address, '$.kind') || char(31) || json_extract(address, '$.channel') || char(31)
        || json_extract(address, '$.account') || char(31) || json_extract(address, '$.conversation') || char(31)
        || coalesce(json_extract(address, '$.thread'), '') AS lane,
    session_key,
    address,
    peer,
    at
FROM (
    SELECT agent_id, session_key, address, NULL AS peer, created_at AS at FROM session_map
    UNION ALL
    SELECT agent_id, mirror_key, address, NULL, created_at FROM intents WHERE mirror_key IS NOT NULL AND acked > 0
    UNION ALL
    SELECT
        agent_id,
        session_key,
        json_extract(CAST(work AS TEXT), '$.reply_to'),
        CASE kind WHEN 'message' THEN json_extract(CAST(work AS TEXT), '$.peer.id') END,
        admitted_at
    FROM inbox
)
WHERE address IS NOT NULL;

-- The key of a place is the one that it had last. A session that a place has left is shared.
INSERT OR REPLACE INTO session_places (agent_id, lane, session_key, address)
    SELECT agent_id, lane, session_key, address FROM said ORDER BY at;
INSERT OR IGNORE INTO session_places (agent_id, lane, session_key)
    SELECT agent_id, '', session_key FROM inbox WHERE kind = 'wake';
UPDATE session_map SET shared = 1 WHERE session_key IN (
    SELECT said.session_key FROM said JOIN session_places p USING (agent_id, lane)
        WHERE p.session_key <> said.session_key
);
INSERT OR IGNORE INTO session_people (session_key, person)
    SELECT session_key, json_extract(address, '$.channel') || ':' || peer FROM said
        WHERE peer IS NOT NULL AND json_extract(address, '$.kind') = 'direct' AND session_key = agent_id || ':main';
DROP TABLE said;
