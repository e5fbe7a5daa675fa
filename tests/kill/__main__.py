"""Run a storm and print what came of it.

``python -m tests.kill [--kills N] [--seed N] [--nonsense] [--two] [--workers] [--failing] [--http] [--platforms]
[key|lookup|none]``
"""

import argparse
import tempfile
from pathlib import Path

import msgspec

from tests.kill.crew import DELEGATING, WORKERS
from tests.kill.http.storm import run_http_storm
from tests.kill.pair_storm import run_pair_storm
from tests.kill.platforms.storm import PlatformPlan, run_platform_storm
from tests.kill.stage import Setting, misbehaving
from tests.kill.storm import Plan, run_storm
from trunkline import Idempotency

parser = argparse.ArgumentParser(prog="python -m tests.kill")
parser.add_argument("idempotency", nargs="?", default="key", choices=[one.value for one in Idempotency])
parser.add_argument("--kills", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--nonsense", action="store_true", help="parts misbehave; as many attempts as by default")
parser.add_argument("--two", action="store_true", help="two processes on one store, and freezes")
parser.add_argument("--workers", action="store_true", help="outside workers do some of the work, and are killed, too")
parser.add_argument("--failing", action="store_true", help="disk and memory of half of the processes fail")
parser.add_argument("--platforms", action="store_true", help="people write on four platforms, over sockets")
parser.add_argument("--http", action="store_true", help="people chat over HTTP and WebSocket with a real server")
options = parser.parse_args()
setting = Setting(seed=options.seed, idempotency=Idempotency(options.idempotency))
if options.nonsense:
    setting = misbehaving(setting)
if options.workers:
    setting = msgspec.structs.replace(setting, workers=WORKERS, delegating=DELEGATING)
if options.failing:
    setting = msgspec.structs.replace(setting, failing=0.5)
if options.http:
    with tempfile.TemporaryDirectory() as folder:
        http_report = run_http_storm(options.kills, Path(folder), seed=options.seed)
    print(http_report)
    raise SystemExit(bool(http_report.findings))
if options.platforms:
    with tempfile.TemporaryDirectory() as folder:
        platform_report = run_platform_storm(PlatformPlan(kills=options.kills, seed=options.seed), Path(folder))
    print(platform_report)
    raise SystemExit(bool(platform_report.verdict.findings))
with tempfile.TemporaryDirectory() as folder:
    if options.two:
        report = run_pair_storm(setting, options.kills, Path(folder))
    else:
        report = run_storm(Plan(kills=options.kills, setting=setting), Path(folder))
print(report)
raise SystemExit(bool(report.verdict.findings))
