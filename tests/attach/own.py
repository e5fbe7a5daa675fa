"""``python -m tests.attach.own --tries 20 --jobs 3``: our own gateway through the door of foreign ones.

Every scenario of ``scenarios/attach`` so many times. What has ended is kept in ``--folder``: the same command goes on,
and more tries add to it. Exit code 1 for a violation: a defect of ours, or a false alarm of the judge.
"""

import argparse
import sys
from pathlib import Path

from trunkline.app.cli.attach import AttachOptions, attach_scenarios


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attach.own", description=__doc__)
    parser.add_argument("scenarios", nargs="*", type=Path)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--explore", action="store_true", help="kill it at every event of the wire")
    parser.add_argument("--folder", type=Path, default=Path(".attach/own"))
    given = parser.parse_args()
    options = AttachOptions(
        gateway=("trunkline",), tries=given.tries, jobs=given.jobs, explore=given.explore, report=given.folder
    )
    return attach_scenarios(*given.scenarios, options=options)


if __name__ == "__main__":
    sys.exit(main())
