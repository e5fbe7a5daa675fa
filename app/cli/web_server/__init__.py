"""What a browser gets: the server and its one page. Only `app.cli.web` imports it, because it needs textual-serve."""
