-- One index for what still has to be done with an intent: sent, or its end reported to the hooks. Nearly every commit
-- changes both, and each index costs a page. A query uses it when it has one of the two conditions as it is written here.
DROP INDEX intents_open;
DROP INDEX intents_untold;
CREATE INDEX intents_due ON intents (n) WHERE state IN ('prepared', 'sending') OR untold = 1;

-- The message on which the thread `origin` is opened before a result is posted there.
ALTER TABLE delegations ADD COLUMN open_on TEXT;
