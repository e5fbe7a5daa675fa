"""The bug switches that random scenarios find: ``make fuzz-bugs ARGS='--seconds 120'``.

Each switch is on in the scenarios of the seeds from 1 on, until an invariant or the oracle finds what the clean core
does not show, or its CPU time is over. What is found is made smaller. The table has a line for each switch; the last
lines say how many are found, and the median of steps. Exit code 1 if fewer are found than ``--at-least`` percent.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import time

import msgspec

from trunkline.sim import BUGS
from trunkline.sim.fuzz.finding_file import shrink_finding
from trunkline.sim.fuzz.generator import make_scenario
from trunkline.sim.fuzz.trial import try_tree


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A switch, and what found it."""

    bug: str
    #: none: it was not found
    seed: int | None
    kinds: tuple[str, ...] = ()
    seconds: float
    steps: int = 0

    def line(self) -> str:
        own = set(self.kinds) & set(BUGS[self.bug].caught_by)
        found = f"seed {self.seed:<6} {self.steps} steps  {' '.join(self.kinds)}" if self.seed else "not found"
        other = "" if own or not self.seed else f"  (not {' '.join(BUGS[self.bug].caught_by)})"
        return f"{self.bug:<36} {self.seconds:6.1f} s  {found}{other}"


def find(bug: str, limit: float) -> Row:
    """Look for a switch for so many CPU seconds. Making it smaller is not counted."""
    began, seed = time.process_time(), 0
    while (spent := time.process_time() - began) < limit:
        seed += 1
        tree = make_scenario(seed)
        found = try_tree(tree, [bug]).findings
        if not found:
            continue
        clean = {finding.cause for finding in try_tree(tree).findings}
        new = [finding for finding in found if finding.cause not in clean]
        if new:
            kinds = tuple(dict.fromkeys(finding.kind for finding in new))
            seconds = time.process_time() - began
            steps = len(shrink_finding(tree, new[0], [bug]).tree["script"])
            return Row(bug=bug, seed=seed, kinds=kinds, seconds=seconds, steps=steps)
    return Row(bug=bug, seed=None, seconds=spent)


def _find(given: tuple[str, float]) -> Row:
    return find(*given)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("bugs", nargs="*", help="names of switches; by default all of them")
    parser.add_argument("--seconds", default=120.0, type=float, help="CPU seconds for each")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int, help="number of processes")
    parser.add_argument("--at-least", default=90.0, type=float, help="percent of the switches that must be found")
    options = parser.parse_args()
    names = options.bugs or list(BUGS)
    rows: list[Row] = []
    with multiprocessing.Pool(options.jobs) as pool:
        for row in pool.imap(_find, [(name, options.seconds) for name in names]):
            rows.append(row)
            print(row.line(), flush=True)
    found = [row for row in rows if row.seed]
    rate = 100 * len(found) / len(rows)
    print(f"\n{len(found)} of {len(rows)} switches found ({rate:.0f} %), each within {options.seconds:g} CPU seconds")
    if found:
        steps = [row.steps for row in found]
        print(f"{statistics.median(steps):g} steps in the median, {max(steps)} at most")
    return 0 if rate >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
