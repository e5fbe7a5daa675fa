"""The commands of ``trunkline``. The module of a command is imported when that command is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError

from trunkline.app.cli.options import DEFAULT_LOOKS, LooksOptions
from trunkline.core.errors import UsageError

#: command -> where its function is, below `trunkline.app.cli`; help pages list them in this order
_FUNCTIONS = {
    "run": "run.run:run_scenarios",
    "tour": "run.open_app:open_tour",
    "replay": "run.open_app:replay_trace",
    "watch": "run.watch:watch_trace",
    "report": "run.report:print_report",
    "diff": "run.diff:print_diff",
    "web": "run.web:serve_app",
    "explore": "run.explore:explore_scenarios",
    "explain": "explain:app",
    "bugs": "run.run:print_bugs",
    "queue": "store.queue:app",
    "bindings": "store.bindings:app",
    "transcript": "store.transcript:print_transcript",
}
#: every command, as error messages list them
COMMANDS = (*_FUNCTIONS, "schema")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("trunkline")
    except PackageNotFoundError:
        return "unknown (not installed)"


app = App(
    name="trunkline",
    help="Show why a chat-agent gateway sent a message where it did, and whether it sent it exactly once.",
    version=_version,
    help_flags=["--help", "-h"],
    version_flags=["--version"],
)
for _name, _function in _FUNCTIONS.items():
    app.command(f"trunkline.app.cli.{_function}", name=_name)


@app.default
def browse(*paths: Path, looks: LooksOptions = DEFAULT_LOOKS) -> int:
    """Open the app: choose a scenario, run it, step through it.

    Parameters
    ----------
    paths:
        Scenario files or folders; by default the scenarios that come with Trunkline.
    """
    from trunkline.app.cli.run.open_app import open_app

    return open_app(paths, looks)


@app.command
def schema() -> int:
    """Print the JSON Schema of scenario files, for editors."""
    from trunkline.sim.scenario import schema_text

    print(schema_text(), end="")
    return 0


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name. Raises `UsageError`, also for what cyclopts rejects."""
    if arguments[:1] in (["--help"], ["-h"]):
        # The overview quotes the docstring of every command.
        for name in COMMANDS:
            app[name]
    try:
        code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        command = " ".join(["trunkline", *(error.command_chain or ())])
        raise UsageError(f"{' '.join(str(error).split())}\nTry: {command} --help") from error
    return code if isinstance(code, int) else 0
