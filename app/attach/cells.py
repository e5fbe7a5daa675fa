"""A cell: a scenario on a gateway, tried a number of times. Which cell is tried next is a pure decision."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import structs

from trunkline.app.report.json_junit import write_whole
from trunkline.app.runs.model import Run
from trunkline.core.errors import UnknownName, UsageError
from trunkline.sim import ScenarioFile, scenario_home
from trunkline.sim.attach.doctor import Checkup, checkup, look
from trunkline.sim.attach.kill_points import KillPoint, kill_points
from trunkline.sim.attach.own_command import own_profile, profile_text
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.plugins.toolbox import toolbox_of

# The gateways that a command line names: by the name of a shipped profile, or by the path of a profile file.

#: where `make attach-NAME` installs, below the clone
INSTALLED = ".gateways"
#: where their states are kept, beside that
STATES = ".attach"


class AttachedGateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway that can be attached. Paths are absolute."""

    profile: GatewayProfile
    #: the file of the profile
    path: Path
    #: where it is installed
    install: Path
    #: its version; empty if its profile has no command that prints it
    version: str = ""
    #: how a command names it
    option: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def label(self) -> str:
        """For readers: ``hermes 0.19.0``."""
        return f"{self.name} {self.version}".strip()

    @property
    def fingerprint(self) -> str:
        """A digest of the profile and the version: what was tried with another one is tried again."""
        text = self.profile.model_dump_json()
        return hashlib.sha256(f"{text}\0{self.version}".encode()).hexdigest()


def find_profile(name: str) -> Path:
    """The file of a profile. Raises `UsageError` for one that does not exist, with the nearest name."""
    try:
        return profile_path(name).absolute()
    except UnknownName as error:
        raise UsageError(f"--gateway: {error.facts}") from error


def state_folder() -> Path:
    """Where states of gateways that have had their first conversation are kept, for tries to begin with."""
    return _home() / STATES


def _home() -> Path:
    clone = scenario_home().parent
    return clone if (clone / "pyproject.toml").is_file() else Path.cwd()


def attached(name: str, install: Path | None = None) -> AttachedGateway:
    """The gateway that a profile is about. Raises `UsageError` with every remedy if it cannot be run here."""
    found, where = examined(name, install)
    # What one remedy brings is named once.
    missing = {line.remedy: line for line in reversed(found.lines) if line.state == "missing"}
    if missing:
        lines = [f"{found.profile} cannot be attached on this machine:"]
        lines += [
            f"  {requirement.what}: {requirement.found}{f'; {requirement.remedy}' if requirement.remedy else ''}"
            for requirement in reversed(missing.values())
        ]
        raise UsageError("\n".join(lines))
    path = find_profile(name)
    option = ("--gateway", name, *(() if install is None else ("--install", str(install))))
    return AttachedGateway(profile=load_profile(path), path=path, install=where, version=found.version, option=option)


def own_gateway(command: str, work: Path, notices: Sequence[str] = (), name: str = "") -> AttachedGateway:
    """The gateway that a command starts. Its profile is written below `work`. Raises `UsageError`."""
    profile = own_profile(command, name=name, notices=notices)
    path = work / f"{profile.name}.yaml"
    option = ("--command", command, *(word for notice in notices for word in ("--notice", notice)))
    option += ("--name", name) if name else ()
    write_whole(path, profile_text(profile).encode())
    return AttachedGateway(profile=profile, path=path, install=Path.cwd(), option=option)


def examined(name: str, install: Path | None = None) -> tuple[Checkup, Path]:
    """Examine this machine: what a profile needs, what is there, and where the gateway is or would be installed."""
    try:
        profile = load_profile(find_profile(name))
    except UnknownName as error:
        raise UsageError(f"--gateway: {error.facts}") from error
    where = (install or _home() / INSTALLED / (profile.install.folder or profile.name)).absolute()
    return checkup(profile, look(profile, where)), where


#: a cell is given up after so many tries in a row that could not be played
GIVEN_UP = 2


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario on a gateway; with `kill_at` the gateway is killed at that event of the wire."""

    gateway: AttachedGateway
    file: ScenarioFile
    patience: float | None = None
    settle: float | None = None
    kill_at: KillPoint | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command that plays it: gateway, plug-ins and waiting times."""
        waits = (("--patience", self.patience), ("--settle", self.settle))
        given = [(name, f"{value:g}") for name, value in waits if value is not None]
        given += [("--plugin", module) for module in toolbox_of(self.file).named]
        return (*(self.gateway.option or ("--gateway", self.gateway.name)), *chain.from_iterable(given))

    @property
    def scenario(self) -> str:
        """The id of its scenario, with the point at which the gateway is killed."""
        return self.file.id if self.kill_at is None else f"{self.file.id}@{self.kill_at.slug}"

    @property
    def name(self) -> str:
        """For readers, and for files: ``hermes/plain``."""
        return f"{self.gateway.name}/{self.scenario}"

    @property
    def fingerprint(self) -> str:
        """A digest of everything that its tries depend on: gateway, profile, scenario, waiting times."""
        point = "" if self.kill_at is None else self.kill_at.slug
        parts = (self.gateway.fingerprint, self.file.sha256, point, self.patience, self.settle)
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


class FinishedTry(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    run: Run
    trace: Path
    #: what of the script did not happen, such as a fault that did not strike: it does not show what it is to show
    missed: tuple[str, ...] = ()
    #: of the wall clock
    seconds: float = 0.0
    #: warnings, such as that the network could not be closed off
    notes: tuple[str, ...] = ()


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A try that could not be played to its end."""

    problem: str
    #: the last lines of the gateway's log
    log: tuple[str, ...] = ()
    #: another try would end so too
    final: bool = False


@dataclass(slots=True, kw_only=True)
class CellRecord:
    cell: Cell
    finished: list[FinishedTry] = field(default_factory=list[FinishedTry])
    troubles: list[Trouble] = field(default_factory=list[Trouble])
    running: int = 0
    #: the highest number that a try of it was given
    highest: int = 0
    #: why it cannot be tried at all
    cannot: tuple[str, ...] = ()
    #: the events of its first try become cells of their own, each with the gateway killed there
    explored: bool = False

    @property
    def violated(self) -> bool:
        """Whether any try has a violation, or misses an expectation."""
        return any(not finished.run.holds for finished in self.finished)

    @property
    def given_up(self) -> bool:
        """Whether it is not tried any more: it cannot be, or its last tries broke off."""
        return bool(self.cannot) or len(self.troubles) >= GIVEN_UP or any(found.final for found in self.troubles)

    def take_number(self) -> int:
        """A number that no try of it has."""
        self.highest = max([self.highest, *(finished.number for finished in self.finished)]) + 1
        return self.highest

    def wanted(self, tries: int, more: int) -> int:
        """How many tries it is to have: `tries`, and `more` where the gateway differs from the promise."""
        return max(tries, more) if self.violated else tries

    def left(self, tries: int, more: int) -> int:
        """How many tries are still to be started or to end."""
        return 0 if self.given_up else max(0, self.wanted(tries, more) - len(self.finished))


def next_cell(records: Sequence[CellRecord], tries: int, more: int) -> CellRecord | None:
    """The cell to try next: the one with the fewest tries, so that everything is tried once before anything again.

    A cell of which a try broke off has one at a time from then on. None if every cell has its tries, or will have when
    those that run have ended.
    """
    open_ = [
        record
        for record in records
        if record.left(tries, more) > record.running
        and not (record.troubles and record.running)
        and not gateway_given_up(record, records)
    ]
    return min(open_, key=lambda record: len(record.finished) + record.running + len(record.troubles), default=None)


def gateway_given_up(record: CellRecord, records: Iterable[CellRecord]) -> bool:
    """Whether a gateway could not be run at all: two tries failed, or a first as each would, and none was played."""
    own = [other for other in records if other.cell.gateway.name == record.cell.gateway.name]
    troubles = [trouble for other in own for trouble in other.troubles]
    hopeless = len(troubles) >= GIVEN_UP or any(trouble.final for trouble in troubles)
    return hopeless and not any(other.finished for other in own)


def tries_left(records: Sequence[CellRecord], tries: int, more: int) -> int:
    """How many tries are still to end, if nothing more is found."""
    return sum(record.left(tries, more) for record in records if not gateway_given_up(record, records))


def points_of(record: CellRecord) -> list[CellRecord]:
    """The cells that explore another one, if it was tried; once only. One for each event of its first try."""
    if not record.explored or not record.finished:
        return []
    record.explored = False
    first = min(record.finished, key=lambda finished: finished.number)
    points = kill_points(first.run.trace.events)
    return [CellRecord(cell=structs.replace(record.cell, kill_at=point)) for point in points]
