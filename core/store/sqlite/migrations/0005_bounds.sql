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
