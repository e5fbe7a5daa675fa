"""A store on a PostgreSQL server: the handlers of SQLite over a connection that spells their statements otherwise."""
