"""Run a storm and print what came of it: ``python -m tests.kill [--kills N] [--seed N] [key|lookup|none]``."""

import argparse
import tempfile
from pathlib import Path

from tests.kill.stage import Setting
from tests.kill.storm import Plan, run_storm
from trunkline import Idempotency

parser = argparse.ArgumentParser(prog="python -m tests.kill", description=__doc__)
parser.add_argument("idempotency", nargs="?", default="key", choices=[one.value for one in Idempotency])
parser.add_argument("--kills", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()
with tempfile.TemporaryDirectory() as folder:
    plan = Plan(kills=options.kills, setting=Setting(seed=options.seed, idempotency=Idempotency(options.idempotency)))
    report = run_storm(plan, Path(folder))
print(report)
raise SystemExit(bool(report.verdict.findings))
