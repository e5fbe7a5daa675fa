"""`python -m tests.random_scenarios --seeds 1..2000`: plays the random scenarios and prints what is wrong.

`--hands` plays those about delegated work instead (`tests.random_scenarios.hands`).
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from tests.random_scenarios.generator import Tree, as_yaml, make_scenario
from tests.random_scenarios.hands.generator import make_hand_scenario
from tests.random_scenarios.hands.trial import try_hand_tree, try_hands
from tests.random_scenarios.smaller import smaller
from tests.random_scenarios.trial import Trial, try_tree

#: of every so many scenarios the first is played twice, and must give the same bytes
TWICE_EVERY = 20


def try_seed(seed: int) -> Trial:
    """Play the scenario of a seed, every 20th twice."""
    first = try_tree(seed, make_scenario(seed))
    if seed % TWICE_EVERY == 1 and first.digest and try_tree(seed, make_scenario(seed)).digest != first.digest:
        again = ("TWICE", "the second run gave another trace")
        return Trial(seed=seed, faults=(*first.faults, again), digest=first.digest, events=first.events)
    return first


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One family of random scenarios: how its files are made and played."""

    name: str
    make: Callable[[int], Tree]
    play: Callable[[int, Tree], Trial]
    try_seed: Callable[[int], Trial]

    def reduced(self, trial: Trial, kind: str) -> Tree:
        """A smaller scenario with the same kind of fault."""
        return smaller(self.make(trial.seed), lambda tree: kind in self.play(trial.seed, tree).kinds)


ALL = Family(name="random", make=make_scenario, play=try_tree, try_seed=try_seed)
HANDS = Family(name="hands", make=make_hand_scenario, play=try_hand_tree, try_seed=try_hands)


def _seeds(text: str) -> list[int]:
    """Seeds as ``7`` or ``1..2000``, separated by commas."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def _save(folder: Path, family: Family, trial: Trial, tree: Tree) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{family.name}-{trial.seed}.yaml"
    lines = [
        f"# {kind}: {' '.join(summary.split())[:300]}".encode("ascii", "replace").decode()
        for kind, summary in trial.faults
    ]
    path.write_text("\n".join([*lines[:10], as_yaml(tree)]), encoding="utf-8")
    return path


def _print(trials: Iterable[Trial], family: Family, folder: Path, *, shrink: bool) -> int:
    """Print each failing run as it comes; returns how many there were."""
    kinds: Counter[str] = Counter()
    runs = events = failed = 0
    for trial in trials:
        runs, events = runs + 1, events + trial.events
        if not trial.faults:
            continue
        failed += 1
        kinds.update(trial.kinds)
        kind = trial.faults[0][0]
        tree = family.reduced(trial, kind) if shrink and kind != "TWICE" else family.make(trial.seed)
        path = _save(folder, family, trial, tree)
        shown = "; ".join(f"{kind} {summary!a:.150}" for kind, summary in dict(trial.faults).items())
        print(f"{path}: {shown}", flush=True)
    print(f"{runs} scenarios, {events} events, {failed} with a fault {dict(kinds.most_common())}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_scenarios", description=__doc__)
    parser.add_argument("--seeds", default="1..2000", type=_seeds, help="seeds such as 7 or 1..2000")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int, help="number of processes")
    parser.add_argument("--out", default=Path("random-failures"), type=Path, help="folder for the failing files")
    parser.add_argument("--hands", action="store_true", help="the scenarios about delegated work")
    parser.add_argument("--shrink", action="store_true", help="make each failing file smaller first")
    options = parser.parse_args()
    family = HANDS if options.hands else ALL
    began = time.perf_counter()
    if options.jobs == 1:
        failed = _print(map(family.try_seed, options.seeds), family, options.out, shrink=options.shrink)
    else:
        with multiprocessing.Pool(options.jobs) as pool:
            trials = pool.imap(family.try_seed, options.seeds, chunksize=8)
            failed = _print(trials, family, options.out, shrink=options.shrink)
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
