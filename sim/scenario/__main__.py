"""``python -m sim.scenario docs`` writes the schema and the table of fields into the docs folder of a clone."""

import sys
from pathlib import Path

from trunkline.sim.scenario.schema import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))
