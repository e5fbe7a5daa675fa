"""``python -m tests.conformance [--also-2026-08] [FILE...]``: runs tables; by default those of this folder.

One line for each failing case, then a summary. Exit code 0: all passed; 1: some failed; 2: a file cannot be read.
"""

import argparse
import sys
from pathlib import Path

from tests.conformance.tables import AREAS, AUGUST, FOLDER, TableError, failure, load


def main(arguments: list[str] | None = None) -> int:
    """Run the files; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Run tables of decisions.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="by default the tables of this folder")
    parser.add_argument(f"--also-{AUGUST}", dest="august", action="store_true", help="what August changed, too")
    given = parser.parse_args(arguments)
    files = given.files or [FOLDER / f"{area}.json" for area in AREAS]
    try:
        tables = [(file, load(file, also_august=given.august)) for file in files]
    except TableError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    passed = failed = 0
    for file, checks in tables:
        for check in checks:
            wrong = failure(check)
            if wrong is None:
                passed += 1
            else:
                failed += 1
                sys.stdout.write(f"FAIL {file} {check.id}: {wrong}\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
