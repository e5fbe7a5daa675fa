"""``make bench``: measures every bar and prints it; fails when one is missed."""

import gc
import sys

from tests.bench import loop, routing, scenario, sessions


def main() -> int:
    """Print a line per bar."""
    missed = 0
    gc.freeze()  # as `trunkline run` does
    for bars in (loop.bars, scenario.bars, routing.bars, sessions.bars):
        for bar in bars():
            print(bar, flush=True)
            missed += not bar.ok
    print(f"{missed} bars missed" if missed else "all bars met")
    return 1 if missed else 0


sys.exit(main())
