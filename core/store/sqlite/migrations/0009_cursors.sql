-- Where the accounts of real platforms have read to. A value is saved after the messages before it are in `inbox`.
CREATE TABLE cursors (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (channel, account, name)
) WITHOUT ROWID;
