"""The commands and their options; each does its work in a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Group, Parameter

from app.cli.explain import app as explain
from core.errors import UsageError


def _version() -> str:
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
_LOOKS = Group("Looks")


@app.default
def browse(
    *paths: Path,
    ascii: Annotated[bool, Parameter(group=_LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=_LOOKS)] = None,
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
    from app.cli.interactive import open_app

    return open_app(paths, ascii=ascii, theme=theme)


@app.command
def tour(
    *,
    ascii: Annotated[bool, Parameter(group=_LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=_LOOKS)] = None,
) -> int:
    """Show a public report happen, and why: in the app, or as a report where there is no terminal.

    Parameters
    ----------
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from app.cli.interactive import open_tour

    return open_tour(ascii=ascii, theme=theme)


@app.command
def run(
    *paths: Path,
    seed: int | None = None,
    seeds: int = 1,
    bug: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    keyword: Annotated[str | None, Parameter(name=["-k", "--keyword"])] = None,
    trace: Path | None = None,
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
    keyword:
        Only scenarios whose id, title or tags contain all of these words.
    trace:
        Write the trace of the run, as JSON lines; for a single run.
    junit:
        Write a JUnit XML report.
    json:
        Write a JSON report.
    """
    from app.cli.headless import Options, run_scenarios

    options = Options(
        paths=paths, seed=seed, seeds=seeds, bugs=bug, keyword=keyword, trace=trace, junit=junit, json=json
    )
    return run_scenarios(options)


@app.command
def replay(
    file: Path,
    /,
    *,
    plain: Annotated[bool, Parameter(negative=())] = False,
    ascii: Annotated[bool, Parameter(group=_LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=_LOOKS)] = None,
) -> int:
    """Open a recorded trace, judged anew; a report where there is no terminal.

    Parameters
    ----------
    file:
        A trace, as `trunkline run --trace` writes it.
    plain:
        Print the report, also on a terminal.
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from app.cli.interactive import replay_trace

    return replay_trace(file, plain=plain, ascii=ascii, theme=theme)


@app.command
def bugs() -> int:
    """List the bug switches: named defects that the simulated gateway can be given."""
    from app.cli.headless import print_bugs

    return print_bugs()


@app.command
def schema() -> int:
    """Print the JSON Schema of scenario files, for editors."""
    from sim.scenario import schema_text

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
    from app.cli.transcript import print_transcript

    return print_transcript(session, store)


app.command(explain)


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
