"""``python -m trunkline.sim.scenario docs`` writes the schema and the field reference into a docs folder."""

import sys
from pathlib import Path

from trunkline.sim.scenario.schema import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))
