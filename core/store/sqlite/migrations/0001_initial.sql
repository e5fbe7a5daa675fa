-- Sessions: one row a conversation and agent, with the place that an answer goes to.
CREATE TABLE session_map (
    session_key TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL UNIQUE,
    generation INTEGER NOT NULL DEFAULT 1,
    address TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) WITHOUT ROWID;

-- Everything that starts a turn: messages of peers, callbacks of hands, wake-ups. Never deleted here: it is also the
-- memory against duplicates.
CREATE TABLE inbox (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    identity TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    session_key TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    state TEXT NOT NULL,
    work BLOB NOT NULL,
    admitted_at REAL NOT NULL
);
CREATE INDEX inbox_pending ON inbox (n) WHERE state = 'pending';

CREATE TABLE transcript (
    n INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    ref TEXT NOT NULL,
    partial INTEGER NOT NULL DEFAULT 0,
    at REAL NOT NULL,
    UNIQUE (session_id, ref)
);

-- Intents: one row a thing to be said, with its bytes; receipts stay after the ack.
CREATE TABLE intents (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    chunks TEXT NOT NULL,
    acked INTEGER NOT NULL DEFAULT 0,
    receipts TEXT NOT NULL DEFAULT '[]',
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at REAL,
    reason TEXT,
    mirror_key TEXT,
    agent_id TEXT NOT NULL,
    turn_id TEXT,
    inbound_id TEXT,
    delegation_id TEXT,
    reply_to TEXT,
    open_on TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
);
CREATE INDEX intents_open ON intents (n) WHERE state IN ('prepared', 'sending');

CREATE TABLE delegations (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    hand TEXT NOT NULL,
    task TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    inbound_id TEXT NOT NULL,
    origin TEXT,
    outcome TEXT,
    result TEXT,
    accepted_at REAL NOT NULL,
    finished_at REAL
);
CREATE INDEX delegations_open ON delegations (n) WHERE state IN ('accepted', 'running');
