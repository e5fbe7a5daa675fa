"""``trunkline attach``: judges a gateway that is not ours, as a black box between platforms and a model on the wire."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter

from trunkline.app.attach.cells import AttachedGateway, Cell, CellRecord, attached, examined, own_gateway
from trunkline.app.attach.results import checkup_lines, nothing_exercised, profile_lines, result_lines, summary_line
from trunkline.app.attach.runner import AttachProgress, TryRunner, not_interrupted, terminated_like_interrupted
from trunkline.app.attach.try_folder import TryFolder
from trunkline.app.cli.options import Flag, Many, Plugins, check_at_least, check_folders, require_fakes
from trunkline.app.cli.run.run import load_matching
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import count
from trunkline.core.errors import UsageError
from trunkline.sim import ScenarioFile, scenario_home
from trunkline.sim.attach.fit import attach_unfit
from trunkline.sim.attach.kill_points import named_kill_point
from trunkline.sim.attach.profile_files import shipped_profiles

app = App(
    name="attach",
    help="Run a gateway that is not ours against platforms and a model on this machine, and judge what people see.",
)
#: exit code after Ctrl-C, unless a violation was found before
_INTERRUPTED = 130
#: exit code where a gateway could not be run, or nothing was exercised
_NOT_RUN = 2
_OUTPUT = Parameter(group=Group("Output", sort_key=1))


@dataclass(frozen=True, kw_only=True)
class AttachOptions(Plugins):
    """The options of ``trunkline attach``."""

    list: Flag = False
    """List the gateways that can be named, and whether they are installed, and end."""
    gateway: Many = ()
    """The gateway: the name of a profile (`--list` has them), or the path of a profile file. May be given several
    times."""
    command: str | None = None
    """The command that starts a gateway of your own, instead of a profile. Addresses and tokens reach it as environment
    variables such as `TELEGRAM_API_ROOT`, `TELEGRAM_BOT_TOKEN` and `OPENAI_BASE_URL`, or as slots `${telegram.url}`."""
    notice: Many = ()
    """With --command: a text of the gateway that says what became of a question, such as `Sorry, *`. May be given
    several times."""
    name: str = ""
    """With --command: what the gateway is called in reports; by default as the last file of the command."""
    tries: int = 1
    """Play each scenario so many times. A finding should be claimed from 5 tries on."""
    more: int = 0
    """Play a scenario that a gateway violates so many times in all, and the others `--tries` times."""
    jobs: int = 1
    """Number of tries at the same time. A gateway may need a gigabyte of memory."""
    explore: Flag = False
    """Play each scenario once more for each event of the wire, and kill the gateway there."""
    at: str | None = None
    """Kill the gateway at this event too, as a report of `--explore` names it: `wire.accepted-m1-1`."""
    patience: float | None = None
    """Seconds after which a question that nothing followed counts as lost, instead of those of the profile."""
    settle: float | None = None
    """Seconds without any event after which a try ends, instead of those of the profile."""
    keyword: Annotated[str | None, Parameter(name=["-k", "--keyword"])] = None
    """Select the scenarios whose id, title or tags contain all of these words."""
    install: Path | None = None
    """Where the gateway is installed, instead of `.gateways/NAME` in the clone."""
    report: Annotated[Path | None, _OUTPUT] = None
    """A folder for pages of the findings and of the matrix. It keeps finished tries: the same command goes on."""
    trace: Annotated[Path | None, _OUTPUT] = None
    """A folder for the traces, for `trunkline watch` while they grow, and for `trunkline replay`."""
    json: Annotated[Path | None, _OUTPUT] = None
    """Write a JSON report."""
    junit: Annotated[Path | None, _OUTPUT] = None
    """Write a JUnit XML report."""
    keep: Annotated[Flag, _OUTPUT] = False
    """Keep the folders of tries with a violation or a problem: the state of the gateway and its log."""


_DEFAULTS = AttachOptions()


@app.default
def attach_scenarios(*paths: Path, options: Annotated[AttachOptions, Parameter(name="*")] = _DEFAULTS) -> int:
    """Run a gateway that is not ours against platforms and a model on this machine, and judge what people see.

    The gateway gets nothing but addresses and tokens. Exit code: 0 all hold, 1 violated, 2 wrong usage or file, a
    gateway could not be run, or nothing was exercised.

    :param paths: Scenario files or folders; by default those for gateways that come with Trunkline.
    """
    if options.list:
        print_lines(*profile_lines([examined(name)[0] for name in shipped_profiles()]))
        return 0
    _check(options)
    with terminated_like_interrupted(), tempfile.TemporaryDirectory(prefix="trunkline-attach-") as work:
        return _attach(paths, Path(work), options)


def _attach(paths: Sequence[Path], work: Path, options: AttachOptions) -> int:
    gateways = _gateways(options, work)
    files = _files(paths, options)
    point = None if options.at is None else named_kill_point(options.at)
    records = [
        CellRecord(
            cell=Cell(gateway=gateway, file=file, patience=options.patience, settle=options.settle, kill_at=point),
            explored=options.explore,
            cannot=attach_unfit(file, gateway.profile),
        )
        for file in files
        for gateway in gateways
    ]
    _check_fit(records)
    folder = TryFolder(options.report or options.trace or work / "report")
    try:
        return _play(records, folder, work, options)
    finally:
        folder.close()


def _check(options: AttachOptions) -> None:
    check_at_least(1, tries=options.tries, jobs=options.jobs)
    check_at_least(0, more=options.more)
    for name, seconds in (("--patience", options.patience), ("--settle", options.settle)):
        if seconds is not None and not 0 < seconds <= 3600:
            raise UsageError(f"{name} {seconds:g}: expected seconds above 0, at most 3600")
    if not options.gateway and options.command is None:
        raise UsageError(
            f"--gateway names the gateway to attach: {', '.join(shipped_profiles())}, or a profile file; --command "
            "starts one of your own"
        )
    if options.explore and options.at is not None:
        raise UsageError("--explore and --at exclude each other: every event, or one of them")
    if options.notice and options.command is None:
        raise UsageError("--notice goes with --command: a profile has its own notices")
    if options.name and options.command is None:
        raise UsageError("--name goes with --command: a profile has its own name")
    if options.report is not None and options.trace is not None:
        raise UsageError("--report and --trace exclude each other: a report keeps the traces too, in DIR/tries")
    if options.install is not None and len(options.gateway) > 1:
        raise UsageError("--install is for a single --gateway")
    check_folders(options.json, options.junit)
    require_fakes("trunkline attach")


def _gateways(options: AttachOptions, work: Path) -> list[AttachedGateway]:
    """The gateways of the command line. Raises one `UsageError` with every problem."""
    found: dict[str, AttachedGateway] = {}
    problems: list[str] = []
    for name in dict.fromkeys(options.gateway):
        try:
            gateway = attached(name, options.install)
        except UsageError as error:
            problems.append(error.facts)
            continue
        if gateway.name in found:
            problems.append(f"--gateway {name}: two profiles are called {gateway.name}: rename one")
        found[gateway.name] = gateway
    if options.command is not None:
        gateway = own_gateway(options.command, work, options.notice, options.name)
        found.setdefault(gateway.name, gateway)
    if problems:
        raise UsageError("\n".join(problems))
    return list(found.values())


def _files(paths: Sequence[Path], options: AttachOptions) -> list[ScenarioFile]:
    """The scenarios, each id once. Raises `UsageError`."""
    files = load_matching(paths or (scenario_home() / "attach",), options.keyword, options.toolbox)
    known: dict[str, Path] = {}
    for file in files:
        if file.id in known:
            raise UsageError(f"{known[file.id]} and {file.path} have the same name, so their results would be mixed up")
        known[file.id] = file.path
    return files


def _check_fit(records: Sequence[CellRecord]) -> None:
    """Raise `UsageError` with every reason if no scenario can be played with any of the gateways."""
    if all(record.cannot for record in records):
        lines = [f"{record.cell.file.path} cannot be attached to {record.cell.gateway.name}" for record in records]
        reasons = [[f"  {reason}" for reason in record.cannot] for record in records]
        raise UsageError("\n".join(line for head, own in zip(lines, reasons, strict=True) for line in (head, *own)))


def _play(records: list[CellRecord], folder: TryFolder, work: Path, options: AttachOptions) -> int:
    for record in records:
        record.finished.extend(folder.finished(record.cell))
    print_lines(*_found_before(records, folder))
    progress = AttachProgress(records, tries=options.tries, more=options.more, jobs=options.jobs)
    keep = (options.report or options.trace) if options.keep else None
    if options.keep and keep is None:
        keep = Path(tempfile.mkdtemp(prefix="trunkline-attach-kept-"))
    runner = TryRunner(folder, work / "running", progress, keep=keep and keep.absolute() / "kept")
    interrupted = False
    try:
        with progress.shown():
            runner.play(records, tries=options.tries, more=options.more, jobs=options.jobs)
    except KeyboardInterrupt:
        interrupted = True
    except OSError:
        # Nobody reads the output any more, as of a terminal that was closed. The files are written all the same.
        with not_interrupted():
            _write_reports(records, work, options)
        raise
    # First the files: who reads only the first lines of the output gets them too.
    with not_interrupted():
        written = _write_reports(records, work, options)
    print_lines(
        *result_lines(records),
        summary_line(records, interrupted=interrupted),
        *(f"kept: {record}" for record in runner.kept),
        *written,
    )
    if any(record.violated for record in records):
        return 1
    if interrupted:
        return _INTERRUPTED
    if nothing_exercised(records):
        print_lines("nothing was exercised, so nothing is shown: what did not happen is named above")
        return _NOT_RUN
    return 0 if all(record.finished or record.cannot for record in records) else _NOT_RUN


def _found_before(records: Sequence[CellRecord], folder: TryFolder) -> Iterator[str]:
    """The tries that an earlier command has finished in this folder."""
    kept = sum(len(record.finished) for record in records)
    others = sum(folder.others(record.cell) for record in records)
    if kept:
        yield f"{count(kept, 'try was', 'tries were')} finished before, in {folder.folder}"
    if others:
        yield f"{count(others, 'try', 'tries')} of another version of a gateway, profile or scenario there do not count"


def _write_reports(records: Sequence[CellRecord], work: Path, options: AttachOptions) -> list[str]:
    """Write what was asked for; a line for each. Raises `UsageError`."""
    from trunkline.app.attach.report.matrix import attach_json, attach_junit
    from trunkline.app.attach.report.pages import write_report
    from trunkline.app.report.json_junit import write_whole
    from trunkline.app.report.redaction import PageRedaction

    folders = [(work, "(a folder of its own)"), *((record.cell.gateway.install, "(installed)") for record in records)]
    redaction = PageRedaction(folders=folders)
    if options.json is not None:
        write_whole(options.json, attach_json(records, redaction))
    if options.junit is not None:
        write_whole(options.junit, attach_junit(records, redaction))
    if options.report is None:
        return []
    return [f"report: {write_report(records, options.report.absolute(), redaction)}"]


@app.command
def doctor(profile: str, /, *, install: Path | None = None) -> int:
    """Say what a gateway needs that this machine lacks, and how to get it. Nothing is downloaded.

    Exit code: 0 it can be attached, 2 something is missing.

    :param profile: The name of a profile, or the path of a profile file.
    :param install: Where the gateway is installed, instead of `.gateways/NAME` in the clone.
    """
    found, _ = examined(profile, install)
    print_lines(*checkup_lines(found))
    return 0 if found.ready else _NOT_RUN
