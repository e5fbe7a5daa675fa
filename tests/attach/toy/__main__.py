"""``python -m tests.attach.toy --tries 200 --jobs 4``: many tries without a defect. Exit code 1 for a false alarm."""

import argparse
import sys
import time

from tests.attach.toy.many import play_many, summary


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attach.toy", description=__doc__)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=4)
    given = parser.parse_args()
    began, done = time.monotonic(), []
    for one in play_many(given.tries, given.jobs):
        done.append(one)
        if one.found or one.problem:
            print(one, flush=True)
        elif one.number % 20 == 0:
            print(f"{one.number} of {given.tries} tries", flush=True)
    print("\n".join(summary(done)), f"in {time.monotonic() - began:.0f} s")
    return int(any(one.found or one.problem for one in done))


if __name__ == "__main__":
    sys.exit(main())
