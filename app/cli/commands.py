"""The commands and their options; each does its work in a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Group, Parameter

from trunkline.app.cli.explain import app as explain
from trunkline.app.cli.store.bindings_options import app as bindings
from trunkline.app.cli.store.queue_options import app as queue
from trunkline.app.cli.trace_commands import LOOKS, diff, replay, report, watch
from trunkline.core.errors import UsageError


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("trunkline")
    except PackageNotFoundError:
        return "unknown (not installed)"


app = App(
    name="trunkline",
    help="See why a message of a chat-agent gateway went where it went, and whether it went there once.",
    version=_version,
    help_flags=["--help", "-h"],
    version_flags=["--version"],
)
_ONE_RUN = Group("One run again", sort_key=1)


@app.default
def browse(
    *paths: Path,
    ascii: Annotated[bool, Parameter(group=LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=LOOKS)] = None,
) -> int:
    """Open the app: choose a scenario, run it, step through it.

    Parameters
    ----------
    paths:
        Scenario files or folders; by default the scenarios that come with Trunkline.
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from trunkline.app.cli.run.open_app import open_app

    return open_app(paths, ascii=ascii, theme=theme)


@app.command
def tour(
    *,
    ascii: Annotated[bool, Parameter(group=LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=LOOKS)] = None,
) -> int:
    """Show a public report happen, and why: in the app, or as a report where there is no terminal.

    Parameters
    ----------
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from trunkline.app.cli.run.open_app import open_tour

    return open_tour(ascii=ascii, theme=theme)


@app.command
def run(
    *paths: Path,
    seed: int | None = None,
    seeds: int = 1,
    bug: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    inject: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    keyword: Annotated[str | None, Parameter(name=["-k", "--keyword"])] = None,
    trace: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    junit: Path | None = None,
    json: Path | None = None,
) -> int:
    """Run scenarios without the app. Exit code: 0 all hold, 1 violated, 2 wrong usage or file.

    Parameters
    ----------
    paths:
        Scenario files or folders; by default the scenarios that come with Trunkline.
    seed:
        Seed instead of the scenario's own.
    seeds:
        Run each scenario under this many seeds, counting up.
    bug:
        Switch a defect on (`trunkline bugs` lists them); a report's id such as B001 works too, and `own` runs each
        scenario once with each defect that it declares. May be given several times.
    inject:
        Add a step to the script, written as in the file, e.g. `{at: 1.5s, crash: {}}`: what the app's fault palette
        does. For a single scenario; its expectations stay as they are. May be given several times.
    keyword:
        Only scenarios whose id, title or tags contain all of these words.
    trace:
        Write the trace of the run, as JSON lines; for a single run. `-` writes it to standard output while the run is
        made, and the report to standard error: `trunkline run FILE --trace - | trunkline watch -`.
    junit:
        Write a JUnit XML report.
    json:
        Write a JSON report.
    """
    from trunkline.app.cli.run.run import Options, run_scenarios

    options = Options(
        paths=paths,
        seed=seed,
        seeds=seeds,
        bugs=bug,
        steps=inject,
        keyword=keyword,
        trace=trace,
        junit=junit,
        json=json,
    )
    return run_scenarios(options)


@app.command
def explore(  # noqa: PLR0913 -- each of them is an option
    *names: str,
    crash_everywhere: Annotated[bool, Parameter(negative=())] = False,
    every_step: int = 1,
    stops: int = 100,
    second: int = 100,
    seed: int | None = None,
    seeds: int = 1,
    bug: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    keyword: Annotated[str | None, Parameter(name=["-k", "--keyword"])] = None,
    jobs: int | None = None,
    json: Path | None = None,
    at: Annotated[str | None, Parameter(group=_ONE_RUN)] = None,
    then: Annotated[tuple[str, ...], Parameter(group=_ONE_RUN, negative=())] = (),
    stop: Annotated[bool, Parameter(group=_ONE_RUN, negative=())] = False,
    trace: Annotated[Path | None, Parameter(group=_ONE_RUN)] = None,
) -> int:
    """Run scenarios once per commit and once per step, with the gateway killed there.

    Every invariant must hold in each of these runs, and people must see at the end what they see without a crash. What
    may rightly be otherwise is named. A run that fails is told with the command that does it again, which has `--at`.
    Exit code: 0 all hold, 1 violated, 2 wrong usage or file.

    Parameters
    ----------
    names:
        Scenario files or folders, or ids of scenarios that come with Trunkline; by default all of these.
    crash_everywhere:
        Place a crash everywhere. That is what happens without `--at` too.
    every_step:
        Of the steps only each so manyth.
    stops:
        Also stop the gateway in order at so many of these points, drawn by seed and point.
    second:
        Also end the next process while it recovers, in so many runs, drawn in the same way; every fourth is a stop.
    seed:
        Seed instead of the scenario's own.
    seeds:
        Explore each scenario under this many seeds, counting up.
    bug:
        Switch a defect on, by its name or the id of its report. May be given several times.
    keyword:
        Only scenarios whose id, title or tags contain all of these words.
    jobs:
        Processes that share the work; by default one a core.
    json:
        Write a JSON report.
    at:
        Do one run again instead, with its crash after this: `commit:17` or `step:512`.
    then:
        And a second crash after this, counted from the restart. May be given several times.
    stop:
        The last crash is a stop in order instead of a kill.
    trace:
        Write the trace of this run, as JSON lines: `trunkline replay` opens it.
    """
    from trunkline.app.cli.run.explore import Options, explore_scenarios

    if crash_everywhere and at is not None:
        raise UsageError("--crash-everywhere and --at exclude each other: all runs, or one of them again")
    options = Options(
        names=names,
        every_step=every_step,
        stops=stops,
        second=second,
        seed=seed,
        seeds=seeds,
        bugs=bug,
        keyword=keyword,
        jobs=jobs,
        json=json,
        at=at,
        then=then,
        stop=stop,
        trace=trace,
    )
    return explore_scenarios(options)


@app.command
def web(
    *paths: Path,
    trace: Path | None = None,
    cut: Annotated[bool, Parameter(negative=())] = False,
    port: int = 0,
    ascii: Annotated[bool, Parameter(group=LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=LOOKS)] = None,
) -> int:
    """Serve the app to a browser on this machine. Prints the address; ctrl-c ends it.

    Parameters
    ----------
    paths:
        Scenario files or folders, as the app takes them; by default the tour is opened.
    trace:
        Open this trace instead.
    cut:
        Open it as far as it goes, if it lost its end.
    port:
        Port on 127.0.0.1; 0 takes a free one.
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from trunkline.app.cli.run.web import serve_app

    return serve_app(paths, trace=trace, cut=cut, port=port, ascii=ascii, theme=theme)


@app.command
def bugs() -> int:
    """List the bug switches: named defects that the simulated gateway can be given."""
    from trunkline.app.cli.run.run import print_bugs

    return print_bugs()


@app.command
def schema() -> int:
    """Print the JSON Schema of scenario files, for editors."""
    from trunkline.sim.scenario import schema_text

    print(schema_text(), end="")
    return 0


@app.command
def transcript(session: str | None = None, /, *, store: Path) -> int:
    """Print the transcript of a session as JSON lines; without a session, list those of the store.

    The store is only read; a gateway may be running on it.

    Parameters
    ----------
    session:
        Key of a session, or its id: that also finds one that has ended.
    store:
        The store file of a gateway.
    """
    from trunkline.app.cli.store.transcript import print_transcript

    return print_transcript(session, store)


app.command(replay)
app.command(watch)
app.command(report)
app.command(diff)
app.command(explain)
app.command(queue)
app.command(bindings)


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name. Raises `UsageError`; cyclopts' own complaints become one."""
    try:
        code = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        command = " ".join(["trunkline", *(error.command_chain or ())])
        raise UsageError(f"{_plain(error)}\nTry: {command} --help") from error
    return code if isinstance(code, int) else 0


def _plain(error: CycloptsError) -> str:
    return " ".join(str(error).split())
