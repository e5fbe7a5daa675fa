"""The memory of the running app: the open run, filters, playback, branches."""
