-- The tables of SQLite's migrations up to this number, translated once. A later migration of SQLite has one of the same
-- number here. Texts compare by their bytes, as in SQLite; `n` is numbered as there (`functions.sql`).

CREATE TABLE session_map (
    session_key text COLLATE "C" PRIMARY KEY,
    agent_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL UNIQUE,
    generation bigint NOT NULL DEFAULT 1,
    address text COLLATE "C",
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    entry text COLLATE "C",
    codec text COLLATE "C" NOT NULL DEFAULT 'v1',
    shared bigint NOT NULL DEFAULT 0
);
CREATE TABLE inbox (
    n bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    identity text COLLATE "C" NOT NULL UNIQUE,
    kind text COLLATE "C" NOT NULL,
    session_key text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    work bytea NOT NULL,
    admitted_at double precision NOT NULL,
    session_id text COLLATE "C",
    runs bigint NOT NULL DEFAULT 0,
    begun bigint NOT NULL DEFAULT 0,
    ended text COLLATE "C",
    charged bigint NOT NULL DEFAULT 0
);
CREATE TABLE transcript (
    n bigint PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    ref text COLLATE "C" NOT NULL,
    partial bigint NOT NULL DEFAULT 0,
    at double precision NOT NULL,
    was text COLLATE "C",
    deleted bigint NOT NULL DEFAULT 0,
    author text COLLATE "C",
    UNIQUE (session_id, ref)
);
CREATE TABLE intents (
    n bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    state text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    chunks text COLLATE "C" NOT NULL,
    acked bigint NOT NULL DEFAULT 0,
    receipts text COLLATE "C" NOT NULL DEFAULT '[]',
    attempts bigint NOT NULL DEFAULT 0,
    next_at double precision,
    reason text COLLATE "C",
    mirror_key text COLLATE "C",
    agent_id text COLLATE "C" NOT NULL,
    turn_id text COLLATE "C",
    inbound_id text COLLATE "C",
    delegation_id text COLLATE "C",
    reply_to text COLLATE "C",
    open_on text COLLATE "C",
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    session_id text COLLATE "C",
    named_session bigint NOT NULL DEFAULT 0,
    media text COLLATE "C" NOT NULL DEFAULT '[]',
    forms text COLLATE "C",
    poll text COLLATE "C",
    payload text COLLATE "C",
    best_effort bigint NOT NULL DEFAULT 0,
    transport text COLLATE "C",
    marked bigint NOT NULL DEFAULT 0,
    doubt_at double precision,
    untold bigint NOT NULL DEFAULT 0,
    mirror_due bigint NOT NULL DEFAULT 0,
    bound text COLLATE "C",
    interrupted bigint NOT NULL DEFAULT 0,
    extra text COLLATE "C"
);
CREATE TABLE delegations (
    n bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    state text COLLATE "C" NOT NULL,
    hand text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    session_key text COLLATE "C" NOT NULL,
    turn_id text COLLATE "C" NOT NULL,
    inbound_id text COLLATE "C" NOT NULL,
    reply_to text COLLATE "C",
    outcome text COLLATE "C",
    result text COLLATE "C",
    accepted_at double precision NOT NULL,
    finished_at double precision,
    session_id text COLLATE "C",
    child_key text COLLATE "C",
    open_on text COLLATE "C",
    runs bigint NOT NULL DEFAULT 0,
    begun bigint NOT NULL DEFAULT 0,
    origin text COLLATE "C",
    callback text COLLATE "C" NOT NULL DEFAULT 'waiting',
    callback_reason text COLLATE "C",
    kind text COLLATE "C" NOT NULL DEFAULT 'function',
    label text COLLATE "C" NOT NULL DEFAULT '',
    parent text COLLATE "C",
    depth bigint NOT NULL DEFAULT 1,
    result_ref text COLLATE "C",
    progress text COLLATE "C" NOT NULL DEFAULT '',
    worker text COLLATE "C" NOT NULL DEFAULT '',
    ticket text COLLATE "C",
    started_at double precision,
    deadline double precision,
    timeout double precision,
    max_result bigint
);
CREATE TABLE session_places (
    agent_id text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    session_key text COLLATE "C" NOT NULL,
    address text COLLATE "C",
    PRIMARY KEY (agent_id, lane)
);
CREATE TABLE session_moves (
    old_key text COLLATE "C" PRIMARY KEY,
    new_key text COLLATE "C" NOT NULL
);
CREATE TABLE session_people (
    session_key text COLLATE "C" NOT NULL,
    person text COLLATE "C" NOT NULL,
    PRIMARY KEY (session_key, person)
);
CREATE TABLE session_history (
    session_id text COLLATE "C" PRIMARY KEY,
    session_key text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    reason text COLLATE "C" NOT NULL,
    ended_at double precision NOT NULL
);
CREATE TABLE sends (
    key text COLLATE "C" PRIMARY KEY,
    intent_id text COLLATE "C" NOT NULL,
    tries bigint NOT NULL,
    session_key text COLLATE "C",
    channel text COLLATE "C" NOT NULL,
    asked_at double precision NOT NULL
);
CREATE TABLE nudges (
    n bigint PRIMARY KEY,
    intent_id text COLLATE "C" NOT NULL,
    verb text COLLATE "C" NOT NULL,
    before text COLLATE "C" NOT NULL,
    callback text COLLATE "C"
);
CREATE TABLE lease (
    one bigint PRIMARY KEY CHECK (one = 1),
    owner text COLLATE "C" NOT NULL DEFAULT '',
    token bigint NOT NULL DEFAULT 0,
    lock text COLLATE "C" NOT NULL DEFAULT '',
    until double precision NOT NULL DEFAULT 0
);
CREATE TABLE bindings (
    n bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    place text COLLATE "C" NOT NULL,
    session_key text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    last_activity_at double precision NOT NULL,
    request text COLLATE "C",
    body text COLLATE "C" NOT NULL
);
CREATE TABLE inbox_aliases (
    n bigint PRIMARY KEY,
    identity text COLLATE "C" NOT NULL UNIQUE,
    inbound_id text COLLATE "C" NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE session_left (
    session_id text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    PRIMARY KEY (session_id, lane)
);
CREATE TABLE timers (
    name text COLLATE "C" PRIMARY KEY,
    spec text COLLATE "C" NOT NULL,
    next_at double precision,
    last_at double precision
);
CREATE TABLE system_events (
    n bigint PRIMARY KEY,
    identity text COLLATE "C" NOT NULL UNIQUE,
    agent_id text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    wakes bigint NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE heartbeat_texts (
    agent_id text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    intent_id text COLLATE "C" NOT NULL,
    at double precision
);
CREATE TABLE worker_turns (
    hand text COLLATE "C" PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL
);
CREATE TABLE results (
    hash text COLLATE "C" PRIMARY KEY,
    text text COLLATE "C" NOT NULL,
    refs bigint NOT NULL
);
CREATE TABLE late_results (
    n bigint PRIMARY KEY,
    delegation_id text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE hand_posts (
    n bigint PRIMARY KEY,
    delegation_id text COLLATE "C" NOT NULL,
    verb text COLLATE "C" NOT NULL,
    outcome text COLLATE "C",
    text text COLLATE "C" NOT NULL,
    by text COLLATE "C" NOT NULL,
    ticket text COLLATE "C",
    at double precision NOT NULL
);
CREATE TABLE mailbox (
    n bigint PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    channel text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    message text COLLATE "C" NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE cursors (
    channel text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (channel, account, name)
);
CREATE TABLE erasures (
    n bigint PRIMARY KEY,
    at double precision NOT NULL,
    by text COLLATE "C" NOT NULL,
    rows text COLLATE "C" NOT NULL
);
CREATE INDEX inbox_pending ON inbox (n) WHERE state = 'pending';
CREATE INDEX delegations_open ON delegations (n) WHERE state IN ('accepted', 'running');
CREATE INDEX session_map_codec ON session_map (session_key) WHERE codec <> 'v1';
CREATE INDEX session_places_key ON session_places (session_key);
CREATE INDEX session_moves_new ON session_moves (new_key);
CREATE INDEX intents_mirror_due ON intents (n) WHERE mirror_due = 1;
CREATE UNIQUE INDEX bindings_place ON bindings (place) WHERE status = 'active';
CREATE UNIQUE INDEX bindings_request ON bindings (request) WHERE request IS NOT NULL;
CREATE INDEX bindings_session ON bindings (session_key) WHERE status <> 'ended';
CREATE INDEX bindings_open ON bindings (n) WHERE status <> 'ended';
CREATE INDEX intents_due ON intents (n) WHERE state IN ('prepared', 'sending') OR untold = 1;
-- A text may be longer than an index takes.
CREATE UNIQUE INDEX heartbeat_texts_key ON heartbeat_texts (agent_id, lane, md5(text));
CREATE INDEX heartbeat_texts_intent ON heartbeat_texts (intent_id);
CREATE INDEX session_history_key ON session_history (session_key);
CREATE INDEX intents_delegation ON intents (delegation_id) WHERE delegation_id IS NOT NULL;
CREATE INDEX delegations_parent ON delegations (parent) WHERE parent IS NOT NULL;
CREATE INDEX delegations_waiting ON delegations (hand, coalesce(session_id, ''), n)
    WHERE state = 'accepted' AND kind = 'worker';
CREATE INDEX late_results_delegation ON late_results (delegation_id);
CREATE INDEX hand_posts_delegation ON hand_posts (delegation_id);
CREATE INDEX mailbox_account ON mailbox (channel, account);
CREATE INDEX mailbox_place ON mailbox (channel, account, conversation, n);
CREATE INDEX intents_bad ON intents (state) WHERE state NOT IN ('prepared', 'sending', 'delivered');
INSERT INTO lease (one) VALUES (1);
