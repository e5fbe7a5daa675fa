-- Conversations that belong to a session. `place`: the full reference, as its channel compares it. `body`:
-- the record as JSON; status and last activity change more often and have columns of their own.
CREATE TABLE bindings (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    place TEXT NOT NULL,
    session_key TEXT NOT NULL,
    status TEXT NOT NULL,
    last_activity_at REAL NOT NULL,
    request TEXT,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX bindings_place ON bindings (place) WHERE status = 'active';
CREATE UNIQUE INDEX bindings_request ON bindings (request) WHERE request IS NOT NULL;
CREATE INDEX bindings_session ON bindings (session_key) WHERE status <> 'ended';
CREATE INDEX bindings_open ON bindings (n) WHERE status <> 'ended';

-- Of a message: the binding that it is said for, who says it, and where a short notice goes if it cannot be said there.
ALTER TABLE intents ADD COLUMN bound TEXT;

-- The session of its own that delegated work has.
ALTER TABLE delegations ADD COLUMN child_key TEXT;
