-- Delivery: forms of the chunks, the way they go, what is in doubt, and what is still to be done after the end.
-- `forms`: the chunks as HTML or with styles, where the platform wants them. `transport`: the one that took over.
-- `marked`: the next attempt is marked as a possible repeat. `doubt_at`: since then nobody knows of an attempt.
ALTER TABLE intents ADD COLUMN forms TEXT;
ALTER TABLE intents ADD COLUMN poll TEXT;
ALTER TABLE intents ADD COLUMN payload TEXT;
ALTER TABLE intents ADD COLUMN best_effort INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intents ADD COLUMN transport TEXT;
ALTER TABLE intents ADD COLUMN marked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intents ADD COLUMN doubt_at REAL;
-- It ended, or will, and the hooks are still to be told.
ALTER TABLE intents ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;
-- It was accepted, and its transcript line could not be stored with the receipt.
ALTER TABLE intents ADD COLUMN mirror_due INTEGER NOT NULL DEFAULT 0;
-- Changes by operators: the process that owns the store takes them up and records them.
CREATE TABLE nudges (
    n INTEGER PRIMARY KEY,
    intent_id TEXT NOT NULL,
    verb TEXT NOT NULL,
    before TEXT NOT NULL
);
CREATE INDEX intents_untold ON intents (n) WHERE untold = 1;
CREATE INDEX intents_mirror_due ON intents (n) WHERE mirror_due = 1;

-- One row: the process that works the store. `owner` empty: none. `token` counts the holders; every transaction of a
-- holder checks its own. `lock`: what the holder keeps while it lives; who gets it knows that the holder is dead.
CREATE TABLE lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    owner TEXT NOT NULL DEFAULT '',
    token INTEGER NOT NULL DEFAULT 0,
    lock TEXT NOT NULL DEFAULT '',
    until REAL NOT NULL DEFAULT 0
);
INSERT INTO lease (one) VALUES (1);
