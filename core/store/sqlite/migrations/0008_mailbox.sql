-- Messages to people who are reached through the API: their clients read them here. `n` is the cursor of clients, and no
-- number is given twice. `key`: a chunk that is sent again is stored once.
CREATE TABLE mailbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    conversation TEXT NOT NULL,
    message TEXT NOT NULL,
    at REAL NOT NULL
);
-- A client reads its account, or one conversation of it; an index ends with `n`.
CREATE INDEX mailbox_account ON mailbox (channel, account);
CREATE INDEX mailbox_place ON mailbox (channel, account, conversation, n);

-- How the turn of a message ended, as JSON: whoever asks for its outcome gets the same answer after a restart.
ALTER TABLE inbox ADD COLUMN ended TEXT;
