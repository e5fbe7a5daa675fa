"""The default store: one SQLite file in WAL mode."""
