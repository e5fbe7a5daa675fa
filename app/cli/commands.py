"""The commands of ``trunkline``. A module is imported when its command is called."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from cyclopts import App, CycloptsError, Group, UnusedCliTokensError

from trunkline.app.cli.options import DEFAULT_LOOKS, DEFAULT_PLUGINS, LooksOptions, PluginOptions
from trunkline.core import VERSION
from trunkline.core.errors import UsageError

#: an example of each command, a line each, for the end of its ``--help``
_EXAMPLES = Path(__file__).with_name("examples.txt")
#: what people come for -> its commands, in the order of the overview, and where the function of each is, below
#: `trunkline.app.cli`
_GROUPS = {
    "Judge": {
        "tour": "run.open_app:open_tour",
        "attach": "attach:app",
        "new": "new:write_scenario",
        "run": "run.run:run_scenarios",
        "explore": "run.explore:explore_scenarios",
        "fuzz": "run.fuzz:fuzz_gateway",
        "shrink": "run.fuzz:shrink_scenario",
        "upgrade": "upgrade:upgrade_scenarios",
    },
    "Run": {
        "init": "init:write_configuration",
        "doctor": "doctor:examine",
        "serve": "serve:serve",
        "fakes": "fakes:serve_fakes",
        "schema": "schema:print_schema",
    },
    "Operate": {
        "queue": "store.queue:app",
        "bindings": "store.bindings:app",
        "hands": "store.hands:app",
        "transcript": "store.transcript:app",
        "store": "store.care:app",
    },
    "Look": {
        "explain": "explain:app",
        "watch": "run.watch:watch_trace",
        "report": "run.recorded:print_report",
        "replay": "run.open_app:replay_trace",
        "diff": "run.recorded:print_diff",
        "bugs": "run.bugs:print_bugs",
        "invariants": "run.bugs:print_invariants",
        "completion": "completion:print_completion",
    },
}
#: every command, as error messages list them
COMMANDS = tuple(name for functions in _GROUPS.values() for name in functions)
#: shared, because a command that is an app of its own joins the group of each command line that has it
_HEADINGS = {title: Group(title, sort_key=row) for row, title in enumerate(_GROUPS)}
#: commands that a server needs, and its operators; the judge and the app are the extra `app`, which brings packages
_OF_BASE = {"explain", "bugs", "invariants", "completion", *_GROUPS["Run"], *_GROUPS["Operate"], "--version", "-V"}
_PACKAGES = ("faker", "textual")


def browse(*paths: Path, plugins: PluginOptions = DEFAULT_PLUGINS, looks: LooksOptions = DEFAULT_LOOKS) -> int:
    """Open the app: choose a scenario, run it, step through it.

    :param paths: Scenario files or folders; by default the scenarios that come with Trunkline.
    """
    from trunkline.app.cli.run.open_app import open_app

    return open_app(paths, looks, COMMANDS, plugins.toolbox)


def _new_app(*, overview: bool = False) -> App:
    """The command line. For the overview all commands are imported, as their docstrings have the summaries."""
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
    for title, functions in _GROUPS.items():
        group = _HEADINGS[title]
        for place, (name, function) in enumerate(functions.items()):
            made.command(f"trunkline.app.cli.{function}", name=name, group=group, sort_key=place)
    made.default(browse)
    for name in COMMANDS if overview else ():
        made[name]  # pyright: ignore[reportUnusedExpression] -- looks it up, which imports it
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
        print(f"\n{examples_of(words)}")
    return code if isinstance(code, int) else 0


def examples_of(words: Sequence[str]) -> str:
    """The examples of the named command and of its subcommands; for none the first of all."""
    command = ["trunkline"]
    lines = _EXAMPLES.read_text(encoding="utf-8").splitlines()
    found = lines[:1]
    for word in words:
        of_word = [line for line in lines if line.split()[: len(command) + 1] == [*command, word]]
        if of_word:
            command, found = [*command, word], of_word
    return "\n".join(["Examples:" if len(found) > 1 else "Example:", *(f"  {line}" for line in found)])
