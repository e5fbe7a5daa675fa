-- What few intents have, as JSON: parts of a message such as buttons, or the action that makes it a change.
ALTER TABLE intents ADD COLUMN extra TEXT;

-- Schedules: heartbeats and entries of the cron, by name. `spec`: the schedule that `next_at` was computed for. `next_at`
-- empty: it never fires again.
CREATE TABLE timers (
    name TEXT PRIMARY KEY,
    spec TEXT NOT NULL,
    next_at REAL,
    last_at REAL
) WITHOUT ROWID;

-- What an agent's next heartbeat is to deal with; `wakes`: without waiting for its time. The rows go when that heartbeat
-- is admitted: its work has the texts.
CREATE TABLE system_events (
    n INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    wakes INTEGER NOT NULL,
    at REAL NOT NULL
);

-- What heartbeats said in each place. `at`: when the platform accepted it; empty while its intent has no receipt.
CREATE TABLE heartbeat_texts (
    agent_id TEXT NOT NULL,
    lane TEXT NOT NULL,
    text TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    at REAL,
    PRIMARY KEY (agent_id, lane, text)
) WITHOUT ROWID;
CREATE INDEX heartbeat_texts_intent ON heartbeat_texts (intent_id);

-- What a line said before its message was edited, as a JSON list, oldest first; and whether its message was deleted.
ALTER TABLE transcript ADD COLUMN was TEXT;
ALTER TABLE transcript ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
-- The line of a message is found in the sessions that its key had; a session gets here only when it is reset or merged.
CREATE INDEX session_history_key ON session_history (session_key);
