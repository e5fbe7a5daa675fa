"""A disk that fails: SQLite's own calls of the file system, with errors at a chosen call, and with power cuts."""
