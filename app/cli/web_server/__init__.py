"""The server of `trunkline web` and its one page. Only `app.cli.run.web` imports it: it needs textual-serve."""
