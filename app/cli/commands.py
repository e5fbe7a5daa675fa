"""The commands of ``trunkline``. A module is imported when its command is called."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from cyclopts import App, CycloptsError, Group, UnusedCliTokensError

from trunkline.app.cli.options import DEFAULT_LOOKS, DEFAULT_PLUGINS, LooksOptions, PluginOptions
from trunkline.core import VERSION
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
    "report": ("run.recorded:print_report", "Print a recorded run as text: everything that the app shows."),
    "diff": (
        "run.recorded:print_diff",
        "Compare two recorded runs: events that only one of them has, and differences in the others.",
    ),
    "new": ("new:write_scenario", "Write a scenario file, from answers or from a recording."),
    "init": ("init:write_configuration", "Write the configuration file of a gateway, from answers."),
    "doctor": ("doctor:examine", "Check a gateway before it serves: what it lacks, and the remedy."),
    "serve": ("serve:serve", "Run a gateway that speaks HTTP, with a web chat."),
    "fakes": ("fakes:serve_fakes", "Start fake platforms on this machine, for the tests of any bot or gateway."),
    "attach": (
        "attach:app",
        "Run a gateway that is not ours against platforms and a model on this machine, and judge what people see.",
    ),
    "web": ("run.web:serve_app", "Serve the app to a browser on this machine. Prints the address; Ctrl-C ends it."),
    "explore": (
        "run.explore:explore_scenarios",
        "Run scenarios once per commit and once per step, and kill the gateway at that point.",
    ),
    "fuzz": (
        "run.fuzz:fuzz_gateway",
        "Play random scenarios, and keep what breaks a promise as a small scenario file.",
    ),
    "shrink": (
        "run.fuzz:shrink_scenario",
        "Make a scenario as small as possible that violates an invariant or misses an expectation.",
    ),
    "explain": ("explain:app", "Explain where a message would go, without running anything."),
    "bugs": ("run.bugs:print_bugs", "List the bug switches: named defects that the simulated gateway can be given."),
    "invariants": ("run.bugs:print_invariants", "List the invariants: the promises that every run is judged by."),
    "completion": ("completion:print_completion", "Print or install the script by which a shell completes commands."),
    "queue": ("store.queue:app", "Inspect the outbound queue, and decide what the gateway cannot decide."),
    "bindings": ("store.bindings:app", "List conversations that are bound to sessions, and unbind one."),
    "hands": (
        "store.hands:app",
        "Inspect the tasks that agents gave to hands, decide what the gateway cannot decide, and work as a worker.",
    ),
    "transcript": (
        "store.transcript:app",
        "Print the transcript of a session as JSON lines; without a session, list the sessions. Erase a person.",
    ),
    "store": ("store.care:app", "Check, back up and restore the store file of a gateway."),
    "upgrade": (
        "upgrade:upgrade_scenarios",
        "Make scenario files strict: in their newest version a run that proves nothing is not green.",
    ),
    "schema": (
        "schema:print_schema",
        "Print a JSON Schema: of scenario files, configurations, gateway profiles, tools of agents, or their protocol.",
    ),
}
#: what people come for -> its commands, in the order of the overview
_GROUPS = {
    "Judge": ("tour", "attach", "new", "run", "explore", "fuzz", "shrink", "upgrade"),
    "Run": ("init", "doctor", "serve", "fakes", "schema"),
    "Operate": ("queue", "bindings", "hands", "transcript", "store"),
    "Look": ("explain", "watch", "report", "replay", "diff", "web", "bugs", "invariants", "completion"),
}
#: every command, as error messages list them
COMMANDS = tuple(name for names in _GROUPS.values() for name in names)
#: commands that a server needs, and its operators; the judge and the app are the extra `app`, which brings packages
_OF_BASE = {"explain", "bugs", "invariants", "completion", *_GROUPS["Run"], *_GROUPS["Operate"], "--version", "-V"}
_PACKAGES = ("faker", "textual")


def browse(*paths: Path, plugins: PluginOptions = DEFAULT_PLUGINS, looks: LooksOptions = DEFAULT_LOOKS) -> int:
    """Open the app: choose a scenario, run it, step through it.

    Parameters
    ----------
    paths:
        Scenario files or folders; by default the scenarios that come with Trunkline.
    """
    from trunkline.app.cli.run.open_app import open_app

    return open_app(paths, looks, COMMANDS, plugins.toolbox)


def _new_app(*, overview: bool = False) -> App:
    """The command line. For the overview the commands have their summaries, and are not imported."""
    made = App(
        name="trunkline",
        help="Run a chat-agent gateway, and see why it sent each message where it did, and whether exactly once.",
        version=VERSION,
        help_flags=["--help", "-h"],
        version_flags=["--version", "-V"],
        help_format="plaintext",
    )
    if overview:
        # The commands come first, and their groups have no room for options.
        made.group_arguments, options = Group("Arguments", sort_key=8), Group("Parameters", sort_key=9)
        made.group_parameters = made["--help"].group = made["--version"].group = options
    for row, (title, names) in enumerate(_GROUPS.items()):
        group = Group(title, sort_key=row)
        for place, name in enumerate(names):
            function, summary = _COMMANDS[name]
            path = f"trunkline.app.cli.{function}"
            made.command(path, name=name, help=summary if overview else None, group=group, sort_key=place)
    made.default(browse)
    return made


app = _new_app()


def _require_app(words: Sequence[str]) -> None:
    """Raise `UsageError` with the remedy if the extra of the judge and the app is not installed."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        named = f"trunkline {words[0]}" if words and words[0] in COMMANDS else "the app"
        raise UsageError(f"{named} needs {' and '.join(missing)}, not installed: pip install 'trunkline[app]'")


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name. Raises `UsageError`, also for what cyclopts rejects."""
    words = [*arguments[1:], "--help"] if arguments[:1] == ["help"] else list(arguments)
    called = _new_app(overview=True) if words[:1] in (["--help"], ["-h"]) else app
    asks = not {"--help", "-h"}.isdisjoint(words)
    if not asks and _OF_BASE.isdisjoint(words[:1]):
        _require_app(words)
    if asks:
        from trunkline.app.cli.plain_help import PlainHelp

        called.help_formatter = PlainHelp()
    try:
        code = called(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        command = " ".join(["trunkline", *(error.command_chain or ())])
        said = " ".join(str(error).split())
        if isinstance(error, UnusedCliTokensError):
            said = f"{command} takes no more arguments: {' '.join(error.unused_tokens or ())}"
        raise UsageError(f"{said}\nTry: {command} --help") from error
    if asks:
        from trunkline.app.cli.examples import examples_of

        print(f"\n{examples_of(words)}")
    return code if isinstance(code, int) else 0
