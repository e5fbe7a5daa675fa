-- Runs of a turn that count against it: their process died at once, or while nothing else ran. `begun` is 2 once a run has
-- outlived its start.
ALTER TABLE inbox ADD COLUMN charged INTEGER NOT NULL DEFAULT 0;

-- Who wrote a line, as ``<channel>:<id>``: the row of its message is kept for a while only, and the line for good.
ALTER TABLE transcript ADD COLUMN author TEXT;
UPDATE transcript SET author = (
    SELECT json_extract(CAST(i.work AS TEXT), '$.place.channel') || ':' || json_extract(CAST(i.work AS TEXT), '$.peer.id')
    FROM inbox i WHERE i.id = transcript.ref AND json_valid(CAST(i.work AS TEXT))
)
WHERE role = 'user' AND ref IN (SELECT id FROM inbox WHERE kind IN ('message', 'control'));

-- Erasures of people: when, at whose demand, and how many rows of each table. Nothing says whom.
CREATE TABLE erasures (
    n INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    by TEXT NOT NULL,
    rows TEXT NOT NULL
);

-- What ended badly: nobody who looks at it reads the messages that arrived, and no message that arrives changes it.
CREATE INDEX intents_bad ON intents (state) WHERE state NOT IN ('prepared', 'sending', 'delivered');
