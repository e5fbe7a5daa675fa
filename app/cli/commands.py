"""The commands of ``trunkline``. The module of a command is imported when that command is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, UnusedCliTokensError

from trunkline.app.cli.options import DEFAULT_LOOKS, LooksOptions
from trunkline.app.terminal.version import installed_version
from trunkline.core.errors import UsageError

#: command -> where its function is, below `trunkline.app.cli`, and its line in the overview
_COMMANDS = {
    "run": ("run.run:run_scenarios", "Run scenarios without the app."),
    "tour": (
        "run.open_app:open_tour",
        "Show a public bug report happen, and why: in the app, or as a report where there is no terminal.",
    ),
    "replay": (
        "run.open_app:replay_trace",
        "Judge a recorded trace again and open it; without a terminal, print a report.",
    ),
    "watch": (
        "run.watch:watch_trace",
        "Follow a gateway that is running, or the trace of a run that is still going on.",
    ),
    "report": ("run.report:print_report", "Print a recorded run as text: everything that the app shows."),
    "diff": (
        "run.diff:print_diff",
        "Compare two recorded runs: events that only one of them has, and differences in the others.",
    ),
    "serve": ("serve:serve", "Run a gateway that speaks HTTP, with a web chat."),
    "fakes": (
        "fakes:serve_fakes",
        "Start fake platforms on this machine, for the tests of any bot or gateway.",
    ),
    "attach": (
        "attach:app",
        "Run a gateway that is not ours against platforms and a model on this machine, and judge what people see.",
    ),
    "web": ("run.web:serve_app", "Serve the app to a browser on this machine. Prints the address; Ctrl-C ends it."),
    "explore": (
        "run.explore:explore_scenarios",
        "Run scenarios once per commit and once per step, and kill the gateway at that point.",
    ),
    "explain": ("explain:app", "Explain where a message would go, without running anything."),
    "bugs": (
        "run.run:print_bugs",
        "List the bug switches: named defects that the simulated gateway can be given.",
    ),
    "queue": ("store.queue:app", "Inspect the outbound queue, and decide what the gateway cannot decide."),
    "bindings": (
        "store.bindings:app",
        "List conversations that are bound to sessions, and unbind one.",
    ),
    "hands": (
        "store.hands:app",
        "Inspect the tasks that agents gave to hands, decide what the gateway cannot decide, and work as a worker.",
    ),
    "transcript": (
        "store.transcript:print_transcript",
        "Print the transcript of a session as JSON lines; without a session, list the sessions.",
    ),
    "import": (
        "import_:app",
        "Read what another gateway has stored, and report what is noteworthy.",
    ),
    "schema": (
        "schema:print_schema",
        "Print the JSON Schema of scenario files, of gateway profiles, of the tools of agents, or of their protocol.",
    ),
}
#: every command, as error messages list them
COMMANDS = tuple(_COMMANDS)


def browse(*paths: Path, looks: LooksOptions = DEFAULT_LOOKS) -> int:
    """Open the app: choose a scenario, run it, step through it.

    Parameters
    ----------
    paths:
        Scenario files or folders; by default the scenarios that come with Trunkline.
    """
    from trunkline.app.cli.run.open_app import open_app

    return open_app(paths, looks, COMMANDS)


def _new_app(*, overview: bool = False) -> App:
    """The command line. For the overview the commands have their summaries, so that none of them is imported."""
    made = App(
        name="trunkline",
        help="Run a chat-agent gateway, and see why it sent each message where it did, and whether exactly once.",
        version=installed_version,
        help_flags=["--help", "-h"],
        version_flags=["--version"],
        # The overview has no markup, and what reads Markdown takes long to import.
        help_format="plaintext" if overview else None,
    )
    for name, (function, summary) in _COMMANDS.items():
        path = f"trunkline.app.cli.{function}"
        if overview:
            made.command(path, name=name, help=summary)
        else:
            made.command(path, name=name)
    made.default(browse)
    return made


app = _new_app()


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name. Raises `UsageError`, also for what cyclopts rejects."""
    called = _new_app(overview=True) if arguments[:1] in (["--help"], ["-h"]) else app
    try:
        code = called(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        command = " ".join(["trunkline", *(error.command_chain or ())])
        said = " ".join(str(error).split())
        if isinstance(error, UnusedCliTokensError):
            said = f"{command} takes no more arguments: {' '.join(error.unused_tokens or ())}"
        raise UsageError(f"{said}\nTry: {command} --help") from error
    return code if isinstance(code, int) else 0
