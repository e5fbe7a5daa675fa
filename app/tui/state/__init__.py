"""What the app remembers while it runs: the open run, filters, playback, branches."""
