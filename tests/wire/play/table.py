"""The scenarios that are not played on the wire, and why; `python -m tests.wire.play.table` writes the table."""

from functools import cache
from pathlib import Path

from tests.support.paths import SCENARIO_FILES
from tests.support.scenario.shipped import shipped_scenario
from trunkline.sim import ScenarioFile
from trunkline.sim.wire.play.fit import unfit

TABLE = Path(__file__).with_name("not_on_the_wire.txt")


@cache
def shipped() -> tuple[ScenarioFile, ...]:
    """All scenarios that ship, without those for gateways that are not ours."""
    return tuple(shipped_scenario(path) for path in SCENARIO_FILES)


def fitting() -> tuple[ScenarioFile, ...]:
    """Those that are played on the wire."""
    return tuple(file for file in shipped() if not unfit(file))


def table() -> str:
    """A line for each scenario that is not, with all reasons."""
    lines = [f"{file.id}: {'; '.join(one.reason for one in unfit(file))}" for file in shipped() if unfit(file)]
    return "".join(f"{line}\n" for line in sorted(lines))


if __name__ == "__main__":
    TABLE.write_text(table())
