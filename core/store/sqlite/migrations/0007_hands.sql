-- A delegation has two columns for how far it has come: `state` is the work of its hand, `callback` the report of it.
-- `reply_to` is where the answer goes; `origin` has the whole origin, as JSON, and is empty in rows of earlier versions.
ALTER TABLE delegations RENAME COLUMN origin TO reply_to;
ALTER TABLE delegations ADD COLUMN origin TEXT;
ALTER TABLE delegations ADD COLUMN callback TEXT NOT NULL DEFAULT 'waiting';
ALTER TABLE delegations ADD COLUMN callback_reason TEXT;
ALTER TABLE delegations ADD COLUMN kind TEXT NOT NULL DEFAULT 'function';
ALTER TABLE delegations ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE delegations ADD COLUMN parent TEXT;
ALTER TABLE delegations ADD COLUMN depth INTEGER NOT NULL DEFAULT 1;
ALTER TABLE delegations ADD COLUMN result_ref TEXT;
ALTER TABLE delegations ADD COLUMN progress TEXT NOT NULL DEFAULT '';
ALTER TABLE delegations ADD COLUMN worker TEXT NOT NULL DEFAULT '';
ALTER TABLE delegations ADD COLUMN ticket TEXT;
ALTER TABLE delegations ADD COLUMN started_at REAL;
ALTER TABLE delegations ADD COLUMN deadline REAL;
ALTER TABLE delegations ADD COLUMN timeout REAL;
ALTER TABLE delegations ADD COLUMN max_result INTEGER;

-- Of what was reported, the messages say whether it arrived: a half sent one or a doubt waits for an operator, whatever
-- became of the others; without such, one that arrived is enough. A notice that another message failed says nothing, and a doubt that was given up is a failure.
CREATE TEMP TABLE reported AS
    SELECT d.id,
        max(i.state IN ('prepared', 'sending')) AS open,
        max(i.state = 'delivered') AS arrived,
        max(i.state IN ('partial', 'unknown') AND coalesce(i.reason, '') <> 'abandoned') AS doubtful,
        max(i.state <> 'cancelled') AS failed
    FROM delegations d JOIN intents i ON i.delegation_id = d.id
    WHERE d.state = 'told' AND NOT (i.kind = 'notice' AND i.id LIKE '%.notice')
    GROUP BY d.id;
UPDATE delegations SET callback = coalesce(
    (SELECT CASE WHEN open THEN 'queued' WHEN doubtful THEN 'parked' WHEN arrived THEN 'delivered'
        WHEN failed THEN 'undeliverable' END FROM reported r WHERE r.id = delegations.id),
    'suppressed')
    WHERE state = 'told';
DROP TABLE reported;
UPDATE delegations SET callback = 'pending_turn' WHERE state = 'finished';
UPDATE delegations SET state = CASE outcome
    WHEN 'ok' THEN 'succeeded' WHEN 'error' THEN 'failed' WHEN 'timeout' THEN 'timed_out' ELSE 'lost' END
    WHERE state IN ('finished', 'told');

-- The messages of a delegation say how far its callback has come.
CREATE INDEX intents_delegation ON intents (delegation_id) WHERE delegation_id IS NOT NULL;
CREATE INDEX delegations_parent ON delegations (parent) WHERE parent IS NOT NULL;
-- What workers may take. Sessions take turns: `worker_turns` has the session whose task was taken last.
CREATE INDEX delegations_waiting ON delegations (hand, coalesce(session_id, ''), n)
    WHERE state = 'accepted' AND kind = 'worker';
CREATE TABLE worker_turns (
    hand TEXT PRIMARY KEY,
    session_id TEXT NOT NULL
);

-- What an operator's change of an intent has meant for the callback that it belongs to, as JSON.
ALTER TABLE nudges ADD COLUMN callback TEXT;

-- Texts of results that are too long for their row, by the hash of their bytes; `refs`: how many delegations need them.
CREATE TABLE results (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    refs INTEGER NOT NULL
);

-- Results that came after the first one: kept, and never reported.
CREATE TABLE late_results (
    n INTEGER PRIMARY KEY,
    delegation_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    text TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX late_results_delegation ON late_results (delegation_id);

-- What workers and operators of other processes have left for the gateway that works the store: answers, progress,
-- requests to cancel. `outcome`: of an answer. A row is removed by the transaction that applies it. No number is given
-- twice: whoever removes a post a second time must not remove a later one.
CREATE TABLE hand_posts (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    delegation_id TEXT NOT NULL,
    verb TEXT NOT NULL,
    outcome TEXT,
    text TEXT NOT NULL,
    by TEXT NOT NULL,
    ticket TEXT,
    at REAL NOT NULL
);
CREATE INDEX hand_posts_delegation ON hand_posts (delegation_id);
