-- One index for what still has to be done with an intent: sent, or its end reported to the hooks. Nearly every commit
-- changes both, and each index costs a page. A query uses it when it has one of the two conditions as it is written here.
DROP INDEX intents_open;
DROP INDEX intents_untold;
CREATE INDEX intents_due ON intents (n) WHERE state IN ('prepared', 'sending') OR untold = 1;

-- The message on which the thread `origin` is opened before a result is posted there.
ALTER TABLE delegations ADD COLUMN open_on TEXT;

-- Further identities of inbound messages: a proxy names a message by its id, also where ids change when it comes again.
CREATE TABLE inbox_aliases (
    n INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    inbound_id TEXT NOT NULL,
    at REAL NOT NULL
);

-- Earlier versions marked no retries as `sending`, so one that waited for its time may have left since. The reason
-- `recovered` says so (`core.delivery.recovery`); no open intent has it otherwise.
UPDATE intents SET reason = 'recovered'
    WHERE state IN ('prepared', 'sending') AND state = 'prepared' AND attempts > 0 AND doubt_at IS NULL
    AND reason NOT IN ('response-lost', 'same-key-resend', 'crash-ambiguous', 'lookup-failed');
-- What an operator gave up in doubt was called dead, or partial. What became of it is unknown.
UPDATE intents SET state = 'unknown', reason = 'abandoned' WHERE state IN ('dead', 'partial') AND reason = 'parked';

-- Places that have left a session for another one. What is said there later belongs to the session that the place has then.
CREATE TABLE session_left (
    session_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    PRIMARY KEY (session_id, lane)
) WITHOUT ROWID;

-- Runs of a turn or of a hand that ended with the process. `begun`: one more has begun, and its end is not stored.
ALTER TABLE inbox ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delegations ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delegations ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;

-- Attempts whose outcome is unknown since the process ended.
ALTER TABLE intents ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
