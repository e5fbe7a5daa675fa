"""`python -m tests.random_hands --seeds 1..2000`: plays random scenarios of delegated work and prints what is wrong."""

import argparse
import multiprocessing
import os
import sys
from pathlib import Path

from tests.random_hands.generator import make_hand_scenario
from tests.random_hands.trial import try_hands
from trunkline.sim.scenario.edit import text_of


def _seeds(text: str) -> list[int]:
    """Seeds as ``7`` or ``1..2000``."""
    first, _, last = text.partition("..")
    return list(range(int(first), int(last or first) + 1))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_hands", description=__doc__)
    parser.add_argument("--seeds", default="1..2000", type=_seeds, help="seeds such as 7 or 1..2000")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int, help="number of processes")
    parser.add_argument("--out", default=Path("random-failures"), type=Path, help="folder for the failing files")
    options = parser.parse_args()
    failed = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for trial in pool.imap(try_hands, options.seeds, chunksize=8):
            if trial.faults:
                failed += 1
                options.out.mkdir(parents=True, exist_ok=True)
                path = options.out / f"hands-{trial.seed}.yaml"
                path.write_text(text_of(make_hand_scenario(trial.seed)), encoding="utf-8")
                print(path, *(f"{kind} {summary!a:.150}" for kind, summary in trial.faults), sep="\n  ", flush=True)
    print(f"{len(options.seeds)} scenarios, {failed} with a fault")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
