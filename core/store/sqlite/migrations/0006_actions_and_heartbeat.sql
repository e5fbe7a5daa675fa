-- What few intents have, as JSON: parts of a message such as buttons, or the action that makes it a change.
ALTER TABLE intents ADD COLUMN extra TEXT;
