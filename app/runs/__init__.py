"""Runs as the app knows them: loaded, live, explored in a pool."""
